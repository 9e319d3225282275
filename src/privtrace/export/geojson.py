"""Write places and flows as features of GeoJSON (RFC 7946), one feature per line, in chunks.

Planar coordinates stand as they are, and so do projected ones, with a member that names their system: many
programs know it, although it is no longer in the standard.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely

from privtrace.coordinates import is_known
from privtrace.export.columns import Asked
from privtrace.export.tables import Rows, product, without_centers
from privtrace.io.printing import chained, content, joined, json_texts, shortest
from privtrace.methods.model import Model
from privtrace.trajectories import Array, Crs, Floats

#: Features that are text at once.
_CHUNK_FEATURES = 1 << 14

_KIND = shapely.GeometryType


def write(model: Model, asked: Asked, sink: Any) -> None:
    """Write a collection of features, with the words about the release in a member "privtrace"."""
    laid_out = product(model, asked)
    member = json.dumps(_member(laid_out.schema.metadata), ensure_ascii=False)
    crs = _crs_member(model.release.crs)
    sink.write(f'{{"type":"FeatureCollection",{crs}"privtrace":{member},"features":['.encode())
    before = "\n"
    for rows in laid_out.rows:
        if rows.table.num_rows == 0:
            continue
        sink.write(before.encode())
        _write_features(rows, sink)
        before = ",\n"
    sink.write(b"\n]}\n")


def _member(metadata: dict[bytes, bytes]) -> dict[str, Any]:
    """Turn the words of a table into an object of JSON."""
    member: dict[str, Any] = {
        key.decode().removeprefix("privtrace."): value.decode() for key, value in metadata.items()
    }
    member["columns"] = json.loads(member["columns"])
    if "private" in member:
        member["private"] = member["private"] == "true"
    return member


def _crs_member(crs: Crs) -> str:
    """Name a projected system, as GeoJSON did before 2016."""
    if crs == "lonlat" or not is_known(crs):
        return ""
    authority, code = crs.split(":")
    name = {"name": f"urn:ogc:def:crs:{authority}::{code}"}
    return f'"crs":{json.dumps({"type": "name", "properties": name})},'


def _write_features(rows: Rows, sink: Any) -> None:
    """Write features separated by commas."""
    assert rows.shapes is not None  # otherwise the format cannot hold it
    n = rows.table.num_rows
    for first in range(0, n, _CHUNK_FEATURES):
        last = min(first + _CHUNK_FEATURES, n)
        properties = _properties(rows.table.slice(first, last - first))
        geometries = printed(rows.shapes(np.arange(first, last)))
        features = chained('{"type":"Feature","geometry":', geometries, ',"properties":{', properties, "}},\n")
        text = content(features)
        sink.write(text[:-2] if last == n else text)


def _properties(table: pa.Table) -> pa.Array:
    """Print columns as members of an object. Centers go without saying: the geometry has them."""
    table = without_centers(table)
    pieces: list[pa.Array | str] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        one = column.combine_chunks()
        if pa.types.is_string(column.type):
            coded = one.dictionary_encode()
            printed = json_texts(coded.dictionary).cast(pa.large_string()).take(coded.indices)
        else:
            printed = one.cast(pa.large_string())
        pieces += [f'{"," if pieces else ""}"{name}":', printed.fill_null("null")]
    return chained(*pieces)


def printed(shapes: Array) -> pa.Array:
    """Print geometries, all of them polygons or all of them lines, in one piece or in several."""
    parts, owners = shapely.get_parts(shapes, return_index=True)
    if not len(parts):
        return pa.array(["null"] * len(shapes), pa.large_string())
    is_area = shapely.get_type_id(parts[0]) == _KIND.POLYGON
    texts = _polygon_texts(parts) if is_area else _line_texts(parts)
    kind = "Polygon" if is_area else "LineString"
    offsets = np.searchsorted(owners, np.arange(len(shapes) + 1))
    inside, n_parts = joined(texts, offsets, ","), pa.array(np.diff(offsets))
    one = chained(f'{{"type":"{kind}","coordinates":', inside, "}")
    several = chained(f'{{"type":"Multi{kind}","coordinates":[', inside, "]}")
    found = pc.if_else(pc.equal(n_parts, 1), one, several)
    return pc.if_else(pc.equal(n_parts, 0), pa.scalar("null", pa.large_string()), found)


def _polygon_texts(polygons: Array) -> pa.Array:
    """Print the rings of polygons: canonical, then turned, outer rings to the left, as the standard asks."""
    polygons = shapely.reverse(shapely.normalize(polygons))
    _, points, (of_rings, of_polygons) = shapely.to_ragged_array(polygons)  # offsets
    rings = chained("[", joined(_points(points), of_rings.astype(np.int64), ","), "]")
    return chained("[", joined(rings, of_polygons.astype(np.int64), ","), "]")


def _line_texts(lines: Array) -> pa.Array:
    """Print the points of lines."""
    _, points, (offsets,) = shapely.to_ragged_array(lines)
    return chained("[", joined(_points(points), offsets.astype(np.int64), ","), "]")


def _points(points: Floats) -> pa.Array:
    """Print points as pairs."""
    return chained("[", shortest(points[:, 0], "null"), ",", shortest(points[:, 1], "null"), "]")
