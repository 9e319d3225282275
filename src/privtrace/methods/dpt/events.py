"""Turn paths into strings of events: moves in one reference system, switches to another, and a stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled, inlined
from privtrace.methods.dpt.systems import STOP, SWITCH, Systems
from privtrace.paths import Paths
from privtrace.runs import Runs
from privtrace.space.shortest_paths import LONGEST, ShortestPaths, direction, next_cell
from privtrace.trajectories import Integers

if TYPE_CHECKING:
    from privtrace.methods.dpt.settings import DPT

Mapping = Literal["speed", "coarsest"]


@dataclass(frozen=True, eq=False)
class Strings:
    """Hold strings of events, ragged. Those of real trajectories are private.

    A string starts in its first cell; in each cell something happens, which leads to the next; last comes the
    stop. An empty string is that of a trajectory with no point in the region.
    """

    cells: npt.NDArray[np.int32]  # (n,): of all systems, numbered together
    events: npt.NDArray[np.int8]  # (n,): what happens there, as systems.py numbers it
    offsets: Integers  # (n_strings + 1,)

    def moves(self) -> Paths:
        """Keep the cells that a string starts in or moves to; switches change the resolution, not the place."""
        arrived = np.ones(len(self.cells), np.bool_)
        arrived[1:] = self.events[:-1] <= STOP  # after a stop comes the next start
        n_arrived = np.concatenate([[0], np.cumsum(arrived)])
        return Paths(self.cells[arrived], n_arrived[self.offsets])


@dataclass(frozen=True, eq=False)
class Mapper:
    """Map trajectories to strings on reference systems.

    By "speed", two consecutive cells are encoded in the finest system in which they touch or are one. By
    "coarsest", and where they touch in none, in the coarsest system in which they differ and a path leads from
    one to the other, with the cells between. With hysteresis, the system stays where the two cells touch in it.
    A string has LONGEST cells at most, and stops there.
    """

    systems: Systems
    mapping: Mapping
    hysteresis: bool
    longest: int = LONGEST

    @classmethod
    def of(cls, systems: Systems, settings: DPT) -> Mapper:
        """Map as the settings say."""
        return cls(systems, settings.mapping, settings.hysteresis)

    def strings(self, runs: Runs) -> Strings:
        """Turn each run into its string."""
        paths = self.systems.encode(runs)
        stack, by_speed = self.systems.stack, self.mapping == "speed"
        return Strings(*_strings(paths.cells, paths.offsets, stack, by_speed, self.hysteresis, self.longest))


@compiled
def _strings(path_cells, path_offsets, stack, by_speed, hysteresis, longest):  # type: ignore[no-untyped-def]
    cells = np.empty(2 * len(path_cells) + 16, np.int32)
    events = np.empty(2 * len(path_cells) + 16, np.int8)
    offsets = np.zeros(len(path_offsets), np.int64)
    n = 0
    for path in range(len(path_offsets) - 1):
        first, last = path_offsets[path], path_offsets[path + 1]
        offsets[path + 1] = n
        if first == last:
            continue
        system = -1
        end = n + longest
        for p in range(first, last - 1):
            chosen = _system(path_cells[p], path_cells[p + 1], system, stack, by_speed, hysteresis)
            if chosen < 0 or n == end:
                break  # no path leads on, as from one component of a region to another; or it is long enough
            now, goal = _cell(path_cells[p], chosen, stack), _cell(path_cells[p + 1], chosen, stack)
            shortest = _shortest_paths(chosen, stack)
            if chosen != system:
                if system >= 0:
                    events[n - 1] = SWITCH + chosen
                if n == len(cells):
                    cells, events = _doubled(cells), _doubled(events)
                cells[n] = stack.first_cell[chosen] + now
                n += 1
                system = chosen
            while now != goal and n < end:
                onto = next_cell(now, goal, shortest)
                events[n - 1] = direction(now, onto, shortest)
                if n == len(cells):
                    cells, events = _doubled(cells), _doubled(events)
                cells[n] = stack.first_cell[chosen] + onto
                n += 1
                now = onto
        if system < 0:
            if n == len(cells):
                cells, events = _doubled(cells), _doubled(events)
            cells[n] = path_cells[first]
            n += 1
        events[n - 1] = STOP
        offsets[path + 1] = n
    return cells[:n].copy(), events[:n].copy(), offsets


@compiled
def _system(here, there, system, stack, by_speed, hysteresis):  # type: ignore[no-untyped-def]
    """Choose the system that encodes a pair of cells of the finest one, or -1 where none can."""
    n_systems = len(stack.sizes)
    if hysteresis and system >= 0 and _relation(here, there, system, stack) == _TOUCHING:
        return system
    if by_speed:
        for candidate in range(n_systems):
            if _relation(here, there, candidate, stack) >= _TOUCHING:
                return candidate
    for candidate in range(n_systems - 1, -1, -1):
        if _relation(here, there, candidate, stack) in (_TOUCHING, _APART):
            return candidate
    return -1


_NO_PATH, _APART, _TOUCHING, _SAME = -1, 0, 1, 2


@compiled
def _relation(here, there, system, stack):  # type: ignore[no-untyped-def]
    """Tell how two cells of the finest system stand to each other in another."""
    now, goal = _cell(here, system, stack), _cell(there, system, stack)
    if now < 0 or goal < 0:
        return _NO_PATH
    if now == goal:
        return _SAME
    onto = next_cell(now, goal, _shortest_paths(system, stack))
    if onto < 0:
        return _NO_PATH
    return _TOUCHING if onto == goal else _APART


@inlined
def _cell(finest, system, stack):  # type: ignore[no-untyped-def]
    """Find the cell, numbered in its system, that holds a cell of the finest system; or -1."""
    size, finest_size = stack.sizes[system], stack.sizes[0]
    slot, ratio = stack.slots[finest], finest_size // size
    row, column = slot // finest_size // ratio, slot % finest_size // ratio
    return np.int64(stack.cells[stack.first_slot[system] + row * size + column])


@inlined
def _shortest_paths(system, stack):  # type: ignore[no-untyped-def]
    """Take the shortest paths of one system out of the stack."""
    first, last = stack.first_cell[system], stack.first_cell[system + 1]
    distances = stack.distances[stack.first_distance[system] : stack.first_distance[system + 1]]
    n_sources = last - first if len(distances) else 0
    return ShortestPaths(
        stack.sizes[system],
        stack.slots[first:last],
        stack.neighbors[first:last],
        distances.reshape((n_sources, n_sources)),
    )


@compiled
def _doubled(values):  # type: ignore[no-untyped-def]
    """Make a buffer twice as long."""
    return np.concatenate((values, np.empty_like(values)))
