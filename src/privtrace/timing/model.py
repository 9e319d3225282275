"""Hold what was released of points and times, and set points on lines by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from privtrace.caching import cached_property
from privtrace.calendar import DAY_S, Calendar, weekdays
from privtrace.compiling import borrowing, compiled, inlined
from privtrace.privacy.unit import WEIGHT
from privtrace.random import REPORTING, philox, uniform
from privtrace.searching import first_above
from privtrace.soundness import check_sound, within_limits
from privtrace.space.area import unwrapped
from privtrace.space.grid import Grid
from privtrace.space.lattice import cell_at
from privtrace.space.region import Region
from privtrace.space.shapes import N_BINS, shape_edges
from privtrace.timing import clean
from privtrace.timing.bins import (
    HOURS,
    HOURS_OF_PART,
    LONGEST_S,
    METERS,
    N_JUMPS,
    N_KINDS,
    N_METERS,
    N_MOVES,
    N_PARTS,
    N_POINTS,
    N_RATIOS,
    N_SECONDS,
    N_SPEEDS,
    N_STRETCHES,
    N_VARIATIONS,
    POINTS,
    RATIOS,
    SPEEDS,
    TICK,
    half_octave,
    jump_edges,
)
from privtrace.timing.clean import CERTAIN, in_weights
from privtrace.timing.draw import LEISURE, N_QUANTILES, NO_DRAWS, Draws, Placed, kinds_of, moves, quantiles
from privtrace.timing.jumps import fitted_jumps
from privtrace.timing.lines import reported
from privtrace.timing.shares import MOST_PER_SIDE
from privtrace.trajectories import Floats, Integers, Trajectories

#: Steps of the stream at which the part and hour of departure are drawn, and the day and second.
_HOUR, _DAY = 3, 4

#: The end of the last bin of a table, times where it begins.
_BEYOND = 2.0

#: The greatest speed in meters per second where nothing is known: that of the fastest cars.
_FASTEST = 60.0

Array = npt.NDArray[Any]
Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True, eq=False)
class Sampling:
    """Hold how trips are reported: noisy tables, in weights, and what points are drawn by."""

    points: Integers  # (N_BINS, N_POINTS): number of points by length
    gaps: Integers  # (N_VARIATIONS, N_KINDS, N_METERS): meters over their mean
    jumps: Integers  # (N_JUMPS,): meters
    draw_points: Integers  # (N_BINS, N_POINTS)
    draw_variations: Integers  # (N_VARIATIONS,)
    draw_gaps: Integers  # (N_VARIATIONS, N_KINDS, N_METERS)
    draw_jumps: Integers  # (N_MOVES + 1, N_JUMPS): before each move, and at last; all 0 where they stay

    def __post_init__(self) -> None:
        check_sound(
            {
                "points": _is_noisy(self.points, (N_BINS, N_POINTS)),
                "gaps": _is_noisy(self.gaps, (N_VARIATIONS, N_KINDS, N_METERS)),
                "jumps": _is_noisy(self.jumps, (N_JUMPS,)),
                "draw_points": _can_draw(self.draw_points, (N_BINS, N_POINTS)),
                "draw_variations": _can_draw(self.draw_variations, (N_VARIATIONS,))
                and bool(self.draw_variations[1:].any()),
                "draw_gaps": _can_draw(self.draw_gaps, (N_VARIATIONS, N_KINDS, N_METERS)),
                "draw_jumps": self.draw_jumps.shape == (N_MOVES + 1, N_JUMPS)
                and not self.draw_jumps[:, 0].any()
                and (not self.draw_jumps.any() or _can_draw(self.draw_jumps, (N_MOVES + 1, N_JUMPS))),
            }
        )


@dataclass(frozen=True, eq=False)
class Timetable:
    """Hold when trips happen: noisy tables, in weights, and what times are drawn by."""

    departures: Integers  # (HOURS,): hours of the week
    ticks: Integers  # (N_SECONDS,), or none where the tick is public
    stretches: Integers  # (N_STRETCHES,): classes of the mean gap over the tick; likewise
    paces: Integers  # (N_BINS, N_SECONDS): duration by length; likewise
    pauses: Integers  # (N_STRETCHES, N_RATIOS): seconds over the tick; likewise
    parts: Integers  # (N_PARTS, n_zones, n_zones): trips by part of the day
    speeds: Integers  # (N_SPEEDS,)
    tempos: Integers  # (N_PARTS, N_SPEEDS): mean speed by part of the day
    draw_hours: Integers  # (HOURS,)
    draw_parts: Integers  # (N_PARTS, n_zones, n_zones)
    draw_tempos: Integers  # (N_PARTS, N_SPEEDS): over what the hours alone let expect
    draw_ticks: Integers  # as `ticks`
    draw_paces: Integers  # as `paces`
    draw_stretches: Integers  # (N_STRETCHES,), or none
    draw_pauses: Integers  # as `pauses`
    fastest: Integers  # (1,): the last bin of speeds that anybody has
    per_side: Integers  # (1,): zones of trips per side of the region

    def check(self, region: Region, *, by_tick: bool) -> None:
        """Refuse tables that do not fit each other or the region."""
        check_sound({"per_side": self.per_side.shape == (1,) and 1 <= int(self.per_side[0]) <= MOST_PER_SIDE})
        n_zones = Grid.uniform(region, int(self.per_side[0])).n_cells
        ticks, paces = ((0,), (0, 0)) if by_tick else ((N_SECONDS,), (N_BINS, N_SECONDS))
        pauses, stretches = ((0, 0), (0,)) if by_tick else ((N_STRETCHES, N_RATIOS), (N_STRETCHES,))
        parts = (N_PARTS, n_zones, n_zones)
        check_sound(
            {
                "departures": _is_noisy(self.departures, (HOURS,)),
                "ticks": _is_noisy(self.ticks, ticks),
                "stretches": _is_noisy(self.stretches, stretches),
                "paces": _is_noisy(self.paces, paces),
                "pauses": _is_noisy(self.pauses, pauses),
                "parts": _is_noisy(self.parts, parts),
                "speeds": _is_noisy(self.speeds, (N_SPEEDS,)),
                "tempos": _is_noisy(self.tempos, (N_PARTS, N_SPEEDS)),
                "draw_hours": _can_draw(self.draw_hours, (HOURS,)),
                "draw_parts": self.draw_parts.shape == parts
                and _can_draw(np.moveaxis(self.draw_parts, 0, -1), (n_zones, n_zones, N_PARTS)),
                "draw_tempos": _can_draw(self.draw_tempos, (N_PARTS, N_SPEEDS))
                and bool(self.draw_tempos.any(axis=0).all()),
                "draw_ticks": _can_draw(self.draw_ticks, ticks),
                "draw_paces": _can_draw(self.draw_paces, paces),
                "draw_stretches": _can_draw(self.draw_stretches, stretches),
                "draw_pauses": _can_draw(self.draw_pauses, pauses),
                "fastest": self.fastest.shape == (1,) and 0 <= int(self.fastest[0]) < N_SPEEDS,
            }
        )


#: The arrays of a model file: name, type, number of axes.
SAMPLING_SCHEMA = {
    f"sampling_{name}": ("<i8", axes)
    for name, axes in {
        "points": 2,
        "gaps": 3,
        "jumps": 1,
        "draw_points": 2,
        "draw_variations": 1,
        "draw_gaps": 3,
        "draw_jumps": 2,
    }.items()
}
TIMES_SCHEMA = {
    f"times_{name}": ("<i8", axes)
    for name, axes in {
        "departures": 1,
        "ticks": 1,
        "stretches": 1,
        "paces": 2,
        "pauses": 2,
        "parts": 3,
        "speeds": 1,
        "tempos": 2,
        "draw_hours": 1,
        "draw_parts": 3,
        "draw_tempos": 2,
        "draw_ticks": 1,
        "draw_paces": 2,
        "draw_stretches": 1,
        "draw_pauses": 2,
        "fastest": 1,
        "per_side": 1,
    }.items()
}


@dataclass(frozen=True, eq=False)
class Timing:
    """Hold what was released of points and times."""

    region: Region
    sampling: Sampling
    calendar: Calendar | None = None  # None where times are not synthesized
    timetable: Timetable | None = None
    every_s: float = 0.0  # the tick, where it is public, else 0

    def __post_init__(self) -> None:
        if self.timetable is not None:
            self.timetable.check(self.region, by_tick=self.every_s > 0)

    def arrays(self) -> dict[str, Array]:
        """List the arrays that a model file holds."""
        found = {f"sampling_{one.name}": getattr(self.sampling, one.name) for one in fields(Sampling)}
        if self.timetable is not None:
            found |= {f"times_{one.name}": getattr(self.timetable, one.name) for one in fields(Timetable)}
        return found

    @classmethod
    def from_arrays(
        cls, region: Region, calendar: Calendar | None, every_s: float, arrays: Mapping[str, Array]
    ) -> Timing:
        """Make it again from a file's parts, checking that they fit together."""
        sampling = Sampling(**{one.name: arrays[f"sampling_{one.name}"] for one in fields(Sampling)})
        if calendar is None:
            return cls(region, sampling)
        timetable = Timetable(**{one.name: arrays[f"times_{one.name}"] for one in fields(Timetable)})
        return cls(region, sampling, calendar, timetable, every_s)

    @cached_property
    def draws(self) -> Draws:
        """Prepare what reports are drawn by, for kernels."""
        sampling, times = self.sampling, self.timetable
        variations = sampling.draw_variations.copy()
        variations[0] = 0  # of trips with few gaps, which are never asked for theirs
        upper = np.append(METERS[1:], _BEYOND * METERS[-1])
        lower = np.where(np.arange(N_METERS) == 0, 0.0, METERS)
        upper[0] = 0.0  # no movement at all
        rows = sampling.draw_gaps.reshape(-1, N_METERS)
        meters = np.stack([quantiles(row, lower, upper) for row in rows])
        seconds = np.ones((N_STRETCHES, N_QUANTILES))
        if times is not None and not self.every_s:
            low, high = RATIOS.copy(), np.append(RATIOS[1:], _BEYOND * RATIOS[-1])
            low[TICK] = high[TICK] = 1.0
            seconds = np.stack([quantiles(row, low, high) for row in times.draw_pauses])
        ticks = np.zeros(0, np.int64) if times is None else times.draw_ticks
        edges = jump_edges(self.region)
        draws = NO_DRAWS._replace(
            least_jump=float(edges[1]),
            edges=shape_edges(self.region),
            points=np.cumsum(sampling.draw_points, axis=1),
            variations=np.cumsum(variations),
            meters=meters.reshape(N_VARIATIONS, N_KINDS, N_QUANTILES),
            every_s=self.every_s,
            ticks=ticks / CERTAIN,
            there=np.flatnonzero(ticks),
            paces=np.zeros((0, 0)) if times is None else times.draw_paces / CERTAIN,
            stretches=np.zeros(0) if times is None else times.draw_stretches / CERTAIN,
            seconds=seconds,
            kinds=kinds_of(seconds),
            steady=np.all(seconds == 1.0, axis=1),
            fastest=np.inf if times is None else self.fastest,
            most_points=self.most_points,
        )
        if not sampling.draw_jumps.any():
            return draws
        *made, wanted = sampling.draw_jumps / CERTAIN
        return draws._replace(moves=moves(edges, np.stack(made), wanted))

    @property
    def fastest(self) -> float:
        """Give the speed that nobody exceeds, in meters (or planar units) per second."""
        assert self.timetable is not None
        last = int(self.timetable.fastest[0])
        return float(SPEEDS[last + 1] if last + 1 < N_SPEEDS else _BEYOND * SPEEDS[-1])

    @cached_property
    def zones(self) -> Grid:
        """Build the zones between which trips are measured by part of the day."""
        assert self.timetable is not None
        return Grid.uniform(self.region, int(self.timetable.per_side[0]))

    @cached_property
    def _hours(self) -> Integers:
        """Weigh the hours of the week, on weekdays that there are: (HOURS,)."""
        assert self.timetable is not None and self.calendar is not None
        return _on_days(self.timetable.draw_hours, self.calendar)

    @property
    def chances(self) -> Floats:
        """Give the chances of the hours of the week by which trips depart, which add up to 1: (HOURS,)."""
        hours = self._hours / CERTAIN
        chances: Floats = hours / hours.sum()
        return chances

    @cached_property
    def _schedule(self) -> tuple[Integers, Floats, Integers, Integers]:
        """Prepare weights of the parts of trips and of speeds, running sums of hours, and days by weekday."""
        assert self.timetable is not None and self.calendar is not None
        days = np.array(self.calendar.days)
        on = [days[weekdays(days) == weekday] for weekday in range(7)]
        first_and_count = np.array([[some[0] if len(some) else 0, len(some)] for some in on])
        hours = self._hours.reshape(7, N_PARTS, HOURS_OF_PART)
        by_part = hours.transpose(1, 0, 2).reshape(N_PARTS, -1)
        is_there = by_part.sum(axis=1) > 0
        parts = np.maximum(self.timetable.draw_parts, 1) * is_there[:, np.newaxis, np.newaxis]
        tempos = np.maximum(self.timetable.draw_tempos, 1) / CERTAIN
        tempos = np.pad(tempos, ((0, 0), (0, 1)), constant_values=1.0)  # a single point has no speed
        return parts, tempos, np.cumsum(by_part, axis=1), first_and_count

    @property
    def most_points(self) -> int:
        """Bound the points of a trip."""
        last = int(np.flatnonzero(self.sampling.draw_points.any(axis=0))[-1])
        most = int(POINTS[min(last + 1, N_POINTS - 1)])
        if not self.every_s:
            return most
        # Of a longer line than the longest there are more, so that nobody is too fast; but no trip is too long.
        longest_m = _BEYOND * float(shape_edges(self.region)[-1])
        needed = 2 + int(longest_m / (LEISURE * self.fastest * self.every_s))
        return min(max(most, needed), 1 + int(LONGEST_S / self.every_s))

    def jumping(self, lengths: Floats, noisy: Floats, error: float) -> Timing:
        """Let points of trips with such lengths be as far apart as was measured; see `jumps`."""
        drawn = fitted_jumps(self.draws, jump_edges(self.region), lengths, noisy, error)
        return replace(self, sampling=replace(self.sampling, draw_jumps=in_weights(drawn)))

    def on_lines(self, lines: Trajectories, first_trajectory: int, seed: int) -> Placed:
        """Report trips along lines, numbered from `first_trajectory`."""
        return reported(lines, self.region, self.draws, first_trajectory, seed)

    def times(self, placed: Placed, first_trajectory: int, seed: int) -> npt.NDArray[np.datetime64]:
        """Let trips depart, and add the seconds since then: times in UTC, (n_points,)."""
        assert self.calendar is not None
        zone = self.calendar.zone
        local_s = np.zeros(len(placed.offsets) - 1, np.int64)
        place = self.zones.lattice, self.region.area, self.region.scale_m
        _depart(local_s, placed, place, self._schedule, first_trajectory, np.uint64(seed))
        milliseconds = _since(zone.to_utc(local_s), placed.offsets, placed.seconds)
        return milliseconds.view("datetime64[ms]")  # type: ignore[no-any-return]


