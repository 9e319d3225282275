"""What paths contribute to tables of moves: against a double loop, and one weight a path."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests import polygons
from tests.conftest import BOX
from tests.counting import lists, summed

import privtrace as pt
from privtrace.methods.adatrace.counts import to_neighbors
from privtrace.methods.privtrace.counts import first_order, second_order
from privtrace.paths import Paths
from privtrace.privacy.unit import WEIGHT
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.space.shortest_paths import DIRECTIONS, connect, shortest_paths

GRID = Grid.uniform(pt.Region.box(*BOX, crs="planar"), 6)


def slow_first_order(paths: list[list[int]], m: int) -> np.ndarray:
    table = np.zeros((m + 1, m), np.int64)
    for path in filter(None, paths):
        weight = WEIGHT // (len(path) + 1)
        table[m, path[0]] += weight
        for a, b in pairwise(path):
            table[a, b] += weight
        table[path[-1], path[-1]] += weight
    return table


def slow_second_order(paths: list[list[int]], m: int, chosen: list[int]) -> np.ndarray:
    table = np.zeros((len(chosen), m, m), np.int64)
    for path in filter(None, paths):
        for place, now in enumerate(path):
            if now in chosen:
                before = path[place - 1] if place else now
                after = path[place + 1] if place + 1 < len(path) else now
                table[chosen.index(now), before, after] += WEIGHT // len(path)
    return table


def test_first_order_agrees_with_a_double_loop(wanderers: pt.Trajectories) -> None:
    paths = GRID.encode(clip(wanderers, GRID.region))
    table = summed(first_order(paths, 36), 37, 36)
    assert np.array_equal(table, slow_first_order(lists(paths), 36))


def test_second_order_agrees_with_a_double_loop(wanderers: pt.Trajectories) -> None:
    paths = GRID.encode(clip(wanderers, GRID.region))
    for chosen in ([], [7], [0, 7, 8, 14, 35], list(range(36))):
        table = summed(second_order(paths, 36, np.array(chosen, np.int32)), len(chosen), 36, 36)
        assert np.array_equal(table, slow_second_order(lists(paths), 36, chosen))


def slow_neighbors(paths: list[list[int]], grid: Grid) -> np.ndarray:
    size = len(grid.divisions)
    table = np.zeros((grid.n_cells, 8), np.int64)
    for path in paths:
        for a, b in pairwise(path):
            (row, column), (to_row, to_column) = (divmod(int(grid.slots[cell]), size) for cell in (a, b))
            direction = DIRECTIONS.tolist().index([to_column - column, to_row - row])
            table[a, direction] += WEIGHT // (len(path) - 1)
    return table


@pytest.mark.parametrize("shape", [None, "frame", "mixed 1", "two banks"])
def test_moves_to_neighbors_agree_with_a_double_loop(shape: str | None, wanderers: pt.Trajectories) -> None:
    grid = GRID if shape is None else Grid.uniform(polygons.region(shape), 6)
    between = shortest_paths(grid)
    paths = connect(grid.encode(clip(wanderers, grid.region)), between)
    counts = summed(to_neighbors(paths, between), *between.neighbors.shape)
    assert np.array_equal(counts, slow_neighbors(lists(paths), grid)) and counts.any()
    assert not counts[between.neighbors < 0].any()


def test_moves_to_neighbors_by_hand() -> None:
    """0 -> 1 -> 3 -> 1 on 2 x 2 cells: east, north and south, a third each; cell 2 alone has no move."""
    between = shortest_paths(Grid.uniform(pt.Region.box(*BOX, crs="planar"), 2))
    paths = Paths(np.array([0, 1, 3, 1, 2], np.int32), np.array([0, 4, 5, 5]))
    counts = summed(to_neighbors(paths, between), *between.neighbors.shape)
    third = WEIGHT // 3
    assert {place: int(counts[place]) for place in zip(*np.nonzero(counts), strict=True)} == {
        (0, 4): third,
        (1, 6): third,
        (3, 1): third,
    }


def test_a_short_path_by_hand() -> None:
    """2 -> 0 on three states: start -> 2, 2 -> 0, 0 -> end, a third each."""
    paths = Paths(np.array([2, 0], np.int32), np.array([0, 2]))
    third = WEIGHT // 3
    table = summed(first_order(paths, 3), 4, 3)
    assert table.tolist() == [[third, 0, 0], [0, 0, 0], [third, 0, 0], [0, 0, third]]


def test_no_path_weighs_more_than_one() -> None:
    for length in (1, 2, 3, 7, 1000):
        paths = Paths(np.arange(length, dtype=np.int32) % 2, np.array([0, length]))
        for emitted in (first_order(paths, 2), second_order(paths, 2, np.array([0, 1], np.int32))):
            assert WEIGHT - length - 1 <= emitted.weights.sum() <= WEIGHT
        moves = to_neighbors(paths, shortest_paths(GRID)).weights.sum()
        assert WEIGHT - length <= moves <= WEIGHT if length > 1 else moves == 0
