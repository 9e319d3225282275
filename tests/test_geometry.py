"""Measures of trajectories: each kernel against plain Python, diameters against all pairs."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

import privtrace as pt
from privtrace.geometry import (
    diameters_m,
    ends_apart_m,
    gyrations_m,
    lengths_m,
    turn_bins,
)
from privtrace.trajectories import Floats
from tests.conftest import trajectories

Points = list[tuple[float, float]]


def lists(given: pt.Trajectories) -> list[Points]:
    return [[(x, y) for x, y in part.tolist()] for part in np.split(given.points, given.offsets[1:-1])]


def slow_length(points: Points) -> float:
    return sum(math.dist(a, b) for a, b in pairwise(points))


def slow_ends_apart(points: Points) -> float:
    return math.dist(points[0], points[-1])


def slow_gyration(points: Points) -> float:
    mean = [math.fsum(values) / len(points) for values in zip(*points, strict=True)]
    return math.sqrt(math.fsum(math.dist(point, mean) ** 2 for point in points) / len(points))


def slow_diameter(points: Points) -> float:
    return max((math.dist(a, b) for a, b in combinations(points, 2)), default=0.0)


def diameter(points: Points | Floats) -> float:
    cloud = np.array(points, float)
    return float(diameters_m(cloud, np.array([0, len(cloud)]))[0])


def rotated(points: Floats, angle: float) -> Floats:
    cos, sin = math.cos(angle), math.sin(angle)
    return points @ np.array([[cos, sin], [-sin, cos]])


@pytest.mark.parametrize(
    ("kernel", "slow"),
    [
        (lengths_m, slow_length),
        (ends_apart_m, slow_ends_apart),
        (gyrations_m, slow_gyration),
        (diameters_m, slow_diameter),
    ],
)
def test_each_trajectory_is_measured_as_by_plain_python(
    kernel: Callable[..., Floats], slow: Callable[[Points], float], wanderers: pt.Trajectories
) -> None:
    some = wanderers[:100]
    assert kernel(some.points, some.offsets) == pytest.approx([slow(x) for x in lists(some)], rel=1e-12)


@pytest.mark.parametrize("kernel", [lengths_m, ends_apart_m, gyrations_m, diameters_m])
def test_a_single_point_has_no_extent(kernel: Callable[..., Floats]) -> None:
    given = trajectories([(7.3, 2.1)], [(1, 1), (4, 5)], [(0, 0)])
    assert kernel(given.points, given.offsets).tolist() == [0, 5 / (2 if kernel is gyrations_m else 1), 0]


@pytest.mark.parametrize("kernel", [lengths_m, ends_apart_m, gyrations_m, diameters_m])
def test_no_trajectories_have_no_shapes(kernel: Callable[..., Floats]) -> None:
    assert kernel(np.empty((0, 2)), np.zeros(1, np.int64)).tolist() == []


def test_a_round_trip_has_length_but_no_distance_between_its_ends() -> None:
    given = trajectories([(0, 0), (3, 4), (3, 0), (0, 0)])
    assert lengths_m(given.points, given.offsets).tolist() == [5 + 4 + 3]
    assert ends_apart_m(given.points, given.offsets).tolist() == [0]


# Jumps and turns


def as_lists(bins: Any, offsets: Any) -> list[list[int]]:
    return [part.tolist() for part in np.split(bins, offsets[1:-1])]


def slow_turn_bins(points: Points, n_bins: int) -> list[int]:
    moves = [complex(*b) - complex(*a) for a, b in pairwise(points) if a != b]
    degrees = [math.degrees(cmath.phase(after / before)) for before, after in pairwise(moves)]
    return [math.floor((turn + 180) * n_bins / 360 + 0.5) % n_bins for turn in degrees]


@pytest.mark.parametrize("n_bins", [7, 36])
def test_turns_agree_with_complex_numbers(n_bins: int, wanderers: pt.Trajectories) -> None:
    some = wanderers[:60]
    points = some.points.copy()
    points[3::7] = points[2:-1:7]
    rested = pt.Trajectories(points, some.offsets, crs="planar")
    expected = [slow_turn_bins(x, n_bins) for x in lists(rested)]
    assert as_lists(*turn_bins(points, some.offsets, n_bins)) == expected


@pytest.mark.parametrize("n_bins", [1, 8, 36, 200])
def test_turns_near_the_edges_of_bins_are_told_as_by_atan2(n_bins: int) -> None:
    """A hair to either side of all edges, where a rough angle does not do, and anywhere else."""
    rng = np.random.default_rng(n_bins)
    edges = (np.arange(n_bins) + 0.5) / n_bins * 2 * math.pi
    near = (edges + rng.choice([-1, 1], (50, n_bins)) * 10.0 ** rng.uniform(-15, -2, (50, n_bins))).ravel()
    angles = np.concatenate([near, edges, rng.uniform(-math.pi, math.pi, 2000)])
    moves = np.stack([np.cos(angles), np.sin(angles)], axis=1) * 10.0 ** rng.integers(-3, 4, (len(angles), 1))
    corners = np.concatenate([np.tile([(-1.0, 0.0), (0.0, 0.0)], (len(angles), 1, 1)), moves[:, None]], axis=1)
    bins, _ = turn_bins(corners.reshape(-1, 2), np.arange(0, 3 * len(angles) + 1, 3), n_bins)
    turns = [math.atan2(y, x) for x, y in moves.tolist()]
    assert bins.tolist() == [int((turn / (2 * math.pi) + 0.5) * n_bins + 0.5) % n_bins for turn in turns]


@pytest.mark.parametrize(
    ("after", "expected"),
    [((2, 0), 4), ((1, 1), 6), ((1, -1), 2), ((0, 0), 0), ((2, 1), 5), ((0, 1), 7), ((0, -1), 1)],
    ids=["straight", "left", "right", "back", "half left", "sharp left", "sharp right"],
)
def test_turns_of_known_angles(after: tuple[float, float], expected: int) -> None:
    """Eight bins of 45 degrees, the main directions in their middles."""
    for angle in (0.0, math.pi / 2, math.pi):  # where rotation leaves the numbers whole
        corner = np.rint(rotated(np.array([(0, 0), (1, 0), after]), angle))
        bins, offsets = turn_bins(corner, np.array([0, 3]), 8)
        assert bins.tolist() == [expected] and offsets.tolist() == [0, 1]


def test_rounding_decides_nothing_for_those_who_go_straight_on_or_back() -> None:
    rng = np.random.default_rng(1)
    for step, expected in ((1.0, {18}), (-1.0, {0})):
        points = np.zeros((1000, 2))
        points[:, 0] = np.arange(1000) if step > 0 else np.arange(1000) % 2
        points += rng.normal(0, 1e-9, points.shape)
        assert set(turn_bins(points, np.array([0, 1000]), 36)[0].tolist()) == expected


def test_a_rest_is_no_turn() -> None:
    given = trajectories([(0, 0), (0, 0), (1, 0), (1, 0), (1, 1), (1, 1)], [(5, 5), (5, 5)], [(2, 2)])
    assert as_lists(*turn_bins(given.points, given.offsets, 8)) == [[6], [], []]


def test_a_place_that_is_never_left_has_no_radius() -> None:
    for n in (1, 3, 7, 49):
        given = np.tile([(0.1, 1234.567)], (n, 1))
        assert gyrations_m(given, np.array([0, n])).tolist() == [0.0]


# Diameters, by hull and calipers, against all pairs


@pytest.mark.parametrize("seed", range(4))
def test_diameters_of_random_clouds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for n in (*range(1, 40), 77, 200):
        cloud = rng.normal(0, 10.0 ** rng.integers(-3, 5), (n, 2))
        assert diameter(cloud) == pytest.approx(slow_diameter(cloud.tolist()), rel=1e-12)


@pytest.mark.parametrize("n", [2, 3, 7, 60, 300])
def test_diameters_are_those_of_all_pairs_to_the_last_bit(n: int) -> None:
    """In boxes, where few points can be ends, and on circles, where all can."""
    rng = np.random.default_rng(n)
    for _ in range(60):
        angles = rng.uniform(0, 7, (n, 1))
        for cloud in (rng.random((n, 2)), np.concatenate([np.cos(angles), np.sin(angles)], axis=1)):
            cloud = np.float32(cloud * rng.uniform(1, 1e4, 2)).astype(float) + rng.choice([0.0, 1e7])
            differences = cloud[:, np.newaxis] - cloud
            farthest = np.sqrt((differences[..., 0] ** 2 + differences[..., 1] ** 2).max())
            assert diameter(cloud) == farthest


@pytest.mark.parametrize("n", [1, 2, 12, 13, 200])
def test_points_at_one_place_have_no_diameter(n: int) -> None:
    assert diameter([(0.1, 1e7 + 0.3)] * n) == 0


@pytest.mark.parametrize("n", [14, 100, 3000])
@pytest.mark.parametrize("direction", [(1, 0), (0, 1), (1, 1), (0.1, 0.3), (-0.7, 0.1), (1e-9, 1)])
def test_diameters_of_lines(direction: tuple[float, float], n: int) -> None:
    """Rounding puts points of a sloped line to both of its sides."""
    shares = np.random.default_rng(n).permutation(np.linspace(-1, 1, n))
    for offset in (0.0, 0.1, 1e7):
        line = offset + shares[:, None] * (100 * np.array(direction))
        assert diameter(line) == pytest.approx(pdist(line).max(), rel=1e-12)


def test_diameters_of_lines_in_every_direction() -> None:
    """Rounding alone makes their hulls, of dozens of points, where calipers can stop too early."""
    rng = np.random.default_rng(0)
    for angle in np.linspace(0, 2 * math.pi, 400):
        line = rng.random((400, 1)) * [math.cos(angle), math.sin(angle)]
        assert diameter(line) == pytest.approx(pdist(line).max(), rel=1e-12)


@pytest.mark.parametrize("n", [13, 14, 15, 64, 199])
@pytest.mark.parametrize("radius", [1e-3, 1.0, 5e3])
def test_diameters_of_circles(n: int, radius: float) -> None:
    """All points are on the hull, and where their number is even every edge has a parallel one."""
    for start in (0.0, 0.1, 1.0):
        angles = start + np.arange(n) * (2 * math.pi / n)
        circle = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        assert diameter(circle) == pytest.approx(slow_diameter(circle.tolist()), rel=1e-12)


@pytest.mark.parametrize("reach", [1, 2, 3, 5, 8, 13])
def test_diameters_of_grids(reach: int) -> None:
    """Whole numbers tie: many points on each edge, parallel edges, as many diameters as the shape is even."""
    numbers = range(-reach, reach + 1)
    square = [(x, y) for x in numbers for y in numbers]
    assert diameter(square) == pytest.approx(math.hypot(2 * reach, 2 * reach), rel=1e-12)
    disc = [(x, y) for x, y in square if x * x + y * y <= reach * reach]
    assert diameter(disc) == pytest.approx(2 * reach, rel=1e-12)
    bent = [(x + y, y) for x, y in disc]
    assert diameter(bent) == pytest.approx(pdist(bent).max(), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_diameters_of_slivers_far_away(seed: int) -> None:
    """Ellipses as thin as rounding, turned, far from the origin: their hulls are not quite convex."""
    rng = np.random.default_rng(seed)
    for thinness in 10.0 ** -np.arange(0, 17):
        angles = rng.uniform(0, 2 * math.pi, 60)
        ellipse = np.stack([np.cos(angles), thinness * np.sin(angles)], axis=1)
        for size in (1e-3, 1.0, 1e3):
            sliver = rotated(size * ellipse, rng.uniform(0, 7)) + rng.choice([0.0, 1e7, -3e5], 2)
            assert diameter(sliver) == pytest.approx(pdist(sliver).max(), rel=1e-12)


@pytest.mark.parametrize("n_places", [1, 2, 3, 15, 40])
def test_repeated_points_do_not_count(n_places: int) -> None:
    rng = np.random.default_rng(n_places)
    places = rng.uniform(-5, 5, (n_places, 2))
    repeated = places[rng.permutation(np.repeat(np.arange(n_places), 9))]
    assert diameter(repeated) == pytest.approx(slow_diameter(places.tolist()), rel=1e-12)


@given(
    st.lists(st.tuples(*[st.floats(-1e4, 1e4, width=32)] * 2), min_size=13, max_size=60),
    st.sampled_from([0.0, 1e7]),
)
@settings(max_examples=150, deadline=None)
def test_diameters_of_any_points(points: Points, offset: float) -> None:
    moved = [(x + offset, y - offset) for x, y in points]
    assert diameter(moved) == pytest.approx(slow_diameter(moved), rel=1e-12)


@given(st.lists(st.tuples(*[st.integers(-6, 6)] * 2), min_size=13, max_size=80))
@settings(max_examples=150, deadline=None)
def test_diameters_of_whole_numbers(points: list[tuple[int, int]]) -> None:
    farthest = max((ax - bx) ** 2 + (ay - by) ** 2 for ax, ay in points for bx, by in points)
    assert diameter(points) == math.sqrt(farthest)


@given(
    st.lists(st.floats(0, 7), min_size=13, max_size=80),
    st.sampled_from([1.0, 0.3, 1e-3, 1e-8, 1e-15]),
    st.floats(0, 7),
)
@settings(max_examples=150, deadline=None)
def test_diameters_of_points_on_any_ellipse(angles: list[float], thinness: float, turn: float) -> None:
    ellipse = rotated(100 * np.array([(math.cos(a), thinness * math.sin(a)) for a in angles]), turn)
    assert diameter(ellipse) == pytest.approx(slow_diameter(ellipse.tolist()), rel=1e-12)
