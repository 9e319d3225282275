"""Walk h-transforms between zones, and keep the walks whose shape is called for.

A trip is drawn from the table of zones, its first cell from the starts of its zone, and its level of
discount by how far the zones are apart. Then each step is drawn in proportion to its chance times the hitting
probability from there (`hitting.py`), so that the walk ends in its zone. Last the walk is kept or drawn
again, by the shape of its points: so lengths and diameters come out as they were measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from privtrace.caching import cached_property
from privtrace.methods.bridgetrace.polyline import (
    MANY_POINTS,
    Placing,
    Scratch,
    add,
    draw_line,
    enlarged,
    grown,
    points_for,
    report,
    scratch_for,
    with_points,
)
from privtrace.methods.bridgetrace.states import StateSpace
from privtrace.methods.bridgetrace.steps import Steps
from privtrace.paths import Paths
from privtrace.random import WALKING, Stream, below, philox, uniform
from privtrace.space.shapes import shape_bin, shape_of
from privtrace.timing.draw import Placed, has_clock, number_of_points
from privtrace.trajectories import Floats, Integers

#: The weight of a chance of one. Sums of such weights over any table stay within 63 bits.
CERTAIN = 1 << 30

#: Walks drawn for one trajectory until one is kept; the last is kept whatever its shape. More would follow
#: shapes more closely where they are hard to make, and take as much longer there.
MOST_TRIES = 8

#: How many bins shorter the line through a walk's points may be than its own.
_CUT_BINS = 1

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


class Keeping(NamedTuple):
    """Say which walks are kept, for kernels."""

    edges: Floats  # (N_BINS,): of the bins of shapes
    kept: Floats  # (N_BINS, N_BINS)
    kept_at_most: Floats  # (N_BINS, N_BINS): by the shape of the line itself
    tries: int  # the last is kept whatever its shape


class Bridge(NamedTuple):
    """Say between what a walk goes, and at which level of discount."""

    start: int  # cell
    goal: int  # zone
    level: int


class Walk(NamedTuple):
    """Hold one walk, and how it was drawn."""

    cells: npt.NDArray[np.int32]  # memory for walks, grown if need be
    last: int  # behind the walk's last cell in it
    scratch: Scratch  # with its points
    n_points: int  # none where they were not set yet
    apart: int  # class of distance of its zones
    level: int
    diameter_bin: int
    length_bin: int


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
    placing: Placing

    @cached_property
    def _cumulative(self) -> Cumulative:
        zone_of = self.space.zone_of
        cells = np.argsort(zone_of, kind="stable")
        return Cumulative(
            trips=np.cumsum(self.trips),
            levels=np.cumsum(self.levels, 1),
            cells=cells,
            firsts=np.searchsorted(zone_of[cells], np.arange(len(self.trips) + 1)),
            starts=np.cumsum(self.starts[cells]),
        )

    @property
    def _chain(self) -> Chain:
        space = self.space
        return Chain(space.steps, self.chances, self.hitting, space.zone_of, space.classes)

    def _keeping(self, tries: int) -> Keeping:
        return Keeping(self.space.edges, self.kept, _kept_at_most(self.kept), tries)

    def walk(self, trajectories: range, seed: int) -> Paths:
        """Walk one path for each trajectory number; it depends on the seed and its own number alone."""
        return self._walk(trajectories, seed, MOST_TRIES)[0]

    def sample(self, trajectories: range, seed: int) -> Placed:
        """Set points on the lines of the same walks, as `place_on_lines` does, and draw each line only once."""
        placed = _sample(
            self._cumulative,
            self._chain,
            self.space.geometry,
            self._keeping(MOST_TRIES),
            self.placing,
            trajectories.start,
            len(trajectories),
            np.uint64(seed),
        )
        return Placed(*placed)

    def candidates(self, trajectories: range, seed: int) -> tuple[Paths, Drawn]:
        """Walk one path for each number and keep it, whatever its shape; say how each was drawn."""
        return self._walk(trajectories, seed, 1)

    def _walk(self, trajectories: range, seed: int, tries: int) -> tuple[Paths, Drawn]:
        cells, offsets, drawn = _walk(
            self._cumulative,
            self._chain,
            self.space.geometry,
            self._keeping(tries),
            self.placing,
            trajectories.start,
            len(trajectories),
            np.uint64(seed),
        )
        return Paths(cells, offsets), drawn


@njit(cache=True, nogil=True)
def _walk(cumulative, chain, geometry, keeping, placing, first_trajectory, n_trajectories, seed):  # type: ignore[no-untyped-def]
    """Make paths, and say how they were drawn."""
    cells = np.empty(16 * n_trajectories + 16, np.int32)
    offsets = np.zeros(n_trajectories + 1, np.int64)
    drawn = Drawn(
        np.empty(n_trajectories, np.int8),
        np.empty(n_trajectories, np.int8),
        np.empty(n_trajectories, np.int8),
        np.empty(n_trajectories, np.int8),
    )
    scratch = scratch_for(64, placing.draws.most_points)
    n_cells = 0
    for path in range(n_trajectories):
        stream = Stream(seed, np.uint64(first_trajectory + path))
        walk = _kept_walk(cells, n_cells, scratch, cumulative, chain, (geometry, keeping, placing), stream)
        cells, n_cells, scratch = walk.cells, walk.last, walk.scratch
        offsets[path + 1] = n_cells
        drawn.classes[path], drawn.levels[path] = walk.apart, walk.level
        drawn.diameters[path], drawn.lengths[path] = walk.diameter_bin, walk.length_bin
    return cells[:n_cells].copy(), offsets, drawn


@njit(cache=True, nogil=True)
def _sample(cumulative, chain, geometry, keeping, placing, first_trajectory, n_trajectories, seed):  # type: ignore[no-untyped-def]
    """Make points on the lines of walks."""
    # What is not used takes no memory.
    points, seconds = points_for(128 * n_trajectories + 16, has_clock(placing.draws))
    offsets = np.zeros(n_trajectories + 1, np.int64)
    cells, scratch, total = np.empty(64, np.int32), scratch_for(64, placing.draws.most_points), 0
    for path in range(n_trajectories):
        stream = Stream(seed, np.uint64(first_trajectory + path))
        walk = _kept_walk(cells, 0, scratch, cumulative, chain, (geometry, keeping, placing), stream)
        cells, scratch = walk.cells, walk.scratch
        n_points = walk.n_points
        if n_points == 0:
            scratch = with_points(scratch, walk.last, geometry, placing)
            n_points = report(scratch, cells[: walk.last], geometry, placing, stream)
        points, seconds = grown(points, seconds, total + n_points)
        add(points, seconds, total, scratch, n_points, geometry.area.turn)
        total += n_points
        offsets[path + 1] = total
    return points[:total], offsets, seconds[:total]


@njit(cache=True, nogil=True, inline="always")
def _kept_walk(cells, n_cells, scratch, cumulative, chain, lines, stream):  # type: ignore[no-untyped-def]
    """Draw walks until one is kept, behind n_cells; its points are left in the scratch memory."""
    geometry, keeping, placing = lines
    origin, goal, step = _trip(cumulative.trips, len(chain.classes), stream)
    apart = chain.classes[origin, goal]
    for attempt in range(keeping.tries):
        level, start, step = _beginning(cumulative, origin, apart, stream, step)
        cells, last, step = _go(cells, n_cells, Bridge(start, goal, level), chain, stream, step)
        arrived = last > n_cells
        if not arrived:  # no way leads there, as from one part of a region to another: stay
            cells[n_cells], last = start, n_cells + 1
        scratch = enlarged(scratch, last - n_cells)
        draw_line(scratch, cells[n_cells:last], geometry, stream)
        share = 0.0
        if attempt + 1 < keeping.tries:
            share = uniform(philox(stream.seed, stream.trajectory, np.uint64(step), np.uint64(WALKING))[0])
            step += 1
        diameter_bin, length_bin, n_points = _line_shape(scratch.line, last - n_cells, lines, stream)
        if n_points > 0:
            may_be_kept = arrived and share < keeping.kept_at_most[diameter_bin, length_bin]
            if attempt + 1 < keeping.tries and not may_be_kept:
                continue
            n_points = report(scratch, cells[n_cells:last], geometry, placing, stream)
            diameter_m, length_m = shape_of(scratch.points, n_points, geometry.scale_m)
            diameter_bin, length_bin = shape_bin(diameter_m, keeping.edges), shape_bin(length_m, keeping.edges)
        if arrived and share < keeping.kept[diameter_bin, length_bin]:
            break
    return Walk(cells, last, scratch, n_points, apart, level, diameter_bin, length_bin)


@njit(cache=True, nogil=True, inline="always")
def _line_shape(line, n_cells, lines, stream):  # type: ignore[no-untyped-def]
    """Find the bins of diameter and length of a line, and how many points may change them by cutting corners.

    None does where they are as far apart as is set, or many to a cell: these are set once a walk is kept.
    """
    geometry, keeping, placing = lines
    diameter_m, length_m = shape_of(line, n_cells + 1, geometry.scale_m)
    n_points = 0
    if placing.spacing_m == 0.0:
        n_points = number_of_points(length_m, placing.draws, stream)
        if n_points > MANY_POINTS * n_cells:
            n_points = 0
    return shape_bin(diameter_m, keeping.edges), shape_bin(length_m, keeping.edges), n_points


def _kept_at_most(kept: Floats) -> Floats:
    """Bound the chance to keep a walk by its line's shape: points cut corners, by an octave at most.

    So of most walks that are not kept, no points have to be drawn.
    """
    padded = np.pad(kept, ((_CUT_BINS, 0), (_CUT_BINS, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (_CUT_BINS + 1, _CUT_BINS + 1))
    most: Floats = windows.max(axis=(2, 3))
    return most


@njit(cache=True, nogil=True, inline="always")
def _trip(trips, n_zones, stream):  # type: ignore[no-untyped-def]
    """Draw the zones that a walk goes between; return them and the next free step."""
    draw, step = below(trips[-1], stream.seed, stream.trajectory, 0)
    trip = np.searchsorted(trips, draw, side="right")
    return trip // n_zones, trip % n_zones, step


@njit(cache=True, nogil=True, inline="always")
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
    chances, hitting, zone_of = chain.chances, chain.hitting[bridge.goal, bridge.level], chain.zone_of
    links, offsets = chain.steps.links, chain.steps.offsets
    now, row = np.int64(bridge.start), len(links.sources) + np.int64(bridge.start)
    last = n_cells
    while last - n_cells < MOST_CELLS:
        if last + 1 >= len(cells):
            cells = np.concatenate((cells, np.empty_like(cells)))
        cells[last] = now
        last += 1
        end, onward = offsets[row + 1] - 1, links.offsets[now] - offsets[row]
        ending = chances[end] if zone_of[now] == bridge.goal else 0.0
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
            if weight > 0.0:
                reached += weight
                chosen = onward + entry
                if reached > target:
                    break
        if chosen < 0:  # rounding alone has passed by the end
            return cells, last, step
        row, now = chosen, np.int64(links.targets[chosen])
    return cells, n_cells, step
