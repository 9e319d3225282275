"""Place one point in each cell of a path, uniform in the cell."""

from __future__ import annotations

import numpy as np
from numba import njit

from privtrace.paths import Paths
from privtrace.space.grid import Grid
from privtrace.trajectories import Trajectories
from privtrace.walk.random import PLACING, philox


def decode(paths: Paths, grid: Grid, first_trajectory: int, seed: int) -> Trajectories:
    """Turn paths into trajectories; a point depends on the seed, its trajectory's number and its step alone."""
    points = _place(paths.cells, paths.offsets, grid.boxes, first_trajectory, np.uint64(seed))
    assert grid.region.crs is not None
    return Trajectories(points, paths.offsets, crs=grid.region.crs)


@njit(cache=True, nogil=True)
def _place(cells, offsets, boxes, first_trajectory, seed):  # type: ignore[no-untyped-def]
    points = np.empty((len(cells), 2))
    for path in range(len(offsets) - 1):
        trajectory = np.uint64(first_trajectory + path)
        for p in range(offsets[path], offsets[path + 1]):
            words = philox(seed, trajectory, np.uint64(p - offsets[path]), np.uint64(PLACING))
            for axis in range(2):
                low, high = boxes[cells[p], axis], boxes[cells[p], axis + 2]
                share = np.float64(words[axis] >> np.uint64(11)) * 2.0**-53  # in [0, 1)
                points[p, axis] = min(low + share * (high - low), high)
    return points
