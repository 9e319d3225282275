"""List the cells of public grids of the globe that meet a region: H3 and geohash."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import shapely

from privtrace import coordinates
from privtrace.errors import SettingsError
from privtrace.io.extras import require
from privtrace.space.region import Region
from privtrace.trajectories import Array, Floats, Integers
from privtrace.zones.outline import outline_of
from privtrace.zones.polygons import around, moved, shifted

#: Cells of a region, at most.
MAX_CELLS = 200_000

_CELLS = re.compile(r"(h3|geohash):(.*)", re.IGNORECASE)
_SIZES = {"h3": ("resolution", 0, 15), "geohash": ("length", 1, 12)}
_LETTERS = np.array(list("0123456789bcdefghjkmnpqrstuvwxyz"))

#: How far a straight line of a projected system, cut into pieces, may be from one in degrees: of its extent.
_PIECES, _MARGIN = 256, 1e-3

#: A smaller share of the region is not all of it, but for rounding.
_ALL = 1 - 1e-6


def cells_of(given: str, region: Region) -> tuple[tuple[str, ...], Array, str] | None:
    """List the cells of `h3:8` or `geohash:6` with their polygons and title; None if this names a file."""
    found = _CELLS.fullmatch(given)
    if found is None:
        return None
    kind = found[1].lower()
    size = _size(kind, found[2])
    if not coordinates.is_known(region.crs):
        raise SettingsError(
            f"--zones {given}: the region is planar, and nobody knows where on earth it lies; give zones as a "
            "file, or the data its coordinate system with --crs EPSG:... (crs='EPSG:...')"
        )
    names, boundaries = (_h3 if kind == "h3" else _geohash)(size, region)
    polygons = moved(boundaries, np.arange(len(names)), names.tolist(), "lonlat", region)
    meeting = _meeting(polygons, outline_of(region))
    _refuse_many(given, len(meeting))
    if size == 0:
        _refuse_poles(given, polygons[meeting], outline_of(region))
    title = f"H3 cells of resolution {size}" if kind == "h3" else f"geohash cells of length {size}"
    return tuple(names[meeting].tolist()), polygons[meeting], title


def _size(kind: str, text: str) -> int:
    name, least, most = _SIZES[kind]
    if not re.fullmatch(r"\d{1,2}", text) or not least <= int(text) <= most:
        raise SettingsError(
            f"--zones {kind}:{text}: the {name} must be a whole number from {least} to {most}, as in {kind}:6"
        )
    return int(text)


def _refuse_many(given: str, n_cells: float) -> None:
    if n_cells > MAX_CELLS:
        about = f"{n_cells:,}" if isinstance(n_cells, int) else f"about {n_cells:,.0f}"
        raise SettingsError(
            f"--zones {given}: the region has {about} of these cells, more than the limit of {MAX_CELLS:,}; "
            "choose larger cells, with a smaller number behind the colon"
        )


def _refuse_poles(given: str, polygons: Array, outline: Any) -> None:
    """Refuse cells around a pole, which are no polygons in degrees: only the largest are in any region."""
    if shapely.area(shapely.intersection(polygons, outline)).sum() < _ALL * shapely.area(outline):
        raise SettingsError(f"--zones {given}: one of these cells has a pole inside; choose smaller cells")


def _meeting(polygons: Array, outline: Any) -> Array:
    """Find the polygons that have some of an area inside, and not only on their border."""
    shapely.prepare(outline)
    meeting = np.flatnonzero(shapely.intersects(outline, polygons))
    inside: Array = meeting[~shapely.touches(outline, polygons[meeting])]
    return inside


def _in_degrees(region: Region) -> Any:
    """Give the region in longitude and latitude, or little more; longitudes may go on beyond 180."""
    outline = outline_of(region)
    if region.crs == "lonlat":
        return outline
    assert region.crs is not None
    side = max(region.bounds[2] - region.bounds[0], region.bounds[3] - region.bounds[1])
    crs, middle = region.crs, (region.bounds[:2] + region.bounds[2:]) / 2
    longitude = float(coordinates.transformed(middle[np.newaxis], crs, "lonlat")[0, 0])

    def move(points: Floats) -> Floats:
        return around(coordinates.transformed(points, crs, "lonlat"), longitude)

    there = shapely.transform(shapely.segmentize(outline, side / _PIECES), move)
    west, south, east, north = there.bounds
    return shapely.make_valid(there).buffer(_MARGIN * max(east - west, north - south))


def _h3(resolution: int, region: Region) -> tuple[Array, Array]:
    """List the H3 cells around a region: names and polygons in degrees.

    The sides of a cell are arcs on the sphere; here they are straight in degrees between the corners that H3
    gives. Neighbors share corners, so that the polygons leave no gap.
    """
    h3 = require("h3", f"--zones h3:{resolution}", "zones")
    shape = _in_degrees(region)
    _, south, _, north = shape.bounds
    km2 = shapely.area(shape) * 111.2**2 * np.cos(np.radians((south + north) / 2))
    about = float(km2 / h3.average_hexagon_area(resolution, "km^2"))
    if about > 1.5 * MAX_CELLS:  # so many that listing them would take long; fewer are counted
        _refuse_many(f"h3:{resolution}", about)
    found: set[str] = set()
    for part in _on_globe(shape):
        rings = [_turned(ring) for ring in (part.exterior, *part.interiors)]
        found.update(h3.h3shape_to_cells_experimental(h3.LatLngPoly(*rings), resolution, contain="overlap"))
    names = np.array(sorted(found))
    corners = [h3.cell_to_boundary(name) for name in names.tolist()]
    owners = np.repeat(np.arange(len(corners)), [len(one) for one in corners])
    points = np.array([point for one in corners for point in one])[:, ::-1]
    return names, shapely.polygons(shapely.linearrings(points, indices=owners))


def _on_globe(shape: Any) -> list[Any]:
    """Cut a shape at the antimeridian into polygons with longitudes from -180 to 180."""
    globe = shapely.box(-180, -90, 180, 90)
    parts = shapely.get_parts([shapely.intersection(shifted(shape, by), globe) for by in (-360, 0, 360)])
    return [part for part in shapely.get_parts(parts) if part.area > 0]


def _turned(ring: Any) -> list[tuple[float, float]]:
    return [(y, x) for x, y in ring.coords]


def _geohash(length: int, region: Region) -> tuple[Array, Array]:
    """List the geohash cells around a region: names and polygons in degrees.

    A geohash halves the globe 5 times per letter, longitude and latitude in turn. A 1 is the east or north.
    """
    shape = _in_degrees(region)
    # Across the antimeridian columns go on: the globe comes several times.
    columns, rows, codes = np.array([-1, 0, 1]), np.zeros(3, np.int64), np.zeros(3, np.int64)
    n_bits, boxes = 5 * length, _boxes(columns, rows, 0)
    for bit in range(n_bits):
        codes = np.concatenate([2 * codes, 2 * codes + 1])
        half = np.repeat([0, 1], len(columns))
        across = bit % 2 == 0
        columns = np.tile(columns, 2) * (2 if across else 1) + half * across
        rows = np.tile(rows, 2) * (1 if across else 2) + half * (not across)
        boxes = _boxes(columns, rows, bit + 1)
        kept = _meeting(boxes, shape)
        columns, rows, codes, boxes = columns[kept], rows[kept], codes[kept], boxes[kept]
        if len(codes) > 1.5 * MAX_CELLS:
            _refuse_many(f"geohash:{length}", float(len(codes)) * 2 ** (n_bits - bit - 1))
    order = np.argsort(codes)
    return _spelled(codes[order], length), boxes[order]


def _boxes(columns: Integers, rows: Integers, n_bits: int) -> Array:
    """Give the boxes of cells after some halvings; powers of 2 make them exact."""
    width, height = 360 / 2 ** ((n_bits + 1) // 2), 180 / 2 ** (n_bits // 2)
    west, south = -180 + columns * width, -90 + rows * height
    boxes: Array = shapely.box(west, south, west + width, south + height)
    return boxes


def _spelled(codes: Integers, length: int) -> Array:
    """Write codes in letters of 5 bits each."""
    letters = _LETTERS[codes[:, np.newaxis] >> 5 * np.arange(length)[::-1] & 31]
    return np.array(["".join(one) for one in letters.tolist()])
