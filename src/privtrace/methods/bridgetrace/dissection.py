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
_JOINED = np.array([JOIN])


def dissect(grid: Grid) -> Integers:
    """List in which order cells come in and sets are joined, (2 * n_cells - 1,), as in postfix notation.

    Cells a, b, JOIN, c, JOIN join a and b, and then c to both. Cells of a coarse cell are joined first.
    """
    joins = np.concatenate(_between(_Cuts(grid.divisions.astype(np.int64)), grid, 0, 0, *grid.divisions.shape))
    return joins if grid.n_cells == grid.n_slots else _without_gaps(joins, grid.cells)


class _Cuts:
    """Tell what it costs to cut a rectangle of coarse cells, by running sums over all of them."""

    def __init__(self, divisions: Integers) -> None:
        self._slots = np.pad((divisions**2).cumsum(axis=0).cumsum(axis=1), ((1, 0), (1, 0)))
        between_columns = np.maximum(divisions[:, 1:], divisions[:, :-1])
        between_rows = np.maximum(divisions[1:], divisions[:-1])
        self._east_west = np.pad(between_columns.cumsum(axis=0), ((1, 0), (0, 0)))
        self._north_south = np.pad(between_rows.cumsum(axis=1), ((0, 0), (1, 0)))

    def costs(self, west: int, south: int, east: int, north: int) -> Floats:
        """Give the sides between both parts over the slots of the smaller, for cuts of columns and of rows."""
        columns = self._slots[north, west : east + 1] - self._slots[south, west : east + 1]
        rows = self._slots[south : north + 1, east] - self._slots[south : north + 1, west]
        sides = (
            self._east_west[north, west : east - 1] - self._east_west[south, west : east - 1],
            self._north_south[south : north - 1, east] - self._north_south[south : north - 1, west],
        )
        smaller = (np.minimum(some[1:-1] - some[0], some[-1] - some[1:-1]) for some in (columns, rows))
        return np.concatenate([n_sides / n_slots for n_sides, n_slots in zip(sides, smaller, strict=True)])


def _between(cuts: _Cuts, grid: Grid, west: int, south: int, east: int, north: int) -> list[Integers]:
    """Cut a rectangle of coarse cells where few sides part many cells; list slots and joins."""
    if east - west == north - south == 1:
        within = _within(int(grid.divisions[south, west]))
        return [np.where(within == JOIN, JOIN, within + grid.first_slot[south * len(grid.divisions) + west])]
    place = int(np.argmin(cuts.costs(west, south, east, north))) + 1
    if place < east - west:
        low = _between(cuts, grid, west, south, west + place, north)
        high = _between(cuts, grid, west + place, south, east, north)
    else:
        place -= east - west - 1
        low = _between(cuts, grid, west, south, east, south + place)
        high = _between(cuts, grid, west, south + place, east, north)
    return [*low, *high, _JOINED]


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
