"""Put sizes that differ by factors into bins of half octaves: seconds, meters, speeds, numbers of points."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from numba import njit

from privtrace.trajectories import Floats, Integers

#: Bins end at EDGE * 2^(k / 2), so that neither round seconds nor small whole numbers sit on an edge.
EDGE = 1.14

#: The first bin is for zero; the others reach from EDGE * 2^-31.5 to EDGE * 2^32, and the last on either side
#: holds what is beyond.
N_BINS = 128

_MIDDLE = 64


def bounds(bins: Integers) -> Floats:
    """Give the lower bounds of bins, which are the upper bounds of those before; of the bin for zero, 0."""
    return np.where(bins > 0, EDGE * 2.0 ** ((bins - _MIDDLE) / 2), 0.0)


@njit(cache=True, nogil=True)
def half_octave(size):  # type: ignore[no-untyped-def]
    """Find the bin of a size, not negative."""
    if size == 0.0:
        return np.uint8(0)
    return np.uint8(min(max(math.floor(2 * math.log2(size / EDGE)) + _MIDDLE, 1), N_BINS - 1))


@njit(cache=True, nogil=True)
def half_octaves(sizes):  # type: ignore[no-untyped-def]
    """Find the bins of sizes: (n,)."""
    bins = np.empty(len(sizes), np.uint8)
    for i in range(len(sizes)):
        bins[i] = half_octave(sizes[i])
    return bins


def histogram(sizes: Floats | Integers, weights: Integers) -> Integers:
    """Count sizes, each as often as its weight says: (N_BINS,). What is NaN is left out."""
    there = ~np.isnan(sizes)
    bins: npt.NDArray[np.uint8] = half_octaves(sizes[there])
    return np.bincount(bins, weights[there], N_BINS).astype(np.int64)


@njit(cache=True, nogil=True)
def spread_histogram(bins, offsets, weights):  # type: ignore[no-untyped-def]
    """Count the bins of all trajectories, the weight of each spread evenly over its bins: (N_BINS,)."""
    shares = np.zeros(N_BINS)
    for t in range(len(offsets) - 1):
        for p in range(offsets[t], offsets[t + 1]):
            shares[bins[p]] += weights[t] / (offsets[t + 1] - offsets[t])
    return shares
