"""The order in which cells are joined: every cell once, neighbors first, few sides between large sets."""

from __future__ import annotations

import numpy as np
import pytest
from tests import polygons

import privtrace as pt
from privtrace.methods.bridgetrace.dissection import JOIN, dissect
from privtrace.space.adjacency import adjacency
from privtrace.space.grid import Grid

PLANAR = pt.Region.box(0, 0, 10, 10, crs="planar")
GRIDS = {
    "one cell": Grid.uniform(PLANAR, 1),
    "a coarse cell": Grid(PLANAR, np.array([[5]], np.int32)),
    "uniform": Grid.uniform(PLANAR, 7),
    "uneven": Grid(PLANAR, np.array([[1, 3, 2], [4, 2, 16], [1, 1, 8]], np.int32)),
    "frame": Grid(polygons.region("frame"), np.full((3, 3), 4, np.int32)),
    "two banks": Grid.uniform(polygons.region("two banks"), 6),
}


def sets_of(joins: np.ndarray) -> list[tuple[frozenset[int], frozenset[int]]]:
    """Follow the joins, and list the pairs of sets that are joined; in the end one set is left."""
    waiting: list[frozenset[int]] = []
    pairs = []
    for cell in joins.tolist():
        if cell == JOIN:
            b, a = waiting.pop(), waiting.pop()
            pairs.append((a, b))
            waiting.append(a | b)
        else:
            waiting.append(frozenset([cell]))
    assert len(waiting) == 1
    return pairs


@pytest.mark.parametrize("name", GRIDS)
def test_every_cell_comes_in_once_and_all_are_joined(name: str) -> None:
    grid = GRIDS[name]
    joins = dissect(grid)
    assert sorted(joins[joins != JOIN].tolist()) == list(range(grid.n_cells))
    pairs = sets_of(joins)
    assert len(pairs) == grid.n_cells - 1
    assert all(a and b and not a & b for a, b in pairs)
    assert not pairs or pairs[-1][0] | pairs[-1][1] == set(range(grid.n_cells))


@pytest.mark.parametrize(("per_side", "most"), [(16, 17), (33, 36)])
def test_few_sides_are_between_large_sets(per_side: int, most: int) -> None:
    """A square is cut across: no join has more sides between its sets than the square has cells a side."""
    grid = Grid.uniform(PLANAR, per_side)
    links = adjacency(grid)
    for a, b in sets_of(dissect(grid)):
        n_between = sum(
            links.targets[link] in b for cell in a for link in range(*links.offsets[cell : cell + 2])
        )
        assert 1 <= n_between <= most


def test_dense_coarse_cells_are_parted_from_each_other_where_few_sides_are() -> None:
    """A row of coarse cells, the two ends dense: the cut is between the two in the middle, not at an end."""
    divisions = np.ones((4, 4), np.int32)
    divisions[:, 0] = divisions[:, 3] = 8
    a, b = sets_of(dissect(Grid(PLANAR, divisions)))[-1]
    assert len(a) == len(b)
