"""Cut the region's box into equal squares, as metrics do, and see which of them trajectories visit."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled
from privtrace.evaluation.circles import set_bit
from privtrace.evaluation.frame import Frame
from privtrace.paths import Paths
from privtrace.runs import Runs
from privtrace.space.grid import Grid
from privtrace.space.region import Region
from privtrace.space.shortest_paths import connect, shortest_paths
from privtrace.trajectories import Floats

Trips: TypeAlias = npt.NDArray[np.int32]
Cells: TypeAlias = npt.NDArray[np.int16]


#: Cells are numbered alike in any box.
_SQUARE = Region.box(0.0, 0.0, 1.0, 1.0, crs="planar")


def paths_on(runs: Runs, frame: Frame, n_per_side: int, *, filled: bool = False) -> Paths:
    """Turn clipped trajectories into paths on n_per_side x n_per_side equal cells of the region's box.

    Cells are numbered from south to north, west to east; consecutive points in one cell are one visit. Where
    `filled`, steps to cells that do not touch are filled as a chess king goes: diagonally first, then straight.
    """
    paths = Paths(*_paths(*_squares(runs.points, frame, n_per_side), runs.offsets, n_per_side))
    if not filled:
        return paths
    connected = connect(paths, shortest_paths(Grid.uniform(_SQUARE, n_per_side)))
    return Paths(connected.cells.astype(np.int16), connected.offsets)


def visited_on(runs: Runs, frame: Frame, n_per_side: int) -> npt.NDArray[np.uint64]:
    """Tell which cells the filled path of each trajectory visits: (n, n_words) of bits."""
    paths = paths_on(runs, frame, n_per_side, filled=True)
    return _visited(paths.cells, paths.offsets, n_per_side**2)  # type: ignore[no-any-return]


def trips_on(runs: Runs, frame: Frame, n_per_side: int) -> Trips:
    """Write the cells of the first and the last point of each as one number: (n,), first * n_cells + last."""
    columns, rows = _squares(runs.points[np.append(runs.offsets[:-1], runs.offsets[1:] - 1)], frame, n_per_side)
    firsts, lasts = np.split(rows.astype(np.int32) * np.int32(n_per_side) + columns, 2)
    trips: Trips = firsts * np.int32(n_per_side**2) + lasts
    return trips


def _squares(points: Floats, frame: Frame, n_per_side: int) -> tuple[Cells, Cells]:
    """Find the column and the row of each point."""
    sides_m = (frame.region.width_m, frame.region.height_m)
    return _columns_and_rows(points, sides_m, n_per_side)  # type: ignore[no-any-return]


@compiled
def _columns_and_rows(points, sides_m, size):  # type: ignore[no-untyped-def]
    columns, rows = np.empty(len(points), np.int16), np.empty(len(points), np.int16)
    for p in range(len(points)):
        # Divided last, so that whole numbers on the edges of cells do not round below them.
        columns[p] = min(np.int32(points[p, 0] * size / sides_m[0]), size - 1)
        rows[p] = min(np.int32(points[p, 1] * size / sides_m[1]), size - 1)
    return columns, rows


@compiled
def _paths(columns, rows, offsets, size):  # type: ignore[no-untyped-def]
    cells = np.empty(len(columns), np.int16)
    path_offsets = np.zeros(len(offsets), np.int64)
    n_cells = 0
    for t in range(len(offsets) - 1):
        last = -1
        for p in range(offsets[t], offsets[t + 1]):
            cell = rows[p] * size + columns[p]
            # Written without a branch, which nobody could foretell, and kept where it is another one.
            cells[n_cells] = cell
            n_cells += cell != last
            last = cell
        path_offsets[t + 1] = n_cells
    return cells[:n_cells].copy(), path_offsets


@compiled
def _visited(cells, offsets, n_cells):  # type: ignore[no-untyped-def]
    bits = np.zeros((len(offsets) - 1, (n_cells + 63) // 64), np.uint64)
    for path in range(len(bits)):
        for p in range(offsets[path], offsets[path + 1]):
            set_bit(bits[path], cells[p])
    return bits
