"""Say what traced paths contribute to the tables of BridgeTrace. Private until measured.

Visits: a path divides its weight over the different cells that it comes to, in proportion to public weights
that are larger where few people go: so what is rare is measured as well as what is common. Steps are those of
`Steps`. A trip leads from the zone of a path's first cell to that of its last. A shape is the bin of
a line's diameter and that of its length.
"""

from __future__ import annotations

import numpy as np

from privtrace.compiling import compiled
from privtrace.methods.bridgetrace.steps import Steps, step_entries, weight_of
from privtrace.methods.common.counts import ends
from privtrace.paths import Paths
from privtrace.privacy.contributions import Contributions, evenly, once
from privtrace.privacy.unit import WEIGHT
from privtrace.runs import Runs
from privtrace.space.shapes import N_BINS, shape_bin, shape_of
from privtrace.trajectories import Floats, Integers


def visits(paths: Paths, weights: Integers) -> Contributions:
    """Emit the different cells of each path by the weights (n_cells,) of cells, rounded down."""
    return Contributions(*_visits(paths.cells, paths.offsets, weights, WEIGHT))


def steps_taken(paths: Paths, steps: Steps) -> Contributions:
    """Emit the steps of each path, floor(2**20 / cells) each, to the table of `steps`."""
    return evenly(_steps(paths.cells, paths.offsets, steps), paths.offsets)


def trips(paths: Paths, zone_of: Integers, n_zones: int) -> Contributions:
    """Emit a trip for each path, to the table (n_zones, n_zones)."""
    first, last, present = ends(paths)
    return once(zone_of[first] * n_zones + zone_of[last], present)


def shapes(runs: Runs, edges: Floats) -> Contributions:
    """Emit the shape of each run, to the table (N_BINS, N_BINS) of diameters by lengths."""
    bins = _shapes(runs.points, runs.offsets, edges)
    present = bins >= 0
    return once(bins[present], present)


def weighted(emitted: Contributions, each: Floats, n_entries: int) -> Floats:
    """Add up contributions, in trajectories, those of each as often as it weighs; no code may be negative."""
    weights = np.repeat(each, np.diff(emitted.offsets))
    return np.bincount(emitted.codes, emitted.weights / WEIGHT * weights, n_entries).astype(np.float64)


@compiled
def _visits(cells, offsets, weights, weight):  # type: ignore[no-untyped-def]
    codes, emitted_weights = np.empty(len(cells), np.int32), np.empty(len(cells), np.int32)
    emitted = np.zeros(len(offsets), np.int64)
    latest = np.full(len(weights), -1, np.int64)
    n = 0
    for path in range(len(offsets) - 1):
        first, last = offsets[path], offsets[path + 1]
        total = weight_of(cells, first, last, weights, latest, 2 * path)
        for p in range(first, last):
            if latest[cells[p]] == 2 * path:
                latest[cells[p]] = 2 * path + 1
                codes[n] = cells[p]
                emitted_weights[n] = weight * weights[cells[p]] // total
                n += 1
        emitted[path + 1] = n
    return codes[:n], emitted_weights[:n], emitted


@compiled
def _steps(cells, offsets, steps):  # type: ignore[no-untyped-def]
    codes = np.empty(len(cells), np.int32)
    for path in range(len(offsets) - 1):
        if offsets[path] < offsets[path + 1]:
            step_entries(codes, cells, offsets[path], offsets[path + 1], steps)
    return codes


@compiled
def _shapes(points, offsets, edges):  # type: ignore[no-untyped-def]
    bins = np.full(len(offsets) - 1, -1, np.int64)
    for run in range(len(bins)):
        line = points[offsets[run] : offsets[run + 1]]
        if len(line):
            diameter, length = shape_of(line, len(line), (1.0, 1.0))
            bins[run] = shape_bin(diameter, edges) * N_BINS + shape_bin(length, edges)
    return bins
