"""Hold paths: trajectories after discretization, ragged cells instead of ragged points.

Paths of real trajectories are still private data; paths that a model walked are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled
from privtrace.trajectories import Integers


@dataclass(frozen=True, eq=False)
class Paths:
    """Hold many paths, each a run of cells in which no cell follows itself.

    A path may be empty: its trajectory had no point in the region.
    """

    cells: npt.NDArray[np.int32]  # (n_cells,)
    offsets: Integers  # (n_paths + 1,): path p is cells[offsets[p]:offsets[p + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def n_passing(paths: Paths, n_cells: int) -> Integers:
    """Count the paths that pass each cell, however often: (n_cells,)."""
    alone, cells = np.zeros(len(paths), np.int64), paths.cells.astype(np.int64)
    counts: Integers = count_once(cells, paths.offsets[:-1], paths.offsets[1:], alone, (1, n_cells)).ravel()
    return counts


@compiled
def count_once(cells, starts, stops, groups, size):  # type: ignore[no-untyped-def]
    """Count those that have a cell among cells[starts[t]:stops[t]], by group, in a table of this size.

    The size is (n_groups, n_cells); -1 among the cells is none.
    """
    counts = np.zeros(size, np.int64)
    latest = np.full(size[1], -1, np.int64)  # who was there last
    for one in range(len(groups)):
        for p in range(starts[one], stops[one]):
            cell = cells[p]
            if cell >= 0 and latest[cell] != one:
                latest[cell] = one
                counts[groups[one], cell] += 1
    return counts
