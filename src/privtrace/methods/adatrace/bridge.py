"""Walk between given ends: draw a trip and its number of cells, then a path that keeps to both exactly.

A walk that is known to be at its goal in r + 1 moves goes from cell i to neighbor j with a chance in proportion
to P[i, j] (P^r)[j, goal]: a Markov bridge. The powers follow from each other, goal by goal: the chance to be
there in r moves is the sum, over the neighbors, of P times the chance to be there in r - 1.

Chances of long walks can be smaller than any floating-point number. Each is kept as a number and how often it
was lifted, by 2**512, to stay in range. Powers of two round nothing, and sums are made one after the other, so
every machine walks the same paths.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from numba import njit

from privtrace.caching import cached_property
from privtrace.paths import Paths
from privtrace.random import WALKING, below, philox, uniform
from privtrace.space.ways import Ways, onward, steps_between
from privtrace.trajectories import Floats, Integers

#: Chances are lifted by the one when below the other. No transition is below 2**-62, so one lift is enough.
_LIFT, _LOW = 2.0**512, 2.0**-256


@dataclass(frozen=True, eq=False)
class Bridge:
    """Hold all that walks between given ends need, in weights that are not negative."""

    trips: Integers  # (m, m): from cell to cell; not all zero, and zero where no way leads
    lengths: (
        Integers  # (most steps + 1, n): of 0, 1, 2, ... extra cells, by the steps of a trip; no row all zero
    )
    transitions: Integers  # (m, 8): from cell to neighbor, zero where there is none
    ways: Ways

    @cached_property
    def _steps(self) -> npt.NDArray[np.int16]:
        return steps_between(self.ways)

    @cached_property
    def _cumulative(self) -> tuple[Integers, Integers]:
        return np.cumsum(self.trips), np.cumsum(self.lengths, axis=1)

    @cached_property
    def _chances(self) -> Floats:
        """Turn transitions into chances, (m, 8); rows may be all zero."""
        totals = self.transitions.sum(axis=1, keepdims=True)
        chances: Floats = self.transitions / np.maximum(totals, 1)
        return chances

    def walk(self, trajectories: range, seed: int) -> Paths:
        """Walk one path for each trajectory number; it depends on the seed and its own number alone.

        Where no walk of the drawn number of cells leads to the goal, the path is the shortest way. A trip
        within a cell, without extra cells, is that cell alone.
        """
        seed_word = np.uint64(seed)
        ends = _draw_ends(trajectories.start, len(trajectories), seed_word, *self._cumulative, self._steps)
        by_goal = np.argsort(ends[:, 1], kind="stable")
        return Paths(
            *_walk(trajectories.start, seed_word, ends, by_goal, self._chances, self._steps, self.ways)
        )


@njit(cache=True, nogil=True)
def _draw_ends(first_trajectory, n_trajectories, seed, trips, lengths, steps):  # type: ignore[no-untyped-def]
    """Draw origin, goal and number of cells of each path; the fourth number is the next free step."""
    ends = np.empty((n_trajectories, 4), np.int64)
    for path in range(n_trajectories):
        trajectory = np.uint64(first_trajectory + path)
        draw, step = below(trips[-1], seed, trajectory, 0)
        trip = np.searchsorted(trips, draw, side="right")
        origin, goal = trip // len(steps), trip % len(steps)
        apart = np.int64(steps[origin, goal])
        draw, step = below(lengths[apart, -1], seed, trajectory, step)
        extra = np.searchsorted(lengths[apart], draw, side="right")
        ends[path, 0], ends[path, 1], ends[path, 3] = origin, goal, step
        ends[path, 2] = 1 if apart == extra == 0 else max(apart + 1, 2) + extra
    return ends


@njit(cache=True, nogil=True)
def _walk(first_trajectory, seed, ends, by_goal, transitions, steps, ways):  # type: ignore[no-untyped-def]
    """Walk goal by goal, each path at its place; then close the gaps that shortest ways leave."""
    room = np.zeros(len(ends) + 1, np.int64)
    room[1:] = np.cumsum(ends[:, 2])
    cells = np.empty(room[-1], np.int32)
    sizes = ends[:, 2].copy()
    first = 0
    while first < len(by_goal):
        goal = ends[by_goal[first], 1]
        last, longest = first, 1
        while last < len(by_goal) and ends[by_goal[last], 1] == goal:
            longest = max(longest, ends[by_goal[last], 2])
            last += 1
        values, lifts = _chances_to_arrive(goal, longest - 1, transitions, ways.neighbors)
        for path in by_goal[first:last]:
            origin, n_cells = ends[path, 0], ends[path, 2]
            if values[n_cells - 1, origin] == 0.0:
                sizes[path] = n_cells = np.int64(steps[origin, goal]) + 1
                _go_straight(cells[room[path] : room[path] + n_cells], origin, goal, ways)
            else:
                trajectory, step = np.uint64(first_trajectory + path), ends[path, 3]
                place = cells[room[path] : room[path] + n_cells]
                _cross(place, origin, transitions, ways.neighbors, values, lifts, seed, trajectory, step)
        first = last
    offsets = np.zeros(len(ends) + 1, np.int64)
    offsets[1:] = np.cumsum(sizes)
    for path in range(len(ends)):  # to the front, where nothing is needed any more
        for p in range(sizes[path]):
            cells[offsets[path] + p] = cells[room[path] + p]
    return cells[: offsets[-1]].copy(), offsets


@njit(cache=True, nogil=True)
def _chances_to_arrive(goal, n_moves, transitions, neighbors):  # type: ignore[no-untyped-def]
    """Compute the chance to be at the goal in exactly r moves, from each cell: values * 2**(-512 * lifts)."""
    n_cells, n_neighbors = neighbors.shape
    values = np.zeros((n_moves + 1, n_cells))
    lifts = np.zeros((n_moves + 1, n_cells), np.int32)
    values[0, goal] = 1.0
    weights = np.empty(n_neighbors)
    for r in range(1, n_moves + 1):
        for cell in range(n_cells):
            total, lift = _weigh(weights, transitions[cell], neighbors[cell], values[r - 1], lifts[r - 1])
            if 0.0 < total < _LOW:
                total, lift = total * _LIFT, lift + 1
            values[r, cell], lifts[r, cell] = total, lift
    return values, lifts


@njit(cache=True, nogil=True, inline="always")
def _weigh(weights, transitions, neighbors, values, lifts):  # type: ignore[no-untyped-def]
    """Weigh a move to each neighbor by its chance and the chance to arrive from there; return the sum, too.

    All are brought to the least lift, which is returned as well. What was lifted twice more often than that is
    far below the last digit of the sum.
    """
    least = np.int32(2**31 - 1)
    for direction in range(len(neighbors)):
        weights[direction] = 0.0
        if transitions[direction] > 0.0 and values[neighbors[direction]] > 0.0:
            least = min(least, lifts[neighbors[direction]])
    total = 0.0
    for direction in range(len(neighbors)):
        neighbor = neighbors[direction]
        if transitions[direction] > 0.0 and values[neighbor] > 0.0 and lifts[neighbor] <= least + 1:
            weight = transitions[direction] * values[neighbor]
            weights[direction] = weight if lifts[neighbor] == least else weight / _LIFT
            total += weights[direction]
    return total, least if total > 0.0 else np.int32(0)


@njit(cache=True, nogil=True)
def _cross(place, origin, transitions, neighbors, values, lifts, seed, trajectory, step):  # type: ignore[no-untyped-def]
    """Walk from the origin in as many moves as there are places left, each by the chance to arrive."""
    weights = np.empty(neighbors.shape[1])
    now = origin
    place[0] = now
    for p in range(1, len(place)):
        r = len(place) - 1 - p  # moves that are left after this one
        total, _ = _weigh(weights, transitions[now], neighbors[now], values[r], lifts[r])
        target = uniform(philox(seed, trajectory, np.uint64(step + p - 1), np.uint64(WALKING))[0]) * total
        reached, chosen = 0.0, 0
        for direction in range(len(weights)):
            if weights[direction] > 0.0 and reached <= target:
                reached += weights[direction]
                chosen = direction
        now = np.int64(neighbors[now, chosen])
        place[p] = now


@njit(cache=True, nogil=True)
def _go_straight(place, origin, goal, ways):  # type: ignore[no-untyped-def]
    """Take the shortest way."""
    now = np.int64(origin)
    place[0] = now
    for p in range(1, len(place)):
        now = np.int64(onward(now, goal, ways))
        place[p] = now
