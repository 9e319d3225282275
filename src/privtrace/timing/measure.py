"""Measure how trips are reported and when they happen, in one pass or two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from privtrace.calendar import Calendar, Zone
from privtrace.privacy.contributions import Contributions
from privtrace.privacy.crossing import Crossing, Table
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
from privtrace.timing.shares import zones_per_side
from privtrace.trajectories import Integers, Trajectories

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
) -> Timing:
    """Measure points and gaps, and with a calendar times too, stage by stage; the rest is post-processing.

    `errors` of the noise, in trajectories, are those of the stages that are measured.
    """
    # The zone of a calendar knows its days alone, and trips may be on any.
    zone = None if calendar is None else Zone.named(calendar.zone.name)
    measured = measure_sampling(crossing, region, zone, frozenset(errors))
    if zone is None:
        return timing_of(region, measured, errors, None, 0.0, 0)
    n_trips = float(measured["departures"].sum()) / WEIGHT
    per_side = zones_per_side(n_trips, errors["parts"])
    measured["parts"] = measure_parts(crossing, region, zone, Grid.uniform(region, per_side))
    return timing_of(region, measured, errors, calendar, every_s, per_side)


def measure_sampling(
    crossing: Crossing, region: Region, zone: Zone | None, stages: frozenset[str]
) -> dict[str, Integers]:
    """Measure points and gaps, and in a zone what the clock shows too; noisy, in weights, by stage.

    Stages that are not among `stages` are not measured.
    """
    tables = _SAMPLING if zone is None else (*_SAMPLING, *_CLOCK)
    measured = tuple(table for table in tables if table.stage in stages)

    whole = Grid.uniform(region, 1)

    def emitted(part: Trajectories) -> Iterator[Contributions]:
        runs = counts.runs_of(part, whole, with_times=zone is not None)
        for table, contributions in zip(tables, counts.sampling(runs, zone), strict=True):
            if table.stage in stages:
                yield contributions

    text = "Measuring points and gaps" if zone is None else "Measuring points, gaps and times"
    noisy = crossing.measure_together(text, emitted, *measured)
    return {table.stage: one for table, one in zip(measured, noisy, strict=True)}


def measure_parts(crossing: Crossing, region: Region, zone: Zone, zones: Grid) -> Integers:
    """Measure trips by part of the day between zones, which follow from earlier releases; in weights."""
    table = Table(
        "parts",
        "trips from first to last zone by part of the day, one per trajectory",
        (N_PARTS, zones.n_cells, zones.n_cells),
    )

    whole = Grid.uniform(region, 1)

    def emitted(part: Trajectories) -> Contributions:
        return counts.by_part(counts.runs_of(part, whole, with_times=True), zone, zones)

    return crossing.measure("Measuring trips by part of the day", emitted, table)
