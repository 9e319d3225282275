"""Count what traced paths do exactly, in integers. Private until measured.

Visits: a path divides its weight over the different cells that it comes to, in proportion to public weights
that are larger where few people go: what is rare is told as well as what is common. Steps are those of
`bridges.steps`. A trip leads from the zone of a path's first cell to that of its last. A shape is the bin of
a line's diameter and that of its length.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from privtrace.bridges.shapes import N_BINS, shape_bin, shape_of
from privtrace.bridges.steps import Steps, add_steps, weight_of
from privtrace.paths import Paths
from privtrace.privacy.unit import WEIGHT
from privtrace.space.area import unwrapped
from privtrace.space.grid import Grid
from privtrace.space.lattice import longest_run
from privtrace.trajectories import Floats, Integers, Trajectories, is_bad
from privtrace.trips.counts import trip_counts as cell_trips


def visit_counts(paths: Paths, weights: Integers) -> Integers:
    """Count visits by the weights (n_cells,) of cells, rounded down; a path adds at most 2**20 in all."""
    return _visits(paths.cells, paths.offsets, weights, WEIGHT)  # type: ignore[no-any-return]


def step_counts(paths: Paths, steps: Steps) -> Integers:
    """Count steps, floor(2**20 / cells) each, (n_entries,); so a path adds at most 2**20 in all."""
    return _steps(paths.cells, paths.offsets, steps, WEIGHT)  # type: ignore[no-any-return]


def trip_counts(paths: Paths, zone_of: Integers, n_zones: int) -> Integers:
    """Count trips from zone to zone, (n_zones, n_zones); a path adds 2**20, and an empty one nothing."""
    return cell_trips(Paths(zone_of[paths.cells].astype(np.int32), paths.offsets), n_zones)


def shape_counts(part: Trajectories, grid: Grid, edges: Floats) -> Integers:
    """Count the shapes of longest runs, diameter by length, (N_BINS, N_BINS); a trajectory adds 2**20."""
    scale = grid.region.scale_m
    return _shapes(part.points, part.offsets, grid.lattice, scale, edges, WEIGHT)  # type: ignore[no-any-return]


@njit(cache=True, nogil=True)
def _visits(cells, offsets, weights, weight):  # type: ignore[no-untyped-def]
    counts = np.zeros(len(weights), np.int64)
    latest = np.full(len(weights), -1, np.int64)
    for path in range(len(offsets) - 1):
        first, last = offsets[path], offsets[path + 1]
        total = weight_of(cells, first, last, weights, latest, 2 * path)
        for p in range(first, last):
            if latest[cells[p]] == 2 * path:
                latest[cells[p]] = 2 * path + 1
                counts[cells[p]] += weight * weights[cells[p]] // total
    return counts


@njit(cache=True, nogil=True)
def _steps(cells, offsets, steps, weight):  # type: ignore[no-untyped-def]
    counts = np.zeros(steps.offsets[-1], np.int64)
    for path in range(len(offsets) - 1):
        first, last = offsets[path], offsets[path + 1]
        if first < last:
            add_steps(counts, cells, first, last, weight // (last - first), steps)
    return counts


@njit(cache=True, nogil=True)
def _shapes(points, offsets, lattice, scale_m, edges, weight):  # type: ignore[no-untyped-def]
    sides, turn, limits = lattice.area.sides, lattice.area.turn, lattice.area.limits
    counts = np.zeros((N_BINS, N_BINS), np.int64)
    line = np.empty((256, 2))
    for trajectory in range(len(offsets) - 1):
        start, stop = longest_run(points, offsets[trajectory], offsets[trajectory + 1], lattice)
        if stop - start > len(line):
            line = np.empty((2 * (stop - start), 2))
        n_points = 0
        for p in range(start, stop):
            x, y = points[p, 0], points[p, 1]
            if is_bad(x, y, limits):
                continue
            line[n_points, 0], line[n_points, 1] = unwrapped(x, sides, turn) - sides[0], y - sides[1]
            n_points += 1
        if n_points > 0:
            diameter, length = shape_of(line, n_points, scale_m)
            counts[shape_bin(diameter, edges), shape_bin(length, edges)] += weight
    return counts
