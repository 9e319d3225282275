"""Bring polygons into the coordinates of a region, mend them, and unite those of one zone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import shapely

from privtrace import coordinates
from privtrace.errors import SettingsError
from privtrace.space.region import Region
from privtrace.trajectories import Array, Crs, Floats, Integers

_POLYGON = shapely.GeometryType.POLYGON
_SEVERAL = (shapely.GeometryType.MULTIPOLYGON, shapely.GeometryType.GEOMETRYCOLLECTION)


def polygons_in(shapes: Array, zones: Integers, names: Sequence[str]) -> tuple[Array, Integers]:
    """Take the polygons out of the shapes of zones, and the number of the zone of each."""
    parts, shape = shapely.get_parts(shapely.force_2d(shapes), return_index=True)
    while np.isin(shapely.get_type_id(parts), _SEVERAL).any():
        parts, part = shapely.get_parts(parts, return_index=True)
        shape = shape[part]
    other = np.flatnonzero(shapely.get_type_id(parts) != _POLYGON)
    if len(other):
        raise SettingsError(
            f"zone {names[zones[shape[other[0]]]]!r} has a {parts[other[0]].geom_type}; zones must be "
            "Polygons, MultiPolygons, or GeometryCollections of those"
        )
    return parts, zones[shape]


def moved(parts: Array, owners: Integers, names: Sequence[str], crs: Crs, region: Region) -> Array:
    """Move polygons from a system to that of the region, across the antimeridian as the region is."""
    assert region.crs is not None
    # The vertices alone, and no more of them: what zones share, they then share in both systems.
    points, part = shapely.get_coordinates(parts, return_index=True)
    points = coordinates.transformed(points, crs, region.crs)
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(bad):
        raise SettingsError(
            f"zone {names[owners[part[bad[0]]]]!r} has a point that is not a number or not where {region.crs} "
            "holds; leave it out, or check the coordinate system of the file"
        )
    there = shapely.set_coordinates(parts.copy(), points)
    return _placed(there, region) if region.crs == "lonlat" else there


def united(parts: Array, owners: Integers, names: Sequence[str]) -> Array:
    """Mend polygons, and unite those of each zone: (n_zones,)."""
    try:
        mended = _mended(parts)
        order = np.argsort(owners, kind="stable")
        bounds = np.searchsorted(owners[order], np.arange(len(names) + 1))
        polygons = np.empty(len(names), object)
        for zone in range(len(names)):
            mine = mended[order[bounds[zone] : bounds[zone + 1]]]
            polygons[zone] = mine[0] if len(mine) == 1 else shapely.union_all(mine)
    except shapely.GEOSException:
        raise SettingsError(
            "its polygons are not valid and cannot be fixed; repair or simplify them first"
        ) from None
    nothing = np.flatnonzero(~(shapely.area(polygons) > 0))
    if len(nothing):
        raise SettingsError(f"zone {names[nothing[0]]!r} has no area; draw it as a polygon, or leave it out")
    return polygons


def _mended(parts: Array) -> Array:
    """Mend rings that cross or touch themselves; lines that are left over go."""
    mended, bad = parts.copy(), ~shapely.is_valid(parts)
    mended[bad] = shapely.make_valid(parts[bad], method="structure", keep_collapsed=False)
    return mended


def _placed(parts: Array, region: Region) -> Array:
    """Bring longitudes of polygons to where the region is, as `Region.unwrap` does it for points."""
    west, _, east, _ = shapely.bounds(parts).T
    middle = float(region.bounds[[0, 2]].mean())
    placed = parts.copy()
    for part in np.flatnonzero(east - west > 180):
        placed[part] = _joined(parts[part], middle, region.area.turn)
    if region.area.turn:
        turns = -np.round(((west + east) / 2 - middle) / 360) * 360
        turns[~(east - west <= 180)] = 0
        for turn in np.unique(turns[turns != 0]):
            placed[turns == turn] = shifted(parts[turns == turn], float(turn))
    return placed


def _joined(part: Any, middle: float, turn: float) -> Any:
    """Place a polygon that is wider than half the globe, as far as one can tell."""
    x = shapely.get_coordinates(part)[:, 0]
    if np.abs(np.diff(x)).max() > 180:
        # Such an edge takes the short way, across the antimeridian.
        joined = shapely.transform(part, lambda points: around(points, middle))
        west, _, east, _ = joined.bounds
        if east - west <= 180 and joined.area > 0:
            return joined
    # Else it goes around the globe, and comes again where longitudes go on.
    return shapely.MultiPolygon([part, shifted(part, turn)]) if turn else part


def around(points: Floats, middle: float) -> Floats:
    """Take longitudes that are at most half a globe from one in the middle."""
    return np.stack([middle - 180 + (points[:, 0] - middle + 180) % 360, points[:, 1]], axis=1)


def shifted(shapes: Any, by: float) -> Any:
    """Move shapes to the east."""
    return shapely.transform(shapes, lambda points: points + np.array([by, 0.0]))
