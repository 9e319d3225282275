"""Divide cells where they are dense, and choose a fine cell for each cell of a path, by weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from privtrace.caching import cached_property
from privtrace.compiling import compiled
from privtrace.methods.common.measure import in_trajectories
from privtrace.paths import Paths
from privtrace.random import CHOOSING, below
from privtrace.searching import first_above
from privtrace.space.adaptive import refine
from privtrace.space.grid import Grid
from privtrace.trajectories import Integers

if TYPE_CHECKING:
    from privtrace.methods.adatrace.settings import AdaTrace


def refined(grid: Grid, density: Integers, settings: AdaTrace) -> Grid:
    """Divide dense cells."""
    if not settings.second_layer:
        return grid
    fine = refine(grid, in_trajectories(density), settings.density_of_fine_cells(), settings.max_cells)
    # Of a cell that is hardly there, rounding may leave no fine cell at all: it stays whole.
    lost = grid.slots[np.diff(fine_offsets(grid, fine)) == 0]
    divisions = fine.divisions.copy()
    divisions.reshape(-1)[lost] = 1
    return Grid(grid.region, divisions) if len(lost) else fine


def fine_offsets(grid: Grid, fine: Grid) -> Integers:
    """Find where the fine cells of each cell of a uniform grid begin, and the end: (n_cells + 1,)."""
    first = np.searchsorted(fine.slots, fine.first_slot[grid.slots])
    return np.append(first, fine.n_cells)


@dataclass(frozen=True, eq=False)
class FineCells:
    """Hold which fine cells each cell has, and their weights."""

    offsets: (
        Integers  # (n_cells + 1,): cell c has the fine cells offsets[c] to offsets[c + 1] - 1, one at least
    )
    weights: Integers  # (n_fine,): not negative, and not all zero in a cell

    @cached_property
    def _cumulative(self) -> Integers:
        """Sum weights up within each cell, for drawing."""
        total = np.cumsum(self.weights)
        before = np.concatenate([[0], total])[self.offsets[:-1]]
        cumulative: Integers = total - np.repeat(before, np.diff(self.offsets))
        return cumulative

    def choose(self, paths: Paths, first_trajectory: int, seed: int) -> Paths:
        """Turn paths of cells, numbered from `first_trajectory`, into paths of fine cells.

        A path of a lone cell gets two of its fine cells: a trip within a cell starts and ends there. A path
        depends on the seed, its own number and its cells alone.
        """
        return Paths(
            *_choose(
                paths.cells, paths.offsets, self.offsets, self._cumulative, first_trajectory, np.uint64(seed)
            )
        )


@compiled
def _choose(cells, offsets, fine, cumulative, first_trajectory, seed):  # type: ignore[no-untyped-def]
    chosen = np.empty(len(cells) + len(offsets), np.int32)
    chosen_offsets = np.zeros(len(offsets), np.int64)
    n_chosen = 0
    for path in range(len(offsets) - 1):
        trajectory = np.uint64(first_trajectory + path)
        first, last = offsets[path], offsets[path + 1]
        step = 0
        for place in range(2 if last - first == 1 else last - first):
            cell = cells[min(first + place, last - 1)]
            low, high = fine[cell], fine[cell + 1]
            if high - low > 1:  # else there is nothing to draw
                draw, step = below(cumulative[high - 1], seed, trajectory, step, CHOOSING)
                low += first_above(cumulative[low:high], draw)
            chosen[n_chosen] = low
            n_chosen += 1
        chosen_offsets[path + 1] = n_chosen
    return chosen[:n_chosen].copy(), chosen_offsets
