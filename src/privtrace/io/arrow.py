"""Read point tables whose columns have arrow's types already: in memory, or as a file format yields them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from itertools import chain

import pyarrow as pa

from privtrace.io import rows
from privtrace.io.columns import Declared, Layout, check_types, named_zone, tells_time
from privtrace.io.faults import Faults, Place
from privtrace.io.files import Snapshot, reading
from privtrace.io.source import ColumnReader, Sizes


class ArrowReader(ColumnReader, ABC):
    """Read a table of points; a subclass says where its batches come from."""

    parse_once = False
    layout: Layout
    cure: str  # what to do where it is damaged

    def __init__(
        self, snapshot: Snapshot, layout: Layout, schema: pa.Schema, n_rows: int, declared: Declared
    ) -> None:
        check_types(snapshot.path, layout, schema, declared)
        self.snapshot = snapshot
        self.layout = layout
        self.n_rows: int | None = n_rows
        self._schema = schema

    @property
    def has_clock(self) -> bool:
        """Say whether the column of times has a type that can be a clock."""
        time = self.layout.time
        return time is not None and tells_time(self._schema.field(time).type, self.layout.clock)

    @property
    def named_zone(self) -> str | None:
        """Name the time zone in the type of the column of times."""
        time = self.layout.time
        return None if time is None else named_zone(self._schema.field(time).type)

    @abstractmethod
    def _batches(self, names: list[str], batch_rows: int) -> Iterable[pa.RecordBatch]:
        """Yield these columns as they are, at most so many rows at once."""

    def _n_times(self, name: str) -> int | None:
        """Count the times of a column, all of which can be read, if that is known without a look at them."""
        return None

    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, or their keys only."""
        names = self.layout.keys if keys_only else self.layout.names
        time = self.layout.time
        if keys_only and faults is not None and time is not None and self.has_clock:
            n_times = self._n_times(time)
            faults.n_times += n_times or 0
            if n_times is None:
                names = list(dict.fromkeys([*names, time]))  # how many times there are is counted too
        nothing = [pa.array([], self._schema.field(name).type) for name in names]
        batches = self._batches(names, sizes.batch_rows)
        n_before = 0
        with reading(self.snapshot.path, self.cure):
            for batch in chain([pa.RecordBatch.from_arrays(nothing, names=names)], batches):
                place = Place.following(self.snapshot.path, n_before)
                n_before += batch.num_rows
                found = rows.usable(self._rows(batch), self.crs, faults, place)
                yield rows.keys_of(found) if keys_only else found

    def values(self, sizes: Sizes) -> Iterator[pa.RecordBatch]:
        """Yield what differs from point to point, of all rows, good or bad."""
        names = self.layout.values
        nothing = [pa.array([], self._schema.field(name).type) for name in names]
        with reading(self.snapshot.path, self.cure):
            for batch in chain(
                [pa.RecordBatch.from_arrays(nothing, names=names)], self._batches(names, sizes.batch_rows)
            ):
                yield rows.values_of(self._rows(batch))

    def _rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        layout = self.layout
        columns = dict(zip(batch.schema.names, batch.columns, strict=True))
        converted = {
            "trajectory": rows.ids(columns[layout.trajectory]) if layout.trajectory in columns else None,
            "user": rows.ids(columns[layout.user]) if layout.user in columns else None,
        }
        if layout.x in columns:
            converted["x"] = rows.numbers(columns[layout.x])
            converted["y"] = rows.numbers(columns[layout.y])
        if layout.time in columns:
            converted["time"] = rows.times(columns[layout.time], layout.clock)
        return rows.rows(**converted)


class MemoryReader(ArrowReader):
    """Read a table in memory; `place` names it in messages, as a path names a file."""

    cure = "make the table again"

    def __init__(self, place: str, layout: Layout, table: pa.Table, declared: Declared) -> None:
        super().__init__(Snapshot.in_memory(place), layout, table.schema, table.num_rows, declared)
        self._table = table

    def _batches(self, names: list[str], batch_rows: int) -> Iterable[pa.RecordBatch]:
        batches: list[pa.RecordBatch] = self._table.select(names).to_batches(max_chunksize=batch_rows)
        return batches
