"""Lay trajectories out as Arrow tables, with a row per point or per trajectory, for the writers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa

from privtrace.errors import DataError, OutputError, SettingsError
from privtrace.io import printing
from privtrace.io.columns import CALENDAR, CALENDAR_LISTS, LIST, PAIRS, TIME, TRAJECTORY, USER, pair_of
from privtrace.io.geometries import to_wkb
from privtrace.io.printing import arrow_ids, arrow_times, arrow_users
from privtrace.trajectories import Array, Trajectories

GEOMETRY = "geometry"

#: Our names of columns and those of other programs, by program; times are local calendar times in all of them.
_LON, _LAT = PAIRS["lonlat"]
NAMES = {"scikit-mobility": {USER: "uid", TRAJECTORY: "tid", TIME: CALENDAR, _LAT: "lat", _LON: "lng"}}

#: Rows of a table that a writer gets at once: points, of which it is a row group of Parquet, and lines.
_TABLE_ROWS, _TABLE_LINES = 1 << 20, 1 << 14

_Columns = dict[str, pa.Array]
_Laid = tuple[pa.Schema, Iterator[pa.Table]]


def long_tables(parts: Iterable[Trajectories], names: str | None = None) -> _Laid:
    """Lay parts out with a row per point, with our own names or with those of a program in `NAMES`.

    Without ids, trajectories count from 0.
    """
    if names is not None and names not in NAMES:
        raise SettingsError(f"--names (names) must be one of {', '.join(NAMES)}, not {names!r}")
    lay_out = _points if names is None else partial(_renamed, names)
    return _laid_out(printing.named(parts), lay_out, _TABLE_ROWS)


def point_tables(parts: Iterable[Trajectories], *, plain: bool = False) -> _Laid:
    """Lay parts out with a row per point; a format that is `plain` has coordinates in geometries alone."""
    return _laid_out(printing.drawable(parts), partial(_located, plain=plain), _TABLE_ROWS)


def line_tables(parts: Iterable[Trajectories], *, plain: bool = False) -> _Laid:
    """Lay parts out; a trajectory of one point is a point, and one without points has no row.

    A format that is `plain` has no lists and no unsigned numbers: there both are text.
    """
    return _laid_out(printing.drawable(parts), partial(_lines, plain=plain), _TABLE_LINES)


def times_name(times: Array) -> str:
    """Name the lists of times by what they are: calendar time or numbers."""
    return CALENDAR_LISTS[0] if times.dtype.kind == "M" else LIST


def _points(part: Trajectories) -> _Columns:
    x, y = pair_of(part.crs)
    owners = pa.array(np.repeat(np.arange(len(part)), np.diff(part.offsets)))
    columns = {
        TRAJECTORY: arrow_ids(part.ids_from(0)).take(owners),
        x: pa.array(part.points[:, 0]),
        y: pa.array(part.points[:, 1]),
    }
    if part.times is not None:
        columns[TIME] = arrow_times(part.times, part.zone)
    if part.users is not None:
        columns[USER] = arrow_users(part.users).take(owners)
    return columns


def _renamed(names: str, part: Trajectories) -> _Columns:
    if part.crs != "lonlat":
        raise OutputError(f"{names} takes longitude and latitude in degrees, but these points are planar")
    ours = _points(part)
    if part.times is not None:
        ours[TIME] = arrow_times(printing.wall_times(printing.calendar(part.times), part.zone))
    return {theirs: ours[name] for name, theirs in NAMES[names].items() if name in ours}


def _located(part: Trajectories, *, plain: bool) -> _Columns:
    columns = _points(part)
    if plain:
        columns = {name: _plain(columns[name]) for name in columns if name not in pair_of(part.crs)}
        if part.times is not None and part.times.dtype.kind == "M":
            del columns[TIME]
            columns[CALENDAR] = printing.iso(part.times, part.zone).cast(pa.string())
    return columns | {GEOMETRY: to_wkb(part.points, np.arange(part.n_points + 1))}


def _lines(part: Trajectories, *, plain: bool) -> _Columns:
    columns = {TRAJECTORY: arrow_ids(part.ids_from(0))}
    if part.users is not None:
        columns[USER] = arrow_users(part.users)
    if plain:
        columns = {name: _plain(column) for name, column in columns.items()}
    if part.times is not None and plain:
        columns[times_name(part.times)] = printing.listed_times(part).cast(pa.string())
    elif part.times is not None:
        times = arrow_times(part.times, part.zone)
        columns[times_name(part.times)] = pa.ListArray.from_arrays(pa.array(part.offsets, pa.int32()), times)
    return columns | {GEOMETRY: to_wkb(part.points, part.offsets)}


def _plain(column: pa.Array) -> pa.Array:
    return column.cast(pa.string()) if pa.types.is_uint64(column.type) else column


def _laid_out(parts: Iterable[Trajectories], lay_out: Callable[[Trajectories], _Columns], n_rows: int) -> _Laid:
    """Lay parts out as tables of the same length, however they are cut.

    The first part decides which columns there are and of which types, and what is said about the whole.
    """
    first, parts = printing.peeked(parts)
    schema = pa.table(lay_out(first)).schema

    def tables() -> Iterator[pa.Table]:
        for part in parts:
            table = pa.table(lay_out(part))
            if table.schema != schema:
                raise DataError(
                    f"parts do not fit together: one has {_words(schema)}, another {_words(table.schema)}; "
                    "give all the same crs, and times, users and ids of one type to all or none"
                )
            yield table

    return schema.with_metadata(dict(first.about)), _recut(tables(), n_rows)


def _words(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)


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
