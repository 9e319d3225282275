"""Lay trajectories out as a long table, one row a point, for the writers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.calendar import UNITS
from privtrace.errors import DataError
from privtrace.io.columns import TIME, TRAJECTORY, USER, pair_of
from privtrace.io.rows import missing_user
from privtrace.trajectories import Array, Integers, Trajectories

#: Rows of a table that a writer gets at once; a row group of Parquet.
_TABLE_ROWS = 1 << 20


def long_tables(parts: Iterable[Trajectories]) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Lay parts out with a row per point; without ids, trajectories count from 0."""
    return laid_out(parts, long_table)


def laid_out(
    parts: Iterable[Trajectories], table: Callable[[Trajectories, int], pa.Table], n_rows: int | None = None
) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Lay parts out as tables of the same length, however they are cut.

    `table` lays one part out, given the number of trajectories before it. The first part decides which columns
    there are and of which types, and what is said about the whole.
    """
    parts = iter(parts)
    first = next(parts, Trajectories.concatenate([]))
    schema = table(first, 0).schema
    tables = _recut(_tables(chain([first], parts), table, schema), n_rows or _TABLE_ROWS)
    return schema.with_metadata(dict(first.about)), tables


def _tables(
    parts: Iterable[Trajectories], lay_out: Callable[[Trajectories, int], pa.Table], schema: pa.Schema
) -> Iterator[pa.Table]:
    n_written = 0
    for part in parts:
        table = lay_out(part, n_written)
        if table.schema != schema:
            raise DataError(
                f"parts do not fit together: one has {_words(schema)}, another {_words(table.schema)}; "
                "give all the same crs, and times, users and ids of one type to all or none"
            )
        yield table
        n_written += len(part)


def _words(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)


def long_table(part: Trajectories, first_id: int) -> pa.Table:
    """Lay one part out."""
    lengths = np.diff(part.offsets)
    x, y = pair_of(part.crs)
    columns = {
        TRAJECTORY: _repeated(part.ids_from(first_id), lengths, arrow_ids),
        x: pa.array(part.points[:, 0]),
        y: pa.array(part.points[:, 1]),
    }
    if part.times is not None:
        columns[TIME] = arrow_times(part.times, part.zone)
    if part.users is not None:
        columns[USER] = _repeated(part.users, lengths, arrow_users)
    return pa.table(columns)


def _repeated(values: Array, lengths: Integers, to_arrow: Callable[[Array], pa.Array]) -> pa.Array:
    """Hand values of trajectories to arrow, each as often as its trajectory has points."""
    if values.dtype.kind in "iuf":  # else each is turned into text, once
        return to_arrow(np.repeat(values, lengths))
    return to_arrow(values).take(pa.array(np.repeat(np.arange(len(values)), lengths)))


def arrow_times(times: Array, zone: str | None = None) -> pa.Array:
    """Hand times to arrow, which knows four units of datetime64; NaN and NaT become null.

    Calendar times get a zone that is given as part of their type: they are moments, whoever reads them.
    """
    if times.dtype.kind == "M" and np.datetime_data(times.dtype)[0] not in UNITS:
        times = times.astype("datetime64[s]")
    made = pa.array(times, from_pandas=True)
    has_zone = zone is not None and pa.types.is_timestamp(made.type)
    return made.view(pa.timestamp(made.type.unit, zone)) if has_zone else made


def arrow_users(users: Array) -> pa.Array:
    """Hand users to arrow, unknown ones as null; the reverse of `rows.ids_of`."""
    ids = arrow_ids(users)
    if not pa.types.is_integer(ids.type):
        return ids
    unknown = pa.scalar(missing_user(ids.type.to_pandas_dtype()), ids.type)
    return pc.if_else(pc.equal(ids, unknown), pa.scalar(None, ids.type), ids)


def arrow_ids(ids: Array) -> pa.Array:
    """Hand ids to arrow as int64, uint64, float64 or text."""
    if ids.dtype.kind in "iu":
        # Widened: the edge of a small type, such as 255, is an id like any other.
        return pa.array(ids if ids.dtype == np.uint64 else ids.astype(np.int64))
    if ids.dtype.kind == "f":
        return pa.array(ids, from_pandas=True)
    return pa.array([None if value in (None, "") else str(value) for value in ids.tolist()], pa.string())


def _recut(tables: Iterable[pa.Table], n_rows: int) -> Iterator[pa.Table]:
    """Recut tables to the same length but the last, so that the file does not depend on the parts."""
    held: list[pa.Table] = []
    n_held = 0
    for table in tables:
        held.append(table)
        n_held += table.num_rows
        if n_held < n_rows:
            continue
        joined = pa.concat_tables(held).combine_chunks()
        n_whole = n_held - n_held % n_rows
        for start in range(0, n_whole, n_rows):
            yield joined.slice(start, n_rows)
        held, n_held = [joined.slice(n_whole)], n_held - n_whole
    if n_held:
        yield pa.concat_tables(held)
