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
    return _n_passing(paths.cells, paths.offsets, n_cells)  # type: ignore[no-any-return]


@compiled
def _n_passing(cells, offsets, n_cells):  # type: ignore[no-untyped-def]
    counts, latest = np.zeros(n_cells, np.int64), np.full(n_cells, -1, np.int64)  # the path that was there last
    for path in range(len(offsets) - 1):
        for p in range(offsets[path], offsets[path + 1]):
            counts[cells[p]] += latest[cells[p]] != path
            latest[cells[p]] = path
    return counts
