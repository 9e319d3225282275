"""Cut cells by a polygon: the piece of a cell is what of it lies inside, as trapezoids with level sides.

Between two neighboring heights at which an edge begins, ends or meets a side of the cell, edges do not meet, so
what lies inside is between the first and the second edge, the third and the fourth, and so on. These trapezoids
give the area, the center, the sides that the piece reaches, and points uniform in it, all without sampling.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.compiling import called, compiled, inlined
from privtrace.errors import SettingsError
from privtrace.space.area import Area, band_at, crossing, is_in_polygon, is_inside
from privtrace.trajectories import Floats, Integers

#: A piece below this share of its cell does not exist. It is as narrow as rounding in degrees, so that points
#: in it could not be told from points beside it; and a state that a billionth of a cell shares in is noise.
NEGLIGIBLE = 1e-9

#: A shared border counts from this share of the shorter side on; below, it may be rounding.
_STRETCH = 1e-6

#: Edges looked at while cutting one grid: seconds of work, a hundred times what a coastline needs.
_MAX_WORK = 1 << 29

_SIDE = -1  # stands for the side of the cell where an edge could stand
_NONE = -2


class Pieces(NamedTuple):
    """Hold the pieces of existing cells, for kernels. A cell that is wholly inside has no trapezoids."""

    offsets: Integers  # (n_cells + 1,): cell c has trapezoids[offsets[c]:offsets[c + 1]]
    trapezoids: Floats  # (n, 6): south, north, west at south and at north, east at south and at north
    cumulative: Floats  # (n,): area of a cell's trapezoids up to this one
    centers: Floats  # (n_cells, 2): a point inside


class _Cut(NamedTuple):
    """Hold what of each box is inside, before it is measured; fields as in `Pieces`."""

    done: bool  # False: there was too much to do
    full: npt.NDArray[np.bool_]  # (n_boxes,): wholly inside
    offsets: Integers
    trapezoids: Floats


def cut(boxes: Floats, area: Area) -> tuple[Floats, Pieces]:
    """Cut boxes by the region's polygon; return the share of each that is inside, and the pieces.

    The share is 1 for a box wholly inside, and 0 where no cell exists.
    """
    # As measured: 25 a box, and 2 an edge for each row of boxes, some of which it crosses.
    python_us = 25 * len(boxes) + 2 * len(area.edges) * math.isqrt(len(boxes))
    found = called(_cut, boxes, area, _MAX_WORK, python_us=python_us)
    if not found.done:
        raise SettingsError("the polygon is too complex to be cut into cells; simplify it")
    cumulative, centers, shares = called(_measured, boxes, area, found, python_us=python_us)
    return shares, Pieces(found.offsets, found.trapezoids, cumulative, centers)


def linked(i: Integers, j: Integers, boxes: Floats, pieces: Pieces) -> npt.NDArray[np.bool_]:
    """Tell whether the pieces of two cells touch, for pairs whose boxes do, as `Grid.touching` says."""
    python_us = 5 * len(i) + 15 * len(pieces.trapezoids)
    return called(_linked, i, j, boxes, pieces, python_us=python_us)  # type: ignore[no-any-return]


def chosen(pieces: Pieces, which: npt.NDArray[np.bool_]) -> Pieces:
    """Keep some of the pieces."""
    lengths = np.diff(pieces.offsets)
    keep = np.repeat(which, lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths[which])])
    return Pieces(offsets, pieces.trapezoids[keep], pieces.cumulative[keep], pieces.centers[which])


def whole(boxes: Floats) -> Pieces:
    """Make the pieces of boxes wholly inside."""
    centers = (boxes[:, :2] + boxes[:, 2:]) / 2
    return Pieces(np.zeros(len(boxes) + 1, np.int64), np.empty((0, 6)), np.empty(0), centers)


def stacked(grids: list[Pieces]) -> Pieces:
    """Put the pieces of several grids one after the other."""
    before = np.concatenate([[0], np.cumsum([len(pieces.trapezoids) for pieces in grids])])
    offsets = [pieces.offsets[1:] + first for pieces, first in zip(grids, before[:-1], strict=True)]
    return Pieces(
        np.concatenate([[0], *offsets]),
        np.concatenate([pieces.trapezoids for pieces in grids]),
        np.concatenate([pieces.cumulative for pieces in grids]),
        np.concatenate([pieces.centers for pieces in grids]),
    )


@compiled
def _cut(boxes, area, max_work):  # type: ignore[no-untyped-def]
    """Cut each box into strips and these into trapezoids; a trapezoid goes on while its two edges do."""
    trapezoids, n_trapezoids = np.empty((64, 6)), 0
    offsets = np.zeros(len(boxes) + 1, np.int64)
    full = np.zeros(len(boxes), np.bool_)
    capacity = len(area.edges) + 1
    local, heights = np.empty(capacity, np.int64), np.empty(4 * capacity)
    active, places = np.empty(capacity, np.int64), np.empty(capacity)
    lefts, rights, old_lefts = np.empty((3, capacity), np.int64)
    # By the rank of the left edge in local, and last for the side: what trapezoid is open there.
    open_right, last_strip = np.empty((2, capacity), np.int64)
    open_south = np.empty(capacity)
    work = 0
    for b in range(len(boxes)):
        box = boxes[b]
        n_local, n_heights, scanned = _gather(box, area, local, heights)
        work += scanned
        if work > max_work:
            return _Cut(False, full, offsets, trapezoids)
        if n_heights == 2:
            full[b] = is_in_polygon((box[0] + box[2]) / 2, (box[1] + box[3]) / 2, area)
            offsets[b + 1] = n_trapezoids
            continue
        _sort(heights[:n_heights], heights[:n_heights])
        for rank in range(n_local):
            places[rank] = area.edges[local[rank], 1]
        _sort(places[:n_local], local[:n_local])  # from the south up
        open_right[: n_local + 1] = _NONE
        last_strip[: n_local + 1] = -1
        n_begun, n_active, n_old = 0, 0, 0
        for strip in range(n_heights):
            south = heights[strip]
            n_now = 0
            if strip < n_heights - 1:
                if not south < heights[strip + 1]:
                    continue
                middle = south + (heights[strip + 1] - south) / 2
                n_begun, n_active = _advance(middle, area, local[:n_local], n_begun, active, n_active, places)
                n_now = _pairs(box, middle, area, local[:n_local], active[:n_active], places, lefts, rights)
                band = band_at(middle, area)
                work += n_active + area.bands[band + 1] - area.bands[band]
                if work > max_work:
                    return _Cut(False, full, offsets, trapezoids)
            for pair in range(n_now):
                if open_right[lefts[pair]] == rights[pair]:
                    last_strip[lefts[pair]] = strip
            for pair in range(n_old):
                left = old_lefts[pair]
                if last_strip[left] != strip:
                    if n_trapezoids == len(trapezoids):
                        trapezoids = np.concatenate((trapezoids, np.empty_like(trapezoids)))
                    edge = local[left] if left < n_local else _SIDE
                    _write_trapezoid(
                        trapezoids[n_trapezoids], box, area, edge, open_right[left], open_south[left], south
                    )
                    n_trapezoids += 1
                    open_right[left] = _NONE
            for pair in range(n_now):
                left = lefts[pair]
                if last_strip[left] != strip:
                    open_right[left], open_south[left], last_strip[left] = rights[pair], south, strip
                old_lefts[pair] = left
            n_old = n_now
        offsets[b + 1] = n_trapezoids
    return _Cut(True, full, offsets, trapezoids[:n_trapezoids].copy())


@compiled
def _gather(box, area, local, heights):  # type: ignore[no-untyped-def]
    """List the edges that pass through a box, and the heights at which they begin, end or meet its sides."""
    west, south, east, north = box
    edges = area.edges
    heights[0], heights[1] = south, north
    n_local, n_heights, scanned = 0, 2, 0
    first = band_at(south, area)
    for band in range(first, band_at(north, area) + 1):
        for e in range(area.bands[band], area.bands[band + 1]):
            scanned += 1
            low, high = edges[e, 1], edges[e, 3]
            # An edge stands in many bands; it counts in the first of them that the box meets.
            if band != max(first, band_at(low, area)) or high <= south or low >= north:
                continue
            if low == high:
                if min(edges[e, 0], edges[e, 2]) < east and max(edges[e, 0], edges[e, 2]) > west:
                    heights[n_heights] = low
                    n_heights += 1
                continue
            start, end = crossing(edges, e, max(low, south)), crossing(edges, e, min(high, north))
            if max(start, end) <= west or min(start, end) >= east:
                continue
            local[n_local] = e
            n_local += 1
            for height in (low, high):
                if south < height < north:
                    heights[n_heights] = height
                    n_heights += 1
            for side in (west, east):
                if min(start, end) < side < max(start, end):
                    height = low + (side - edges[e, 0]) * ((high - low) / (edges[e, 2] - edges[e, 0]))
                    heights[n_heights] = min(max(height, south), north)
                    n_heights += 1
    # An edge may pass from south to north and add no height; the box is cut all the same.
    if n_local > 0:
        heights[n_heights] = north
        n_heights += 1
    return n_local, n_heights, scanned


@compiled
def _advance(height, area, local, n_begun, active, n_active, places):  # type: ignore[no-untyped-def]
    """Go up to a height: list the ranks of the edges that pass it, from west to east, with their places."""
    n_kept = 0
    for k in range(n_active):
        if area.edges[local[active[k]], 3] > height:
            active[n_kept] = active[k]
            n_kept += 1
    while n_begun < len(local) and area.edges[local[n_begun], 1] <= height:
        if area.edges[local[n_begun], 3] > height:
            active[n_kept] = n_begun
            n_kept += 1
        n_begun += 1
    for k in range(n_kept):
        places[k] = crossing(area.edges, local[active[k]], height)
    _sort(places[:n_kept], active[:n_kept])
    return n_begun, n_kept


@compiled
def _sort(keys, values):  # type: ignore[no-untyped-def]
    """Sort keys in place, and values along with them, by Shell's method.

    Keys that are nearly in order are done at once, and it compiles in a tenth of the time of numpy's sorting.
    """
    gap = 1
    while 3 * gap < len(keys):
        gap = 3 * gap + 1
    while gap > 0:
        for k in range(gap, len(keys)):
            key, value, place = keys[k], values[k], k
            while place >= gap and keys[place - gap] > key:
                keys[place], values[place] = keys[place - gap], values[place - gap]
                place -= gap
            keys[place], values[place] = key, value
        gap //= 3


@compiled
def _pairs(box, height, area, local, active, places, lefts, rights):  # type: ignore[no-untyped-def]
    """Find what is inside at a height: ranks of left edges (the last is the west side), and right edges."""
    inside = is_in_polygon(box[0], height, area)
    left, n_pairs = len(local), 0
    for k in range(len(active)):
        if box[0] < places[k] < box[2]:
            if inside:
                lefts[n_pairs], rights[n_pairs] = left, local[active[k]]
                n_pairs += 1
            left, inside = active[k], not inside
    if inside:
        lefts[n_pairs], rights[n_pairs] = left, _SIDE
        n_pairs += 1
    return n_pairs


@compiled
def _write_trapezoid(trapezoid, box, area, left, right, south, north):  # type: ignore[no-untyped-def]
    """Write a trapezoid between two edges, or an edge and a side."""
    trapezoid[0], trapezoid[1] = south, north
    for end in range(2):
        height = trapezoid[end]
        west = box[0] if left == _SIDE else crossing(area.edges, left, height)
        east = box[2] if right == _SIDE else crossing(area.edges, right, height)
        trapezoid[2 + end] = min(max(west, box[0]), box[2])
        trapezoid[4 + end] = max(min(max(east, box[0]), box[2]), trapezoid[2 + end])


@compiled
def _measured(boxes, area, found):  # type: ignore[no-untyped-def]
    """Add up areas, find centers, and decide which cells exist."""
    offsets, trapezoids = found.offsets, found.trapezoids
    cumulative = np.empty(len(trapezoids))
    centers = (boxes[:, :2] + boxes[:, 2:]) / 2
    shares = found.full.astype(np.float64)
    for b in range(len(boxes)):
        total, most, x, y = 0.0, 0.0, 0.0, 0.0
        for t in range(offsets[b], offsets[b + 1]):
            south, north, west0, west1, east0, east1 = trapezoids[t]
            width0, width1 = east0 - west0, east1 - west1
            size = (north - south) * (width0 + width1) / 2
            middle_x, middle_y = (west0 + west1 + east0 + east1) / 4, (south + north) / 2
            x, y = x + size * (middle_x - boxes[b, 0]), y + size * (middle_y - boxes[b, 1])
            total += size
            cumulative[t] = total
            if size > most:
                most, centers[b, 0], centers[b, 1] = size, middle_x, middle_y
        if total <= NEGLIGIBLE * (boxes[b, 2] - boxes[b, 0]) * (boxes[b, 3] - boxes[b, 1]):
            continue
        # A center that rounding puts outside is that of a piece too narrow for any point.
        if is_inside(centers[b, 0], centers[b, 1], area):
            shares[b] = min(total / ((boxes[b, 2] - boxes[b, 0]) * (boxes[b, 3] - boxes[b, 1])), 1.0)
        x, y = boxes[b, 0] + x / total, boxes[b, 1] + y / total
        if is_inside(x, y, area):
            centers[b, 0], centers[b, 1] = x, y
    return cumulative, centers, shares


@compiled
def _linked(i, j, boxes, pieces):  # type: ignore[no-untyped-def]
    links = np.ones(len(i), np.bool_)
    for pair in range(len(i)):
        a, b = i[pair], j[pair]
        if pieces.offsets[a] == pieces.offsets[a + 1] and pieces.offsets[b] == pieces.offsets[b + 1]:
            continue
        for axis in range(2):
            if boxes[a, axis] > boxes[b, axis]:
                a, b = b, a  # so that a is to the west, or else to the south
                break
            if boxes[a, axis] < boxes[b, axis]:
                break
        beside = boxes[a, 2] == boxes[b, 0]
        above = boxes[a, 3] == boxes[b, 1]
        below = boxes[a, 1] == boxes[b, 3]
        if beside and (above or below):
            x, y = boxes[a, 2], boxes[a, 3] if above else boxes[a, 1]
            links[pair] = _reaches(a, x, y, boxes, pieces) and _reaches(b, x, y, boxes, pieces)
        elif beside:
            least = _STRETCH * min(boxes[a, 3] - boxes[a, 1], boxes[b, 3] - boxes[b, 1])
            links[pair] = _shared(a, b, 0, boxes, pieces) > least
        else:
            if below:
                a, b = b, a
            least = _STRETCH * min(boxes[a, 2] - boxes[a, 0], boxes[b, 2] - boxes[b, 0])
            links[pair] = _shared(a, b, 1, boxes, pieces) > least
    return links


@compiled
def _reaches(cell, x, y, boxes, pieces):  # type: ignore[no-untyped-def]
    """Tell whether a piece reaches a corner of its cell, to within rounding."""
    if pieces.offsets[cell] == pieces.offsets[cell + 1]:
        return True
    near_x = NEGLIGIBLE * (boxes[cell, 2] - boxes[cell, 0])
    near_y = NEGLIGIBLE * (boxes[cell, 3] - boxes[cell, 1])
    for t in range(pieces.offsets[cell], pieces.offsets[cell + 1]):
        if _is_sliver(cell, t, boxes, pieces):
            continue
        for end in range(2):
            trapezoid = pieces.trapezoids[t, end::2]  # height, west and east of this end
            if abs(trapezoid[0] - y) <= near_y and trapezoid[1] - near_x <= x <= trapezoid[2] + near_x:
                return True
    return False


@compiled
def _shared(a, b, axis, boxes, pieces):  # type: ignore[no-untyped-def]
    """Measure the border that two pieces share: a's east is b's west (axis 0), or a's north b's south (1)."""
    lows, highs = _reach(a, axis, 1, boxes, pieces)
    other_lows, other_highs = _reach(b, axis, 0, boxes, pieces)
    total, s, t = 0.0, 0, 0
    while s < len(lows) and t < len(other_lows):
        total += max(0.0, min(highs[s], other_highs[t]) - max(lows[s], other_lows[t]))
        if highs[s] < other_highs[t]:
            s += 1
        else:
            t += 1
    return total


@compiled
def _reach(cell, axis, end, boxes, pieces):  # type: ignore[no-untyped-def]
    """List the stretches of a cell's side that its piece reaches, in order: where they begin and end.

    The side is the west or east one (axis 0, end 0 or 1), or the south or north one (axis 1).
    """
    first, last = pieces.offsets[cell], pieces.offsets[cell + 1]
    lows, highs = np.empty(max(1, last - first)), np.empty(max(1, last - first))
    lows[0], highs[0] = boxes[cell, 1 - axis], boxes[cell, 3 - axis]
    if first == last:
        return lows, highs
    side, near = boxes[cell, axis + 2 * end], NEGLIGIBLE * (boxes[cell, axis + 2] - boxes[cell, axis])
    n = 0
    for t in range(first, last):
        if _is_sliver(cell, t, boxes, pieces):
            continue
        trapezoid = pieces.trapezoids[t]
        if axis == 1 and abs(trapezoid[end] - side) <= near:
            lows[n], highs[n] = trapezoid[2 + end], trapezoid[4 + end]
            n += 1
        elif axis == 0 and max(abs(trapezoid[2 + 2 * end] - side), abs(trapezoid[3 + 2 * end] - side)) <= near:
            lows[n], highs[n] = trapezoid[0], trapezoid[1]
            n += 1
    _sort(lows[:n], highs[:n])
    return lows[:n], highs[:n]


@inlined
def _is_sliver(cell, t, boxes, pieces):  # type: ignore[no-untyped-def]
    """Tell whether a trapezoid may come from rounding, where an edge runs along a side or past a corner."""
    before = pieces.cumulative[t - 1] if t > pieces.offsets[cell] else 0.0
    size = (boxes[cell, 2] - boxes[cell, 0]) * (boxes[cell, 3] - boxes[cell, 1])
    return pieces.cumulative[t] - before <= NEGLIGIBLE * size
