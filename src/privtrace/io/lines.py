"""Lay trajectories out as a table of geometries, a row per trajectory or per point, for the writers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.io import printing
from privtrace.io.columns import CALENDAR, CALENDAR_LISTS, LIST, TIME, TRAJECTORY, USER, pair_of
from privtrace.io.geometries import to_wkb
from privtrace.io.long_table import arrow_ids, arrow_times, arrow_users, laid_out, long_table
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


def point_tables(parts: Iterable[Trajectories], *, plain: bool = False) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Lay parts out with a row per point; a format that is `plain` has coordinates in geometries alone."""
    return laid_out(printing.drawable(parts), partial(_point_table, plain=plain))


def _point_table(part: Trajectories, first_id: int, *, plain: bool) -> pa.Table:
    table = long_table(part, first_id)
    if plain:
        columns = {name: _plain(table[name]) for name in table.column_names if name not in pair_of(part.crs)}
        if part.times is not None and part.times.dtype.kind == "M":
            del columns[TIME]
            columns[CALENDAR] = printing.iso(part.times, part.zone).cast(pa.string())
        table = pa.table(columns)
    geometries = to_wkb(part.points, np.arange(part.n_points + 1))
    return table.append_column(pa.field(GEOMETRY, pa.binary()), geometries)


def times_name(times: Array) -> str:
    """Name the lists of times by what they are: calendar time or numbers."""
    return CALENDAR_LISTS[0] if times.dtype.kind == "M" else LIST


def _plain(column: pa.Array) -> pa.Array:
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return pc.cast(column, pa.string()) if pa.types.is_uint64(column.type) else column
