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
    numbers, sizes = np.empty(0, np.int32), np.empty(0, np.int64)  # tables of all lengths so far
    for _ in range(2, longest + 1):
        table = _pair_counts(paths.cells, paths.offsets, weights, numbers, sizes, len(codes))
        i, j = np.nonzero(table)
        longer = Patterns(codes[i] * (n_cells + 1) + codes[j] % (n_cells + 1), table[i, j])
        best = Patterns(np.append(best.codes, longer.codes), np.append(best.counts, longer.counts)).best(k)
        frequent = longer.counts > (best.counts[-1] if len(best.counts) == k else 0)
        if not frequent.any():
            break
        numbered = np.full(table.shape, -1, np.int32)
        numbered[i[frequent], j[frequent]] = np.arange(np.count_nonzero(frequent))
        numbers, sizes = np.append(numbers, numbered), np.append(sizes, len(codes))
        codes = longer.codes[frequent]
    return best


def pair_counts(paths: Paths, weights: Integers, n_cells: int) -> Integers:
    """Count which cell follows which in paths, each path as often as its weight says: (n_cells, n_cells)."""
    none = np.empty(0, np.int32), np.empty(0, np.int64)
    return _pair_counts(paths.cells, paths.offsets, weights, *none, n_cells)  # type: ignore[no-any-return]


def pattern_counts(paths: Paths, weights: Integers, codes: Integers, longest: int, n_cells: int) -> Integers:
    """Count the patterns of these codes, of 2 to `longest` cells each: (n_codes,)."""
    # A tree of all beginnings, the numbers of those that follow by the cell that is added; -1: none.
    tree = [[-1] * n_cells]
    places = np.empty(len(codes), np.int64)
    for row, code in enumerate(codes.tolist()):
        place = 0
        for cell in pattern_cells(code, n_cells):
            if tree[place][cell] < 0:
                tree[place][cell] = len(tree)
                tree.append([-1] * n_cells)
            place = tree[place][cell]
        places[row] = place
    counts: Integers = _counts(paths.cells, paths.offsets, weights, np.array(tree, np.int32), longest)[places]
    return counts


def pattern_cells(code: int, n_cells: int) -> tuple[int, ...]:
    """Read the cells of a pattern from its code."""
    cells: list[int] = []
    while code:
        code, digit = divmod(code, n_cells + 1)
        cells.insert(0, digit - 1)
    return tuple(cells)


@njit(cache=True, nogil=True)
def _pair_counts(cells, offsets, weights, numbers, sizes, size):  # type: ignore[no-untyped-def]
    """Count which number follows which in paths: (size, size).

    The numbers are those of pairs of numbers of pairs, down to cells, by one table for each length; -1: none.
    They are found anew for each path, in little memory, and most paths have none of them after a length or two.
    """
    table = np.zeros((size, size), np.int64)
    longest = 0
    for path in range(len(offsets) - 1):
        longest = max(longest, offsets[path + 1] - offsets[path])
    places = np.empty(longest, np.int32)
    for path in range(len(offsets) - 1):
        n = offsets[path + 1] - offsets[path]
        if weights[path] == 0 or n <= len(sizes) + 1:
            continue
        for p in range(n):
            places[p] = cells[offsets[path] + p]
        begin = 0
        for length in range(len(sizes)):
            n -= 1
            n_numbered = 0
            for p in range(n):
                if places[p] >= 0 and places[p + 1] >= 0:
                    places[p] = numbers[begin + places[p] * sizes[length] + places[p + 1]]
                    n_numbered += places[p] >= 0
                else:
                    places[p] = -1
            begin += sizes[length] * sizes[length]
            if n_numbered < 2:
                n = 0
                break
        for p in range(n - 1):
            if places[p] >= 0 and places[p + 1] >= 0:
                table[places[p], places[p + 1]] += weights[path]
    return table


@njit(cache=True, nogil=True)
def _counts(cells, offsets, weights, tree, longest):  # type: ignore[no-untyped-def]
    """Follow every run of cells in a tree: (n_places,), how often each place was come to."""
    counts = np.zeros(len(tree), np.int64)
    for path in range(len(offsets) - 1):
        if weights[path] == 0:
            continue
        for p in range(offsets[path], offsets[path + 1] - 1):
            place = 0
            for end in range(p, min(p + longest, offsets[path + 1])):
                place = tree[place, cells[end]]
                if place < 0:
                    break
                counts[place] += weights[path]
    return counts
