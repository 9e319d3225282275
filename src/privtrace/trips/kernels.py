"""Say what paths contribute to tables of trips and of their lengths. Private until measured.

A filled path moves from neighbor to neighbor, so it has at least the cells of the shortest way between its
ends. Those it has beyond that are its extra cells. A trip within a cell has two at least, the cell and the cell
again: a path that never leaves it has no extra cell, and one that leaves it and comes straight back has one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privtrace.paths import Paths
from privtrace.privacy.contributions import Contributions, once
from privtrace.trajectories import Integers


def trips(paths: Paths, n_cells: int) -> Contributions:
    """Emit a trip for each path, to the table (n_cells, n_cells) of first by last cells."""
    starts, ends, present = _ends(paths)
    return once(starts * n_cells + ends, present)


def lengths(paths: Paths, steps: npt.NDArray[np.int16], max_extra: int) -> Contributions:
    """Emit the extra cells of each path, by the steps between its ends: (most steps + 1, max_extra + 1).

    `steps` is that of `space.ways.steps_between`. The last column holds max_extra or more. Paths are filled.
    """
    starts, ends, present = _ends(paths)
    apart = steps[starts, ends].astype(np.int64)
    extra = np.maximum(np.diff(paths.offsets)[present] - np.maximum(apart + 1, 2), 0)
    return once(apart * (max_extra + 1) + np.minimum(extra, max_extra), present)


def _ends(paths: Paths) -> tuple[Integers, Integers, npt.NDArray[np.bool_]]:
    """Find the first and last cells of paths that have any, and tell which have."""
    present = paths.offsets[:-1] < paths.offsets[1:]
    starts = paths.cells[paths.offsets[:-1][present]].astype(np.int64)
    return starts, paths.cells[paths.offsets[1:][present] - 1].astype(np.int64), present
