"""Find the zones that lines pass: exactly, and without comparing every line with every zone near it.

Lines are led through the cells of a fine grid. Most cells lie inside a zone, and a line in such a cell passes
the zone. Lines that meet a zone only in cells at its border are compared with its polygon.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import shapely

from privtrace.compiling import borrowing, compiled
from privtrace.runs import Runs
from privtrace.space.grid import Grid
from privtrace.space.region import Region
from privtrace.space.traverse import trace
from privtrace.trajectories import Array, Flags, Floats, Integers, part_bounds

#: Cells per side of the grid, for few zones and for many small ones.
_CELLS, _MORE_CELLS, _LEAST_CELLS = 256, 512, 16
_MANY = 2000

#: Cells of all zones together, where they overlap each other many times.
_MAX_PAIRS = 1 << 23

#: Cells are this much wider on each side, in sides: a path may leave out a cell of which its line meets but the
#: corner, or hold one that it misses by a rounding error.
_MARGIN = 1e-6

#: No path is cut, however long.
_ENDLESS = 1 << 40
_POINTS_AT_ONCE = 1 << 15  # each may lead through hundreds of cells


class Cover(NamedTuple):
    """Hold which zones each cell of a grid meets, in meters from the box's southwest corner."""

    polygons: Array  # (n_zones,)
    grid: Grid
    first: Integers  # (n_cells + 1,): cell c meets zones[first[c]:first[c + 1]]
    zones: Integers
    are_whole: Flags  # where the cell lies in the zone, with all that is near it

    @classmethod
    def of(cls, polygons: Array, region: Region) -> Cover:
        """Lay a grid over the box of a region, of which zones in meters may cover any part."""
        # Planar, and without the polygon of the region: a line may cut its corners.
        box = Region(0.0, 0.0, region.width_m, region.height_m, "planar")
        grid = Grid.uniform(box, _n_per_side(polygons, box))
        boxes = _widened(grid.boxes)
        tree = shapely.STRtree(shapely.box(*boxes.T))
        zones, cells = tree.query(polygons, predicate="intersects")
        whole_zones, whole_cells = tree.query(polygons, predicate="contains_properly")
        order = np.lexsort((zones, cells))
        zones, cells = zones[order], cells[order]
        are_whole = np.isin(cells * len(polygons) + zones, whole_cells * len(polygons) + whole_zones)
        return cls(polygons, grid, np.searchsorted(cells, np.arange(grid.n_cells + 1)), zones, are_whole)


def _n_per_side(polygons: Array, box: Region) -> int:
    """Choose how fine the grid is: finer than most zones, unless very many lie over each other."""
    low, high = np.zeros(2), np.array([box.width_m, box.height_m])
    bounds = shapely.bounds(polygons)
    sides = np.minimum(bounds[:, 2:], high) - np.maximum(bounds[:, :2], low)
    sides = sides[(sides > 0).all(axis=1)]
    n_layers = float(np.sum(sides.prod(axis=1)) / high.prod())  # zones over a place, with those near it
    n_per_side = _MORE_CELLS if len(sides) > _MANY else _CELLS
    while n_per_side > _LEAST_CELLS and n_layers * n_per_side**2 > _MAX_PAIRS:
        n_per_side //= 2
    return n_per_side


def _widened(boxes: Floats) -> Floats:
    margin = _MARGIN * (boxes[:, 2:] - boxes[:, :2])
    return np.hstack([boxes[:, :2] - margin, boxes[:, 2:] + margin])


def passed(lines: Runs, cover: Cover) -> tuple[Integers, Integers]:
    """Find the pairs of a line and a zone that it touches, in order."""
    pairs = [_passed(lines, first, last, cover) for first, last in part_bounds(lines.offsets, _POINTS_AT_ONCE)]
    found, zones = np.concatenate(pairs, axis=1)
    return found, zones


def _passed(lines: Runs, first: int, last: int, cover: Cover) -> Integers:
    """Do so for some lines: (2, n_pairs)."""
    offsets = lines.offsets[first : last + 1]
    some = Runs(lines.points[offsets[0] : offsets[-1]], offsets - offsets[0])
    paths = trace(some, cover.grid, _ENDLESS)
    seen = np.full((2, len(cover.polygons)), -1, np.int64)
    found, zones, is_sure = _near(paths.cells, paths.offsets, cover.first, cover.zones, cover.are_whole, seen)
    open_ = np.flatnonzero(~is_sure)
    is_sure[open_] = _touch(some, found[open_], zones[open_], cover.polygons)
    order = np.lexsort((zones, found))
    order = order[is_sure[order]]
    return np.stack([found[order] + first, zones[order]])


def _touch(lines: Runs, found: Integers, zones: Integers, polygons: Array) -> Flags:
    """Find out for each pair of a line and a zone whether they touch."""
    numbers, which = np.unique(found, return_inverse=True)
    shapes = _shapes(lines, numbers)[which]
    shapely.prepare(polygons[np.unique(zones)])
    touch: Flags = shapely.intersects(polygons[zones], shapes)
    return touch


def _shapes(lines: Runs, numbers: Integers) -> Array:
    """Give some lines, none of them empty, as shapely knows them."""
    counts = np.diff(lines.offsets)[numbers]
    starts = lines.offsets[:-1][numbers]
    shapes: Array = shapely.points(lines.points[starts])
    longer = np.flatnonzero(counts > 1)
    owners = np.repeat(np.arange(len(longer)), counts[longer])
    within = np.arange(len(owners)) - np.repeat(np.cumsum(counts[longer]) - counts[longer], counts[longer])
    if len(longer):
        shapes[longer] = shapely.linestrings(lines.points[starts[longer][owners] + within], indices=owners)
    return shapes


@compiled
def _near(cells, offsets, first, zones, are_whole, seen):  # type: ignore[no-untyped-def]
    """List the zones that the cells of each path meet: the path, the zone, and whether a cell lies in it.

    seen is (2, n_zones) of -1: the last path that met a zone, and where that stands in the list.
    """
    found, near = np.empty(len(offsets) + 16, np.int64), np.empty(len(offsets) + 16, np.int64)
    is_sure = np.empty(len(found), np.bool_)
    n_found = 0
    for path in range(len(offsets) - 1):
        n_more = _n_zones(cells, offsets[path], offsets[path + 1], first)
        while n_found + min(n_more, seen.shape[1]) > len(found):
            found = np.concatenate((found, np.empty_like(found)))
            near = np.concatenate((near, np.empty_like(near)))
            is_sure = np.concatenate((is_sure, np.empty_like(is_sure)))
        for c in range(offsets[path], offsets[path + 1]):
            for z in range(first[cells[c]], first[cells[c] + 1]):
                zone = zones[z]
                if seen[0, zone] != path:
                    seen[0, zone], seen[1, zone] = path, n_found
                    found[n_found], near[n_found], is_sure[n_found] = path, zone, False
                    n_found += 1
                is_sure[seen[1, zone]] |= are_whole[z]
    return found[:n_found].copy(), near[:n_found].copy(), is_sure[:n_found].copy()


@borrowing
def _n_zones(cells, start, stop, first):  # type: ignore[no-untyped-def]
    """Count the zones of some cells, each as often as a cell meets it."""
    n_zones = 0
    for c in range(start, stop):
        n_zones += first[cells[c] + 1] - first[cells[c]]
    return n_zones
