"""Lead a smooth line through the cells of a path, over the sides that they share, and set points on it.

A line crosses each side at a place that is drawn evenly along it and then pulled toward where a taut string
would cross. People walk neither at random nor on strings; docs/methods/bridgetrace.md says how far to pull.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.compiling import borrowing, compiled, inlined
from privtrace.methods.common.placing import in_piece
from privtrace.paths import Paths
from privtrace.random import PLACING, Stream, uniforms
from privtrace.space.adjacency import Adjacency, link_between
from privtrace.space.area import Area, is_inside
from privtrace.space.grid import Grid
from privtrace.space.pieces import Pieces
from privtrace.space.shapes import length_of, shape_bin
from privtrace.timing.draw import (
    Draws,
    Placed,
    Reports,
    draw_reports,
    has_clock,
    most_spaced,
    number_of_points,
    reports_for,
    spaced_reports,
)
from privtrace.trajectories import Floats

# Lines of a finished model depend on these: they are the same for every file.

#: How far crossings are pulled from where they were drawn toward where a taut string would be: random places
#: make lines too long, and a string runs along the borders of cells (docs/methods/bridgetrace-notebook.md
#: has the errors).
STRAIGHTNESS = 0.5

#: The string is pulled taut in four rounds, of which each carries a bend a side further: cells beyond hardly
#: matter. So many places is the last behind the first.
_MARGIN = 6

#: The first step of the stream that places are drawn by; the one before is for the number of points that are
#: evenly spaced.
_FIRST_PLACE = 3

#: Steps in which a point outside a polygon is pulled inside: its cell's center is inside for certain.
_PULLS_INSIDE = 16

#: Steps of a walk whose random numbers are drawn at once.
AHEAD = 16

#: Points to a cell of a path from which on the line through them is as good as its own.
MANY_POINTS = 2


#: Places that are counted from the start for certain.
_0, _1, _2, _3, _4, _6 = (np.uint64(place) for place in (0, 1, 2, 3, 4, 6))


class Geometry(NamedTuple):
    """Hold where cells are and how they meet, for kernels."""

    links: Adjacency
    sides: Floats  # (n_links, 4): the boxes of the sides that links lead over
    boxes: Floats  # (n_cells, 4)
    pieces: Pieces
    area: Area
    scale_m: tuple[float, float]


class Placing(NamedTuple):
    """Say how points are set on lines: as far apart as this, or, where it is 0, as trips are reported."""

    spacing_m: float
    draws: Draws


def sides(grid: Grid, links: Adjacency) -> Floats:
    """Find the boxes of the sides that links lead over, which are flat along one axis: (n_links, 4)."""
    a, b = grid.boxes[links.sources], grid.boxes[links.targets]
    return np.hstack([np.maximum(a[:, :2], b[:, :2]), np.minimum(a[:, 2:], b[:, 2:])])


def geometry(grid: Grid, links: Adjacency) -> Geometry:
    """Gather what lines have to know of a grid."""
    return Geometry(
        links=links,
        sides=sides(grid, links),
        boxes=grid.boxes,
        pieces=grid.pieces,
        area=grid.region.area,
        scale_m=grid.region.scale_m,
    )


def place_on_lines(
    paths: Paths, geometry: Geometry, placing: Placing, first_trajectory: int, seed: int
) -> Placed:
    """Set points on the lines of paths, numbered from `first_trajectory`.

    The first and the last point are the line's ends. A point depends on the seed, its trajectory's number and
    its path alone.
    """
    return Placed(*_place(paths.cells, paths.offsets, geometry, placing, first_trajectory, np.uint64(seed)))


class Scratch(NamedTuple):
    """Hold scratch memory for one path, its line, and the points on that."""

    cells: npt.NDArray[np.int32]  # (n,): the path
    links: npt.NDArray[np.int64]  # (n,): the link that leads to each cell but the first; -1 where none does
    line: Floats  # (n + 1, 2): the start, a place on each side, and the end
    sides: Floats  # (n + 13, 4): the boxes of the sides that it passes over, between its ends
    stretches: Floats  # (n,): the length of the line in each cell
    drawn: Floats  # (n + 5,): where on its side each place was drawn, as a share
    shares: Floats  # random numbers of the next steps
    reports: Reports  # where on the line its points are, and when
    points: Floats  # (m, 2): these points; across the antimeridian, longitudes go on beyond 180


@compiled
def scratch_for(n_cells, n_points):  # type: ignore[no-untyped-def]
    """Make scratch memory for a path with up to so many cells and points."""
    return Scratch(
        np.empty(n_cells, np.int32),
        np.empty(n_cells, np.int64),
        np.empty((n_cells + 1, 2)),
        np.empty((n_cells + 2 * _MARGIN + 1, 4)),
        np.empty(n_cells),
        np.empty(n_cells + 5),
        np.empty(AHEAD),
        reports_for(n_points),
        np.empty((n_points, 2)),
    )


@compiled
def with_points_for(scratch, n_points):  # type: ignore[no-untyped-def]
    """Make more scratch memory for points: for up to so many."""
    reports, points = reports_for(n_points), np.empty((n_points, 2))
    return Scratch(
        scratch.cells,
        scratch.links,
        scratch.line,
        scratch.sides,
        scratch.stretches,
        scratch.drawn,
        scratch.shares,
        reports,
        points,
    )


@borrowing
def take_path(scratch, cells, links):  # type: ignore[no-untyped-def]
    """Take a path as it is given."""
    for k in range(len(cells)):
        scratch.cells[k] = cells[k]
        if k > 0:
            scratch.links[k] = link_between(np.int64(cells[k - 1]), np.int64(cells[k]), links)


@borrowing
def draw_line(scratch, n_cells, geometry, stream):  # type: ignore[no-untyped-def]
    """Draw the line of a path of so many cells into scratch.line[: n_cells + 1]; return its length."""
    cells, line, drawn = scratch.cells, scratch.line, scratch.drawn
    uniforms(drawn, n_cells + 4, stream, _FIRST_PLACE, PLACING)
    for end in range(2):
        cell, k = (cells[n_cells - 1], n_cells) if end else (cells[0], 0)
        shares = drawn[n_cells + 2 * end], drawn[n_cells + 2 * end + 1]
        line[k, 0], line[k, 1] = in_piece(cell, shares, geometry.boxes, geometry.pieces)
    if n_cells == 1:
        # A trip that stays in its cell may be as short as can be.
        for axis in range(2):
            line[1, axis] = line[0, axis] + drawn[0] * (line[1, axis] - line[0, axis])
        return _measure(scratch, 1, geometry.scale_m)
    for k in range(1, n_cells):
        _cross(scratch, k, geometry)
    _pull_taut(scratch, n_cells)
    return _measure(scratch, n_cells, geometry.scale_m)


@inlined
def _cross(scratch, k, geometry):  # type: ignore[no-untyped-def]
    """Let a line enter the cell k of its path anywhere on the side before it, by a share that was drawn."""
    line, share, side, link = scratch.line, scratch.drawn[k], scratch.sides[k + _MARGIN], scratch.links[k]
    if link < 0:  # over a polygon's gap there is no side: the middle between both cells will do
        centers, before, after = geometry.pieces.centers, scratch.cells[k - 1], scratch.cells[k]
        line[k, 0] = (centers[before, 0] + centers[after, 0]) / 2
        line[k, 1] = (centers[before, 1] + centers[after, 1]) / 2
        side[0], side[1], side[2], side[3] = line[k, 0], line[k, 1], line[k, 0], line[k, 1]
        return
    west, south, east, north = geometry.sides[link]
    side[0], side[1], side[2], side[3] = west, south, east, north
    line[k, 0], line[k, 1] = west + share * (east - west), south + share * (north - south)


@borrowing
def _pull_taut(scratch, n_cells):  # type: ignore[no-untyped-def]
    """Pull the places of a line in four rounds toward where a taut string would cross.

    Each round is two places behind the one before. So it sees what it would see after it: behind it its own
    last place, and before it that of the other round. All of these are at hand, and no round waits for another.
    """
    line, sides = scratch.line, scratch.sides
    for margin in range(_MARGIN + 1):  # the ends stay: as if over sides that are no longer than a point
        for axis in range(2):
            sides[_MARGIN - margin, axis] = sides[_MARGIN - margin, 2 + axis] = line[0, axis]
            sides[_MARGIN + n_cells + margin, axis] = line[n_cells, axis]
            sides[_MARGIN + n_cells + margin, 2 + axis] = line[n_cells, axis]
    first = second = third = fourth = line[0, 0], line[0, 1]
    for k in range(1 - _MARGIN, n_cells):  # the place of the last round
        place, next_drawn = np.uint64(k + _MARGIN), min(k + _MARGIN + 1, n_cells)
        fourth = _pulled(fourth, third, place, sides)
        third = _pulled(third, second, place + _2, sides)
        second = _pulled(second, first, place + _4, sides)
        first = _pulled(first, (line[next_drawn, 0], line[next_drawn, 1]), place + _6, sides)
        if k > 0:
            line[k, 0] += STRAIGHTNESS * (fourth[0] - line[k, 0])
            line[k, 1] += STRAIGHTNESS * (fourth[1] - line[k, 1])


@inlined
def _pulled(before, after, place, sides):  # type: ignore[no-untyped-def]
    """Find where on its side a place is nearest to the straight line between its neighbors."""
    x, y = before
    west, south, east, north = sides[place, _0], sides[place, _1], sides[place, _2], sides[place, _3]
    x_across, y_across = after[0] - x, after[1] - y
    x_until, y_until = west - x, south - y
    # Both are worked out, and one is chosen by comparing numbers: a branch would often be guessed wrong.
    across, until = (x_across, x_until) if west == east else (y_across, y_until)
    share = min(max(until / across, 0.0), 1.0) if across != 0.0 else 0.5
    return min(max(x + share * x_across, west), east), min(max(y + share * y_across, south), north)


@inlined
def _measure(scratch, n_cells, scale_m):  # type: ignore[no-untyped-def]
    """Measure the stretches of a line, each within a cell; return the length of all."""
    line, stretches, length_m = scratch.line, scratch.stretches, 0.0
    for k in range(n_cells):
        x, y = (line[k + 1, 0] - line[k, 0]) * scale_m[0], (line[k + 1, 1] - line[k, 1]) * scale_m[1]
        stretches[k] = math.sqrt(x * x + y * y)
    for k in range(n_cells):
        length_m += stretches[k]
    return length_m


@compiled
def _place(cells, offsets, geometry, placing, first_trajectory, seed):  # type: ignore[no-untyped-def]
    points, seconds = points_for(4 * len(cells) + 16, has_clock(placing.draws))
    point_offsets = np.zeros(len(offsets), np.int64)
    longest = max(1, np.max(np.diff(offsets))) if len(offsets) > 1 else 1
    scratch, total = scratch_for(longest, placing.draws.most_points), 0
    for path in range(len(offsets) - 1):
        n_cells = offsets[path + 1] - offsets[path]
        if n_cells:
            stream = Stream(seed, np.uint64(first_trajectory + path))
            take_path(scratch, cells[offsets[path] : offsets[path + 1]], geometry.links)
            length_m = draw_line(scratch, n_cells, geometry, stream)
            if most_points(length_m, placing) > len(scratch.points):
                scratch = with_points_for(scratch, 2 * most_points(length_m, placing))
            n_points = reported_points(length_m, placing, stream)
            n_points = report(scratch, n_cells, length_m, n_points, placing, geometry, stream)
            if total + n_points > len(points):
                points, seconds = grown(points, seconds, total + n_points)
            add(points, seconds, total, scratch, n_points, geometry.area.turn)
            total += n_points
        point_offsets[path + 1] = total
    return points[:total].copy(), point_offsets, seconds[:total].copy()


@compiled
def points_for(n_points, with_seconds):  # type: ignore[no-untyped-def]
    """Make memory for about so many points, one after the other, and for their seconds."""
    return np.empty((n_points, 2)), np.empty(n_points if with_seconds else 0)


@compiled
def grown(points, seconds, n_points):  # type: ignore[no-untyped-def]
    """Make more of this memory, for so many points at least."""
    while n_points > len(points):
        points = np.concatenate((points, np.empty_like(points)))
        seconds = np.concatenate((seconds, np.empty_like(seconds)))
    return points, seconds


@borrowing
def add(points, seconds, total, scratch, n_points, turn):  # type: ignore[no-untyped-def]
    """Copy the points of a line behind those that are there."""
    for p in range(n_points):
        x = scratch.points[p, 0]
        points[total + p, 0] = x - turn if x > 180.0 else x
        points[total + p, 1] = scratch.points[p, 1]
    if len(seconds):
        for p in range(n_points):
            seconds[total + p] = scratch.reports.seconds[p]


@borrowing
def most_points(length_m, placing):  # type: ignore[no-untyped-def]
    """Bound the points of a line."""
    return most_spaced(length_m, placing.spacing_m) if placing.spacing_m > 0.0 else placing.draws.most_points


@borrowing
def reported_points(length_m, placing, stream):  # type: ignore[no-untyped-def]
    """Draw by how many points a line of such a length is reported; 0 where their distance is set."""
    return 0 if placing.spacing_m > 0.0 else number_of_points(length_m, placing.draws, stream)


@borrowing
def report(scratch, n_cells, length_m, n_points, placing, geometry, stream):  # type: ignore[no-untyped-def]
    """Set points on the line of a path of so many cells, which is so long; return their number.

    `n_points` is what `reported_points` says. Points cut corners. Where they are not many, and the line through
    them is of another bin of length than its own, they are drawn anew, as many as that has.
    """
    reports, draws = scratch.reports, placing.draws
    if placing.spacing_m > 0.0:
        n_points = spaced_reports(reports, length_m, placing.spacing_m, stream)
    else:
        n_points = draw_reports(reports, n_points, length_m, length_m, draws, stream)
    _set_out(scratch, n_points, n_cells, geometry)
    if placing.spacing_m == 0.0 and n_points <= MANY_POINTS * n_cells:
        made_m = length_of(scratch.points, n_points, geometry.scale_m)
        if shape_bin(made_m, draws.edges) != shape_bin(length_m, draws.edges):
            n_points = number_of_points(made_m, draws, stream)
            n_points = draw_reports(reports, n_points, length_m, made_m, draws, stream)
            _set_out(scratch, n_points, n_cells, geometry)
    return n_points


@borrowing
def _set_out(scratch, n_points, n_cells, geometry):  # type: ignore[no-untyped-def]
    """Set as many points on the line of a path of so many cells as the reports say, where they say."""
    along_m, p, until = scratch.reports.along_m, _0, 0.0
    last = np.uint64(max(n_points - 1, 1))
    for k in range(n_cells):  # the stretch in hand, which ends at `until`
        before, stretch, is_last = until, scratch.stretches[k], k == n_cells - 1
        until = before + stretch
        if p < last and (along_m[p] <= until or is_last):
            per_meter, within = 1.0 / stretch if stretch > 0.0 else 0.0, _stretch(scratch, k, geometry)
            while p < last and (along_m[p] <= until or is_last):
                share = min(max((along_m[p] - before) * per_meter, 0.0), 1.0)
                _set(scratch.points, p, share, within, scratch.cells[k], geometry)
                p += _1
    # The last of several points is the line's end, wherever rounding may have left it.
    if n_points > 1:
        _set(
            scratch.points,
            last,
            1.0,
            _stretch(scratch, n_cells - 1, geometry),
            scratch.cells[n_cells - 1],
            geometry,
        )


@inlined
def _stretch(scratch, k, geometry):  # type: ignore[no-untyped-def]
    """Tell where the stretch k of a line begins and how far it goes, and the box of its cell."""
    line, cell, boxes = scratch.line, scratch.cells[k], geometry.boxes
    x, y = line[k, 0], line[k, 1]
    box = boxes[cell, 0], boxes[cell, 1], boxes[cell, 2], boxes[cell, 3]
    return (x, y), (line[k + 1, 0] - x, line[k + 1, 1] - y), box


@inlined
def _set(points, p, share, stretch, cell, geometry):  # type: ignore[no-untyped-def]
    """Set a point on a stretch of a line, behind this share of it."""
    start, across, (west, south, east, north) = stretch
    x = min(max(start[0] + share * across[0], west), east)
    y = min(max(start[1] + share * across[1], south), north)
    if not geometry.area.is_box:
        x, y = _kept_inside(x, y, cell, geometry)
    points[p, 0], points[p, 1] = x, y


@borrowing
def _kept_inside(x, y, cell, geometry):  # type: ignore[no-untyped-def]
    """Pull a point of a line that has left the polygon toward a place inside, as far as it must."""
    to_x, to_y = geometry.pieces.centers[cell, 0], geometry.pieces.centers[cell, 1]
    for pull in range(_PULLS_INSIDE):
        share = pull / _PULLS_INSIDE
        near_x, near_y = x + share * (to_x - x), y + share * (to_y - y)
        if is_inside(near_x, near_y, geometry.area):
            return near_x, near_y
    return to_x, to_y
