"""Adapt tables with a row per point: Arrow, polars and pandas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from privtrace.errors import DataError
from privtrace.frames import door
from privtrace.frames.door import check, load
from privtrace.io.columns import Declared, Layout, resolve
from privtrace.io.output_tables import long_tables
from privtrace.parsing import text
from privtrace.rows import is_text
from privtrace.trajectories import Trajectories


def from_arrow(table: Any, declared: Declared) -> Trajectories:
    """Take a table of arrow, or anything that hands itself over as one by arrow's C interface."""
    place = "the arrow table"
    try:
        table = pa.table(table)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # whose words may quote a row
        raise DataError(
            f"{place}: a {type(table).__name__} is not an Arrow table; give a pyarrow.Table, or use "
            "from_pandas for pandas data"
        ) from None
    return door.read(place, table, declared)


def from_polars(frame: Any, declared: Declared) -> Trajectories:
    """Take a DataFrame of polars, or a LazyFrame, of which only the columns that are needed are computed."""
    polars = load("polars", "from_polars", None)
    check("from_polars", frame, polars, "DataFrame", "LazyFrame")
    place = "the polars frame"
    needed = resolve(Path(place), frame.collect_schema().names(), declared).names
    try:
        wanted = frame.lazy().select(needed).collect()
    except polars.exceptions.PolarsError:  # whose words may quote a row
        raise DataError(f"{place}: it cannot be computed; collect it first, and see what polars says") from None
    columns = {values.name: polars_column(place, values) for values in wanted}
    return door.read(place, pa.table(columns), declared)


def polars_column(place: str, values: Any) -> pa.Array:
    """Bring a column of polars into arrow's types."""
    if values.dtype != load("polars", "from_polars", None).Object:  # which are addresses in memory
        with suppress(pa.ArrowException):  # of its own types, such as integers of 128 bits
            return values.to_arrow()
    raise _unknown_type(place, values.name, values.dtype)


def from_pandas(frame: Any, declared: Declared) -> Trajectories:
    """Take a DataFrame of pandas; a level of its index that has a name is a column too."""
    check("from_pandas", frame, load("pandas", "from_pandas"), "DataFrame")
    place = "the pandas frame"
    columns = arrow_columns(place, frame, lambda names: resolve(Path(place), names, declared))
    return door.read(place, pa.table(columns), declared)


def arrow_columns(place: str, frame: Any, understood: Callable[[list[str]], Layout]) -> dict[str, pa.Array]:
    """Bring those columns of pandas that have a role into arrow's types; levels of the index come first."""
    levels = [level for level, name in enumerate(frame.index.names) if name is not None]
    columns = [frame.index.get_level_values(level).to_series() for level in levels]
    columns += [frame.iloc[:, at] for at in range(frame.shape[1])]
    names = [str(column.name) for column in columns]
    layout = understood(names)  # names may be there twice until then
    made = {name: _arrow(place, name, columns[names.index(name)]) for name in layout.names}
    for name in filter(None, (layout.x, layout.y, layout.order)):
        if name in made and is_text(made[name].type):
            made[name] = text.numbers(made[name])
    return made


def _arrow(place: str, name: str, values: Any) -> pa.Array:
    """Bring a column of pandas into one of arrow's types; text and objects are bytes."""
    kind = values.dtype
    if kind.name == "category":
        codes = values.cat.codes.to_numpy()
        return _arrow(place, name, values.cat.categories.to_series()).take(pa.array(codes, mask=codes < 0))
    if kind.name == "object" or getattr(kind, "storage", "") == "python":  # so one by one is the only way
        written = [None if gone else _text(value) for value, gone in zip(values, values.isna(), strict=True)]
        return pa.array(written, pa.large_binary())
    try:
        array = pa.array(values)
    except (pa.ArrowException, TypeError):  # a type that arrow does not know, whatever the values
        raise _unknown_type(place, name, kind) from None
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return array.cast(pa.large_binary()) if is_text(array.type) else array


def _unknown_type(place: str, name: str, kind: object) -> DataError:
    return DataError(
        f"{place}: column {name!r} holds {kind}; convert it to integers, numbers, text or timestamps"
    )


def _text(value: Any) -> bytes:
    """Write an object as text, a list as JSON has it, which is how the times of a line may stand in text."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, np.ndarray) and value.dtype.kind == "M":
        value = np.datetime_as_string(value)
    if isinstance(value, list | tuple | set | frozenset) or (isinstance(value, np.ndarray) and value.ndim):
        texts = [_text(one) for one in value]
        unknown = (b"None", b"NaT", b"nan", b"<NA>")
        return b"[" + b",".join(b"null" if one in unknown else one for one in texts) + b"]"
    # Text may hold halves of characters, which Python keeps and UTF-8 does not know.
    return str(value).encode(errors="surrogatepass")


def to_arrow(trajectories: Trajectories, names: str | None = None) -> pa.Table:
    """Lay trajectories out as the Parquet writer does, with the words about them in the schema."""
    return whole(*long_tables([trajectories], names))


def whole(schema: pa.Schema, tables: Iterator[pa.Table]) -> pa.Table:
    """Join tables of one schema, if there are any."""
    return pa.concat_tables([schema.remove_metadata().empty_table(), *tables]).cast(schema)


def to_polars(trajectories: Trajectories, names: str | None = None) -> Any:
    """Hand the long table to polars, which cannot hold words about it."""
    return load("polars", "to_polars", None).from_arrow(to_arrow(trajectories, names))


def to_pandas(trajectories: Trajectories, names: str | None = None) -> Any:
    """Hand the long table to pandas, the words about it as `attrs`."""
    load("pandas", "to_pandas")
    frame = pandas_frame(to_arrow(trajectories, names))
    frame.attrs.update(trajectories.about)
    return frame


def pandas_frame(table: pa.Table) -> Any:
    """Turn a table into a frame in which integers stay integers, also where some are unknown."""
    import pandas

    frame = table.to_pandas(ignore_metadata=True)
    nullable = {pa.int64(): pandas.Int64Dtype(), pa.uint64(): pandas.UInt64Dtype()}
    for name, column in zip(table.column_names, table.columns, strict=True):
        if column.null_count and column.type in nullable:
            frame[name] = column.to_pandas(types_mapper=nullable.get)
    return frame
