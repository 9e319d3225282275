"""Lay trajectories out as a long table, one row a point, for the writers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np
import pyarrow as pa

from privtrace.errors import DataError
from privtrace.io.columns import PAIRS, TIME, TRAJECTORY, USER
from privtrace.io.rows import missing_user
from privtrace.trajectories import Array, Trajectories


def long_tables(parts: Iterable[Trajectories], n_rows: int) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Lay parts out as tables of so many rows each, however they are cut; ids count from 0.

    The first part decides which columns there are and of which types, and what is said about the whole.
    """
    parts = iter(parts)
    first = next(parts, Trajectories.concatenate([]))
    schema = _table(first, 0).schema
    tables = _recut(_tables(chain([first], parts), schema), n_rows)
    return schema.with_metadata(dict(first.about)), tables


def _tables(parts: Iterable[Trajectories], schema: pa.Schema) -> Iterator[pa.Table]:
    n_written = 0
    for part in parts:
        table = _table(part, n_written)
        if table.schema != schema:
            raise DataError(
                f"parts do not fit together: one has {_words(schema)}, another {_words(table.schema)}; "
                "give all the same crs, and times and users of one type to all or none"
            )
        yield table
        n_written += len(part)


def _words(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)


def _table(part: Trajectories, first_id: int) -> pa.Table:
    """Lay one part out."""
    lengths = np.diff(part.offsets)
    x, y = PAIRS[part.crs]
    columns = {
        TRAJECTORY: pa.array(np.repeat(np.arange(first_id, first_id + len(part)), lengths)),
        x: pa.array(part.points[:, 0]),
        y: pa.array(part.points[:, 1]),
    }
    if part.times is not None:
        columns[TIME] = _times(part.times)
    if part.users is not None:
        columns[USER] = _users(part.users).take(pa.array(np.repeat(np.arange(len(part)), lengths)))
    return pa.table(columns)


def _times(times: Array) -> pa.Array:
    """Hand times to arrow, which knows four units of datetime64; NaN and NaT become null."""
    if times.dtype.kind == "M" and np.datetime_data(times.dtype)[0] not in ("s", "ms", "us", "ns"):
        times = times.astype("datetime64[s]")
    return pa.array(times, from_pandas=True)


def _users(users: Array) -> pa.Array:
    """Hand users to arrow, unknown ones as null; the reverse of `rows.users_of`."""
    if users.dtype.kind in "iu":
        # Widened first: the edge of a small type, such as 255, is a user like any other.
        users = users if users.dtype == np.uint64 else users.astype(np.int64)
        return pa.array(users, mask=users == missing_user(users.dtype.type))
    if users.dtype.kind == "f":
        return pa.array(users, from_pandas=True)
    texts = [None if user is None else str(user) for user in users.tolist()]
    return pa.array([text or None for text in texts], pa.string())


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
