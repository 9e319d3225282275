"""The frame of an evaluation: clipping against a slow oracle, and chance that only seed and use decide."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import shapely
from tests.conftest import BOX, trajectories
from tests.polygons import SHAPES, oracle, region

import privtrace as pt
from privtrace.evaluation.frame import BASELINE, BOOTSTRAP, CIRCLES, QUERIES, REAL, SYNTHETIC, Frame
from privtrace.methods.common.placing import decode
from privtrace.paths import Paths
from privtrace.space.grid import Grid
from privtrace.trajectories import Floats

PLANAR = Frame(pt.Region.box(*BOX, crs="planar"), 7)
CITY = pt.Region.box(13.0, 52.3, 13.8, 52.7, crs="lonlat")
ACROSS = pt.Region.box(178, -19, -179, -16, crs="lonlat")

Points = list[tuple[float, float]]


def as_lists(given: pt.Trajectories) -> list[Points]:
    return [[(x, y) for x, y in part.tolist()] for part in np.split(given.points, given.offsets[1:-1])]


def slow_clip(given: pt.Trajectories, inside: Callable[[float, float], bool]) -> list[Points]:
    """Find each trajectory's longest run of points inside, without those that are no numbers."""
    clipped = []
    for points in as_lists(given):
        runs: list[Points] = [[]]
        for x, y in points:
            if not (math.isfinite(x) and math.isfinite(y)):
                continue
            if inside(x, y):
                runs[-1].append((x, y))
            else:
                runs.append([])
        longest = max(runs, key=len)
        if longest:
            clipped.append(longest)
    return clipped


def spoiled(given: pt.Trajectories, crs: str = "planar") -> pt.Trajectories:
    """Replace a few points by such as are none."""
    rng = np.random.default_rng(1)
    points = given.points.copy()
    points[rng.random(len(points)) < 0.03] = np.nan
    points[rng.random(len(points)) < 0.02] = (np.inf, 3)
    points[rng.random(len(points)) < 0.02] = (3, -np.inf)
    return pt.Trajectories(points, given.offsets, crs=crs)  # type: ignore[arg-type]


# Clipping


def test_clipping_to_a_box_agrees_with_a_slow_oracle(wanderers: pt.Trajectories) -> None:
    given = spoiled(wanderers)
    expected = slow_clip(given, lambda x, y: 0 <= x <= 10 and 0 <= y <= 10)
    assert 0 < len(expected) < len(given)
    clipped = PLANAR.clip(given)
    assert as_lists(clipped) == expected
    assert clipped.crs == "planar"


@pytest.mark.parametrize("name", SHAPES)
def test_clipping_to_a_polygon_agrees_with_shapely(name: str, wanderers: pt.Trajectories) -> None:
    polygon, here = oracle(name), region(name)
    given = spoiled(wanderers[:150])
    expected = slow_clip(given, lambda x, y: bool(polygon.contains(shapely.Point(x, y))))
    clipped = Frame(here, 1).clip(given)
    moved = [[(x - here.west, y - here.south) for x, y in points] for points in expected]
    assert as_lists(clipped) == moved


def test_meters_are_counted_from_the_southwest_corner() -> None:
    frame = Frame(pt.Region.box(100, -50, 300, 10, crs="planar"), 0)
    assert as_lists(frame.clip(trajectories([(100, -50), (300, 10), (150, 0)]))) == [
        [(0, 0), (200, 60), (50, 50)]
    ]
    assert (frame.region.width_m, frame.region.height_m) == (200, 60)


def test_degrees_become_meters() -> None:
    east, north = CITY.scale_m
    given = trajectories([(13.0, 52.3), (13.1, 52.5), (13.8, 52.7), (13.9, 52.5)], crs="lonlat")
    clipped = Frame(CITY, 0).clip(given)
    expected = [(0, 0), (0.1 * east, 0.2 * north), (0.8 * east, 0.4 * north)]
    assert clipped.points == pytest.approx(np.array(expected), rel=1e-9)
    assert (
        0.9 * 1e5 * 1.1 < north < 1.2e5 and east < 0.7 * north
    )  # a degree of latitude, and of longitude there
    assert clipped.points[2].tolist() == pytest.approx([CITY.width_m, CITY.height_m])


