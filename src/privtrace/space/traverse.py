"""Trace runs through every cell that their lines cross, so that each step leads over a shared side."""

from __future__ import annotations

import numpy as np

from privtrace.compiling import borrowing, compiled, inlined
from privtrace.paths import Paths
from privtrace.runs import Runs
from privtrace.space.grid import Grid
from privtrace.space.lattice import slot_at
from privtrace.space.shortest_paths import LONGEST

#: Lines that pass a corner as near as this (in cells, or as part of the line) pass through it: rounding decides
#: no path.
NEAR = 1e-10

#: Stands for the number of cells where the memory is too small for them.
_MORE = -1


def trace(runs: Runs, grid: Grid, longest: int = LONGEST) -> Paths:
    """Turn each run into the cells that its line passes, in order.

    A line that meets a corner goes on over a side, first to the east or west, so that the next cell always
    shares a side with the last; over a polygon, the other way round where only there a cell is. A path ends
    after `longest` cells.
    """
    return Paths(*_trace(runs.points, runs.offsets, grid.lattice, longest))


@compiled
def _trace(points, offsets, lattice, longest):  # type: ignore[no-untyped-def]
    cells = np.empty(2 * len(points) + 16, np.int32)
    path_offsets = np.zeros(len(offsets), np.int64)
    run = 0
    while run < len(offsets) - 1:
        n_cells = _path(cells, path_offsets[run], points, offsets[run], offsets[run + 1], lattice, longest)
        if n_cells == _MORE:  # the same again, then
            cells = np.concatenate((cells, np.empty_like(cells)))
            continue
        run += 1
        path_offsets[run] = n_cells
    return cells[: path_offsets[-1]].copy(), path_offsets


@borrowing
def _path(cells, n_before, points, start, stop, lattice, longest):  # type: ignore[no-untyped-def]
    """Write the path of a run behind other cells; return how many there are then, or _MORE."""
    across, up = 0.0, 0.0
    now = (0, 0, 0, 0)
    first, n_cells, most = True, n_before, n_before + longest
    for p in range(start, stop):
        to_across, to_up = points[p, 0] * lattice.columns_per_m, points[p, 1] * lattice.rows_per_m
        goal = slot_at(to_across, to_up, lattice.divisions)
        line = (across, up, to_across, to_up)
        while first or now != goal:
            is_within = not first and now[0] == goal[0] and now[1] == goal[1]
            n_next = abs(goal[2] - now[2]) + abs(goal[3] - now[3]) if is_within else 1
            if n_cells + n_next > len(cells):
                return _MORE
            if is_within:
                now, n_cells = goal, _within(cells, n_cells, n_before, most, now, goal, line, lattice)
                continue
            now = goal if first else _next(now, goal, line, lattice)
            cell = _cell_in(now, lattice)
            if cell >= 0 and (n_cells == n_before or cell != cells[n_cells - 1]):
                if n_cells == most:
                    break
                cells[n_cells] = cell
                n_cells += 1
            first = False
        across, up, now = to_across, to_up, goal
    return n_cells


@borrowing
def _within(cells, n_cells, n_before, most, now, goal, line, lattice):  # type: ignore[no-untyped-def]
    """Go to a slot of the same coarse cell, as `_next` does step by step; return how many cells there are then.

    Most steps are such, and their slots a plain lattice: what `_next` works out at every step changes along the
    axis alone that was gone along.
    """
    division = lattice.divisions[now[1], now[0]]
    slot = lattice.first_slot[now[1] * lattice.divisions.shape[0] + now[0]] + now[3] * division + now[2]
    east, north = 1 if line[2] >= line[0] else -1, 1 if line[3] >= line[1] else -1
    fine_column, fine_row = now[2], now[3]
    side = _until_edge(now[0], fine_column, goal[2], division, line[0], line[2])
    level = _until_edge(now[1], fine_row, goal[3], division, line[1], line[3])
    while fine_column != goal[2] or fine_row != goal[3]:
        over_side = side <= level + NEAR
        if side == np.inf and level == np.inf:  # only rounding parts them
            slot += (goal[3] - fine_row) * division + goal[2] - fine_column
            fine_column, fine_row = goal[2], goal[3]
        elif over_side and (level > side + NEAR or not lattice.has_gaps or lattice.cells[slot + east] >= 0):
            slot += east
            fine_column += east
            side = _until_edge(now[0], fine_column, goal[2], division, line[0], line[2])
        else:
            slot += north * division
            fine_row += north
            level = _until_edge(now[1], fine_row, goal[3], division, line[1], line[3])
        cell = np.int64(lattice.cells[slot]) if lattice.has_gaps else slot
        is_new = n_cells == n_before or cell != cells[n_cells - 1]
        if cell >= 0 and is_new and n_cells < most:
            cells[n_cells] = cell
            n_cells += 1
    return n_cells


