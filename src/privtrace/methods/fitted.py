"""Show a model as its synthetic trips do: numbers of cells, trips between them, hours, and how sure they are.

They are nearer to the truth than the noisy ones in `view` where noise hides single numbers, since all that was
measured bears on each of them. One sample does for all that is counted, and is held block by block.
Post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from privtrace.calendar import Calendar
from privtrace.compiling import compiled
from privtrace.geometry import lengths_m
from privtrace.methods.counting import (
    SLOTS,
    CellPlaces,
    Counter,
    Departures,
    Ends,
    Lines,
    Pairs,
    Passing,
    Visits,
)
from privtrace.methods.estimating import Estimates, Sampling, Watching, estimated
from privtrace.methods.view import Noisy, View, error_of
from privtrace.paths import count_once
from privtrace.space.grid import Grid
from privtrace.space.lattice import cells_of
from privtrace.space.shapes import N_BINS, half_octaves
from privtrace.timing.bins import N_PARTS, N_SECONDS, POINTS, SECONDS, SPEEDS, TICKS, bin_of
from privtrace.timing.model import Timing
from privtrace.trajectories import Floats, Integers, Trajectories

if TYPE_CHECKING:
    from privtrace.methods.model import Model

#: Meters, or planar units, from point to point: lower edges. No movement has a bin of its own.
_JUMPS: Floats = np.concatenate([[0.0], half_octaves(1.14 / 1024, 70)])

#: Numbers of points, between whole ones, so that each lies within its bin.
_POINTS: Floats = POINTS.astype(np.float64) - 0.5


@dataclass(frozen=True, eq=False)
class Cells:
    """Hold what synthetic trips say of the cells of a layer: (n_cells,) each, in trajectories."""

    trips: Estimates  # that pass a cell, each once
    visits: Estimates  # as they were measured: each trip with a total weight of one
    starts: Estimates  # trips that begin in a cell
    ends: Estimates


@dataclass(frozen=True, eq=False)
class Speeds:
    """Hold how sampled trips move through the cells of a layer, by the part of the day at which they depart."""

    n_sampled: Integers  # (N_PARTS, n_cells): sampled trips that the next two are of
    meters: Floats  # (N_PARTS, n_cells): from points in a cell to the next point
    seconds: Floats  # (N_PARTS, n_cells): likewise

    @property
    def by_part(self) -> Floats:
        """Divide meters by seconds: (N_PARTS, n_cells), NaN where nobody went."""
        return _ratio(self.meters, self.seconds)

    @property
    def of_day(self) -> Floats:
        """Divide those of the whole day: (n_cells,)."""
        return _ratio(self.meters.sum(axis=0), self.seconds.sum(axis=0))


@dataclass(frozen=True, eq=False)
class Hours:
    """Hold when trips depart, in local hours, and how they go in each part of the day."""

    calendar: Calendar
    measured: Noisy  # (HOURS,): departures in each hour of the week, from Monday at midnight
    departures: Estimates  # (HOURS,): those of synthetic trips
    chances: Floats  # (HOURS,): by which synthetic trips depart; they add up to 1
    trips: Estimates  # (N_PARTS, n_cells, n_cells): between the cells of one layer
    passing: tuple[Estimates, ...]  # (N_PARTS, n_cells): trips that pass a cell, layer by layer
    speeds: tuple[Speeds, ...]  # layer by layer

    @property
    def shares(self) -> Floats:
        """Share synthetic trips out to the parts of the day: (N_PARTS,)."""
        sums = self.departures.table.reshape(7, N_PARTS, -1).sum(axis=(0, 2))
        return _ratio(sums, np.full(len(sums), sums.sum()))

    @property
    def mean_speeds(self) -> Floats:
        """Give the mean speed in each part of the day: (N_PARTS,), NaN where nobody goes."""
        coarsest = self.speeds[0]
        return _ratio(coarsest.meters.sum(axis=1), coarsest.seconds.sum(axis=1))


@dataclass(frozen=True, eq=False)
class Spread:
    """Hold how trips spread over bins of one size: as measured, with noise, and as synthetic trips do."""

    name: str  # "duration", "speed", "interval", "jump" or "points"
    bounds: (
        Floats  # (n + 1,): in seconds, meters and the like; a first of 0 begins a bin for zero, or next to it
    )
    noisy: Noisy | None  # in each bin; None where it was not measured, but follows from what was
    shares: Floats  # (n,): of sampled trips
    median: float  # of sampled trips; NaN of none


@dataclass(frozen=True, eq=False)
class Fitted:
    """Hold what synthetic trips say, beside the view of what was measured."""

    view: View
    sampling: Sampling
    cells: tuple[Cells, ...]  # layer by layer
    trips: Estimates  # (n_cells, n_cells): between the cells of the layer `view.zones`
    spreads: tuple[Spread, ...]  # of points, and where there are times of these; none if neither was measured
    hours: Hours | None  # where there are times

    @property
    def zones(self) -> Grid:
        """Give the cells between which trips are counted."""
        return self.view.layers[self.view.zones].grid


def fitted(model: Model) -> Fitted:
    """Count synthetic trips of a model in its cells and, where it has times, by part of the day."""
    view, timing, calendar = model.view(), model.timing, model.release.times
    places = [CellPlaces(layer.grid) for layer in view.layers]
    zones = places[view.zones]
    counters: list[Counter] = [
        counter
        for layer, place in zip(view.layers, places, strict=True)
        for counter in (Passing(place), Visits(layer), Ends(place, True), Ends(place, False))
    ]
    counters.append(Pairs(zones))
    if calendar is not None:
        part = SLOTS["part"]
        counters += [Departures(), Pairs(zones, part), *(Passing(place, part) for place in places)]
    sizes = _Sizes()
    speeds = [_Speeding(place.grid) for place in places] if calendar is not None else []
    also: list[Watching] = [*([] if timing is None else [sizes]), *speeds]
    found = iter(estimated(model, counters, also=also))
    cells = tuple(Cells(*(next(found) for _ in range(4))) for _ in places)
    trips = next(found)
    spreads = () if timing is None else _spreads(sizes, timing, model)
    hours = None
    if timing is not None and timing.timetable is not None and timing.calendar is not None:
        hours = Hours(
            timing.calendar,
            Noisy.of("departures", timing.timetable.departures, error_of(model.release, "departures")),
            next(found),
            timing.chances,
            next(found),
            tuple(found),
            tuple(one.total for one in speeds),
        )
    return Fitted(view, Sampling.of(model), cells, trips, spreads, hours)


class _Speeding:
    """Add up how fast trips move through the cells of a grid."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        size = N_PARTS, grid.n_cells
        self.total = Speeds(np.zeros(size, np.int64), np.zeros(size), np.zeros(size))

    def add(self, part: Trajectories, lines: Lines) -> None:
        """Add some trips."""
        runs, total = lines.runs, self.total
        firsts, lasts = runs.offsets[:-1], runs.offsets[1:] - 1
        cells: Integers = cells_of(runs.points, self._grid.lattice)
        there = cells >= 0
        slots = SLOTS["part"].of_hours(lines.hours)
        codes = (np.repeat(slots, np.diff(runs.offsets)) * self._grid.n_cells + cells)[there]
        steps = _to_next(np.hypot(*np.diff(runs.points, axis=0).T), lasts)
        gaps = _to_next(np.diff(_milliseconds(part)) / 1000.0, lasts)
        meters, seconds = (
            np.bincount(codes, sizes[there], total.meters.size).reshape(total.meters.shape)
            for sizes in (steps, gaps)
        )
        n_more = count_once(cells, firsts, lasts, slots, total.n_sampled.shape)
        self.total = Speeds(total.n_sampled + n_more, total.meters + meters, total.seconds + seconds)


