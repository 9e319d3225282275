"""Refine a grid by its noisy density. Post-processing: only noisy numbers come in."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privtrace.space.grid import Grid
from privtrace.trajectories import Floats


def refine(grid: Grid, density: Floats, density_per_cell: float) -> Grid:
    """Divide each coarse cell so that a fine cell holds about density_per_cell."""
    return Grid(grid.region, _divisions(density, density_per_cell))


def refine_to(grid: Grid, density: Floats, n_cells: int) -> Grid:
    """Divide coarse cells, all by one density per cell, into as many cells as fit in n_cells.

    The number of cells falls as the density per cell rises, so the smallest density that fits is found by
    bisection. A grid that has n_cells or more already stays as it is.
    """
    fits, overfull = max(float(density.max()), 1.0), 0.0  # the largest density divides nothing
    for _ in range(100):
        middle = (fits + overfull) / 2
        if np.sum(_divisions(density, middle).astype(np.int64) ** 2) <= n_cells:
            fits = middle
        else:
            overfull = middle
    return refine(grid, density, fits)


def _divisions(density: Floats, density_per_cell: float) -> npt.NDArray[np.int32]:
    # 10,000 is out of any grid's reach and keeps the square of a division far from overflow.
    per_side = np.sqrt(np.maximum(density, 0) / density_per_cell)
    return np.clip(np.round(per_side), 1, 10_000).astype(np.int32)
