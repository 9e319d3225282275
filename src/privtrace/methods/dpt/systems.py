"""Hold hierarchical reference systems: nested grids of one region, each cut finer than the next by halves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.caching import cached_property
from privtrace.methods.dpt.settings import DPT, NODES_PER_CELL
from privtrace.paths import Paths
from privtrace.privacy.unit import WEIGHT
from privtrace.runs import Runs
from privtrace.space.grid import Grid
from privtrace.space.pieces import Pieces, stacked
from privtrace.space.region import Region
from privtrace.space.shortest_paths import DIRECTIONS, shortest_paths
from privtrace.trajectories import Floats, Integers

#: What can happen in a cell: a move in one of DIRECTIONS, the stop, or a switch to the n-th system: SWITCH + n.
STOP = len(DIRECTIONS)
SWITCH = STOP + 1


class Stack(NamedTuple):
    """Hold reference systems for kernels, one after the other, from the finest to the coarsest."""

    sizes: Integers  # (n_systems,): cells per side
    first_cell: Integers  # (n_systems + 1,): where a system's cells begin
    first_slot: Integers  # (n_systems + 1,): where its slots begin
    slots: Integers  # (n_cells,): row * size + column of each cell, in its system
    cells: npt.NDArray[np.int32]  # (n_slots,): the cell of each slot, numbered in its system, or -1
    neighbors: npt.NDArray[np.int32]  # (n_cells, 8): the touching cell in each direction, in its system, or -1
    first_distance: Integers  # (n_systems + 1,): where its distances begin
    distances: npt.NDArray[np.int16]  # the tables of `ShortestPaths.distances`, flat; empty over a box


@dataclass(frozen=True, eq=False)
class Systems:
    """Cut a region by several uniform grids, each side of one a power of two times that of the next.

    Their cells are numbered together, system by system.
    """

    region: Region
    sizes: tuple[int, ...]  # cells per side, from the finest system to the coarsest

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        """Build the grid of each system."""
        return tuple(Grid.uniform(self.region, size) for size in self.sizes)

    @cached_property
    def first_cell(self) -> Integers:
        """Number the first cell of each system, and the end: (n_systems + 1,)."""
        return np.concatenate([[0], np.cumsum([grid.n_cells for grid in self.grids])])

    @property
    def n_cells(self) -> int:
        """Count the cells of all systems."""
        return int(self.first_cell[-1])

    @property
    def n_events(self) -> int:
        """Count what can happen in a cell; a switch to its own system cannot, and has a place still."""
        return SWITCH + len(self.sizes)

    @cached_property
    def of_cell(self) -> Integers:
        """Give the system of each cell: (n_cells,)."""
        return np.repeat(np.arange(len(self.sizes)), np.diff(self.first_cell))

    @cached_property
    def stack(self) -> Stack:
        """Prepare the systems for kernels."""
        shortest = [shortest_paths(grid) for grid in self.grids]
        return Stack(
            np.array(self.sizes),
            self.first_cell,
            np.concatenate([[0], np.cumsum([grid.n_slots for grid in self.grids])]),
            np.concatenate([each.slots for each in shortest]),
            np.concatenate([grid.cells for grid in self.grids]),
            np.concatenate([each.neighbors for each in shortest]),
            np.concatenate([[0], np.cumsum([each.distances.size for each in shortest])]),
            np.concatenate([each.distances.ravel() for each in shortest]),
        )

    @cached_property
    def legal(self) -> npt.NDArray[np.bool_]:
        """Tell what can happen in each cell: (n_cells, n_events)."""
        legal = np.ones((self.n_cells, self.n_events), np.bool_)
        legal[:, :STOP] = self.stack.neighbors >= 0
        legal[np.arange(self.n_cells), SWITCH + self.of_cell] = False
        return legal

    def encode(self, runs: Runs) -> Paths:
        """Turn runs into paths of cells of the finest system."""
        return self.grids[0].encode(runs)

    @cached_property
    def boxes(self) -> Floats:
        """Give each cell's west, south, east and north: (n_cells, 4)."""
        return np.concatenate([grid.boxes for grid in self.grids])

    @cached_property
    def pieces(self) -> Pieces:
        """Give what of each cell is in the region."""
        return stacked([grid.pieces for grid in self.grids])

    @cached_property
    def strides(self) -> Integers:
        """Give the displacement of a move in each direction, in each system: (n_systems, 8, 2).

        Columns and rows of the finest system: whole numbers, so that moves to and fro cancel out.
        """
        return np.array([DIRECTIONS * (self.sizes[0] // size) for size in self.sizes])

    @property
    def cell_m(self) -> Floats:
        """Give the width and height in meters of a cell of the finest system: (2,)."""
        return np.array([self.region.width_m, self.region.height_m]) / self.sizes[0]


def kept(systems: Systems, usage: Integers, settings: DPT) -> Systems:
    """Keep the systems whose nodes hold more than noise, by their mean; and in any case the most used."""
    nodes = NODES_PER_CELL * np.diff(systems.first_cell)
    kept = usage / nodes >= settings.keep * settings.node_error * WEIGHT
    kept[np.argmax(usage)] = True
    sizes = tuple(size for size, is_kept in zip(systems.sizes, kept, strict=True) if is_kept)
    return Systems(systems.region, sizes)
