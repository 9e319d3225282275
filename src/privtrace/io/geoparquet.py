"""Read and write GeoParquet: Parquet with geometries, a row per point or a row per trajectory.

Both kinds are read alike, with geometries as well-known binary or in the native encodings; see
`privtrace.io.features` for what a row is then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from privtrace.coordinates import CRS84, described
from privtrace.errors import DataError
from privtrace.io import printing
from privtrace.io.beginning import Beginning
from privtrace.io.columns import Declared
from privtrace.io.crs import meaning
from privtrace.io.features import FEATURES_AT_ONCE, Features
from privtrace.io.geometries import from_native, from_wkb, kinds_in
from privtrace.io.layers import LayerReader
from privtrace.io.output_tables import GEOMETRY, line_tables, point_tables
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
        yield self._features(self._schema.empty_table().select(names).combine_chunks())
        with opened(self.snapshot.path) as file:
            for batch in file.iter_batches(min(sizes.batch_rows, FEATURES_AT_ONCE), columns=names):
                yield self._features(pa.table(batch))

    def _features(self, table: pa.Table) -> Features:
        columns = {name: _one(table[name]) for name in table.column_names}
        read = from_wkb if self._encoding == "WKB" else from_native
        return self.of_columns(read(columns[self._geometry]), columns)


def shapes_of(path: Path) -> tuple[pa.ChunkedArray, Crs]:
    """Read all geometries of a file, which is public, and what their coordinates mean."""
    with Beginning.of(path) as beginning:
        if not is_geoparquet(beginning):
            raise DataError(f"{path}: this Parquet file has no geometries; write it as GeoParquet")
        schema, _, metadata = beginning.footer
        name, column = _described(path, metadata, schema)
    with opened(path) as file:
        shapes = _one(file.read([name])[name]).cast(pa.large_binary())
    return pa.chunked_array([shapes]), meaning(path, column.get("crs", CRS84), Declared())


def _one(column: pa.ChunkedArray) -> pa.Array:
    """Give a column as one array, without the name of an extension type."""
    array = column.combine_chunks()
    array = pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array
    return array.storage if isinstance(array, pa.ExtensionArray) else array


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
    if not (_is_binary(kind) if encoding == "WKB" else _is_native(kind) and encoding in _NATIVE):
        raise DataError(
            f"{path}: its geometries are encoded neither as WKB nor as points or lines; write it with WKB"
        )
    return name, column


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def _is_native(kind: pa.DataType) -> bool:
    while pa.types.is_list(kind) or pa.types.is_large_list(kind):
        kind = kind.value_type
    return pa.types.is_struct(kind) and all(
        kind.get_field_index(name) >= 0 and pa.types.is_floating(kind.field(name).type) for name in ("x", "y")
    )


def write_points(parts: Iterable[Trajectories], path: Path) -> None:
    """Write a row per point, with a geometry; the first part's words about the whole in the footer."""
    first, parts = printing.peeked(parts)
    _write(*point_tables(parts), first.crs, path)


def write_lines(parts: Iterable[Trajectories], path: Path) -> None:
    """Write a row per trajectory, with lists of times; the first part's words about the whole in the footer."""
    first, parts = printing.peeked(parts)
    _write(*line_tables(parts), first.crs, path)


def _write(schema: pa.Schema, tables: Iterable[pa.Table], crs: Crs, path: Path) -> None:
    kinds: set[str] = set()

    def seen() -> Iterator[pa.Table]:
        for table in tables:
            kinds.update(kinds_in(_one(table[GEOMETRY])))
            yield table

    # Which types of geometry there are is known at the end.
    write_tables(schema, seen(), path, footer=lambda: {_KEY: json.dumps(_description(crs, kinds)).encode()})


def _description(crs: Crs, kinds: set[str]) -> dict[str, Any]:
    """Describe the geometries as GeoParquet wants it: without a `crs` it is longitude and latitude."""
    column: dict[str, Any] = {"encoding": "WKB", "geometry_types": sorted(kinds)}
    if crs != "lonlat":
        column["crs"] = described(crs)
    return {"version": "1.0.0", "primary_column": GEOMETRY, "columns": {GEOMETRY: column}}
