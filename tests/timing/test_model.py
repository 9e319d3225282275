"""When trips depart: hours, days and parts of the day as measured, in any zone; and what no file may hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.timing.fleet import PER_SIDE, REGION, apart, even, exact, fleet, released

import privtrace as pt
from privtrace.calendar import TYPICAL_WEEK
from privtrace.privacy.ledger import CLAMP
from privtrace.privacy.unit import WEIGHT
from privtrace.timing import bins
from privtrace.timing.clean import CERTAIN
from privtrace.timing.draw import Placed
from privtrace.timing.model import SAMPLING_SCHEMA, TIMES_SCHEMA, Timing

N = 20_000


def trips(
    n: int = N,
    ends: tuple[tuple[float, float], ...] = ((2000.0, 2000.0), (8000.0, 2000.0)),
    seconds: float = 600.0,
) -> Placed:
    """Lead trips from an end to the other."""
    return Placed(np.tile(ends, (n, 1)), np.arange(0, 2 * n + 1, 2), np.tile([0.0, seconds], n))


def local(timing: Timing, placed: Placed, zone: str = "UTC", seed: int = 1) -> list[datetime]:
    """Tell the local times of departure, by the library's own calendar."""
    seconds = (
        timing.times(placed, 0, seed)[placed.offsets[:-1]].astype("datetime64[ms]").astype(np.int64) / 1000
    )
    return [datetime.fromtimestamp(at, UTC).astimezone(ZoneInfo(zone)) for at in seconds.tolist()]


def hours_of(found: list[datetime]) -> np.ndarray:
    return np.bincount([24 * at.weekday() + at.hour for at in found], minlength=168)


def by_hours(hours: dict[int, float]) -> dict[str, Any]:
    """Let trips depart at some hours of the week, and everything else be as likely."""
    tables = even()
    tables["departures"][:] = 0
    for hour, trips in hours.items():
        tables["departures"][hour] = round(trips * WEIGHT)
    return tables


WEEK = {24 * day + hour: 50.0 * (1 + day) * (1 + hour % 5) for day in range(7) for hour in range(24)}


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kathmandu", "America/New_York", "Pacific/Auckland"])
@pytest.mark.parametrize("period", [None, "2013-09-01/2014-09-01"])
def test_departures_follow_the_local_hours(zone: str, period: str | None) -> None:
    """Over a year, clocks change twice."""
    timing = released(by_hours(WEEK), zone=zone, period=period)
    found = local(timing, trips(), zone)
    assert apart(hours_of(found), np.array([*WEEK.values()])) < 0.05
    days = {at.date() for at in found}
    first, end = (
        (TYPICAL_WEEK.first, TYPICAL_WEEK.end) if period is None else (date(2013, 9, 1), date(2014, 9, 1))
    )
    assert first == min(days) and max(days) == end - timedelta(days=1) and len(days) == (end - first).days
    assert len({at.second for at in found}) == 60 and len({at.minute for at in found}) == 60


def test_days_are_uniform_over_those_of_the_weekday() -> None:
    """From Wednesday 2013-07-10 to Tuesday 2013-07-30 there are three of each weekday, without the last day."""
    timing = released(
        by_hours({24 * day + 9: 100.0 * (1 + day) for day in range(7)}), period="2013-07-10/2013-07-30"
    )
    days = Counter(at.date() for at in local(timing, trips(), "UTC"))
    assert min(days) == date(2013, 7, 10) and max(days) == date(2013, 7, 29)
    assert len(days) == 20
    by_weekday = [[n for day, n in days.items() if day.weekday() == weekday] for weekday in range(7)]
    assert [len(some) for some in by_weekday] == [3, 2, 3, 3, 3, 3, 3]
    for weekday, some in enumerate(by_weekday):
        assert sum(some) == pytest.approx(N * (1 + weekday) / 28, rel=0.15)
        assert max(some) < 1.25 * min(some)


def test_without_a_period_trips_fall_in_a_typical_week() -> None:
    found = local(released(by_hours({24 * day + 9: 100.0 for day in range(7)})), trips(2000))
    assert {at.date() for at in found} == {date(2024, 1, day) for day in range(1, 8)}