def timing_of(
    region: Region,
    measured: Mapping[str, Integers],
    errors: Mapping[str, float],
    calendar: Calendar | None,
    every_s: float,
    per_side: int,
) -> Timing:
    """Make what points and times are drawn by from noisy tables, in weights, and the errors of their noise."""
    noisy = {stage: table / WEIGHT for stage, table in measured.items()}
    lengths, points = clean.clean_points(noisy["points"], errors["points"])
    variations, gaps = clean.clean_gaps(noisy["gaps"], errors["gaps"])
    sampling = Sampling(
        points=measured["points"],
        gaps=measured["gaps"],
        jumps=measured["jumps"],
        draw_points=in_weights(points),
        draw_variations=in_weights(variations),
        draw_gaps=in_weights(gaps),
        draw_jumps=np.zeros((N_MOVES + 1, N_JUMPS), np.int64),
    )
    if calendar is None:
        return Timing(region, sampling).jumping(lengths, noisy["jumps"], errors["jumps"])
    hours = _on_days(clean.clean_departures(noisy["departures"], errors["departures"]), calendar)
    hours /= hours.sum()
    parts, trips = clean.clean_parts(noisy["parts"], hours, errors["parts"])
    tempos, speeds = clean.clean_tempos(noisy["tempos"], hours, errors["tempos"])
    tempos = clean.balanced(parts, trips, tempos, speeds, hours)
    clock = {name: np.zeros(shape, np.int64) for name, shape in _NO_CLOCK.items()}
    if not every_s:
        pauses = clean.clean_pauses(noisy["pauses"], errors["pauses"])
        ticks, paces, stretches = clean.fitted_clock(
            lengths,
            points,
            clean.clean_ticks(noisy["ticks"], errors["ticks"]),
            clean.clean_paces(noisy["paces"], errors["paces"]),
            clean.clean_stretches(noisy["stretches"], errors["stretches"]),
        )
        clock = {stage: measured[stage] for stage in ("ticks", "stretches", "paces", "pauses")}
        drawn = {"ticks": ticks, "paces": paces, "stretches": stretches, "pauses": pauses}
        clock |= {f"draw_{name}": in_weights(table) for name, table in drawn.items()}
    n_trips = float(noisy["departures"].sum())
    last_speed = clean.last_speed(noisy["speeds"], errors["speeds"], n_trips, _usually_last(region))
    timetable = Timetable(
        departures=measured["departures"],
        parts=measured["parts"],
        speeds=measured["speeds"],
        tempos=measured["tempos"],
        draw_hours=in_weights(hours),
        draw_parts=in_weights(parts),
        draw_tempos=in_weights(tempos),
        fastest=np.array([last_speed]),
        per_side=np.array([per_side]),
        **clock,
    )
    timing = Timing(region, sampling, calendar, timetable, every_s)
    return timing.jumping(lengths, noisy["jumps"], errors["jumps"])


