"""Say what strings contribute to tables of events. Private until measured.

A string of n cells has n + 1 events, its start included, and each weighs floor(2**20 / (n + 1)). In each table
an event counts once at most.
"""

from __future__ import annotations

import numpy as np

from privtrace.compiling import compiled
from privtrace.methods.dpt.contexts import Contexts, follow
from privtrace.methods.dpt.events import Strings
from privtrace.methods.dpt.systems import STOP
from privtrace.privacy.contributions import Contributions, evenly, once
from privtrace.privacy.unit import WEIGHT
from privtrace.trajectories import Integers


def systems_used(strings: Strings, of_cell: Integers) -> Contributions:
    """Emit the starts, moves and switches that arrive in each system; `of_cell` is each cell's system."""
    return evenly(of_cell[strings.cells], strings.offsets, n_more=1)


def starts(strings: Strings) -> Contributions:
    """Emit the cell that each string starts in, with the weight of a whole trajectory."""
    present = strings.offsets[:-1] < strings.offsets[1:]
    return once(strings.cells[strings.offsets[:-1][present]], present)


def arrivals(strings: Strings) -> Contributions:
    """Emit the starts, moves and switches that arrive in each cell: the first level of the trees."""
    return evenly(strings.cells, strings.offsets, n_more=1)


def events(strings: Strings, contexts: Contexts, n_events: int) -> Contributions:
    """Emit what happens after each of the deepest contexts, to the table (contexts, events)."""
    tree, first = contexts.tree, contexts.deepest.start
    return Contributions(
        *_events(strings.cells, strings.events, strings.offsets, tree, first, n_events, WEIGHT)
    )


@compiled
def _events(cells, events, offsets, tree, first, n_events, weight):  # type: ignore[no-untyped-def]
    codes, weights = np.empty(len(cells), np.int64), np.empty(len(cells), np.int32)
    emitted = np.zeros(len(offsets), np.int64)
    held = np.empty(tree.depth, np.int64)
    n = 0
    for string in range(len(offsets) - 1):
        begin, end = offsets[string], offsets[string + 1]
        held[:] = -1
        for p in range(begin, end):
            follow(held, events[p - 1] if p > begin else STOP, cells[p], tree)
            if held[-1] >= 0:
                codes[n] = (held[-1] - first) * n_events + events[p]
                weights[n] = weight // (end - begin + 1)
                n += 1
        emitted[string + 1] = n
    return codes[:n], weights[:n], emitted
