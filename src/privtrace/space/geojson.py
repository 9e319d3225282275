"""Read polygons at the door: from GeoJSON (RFC 7946) to canonical rings, refusing what is not an area.

Shapely checks and unites here, and only here. What runs later (which points are inside, areas, sampling) is our
own code, so that no result depends on the version of a library.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from privtrace.errors import DataError, SettingsError
from privtrace.space.polygon import Point, Polygon, shifted
from privtrace.trajectories import Crs

if TYPE_CHECKING:
    import shapely

#: Vertices of a region: enough for a country's border at 100 m, few enough to look up millions of points.
MAX_VERTICES = 100_000
_MAX_FILE_BYTES = 1 << 26

#: The largest coordinate: beyond it, products of coordinates are far from exact.
_MAX_COORDINATE = 1e12

#: Pairs of edges whose boxes overlap: checking looks at each, and long slanting edges make billions of them.
_MAX_PAIRS = 1 << 26
_EDGES_AT_ONCE = 16  # so that the pairs of these are little to hold

#: A polygon fills at least this share of the box around it; below, it is a line with rounding errors.
_MIN_SHARE = 1e-8

#: Suffixes of GeoParquet.
GEOPARQUET = (".geoparquet", ".parquet")
#: Suffixes of files with polygons, other than GeoJSON.
LAYERS = (".gpkg", ".shp", ".fgb", ".kml", *GEOPARQUET)

_KINDS = "Polygon, MultiPolygon, or a Feature, FeatureCollection or GeometryCollection of those"

#: Names of longitude and latitude in the `crs` member that GeoJSON had before 2016.
LONLAT_NAME = re.compile(r"\b(CRS:?84|EPSG:+4326)\b", re.IGNORECASE)


def read_polygon(path: str | os.PathLike[str]) -> tuple[Polygon, Crs | None]:
    """Read a file of polygons as one, and their coordinate system if the file names it."""
    if Path(path).suffix.lower() in LAYERS:
        with opening(path):
            return _read_layer(Path(path))
    content = read_json(path, "a region's file")
    try:
        return parse_polygon(content)
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None


@contextmanager
def opening(path: str | os.PathLike[str]) -> Iterator[None]:
    """Refuse a file of polygons that is very large, or that cannot be opened in what follows."""
    try:
        if os.path.getsize(path) > _MAX_FILE_BYTES:
            raise SettingsError(
                f"{path}: the file is larger than {_MAX_FILE_BYTES >> 20} MB; simplify the polygon"
            )
        yield
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror}); check the path") from None


def read_json(path: str | os.PathLike[str], what: str) -> Any:
    """Read a file, such as "a region's file", that must be GeoJSON."""
    try:
        with opening(path):
            return json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: this is not a GeoJSON file (it is not UTF-8 text)") from None
    except SettingsError:
        raise
    except (ValueError, RecursionError):
        raise SettingsError(f"{path}: this is not JSON; {what} must be GeoJSON") from None


def _read_layer(path: Path) -> tuple[Polygon, Crs | None]:
    """Read the polygons of a format of geographic information systems."""
    import shapely

    from privtrace.io import geoparquet, ogr

    try:
        shapes, crs = (geoparquet if path.suffix.lower() in GEOPARQUET else ogr).shapes_of(path)
        found = shapely.from_wkb(shapes.drop_null().to_numpy())
    except (DataError, shapely.GEOSException) as error:
        raise SettingsError(str(error)) from None
    geometries = [shape.__geo_interface__ for shape in found if not shape.is_empty]
    try:
        return parse_polygon({"type": "GeometryCollection", "geometries": geometries})[0], crs
    except SettingsError as error:
        raise SettingsError(f"{path}: {error}") from None


def parse_polygon(given: Any) -> tuple[Polygon, Crs | None]:
    """Take a GeoJSON mapping, or the coordinates of a Polygon or MultiPolygon."""
    if isinstance(given, Mapping):
        try:
            parts = [part for coordinates in _coordinates(given) for part in coordinates]
        except RecursionError:
            raise SettingsError("the GeoJSON is nested too deeply") from None
        return join(parts), _named_crs(given)
    return join(_multi(given)), None


def join(parts: list[Any]) -> Polygon:
    """Check parts, each a list of rings, and unite those that overlap or share borders."""
    checked = _checked(parts)
    _refuse_tangles([ring for rings in checked for ring in rings])
    import shapely

    polygons = [shapely.Polygon(outer, holes) for outer, *holes in checked]
    for polygon in polygons:
        _refuse_invalid(polygon)
    united: Any = shapely.MultiPolygon(polygons)
    if not united.is_valid:  # only then: parts that are apart keep their vertices as they are
        try:
            united = shapely.union_all(polygons)
        except shapely.GEOSException:
            raise SettingsError("the polygons cannot be merged; merge or simplify them first") from None
    found = [part for part in getattr(united, "geoms", [united]) if part.geom_type == "Polygon"]
    result = Polygon.of(
        [[list(ring.coords) for ring in (part.exterior, *part.interiors)] for part in found if part.area > 0]
    )
    _refuse_lines(result)
    return result


def unwrap(polygon: Polygon) -> Polygon:
    """Join a polygon that was cut at the antimeridian: there, longitudes go on beyond 180 degrees."""
    west, _, east, _ = polygon.bounds
    turn = 360.0 if west < -180 else -360.0 if west >= 180 else 0.0
    parts = [shifted(part, turn) for part in polygon.parts] if turn else list(polygon.parts)
    if east - west > 180:
        parts = [shifted(part, 360.0) if max(x for x, _ in part[0]) <= 0 else part for part in parts]
    return polygon if parts == list(polygon.parts) else join(parts)


def _coordinates(given: Any) -> Iterator[list[Any]]:
    """Walk through nested GeoJSON; yield the coordinates of each polygon as those of a MultiPolygon."""
    kind = given.get("type") if isinstance(given, Mapping) else None
    if kind == "Polygon":
        yield [given.get("coordinates")]
    elif kind == "MultiPolygon":
        yield _list(given.get("coordinates"), "the coordinates of a MultiPolygon")
    elif kind == "Feature":
        yield from _coordinates(given.get("geometry"))
    elif kind == "FeatureCollection":
        for feature in _list(given.get("features"), "the features of a FeatureCollection"):
            yield from _coordinates(feature)
    elif kind == "GeometryCollection":
        for geometry in _list(given.get("geometries"), "the geometries of a GeometryCollection"):
            yield from _coordinates(geometry)
    else:
        raise SettingsError(f"a region must be a {_KINDS}, not {str(kind)[:40]}")


def _multi(given: Any) -> list[Any]:
    """Tell coordinates of a Polygon from those of a MultiPolygon by their depth."""
    depth, inner = 0, given
    while isinstance(inner, list | tuple) or hasattr(inner, "tolist"):
        inner = inner.tolist() if hasattr(inner, "tolist") else inner
        if not isinstance(inner, list | tuple):
            break
        depth, inner = depth + 1, inner[0] if inner else None
    if depth not in (3, 4):
        raise SettingsError(
            "a polygon must be a list of rings with the outer ring first, each a list of points, for "
            "example [[[0, 0], [1, 0], [1, 1], [0, 0]]]; or a list of such polygons; or a GeoJSON mapping"
        )
    return [given] if depth == 3 else list(given)


def _checked(parts: list[Any]) -> list[list[list[Point]]]:
    """Turn nested lists into rings of points, refusing whatever is not."""
    capacity = MAX_VERTICES
    checked = []
    for part in parts:
        rings = []
        for ring in _list(part, "the coordinates of a polygon"):
            points = _list(ring, "a ring")
            capacity -= len(points) - 1
            if capacity < 0:
                raise SettingsError(
                    f"the polygon has more than {MAX_VERTICES:,} vertices; simplify it, for instance to 10 m"
                )
            rings.append(_ring(points))
        if not rings:
            raise SettingsError("a polygon needs at least one ring")
        checked.append(rings)
    if not checked:
        raise SettingsError("there is no polygon; give at least one")
    return checked


def _ring(points: list[Any]) -> list[Point]:
    ring = [_point(point) for point in points]
    if len(ring) < 4:
        raise SettingsError(
            f"a ring of {len(ring)} points has no area; it needs at least three points, and the first one again"
        )
    if ring[0] != ring[-1]:
        raise SettingsError(
            f"the ring that starts at {_shown(ring[0])} is not closed; its last point must equal its first"
        )
    return ring


def _point(point: Any) -> Point:
    values = _list(point, "a point")[:2]  # a third is a height
    good = len(values) == 2 and all(
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _MAX_COORDINATE
        for value in values
    )
    if not good:
        shown = json.dumps(point, default=str)[:60]
        raise SettingsError(f"a point must be two numbers up to {_MAX_COORDINATE:g}, not {shown}")
    return float(values[0]) + 0.0, float(values[1]) + 0.0  # + 0.0 makes -0.0 the same point as 0.0


def _list(given: Any, name: str) -> list[Any]:
    given = given.tolist() if hasattr(given, "tolist") else given
    if not isinstance(given, list | tuple):
        raise SettingsError(f"{name} must be a list, not {str(given)[:40]}")
    return list(given)


def _refuse_tangles(rings: list[list[Point]]) -> None:
    """Refuse edges that run beside each other in such numbers that checking them would take minutes."""
    import shapely

    edges = shapely.linestrings(np.concatenate([np.stack([ring[:-1], ring[1:]], axis=1) for ring in rings]))
    tree = shapely.STRtree(edges)
    n_pairs = 0
    for first in range(0, len(edges), _EDGES_AT_ONCE):
        n_pairs += tree.query(edges[first : first + _EDGES_AT_ONCE]).shape[1]
        if n_pairs > _MAX_PAIRS:
            raise SettingsError("the polygon has too many long edges close together; simplify it")


def _refuse_invalid(polygon: shapely.Polygon) -> None:
    """Refuse rings that cross themselves or each other, and say where: the region is public."""
    if polygon.is_valid and polygon.area > 0:
        return
    import shapely

    reason = re.fullmatch(r"(.*)\[(\S+) (\S+)\]", shapely.is_valid_reason(polygon))
    if reason is None:
        raise SettingsError("a polygon has no area; give at least three corners that are not on one line")
    what = reason[1].strip().lower()
    where = _shown((float(reason[2]), float(reason[3])))
    raise SettingsError(f"the polygon is not valid at {where} ({what}); fix its rings there")


def _refuse_lines(polygon: Polygon) -> None:
    if polygon.parts:
        west, south, east, north = polygon.bounds
        if polygon.area >= _MIN_SHARE * (east - west) * (north - south) > 0:
            return
    raise SettingsError("the polygon has almost no area in its bounding box. Is it a line?")


def _named_crs(given: Mapping[str, Any]) -> Crs | None:
    """Read the `crs` member of old GeoJSON; without it, the coordinate system is that of the data."""
    if given.get("crs") is None:
        return None
    if LONLAT_NAME.search(str(given["crs"])):
        return "lonlat"
    raise SettingsError(
        "the polygon names a coordinate system that is not longitude and latitude, "
        f"{json.dumps(given['crs'], default=str)[:120]}; convert it, or remove the member `crs` if the "
        "data is planar in the same system"
    )


def _shown(point: Point) -> str:
    return ", ".join(f"{value:.9g}" if math.isfinite(value) else "?" for value in point)
