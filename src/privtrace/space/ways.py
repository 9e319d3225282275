"""Go from cell to touching cell: the neighbors of each cell of a uniform grid, and the ways between any two.

A way goes, step by step, to a touching cell that is a step nearer to the goal; of several to the one nearest to
it as the crow flies. So over a box it goes diagonally as long as it must, and then straight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.sparse.csgraph import shortest_path

from privtrace.errors import SettingsError
from privtrace.paths import Paths
from privtrace.privacy.unit import WEIGHT
from privtrace.space.grid import Grid
from privtrace.trajectories import Integers

#: The directions of neighbors, from southwest to northeast: columns to the east, rows to the north.
DIRECTIONS = np.array([(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)])

#: Cells per side of a uniform grid over a polygon at most: its ways are a table of all pairs of cells.
MOST_OVER_POLYGON = 64

#: Cells of a filled path at most. In a longer one no move would weigh anything, and one trajectory that jumps
#: to and fro could fill the memory.
LONGEST = WEIGHT - 1


class Ways(NamedTuple):
    """Hold the neighbors of cells and the steps between them, for kernels."""

    size: int  # cells per side, those that do not exist included
    slots: Integers  # (n_cells,): row * size + column of each
    neighbors: npt.NDArray[np.int32]  # (n_cells, 8): the touching cell in each of DIRECTIONS, or -1
    steps: npt.NDArray[np.int16]  # (n_cells, n_cells): as `steps_between`; (0, 0) over a box


def ways(grid: Grid) -> Ways:
    """Prepare the ways between the cells of a uniform grid."""
    assert grid.n_slots == grid.divisions.size
    size = len(grid.divisions)
    if grid.region.shape is None:
        return Ways(size, grid.slots, _neighbors_in_box(size), np.empty((0, 0), np.int16))
    if size > MOST_OVER_POLYGON:
        raise SettingsError(
            f"over a polygon, {MOST_OVER_POLYGON} x {MOST_OVER_POLYGON} equal cells are the most, not "
            f"{size} x {size}; set fewer, or take a box"
        )
    neighbors = np.full((grid.n_cells, len(DIRECTIONS)), -1, np.int32)
    links = grid.touching().tocoo()
    east = grid.slots[links.col] % size - grid.slots[links.row] % size
    north = grid.slots[links.col] // size - grid.slots[links.row] // size
    place = 3 * (north + 1) + east + 1  # 0 to 8, and 4 is the cell itself
    neighbors[links.row, place - (place > 4)] = links.col
    steps = shortest_path(grid.touching(), unweighted=True)
    return Ways(size, grid.slots, neighbors, np.where(np.isinf(steps), -1, steps).astype(np.int16))


def steps_between(ways: Ways) -> npt.NDArray[np.int16]:
    """Count the steps from each cell to each, (n_cells, n_cells); -1 where no way leads."""
    if len(ways.steps):
        return ways.steps
    column, row = ways.slots % ways.size, ways.slots // ways.size
    apart: Integers = np.maximum(np.abs(column[:, None] - column), np.abs(row[:, None] - row))
    return apart.astype(np.int16)


def fill(paths: Paths, ways: Ways, longest: int = LONGEST) -> Paths:
    """Insert the cells that lie on the way between consecutive cells that do not touch.

    Where no way leads on, as from one part of a region to another, the path ends; and after `longest` cells.
    """
    return Paths(*_fill(paths.cells, paths.offsets, ways, longest))


@njit(cache=True, nogil=True)
def onward(now, goal, ways):  # type: ignore[no-untyped-def]
    """Give the next cell on the way from one cell to another, or -1 where no way leads."""
    size = ways.size
    if len(ways.steps) == 0:
        east, north = goal % size - now % size, goal // size - now // size
        return now + np.sign(east) + size * np.sign(north)
    left = ways.steps[now, goal]
    best, best_apart = np.int64(-1), np.int64(0)
    for touching in ways.neighbors[now]:
        if touching < 0 or left <= 0 or ways.steps[touching, goal] != left - 1:
            continue
        east = ways.slots[goal] % size - ways.slots[touching] % size
        north = ways.slots[goal] // size - ways.slots[touching] // size
        apart = east * east + north * north
        if best < 0 or apart < best_apart:
            best, best_apart = np.int64(touching), apart
    return best


@njit(cache=True, nogil=True, inline="always")
def direction(now, onto, ways):  # type: ignore[no-untyped-def]
    """Name the direction of a neighbor."""
    east = ways.slots[onto] % ways.size - ways.slots[now] % ways.size
    north = ways.slots[onto] // ways.size - ways.slots[now] // ways.size
    place = 3 * (north + 1) + east + 1
    return place - 1 if place > 4 else place


@njit(cache=True, nogil=True)
def _fill(cells, offsets, ways, longest):  # type: ignore[no-untyped-def]
    filled = np.empty(2 * len(cells) + 16, np.int32)
    filled_offsets = np.zeros(len(offsets), np.int64)
    n_filled = 0
    for path in range(len(offsets) - 1):
        now = np.int64(-1)
        for p in range(offsets[path], offsets[path + 1]):
            goal = np.int64(cells[p])
            while now != goal:
                now = goal if now < 0 else onward(now, goal, ways)
                if n_filled == filled_offsets[path] + longest:
                    now = np.int64(-1)
                if now < 0:
                    break
                if n_filled == len(filled):
                    filled = np.concatenate((filled, np.empty_like(filled)))
                filled[n_filled] = now
                n_filled += 1
            if now < 0:
                break
        filled_offsets[path + 1] = n_filled
    return filled[:n_filled].copy(), filled_offsets


def _neighbors_in_box(size: int) -> npt.NDArray[np.int32]:
    """Find the neighbors in a full square of cells."""
    row, column = np.divmod(np.arange(size * size), size)
    columns, rows = column[:, None] + DIRECTIONS[:, 0], row[:, None] + DIRECTIONS[:, 1]
    inside = (columns >= 0) & (columns < size) & (rows >= 0) & (rows < size)
    return np.where(inside, rows * size + columns, -1).astype(np.int32)
