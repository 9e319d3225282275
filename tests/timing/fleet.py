"""A fleet whose trips are known, and what is released of it where noise is as good as none."""

from __future__ import annotations

from functools import cache

import numpy as np

import privtrace as pt
from privtrace.calendar import Calendar, Period, Zone
from privtrace.privacy.unit import WEIGHT
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.timing import counts, measure
from privtrace.timing.model import Timing, timing_of
from privtrace.trajectories import Integers

REGION = pt.Region.box(0, 0, 10_000, 10_000, crs="planar")
TABLES = {table.stage: table.shape for table in (*measure._POINTS, *measure._CLOCK)}
PER_SIDE = 2


@cache
def fleet(n: int = 3000, seed: int = 1) -> pt.Trajectories:
    """Drive straight ahead: most report every 15 s, some every minute; some stop, some miss reports.

    Trips depart at 8 from the west and at 17 from the east, one in seven on a Sunday at noon.
    """
    rng = np.random.default_rng(seed)
    points, times, offsets = [], [], [0]
    for trip in range(n):
        tick = 15.0 if trip % 10 < 7 else 60.0
        n_gaps = max(int(rng.lognormal(3, 0.5) * 15 / tick), 2)
        gaps = np.full(n_gaps, tick)
        if trip % 4 == 0:
            gaps *= rng.choice([1.0, 1.0, 1.0, 3.0], n_gaps)
        meters = rng.uniform(6, 12) * gaps * rng.choice([0.0, 0.7, 1.0, 1.3], n_gaps, p=[0.1, 0.3, 0.3, 0.3])
        along = np.concatenate([[0.0], np.cumsum(meters) * min(1.0, 9000 / max(meters.sum(), 1.0))])
        goes_east = trip % 2 == 0
        x = 300 + along if goes_east else 9700 - along
        points.append(np.stack([x, np.full(n_gaps + 1, rng.uniform(200, 9800))], axis=1))
        hour = 24 * 6 + 12 if trip % 7 == 0 else 24 * (trip % 5) + (8 if goes_east else 17)
        departure = int(np.datetime64("2013-07-01", "s").astype(int)) + 3600 * hour + rng.integers(0, 3600)
        times.append(1000 * (departure + np.concatenate([[0.0], np.cumsum(gaps)])))
        offsets.append(offsets[-1] + n_gaps + 1)
    moments = np.concatenate(times).astype(np.int64).view("datetime64[ms]")
    return pt.Trajectories(np.concatenate(points), np.array(offsets), moments, crs="planar")


def exact(part: pt.Trajectories, region: pt.Region = REGION, zone: str = "UTC") -> dict[str, Integers]:
    """Count all tables, without noise, in weights."""
    local, zones = Zone.named(zone), Grid.uniform(region, PER_SIDE)
    runs = counts.trips_of(clip(part, region), region, with_times=True)
    emitted = [*counts.sampling(runs, local), counts.by_part(runs, local, zones)]
    shapes = {**TABLES, "parts": (6, zones.n_cells, zones.n_cells)}
    found = {}
    for (stage, shape), (codes, weights, _) in zip(shapes.items(), emitted, strict=True):
        table = np.bincount(codes, weights, int(np.prod(shape))).astype(np.int64)
        found[stage] = table.reshape(shape)
    return found


def released(
    tables: dict[str, Integers] | None = None,
    *,
    region: pt.Region = REGION,
    zone: str = "UTC",
    period: str | None = None,
    every_s: float = 0.0,
    error: float = 0.3,
) -> Timing:
    """Make what is drawn by from tables that are as good as exact: of the fleet, if none are given."""
    measured = exact(fleet()) if tables is None else tables
    calendar = Calendar.of(zone, None if period is None else Period.of(period))
    return timing_of(region, measured, dict.fromkeys(measured, error), calendar, every_s, PER_SIDE)


def even(n_trips: float = 1000.0) -> dict[str, Integers]:
    """Report trips as the fleet does, and let them depart at any hour, to anywhere, at any speed."""
    tables = exact(fleet())
    for stage in ("departures", "parts", "tempos", "speeds"):
        tables[stage][:] = round(n_trips * WEIGHT / tables[stage].size)
    return tables


def ends(part: pt.Trajectories) -> pt.Trajectories:
    """Draw lines from the first to the last point of trips."""
    points = part.points[np.stack([part.offsets[:-1], part.offsets[1:] - 1], axis=1).ravel()]
    return pt.Trajectories(points, np.arange(0, len(points) + 1, 2), crs="planar")


def straight(lengths_m: list[float]) -> pt.Trajectories:
    """Draw lines of these lengths, to and fro where they are longer than the region."""
    lines = []
    for length in lengths_m:
        turns = [min(9000.0, length - 9000.0 * turn) for turn in range(int(length // 9000) + 1)]
        x = [500.0, *(500.0 + (turn if k % 2 == 0 else 9000.0 - turn) for k, turn in enumerate(turns))]
        lines.append([(place, 5000.0) for place in x])
    points = np.array([point for line in lines for point in line]).reshape(-1, 2)
    return pt.Trajectories(points, np.cumsum([0, *map(len, lines)]), crs="planar")


def apart(one: Integers, two: Integers) -> float:
    """Tell how much of one distribution would have to move to make it the other."""
    return float(np.abs(one / one.sum() - two / two.sum()).sum() / 2)
