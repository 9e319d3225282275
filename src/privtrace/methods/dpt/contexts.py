"""Grow prefix trees: which runs of cells deserve a count of what happens after them. Post-processing.

A context is a run of cells, each reached from the one before by a move in one system; its depth is their
number. What happens after each context stands in a row of a table, as systems.py numbers events. A context
grows by a move that is frequent enough, judged by noisy counts alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled
from privtrace.methods.common.normcut import normcut
from privtrace.methods.dpt.systems import STOP, Systems
from privtrace.privacy.unit import WEIGHT
from privtrace.trajectories import Integers

if TYPE_CHECKING:
    from privtrace.methods.dpt.settings import DPT


class Tree(NamedTuple):
    """Hold which context follows which, for kernels; fields as in `Contexts`."""

    of_cell: npt.NDArray[np.int32]
    longer: npt.NDArray[np.int32]
    depth: int


@dataclass(frozen=True, eq=False)
class Contexts:
    """Hold the contexts of a tree, numbered depth by depth."""

    last_cell: npt.NDArray[np.int32]  # (n_contexts,)
    of_cell: npt.NDArray[np.int32]  # (n_cells,): the context that is this cell alone, or -1
    longer: npt.NDArray[np.int32]  # (n_contexts, 8): the context that a move makes of this one, or -1
    first: Integers  # (depth + 1,): contexts of depth d are first[d - 1]:first[d]

    @classmethod
    def of_cells(cls, cells: Integers, n_cells: int) -> Contexts:
        """Make the contexts of depth one."""
        of_cell = np.full(n_cells, -1, np.int32)
        of_cell[cells] = np.arange(len(cells))
        longer = np.full((len(cells), STOP), -1, np.int32)
        return cls(cells.astype(np.int32), of_cell, longer, np.array([0, len(cells)]))

    def grown(self, moves: Integers, systems: Systems) -> Contexts:
        """Add the contexts that some moves make of the deepest ones: places in their table (contexts, 8)."""
        context, direction = np.divmod(moves, STOP)
        context += self.first[-2]
        last_cell = self.last_cell[context]
        system_begins = systems.first_cell[systems.of_cell[last_cell]]
        onto = system_begins + systems.stack.neighbors[last_cell, direction]
        longer = np.concatenate([self.longer, np.full((len(moves), STOP), -1, np.int32)])
        longer[context, direction] = len(self) + np.arange(len(moves))
        return Contexts(
            np.concatenate([self.last_cell, onto.astype(np.int32)]),
            self.of_cell,
            longer,
            np.append(self.first, len(self) + len(moves)),
        )

    def __len__(self) -> int:
        return len(self.last_cell)

    @property
    def depth(self) -> int:
        """Count the cells of the longest contexts."""
        return len(self.first) - 1

    @property
    def tree(self) -> Tree:
        """Prepare the contexts for kernels."""
        return Tree(self.of_cell, self.longer, self.depth)

    @property
    def deepest(self) -> slice:
        """Find the deepest contexts."""
        return slice(int(self.first[-2]), int(self.first[-1]))


@dataclass(frozen=True)
class Growth:
    """Say how a tree grows; all of it is public."""

    height: int  # levels of the tree; the deepest contexts have height - 1 cells
    least: int  # the noisy count, in weights, from which on a node is expanded
    most: int  # contexts of one depth at most

    @classmethod
    def of(cls, settings: DPT) -> Growth:
        """Grow as the settings say."""
        least = math.ceil(settings.expand * settings.node_error * WEIGHT)
        return cls(settings.height, least, settings.max_contexts)

    def worth(self, counts: Integers) -> Integers:
        """Choose the places of large counts; if they are too many, of the largest, the earlier of equals."""
        large = np.flatnonzero(counts >= self.least)
        if len(large) > self.most:
            large = np.sort(large[np.argsort(-counts[large], kind="stable")[: self.most]])
        return large


def grow(
    systems: Systems, arrivals: Integers, growth: Growth, table: Callable[[Contexts], Integers]
) -> tuple[Contexts, Integers]:
    """Grow a tree from the noisy arrivals at cells; return its contexts and the table of what follows them.

    `table` gives the noisy counts (contexts, events) of the deepest contexts. What cannot happen is emptied.
    """
    contexts = Contexts.of_cells(growth.worth(arrivals), systems.n_cells)
    tables = [_possible(table(contexts), contexts, systems)]
    while contexts.depth < growth.height - 1:
        contexts = contexts.grown(growth.worth(tables[-1][:, :STOP].ravel()), systems)
        tables.append(_possible(table(contexts), contexts, systems))
    return contexts, np.concatenate(tables)


def _possible(table: Integers, contexts: Contexts, systems: Systems) -> Integers:
    return np.where(systems.legal[contexts.last_cell[contexts.deepest]], table, 0)


def consistent(contexts: Contexts, arrivals: Integers, events: Integers) -> Integers:
    """Make what happens after contexts add up to how often they happen, from the cells down.

    A row is cut to the count of its context by NormCut, or raised to it in proportion. So every count is zero
    or more, and no branch outgrows what it hangs on.
    """
    clean = np.zeros_like(events)
    totals = np.zeros(len(contexts), np.int64)
    chosen = np.flatnonzero(contexts.of_cell >= 0)
    totals[contexts.of_cell[chosen]] = np.maximum(arrivals[chosen], 0)
    for first, last in zip(contexts.first[:-1], contexts.first[1:], strict=True):
        rows = normcut(events[first:last], totals[first:last])
        sums = rows.sum(axis=1)
        rise = totals[first:last] / np.maximum(sums, 1)
        clean[first:last] = np.round(rows * rise[:, np.newaxis]).astype(np.int64)
        context, direction = np.nonzero(contexts.longer[first:last] >= 0)
        totals[contexts.longer[first:last][context, direction]] = clean[first:last][context, direction]
    return clean


@compiled
def follow(held, event, cell, tree):  # type: ignore[no-untyped-def]
    """Bring the contexts that a string is in, one of each depth or -1, up to date: an event led to a cell."""
    longer = tree.longer
    for depth in range(len(held) - 1, 0, -1):
        is_in = event < STOP and held[depth - 1] >= 0
        held[depth] = longer[held[depth - 1], event] if is_in else -1
    held[0] = tree.of_cell[cell]