class _Sizes:
    """Keep the sizes of trips, one by one."""

    def __init__(self) -> None:
        self._kept: list[tuple[Integers, Floats, Floats, Integers]] = []
        self.jumps = np.zeros(len(_JUMPS))  # from point to point, each trip with a total weight of one

    def add(self, part: Trajectories, lines: Lines) -> None:
        """Add some trips; without times, they last no time."""
        runs = lines.runs
        firsts, lasts = runs.offsets[:-1], runs.offsets[1:] - 1
        steps = _to_next(np.hypot(*np.diff(runs.points, axis=0).T), lasts)
        self.jumps += _spread_bins(steps, runs.offsets, _JUMPS)
        seconds, usual = np.zeros(len(lines)), np.full(len(lines), -1)
        if part.times is not None:
            milliseconds = _milliseconds(part)
            seconds = (milliseconds[lasts] - milliseconds[firsts]) / 1000.0
            usual = _usual_bins(_to_next(np.diff(milliseconds) / 1000.0, lasts), runs.offsets)
        self._kept.append((np.diff(runs.offsets), lengths_m(runs.points, runs.offsets), seconds, usual))

    def columns(self) -> tuple[Integers, Floats, Floats, Integers]:
        """Give numbers of points, meters, seconds, and bins of the usual seconds between points, or -1."""
        n_points, meters, seconds, usual = (np.concatenate(column) for column in zip(*self._kept, strict=True))
        return n_points, meters, seconds, usual


