"""Put sizes that differ by factors into bins of half octaves: seconds, meters, speeds, numbers of points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled
from privtrace.evaluation.compare import Whole
from privtrace.space.shapes import half_octaves
from privtrace.trajectories import Floats, Integers

#: Bins end at EDGE * 2^(k / 2), so that neither round seconds nor small whole numbers sit on an edge.
EDGE = 1.14

#: The first bin is for zero; the others reach from EDGE * 2^-31.5 to EDGE * 2^32, and the last on either side
#: holds what is beyond.
N_BINS = 128

#: The lower bound of each bin, which is the upper bound of the one before; and the end of the last.
BOUNDS: Floats = np.concatenate([[0.0], half_octaves(EDGE * 2.0**-32, N_BINS + 1)[1:]])

#: Of the numbers, as they are stored, that bin 0 would begin with if it were not for zero.
_FIRST_EXPONENT = 1023 - 32

#: Pictures begin and end where so much lies below and beyond, and show so many bins at least, because a picture
#: of one would show no scale.
_TAIL, _LEAST_SHOWN = 0.002, 9


def bins_of(sizes: Floats | Whole) -> npt.NDArray[np.uint8]:
    """Find the bins of sizes, none of them negative: (n,)."""
    return _bins_of(np.ascontiguousarray(sizes, np.float64), BOUNDS)  # type: ignore[no-any-return]


@compiled
def _bins_of(sizes, bounds):  # type: ignore[no-untyped-def]
    bins, exponents = np.empty(len(sizes), np.uint8), sizes.view(np.int64) >> 52
    for i in range(len(sizes)):
        # Bins are half octaves: of the three that have sizes of one exponent, two begin above its least.
        least = 2 * (exponents[i] - _FIRST_EXPONENT) - 1
        second, third = min(max(least + 1, 1), N_BINS), min(max(least + 2, 1), N_BINS)
        bin_ = least + (sizes[i] >= bounds[second]) + (sizes[i] >= bounds[third])
        bins[i] = min(max(bin_, 1), N_BINS - 1) * (sizes[i] > 0)
    return bins


def histogram(sizes: Floats | Whole, weights: Integers) -> Integers:
    """Count sizes, each as often as its weight says: (N_BINS,). What is NaN is left out."""
    return _histogram(bins_of(sizes), ~np.isnan(sizes), weights)  # type: ignore[no-any-return]


@compiled
def _histogram(bins, there, weights):  # type: ignore[no-untyped-def]
    counts = np.zeros(N_BINS, np.int64)
    for t in range(len(bins)):
        counts[bins[t]] += weights[t] * there[t]
    return counts


def shown_bins(shares: Floats, *, after: int) -> slice:
    """Choose the bins that a picture shows, next to each other, of those from `after` on.

    They hold nearly all; a bin for zero, which is not to scale, comes before them.
    """
    sums = np.cumsum(shares[after:])
    first, last = (after + int(np.searchsorted(sums, share * sums[-1])) for share in (_TAIL, 1 - _TAIL))
    short = max(_LEAST_SHOWN - (last + 1 - first), 0)
    return slice(max(first - (short + 1) // 2, after), min(last + short // 2 + 1, len(shares)))


@compiled
def spread_histogram(bins, offsets, weights):  # type: ignore[no-untyped-def]
    """Count the bins of all trajectories, the weight of each spread evenly over its bins: (N_BINS,)."""
    shares = np.zeros(N_BINS)
    for t in range(len(offsets) - 1):
        if weights[t] != 0 and offsets[t + 1] > offsets[t]:
            share = weights[t] / (offsets[t + 1] - offsets[t])
            for p in range(offsets[t], offsets[t + 1]):
                shares[bins[p]] += share
    return shares
