"""Read and write Parquet."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from privtrace.io.arrow import ArrowReader
from privtrace.io.beginning import PARQUET_CURE, Beginning
from privtrace.io.columns import Declared, resolve
from privtrace.io.files import reading
from privtrace.io.output_tables import long_tables
from privtrace.io.streams import abreast
from privtrace.trajectories import Trajectories


class ParquetReader(ArrowReader):
    """Read a point table from Parquet."""

    cure = PARQUET_CURE

    def __init__(self, beginning: Beginning, declared: Declared) -> None:
        schema, n_rows, _ = beginning.footer
        layout = resolve(beginning.path, schema.names, declared)
        super().__init__(beginning.snapshot, layout, schema, n_rows, declared)

    def _batches(self, names: list[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        with ExitStack() as stack:
            files = [stack.enter_context(opened(self.snapshot.path)) for _ in names]
            # Each column by itself: together, all would wait for the slowest in every batch.
            by_name = zip(files, names, strict=True)
            streams = [
                file.iter_batches(batch_rows, columns=[name], use_threads=False) for file, name in by_name
            ]
            yield from _in_step(names, stack.enter_context(abreast(streams)))

    def _n_times(self) -> int | None:
        """Count timestamps by what the footer says of each row group, where it does."""
        if self.layout.clock.on_calendar or not pa.types.is_timestamp(self.time_type):
            return None  # some may be unreadable
        with opened(self.snapshot.path) as file:
            about = file.metadata
        leaves = [at for at in range(about.num_columns) if about.schema.column(at).path == self.layout.time]
        groups = [about.row_group(group) for group in range(about.num_row_groups)]
        told = [group.column(leaf).statistics for group in groups for leaf in leaves]
        if len(leaves) != 1 or any(one is None or not one.has_null_count for one in told):
            return None
        return int(about.num_rows - sum(one.null_count for one in told))


def _in_step(names: list[str], columns: Sequence[Iterator[pa.RecordBatch]]) -> Iterator[pa.RecordBatch]:
    """Put columns side by side; a column of very long text may come in shorter batches than others."""
    held: list[Any] = [next(column, None) for column in columns]
    while all(one is not None for one in held):
        n_rows = min(one.num_rows for one in held)
        yield pa.RecordBatch.from_arrays([one.column(0)[:n_rows] for one in held], names=names)
        held = [
            next(column, None) if one.num_rows == n_rows else one.slice(n_rows)
            for one, column in zip(held, columns, strict=True)
        ]


@contextmanager
def opened(path: Path) -> Iterator[pq.ParquetFile]:
    """Open a file for a pass, by its path; arrow itself would take some names for addresses."""
    with (
        reading(path, PARQUET_CURE),
        pa.OSFile(os.fsencode(path)) as source,
        # By default arrow would hold all that it has read of the file until the end.
        pq.ParquetFile(source, pre_buffer=False) as file,
    ):
        yield file


def write(parts: Iterable[Trajectories], path: Path, *, names: str | None = None) -> None:
    """Write a long table, with the first part's words about the whole in the footer."""
    write_tables(*long_tables(parts, names), path)


def write_tables(
    schema: pa.Schema,
    tables: Iterable[pa.Table],
    path: Path,
    *,
    footer: Callable[[], dict[bytes, bytes]] = dict,
) -> None:
    """Write tables of one schema, a row group each; `footer` says at the end what else is kept there."""
    encoded = {field.name: code for field in schema if (code := _encoding(field.type))}
    others = [_leaf(field) for field in schema if field.name not in encoded]
    coding = {"compression": "lz4", "use_dictionary": others, "column_encoding": encoded}
    with pa.OSFile(os.fsencode(path), "wb") as sink, pq.ParquetWriter(sink, schema, **coding) as writer:
        for table in tables:
            alike = table.replace_schema_metadata(schema.metadata)
            writer.write_table(alike, row_group_size=max(table.num_rows, 1))
        writer.add_key_value_metadata(footer())


def _encoding(kind: pa.DataType) -> str | None:
    """Name the encoding of numbers; of all else there is a dictionary.

    Dictionaries and strong compression took longer than making the points, for files that were larger. Ids and
    times rise from row to row, and of coordinates the first bytes are alike.
    """
    if pa.types.is_integer(kind) or pa.types.is_timestamp(kind):
        return "DELTA_BINARY_PACKED"
    return "BYTE_STREAM_SPLIT" if pa.types.is_floating(kind) else None


def _leaf(field: pa.Field) -> str:
    """Name the column of Parquet that holds the values of a field."""
    return f"{field.name}.list.element" if pa.types.is_list(field.type) else str(field.name)
