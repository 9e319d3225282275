"""Trips are counted in places as one would count them by hand: one after the other, with shapely."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator

import numpy as np
import pytest
import shapely

import privtrace as pt
from privtrace.calendar import Calendar
from privtrace.methods import counting
from privtrace.methods.counting import (
    ALL,
    SLOTS,
    CellPlaces,
    Counter,
    Departures,
    Ends,
    GroupPlaces,
    Lines,
    Pairs,
    Passing,
    Places,
    Sum,
    ZonePlaces,
    counted,
)
from privtrace.space.grid import Grid
from privtrace.zones import Zones

N_TRIPS = 120
MONDAY = np.datetime64("2024-03-04T00:00:00.000")


@pytest.fixture(scope="module")
def region() -> pt.Region:
    return pt.Region.box(0, 0, 10, 10).for_data("planar")


@pytest.fixture(scope="module")
def trips() -> pt.Trajectories:
    """Give wandering trips, some of one point and some of none, that depart at all hours of a week."""
    rng = np.random.default_rng(5)
    sizes = rng.integers(0, 9, N_TRIPS)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    points = rng.uniform(0.01, 9.99, (offsets[-1], 2))
    departures = MONDAY + rng.integers(0, 7 * 24 * 3600, N_TRIPS) * np.timedelta64(1000, "ms")
    times = np.repeat(departures, sizes).astype("datetime64[ms]")
    return pt.Trajectories(points, offsets, times, crs="planar")


@pytest.fixture(scope="module")
def lines(trips: pt.Trajectories, region: pt.Region) -> Lines:
    return Lines.of(trips, region, Calendar.of("UTC", None))


@pytest.fixture(scope="module")
def zones(region: pt.Region) -> Zones:
    """Give zones that overlap and leave a corner out."""
    polygons = [
        shapely.box(0, 0, 6, 6),
        shapely.Polygon([(4, 4), (9, 4), (4, 9)]),
        shapely.box(7, 0, 10, 3),
        shapely.Point(2, 8).buffer(1.5),
    ]
    return Zones(region, ("a", "b", "c", "d"), np.array(polygons), "zones")


def there(trips: pt.Trajectories) -> Iterator[tuple[np.ndarray, int]]:
    """Go through trips that have a point: their points, and the hour of the week."""
    for t in range(len(trips)):
        points = trips.points[trips.offsets[t] : trips.offsets[t + 1]]
        if len(points):
            assert trips.times is not None
            seconds = (trips.times[trips.offsets[t]] - MONDAY) / np.timedelta64(3600, "s")
            yield points, int(seconds)


def shape(points: np.ndarray) -> shapely.Geometry:
    return shapely.LineString(points) if len(points) > 1 else shapely.Point(points[0])


PLACES = ("cells", "groups", "zones")
N_CELLS = 5


def places_of(kind: str, region: pt.Region, zones: Zones) -> tuple[Places, list[shapely.Geometry]]:
    """Give places, and their shapes for the oracle."""
    if kind == "zones":
        return ZonePlaces(zones), [*zones.polygons]
    cells = CellPlaces(Grid.uniform(region, N_CELLS))
    boxes = [shapely.box(*box) for box in cells.grid.boxes]
    if kind == "cells":
        return cells, boxes
    groups = np.arange(len(boxes)) % 4
    unions = [shapely.union_all([boxes[cell] for cell in np.flatnonzero(groups == g)]) for g in range(4)]
    return GroupPlaces(cells, groups, 4), unions


@pytest.mark.parametrize("by", [None, *SLOTS])
@pytest.mark.parametrize("kind", PLACES)
def test_numbers_are_those_of_counting_by_hand(
    kind: str, by: str | None, trips: pt.Trajectories, lines: Lines, region: pt.Region, zones: Zones
) -> None:
    places, shapes = places_of(kind, region, zones)
    slots = ALL if by is None else SLOTS[by]
    slot_of = {
        None: lambda h: 0,
        "hour": lambda h: h % 24,
        "part": lambda h: h % 24 // 4,
        "weekday": lambda h: h // 24,
    }
    passing, starts, ends, pairs = Tally(), Tally(), Tally(), Tally()
    for points, hour in there(trips):
        slot, line = slot_of[by](hour), shape(points)
        begin, end = shapely.Point(points[0]), shapely.Point(points[-1])
        first = [p for p, one in enumerate(shapes) if one.intersects(begin)]
        last = [p for p, one in enumerate(shapes) if one.intersects(end)]
        passing.update((slot, p) for p, one in enumerate(shapes) if one.intersects(line))
        starts.update((slot, p) for p in first)
        ends.update((slot, p) for p in last)
        pairs.update((slot, p, q) for p in first for q in last)
    n = places.n
    counters: list[tuple[Counter, Tally[tuple[int, ...]], tuple[int, ...]]] = [
        (Passing(places, slots), passing, (n,)),
        (Ends(places, at_first=True, slots=slots), starts, (n,)),
        (Ends(places, at_first=False, slots=slots), ends, (n,)),
        (Pairs(places, slots), pairs, (n, n)),
    ]
    for counter, expected, size in counters:
        (numbers,) = counted([counter], [lines], 1.0)
        found = numbers.table.reshape(slots.n, *size)
        assert {tuple(map(int, at)): found[tuple(at)] for at in np.argwhere(found)} == dict(expected), counter


def test_departures_are_counted_by_the_hour_of_the_week(trips: pt.Trajectories, lines: Lines) -> None:
    (numbers,) = counted([Departures()], [lines], 1.0)
    expected = Tally(hour for _, hour in there(trips))
    assert {hour: n for hour, n in enumerate(numbers.table) if n} == dict(expected)


def test_trips_of_a_zone_are_told_by_local_clocks(trips: pt.Trajectories, region: pt.Region) -> None:
    here = counted([Departures()], [Lines.of(trips, region, Calendar.of("UTC", None))], 1.0)[0].table
    there = counted([Departures()], [Lines.of(trips, region, Calendar.of("Asia/Tokyo", None))], 1.0)[0].table
    np.testing.assert_array_equal(there, np.roll(here, 9))


def test_blocks_add_up_and_numbers_are_scaled(
    trips: pt.Trajectories, lines: Lines, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Pairs(CellPlaces(Grid.uniform(region, N_CELLS)))
    blocks = [Lines.of(trips[first : first + 17], region, None) for first in range(0, len(trips), 17)]
    (whole,), (added,) = counted([counter], [lines], 2.5), counted([counter], blocks, 2.5)
    np.testing.assert_allclose(added.table, whole.table)
    assert whole.table.sum() == pytest.approx(2.5 * len(lines))
    monkeypatch.setattr(counting, "_MOST_IN_A_TABLE", 10)  # now numbers are listed
    (listed,) = counted([counter], blocks, 2.5)
    assert len(listed.codes) < counter.size
    np.testing.assert_allclose(listed.table, whole.table)


def test_what_counts_nothing_is_zero(region: pt.Region, monkeypatch: pytest.MonkeyPatch) -> None:
    counter = Pairs(CellPlaces(Grid.uniform(region, N_CELLS)))
    empty = pt.Trajectories(np.zeros((0, 2)), np.zeros(3, np.int64), crs="planar")
    for most in (counting._MOST_IN_A_TABLE, 10):
        monkeypatch.setattr(counting, "_MOST_IN_A_TABLE", most)
        for blocks in ([], [Lines.of(empty, region, None)]):
            total = Sum(counter)
            for one in blocks:
                total.add(one)
            assert not total.total(1.0).table.any()
