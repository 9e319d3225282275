"""Measure time and memory of a fit and its sample, each method alone, and how they grow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import privtrace as pt
from experiments.paper.sections import AS_PUBLISHED, METHODS, given, published
from privtrace.datasets import city, moving_objects
from privtrace.observer import Observer
from privtrace.study.comparing import N_COSTS, is_done, ran
from privtrace.study.competitors import Field, competitors
from privtrace.study.store import Store
from privtrace.study.trials import SIZE, Task, Trial

#: Our methods alone: of PrivTrace as published, sizes follow from other numbers.
GROWING = tuple(method for method in METHODS if method != AS_PUBLISHED)

N_TRIPS = (12_500, 25_000, 50_000, 100_000, 200_000)
#: Sizes of all methods follow from the count. It is public here, so that one can vary without the other.
COUNTS = (3_125, 12_500, 50_000, 200_000, 800_000)
#: Shares of each trip's points, from its first on.
LENGTHS = (0.125, 0.25, 0.5, 1.0)
TYPICAL = 50_000

EPSILON = "1"


@dataclass(frozen=True)
class Case:
    """Hold one thing to measure: data, and methods told apart by label."""

    axis: str  # "data", "trips", "count", "length"
    value: float | str
    trips: pt.Trajectories
    region: pt.Region
    methods: Mapping[str, Any]


def label_of(axis: str, value: float | str, method: str) -> str:
    """Name a measurement."""
    return f"{axis} {value}: {method}"


def cases() -> Iterator[Case]:
    """List what is measured, one after the other."""
    for data in ("brinkhoff", "porto", "geolife", "city"):
        made = {method: published(data) if method == AS_PUBLISHED else method for method in METHODS}
        yield Case("data", data, *given(data), _labelled("data", data, made))
    plan = city(seed=1)
    region, trips = pt.Region.box(*plan.region), moving_objects(plan, max(N_TRIPS), seed=1)
    for size in N_TRIPS:
        yield Case("trips", size, trips[:size], region, _sized("trips", size, TYPICAL))
    for count in COUNTS:
        yield Case("count", count, trips[:TYPICAL], region, _sized("count", count, count))
    for share in LENGTHS:
        cut = shortened(trips[:TYPICAL], share)
        yield Case("length", share, cut, region, _sized("length", share, TYPICAL))


def _sized(axis: str, value: float, count: int) -> dict[str, Any]:
    kinds = {"bridgetrace": pt.BridgeTrace, "privtrace": pt.PrivTrace, "adatrace": pt.AdaTrace, "dpt": pt.DPT}
    return _labelled(axis, value, {name: partial(kinds[name], public_count=count) for name in GROWING})


def _labelled(axis: str, value: float | str, methods: Mapping[str, Any]) -> dict[str, Any]:
    return {label_of(axis, value, name): made for name, made in methods.items()}


def shortened(trips: pt.Trajectories, share: float) -> pt.Trajectories:
    """Keep the first share of the points of each trip, at least one."""
    sizes = np.diff(trips.offsets)
    kept = np.maximum(np.ceil(share * sizes).astype(np.int64), np.minimum(sizes, 1))
    places = np.arange(trips.n_points) - np.repeat(trips.offsets[:-1], sizes)
    within = places < np.repeat(kept, sizes)
    times = None if trips.times is None else trips.times[within]
    offsets = np.concatenate([[0], np.cumsum(kept)])
    return replace(trips, points=trips.points[within], times=times, offsets=offsets, about={})


def run(folder: Path, observer: Observer) -> None:
    """Measure what is not there yet, in a process for each method that nothing runs beside."""
    store = Store(folder / "costs.parquet", {"data": "costs", "profile": "paper"})
    with observer.stage("Measuring time and memory", 4 * len(METHODS) + 14 * len(GROWING)) as advance:
        for case in cases():
            field = Field(case.region.for_data(case.trips.crs), (EPSILON,), {"times": False}, False)
            found = competitors(case.methods, {}, field)
            store.entries.update({label: (one.entry, one.origin) for label, one in found.items()})
            task = Task(case.trips, field.region, "paper", 1, None, found, None)
            for label in found:
                trials = [Trial(label, EPSILON, again, "cost") for again in range(N_COSTS)]
                faults = ran(task, [one for one in trials if not is_done(one, task, store)], 1, store, _nothing)
                if faults:
                    raise SystemExit(f"{label}: {faults[label]}")
                advance(1)


def _nothing(amount: int) -> None:
    """Count whole measurements, not their repetitions."""


def sizes(store: Store, label: str) -> dict[str, float]:
    """List the sizes of the model of a measurement."""
    [first, *_] = store.of(label, "cost", EPSILON)
    return {
        name.removeprefix(SIZE): value
        for name, value in first.items()
        if name.startswith(SIZE) and isinstance(value, float)
    }
