"""Odd walks with times, and what is measured of them by definition: slow, in plain Python, walk by walk."""

from __future__ import annotations

import math
from collections import Counter
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import shapely

import privtrace as pt
from privtrace.privacy.unit import WEIGHT
from privtrace.space.clip import clip
from privtrace.space.grid import Grid

#: A point, and its time in milliseconds since 1970, if it has one.
Stop: TypeAlias = tuple[float, float, int | None]
Walk: TypeAlias = list[Stop]

WEEK_MS = 604_800_000
NOON = 1_371_038_400_000  # Wednesday 2013-06-12, 12:00 UTC

#: A region at the antimeridian: walks in [0, 10] x [0, 10] are put there, a degree for each unit.
FIJI = pt.Region.box(175.0, -20.0, -175.0, -10.0, crs="lonlat")


def collected(walks: list[Walk], region: pt.Region, unit: str = "ms") -> pt.Trajectories:
    """Put walks where a region is."""
    points = np.array([(x, y) for walk in walks for x, y, _ in walk], float).reshape(-1, 2)
    if region.crs == "lonlat":
        points = points + np.array([175.0, -20.0])
        points[:, 0] = np.where(points[:, 0] > 180, points[:, 0] - 360, points[:, 0])
    times = np.array(["NaT" if t is None else t for walk in walks for _, _, t in walk], "datetime64[ms]")
    return pt.Trajectories(
        points,
        np.concatenate([[0], np.cumsum([len(walk) for walk in walks])]).astype(np.int64),
        times.astype(f"datetime64[{unit}]"),
        crs=region.crs or "planar",
    )


def odd_walks(n: int, seed: int = 0) -> list[Walk]:
    """Make walks in and around [0, 10] x [0, 10] with everything that can be wrong with points and times."""
    rng = np.random.default_rng(seed)
    return [_odd_walk(rng) for _ in range(n)]


def _odd_walk(rng: np.random.Generator) -> Walk:
    n = int(rng.integers(0, 40)) if rng.random() < 0.8 else int(rng.integers(0, 3))
    steps = rng.normal(0, rng.choice([0.01, 0.3, 1.0]), (n, 2)) * (rng.random((n, 1)) > 0.2)
    points = np.cumsum(steps, axis=0) + rng.uniform(1, 9, 2)
    if rng.random() < 0.1:
        points[:] = points[:1]  # never moves
    kind = rng.integers(0, 8)
    gaps = [np.full(n, 15_000), rng.integers(1, 10**6, n), 10 ** rng.uniform(0, 6, n)][kind % 3]
    times: list[int | None] = [int(t) for t in rng.integers(0, 2 * 10**12) + np.cumsum(gaps)]
    for p in range(n):
        wrong = rng.random()
        if kind == 4 and wrong < 0.3:
            times[p] = None
        elif kind == 5 and wrong < 0.3:
            times[p] = int(rng.integers(-(10**12), 3 * 10**12))  # before 1970, out of order, far later
        elif kind == 6 and p and wrong < 0.3:
            times[p] = times[p - 1]
        elif kind == 7:
            times[p] = None
        if rng.random() < 0.03:
            points[p] = [(math.nan, 5), (5, math.inf), (50, 50)][int(rng.integers(3))]
    return [(float(x), float(y), t) for (x, y), t in zip(points, times, strict=True)]


def longest_run(walk: Walk, region: pt.Region) -> Walk:
    """Keep the longest run of points inside; bad ones are as if absent."""
    runs: list[Walk] = [[]]
    for stop in walk:
        if not (math.isfinite(stop[0]) and math.isfinite(stop[1])):
            continue
        if not region.contains(collected([[stop]], region).points)[0]:
            runs.append([])
            continue
        if runs[-1] and leaves(runs[-1][-1], stop, region):
            runs.append([])
        runs[-1].append(stop)
    return max(runs, key=len)


def leaves(one: Stop, two: Stop, region: pt.Region) -> bool:
    """Tell whether the line from one point to the next is outside a polygon for long."""
    if region.shape is None:
        return False
    polygon = shapely.MultiPolygon([(part[0], part[1:]) for part in region.shape.parts])
    outside = shapely.LineString([one[:2], two[:2]]).difference(polygon)
    return bool(np.max(shapely.length(shapely.get_parts(outside)), initial=0.0) > 0.01 * region.shorter_side_m)


def timed(run: Walk) -> Walk:
    """Keep the points whose time can be one."""
    kept: Walk = []
    for stop in run:
        t = stop[2]
        if t is None or t < 0:
            continue
        if not kept or (t > kept[-1][2] and t - kept[0][2] <= WEEK_MS):  # type: ignore[operator]
            kept.append(stop)
    return kept


def meters(one: Stop, two: Stop, region: pt.Region) -> float:
    """Measure the distance of two points; a unit is a degree where the region is in degrees."""
    return math.hypot((two[0] - one[0]) * region.scale_m[0], (two[1] - one[1]) * region.scale_m[1])


def half_octave(value: float, first: float, n_bins: int) -> int:
    """Count the edges first * 2^(k / 2) up to a value, by exact squares; there is one bin more than edges."""
    square, edge, k = Fraction(value) ** 2, Fraction(first) ** 2, 0
    while k < n_bins - 1 and edge <= square:
        edge, k = edge * 2, k + 1
    return k


