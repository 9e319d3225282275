"""Counting moves: against a double loop, and additive over parts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests import polygons
from tests.conftest import BOX

import privtrace as pt
from privtrace import counts as counting
from privtrace.counts import Counts
from privtrace.markov.counts import first_order_counts, neighbor_counts, second_order_counts
from privtrace.paths import Paths
from privtrace.privacy.unit import WEIGHT
from privtrace.space.grid import Grid
from privtrace.space.ways import DIRECTIONS, fill, ways

GRID = Grid.uniform(pt.Region.box(*BOX, crs="planar"), 6)


def lists(paths: Paths) -> list[list[int]]:
    return [part.tolist() for part in np.split(paths.cells, paths.offsets[1:-1])]


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
    paths = GRID.encode(wanderers)
    table = first_order_counts(paths, 36).dense(0, 37 * 36).reshape(37, 36)
    assert np.array_equal(table, slow_first_order(lists(paths), 36))


def test_second_order_agrees_with_a_double_loop(wanderers: pt.Trajectories) -> None:
    paths = GRID.encode(wanderers)
    for chosen in ([], [7], [0, 7, 8, 14, 35], list(range(36))):
        counts = second_order_counts(paths, 36, np.array(chosen, np.int32))
        table = counts.dense(0, len(chosen) * 36 * 36).reshape(len(chosen), 36, 36)
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
    between = ways(grid)
    paths = fill(grid.encode(wanderers), between)
    counts = neighbor_counts(paths, between)
    assert np.array_equal(counts, slow_neighbors(lists(paths), grid)) and counts.any()
    assert not counts[between.neighbors < 0].any()
    parts = [fill(grid.encode(wanderers[a:b]), between) for a, b in pairwise([0, 1, 200, 200, 600])]
    assert np.array_equal(sum(neighbor_counts(part, between) for part in parts), counts)


def test_moves_to_neighbors_by_hand() -> None:
    """0 -> 1 -> 3 -> 1 on 2 x 2 cells: east, north and south, a third each; cell 2 alone has no move."""
    between = ways(Grid.uniform(pt.Region.box(*BOX, crs="planar"), 2))
    paths = Paths(np.array([0, 1, 3, 1, 2], np.int32), np.array([0, 4, 5, 5]))
    counts = neighbor_counts(paths, between)
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
    table = first_order_counts(paths, 3).dense(0, 12).reshape(4, 3)
    assert table.tolist() == [[third, 0, 0], [0, 0, 0], [third, 0, 0], [0, 0, third]]


@pytest.mark.parametrize("merge", [1, 50, 1 << 21])
def test_counts_of_parts_add_up(
    merge: int, wanderers: pt.Trajectories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "_MERGE_ENTRIES", merge)
    whole = first_order_counts(GRID.encode(wanderers), 36)
    cuts = [0, 1, 2, 100, 350, 600]
    parts = [wanderers[a:b] for a, b in pairwise(cuts)]
    total = Counts.total(first_order_counts(GRID.encode(part), 36) for part in parts)
    assert np.array_equal(total.codes, whole.codes) and np.array_equal(total.weights, whole.weights)


def test_no_path_weighs_more_than_one() -> None:
    for length in (1, 2, 3, 7, 1000):
        paths = Paths(np.arange(length, dtype=np.int32) % 2, np.array([0, length]))
        for counts in (
            first_order_counts(paths, 2),
            second_order_counts(paths, 2, np.array([0, 1], np.int32)),
        ):
            assert WEIGHT - length - 1 <= counts.weights.sum() <= WEIGHT
        to_neighbors = neighbor_counts(paths, ways(GRID)).sum()
        assert WEIGHT - length <= to_neighbors <= WEIGHT if length > 1 else to_neighbors == 0