def test_a_short_period_lacks_weekdays() -> None:
    """Hours of weekdays that it lacks, which noise may leave some of, are not drawn."""
    tables = by_hours({24 * day + hour: 100.0 for day in range(7) for hour in (3, 9)})
    found = local(released(tables, period="2013-07-12/2013-07-14"), trips(2000))  # Friday and Saturday
    assert {at.date().day for at in found} == {12, 13}
    assert np.mean([at.hour in (3, 9) for at in found]) > 0.9
    # All that was measured is on days that it lacks: any hour will do.
    found = local(released(by_hours({9: 1000.0}), period="2013-07-12/2013-07-14"), trips(2000))
    assert {at.date().day for at in found} == {12, 13}


def test_an_hour_that_never_comes_is_the_next() -> None:
    tables = by_hours({6 * 24 + hour: 100.0 for hour in range(4)})
    found = local(
        released(tables, period="2013-03-31/2013-04-01", zone="Europe/Lisbon"), trips(4000), "Europe/Lisbon"
    )
    assert {at.date() for at in found} == {date(2013, 3, 31)}
    counted = Counter(at.hour for at in found)
    assert counted[1] == 0 and counted[2] == pytest.approx(2 * counted[3], rel=0.15)


def test_an_hour_that_comes_twice_is_the_first() -> None:
    tables = by_hours({6 * 24 + 1: 100.0})
    timing = released(tables, period="2013-10-27/2013-10-28", zone="Europe/Lisbon")
    times = timing.times(trips(1000), 0, 1)[::2]
    is_first = (times >= np.datetime64("2013-10-27T00:00")) & (times < np.datetime64("2013-10-27T01:00"))
    is_second = (times >= np.datetime64("2013-10-27T01:00")) & (times < np.datetime64("2013-10-27T02:00"))
    assert is_first.mean() > 0.9 and not is_second.any()


