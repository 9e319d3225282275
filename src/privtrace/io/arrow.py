"""Read point tables whose columns have arrow's types already: in memory, or as a file format yields them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from itertools import chain

import pyarrow as pa

from privtrace import rows
from privtrace.io.columns import Declared, Layout, check_types, with_fit_order
from privtrace.io.files import Snapshot, reading
from privtrace.io.source import Reader, Sizes
from privtrace.rows.faults import Faults, Place


class ArrowReader(Reader):
    """Read a table of points; a subclass says where its batches come from."""

    parse_once = False
    cure: str  # what to do where it is damaged

    def __init__(
        self, snapshot: Snapshot, layout: Layout, schema: pa.Schema, n_rows: int, declared: Declared
    ) -> None:
        self.snapshot, self._schema, self.n_rows = snapshot, schema, n_rows
        layout = with_fit_order(layout, schema, declared)
        self.lay_out(layout, check_types(snapshot.path, layout, schema, declared))

    @abstractmethod
    def _batches(self, names: list[str], batch_rows: int) -> Iterable[pa.RecordBatch]:
        """Yield these columns as they are, at most so many rows at once."""

    def _n_times(self) -> int | None:
        """Count the times, all of which can be read, if that is known without a look at them."""
        return None

    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, or their keys only."""
        wanted: set[str | None] = {self.layout.trajectory, self.layout.user}
        wanted |= set() if keys_only else {*self.layout.names}
        if keys_only and faults is not None and self.has_clock:  # how many times there are is counted too
            n_times = self._n_times()
            faults.n_times += n_times or 0
            wanted |= {self.layout.time} if n_times is None else set()
        if keys_only and faults is not None and not self.has_times:  # and which rows have no place in the order
            wanted |= {self.layout.order}
        n_before = 0
        for batch in self._rows(wanted, sizes):
            place = Place.following(self.snapshot.path, n_before)
            n_before += batch.num_rows
            found = rows.usable(batch, self.crs, faults, place)
            yield rows.keys_of(found) if keys_only else found

    def values(self, sizes: Sizes) -> Iterator[pa.RecordBatch]:
        """Yield what differs from point to point, of all rows, good or bad."""
        layout = self.layout
        return map(rows.values_of, self._rows({layout.x, layout.y, layout.time, layout.order}, sizes))

    def _rows(self, wanted: set[str | None], sizes: Sizes) -> Iterator[pa.RecordBatch]:
        """Yield some columns as rows; the first batch is empty and shows the types."""
        layout, names = self.layout, [name for name in self.layout.names if name in wanted]
        nothing = pa.RecordBatch.from_pylist([], pa.schema([self._schema.field(name) for name in names]))
        with reading(self.snapshot.path, self.cure):
            for batch in chain([nothing], self._batches(names, sizes.batch_rows)):
                columns = {name: batch[name] for name in names}
                yield rows.rows(
                    rows.ids(columns[layout.trajectory]) if layout.trajectory in columns else None,
                    rows.ids(columns[layout.user]) if layout.user in columns else None,
                    rows.numbers(columns[layout.x]) if layout.x in columns else None,
                    rows.numbers(columns[layout.y]) if layout.y in columns else None,
                    rows.times(columns[layout.time], layout.clock) if layout.time in columns else None,
                    rows.numbers(columns[layout.order]) if layout.order in columns else None,
                )


class MemoryReader(ArrowReader):
    """Read a table in memory; `place` names it in messages, as a path names a file."""

    cure = "make the table again"

    def __init__(self, place: str, layout: Layout, table: pa.Table, declared: Declared) -> None:
        super().__init__(Snapshot.in_memory(place), layout, table.schema, table.num_rows, declared)
        self._table = table

    def _batches(self, names: list[str], batch_rows: int) -> Iterable[pa.RecordBatch]:
        batches: list[pa.RecordBatch] = self._table.select(names).to_batches(max_chunksize=batch_rows)
        return batches
