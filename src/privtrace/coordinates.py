"""Know coordinate systems: longitude and latitude, planar ones of no known place, and projected ones by code.

A system comes from what a file declares or from an option, never from values. Systems with a code, such as
EPSG:3763, need pyproj; nothing else does.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from privtrace.errors import DataError, MissingExtra, SettingsError

#: "lonlat" (degrees, WGS 84), "planar" (of no known place), or the code of a projected system: "EPSG:3763".
Crs: TypeAlias = str

#: What GeoParquet means where it names no system.
CRS84: Mapping[str, Any] = {"type": "GeographicCRS", "id": {"authority": "OGC", "code": "CRS84"}}

_CODE = re.compile(r"[A-Za-z][A-Za-z0-9]*:[A-Za-z0-9]+")
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
#: Digits of a scale: more than any use has, and so few that versions of a library agree on them.
_SCALE_DIGITS = 6


def settled(crs: Any, what: str = "crs") -> Crs:
    """Check the name of a system; a code of longitude and latitude, such as EPSG:4326, gives "lonlat"."""
    if crs in ("lonlat", "planar"):
        return str(crs)
    if not isinstance(crs, str) or not _CODE.fullmatch(crs):
        raise SettingsError(f"{what} must be 'lonlat', 'planar' or a code such as 'EPSG:3763', not {crs!r}")
    found = _meaning_of(_system(crs.upper(), what))
    if found in (None, "planar"):
        raise SettingsError(
            f"{what}: {crs} is neither a projected system nor close to WGS 84; convert the data to EPSG:4326"
        )
    return str(found)


@lru_cache(64)
def _meaning_of(system: Any) -> Crs | None:
    return meaning(system.to_json_dict())


def is_known(crs: Crs | None) -> bool:
    """Tell whether a system says where on earth its points are."""
    return crs not in (None, "planar")


def meaning(described: Any) -> Crs | None:
    """Say what a system described as PROJJSON means; "planar" without a description, None if it is neither."""
    if described is None:
        return "planar"
    system = described if isinstance(described, Mapping) else {}
    while "type" in system and (inner := _inner(system)) is not None:
        system = inner
    if system.get("type") in _PLANAR:
        known = system.get("id")
        code = f"{known.get('authority')}:{known.get('code')}" if isinstance(known, Mapping) else ""
        return code.upper() if _CODE.fullmatch(code) else "planar"
    return "lonlat" if _is_like_wgs84(system) else None


def code_of(crs: Crs) -> str | None:
    """Give the code by which geographic libraries know a system; None if no place is known."""
    return "EPSG:4326" if crs == "lonlat" else crs if is_known(crs) else None


def described(crs: Crs) -> Any:
    """Describe a system as PROJJSON; None if no place is known."""
    return CRS84 if crs == "lonlat" else _system(crs).to_json_dict() if is_known(crs) else None


def transformed(points: npt.NDArray[np.float64], source: Crs, target: Crs) -> npt.NDArray[np.float64]:
    """Move points from one system to another; those that the other cannot hold are not numbers there."""
    if source == target:
        return points
    if not (is_known(source) and is_known(target)):
        raise DataError(
            f"{source} points cannot be transformed to {target}: planar coordinates do not say where on earth "
            "they are. Name their system with --crs EPSG:... (crs='EPSG:...')"
        )
    moved = np.column_stack(_transformer(source, target).transform(points[:, 0], points[:, 1]))
    return np.where(np.isfinite(moved), moved, np.nan)


@lru_cache(64)
def scale_m(crs: Crs, x: float, y: float) -> tuple[float, float]:
    """Give the meters on the ground in one unit of each coordinate of a projected system, around a point.

    Web Mercator stretches lengths, in Lisbon by a quarter; systems made for a country hardly do.
    """
    pyproj = _pyproj(crs)
    system = _system(crs)
    unit = system.axis_info[0].unit_conversion_factor or 1.0
    longitude, latitude = _transformer(crs, "lonlat").transform(x, y)
    try:
        factors = pyproj.Proj(system).get_factors(longitude, latitude)
        scales = [unit / factors.parallel_scale, unit / factors.meridional_scale]
    except (pyproj.exceptions.ProjError, ZeroDivisionError):
        scales = [unit, unit]
    across, along = (round(one, _SCALE_DIGITS) if math.isfinite(one) else unit for one in scales)
    return across, along


@lru_cache(64)
def _system(crs: Crs, what: str = "crs") -> Any:
    pyproj = _pyproj(crs)
    try:
        return pyproj.CRS("OGC:CRS84" if crs == "lonlat" else crs)
    except pyproj.exceptions.CRSError:
        raise SettingsError(f"{what}: no coordinate system has the code {crs}; check the code") from None


@lru_cache(64)
def _transformer(source: Crs, target: Crs) -> Any:
    return _pyproj(source).Transformer.from_crs(_system(source), _system(target), always_xy=True)


def _pyproj(crs: Crs) -> Any:
    try:
        import pyproj
    except ImportError:
        raise MissingExtra(
            f"the coordinate system {crs} needs the geo extra: pip install 'privtrace[geo]'"
        ) from None
    return pyproj


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
