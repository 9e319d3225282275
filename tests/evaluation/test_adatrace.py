"""AdaTrace's metrics: slow oracles from their definitions, examples by hand, and every repair."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import shapely
from tests.evaluation.profile_oracles import (
    Walks,
    assert_weights_are_copies,
    cell,
    cut,
    diameters,
    divergence,
    lengths,
    measured,
    most_frequent,
    pairs_of_sets,
    path,
    patterns,
    random_walks,
    relative_error,
    tau_b,
)

import privtrace as pt
from privtrace.evaluation import adatrace
from privtrace.evaluation.frame import Frame
from privtrace.evaluation.metric import LN2
from privtrace.trajectories import Integers

WIDE = Frame(pt.Region.box(0, 0, 12, 8, crs="planar"), 3)
UNIT = Frame(pt.Region.box(0, 0, 6, 6, crs="planar"), 3)  # 6 x 6 cells of side 1
LONG = Frame(pt.Region.box(0, 0, 30, 3, crs="planar"), 3)

METRICS = {metric.name: metric for metric in adatrace.PROFILE.metrics}


def value(name: str, frame: Frame, real: Walks, synthetic: Walks) -> float:
    return METRICS[name].compare(measured(adatrace, frame, real), measured(adatrace, frame, synthetic))


def slow_query(frame: Frame, real: Walks, synthetic: Walks) -> float:
    """Measure from every center to every line, with shapely."""
    pairs = []
    radius = max(frame.region.width_m, frame.region.height_m) / 3
    for center in adatrace.draw_queries(frame).centers_m:
        counts = [
            sum(line(walk).distance(shapely.Point(center)) <= radius for walk in x) for x in (real, synthetic)
        ]
        pairs.append((counts[0], counts[1] * len(real) / len(synthetic)))
    return relative_error(pairs, len(real) / 100)


def line(walk: list[tuple[float, float]]) -> Any:
    return shapely.LineString(walk) if len(walk) > 1 else shapely.Point(walk[0])


def slow_coverage(frame: Frame, real: Walks, synthetic: Walks) -> float:
    counts = [
        Counter(at for walk in x for at in set(path(walk, frame, 15, filled=True))) for x in (real, synthetic)
    ]
    cells = [(row, column) for row in range(15) for column in range(15)]
    return tau_b(*([count[at] for at in cells] for count in counts))


def slow_patterns(frame: Frame, walks: Walks) -> Counter[Any]:
    return patterns([path(walk, frame, 6, filled=True) for walk in walks], 8)


def slow_frequent_f1(frame: Frame, real: Walks, synthetic: Walks) -> float:
    first, second = (most_frequent(slow_patterns(frame, walks), 100) for walks in (real, synthetic))
    return 2 * len(set(first) & set(second)) / (len(first) + len(second))


def slow_frequent_support(frame: Frame, real: Walks, synthetic: Walks) -> float:
    counts, others = slow_patterns(frame, real), slow_patterns(frame, synthetic)
    scale = len(real) / len(synthetic)
    return relative_error([(counts[top], others[top] * scale) for top in most_frequent(counts, 100)], 0)


def slow_trip(frame: Frame, real: Walks, synthetic: Walks) -> float:
    return divergence(
        *(Counter((cell(walk[0], frame, 6), cell(walk[-1], frame, 6)) for walk in x) for x in (real, synthetic))
    )


def slow_length_20(frame: Frame, real: Walks, synthetic: Walks) -> float:
    bounds = min(lengths(real)), max(lengths(real))
    return divergence(cut(lengths(real), 20, *bounds), cut(lengths(synthetic), 20, *bounds))


def slow_diameter_20(frame: Frame, real: Walks, synthetic: Walks) -> float:
    bounds = min(diameters(real)), max(diameters(real))
    return divergence(cut(diameters(real), 20, *bounds), cut(diameters(synthetic), 20, *bounds))


SLOW = {
    "query": slow_query,
    "coverage": slow_coverage,
    "frequent_f1": slow_frequent_f1,
    "frequent_support": slow_frequent_support,
    "trip": slow_trip,
    "length_20": slow_length_20,
    "diameter_20": slow_diameter_20,
}


@pytest.fixture(scope="module")
def sets() -> list[tuple[Walks, Walks]]:
    """Give pairs of sets of different sizes."""
    return pairs_of_sets([(25, 40), (60, 30), (3, 50), (45, 2)], 12, 8)


@pytest.mark.parametrize("name", METRICS)
def test_agrees_with_a_slow_oracle(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    for real, synthetic in sets:
        expected = SLOW[name](WIDE, real, synthetic)
        assert value(name, WIDE, real, synthetic) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_real_data_itself_gets_the_best_value(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    for real, _ in sets:
        assert value(name, WIDE, real, real) == METRICS[name].best


@pytest.mark.parametrize("name", ["coverage", "frequent_f1", "trip"])
def test_is_symmetric(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    for real, synthetic in sets:
        there, back = value(name, WIDE, real, synthetic), value(name, WIDE, synthetic, real)
        assert there == pytest.approx(back, abs=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_a_synthetic_set_written_twice_is_the_same(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    for real, synthetic in sets:
        assert value(name, WIDE, real, synthetic + synthetic) == value(name, WIDE, real, synthetic)


@pytest.mark.parametrize("name", METRICS)
def test_a_weight_is_a_number_of_copies(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    def measure(walks: Walks, numbers: Integers) -> Any:
        return measured(adatrace, WIDE, [walks[i] for i in numbers])

    for pair in sets:
        assert_weights_are_copies(pair, measure, METRICS[name].compare)


@pytest.mark.parametrize("name", METRICS)
def test_stays_in_its_range(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    for real, synthetic in sets:
        assert METRICS[name].low <= value(name, WIDE, real, synthetic) <= METRICS[name].high


def test_query_by_hand() -> None:
    # Circles of radius 10 in a strip of 30 x 3: four lines along all of it come into every circle. Of two
    # synthetic trajectories one does, and the other, a point in the west, hits the circles near it. They are
    # scaled by 2: near circles have 4 of 4, the others 2 of 4.
    along = [(0.0, 1.0), (30.0, 1.0)]
    n_near = sum(math.dist(center, (0, 1)) <= 10 for center in adatrace.draw_queries(LONG).centers_m)
    assert 0 < n_near < 200
    expected = (200 - n_near) / 200 * (4 - 2) / 4
    assert value("query", LONG, [along] * 4, [along, [(0.0, 1.0)]]) == pytest.approx(expected)


def test_query_circles_with_few_real_trajectories_count_as_having_a_percent() -> None:
    # 299 real points in the west and one in the east: a circle that holds the one in the east alone has a count
    # of 1, taken for 1 % of 300 = 3. Synthetic: all in the west. In the middle no circle holds either.
    west, east = (0.0, 1.0), (30.0, 1.0)
    centers = adatrace.draw_queries(LONG).centers_m
    n_east = sum(math.dist(center, east) <= 10 for center in centers)
    n_west = sum(math.dist(center, west) <= 10 for center in centers)
    expected = (n_east * (1 - 0) / 3 + n_west * (300 - 299) / 299) / 200
    assert n_east and n_west
    assert value("query", LONG, [[west]] * 299 + [[east]], [[west]] * 300) == pytest.approx(expected)


def test_two_points_at_one_place_hit_no_more_than_one() -> None:
    once, twice = ([[(3.0, 2.0)] * n] for n in (1, 2))
    hits = measured(adatrace, WIDE, once).crossings
    assert 0 < int(np.bitwise_count(hits).sum()) < adatrace.N_QUERIES
    assert np.array_equal(measured(adatrace, WIDE, twice).crossings, hits)
    assert value("query", WIDE, once, twice) == 0


def test_a_single_point_hits_the_circles_that_hold_it() -> None:
    # A line along the strip comes into every circle; a point misses those that do not hold it.
    along, point = [(0.0, 1.0), (30.0, 1.0)], (15.0, 1.0)
    n_missed = sum(math.dist(center, point) > 10 for center in adatrace.draw_queries(LONG).centers_m)
    assert 0 < n_missed < 200
    assert value("query", LONG, [along], [[point]]) == pytest.approx(n_missed / 200)


def test_a_line_hits_between_its_points() -> None:
    # Points at both ends are in few circles; the line between them is in every one.
    ends, along = [(0.0, 1.0), (30.0, 1.0)], [(float(x), 1.0) for x in range(31)]
    assert value("query", LONG, [along], [ends]) == 0
    assert value("query", LONG, [along], [[end] for end in ends]) > 0.5


def test_query_circles_have_a_third_of_the_longer_side_and_centers_in_the_region() -> None:
    circles = adatrace.draw_queries(LONG)
    assert circles.radii_m.tolist() == pytest.approx([10] * 200)
    assert LONG.region.contains(circles.centers_m).all()
    other = adatrace.draw_queries(Frame(LONG.region, 4))
    assert not np.array_equal(circles.centers_m, other.centers_m)


def test_coverage_by_hand() -> None:
    # 15 x 15 cells of side 1. Real: cell a has 2 visitors, b 1. Synthetic: a 1, b 2. The other 223 have none.
    # Of untied pairs, 223 with a and 223 with b agree, and (a, b) disagrees; the others are tied on both sides:
    # (446 - 1) / sqrt(447 * 447).
    frame = Frame(pt.Region.box(0, 0, 15, 15, crs="planar"), 1)
    a, b = (2.5, 2.5), (11.5, 7.5)
    assert value("coverage", frame, [[a], [a], [b]], [[a], [b], [b]]) == pytest.approx(445 / 447)


@pytest.mark.parametrize("first", [0, 1])
def test_a_synthetic_tie_counts_neither_for_nor_against(first: int) -> None:
    # Real: one of two cells has 2 visitors, the other 1; synthetic: 1 each. 446 pairs agree, the tied one is
    # untied on one side alone: 446 / sqrt(447 * 446), whichever of the two has more.
    frame = Frame(pt.Region.box(0, 0, 15, 15, crs="planar"), 1)
    cells = [(2.5, 2.5), (11.5, 7.5)]
    real: Walks = [[cells[first]], [cells[first]], [cells[1 - first]]]
    synthetic: Walks = [[at] for at in cells]
    assert value("coverage", frame, real, synthetic) == pytest.approx(446 / math.sqrt(447 * 446))


def test_the_same_ranking_with_ties_gets_1() -> None:
    # Twice as many visitors everywhere, most cells tied at none.
    real: Walks = [[(1.0, 1.0)], [(1.0, 1.0)], [(5.0, 5.0)], [(3.0, 5.0)]]
    assert value("coverage", UNIT, real, real + real) == 1


def test_coverage_fills_steps_as_a_king_goes() -> None:
    # From (0, 0) to (4, 2) on cells of side 1: (1, 1), (2, 2), then straight to (3, 2).
    frame = Frame(pt.Region.box(0, 0, 15, 15, crs="planar"), 1)
    jumping, stepping = (
        [(0.5, 0.5), (4.5, 2.5)],
        [(x + 0.5, y + 0.5) for x, y in [(0, 0), (1, 1), (2, 2), (3, 2), (4, 2)]],
    )
    assert value("coverage", frame, [jumping], [stepping]) == 1


def test_coverage_counts_a_visitor_once() -> None:
    again = [(0.5, 0.5), (1.5, 0.5)] * 3
    assert value("coverage", UNIT, [again], [again[:2]]) == 1


def test_frequent_f1_by_hand() -> None:
    # Cells a, b, c in a row. Real a b c: patterns ab, bc, abc. Synthetic a b: ab. 2 * 1 / (3 + 1).
    real = [(0.5, 0.5), (1.5, 0.5), (2.5, 0.5)]
    assert value("frequent_f1", UNIT, [real], [real[:2]]) == 2 * 1 / (3 + 1)


def test_frequent_support_by_hand_scales_to_the_real_size() -> None:
    # Real: a b c and a b, so ab 2, bc 1, abc 1. Synthetic: a b alone, scaled by 2: ab 2. Errors 0, 1, 1.
    walk = [(0.5, 0.5), (1.5, 0.5), (2.5, 0.5)]
    assert value("frequent_support", UNIT, [walk, walk[:2]], [walk[:2]]) == pytest.approx(2 / 3)


def test_every_occurrence_of_a_pattern_counts() -> None:
    # Real: a b a b a, so ab 2, ba 2, aba 2, bab 1, abab 1, baba 1, ababa 1. Synthetic: ab 1. Errors 1/2 and
    # six times 1.
    back_and_forth = [(0.5, 0.5), (1.5, 0.5)] * 2 + [(0.5, 0.5)]
    found = value("frequent_support", UNIT, [back_and_forth], [back_and_forth[:2]])
    assert found == pytest.approx((0.5 + 6) / 7)


def test_patterns_have_at_most_8_cells_and_100_count() -> None:
    # A row of 6 cells and back up the next: 12 cells in a line have 11 + 10 + ... + 5 = 56 patterns of 2 to 8.
    line = [(x + 0.5, 0.5) for x in range(6)] + [(x + 0.5, 1.5) for x in reversed(range(6))]
    assert value("frequent_f1", UNIT, [line], [line[:2]]) == pytest.approx(2 / (56 + 1))
    snake = [(x + 0.5 if y % 2 else 5.5 - x, y + 0.5) for y in range(6) for x in range(6)]
    assert value("frequent_f1", UNIT, [snake], [snake[:2]]) == pytest.approx(2 / (100 + 1))


def test_sets_that_stay_in_their_cells_have_no_patterns() -> None:
    staying, going = [(0.5, 0.5), (0.7, 0.7)], [(0.5, 0.5), (1.5, 0.5)]
    for name in ("frequent_f1", "frequent_support"):
        assert math.isnan(value(name, UNIT, [staying], [staying]))
    assert value("frequent_f1", UNIT, [staying], [going]) == value("frequent_f1", UNIT, [going], [staying]) == 0
    assert value("frequent_support", UNIT, [going], [staying]) == 1
    assert math.isnan(value("frequent_support", UNIT, [staying], [going]))


def test_trip_by_hand_is_exact() -> None:
    # Real: all trips from a to b. Synthetic: half of them, the others back. Shares (1, 0) and (1/2, 1/2); the
    # middle is (3/4, 1/4). Half of ln(4/3), and half of (ln(2/3) + ln 2) / 2. Noise would hide so few trips.
    there = [(0.5, 0.5), (5.5, 0.5)]
    expected = (math.log(4 / 3) + (math.log(2 / 3) + math.log(2)) / 2) / 2
    assert value("trip", UNIT, [there], [there, there[::-1]]) == pytest.approx(expected)


def test_trip_of_sets_with_nothing_in_common_is_ln_2() -> None:
    there = [(0.5, 0.5), (5.5, 0.5)]
    assert value("trip", UNIT, [there], [there[::-1]]) == pytest.approx(LN2)


def straight(*sizes: float) -> Walks:
    """Draw a straight line of each size."""
    return [[(0.0, 1.0), (size, 1.0)] for size in sizes]


def test_length_20_by_hand() -> None:
    # Real lengths 2 and 22: bins of 1 from 2. Synthetic 2.5 is in the bin of 2, 7.5 in one of its own: half is
    # shared, half is not, ln(2) / 2.
    assert value("length_20", LONG, straight(2, 22), straight(2.5, 7.5)) == pytest.approx(LN2 / 2)


def test_diameter_20_by_hand() -> None:
    # As for lengths; the real ones go to and fro, which makes them longer and no wider.
    real = [line * 5 for line in straight(2, 22)]
    assert value("diameter_20", LONG, real, straight(2.5, 7.5)) == pytest.approx(LN2 / 2)


@pytest.mark.parametrize("name", ["length_20", "diameter_20"])
def test_bins_begin_at_the_real_minimum(name: str) -> None:
    # From 10 to 12, bins of 0.1: 10.05 and 10.15 differ. In bins of 0.1 from 0, all would lie beyond the last.
    assert value(name, LONG, straight(10, 10.05, 12), straight(10, 10.05, 12)) == 0
    assert value(name, LONG, straight(10, 12), straight(10.15, 12)) == pytest.approx(LN2 / 2)
    assert value(name, LONG, straight(10, 12), straight(10.05, 12)) == 0


@pytest.mark.parametrize("name", ["length_20", "diameter_20"])
def test_what_lies_beyond_an_end_is_in_the_last_bin_there(name: str) -> None:
    assert value(name, LONG, straight(10, 12), straight(1, 29)) == 0
    assert value(name, LONG, straight(10, 12), straight(1, 2)) == value(
        name, LONG, straight(10, 12), straight(10)
    )


@pytest.mark.parametrize("name", ["length_20", "diameter_20"])
def test_where_all_real_ones_are_alike_only_larger_ones_differ(name: str) -> None:
    assert value(name, LONG, straight(5, 5), straight(5, 3)) == 0
    assert value(name, LONG, straight(5, 5), straight(5, 6)) > 0
    assert value(name, LONG, straight(5), straight(6)) == pytest.approx(LN2)


def test_cells_are_of_the_region_not_of_the_data() -> None:
    # All within one of the 6 x 6 cells: on a grid around the data, these trips would have nothing in common.
    there = [(0.1, 0.1), (0.9, 0.9)]
    assert value("trip", UNIT, [there], [there[::-1]]) == 0


def test_points_outside_are_not_in_the_first_cell() -> None:
    # What is left of the clipped one is its run inside, far from the first cell.
    inside, leaving = [(3.5, 3.5), (4.5, 3.5)], [(3.5, 3.5), (4.5, 3.5), (99.0, 99.0), (-5.0, -5.0)]
    for name, metric in METRICS.items():
        assert value(name, UNIT, [inside], [leaving]) == metric.best


@pytest.mark.parametrize("name", METRICS)
def test_an_empty_set_gets_the_worst(name: str) -> None:
    real: Walks = [[(0.5, 0.5), (5.5, 0.5), (0.5, 0.5), (5.5, 5.5)], [(0.5, 5.5), (5.5, 0.5)]]
    found = value(name, UNIT, real, [])
    if name == "coverage":
        assert math.isnan(found)  # a ranking of nothing but ties
    else:  # the real lines come into every circle
        assert found == pytest.approx({"query": 1, "frequent_f1": 0, "frequent_support": 1}.get(name, LN2))


@pytest.mark.parametrize("name", METRICS)
def test_single_points_can_be_compared(name: str) -> None:
    points: Walks = [[(0.5, 0.5)], [(0.6, 0.6)], [(5.5, 5.5)]]
    found = value(name, UNIT, points, points)
    assert math.isnan(found) if name.startswith("frequent") else found == METRICS[name].best
    other = value(name, UNIT, points, [[(5.5, 0.5)]])
    assert math.isnan(other) if name.startswith("frequent") else math.isfinite(other)


@pytest.mark.parametrize("name", METRICS)
def test_one_trajectory_is_a_set(name: str) -> None:
    one, other = random_walks(8, 30, 6, 6)[-1:], [[(0.5, 0.5), (5.5, 5.5)]]
    assert len(one[0]) > 1
    assert value(name, UNIT, one, one) == METRICS[name].best
    assert value(name, UNIT, one, other) == pytest.approx(SLOW[name](UNIT, one, other))