def least_jump(region: pt.Region) -> float:
    """Find 1.14 times a power of two: 2^17 times it is twice the shorter side at most, 2^18 times is more."""
    least = 1.14
    while least * 2**18 <= 2 * region.shorter_side_m:
        least *= 2
    while least * 2**17 > 2 * region.shorter_side_m:
        least /= 2
    return least


def points_bin(n_points: int) -> int:
    """Find the bin of a number of points: 1, 2, 3, 4 to 5, 6 to 7, 8 to 11, ..."""
    return 0 if n_points == 1 else min((n_points * n_points // 4).bit_length(), 31)


def hour_of_week(t: int, zone: str) -> int:
    """Tell the local hour of the week by the library's own calendar."""
    local = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=t)).astimezone(ZoneInfo(zone))
    return 24 * local.weekday() + local.hour


def class_of(value: float, edges: tuple[float, ...]) -> int:
    """Count the upper edges that a value reaches."""
    return sum(value >= edge for edge in edges)


SAMPLING = ("points", "gaps", "jumps")
CLOCK = ("departures", "ticks", "stretches", "paces", "pauses", "speeds", "tempos", "parts")

#: Seconds of a bin's lower edge, the first being 0.
SECONDS = (1.14 / 8, 46)


def slow_tables(
    walks: list[Walk], region: pt.Region, zone: str, per_side: int
) -> dict[str, Counter[tuple[int, ...]]]:
    """Count by definition: entries of tables and their weights."""
    tables: dict[str, Counter[tuple[int, ...]]] = {stage: Counter() for stage in (*SAMPLING, *CLOCK)}
    for walk in walks:
        for stage, entries in _entries(longest_run(walk, region), region, zone, per_side).items():
            for entry in entries:
                tables[stage][entry] += WEIGHT // len(entries)
    return tables


def _entries(run: Walk, region: pt.Region, zone: str, per_side: int) -> dict[str, list[tuple[int, ...]]]:
    """Find the entries of one run in each of the tables."""
    if not run:
        return {}
    clock = timed(run)
    counted = clock if len(clock) > 1 else run
    gaps_m = [meters(one, two, region) for one, two in pairwise(counted)]
    length = sum(gaps_m)
    length_bin = half_octave(length, 0.01 * region.shorter_side_m, 21)
    found: dict[str, list[tuple[int, ...]]] = {"points": [(length_bin, points_bin(len(counted)))]}
    ratios = [1.0] * len(gaps_m)
    if clock:
        hour = hour_of_week(clock[0][2], zone)  # type: ignore[arg-type]
        found["departures"] = [(hour,)]
        grid = Grid.uniform(region, per_side)
        cells = [grid.encode(clip(collected([[end]], region), grid.region)).cells for end in (run[0], run[-1])]
        if all(len(cell) for cell in cells):
            found["parts"] = [(hour % 24 // 4, int(cells[0][0]), int(cells[1][0]))]
    if len(clock) > 1:
        gaps_s = [(two[2] - one[2]) / 1000 for one, two in pairwise(clock)]  # type: ignore[operator]
        bins = [half_octave(gap, *SECONDS) for gap in gaps_s]
        fullest = min(bins, key=lambda one: (-bins.count(one), one))
        usual = [gap for gap, one in zip(gaps_s, bins, strict=True) if one == fullest]
        tick, duration = sum(usual) / len(usual), sum(gaps_s)
        stretch = class_of(duration / len(gaps_s) / tick, (0.98, 1.02, 1.25, 1.7, 2.5, 5.0, 12.0))
        ratios = [gap / tick for gap in gaps_s]
        found["ticks"] = [(half_octave(tick, *SECONDS),)]
        found["stretches"] = [(stretch,)]
        found["paces"] = [(length_bin, half_octave(duration, *SECONDS))]
        found["tempos"] = [(hour % 24 // 4, half_octave(length / duration, 0.1, 32))]
        found["pauses"] = [(stretch, half_octave(ratio, 2.0**-7.25, 42)) for ratio in ratios]
        speeds = [gap / seconds for gap, seconds in zip(gaps_m, gaps_s, strict=True)]
        found["speeds"] = [(half_octave(speed, 0.1, 32),) for speed in speeds]
    if sum(gaps_m) > 0:
        mean = sum(gaps_m) / len(gaps_m)
        deviation = math.sqrt(sum((gap - mean) ** 2 for gap in gaps_m) / len(gaps_m))
        classes = (0.15, 0.35, 0.6, 0.8, 1.1, 1.6, 2.5)
        variation = 0 if len(gaps_m) <= 2 else 1 + class_of(deviation / mean, classes)
        kinds = [class_of(ratio, (0.5, 2**-0.25, 2**0.25, 2.0, 4.0)) for ratio in ratios]
        found["gaps"] = [
            (variation, kind, half_octave(gap / mean, 2.0**-7, 31))
            for kind, gap in zip(kinds, gaps_m, strict=True)
        ]
        found["jumps"] = [(half_octave(gap, least_jump(region), 37),) for gap in gaps_m]
    return found
