"""Doubt a region before anything is spent, from public facts alone: its bounds and the coordinate system."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from privtrace import coordinates
from privtrace.space.region import Region
from privtrace.trajectories import Crs

#: In meters: a region within a building, and one beyond most countries.
_SMALL_M, _LARGE_M = 100.0, 2_000_000.0

#: Degrees around the area that a coordinate system is made for, which is no sharp line.
_MARGIN = 1.0


def doubts(given: Region, met: Region) -> Iterator[str]:
    """Say what seems wrong with a region as it was given, now that it met the coordinate system of the data."""
    if given.crs is None and met.crs == "planar" and _looks_like_degrees(given):
        yield (
            f"the region {given} looks like degrees, but the columns are planar and name no system, so its "
            "lengths are not meters. If the data is in degrees, pass --crs lonlat (crs='lonlat'); if it is "
            "projected, name its system with --crs EPSG:CODE (crs='EPSG:CODE')"
        )
    if not met.in_meters:
        return
    shorter, longer = met.shorter_side_m, max(met.width_m, met.height_m)
    if shorter < _SMALL_M:
        yield (
            f"the region {given} is only {shorter:,.0f} m wide or high; movement outside does not count. Is it "
            "the right region, in the order W,S,E,N?"
        )
    if longer > _LARGE_M:
        yield (
            f"the region {given} is {longer / 1000:,.0f} km wide or high. Cells are shared out over all of it, "
            "so that little of a city would be seen; choose the area that the release is about"
        )
    if _lies_elsewhere(met):
        yield (
            f"the region {given} lies outside the area that {met.crs} is made for. Is it in the coordinates of "
            "the data, or in degrees, and is this the system of the data?"
        )


def _looks_like_degrees(region: Region) -> bool:
    """Tell a box on the map from one that somebody made up: such a one begins at 0, or has whole numbers."""
    in_range = np.all(np.abs(region.bounds) <= (180, 90, 180, 90))
    is_made_up = region.west == 0 or region.south == 0 or np.all(region.bounds == np.round(region.bounds))
    return bool(in_range and not is_made_up)


def _lies_elsewhere(region: Region) -> bool:
    """Tell whether the center of a projected region is outside the area that its system is made for."""
    assert region.crs is not None
    area = None if region.crs == "lonlat" else _area_of_use(region.crs)
    if area is None:
        return False
    west, south, east, north = area
    center = np.array([[(region.west + region.east) / 2, (region.south + region.north) / 2]])
    longitude, latitude = coordinates.transformed(center, region.crs, "lonlat")[0].tolist()
    # Across the antimeridian, an area's west is greater than its east.
    beyond_west = (longitude - west + _MARGIN) % 360
    within = beyond_west <= (east - west) % 360 + 2 * _MARGIN or east - west >= 360
    return not (within and south - _MARGIN <= latitude <= north + _MARGIN)


def _area_of_use(crs: Crs) -> tuple[float, float, float, float] | None:
    """Look up the west, south, east and north of the area that a system is made for, in degrees."""
    import pyproj  # what gave the code its meaning

    area = pyproj.CRS(crs).area_of_use
    return None if area is None else (area.west, area.south, area.east, area.north)