def zone_at(x: float, y: float) -> int:
    return int(y // 5000) * PER_SIDE + int(x // 5000)


def test_trips_follow_the_part_of_the_day() -> None:
    """Half of the trips go east in the morning, half go west in the evening."""
    timing = released()
    east, west = ((1000.0, 4000.0), (9000.0, 4000.0)), ((9000.0, 4000.0), (1000.0, 4000.0))
    tables = exact(fleet())
    for ends, hour in ((east, 8), (west, 17)):
        found = np.bincount([at.hour // 4 for at in local(timing, trips(3000, ends, 1000.0))], minlength=6)
        trip = zone_at(*ends[0]), zone_at(*ends[1])
        assert apart(found, tables["parts"][:, trip[0], trip[1]]) < 0.1
        assert np.argmax(found) == hour // 4


def test_fast_trips_depart_when_fast_trips_do() -> None:
    tables = by_hours({5: 1600.0, 13: 1600.0})
    tables["tempos"][:], tables["parts"][:] = 0, 0
    tables["tempos"][1, 16:], tables["tempos"][3, :16] = 100 * WEIGHT, 100 * WEIGHT
    tables["parts"][[1, 3]] = 100 * WEIGHT
    timing = released(tables)
    speeds = {"slow": 8000.0, "fast": 20.0}
    for name, part in (("slow", 3), ("fast", 1)):
        placed = trips(2000)._replace(seconds=np.tile([0.0, speeds[name]], 2000))
        parts = np.bincount([at.hour // 4 for at in local(timing, placed)], minlength=6)
        assert parts[part] > 0.9 * parts.sum()


def test_nobody_flies_where_noise_hides_all_speeds() -> None:
    tables = {**exact(fleet()), "speeds": np.zeros(bins.N_SPEEDS, np.int64)}
    assert released(tables).fastest > 1000  # planar units may be any
    degrees = pt.Region.box(-8.7, 41.1, -8.54, 41.22, crs="lonlat")
    assert 60 <= released(tables, region=degrees).fastest < 60 * 2**0.5


def test_times_are_those_of_departure_and_the_seconds_since() -> None:
    timing = released()
    placed = Placed(np.full((5, 2), 10.0), np.array([0, 3, 3, 5]), np.array([0.0, 1.5, 20.0, 0.0, 0.25]))
    times = timing.times(placed, 0, 3)
    assert times.dtype == "datetime64[ms]"
    assert (times - times[[0, 0, 0, 3, 3]]).astype(int).tolist() == [0, 1500, 20_000, 0, 250]


def test_arrays_go_through_files() -> None:
    for every_s in (0.0, 15.0):
        timing = released(every_s=every_s, period="2013-07-01/2013-08-01", zone="Europe/Lisbon")
        arrays = timing.arrays()
        schema = SAMPLING_SCHEMA | TIMES_SCHEMA
        assert {name: (array.dtype.str, array.ndim) for name, array in arrays.items()} == schema
        again = Timing.from_arrays(REGION, timing.calendar, every_s, arrays)
        assert np.array_equal(again.times(trips(50), 0, 1), timing.times(trips(50), 0, 1))
    bare = Timing.from_arrays(REGION, None, 0.0, Timing(REGION, timing.sampling).arrays())
    assert bare.timetable is None and {*bare.arrays()} == {*SAMPLING_SCHEMA}


of_the_fleet = cache(released)


def cut(array: np.ndarray) -> np.ndarray:
    return array[:-1]


def beyond(value: int) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        array.flat[0] = value
        return array

    return change


DRAWN = [name for name in SAMPLING_SCHEMA | TIMES_SCHEMA if "_draw_" in name]
NOISY = [
    name
    for name in SAMPLING_SCHEMA | TIMES_SCHEMA
    if "_draw_" not in name and name not in ("times_fastest", "times_per_side")
]
DAMAGES: list[tuple[str, Callable[[np.ndarray], np.ndarray]]] = [
    *((name, cut) for name in SAMPLING_SCHEMA | TIMES_SCHEMA),
    *((name, beyond(CLAMP + 1)) for name in NOISY),
    *((name, beyond(-CLAMP - 1)) for name in NOISY),
    *((name, beyond(np.iinfo(np.int64).min)) for name in NOISY),
    *((name, beyond(-1)) for name in DRAWN),
    *((name, beyond(CERTAIN + 1)) for name in DRAWN),
    *((name, np.zeros_like) for name in DRAWN if name != "sampling_draw_jumps"),  # these may stay as they come
    ("sampling_draw_jumps", lambda array: array * np.array([[1], [0], [1]])),
    ("sampling_draw_jumps", lambda array: array + (np.arange(bins.N_JUMPS) == 0)),
    *(("times_fastest", beyond(value)) for value in (-1, bins.N_SPEEDS)),
    *(("times_per_side", beyond(value)) for value in (0, 1, 7, 1 << 40)),
    ("sampling_draw_variations", lambda array: np.where(np.arange(len(array)) == 0, CERTAIN, 0)),
]


@pytest.mark.parametrize("name", SAMPLING_SCHEMA | TIMES_SCHEMA)
def test_damaged_arrays_are_refused(name: str) -> None:
    timing = of_the_fleet()
    damages = [damage for damaged, damage in DAMAGES if damaged == name]
    assert len(damages) > 2
    for damage in damages:
        arrays = {**timing.arrays(), name: damage(timing.arrays()[name].copy())}
        with pytest.raises(pt.ModelFormatError, match="not match the rest"):
            Timing.from_arrays(REGION, timing.calendar, 0.0, arrays)


def test_tables_of_a_clock_go_without_a_public_tick_only() -> None:
    with pytest.raises(pt.ModelFormatError, match="ticks"):
        Timing.from_arrays(REGION, of_the_fleet().calendar, 15.0, of_the_fleet().arrays())
    by_tick = released(every_s=15.0)
    with pytest.raises(pt.ModelFormatError, match="ticks"):
        Timing.from_arrays(REGION, by_tick.calendar, 0.0, by_tick.arrays())
