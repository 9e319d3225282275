"""Write cells and flows as features of GeoJSON (RFC 7946), one feature per line, in chunks.

A cell over a polygon is what of it lies inside: the trapezoids of its piece, united. What crosses the
antimeridian is cut there. Planar coordinates stand as they are, and the file says so.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely

from privtrace.export.tables import Rows, product
from privtrace.io.printing import chained, content, joined, shortest
from privtrace.methods.model import Model
from privtrace.methods.view import View
from privtrace.space.grid import Grid
from privtrace.space.pieces import Pieces
from privtrace.space.region import Region
from privtrace.trajectories import Array, Floats, Integers

#: Cells that are text at once.
_CHUNK_CELLS = 1 << 14


def write(model: Model, view: View, what: str, sink: Any) -> None:
    """Write a collection of features, with the words about the release in a member "privtrace"."""
    laid_out = product(model, view, what)
    member = json.dumps(_member(laid_out.schema.metadata), ensure_ascii=False)
    sink.write(f'{{"type":"FeatureCollection","privtrace":{member},"features":['.encode())
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


def _write_features(rows: Rows, sink: Any) -> None:
    """Write features separated by commas."""
    for first in range(0, len(rows.cells), _CHUNK_CELLS):
        chunk = slice(first, first + _CHUNK_CELLS)
        cells, properties = rows.cells[chunk], _properties(rows.table.slice(first, _CHUNK_CELLS))
        geometries = (
            cell_texts(rows.grid, cells)
            if rows.onto is None
            else _line_texts(rows.grid, cells, rows.onto[chunk])
        )
        features = chained('{"type":"Feature","geometry":', geometries, ',"properties":{', properties, "}},\n")
        text = content(features)
        is_last = first + _CHUNK_CELLS >= len(rows.cells)
        sink.write(text[:-2] if is_last else text)


def _properties(table: pa.Table) -> pa.Array:
    """Print columns as members of an object. Centers go without saying: the geometry has them."""
    pieces: list[pa.Array | str] = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name.endswith(("_lon", "_lat", "_x", "_y")):
            continue
        texts = column.combine_chunks().cast(pa.large_string())
        is_text = pa.types.is_string(column.type)
        printed = chained('"', texts, '"') if is_text else texts.fill_null("null")
        pieces += [f'{"," if pieces else ""}"{name}":', printed]
    return chained(*pieces)


def cell_texts(grid: Grid, cells: Integers) -> pa.Array:
    """Print the geometries of cells: a Polygon, or a MultiPolygon where a cell is several polygons."""
    polygons, owners = shapely.get_parts(_geometries(grid, cells), return_index=True)
    if grid.region.area.turn:
        polygons, owners = _cut_at_180(polygons, owners, grid)
    # Canonical, and then turned: outer rings to the left, as the standard asks.
    polygons = shapely.reverse(shapely.normalize(polygons))
    _, points, (of_rings, of_polygons) = shapely.to_ragged_array(polygons)  # offsets
    ring_texts = chained("[", joined(_points(points), of_rings.astype(np.int64), ","), "]")
    polygon_texts = chained("[", joined(ring_texts, of_polygons.astype(np.int64), ","), "]")
    offsets = np.searchsorted(owners, np.arange(len(cells) + 1))
    texts = joined(polygon_texts, offsets, ",")
    return pc.if_else(
        pa.array(np.diff(offsets) == 1),
        chained('{"type":"Polygon","coordinates":', texts, "}"),
        chained('{"type":"MultiPolygon","coordinates":[', texts, "]}"),
    )


def _geometries(grid: Grid, cells: Integers) -> Array:
    """Make the geometries of cells: boxes, or their pieces united."""
    geometries: Array = shapely.box(*grid.boxes[cells].T)
    lengths = np.diff(grid.pieces.offsets)[cells]
    if lengths.any():
        geometries[lengths > 0] = _united(grid.pieces, cells[lengths > 0])
    return geometries


def _united(pieces: Pieces, cells: Integers) -> Array:
    """Unite the trapezoids of each cell. Those of a piece meet in level sides, so nothing has to be rounded."""
    lengths = np.diff(pieces.offsets)[cells]
    owners = np.repeat(np.arange(len(cells)), lengths)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    south, north, west0, west1, east0, east1 = pieces.trapezoids[pieces.offsets[cells][owners] + within].T
    has_area = (north > south) & ((east0 > west0) | (east1 > west1))
    corners = np.stack([west0, south, east0, south, east1, north, west1, north, west0, south], axis=1)
    trapezoids = shapely.polygons(corners[has_area].reshape(-1, 5, 2))
    together = shapely.multipolygons(trapezoids, indices=owners[has_area])
    united: Array = shapely.union_all(together[:, np.newaxis], axis=1)
    return united


def _cut_at_180(polygons: Array, owners: Integers, grid: Grid) -> tuple[Array, Integers]:
    """Cut polygons at the antimeridian, and bring those beyond it to -180 and up."""
    west, south, east, north = grid.region.bounds
    here = shapely.intersection(polygons, shapely.box(west, south, 180.0, north))
    there = shapely.intersection(polygons, shapely.box(180.0, south, east, north))
    there = shapely.transform(there, lambda points: points - [grid.region.area.turn, 0.0])
    halves, which = shapely.get_parts(np.concatenate([here, there]), return_index=True)
    is_area = (shapely.get_type_id(halves) == shapely.GeometryType.POLYGON) & (shapely.area(halves) > 0)
    owners = np.tile(owners, 2)[which]
    order = np.argsort(owners, kind="stable")
    order = order[is_area[order]]
    return halves[order], owners[order]


def _line_texts(grid: Grid, cells: Integers, onto: Integers) -> pa.Array:
    """Print lines between the centers of cells; a flow within a cell has no line, and its geometry is null."""
    here, there = grid.pieces.centers[cells], grid.pieces.centers[onto]
    turn = grid.region.area.turn
    beyond = np.minimum(here[:, 0], there[:, 0]) >= 180
    back = np.stack([np.where(beyond, turn, 0.0), np.zeros(len(cells))], axis=1)
    lines = chained(
        '{"type":"LineString","coordinates":[', _points(here - back), ",", _points(there - back), "]}"
    )
    if turn:
        lines = pc.if_else(pa.array(_crosses(here, there)), _cut_lines(here, there, grid.region), lines)
    return pc.if_else(pa.array(cells != onto), lines, pa.scalar("null", pa.large_string()))


def _crosses(here: Floats, there: Floats) -> Array:
    """Tell which lines cross the antimeridian."""
    crosses: Array = (here[:, 0] - 180) * (there[:, 0] - 180) < 0
    return crosses


def _cut_lines(here: Floats, there: Floats, region: Region) -> pa.Array:
    """Print lines cut in two, up to the antimeridian and from it on; only those that cross it are right."""
    across = np.where(_crosses(here, there), there[:, 0] - here[:, 0], 1.0)
    height = here[:, 1] + (180 - here[:, 0]) * ((there[:, 1] - here[:, 1]) / across)
    border = np.where(here[:, 0] < 180, 180.0, -180.0)
    ends = [np.stack([region.wrap(end[:, 0]), end[:, 1]], axis=1) for end in (here, there)]
    return chained(
        '{"type":"MultiLineString","coordinates":[[',
        _points(ends[0]),
        ",",
        _points(np.stack([border, height], axis=1)),
        "],[",
        _points(np.stack([-border, height], axis=1)),
        ",",
        _points(ends[1]),
        "]]}",
    )


def _points(points: Floats) -> pa.Array:
    """Print points as pairs."""
    return chained("[", shortest(points[:, 0], "null"), ",", shortest(points[:, 1], "null"), "]")
