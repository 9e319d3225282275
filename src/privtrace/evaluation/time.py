"""When people travel, how long they take, and how their points are spread over time and distance.

Both sets are clipped to the region before. A trip departs at the first timed point of what is left. Untimed are
points whose time is missing, before 1970, after 9999, not later than that of the timed point before, or more
than a week after that of the first: durations, speeds and intervals leave them out, and go straight from timed
point to timed point.
Hours are local, of the frame's zone. Half octaves are bins with edges at 1.14 * 2^(k / 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from privtrace import calendar
from privtrace.compiling import compiled
from privtrace.evaluation import octaves
from privtrace.evaluation.circles import SANITY, grouped_bit_counts
from privtrace.evaluation.compare import Whole, category_error, divergence, grouped_medians
from privtrace.evaluation.frame import Clipped, Frame
from privtrace.evaluation.metric import LN2, Metric, Profile
from privtrace.evaluation.paper import N_CIRCLES, draw_circles
from privtrace.evaluation.squares import Trips, trips_on
from privtrace.evaluation.traits import Binned, Bits, Traits
from privtrace.geometry import steps_m, sums
from privtrace.runs import Runs
from privtrace.timing.bins import HOURS, HOURS_OF_PART, LONGEST_S, N_PARTS
from privtrace.trajectories import Array, Floats, Integers

ZONES_PER_SIDE = 3
CELLS_PER_SIDE = 20
#: Cells with fewer real visits have no speed worth comparing.
LEAST_VISITS = 50
#: Fewer trips of a kind teach nothing of their own about how long such trips take.
LEAST_TAUGHT = 5


@dataclass(frozen=True, eq=False)
class Visits:
    """Hold visits to cells, a run for each trajectory: how far it went from points there, and in what time."""

    cells: npt.NDArray[np.int16]  # of 20 x 20
    meters: npt.NDArray[np.float32]
    seconds: npt.NDArray[np.float32]
    offsets: Integers  # (n + 1,): trajectory t has the visits from offsets[t] to offsets[t + 1]


@dataclass(frozen=True, eq=False)
class TimeTraits(Traits):
    """Hold what the metrics of time look at."""

    hour: npt.NDArray[
        np.int16
    ]  # (n,): the hour of the week of the departure, from 0 on Monday at midnight; -1 if untimed
    duration_s: Floats  # (n,): from the first timed point to the last; NaN if untimed
    speed: Floats  # (n,): meters per second; NaN without a duration over 0
    n_points: npt.NDArray[np.int32]  # (n,)
    n_untimed: npt.NDArray[np.int32]  # (n,): how many of the points
    intervals: Binned  # seconds from timed point to timed point, in half octaves
    jumps: Binned  # meters from point to point, in half octaves
    hits: Bits  # (n, n_words): a bit for each of the circles of `density` that holds a point
    trips: Trips  # (n,): first and last of 3 x 3 zones, as one number
    apart: npt.NDArray[np.uint8]  # (n,): meters from the first point to the last, in half octaves
    visits: Visits

    @property
    def part(self) -> Whole:
        """Give the part of the day of each departure: four hours, from 0 after midnight to 5; -1 if untimed."""
        return np.where(self.hour < 0, -1, self.hour % 24 // HOURS_OF_PART)


def measuring(frame: Frame) -> Callable[[Clipped], TimeTraits]:
    """Draw the circles, and return what measures the traits of a clipped part."""
    circles, zone = draw_circles(frame), calendar.Zone.named(frame.zone)
    sides_m = (frame.region.width_m, frame.region.height_m)

    def measure(runs: Clipped) -> TimeTraits:
        points, steps, seconds, offsets = runs.points, runs.steps_m, _seconds(runs), runs.offsets
        is_timed = timed(seconds, offsets)
        if not is_timed.all():
            points, seconds = points[is_timed], seconds[is_timed]
            offsets = np.concatenate([[0], np.cumsum(is_timed)])[offsets]
            steps = steps_m(points, offsets)
        firsts, lasts = offsets[:-1], offsets[1:] - 1
        departs = lasts >= firsts
        hour = np.full(len(runs), -1, np.int16)
        local_s = zone.to_local(np.floor(seconds[firsts[departs]]).astype(np.int64))
        hour[departs] = calendar.hours_of_week(local_s)
        duration = np.full(len(runs), np.nan)
        duration[departs] = seconds[lasts[departs]] - seconds[firsts[departs]]
        return TimeTraits.of(
            runs,
            hour=hour,
            duration_s=duration,
            speed=sums(steps, offsets) / np.where(duration > 0, duration, np.nan),
            n_points=np.diff(runs.offsets).astype(np.int32),
            n_untimed=(np.diff(runs.offsets) - np.diff(offsets)).astype(np.int32),
            intervals=_gaps(np.diff(seconds, prepend=0.0), offsets),
            jumps=_gaps(runs.steps_m, runs.offsets),
            hits=runs.once("hits", lambda: circles.hits(runs)),
            trips=trips_on(runs, frame, ZONES_PER_SIDE),
            apart=octaves.bins_of(runs.apart_m),
            visits=Visits(*_visits(points, steps, seconds, offsets, sides_m)),
        )

    return measure


def _seconds(runs: Runs) -> Floats:
    """Give the times of all points in seconds since 1970, with their fractions; NaN where there is none."""
    if runs.times is None:
        return np.full(len(runs.points), np.nan)
    times = calendar.sane(runs.times)
    times = times.astype(np.promote_types(times.dtype, "datetime64[s]"))  # as fine, or in seconds
    per_second = np.timedelta64(1, "s") // np.array(1, times.dtype.str.replace("M", "m"))
    return _in_seconds(times.view(np.int64), per_second, np.datetime64("NaT").view(np.int64))  # type: ignore[no-any-return]


@compiled
def _in_seconds(times, per_second, missing):  # type: ignore[no-untyped-def]
    seconds = np.empty(len(times))
    for p in range(len(times)):
        whole = times[p] // per_second
        seconds[p] = whole + (times[p] - whole * per_second) / per_second if times[p] != missing else np.nan
    return seconds


def departures(runs: Runs) -> Array:
    """Give the time of each trajectory's first timed point, as datetime64: (n,); NaT where there is none."""
    if runs.times is None:
        return np.full(len(runs), "NaT", "datetime64[ms]")
    has_time = np.append(np.flatnonzero(timed(_seconds(runs), runs.offsets)), len(runs.points))
    firsts = has_time[np.searchsorted(has_time, runs.offsets[:-1])]
    found: Array = np.append(runs.times.astype("datetime64[ms]"), np.datetime64("NaT"))[firsts]
    return np.where(firsts < runs.offsets[1:], found, np.datetime64("NaT"))


