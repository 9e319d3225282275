"""Find the cell of a point, and the longest run of a trajectory: kernels on a grid's two layers of cells."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled, inlined
from privtrace.space.area import Area, is_in_box, is_in_polygon, unwrapped
from privtrace.trajectories import Integers, is_bad

#: Lines that pass a corner as near as this (in cells, or as part of the line) pass through it: rounding decides
#: no run.
NEAR = 1e-10


class Lattice(NamedTuple):
    """Hold what kernels need to know of a grid.

    A coarse cell with division d has d x d slots, and a slot holds a cell unless the polygon leaves it empty.
    """

    area: Area
    columns_per_unit: float  # coarse columns in one unit of x
    rows_per_unit: float
    has_gaps: bool  # some slots hold no cell
    divisions: npt.NDArray[np.int32]  # (K, K)
    first_slot: Integers  # (K * K + 1,)
    cells: npt.NDArray[np.int32]  # (n_slots,): the cell in each slot or -1; empty without gaps
    has_all: npt.NDArray[np.bool_]  # (K * K,): every slot of the coarse cell holds a cell; empty without gaps


@compiled
def encode(points, offsets, lattice):  # type: ignore[no-untyped-def]
    """Make the paths of `Grid.encode`."""
    bounds, turn, limits = lattice.area.bounds, lattice.area.turn, lattice.area.limits
    columns_per_unit, rows_per_unit = lattice.columns_per_unit, lattice.rows_per_unit
    divisions, first_slot, gaps = lattice.divisions, lattice.first_slot, lattice.cells
    cells = np.empty(len(points), np.int32)
    path_offsets = np.zeros(len(offsets), np.int64)
    n_cells = 0
    for trajectory in range(len(offsets) - 1):
        start, stop = longest_run(points, offsets[trajectory], offsets[trajectory + 1], lattice)
        last = -1
        for p in range(start, stop):
            x, y = points[p, 0], points[p, 1]
            if is_bad(x, y, limits):
                continue
            across = (unwrapped(x, bounds, turn) - bounds[0]) * columns_per_unit
            cell = cell_at(across, (y - bounds[1]) * rows_per_unit, divisions, first_slot, gaps)
            if cell != last:
                cells[n_cells] = cell
                n_cells += 1
                last = cell
        path_offsets[trajectory + 1] = n_cells
    return cells[:n_cells].copy(), path_offsets


@compiled
def longest_runs(points, offsets, lattice):  # type: ignore[no-untyped-def]
    """Find the longest run of each trajectory, as start and stop: (n_trajectories, 2)."""
    runs = np.empty((len(offsets) - 1, 2), np.int64)
    for trajectory in range(len(runs)):
        start, stop = longest_run(points, offsets[trajectory], offsets[trajectory + 1], lattice)
        runs[trajectory, 0], runs[trajectory, 1] = start, stop
    return runs


@compiled
def longest_run(points, first, last, lattice):  # type: ignore[no-untyped-def]
    """Find the longest stretch of points inside, as start and stop.

    Bad points count as absent: a line leads from the last good point to the next.
    """
    area = lattice.area
    bounds, turn, limits, is_box = area.bounds, area.turn, area.limits, area.is_box
    has_gaps = lattice.has_gaps
    best_start, best_stop, best_length = first, first, 0
    start, length = first, 0
    from_across, from_up = 0.0, 0.0
    for p in range(first, last):
        x, y = points[p, 0], points[p, 1]
        if is_bad(x, y, limits):
            continue
        x = unwrapped(x, bounds, turn)
        if not (is_in_box(x, y, bounds) and (is_box or is_in_polygon(x, y, area))):
            length = 0
            continue
        if has_gaps:
            across, up = (x - bounds[0]) * lattice.columns_per_unit, (y - bounds[1]) * lattice.rows_per_unit
            # A point on the very border of the polygon may round into a cell that does not exist.
            if cell_at(across, up, lattice.divisions, lattice.first_slot, lattice.cells) < 0:
                length = 0
                continue
            if length > 0 and _enters_gap(from_across, from_up, across, up, lattice):
                length = 0
            from_across, from_up = across, up
        if length == 0:
            start = p
        length += 1
        if length > best_length:
            best_start, best_stop, best_length = start, p + 1, length
    return best_start, best_stop


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


@compiled
def _enters_gap(from_across, from_up, to_across, to_up, lattice):  # type: ignore[no-untyped-def]
    """Tell whether a line, given in coarse columns and rows, enters a slot without a cell.

    It goes through coarse cells and, in those that lack a cell, through their slots. Passing a corner is not
    entering.
    """
    size = lattice.divisions.shape[0]
    column, row = min(int(from_across), size - 1), min(int(from_up), size - 1)
    to_column, to_row = min(int(to_across), size - 1), min(int(to_up), size - 1)
    across, up = from_across, from_up  # where the line enters the coarse cell
    while True:
        is_last = column == to_column and row == to_row
        until_column = until(column, to_column, from_across, to_across)
        until_row = until(row, to_row, from_up, to_up)
        part = min(until_column, until_row)
        end_across = to_across if is_last else from_across + part * (to_across - from_across)
        end_up = to_up if is_last else from_up + part * (to_up - from_up)
        coarse = row * size + column
        if not lattice.has_all[coarse]:
            division = lattice.divisions[row, column]
            line = (
                (across - column) * division,
                (up - row) * division,
                (end_across - column) * division,
                (end_up - row) * division,
            )
            if _enters_slot_gap(line, division, lattice.cells[lattice.first_slot[coarse] :]):
                return True
        if is_last:
            return False
        if until_column <= until_row + NEAR:
            column += 1 if column < to_column else -1
        if until_row <= until_column + NEAR:
            row += 1 if row < to_row else -1
        across, up = end_across, end_up


@compiled
def _enters_slot_gap(line, division, cells):  # type: ignore[no-untyped-def]
    """Tell whether a line within a coarse cell, given in slots, enters one without a cell."""
    across, up, end_across, end_up = line
    column, row = _slot(across, end_across, division), _slot(up, end_up, division)
    to_column, to_row = _slot(end_across, across, division), _slot(end_up, up, division)
    while cells[row * division + column] >= 0:
        if column == to_column and row == to_row:
            return False
        until_column = until(column, to_column, across, end_across)
        until_row = until(row, to_row, up, end_up)
        if until_column <= until_row + NEAR:
            column += 1 if column < to_column else -1
        if until_row <= until_column + NEAR:
            row += 1 if row < to_row else -1
    return True


@inlined
def _slot(place, toward, division):  # type: ignore[no-untyped-def]
    """Find the slot that a line is in at one of its ends: on an edge, the one toward the other end."""
    edge = np.floor(place + 0.5)
    slot = int(place)
    if abs(place - edge) <= NEAR:
        slot = int(edge) - 1 if toward < place else int(edge)
    return min(max(slot, 0), division - 1)


@inlined
def until(cell, to_cell, start, end):  # type: ignore[no-untyped-def]
    """Tell at which part of a line it leaves a cell along one axis; never, if it ends there.

    Going by the smaller of the two axes, every turn brings the cell nearer to the last one, so rounding can
    neither lead astray nor go on forever.
    """
    if cell == to_cell:
        return np.inf
    edge = cell + 1 if cell < to_cell else cell
    return (edge - start) / (end - start)
