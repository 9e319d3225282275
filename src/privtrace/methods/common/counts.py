"""Say what trajectories contribute to a count, a density and a table of trips. Private until measured."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privtrace.paths import Paths
from privtrace.privacy.contributions import Contributions, evenly, once
from privtrace.runs import Runs
from privtrace.trajectories import Integers


def presence(runs: Runs) -> Contributions:
    """Emit one for each trajectory with a point in the region, to a table of one entry."""
    present = runs.offsets[:-1] < runs.offsets[1:]
    return once(np.zeros(np.count_nonzero(present), np.int64), present)


def visits(paths: Paths) -> Contributions:
    """Emit the cells of each path, floor(2**20 / visits) each."""
    return evenly(paths.cells, paths.offsets)


def trips(paths: Paths, n_cells: int) -> Contributions:
    """Emit a trip for each path, to the table (n_cells, n_cells) of first by last cells."""
    starts, goals, present = ends(paths)
    return once(starts * n_cells + goals, present)


def ends(paths: Paths) -> tuple[Integers, Integers, npt.NDArray[np.bool_]]:
    """Find the first and last cells of paths that have any, and tell which have."""
    present = paths.offsets[:-1] < paths.offsets[1:]
    starts = paths.cells[paths.offsets[:-1][present]].astype(np.int64)
    return starts, paths.cells[paths.offsets[1:][present] - 1].astype(np.int64), present
