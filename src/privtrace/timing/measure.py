"""Measure how trips are reported and when they happen, in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from privtrace.calendar import Calendar, Zone
from privtrace.privacy.contributions import Contributions
from privtrace.privacy.crossing import Aside, Counted, Crossing, Kernels, Table
from privtrace.privacy.unit import WEIGHT
from privtrace.runs import Runs
from privtrace.space.grid import Grid
from privtrace.space.region import Region
from privtrace.space.shapes import N_BINS
from privtrace.timing import counts
from privtrace.timing.bins import (
    HOURS,
    N_JUMPS,
    N_KINDS,
    N_METERS,
    N_PARTS,
    N_POINTS,
    N_RATIOS,
    N_SECONDS,
    N_SPEEDS,
    N_STRETCHES,
    N_VARIATIONS,
)
from privtrace.timing.model import Timing, timing_of
from privtrace.timing.shares import MOST_PER_SIDE, zones_per_side

_POINTS = (
    Table("points", "number of points by trip length, one per trip", (N_BINS, N_POINTS)),
    Table(
        "gaps",
        "distances between points relative to the trip's mean, where every trip contributes a total "
        "weight of 1",
        (N_VARIATIONS, N_KINDS, N_METERS),
    ),
    Table(
        "jumps",
        "distances between points in meters, where every trip contributes a total weight of 1",
        (N_JUMPS,),
    ),
)
_CLOCK = (
    Table("departures", "departures by hour of the week, one per trip", (HOURS,)),
    Table("ticks", "usual seconds between points, one per trip", (N_SECONDS,)),
    Table("stretches", "mean seconds between points relative to the usual, one per trip", (N_STRETCHES,)),
    Table("paces", "duration by trip length, one per trip", (N_BINS, N_SECONDS)),
    Table(
        "pauses",
        "seconds between points relative to the usual, where every trip contributes a total weight of 1",
        (N_STRETCHES, N_RATIOS),
    ),
    Table("speeds", "speeds between points, where every trip contributes a total weight of 1", (N_SPEEDS,)),
    Table("tempos", "mean speed by part of the day, one per trip", (N_PARTS, N_SPEEDS)),
)


def measure_timing(
    crossing: Crossing,
    region: Region,
    errors: Mapping[str, float],
    calendar: Calendar | None,
    every_s: float,
    along: tuple[Kernels, tuple[Table], Aside],
) -> tuple[Timing, list[Counted]]:
    """Measure points and gaps, and with a calendar times too, stage by stage; the rest is post-processing.

    `errors` of the noise, in trajectories, are those of the stages that are measured. Another table is counted
    along, since a pass of its own would read all points again.
    """
    # The zone of a calendar knows its days alone, and trips may be on any.
    zone = None if calendar is None else Zone.named(calendar.zone.name)
    other_kernels, (other_table,), aside = along
    tables, emitted = _sampling(region, zone, frozenset(errors))

    def kernels(runs: Runs) -> Iterator[Contributions]:
        yield from other_kernels(runs)
        yield from emitted(runs)

    text = "Measuring points and gaps" if zone is None else "Measuring points, gaps and times"
    other, *counted = crossing.count(text, kernels, (other_table, *tables), aside)
    measured = {one.table.stage: crossing.noisy(one) for one in counted if one.table.stage != "parts"}
    if zone is None:
        return timing_of(region, measured, errors, None, 0.0, 0), [other]
    n_trips = float(measured["departures"].sum()) / WEIGHT
    per_side = zones_per_side(n_trips, errors["parts"])
    by_zoning = [one for one in counted if one.table.stage == "parts"]
    measured["parts"] = crossing.noisy(by_zoning[per_side - 1])
    return timing_of(region, measured, errors, calendar, every_s, per_side), [other]


def _sampling(region: Region, zone: Zone | None, stages: frozenset[str]) -> tuple[list[Table], Kernels]:
    """Say how to count points and gaps, and in a zone what the clock shows, as far as `stages` has it.

    Trips by part of the day are counted between zones of every size that departures may call for: they are one
    number per trip.
    """
    tables = _POINTS if zone is None else (*_POINTS, *_CLOCK)
    zonings = [] if zone is None else [Grid.uniform(region, size + 1) for size in range(MOST_PER_SIDE)]

    def emitted(runs: Runs) -> Iterator[Contributions]:
        trips = counts.trips_of(runs, region, with_times=zone is not None)
        for table, contributions in zip(tables, counts.sampling(trips, zone), strict=True):
            if table.stage in stages:
                yield contributions
        for zones in zonings:
            assert zone is not None
            yield counts.by_part(trips, zone, zones)

    return [table for table in tables if table.stage in stages] + [_parts(zones) for zones in zonings], emitted


def _parts(zones: Grid) -> Table:
    """Describe trips by part of the day between zones."""
    return Table(
        "parts",
        "trips from first to last zone by part of the day, one per trip",
        (N_PARTS, zones.n_cells, zones.n_cells),
    )
