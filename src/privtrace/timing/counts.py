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
from privtrace.runs import Runs
from privtrace.searching import first_above
from privtrace.space.grid import Grid
from privtrace.space.lattice import cell_of
from privtrace.space.region import Region
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
from privtrace.trajectories import Floats, Integers

#: Stands for no time, in milliseconds.
_NONE = np.iinfo(np.int64).min

_NO_ZONE = np.zeros(0, np.int64)


class Trips(NamedTuple):
    """Hold runs and which of their points have a time, for kernels. Private."""

    points: Floats  # (n_points, 2): meters from the box's southwest corner
    times: Integers  # (n_points,): milliseconds since 1970; _NONE where there is none
    offsets: Integers  # (n_trajectories + 1,)
    edges: Floats  # (N_BINS,): of the bins of length
    jump_edges: Floats  # (N_JUMPS,)


def trips_of(runs: Runs, region: Region, *, with_times: bool) -> Trips:
    """Find which points of runs have a time."""
    times = np.empty(0, np.int64)
    if with_times:
        times = np.full(len(runs.points), _NONE)
        calendar_times = runs.times
        if calendar_times is not None:
            times = _usable(milliseconds_of(calendar_times), runs.offsets)
    return Trips(runs.points, times, runs.offsets, shape_edges(region), jump_edges(region))


def sampling(trips: Trips, zone: Zone | None) -> Iterator[Contributions]:
    """Emit the number of points by length, the gaps between points by their variation, and as they are.

    In a zone, emit also departures, ticks, stretches, duration by length, pauses, and speeds.
    """
    breaks, offsets = (_NO_ZONE, _NO_ZONE) if zone is None else (zone.breaks, zone.offsets)
    emitted = _sampling(trips, breaks, offsets)
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


def by_part(trips: Trips, zone: Zone, zones: Grid) -> Contributions:
    """Emit the trip of each trajectory from zone to zone, to the table (N_PARTS, n_zones, n_zones)."""
    return _found(_by_part(trips, zone.breaks, zone.offsets, zones.lattice, zones.n_cells))


def _found(codes: Integers) -> Contributions:
    """Emit one entry for each trajectory that has one; others are below 0."""
    present = codes >= 0
    return once(codes[present], present)


@compiled
def _usable(times, offsets):  # type: ignore[no-untyped-def]
    """Copy times, and clear those that are none."""
    kept = np.full(len(times), _NONE)
    for trajectory in range(len(offsets) - 1):
        first, latest = np.int64(_NONE), np.int64(_NONE)
        for p in range(offsets[trajectory], offsets[trajectory + 1]):
            time = times[p]
            if time < 0 or time <= latest or (first >= 0 and time - first > 1000 * LONGEST_S):
                continue
            kept[p] = latest = time
            if first < 0:
                first = time
    return kept


@inlined
def _meters_between(trips, a, b):  # type: ignore[no-untyped-def]
    x, y = trips.points[b, 0] - trips.points[a, 0], trips.points[b, 1] - trips.points[a, 1]
    return np.sqrt(x * x + y * y)


class _Gaps(NamedTuple):
    """Hold scratch memory for the gaps of one run."""

    seconds: Floats
    meters: Floats


@compiled
def _gaps_for(n_points):  # type: ignore[no-untyped-def]
    return _Gaps(np.empty(n_points), np.empty(n_points))


