"""Cut the region's box into equal squares, as metrics do, and see which of them trajectories visit."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit

from privtrace.evaluation.circles import set_bit
from privtrace.evaluation.frame import Frame
from privtrace.paths import Paths
from privtrace.trajectories import Trajectories

Trips: TypeAlias = npt.NDArray[np.int32]


def paths_on(runs: Trajectories, frame: Frame, n_per_side: int, *, filled: bool = False) -> Paths:
    """Turn clipped trajectories into paths on n_per_side x n_per_side equal cells of the region's box.

    Cells are numbered from south to north, west to east; consecutive points in one cell are one visit. Where
    `filled`, steps to cells that do not touch are filled as a chess king goes: diagonally first, then straight.
    """
    sides_m = (frame.region.width_m, frame.region.height_m)
    return Paths(*_paths(runs.points, runs.offsets, sides_m, n_per_side, filled))


def visited(paths: Paths, n_cells: int) -> npt.NDArray[np.uint64]:
    """Tell which cells each path visits: (n, n_words) of bits."""
    return _visited(paths.cells, paths.offsets, n_cells)  # type: ignore[no-any-return]


def first_and_last(paths: Paths, n_cells: int) -> Trips:
    """Write the first and the last cell of each path as one number: (n,), first * n_cells + last."""
    firsts, lasts = paths.cells[paths.offsets[:-1]], paths.cells[paths.offsets[1:] - 1]
    return firsts.astype(np.int32) * np.int32(n_cells) + lasts


@njit(cache=True, nogil=True)
def _paths(points, offsets, sides_m, size, filled):  # type: ignore[no-untyped-def]
    cells = np.empty(len(points), np.int16)
    path_offsets = np.zeros(len(offsets), np.int64)
    n_cells = 0
    for t in range(len(offsets) - 1):
        column = row = -1
        for p in range(offsets[t], offsets[t + 1]):
            # Divided last, so that whole numbers on the edges of cells do not round below them.
            to_column = min(int(points[p, 0] * size / sides_m[0]), size - 1)
            to_row = min(int(points[p, 1] * size / sides_m[1]), size - 1)
            if not filled or p == offsets[t]:
                if to_column == column and to_row == row:
                    continue
                column, row = to_column, to_row
                cells, n_cells = _appended(cells, n_cells, row * size + column)
            while column != to_column or row != to_row:
                column += (to_column > column) - (to_column < column)
                row += (to_row > row) - (to_row < row)
                cells, n_cells = _appended(cells, n_cells, row * size + column)
        path_offsets[t + 1] = n_cells
    return cells[:n_cells].copy(), path_offsets


@njit(cache=True, nogil=True, inline="always")
def _appended(cells, n_cells, cell):  # type: ignore[no-untyped-def]
    """Write a cell, in twice the space where none is left."""
    if n_cells == len(cells):
        cells = np.concatenate((cells, np.empty_like(cells)))
    cells[n_cells] = cell
    return cells, n_cells + 1


@njit(cache=True, nogil=True)
def _visited(cells, offsets, n_cells):  # type: ignore[no-untyped-def]
    bits = np.zeros((len(offsets) - 1, (n_cells + 63) // 64), np.uint64)
    for path in range(len(offsets) - 1):
        for p in range(offsets[path], offsets[path + 1]):
            set_bit(bits[path], cells[p])
    return bits