@compiled
def timed(seconds, offsets):  # type: ignore[no-untyped-def]
    """Tell which points have a time that can be one: (n_points,)."""
    # Fits have the same rule, in code of their own: a judge that shared it would share its mistakes.
    is_timed = np.zeros(len(seconds), np.bool_)
    for t in range(len(offsets) - 1):
        first = last = -1.0  # none yet
        for p in range(offsets[t], offsets[t + 1]):
            if seconds[p] >= 0 and seconds[p] > last and (first < 0 or seconds[p] - first <= LONGEST_S):
                is_timed[p] = True
                last = seconds[p]
                first = last if first < 0 else first
    return is_timed


def _gaps(sizes: Floats, offsets: Integers) -> Binned:
    """Put the gaps within trajectories into bins; those of first points are none."""
    return Binned(*_without_firsts(octaves.bins_of(sizes), offsets))


@compiled
def _without_firsts(bins, offsets):  # type: ignore[no-untyped-def]
    kept, kept_offsets = np.empty_like(bins), np.zeros_like(offsets)
    n = 0
    for t in range(len(offsets) - 1):
        for p in range(offsets[t] + 1, offsets[t + 1]):
            kept[n] = bins[p]
            n += 1
        kept_offsets[t + 1] = n
    return kept[:n].copy(), kept_offsets


