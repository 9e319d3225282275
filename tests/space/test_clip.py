"""Clipping: the longest run against a slow oracle and shapely, and each run that of its trajectory alone."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import shapely
from tests.conftest import BOX, trajectories
from tests.polygons import SHAPES, oracle, region

import privtrace as pt
from privtrace.runs import Runs
from privtrace.space.clip import MAX_OUTSIDE, clip
from privtrace.testing.data import ABSURD

PLANAR = pt.Region.box(*BOX, crs="planar")
CITY = pt.Region.box(13.0, 52.3, 13.8, 52.7, crs="lonlat")
ACROSS = pt.Region.box(178, -19, -179, -16, crs="lonlat")

Points = list[tuple[float, float]]


def as_lists(given: pt.Trajectories | Runs) -> list[Points]:
    return [[(x, y) for x, y in part.tolist()] for part in np.split(given.points, given.offsets[1:-1])]


def slow_clip(
    given: pt.Trajectories,
    inside: Callable[[float, float], bool],
    leaves: Callable[[tuple[float, float], tuple[float, float]], bool] = lambda a, b: False,
) -> list[Points]:
    """Follow the contract's words: runs of points inside, without those that are no numbers."""
    clipped = []
    for points in as_lists(given):
        runs: list[Points] = [[]]
        for x, y in points:
            if not (math.isfinite(x) and math.isfinite(y)):
                continue
            if not inside(x, y):
                runs.append([])
                continue
            if runs[-1] and leaves(runs[-1][-1], (x, y)):
                runs.append([])
            runs[-1].append((x, y))
        clipped.append(max(runs, key=len))
    return clipped


def spoiled(given: pt.Trajectories) -> pt.Trajectories:
    """Replace a few points by such as are none."""
    rng = np.random.default_rng(1)
    points = given.points.copy()
    points[rng.random(len(points)) < 0.03] = np.nan
    points[rng.random(len(points)) < 0.02] = (np.inf, 3)
    points[rng.random(len(points)) < 0.02] = (3, -np.inf)
    return pt.Trajectories(points, given.offsets, crs="planar")


def test_clipping_to_a_box_agrees_with_a_slow_oracle(wanderers: pt.Trajectories) -> None:
    given = spoiled(wanderers)
    expected = slow_clip(given, lambda x, y: 0 <= x <= 10 and 0 <= y <= 10)
    assert 0 < sum(map(bool, expected)) < len(given)
    assert as_lists(clip(given, PLANAR)) == expected


@pytest.mark.parametrize("name", SHAPES)
def test_clipping_to_a_polygon_agrees_with_shapely(name: str, wanderers: pt.Trajectories) -> None:
    polygon, here = oracle(name), region(name)
    limit = MAX_OUTSIDE * here.shorter_side_m

    def outside(a: tuple[float, float], b: tuple[float, float]) -> float:
        pieces = shapely.LineString([a, b]).difference(polygon)
        return max((piece.length for piece in shapely.get_parts(pieces)), default=0.0)

    given = spoiled(wanderers[:150])
    expected = slow_clip(
        given, lambda x, y: bool(polygon.contains(shapely.Point(x, y))), lambda a, b: outside(a, b) > limit
    )
    by_points = slow_clip(given, lambda x, y: bool(polygon.contains(shapely.Point(x, y))))
    assert expected != by_points or name in ("diamond", "ell")  # of which one is convex, and one not left
    moved = [[(x - here.west, y - here.south) for x, y in points] for points in expected]
    assert as_lists(clip(given, here)) == moved


def test_a_line_over_a_lake_ends_a_run_and_one_that_cuts_a_corner_does_not() -> None:
    here = region("frame")  # the lake is from 2.5 to 7.5
    given = trajectories(
        [(1, 5), (9, 5), (9, 6), (9, 9)],  # over the lake, then on
        [(1, 4), (4, 1), (9, 1)],  # past its corner, exactly
        [(2.4, 2.56), (2.56, 2.4), (9, 1)],  # over its corner, shorter than a hundredth of the box
        [(2.3, 2.9), (2.9, 2.3), (9, 1)],  # over its corner, longer
        [(1, 5), (np.nan, 0), (9, 5)],  # over it, with a bad point in between: two runs of one
        [(1, 1), (2.5, 2.49), (2.49, 7.4), (1, 9)],  # along its shore
        [(9.9, 0.1), (0.1, 9.9)],  # from corner to corner of it
    )
    assert [len(run) for run in as_lists(clip(given, here))] == [3, 3, 3, 2, 1, 4, 1]


def test_stretches_outside_do_not_add_up() -> None:
    notched = [[0.0, 0.0]]
    for x in (20, 40, 60, 80):  # notches from the south, 1.6 wide there, and narrower to the north
        notched += [[x - 0.8, 0.0], [x, 40.0], [x + 0.8, 0.0]]
    ring = [*notched, [100.0, 0.0], [100.0, 100.0], [0.0, 100.0], [0.0, 0.0]]
    comb = pt.Region.polygon([ring], crs="planar")
    narrow, wide = [(1.0, 20.0), (99.0, 20.0)], [(1.0, 1.0), (99.0, 1.0)]  # 0.8 outside four times, and 1.56
    assert [len(run) for run in as_lists(clip(trajectories(narrow, wide), comb))] == [2, 1]


