"""Add up sparse sums of whole numbers: what passes give of parts, wherever these were counted.

Sums are int64, so parts add up in any order, and however they were divided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from privtrace.compiling import compiled
from privtrace.trajectories import Integers

#: Merge waiting parts when they hold this many entries, so that memory follows the result, not the data.
_MERGE_ENTRIES = 1 << 21


class Sums(NamedTuple):
    """Hold the non-zero entries of a table of sums. Private."""

    codes: Integers  # (n,), rising
    weights: Integers  # (n,)

    @classmethod
    def of(cls, numbers: Sequence[int]) -> Sums:
        """Take a few numbers for a table."""
        return cls(np.arange(len(numbers)), np.array(numbers, np.int64))

    def numbers(self, n: int) -> list[int]:
        """Give them back, n of them."""
        held = dict(zip(self.codes.tolist(), self.weights.tolist(), strict=True))
        return [held.get(number, 0) for number in range(n)]


class Adding:
    """Add up sums of parts of a table of `size` entries, in any order."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._total = Sums(np.empty(0, np.int64), np.empty(0, np.int64))
        self._waiting: list[Sums] = []

    def add(self, part: Sums) -> None:
        """Add the sums of a part."""
        self._waiting.append(part)
        if sum(len(sums.codes) for sums in self._waiting) > _MERGE_ENTRIES + len(self._total.codes):
            self.total()

    def total(self) -> Sums:
        """Give what was added up so far."""
        codes, weights = (np.concatenate(each) for each in zip(self._total, *self._waiting, strict=True))
        self._total, self._waiting = summed(codes, weights, self.size), []
        return self._total


def summed(codes: Integers, weights: Integers, size: int) -> Sums:
    """Sum the weights of equal codes: on a table where it is small enough to go over, else by sorting."""
    if size <= max(4 * len(codes), 1 << 16):
        return Sums(*_summed_on_table(codes, weights, size))
    order = np.argsort(codes, kind="stable")
    codes, weights = codes[order], weights[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    return Sums(codes[starts], np.add.reduceat(weights, starts) if len(starts) else weights)


@compiled
def _summed_on_table(codes, weights, size):  # type: ignore[no-untyped-def]
    table = np.zeros(size, np.int64)
    for entry in range(len(codes)):
        table[codes[entry]] += weights[entry]
    filled = np.flatnonzero(table)
    return filled, table[filled]