def test_degrees_that_do_not_exist_are_absent_and_so_is_a_receiver_without_a_fix() -> None:
    frame = Frame(pt.Region.box(-1, -1, 1, 1, crs="lonlat"), 0)
    given = trajectories(
        [(0.5, 0.5), (0, 0), (0.5, 0.4), (181, 0), (0.5, 0.3), (0, 91), (0.5, 0.2), (2, 0), (0.1, 0.1)],
        [(0, 0)],
        crs="lonlat",
    )
    north = frame.region.scale_m[1]
    clipped = frame.clip(given)
    assert (clipped.points[:, 1] / north - 1).tolist() == pytest.approx([0.5, 0.4, 0.3, 0.2])
    assert len(clipped) == 1
    assert len(PLANAR.clip(trajectories([(0, 0)]))) == 1  # a place like any other


def test_a_box_across_the_antimeridian_is_one_box() -> None:
    east, north = ACROSS.scale_m
    given = trajectories(
        [(177, -18), (179, -18), (-180, -17), (180, -17), (-179.5, -16.5), (0, -17)], crs="lonlat"
    )
    clipped = Frame(ACROSS, 0).clip(given)
    expected = [(1 * east, 1 * north), (2 * east, 2 * north), (2 * east, 2 * north), (2.5 * east, 2.5 * north)]
    assert clipped.points == pytest.approx(np.array(expected), rel=1e-9)
    assert ACROSS.width_m == pytest.approx(3 * east)


def test_the_longest_run_is_the_first_on_a_tie() -> None:
    given = trajectories(
        [(1, 1), (1, 2), (99, 0), (3, 1), (3, 2)],
        [(1, 1), (99, 0), (3, 1), (3, 2)],
        [(1, 1), (np.nan, 0), (1, 2), (99, 0), (3, 1), (3, 2)],
    )
    assert as_lists(PLANAR.clip(given)) == [[(1, 1), (1, 2)], [(3, 1), (3, 2)], [(1, 1), (1, 2)]]


def test_a_trajectory_with_nothing_inside_is_dropped() -> None:
    given = trajectories([(99, 99), (-1, 3)], [], [(np.nan, np.nan)], [(5, 5)], [(10.1, 10)])
    assert as_lists(PLANAR.clip(given)) == [[(5, 5)]]
    nothing = PLANAR.clip(trajectories([(99, 99)]))
    assert len(nothing) == 0 and nothing.n_points == 0
    assert len(PLANAR.clip(trajectories())) == 0


def test_edges_of_a_box_are_inside() -> None:
    given = trajectories([(0, 0), (10, 0), (10, 10), (0, 10), (np.nextafter(10, 11), 5), (1, 1)])
    assert as_lists(PLANAR.clip(given)) == [[(0, 0), (10, 0), (10, 10), (0, 10)]]


def test_clipping_does_not_depend_on_the_cut_into_parts(wanderers: pt.Trajectories) -> None:
    whole = PLANAR.clip(wanderers)
    parts = [PLANAR.clip(wanderers[start : start + 70]) for start in range(0, 600, 70)]
    joined = pt.Trajectories.concatenate(parts)
    assert np.array_equal(joined.points, whole.points) and np.array_equal(joined.offsets, whole.offsets)


# Chance


def test_the_same_seed_and_use_draw_the_same_numbers() -> None:
    frame, again = Frame(PLANAR.region, 3), Frame(PLANAR.region, 3)
    assert np.array_equal(frame.draw(50, QUERIES, 4), again.draw(50, QUERIES, 4))
    assert np.array_equal(frame.draw(50, QUERIES)[:20], again.draw(20, QUERIES))
    assert np.array_equal(frame.centers_m(50, QUERIES), again.centers_m(50, QUERIES))
    assert np.array_equal(frame.centers_m(50, QUERIES)[:20], again.centers_m(20, QUERIES))


@pytest.mark.parametrize("what", ["draw", "centers_m"])
def test_each_seed_and_use_has_draws_of_its_own(what: str) -> None:
    uses = (CIRCLES, QUERIES, REAL, SYNTHETIC, BASELINE, BOOTSTRAP)
    drawn = {
        getattr(Frame(PLANAR.region, seed), what)(3, use).tobytes()
        for seed in (0, 1, 2**64 - 1)
        for use in uses
    }
    assert len(drawn) == 3 * 6