@compiled
def _visits(points, steps, seconds, offsets, sides_m):  # type: ignore[no-untyped-def]
    """List visits: consecutive segments that begin in one cell are one."""
    size = CELLS_PER_SIDE
    cells = np.empty(len(points), np.int16)
    meters, times = np.zeros(len(points), np.float32), np.zeros(len(points), np.float32)
    visit_offsets = np.zeros(len(offsets), np.int64)
    n = 0
    for t in range(len(offsets) - 1):
        for p in range(offsets[t] + 1, offsets[t + 1]):
            x, y = points[p - 1, 0], points[p - 1, 1]
            # Divided last, so that whole numbers on the edges of cells do not round below them.
            column, row = min(int(x * size / sides_m[0]), size - 1), min(int(y * size / sides_m[1]), size - 1)
            cell = row * size + column
            if n == visit_offsets[t] or cells[n - 1] != cell:
                cells[n] = cell
                n += 1
            meters[n - 1] += steps[p]
            times[n - 1] += seconds[p] - seconds[p - 1]
        visit_offsets[t + 1] = n
    return cells[:n].copy(), meters[:n].copy(), times[:n].copy(), visit_offsets


def departure(real: TimeTraits, synthetic: TimeTraits) -> float:
    """Compare the hours of the week at which trips depart, by Jensen-Shannon divergence.

    168 local hours; trajectories without a timed point are left out. Natural logarithm: from 0 (the same) to ln
    2 = 0.693.
    """
    return category_error(_departing(real, real.hour), _departing(synthetic, synthetic.hour), HOURS)


def departure_day(real: TimeTraits, synthetic: TimeTraits) -> float:
    """Compare the hours of the day at which trips depart, weekdays and weekends apart.

    By Jensen-Shannon divergence of 48 local hours, 24 from Monday to Friday and 24 for Saturday and Sunday.
    Range and what is left out as for departure.
    """
    hours, others = (_departing(x, x.hour % 24 + 24 * (x.hour >= 5 * 24)) for x in (real, synthetic))
    return category_error(hours, others, 48)


def _departing(given: TimeTraits, numbers: Whole) -> tuple[Whole, Integers]:
    """Give the numbers of trajectories that have a departure, and their weights."""
    departs = given.hour >= 0
    return numbers[departs], given.weights[departs]


def duration(real: TimeTraits, synthetic: TimeTraits) -> float:
    """Compare the distributions of duration, by Jensen-Shannon divergence.

    Seconds from the first timed point to the last, in half octaves, with a bin for zero: that of a single timed
    point. Range and what is left out as for departure.
    """
    return divergence(*(octaves.histogram(x.duration_s, x.weights) for x in (real, synthetic)))


def speed(real: TimeTraits, synthetic: TimeTraits) -> float:
    """Compare the distributions of mean speed, by Jensen-Shannon divergence.

    Length over duration in meters per second, in half octaves, with a bin for zero; trips that take no time are
    left out. Natural logarithm: from 0 (the same) to ln 2 = 0.693.
    """
    return divergence(*(octaves.histogram(x.speed, x.weights) for x in (real, synthetic)))


def interval(real: TimeTraits, synthetic: TimeTraits) -> float:
    """Compare the times between consecutive points, by Jensen-Shannon divergence.

    Seconds from timed point to timed point, in half octaves. Each trajectory weighs one, spread over its
    intervals. Natural logarithm: from 0 (the same) to ln 2 = 0.693.
    """
    return _spread_error(real, synthetic, real.intervals, synthetic.intervals)


def jump(real: TimeTraits, synthetic: TimeTraits) -> float:
    """Compare the distances between consecutive points, by Jensen-Shannon divergence.

    Meters, in half octaves, with a bin for no move; all points count, timed or not. Each trajectory weighs
    one, spread over its jumps. Natural logarithm: from 0 (the same) to ln 2 = 0.693.
    """
    return _spread_error(real, synthetic, real.jumps, synthetic.jumps)


def _spread_error(real: TimeTraits, synthetic: TimeTraits, gaps: Binned, others: Binned) -> float:
    both = ((gaps, real.weights), (others, synthetic.weights))
    return divergence(
        *(octaves.spread_histogram(given.bins, given.offsets, weights) for given, weights in both)
    )


