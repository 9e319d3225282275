"""Read and write Parquet."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from privtrace.errors import DataError
from privtrace.io import rows
from privtrace.io.columns import check_types, resolve
from privtrace.io.faults import Faults, Place
from privtrace.io.files import Stamp, reading
from privtrace.io.source import Sizes
from privtrace.trajectories import Crs

_CURE = "write the Parquet file again, or convert the table to CSV"


class ParquetReader:
    """Read a point table from Parquet."""

    parse_once = False

    def __init__(self, stamp: Stamp, crs: Crs | None) -> None:
        self.stamp = stamp
        path = stamp.path
        if stamp.files[0].n_bytes == 0:
            raise DataError(f"{path}: is empty, not even a header; {_CURE}")
        with reading(path, _CURE), pq.ParquetFile(path) as file:
            self._schema = file.schema_arrow
            self.n_rows: int | None = file.metadata.num_rows
        self.layout = resolve(path, self._schema.names, crs)
        check_types(path, self.layout, self._schema)

    @property
    def crs(self) -> Crs:
        """Say whether points are longitude and latitude or planar."""
        return self.layout.crs

    @property
    def has_users(self) -> bool:
        """Say whether there is a column of users."""
        return self.layout.user is not None

    @property
    def has_times(self) -> bool:
        """Say whether there is a column of times."""
        return self.layout.time is not None

    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, or their keys only."""
        layout = self.layout
        keys = [name for name in (layout.trajectory, layout.user) if name is not None]
        names = keys if keys_only else layout.names
        nothing = [pa.array([], self._schema.field(name).type) for name in names]
        yield self._rows(pa.RecordBatch.from_arrays(nothing, names=names))
        path = self.stamp.path
        n_before = 0
        # By default arrow would hold all that it has read of the file until the end.
        with reading(path, _CURE), pq.ParquetFile(path, pre_buffer=False) as file:
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


def write(tables: Iterable[pa.Table], schema: pa.Schema, path: Path) -> None:
    """Write tables one row group each, with the schema's words about the whole beside them."""
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(
                table.replace_schema_metadata(schema.metadata), row_group_size=max(table.num_rows, 1)
            )
