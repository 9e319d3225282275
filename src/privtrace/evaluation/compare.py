"""Compare two distributions, two lists of counts or two rankings: pure functions of arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled
from privtrace.trajectories import Floats, Integers

#: Whole numbers of any width.
Whole: TypeAlias = npt.NDArray[np.signedinteger[Any]]


def divergence(p: Integers | Floats, q: Integers | Floats) -> float:
    """Compute the Jensen-Shannon divergence of two histograms, each taken as shares of its sum.

    Natural logarithm, not square-rooted: from 0 (equal) to ln 2 = 0.693 (nothing in common). Nothing at all has
    nothing in common with something, and is equal to nothing.
    """
    if not p.any() or not q.any():
        return math.log(2) if p.any() or q.any() else 0.0
    p, q = p / p.sum(), q / q.sum()
    middle = (p + q) / 2
    halves = [np.sum(x[x > 0] * np.log(x[x > 0] / middle[x > 0])) / 2 for x in (p, q)]
    return min(max(float(sum(halves)), 0.0), math.log(2))


def histogram(values: Floats, weights: Integers, n_bins: int, low: float, high: float) -> Integers:
    """Count values in n_bins equal bins from low to high, those beyond an end in its last bin: (n_bins,).

    Where low and high are the same, what is above is in the last bin and all else in the first.
    """
    return _histogram(values, weights, n_bins, low, high)  # type: ignore[no-any-return]


@compiled
def _histogram(values, weights, n_bins, low, high):  # type: ignore[no-untyped-def]
    counts = np.zeros(n_bins, np.int64)
    for t in range(len(values)):
        if high > low:
            # Divided last, so that whole numbers on the edges of bins do not round below them.
            place = (min(max(values[t], low), high) - low) * n_bins / (high - low)
            counts[min(int(place), n_bins - 1)] += weights[t]
        else:
            counts[n_bins - 1 if values[t] > low else 0] += weights[t]
    return counts


def distribution_error(
    real: tuple[Floats, Integers], synthetic: tuple[Floats, Integers], n_bins: int, low: float = 0.0
) -> float:
    """Compare two distributions, each values and their weights, by Jensen-Shannon divergence.

    Equal bins from low to the real maximum; what lies beyond an end is in the last bin there.
    """
    values, weights = real
    high = float(np.max(values, where=weights > 0, initial=low))
    return divergence(*(histogram(*given, n_bins, low, high) for given in (real, synthetic)))


def category_error(real: tuple[Whole, Integers], synthetic: tuple[Whole, Integers], size: int) -> float:
    """Compare two distributions of numbers below `size`, each numbers and their weights, by divergence."""
    return divergence(*(np.bincount(*given, size).astype(np.int64) for given in (real, synthetic)))


@compiled
def ragged_histogram(bins, offsets, weights, n_bins):  # type: ignore[no-untyped-def]
    """Count the bins of all trajectories, each as often as its weight says: (n_bins,)."""
    counts = np.zeros(n_bins, np.int64)
    for t in range(len(offsets) - 1):
        weight = weights[t]
        if weight != 0:
            for p in range(offsets[t], offsets[t + 1]):
                counts[bins[p]] += weight
    return counts


@compiled
def grouped_medians(groups, values, weights, least, n_groups):  # type: ignore[no-untyped-def]
    """Find the median of each group, of two in the middle the smaller: (n_groups,).

    Values ascend, and each counts as often as its weight says. NaN for groups in which fewer than `least`, at
    least 1, count.
    """
    sizes, passed = np.zeros(n_groups, np.int64), np.zeros(n_groups, np.int64)
    for t in range(len(groups)):
        sizes[groups[t]] += weights[t]
    medians = np.full(n_groups, np.nan)
    for t in range(len(groups)):
        group = groups[t]
        before, passed[group] = passed[group], passed[group] + weights[t]
        if sizes[group] >= least and 2 * before < sizes[group] <= 2 * passed[group]:
            medians[group] = values[t]
    return medians


def defined(values: Sequence[float] | Floats) -> Floats:
    """Leave out what is NaN: runs in which a metric is not defined."""
    array = np.asarray(values, np.float64)
    return array[~np.isnan(array)]


def relative_error(real: Integers, synthetic: Floats, least: float) -> float:
    """Average |real - synthetic| / max(real, least); NaN where there is nothing to average.

    The synthetic counts are scaled to the real size before.
    """
    if len(real) == 0:
        return math.nan
    return float(np.mean(np.abs(real - synthetic) / np.maximum(real, least)))


def kendall_tau(real: Integers, synthetic: Integers) -> float:
    """Compute Kendall's tau-b of two rankings: from -1 (reversed) to 1 (the same); NaN if one is all ties."""
    signs, others = (np.sign(np.subtract.outer(x, x)) for x in (real, synthetic))
    untied = math.sqrt(float(np.count_nonzero(signs)) * float(np.count_nonzero(others)))
    return float(np.sum(signs * others)) / untied if untied else math.nan


def ndcg(gains: Integers, ranking: Integers, k: int) -> float:
    """Compute the normalized discounted cumulative gain of the first k: from 0 to 1 (the best order).

    Cells are ordered by `ranking`, and those that tie there share the gain of their places. NaN without gains.
    """
    k = min(k, len(gains))
    discounts = 1 / np.log2(np.arange(2, k + 2))
    order = np.argsort(-ranking, kind="stable")
    _, tied, n_tied = np.unique(-ranking[order], return_inverse=True, return_counts=True)
    shared = (np.bincount(tied, gains[order]) / n_tied)[tied]
    ideal = float(np.sort(gains)[::-1][:k] @ discounts)
    return float(shared[:k] @ discounts) / ideal if ideal else math.nan
