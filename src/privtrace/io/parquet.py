"""Read and write Parquet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from privtrace.io import rows
from privtrace.io.columns import Declared, Layout, check_types, resolve
from privtrace.io.faults import Faults, Place
from privtrace.io.files import Stamp, reading
from privtrace.io.naming import named_tables
from privtrace.io.source import ColumnReader, Sizes
from privtrace.trajectories import Trajectories

_CURE = "write the Parquet file again, or convert the table to CSV"


class ParquetReader(ColumnReader):
    """Read a point table from Parquet."""

    parse_once = False
    layout: Layout

    def __init__(self, stamp: Stamp, declared: Declared) -> None:
        self.stamp = stamp
        path = stamp.path
        with opened(path) as file:
            self._schema = file.schema_arrow
            self.n_rows: int | None = file.metadata.num_rows
        self.layout = resolve(path, self._schema.names, declared)
        check_types(path, self.layout, self._schema)

    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, or their keys only."""
        names = self.layout.keys if keys_only else self.layout.names
        nothing = [pa.array([], self._schema.field(name).type) for name in names]
        yield self._rows(pa.RecordBatch.from_arrays(nothing, names=names))
        path = self.stamp.path
        n_before = 0
        with opened(path) as file:
            for batch in file.iter_batches(sizes.batch_rows, columns=names):
                place = Place.following(path, n_before)
                n_before += batch.num_rows
                yield rows.usable(self._rows(batch), self.crs, faults, place)

    def _rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        layout = self.layout
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        converted = {
            "trajectory": rows.ids(columns[layout.trajectory]),
            "user": rows.ids(columns[layout.user]) if layout.user else None,
        }
        if layout.x in columns:
            converted["x"] = rows.numbers(columns[layout.x])
            converted["y"] = rows.numbers(columns[layout.y])
            converted["time"] = rows.times(columns[layout.time]) if layout.time else None
        return rows.rows(**converted)


@contextmanager
def opened(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a file by its path; arrow itself would take some names for addresses."""
    with (
        reading(path, _CURE),
        pa.OSFile(os.fsencode(path)) as source,
        # By default arrow would hold all that it has read of the file until the end.
        pq.ParquetFile(source, pre_buffer=False) as file,
    ):
        yield file


def write(parts: Iterable[Trajectories], path: Path, *, names: str | None = None) -> None:
    """Write a long table, with the first part's words about the whole in the footer."""
    write_tables(*named_tables(parts, names), path)


def write_tables(
    schema: pa.Schema,
    tables: Iterable[pa.Table],
    path: Path,
    *,
    footer: Callable[[], dict[bytes, bytes]] = dict,
) -> None:
    """Write tables of one schema, a row group each; `footer` says at the end what else is kept there."""
    with (
        pa.OSFile(os.fsencode(path), "wb") as sink,
        pq.ParquetWriter(sink, schema, compression="zstd") as writer,
    ):
        for table in tables:
            writer.write_table(
                table.replace_schema_metadata(schema.metadata), row_group_size=max(table.num_rows, 1)
            )
        writer.add_key_value_metadata(footer())
