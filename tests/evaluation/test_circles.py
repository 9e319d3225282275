"""Circles: hits and crossings against loops over all points, lines and circles."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import trajectories

import privtrace as pt
from privtrace.evaluation.circles import Circles, bit_counts
from privtrace.evaluation.traits import Bits
from privtrace.trajectories import Floats

SQUARE = (1280.0, 1280.0)  # looked up by squares of 10 x 10
BOXES = [SQUARE, (10.0, 3.7), (1e-3, 70.0)]


def boxed(width: float, height: float) -> pt.Region:
    return pt.Region.box(0, 0, width, height, crs="planar")


def runs(seed: int, box: tuple[float, float], n: int = 40, most: int = 12) -> pt.Trajectories:
    """Draw trajectories in a box, many of their points on the edges of look-up squares or of the box."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, most, n)
    shares = rng.random((lengths.sum(), 2))
    on_edge = rng.random(shares.shape) < 0.3
    shares[on_edge] = np.rint(128 * shares[on_edge]) / 128
    return pt.Trajectories(shares * box, np.concatenate([[0], np.cumsum(lengths)]), crs="planar")


def drawn_circles(seed: int, box: tuple[float, float], n: int = 150) -> tuple[Floats, Floats]:
    """Draw circles from tiny ones to such as reach over the whole box."""
    rng = np.random.default_rng(seed)
    return rng.random((n, 2)) * box, min(box) * 10.0 ** rng.uniform(-3, 0.5, n)


