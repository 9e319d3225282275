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
from privtrace.methods.bridgetrace.polyline import draw_line, scratch_for
from privtrace.methods.bridgetrace.shapes import shape_bin, shape_of
from privtrace.methods.bridgetrace.states import StateSpace
from privtrace.paths import Paths
from privtrace.random import WALKING, below, philox, uniform
from privtrace.trajectories import Floats, Integers

#: Walks drawn for one trajectory until one is kept; the last is kept whatever its shape.
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
    def _cumulative(self) -> tuple[Integers, Integers, Integers, Integers, Integers]:
        """Sum weights up for drawing: trips; cells by zone, where each zone's begin, their starts; levels."""
        zone_of = self.space.zone_of
        cells = np.argsort(zone_of, kind="stable")
        firsts = np.searchsorted(zone_of[cells], np.arange(len(self.trips) + 1))
        return np.cumsum(self.trips), cells, firsts, np.cumsum(self.starts[cells]), np.cumsum(self.levels, 1)

    def walk(self, trajectories: range, seed: int) -> Paths:
        """Walk one path for each trajectory number; it depends on the seed and its own number alone."""
        return self._walk(trajectories, seed, MOST_TRIES)[0]

    def candidates(self, trajectories: range, seed: int) -> tuple[Paths, Drawn]:
        """Walk one path for each number and keep it, whatever its shape; say how each was drawn."""
        return self._walk(trajectories, seed, 1)

    def _walk(self, trajectories: range, seed: int, tries: int) -> tuple[Paths, Drawn]:
        space = self.space
        cells, offsets, drawn = _walk(
            trajectories.start,
            len(trajectories),
            np.uint64(seed),
            self._cumulative,
            (space.steps, self.chances, self.hitting, space.zone_of, space.classes),
            (space.sides, space.edges, self.kept),
            tries,
        )
        return Paths(cells, offsets), Drawn(*drawn.T)


@njit(cache=True, nogil=True)
def _walk(first_trajectory, n_trajectories, seed, cumulative, going, keeping, tries):  # type: ignore[no-untyped-def]
    trips, cells_by_zone, firsts, starts, levels = cumulative
    steps, chances, hitting, zone_of, classes = going
    sides, edges, kept = keeping
    n_zones = len(classes)
    cells = np.empty(16 * n_trajectories + 16, np.int32)
    offsets = np.zeros(n_trajectories + 1, np.int64)
    drawn = np.zeros((n_trajectories, 4), np.int8)
    scratch = scratch_for(64)
    n_cells = 0
    for path in range(n_trajectories):
        trajectory = np.uint64(first_trajectory + path)
        draw, step = below(trips[-1], seed, trajectory, 0)
        trip = np.searchsorted(trips, draw, side="right")
        origin, goal = trip // n_zones, trip % n_zones
        apart = classes[origin, goal]
        for attempt in range(tries):
            draw, step = below(levels[apart, -1], seed, trajectory, step)
            level = np.searchsorted(levels[apart], draw, side="right")
            low, high = firsts[origin], firsts[origin + 1]
            before = starts[low - 1] if low > 0 else 0
            draw, step = below(starts[high - 1] - before, seed, trajectory, step)
            start = cells_by_zone[np.searchsorted(starts, before + draw, side="right")]
            cells, last, step = _go(
                cells,
                n_cells,
                start,
                goal,
                steps,
                chances,
                hitting[goal, level],
                zone_of,
                seed,
                trajectory,
                step,
            )
            arrived = last > n_cells
            if not arrived:  # no way leads there, as from one part of a region to another: stay
                cells[n_cells], last = start, n_cells + 1
            if last - n_cells > len(scratch.links):
                scratch = scratch_for(2 * (last - n_cells))
            draw_line(scratch, cells, n_cells, last, sides, seed, trajectory)
            diameter, length = shape_of(scratch.line, last - n_cells + 1, sides.scale_m)
            diameter_bin, length_bin = shape_bin(diameter, edges), shape_bin(length, edges)
            drawn[path, 0], drawn[path, 1], drawn[path, 2], drawn[path, 3] = (
                apart,
                level,
                diameter_bin,
                length_bin,
            )
            if attempt + 1 < tries:
                share = uniform(philox(seed, trajectory, np.uint64(step), np.uint64(WALKING))[0])
                step += 1
                if arrived and share < kept[diameter_bin, length_bin]:
                    break
        n_cells = last
        offsets[path + 1] = n_cells
    return cells[:n_cells].copy(), offsets, drawn


@njit(cache=True, nogil=True)
def _go(  # type: ignore[no-untyped-def]
    cells, n_cells, start, goal, steps, chances, hitting, zone_of, seed, trajectory, step
):
    """Walk from a cell to the goal; return the cells with the walk behind n_cells, its end, and the next step.

    A walk that cannot arrive is as long as none.
    """
    links, offsets = steps.links, steps.offsets
    now, row = np.int64(start), len(links.sources) + np.int64(start)
    last = n_cells
    while last - n_cells < MOST_CELLS:
        if last + 1 >= len(cells):
            cells = np.concatenate((cells, np.empty_like(cells)))
        cells[last] = now
        last += 1
        end, onward = offsets[row + 1] - 1, links.offsets[now] - offsets[row]
        ending = chances[end] if zone_of[now] == goal else 0.0
        total = ending
        for entry in range(offsets[row], end):
            total += chances[entry] * hitting[onward + entry]
        if total <= 0.0:
            return cells, n_cells, step
        target = uniform(philox(seed, trajectory, np.uint64(step), np.uint64(WALKING))[0]) * total
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
