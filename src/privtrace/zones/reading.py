"""Read zones from a file of districts, each feature with an id; features of one id are one zone.

Planners' files have districts in several rows, rings that touch themselves, and systems of their country. All
of that is mended here, once: what comes out is valid polygons in the coordinates of the region.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import shapely

from privtrace import coordinates
from privtrace.errors import DataError, SettingsError
from privtrace.space.geojson import GEOPARQUET, LAYERS, LONLAT_NAME, opening, read_json
from privtrace.space.region import Region
from privtrace.trajectories import Array, Crs
from privtrace.zones.cells import cells_of
from privtrace.zones.outline import outline_of
from privtrace.zones.polygons import moved, polygons_in, united
from privtrace.zones.zones import Zones

#: Zones of a file, at most.
MAX_ZONES = 100_000

_GEOJSON = (".geojson", ".json")
_OPTION = "--zone-id (zone_id)"
_SHOWN = 20  # names in a message

# A code in the `crs` member that GeoJSON had before 2016: urn:ogc:def:crs:EPSG::3763, EPSG:3763.
_NAMED_CODE = re.compile(r"\b(EPSG|ESRI):(?:[\d.]*:)?(\w+)", re.IGNORECASE)


class Layer(NamedTuple):
    """Hold the features of a file."""

    shapes: Array  # (n,): of shapely, None where there is none
    columns: Mapping[str, Sequence[Any]]  # their attributes
    usual: str | None  # the attribute that names zones if nobody says which
    crs: Crs | None  # None if the file does not say


def read_zones(given: str | os.PathLike[str], region: Region, zone_id: str | None = None) -> Zones:
    """Read zones from a file, or list the cells of `h3:RESOLUTION` or `geohash:LENGTH` that meet the region.

    `zone_id` is the attribute that has the ids of zones; it may be left out if the file has only one.
    """
    cells = cells_of(os.fspath(given), region)
    if cells is not None:
        if zone_id is not None:
            raise SettingsError(f"{given} names its cells by itself; leave out {_OPTION}")
        return Zones(region, *cells, apart=True)
    path = Path(given)
    layer = _layer_of(path)
    try:
        return _zones_of(layer, region, zone_id)
    except (DataError, SettingsError) as error:
        raise SettingsError(f"{path}: {error}") from None


def _zones_of(layer: Layer, region: Region, zone_id: str | None) -> Zones:
    """Make zones of features, or say why that cannot be, without the path."""
    if len(layer.shapes) == 0:
        raise SettingsError("there is no zone in this file; give at least one")
    column = _column(layer, zone_id)
    names = [_name(value, number, column) for number, value in enumerate(layer.columns[column], start=1)]
    numbers: dict[str, int] = {}
    zones = np.array([numbers.setdefault(name, len(numbers)) for name in names])
    if len(numbers) > MAX_ZONES:
        raise SettingsError(f"it has {len(numbers):,} zones, more than the limit of {MAX_ZONES:,}; merge some")
    found = tuple(numbers)
    parts, owners = polygons_in(layer.shapes, zones, found)
    parts = moved(parts, owners, found, _system(layer, parts, region), region)
    polygons = united(parts, owners, found)
    _refuse_elsewhere(polygons, region)
    return Zones(region, found, polygons, f"own zones by {column}")


def _layer_of(path: Path) -> Layer:
    suffix = path.suffix.lower()
    if suffix in _GEOJSON:
        content = read_json(path, "a file of zones")
        try:
            return _geojson(content)
        except (SettingsError, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise SettingsError(f"{path}: {why}") from None
    if suffix in LAYERS:
        return _table(path)
    kinds = ", ".join((*_GEOJSON, *LAYERS[:-1]))
    raise SettingsError(
        f"{path}: zones are a file ({kinds} or {LAYERS[-1]}) or cells, such as h3:8 or geohash:6; is the "
        "suffix right?"
    )


def _table(path: Path) -> Layer:
    """Read a format of geographic information systems."""
    from privtrace.io import geoparquet, ogr

    try:
        with opening(path):
            shapes, table, crs = (geoparquet if path.suffix.lower() in GEOPARQUET else ogr).features_of(path)
        read = shapely.from_wkb(shapes.to_numpy())
    except DataError as error:
        raise SettingsError(str(error)) from None
    except shapely.GEOSException:
        raise SettingsError(f"{path}: its geometries cannot be read; write the file again") from None
    columns = table.to_pydict()
    # Of features in KML, this is what names them; all else says how they look.
    named = path.suffix.lower() == ".kml" and any(columns.get("Name", []))
    return Layer(read, columns, "Name" if named else _only(columns), crs)


def _geojson(content: Any) -> Layer:
    """Take the features of a FeatureCollection, or of a list."""
    is_mapping = isinstance(content, Mapping)
    features = content.get("features") if is_mapping else content
    if not isinstance(features, list) or not all(_is_feature(feature) for feature in features):
        kind = f", not {str(content.get('type'))[:40]}" if is_mapping and features is None else ""
        raise SettingsError(f"zones must be a FeatureCollection of features that are polygons{kind}")
    said = [feature.get("properties") or {} for feature in features]
    names = list(dict.fromkeys(name for one in said for name in one))
    columns = {name: [one.get(name) for one in said] for name in names}
    usual = _only(columns)
    if "id" not in columns and any("id" in feature for feature in features):
        columns["id"] = [feature.get("id") for feature in features]
        usual = usual or "id"
    shapes = _shapes([feature.get("geometry") for feature in features])
    return Layer(shapes, columns, usual, _named_crs(content.get("crs")) if is_mapping else None)


def _is_feature(given: Any) -> bool:
    if not isinstance(given, Mapping) or given.get("type") != "Feature":
        return False
    return isinstance(given.get("properties"), Mapping | None)


def _shapes(geometries: list[Any]) -> Array:
    texts = [None if geometry is None else json.dumps(geometry) for geometry in geometries]
    try:
        return np.asarray(shapely.from_geojson(texts))
    except shapely.GEOSException:
        bad = next(number for number, text in enumerate(texts, start=1) if not _is_geometry(text))
        raise SettingsError(
            f"the geometry of feature {bad} is not GeoJSON; each ring needs four points or more, and its last "
            "must equal its first"
        ) from None


def _is_geometry(text: str | None) -> bool:
    try:
        shapely.from_geojson(text)
    except shapely.GEOSException:
        return False
    return True


def _named_crs(member: Any) -> Crs | None:
    """Read the `crs` member of old GeoJSON."""
    if member is None:
        return None
    if LONLAT_NAME.search(str(member)):
        return "lonlat"
    found = _NAMED_CODE.search(str(member))
    if found is None:
        raise SettingsError(
            f"its coordinate system is not known, {json.dumps(member, default=str)[:120]}; convert the file to "
            "longitude and latitude"
        )
    return coordinates.settled(f"{found[1]}:{found[2]}", "its crs")


def _only(columns: Mapping[str, Any]) -> str | None:
    """Give the one attribute there is, or None."""
    return next(iter(columns)) if len(columns) == 1 else None


def _column(layer: Layer, zone_id: str | None) -> str:
    """Choose the attribute that names zones."""
    column = layer.usual if zone_id is None else zone_id
    if column is not None and column in layer.columns:
        return column
    if not layer.columns:
        raise SettingsError("its features have no attributes; give each zone an id")
    names = ", ".join(map(repr, [*layer.columns][:_SHOWN]))
    more = f" and {len(layer.columns) - _SHOWN} more" if len(layer.columns) > _SHOWN else ""
    if zone_id is None:
        raise SettingsError(f"say with {_OPTION} which attribute has the ids of zones: {names}{more}")
    raise SettingsError(f"it has no attribute {zone_id!r} for {_OPTION}; it has {names}{more}")


def _name(value: Any, number: int, column: str) -> str:
    """Write an id as text; a whole number has no fraction, even where a missing one made floats of all."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        text = "" if math.isnan(value) else f"{value:.0f}" if value.is_integer() else repr(value)
    elif isinstance(value, str | int | Decimal | date | datetime):
        text = str(value)
    elif value is None:
        text = ""
    else:
        raise SettingsError(
            f"feature {number} has {column!r} that is neither a text nor a number; choose another"
        )
    if not text.strip():
        raise SettingsError(
            f"feature {number} has no value in {column!r}; give each zone an id, or choose another attribute "
            f"with {_OPTION}"
        )
    return text