def test_each_replicate_has_draws_of_its_own() -> None:
    drawn = {PLANAR.draw(3, use, again).tobytes() for use in (REAL, BOOTSTRAP) for again in range(300)}
    assert len(drawn) == 2 * 300


def test_drawn_numbers_are_uniform_and_independent() -> None:
    numbers = PLANAR.draw(4000, CIRCLES)
    assert numbers.shape == (4000, 2) and 0 <= numbers.min() and numbers.max() < 1
    table, *_ = np.histogram2d(numbers[:, 0], numbers[:, 1], bins=4, range=[(0, 1), (0, 1)])
    assert np.all(np.abs(table - 250) < 80)  # five standard deviations


def shares_of(points: Floats, polygon: object, here: pt.Region) -> tuple[Floats, Floats]:
    """Count points in 4 x 4 boxes around a polygon, and measure what share of it each has."""
    west, south, east, north = here.bounds
    xs, ys = np.linspace(west, east, 5), np.linspace(south, north, 5)
    counts, *_ = np.histogram2d(points[:, 0], points[:, 1], bins=(xs, ys))
    areas = [
        [shapely.intersection(polygon, shapely.box(xs[i], ys[j], xs[i + 1], ys[j + 1])).area for j in range(4)]
        for i in range(4)
    ]
    return counts / len(points), np.array(areas) / np.sum(areas)


@pytest.mark.parametrize("name", ["mixed 0", "mixed 3", "ell", "frame", "two banks"])
def test_places_are_uniform_in_a_polygon(name: str) -> None:
    here, polygon = region(name), oracle(name)
    frame = Frame(here, 11)
    places = frame.places(np.arange(4001), 0, BASELINE)
    assert places.crs == "planar" and len(places) == 4000
    assert shapely.contains_xy(polygon.buffer(1e-9), places.points).all()
    found, expected = shares_of(places.points, polygon, here)
    assert np.abs(found - expected).max() < 0.04
    centers = frame.centers_m(4000, BASELINE)
    assert centers == pytest.approx(places.points - here.bounds[:2])


@pytest.mark.parametrize("here", [CITY, ACROSS], ids=["city", "antimeridian"])
def test_centers_are_uniform_in_a_box_of_degrees(here: pt.Region) -> None:
    frame = Frame(here, 5)
    assert here.contains(frame.places(np.arange(2001), 0, CIRCLES).points).all()
    centers = frame.centers_m(2000, CIRCLES) / (frame.region.width_m, frame.region.height_m)
    assert centers.shape == (2000, 2) and centers.min() >= 0 and centers.max() <= 1 + 1e-12
    table, *_ = np.histogram2d(centers[:, 0], centers[:, 1], bins=2, range=[(0, 1), (0, 1)])
    assert np.all(np.abs(table - 500) < 100)


def test_places_do_not_depend_on_the_cut_into_parts() -> None:
    offsets = np.array([0, 3, 4, 9, 11, 20])
    whole = PLANAR.places(offsets, 0, BASELINE)
    assert np.array_equal(whole.offsets, offsets)
    for cut in range(1, 5):
        first = PLANAR.places(offsets[: cut + 1], 0, BASELINE)
        second = PLANAR.places(offsets[cut:] - offsets[cut], cut, BASELINE)
        assert np.array_equal(np.concatenate([first.points, second.points]), whole.points)


def test_no_two_places_are_the_same() -> None:
    places = PLANAR.places(np.array([0, 30, 31, 60]), 0, BASELINE).points
    assert len(np.unique(places, axis=0)) == 60


def test_places_are_not_those_of_synthetic_points_from_the_same_seed() -> None:
    nowhere = Paths(np.zeros(40, np.int32), np.arange(41))
    synthetic = decode(nowhere, Grid.uniform(PLANAR.region, 1), 0, PLANAR.seed).points
    for use in (CIRCLES, QUERIES, BASELINE):
        assert not np.isin(PLANAR.places(np.arange(41), 0, use).points, synthetic).any()


def test_what_was_measured_of_all_is_not_handed_on_to_some(wanderers: pt.Trajectories) -> None:
    clipped = PLANAR.clip(wanderers)
    lengths = clipped.length_m
    assert np.array_equal(clipped[2:5].length_m, lengths[2:5])
    assert np.array_equal(clipped.take(np.array([7, 3])).length_m, lengths[[7, 3]])
