"""Breakages of comparisons of methods: nothing leaks, and what is said of methods is wrong."""

from __future__ import annotations

from mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "holm-left-out",
        "p-values of many tests are taken as if each were the only one",
        "study/significance.py",
        "corrected[place] = largest",
        "corrected[place] = p",
        ("study/test_significance.py",),
    ),
    Mutant(
        "welch-pooled",
        "runs of two methods are tested as if their variances were the same",
        "study/significance.py",
        "sum(squares) ** 2 / spread if spread else math.inf",
        "len(first) + len(second) - 2.0",
        ("study/test_significance.py",),
    ),
    Mutant(
        "rounding-wins",
        "of two methods whose errors are the same, one wins by rounding",
        "study/significance.py",
        "return 0.0 if abs(difference) <= _ROUNDING * max(abs(first), abs(second)) else difference",
        "return difference",
        ("study/test_significance.py",),
    ),
    Mutant(
        "wins-by-value",
        "the smaller number wins, also in metrics whose best is 1",
        "study/study.py",
        "np.abs(self.values(label, epsilon, metric) - self.metric(metric).best)",
        "np.abs(self.values(label, epsilon, metric))",
        ("study/test_study.py",),
    ),
    Mutant(
        "seed-of-all-runs",
        "all runs of a method have the same noise, so it seems not to scatter",
        "study/trials.py",
        "{trial.epsilon}/{trial.run}",
        "{trial.epsilon}",
        ("study/test_trials.py",),
    ),
    Mutant(
        "results-made-again",
        "a comparison that was killed begins anew",
        "study/comparing.py",
        "if not is_done(trial, task, store)]",
        "]",
        ("study/test_comparing.py",),
    ),
    Mutant(
        "other-data-accepted",
        "results of other data stand beside each other in one file",
        "study/store.py",
        "if about.get(name) != value]",
        "if name not in about]",
        ("study/test_store.py",),
    ),
    Mutant(
        "writers-lose",
        "of two comparisons that add to one file, the last one removes what the other found",
        "study/store.py",
        "if self.path.exists() and _stamp(self.path) != self._stamp:",
        "if self._stamp is None and self.path.exists():",
        ("study/test_store.py",),
    ),
    Mutant(
        "versions-not-told",
        "results of an older version of a class from outside are shown as those of the new one",
        "study/programs.py",
        'return digest.hexdigest() if outside else ""',
        'return ""',
        ("study/test_programs.py",),
    ),
    Mutant(
        "failures-swallowed",
        "a method that fails is left out without a word",
        "study/comparing.py",
        "    if faults:\n",
        "    if not asked.runs:\n",
        ("study/test_comparing.py",),
    ),
    Mutant(
        "times-for-some",
        "some methods pay for times, and others do not",
        "study/competitors.py",
        "times = self.with_times and not synthesizer.against_times",
        "times = None",
        ("study/test_competitors.py",),
    ),
    Mutant(
        "frames-sampled",
        "of a frame that a fit gives, one row is taken for the synthetic trips",
        "study/trials.py",
        'if is_data(model) or not hasattr(model, "sample"):',
        'if not hasattr(model, "sample"):',
        ("study/test_trials.py",),
    ),
)
