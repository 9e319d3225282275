"""Clean noisy counts by NormCut, in integers throughout. Post-processing."""

from __future__ import annotations

import numpy as np

from privtrace.compiling import called, compiled
from privtrace.trajectories import Integers


def normcut(rows: Integers, totals: Integers | None = None) -> Integers:
    """Put negatives to zero and take their total from the smallest positives upwards, row by row.

    (-5, 1, 7) -> (0, 0, 3). A row keeps its sum where that is positive and is zero otherwise. Of equal values,
    the earlier are taken from first. Where `totals` (n_rows,) say what rows should sum to at most, as much is
    taken as makes them.
    """
    # Entries beyond this cannot come from real counts, and a row of them would overflow its sum.
    limit = (1 << 62) // max(rows.shape[1], 1)
    rows = np.clip(rows, -limit, limit)
    totals = rows.sum(axis=1) if totals is None else totals
    return called(_normcut, rows, totals, python_us=rows.size + 20 * len(rows))  # type: ignore[no-any-return]


def shrunk(weights: Integers) -> Integers:
    """Halve weights until their sum cannot overflow, whatever their signs: many large entries may."""
    largest = int(np.abs(weights).max(initial=0))
    return weights >> max((largest * weights.size).bit_length() - 62, 0)


@compiled
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
