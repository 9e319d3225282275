"""Explain where a method's error comes from: decompose it, from the real data to the release, into terms.

    sampling         the real lines, with points set anew as the model sets them
    discretization   the real paths through the method's cells and back, with points set in the same way
    structure        the method's model of the data, without noise
    noise            the release itself, at each epsilon

The method's error is that of the release. It is the sum of what the terms add to each other: points that are
set anew, cells alone, structure, and noise. A term can be below zero, where one error hides another. The first
two depart when the real trips did, if they have times. Where a method places one point in each cell, its points
and its cells are one: the term sampling is absent then. The limit, one random half of the real data against the
other, stands beside, and is not in the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from privtrace.backends.base import Backend
from privtrace.errors import SettingsError
from privtrace.evaluation.compare import defined
from privtrace.evaluation.metric import Metric
from privtrace.evaluation.old_names import EXPLAINED, deprecated, renamed, with_old_keys
from privtrace.evaluation.reference import Made, Reference, Values
from privtrace.evaluation.suite import NOT_PRIVATE, aligned, compared, known, shown
from privtrace.evaluation.time import departures
from privtrace.methods.model import Model, in_words
from privtrace.methods.sampling import sample_parts
from privtrace.methods.settings import Settings
from privtrace.observer import Observer, Silent
from privtrace.privacy.epsilon import Epsilon, listed
from privtrace.privacy.unsafe_noise import NoNoise, SeededNoise
from privtrace.runs import Runs
from privtrace.space.clip import clip
from privtrace.trajectories import Data, Floats, Source, Trajectories, opened

TERMS = ("sampling", "discretization", "structure", "noise")

#: What the table calls what is left after each, and what each adds.
_COLUMNS = {"sampling": "points", "discretization": "cells", "structure": "structure", "noise": "release"}

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
    limit: Values
    baseline: Values
    terms: Mapping[str, Mapping[str, Mapping[str, Mean]]]  # by epsilon, term and metric; with the terms before
    sizes: Mapping[str, Mapping[str, Any]]  # of the model without noise, by epsilon
    inputs: Mapping[str, Any]

    sampling = renamed("sampling", "limit")
    ceiling = renamed("ceiling", "baseline")
    rungs = renamed("rungs", "terms")

    def losses(self, metric: Metric, epsilon: str) -> dict[str, float]:
        """Say what each term adds to the error, the distance from the metric's best; they sum to the error."""
        terms = self.terms[epsilon]
        errors = [means[metric.name].error for means in terms.values()]
        return dict(zip(terms, np.diff(errors, prepend=0.0).tolist(), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """List everything, ready for JSON."""
        return {
            "not_private": True,
            "notice": NOT_PRIVATE,
            "metrics": {
                metric.name: with_old_keys(
                    {
                        "limit": known(self.limit[metric.name]),
                        "baseline": known(self.baseline[metric.name]),
                        "best": metric.best,
                        "words": metric.words,
                        "epsilons": {epsilon: self._listed(metric, epsilon) for epsilon in self.terms},
                    },
                    EXPLAINED,
                )
                for metric in self.metrics
            },
            "sizes": {epsilon: dict(sizes) for epsilon, sizes in self.sizes.items()},
            "inputs": dict(self.inputs),
            "deprecated": deprecated(EXPLAINED),
        }

    def _listed(self, metric: Metric, epsilon: str) -> dict[str, dict[str, float | None]]:
        losses = self.losses(metric, epsilon)
        means = {term: by_metric[metric.name] for term, by_metric in self.terms[epsilon].items()}
        return {
            term: {"value": known(mean.value), "sd": known(mean.sd), "loss": known(losses[term])}
            for term, mean in means.items()
        }

    def __getitem__(self, name: str) -> dict[str, dict[str, Mean]]:
        """Give the terms of a metric by epsilon."""
        return {
            epsilon: {term: means[name] for term, means in terms.items()}
            for epsilon, terms in self.terms.items()
        }

    def __repr__(self) -> str:
        names = [_COLUMNS[term] for term in next(iter(self.terms.values()))]
        added = [*names[:-1], "noise"]
        head = ["metric", "epsilon", "limit", *names, "sd", "baseline", *(f"+{name}" for name in added)]
        return "\n".join(
            [
                NOT_PRIVATE,
                "",
                *compared(self.inputs),
                *(f"epsilon {epsilon}: {in_words(sizes)}" for epsilon, sizes in self.sizes.items()),
                "",
                *aligned([head, *(row for metric in self.metrics for row in self._rows(metric))]),
                "",
                "limit: one random half of the real data against the other (chance alone).",
                *(["points: the real lines with new points."] if "points" in names else []),
                "cells: the real paths, converted to cells and back. structure: the model without noise.",
                "release: the model with noise, mean and standard deviation over the runs "
                f"({self.inputs['runs']}).",
                "baseline: a uniform random walk over the region.",
                f"{', '.join(head[-len(added) :])}: what each adds to the error; they sum to the error of "
                "the release.",
            ]
        )

    def _rows(self, metric: Metric) -> Iterator[list[str]]:
        for epsilon, terms in self.terms.items():
            means = [by_metric[metric.name] for by_metric in terms.values()]
            yield [
                metric.name,
                epsilon,
                shown(self.limit[metric.name]),
                *(shown(mean.value) for mean in means),
                shown(means[-1].sd),
                shown(self.baseline[metric.name]),
                *(shown(loss) for loss in self.losses(metric, epsilon).values()),
            ]


def explain(
    real: Data,
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
    """Say how much of a method's error comes from points, cells, structure and noise. NOT PRIVATE.

    It fits the data many times, with and without noise, and compares with it exactly: only for public data and
    test data. No model leaves it.

    Parameters
    ----------
    real
        Trajectories, a source of them, a path or a data frame.
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
        raise SettingsError(
            f"a seed is a whole number from 0 to 2**64 - 1 (each run uses the next one), not {seed}"
        )
    if not hasattr(synthesizer, "at"):
        raise SettingsError(
            "give a method with its settings, for example BridgeTrace(epsilon=1, region=region), not "
            f"{type(synthesizer).__name__}"
        )
    texts = listed(epsilons)
    for text in texts:
        synthesizer.at(text)  # refuses what cannot be one, before any pass
    if not texts:
        raise SettingsError("explain needs at least one epsilon, for example --epsilons 0.2,1,2")
    with opened(real) as given, synthesizer.meeting(given) as (settled, met):
        reference = Reference.of(
            met,
            synthesizer.region,
            profile=profile,
            seed=seed,
            zone=timezone,
            backend=backend,
            observer=observer,
        )
        comparison = reference.comparison
        limit, baseline = reference.limit(), reference.baseline()
        names = TERMS if settled.sets_points else TERMS[1:]
        terms, sizes = {}, {}
        with comparison.observer.stage("Decomposing the error", runs * len(names) * len(texts)) as advance:
            quiet = replace(reference, comparison=replace(comparison, observer=Silent()))
            for text in texts:
                method = settled.at(text)
                noiseless = method.fit(met, noise=NoNoise(), backend=comparison.backend)
                sizes[text] = noiseless.summary()
                measured: dict[str, list[Values]] = {name: [] for name in names}
                for run in range(seed, seed + runs):
                    left = _left(met, method, noiseless, run, comparison.backend)
                    for name, made in zip(names, left, strict=True):
                        measured[name].append(quiet.values(quiet.measure(made)))
                        advance(1)
                terms[text] = {name: _means(comparison.metrics, values) for name, values in measured.items()}
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
        "period": reference.period,
        "left_out": [metric.name for metric in comparison.metrics if metric not in metrics],
    }
    return Explanation(metrics, limit, baseline, terms, sizes, inputs)


def _lacks_times(metric: Metric, terms: Mapping[str, Mapping[str, Mapping[str, Mean]]]) -> bool:
    """Tell whether a metric needs times, and the data has none, or the method makes none."""
    means = [of_term[metric.name] for of_epsilon in terms.values() for of_term in of_epsilon.values()]
    return metric.needs_times and all(np.isnan(mean.value) for mean in means)


def _left(real: Source, method: Settings, noiseless: Model, seed: int, backend: Backend) -> Iterator[Made]:
    """Yield what is left after each term; `noiseless` is the model without noise."""
    if method.sets_points:
        yield _resampled(noiseless, real, seed)
    yield _retraced(noiseless, real, seed)
    yield _sampled(noiseless, seed, backend)
    yield _sampled(method.fit(real, noise=SeededNoise(seed), backend=backend), seed, backend)


def _resampled(model: Model, real: Source, seed: int) -> Made:
    """Keep the real lines, and set points on them as the model does."""
    region, crs = model.release.region, model.release.crs

    def resampled(runs: Runs, first: int) -> Trajectories:
        lines = Trajectories(region.coordinates(runs.points), runs.offsets, crs=crs)
        return model.on_lines(lines, first, seed)

    return _made(model, real, resampled)


def _retraced(model: Model, real: Source, seed: int) -> Made:
    """Lead the real trajectories through the model's cells and back."""
    return _made(model, real, lambda runs, first: model.retrace(runs, first, seed))


def _made(model: Model, real: Source, make: Callable[[Runs, int], Trajectories]) -> Made:
    """Make one trajectory of each real run, empty ones too, numbered in order, that departs when it did."""

    def parts() -> Iterator[Trajectories]:
        first = 0
        for part in real.parts():
            runs = clip(part, model.release.region)
            yield _departing(make(runs, first), runs)
            first += len(part)

    return Made(parts, real.crs, real.n_points)


def _departing(made: Trajectories, runs: Runs) -> Trajectories:
    """Let trajectories with times depart when the real runs did; those of runs without times have none."""
    if made.times is None:
        return made
    sizes, times = np.diff(made.offsets), np.append(made.times, np.datetime64("NaT"))
    since = made.times - np.repeat(times[made.offsets[:-1]], sizes)
    return replace(made, times=np.repeat(departures(runs), sizes) + since)


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
