"""Lay trajectories out as a table of lines, one row a trajectory, for the writers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from privtrace.io import printing
from privtrace.io.columns import CALENDAR_LISTS, LIST, TRAJECTORY, USER
from privtrace.io.geometries import to_wkb
from privtrace.io.long_table import arrow_ids, arrow_times, arrow_users, laid_out
from privtrace.trajectories import Array, Trajectories

GEOMETRY = "geometry"

#: Rows of a table that a writer gets at once.
_TABLE_ROWS = 1 << 14


def line_tables(parts: Iterable[Trajectories], *, plain: bool = False) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Lay parts out; a trajectory of one point is a point, and one without points has no row.

    A format that is `plain` has no lists and no unsigned numbers: there both are text.
    """
    return laid_out(printing.drawable(parts), partial(_table, plain=plain), _TABLE_ROWS)


def _table(part: Trajectories, first_id: int, *, plain: bool) -> pa.Table:
    columns = {TRAJECTORY: arrow_ids(part.ids_from(first_id))}
    if part.users is not None:
        columns[USER] = arrow_users(part.users)
    if part.times is not None:
        texts = printing.json_times(part.times, part.zone)
        lists = printing.chained("[", printing.joined(texts, part.offsets, ","), "]")
        times = arrow_times(part.times, part.zone)
        listed = pa.ListArray.from_arrays(pa.array(part.offsets, pa.int32()), times)
        columns[times_name(part.times)] = lists.cast(pa.string()) if plain else listed
    if plain:
        columns = {name: _plain(column) for name, column in columns.items()}
    return pa.table(columns | {GEOMETRY: to_wkb(part.points, part.offsets)})


def times_name(times: Array) -> str:
    """Name the lists of times by what they are: calendar time or numbers."""
    return CALENDAR_LISTS[0] if times.dtype.kind == "M" else LIST


def _plain(column: pa.Array) -> pa.Array:
    return pc.cast(column, pa.string()) if pa.types.is_uint64(column.type) else column