def test_meters_are_counted_from_the_southwest_corner() -> None:
    here = pt.Region.box(100, -50, 300, 10, crs="planar")
    clipped = clip(trajectories([(100, -50), (300, 10), (150, 0)]), here)
    assert as_lists(clipped) == [[(0, 0), (200, 60), (50, 50)]]
    assert (here.width_m, here.height_m) == (200, 60)


def test_degrees_become_meters_and_back() -> None:
    east, north = CITY.scale_m
    given = trajectories([(13.0, 52.3), (13.1, 52.5), (13.8, 52.7), (13.9, 52.5)], crs="lonlat")
    clipped = clip(given, CITY)
    expected = [(0, 0), (0.1 * east, 0.2 * north), (0.8 * east, 0.4 * north)]
    assert clipped.points == pytest.approx(np.array(expected), rel=1e-9)
    assert 1.1e5 < north < 1.2e5 and east < 0.7 * north  # a degree of latitude, and of longitude there
    assert clipped.points[2].tolist() == pytest.approx([CITY.width_m, CITY.height_m])
    assert CITY.coordinates(clipped.points) == pytest.approx(given.points[:3])
    assert CITY.contains(CITY.coordinates(clipped.points)).all()
    assert CITY.meters(given.points[:3]) == pytest.approx(clipped.points)


def test_degrees_that_do_not_exist_are_absent_and_so_is_a_receiver_without_a_fix() -> None:
    here = pt.Region.box(-1, -1, 1, 1, crs="lonlat")
    given = trajectories(
        [(0.5, 0.5), (0, 0), (0.5, 0.4), (181, 0), (0.5, 0.3), (0, 91), (0.5, 0.2), (2, 0), (0.1, 0.1)],
        [(0, 0)],
        crs="lonlat",
    )
    clipped = clip(given, here)
    assert (clipped.points[:, 1] / here.scale_m[1] - 1).tolist() == pytest.approx([0.5, 0.4, 0.3, 0.2])
    assert np.diff(clipped.offsets).tolist() == [4, 0]
    assert np.diff(clip(trajectories([(0, 0)]), PLANAR).offsets).tolist() == [1]  # a place like any other


def test_a_box_across_the_antimeridian_is_one_box() -> None:
    east, north = ACROSS.scale_m
    given = trajectories(
        [(177, -18), (179, -18), (-180, -17), (180, -17), (-179.5, -16.5), (0, -17)], crs="lonlat"
    )
    clipped = clip(given, ACROSS)
    expected = [(1 * east, 1 * north), (2 * east, 2 * north), (2 * east, 2 * north), (2.5 * east, 2.5 * north)]
    assert clipped.points == pytest.approx(np.array(expected), rel=1e-9)
    assert ACROSS.width_m == pytest.approx(3 * east)
    assert ACROSS.coordinates(clipped.points)[:, 0] == pytest.approx([179, 180, 180, -179.5])


def test_the_longest_run_is_the_first_on_a_tie() -> None:
    given = trajectories(
        [(1, 1), (1, 2), (99, 0), (3, 1), (3, 2)],
        [(1, 1), (99, 0), (3, 1), (3, 2)],
        [(1, 1), (np.nan, 0), (1, 2), (99, 0), (3, 1), (3, 2)],
    )
    assert as_lists(clip(given, PLANAR)) == [[(1, 1), (1, 2)], [(3, 1), (3, 2)], [(1, 1), (1, 2)]]


def test_edges_of_a_box_are_inside() -> None:
    given = trajectories([(0, 0), (10, 0), (10, 10), (0, 10), (np.nextafter(10, 11), 5), (1, 1)])
    assert as_lists(clip(given, PLANAR)) == [[(0, 0), (10, 0), (10, 10), (0, 10)]]


def test_times_go_along_where_they_are_a_clock() -> None:
    times = np.arange(4).astype("datetime64[s]")
    walk = [(1, 1), (99, 0), (3, 1), (3, 2)]
    points, offsets = np.array(walk, float), np.array([0, 4])
    clipped = clip(pt.Trajectories(points, offsets, times, crs="planar"), PLANAR)
    assert clipped.times is not None and clipped.times.tolist() == times[2:].tolist()
    assert clip(pt.Trajectories(points, offsets, np.arange(4), crs="planar"), PLANAR).times is None


@pytest.mark.parametrize("name", [None, "frame", "mixed 0", "two banks"])
def test_a_run_is_that_of_its_trajectory_alone(name: str | None, wanderers: pt.Trajectories) -> None:
    """Whoever comes or goes changes no run of others: the sensitivity of all that is counted rests on it."""
    here = PLANAR if name is None else region(name)
    hostile = [make() for which, make in ABSURD.items() if "million" not in which]
    part = pt.Trajectories.concatenate([wanderers[:60], *hostile])
    alone = [as_lists(clip(part[t : t + 1], here))[0] for t in range(len(part))]
    order = np.random.default_rng(3).permutation(len(part))
    for some in (np.arange(len(part)), order, np.delete(order, 5)):
        assert as_lists(clip(part.take(some), here)) == [alone[t] for t in some]
    assert all(len(run) <= size for run, size in zip(alone, np.diff(part.offsets), strict=True))
