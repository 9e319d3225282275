"""Tables of points: Arrow, pandas and polars."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from privtrace.errors import DataError
from privtrace.io.arrow import MemoryReader
from privtrace.io.columns import Declared, Layout, resolve
from privtrace.io.frames.packages import check_kind, load
from privtrace.io.frames.series import Columns, unknown_type
from privtrace.io.naming import named_tables
from privtrace.io.source import FileSource
from privtrace.observer import Silent
from privtrace.trajectories import Trajectories


def from_arrow(table: Any, declared: Declared) -> Trajectories:
    """Take a table of arrow, or anything that hands itself over as one by arrow's C interface."""
    place = "the arrow table"
    if not isinstance(table, pa.Table):
        try:
            table = pa.table(table)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):  # whose words may quote a row
            raise DataError(
                f"{place}: a {type(table).__name__} cannot be taken as one; "
                "give a pyarrow.Table, or use from_pandas for what pandas holds"
            ) from None
    return collected(place, table.schema.names, lambda name, layout: table[name], declared)


def from_polars(frame: Any, declared: Declared) -> Trajectories:
    """Take a DataFrame of polars, or a LazyFrame, of which only the columns that are needed are computed."""
    polars = load("polars", "from_polars")
    check_kind("from_polars", frame, polars.DataFrame, polars.LazyFrame)
    place = "the polars frame"
    names = frame.collect_schema().names()
    needed = resolve(Path(place), names, declared).names
    try:
        wanted = frame.lazy().select(needed).collect()
    except polars.exceptions.PolarsError:  # whose words may quote a row
        raise DataError(f"{place}: it cannot be computed; collect it first, and see what polars says") from None

    def column(name: str, layout: Layout) -> pa.Array:
        values = wanted[name]
        try:
            if values.dtype != polars.Object:  # which it would hand over as addresses in memory
                return values.to_arrow()
        except pa.ArrowException:  # its own types, such as integers of 128 bits
            pass
        raise unknown_type(place, name, values.dtype) from None

    return collected(place, names, column, declared)


def from_pandas(frame: Any, declared: Declared) -> Trajectories:
    """Take a DataFrame of pandas; a level of its index that has a name is a column too."""
    check_kind("from_pandas", frame, load("pandas", "from_pandas", "geo").DataFrame)
    columns = Columns.of("the pandas frame", frame)
    return collected(columns.place, columns.names, columns.arrow, declared)


def collected(
    place: str, names: list[str], column: Callable[[str, Layout], pa.Array], declared: Declared
) -> Trajectories:
    """Read a table in memory as a file with these columns would be, and nothing but the columns needed."""
    layout = resolve(Path(place), names, declared)
    table = pa.table({name: column(name, layout) for name in layout.names})

    def reader(declared: Declared) -> MemoryReader:
        return MemoryReader(place, resolve(Path(place), names, declared), table, declared)

    with FileSource(reader(declared), declared=declared, open_again=reader) as source:
        source.tell(Silent())
        return source.collect()


def to_arrow(trajectories: Trajectories, names: str | None = None) -> pa.Table:
    """Lay trajectories out as the Parquet writer does, with the words about them in the schema."""
    schema, tables = named_tables([trajectories], names)
    table = pa.concat_tables([schema.remove_metadata().empty_table(), *tables])
    return table.replace_schema_metadata(schema.metadata)


def to_polars(trajectories: Trajectories, names: str | None = None) -> Any:
    """Hand the long table to polars, which cannot hold words about it."""
    return load("polars", "to_polars").from_arrow(to_arrow(trajectories, names))


def to_pandas(trajectories: Trajectories, names: str | None = None) -> Any:
    """Hand the long table to pandas, the words about it as `attrs`."""
    load("pandas", "to_pandas", "geo")
    frame = pandas_of(to_arrow(trajectories, names))
    frame.attrs.update(trajectories.about)
    return frame


def pandas_of(table: pa.Table) -> Any:
    """Turn a table into a frame in which integers stay integers, also where some are unknown."""
    import pandas

    frame = table.to_pandas(ignore_metadata=True)
    nullable = {pa.int64(): pandas.Int64Dtype(), pa.uint64(): pandas.UInt64Dtype()}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and column.type in nullable:
            frame[name] = column.to_pandas(types_mapper=nullable.get)
    return frame
