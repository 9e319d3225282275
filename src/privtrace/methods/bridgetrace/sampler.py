"""Walk h-transforms between zones, and keep the walks whose shape is called for.

A trip is drawn from the table of zones, its first cell from the starts of its zone, and its level of
discount by how far the zones are apart. Then each step is drawn in proportion to its chance times the hitting
probability from there (`hitting.py`), so that the walk ends in its zone. Last the walk is kept or drawn
again, by the shape of its points: so lengths and diameters come out as they were measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.caching import cached_property
from privtrace.compiling import borrowing, compiled, inlined, prefetch
from privtrace.methods.bridgetrace.polyline import (
    AHEAD,
    MANY_POINTS,
    Placing,
    add,
    draw_line,
    grown,
    most_points,
    points_for,
    report,
    reported_points,
    scratch_for,
    with_points_for,
)
from privtrace.methods.bridgetrace.states import StateSpace
from privtrace.paths import Paths
from privtrace.random import WALKING, Stream, below, philox, uniform, uniforms
from privtrace.searching import first_above
from privtrace.space.shapes import diameter_of, shape_bin, shape_of
from privtrace.timing.draw import Placed, has_clock
from privtrace.trajectories import Floats, Integers

#: The weight of a chance of one. Sums of such weights over any table stay within 63 bits.
CERTAIN = 1 << 30

#: Walks drawn for one trajectory until one is kept; the last is kept whatever its shape. More would follow
#: shapes more closely where they are hard to make, and take as much longer there.
MOST_TRIES = 8

#: How many bins shorter the line through a walk's points may be than its own.
_CUT_BINS = 1

#: Cells that there is memory for at first.
FEW_CELLS = 64

#: Stands for the cells of a walk that needs more memory.
MORE = -1

#: What there is too little memory for: nothing, a line, the points on it, or all that walks leave.
_NOTHING, _LINE, _REPORTS, _OUTPUT = 0, 1, 2, 3

#: Stands for the link of a walk that cannot go on.
_NOWHERE = np.uint64(1 << 63)

_1, _2, _3 = np.uint64(1), np.uint64(2), np.uint64(3)

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
    """Hold the Markov chain of steps and its hitting probabilities, for kernels.

    What a step reads of its row is in one piece of memory: first the chances of four moves, 0 where there are
    fewer, then that of the end, and then whole numbers.
    """

    rows: Floats  # (n_rows, 8)
    as_whole: npt.NDArray[np.int32]  # (n_rows, 16): the same memory
    more: Floats  # the chances of other moves, row by row
    hitting: Floats  # (n_zones, n_levels, n_links), and 4 links at least
    targets: npt.NDArray[np.int32]  # (n_links,): the cells that links lead to
    classes: npt.NDArray[np.int8]  # (n_zones, n_zones)


#: Moves whose chances are in a row itself; a cell seldom has more.
_MOVES = 4

#: Where in a row the chance of the end is, and among whole numbers the link of the first move, the zone, how
#: many more moves there are, and where.
_END, _LINK, _ZONE, _N_MORE, _MORE = 4, 10, 11, 12, 13


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
    """Say how a walk was drawn, which is left in the scratch memory with its line."""

    n_cells: int  # MORE where the memory is too small for it
    length_m: float  # of its line
    n_points: int  # by which it is reported; 0 where their distance is set
    has_points: bool  # whether they are set: they are where their shape is not that of the line
    diameter_bin: int
    length_bin: int


class Block(NamedTuple):
    """Hold the walks of a block, and what is known of each, for kernels."""

    first: Stream  # of the first trajectory
    trips: Integers  # (n, 3): zones, and the next free step
    bridges: Integers  # (n, 3): by which walks are sorted, first cell and level
    firsts: Integers  # (n,): where what a walk leaves begins
    sizes: Integers  # (n,): and how much of it there is
    drawn: Drawn


class Progress(NamedTuple):
    """Say how far a block has come in its walks that are left."""

    place: int  # the next one
    n_left: int  # those before it that were not kept
    total: int  # cells or points that all kept ones have


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

    @cached_property
    def _chain(self) -> Chain:
        return chain_of(self.space, self.chances, self.hitting)

    @cached_property
    def _kept_at_most(self) -> Floats:
        return _kept_at_most(self.kept)

    def walk(self, trajectories: range, seed: int) -> Paths:
        """Walk one path for each trajectory number; it depends on the seed and its own number alone."""
        return self._drawn(trajectories, seed, MOST_TRIES)[0]

    def sample(self, trajectories: range, seed: int) -> Placed:
        """Set points on the lines of the same walks, as `place_on_lines` does, and draw each line only once."""
        _, offsets, points, seconds, _ = self._kernel(trajectories, seed, MOST_TRIES, with_points=True)
        return Placed(points.reshape(-1, 2), offsets, seconds)

    def candidates(self, trajectories: range, seed: int) -> tuple[Paths, Drawn]:
        """Walk one path for each number and keep it, whatever its shape; say how each was drawn."""
        return self._drawn(trajectories, seed, 1)

    def _drawn(self, trajectories: range, seed: int, tries: int) -> tuple[Paths, Drawn]:
        cells, offsets, _, _, drawn = self._kernel(trajectories, seed, tries, with_points=False)
        return Paths(cells, offsets), drawn

    def _kernel(self, trajectories: range, seed: int, tries: int, *, with_points: bool) -> tuple[Any, ...]:
        keeping = Keeping(self.space.edges, self.kept, self._kept_at_most, tries)
        lines = (self.space.geometry, keeping, self.placing)
        first, n_trajectories = trajectories.start, len(trajectories)
        drawn: tuple[Any, ...] = _draw(
            self._cumulative, self._chain, lines, first, n_trajectories, np.uint64(seed), with_points
        )
        return drawn


@compiled
def _draw(cumulative, chain, lines, first_trajectory, n_trajectories, seed, with_points):  # type: ignore[no-untyped-def]
    """Draw walks, and make paths of them or set points on their lines; also say how they were drawn.

    All have their first try, then those that were not kept their second, and so on; each time walks to one goal
    at one level follow each other, since they read the same hitting probabilities. Memory is made here alone:
    what is done for every walk borrows it.
    """
    _, keeping, placing = lines
    # What is not used takes no memory.
    has_seconds = with_points and has_clock(placing.draws)
    points, seconds = points_for(64 * n_trajectories + 16 if with_points else 0, has_seconds)
    cells = np.empty(0 if with_points else 32 * n_trajectories + 16, np.int32)
    block = Block(
        Stream(seed, np.uint64(first_trajectory)),
        np.empty((n_trajectories, 3), np.int64),
        np.empty((n_trajectories, 3), np.int64),
        np.empty(n_trajectories, np.int64),
        np.empty(n_trajectories, np.int64),
        Drawn(
            np.empty(n_trajectories, np.int8),
            np.empty(n_trajectories, np.int8),
            np.empty(n_trajectories, np.int8),
            np.empty(n_trajectories, np.int8),
        ),
    )
    scratch, total, left = scratch_for(FEW_CELLS, placing.draws.most_points), 0, np.arange(n_trajectories)
    n_zones, n_levels = chain.hitting.shape[:2]
    _draw_trips(block, cumulative.trips, n_zones)
    for attempt in range(keeping.tries):
        _begin(block, left, cumulative, chain)
        left = _sorted(left, block.bridges[:, 0], n_zones * n_levels)
        progress, is_last = Progress(0, 0, total), attempt + 1 == keeping.tries
        while progress.place < len(left):
            progress, lacking, n_needed = _walk_on(
                progress, block, left, scratch, (cells, points, seconds), is_last, chain, lines
            )
            if lacking == _LINE:
                scratch = scratch_for(2 * len(scratch.cells), len(scratch.points))
            elif lacking == _REPORTS:
                scratch = with_points_for(scratch, 2 * n_needed)
            elif lacking == _OUTPUT and with_points:
                points, seconds = grown(points, seconds, n_needed)
            elif lacking == _OUTPUT:
                cells = np.concatenate((cells, np.empty(max(n_needed, len(cells)), np.int32)))
        left, total = left[: progress.n_left], progress.total
    offsets = np.zeros(n_trajectories + 1, np.int64)
    offsets[1:] = np.cumsum(block.sizes)
    if not with_points:
        return _in_order(cells, block.firsts, offsets, 1), offsets, points.ravel(), seconds, block.drawn
    laid_out = _in_order(points.ravel(), block.firsts, offsets, 2)
    if has_seconds:
        seconds = _in_order(seconds, block.firsts, offsets, 1)
    return cells, offsets, laid_out, seconds, block.drawn


@borrowing
def _draw_trips(block, trips, n_zones):  # type: ignore[no-untyped-def]
    """Draw the zones that walks go between."""
    for path in range(len(block.sizes)):
        origin, goal, step = _trip(trips, n_zones, _stream(block, path))
        block.trips[path, 0], block.trips[path, 1], block.trips[path, 2] = origin, goal, step


@borrowing
def _begin(block, left, cumulative, chain):  # type: ignore[no-untyped-def]
    """Draw the levels and the first cells of the walks that are left."""
    n_levels = chain.hitting.shape[1]
    for path in left:
        origin, goal = block.trips[path, 0], block.trips[path, 1]
        apart = chain.classes[origin, goal]
        level, start, step = _beginning(cumulative, origin, apart, _stream(block, path), block.trips[path, 2])
        block.bridges[path, 0], block.bridges[path, 1], block.bridges[path, 2] = (
            goal * n_levels + level,
            start,
            level,
        )
        block.trips[path, 2] = step
        block.drawn.classes[path], block.drawn.levels[path] = apart, level


@borrowing
def _walk_on(progress, block, left, scratch, output, is_last, chain, lines):  # type: ignore[no-untyped-def]
    """Try the walks that are left, and gather at the front of `left` which of them are not kept.

    Return how far this came, which memory is too small for the next one, if any is, and how much it needs. That
    one will be tried again, and comes out the same.
    """
    (geometry, _, placing), (cells, points, seconds) = lines, output
    with_points = len(cells) == 0  # there is memory for one of both
    place, n_left, total = progress
    while place < len(left):
        path, progress = left[place], Progress(place, n_left, total)
        stream, trip, bridge = _stream(block, path), block.trips[path], block.bridges[path]
        walk, step, is_kept = _try(
            scratch, Bridge(bridge[1], trip[1], bridge[2]), is_last, chain, lines, stream, trip[2]
        )
        if walk.n_cells == MORE:
            return progress, _LINE, 0
        place += 1
        if not is_kept:
            trip[2], left[n_left] = step, path
            n_left += 1
            continue
        if with_points and not walk.has_points:
            most = most_points(walk.length_m, placing)
            if most > len(scratch.points):
                return progress, _REPORTS, most
            n_made = report(scratch, walk.n_cells, walk.length_m, walk.n_points, placing, geometry, stream)
        else:
            n_made = walk.n_points if with_points else walk.n_cells
        if total + n_made > (len(points) if with_points else len(cells)):
            return progress, _OUTPUT, total + n_made
        if with_points:
            add(points, seconds, total, scratch, n_made, geometry.area.turn)
        else:
            for k in range(n_made):
                cells[total + k] = scratch.cells[k]
        block.drawn.diameters[path], block.drawn.lengths[path] = walk.diameter_bin, walk.length_bin
        block.firsts[path], block.sizes[path] = total, n_made
        total += n_made
    return Progress(place, n_left, total), _NOTHING, 0


@inlined
def _stream(block, path):  # type: ignore[no-untyped-def]
    """Name the random numbers of a walk."""
    return Stream(block.first.seed, block.first.trajectory + np.uint64(path))


@compiled
def _sorted(paths, keys, n_keys):  # type: ignore[no-untyped-def]
    """Sort paths by their keys, below n_keys."""
    ends = np.zeros(n_keys + 1, np.int64)
    for path in paths:
        ends[keys[path] + 1] += 1
    ends = np.cumsum(ends)
    in_order = np.empty_like(paths)
    for path in paths:
        in_order[ends[keys[path]]] = path
        ends[keys[path]] += 1
    return in_order


@compiled
def _in_order(values, firsts, offsets, width):  # type: ignore[no-untyped-def]
    """Lay what walks left end to end in their order, `width` values for each of what they have."""
    laid = np.empty(width * offsets[-1], values.dtype)
    for path in range(len(firsts)):
        shift = width * (firsts[path] - offsets[path])
        for k in range(width * offsets[path], width * offsets[path + 1]):
            laid[k] = values[k + shift]
    return laid


@borrowing
def _try(scratch, bridge, is_last, chain, lines, stream, step):  # type: ignore[no-untyped-def]
    """Walk over a bridge; return the walk, the next free step, and whether it is kept, as the last one is.

    It is left in the scratch memory, with its line and perhaps its points. One that needs more memory is kept.
    """
    geometry, keeping, placing = lines
    n_cells, step = _go(scratch, bridge, chain, stream, step)
    if n_cells == MORE:
        return Walk(MORE, 0.0, 0, False, 0, 0), step, True
    arrived = n_cells > 0
    if not arrived:  # no way leads there, as from one part of a region to another: stay
        scratch.cells[0], n_cells = bridge.start, 1
    length_m = draw_line(scratch, n_cells, geometry, stream)
    share = 0.0
    if not is_last:
        share = uniform(philox(stream.seed, stream.trajectory, np.uint64(step), np.uint64(WALKING))[0])
        step += 1
    diameter_m = diameter_of(scratch.line, n_cells + 1, geometry.scale_m)
    diameter_bin, length_bin = shape_bin(diameter_m, keeping.edges), shape_bin(length_m, keeping.edges)
    n_points = reported_points(length_m, placing, stream)
    # Points that are as far apart as is set, or many to a cell, cut no corners: they are set at last.
    has_points = 0 < n_points <= MANY_POINTS * n_cells
    if has_points:
        if not (is_last or (arrived and share < keeping.kept_at_most[diameter_bin, length_bin])):
            return Walk(n_cells, length_m, n_points, has_points, diameter_bin, length_bin), step, False
        n_points = report(scratch, n_cells, length_m, n_points, placing, geometry, stream)
        diameter_m, made_m = shape_of(scratch.points, n_points, geometry.scale_m)
        diameter_bin, length_bin = shape_bin(diameter_m, keeping.edges), shape_bin(made_m, keeping.edges)
    is_kept = is_last or (arrived and share < keeping.kept[diameter_bin, length_bin])
    return Walk(n_cells, length_m, n_points, has_points, diameter_bin, length_bin), step, is_kept


def chain_of(space: StateSpace, chances: Floats, hitting: Floats) -> Chain:
    """Lay out the chain of these chances of steps, (n_entries,), for walks by these hitting probabilities."""
    steps, entries = space.steps, space.entries
    n_moves = np.diff(steps.offsets) - 1
    if steps.n_links < _MOVES:  # to pad by none would copy them all
        hitting = np.pad(hitting, ((0, 0), (0, 0), (0, _MOVES - steps.n_links)))
    # Four links are read of every cell. Where there are no more after its own, they begin before them.
    own = steps.links.offsets[steps.cells]
    links = np.minimum(own, hitting.shape[2] - _MOVES)
    n_more = np.maximum(n_moves - _MOVES, 0)
    firsts = np.cumsum(n_more) - n_more
    moves = ~entries.is_end
    row, place, chances_of_moves = (
        entries.rows[moves],
        (entries.links - links[entries.rows])[moves],
        chances[moves],
    )
    rows = np.zeros((len(n_moves), 8))
    near = place < _MOVES
    rows[row[near], place[near]] = chances_of_moves[near]
    rows[:, _END] = chances[entries.is_end]
    as_whole = rows.view(np.int32)
    for column, values in (
        (_LINK, links),
        (_ZONE, space.zone_of[steps.cells]),
        (_N_MORE, n_more),
        (_MORE, firsts),
    ):
        as_whole[:, column] = values
    return Chain(rows, as_whole, chances_of_moves[~near], hitting, steps.links.targets, space.classes)


def _kept_at_most(kept: Floats) -> Floats:
    """Bound the chance to keep a walk by its line's shape: points cut corners, by an octave at most.

    So of most walks that are not kept, no points have to be drawn.
    """
    padded = np.pad(kept, ((_CUT_BINS, 0), (_CUT_BINS, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (_CUT_BINS + 1, _CUT_BINS + 1))
    most: Floats = windows.max(axis=(2, 3))
    return most


@inlined
def _trip(trips, n_zones, stream):  # type: ignore[no-untyped-def]
    """Draw the zones that a walk goes between; return them and the next free step."""
    draw, step = below(trips[-1], stream.seed, stream.trajectory, 0)
    trip = first_above(trips, draw)
    return trip // n_zones, trip % n_zones, step


@inlined
def _beginning(cumulative, origin, apart, stream, step):  # type: ignore[no-untyped-def]
    """Draw the level of a walk and its first cell in the zone `origin`; return them and the next free step."""
    levels, starts = cumulative.levels[apart], cumulative.starts
    draw, step = below(levels[-1], stream.seed, stream.trajectory, step)
    level = first_above(levels, draw)
    low, high = cumulative.firsts[origin], cumulative.firsts[origin + 1]
    before = starts[low - 1] if low > 0 else 0
    draw, step = below(starts[high - 1] - before, stream.seed, stream.trajectory, step)
    return level, cumulative.cells[first_above(starts, before + draw)], step


@borrowing
def _go(scratch, bridge, chain, stream, step):  # type: ignore[no-untyped-def]
    """Walk over a bridge, into the memory for cells and the links that lead to them.

    Return the number of cells and the next free step. A walk that cannot arrive has no cells.
    """
    links, shares, hitting = scratch.links, scratch.shares, chain.hitting[bridge.goal, bridge.level]
    rows, as_whole, targets = chain.rows, chain.as_whole, chain.targets
    row, n_cells, most = np.uint64(len(targets) + bridge.start), 0, min(len(links), MOST_CELLS)
    while n_cells < most:
        links[n_cells] = row
        if n_cells % AHEAD == 0:
            uniforms(shares, len(shares), stream, step, WALKING)
            step += AHEAD // 2
        share = shares[np.uint64(n_cells % AHEAD)]
        n_cells += 1
        link = np.uint64(as_whole[row, _LINK])
        for move in range(_MOVES):  # one of these rows is the next
            prefetch(rows, link + np.uint64(move))
        ending = rows[row, _END] if as_whole[row, _ZONE] == bridge.goal else 0.0
        # Sums of the first one, two, three and four; no product is negative, so none is below the one before.
        third = rows[row, 2] * hitting[link + _2]
        one = rows[row, 0] * hitting[link]
        two = ending + (one + rows[row, 1] * hitting[link + _1])
        one, three, total = ending + one, two + third, two + (third + rows[row, 3] * hitting[link + _3])
        four, n_more = total, as_whole[row, _N_MORE]
        if n_more:
            total = _sum_more(four, np.inf, row, hitting, chain)[0]
        target = total * share
        if target < ending:
            break
        if not target < total:  # nowhere to go, or numbers so small that rounding has passed by the last
            row = _last_possible(row, hitting, chain)
        elif target < four:
            row = link + np.uint64(one <= target) + np.uint64(two <= target) + np.uint64(three <= target)
        else:
            row = _sum_more(four, target, row, hitting, chain)[1]
        if row == _NOWHERE:
            return 0, step
    else:
        return (MORE if most < MOST_CELLS else 0), step
    scratch.cells[0] = bridge.start
    for k in range(1, n_cells):
        scratch.cells[k] = targets[links[k]]
    return n_cells, step


@borrowing
def _sum_more(total, target, row, hitting, chain):  # type: ignore[no-untyped-def]
    """Add what moves beyond the first four weigh, until a sum is above the target; return it, and that link."""
    first, link = chain.as_whole[row, _MORE], np.uint64(chain.as_whole[row, _LINK] + _MOVES)
    for k in range(chain.as_whole[row, _N_MORE]):
        total += chain.more[first + k] * hitting[link]
        if target < total:
            break
        link += _1
    return total, link


@borrowing
def _last_possible(row, hitting, chain):  # type: ignore[no-untyped-def]
    """Find the last link onward that weighs anything."""
    link, last = np.uint64(chain.as_whole[row, _LINK]), _NOWHERE
    for k in range(_MOVES):
        if chain.rows[row, k] * hitting[link + np.uint64(k)] > 0.0:
            last = link + np.uint64(k)
    for k in range(chain.as_whole[row, _N_MORE]):
        if chain.more[chain.as_whole[row, _MORE] + k] * hitting[link + np.uint64(_MOVES + k)] > 0.0:
            last = link + np.uint64(_MOVES + k)
    return last
