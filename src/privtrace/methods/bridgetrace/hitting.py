"""Solve for the hitting probabilities of zones: how likely a walk, wherever it is, still ends in a given zone.

The Markov chain of walks is on links: it goes from link e to link f with chance P[e, f], and a step onto e
survives with chance discount[e], which is smaller for longer steps (the chain is discounted, or killed). Its
hitting probability h of zone d then solves

    h[e] = discount[e] * ((end[e] if e leads into d, else 0) + the sum over f of P[e, f] h[f])

and a walk that goes on in proportion to P[e, f] h[f], the Doob h-transform of the chain, ends in d for certain.
Strong discounts make short walks likelier, weak ones let them wander. Since all moves on sum to one and each
is discounted, h is finite; it is found by Gauss-Seidel sweeps over the links to and fro, from one level of
discount to the next weaker one. Only + - * are used, one after the other, so every machine comes to the same
numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from privtrace.backends.base import Backend
from privtrace.methods.bridgetrace.states import StateSpace
from privtrace.methods.bridgetrace.steps import Steps
from privtrace.trajectories import Floats, Integers

# Walks of a finished model depend on these, in the last digits: they are the same for every file.

#: Zones solved together: they share what is read of the links.
_TOGETHER = 16

#: Probabilities are known to this part of themselves, or as well as so many sweeps over the links can do. The
#: shares of the steps of a row, by which walks go, are then off by a few percent at most (tested).
_TOLERANCE = 1e-2
_MOST_SWEEPS = 400

#: Whether all are known so well is looked at in every fourth sweep: it costs as much as a sweep.
_LOOKED_AT = 4


class DiscountedChain(NamedTuple):
    """Hold the Markov chain of steps and what it is discounted by, for kernels."""

    steps: Steps
    chances: Floats  # (n_entries,): in a row, all moves sum to one, and the end's comes on top
    discounts: Floats  # (n_levels, n_links)
    zone_of: Integers  # (n_cells,)


def hitting_probabilities(
    space: StateSpace, chances: Floats, backend: Backend, before: Floats | None = None
) -> Floats:
    """Solve for the hitting probabilities of zones, (n_zones, n_levels, n_links).

    `chances` (n_entries,) are those of the steps table: in a row, all moves sum to one, and the end's comes on
    top. Sweeps that begin with the solution `before`, for chances that were not much different, are fewer.
    """
    chain = DiscountedChain(space.steps, chances, space.discounts, space.zone_of)
    firsts = range(0, space.n_zones, _TOGETHER)
    known = np.empty((0, *space.discounts.shape)) if before is None else before

    def solve(first: int) -> Floats:
        n_together = min(_TOGETHER, space.n_zones - first)
        solved: Floats = _hitting(chain, first, n_together, known, _TOLERANCE, _MOST_SWEEPS)
        return solved

    return np.concatenate(list(backend.map(solve, firsts)))


@njit(cache=True, nogil=True)
def _hitting(chain, first, n_zones, known, tolerance, most_sweeps):  # type: ignore[no-untyped-def]
    """Solve for the zones from `first` on, n_zones of them."""
    steps, chances, kept, zone_of = chain.steps, chain.chances, chain.discounts, chain.zone_of
    links, offsets = steps.links, steps.offsets
    n_levels, n_links = kept.shape
    hitting = np.zeros((n_links, n_zones))
    found = np.empty((n_zones, n_levels, n_links))
    row = np.empty(n_zones)
    for level in range(n_levels):
        if len(known):
            for zone in range(n_zones):
                for link in range(n_links):
                    hitting[link, zone] = known[first + zone, level, link]
        for turn in range(most_sweeps):
            settled = turn % _LOOKED_AT == _LOOKED_AT - 1
            for place in range(n_links):
                link = place if turn % 2 == 0 else n_links - 1 - place
                now = np.int64(links.targets[link])
                last = offsets[link + 1] - 1
                row[:] = 0.0
                if first <= zone_of[now] < first + n_zones:
                    row[zone_of[now] - first] = chances[last]
                onward = links.offsets[now] - offsets[link]
                for entry in range(offsets[link], last):
                    weight = chances[entry]
                    for zone in range(n_zones):
                        row[zone] += weight * hitting[onward + entry, zone]
                keep = kept[level, link]
                for zone in range(n_zones):
                    value = row[zone] * keep
                    if settled and abs(value - hitting[link, zone]) > tolerance * value:
                        settled = False
                    hitting[link, zone] = value
            if settled:
                break
        for zone in range(n_zones):
            for link in range(n_links):
                found[zone, level, link] = hitting[link, zone]
    return found
