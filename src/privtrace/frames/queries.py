"""Read the rows of a query, out of core: of a LazyFrame of polars, or of a relation of DuckDB.

A query runs once, when its rows are first wanted. They are kept on disk, in a file without a name, which all
passes read: a query may cost much, and may give other rows, or another order of them, the next time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import pyarrow as pa

from privtrace.errors import DataError
from privtrace.frames.door import check, load
from privtrace.frames.tables import polars_column
from privtrace.io.arrow import ArrowReader
from privtrace.io.columns import Declared, decoded_type, resolve
from privtrace.io.files import Snapshot
from privtrace.io.source import FileSource, Sizes
from privtrace.rows import decoded
from privtrace.rows.spool import Spool

#: Held while DuckDB runs a query: in some versions a result just ends where its connection gets another query.
_DUCKDB = threading.Lock()


def from_lazy(frame: Any, declared: Declared, sizes: Sizes | None = None) -> FileSource:
    """Take a LazyFrame of polars with a row per point; only the columns that are needed are computed."""
    polars = load("polars", "from_lazy", None)
    check("from_lazy", frame, polars, "LazyFrame")
    place, cure = "the polars frame", "collect it first, and see what polars says"
    with _computing(place, cure):
        kinds = frame.collect_schema()
    names = kinds.names()
    needed = resolve(Path(place), names, declared).names
    nothing = [polars_column(place, polars.Series(name, [], kinds[name])) for name in needed]
    wanted = frame.select(polars.selectors.by_name(*needed))  # a name alone may be taken for a pattern
    at_once = (sizes or Sizes()).batch_rows

    def run() -> Iterator[list[pa.Array]]:
        for rows in _frames(wanted, at_once):
            yield [polars_column(place, rows[name]) for name in needed]

    query = _Query(place, cure, names, _schema(needed, [column.type for column in nothing]), run)
    return FileSource(query(declared), sizes, declared, query)


def _frames(lazy: Any, n_rows: int) -> Iterable[Any]:
    """Compute a LazyFrame, so many rows at a time; before polars 1.34, all of them are in memory at once."""
    if hasattr(lazy, "collect_batches"):
        frames: Iterable[Any] = lazy.collect_batches(chunk_size=n_rows, engine="streaming")
    else:
        frames = lazy.collect().iter_slices(n_rows)
    return frames


def from_relation(relation: Any, declared: Declared, sizes: Sizes | None = None) -> FileSource:
    """Take a relation of DuckDB with a row per point; only the columns that are needed are computed."""
    check("from_relation", relation, load("duckdb", "from_relation", None), "DuckDBPyRelation")
    place, cure = "the DuckDB relation", "fetch it first, and see what DuckDB says"
    at_once = (sizes or Sizes()).batch_rows
    with _computing(place, cure):
        names = relation.columns
    needed = resolve(Path(place), names, declared).names
    # By their places: to DuckDB, names that differ only in case are the same.
    columns = [f"#{names.index(name) + 1} AS {_quoted(name)}" for name in needed]
    with _computing(place, cure):
        wanted = relation.project(", ".join(columns))
        with _DUCKDB, _arrow_reader(wanted.limit(0), at_once) as nothing:
            kinds = nothing.schema.types

    def run() -> Iterator[list[pa.Array]]:
        with _DUCKDB, _arrow_reader(wanted, at_once) as batches:
            for batch in batches:
                yield batch.columns

    query = _Query(place, cure, names, _schema(needed, kinds), run)
    return FileSource(query(declared), sizes, declared, query)


def _quoted(name: str) -> str:
    """Write a name as SQL has it, whatever its signs."""
    return '"' + name.replace('"', '""') + '"'


def _arrow_reader(relation: Any, n_rows: int) -> Any:
    """Run the query of a relation; its batches are computed as they are read."""
    # Before DuckDB 1.5 it had another name. Its type is asked, as a relation has its columns as attributes.
    name = "to_arrow_reader" if hasattr(type(relation), "to_arrow_reader") else "fetch_arrow_reader"
    return getattr(relation, name)(n_rows)


def _schema(names: list[str], kinds: list[pa.DataType]) -> pa.Schema:
    """Give columns the types in which they are kept: dictionaries may differ from batch to batch."""
    return pa.schema([*zip(names, map(decoded_type, kinds), strict=True)])


@contextmanager
def _computing(place: str, cure: str) -> Iterator[None]:
    """Say that a query failed, and how to see why; what polars or DuckDB say may quote a row."""
    try:
        yield
    except (DataError, GeneratorExit, KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic of polars is no Exception, and a function in the query may raise anything
        raise DataError(f"{place}: it cannot be computed; {cure}") from None


class _Query:
    """Run a query once, keep its rows, and open them as they are declared."""

    def __init__(
        self,
        place: str,
        cure: str,
        names: list[str],  # of all columns, by which those that are kept were chosen
        schema: pa.Schema,
        run: Callable[[], Iterator[list[pa.Array]]],
    ) -> None:
        self.place, self.names, self.schema = place, names, schema
        self._cure, self._run = cure, run
        self._lock = threading.Lock()
        self._kept: Spool | None = None
        self.n_rows = 0

    def __call__(self, declared: Declared) -> QueryReader:
        return QueryReader(self, declared)

    def __reduce__(self) -> NoReturn:
        raise DataError(
            f"{self.place}: no other process can read it; write it to a Parquet file, and open that there"
        )

    def rows(self) -> Spool:
        """Give the rows, which all readers share."""
        with self._lock:
            if self._kept is None:
                with closing(self._batches()) as batches:  # at once, as an open result blocks its connection
                    self._kept = Spool(batches)
            return self._kept

    def _batches(self) -> Generator[pa.RecordBatch, None, None]:
        self.n_rows = 0
        with _computing(self.place, self._cure):
            for columns in self._run():
                batch = pa.RecordBatch.from_arrays([*map(decoded, columns)], schema=self.schema)
                self.n_rows += batch.num_rows
                yield batch


class QueryReader(ArrowReader):
    """Read what a query gave, which all readers of it share."""

    cure = "run its query again"

    def __init__(self, query: _Query, declared: Declared) -> None:
        layout = resolve(Path(query.place), query.names, declared)
        super().__init__(Snapshot.in_memory(query.place), layout, query.schema, 0, declared)
        self._query, self.n_rows = query, None  # until it ran

    def _batches(self, names: list[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        kept = self._query.rows()
        self.n_rows = self._query.n_rows
        for batch in kept.batches():
            yield from pa.Table.from_batches([batch.select(names)]).to_batches(max_chunksize=batch_rows)