def _milliseconds(part: Trajectories) -> Integers:
    assert part.times is not None
    return part.times.astype("datetime64[ms]").view(np.int64)


def _to_next(sizes: Floats, lasts: Integers) -> Floats:
    """Give what is from each point to the next of its trip, and 0 from the last of each."""
    to_next = np.append(sizes, 0.0)[: len(sizes) + min(len(lasts), 1)]
    to_next[lasts] = 0.0
    return to_next


def _spreads(sizes: _Sizes, timing: Timing, model: Model) -> tuple[Spread, ...]:
    """Show what was measured of points and times beside the trips that follow from it."""
    n_points, meters, seconds, usual = sizes.columns()
    release, jumps = model.release, sizes.jumps
    noisy = Noisy.of("points", timing.sampling.points.sum(axis=0), error_of(release, "points", N_BINS))
    points = _spread("points", _POINTS, noisy, n_points)
    spreads = (_of_shares("jump", _JUMPS, None, jumps / max(float(jumps.sum()), 1e-12)), points)
    table = timing.timetable
    if table is None:
        return spreads
    moving = seconds > 0
    tempos = Noisy.of("speed", table.tempos.sum(axis=0), error_of(release, "tempos", N_PARTS))
    speed = _spread("speed", SPEEDS, tempos, meters[moving] / seconds[moving])
    if timing.every_s:  # n points then take n - 1 ticks
        bounds = np.maximum(_POINTS - 1.0, 0.0) * timing.every_s
        return (_spread("duration", bounds, replace(noisy, name="duration"), seconds), speed, *spreads)
    paces = Noisy.of("duration", table.paces.sum(axis=0), error_of(release, "paces", N_BINS))
    ticks = Noisy.of("interval", table.ticks, error_of(release, "ticks"))
    in_bins = np.bincount(usual[usual >= 0], minlength=N_SECONDS)
    return (
        _spread("duration", SECONDS, paces, seconds),
        speed,
        _of_shares("interval", SECONDS, ticks, in_bins / max(int(in_bins.sum()), 1), TICKS),
        *spreads,
    )


def _spread(name: str, lower: Floats, noisy: Noisy, sizes: Floats | Integers) -> Spread:
    """Spread one size of each trip over bins, given by their lower edges."""
    counts = np.bincount(np.searchsorted(lower, sizes, side="right") - 1, minlength=len(lower))
    median = float(np.median(sizes)) if len(sizes) else np.nan
    return Spread(name, _bounds(lower), noisy, counts / max(len(sizes), 1), median)


def _of_shares(
    name: str, lower: Floats, noisy: Noisy | None, shares: Floats, typical: Floats | None = None
) -> Spread:
    """Spread sizes whose shares are known; the median is what is typical of its bin, or else the middle."""
    bounds = _bounds(lower)
    if typical is None:
        typical = np.sqrt(bounds[:-1] * bounds[1:])
    at = int(np.searchsorted(np.cumsum(shares), shares.sum() / 2))
    return Spread(name, bounds, noisy, shares, float(typical[at]) if shares.any() else np.nan)


def _bounds(lower: Floats) -> Floats:
    """End the last bin where it would if there were a next one."""
    return np.append(lower, lower[-1] ** 2 / lower[-2])


def _ratio(some: Floats, others: Floats) -> Floats:
    ratios: Floats = np.where(others > 0, some / np.where(others > 0, others, 1.0), np.nan)
    return ratios


@compiled
def _usual_bins(gaps, offsets):  # type: ignore[no-untyped-def]
    """Find the fullest bin of the seconds between points of each trip: (n,), -1 without any."""
    usual, in_bins = np.full(len(offsets) - 1, -1, np.int64), np.zeros(N_SECONDS, np.int64)
    for trip in range(len(usual)):
        in_bins[:] = 0
        for p in range(offsets[trip], offsets[trip + 1] - 1):
            in_bins[bin_of(gaps[p], SECONDS)] += 1
        if offsets[trip + 1] - offsets[trip] > 1:
            usual[trip] = np.argmax(in_bins)
    return usual


@compiled
def _spread_bins(sizes, offsets, edges):  # type: ignore[no-untyped-def]
    """Count the steps of trips in bins, the steps of a trip with a total weight of one; a step of 0 apart."""
    weights = np.zeros(len(edges))
    for trip in range(len(offsets) - 1):
        n_steps = offsets[trip + 1] - offsets[trip] - 1
        for p in range(offsets[trip], offsets[trip + 1] - 1):
            place = 0 if sizes[p] == 0.0 else max(bin_of(sizes[p], edges), 1)
            weights[place] += 1.0 / n_steps
    return weights