def as_sets(bits: Bits, n: int) -> list[set[int]]:
    return [{c for c in range(n) if int(row[c // 64]) >> c % 64 & 1} for row in bits]


def lists(given: pt.Trajectories) -> list[Floats]:
    return np.split(given.points, given.offsets[1:-1])


def slow_hits(given: pt.Trajectories, centers: Floats, radii: Floats) -> list[set[int]]:
    return [
        {
            c
            for c, (center, radius) in enumerate(zip(centers.tolist(), radii.tolist(), strict=True))
            if any(math.dist(point, center) <= radius for point in points.tolist())
        }
        for points in lists(given)
    ]


def slow_crossings(given: pt.Trajectories, centers: Floats, radii: Floats) -> list[set[int]]:
    """Measure with shapely from each center to the whole line."""
    lines = [shapely.LineString(p) if len(p) > 1 else shapely.Point(p[0]) for p in lists(given)]
    return [
        {c for c, center in enumerate(centers) if line.distance(shapely.Point(center)) <= radii[c]}
        for line in lines
    ]


@pytest.mark.parametrize("box", BOXES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_hits_agree_with_a_loop(seed: int, box: tuple[float, float]) -> None:
    circles = Circles.over(boxed(*box), *drawn_circles(seed, box))
    given = runs(seed, box)
    expected = slow_hits(given, circles.centers_m, circles.radii_m)
    assert as_sets(circles.hits(given), 150) == expected


@pytest.mark.parametrize("box", BOXES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_crossings_agree_with_shapely(seed: int, box: tuple[float, float]) -> None:
    circles = Circles.over(boxed(*box), *drawn_circles(seed, box))
    given = runs(seed, box, most=5)
    crossed = as_sets(circles.crossings(given), 150)
    assert crossed == slow_crossings(given, circles.centers_m, circles.radii_m)
    assert crossed != as_sets(circles.hits(given), 150)


@given(
    st.lists(st.tuples(*[st.integers(0, 128)] * 2), min_size=1, max_size=12),
    st.lists(
        st.tuples(st.integers(-9, 137), st.integers(-9, 137), st.integers(1, 120)), min_size=1, max_size=70
    ),
)
@settings(max_examples=60, deadline=None)
def test_edges_are_included(points: list[tuple[int, int]], drawn: list[tuple[int, int, int]]) -> None:
    """Whole numbers, where points lie on circles, on the edges of look-up squares, and lines touch circles."""
    numbers = np.array(drawn, float)
    circles = Circles.over(boxed(128.0, 128.0), numbers[:, :2].copy(), numbers[:, 2].copy())
    given = trajectories([(float(x), float(y)) for x, y in points])
    hit = {
        c for c, (x, y, r) in enumerate(drawn) if any((x - a) ** 2 + (y - b) ** 2 <= r * r for a, b in points)
    }
    assert as_sets(circles.hits(given), len(drawn)) == [hit]
    crossed = {c for c, (x, y, r) in enumerate(drawn) if exact_distance2(points, (x, y)) <= r * r}
    touched = {c for c, (x, y, r) in enumerate(drawn) if exact_distance2(points, (x, y)) == r * r}
    found = as_sets(circles.crossings(given), len(drawn))[0]
    assert found | touched == crossed  # a sloped line may round past a circle that it touches
    assert hit <= found


def exact_distance2(points: list[tuple[int, int]], center: tuple[int, int]) -> Fraction:
    """Square the distance from a center to the nearest place of a line, in whole numbers."""
    nearest = min(Fraction((x - center[0]) ** 2 + (y - center[1]) ** 2) for x, y in points)
    for (ax, ay), (bx, by) in pairwise(points):
        dx, dy = bx - ax, by - ay
        along = (center[0] - ax) * dx + (center[1] - ay) * dy
        if 0 < along < dx * dx + dy * dy:  # the foot of the perpendicular is between the ends
            aside = (center[0] - ax) * dy - (center[1] - ay) * dx
            nearest = min(nearest, Fraction(aside * aside, dx * dx + dy * dy))
    return nearest


def test_a_line_that_touches_comes_in() -> None:
    circles = Circles.over(boxed(*SQUARE), np.array([(50.0, 10.0), (50.0, 10.0)]), np.array([10.0, 9.999]))
    given = trajectories([(0, 0), (100, 0)])
    assert as_sets(circles.hits(given), 2) == [set()]
    assert as_sets(circles.crossings(given), 2) == [{0}]


def test_a_line_ends_where_its_points_end() -> None:
    """The nearest place of the line's continuation would be inside."""
    circles = Circles.over(boxed(*SQUARE), np.array([(300.0, 0.0)]), np.array([10.0]))
    given = trajectories([(0, 0), (200, 0)], [(600, 0), (400, 0)], [(200, 0), (400, 0)])
    assert as_sets(circles.crossings(given), 1) == [set(), set(), {0}]


def test_no_line_leads_from_one_trajectory_to_the_next() -> None:
    circles = Circles.over(boxed(*SQUARE), np.array([(300.0, 300.0)]), np.array([20.0]))
    given = trajectories([(0, 300)], [(600, 300)], [(0, 0), (1, 1)], [(600, 600)])
    assert as_sets(circles.crossings(given), 1) == [set(), set(), set(), set()]


def test_two_points_at_one_place_come_into_nothing_far_away() -> None:
    circles = Circles.over(boxed(*SQUARE), np.array([(300.0, 300.0), (10.0, 10.0)]), np.array([20.0, 1.0]))
    given = trajectories([(100, 100), (100, 100)], [(10, 10), (10, 10)], [(100, 100), (100, 100), (500, 500)])
    assert as_sets(circles.crossings(given), 2) == [set(), {1}, {0}]


@pytest.mark.parametrize("seed", range(6))
def test_short_steps_along_the_edges_of_circles_agree_with_shapely(seed: int) -> None:
    """Lines that come near large circles, where the nearest point and the longest step tell most of them."""
    rng = np.random.default_rng(seed)
    centers, radii = rng.random((60, 2)) * SQUARE, rng.uniform(200, 600, 60)
    circles = Circles.over(boxed(*SQUARE), centers, radii)
    rows = []
    for step in rng.choice([10.0, 40.0, 110.0, 300.0], 60):
        c, angle = rng.integers(60), rng.uniform(0, 7)
        away = radii[c] * rng.choice([0.9999, 1.0001, 1.003, 1.01, 1.03])
        angles = angle + np.arange(9) * step / radii[c]
        points = centers[c] + away * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        inside = points[np.all((points >= 0) & (points <= SQUARE), axis=1)]
        rows.append(inside if len(inside) else centers[c][np.newaxis])
    given = pt.Trajectories(np.concatenate(rows), np.cumsum([0, *map(len, rows)]), crs="planar")
    assert as_sets(circles.hits(given), 60) == slow_hits(given, centers, radii)
    crossed = as_sets(circles.crossings(given), 60)
    assert crossed == slow_crossings(given, centers, radii)
    assert crossed != as_sets(circles.hits(given), 60)


def test_a_single_point_can_hit() -> None:
    circles = Circles.over(boxed(*SQUARE), np.array([(300.0, 300.0), (10.0, 10.0)]), np.array([20.0, 1.0]))
    given = trajectories([(305, 300)], [(640, 640)])
    assert as_sets(circles.hits(given), 2) == as_sets(circles.crossings(given), 2) == [{0}, set()]


@pytest.mark.parametrize("box", BOXES, ids=str)
def test_tiny_circles_on_the_edges_of_squares_are_found(box: tuple[float, float]) -> None:
    """Rounding may put a point and the edge that it lies on into different squares."""
    corners = np.array([(x, y) for x in range(129) for y in range(129)])[::27]
    places = corners * np.array(box) / 128
    circles = Circles.over(boxed(*box), places, np.full(len(places), 1e-6 * max(box)))
    given = pt.Trajectories(places, np.arange(len(places) + 1), crs="planar")
    found = as_sets(circles.hits(given), len(places))
    assert found == [{c} for c in range(len(places))] == as_sets(circles.crossings(given), len(places))


def test_points_are_told_apart_that_are_a_hair_in_or_out() -> None:
    """A square is decided as a whole only where that is beyond doubt: corner and edge are a hair away."""
    short = math.hypot(10, 10) * (1 - 5e-10)  # does not reach the corner of the first square
    far = 20 * (1 + 5e-10)  # just reaches the third square of its row
    circles = Circles.over(boxed(*SQUARE), np.array([(0.0, 0.0), (0.0, 5.0)]), np.array([short, far]))
    given = trajectories([(10 - 1e-10, 10 - 1e-10)], [(9.9, 9.9)], [(20, 5)], [(20 + 1e-7, 5)])
    assert as_sets(circles.hits(given), 2) == [{1}, {0, 1}, {1}, set()]


def test_a_circle_may_hold_the_whole_box() -> None:
    circles = Circles.over(boxed(*SQUARE), np.array([(0.0, 0.0), (700.0, 300.0)]), np.array([1811.0, 3000.0]))
    given = trajectories([(1280, 1280)], [(0, 0)], [(0, 1280), (1280, 0)])
    assert as_sets(circles.hits(given), 2) == [{0, 1}, {0, 1}, {0, 1}]


@pytest.mark.parametrize("n_bits", [1, 63, 64, 65, 130])
def test_bits_are_counted_by_weight(n_bits: int) -> None:
    rng = np.random.default_rng(n_bits)
    chosen = rng.random((20, n_bits)) < 0.4
    bits = np.zeros((20, (n_bits + 63) // 64), np.uint64)
    for row, bit in np.argwhere(chosen):
        bits[row, bit // 64] |= np.uint64(1 << int(bit) % 64)
    weights = rng.integers(0, 4, 20)
    expected = [sum(int(weights[row]) for row in range(20) if chosen[row, bit]) for bit in range(n_bits)]
    assert bit_counts(bits, weights, n_bits).tolist() == expected


def test_no_rows_count_nothing() -> None:
    assert bit_counts(np.zeros((0, 2), np.uint64), np.zeros(0, np.int64), 70).tolist() == [0] * 70
