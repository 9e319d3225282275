"""Walk between given ends: draw a trip and its number of cells, then a path that keeps to both exactly.

A walk that is known to be at its goal in r + 1 moves goes from cell i to neighbor j with a probability in
proportion to P[i, j] (P^r)[j, goal]: a Markov bridge. These r-step probabilities follow from each other, goal
by goal: that of r moves is the sum, over the neighbors, of P times that of r - 1.

Those of long walks can be smaller than any floating-point number. Each is kept as a number and an exponent of
its own, in units of 2**-512. Powers of two round nothing, and sums are made one after the other, so every
machine walks the same paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.caching import cached_property
from privtrace.compiling import compiled, inlined
from privtrace.paths import Paths
from privtrace.random import WALKING, below, philox, uniform
from privtrace.searching import first_above
from privtrace.space.shortest_paths import ShortestPaths, graph_distances, next_cell
from privtrace.trajectories import Floats, Integers

#: Probabilities are scaled by the one when below the other. No transition is below 2**-62, so once is enough.
_SCALE, _LOW = 2.0**512, 2.0**-256


class Moves(NamedTuple):
    """Hold how a walk without a goal moves, for kernels."""

    probabilities: Floats  # (m, 8): of each neighbor; rows may be all zero
    neighbors: npt.NDArray[np.int32]  # (m, 8): as `ShortestPaths.neighbors`


class StepProbabilities(NamedTuple):
    """Hold the probability to be at one goal in exactly r moves: values * 2**(-512 * exponents)."""

    values: Floats  # (most moves + 1, m): by r and by the cell that the walk is in
    exponents: npt.NDArray[np.int32]  # (most moves + 1, m)


class _Ends(NamedTuple):
    """Hold what is drawn of each path before it is walked: (n_paths,) each."""

    origins: Integers
    goals: Integers
    n_cells: Integers
    steps: Integers  # the next free step of the path's random stream


@dataclass(frozen=True, eq=False)
class Bridge:
    """Hold all that walks between given ends need, in weights that are not negative."""

    trips: Integers  # (m, m): from cell to cell; not all zero, and zero where no path leads
    lengths: Integers  # (most distance + 1, n): of 0, 1, ... extra cells, by distance; no row all zero
    transitions: Integers  # (m, 8): from cell to neighbor, zero where there is none
    shortest: ShortestPaths

    @cached_property
    def _distances(self) -> npt.NDArray[np.int16]:
        return graph_distances(self.shortest)

    @cached_property
    def _cumulative(self) -> tuple[Integers, Integers]:
        return np.cumsum(self.trips), np.cumsum(self.lengths, axis=1)

    @cached_property
    def moves(self) -> Moves:
        """Turn transitions into probabilities."""
        totals = self.transitions.sum(axis=1, keepdims=True)
        return Moves(self.transitions / np.maximum(totals, 1), self.shortest.neighbors)

    def walk(self, trajectories: range, seed: int) -> Paths:
        """Walk one path for each trajectory number; it depends on the seed and its own number alone.

        Where no walk of the drawn number of cells leads to the goal, the path is a shortest one. A trip within
        a cell, without extra cells, is that cell alone.
        """
        start, seed_word = trajectories.start, np.uint64(seed)
        ends = _draw_ends(start, len(trajectories), seed_word, *self._cumulative, self._distances)
        by_goal = np.argsort(ends.goals, kind="stable")
        return Paths(*_walk(start, seed_word, ends, by_goal, self.moves, self._distances, self.shortest))


@compiled
def _draw_ends(first_trajectory, n_trajectories, seed, trips, lengths, distances):  # type: ignore[no-untyped-def]
    origins, goals = np.empty(n_trajectories, np.int64), np.empty(n_trajectories, np.int64)
    n_cells, steps = np.empty(n_trajectories, np.int64), np.empty(n_trajectories, np.int64)
    for path in range(n_trajectories):
        trajectory = np.uint64(first_trajectory + path)
        draw, step = below(trips[-1], seed, trajectory, 0)
        trip = first_above(trips, draw)
        origin, goal = trip // len(distances), trip % len(distances)
        distance = np.int64(distances[origin, goal])
        draw, step = below(lengths[distance, -1], seed, trajectory, step)
        extra = first_above(lengths[distance], draw)
        origins[path], goals[path], steps[path] = origin, goal, step
        n_cells[path] = 1 if distance == extra == 0 else max(distance + 1, 2) + extra
    return _Ends(origins, goals, n_cells, steps)


@compiled
def _walk(first_trajectory, seed, ends, by_goal, moves, distances, shortest):  # type: ignore[no-untyped-def]
    """Walk goal by goal, each path at its place; then close the gaps that shortest paths leave."""
    origins, goals, n_cells, steps = ends.origins, ends.goals, ends.n_cells, ends.steps
    places = np.zeros(len(goals) + 1, np.int64)
    places[1:] = np.cumsum(n_cells)
    cells = np.empty(places[-1], np.int32)
    sizes = n_cells.copy()
    first = 0
    while first < len(by_goal):
        goal = goals[by_goal[first]]
        last, longest = first, 1
        while last < len(by_goal) and goals[by_goal[last]] == goal:
            longest = max(longest, n_cells[by_goal[last]])
            last += 1
        probabilities = step_probabilities(goal, longest - 1, moves)
        for path in by_goal[first:last]:
            origin, place = origins[path], places[path]
            if probabilities.values[n_cells[path] - 1, origin] == 0.0:
                sizes[path] = np.int64(distances[origin, goal]) + 1
                _walk_shortest(cells[place : place + sizes[path]], origin, goal, shortest)
            else:
                trajectory, walked = np.uint64(first_trajectory + path), cells[place : place + sizes[path]]
                _walk_bridge(walked, origin, moves, probabilities, seed, trajectory, steps[path])
        first = last
    offsets = np.zeros(len(goals) + 1, np.int64)
    offsets[1:] = np.cumsum(sizes)
    for path in range(len(goals)):  # to the front, where nothing is needed any more
        for p in range(sizes[path]):
            cells[offsets[path] + p] = cells[places[path] + p]
    return cells[: offsets[-1]].copy(), offsets


@compiled
def step_probabilities(goal, n_moves, moves):  # type: ignore[no-untyped-def]
    """Compute the probability to be at the goal in exactly r moves, from each cell, for r up to n_moves."""
    transitions, neighbors = moves.probabilities, moves.neighbors
    n_cells, n_neighbors = neighbors.shape
    values = np.zeros((n_moves + 1, n_cells))
    exponents = np.zeros((n_moves + 1, n_cells), np.int32)
    values[0, goal] = 1.0
    weights = np.empty(n_neighbors)
    for r in range(1, n_moves + 1):
        for cell in range(n_cells):
            total, exponent = _weigh(
                weights, transitions[cell], neighbors[cell], values[r - 1], exponents[r - 1]
            )
            if 0.0 < total < _LOW:
                total, exponent = total * _SCALE, exponent + 1
            values[r, cell], exponents[r, cell] = total, exponent
    return StepProbabilities(values, exponents)


@inlined
def _weigh(weights, transitions, neighbors, values, exponents):  # type: ignore[no-untyped-def]
    """Weigh a move to each neighbor by its probability and that to arrive from there; return the sum, too.

    All are brought to the least exponent, which is returned as well. What has one larger by two or more is far
    below the last digit of the sum.
    """
    least = np.int32(2**31 - 1)
    for direction in range(len(neighbors)):
        weights[direction] = 0.0
        if transitions[direction] > 0.0 and values[neighbors[direction]] > 0.0:
            least = min(least, exponents[neighbors[direction]])
    total = 0.0
    for direction in range(len(neighbors)):
        neighbor = neighbors[direction]
        if transitions[direction] > 0.0 and values[neighbor] > 0.0 and exponents[neighbor] <= least + 1:
            weight = transitions[direction] * values[neighbor]
            weights[direction] = weight if exponents[neighbor] == least else weight / _SCALE
            total += weights[direction]
    return total, least if total > 0.0 else np.int32(0)


@compiled
def _walk_bridge(walked, origin, moves, probabilities, seed, trajectory, step):  # type: ignore[no-untyped-def]
    """Walk from the origin to the goal in as many moves as there are places left."""
    transitions, neighbors = moves.probabilities, moves.neighbors
    values, exponents = probabilities.values, probabilities.exponents
    weights = np.empty(neighbors.shape[1])
    now = origin
    walked[0] = now
    for p in range(1, len(walked)):
        r = len(walked) - 1 - p  # moves that are left after this one
        total, _ = _weigh(weights, transitions[now], neighbors[now], values[r], exponents[r])
        target = uniform(philox(seed, trajectory, np.uint64(step + p - 1), np.uint64(WALKING))[0]) * total
        reached, chosen = 0.0, 0
        for direction in range(len(weights)):
            if weights[direction] > 0.0 and reached <= target:
                reached += weights[direction]
                chosen = direction
        now = np.int64(neighbors[now, chosen])
        walked[p] = now


@compiled
def _walk_shortest(walked, origin, goal, shortest):  # type: ignore[no-untyped-def]
    """Take a shortest path."""
    now = np.int64(origin)
    walked[0] = now
    for p in range(1, len(walked)):
        now = np.int64(next_cell(now, goal, shortest))
        walked[p] = now
