"""Read and write GeoParquet: Parquet with geometries, a row per point or a row per trajectory.

Both kinds are read alike, with geometries as well-known binary or in the native encodings; see
`privtrace.io.features` for what a row is then.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from privtrace.coordinates import CRS84, described
from privtrace.errors import DataError
from privtrace.io import printing
from privtrace.io.beginning import Beginning
from privtrace.io.columns import Declared
from privtrace.io.features import FEATURES_AT_ONCE, Features, LayerReader, meaning
from privtrace.io.geometries import from_native, from_wkb, kinds_in
from privtrace.io.output_tables import GEOMETRY
from privtrace.io.parquet import opened, write_tables
from privtrace.io.source import Sizes
from privtrace.trajectories import Crs, Trajectories

_KEY = b"geo"
_NATIVE = ("point", "linestring", "multilinestring")


def is_geoparquet(beginning: Beginning) -> bool:
    """Tell from the footer of a Parquet file whether it has geometries."""
    return _KEY in beginning.footer[2]


class GeoParquetReader(LayerReader):
    """Read features from GeoParquet."""

    def __init__(self, beginning: Beginning, declared: Declared) -> None:
        self.snapshot = beginning.snapshot
        path = beginning.path
        self._schema, _, metadata = beginning.footer
        self._geometry, column = _described(path, metadata, self._schema)
        self._encoding = column["encoding"]
        crs = meaning(path, column.get("crs", CRS84), declared)
        others = pa.schema(field for field in self._schema if field.name != self._geometry)
        # Not by the types of geometry that the footer lists: they are the rows', and one row can change them.
        self.understand(path, others, declared, crs, points_only=self._encoding == "point")

    def features(self, sizes: Sizes) -> Iterator[Features]:
        """Yield the features of some rows at a time."""
        names = list(dict.fromkeys([*self.layout.names, self._geometry]))
        read = from_wkb if self._encoding == "WKB" else from_native
        nothing = pa.RecordBatch.from_pylist([], pa.schema(self._schema.field(name) for name in names))
        with opened(self.snapshot.path) as file:
            batches = file.iter_batches(min(sizes.batch_rows, FEATURES_AT_ONCE), columns=names)
            for batch in chain([nothing], batches):
                columns = dict(zip(batch.schema.names, map(_stored, batch.columns), strict=True))
                yield self.of_columns(read(columns[self._geometry]), columns)


def shapes_of(path: Path) -> tuple[pa.ChunkedArray, Crs]:
    """Read all geometries of a file, which is public, and what their coordinates mean."""
    name, column, _ = _public(path)
    return _shapes(path, name), meaning(path, column.get("crs", CRS84), Declared())


def features_of(path: Path) -> tuple[pa.ChunkedArray, pa.Table, Crs | None]:
    """Read geometries and attributes of a file, which is public, and what coordinates mean if it says so."""
    name, column, schema = _public(path)
    described = column.get("crs", CRS84)
    crs = None if described is None else meaning(path, described, Declared())
    with opened(path) as file:
        attributes = file.read([field.name for field in schema if _is_attribute(field)])
    return _shapes(path, name), attributes, crs


def _public(path: Path) -> tuple[str, dict[str, Any], pa.Schema]:
    """Find the geometries of a public file: their column, what the footer says of it, and all columns."""
    with Beginning.of(path) as beginning:
        if not is_geoparquet(beginning):
            raise DataError(f"{path}: this Parquet file has no geometries; write it as GeoParquet")
        schema, _, metadata = beginning.footer
        return *_described(path, metadata, schema), schema


def _shapes(path: Path, name: str) -> pa.ChunkedArray:
    with opened(path) as file:
        shapes = [
            _stored(batch.column(0)).cast(pa.large_binary()) for batch in file.iter_batches(columns=[name])
        ]
    return pa.chunked_array(shapes, pa.large_binary())


def _is_attribute(field: pa.Field) -> bool:
    """Tell whether a column can say what features are: no geometry, box around one, or index of a frame."""
    kind = field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type
    is_binary = kind in (pa.binary(), pa.large_binary(), pa.binary_view())
    return not (pa.types.is_nested(kind) or is_binary or re.fullmatch(r"__index_level_\d+__", field.name))


def _stored(column: pa.Array) -> pa.Array:
    """Give a column without the name of an extension type."""
    return column.storage if isinstance(column, pa.ExtensionArray) else column


def _described(path: Path, metadata: Mapping[bytes, bytes], schema: pa.Schema) -> tuple[str, dict[str, Any]]:
    """Find the column of geometries, and what the footer says of it."""
    try:
        said = json.loads(metadata[_KEY])
        name = said["primary_column"]
        column = said["columns"][name]
        fits = schema.names.count(name) == 1 and isinstance(column, dict)
    except (KeyError, TypeError, ValueError, RecursionError):
        fits = False
    if not fits:
        raise DataError(
            f"{path}: the footer does not describe the geometries as GeoParquet requires; write the file "
            "again, for example with geopandas"
        )
    kind = schema.field(name).type
    kind = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    encoding = column.get("encoding")
    is_binary = kind in (pa.binary(), pa.large_binary(), pa.binary_view())
    if not (is_binary if encoding == "WKB" else _is_native(kind) and encoding in _NATIVE):
        raise DataError(
            f"{path}: its geometries are encoded neither as WKB nor as points or lines; write it with WKB"
        )
    return name, column


def _is_native(kind: pa.DataType) -> bool:
    while pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    return pa.types.is_struct(kind) and all(
        kind.get_field_index(name) >= 0 and pa.types.is_floating(kind.field(name).type) for name in ("x", "y")
    )


def write(
    tables_of: Callable[..., tuple[pa.Schema, Iterator[pa.Table]]], parts: Iterable[Trajectories], path: Path
) -> None:
    """Write tables, with a row per point or per trajectory, and the first part's words in the footer."""
    first, parts = printing.peeked(parts)
    schema, tables = tables_of(parts)
    kinds: set[str] = set()

    def seen() -> Iterator[pa.Table]:
        for table in tables:
            kinds.update(kinds_in(table[GEOMETRY]))
            yield table

    # Which types of geometry there are is known at the end.
    write_tables(
        schema, seen(), path, footer=lambda: {_KEY: json.dumps(_description(first.crs, kinds)).encode()}
    )


def _description(crs: Crs, kinds: set[str]) -> dict[str, Any]:
    """Describe the geometries as GeoParquet wants it: without a `crs` it is longitude and latitude."""
    column: dict[str, Any] = {"encoding": "WKB", "geometry_types": sorted(kinds)}
    if crs != "lonlat":
        column["crs"] = described(crs)
    return {"version": "1.0.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: column}}
