"""Estimate what is true of noisy numbers by empirical Bayes: each moves toward what was expected of it.

What is true of an entry is taken to be a multiple of what was expected, and the multiples to come from one
prior, which is found from all the noisy numbers together: the nonparametric maximum likelihood estimate of
Kiefer and Wolfowitz (1956), here by expectation maximization on a fixed list of multiples. The estimate of an
entry is its posterior mean. Where all is noise, the expectation stays; where noise is small, it is the noisy
number; and where most entries are empty, they are found to be.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import numpy.typing as npt
from numba import njit

from privtrace.trajectories import Floats, Integers

#: Multiples of what was expected that can be true: none at all, and from a hundredth to a hundred times. They
#: are closest together near one, where they are likeliest before any number is seen.
_MULTIPLES: Floats = np.concatenate(
    [[0.0], np.geomspace(0.01, 0.25, 12), np.geomspace(0.25, 4.0, 42)[1:-1], np.geomspace(4.0, 100.0, 12)]
)
_LIKELY: Floats = np.concatenate([[0.4], np.exp(-2.0 * np.log(_MULTIPLES[1:]) ** 2)])
_LIKELY[1:] *= 0.6 / _LIKELY[1:].sum()

#: As many entries is that worth.
_BEFOREHAND = 30.0

#: How far multiples near one are apart.
_STEP = 0.07

#: Rounds of expectation maximization, and entries that it looks at: of more, every second or third will do.
_ROUNDS = 40
_MOST = 4096

#: Entries that share a prior at least: fewer say too little of their distribution.
_LEAST = 50


def posterior_means(
    noisy: Floats,
    expected: Floats,
    error: Floats | float,
    *,
    noise: Literal["laplace", "normal"] = "laplace",
    n_groups: int = 1,
) -> Floats:
    """Estimate what is true of each entry, (n,), from its noisy number and from what was expected of it.

    `expected` is positive. `error` is the standard deviation of the noise; sums of many Laplace variables are
    nearly normal. Entries have a prior each in up to n_groups, by how much is expected of them: what holds
    where much is expected need not hold where little is.
    """
    errors = np.broadcast_to(np.asarray(error, np.float64), noisy.shape)
    is_normal = noise == "normal"
    order = np.argsort(expected / errors, kind="stable")
    estimate = np.empty(len(noisy))
    for group in np.array_split(order, max(1, min(n_groups, len(noisy) // _LEAST))):
        some = group[:: max(1, len(group) // _MOST)]
        prior = _prior(noisy[some], expected[some], errors[some], _BEFOREHAND * _LIKELY, is_normal, _ROUNDS)
        estimate[group] = _means(noisy[group], expected[group], errors[group], prior, is_normal)
    return estimate


@njit(cache=True, nogil=True)
def _prior(noisy, expected, errors, beforehand, is_normal, n_rounds):  # type: ignore[no-untyped-def]
    """Find the prior of the multiples under which the noisy numbers are likeliest, by EM."""
    likelihood = np.empty((len(noisy), len(beforehand)))
    for entry in range(len(noisy)):
        _likelihood(likelihood[entry], noisy[entry], expected[entry], errors[entry], is_normal)
    prior = beforehand / beforehand.sum()
    for _ in range(n_rounds):
        gathered = beforehand.copy()
        for entry in range(len(noisy)):
            posterior = likelihood[entry] * prior
            gathered += posterior * (1.0 / posterior.sum())
        prior = gathered / gathered.sum()
    return prior


@njit(cache=True, nogil=True)
def _means(noisy, expected, errors, prior, is_normal):  # type: ignore[no-untyped-def]
    """Find the posterior mean of each entry."""
    means, likelihood = np.empty(len(noisy)), np.empty(len(prior))
    for entry in range(len(noisy)):
        _likelihood(likelihood, noisy[entry], expected[entry], errors[entry], is_normal)
        likelihood *= prior
        mean = expected[entry] * (likelihood * _MULTIPLES).sum() / likelihood.sum()
        # Where noise is smaller than the step from one multiple to the next, the noisy number knows better.
        step, noise = (_STEP * mean) ** 2 / 12.0, errors[entry] ** 2
        means[entry] = (step * max(noisy[entry], 0.0) + noise * mean) / (step + noise)
    return means


@njit(cache=True, nogil=True, inline="always")
def _likelihood(into, noisy, expected, error, is_normal):  # type: ignore[no-untyped-def]
    """Find how likely a noisy number is under each multiple; the likeliest is 1."""
    best = np.inf
    for k in range(len(into)):
        away = abs(noisy - expected * _MULTIPLES[k]) / error
        into[k] = 0.5 * away * away if is_normal else math.sqrt(2.0) * away
        best = min(best, into[k])
    for k in range(len(into)):
        into[k] = math.exp(best - into[k])


def sums(values: Floats, places: Integers, n_places: int) -> Floats:
    """Add up values by their places: (n_places,)."""
    return np.bincount(places, values, n_places).astype(np.float64)


def smoothed(table: Floats, possible: npt.NDArray[np.bool_]) -> Floats:
    """Average each entry of a square table with its neighbors (1, 2, 1 along both axes) that are possible."""
    weights: Floats = np.zeros(table.shape)
    sums: Floats = np.zeros(table.shape)
    padded, padded_possible = np.pad(np.where(possible, table, 0.0), 1), np.pad(possible, 1)
    size = len(table)
    for row, row_weight in enumerate((1, 2, 1)):
        for column, column_weight in enumerate((1, 2, 1)):
            weight = row_weight * column_weight
            sums += weight * padded[row : row + size, column : column + size]
            weights += weight * padded_possible[row : row + size, column : column + size]
    averages: Floats = sums / np.maximum(weights, 1.0)
    return averages
