"""Say what paths contribute to tables of moves. Private until measured.

The table of first-order moves of m states has m + 1 rows of m entries: row i < m holds the moves i -> j, and
row m the moves start -> j. No state follows itself, so entry (i, i) would be empty: it holds i -> end. The
block of second-order moves through one state s has m x m entries likewise: entry (p, n) is p -> s -> n, p = s
standing for the start and n = s for the end. Thus every entry of every table is possible, and none is missing.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled
from privtrace.paths import Paths
from privtrace.privacy.contributions import Contributions, evenly
from privtrace.privacy.unit import WEIGHT


def first_order(paths: Paths, n_states: int) -> Contributions:
    """Emit first-order moves, floor(2**20 / (states + 1)) each."""
    return evenly(*_first_order(paths.cells, paths.offsets, n_states))


def second_order(paths: Paths, n_states: int, chosen: npt.NDArray[np.int32]) -> Contributions:
    """Emit second-order moves through chosen states, floor(2**20 / states) each.

    The blocks of the chosen states follow each other in one flat table. Other moves are not read.
    """
    block = np.full(n_states, -1, np.int64)
    block[chosen] = np.arange(len(chosen))
    return Contributions(*_second_order(paths.cells, paths.offsets, n_states, block, WEIGHT))


@compiled
def _first_order(cells, offsets, n_states):  # type: ignore[no-untyped-def]
    n_paths = len(offsets) - 1
    codes = np.empty(len(cells) + n_paths, np.int64)
    emitted = np.zeros(len(offsets), np.int64)
    n_moves = 0
    for path in range(n_paths):
        now = n_states  # the start's row
        for p in range(offsets[path], offsets[path + 1]):
            codes[n_moves] = now * n_states + cells[p]
            n_moves += 1
            now = np.int64(cells[p])
        if now < n_states:
            codes[n_moves] = now * n_states + now  # the end's place
            n_moves += 1
        emitted[path + 1] = n_moves
    return codes[:n_moves], emitted


@compiled
def _second_order(cells, offsets, n_states, block, weight):  # type: ignore[no-untyped-def]
    codes, weights = np.empty(len(cells), np.int64), np.empty(len(cells), np.int32)
    emitted = np.zeros(len(offsets), np.int64)
    n_moves = 0
    for path in range(len(offsets) - 1):
        first, last = offsets[path], offsets[path + 1]
        for p in range(first, last):
            now = np.int64(cells[p])
            if block[now] < 0:
                continue
            before = np.int64(cells[p - 1]) if p > first else now
            after = np.int64(cells[p + 1]) if p + 1 < last else now
            codes[n_moves] = (block[now] * n_states + before) * n_states + after
            weights[n_moves] = weight // (last - first)
            n_moves += 1
        emitted[path + 1] = n_moves
    return codes[:n_moves], weights[:n_moves], emitted
