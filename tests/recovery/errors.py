"""How far synthetic trips are from those of the town, one number for each thing that a method should keep."""

from __future__ import annotations

import numpy as np
from tests.recovery.town import N_DISTRICTS, REGION, SIZE, Town, district_of

import privtrace as pt
from privtrace.geometry import diameters_m, lengths_m
from privtrace.paths import Paths
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.space.traverse import trace
from privtrace.trajectories import Floats, Integers

#: The town's own cells, row by row.
CELLS = Grid.uniform(REGION, SIZE)


def apart(one: Floats, other: Floats) -> float:
    """Give the total variation of two distributions, from 0 (the same) to 1."""
    return float(np.abs(one / one.sum() - other / other.sum()).sum() / 2)


def starts(paths: Paths) -> Floats:
    """Count the trips that start in each cell."""
    return np.bincount(paths.cells[paths.offsets[:-1]], minlength=SIZE**2).astype(float)


def ends(paths: Paths) -> Floats:
    """Count the trips that end in each cell."""
    return np.bincount(paths.cells[paths.offsets[1:] - 1], minlength=SIZE**2).astype(float)


def visits(paths: Paths) -> Floats:
    """Count how often trips come to each cell."""
    return np.bincount(paths.cells, minlength=SIZE**2).astype(float)


def trips(paths: Paths) -> Floats:
    """Count the trips from district to district."""
    first, last = (
        district_of(paths.cells[at].astype(np.int64)) for at in (paths.offsets[:-1], paths.offsets[1:] - 1)
    )
    return np.bincount(first * N_DISTRICTS + last, minlength=N_DISTRICTS**2).astype(float)


def runs(paths: Paths, n: int) -> Integers:
    """Give each run of n cells within a trip the number that its cells make."""
    last = np.repeat(paths.offsets[1:], np.diff(paths.offsets))
    first = np.flatnonzero(np.arange(len(paths.cells)) + n <= last)
    codes = np.zeros(len(first), np.int64)
    for k in range(n):
        codes = codes * SIZE**2 + paths.cells[first + k]
    return codes


def following(real: Paths, made: Paths, n: int) -> float:
    """Compare which cell follows on runs of n - 1 cells: the mean total variation, as often as real runs come.

    Runs of which there are 50 real ones at least are compared; which follow on rarer ones is chance.
    """
    codes, both = np.unique(np.concatenate([runs(real, n), runs(made, n)]), return_inverse=True)
    context = np.unique(codes // SIZE**2, return_inverse=True)[1]
    n_real = len(runs(real, n))
    counts = [np.bincount(some, minlength=len(codes)) for some in (both[:n_real], both[n_real:])]
    totals = [np.bincount(context, some) for some in counts]
    shares = [some / np.maximum(total, 1)[context] for some, total in zip(counts, totals, strict=True)]
    off = np.bincount(context, np.abs(shares[0] - shares[1])) / 2
    off[totals[1] == 0] = 1.0
    often = totals[0] >= 50
    return float(off[often] @ totals[0][often] / totals[0][often].sum())


def in_half_octaves(meters: Floats) -> Floats:
    """Count lengths in bins, of which each is 1.4 times as wide as the one before."""
    bins = np.clip(np.round(2 * np.log2(np.maximum(meters, 1e-9))) + 8, 0, 20)
    return np.bincount(bins.astype(int), minlength=21).astype(float)


def errors(real: Town, made: pt.Trajectories) -> dict[str, float]:
    """Compare lines through the town's cells with real trips, all in total variation: 0 is best, 1 worst."""
    paths = trace(clip(made, CELLS.region), CELLS)
    shapes = {"lengths": lengths_m, "diameters": diameters_m}
    return {
        **{count.__name__: apart(count(real.paths), count(paths)) for count in (starts, ends, visits, trips)},
        "moves": following(real.paths, paths, 2),
        "turns": following(real.paths, paths, 3),
        **{
            name: apart(*(in_half_octaves(shape(some.points, some.offsets)) for some in (real.trips, made)))
            for name, shape in shapes.items()
        },
    }
