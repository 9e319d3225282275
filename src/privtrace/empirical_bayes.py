"""Estimate what is true of noisy numbers by empirical Bayes: each moves toward what was expected of it.

What is true of an entry is taken to be a multiple of what was expected, and the multiples to come from one
prior, which is found from all the noisy numbers together: the nonparametric maximum likelihood estimate of
Kiefer and Wolfowitz (1956), here by expectation maximization on a fixed list of multiples. The estimate of an
entry is its posterior mean. Where all is noise, the expectation stays; where noise is small, it is the noisy
number; and where most entries are empty, they are found to be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from privtrace.compiling import borrowing, compiled
from privtrace.exponential import exp_of_negative
from privtrace.trajectories import Floats, Integers

#: Multiples of what was expected that can be true: none at all, and from a hundredth to a hundred times. They
#: are closest together near one, where most are; beyond a hundred, noise could not be told from what is there.
_MULTIPLES: Floats = np.concatenate(
    [[0.0], np.geomspace(0.01, 0.25, 12), np.geomspace(0.25, 4.0, 42)[1:-1], np.geomspace(4.0, 100.0, 12)]
)

#: How far multiples near one are apart.
_STEP = 0.07

#: Entries that are worked on together: their likelihoods fit a processor's cache.
_BLOCK = 64

#: Put under what an entry's share is divided by, where a block has no entry: too little to change another's.
_NONE = 1e-300


@dataclass(frozen=True, kw_only=True)
class Prior:
    """Hold the numbers by which the prior over multiples of what was expected is found."""

    #: The prior is worth so many entries before any is seen. Without, few entries that are all noise are
    #: believed: at epsilon 0.2, density is 5 % worse.
    prior_entries: float = 30.0
    #: So much of that is for entries that are empty: most of a table is.
    prior_empty: float = 0.4
    #: The rest falls off from one as exp(-this * log(multiple)**2), so that half to double is likely. A flat
    #: prior would let noise move entries far.
    prior_precision: float = 2.0
    #: Rounds of expectation maximization. It learns slowly; with none, the prior is what it was beforehand.
    prior_rounds: int = 40
    #: Entries by which a prior is found, at most: of more, every second or third says the same in less time.
    prior_sample: int = 4096
    #: Entries that share a prior, at least: fewer say too little about it.
    prior_group: int = 50


def posterior_means(
    noisy: Floats,
    expected: Floats,
    error: Floats | float,
    tuning: Prior,
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
    estimate, pseudocounts = np.empty(len(noisy)), _pseudocounts(tuning)
    for group in np.array_split(order, max(1, min(n_groups, len(noisy) // tuning.prior_group))):
        some = group[:: max(1, -(-len(group) // tuning.prior_sample))]
        prior = _prior(noisy[some], expected[some], errors[some], pseudocounts, is_normal, tuning.prior_rounds)
        estimate[group] = _means(noisy[group], expected[group], errors[group], prior, is_normal)
    return estimate


def _pseudocounts(tuning: Prior) -> Floats:
    """Say how many entries of each multiple are taken to be there before any is seen."""
    likely = np.concatenate(
        [[tuning.prior_empty], np.exp(-tuning.prior_precision * np.log(_MULTIPLES[1:]) ** 2)]
    )
    likely[1:] *= (1 - tuning.prior_empty) / likely[1:].sum()
    counts: Floats = tuning.prior_entries * likely
    return counts


@compiled
def _prior(noisy, expected, errors, pseudocounts, is_normal, n_rounds):  # type: ignore[no-untyped-def]
    """Find the prior of the multiples under which the noisy numbers are likeliest, by EM."""
    n_multiples, n_blocks = len(pseudocounts), (len(noisy) + _BLOCK - 1) // _BLOCK
    likelihood = np.empty((n_blocks, n_multiples, _BLOCK))
    prior, gathered, shares = (
        pseudocounts / pseudocounts.sum(),
        np.empty((n_multiples, _BLOCK)),
        np.empty(_BLOCK),
    )
    for block in range(n_blocks):
        n_here = _likelihoods(likelihood[block], shares, block * _BLOCK, noisy, expected, errors, is_normal)
        likelihood[block, :, n_here:] = 0.0
    for _ in range(n_rounds):
        gathered[:] = 0.0
        for block in range(n_blocks):
            shares[:] = _NONE
            for k in range(n_multiples):
                _add_multiple(shares, prior[k], likelihood[block, k])
            for entry in range(_BLOCK):
                shares[entry] = 1.0 / shares[entry]
            for k in range(n_multiples):
                _add_product(gathered[k], shares, likelihood[block, k])
        for k in range(n_multiples):
            prior[k] = pseudocounts[k] + prior[k] * gathered[k].sum()
        prior /= prior.sum()
    return prior


@borrowing
def _add_multiple(total, factor, values):  # type: ignore[no-untyped-def]
    for entry in range(_BLOCK):
        total[entry] += factor * values[entry]


@borrowing
def _add_product(total, one, other):  # type: ignore[no-untyped-def]
    for entry in range(_BLOCK):
        total[entry] += one[entry] * other[entry]


@compiled
def _means(noisy, expected, errors, prior, is_normal):  # type: ignore[no-untyped-def]
    """Find the posterior mean of each entry."""
    means, likelihood = np.empty(len(noisy)), np.empty((len(prior), _BLOCK))
    best, weighted, total = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    for first in range(0, len(noisy), _BLOCK):
        n_here = _likelihoods(likelihood, best, first, noisy, expected, errors, is_normal)
        weighted[:], total[:] = 0.0, 0.0
        for k in range(len(prior)):
            _add_multiple(weighted, prior[k] * _MULTIPLES[k], likelihood[k])
            _add_multiple(total, prior[k], likelihood[k])
        for place in range(n_here):
            entry = first + place
            mean = expected[entry] * weighted[place] / total[place]
            # Where noise is smaller than the step from one multiple to the next, the noisy number knows better:
            # each is weighted by the other's variance, a step's being that of a uniform number.
            step, noise = (_STEP * mean) ** 2 / 12.0, errors[entry] ** 2
            means[entry] = (step * max(noisy[entry], 0.0) + noise * mean) / (step + noise)
    return means


@compiled
def _likelihoods(into, best, first, noisy, expected, errors, is_normal):  # type: ignore[no-untyped-def]
    """Find how likely each noisy number of a block is under each multiple; the likeliest is 1.

    They go into[:, :n], as the last block has n entries; return their number. `best` is scratch memory.
    """
    n_here = min(_BLOCK, len(noisy) - first)
    for k in range(len(into)):
        # Entry by entry at last, so that the compiler works on several at once.
        for place in range(n_here):
            away = abs(noisy[first + place] - expected[first + place] * _MULTIPLES[k]) / errors[first + place]
            into[k, place] = 0.5 * away * away if is_normal else math.sqrt(2.0) * away
            best[place] = into[k, place] if k == 0 else min(best[place], into[k, place])
    for k in range(len(into)):
        for place in range(n_here):
            into[k, place] = exp_of_negative(best[place] - into[k, place])
    return n_here


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