def _usually_last(region: Region) -> int:
    """Give the last bin of speeds where noise hides them all; planar units may be any, so it is the last."""
    return int(half_octave(_FASTEST, SPEEDS)) if region.in_meters else N_SPEEDS - 1


def _on_days(hours: npt.NDArray[Number], calendar: Calendar) -> npt.NDArray[Number]:
    """Leave the hours of weekdays that a calendar has: (HOURS,); all of them alike if there are none."""
    is_there = np.isin(np.arange(7), weekdays(np.array(calendar.days)))[:, np.newaxis]
    there = hours.reshape(7, 24) * is_there
    if not there.any():
        there = np.ones_like(there) * is_there
    return there.ravel()


_NO_CLOCK = {
    "ticks": (0,),
    "stretches": (0,),
    "paces": (0, 0),
    "pauses": (0, 0),
    "draw_ticks": (0,),
    "draw_paces": (0, 0),
    "draw_stretches": (0,),
    "draw_pauses": (0, 0),
}


def _is_noisy(table: Integers, shape: tuple[int, ...]) -> bool:
    """Tell whether a table is as the ledger gives it, and as large as it should be."""
    return table.shape == shape and within_limits(table)


def _can_draw(weights: Integers, shape: tuple[int, ...]) -> bool:
    """Tell whether a table of weights can be drawn from, row by row; one without entries never is."""
    right = weights.shape == shape and bool(np.all((weights >= 0) & (weights <= CERTAIN)))
    return right and (weights.size == 0 or bool(weights.any(axis=-1).all()))


