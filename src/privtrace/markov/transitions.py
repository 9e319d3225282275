"""Clean noisy counts into tables to walk on, in integers throughout. Post-processing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from privtrace.caching import cached_property
from privtrace.trajectories import Integers


def within_parts(moves: Integers, parts: Integers) -> Integers:
    """Empty noisy first-order moves between parts of the region that no way joins; starts and ends stay.

    `parts` (m,) numbers the part of each state. Else walks would jump from one to another by noise alone.
    """
    if not parts.any():  # one part, as every box is
        return moves
    kept = moves.copy()
    kept[: len(parts)][parts[:, np.newaxis] != parts] = 0
    return kept


def block_within_parts(block: Integers, state: int, parts: Integers) -> Integers:
    """Empty noisy second-order moves through a state that come from or lead to another part."""
    if not parts.any():
        return block
    here = parts == parts[state]
    return np.where(here[:, np.newaxis] & here, block, 0)


@dataclass(frozen=True, eq=False)
class Transitions:
    """Hold rows of non-negative integer weights, sparse; a row's weights are its successors' chances."""

    offsets: Integers  # (n_rows + 1,): row r is entries offsets[r]:offsets[r + 1]
    successors: npt.NDArray[np.int32]  # (n_entries,), rising in a row
    weights: Integers  # (n_entries,), positive

    @classmethod
    def of(cls, blocks: Iterable[Integers]) -> Transitions:
        """Clean blocks of noisy rows by NormCut and keep what is left of them."""
        counts, successors, weights = [np.zeros(1, np.int64)], [], []
        for block in blocks:
            clean = normcut(block)
            rows, columns = np.nonzero(clean)
            counts.append(np.bincount(rows, minlength=len(clean)))
            successors.append(columns.astype(np.int32))
            weights.append(clean[rows, columns])
        return cls(
            np.cumsum(np.concatenate(counts)),
            np.concatenate(successors) if successors else np.empty(0, np.int32),
            np.concatenate(weights) if weights else np.empty(0, np.int64),
        )

    @property
    def n_rows(self) -> int:
        """Count the rows."""
        return len(self.offsets) - 1

    @cached_property
    def cumulative(self) -> Integers:
        """Sum weights up within each row, for drawing."""
        return _cumulative(self.offsets, self.weights)  # type: ignore[no-any-return]


def normcut(rows: Integers, totals: Integers | None = None) -> Integers:
    """Put negatives to zero and take their total from the smallest positives upwards, row by row.

    (-5, 1, 7) -> (0, 0, 3). A row keeps its sum where that is positive and is zero otherwise. Of equal values,
    the earlier are taken from first. Where `totals` (n_rows,) say what rows should sum to at most, as much is
    taken as makes them.
    """
    # Entries beyond this cannot come from real counts, and a row of them would overflow its sum.
    limit = (1 << 62) // max(rows.shape[1], 1)
    rows = np.clip(rows, -limit, limit)
    return _normcut(rows, rows.sum(axis=1) if totals is None else totals)  # type: ignore[no-any-return]


def shrunk(weights: Integers) -> Integers:
    """Halve weights until their sum cannot overflow, whatever their signs: many large entries may."""
    largest = int(np.abs(weights).max(initial=0))
    return weights >> max((largest * weights.size).bit_length() - 62, 0)


@njit(cache=True, nogil=True)
def _normcut(rows, totals):  # type: ignore[no-untyped-def]
    clean = np.zeros_like(rows)
    for r in range(len(rows)):
        row = rows[r]
        positives = np.sort(row[row > 0])
        debt = max(positives.sum() - totals[r], 0)
        if totals[r] <= 0 or len(positives) == 0:
            continue
        # Walk up the sorted values to the one at which the debt is paid.
        paid = 0
        while paid < len(positives) and debt >= positives[paid]:
            debt -= positives[paid]
            paid += 1
        level = positives[paid]
        cut_at_level = paid - np.searchsorted(positives, level)  # equals of the level that are gone
        for column in range(len(row)):
            if row[column] > level:
                clean[r, column] = row[column]
            elif row[column] == level:
                if cut_at_level > 0:
                    cut_at_level -= 1
                else:
                    clean[r, column] = level - debt
                    debt = 0
    return clean


@njit(cache=True, nogil=True)
def _cumulative(offsets, weights):  # type: ignore[no-untyped-def]
    cumulative = np.empty_like(weights)
    for row in range(len(offsets) - 1):
        total = 0
        for entry in range(offsets[row], offsets[row + 1]):
            total += weights[entry]
            cumulative[entry] = total
    return cumulative