def points(real: TimeTraits, synthetic: TimeTraits) -> float:
    """Compare the distributions of the number of points, by Jensen-Shannon divergence.

    In half octaves; all points count, timed or not. Natural logarithm: from 0 (the same) to ln 2 = 0.693.
    """
    return divergence(*(octaves.histogram(x.n_points, x.weights) for x in (real, synthetic)))


def _as_many_points_each(given: TimeTraits) -> TimeTraits:
    """Give all trajectories the mean number of points, rounded: the random walk has that of each real one."""
    mean = round(float(given.n_points.mean())) if len(given) else 0
    return replace(given, n_points=np.full_like(given.n_points, mean))


def hourly_density(real: TimeTraits, synthetic: TimeTraits) -> float:
    """Compare the numbers of trajectories in 500 random circles by part of the day, by average relative error.

    Circles and what counts as for density, in each part of four local hours by itself. |real - synthetic| /
    max(real, 1 % of the part's real trajectories), averaged over circles, then over parts, each part weighing
    as much as it has real trajectories: few people at night would otherwise decide as much as all at noon.
    Synthetic counts are scaled by the numbers of all departures, so that what departs in a wrong part is wrong
    in both. From 0 (the same) upward; no trajectories at all give at most 1. Not defined without a departure.
    """
    size, other_size = (int(x.weights[x.hour >= 0].sum()) for x in (real, synthetic))
    if not size:
        return math.nan
    counts, others = (
        grouped_bit_counts(x.hits, x.part, x.weights, N_PARTS, N_CIRCLES) for x in (real, synthetic)
    )
    departs = real.hour >= 0
    sizes = np.bincount(real.part[departs], real.weights[departs], N_PARTS)
    errors = np.abs(counts - others * (size / max(other_size, 1)))
    there = sizes > 0
    relative = errors[there] / np.maximum(counts[there], SANITY * sizes[there, np.newaxis])
    return float(np.average(relative.mean(axis=1), weights=sizes[there]))


def hourly_od(real: TimeTraits, synthetic: TimeTraits) -> float:
    """Compare origins and destinations by part of the day, by Jensen-Shannon divergence.

    The zones of 3 x 3 of the first and the last point, with the part of the day of the departure, four local
    hours. Range and what is left out as for departure.
    """
    trips, others = (_departing(x, x.trips * N_PARTS + x.part) for x in (real, synthetic))
    return category_error(trips, others, ZONES_PER_SIDE**4 * N_PARTS)


def cell_speed(real: TimeTraits, synthetic: TimeTraits) -> float:
    """Compare the mean speeds in 20 x 20 cells, by average relative error.

    The meters of all segments between timed points that begin in a cell, over their seconds; consecutive ones
    of a trajectory are one visit. |real - synthetic| / (real + 1 m/s), averaged over the cells with 50 real
    visits or more; without synthetic visits nothing moves there, speed 0. From 0 (the same) upward; no
    trajectories at all give less than 1. Not defined without such a cell.
    """
    n_visits, meters, seconds = _cell_sums(real)
    _, other_meters, other_seconds = _cell_sums(synthetic)
    there = n_visits >= LEAST_VISITS
    if not there.any():
        return math.nan
    speeds = meters[there] / seconds[there]
    others = other_meters[there] / np.where(other_seconds[there] > 0, other_seconds[there], 1.0)
    return float(np.mean(np.abs(speeds - others) / (speeds + 1.0)))


def _cell_sums(given: TimeTraits) -> Floats:
    """Add up visits, meters and seconds of each cell: (3, n_cells)."""
    visits = given.visits
    return _added_up(visits.cells, visits.meters, visits.seconds, visits.offsets, given.weights)  # type: ignore[no-any-return]


@compiled
def _added_up(cells, meters, seconds, offsets, weights):  # type: ignore[no-untyped-def]
    sums = np.zeros((3, CELLS_PER_SIDE * CELLS_PER_SIDE))
    for t in range(len(offsets) - 1):
        if weights[t] == 0:
            continue
        for v in range(offsets[t], offsets[t + 1]):
            sums[0, cells[v]] += weights[t]
            sums[1, cells[v]] += weights[t] * np.float64(meters[v])
            sums[2, cells[v]] += weights[t] * np.float64(seconds[v])
    return sums