@compiled
def _gaps_of(gaps, trips, trajectory):  # type: ignore[no-untyped-def]
    """Fill in the gaps between points that have a time, or between all if fewer than two have one.

    Return how many they are, and the first point that has a time, or -1.
    """
    start, stop = trips.offsets[trajectory], trips.offsets[trajectory + 1]
    n_gaps, before, first = 0, -1, -1
    for p in range(start, stop if len(trips.times) else start):
        if trips.times[p] < 0:
            continue
        if before >= 0:
            gaps.seconds[n_gaps] = (trips.times[p] - trips.times[before]) / 1000.0
            gaps.meters[n_gaps] = _meters_between(trips, before, p)
            n_gaps += 1
        else:
            first = p
        before = p
    if n_gaps > 0:
        return n_gaps, first
    for p in range(start, stop - 1):
        gaps.seconds[n_gaps] = 0.0
        gaps.meters[n_gaps] = _meters_between(trips, p, p + 1)
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
def _sampling(trips, breaks, zone_offsets):  # type: ignore[no-untyped-def]
    """Go over the gaps of each run once, and find all that is measured of them."""
    n_trajectories = len(trips.offsets) - 1
    points, departures = np.full(n_trajectories, -1, np.int64), np.full(n_trajectories, -1, np.int64)
    ticks, paces = np.full(n_trajectories, -1, np.int64), np.full(n_trajectories, -1, np.int64)
    stretches, tempos = np.full(n_trajectories, -1, np.int64), np.full(n_trajectories, -1, np.int64)
    by_mean, jumps = np.empty(len(trips.points), np.int64), np.empty(len(trips.points), np.int64)
    pauses, speeds = np.empty(len(trips.times), np.int64), np.empty(len(trips.times), np.int64)
    gap_offsets, pause_offsets = np.zeros(n_trajectories + 1, np.int64), np.zeros(n_trajectories + 1, np.int64)
    gaps, in_bins = _gaps_for(_longest(trips)), np.zeros(N_SECONDS, np.int64)
    n_emitted, n_pauses = 0, 0
    for trajectory in range(n_trajectories):
        if trips.offsets[trajectory] < trips.offsets[trajectory + 1]:
            n_gaps, first = _gaps_of(gaps, trips, trajectory)
            length, duration, tick = gaps.meters[:n_gaps].sum(), gaps.seconds[:n_gaps].sum(), 0.0
            length_bin = shape_bin(length, trips.edges)
            points[trajectory] = length_bin * N_POINTS + bin_of(n_gaps + 1, POINTS)
            if first >= 0:
                departures[trajectory] = _hour_of_week(trips.times[first], breaks, zone_offsets)
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
                    jumps[n_emitted + gap] = half_octave(gaps.meters[gap], trips.jump_edges)
                n_emitted += n_gaps
        gap_offsets[trajectory + 1], pause_offsets[trajectory + 1] = n_emitted, n_pauses
    of_trips = points, departures, ticks, stretches, paces, tempos
    gaps_emitted = by_mean[:n_emitted], jumps[:n_emitted], gap_offsets
    return _Emitted(*of_trips, *gaps_emitted, pauses[:n_pauses], pause_offsets, speeds[:n_pauses])


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
def _by_part(trips, breaks, zone_offsets, lattice, n_zones):  # type: ignore[no-untyped-def]
    """Find the part of the day and the zones of first and last point; -1 for none."""
    codes = np.full(len(trips.offsets) - 1, -1, np.int64)
    for trajectory in range(len(codes)):
        start, stop = trips.offsets[trajectory], trips.offsets[trajectory + 1]
        for p in range(start, stop):
            if trips.times[p] >= 0:
                hour = _hour_of_week(trips.times[p], breaks, zone_offsets)
                part = hour % 24 // HOURS_OF_PART
                origin, goal = cell_of(trips.points, start, lattice), cell_of(trips.points, stop - 1, lattice)
                if origin >= 0 and goal >= 0:
                    codes[trajectory] = (part * n_zones + origin) * n_zones + goal
                break
    return codes


@compiled
def _longest(trips):  # type: ignore[no-untyped-def]
    """Count the points of the longest run."""
    return np.diff(trips.offsets).max() if len(trips.offsets) > 1 else 0


@inlined
def _hour_of_week(time_ms, breaks, zone_offsets):  # type: ignore[no-untyped-def]
    """Find the local hour of the week, from 0 on Monday at midnight; 1970 began on a Thursday."""
    seconds = time_ms // 1000
    local = seconds + zone_offsets[first_above(breaks, seconds)]
    return (local // 3600 + 72) % HOURS
