"""Count patterns: runs of consecutive cells in paths, each occurrence by itself.

A pattern is written as one number, its cells plus one as digits in base n_cells + 1, so that shorter patterns
are smaller numbers and none is mistaken for another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from privtrace.paths import Paths
from privtrace.trajectories import Integers


@dataclass(frozen=True, eq=False)
class Patterns:
    """List patterns with their counts, most frequent first; on ties the smaller code."""

    codes: Integers
    counts: Integers

    def best(self, k: int) -> Patterns:
        """Keep the k most frequent."""
        order = np.lexsort((self.codes, -self.counts))[:k]
        return Patterns(self.codes[order], self.counts[order])


def top_patterns(paths: Paths, weights: Integers, k: int, longest: int, n_cells: int) -> Patterns:
    """Find the k most frequent patterns of 2 to `longest` cells; on ties the shorter, then the smaller cells.

    Paths count as often as their weights say. A pattern occurs no more often than the shorter ones within it.
    Once k patterns are known, a longer one has to occur more often than the k-th, and so have the two within it
    that are one cell shorter. Fewer than k of those exist, and only they are extended: a pass over the paths
    for each length, with a table of n_cells² or at most k² counts.
    """
    best = Patterns(np.empty(0, np.int64), np.empty(0, np.int64))
    codes = np.arange(1, n_cells + 1)  # of the patterns that may be extended, of one cell at first
    places = paths.cells  # which of them begins at each place of the paths; -1: none
    for _ in range(2, longest + 1):
        table = pair_counts(places, paths.offsets, weights, len(codes))
        i, j = np.nonzero(table)
        longer = Patterns(codes[i] * (n_cells + 1) + codes[j] % (n_cells + 1), table[i, j])
        best = Patterns(np.append(best.codes, longer.codes), np.append(best.counts, longer.counts)).best(k)
        frequent = longer.counts > (best.counts[-1] if len(best.counts) == k else 0)
        numbers = np.full(table.shape, -1, np.int32)
        numbers[i[frequent], j[frequent]] = np.arange(np.count_nonzero(frequent))
        codes, places = longer.codes[frequent], _numbered(places, paths.offsets, numbers)
    return best


def pattern_counts(paths: Paths, weights: Integers, codes: Integers, longest: int, n_cells: int) -> Integers:
    """Count the patterns of these codes, of 2 to `longest` cells each: (n_codes,)."""
    order = np.argsort(codes)
    counts = np.empty(len(codes), np.int64)
    counts[order] = _counts(paths.cells, paths.offsets, weights, codes[order], longest, n_cells + 1)
    return counts


def pattern_cells(code: int, n_cells: int) -> tuple[int, ...]:
    """Read the cells of a pattern from its code."""
    cells: list[int] = []
    while code:
        code, digit = divmod(code, n_cells + 1)
        cells.insert(0, digit - 1)
    return tuple(cells)


@njit(cache=True, nogil=True)
def pair_counts(places, offsets, weights, size):  # type: ignore[no-untyped-def]
    """Count which number follows which in paths, each path as often as its weight says: (size, size)."""
    table = np.zeros((size, size), np.int64)
    for path in range(len(offsets) - 1):
        for p in range(offsets[path], offsets[path + 1] - 1):
            if places[p] >= 0 and places[p + 1] >= 0:
                table[places[p], places[p + 1]] += weights[path]
    return table


@njit(cache=True, nogil=True)
def _numbered(places, offsets, numbers):  # type: ignore[no-untyped-def]
    """Give its number to the pair that begins at each place; -1 for those without a number."""
    numbered = np.full(len(places), -1, np.int32)
    for path in range(len(offsets) - 1):
        for p in range(offsets[path], offsets[path + 1] - 1):
            if places[p] >= 0 and places[p + 1] >= 0:
                numbered[p] = numbers[places[p], places[p + 1]]
    return numbered


@njit(cache=True, nogil=True)
def _counts(cells, offsets, weights, codes, longest, base):  # type: ignore[no-untyped-def]
    """Look up every run of cells in rising codes."""
    counts = np.zeros(len(codes), np.int64)
    begins = np.zeros(base * base, np.bool_)  # most runs begin as none of the patterns does
    for code in codes:
        while code >= base * base:
            code //= base
        begins[code] = True
    for path in range(len(offsets) - 1):
        for p in range(offsets[path], offsets[path + 1] - 1):
            code = (np.int64(cells[p]) + 1) * base + cells[p + 1] + 1
            if not begins[code]:
                continue
            last = min(p + longest, offsets[path + 1])
            for end in range(p + 2, last + 1):
                place = np.searchsorted(codes, code)
                if place < len(codes) and codes[place] == code:
                    counts[place] += weights[path]
                if end < last:
                    code = code * base + cells[end] + 1
    return counts
