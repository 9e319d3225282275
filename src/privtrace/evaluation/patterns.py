"""Count patterns: runs of consecutive cells in paths, each occurrence by itself.

A pattern is written as one number, its cells plus one as digits in base n_cells + 1, so that shorter patterns
are smaller numbers and none is mistaken for another.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privtrace.compiling import compiled
from privtrace.paths import Paths
from privtrace.trajectories import Integers

#: Cells of paths that are counted together.
_BLOCK = 1 << 14


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
        if len(sizes):
            table = _numbered_pair_counts(paths.cells, paths.offsets, weights, numbers, sizes, len(codes))
        else:
            table = pair_counts(paths, weights, n_cells)
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
    return _pair_counts(paths.cells, paths.offsets, weights, n_cells)  # type: ignore[no-any-return]


def pattern_counts(paths: Paths, weights: Integers, codes: Integers, longest: int, n_cells: int) -> Integers:
    """Count the patterns of these codes, of 2 to `longest` cells each: (n_codes,)."""
    # A tree of all beginnings, the numbers of those that follow by the cell that is added; -1: none.
    tree = [[-1] * (n_cells + 1)]
    places = np.empty(len(codes), np.int64)
    for row, code in enumerate(codes.tolist()):
        place = 0
        for cell in pattern_cells(code, n_cells):
            if tree[place][cell] < 0:
                tree[place][cell] = len(tree)
                tree.append([-1] * (n_cells + 1))
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


@compiled
def _pair_counts(cells, offsets, weights, n_cells):  # type: ignore[no-untyped-def]
    table = np.zeros((n_cells, n_cells), np.int64)
    for path in range(len(offsets) - 1):
        weight = weights[path]
        if weight != 0:
            for p in range(offsets[path], offsets[path + 1] - 1):
                table[cells[p], cells[p + 1]] += weight
    return table


@compiled
def _numbered_pair_counts(cells, offsets, weights, numbers, sizes, size):  # type: ignore[no-untyped-def]
    """Count which number follows which in paths: (size, size).

    The numbers are those of pairs of numbers of pairs, down to cells, by one table for each length; -1: none.
    They are found anew for each block of paths, in little memory, and few are left after a length or two.
    """
    table = np.zeros((size, size), np.int64)
    run, each = _scratch(offsets)
    places, found = np.empty_like(run), np.empty_like(run)
    path = 0
    while path < len(offsets) - 1:
        path, n_cells = _take(cells, offsets, weights, path, run, each)
        # Here and below, written without a branch, which nobody could foretell, and kept where it counts.
        n, below = 0, sizes[0]
        for p in range(n_cells - 1):
            number = numbers[max(run[p], 0) * below + max(run[p + 1], 0)]
            places[n], found[n] = p, number
            n += (run[p] >= 0) & (run[p + 1] >= 0) & (number >= 0)
        begin = below * below
        for length in range(1, len(sizes)):
            n_longer, below = 0, sizes[length]
            for i in range(n - 1):
                number = numbers[begin + found[i] * below + found[i + 1]]
                is_next = places[i + 1] == places[i] + 1
                places[n_longer], found[n_longer] = places[i], number
                n_longer += is_next & (number >= 0)
            begin += below * below
            n = n_longer
        for i in range(n - 1):
            table[found[i], found[i + 1]] += each[places[i]] * (places[i + 1] == places[i] + 1)
    return table


@compiled
def _counts(cells, offsets, weights, tree, longest):  # type: ignore[no-untyped-def]
    """Follow every run of cells in a tree: (n_places,), how often each place was come to."""
    counts = np.zeros(len(tree), np.int64)
    run, each = _scratch(offsets)
    starts, places = np.empty_like(run), np.empty_like(run)
    path = 0
    while path < len(offsets) - 1:
        path, n = _take(cells, offsets, weights, path, run, each)
        for p in range(n):
            starts[p], places[p] = p, 0
        for length in range(longest):
            n_longer = 0
            for i in range(n):
                # The end of a path, -1, leads to the last column, where nothing follows.
                place = tree[places[i], run[starts[i] + length]]
                starts[n_longer], places[n_longer] = starts[i], place
                n_longer += place >= 0
            n = n_longer
            for i in range(n):
                counts[places[i]] += each[starts[i]]
    return counts


@compiled
def _scratch(offsets):  # type: ignore[no-untyped-def]
    """Make scratch for a block of paths, and for the longest of them."""
    size = _BLOCK
    for path in range(len(offsets) - 1):
        size = max(size, offsets[path + 1] - offsets[path] + 1)
    return np.empty(size, np.int32), np.empty(size, np.int64)


@compiled
def _take(cells, offsets, weights, path, run, each):  # type: ignore[no-untyped-def]
    """Write down the cells of paths that count, from one on, with their weights; -1 ends each.

    As many as there is capacity for: return the path after them, and how much is written. Loops over paths of a
    few cells each would take longer than what they do.
    """
    n = 0
    while path < len(offsets) - 1 and n + offsets[path + 1] - offsets[path] < len(run):
        weight = weights[path]
        if weight != 0:
            for p in range(offsets[path], offsets[path + 1]):
                run[n], each[n] = cells[p], weight
                n += 1
            run[n] = -1
            n += 1
        path += 1
    return path, n
