"""Add up what trajectories contribute to tables: exact integers, and of each trajectory at most 2**20.

A kernel says of each trajectory to which entries of a table it adds how much. It sees no totals, and is not
trusted: each trajectory is stopped here at 2**20 in all, exactly, whatever a kernel emits. So one trajectory
more or less changes a table by at most 2**20 in L1, by construction. A kernel need only be pure: what it emits
for a trajectory must not change with the others. Sums are int64, so parts add up in any order.
"""

from __future__ import annotations

import numpy as np

from privtrace.backends.sums import Adding, Sums, summed
from privtrace.compiling import compiled
from privtrace.privacy.contributions import Contributions
from privtrace.privacy.unit import WEIGHT, Unit
from privtrace.trajectories import Integers

#: Only the accumulator has it, so nothing else can make `Counts`.
_SEAL = object()


class Counts:
    """Hold the exact counts of a whole source, private still: the ledger alone opens them, to add noise."""

    __slots__ = ("_sums", "size", "unit")

    def __init__(self, sums: Sums, size: int, unit: Unit, seal: object) -> None:
        if seal is not _SEAL:
            raise TypeError("counts must come from an Accumulator: it bounds what each trajectory adds")
        self._sums, self.size, self.unit = sums, size, unit

    def dense(self, start: int, stop: int) -> Integers:
        """Write out the entries from start to stop, zeros included."""
        table = np.zeros(stop - start, np.int64)
        first, last = np.searchsorted(self._sums.codes, [start, stop])
        table[self._sums.codes[first:last] - start] = self._sums.weights[first:last]
        return table


class Accumulator(Adding):
    """Add up contributions to a table of `size` entries, part by part."""

    def __init__(self, size: int, unit: Unit) -> None:
        super().__init__(size)
        self.unit = unit

    def bounded(self, contributions: Contributions, n_trajectories: int) -> Sums:
        """Sum what the trajectories of a part contribute, each stopped at 2**20. A pure function."""
        codes, weights, offsets = contributions
        if len(offsets) != n_trajectories + 1 or len(codes) != len(weights):
            raise TypeError(
                "a kernel must say for each trajectory what it adds, and add a weight to each entry"
            )
        taken, amounts = _bounded(codes, weights, offsets, self.size, WEIGHT)
        return summed(taken, amounts, self.size)

    def counts(self) -> Counts:
        """Seal what was added up."""
        return Counts(self.total(), self.size, self.unit, _SEAL)


@compiled
def _bounded(codes, weights, offsets, size, most):  # type: ignore[no-untyped-def]
    """Take what lies in the table and is positive, and of each trajectory no more than `most` in all."""
    taken_codes, taken = np.empty(len(codes), np.int64), np.empty(len(codes), np.int64)
    n = 0
    for trajectory in range(len(offsets) - 1):
        left = most
        for entry in range(max(offsets[trajectory], n), min(offsets[trajectory + 1], len(codes))):
            if left > 0 and weights[entry] > 0 and 0 <= codes[entry] < size:
                taken_codes[n], taken[n] = codes[entry], min(np.int64(weights[entry]), left)
                left -= taken[n]
                n += 1
    return taken_codes[:n], taken[:n]
