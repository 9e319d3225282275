"""Count trips and their lengths exactly, in integers. Private until measured.

A filled path moves from neighbor to neighbor, so it has at least the cells of the shortest way between its
ends. Those it has beyond that are its extra cells. A trip within a cell has two at least, the cell and the cell
again: a path that never leaves it has no extra cell, and one that leaves it and comes straight back has one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from privtrace.paths import Paths
from privtrace.privacy.unit import WEIGHT
from privtrace.trajectories import Integers


def trip_counts(paths: Paths, n_cells: int) -> Integers:
    """Count trips, first cell by last cell, (n_cells, n_cells); a path adds 2**20, and an empty one nothing."""
    return _trips(paths.cells, paths.offsets, n_cells, WEIGHT)  # type: ignore[no-any-return]


def length_counts(paths: Paths, steps: npt.NDArray[np.int16], max_extra: int) -> Integers:
    """Count extra cells, by the steps between the ends: (most steps + 1, max_extra + 1).

    `steps` is that of `space.ways.steps_between`. The last column holds max_extra or more. A filled path adds
    2**20, and an empty one nothing.
    """
    shape = (int(steps.max()) + 1, max_extra + 1)
    return _lengths(paths.cells, paths.offsets, steps, shape, WEIGHT)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _trips(cells, offsets, n_cells, weight):  # type: ignore[no-untyped-def]
    counts = np.zeros((n_cells, n_cells), np.int64)
    for path in range(len(offsets) - 1):
        if offsets[path] < offsets[path + 1]:
            counts[cells[offsets[path]], cells[offsets[path + 1] - 1]] += weight
    return counts


@njit(cache=True, nogil=True)
def _lengths(cells, offsets, steps, shape, weight):  # type: ignore[no-untyped-def]
    counts = np.zeros(shape, np.int64)
    for path in range(len(offsets) - 1):
        first, last = offsets[path], offsets[path + 1]
        if first == last:
            continue
        apart = np.int64(steps[cells[first], cells[last - 1]])
        extra = max(last - first - max(apart + 1, 2), 0)
        counts[apart, min(extra, shape[1] - 1)] += weight
    return counts