@borrowing
def _depart(local_s, placed, place, schedule, first_trajectory, seed):  # type: ignore[no-untyped-def]
    """Draw when trips depart, in local seconds since 1970: the part by where they lead, and how fast."""
    points, offsets, seconds = placed
    _, area, scale_m = place
    parts, tempos, hours, days = schedule
    for path in range(len(local_s)):
        first, last = offsets[path], offsets[path + 1] - 1
        if last < first:
            continue
        trajectory = np.uint64(first_trajectory + path)
        origin, goal = _zone_of(points, first, place), _zone_of(points, last, place)
        tempo = _tempo_of(points, first, last, seconds[last], area, scale_m)
        total = 0.0
        for part in range(N_PARTS):
            total += parts[part, origin, goal] * tempos[part, tempo]
        words = philox(seed, trajectory, np.uint64(_HOUR), np.uint64(REPORTING))
        target, part, reached = uniform(words[0]) * total, 0, parts[0, origin, goal] * tempos[0, tempo]
        while reached <= target and part + 1 < N_PARTS:
            part += 1
            reached += parts[part, origin, goal] * tempos[part, tempo]
        of_part = hours[part]
        hour = first_above(of_part, uniform(words[1]) * of_part[-1])
        weekday = hour // HOURS_OF_PART
        words = philox(seed, trajectory, np.uint64(_DAY), np.uint64(REPORTING))
        day = days[weekday, 0] + 7 * np.int64(uniform(words[0]) * days[weekday, 1])
        hour_of_day = part * HOURS_OF_PART + hour % HOURS_OF_PART
        local_s[path] = DAY_S * day + 3600 * hour_of_day + np.int64(3600 * uniform(words[1]))


