"""Walk h-transforms between zones, and keep the walks whose shape is called for.

A trip is drawn from the table of zones, its first cell from the starts of its zone, and its level of
discount by how far the zones are apart. Then each step is drawn in proportion to its chance times the hitting
probability from there (`hitting.py`), so that the walk ends in its zone. Last the walk is kept or drawn
again, by the shape of its line: so lengths and diameters come out as they were measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from privtrace.caching import cached_property
from privtrace.methods.bridgetrace.polyline import Geometry, Stream, draw_line, scratch_for
from privtrace.methods.bridgetrace.shapes import shape_bin, shape_of
from privtrace.methods.bridgetrace.states import StateSpace
from privtrace.methods.bridgetrace.steps import Steps
from privtrace.paths import Paths
from privtrace.random import WALKING, below, philox, uniform
from privtrace.trajectories import Floats, Integers

#: The weight of a chance of one. Sums of such weights over any table stay within 63 bits.
CERTAIN = 1 << 30

#: Walks drawn for one trajectory until one is kept; the last is kept whatever its shape. More would follow
#: shapes more closely where they are hard to make, and take as much longer there.
MOST_TRIES = 8

#: Cells of a walk at most. Even the weakest discount makes so many as good as impossible; a walk that had them
#: all the same is drawn again.
MOST_CELLS = 1 << 16


class Drawn(NamedTuple):
    """Say how walks were drawn, (n,) each."""

    classes: npt.NDArray[np.int8]
    levels: npt.NDArray[np.int8]
    diameters: npt.NDArray[np.int8]  # bins
    lengths: npt.NDArray[np.int8]  # bins


class Cumulative(NamedTuple):
    """Hold running sums of weights, by which trips, levels and first cells are drawn, for kernels."""

    trips: Integers  # (n_zones * n_zones,)
    levels: Integers  # (n_classes, n_levels): within a class
    cells: Integers  # (n_cells,): the cells, zone by zone
    firsts: Integers  # (n_zones + 1,): where each zone's begin there
    starts: Integers  # (n_cells,): of the starts of `cells`


class Chain(NamedTuple):
    """Hold the Markov chain of steps and its hitting probabilities, for kernels."""

    steps: Steps
    chances: Floats  # (n_entries,)
    hitting: Floats  # (n_zones, n_levels, n_links)
    zone_of: Integers  # (n_cells,)
    classes: npt.NDArray[np.int8]  # (n_zones, n_zones)


class Law(NamedTuple):
    """Hold all that decides how walks are drawn and kept, for kernels."""

    cumulative: Cumulative
    chain: Chain
    geometry: Geometry
    edges: Floats  # (N_BINS,)
    kept: Floats  # (N_BINS, N_BINS)


class Bridge(NamedTuple):
    """Say between what a walk goes, and at which level of discount."""

    start: int  # cell
    goal: int  # zone
    level: int


@dataclass(frozen=True, eq=False)
class Sampler:
    """Draw walks between zones; weights are integers, not negative."""

    space: StateSpace
    trips: Integers  # (n_zones, n_zones); not all zero
    starts: Integers  # (n_cells,); not all zero in a zone
    chances: Floats  # (n_entries,), as `hitting_probabilities` takes them
    hitting: Floats  # (n_zones, n_levels, n_links), as it gives them
    levels: Integers  # (n_classes, n_levels): by it the level of a trip is drawn; no row all zero
    kept: Floats  # (N_BINS, N_BINS): the chance to keep a walk, by the bins of its diameter and length

    @cached_property
    def _law(self) -> Law:
        space = self.space
        cells = np.argsort(space.zone_of, kind="stable")
        cumulative = Cumulative(
            trips=np.cumsum(self.trips),
            levels=np.cumsum(self.levels, 1),
            cells=cells,
            firsts=np.searchsorted(space.zone_of[cells], np.arange(len(self.trips) + 1)),
            starts=np.cumsum(self.starts[cells]),
        )
        chain = Chain(space.steps, self.chances, self.hitting, space.zone_of, space.classes)
        return Law(cumulative, chain, space.geometry, space.edges, self.kept)

    def walk(self, trajectories: range, seed: int) -> Paths:
        """Walk one path for each trajectory number; it depends on the seed and its own number alone."""
        return self._walk(trajectories, seed, MOST_TRIES)[0]

    def candidates(self, trajectories: range, seed: int) -> tuple[Paths, Drawn]:
        """Walk one path for each number and keep it, whatever its shape; say how each was drawn."""
        return self._walk(trajectories, seed, 1)

    def _walk(self, trajectories: range, seed: int, tries: int) -> tuple[Paths, Drawn]:
        cells, offsets, drawn = _walk(self._law, trajectories.start, len(trajectories), np.uint64(seed), tries)
        return Paths(cells, offsets), drawn


@njit(cache=True, nogil=True)
def _walk(law, first_trajectory, n_trajectories, seed, tries):  # type: ignore[no-untyped-def]
    cells = np.empty(16 * n_trajectories + 16, np.int32)
    offsets = np.zeros(n_trajectories + 1, np.int64)
    drawn = Drawn(
        np.empty(n_trajectories, np.int8),
        np.empty(n_trajectories, np.int8),
        np.empty(n_trajectories, np.int8),
        np.empty(n_trajectories, np.int8),
    )
    scratch = scratch_for(64)
    n_cells = 0
    for path in range(n_trajectories):
        stream = Stream(seed, np.uint64(first_trajectory + path))
        origin, goal, step = _trip(law, stream)
        apart = law.chain.classes[origin, goal]
        for attempt in range(tries):
            level, start, step = _beginning(law.cumulative, origin, apart, stream, step)
            cells, last, step = _go(cells, n_cells, Bridge(start, goal, level), law.chain, stream, step)
            arrived = last > n_cells
            if not arrived:  # no way leads there, as from one part of a region to another: stay
                cells[n_cells], last = start, n_cells + 1
            if last - n_cells > len(scratch.links):
                scratch = scratch_for(2 * (last - n_cells))
            draw_line(scratch, cells[n_cells:last], law.geometry, stream)
            diameter, length = shape_of(scratch.line, last - n_cells + 1, law.geometry.scale_m)
            diameter_bin, length_bin = shape_bin(diameter, law.edges), shape_bin(length, law.edges)
            drawn.classes[path], drawn.levels[path] = apart, level
            drawn.diameters[path], drawn.lengths[path] = diameter_bin, length_bin
            if attempt + 1 < tries:
                share = uniform(philox(stream.seed, stream.trajectory, np.uint64(step), np.uint64(WALKING))[0])
                step += 1
                if arrived and share < law.kept[diameter_bin, length_bin]:
                    break
        n_cells = last
        offsets[path + 1] = n_cells
    return cells[:n_cells].copy(), offsets, drawn


@njit(cache=True, nogil=True)
def _trip(law, stream):  # type: ignore[no-untyped-def]
    """Draw the zones that a walk goes between; return them and the next free step."""
    trips, n_zones = law.cumulative.trips, len(law.chain.classes)
    draw, step = below(trips[-1], stream.seed, stream.trajectory, 0)
    trip = np.searchsorted(trips, draw, side="right")
    return trip // n_zones, trip % n_zones, step


@njit(cache=True, nogil=True)
def _beginning(cumulative, origin, apart, stream, step):  # type: ignore[no-untyped-def]
    """Draw the level of a walk and its first cell in the zone `origin`; return them and the next free step."""
    levels, starts = cumulative.levels[apart], cumulative.starts
    draw, step = below(levels[-1], stream.seed, stream.trajectory, step)
    level = np.searchsorted(levels, draw, side="right")
    low, high = cumulative.firsts[origin], cumulative.firsts[origin + 1]
    before = starts[low - 1] if low > 0 else 0
    draw, step = below(starts[high - 1] - before, stream.seed, stream.trajectory, step)
    return level, cumulative.cells[np.searchsorted(starts, before + draw, side="right")], step


@njit(cache=True, nogil=True)
def _go(cells, n_cells, bridge, chain, stream, step):  # type: ignore[no-untyped-def]
    """Walk over a bridge; return the cells with the walk behind n_cells, its end, and the next free step.

    A walk that cannot arrive has no cells.
    """
    steps, chances, hitting = chain.steps, chain.chances, chain.hitting[bridge.goal, bridge.level]
    links, offsets = steps.links, steps.offsets
    now, row = np.int64(bridge.start), len(links.sources) + np.int64(bridge.start)
    last = n_cells
    while last - n_cells < MOST_CELLS:
        if last + 1 >= len(cells):
            cells = np.concatenate((cells, np.empty_like(cells)))
        cells[last] = now
        last += 1
        end, onward = offsets[row + 1] - 1, links.offsets[now] - offsets[row]
        ending = chances[end] if chain.zone_of[now] == bridge.goal else 0.0
        total = ending
        for entry in range(offsets[row], end):
            total += chances[entry] * hitting[onward + entry]
        if total <= 0.0:
            return cells, n_cells, step
        target = total * uniform(philox(stream.seed, stream.trajectory, np.uint64(step), np.uint64(WALKING))[0])
        step += 1
        if target < ending:
            return cells, last, step
        reached, chosen = ending, np.int64(-1)
        for entry in range(offsets[row], end):
            weight = chances[entry] * hitting[onward + entry]
            if weight > 0.0 and reached <= target:
                reached += weight
                chosen = onward + entry
        if chosen < 0:  # rounding alone has passed by the end
            return cells, last, step
        row, now = chosen, np.int64(links.targets[chosen])
    return cells, n_cells, step