@inlined
def _until_edge(coarse, fine, goal_fine, division, start, end):  # type: ignore[no-untyped-def]
    """Give what `_until` does for a goal in the same coarse cell."""
    if fine == goal_fine or end == start or (goal_fine > fine) != (end >= start):
        return np.inf
    edge = coarse * division + fine + (1 if end >= start else 0)
    return max((edge / division - start) / (end - start), 0.0)


@inlined
def _cell_in(slot, lattice):  # type: ignore[no-untyped-def]
    """Give the cell in a slot, or -1."""
    column, row, fine_column, fine_row = slot
    coarse = row * lattice.divisions.shape[0] + column
    number = lattice.first_slot[coarse] + fine_row * lattice.divisions[row, column] + fine_column
    return np.int64(lattice.cells[number]) if lattice.has_gaps else number


@borrowing
def _next(now, goal, line, lattice):  # type: ignore[no-untyped-def]
    """Give the slot that a line goes to next, over a side, on its way to the goal's slot.

    Both axes are compared in whole numbers with where the goal is, and a side is never passed that the goal
    is not behind. So every step brings the slot nearer, and rounding can neither lead astray nor go on forever.
    """
    divisions = lattice.divisions
    across, up, to_across, to_up = line
    division, goal_division = divisions[now[1], now[0]], divisions[goal[1], goal[0]]
    until_side = _until(now[0], now[2], division, goal[0], goal[2], goal_division, across, to_across)
    until_level = _until(now[1], now[3], division, goal[1], goal[3], goal_division, up, to_up)
    if until_side == np.inf and until_level == np.inf:
        return goal  # only rounding parts them
    if until_side <= until_level + NEAR:
        slot = _over(now, goal, up + min(until_side, 1.0) * (to_up - up), line, 0, divisions)
        if until_level > until_side + NEAR or _cell_in(slot, lattice) >= 0:
            return slot
    return _over(now, goal, across + min(until_level, 1.0) * (to_across - across), line, 1, divisions)


@inlined
def _until(coarse, fine, division, goal_coarse, goal_fine, goal_division, start, end):  # type: ignore[no-untyped-def]
    """Tell at which part of a line it leaves a slot along one axis; never, if the goal is not behind its edge.

    That is more than 1 where only some of the goal is behind the edge, and the line ends before.
    """
    forward = end >= start
    edge = coarse * division + fine + (1 if forward else 0)  # in fine slots of the coarse cell
    far = goal_coarse * goal_division + goal_fine + (1 if forward else 0)  # the goal's far edge, in its own
    beyond = far * division - edge * goal_division
    if beyond == 0 or (beyond > 0) != forward or end == start:
        return np.inf
    return max((edge / division - start) / (end - start), 0.0)


@inlined
def _over(now, goal, place, line, axis, divisions):  # type: ignore[no-untyped-def]
    """Give the slot over the next side along an axis, at a place along that side.

    Where coarse cells meet, it is one that shares some of the side, and lies no farther than the goal.
    """
    other, onward = 1 - axis, line[3 - axis] >= line[1 - axis]
    forward = line[2 + axis] >= line[axis]
    division = divisions[now[1], now[0]]
    coarse, fine = now[axis], now[2 + axis] + (1 if forward else -1)
    along = now[2 + other]
    if not 0 <= fine < division:
        coarse += 1 if forward else -1
        onto = divisions[now[1], coarse] if axis == 0 else divisions[coarse, now[0]]
        fine = 0 if forward else onto - 1
        low, high = along * onto // division, ((along + 1) * onto - 1) // division
        goal_division = divisions[goal[1], goal[0]]
        goal_low = goal[other] * goal_division + goal[2 + other]
        last = goal_low * onto // goal_division if not onward else ((goal_low + 1) * onto - 1) // goal_division
        along = int((place - now[other]) * onto)
        along = min(along, last - now[other] * onto) if onward else max(along, last - now[other] * onto)
        along = min(max(along, low), high)
        division = onto
    return (coarse, now[1], fine, along) if axis == 0 else (now[0], coarse, along, fine)
