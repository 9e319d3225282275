"""Dissect a grid: cut it in two, and what comes of it in two, until cells are left.

What a walk does in a set of cells matters to the rest only over the sides that the set shares with the rest.
So two sets are joined by working out the sides between them and nothing else, and from cell to cell, pair by
pair, the whole is put together: nested dissection, by which `hitting.py` solves. The order follows from public
numbers by comparing them, so it is the same on every machine.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from privtrace.space.grid import Grid
from privtrace.trajectories import Floats, Integers

Cells = npt.NDArray[np.int32]

#: Stands between cells in the order of joins: join the last two sets that there are.
JOIN = -1


def dissect(grid: Grid) -> Integers:
    """List in which order cells come in and sets are joined, (2 * n_cells - 1,), as in postfix notation.

    Cells a, b, JOIN, c, JOIN join a and b, and then c to both. Cells of a coarse cell are joined first.
    """
    joins = _between(grid, 0, 0, *grid.divisions.shape)
    return joins if grid.n_cells == grid.n_slots else _without_gaps(joins, grid.cells)


def _between(grid: Grid, west: int, south: int, east: int, north: int) -> Integers:
    """Cut a rectangle of coarse cells where few sides part many cells; list slots and joins."""
    size = len(grid.divisions)
    if east - west == north - south == 1:
        coarse = south * size + west
        within = _within(int(grid.divisions[south, west]))
        return np.where(within == JOIN, JOIN, within + grid.first_slot[coarse])
    divisions = grid.divisions[south:north, west:east].astype(np.int64)
    costs = np.concatenate([_costs(divisions), _costs(divisions.T)])
    place = int(np.argmin(costs)) + 1
    if place < east - west:
        halves = (
            _between(grid, west, south, west + place, north),
            _between(grid, west + place, south, east, north),
        )
    else:
        place -= east - west - 1
        halves = (
            _between(grid, west, south, east, south + place),
            _between(grid, west, south + place, east, north),
        )
    return np.concatenate([*halves, [JOIN]])


def _costs(divisions: Integers) -> Floats:
    """Give the sides that lie between columns, over the slots of the smaller part, for each cut: (n - 1,)."""
    n_sides = np.maximum(divisions[:, 1:], divisions[:, :-1]).sum(axis=0)
    n_before = np.cumsum((divisions**2).sum(axis=0))
    costs: Floats = n_sides / np.minimum(n_before[:-1], n_before[-1] - n_before[:-1])
    return costs


@cache
def _within(division: int) -> Integers:
    """List the slots and joins of a coarse cell, which is halved across its longer side again and again."""

    def listed(west: int, south: int, east: int, north: int) -> list[int]:
        if east - west == north - south == 1:
            return [south * division + west]
        if east - west >= north - south:
            middle = (west + east) // 2
            halves = listed(west, south, middle, north), listed(middle, south, east, north)
        else:
            middle = (south + north) // 2
            halves = listed(west, south, east, middle), listed(west, middle, east, north)
        return [*halves[0], *halves[1], JOIN]

    return np.array(listed(0, 0, division, division))


def _without_gaps(joins: Integers, cells: Cells) -> Integers:
    """Put cells for slots; leave out slots that hold none, and joins with nothing."""
    kept: list[int] = []
    holds: list[bool] = []  # of each set that waits to be joined, whether it has a cell
    for slot, cell in zip(joins.tolist(), cells[joins].tolist(), strict=True):
        if slot == JOIN:
            both = holds.pop(), holds.pop()
            holds.append(any(both))
            if all(both):
                kept.append(JOIN)
        else:
            holds.append(cell >= 0)
            if cell >= 0:
                kept.append(cell)
    return np.array(kept, np.int64)
