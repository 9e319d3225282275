"""Say what trajectories contribute to the tables of points and times. Private until measured.

All is about the longest run of a trajectory in the region. A point has a time if it has one that is not before
1970, is later than the time before, and is within a week of the first; others have none. Where times are
measured, and a run has two points that have one, all is about those that have.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from privtrace.calendar import Zone, milliseconds_of
from privtrace.compiling import compiled, inlined
from privtrace.privacy.contributions import Contributions, evenly, once
from privtrace.searching import first_above
from privtrace.space.area import unwrapped
from privtrace.space.grid import Grid
from privtrace.space.lattice import cell_at, longest_runs
from privtrace.space.shapes import shape_bin, shape_edges
from privtrace.timing.bins import (
    FEW_GAPS,
    HOURS,
    HOURS_OF_PART,
    KINDS,
    LONGEST_S,
    METERS,
    N_KINDS,
    N_METERS,
    N_POINTS,
    N_RATIOS,
    N_SECONDS,
    N_SPEEDS,
    POINTS,
    RATIOS,
    SECONDS,
    SPEEDS,
    STRETCHES,
    TICK_KIND,
    VARIATIONS,
    bin_of,
    class_of,
    half_octave,
    jump_edges,
)
from privtrace.trajectories import Floats, Integers, Trajectories, is_bad

#: Stands for no time, in milliseconds.
_NONE = np.iinfo(np.int64).min

_NO_ZONE = np.zeros(0, np.int64)


class Runs(NamedTuple):
    """Hold the good points of longest runs, for kernels. Private."""

    places: Floats  # (n_points, 2): in coordinates, longitudes where the region is
    times: Integers  # (n_points,): milliseconds since 1970; _NONE where there is none
    offsets: Integers  # (n_trajectories + 1,)
    scale_m: tuple[float, float]  # meters per unit
    edges: Floats  # (N_BINS,): of the bins of length
    jump_edges: Floats  # (N_JUMPS,)


def runs_of(part: Trajectories, whole: Grid, *, with_times: bool) -> Runs:
    """Take the longest run of each trajectory in a grid of one cell, and which of its points have a time."""
    region = whole.region
    runs = longest_runs(part.points, part.offsets, whole.lattice)
    times = np.empty(0, np.int64)
    if with_times:
        times = np.full(part.n_points, _NONE)
        if part.times is not None and part.times.dtype.kind == "M":
            times = milliseconds_of(part.times)
    places, kept, offsets = _runs(part.points, times, runs, region.area)
    return Runs(places, kept, offsets, region.scale_m, shape_edges(region), jump_edges(region))


def sampling(runs: Runs, zone: Zone | None) -> Iterator[Contributions]:
    """Emit the number of points by length, the gaps between points by their variation, and as they are.

    In a zone, emit also departures, ticks, stretches, duration by length, pauses, and speeds.
    """
    breaks, offsets = (_NO_ZONE, _NO_ZONE) if zone is None else (zone.breaks, zone.offsets)
    emitted = _sampling(runs, breaks, offsets)
    yield _found(emitted.points)
    yield evenly(emitted.gaps, emitted.gap_offsets)
    yield evenly(emitted.jumps, emitted.gap_offsets)
    if zone is not None:
        yield _found(emitted.departures)
        yield _found(emitted.ticks)
        yield _found(emitted.stretches)
        yield _found(emitted.paces)
        yield evenly(emitted.pauses, emitted.pause_offsets)
        yield evenly(emitted.speeds, emitted.pause_offsets)
        yield _found(emitted.tempos)


def by_part(runs: Runs, zone: Zone, zones: Grid) -> Contributions:
    """Emit the trip of each trajectory from zone to zone, to the table (N_PARTS, n_zones, n_zones)."""
    return _found(_by_part(runs, zone.breaks, zone.offsets, zones.lattice, zones.n_cells))


def _found(codes: Integers) -> Contributions:
    """Emit one entry for each trajectory that has one; others are below 0."""
    present = codes >= 0
    return once(codes[present], present)


@compiled
def _runs(points, times, runs, area):  # type: ignore[no-untyped-def]
    """Copy the good points of runs, and clear the times that are none."""
    bounds, turn, limits = area.bounds, area.turn, area.limits
    n_most = 0
    for trajectory in range(len(runs)):
        n_most += runs[trajectory, 1] - runs[trajectory, 0]
    places, offsets = np.empty((n_most, 2)), np.zeros(len(runs) + 1, np.int64)
    kept = np.empty(n_most if len(times) else 0, np.int64)
    n = 0
    for trajectory in range(len(runs)):
        first, latest = np.int64(_NONE), np.int64(_NONE)
        for p in range(runs[trajectory, 0], runs[trajectory, 1]):
            x, y = points[p, 0], points[p, 1]
            if is_bad(x, y, limits):
                continue
            places[n, 0], places[n, 1] = unwrapped(x, bounds, turn), y
            if len(times):
                time = times[p]
                if time < 0 or time <= latest or (first >= 0 and time - first > 1000 * LONGEST_S):
                    time = np.int64(_NONE)
                else:
                    latest = time
                    if first < 0:
                        first = time
                kept[n] = time
            n += 1
        offsets[trajectory + 1] = n
    return places[:n], kept[: n if len(times) else 0], offsets


@inlined
def _meters_between(runs, a, b):  # type: ignore[no-untyped-def]
    x = (runs.places[b, 0] - runs.places[a, 0]) * runs.scale_m[0]
    y = (runs.places[b, 1] - runs.places[a, 1]) * runs.scale_m[1]
    return np.sqrt(x * x + y * y)


class _Gaps(NamedTuple):
    """Hold scratch memory for the gaps of one run."""

    seconds: Floats
    meters: Floats


@compiled
def _gaps_for(n_points):  # type: ignore[no-untyped-def]
    return _Gaps(np.empty(n_points), np.empty(n_points))


@compiled
def _gaps_of(gaps, runs, trajectory):  # type: ignore[no-untyped-def]
    """Fill in the gaps between points that have a time, or between all if fewer than two have one.

    Return how many they are, and the first point that has a time, or -1.
    """
    start, stop = runs.offsets[trajectory], runs.offsets[trajectory + 1]
    n_gaps, before, first = 0, -1, -1
    for p in range(start, stop if len(runs.times) else start):
        if runs.times[p] < 0:
            continue
        if before >= 0:
            gaps.seconds[n_gaps] = (runs.times[p] - runs.times[before]) / 1000.0
            gaps.meters[n_gaps] = _meters_between(runs, before, p)
            n_gaps += 1
        else:
            first = p
        before = p
    if n_gaps > 0:
        return n_gaps, first
    for p in range(start, stop - 1):
        gaps.seconds[n_gaps] = 0.0
        gaps.meters[n_gaps] = _meters_between(runs, p, p + 1)
        n_gaps += 1
    return n_gaps, first


@compiled
def _tick(seconds, n_gaps, in_bins):  # type: ignore[no-untyped-def]
    """Find the tick of a run, in seconds: the mean of its gaps in the fullest bin."""
    in_bins[:] = 0
    for gap in range(n_gaps):
        in_bins[half_octave(seconds[gap], SECONDS)] += 1
    fullest = np.argmax(in_bins)
    total = 0.0
    for gap in range(n_gaps):
        if half_octave(seconds[gap], SECONDS) == fullest:
            total += seconds[gap]
    return total / in_bins[fullest]


class _Emitted(NamedTuple):
    """Hold the entries of tables that trajectories add to; -1 where one adds nothing. Private."""

    points: Integers  # (n_trajectories,): length and number of points
    departures: Integers  # (n_trajectories,): hour of the week
    ticks: Integers  # (n_trajectories,): usual gap in seconds
    stretches: Integers  # (n_trajectories,): classes of the mean gap over it
    paces: Integers  # (n_trajectories,): length and duration
    tempos: Integers  # (n_trajectories,): part of the day and mean speed
    gaps: Integers  # of all trajectories, one after the other: variation, kind, and meters over their mean
    jumps: Integers  # of the same gaps: meters
    gap_offsets: Integers  # (n_trajectories + 1,)
    pauses: Integers  # likewise: stretch, and seconds over the tick
    pause_offsets: Integers
    speeds: Integers  # of the same gaps


@compiled
def _sampling(runs, breaks, zone_offsets):  # type: ignore[no-untyped-def]
    """Go over the gaps of each run once, and find all that is measured of them."""
    n_trajectories = len(runs.offsets) - 1
    points, departures = np.full(n_trajectories, -1, np.int64), np.full(n_trajectories, -1, np.int64)
    ticks, paces = np.full(n_trajectories, -1, np.int64), np.full(n_trajectories, -1, np.int64)
    stretches, tempos = np.full(n_trajectories, -1, np.int64), np.full(n_trajectories, -1, np.int64)
    by_mean, jumps = np.empty(len(runs.places), np.int64), np.empty(len(runs.places), np.int64)
    pauses, speeds = np.empty(len(runs.times), np.int64), np.empty(len(runs.times), np.int64)
    gap_offsets, pause_offsets = np.zeros(n_trajectories + 1, np.int64), np.zeros(n_trajectories + 1, np.int64)
    gaps, in_bins = _gaps_for(_longest(runs)), np.zeros(N_SECONDS, np.int64)
    n_emitted, n_pauses = 0, 0
    for trajectory in range(n_trajectories):
        if runs.offsets[trajectory] < runs.offsets[trajectory + 1]:
            n_gaps, first = _gaps_of(gaps, runs, trajectory)
            length, duration, tick = gaps.meters[:n_gaps].sum(), gaps.seconds[:n_gaps].sum(), 0.0
            length_bin = shape_bin(length, runs.edges)
            points[trajectory] = length_bin * N_POINTS + bin_of(n_gaps + 1, POINTS)
            if first >= 0:
                departures[trajectory] = _hour_of_week(runs.times[first], breaks, zone_offsets)
            if duration > 0.0:
                tick = _tick(gaps.seconds, n_gaps, in_bins)
                ticks[trajectory] = half_octave(tick, SECONDS)
                paces[trajectory] = length_bin * N_SECONDS + half_octave(duration, SECONDS)
                stretch = class_of(duration / n_gaps / tick, STRETCHES)
                stretches[trajectory] = stretch
                part = departures[trajectory] % 24 // HOURS_OF_PART
                tempos[trajectory] = part * N_SPEEDS + half_octave(length / duration, SPEEDS)
                for gap in range(n_gaps):
                    pauses[n_pauses] = stretch * N_RATIOS + half_octave(gaps.seconds[gap] / tick, RATIOS)
                    speeds[n_pauses] = half_octave(gaps.meters[gap] / gaps.seconds[gap], SPEEDS)
                    n_pauses += 1
            if length > 0.0:  # who never moves has no gaps to compare
                _emit_by_mean(by_mean[n_emitted:], gaps, n_gaps, length / n_gaps, tick)
                for gap in range(n_gaps):
                    jumps[n_emitted + gap] = half_octave(gaps.meters[gap], runs.jump_edges)
                n_emitted += n_gaps
        gap_offsets[trajectory + 1], pause_offsets[trajectory + 1] = n_emitted, n_pauses
    trips = points, departures, ticks, stretches, paces, tempos
    gaps_emitted = by_mean[:n_emitted], jumps[:n_emitted], gap_offsets
    return _Emitted(*trips, *gaps_emitted, pauses[:n_pauses], pause_offsets, speeds[:n_pauses])


@compiled
def _emit_by_mean(codes, gaps, n_gaps, mean, tick):  # type: ignore[no-untyped-def]
    """Emit gaps by variation, kind, and meters over their mean."""
    squares = 0.0
    for gap in range(n_gaps):
        squares += gaps.meters[gap] * gaps.meters[gap]
    variation = 0
    if n_gaps > FEW_GAPS:
        variation = 1 + class_of(np.sqrt(max(squares / n_gaps - mean * mean, 0.0)) / mean, VARIATIONS)
    for gap in range(n_gaps):
        kind = class_of(gaps.seconds[gap] / tick, KINDS) if tick > 0.0 else TICK_KIND
        row = variation * N_KINDS + kind
        codes[gap] = row * N_METERS + half_octave(gaps.meters[gap] / mean, METERS)


@compiled
def _by_part(runs, breaks, zone_offsets, lattice, n_zones):  # type: ignore[no-untyped-def]
    """Find the part of the day and the zones of first and last point; -1 for none."""
    codes = np.full(len(runs.offsets) - 1, -1, np.int64)
    for trajectory in range(len(codes)):
        start, stop = runs.offsets[trajectory], runs.offsets[trajectory + 1]
        for p in range(start, stop):
            if runs.times[p] >= 0:
                hour = _hour_of_week(runs.times[p], breaks, zone_offsets)
                part = hour % 24 // HOURS_OF_PART
                origin, goal = _cell(runs.places, start, lattice), _cell(runs.places, stop - 1, lattice)
                if origin >= 0 and goal >= 0:
                    codes[trajectory] = (part * n_zones + origin) * n_zones + goal
                break
    return codes


@compiled
def _longest(runs):  # type: ignore[no-untyped-def]
    """Count the points of the longest run."""
    return np.diff(runs.offsets).max() if len(runs.offsets) > 1 else 0


@inlined
def _hour_of_week(time_ms, breaks, zone_offsets):  # type: ignore[no-untyped-def]
    """Find the local hour of the week, from 0 on Monday at midnight; 1970 began on a Thursday."""
    seconds = time_ms // 1000
    local = seconds + zone_offsets[first_above(breaks, seconds)]
    return (local // 3600 + 72) % HOURS


@inlined
def _cell(places, p, lattice):  # type: ignore[no-untyped-def]
    """Find the cell of a point in the region."""
    bounds = lattice.area.bounds
    across = (places[p, 0] - bounds[0]) * lattice.columns_per_unit
    up = (places[p, 1] - bounds[1]) * lattice.rows_per_unit
    return cell_at(across, up, lattice.divisions, lattice.first_slot, lattice.cells)
