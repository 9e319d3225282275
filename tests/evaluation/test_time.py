"""The metrics of time: slow oracles from their definitions, and examples by hand."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from functools import cache
from itertools import pairwise
from statistics import median_low
from typing import Any, TypeAlias
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.evaluation.profile_oracles import assert_weights_are_copies, cell, divergence, random_walks

import privtrace as pt
from privtrace.evaluation import octaves, time
from privtrace.evaluation.frame import Frame
from privtrace.evaluation.metric import LN2
from privtrace.evaluation.paper import draw_circles
from privtrace.trajectories import Integers

#: A point, and its time in seconds since 1970, if it has one.
Stop: TypeAlias = tuple[float, float, float | None]
Walks: TypeAlias = list[list[Stop]]

WIDE = Frame(pt.Region.box(0, 0, 12, 8, crs="planar"), 3, "America/New_York")
UNIT = Frame(pt.Region.box(0, 0, 20, 20, crs="planar"), 3)  # 20 x 20 cells of side 1
LARGE = Frame(pt.Region.box(0, 0, 900, 900, crs="planar"), 3, "Europe/Lisbon")  # zones of side 300

METRICS = {metric.name: metric for metric in time.PROFILE.metrics}
WEEK = 604_800


def at(text: str) -> float:
    """Read a time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def collected(walks: Walks, unit: str = "us") -> pt.Trajectories:
    per_second = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}[unit]
    ticks = [None if t is None else int(Fraction(t) * per_second) for walk in walks for _, _, t in walk]
    return pt.Trajectories(
        np.array([(x, y) for walk in walks for x, y, _ in walk], float).reshape(-1, 2),
        np.concatenate([[0], np.cumsum([len(walk) for walk in walks])]).astype(np.int64),
        np.array(["NaT" if tick is None else tick for tick in ticks], f"datetime64[{unit}]"),
        crs="planar",
    )


def measured(frame: Frame, walks: Walks) -> time.TimeTraits:
    return measured_once(frame, tuple(map(tuple, walks)))


@cache
def measured_once(frame: Frame, walks: tuple[tuple[Stop, ...], ...]) -> time.TimeTraits:
    traits = time.measuring(frame)(frame.clip(collected([*map(list, walks)])))
    assert isinstance(traits, time.TimeTraits)
    return traits


def value(name: str, frame: Frame, real: Walks, synthetic: Walks) -> float:
    return METRICS[name].compare(measured(frame, real), measured(frame, synthetic))


# Slow and obvious


def timed(walk: list[Stop]) -> list[tuple[float, float, float]]:
    """Keep the points whose time can be one."""
    kept: list[tuple[float, float, float]] = []
    for x, y, t in walk:
        if t is not None and t >= 0 and (not kept or (t > kept[-1][2] and t - kept[0][2] <= WEEK)):
            kept.append((x, y, t))
    return kept


def departures(frame: Frame, walks: Walks) -> list[datetime | None]:
    """Tell local times of departure, by the library's own calendar."""
    zone = ZoneInfo(frame.zone)
    found = []
    for walk in walks:
        first = timed(walk)[:1]
        moment = (
            datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=math.floor(first[0][2])) if first else None
        )
        found.append(None if moment is None else moment.astimezone(zone))
    return found


def half_octave(size: float) -> int | None:
    """Count the edges 1.14 * 2^(k / 2) up to a size, by exact squares; None for zero."""
    if size == 0:
        return None
    square, edge = Fraction(size) ** 2, Fraction(1.14) ** 2
    k = 0
    while edge <= square:
        edge, k = edge * 2, k + 1
    while edge > square:
        edge, k = edge / 2, k - 1
    return k


def slow_departure(frame: Frame, real: Walks, synthetic: Walks) -> float:
    return divergence(
        *(
            Counter((at.weekday(), at.hour) for at in departures(frame, x) if at is not None)
            for x in (real, synthetic)
        )
    )


def slow_departure_day(frame: Frame, real: Walks, synthetic: Walks) -> float:
    return divergence(
        *(
            Counter((at.weekday() in (5, 6), at.hour) for at in departures(frame, x) if at is not None)
            for x in (real, synthetic)
        )
    )


