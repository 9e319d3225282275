"""Count trips that are sampled from a model: from cell to cell, and by part of the day. Post-processing.

One sample does for all that is counted, and is held block by block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privtrace.calendar import Calendar, hours_of_week, seconds_of
from privtrace.compiling import compiled
from privtrace.geometry import lengths_m
from privtrace.methods.sampling import sample_parts
from privtrace.methods.view import Flows, Hours, Layer, Noisy, Passing, Spread, error_of
from privtrace.paths import count_once
from privtrace.privacy.unit import WEIGHT
from privtrace.release import Release
from privtrace.runs import Runs
from privtrace.space.grid import Grid
from privtrace.space.lattice import cells_of
from privtrace.space.shapes import N_BINS, half_octaves
from privtrace.space.traverse import trace
from privtrace.timing.bins import (
    HOURS_OF_PART,
    N_PARTS,
    N_SECONDS,
    POINTS,
    SECONDS,
    SPEEDS,
    TICKS,
    bin_of,
)
from privtrace.timing.model import Timing
from privtrace.trajectories import Floats, Integers, Trajectories

if TYPE_CHECKING:
    from privtrace.methods.model import Model

#: Trips that are sampled at most.
MOST_TRIPS = 100_000

#: Meters, or planar units, from point to point: lower edges. No movement has a bin of its own.
_JUMPS: Floats = np.concatenate([[0.0], half_octaves(1.14 / 1024, 70)])

#: Numbers of points, between whole ones, so that each lies within its bin.
_POINTS: Floats = POINTS.astype(np.float64) - 0.5


class Sampled(NamedTuple):
    """Hold what was counted on sampled trips."""

    trips: Flows  # between the cells of one layer
    spreads: tuple[Spread, ...]  # none where points were not measured
    hours: Hours | None  # where there are times


class _Trips(NamedTuple):
    """Hold what is known of trips, one by one; without times, parts, seconds and usual are empty."""

    origins: Integers  # (n,): cells of one layer; -1 for none
    destinations: Integers
    n_points: Integers
    meters: Floats
    parts: Integers  # of the day, by the departure
    seconds: Floats  # from first to last point
    usual: Integers  # bins of the usual seconds between points; -1 for none


class _Sums(NamedTuple):
    """Hold what is added up over trips."""

    jumps: Floats  # (len(_JUMPS),): from point to point, each trip with a total weight of one
    passing: tuple[Passing, ...]  # layer by layer, each sampled trip weighing one; none without times


def sampled(model: Model, layers: Sequence[Layer], zones: int) -> Sampled:
    """Count trips between the cells of the layer `zones`, and all else in all layers; scaled to the count."""
    count = min(model.n_trajectories, MOST_TRIPS)
    per_trip = model.count / max(count, 1)  # weights
    timing, release = model.timing, model.release
    grids = tuple(layer.grid for layer in layers)
    known, total = [], None
    for part, _ in sample_parts(model, count, seed=0):
        trips, sums = _counted(part, grids, zones, release.times)
        known.append(trips)
        total = sums if total is None else _added(total, sums)
    assert total is not None
    trips = _Trips(*(np.concatenate(column) for column in zip(*known, strict=True)))
    flows = _flows(trips, zones, grids[zones], per_trip)
    if timing is None:
        return Sampled(flows, (), None)
    spreads = _spreads(trips, total.jumps, timing, release)
    if timing.timetable is None or timing.calendar is None:
        return Sampled(flows, spreads, None)
    hours = Hours(
        timing.calendar,
        Noisy.of("departures", timing.timetable.departures, error_of(release, "departures")),
        timing.chances,
        tuple(_flows(trips, zones, grids[zones], per_trip, part) for part in range(N_PARTS)),
        tuple(replace(one, trips=one.trips * (per_trip / WEIGHT)) for one in total.passing),
    )
    return Sampled(flows, spreads, hours)


def _counted(
    part: Trajectories, grids: Sequence[Grid], zones: int, calendar: Calendar | None
) -> tuple[_Trips, _Sums]:
    """Count the trips of a block."""
    region = grids[0].region
    present = np.diff(part.offsets) > 0
    points, offsets = part.points, np.append(part.offsets[:-1][present], part.offsets[-1])
    firsts, lasts = offsets[:-1], offsets[1:] - 1
    meters = region.meters(points)
    steps = _to_next(np.hypot(*np.diff(meters, axis=0).T), lasts)
    origins, destinations = (cells_of(meters[ends], grids[zones].lattice) for ends in (firsts, lasts))
    parts, seconds, usual = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64)
    passing: tuple[Passing, ...] = ()
    if calendar is not None:
        assert part.times is not None
        parts = hours_of_week(calendar.zone.to_local(seconds_of(part.times[firsts]))) % 24 // HOURS_OF_PART
        milliseconds = part.times.astype("datetime64[ms]").view(np.int64)
        seconds = (milliseconds[lasts] - milliseconds[firsts]) / 1000.0
        gaps = _to_next(np.diff(milliseconds) / 1000.0, lasts)
        usual = _usual_bins(gaps, offsets)
        # All of a trip is one run: synthetic ones do not leave the region but over corners.
        lines = Runs(meters, offsets)
        passing = tuple(_passing(lines, grid, parts, steps, gaps) for grid in grids)
    trips = _Trips(origins, destinations, np.diff(offsets), lengths_m(meters, offsets), parts, seconds, usual)
    return trips, _Sums(_spread_bins(steps, offsets, _JUMPS), passing)


def _to_next(sizes: Floats, lasts: Integers) -> Floats:
    """Give what is from each point to the next of its trip, and 0 from the last of each."""
    to_next = np.append(sizes, 0.0)[: len(sizes) + min(len(lasts), 1)]
    to_next[lasts] = 0.0
    return to_next


def _passing(lines: Runs, grid: Grid, parts: Integers, steps: Floats, gaps: Floats) -> Passing:
    """Count who passes the cells of a grid, and how fast."""
    firsts, lasts = lines.offsets[:-1], lines.offsets[1:] - 1
    paths = trace(lines, grid)
    size = N_PARTS, grid.n_cells
    passed = count_once(paths.cells.astype(np.int64), paths.offsets[:-1], paths.offsets[1:], parts, size)
    cells: Integers = cells_of(lines.points, grid.lattice)
    there = cells >= 0
    codes = (np.repeat(parts, np.diff(lines.offsets)) * grid.n_cells + cells)[there]
    meters, seconds = (
        np.bincount(codes, sizes[there], passed.size).astype(np.float64).reshape(passed.shape)
        for sizes in (steps, gaps)
    )
    return Passing(passed.astype(np.float64), count_once(cells, firsts, lasts, parts, size), meters, seconds)


def _added(one: _Sums, other: _Sums) -> _Sums:
    passing = (
        Passing(a.trips + b.trips, a.n_sampled + b.n_sampled, a.meters + b.meters, a.seconds + b.seconds)
        for a, b in zip(one.passing, other.passing, strict=True)
    )
    return _Sums(one.jumps + other.jumps, tuple(passing))


def _flows(trips: _Trips, layer: int, grid: Grid, per_trip: float, part: int | None = None) -> Flows:
    """Count trips, or those of one part of the day, from cell to cell."""
    there = (trips.origins >= 0) & (trips.destinations >= 0)
    if part is not None:
        there &= trips.parts == part
    codes = trips.origins[there] * grid.n_cells + trips.destinations[there]
    pairs, counts = np.unique(codes, return_counts=True)
    weights = np.round(counts * per_trip).astype(np.int64)
    return Flows.of(layer, *np.divmod(pairs, grid.n_cells), weights, None)


def _spreads(trips: _Trips, jumps: Floats, timing: Timing, release: Release) -> tuple[Spread, ...]:
    """Show what was measured of points and times beside the trips that follow from it."""
    noisy = Noisy.of("points", timing.sampling.points.sum(axis=0), error_of(release, "points", N_BINS))
    points = _spread("points", _POINTS, noisy, trips.n_points)
    spreads = (_of_shares("jump", _JUMPS, None, jumps / max(float(jumps.sum()), 1e-12)), points)
    table = timing.timetable
    if table is None:
        return spreads
    moving = trips.seconds > 0
    tempos = Noisy.of("speed", table.tempos.sum(axis=0), error_of(release, "tempos", N_PARTS))
    speed = _spread("speed", SPEEDS, tempos, trips.meters[moving] / trips.seconds[moving])
    if timing.every_s:  # n points then take n - 1 ticks
        bounds = np.maximum(_POINTS - 1.0, 0.0) * timing.every_s
        return (_spread("duration", bounds, replace(noisy, name="duration"), trips.seconds), speed, *spreads)
    paces = Noisy.of("duration", table.paces.sum(axis=0), error_of(release, "paces", N_BINS))
    ticks = Noisy.of("interval", table.ticks, error_of(release, "ticks"))
    usual = np.bincount(trips.usual[trips.usual >= 0], minlength=N_SECONDS)
    return (
        _spread("duration", SECONDS, paces, trips.seconds),
        speed,
        _of_shares("interval", SECONDS, ticks, usual / max(int(usual.sum()), 1), TICKS),
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
