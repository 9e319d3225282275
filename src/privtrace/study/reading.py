"""Take a study out of stored results: what a comparison asked for, or all that a file holds."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from privtrace.errors import DataError
from privtrace.evaluation.comparison import profiles_named
from privtrace.evaluation.metric import Metric
from privtrace.privacy.epsilon import exact
from privtrace.study.store import Key, Store
from privtrace.study.study import FINISHED, REAL, Cost, Study, typical
from privtrace.study.trials import BASELINE, LIMIT, MAP, N_TRIPS, NO_EPSILON, NO_RUN, Found
from privtrace.trajectories import Floats

#: What a file says about its results that tells no reader anything, or is said elsewhere.
_NOT_SHOWN = ("data", "outline", "not_private", "notice")


@dataclass(frozen=True)
class Wanted:
    """Say what of the stored results a study is of."""

    labels: tuple[str, ...]
    epsilons: tuple[str, ...]  # rising
    runs: int
    map_epsilon: str
    maps: bool = True
    costs: bool = True


def read_study(path: str | os.PathLike[str]) -> Study:
    """Read a file of results, all of it; the data is not needed for that."""
    return all_of(Store.read(path))


def all_of(store: Store) -> Study:
    """Take all that a store holds."""
    epsilons = tuple(sorted(store.epsilons(), key=exact))
    if not (epsilons and all(store.get(_mark(label)) for label in (LIMIT, BASELINE))):
        raise DataError(f"{store.path}: the comparison has only begun; let the same call go on from there")
    return study_of(store, Wanted(tuple(store.entries), epsilons, store.most_runs(), typical(epsilons)))


def study_of(store: Store, wanted: Wanted, inputs: Mapping[str, Any] | None = None) -> Study:
    """Take what is wanted out of the store."""
    limit, baseline = (store.get(_mark(label)) for label in (LIMIT, BASELINE))
    listed, scores = _listed(store), {}
    for label in wanted.labels:
        for epsilon in wanted.epsilons:
            found = store.of(label, "score", epsilon) or store.of(label, "score", NO_EPSILON)
            if store.entries[label][0].what != FINISHED:  # another call may have asked for more
                found = found[: wanted.runs]
            if found:
                scores[label, epsilon] = {
                    metric.name: np.array([trial[metric.name] for trial in found], np.float64)
                    for metric in listed
                }
    metrics = tuple(one for one in listed if any(not np.isnan(of[one.name]).all() for of in scores.values()))
    about = {
        **{name: value for name, value in store.about.items() if name not in _NOT_SHOWN},
        "trips": int(_number(limit, N_TRIPS)),
        "runs": wanted.runs,
        "left_out": [one.name for one in listed if one not in metrics],
        **(inputs or {}),
    }
    return Study(
        entries=tuple(store.entries[label][0] for label in wanted.labels),
        metrics=metrics,
        epsilons=wanted.epsilons,
        scores=scores,
        limit={metric.name: _number(limit, metric.name) for metric in metrics},
        baseline={metric.name: _number(baseline, metric.name) for metric in metrics},
        costs=_costs(store, wanted) if wanted.costs else {},
        heats=_heats(store, wanted) if wanted.maps else {},
        map_epsilon=wanted.map_epsilon,
        inputs=about,
    )


def _mark(label: str) -> Key:
    return Key(label, "", "marks", NO_EPSILON, NO_RUN)


def _listed(store: Store) -> list[Metric]:
    """List the metrics of the store's profile."""
    return [metric for profile in profiles_named(store.about["profile"]) for metric in profile.metrics]


def _number(found: Found, name: str) -> float:
    value = found[name]
    assert isinstance(value, float)
    return value


def _heats(store: Store, wanted: Wanted) -> dict[str, Floats]:
    """Find the maps: of the real data, and of the first run of each at the epsilon of maps."""
    found = {REAL: [store.get(_mark(REAL))]} | {
        label: [
            *store.of(label, "score", wanted.map_epsilon)[:1],
            *store.of(label, "score", NO_EPSILON)[:1],
        ]
        for label in wanted.labels
    }
    return {
        label: np.asarray(one[MAP]) for label, several in found.items() for one in several[:1] if MAP in one
    }


def _costs(store: Store, wanted: Wanted) -> dict[str, Cost]:
    """Find what each costs, where that was measured."""
    found = {label: store.of(label, "cost", wanted.map_epsilon) for label in wanted.labels}
    return {label: cost_of(repeated) for label, repeated in found.items() if repeated}


def cost_of(repeated: Sequence[Found]) -> Cost:
    """Take the least seconds of all repetitions, and the most memory: later ones reuse that of the first."""
    fit, sample = (min(_number(one, name) for one in repeated) for name in ("fit_s", "sample_s"))
    return Cost(fit, sample, max(_number(one, "memory_mb") for one in repeated))
