"""Hold counts: exact sums from private data, in integers. Only crossings see them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numba import njit

from privtrace.trajectories import Integers

#: Merge waiting parts when they hold this many entries, so that memory follows the result, not the data.
_MERGE_ENTRIES = 1 << 21


@dataclass(frozen=True, eq=False)
class Counts:
    """Hold the non-zero entries of a large table of counts. Counts of parts add up to the counts of all."""

    codes: Integers  # (n,), rising: positions in the flat table
    weights: Integers  # (n,): what stands there

    @classmethod
    def of(cls, codes: Integers, weights: Integers) -> Counts:
        """Sum the weights of equal codes."""
        order = np.argsort(codes, kind="stable")
        codes, weights = codes[order], weights[order]
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        return cls(codes[starts], np.add.reduceat(weights, starts) if len(starts) else weights)

    @classmethod
    def total(cls, parts: Iterable[Counts]) -> Counts:
        """Add up the counts of parts."""
        total = cls(np.empty(0, np.int64), np.empty(0, np.int64))
        waiting: list[Counts] = []
        for part in parts:
            waiting.append(part)
            if sum(len(counts.codes) for counts in waiting) > _MERGE_ENTRIES + len(total.codes):
                total, waiting = _merged([total, *waiting]), []
        return _merged([total, *waiting])

    def dense(self, start: int, stop: int) -> Integers:
        """Write out the entries from start to stop of the flat table, zeros included."""
        table = np.zeros(stop - start, np.int64)
        first, last = np.searchsorted(self.codes, [start, stop])
        table[self.codes[first:last] - start] = self.weights[first:last]
        return table


def _merged(parts: list[Counts]) -> Counts:
    return Counts.of(
        np.concatenate([part.codes for part in parts]), np.concatenate([part.weights for part in parts])
    )


@njit(cache=True, nogil=True)
def evenly(places, offsets, n_places, n_more, weight):  # type: ignore[no-untyped-def]
    """Spread a weight evenly over the ragged places of each path, and n_more that are not counted."""
    counts = np.zeros(n_places, np.int64)
    for path in range(len(offsets) - 1):
        n_entries = offsets[path + 1] - offsets[path] + n_more
        for p in range(offsets[path], offsets[path + 1]):
            counts[places[p]] += weight // n_entries
    return counts
