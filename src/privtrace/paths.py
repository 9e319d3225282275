"""Hold paths: trajectories after discretization, ragged cells instead of ragged points.

Paths of real trajectories are still private data; paths that a model walked are not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
