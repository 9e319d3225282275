"""The mobility metrics: slow oracles from their definitions, and examples by hand."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from tests.evaluation.profile_oracles import (
    Cell,
    Point,
    Walks,
    assert_weights_are_copies,
    cell,
    cut,
    divergence,
    lengths,
    measured,
    pairs_of_sets,
    path,
)

import privtrace as pt
from privtrace.evaluation import mobility
from privtrace.evaluation.frame import Frame
from privtrace.evaluation.metric import LN2
from privtrace.trajectories import Integers

WIDE = Frame(pt.Region.box(0, 0, 12, 8, crs="planar"), 3)
UNIT = Frame(pt.Region.box(0, 0, 20, 20, crs="planar"), 3)  # 20 x 20 cells of side 1
SMALL = Frame(pt.Region.box(0, 0, 4, 3, crs="planar"), 3)  # its diagonal is 5
LARGE = Frame(pt.Region.box(0, 0, 100, 100, crs="planar"), 3)

METRICS = {metric.name: metric for metric in mobility.PROFILE.metrics}

#: Four cells of UNIT.
A, B, C, D = (0.5, 0.5), (1.5, 0.5), (2.5, 0.5), (15.5, 15.5)


def value(name: str, frame: Frame, real: Walks, synthetic: Walks, lots: list[float] | None = None) -> float:
    """Compare two sets; the lots say which of the real trajectories are the first half."""
    return METRICS[name].compare(measured(mobility, frame, real, lots), measured(mobility, frame, synthetic))


def slow_od(frame: Frame, real: Walks, synthetic: Walks) -> float:
    return divergence(
        *(Counter((cell(walk[0], frame, 8), cell(walk[-1], frame, 8)) for walk in x) for x in (real, synthetic))
    )


def slow_visits(frame: Frame, real: Walks, synthetic: Walks) -> float:
    return divergence(*(visit_counts(frame, walks) for walks in (real, synthetic)))


def visit_counts(frame: Frame, walks: Walks) -> Counter[Cell]:
    return Counter(at for walk in walks for at in path(walk, frame, 20))


def slow_visits_ndcg(frame: Frame, real: Walks, synthetic: Walks) -> float:
    """Gain real visits in the order of synthetic ones; each of those that tie gains their mean."""
    gains, ranking = visit_counts(frame, real), visit_counts(frame, synthetic)
    cells = sorted(
        ((row, column) for row in range(20) for column in range(20)), key=lambda at: ranking[at], reverse=True
    )
    total = best = 0.0
    for place in range(50):
        tied = [gains[at] for at in cells if ranking[at] == ranking[cells[place]]]
        total += sum(tied) / len(tied) / math.log2(place + 2)
        best += sorted((gains[at] for at in cells), reverse=True)[place] / math.log2(place + 2)
    return total / best


def slow_transition(frame: Frame, real: Walks, synthetic: Walks) -> float:
    return divergence(*(Counter(moves_of(frame, walks)) for walks in (real, synthetic)))


def slow_gyration(frame: Frame, real: Walks, synthetic: Walks) -> float:
    radii, others = ([radius_of_gyration(walk) for walk in walks] for walks in (real, synthetic))
    return divergence(cut(radii, 50, 0, max(radii)), cut(others, 50, 0, max(radii)))


def radius_of_gyration(walk: list[Point]) -> float:
    mean = (sum(x for x, _ in walk) / len(walk), sum(y for _, y in walk) / len(walk))
    return math.sqrt(sum(math.dist(point, mean) ** 2 for point in walk) / len(walk))


def slow_straightness(frame: Frame, real: Walks, synthetic: Walks) -> float:
    ratios = (
        [math.dist(walk[0], walk[-1]) / size for walk, size in zip(x, lengths(x), strict=True) if size]
        for x in (real, synthetic)
    )
    return divergence(*(cut(x, 50, 0, 1) for x in ratios))


def slow_turning(frame: Frame, real: Walks, synthetic: Walks) -> float:
    return divergence(*(Counter(bin_ for walk in x for bin_ in turns(walk)) for x in (real, synthetic)))


def turns(walk: list[Point]) -> list[int]:
    """Subtract bearings, to the nearest ten degrees."""
    bearings = [
        math.degrees(math.atan2(b[1] - a[1], b[0] - a[0])) for a, b in pairwise(walk) if tuple(a) != tuple(b)
    ]
    bins = []
    for before, after in pairwise(bearings):
        bins.append(math.floor((after - before) / 10 + 0.5) % 36)
    return bins


def slow_next_cell(frame: Frame, real: Walks, synthetic: Walks, lots: list[float]) -> float:
    """Foretell the moves of the half with the larger lots; the first of the synthetic walks teach, as many."""
    order = sorted(range(len(real)), key=lambda number: lots[number])
    n_taught = (len(real) + 1) // 2
    taught, tested = ([real[number] for number in half] for half in (order[:n_taught], order[n_taught:]))
    moves = moves_of(frame, tested)
    lessons, others = (moves_of(frame, walks) for walks in (taught, synthetic[:n_taught]))
    return (foretold(moves, lessons) - foretold(moves, others)) / len(moves)


def moves_of(frame: Frame, walks: Walks) -> list[tuple[Cell, Cell]]:
    return [move for walk in walks for move in pairwise(path(walk, frame, 20))]


def foretold(moves: list[tuple[Cell, Cell]], lessons: list[tuple[Cell, Cell]]) -> int:
    """Count the moves to the most frequent successor; on a tie, to the smallest cell."""
    n_right = 0
    for start, end in moves:
        followers = Counter(after for before, after in lessons if before == start)
        n_right += bool(followers) and end == min(followers, key=lambda at: (-followers[at], at))
    return n_right


SLOW = {
    "od": slow_od,
    "visits": slow_visits,
    "visits_ndcg": slow_visits_ndcg,
    "transition": slow_transition,
    "gyration": slow_gyration,
    "straightness": slow_straightness,
    "turning": slow_turning,
}


@pytest.fixture(scope="module")
def sets() -> list[tuple[Walks, Walks]]:
    """Give pairs of sets of different sizes."""
    return pairs_of_sets([(25, 40), (60, 30), (4, 50), (45, 3)], 12, 8)


def lots_for(walks: Walks) -> list[float]:
    return np.random.default_rng(len(walks)).random(len(walks)).tolist()


@pytest.mark.parametrize("name", SLOW)
def test_agrees_with_a_slow_oracle(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    for real, synthetic in sets:
        expected = SLOW[name](WIDE, real, synthetic)
        assert value(name, WIDE, real, synthetic) == pytest.approx(expected, abs=1e-12)


def test_next_cell_agrees_with_a_slow_oracle() -> None:
    # On few places, so that moves are made again; 41 and 40 real walks, because halves are rounded.
    rng = np.random.default_rng(1)
    for n in (41, 40):
        real, synthetic = (
            [[(int(x) + 0.5, 0.5) for x in rng.integers(0, 4, 6)] for _ in range(count)] for count in (n, 30)
        )
        lots = lots_for(real)
        expected = slow_next_cell(UNIT, real, synthetic, lots)
        assert expected != 0
        assert value("next_cell", UNIT, real, synthetic, lots) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", SLOW)
def test_real_data_itself_gets_the_best_value(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    for real, _ in sets:
        assert value(name, WIDE, real, real) == pytest.approx(METRICS[name].best, abs=1e-12)


def test_the_half_that_teaches_teaches_itself_as_well(sets: list[tuple[Walks, Walks]]) -> None:
    for real, _ in sets:
        lots = lots_for(real)
        ordered = [real[number] for number in np.argsort(lots)]
        assert value("next_cell", WIDE, real, ordered, lots) == 0


@pytest.mark.parametrize("name", ["od", "visits", "transition", "turning", "straightness"])
def test_is_symmetric(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    for real, synthetic in sets:
        there, back = value(name, WIDE, real, synthetic), value(name, WIDE, synthetic, real)
        assert there == pytest.approx(back, abs=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_a_synthetic_set_written_twice_is_the_same(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    for real, synthetic in sets:
        once, twice = (value(name, WIDE, real, synthetic * n, lots_for(real)) for n in (1, 2))
        assert twice == pytest.approx(once, abs=1e-12)


@pytest.mark.parametrize("name", METRICS)
def test_a_weight_is_a_number_of_copies(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    def measure(walks: Walks, numbers: Integers) -> Any:
        lots = lots_for(walks)
        return measured(mobility, WIDE, [walks[i] for i in numbers], [lots[i] for i in numbers])

    for pair in sets:
        assert_weights_are_copies(pair, measure, METRICS[name].compare)


@pytest.mark.parametrize("name", METRICS)
def test_stays_in_its_range(name: str, sets: list[tuple[Walks, Walks]]) -> None:
    for real, synthetic in sets:
        found = value(name, WIDE, real, synthetic, lots_for(real))
        assert METRICS[name].low <= found <= METRICS[name].high


def test_od_by_hand() -> None:
    # Zones of side 12.5. Real: from a to b. Synthetic: half so, half from b to a. Shares (1, 0) and (1/2, 1/2);
    # the middle is (3/4, 1/4). Half of ln(4/3), and half of (ln(2/3) + ln 2) / 2.
    there = [(1.0, 1.0), (50.0, 50.0), (20.0, 1.0)]
    expected = (math.log(4 / 3) + (math.log(2 / 3) + math.log(2)) / 2) / 2
    assert value("od", LARGE, [there], [there, there[::-1]]) == pytest.approx(expected)


def test_od_sees_the_ends_alone() -> None:
    assert value("od", LARGE, [[(1.0, 1.0), (20.0, 1.0)]], [[(2.0, 2.0), (90.0, 90.0), (21.0, 2.0)]]) == 0


def test_visits_by_hand() -> None:
    # Real: three points in a row in a are one visit, then b: shares (1/2, 1/2). Synthetic: a alone, (1, 0).
    # The divergence is that of the trips above.
    expected = (math.log(4 / 3) + (math.log(2 / 3) + math.log(2)) / 2) / 2
    assert value("visits", UNIT, [[A, A, A, B]], [[A]]) == pytest.approx(expected)


def test_coming_back_is_another_visit() -> None:
    assert value("visits", UNIT, [[A, B, A]], [[A], [B], [A]]) == 0


def test_visits_ndcg_by_hand() -> None:
    # Real visits: a 3, b 1. In the synthetic order b, a they gain 1 / log2(2) + 3 / log2(3), at best
    # 3 / log2(2) + 1 / log2(3).
    expected = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert value("visits_ndcg", UNIT, [[A], [A], [A], [B]], [[B], [B], [A]]) == pytest.approx(expected)


def test_cells_that_tie_share_the_gain_of_their_places() -> None:
    # Real visits: a 3, b 1. Synthetic: 1 each, so that both gain 2.
    expected = (2 + 2 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert value("visits_ndcg", UNIT, [[A], [A], [A], [B]], [[A], [B]]) == pytest.approx(expected)
    assert value("visits_ndcg", UNIT, [[A], [A], [A], [B]], [[B], [A]]) == pytest.approx(expected)


def test_only_the_50_most_visited_cells_gain() -> None:
    # Real visits to one cell, which is the 51st in the synthetic order: nothing; as the 50th, 1 / log2(51).
    others = [[(column + 0.5, row + 0.5)] for row in range(5) for column in range(10)]
    real: Walks = [[(19.5, 19.5)]]
    assert value("visits_ndcg", UNIT, real, others * 2 + real) == 0
    assert value("visits_ndcg", UNIT, real, others[:49] * 2 + real) == pytest.approx(1 / math.log2(51))


def test_transition_by_hand() -> None:
    # Real: a b, b c, a b: shares (2/3, 1/3), the stop in a is no move. Synthetic: a b, b c, shares (1/2, 1/2).
    # The middle is (7/12, 5/12).
    expected = (2 * math.log(8 / 7) + math.log(4 / 5)) / 6 + (math.log(6 / 7) + math.log(6 / 5)) / 4
    assert value("transition", UNIT, [[A, A, B, C], [A, B]], [[A, B, C]]) == pytest.approx(expected)


def test_a_transition_has_a_direction() -> None:
    assert value("transition", UNIT, [[A, B]], [[B, A]]) == pytest.approx(LN2)
    assert value("transition", UNIT, [[A, B, A]], [[B, A], [A, B]]) == 0


def test_moves_of_one_trajectory_do_not_lead_into_the_next() -> None:
    assert value("transition", UNIT, [[A, B], [C, D]], [[C, D], [A, B]]) == 0


def apart(*sizes: float) -> Walks:
    """Draw two points so far apart, for each size: their radius of gyration is half of it."""
    return [[(0.0, 1.0), (size, 1.0)] for size in sizes]


def test_gyration_by_hand() -> None:
    # Real radii 1.2 and 25: bins of 0.5 from 0 to 25. Synthetic 1.4 is with 1.2, and 10.2 by itself: half is
    # shared, half is not, ln(2) / 2.
    assert value("gyration", LARGE, apart(2.4, 50), apart(2.8, 20.4)) == pytest.approx(LN2 / 2)


def test_larger_radii_of_gyration_are_in_the_last_bin() -> None:
    assert value("gyration", LARGE, apart(2.4, 50), apart(2.4, 99)) == 0


def test_a_radius_of_gyration_weighs_points() -> None:
    # Points at 0, 0, 0, 4: mean 1, mean square (1 + 1 + 1 + 9) / 4 = 3, as two points 2 * sqrt(3) apart.
    real: Walks = [[(0.0, 0.0)] * 3 + [(4.0, 0.0)], *apart(50)]
    assert value("gyration", LARGE, real, apart(2 * math.sqrt(3), 50)) == 0
    assert value("gyration", LARGE, real, apart(4, 50)) > 0


def test_straightness_by_hand() -> None:
    # Real: 1, and 5 / 7 of a way of 3 and 4. Synthetic: 1, and 0 of a round trip: ln(2) / 2. Those that do not
    # move are left out.
    line, corner = [(0.0, 0.0), (4.0, 0.0)], [(0.0, 0.0), (4.0, 0.0), (4.0, 3.0)]
    still: Walks = [[(1.0, 1.0)], [(1.0, 1.0), (1.0, 1.0)]]
    found = value("straightness", SMALL, [line, corner], [line, [*line, line[0]], *still])
    assert found == pytest.approx(LN2 / 2)


def test_sets_that_do_not_move_are_equally_straight() -> None:
    still, moving = [(1.0, 1.0), (1.0, 1.0)], [(1.0, 1.0), (2.0, 1.0)]
    assert value("straightness", SMALL, [still], [still[:1]]) == 0
    assert value("straightness", SMALL, [still], [moving]) == pytest.approx(LN2)


def turn(degrees: float) -> list[Point]:
    """Go east, then turn left by so much."""
    angle = math.radians(degrees)
    return [(1.0, 1.0), (2.0, 1.0), (2.0 + math.cos(angle), 1.0 + math.sin(angle))]


def test_turning_by_hand() -> None:
    # Real: 94 degrees to the left, and straight on. Synthetic: 86 to the left, in the same bin around 90, and
    # 94 to the right: ln(2) / 2.
    assert value("turning", SMALL, [turn(94), turn(4)], [turn(86), turn(-94)]) == pytest.approx(LN2 / 2)


def test_turning_around_is_neither_left_nor_right() -> None:
    around = [[(1.0, 1.0), (2.0, 1.0), (1.0, 1.0)]]
    assert value("turning", SMALL, around, [turn(176)]) == 0
    assert value("turning", SMALL, around, [turn(-176)]) == 0
    assert value("turning", SMALL, around, [turn(174)]) == pytest.approx(LN2)
    west_and_back = [[(2.0, 1.0), (1.0, 1.0), (2.0, 1.0)]]
    assert value("turning", SMALL, around, west_and_back) == 0


def test_points_where_the_one_before_was_are_skipped() -> None:
    waiting = [point for point in turn(95) for _ in range(3)]
    assert value("turning", SMALL, [turn(95)], [waiting]) == 0


def test_next_cell_by_hand() -> None:
    # The first two, of smaller lots, teach that b follows a, and nothing of what follows b. Of the moves a b,
    # b a, a b, a c of the others that foretells 2 rightly.
    real: Walks = [[A, B], [A, B], [A, B, A, B], [A, C]]
    lots = [0.1, 0.2, 0.3, 0.4]
    assert value("next_cell", UNIT, real, [[A, C]], lots) == pytest.approx((2 - 1) / 4)  # a c alone
    assert value("next_cell", UNIT, real, [[A, B]], lots) == 0
    assert value("next_cell", UNIT, real, [[A, B, A]], lots) == pytest.approx((2 - 3) / 4)  # b a as well


def test_next_cell_without_lessons_foretells_nothing() -> None:
    # Not even moves to the first cell.
    real: Walks = [[D, A], [D, A], [D, A], [D, A]]
    for nothing in ([], [[A]], [[B, A]]):
        assert value("next_cell", UNIT, real, nothing) == 1
    assert value("next_cell", UNIT, real[:2], real, [0.2, 0.1]) == 0


def test_next_cell_is_not_defined_without_moves_to_foretell() -> None:
    for real in ([[A], [A]], [[A, B]], [[A, B], [A]]):  # one trajectory is all taught
        assert math.isnan(value("next_cell", UNIT, real, [[A, B]], [0.1, 0.2][: len(real)]))


def test_points_outside_do_not_count() -> None:
    inside, leaving = (
        [(3.5, 3.5), (4.5, 3.5)],
        [(3.5, 3.5), (4.5, 3.5), (99.0, 99.0), (np.nan, 1.0), (-5.0, -5.0)],
    )
    for name in SLOW:
        assert value(name, UNIT, [inside], [leaving]) == METRICS[name].best


@pytest.mark.parametrize("name", METRICS)
def test_an_empty_set_gets_the_worst(name: str) -> None:
    real: Walks = [[A, B, A, D], [A, C, B], [A, B, D]]
    found = value(name, UNIT, real, [])
    if name == "visits_ndcg":  # all cells tie: each gains the mean of 10 visits to 400 cells
        places = [1 / math.log2(place + 2) for place in range(50)]
        best = 4 * places[0] + 3 * places[1] + 2 * places[2] + places[3]
        assert found == pytest.approx(10 / 400 * sum(places) / best)
    else:
        assert found == pytest.approx({"next_cell": 1 / 2}.get(name, LN2))  # a b is foretold, b d not


@pytest.mark.parametrize("name", METRICS)
def test_single_points_can_be_compared(name: str) -> None:
    points: Walks = [[A], [B], [D]]
    same, other = value(name, UNIT, points, points), value(name, UNIT, points, [[C]])
    if name == "next_cell":
        assert math.isnan(same) and math.isnan(other)
    else:
        assert same == METRICS[name].best and math.isfinite(other)


@pytest.mark.parametrize("name", SLOW)
def test_one_trajectory_is_a_set(name: str) -> None:
    one, other = [[A, C, D, B]], [[A, D]]
    assert value(name, UNIT, one, one) == METRICS[name].best
    assert value(name, UNIT, one, other) == pytest.approx(SLOW[name](UNIT, one, other))
