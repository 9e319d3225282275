"""Find the cell of a point: kernels on a grid's two layers of cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled, inlined
from privtrace.trajectories import Integers


class Lattice(NamedTuple):
    """Hold what kernels need to know of a grid.

    A coarse cell with division d has d x d slots, and a slot holds a cell unless the polygon leaves it empty.
    """

    columns_per_m: float  # coarse columns in a meter, and so for rows
    rows_per_m: float
    has_gaps: bool  # some slots hold no cell
    divisions: npt.NDArray[np.int32]  # (K, K)
    first_slot: Integers  # (K * K + 1,)
    cells: npt.NDArray[np.int32]  # (n_slots,): the cell in each slot or -1; empty without gaps


@compiled
def encode(points, offsets, lattice):  # type: ignore[no-untyped-def]
    """Make the paths of `Grid.encode`."""
    columns_per_m, rows_per_m = lattice.columns_per_m, lattice.rows_per_m
    divisions, first_slot, gaps = lattice.divisions, lattice.first_slot, lattice.cells
    cells = np.empty(len(points), np.int32)
    path_offsets = np.zeros(len(offsets), np.int64)
    n_cells = 0
    for run in range(len(offsets) - 1):
        last = -1
        for p in range(offsets[run], offsets[run + 1]):
            across, up = points[p, 0] * columns_per_m, points[p, 1] * rows_per_m
            cell = cell_at(across, up, divisions, first_slot, gaps)
            # A point on the very border of the polygon may be in a cell that does not exist.
            if cell != last and cell >= 0:
                cells[n_cells] = cell
                n_cells += 1
                last = cell
        path_offsets[run + 1] = n_cells
    return cells[:n_cells].copy(), path_offsets


@inlined
def cell_of(points, p, lattice):  # type: ignore[no-untyped-def]
    """Find the cell of points[p], given in meters from the box's southwest corner, or -1."""
    across, up = points[p, 0] * lattice.columns_per_m, points[p, 1] * lattice.rows_per_m
    return cell_at(across, up, lattice.divisions, lattice.first_slot, lattice.cells)


@compiled
def cells_of(points, lattice):  # type: ignore[no-untyped-def]
    """Find the cell of each point, given in meters from the box's southwest corner, or -1."""
    cells = np.empty(len(points), np.int64)
    for p in range(len(points)):
        cells[p] = cell_of(points, p, lattice)
    return cells


@inlined
def slot_at(across, up, divisions):  # type: ignore[no-untyped-def]
    """Find the slot of a point given in coarse columns and rows: coarse column and row, fine column and row."""
    size = divisions.shape[0]
    column, row = min(int(across), size - 1), min(int(up), size - 1)
    division = divisions[row, column]
    fine_column = min(int((across - column) * division), division - 1)
    fine_row = min(int((up - row) * division), division - 1)
    return column, row, fine_column, fine_row


@inlined
def cell_at(across, up, divisions, first_slot, cells):  # type: ignore[no-untyped-def]
    """Find the cell of a point given in coarse columns and rows, or -1."""
    column, row, fine_column, fine_row = slot_at(across, up, divisions)
    slot = first_slot[row * divisions.shape[0] + column] + fine_row * divisions[row, column] + fine_column
    return slot if len(cells) == 0 else np.int64(cells[slot])
