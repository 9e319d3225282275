"""Count events exactly, in integers. Private until measured.

A string of n cells has n + 1 events, its start included, and each weighs floor(2**20 / (n + 1)). In each table
an event counts once at most, so a string adds at most 2**20 in all to any of them.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from privtrace.counts import Counts, evenly
from privtrace.privacy.unit import WEIGHT
from privtrace.trajectories import Integers
from privtrace.trees.contexts import Contexts, follow
from privtrace.trees.events import Strings
from privtrace.trees.systems import STOP


def system_counts(strings: Strings, of_cell: Integers, n_systems: int) -> Integers:
    """Count the starts, moves and switches that arrive in each system; `of_cell` is each cell's system."""
    return evenly(of_cell[strings.cells], strings.offsets, n_systems, 1, WEIGHT)  # type: ignore[no-any-return]


def start_counts(strings: Strings, n_cells: int) -> Integers:
    """Count the strings that start in each cell, each weighing one whole trajectory: 2**20."""
    starts = strings.cells[strings.offsets[:-1][np.diff(strings.offsets) > 0]]
    return np.bincount(starts, minlength=n_cells) * WEIGHT


def arrival_counts(strings: Strings, n_cells: int) -> Integers:
    """Count the starts, moves and switches that arrive in each cell: the first level of the trees."""
    return evenly(strings.cells, strings.offsets, n_cells, 1, WEIGHT)  # type: ignore[no-any-return]


def event_counts(strings: Strings, contexts: Contexts, n_events: int) -> Counts:
    """Count what happens after each of the deepest contexts, in the flat table (contexts, events)."""
    return Counts.of(
        *_events(
            strings.cells,
            strings.events,
            strings.offsets,
            contexts.of_cell,
            contexts.longer,
            contexts.depth,
            contexts.deepest.start,
            n_events,
            WEIGHT,
        )
    )


@njit(cache=True, nogil=True)
def _events(cells, events, offsets, of_cell, longer, depth, first, n_events, weight):  # type: ignore[no-untyped-def]
    codes = np.empty(len(cells), np.int64)
    weights = np.empty(len(cells), np.int64)
    held = np.empty(depth, np.int64)
    n = 0
    for string in range(len(offsets) - 1):
        begin, end = offsets[string], offsets[string + 1]
        held[:] = -1
        for p in range(begin, end):
            follow(held, events[p - 1] if p > begin else STOP, cells[p], of_cell, longer)
            if held[depth - 1] >= 0:
                codes[n] = (held[depth - 1] - first) * n_events + events[p]
                weights[n] = weight // (end - begin + 1)
                n += 1
    return codes[:n], weights[:n]
