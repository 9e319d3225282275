"""Walk many random paths: start, then move by move until the end, first or second order as the state has it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.caching import cached_property
from privtrace.compiling import compiled
from privtrace.methods.privtrace.transitions import Rows, Transitions
from privtrace.paths import Paths
from privtrace.random import below
from privtrace.searching import first_above
from privtrace.trajectories import Integers


@dataclass(frozen=True, eq=False)
class Walker:
    """Hold all that a walk needs: integer tables, so that no platform's rounding changes a path.

    Rows and successors are numbered as in `counts`: a successor equal to its state is the end.
    """

    starts: Integers  # (m,): the weight of each state as a start; not all zero
    first: Transitions  # rows 0 to m - 1: successors of a state
    second: Transitions  # row r * m + p: successors of the r-th second-order state after p
    second_states: npt.NDArray[np.int32]  # rising
    max_steps: int  # a walk has at most so many states
    fallback: bool  # where a second-order row is empty, first order decides; else the walk ends

    @cached_property
    def _cumulative_starts(self) -> Integers:
        return np.cumsum(self.starts)

    @cached_property
    def _rank(self) -> Integers:
        """Give each state its rank among second-order states, or -1."""
        rank = np.full(len(self.starts), -1, np.int64)
        rank[self.second_states] = np.arange(len(self.second_states))
        return rank

    def walk(self, trajectories: range, seed: int) -> tuple[Paths, int]:
        """Walk one path for each trajectory number; also count the walks that max_steps ended.

        A path depends on the seed and its own number alone.
        """
        cells, offsets, n_capped = _walk(
            trajectories.start,
            len(trajectories),
            np.uint64(seed),
            self._cumulative_starts,
            self.first.rows,
            _Second(self.second.rows, self._rank, self.fallback),
            self.max_steps,
        )
        return Paths(cells, offsets), int(n_capped)


class _Second(NamedTuple):
    """Hold what walks of second order need."""

    rows: Rows
    rank: Integers  # (m,): of each state among those of second order, or -1
    fallback: bool


@compiled
def _walk(first_trajectory, n_trajectories, seed, starts, first, second, max_steps):  # type: ignore[no-untyped-def]
    remembering, rank, fallback = second
    cells = np.empty(16 * n_trajectories + 16, np.int32)
    offsets = np.zeros(n_trajectories + 1, np.int64)
    n_states = len(starts)
    n_cells = 0
    n_capped = 0
    for path in range(n_trajectories):
        trajectory = np.uint64(first_trajectory + path)
        draw, step = below(starts[-1], seed, trajectory, 0)
        now = first_above(starts, draw)
        before = now
        length = 0
        while True:
            if n_cells == len(cells):
                cells = np.concatenate((cells, np.empty_like(cells)))
            cells[n_cells] = now
            n_cells += 1
            length += 1
            rows, row = first, now
            # The second state comes from first order: before it there is only the start.
            if rank[now] >= 0 and length > 1:
                second_row = rank[now] * n_states + before
                if not fallback or remembering.offsets[second_row] < remembering.offsets[second_row + 1]:
                    rows, row = remembering, second_row
            low, high = rows.offsets[row], rows.offsets[row + 1]
            if low == high:
                break  # nothing is known to follow: the walk ends
            draw, step = below(rows.cumulative[high - 1], seed, trajectory, step)
            entry = low + first_above(rows.cumulative[low:high], draw)
            before, now = now, np.int64(rows.successors[entry])
            if now == before:
                break
            if length == max_steps:
                n_capped += 1
                break
        offsets[path + 1] = n_cells
    return cells[:n_cells].copy(), offsets, n_capped
