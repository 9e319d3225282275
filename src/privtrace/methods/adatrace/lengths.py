"""Choose a distribution for the extra cells of trips: of three families, the one nearest to noisy counts.

Post-processing. Uniform, geometric and Poisson all get the mean of the counts, so none has a say more than the
others. Nearest is by the earth mover's distance: the sum of differences of the two cumulative distributions.
Only + - * / are used, one after the other: every machine comes to the same weights.
"""

from __future__ import annotations

import numpy as np

from privtrace.compiling import compiled
from privtrace.methods.common.normcut import normcut, shrunk
from privtrace.trajectories import Integers

#: The families, in the order in which they win ties.
FAMILIES = ("uniform", "geometric", "Poisson")

#: What the weights of a distribution add up to, but for rounding.
TOTAL = 1 << 40


def likely_lengths(noisy: Integers) -> Integers:
    """Turn noisy counts, a row for each number of steps, into weights of extra cells; no row is all zero.

    A row that noise has emptied takes that of all rows together, and failing that has no extra cells.
    """
    noisy = shrunk(noisy)
    pooled = normcut(noisy.sum(axis=0, keepdims=True))[0]
    if not pooled.any():
        pooled[0] = 1
    rows = normcut(noisy)
    rows[~rows.any(axis=1)] = pooled
    weights: Integers = np.stack([closest_family(row)[1] for row in rows])
    return weights


@compiled
def closest_family(counts):  # type: ignore[no-untyped-def]
    """Find the family nearest to counts of 0, 1, 2, ...: its place in FAMILIES and its weights.

    The counts must not be all zero.
    """
    shares = counts / counts.sum()
    mean = 0.0
    for extra in range(len(shares)):
        mean += extra * shares[extra]
    mean = min(mean, np.float64(len(shares) - 1))
    best, least, nearest = 0, np.inf, shares
    for family, probabilities in enumerate(
        (_uniform(mean, len(shares)), _geometric(mean, len(shares)), _poisson(mean, len(shares)))
    ):
        distance = _distance(shares, probabilities)
        if distance < least:
            best, least, nearest = family, distance, probabilities
    return best, np.rint(nearest * TOTAL).astype(np.int64)


@compiled
def _uniform(mean, size):  # type: ignore[no-untyped-def]
    probabilities = np.zeros(size)
    probabilities[: min(np.int64(np.rint(2.0 * mean)) + 1, size)] = 1.0
    return _normalized(probabilities)


@compiled
def _geometric(mean, size):  # type: ignore[no-untyped-def]
    probabilities = np.ones(size)
    for extra in range(1, size):
        probabilities[extra] = probabilities[extra - 1] * (mean / (1.0 + mean))
    return _normalized(probabilities)


@compiled
def _poisson(mean, size):  # type: ignore[no-untyped-def]
    # From the mode, the largest probability, to both sides: exp(-mean) could vanish.
    mode = np.int64(mean)
    probabilities = np.ones(size)
    for extra in range(mode + 1, size):
        probabilities[extra] = probabilities[extra - 1] * (mean / extra)
    for extra in range(mode - 1, -1, -1):
        probabilities[extra] = probabilities[extra + 1] * ((extra + 1) / mean)
    return _normalized(probabilities)


@compiled
def _normalized(probabilities):  # type: ignore[no-untyped-def]
    total = 0.0
    for probability in probabilities:
        total += probability
    return probabilities / total


@compiled
def _distance(shares, probabilities):  # type: ignore[no-untyped-def]
    """Give the earth mover's distance of two distributions on 0, 1, 2, ..."""
    ahead, distance = 0.0, 0.0
    for extra in range(len(shares)):
        ahead += shares[extra] - probabilities[extra]
        distance += abs(ahead)
    return distance
