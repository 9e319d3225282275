"""Bridges: as all walks counted out have them, however long and unlikely, and by each path's number alone."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats
from tests import polygons

import privtrace as pt
from privtrace.methods.adatrace.bridge import Bridge, Moves, step_probabilities
from privtrace.space.grid import Grid
from privtrace.space.shortest_paths import ShortestPaths, graph_distances, shortest_paths

BOX = shortest_paths(Grid.uniform(pt.Region.box(0, 0, 10, 10, crs="planar"), 3))
EAST, WEST = 4, 3


def some_transitions(between: ShortestPaths, seed: int = 0) -> np.ndarray:
    """Draw transitions, some of them zero."""
    rng = np.random.default_rng(seed)
    shape = between.neighbors.shape
    return np.where((between.neighbors >= 0) & (rng.random(shape) < 0.9), rng.integers(1, 100, shape), 0)


def bridge(
    trips: dict[tuple[int, int], int], extra: int, transitions: np.ndarray, between: ShortestPaths = BOX
) -> Bridge:
    """Hold these trips alone, all with as many extra cells."""
    m = len(between.neighbors)
    table = np.zeros((m, m), np.int64)
    for trip, weight in trips.items():
        table[trip] = weight
    lengths = np.zeros((int(graph_distances(between).max()) + 1, extra + 1), np.int64)
    lengths[:, extra] = 1
    return Bridge(table, lengths, transitions, between)


def paths_of(walker: Bridge, n: int, seed: int = 1) -> list[tuple[int, ...]]:
    paths = walker.walk(range(n), seed)
    return [tuple(path.tolist()) for path in np.split(paths.cells, paths.offsets[1:-1])]


def all_walks(origin: int, goal: int, n_cells: int, transitions: np.ndarray) -> dict[tuple[int, ...], float]:
    """List every walk with its chance among those from end to end."""
    chances = transitions / transitions.sum(axis=1, keepdims=True)
    walks = {}
    for directions in product(range(8), repeat=n_cells - 1):
        walk, chance = [origin], 1.0
        for direction in directions:
            chance *= chances[walk[-1], direction]
            if chance == 0:
                break
            walk.append(int(BOX.neighbors[walk[-1], direction]))
        else:
            if walk[-1] == goal:
                walks[tuple(walk)] = chance
    total = sum(walks.values())
    return {walk: chance / total for walk, chance in walks.items()}


@pytest.mark.parametrize(
    ("origin", "goal", "extra"), [(0, 8, 0), (0, 8, 2), (3, 5, 1), (4, 4, 1), (4, 4, 3), (0, 1, 3)]
)
def test_walks_are_as_likely_as_all_walks_counted_out_say(origin: int, goal: int, extra: int) -> None:
    transitions = some_transitions(BOX)
    n_cells = max(int(graph_distances(BOX)[origin, goal]) + 1, 2) + extra
    expected = all_walks(origin, goal, n_cells, transitions)
    n = 20_000
    observed = Counter(paths_of(bridge({(origin, goal): 1}, extra, transitions), n))
    assert observed.keys() <= expected.keys() and len(expected) >= (1 if extra == 0 else 5)
    shares = np.array([*expected.values()]) * n
    counts = np.array([observed[walk] for walk in expected])
    rare = shares < 5
    shares = np.append(shares[~rare], shares[rare].sum() + 1e-9)
    counts = np.append(counts[~rare], counts[rare].sum())
    if len(expected) > 1:
        assert stats.chisquare(counts, shares / shares.sum() * n).pvalue > 1e-4


def test_trips_and_lengths_are_drawn_by_weight() -> None:
    transitions = np.where(BOX.neighbors >= 0, 1, 0)
    walker = bridge({(0, 8): 3, (2, 2): 1, (5, 3): 6}, 2, transitions)
    walker.lengths[:, 0] = 3  # without extra cells thrice as often as with two
    paths = paths_of(walker, 20_000)
    ends = Counter((path[0], path[-1]) for path in paths)
    assert stats.chisquare([ends[0, 8], ends[2, 2], ends[5, 3]], [6000, 2000, 12_000]).pvalue > 1e-4
    sizes = Counter(len(path) for path in paths if path[0] != path[-1])
    assert sizes.keys() == {3, 5}
    assert stats.binomtest(sizes[5], sizes.total(), 0.25).pvalue > 1e-4
    assert {len(path) for path in paths if path[0] == path[-1]} == {1, 4}  # a cell alone, or two and two more


@pytest.mark.parametrize("bits", [1, 40, 61])
def test_chances_far_below_any_number_are_exact(bits: int) -> None:
    """In a row of 20 cells, each move east has a chance of 2**-bits but the first; against whole numbers."""
    wide = shortest_paths(Grid.uniform(pt.Region.box(0, 0, 10, 10, crs="planar"), 20))
    west, east = 1.0 - 2.0**-bits, 2.0**-bits
    chances = np.zeros(wide.neighbors.shape)
    chances[1:19, WEST], chances[1:19, EAST] = west, east
    chances[0, EAST] = chances[19, WEST] = 1.0
    values, exponents = step_probabilities(19, 100, Moves(chances, wide.neighbors))
    arrive = [0] * 19 + [1]  # times 2**(bits * r)
    for r in range(1, 101):
        inner = [((1 << bits) - 1) * arrive[cell - 1] + arrive[cell + 1] for cell in range(1, 19)]
        arrive = [arrive[1] << bits, *inner, arrive[18] << bits]
        for cell, exact in enumerate(arrive):
            top = max(exact.bit_length() - 60, 0)
            found = np.ldexp(values[r, cell], bits * r - 512 * int(exponents[r, cell]) - top)
            assert found == pytest.approx(float(exact >> top), rel=1e-12)
    assert exponents.max() == {1: 0, 40: 1, 61: 2}[bits]
    assert not values[:, 20:].any()


def test_small_chances_do_not_underflow() -> None:
    """Around the rim, against the stream: each move has a chance of 2**-40."""
    between = shortest_paths(Grid.uniform(pt.Region.box(0, 0, 10, 10, crs="planar"), 8))
    transitions = np.where(between.neighbors >= 0, 1, 0)
    transitions[:, WEST] *= 1 << 40
    walker = bridge({(0, 7): 1}, 593, transitions, between)  # 601 cells, 7 of them needed
    values, exponents = step_probabilities(7, 600, walker.moves)
    assert exponents.max() > 0 and values.min(where=values > 0, initial=1.0) > 2.0**-257
    for path in paths_of(walker, 20):
        assert len(path) == 601 and (path[0], path[-1]) == (0, 7)
        distances = graph_distances(between)
        assert all(distances[a, b] == 1 for a, b in pairwise(path))


def test_thousands_of_steps() -> None:
    walker = bridge({(0, 8): 1}, 10_000, some_transitions(BOX))
    (path,) = paths_of(walker, 1)
    assert len(path) == 10_003 and path[-1] == 8
    values, exponents = step_probabilities(8, 10_002, walker.moves)
    assert values[10_002, 0] > 0 and exponents.max() == 0  # they settle, and stay in range


def test_what_no_walk_reaches_takes_the_shortest_path() -> None:
    """Moves to the east and west alone cannot get from 3 to 5 in three; and nothing leads north."""
    transitions = np.where(BOX.neighbors >= 0, 1, 0)
    transitions[:, [0, 1, 2, 5, 6, 7]] = 0
    walker = bridge({(3, 5): 1, (3, 4): 1, (0, 8): 1, (4, 4): 1}, 1, transitions)
    seen = Counter(paths_of(walker, 400))
    assert seen.keys() == {(3, 4, 5), (3, 4), (0, 4, 8), (4, 3, 4), (4, 5, 4)}
    assert paths_of(bridge({(0, 7): 1}, 5, np.zeros((9, 8), np.int64)), 2) == [(0, 4, 7)] * 2


def test_a_single_cell_stays_alone() -> None:
    one = shortest_paths(Grid.uniform(pt.Region.box(0, 0, 1, 1, crs="planar"), 1))
    for extra in (0, 1, 7):
        assert paths_of(bridge({(0, 0): 1}, extra, np.zeros((1, 8), np.int64), one), 3) == [(0,)] * 3


def test_walks_go_around_lakes() -> None:
    grid = Grid.uniform(polygons.region("frame"), 4)
    between = shortest_paths(grid)
    distances = graph_distances(between)
    transitions = np.where(between.neighbors >= 0, 1, 0)
    walker = bridge({(0, grid.n_cells - 1): 1, (2, 9): 1}, 3, transitions, between)
    for path in paths_of(walker, 300):
        assert len(path) == distances[path[0], path[-1]] + 4
        assert all(distances[a, b] == 1 for a, b in pairwise(path))


def test_a_path_depends_on_its_number_alone() -> None:
    """Others that go to the same goal, and longer ones, change nothing."""
    rng = np.random.default_rng(3)
    walker = Bridge(rng.integers(0, 9, (9, 9)), rng.integers(1, 9, (3, 30)), some_transitions(BOX), BOX)
    whole = walker.walk(range(1000), 9)
    for numbers in (range(0, 1), range(7, 300), range(999, 1000)):
        part = walker.walk(numbers, 9)
        cells = whole.cells[whole.offsets[numbers.start] : whole.offsets[numbers.stop]]
        assert np.array_equal(part.cells, cells)
    assert len(walker.walk(range(5, 5), 9)) == 0
    assert not np.array_equal(walker.walk(range(1000), 8).cells[:500], whole.cells[:500])