@compiled
def _since(departures, offsets, seconds):  # type: ignore[no-untyped-def]
    """Add the seconds since departure, to the millisecond."""
    milliseconds = np.empty(len(seconds), np.int64)
    for path in range(len(departures)):
        for p in range(offsets[path], offsets[path + 1]):
            milliseconds[p] = 1000 * departures[path] + np.int64(1000.0 * seconds[p] + 0.5)
    return milliseconds


@inlined
def _tempo_of(points, first, last, seconds, area, scale_m):  # type: ignore[no-untyped-def]
    """Find the bin of a trip's mean speed; one of a single point has a bin of its own, behind the others."""
    if last == first:
        return N_SPEEDS
    length_m, before = 0.0, unwrapped(points[first, 0], area.bounds, area.turn)
    for p in range(first, last):
        after = unwrapped(points[p + 1, 0], area.bounds, area.turn)
        x, y = (after - before) * scale_m[0], (points[p + 1, 1] - points[p, 1]) * scale_m[1]
        length_m += np.sqrt(x * x + y * y)
        before = after
    return half_octave(length_m / seconds, SPEEDS)


@inlined
def _zone_of(points, p, place):  # type: ignore[no-untyped-def]
    """Find the zone of a point; on the border of a polygon rounding may find none, and any will do."""
    lattice, area, scale_m = place
    bounds = area.bounds
    across = (unwrapped(points[p, 0], bounds, area.turn) - bounds[0]) * scale_m[0] * lattice.columns_per_m
    up = (points[p, 1] - bounds[1]) * scale_m[1] * lattice.rows_per_m
    return max(cell_at(across, up, lattice.divisions, lattice.first_slot, lattice.cells), 0)