def slow_duration(frame: Frame, real: Walks, synthetic: Walks) -> float:
    kept = ([timed(walk) for walk in x] for x in (real, synthetic))
    return divergence(*(Counter(half_octave(w[-1][2] - w[0][2]) for w in x if w) for x in kept))


def slow_speed(frame: Frame, real: Walks, synthetic: Walks) -> float:
    def bins(walks: Walks) -> Counter[Any]:
        found: Counter[Any] = Counter()
        for walk in map(timed, walks):
            if len(walk) > 1:
                length = sum(math.dist(a[:2], b[:2]) for a, b in pairwise(walk))
                found[half_octave(length / (walk[-1][2] - walk[0][2]))] += 1
        return found

    return divergence(bins(real), bins(synthetic))


def spread(gaps: list[list[float]]) -> Counter[Any]:
    """Count gaps in half octaves, each trajectory weighing one."""
    shares: Counter[Any] = Counter()
    for own in gaps:
        for gap in own:
            shares[half_octave(gap)] += Fraction(1, len(own))
    return shares


def slow_interval(frame: Frame, real: Walks, synthetic: Walks) -> float:
    return divergence(
        *(spread([[b[2] - a[2] for a, b in pairwise(timed(walk))] for walk in x]) for x in (real, synthetic))
    )


def slow_jump(frame: Frame, real: Walks, synthetic: Walks) -> float:
    return divergence(
        *(
            spread([[math.dist(a[:2], b[:2]) for a, b in pairwise(walk)] for walk in x])
            for x in (real, synthetic)
        )
    )


def slow_points(frame: Frame, real: Walks, synthetic: Walks) -> float:
    return divergence(*(Counter(half_octave(len(walk)) for walk in x) for x in (real, synthetic)))


