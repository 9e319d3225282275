"""Write layers of zones and flows as one GeoPackage, which geographic information systems open as it is.

GDAL, which pyogrio brings, does the work. Its dates are fixed, so that the same layers make the same file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from warnings import catch_warnings

import numpy as np
import pyarrow as pa
import shapely

from privtrace.coordinates import code_of
from privtrace.errors import OutputError
from privtrace.io.ogr import GEOPACKAGE, gdal
from privtrace.io.output_tables import GEOMETRY
from privtrace.io.printing import words
from privtrace.trajectories import Array, Crs

#: The date of all files: GDAL's own would tell when one was made.
_DATE = "1980-01-01T00:00:00.000Z"

#: What says what the columns mean; it is too long for a description.
_COLUMNS = "privtrace.columns"

_KIND = shapely.GeometryType

#: Types of several pieces: of what geometries they are made, and how.
_SEVERAL: Mapping[str, tuple[tuple[int, int], Callable[..., Array]]] = {
    "MultiLineString": ((_KIND.LINESTRING, _KIND.MULTILINESTRING), shapely.multilinestrings),
    "MultiPolygon": ((_KIND.POLYGON, _KIND.MULTIPOLYGON), shapely.multipolygons),
}


class Layer(NamedTuple):
    """Hold a layer: a geometry for each row of a table; None or an empty one for a row that has none."""

    name: str
    geometries: Array  # (n,), of shapely
    table: pa.Table  # with n rows; its metadata become those of the layer


def write_layers(path: Path, layers: Sequence[Layer], about: Mapping[str, str], crs: Crs) -> None:
    """Write layers into a new file, with the words about them all as its description and metadata."""
    pyogrio = gdal(path, GEOPACKAGE)
    named = path.with_suffix(GEOPACKAGE.suffix)  # GDAL warns of other names
    path.unlink(missing_ok=True)
    said = words({name: text for name, text in about.items() if name != _COLUMNS})
    options = {"driver": GEOPACKAGE.driver, "crs": code_of(crs), "geometry_name": GEOMETRY}
    of_file = {"dataset_metadata": dict(about), "DESCRIPTION": said}
    try:
        with _undated(pyogrio), catch_warnings(action="ignore"):  # that planar points have no system
            for layer in layers:  # each beside those that are there
                pyogrio.raw.write_arrow(**_given(layer), path=named, **options, **of_file)
        named.replace(path)
    except (RuntimeError, ValueError, OSError):
        raise OutputError(f"{GEOPACKAGE.name} cannot be written here; check space and permissions") from None


def _given(layer: Layer) -> dict[str, Any]:
    """Lay a layer out as pyogrio takes it."""
    kind, geometries = _alike(layer.geometries)
    shapes = pa.array(shapely.to_wkb(geometries), pa.binary())
    about = {name.decode(): text.decode() for name, text in (layer.table.schema.metadata or {}).items()}
    table = layer.table.replace_schema_metadata(None).append_column(GEOMETRY, shapes)
    return {"arrow_obj": table, "layer": layer.name, "geometry_type": kind, "layer_metadata": about}


def _alike(geometries: Array) -> tuple[str, Array]:
    """Name the one type that all geometries of a layer have, and make several of one where some are several."""
    types = {*shapely.get_type_id(geometries[~shapely.is_missing(geometries)]).tolist()}
    if types <= {shapely.GeometryType.LINESTRING}:
        return "LineString", geometries
    for name, (of, together) in _SEVERAL.items():
        if types <= {*of}:
            return name, _together(geometries, together)
    return "Unknown", geometries


def _together(geometries: Array, together: Callable[..., Array]) -> Array:
    """Put the pieces of each geometry together; where there are none, it is missing."""
    pieces, owners = shapely.get_parts(geometries, return_index=True)
    return together(pieces, indices=owners, out=np.full(len(geometries), None))


@contextmanager
def _undated(pyogrio: ModuleType) -> Iterator[None]:
    """Let GDAL write a fixed date."""
    pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": _DATE})
    try:
        yield
    finally:
        pyogrio.set_gdal_config_options({"OGR_CURRENT_DATE": None})