def _system(layer: Layer, parts: Array, region: Region) -> Crs:
    """Say what the coordinates mean: what the file declares, else what those of the region mean."""
    assert region.crs is not None
    if layer.crs is None:
        bounds = np.abs(shapely.total_bounds(parts))
        # As for regions: GeoJSON has longitude and latitude, and other zones would be some meters large.
        in_degrees = coordinates.is_known(region.crs) and np.all(bounds <= (360, 90, 360, 90))
        return "lonlat" if in_degrees else region.crs
    if layer.crs != region.crs and not (coordinates.is_known(layer.crs) and coordinates.is_known(region.crs)):
        what = "in a planar system without a code" if layer.crs == "planar" else f"in {layer.crs}"
        raise SettingsError(
            f"the zones are {what}, and the region is in {region.crs}; write the zones in the region's system, "
            "or in longitude and latitude if that is known"
        )
    return layer.crs


def _refuse_elsewhere(polygons: Array, region: Region) -> None:
    """Refuse zones of which none meets the region."""
    outline = outline_of(region)
    shapely.prepare(outline)
    if shapely.intersects(outline, polygons).any():
        return
    place = ",".join(f"{bound:.9g}" for bound in shapely.total_bounds(polygons))
    raise SettingsError(
        f"no zone meets the region: they lie within W,S,E,N {place} and the region is {region}, in "
        f"{region.units}. Are the axes swapped, or are the zones in another coordinate system than they say?"
    )
