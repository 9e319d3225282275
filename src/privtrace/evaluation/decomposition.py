"""Explain where a method's error comes from: decompose it, from the real data to the release, into terms.

    sampling         one random half of the real data against the other: what another sample would differ by
    discretization   the real paths through the method's cells and back
    structure        the method's model of the data, without noise
    noise            the release itself, at each epsilon

The method's error is that of the release. It is the sum of three terms: what discretization loses, what
structure adds to it, and what noise adds to that. A term can be below zero, where one error hides another.
Sampling stands beside, and is not in the sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from privtrace.backends.base import Backend
from privtrace.errors import SettingsError
from privtrace.evaluation.compare import defined
from privtrace.evaluation.metric import Metric
from privtrace.evaluation.old_names import DEPRECATED, renamed, with_old_keys
from privtrace.evaluation.reference import Made, Reference, Values
from privtrace.evaluation.suite import NOT_PRIVATE, aligned, compared, known, shown
from privtrace.methods.model import Model, in_words
from privtrace.methods.sampling import sample_parts
from privtrace.methods.settings import Settings
from privtrace.observer import Observer, Silent
from privtrace.privacy.epsilon import Epsilon, decimal, exact
from privtrace.privacy.unsafe_noise import NoNoise, SeededNoise
from privtrace.trajectories import Floats, Source, Trajectories

TERMS = ("discretization", "structure", "noise")

MOST_RUNS = 1000


class Mean(NamedTuple):
    """Hold the mean of those runs in which a metric is defined, and their standard deviation."""

    value: float
    sd: float  # NaN of a single run
    error: float  # the mean distance from the metric's best


@dataclass(frozen=True, repr=False)
class Explanation:
    """Hold the error decomposition of a method on a data set. NOT PRIVATE.

    It shows itself as a table, and `to_dict` gives all of it.
    """

    metrics: tuple[Metric, ...]
    sampling: Values
    baseline: Values
    terms: Mapping[str, Mapping[str, Mapping[str, Mean]]]  # by epsilon, term and metric; with the terms before
    sizes: Mapping[str, Mapping[str, Any]]  # of the model without noise, by epsilon
    inputs: Mapping[str, Any]

    ceiling = renamed("ceiling", "baseline")
    rungs = renamed("rungs", "terms")

    def losses(self, metric: Metric, epsilon: str) -> dict[str, float]:
        """Say what each term adds to the error, the distance from the metric's best; they sum to the error."""
        errors = [self.terms[epsilon][term][metric.name].error for term in TERMS]
        return dict(zip(TERMS, np.diff(errors, prepend=0.0).tolist(), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """List everything, ready for JSON."""
        return {
            "not_private": True,
            "notice": NOT_PRIVATE,
            "metrics": {
                metric.name: with_old_keys(
                    {
                        "sampling": known(self.sampling[metric.name]),
                        "baseline": known(self.baseline[metric.name]),
                        "best": metric.best,
                        "words": metric.words,
                        "epsilons": {epsilon: self._listed(metric, epsilon) for epsilon in self.terms},
                    }
                )
                for metric in self.metrics
            },
            "sizes": {epsilon: dict(sizes) for epsilon, sizes in self.sizes.items()},
            "inputs": dict(self.inputs),
            "deprecated": DEPRECATED,
        }

    def _listed(self, metric: Metric, epsilon: str) -> dict[str, dict[str, float | None]]:
        losses = self.losses(metric, epsilon)
        means = {term: self.terms[epsilon][term][metric.name] for term in TERMS}
        return {
            term: {"value": known(mean.value), "sd": known(mean.sd), "loss": known(losses[term])}
            for term, mean in means.items()
        }

    def __getitem__(self, name: str) -> dict[str, dict[str, Mean]]:
        """Give the terms of a metric by epsilon."""
        return {epsilon: {term: terms[term][name] for term in TERMS} for epsilon, terms in self.terms.items()}

    def __repr__(self) -> str:
        head = ["metric", "epsilon", "limit", "cells", "structure", "release", "sd", "baseline"]
        head += ["+cells", "+structure", "+noise"]
        return "\n".join(
            [
                NOT_PRIVATE,
                "",
                *compared(self.inputs),
                *(f"epsilon {epsilon}: {in_words(sizes)}" for epsilon, sizes in self.sizes.items()),
                "",
                *aligned([head, *(row for metric in self.metrics for row in self._rows(metric))]),
                "",
                "limit: sampling alone, one random half of the real data against the other.",
                "cells: the real paths through the cells and back. structure: the model without noise.",
                f"release: with noise, mean and standard deviation of runs ({self.inputs['runs']}).",
                "baseline: a uniform random walk over the region.",
                "+cells, +structure, +noise: what each adds to the error; the sum is the release's.",
            ]
        )

    def _rows(self, metric: Metric) -> Iterator[list[str]]:
        for epsilon, terms in self.terms.items():
            means = [terms[term][metric.name] for term in TERMS]
            yield [
                metric.name,
                epsilon,
                shown(self.sampling[metric.name]),
                *(shown(mean.value) for mean in means),
                shown(means[-1].sd),
                shown(self.baseline[metric.name]),
                *(shown(loss) for loss in self.losses(metric, epsilon).values()),
            ]


def explain(
    real: Source,
    synthesizer: Settings,
    *,
    epsilons: Epsilon | Iterable[Epsilon] = ("0.2", "1", "2"),
    runs: int = 5,
    profile: str = "paper",
    seed: int = 1,
    timezone: str | None = None,
    backend: Backend | None = None,
    observer: Observer | None = None,
) -> Explanation:
    """Say how much of a method's error comes from sampling, cells, structure and noise. NOT PRIVATE.

    It fits the data many times, with and without noise, and compares with it exactly: only for public data and
    test data. No model leaves it.

    Parameters
    ----------
    real
        Trajectories, or a source of them.
    synthesizer
        The method with its settings and region; its epsilon is replaced by each of the `epsilons`.
    runs
        How often each term is measured; the table has the mean.
    profile, seed, timezone
        As for `evaluate`; the noise of the runs is seeded as well, so that the same seed gives the same table.
    """
    if not isinstance(runs, int) or not 1 <= runs <= MOST_RUNS:
        raise SettingsError(f"runs must be a whole number from 1 to {MOST_RUNS:,}, not {runs}")
    if isinstance(seed, int) and seed + runs > 1 << 64:
        raise SettingsError(f"a seed is a whole number from 0 to 2**64 - 1, for each run the next, not {seed}")
    if not hasattr(synthesizer, "at"):
        raise SettingsError(
            f"a method with its settings is needed, such as BridgeTrace(epsilon=1, region=region), "
            f"not {type(synthesizer).__name__}"
        )
    at_epsilons = {text: synthesizer.at(text) for text in _texts(epsilons)}
    if not at_epsilons:
        raise SettingsError("explain needs an epsilon at least, such as --epsilons 0.2,1,2")
    reference = Reference.of(
        real,
        synthesizer.region,
        profile=profile,
        seed=seed,
        zone=timezone,
        backend=backend,
        observer=observer,
    )
    comparison = reference.comparison
    sampling, baseline = reference.limit(), reference.baseline()
    terms, sizes = {}, {}
    with comparison.observer.stage("Decomposing the error", runs * len(TERMS) * len(at_epsilons)) as advance:
        quiet = replace(reference, comparison=replace(comparison, observer=Silent()))
        for text, method in at_epsilons.items():
            noiseless = method.fit(real, noise=NoNoise(), backend=comparison.backend)
            sizes[text] = noiseless.summary()
            measured = []
            for values in _values(quiet, real, method, noiseless, runs):
                measured.append(values)
                advance(1)
            terms[text] = {
                term: _means(comparison.metrics, measured[place :: len(TERMS)])
                for place, term in enumerate(TERMS)
            }
    metrics = tuple(metric for metric in comparison.metrics if not _lacks_times(metric, terms))
    inputs = {
        "real": reference.real.to_dict(),
        "region": str(comparison.frame.region),
        "crs": comparison.crs,
        "method": synthesizer.method,
        "epsilons": list(terms),
        "runs": runs,
        "profile": profile,
        "seed": seed,
        "timezone": comparison.frame.zone,
        "left_out": [metric.name for metric in comparison.metrics if metric not in metrics],
    }
    return Explanation(metrics, sampling, baseline, terms, sizes, inputs)


def _lacks_times(metric: Metric, terms: Mapping[str, Mapping[str, Mapping[str, Mean]]]) -> bool:
    """Tell whether a metric needs times, and the data has none, or the method makes none."""
    means = [of_term[metric.name] for of_epsilon in terms.values() for of_term in of_epsilon.values()]
    return metric.needs_times and all(np.isnan(mean.value) for mean in means)


def _texts(epsilons: Epsilon | Iterable[Epsilon]) -> list[str]:
    """Write epsilons in their plain form: one, several, or several in one text."""
    if isinstance(epsilons, str):
        epsilons = [text.strip() for text in epsilons.split(",")]
    given = epsilons if isinstance(epsilons, Iterable) else [epsilons]
    return [decimal(exact(epsilon, "epsilon")) for epsilon in given]


def _values(
    reference: Reference, real: Source, method: Settings, noiseless: Model, runs: int
) -> Iterator[Values]:
    """Yield what is left after each term, run by run; `noiseless` is the model without noise."""
    backend, seed = reference.comparison.backend, reference.comparison.frame.seed

    def compared_with_real(made: Made) -> Values:
        return reference.values(reference.measure(made))

    for run in range(seed, seed + runs):
        yield compared_with_real(_retraced(noiseless, real, run))
        yield compared_with_real(_sampled(noiseless, run, backend))
        noisy = method.fit(real, noise=SeededNoise(run), backend=backend)
        yield compared_with_real(_sampled(noisy, run, backend))


def _retraced(model: Model, real: Source, seed: int) -> Made:
    """Lead the real trajectories through the model's cells and back."""

    def parts() -> Iterator[Trajectories]:
        first = 0
        for part in real.parts():
            yield model.retrace(part, first, seed)
            first += len(part)

    return Made(parts, real.crs, real.n_points)


def _sampled(model: Model, seed: int, backend: Backend) -> Made:
    """Make as many trajectories as the model says that there are."""
    count = model.n_trajectories
    return Made(
        lambda: (block for block, _ in sample_parts(model, count, seed, backend)), model.release.crs, count
    )


def _means(metrics: tuple[Metric, ...], runs: list[Values]) -> dict[str, Mean]:
    return {metric.name: _mean(defined([values[metric.name] for values in runs]), metric) for metric in metrics}


def _mean(runs: Floats, metric: Metric) -> Mean:
    """Average the runs in which the metric is defined: a release may happen to be empty."""
    if not len(runs):
        return Mean(np.nan, np.nan, np.nan)
    sd = float(runs.std(ddof=1)) if len(runs) > 1 else np.nan
    return Mean(float(runs.mean()), sd, float(np.abs(runs - metric.best).mean()))
