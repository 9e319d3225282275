"""Walk down prefix trees, from resolution to resolution, and keep the heading. Post-processing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from privtrace.caching import cached_property
from privtrace.compiling import compiled, inlined
from privtrace.methods.dpt.contexts import Contexts, Tree, follow
from privtrace.methods.dpt.systems import STOP, SWITCH, Stack, Systems
from privtrace.paths import Paths
from privtrace.random import WALKING, below, philox, uniform
from privtrace.searching import first_above
from privtrace.trajectories import Floats, Integers

#: Angles between a move and the heading are distinguished by this many steps of their cosine.
_COSINES = 256


class _Tables(NamedTuple):
    """Hold what a walk draws from, for kernels; starts and events summed up."""

    stack: Stack
    tree: Tree
    starts: Integers  # (n_cells,)
    arrivals: Integers  # (n_cells,)
    events: Integers  # (n_contexts, n_events)


class _Heading(NamedTuple):
    """Hold how the heading of a walk weighs its next move, for kernels."""

    n_moves: int  # that make the heading
    factors: Floats  # (_COSINES + 1,): how much likelier a move is, by its cosine from -1 to 1
    strides: Integers  # (n_systems, 8, 2): as `Systems.strides`
    cell_m: Floats  # (2,): as `Systems.cell_m`


@dataclass(frozen=True, eq=False)
class TreeWalker:
    """Hold all that a walk on prefix trees needs; counts are integers.

    What happens next is drawn from the row of the longest context that has one. Where even the cell alone has
    none, the walk goes on from the same place in the next coarser system, and ends where there is none.
    """

    systems: Systems
    contexts: Contexts
    starts: Integers  # (n_cells,): the weight of each cell as a start; not all zero
    arrivals: Integers  # (n_cells,): zero or more; by it a switch to a finer system chooses its cell
    events: Integers  # (n_contexts, n_events): zero or more
    heading_moves: int  # how many moves make the heading
    heading_strength: float  # how much likelier a move ahead is than one across, as a logarithm
    max_steps: int  # a walk has at most so many events

    @cached_property
    def _heading(self) -> _Heading:
        # Rounded, so that machines whose exp differs in the last bit walk alike.
        factors = np.round(np.exp(self.heading_strength * np.linspace(-1, 1, _COSINES + 1)) * 2.0**20)
        return _Heading(self.heading_moves, factors, self.systems.strides, self.systems.cell_m)

    @cached_property
    def _tables(self) -> _Tables:
        starts, events = np.cumsum(self.starts), np.cumsum(self.events, axis=1)
        return _Tables(self.systems.stack, self.contexts.tree, starts, self.arrivals, events)

    def walk(self, trajectories: range, seed: int) -> tuple[Paths, int]:
        """Walk one path for each trajectory number; also count the walks that max_steps ended.

        A path depends on the seed and its own number alone.
        """
        first, n, tables, heading = trajectories.start, len(trajectories), self._tables, self._heading
        cells, offsets, n_capped = _walk(first, n, np.uint64(seed), tables, heading, self.max_steps)
        return Paths(cells, offsets), int(n_capped)


@compiled
def _walk(first_trajectory, n_trajectories, seed, tables, heading, max_steps):  # type: ignore[no-untyped-def]
    stack, tree, starts, events = tables.stack, tables.tree, tables.starts, tables.events
    cells = np.empty(16 * n_trajectories + 16, np.int32)
    offsets = np.zeros(n_trajectories + 1, np.int64)
    held = np.empty(tree.depth, np.int64)
    recent = np.empty((heading.n_moves, 2), np.int64)
    has_heading = heading.factors[0] != heading.factors[-1]
    n_cells = 0
    n_capped = 0
    for path in range(n_trajectories):
        trajectory = np.uint64(first_trajectory + path)
        draw, step = below(starts[-1], seed, trajectory, 0)
        now = first_above(starts, draw)
        system = first_above(stack.first_cell, now) - 1
        held[:] = -1
        recent[:] = 0
        n_moves = 0
        event = STOP
        for n_events in range(max_steps + 1):
            if event <= STOP:  # a start or a move: it has a point
                if n_cells == len(cells):
                    cells = np.concatenate((cells, np.empty_like(cells)))
                cells[n_cells] = now
                n_cells += 1
            follow(held, event, now, tree)
            row = _row(held, events)
            if row < 0:
                if system == len(stack.sizes) - 1:
                    break
                event = SWITCH + system + 1
            else:
                draw, step = below(events[row, -1], seed, trajectory, step)
                event = first_above(events[row], draw)
            if event == STOP:
                break
            if n_events == max_steps:
                n_capped += 1
                break
            if event < STOP:
                if n_moves > 0 and has_heading:
                    word, _ = philox(seed, trajectory, np.uint64(step), np.uint64(WALKING))
                    step += 1
                    event = _draw_move(events[row], recent, system, heading, uniform(word))
                recent[n_moves % heading.n_moves] = heading.strides[system, event]
                n_moves += 1
                now = stack.first_cell[system] + stack.neighbors[now, event]
            else:
                now, step = _switched(now, system, event - SWITCH, tables, seed, trajectory, step)
                if now < 0:
                    break
                system = event - SWITCH
        offsets[path + 1] = n_cells
    return cells[:n_cells].copy(), offsets, n_capped


@inlined
def _row(held, events):  # type: ignore[no-untyped-def]
    """Find the longest context that knows what follows it, or -1."""
    for depth in range(len(held) - 1, -1, -1):
        if held[depth] >= 0 and events[held[depth], -1] > 0:
            return held[depth]
    return -1


@compiled
def _draw_move(cumulative, recent, system, heading, share):  # type: ignore[no-untyped-def]
    """Draw a move, those along the heading being likelier than the tree says and those against it less."""
    strides, cell_m, factors = heading.strides[system], heading.cell_m, heading.factors
    east, north = recent[:, 0].sum() * cell_m[0], recent[:, 1].sum() * cell_m[1]
    length = np.sqrt(east * east + north * north)
    weights = np.empty(STOP)
    total = 0.0
    for move in range(STOP):
        weight = float(cumulative[move] - (cumulative[move - 1] if move > 0 else 0))
        if length > 0:
            stride_east, stride_north = strides[move, 0] * cell_m[0], strides[move, 1] * cell_m[1]
            stride = np.sqrt(stride_east * stride_east + stride_north * stride_north)
            cosine = (east * stride_east + north * stride_north) / (length * stride)
            weight *= factors[int((cosine + 1) * (_COSINES / 2) + 0.5)]
        total += weight
        weights[move] = total
    return min(first_above(weights, share * total), _last(weights))


@inlined
def _last(cumulative):  # type: ignore[no-untyped-def]
    """Find the last place where something is added: where rounding would point past the end."""
    return np.searchsorted(cumulative, cumulative[-1], side="left")


@compiled
def _switched(now, system, onto, tables, seed, trajectory, step):  # type: ignore[no-untyped-def]
    """Find the cell in another system: the one around this one, or one of those within, by their arrivals."""
    stack, arrivals = tables.stack, tables.arrivals
    size, onto_size = stack.sizes[system], stack.sizes[onto]
    row, column = stack.slots[now] // size, stack.slots[now] % size
    numbers = stack.cells[stack.first_slot[onto] : stack.first_slot[onto + 1]]
    first = stack.first_cell[onto]
    if onto_size < size:
        ratio = size // onto_size
        cell = np.int64(numbers[row // ratio * onto_size + column // ratio])
        return first + cell if cell >= 0 else np.int64(-1), step
    ratio = onto_size // size
    within = np.empty(ratio * ratio, np.int64)
    cumulative = np.empty(ratio * ratio, np.int64)
    n_within, total = 0, 0
    for child in range(ratio * ratio):
        fine_row, fine_column = row * ratio + child // ratio, column * ratio + child % ratio
        cell = np.int64(numbers[fine_row * onto_size + fine_column])
        if cell >= 0:
            within[n_within] = first + cell
            total += arrivals[first + cell]
            cumulative[n_within] = total
            n_within += 1
    if n_within == 0:
        return np.int64(-1), step
    if total == 0:  # nothing is known of them: any will do
        draw, step = below(n_within, seed, trajectory, step)
        return within[draw], step
    draw, step = below(total, seed, trajectory, step)
    return within[first_above(cumulative[:n_within], draw)], step
