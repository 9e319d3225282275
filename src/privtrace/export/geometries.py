"""Draw cells, zones and flows as shapely knows them, cut at the antimeridian.

A cell over a polygon is what of it lies inside: the trapezoids of its piece, united. Zones are drawn whole, as
they were given. A flow is a line between the centers of its places.
"""

from __future__ import annotations

import numpy as np
import shapely

from privtrace.space.grid import Grid
from privtrace.space.pieces import Pieces
from privtrace.space.region import Region
from privtrace.trajectories import Array, Floats, Integers
from privtrace.zones import Zones


def cells_drawn(grid: Grid, cells: Integers) -> Array:
    """Draw cells: boxes, or their pieces united."""
    geometries: Array = shapely.box(*grid.boxes[cells].T)
    lengths = np.diff(grid.pieces.offsets)[cells]
    if lengths.any():
        geometries[lengths > 0] = _united(grid.pieces, cells[lengths > 0])
    return _cut_at_180(geometries, grid.region)


def zones_drawn(zones: Zones, which: Integers) -> Array:
    """Draw zones."""
    return _cut_at_180(zones.polygons[which], zones.region)


def lines_drawn(here: Floats, there: Floats, region: Region) -> Array:
    """Draw lines from points to points, of longitudes that go on beyond 180; none from a point to itself."""
    apart = np.flatnonzero((here != there).any(axis=1))
    lines = np.full(len(here), None)
    turn = region.area.turn
    crosses = (here[:, 0] - 180) * (there[:, 0] - 180) < 0 if turn else np.zeros(len(here), np.bool_)
    plain = apart[~crosses[apart]]
    beyond = np.minimum(here[plain, 0], there[plain, 0]) >= 180
    back = np.stack([np.where(beyond, turn, 0.0), np.zeros(len(plain))], axis=1)
    lines[plain] = shapely.linestrings(np.stack([here[plain] - back, there[plain] - back], axis=1))
    lines[crosses] = _cut_lines(here[crosses], there[crosses], region)
    return lines


def _united(pieces: Pieces, cells: Integers) -> Array:
    """Unite the trapezoids of each cell. Those of a piece meet in level sides, so nothing has to be rounded."""
    lengths = np.diff(pieces.offsets)[cells]
    owners = np.repeat(np.arange(len(cells)), lengths)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    south, north, west0, west1, east0, east1 = pieces.trapezoids[pieces.offsets[cells][owners] + within].T
    has_area = (north > south) & ((east0 > west0) | (east1 > west1))
    corners = np.stack([west0, south, east0, south, east1, north, west1, north, west0, south], axis=1)
    trapezoids = shapely.polygons(corners[has_area].reshape(-1, 5, 2))
    together = shapely.multipolygons(trapezoids, indices=owners[has_area])
    united: Array = shapely.union_all(together[:, np.newaxis], axis=1)
    return united


def _cut_at_180(shapes: Array, region: Region) -> Array:
    """Cut polygons at the antimeridian, and bring what lies beyond it to -180 and up."""
    turn = region.area.turn
    west, south, east, north = shapely.bounds(shapes).T
    beyond = np.flatnonzero(east > 180) if turn else np.zeros(0, np.int64)
    if not len(beyond):
        return shapes
    low, high = float(south[beyond].min()), float(north[beyond].max())
    here = shapely.intersection(
        shapes[beyond], shapely.box(min(float(west[beyond].min()), 180), low, 180, high)
    )
    there = shapely.intersection(shapes[beyond], shapely.box(180, low, float(east[beyond].max()), high))
    there = shapely.transform(there, lambda points: points - [turn, 0.0])
    cut = shapes.copy()
    cut[beyond] = _polygons_of(np.stack([here, there], axis=1))
    return cut


def _polygons_of(halves: Array) -> Array:
    """Put the polygons of each row together: (n,); lines that are left of a cut go."""
    rows, _ = halves.shape
    collected = shapely.geometrycollections(halves)
    parts, owners = shapely.get_parts(collected, return_index=True)
    while len(several := np.flatnonzero(shapely.get_type_id(parts) > shapely.GeometryType.POLYGON)):
        more, owner = shapely.get_parts(parts[several], return_index=True)
        owners = np.concatenate([np.delete(owners, several), owners[several][owner]])
        parts = np.concatenate([np.delete(parts, several), more])
    is_area = (shapely.get_type_id(parts) == shapely.GeometryType.POLYGON) & (shapely.area(parts) > 0)
    order = np.flatnonzero(is_area)[np.argsort(owners[is_area], kind="stable")]
    parts, owners = parts[order], owners[order]
    together: Array = shapely.multipolygons(parts, indices=owners, out=np.full(rows, None))
    alone = np.flatnonzero(np.bincount(owners, minlength=rows)[owners] == 1)
    together[owners[alone]] = parts[alone]
    return together


def _cut_lines(here: Floats, there: Floats, region: Region) -> Array:
    """Draw lines that cross the antimeridian in two pieces: up to it, and from it on."""
    height = here[:, 1] + (180 - here[:, 0]) * ((there[:, 1] - here[:, 1]) / (there[:, 0] - here[:, 0]))
    border = np.where(here[:, 0] < 180, 180.0, -180.0)
    ends = [np.stack([region.wrap(end[:, 0]), end[:, 1]], axis=1) for end in (here, there)]
    pieces = np.stack(
        [ends[0], np.stack([border, height], axis=1), np.stack([-border, height], axis=1), ends[1]], axis=1
    )
    lines = shapely.linestrings(pieces.reshape(-1, 2, 2))
    drawn: Array = shapely.multilinestrings(lines.reshape(-1, 2))
    return drawn
