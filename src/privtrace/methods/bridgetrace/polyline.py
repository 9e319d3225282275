"""Lead a smooth line through the cells of a path, over the sides that they share, and set points on it.

A line crosses each side at a place that is drawn evenly along it and then pulled toward where a taut string
would cross. People walk neither at random nor on strings; docs/methods/bridgetrace.md says how far to pull.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from privtrace.methods.bridgetrace.shapes import shape_of
from privtrace.methods.common.placing import in_piece
from privtrace.paths import Paths
from privtrace.random import PLACING, philox, uniform
from privtrace.space.adjacency import Adjacency, link_between
from privtrace.space.area import Area, is_inside
from privtrace.space.grid import Grid
from privtrace.space.pieces import Pieces
from privtrace.trajectories import Floats, Trajectories

#: How far crossings are pulled from where they were drawn toward where a taut string would be.
STRAIGHTNESS = 0.5

#: Rounds of pulling the string taut, of which each carries a bend a side further.
_PULLS = 4

#: Steps in which a point outside a polygon is pulled inside.
_PULLS_INSIDE = 16


class Sides(NamedTuple):
    """Hold the sides that links lead over and the cells between them, for kernels."""

    links: Adjacency
    axis: npt.NDArray[np.int8]  # (n_links,): 0 where the side runs north, so that x is the same all along it
    at: Floats  # (n_links,): the coordinate that is the same
    low: Floats  # (n_links,): from where to where the other one goes
    high: Floats
    boxes: Floats  # (n_cells, 4)
    pieces: Pieces
    area: Area
    scale_m: tuple[float, float]


def sides(grid: Grid, links: Adjacency) -> Sides:
    """Find the side that each link leads over."""
    a, b = grid.boxes[links.sources], grid.boxes[links.targets]
    low, high = np.maximum(a[:, :2], b[:, :2]), np.minimum(a[:, 2:], b[:, 2:])
    axis = (high[:, 0] > low[:, 0]).astype(np.int8)  # boxes that share a side overlap along it alone
    links_at = np.arange(len(axis))
    at = np.maximum(low, high)[links_at, axis]
    return Sides(
        links,
        axis,
        at,
        low[links_at, 1 - axis],
        high[links_at, 1 - axis],
        grid.boxes,
        grid.pieces,
        grid.region.area,
        grid.region.scale_m,
    )


def place_on_lines(
    paths: Paths, grid: Grid, sides: Sides, spacing_m: float, first_trajectory: int, seed: int
) -> Trajectories:
    """Turn paths, numbered from `first_trajectory`, into trajectories with points about spacing_m apart.

    The first and the last point are the line's ends. A point depends on the seed, its trajectory's number and
    its path alone.
    """
    points, offsets = _place(paths.cells, paths.offsets, sides, spacing_m, first_trajectory, np.uint64(seed))
    assert grid.region.crs is not None
    return Trajectories(points, offsets, crs=grid.region.crs)


class Scratch(NamedTuple):
    """Hold scratch memory for the line of one path."""

    line: Floats  # (n + 1, 2): the start, a place on each side, and the end
    links: npt.NDArray[np.int64]  # (n,): the link between each cell and the next
    drawn: Floats  # (n,): where on its side each place was drawn


@njit(cache=True, nogil=True)
def scratch_for(n_cells):  # type: ignore[no-untyped-def]
    """Make scratch memory for a path with up to so many cells."""
    return Scratch(np.empty((n_cells + 1, 2)), np.empty(n_cells, np.int64), np.empty(n_cells))


@njit(cache=True, nogil=True)
def draw_line(scratch, cells, first, last, sides, seed, trajectory):  # type: ignore[no-untyped-def]
    """Draw the line of the path cells[first:last] into scratch.line[: last - first + 1]."""
    line, over, drawn = scratch.line, scratch.links, scratch.drawn
    n_cells = last - first
    for end in range(2):
        words = philox(seed, trajectory, np.uint64(end), np.uint64(PLACING))
        cell = cells[last - 1] if end else cells[first]
        x, y = in_piece(cell, (uniform(words[0]), uniform(words[1])), sides.boxes, sides.pieces)
        line[n_cells if end else 0, 0], line[n_cells if end else 0, 1] = x, y
    if n_cells == 1:
        # A trip that stays in its cell may be as short as can be.
        words = philox(seed, trajectory, np.uint64(2), np.uint64(PLACING))
        for axis in range(2):
            line[1, axis] = line[0, axis] + uniform(words[0]) * (line[1, axis] - line[0, axis])
        return
    for k in range(1, n_cells):
        link = link_between(np.int64(cells[first + k - 1]), np.int64(cells[first + k]), sides.links)
        over[k] = link
        if link < 0:  # over a polygon's gap there is no side: the middle between both cells will do
            for axis in range(2):
                here, there = (
                    sides.pieces.centers[cells[first + k - 1], axis],
                    sides.pieces.centers[cells[first + k], axis],
                )
                line[k, axis] = (here + there) / 2
            continue
        share = uniform(philox(seed, trajectory, np.uint64(2 + k), np.uint64(PLACING))[0])
        axis = sides.axis[link]
        drawn[k] = sides.low[link] + share * (sides.high[link] - sides.low[link])
        line[k, axis], line[k, 1 - axis] = sides.at[link], drawn[k]
    for _ in range(_PULLS):
        for k in range(1, n_cells):
            if over[k] >= 0:
                _pull(line, k, sides, over[k])
    for k in range(1, n_cells):
        if over[k] >= 0:
            along = 1 - sides.axis[over[k]]
            line[k, along] = drawn[k] + STRAIGHTNESS * (line[k, along] - drawn[k])


@njit(cache=True, nogil=True, inline="always")
def _pull(line, k, sides, link):  # type: ignore[no-untyped-def]
    """Move a place along its side to where the straight line between its neighbors passes nearest."""
    axis, along = sides.axis[link], 1 - sides.axis[link]
    across = line[k + 1, axis] - line[k - 1, axis]
    share = 0.5
    if across != 0.0:
        share = min(max((sides.at[link] - line[k - 1, axis]) / across, 0.0), 1.0)
    place = line[k - 1, along] + share * (line[k + 1, along] - line[k - 1, along])
    line[k, along] = min(max(place, sides.low[link]), sides.high[link])


@njit(cache=True, nogil=True)
def _place(cells, offsets, sides, spacing_m, first_trajectory, seed):  # type: ignore[no-untyped-def]
    points = np.empty((4 * len(cells) + 16, 2))
    point_offsets = np.zeros(len(offsets), np.int64)
    n_points = 0
    scratch = scratch_for(64)
    for path in range(len(offsets) - 1):
        first, last = offsets[path], offsets[path + 1]
        if first < last:
            if last - first > len(scratch.links):
                scratch = scratch_for(2 * (last - first))
            trajectory = np.uint64(first_trajectory + path)
            draw_line(scratch, cells, first, last, sides, seed, trajectory)
            length_m = shape_of(scratch.line, last - first + 1, sides.scale_m)[1]
            # Rounded up or down at random, so that spacing is right on average.
            words = philox(seed, trajectory, np.uint64(2), np.uint64(PLACING))
            n_gaps = max(1, int(min(length_m / spacing_m, 1e9) + uniform(words[1])))
            while n_points + n_gaps + 1 > len(points):
                points = np.concatenate((points, np.empty_like(points)))
            _set_out(points, n_points, n_gaps, length_m, scratch.line, cells, first, last, sides)
            n_points += n_gaps + 1
        point_offsets[path + 1] = n_points
    return points[:n_points].copy(), point_offsets


@njit(cache=True, nogil=True)
def _set_out(points, n_points, n_gaps, length_m, line, cells, first, last, sides):  # type: ignore[no-untyped-def]
    """Set points on a line, n_gaps + 1 of them, as far apart along it."""
    n_cells = last - first
    k, before = 0, 0.0  # the stretch in hand, and the length before it
    stretch = _stretch_m(line, 0, sides.scale_m)
    for gap in range(n_gaps + 1):
        goal = length_m * gap / n_gaps
        while k < n_cells - 1 and before + stretch < goal:
            before += stretch
            k += 1
            stretch = _stretch_m(line, k, sides.scale_m)
        share = min(max((goal - before) / stretch, 0.0), 1.0) if stretch > 0.0 else 0.0
        if gap == n_gaps:
            k, share = n_cells - 1, 1.0
        box = sides.boxes[cells[first + k]]
        x = min(max(line[k, 0] + share * (line[k + 1, 0] - line[k, 0]), box[0]), box[2])
        y = min(max(line[k, 1] + share * (line[k + 1, 1] - line[k, 1]), box[1]), box[3])
        if not sides.area.is_box:
            x, y = _kept_inside(x, y, cells[first + k], sides)
        points[n_points + gap, 0] = x - sides.area.turn if x > 180.0 else x
        points[n_points + gap, 1] = y


@njit(cache=True, nogil=True, inline="always")
def _stretch_m(line, k, scale_m):  # type: ignore[no-untyped-def]
    x, y = (line[k + 1, 0] - line[k, 0]) * scale_m[0], (line[k + 1, 1] - line[k, 1]) * scale_m[1]
    return math.sqrt(x * x + y * y)


@njit(cache=True, nogil=True)
def _kept_inside(x, y, cell, sides):  # type: ignore[no-untyped-def]
    """Pull a point of a line that has left the polygon toward a place inside, as far as it must."""
    to_x, to_y = sides.pieces.centers[cell, 0], sides.pieces.centers[cell, 1]
    for pull in range(_PULLS_INSIDE):
        share = pull / _PULLS_INSIDE
        near_x, near_y = x + share * (to_x - x), y + share * (to_y - y)
        if is_inside(near_x, near_y, sides.area):
            return near_x, near_y
    return to_x, to_y
