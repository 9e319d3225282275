"""Tell how far lines come and how long they are, in public bins: half octaves of the region's shorter side."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from privtrace.searching import first_above
from privtrace.space.region import Region
from privtrace.trajectories import Floats

#: Bins of diameter, and of length: below a hundredth of the shorter side, then half octaves, and all above.
N_BINS = 21
_LEAST = 0.01

#: Directions in which a line's extent is measured. The widest is its diameter, to 2 % at most.
_COSINES = np.array([math.cos(k * math.pi / 8) for k in range(8)])
_SINES = np.array([math.sin(k * math.pi / 8) for k in range(8)])


def half_octaves(first: float, count: int) -> Floats:
    """List so many numbers from `first` on, each sqrt(2) times the one before."""
    # Doubled, not raised to a power: machines may round that apart.
    octaves = first * np.repeat(2.0 ** np.arange((count + 1) // 2), 2)[:count]
    octaves[1::2] *= math.sqrt(2)
    return octaves


def shape_edges(region: Region) -> Floats:
    """Give the lower edges of the bins, in meters: (N_BINS,)."""
    return np.concatenate([[0.0], half_octaves(_LEAST * region.shorter_side_m, N_BINS - 1)])


@njit(cache=True, nogil=True)
def shape_of(line, n_points, scale_m):  # type: ignore[no-untyped-def]
    """Measure the diameter and the length of the line through line[:n_points], in meters."""
    return diameter_of(line, n_points, scale_m), length_of(line, n_points, scale_m)


@njit(cache=True, nogil=True)
def diameter_of(line, n_points, scale_m):  # type: ignore[no-untyped-def]
    """Measure the diameter alone."""
    diameter = 0.0
    for k in range(4):  # a direction and the one across it
        low, high, left, right = np.inf, -np.inf, np.inf, -np.inf
        for p in range(n_points):
            x, y = line[p, 0] * scale_m[0], line[p, 1] * scale_m[1]
            along, across = x * _COSINES[k] + y * _SINES[k], x * _COSINES[k + 4] + y * _SINES[k + 4]
            low, high = min(low, along), max(high, along)
            left, right = min(left, across), max(right, across)
        diameter = max(diameter, high - low, right - left)
    return diameter


@njit(cache=True, nogil=True)
def length_of(line, n_points, scale_m):  # type: ignore[no-untyped-def]
    """Measure the length alone."""
    length = 0.0
    for p in range(1, n_points):
        x = line[p, 0] * scale_m[0] - line[p - 1, 0] * scale_m[0]
        y = line[p, 1] * scale_m[1] - line[p - 1, 1] * scale_m[1]
        length += math.sqrt(x * x + y * y)
    return length


@njit(cache=True, nogil=True, inline="always")
def shape_bin(meters, edges):  # type: ignore[no-untyped-def]
    """Find the bin of a diameter or length."""
    return first_above(edges, meters) - 1
