"""Clip trajectories to the region: the one stage that says what of a trajectory counts.

Fits and evaluation clip alike. A trajectory keeps its longest run: the stretch of consecutive points inside
with most points, the first on a tie. Over a polygon a run also ends where the line to the next point is outside
for long. Bad points count as absent: a line leads from the last good point to the next. Runs are in meters.

One trajectory gives one run, and the run depends on that trajectory and the public region alone: on no grid
and on no other trajectory. So adding or removing a trajectory adds or removes one run and leaves all others as
they are. The sensitivity of a table is then what one run can add to it, and the accumulator stops that at one.
"""

from __future__ import annotations

import numpy as np

from privtrace.compiling import compiled
from privtrace.runs import Runs
from privtrace.space.area import band_at, is_in_box, is_in_polygon, unwrapped
from privtrace.space.region import Region
from privtrace.trajectories import Trajectories, is_bad

#: How far a line may go outside a polygon, in shorter sides of its box. A line between two points cuts corners
#: of a border that the road follows; a river or a lake is wider.
MAX_OUTSIDE = 0.01


def clip(part: Trajectories, region: Region) -> Runs:
    """Keep the longest run of each trajectory in the region, in meters from the box's southwest corner."""
    limit_m = MAX_OUTSIDE * region.shorter_side_m
    points, places, offsets = _clip(part.points, part.offsets, region.area, region.scale_m, limit_m)
    return Runs(points, offsets, part.times if part.on_calendar else None, places)


@compiled
def _clip(points, offsets, area, scale_m, limit_m):  # type: ignore[no-untyped-def]
    bounds, turn, limits = area.bounds, area.turn, area.limits
    kept, places = np.empty_like(points), np.empty(len(points), np.int64)
    kept_offsets = np.zeros(len(offsets), np.int64)
    meetings = np.empty(len(area.edges) + 2)
    n = 0
    for trajectory in range(len(offsets) - 1):
        first, last = offsets[trajectory], offsets[trajectory + 1]
        start, stop = _longest_run(points, first, last, area, scale_m, limit_m, meetings)
        for p in range(start, stop):
            x, y = points[p, 0], points[p, 1]
            if not is_bad(x, y, limits):
                kept[n, 0] = (unwrapped(x, bounds, turn) - bounds[0]) * scale_m[0]
                kept[n, 1] = (y - bounds[1]) * scale_m[1]
                places[n] = p
                n += 1
        kept_offsets[trajectory + 1] = n
    return kept[:n], places[:n], kept_offsets


@compiled
def _longest_run(points, first, last, area, scale_m, limit_m, meetings):  # type: ignore[no-untyped-def]
    """Find the longest run among points[first:last], as start and stop."""
    bounds, turn, limits, is_box = area.bounds, area.turn, area.limits, area.is_box
    best_start, best_stop, best_length = first, first, 0
    start, length = first, 0
    from_x, from_y = 0.0, 0.0
    for p in range(first, last):
        x, y = points[p, 0], points[p, 1]
        if is_bad(x, y, limits):
            continue
        x = unwrapped(x, bounds, turn)
        if not (is_in_box(x, y, bounds) and (is_box or is_in_polygon(x, y, area))):
            length = 0
            continue
        if not is_box:
            if length > 0:
                meters = np.hypot((x - from_x) * scale_m[0], (y - from_y) * scale_m[1])
                # A line that is no longer than what may be outside needs no look at the border.
                if meters > limit_m and _outside(from_x, from_y, x, y, area, meetings) * meters > limit_m:
                    length = 0
            from_x, from_y = x, y
        if length == 0:
            start = p
        length += 1
        if length > best_length:
            best_start, best_stop, best_length = start, p + 1, length
    return best_start, best_stop


@compiled
def _outside(x, y, to_x, to_y, area, meetings):  # type: ignore[no-untyped-def]
    """Tell how much of a line between two points inside is outside at one stretch, as a share of the line.

    The line is divided where it meets an edge, and the middle of each piece says where the piece is. So a line
    that only touches the border is inside, however it touches.
    """
    n = _meet(x, y, to_x, to_y, area, meetings)
    if n == 0:
        return 0.0
    meetings[n] = 1.0
    ordered = np.sort(meetings[: n + 1])
    longest, stretch, before = 0.0, 0.0, 0.0
    for share in ordered:
        if share > before:
            middle = before + (share - before) / 2
            if is_in_polygon(x + middle * (to_x - x), y + middle * (to_y - y), area):
                stretch = 0.0
            else:
                stretch += share - before
                longest = max(longest, stretch)
            before = share
    return longest


@compiled
def _meet(x, y, to_x, to_y, area, meetings):  # type: ignore[no-untyped-def]
    """List at which shares of a line it meets edges, some of them twice; return how many."""
    edges = area.edges
    east, north = to_x - x, to_y - y
    west, far_east = min(x, to_x), max(x, to_x)
    south, far_north = min(y, to_y), max(y, to_y)
    n = 0
    for e in range(area.bands[band_at(south, area)], area.bands[band_at(far_north, area) + 1]):
        if edges[e, 3] < south or edges[e, 1] > far_north:
            continue
        if max(edges[e, 0], edges[e, 2]) < west or min(edges[e, 0], edges[e, 2]) > far_east:
            continue
        edge_east, edge_north = edges[e, 2] - edges[e, 0], edges[e, 3] - edges[e, 1]
        turn = east * edge_north - north * edge_east
        if turn != 0.0:  # else they are parallel
            away_x, away_y = edges[e, 0] - x, edges[e, 1] - y
            along_line = (away_x * edge_north - away_y * edge_east) / turn
            along_edge = (away_x * north - away_y * east) / turn
            if 0.0 < along_line < 1.0 and 0.0 <= along_edge <= 1.0:
                meetings[n] = along_line
                n += 1
    return n
