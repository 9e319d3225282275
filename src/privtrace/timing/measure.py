"""Measure how trips are reported and when they happen, in one pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from privtrace.calendar import Calendar, Zone
from privtrace.privacy.contributions import Contributions
from privtrace.privacy.crossing import Counted, Counting, Crossing, Table
from privtrace.privacy.unit import WEIGHT
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
from privtrace.trajectories import Trajectories

_SAMPLING = (
    Table("points", "number of points by length, one per trajectory", (N_BINS, N_POINTS)),
    Table(
        "gaps",
        "meters between points over their mean, with a total weight of one per trajectory",
        (N_VARIATIONS, N_KINDS, N_METERS),
    ),
    Table("jumps", "meters between points, with a total weight of one per trajectory", (N_JUMPS,)),
)
_CLOCK = (
    Table("departures", "hour of the week of departure, one per trajectory", (HOURS,)),
    Table("ticks", "usual seconds between points, one per trajectory", (N_SECONDS,)),
    Table("stretches", "mean over usual seconds between points, one per trajectory", (N_STRETCHES,)),
    Table("paces", "duration by length, one per trajectory", (N_BINS, N_SECONDS)),
    Table(
        "pauses",
        "seconds between points over the usual, with a total weight of one per trajectory",
        (N_STRETCHES, N_RATIOS),
    ),
    Table("speeds", "speeds between points, with a total weight of one per trajectory", (N_SPEEDS,)),
    Table("tempos", "mean speed by part of the day, one per trajectory", (N_PARTS, N_SPEEDS)),
)


def measure_timing(
    crossing: Crossing,
    region: Region,
    errors: Mapping[str, float],
    calendar: Calendar | None,
    every_s: float,
    along: Counting,
) -> tuple[Timing, tuple[Counted, ...]]:
    """Measure points and gaps, and with a calendar times too, stage by stage; the rest is post-processing.

    `errors` of the noise, in trajectories, are those of the stages that are measured. Also count something else
    along, in the same pass.
    """
    # The zone of a calendar knows its days alone, and trips may be on any.
    zone = None if calendar is None else Zone.named(calendar.zone.name)
    text = "Measuring points and gaps" if zone is None else "Measuring points, gaps and times"
    counted, counted_along = crossing.count(text, counting(region, zone, frozenset(errors)), along)
    by_part = [one for one in counted if one.table.stage == "parts"]
    measured = {one.table.stage: crossing.release(one) for one in counted if one.table.stage != "parts"}
    if zone is None:
        return timing_of(region, measured, errors, None, 0.0, 0), counted_along
    n_trips = float(measured["departures"].sum()) / WEIGHT
    per_side = zones_per_side(n_trips, errors["parts"])
    measured["parts"] = crossing.release(by_part[per_side - 1])
    return timing_of(region, measured, errors, calendar, every_s, per_side), counted_along


def counting(region: Region, zone: Zone | None, stages: frozenset[str]) -> Counting:
    """Count points and gaps, and in a zone what the clock shows too, as far as they are among the stages.

    Trips by part of the day are counted between zones of every size that departures may call for, up to
    MOST_PER_SIDE a side: they are one number a trip, and a pass of their own would read all points again.
    """
    tables = _SAMPLING if zone is None else (*_SAMPLING, *_CLOCK)
    whole = Grid.uniform(region, 1)
    zonings = [] if zone is None else [Grid.uniform(region, size + 1) for size in range(MOST_PER_SIDE)]

    def emitted(part: Trajectories) -> Iterator[Contributions]:
        runs = counts.runs_of(part, whole, with_times=zone is not None)
        for table, contributions in zip(tables, counts.sampling(runs, zone), strict=True):
            if table.stage in stages:
                yield contributions
        for zones in zonings:
            assert zone is not None
            yield counts.by_part(runs, zone, zones)

    asked_for = tuple(table for table in tables if table.stage in stages)
    return Counting(emitted, (*asked_for, *map(_parts, zonings)))


def _parts(zones: Grid) -> Table:
    """Describe trips by part of the day between zones."""
    return Table(
        "parts",
        "trips from first to last zone by part of the day, one per trajectory",
        (N_PARTS, zones.n_cells, zones.n_cells),
    )
