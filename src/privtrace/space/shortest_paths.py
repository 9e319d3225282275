"""Go from cell to touching cell: the eight neighbors of each cell of a uniform grid, and shortest paths.

A shortest path goes, step by step, to a neighbor that is a step nearer to the goal; of several to the one
nearest to it as the crow flies. So over a box it goes diagonally as long as it must, and then straight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled, inlined
from privtrace.errors import SettingsError
from privtrace.paths import Paths
from privtrace.privacy.unit import WEIGHT
from privtrace.space.grid import Grid
from privtrace.trajectories import Integers

#: The directions of neighbors, from southwest to northeast: columns to the east, rows to the north.
DIRECTIONS = np.array([(-1, -1), (0, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (0, 1), (1, 1)])

#: Cells per side of a uniform grid over a polygon at most: its distances are a table of all pairs of cells.
MOST_OVER_POLYGON = 64

#: Cells of a connected path at most. In a longer one no move would weigh anything, and one trajectory that
#: jumps to and fro could fill the memory.
LONGEST = WEIGHT - 1


class ShortestPaths(NamedTuple):
    """Hold the neighbors of cells and the distances between them, for kernels."""

    size: int  # cells per side, those that do not exist included
    slots: Integers  # (n_cells,): row * size + column of each
    neighbors: npt.NDArray[np.int32]  # (n_cells, 8): the touching cell in each of DIRECTIONS, or -1
    distances: npt.NDArray[np.int16]  # (n_cells, n_cells): as `graph_distances`; (0, 0) over a box


def shortest_paths(grid: Grid) -> ShortestPaths:
    """Prepare the shortest paths between the cells of a uniform grid."""
    assert grid.n_slots == grid.divisions.size
    size = len(grid.divisions)
    if grid.region.shape is None:
        return ShortestPaths(size, grid.slots, _neighbors_in_box(size), np.empty((0, 0), np.int16))
    from scipy.sparse.csgraph import shortest_path

    if size > MOST_OVER_POLYGON:
        raise SettingsError(
            f"over a polygon, {MOST_OVER_POLYGON} x {MOST_OVER_POLYGON} equal cells are the maximum, not "
            f"{size} x {size}; set fewer cells, or use a box"
        )
    neighbors = np.full((grid.n_cells, len(DIRECTIONS)), -1, np.int32)
    links = grid.touching().tocoo()
    east = grid.slots[links.col] % size - grid.slots[links.row] % size
    north = grid.slots[links.col] // size - grid.slots[links.row] // size
    place = 3 * (north + 1) + east + 1  # 0 to 8, and 4 is the cell itself
    neighbors[links.row, place - (place > 4)] = links.col
    steps = shortest_path(grid.touching(), unweighted=True)
    distances = np.where(np.isinf(steps), -1, steps).astype(np.int16)
    return ShortestPaths(size, grid.slots, neighbors, distances)


def graph_distances(shortest: ShortestPaths) -> npt.NDArray[np.int16]:
    """Count the steps of a shortest path from each cell to each, (n_cells, n_cells); -1 where none leads."""
    if len(shortest.distances):
        return shortest.distances
    column, row = shortest.slots % shortest.size, shortest.slots // shortest.size
    distances: Integers = np.maximum(np.abs(column[:, None] - column), np.abs(row[:, None] - row))
    return distances.astype(np.int16)


def connect(paths: Paths, shortest: ShortestPaths, longest: int = LONGEST) -> Paths:
    """Lead paths from neighbor to neighbor: insert a shortest path where consecutive cells do not touch.

    Where none leads on, as from one component of a region to another, the path ends; and after `longest` cells.
    """
    return Paths(*_connect(paths.cells, paths.offsets, shortest, longest))


@compiled
def next_cell(now, goal, shortest):  # type: ignore[no-untyped-def]
    """Give the next cell on the shortest path from one cell to another, or -1 where none leads."""
    size = shortest.size
    if len(shortest.distances) == 0:
        east, north = goal % size - now % size, goal // size - now // size
        return now + np.sign(east) + size * np.sign(north)
    left = shortest.distances[now, goal]
    best, best_apart = np.int64(-1), np.int64(0)
    for neighbor in shortest.neighbors[now]:
        if neighbor < 0 or left <= 0 or shortest.distances[neighbor, goal] != left - 1:
            continue
        east = shortest.slots[goal] % size - shortest.slots[neighbor] % size
        north = shortest.slots[goal] // size - shortest.slots[neighbor] // size
        apart = east * east + north * north
        if best < 0 or apart < best_apart:
            best, best_apart = np.int64(neighbor), apart
    return best


@inlined
def direction(now, onto, shortest):  # type: ignore[no-untyped-def]
    """Name the direction of a neighbor."""
    east = shortest.slots[onto] % shortest.size - shortest.slots[now] % shortest.size
    north = shortest.slots[onto] // shortest.size - shortest.slots[now] // shortest.size
    place = 3 * (north + 1) + east + 1
    return place - 1 if place > 4 else place


@compiled
def _connect(cells, offsets, shortest, longest):  # type: ignore[no-untyped-def]
    connected = np.empty(2 * len(cells) + 16, np.int32)
    connected_offsets = np.zeros(len(offsets), np.int64)
    n_connected = 0
    for path in range(len(offsets) - 1):
        now = np.int64(-1)
        for p in range(offsets[path], offsets[path + 1]):
            goal = np.int64(cells[p])
            while now != goal:
                now = goal if now < 0 else next_cell(now, goal, shortest)
                if n_connected == connected_offsets[path] + longest:
                    now = np.int64(-1)
                if now < 0:
                    break
                if n_connected == len(connected):
                    connected = np.concatenate((connected, np.empty_like(connected)))
                connected[n_connected] = now
                n_connected += 1
            if now < 0:
                break
        connected_offsets[path + 1] = n_connected
    return connected[:n_connected].copy(), connected_offsets


def _neighbors_in_box(size: int) -> npt.NDArray[np.int32]:
    """Find the neighbors in a full square of cells."""
    row, column = np.divmod(np.arange(size * size), size)
    columns, rows = column[:, None] + DIRECTIONS[:, 0], row[:, None] + DIRECTIONS[:, 1]
    inside = (columns >= 0) & (columns < size) & (rows >= 0) & (rows < size)
    return np.where(inside, rows * size + columns, -1).astype(np.int32)
