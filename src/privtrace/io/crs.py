"""Tell what the coordinate system that a file names means: longitude and latitude in degrees, or planar."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from privtrace.errors import DataError
from privtrace.io.columns import Declared
from privtrace.trajectories import Crs

#: What GeoParquet means where it names no system.
CRS84: Mapping[str, Any] = {"type": "GeographicCRS", "id": {"authority": "OGC", "code": "CRS84"}}

# Systems that lie within two meters of WGS 84: that itself, and those of Europe and North America.
_LIKE_WGS84 = {"CRS84", "CRS84H", "4326", "4979", "4258", "4937", "4269", "6318"}
_DATUMS = (
    "World Geodetic System 1984",
    "WGS 84",
    "WGS_1984",
    "European Terrestrial Reference System 1989",
    "North American Datum 1983",
    "NAD83",
)
_PLANAR = ("ProjectedCRS", "DerivedProjectedCRS", "EngineeringCRS")


def meaning(path: Path, described: Any, declared: Declared) -> Crs:
    """Choose what points mean: what was declared, else what a system described as PROJJSON says.

    Without a description they are planar.
    """
    if declared.crs is not None:
        return declared.crs
    if described is None:
        return "planar"
    system = described if isinstance(described, Mapping) else {}
    while "type" in system and (inner := _inner(system)) is not None:
        system = inner
    if system.get("type") in _PLANAR:
        return "planar"
    if _is_like_wgs84(system):
        return "lonlat"
    raise DataError(
        f"{path}: its coordinate system is neither planar nor close to WGS 84; convert it to EPSG:4326, "
        f"or declare it with {declared.either_crs}"
    )


def _inner(system: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Take the horizontal system out of one with heights, or one that is bound to another."""
    components = system.get("components")
    inner = components[0] if isinstance(components, list) and components else system.get("source_crs")
    return inner if isinstance(inner, Mapping) else None


def _is_like_wgs84(system: Mapping[str, Any]) -> bool:
    if system.get("type") not in ("GeographicCRS", "GeodeticCRS"):
        return False
    known = system.get("id")
    if isinstance(known, Mapping):
        return str(known.get("code")).upper() in _LIKE_WGS84
    datum = system.get("datum", system.get("datum_ensemble"))
    name = datum.get("name") if isinstance(datum, Mapping) else None
    return isinstance(name, str) and name.startswith(_DATUMS)