def travel_time(real: TimeTraits, synthetic: TimeTraits) -> float:
    """Tell how much larger the error of travel-time prediction gets by learning from synthetic data.

    How long the trips of one random half of the real trajectories take is foretold from where they start and
    end: as the median duration (of two in the middle the smaller) of the trips taught that go from the same to
    the same of 3 x 3 zones, with first and last points as far apart, in half octaves. Where fewer than 5 of
    these were taught, of all that are as far apart; where fewer than 5 of those, of all. The error of a trip is
    |foretold - real| over the larger of both, and 1 where nothing was taught. The mean error by what as many
    synthetic trajectories teach, minus that by what the other half teaches: from -1 to 1, 0 is as good, below 0
    is better. The real data itself, which has seen the test, gets below 0. Trips without a duration over 0
    neither teach nor are foretold. Not defined where the half has no others.
    """
    taught, tested = real.halves()
    tested = _taking_time(tested)
    if not tested.size:
        return math.nan
    by_real, by_synthetic = (_mean_error(tested, given) for given in (taught, synthetic.drawn(taught.size)))
    return by_synthetic - by_real


def _taking_time(given: TimeTraits) -> TimeTraits:
    return given.only(given.duration_s > 0)


def _mean_error(tested: TimeTraits, taught: TimeTraits) -> float:
    """Average |foretold - real| over the larger of both durations."""
    there = tested.weights > 0
    durations, foretold = tested.duration_s[there], _foretold(tested, _taking_time(taught))[there]
    right = np.minimum(durations, foretold) / np.maximum(durations, foretold)
    return 1.0 - float(np.average(right, weights=tested.weights[there]))


def _foretold(tested: TimeTraits, taught: TimeTraits) -> Floats:
    """Foretell seconds, by the narrowest kind of trips of which enough were taught: (n,); 0 by none at all."""
    there = np.flatnonzero(taught.weights)
    there = there[np.argsort(taught.duration_s[there])]
    durations, weights = taught.duration_s[there], taught.weights[there]
    foretold = np.zeros(len(tested))
    for (kinds, n_kinds, least), (asked, _, _) in zip(_kinds(taught), _kinds(tested), strict=True):
        medians = grouped_medians(kinds[there], durations, weights, least, n_kinds)[asked]
        foretold = np.where(np.isnan(medians), foretold, medians)
    return foretold


def _kinds(given: TimeTraits) -> tuple[tuple[Whole, int, int], ...]:
    """Tell kinds of trips, from wide to narrow: that of each trip, how many there are, the least taught."""
    apart = given.apart.astype(np.int32)
    return (
        (np.zeros_like(apart), 1, 1),
        (apart, octaves.N_BINS, LEAST_TAUGHT),
        (given.trips * np.int32(octaves.N_BINS) + apart, ZONES_PER_SIDE**4 * octaves.N_BINS, LEAST_TAUGHT),
    )


def _needing_times(
    name: str, compare: Callable[..., float], words: str, high: float = math.inf, low: float = 0.0
) -> Metric:
    return Metric(name, compare, words, low=low, high=high, needs_times=True)


PROFILE = Profile(
    "time",
    measuring,
    (
        _needing_times("departure", departure, "departures by hour of the week, JSD", LN2),
        _needing_times("departure_day", departure_day, "departures by hour, weekdays and weekends, JSD", LN2),
        _needing_times("duration", duration, "duration, JSD", LN2),
        _needing_times("speed", speed, "mean speed, JSD", LN2),
        _needing_times("interval", interval, "seconds between points, JSD", LN2),
        Metric("jump", jump, "distances between points, JSD", high=LN2),
        Metric("points", points, "number of points, JSD", high=LN2, uninformed=_as_many_points_each),
        _needing_times("hourly_density", hourly_density, "density by part of the day, relative error"),
        _needing_times("hourly_od", hourly_od, "origins and destinations by part of the day, JSD", LN2),
        _needing_times("cell_speed", cell_speed, "mean speeds in cells, relative error"),
        _needing_times("travel_time", travel_time, "travel-time prediction, added error", 1.0, -1.0),
    ),
)