def slow_hourly_density(frame: Frame, real: Walks, synthetic: Walks) -> float:
    """Ask every circle and part of the day for the trajectories in it."""
    circles = draw_circles(frame)

    def counts(walks: Walks) -> tuple[Counter[Any], Counter[int]]:
        found: Counter[Any] = Counter()
        sizes: Counter[int] = Counter()
        for walk, moment in zip(walks, departures(frame, walks), strict=True):
            if moment is not None:
                sizes[moment.hour // 4] += 1
                for number, (center, radius) in enumerate(zip(circles.centers_m, circles.radii_m, strict=True)):
                    found[moment.hour // 4, number] += any(math.dist(p[:2], center) <= radius for p in walk)
        return found, sizes

    (counted, sizes), (others, other_sizes) = counts(real), counts(synthetic)
    total, scale = sum(sizes.values()), sum(sizes.values()) / sum(other_sizes.values())
    error = 0.0
    for part, size in sizes.items():
        for number in range(500):
            there, other = counted[part, number], others[part, number] * scale
            error += size / total * abs(there - other) / max(there, 0.01 * size) / 500
    return error


def slow_hourly_od(frame: Frame, real: Walks, synthetic: Walks) -> float:
    def trips(walks: Walks) -> Counter[Any]:
        ends = [(cell(walk[0][:2], frame, 3), cell(walk[-1][:2], frame, 3)) for walk in walks]
        both = zip(ends, departures(frame, walks), strict=True)
        return Counter((pair, moment.hour // 4) for pair, moment in both if moment is not None)

    return divergence(trips(real), trips(synthetic))


def slow_cell_speed(frame: Frame, real: Walks, synthetic: Walks) -> float:
    def sums(walks: Walks) -> tuple[Counter[Any], Counter[Any], Counter[Any]]:
        visits, meters, seconds = Counter[Any](), Counter[Any](), Counter[Any]()
        for walk in map(timed, walks):
            before = None
            for a, b in pairwise(walk):
                here = cell(a[:2], frame, 20)
                visits[here] += here != before
                meters[here] += math.dist(a[:2], b[:2])
                seconds[here] += b[2] - a[2]
                before = here
        return visits, meters, seconds

    (visits, meters, seconds), (_, other_meters, other_seconds) = sums(real), sums(synthetic)
    errors = []
    for here in (here for here in visits if visits[here] >= time.LEAST_VISITS):
        speed = meters[here] / seconds[here]
        other = other_meters[here] / other_seconds[here] if other_seconds[here] else 0
        errors.append(abs(speed - other) / (speed + 1))
    return sum(errors) / len(errors)


def slow_travel_time(frame: Frame, real: Walks, synthetic: Walks) -> float:
    """Foretell the second half of the real trips; of the synthetic ones the first teach, as many."""
    n_taught = (len(real) + 1) // 2
    tested = [walk for walk in real[n_taught:] if seconds_of(walk)]
    of_real, of_synthetic = (
        sum(error_of(frame, walk, taught) for walk in tested)
        for taught in (real[:n_taught], synthetic[:n_taught])
    )
    return (of_synthetic - of_real) / len(tested)


def seconds_of(walk: list[Stop]) -> float:
    kept = timed(walk)
    return kept[-1][2] - kept[0][2] if kept else 0.0


def error_of(frame: Frame, walk: list[Stop], taught: Walks) -> float:
    """Foretell by those of the same zones and half octave, of the half octave, or by all."""
    taught = [other for other in taught if seconds_of(other)]
    as_far = [other for other in taught if ends(frame, other)[1] == ends(frame, walk)[1]]
    alike = [other for other in as_far if ends(frame, other) == ends(frame, walk)]
    enough = (some for some in (alike, as_far) if len(some) >= time.LEAST_TAUGHT)
    foretold = median_low([seconds_of(other) for other in next(enough, taught)] or [0.0])
    return abs(foretold - seconds_of(walk)) / max(foretold, seconds_of(walk))


def ends(frame: Frame, walk: list[Stop]) -> tuple[Any, Any]:
    """Tell the zones of the ends, and how far these are apart."""
    first, last = walk[0][:2], walk[-1][:2]
    return (cell(first, frame, 3), cell(last, frame, 3)), half_octave(math.dist(first, last))


SLOW = {
    "departure": slow_departure,
    "departure_day": slow_departure_day,
    "duration": slow_duration,
    "speed": slow_speed,
    "interval": slow_interval,
    "jump": slow_jump,
    "points": slow_points,
    "hourly_density": slow_hourly_density,
    "hourly_od": slow_hourly_od,
    "cell_speed": slow_cell_speed,
    "travel_time": slow_travel_time,
}


def timed_walks(seed: int, n: int) -> Walks:
    """Give random walks times: over a year, with fractions; some are missing, early, too late or absurd."""
    rng = np.random.default_rng(seed)
    walks: Walks = []
    for walk in random_walks(seed, n, 12, 8):
        clock = at("2023-01-01") + rng.integers(0, 365 * 86_400) + rng.integers(0, 4) / 4
        stops: list[Stop] = []
        for x, y in walk:
            kind = rng.random()
            moment = (
                None if kind < 0.1 else -5.0 if kind < 0.15 else clock - 60 if kind < 0.2 else clock + 2 * WEEK
            )
            stops.append((x, y, moment if kind < 0.25 else clock))
            clock += 0.0 if rng.random() < 0.1 else float(rng.integers(1, 4000)) / 4
        walks.append(stops)
    return walks


@pytest.fixture(scope="module")
def sets() -> list[tuple[Walks, Walks]]:
    """Give pairs of sets of different sizes."""
    sizes = [(25, 40), (60, 30), (20, 50), (45, 6)]
    return [(timed_walks(2 * pair, n), timed_walks(2 * pair + 1, m)) for pair, (n, m) in enumerate(sizes)]


@pytest.fixture(autouse=True)
def few_will_do(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let 2 visits and 2 trips do where sets are small."""
    if "sets" in request.fixturenames:
        monkeypatch.setattr(time, "LEAST_VISITS", 2)
        monkeypatch.setattr(time, "LEAST_TAUGHT", 2)


def test_every_metric_has_an_oracle() -> None:
    assert list(SLOW) == list(METRICS)


@pytest.mark.parametrize("name", METRICS)
def test_agrees_with_a_slow_oracle(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    for real, synthetic in sets:
        expected = SLOW[name](WIDE, real, synthetic)
        assert value(name, WIDE, real, synthetic) == pytest.approx(expected, rel=1e-6, abs=1e-12)
        assert expected > 0 or name == "travel_time"


def test_travel_time_divides_real_trips_by_their_order(sets: list[tuple[Walks, Walks]]) -> None:
    rng, found = np.random.default_rng(3), set()
    for real, synthetic in sets:
        order = rng.permutation(len(real))
        expected = slow_travel_time(WIDE, [real[number] for number in order], synthetic)
        given = replace(measured(WIDE, real), order=order)
        assert time.travel_time(given, measured(WIDE, synthetic)) == pytest.approx(expected, abs=1e-12)
        assert abs(expected - slow_travel_time(WIDE, real, synthetic)) > 1e-6
        found.add(expected > 0)
    assert found == {True, False}


@pytest.mark.parametrize("name", METRICS)
def test_real_data_itself_gets_the_best_value(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    for real, _ in sets:
        assert value(name, WIDE, real, real) == 0


@pytest.mark.parametrize("name", METRICS)
def test_a_synthetic_set_written_twice_is_the_same(
    name: str, sets: list[tuple[Walks, Walks]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "LEAST_TAUGHT", 1)  # twice as many may teach where fewer were too few
    for real, synthetic in sets:
        once, twice = (value(name, WIDE, real, synthetic * n) for n in (1, 2))
        assert twice == pytest.approx(once, abs=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_a_weight_is_a_number_of_copies(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    def measure(walks: Walks, numbers: Integers) -> time.TimeTraits:
        return measured(WIDE, [walks[i] for i in numbers])

    for pair in sets:
        assert_weights_are_copies(pair, measure, METRICS[name].compare, within=1e-9)


@pytest.mark.parametrize("name", METRICS)
def test_parts_are_joined(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    real, synthetic = sets[0]
    parts = [measured(WIDE, some) for some in (real[:7], [], real[7:8], real[8:])]
    joined = time.TimeTraits.joined(parts, np.arange(len(real)))
    other = measured(WIDE, synthetic)
    compare = METRICS[name].compare
    assert compare(joined, other) == compare(measured(WIDE, real), other)


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_times_are_read_in_any_unit(unit: str) -> None:
    walks = timed_walks(5, 30)
    one, other = (time.measuring(WIDE)(WIDE.clip(collected(walks, x))) for x in (unit, "us"))
    assert np.array_equal(one.hour, other.hour)
    np.testing.assert_array_equal(one.duration_s, other.duration_s)
    assert (one.duration_s % 1 == 0.25).any()


def test_months_are_times_and_numbers_are_no_clock() -> None:
    given = pt.Trajectories(
        np.ones((2, 2)), np.array([0, 1, 2]), np.array(["2023-01", "NaT"], "datetime64[M]"), crs="planar"
    )
    traits = time.measuring(WIDE)(WIDE.clip(given))
    assert traits.hour.tolist() == [5 * 24 + 19, -1]  # in New York, Saturday evening
    numbers = replace(given, times=np.array([1.6e9, 1.7e9]))
    assert time.measuring(WIDE)(WIDE.clip(numbers)).n_untimed.tolist() == [1, 1]


# By hand


def test_half_octaves_hold_round_numbers_inside() -> None:
    sizes = np.array([0, 0.5, 1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 1800, 3600, 86_400])
    for size, bin_ in zip(sizes.tolist(), octaves.bins_of(sizes).tolist(), strict=True):
        low, high = octaves.BOUNDS[[bin_, bin_ + 1]].tolist()
        assert (size == 0 and bin_ == 0) or low * 1.01 < size < high / 1.01
    ends = octaves.bins_of(np.array([1e-300, 1e300]))
    assert ends.tolist() == [1, octaves.N_BINS - 1]


def test_half_octaves_begin_at_their_bounds() -> None:
    """Of sizes beyond both ends, too, and a hair below and above each bound."""
    bounds = octaves.BOUNDS[1:]
    beyond = [5e-324, 1e-12, 1e12, np.inf]
    sizes = np.concatenate([bounds, np.nextafter(bounds, 0), np.nextafter(bounds, np.inf), beyond])
    expected = np.searchsorted(octaves.BOUNDS, sizes, side="right") - 1
    assert octaves.bins_of(sizes).tolist() == np.clip(expected, 1, octaves.N_BINS - 1).tolist()
    assert octaves.bins_of(np.array([0.0, -0.0, np.nan])).tolist() == [0, 0, 0]


def depart(*texts: str) -> Walks:
    return [[(1.0, 1.0, at(text))] for text in texts]


def test_departure_by_hand() -> None:
    # Lisbon is an hour ahead of UTC in July and not in January: 8:30 and 7:30 are in the same hour of a Monday.
    assert value("departure", LARGE, depart("2024-01-08 08:30"), depart("2024-07-08 07:30")) == 0
    assert value("departure", LARGE, depart("2024-01-08 08:30"), depart("2024-07-08 08:30")) == pytest.approx(
        LN2
    )
    # A Tuesday is another day; of the day's hours it is the same, and a Saturday's is not.
    tuesday, saturday = depart("2024-01-09 08:00"), depart("2024-01-13 08:00")
    monday = depart("2024-01-08 08:59:59")
    assert value("departure", LARGE, monday, tuesday) == pytest.approx(LN2)
    assert value("departure_day", LARGE, monday, tuesday) == 0
    assert value("departure_day", LARGE, monday, saturday) == pytest.approx(LN2)
    assert value("departure_day", LARGE, depart("2024-01-14 08:00"), saturday) == 0


def test_a_trip_departs_where_it_comes_into_the_region() -> None:
    walk = [(-5.0, 1.0, at("2024-01-08 07:59")), (1.0, 1.0, None), (2.0, 1.0, at("2024-01-08 08:01"))]
    assert measured(LARGE, [walk]).hour.tolist() == [8]


def test_untimed_points_are_counted_and_left_out() -> None:
    start = at("2024-01-08 08:00")
    usable = [(0.0, 0.0, start), (3.0, 0.0, start + 10), (3.0, 4.0, start + WEEK)]
    absurd: list[Stop] = [
        (900.0, 900.0, None),  # missing
        (900.0, 900.0, -1.0),  # before 1970
        (900.0, 900.0, start + 10),  # not later than the one before
        (900.0, 900.0, start + WEEK + 1),  # more than a week after the first
    ]
    traits = measured(LARGE, [[usable[0], usable[1], *absurd, usable[2]], usable, absurd[:2]])
    assert traits.n_untimed.tolist() == [4, 0, 2] and traits.n_points.tolist() == [7, 3, 2]
    assert traits.duration_s[:2].tolist() == [WEEK, WEEK] and math.isnan(traits.duration_s[2])
    assert traits.speed[:2] == pytest.approx([7 / WEEK] * 2) and traits.hour.tolist() == [8, 8, -1]
    assert np.diff(traits.intervals.offsets).tolist() == [2, 2, 0]
    assert np.diff(traits.jumps.offsets).tolist() == [6, 2, 1]


def line(seconds: float, meters: float, n_points: int = 2) -> list[Stop]:
    """Go straight, with points evenly apart."""
    start = at("2024-01-08 08:00")
    return [(meters * k / (n_points - 1), 1.0, start + seconds * k / (n_points - 1)) for k in range(n_points)]


def test_duration_and_speed_by_hand() -> None:
    # Edges at 1.14 * 2^(k / 2): 51.6, 73, 103 s and 4.56, 6.45, 9.12 m/s. 60 and 70 s are in one bin, 80 not.
    assert value("duration", LARGE, [line(60, 300)], [line(70, 100)]) == 0
    two = [line(60, 300), line(200, 1)]
    assert value("duration", LARGE, two, [line(80, 300), line(200, 9)]) == pytest.approx(LN2 / 2)
    assert value("speed", LARGE, [line(60, 300)], [line(100, 600)]) == 0  # 5 and 6 m/s
    assert value("speed", LARGE, [line(60, 300)], [line(100, 700)]) == pytest.approx(LN2)
    # A single point takes no time, and has no speed.
    still: list[Stop] = [(1.0, 1.0, at("2024-01-08 08:00"))]
    assert value("speed", LARGE, [line(60, 300)], [line(60, 300), still]) == 0
    assert value("duration", LARGE, [still], [still, line(60, 300)]) > 0


def test_each_trajectory_weighs_one_in_intervals_and_jumps() -> None:
    # One with 2 points 60 s and 60 m apart, one with 101 points 15 s and 15 m apart: half each.
    few, many = line(60, 60), line(1500, 800, 101)
    for name in ("interval", "jump"):
        assert value(name, LARGE, [few, many], [many[:2], few, few, many]) == pytest.approx(0, abs=1e-12)
        assert value(name, LARGE, [few], [many]) == pytest.approx(LN2)
    rest: list[Stop] = [(1.0, 1.0, 10.0), (1.0, 1.0, 20.0)]
    assert value("jump", LARGE, [rest], [line(10, 0.001)]) == pytest.approx(LN2)  # no move has its own bin
    assert value("jump", LARGE, [rest], [[*rest, (*rest[0][:2], None)]]) == 0  # untimed points count
    assert value("interval", LARGE, [rest], [[*rest, (*rest[0][:2], None)]]) == 0


def test_points_by_hand() -> None:
    # 5 and 6 points are in one bin, 7 are not.
    assert value("points", LARGE, [line(9, 9, 5)], [line(9, 9, 6)]) == 0
    assert value("points", LARGE, [line(9, 9, 5)], [line(9, 9, 7)]) == pytest.approx(LN2)


def test_hourly_od_by_hand() -> None:
    # From zone to zone at 9, and back at 18; synthetic trips all day alike: half of them are right.
    there: list[Stop] = [(100.0, 100.0, at("2024-01-08 09:00")), (800.0, 100.0, None)]
    back: list[Stop] = [(800.0, 100.0, at("2024-01-08 18:00")), (100.0, 100.0, None)]
    late, early = ([(x, y, t and t + h * 3600) for x, y, t in walk] for walk, h in ((there, 9), (back, -9)))
    assert value("hourly_od", LARGE, [there, back], [there, back, late, early]) == pytest.approx(
        (math.log(4 / 3) + (math.log(2 / 3) + math.log(2)) / 2) / 2
    )
    soon = [(x, y, t and t + 2 * 3600) for x, y, t in there]  # 9 and 11 are in one part, 8 to 12
    assert value("hourly_od", LARGE, [there], [soon]) == 0


def test_hourly_density_weighs_parts_by_their_real_trajectories() -> None:
    """All are in one place: a circle that holds it holds all of a part."""
    circles = draw_circles(LARGE)
    x, y = circles.centers_m[0].tolist()
    apart = [math.dist((x, y), center) for center in circles.centers_m.tolist()]
    n_holding = np.count_nonzero(np.array(apart) <= circles.radii_m)
    morning, night = ([(x, y, at(f"2024-01-08 {hour}:00"))] for hour in ("09", "01"))
    # Real: 3 in the morning, 1 at night. Synthetic: 2 and 2: errors 1/3 and 1, weighed 3 to 1.
    found = value("hourly_density", LARGE, [morning] * 3 + [night], [morning] * 2 + [night] * 2)
    assert found == pytest.approx((3 / 4 * 1 / 3 + 1 / 4 * 1) * n_holding / 500)
    # Shares alone count, not sizes.
    assert value("hourly_density", LARGE, [morning] * 3 + [night], [morning] * 6 + [night] * 2) == 0


def test_cell_speed_by_hand() -> None:
    # Real: 50 visits to a cell at 1 m in 0.5 s, 2 m/s, and 49 to another. Synthetic: 1 m/s there, (2 - 1) / 3.
    fast, slow = ([(0.2, 0.5, 10.0), (1.2, 0.5, 10.0 + wait)] for wait in (0.5, 1.0))
    elsewhere: list[Stop] = [(5.5, 5.5, 10.0), (6.5, 5.5, 11.0)]
    real: Walks = [fast] * 50 + [elsewhere] * 49
    assert value("cell_speed", UNIT, real, [slow]) == pytest.approx(1 / 3, rel=1e-6)
    assert value("cell_speed", UNIT, real, [elsewhere]) == pytest.approx(
        2 / 3, rel=1e-6
    )  # no visits: no movement
    assert math.isnan(value("cell_speed", UNIT, real[1:], [slow]))


def test_segments_that_begin_in_one_cell_are_one_visit() -> None:
    stops: list[Stop] = [(0.2, 0.5, 0.0), (0.4, 0.5, 1.0), (1.4, 0.5, 3.0), (0.4, 0.5, 4.0), (0.5, 0.5, 9.0)]
    visits = measured(UNIT, [stops]).visits
    assert visits.cells.tolist() == [0, 1, 0] and visits.seconds.tolist() == [3, 1, 5]
    assert visits.meters == pytest.approx([1.2, 1.0, 0.1], rel=1e-6)


def taking(seconds: float, start: float = 100.0, end: float = 700.0) -> list[Stop]:
    """Go straight from zone to zone, unless told otherwise, in so many seconds."""
    return [(start, 100.0, 0.0), (end, 100.0, seconds)]


def test_travel_time_by_hand() -> None:
    # The first five teach 200 s: of 200, 400, 100 and 200 s it is off by 0, 1/2, 1/2 and 0 of the larger. 400 s
    # is off by 1/2, 0, 3/4 and 1/2. A trip that takes no time is not foretold.
    still: list[Stop] = [(100.0, 100.0, 5.0)]
    lessons = [taking(seconds) for seconds in (100, 300, 200, 300, 100)]
    real = [*lessons, *(taking(seconds) for seconds in (200, 400, 100, 200)), still]
    assert value("travel_time", LARGE, real, [taking(400)] * 5) == pytest.approx((7 / 4 - 1) / 4)
    assert value("travel_time", LARGE, real, lessons) == 0
    assert value("travel_time", LARGE, real, [taking(400)] * 3 + [still] * 2) == pytest.approx((7 / 4 - 1) / 4)
    # Of two in the middle the smaller; and no more teach than there are in a half.
    assert value("travel_time", LARGE, real, [taking(200)] * 2 + [taking(400)] * 2) == 0
    assert value("travel_time", LARGE, real, [*lessons, *[taking(400)] * 9]) == 0


def error_by(lessons: Walks, asked: list[Stop]) -> float:
    """Let synthetic trips teach alone: real ones all are the one that is asked for, and foretell it rightly."""
    return value("travel_time", LARGE, [asked] * 2 * len(lessons), lessons)


def test_travel_times_are_foretold_by_the_narrowest_kind_of_which_five_were_taught() -> None:
    alike, back = taking(120), taking(240, 700, 100)  # as far, between other zones
    near, far = taking(480, 100, 250), taking(480, 0, 899)
    others = [near, far] * 10
    assert error_by([*others, *[back] * 9, *[alike] * 5], taking(60)) == pytest.approx(1 / 2)
    assert error_by([*others, *[back] * 9, *[alike] * 4], taking(60)) == pytest.approx(3 / 4)
    assert error_by([*others, back, *[alike] * 3], taking(60)) == pytest.approx(7 / 8)
    assert error_by([near], taking(60)) == pytest.approx(7 / 8)
    # Half octaves end at 1.14 * 2^(k / 2): 584 and 825 m. 590 and 600 m are in one, 580 m are not.
    for end, foretold in ((690, 120), (680, 480)):
        lessons = [*others, *[taking(120, 100, end)] * 5]
        assert error_by(lessons, taking(60)) == pytest.approx(1 - 60 / foretold)


def test_travel_time_where_nothing_is_taught_or_asked() -> None:
    untimed: list[Stop] = [(100.0, 100.0, None), (700.0, 100.0, None)]
    still: list[Stop] = [(100.0, 100.0, 5.0), (700.0, 100.0, 5.0)]
    real = [taking(60)] * 4
    for nothing in ([], [still], [untimed]):
        assert value("travel_time", LARGE, real, nothing) == 1
        assert math.isnan(value("travel_time", LARGE, [*real[:1], *nothing], real))
    assert value("travel_time", LARGE, [still, taking(60)], real) == -1


def test_slowness_and_shuffled_departures_show_where_they_should() -> None:
    """Shuffling departures changes hourly trips alone, and three times the time changes the pace alone."""
    rng = np.random.default_rng(3)
    real: Walks = []
    for number in range(300):  # in the morning to the east, in the evening to the west
        start = at("2024-01-08") + 3600 * (8.0 if number % 2 else 18.0) + rng.uniform(0, 3000)
        ways = np.linspace(50, 850, 9)[:: 1 if number % 2 else -1]
        real.append([(float(x), 450.0, start + 15 * k) for k, x in enumerate(ways)])
    starts = [walk[0][2] for walk in real]
    shuffled = [
        [(x, y, t - start + other) for x, y, t in walk]
        for walk, start, other in zip(real, starts, rng.permutation(starts), strict=True)
    ]
    slower = [
        [(x, y, start + 3 * (t - start)) for x, y, t in walk] for walk, start in zip(real, starts, strict=True)
    ]
    by_shuffling, by_slowness = (
        {name for name in METRICS if value(name, LARGE, real, other) > 0.05} for other in (shuffled, slower)
    )
    assert by_shuffling == {"hourly_od"}
    assert by_slowness == {"duration", "speed", "interval", "cell_speed", "travel_time"}
