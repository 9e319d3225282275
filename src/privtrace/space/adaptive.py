"""Refine a grid by its noisy density. Post-processing: only noisy numbers come in."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from privtrace.space.grid import MAX_DIVISION, MAX_SLOTS, Grid
from privtrace.trajectories import Floats

#: Halvings of a density: beyond these, neighboring floating-point numbers are all that is left.
_MAX_BISECTIONS = 100


def refine(grid: Grid, density: Floats, density_per_cell: float, most: int) -> Grid:
    """Divide each coarse cell so that a fine cell holds about density_per_cell, or as many as fit in `most`."""
    refined = Grid(grid.region, _divisions(grid, density, density_per_cell))
    return refined if refined.n_cells <= most else refine_to(grid, density, most)


def refine_to(grid: Grid, density: Floats, n_cells: int) -> Grid:
    """Divide coarse cells, all by one density per cell, into as many cells as fit in n_cells.

    The number of cells falls as the density per cell rises, so the smallest density that fits is found by
    bisection. A grid that has n_cells or more already stays as it is. Over a polygon only existing cells count;
    their number may fall and rise again a little, and bisection ends where it passes n_cells.
    """
    fits, overfull = max(float(density.max()), 1.0), 0.0  # the largest density divides nothing
    refined, divided_too_much = Grid(grid.region, np.ones_like(grid.divisions)), b""
    for _ in range(_MAX_BISECTIONS):
        middle = (fits + overfull) / 2
        divisions = _divisions(grid, density, middle)
        if divisions.tobytes() == divided_too_much:
            overfull = middle
        elif np.array_equal(divisions, refined.divisions):
            fits = middle
        elif (finer := Grid(grid.region, divisions)).n_cells <= n_cells:
            fits, refined = middle, finer
        else:
            overfull, divided_too_much = middle, divisions.tobytes()
    return refined


def _divisions(grid: Grid, density: Floats, density_per_cell: float) -> npt.NDArray[np.int32]:
    # Over a polygon a division can be large and the cells few: there, slots are what takes time and memory.
    most = MAX_DIVISION if grid.region.shape is None else math.isqrt(MAX_SLOTS // density.size)
    per_side = np.sqrt(np.maximum(density, 0) / density_per_cell)
    return np.clip(np.round(per_side), 1, most).astype(np.int32)
