"""Breakages that would void the promise: noise not as stated, users that count too often, false words."""

from __future__ import annotations

from mutants.mutant import Mutant

NOISE = (
    Mutant(
        "minus-zero-kept",
        "zero is drawn as plus and as minus zero, and so twice as often",
        "privacy/noise.py",
        "minus_zero[group, lane] = draws[lane] == 0",
        "minus_zero[group, lane] = False",
        ("privacy/test_noise.py",),
    ),
    Mutant(
        "tail-cut-off",
        "noise has no tail: far values tell that nobody is there",
        "privacy/noise.py",
        "if active and tail <= most_tail:",
        "if active and tail <= 0:",
        ("privacy/test_noise.py",),
    ),
    Mutant(
        "digits-not-logistic",
        "the digits of a draw have the chances of its tail",
        "privacy/noise.py",
        "enumerate(bounds[:-1])",
        "enumerate(bounds[:0])",
        ("privacy/test_noise.py",),
    ),
    Mutant(
        "prepared-digits-decide",
        "a draw that needs more digits of its threshold than are prepared ends without them",
        "privacy/noise.py",
        "return outcome, position, 2",
        "return outcome, position, 0",
        ("privacy/test_noise.py",),
    ),
    Mutant(
        "thresholds-in-floating-point",
        "thresholds are exact to 53 digits, and a draw that needs more is off",
        "privacy/noise.py",
        "[_exp_minus(1 / scale, precision)]",
        "[2 * (int(Fraction(float(np.exp(-1 / float(scale)))) * (1 << precision)),)]",
        ("privacy/test_noise.py",),
    ),
    Mutant(
        "whole-scales",
        "a scale that is a fraction is rounded",
        "privacy/noise.py",
        "enumerate(thresholds(scale, n_digits, depth))",
        "enumerate(thresholds(Fraction(max(round(scale), 1)), n_digits, depth))",
        ("privacy/test_noise.py",),
    ),
    Mutant(
        "words-used-twice",
        "a second draw repeats the random words of the first",
        "privacy/noise.py",
        "self._words = self._words[used:]",
        "self._words = self._words[used * (group < groups) :]",
        ("privacy/test_noise.py",),
    ),
    Mutant(
        "one-key-for-all",
        "the noise of every fit has the same key",
        "privacy/noise.py",
        "super().__init__(os.urandom(32))",
        "super().__init__(bytes(32))",
        ("privacy/test_noise.py",),
    ),
    Mutant(
        "forks-share-a-stream",
        "two processes draw the same noise",
        "privacy/noise.py",
        "if os.getpid() != self._process:",
        "if self._process < 0:",
        ("privacy/test_noise.py",),
    ),
    Mutant(
        "selection-key-known",
        "everybody can tell which trajectories of a user count",
        "privacy/noise.py",
        "return os.urandom(16)",
        "return bytes(16)",
        ("privacy/test_selection.py",),
    ),
)

USERS = (
    Mutant(
        "users-capped-per-part",
        "of a user whose trajectories are in several parts of a source, the cap counts in each part",
        "privacy/selection.py",
        "        if waiting:\n            kept = _smallest([kept, *waiting], per_user, part.key)\n",
        "        kept = pa.concat_tables([kept, *(_smallest([t], per_user, part.key) for t in waiting)])\n",
        ("privacy/test_selection.py",),
    ),
    Mutant(
        "the-first-count",
        "of a user those trajectories count that come first by id, not those of a secret draw",
        "privacy/selection.py",
        'bits = pa.array(pseudorandom(key, users, ids.fill_null(b"")))',
        "bits = pa.array(np.zeros(len(users), np.uint64))",
        ("privacy/test_selection.py",),
    ),
    Mutant(
        "one-more-counts",
        "one trajectory more of a user counts than the noise is made for",
        "privacy/selection.py",
        "pa.array(ranks < per_user)",
        "pa.array(ranks <= per_user)",
        ("privacy/test_selection.py",),
    ),
    Mutant(
        "users-and-ids-run-together",
        "user 1 with id 12 gets the bits of user 11 with id 2",
        "privacy/siphash.py",
        "message[byte] = (len(user) >> (8 * byte)) & 0xFF",
        "message[byte] = 0",
        ("privacy/test_selection.py",),
    ),
    Mutant(
        "unit-of-one",
        "the noise of a user is that of one trajectory",
        "privacy/unit.py",
        "return self.contributions * WEIGHT",
        "return WEIGHT",
        ("privacy/test_unit.py",),
    ),
)

STATEMENT = (
    Mutant(
        "real-lines-promised",
        "real lines with points set anew carry the words of a release",
        "methods/model.py",
        "return Trajectories(placed.points, placed.offsets, times, crs=release.crs, zone=release.zone)",
        "return Trajectories(\n            placed.points, placed.offsets, times, crs=release.crs, "
        "zone=release.zone, about=self.about\n        )",
        ("test_about.py",),
    ),
    Mutant(
        "silence-means-private",
        "a model file that does not say that it is private is taken to be",
        "models.py",
        'header.get("private") is True',
        'header.get("private", True) is True',
        ("test_models.py", "contract/test_synthesizers.py"),
    ),
)

#: Methods from outside, and the suites that they are held to.
METHODS = (
    Mutant(
        "count-unchecked",
        "a model file may say that there are fewer trajectories than none",
        "methods/model.py",
        'check_sound({"count": 0 <= self.count <= CLAMP})',
        "pass",
        ("contract/test_synthesizers.py",),
    ),
    Mutant(
        "foreign-method-passes-for-ours",
        "a method from outside says that it is one of ours",
        "methods/registry.py",
        "return replace(method, package=package)",
        "return method",
        ("methods/test_registry.py",),
    ),
    Mutant(
        "review-claimed-for-all",
        "the statement of a foreign method does not say that nobody here reviewed it",
        "release.py",
        "The authors of privtrace have not reviewed this method",
        "The authors of privtrace have reviewed this method",
        ("methods/test_registry.py",),
    ),
    Mutant(
        "ours-can-be-replaced",
        "whoever registers a method can take the name of one of ours",
        "methods/registry.py",
        "if checked.name in OURS or (known",
        "if (known",
        ("methods/test_registry.py",),
    ),
    Mutant(
        "settings-not-read",
        "settings are not brought within their limits",
        "methods/settings.py",
        "self._set(name, one.read(getattr(self, name)))",
        "one.read(getattr(self, name) if one.is_required else one.default)",
        ("methods/privtrace/test_settings.py",),
    ),
    Mutant(
        "suites-compare-nothing",
        "the suites for anyone's method take a leak for none",
        "testing/sensitivity.py",
        "assert one.model == other.model,",
        "assert True,",
        ("testing/test_suites.py",),
    ),
    Mutant(
        "purity-looks-away",
        "the suites for anyone's method take an impure kernel for a pure one",
        "testing/purity.py",
        "assert emitted == [alone[t][table][0] for t in some],",
        "assert True,",
        ("testing/test_suites.py",),
    ),
)

MUTANTS = (*NOISE, *USERS, *STATEMENT, *METHODS)
