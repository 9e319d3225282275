"""Read trajectories from files and write them.

`privtrace.io.opening` says how the format is chosen; `privtrace.io.formats` lists them. Only public facts make
`read` refuse: path, format, header, columns and their types, or damage to a file as a whole. No row, feature or
track does, and no file of a folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from privtrace.io.columns import Declared, parse_columns
from privtrace.io.formats import FORMATS, Format
from privtrace.io.opening import open_reader, received
from privtrace.io.output import Output, check_output
from privtrace.io.source import FileSource, ReadSource, Sizes
from privtrace.storage.atomic import STANDARD
from privtrace.trajectories import Crs, Reading, Source, Trajectories, source_for

if TYPE_CHECKING:
    import duckdb
    import polars
    import pyspark

__all__ = [
    "FORMATS",
    "Declared",
    "FileSource",
    "Format",
    "Output",
    "check_output",
    "open_declared",
    "parse_columns",
    "read",
    "write",
]


@overload
def read(
    path: str | os.PathLike[str], *, format: str | None = None, **reading: Unpack[Reading]
) -> FileSource: ...


@overload
def read(
    path: pyspark.sql.DataFrame | polars.LazyFrame | duckdb.DuckDBPyRelation, **reading: Unpack[Reading]
) -> ReadSource: ...


def read(
    path: Any,
    *,
    crs: Crs | None = None,
    columns: Mapping[str, str] | None = None,
    gap_minutes: float | None = None,
    time_format: str | None = None,
    time_unit: str | None = None,
    timezone: str | None = None,
    format: str | None = None,
) -> ReadSource:
    """Open a file, or a folder of files as one source; rows are read when the source is passed over.

    A table has one row a point, with a trajectory id, two coordinates, and perhaps a user and a time. Its
    columns are found by their names, where case, blanks, "_" and "-" make no difference:

        traj_id     traj_id, tid, trip_id, trajectory_id, trajectory, trip; id if there is none of them
        user_id     user_id, uid, taxi_id, user, driver_id
        t           t, time, timestamp; datetime for calendar time in text
        order       order, sequence, seq: numbers that set the order of points where times do not
        lon, lat    lon, lng, long, longitude; lat, latitude: degrees
        x, y        x; y: planar

    Points are in order of time, then of `order`, then of x and y, so that it does not matter where rows stand;
    without a time and an order they stay as they stand.

    Parameters
    ----------
    path
        A file, or a folder of files, in one of the formats of docs/data.md: tables as text (packed with gzip or
        not) or Parquet, geographic formats with points or lines, and those of Porto, Geolife and AdaTrace. "-"
        is standard input, kept in a temporary file.
    crs
        "lonlat" or "planar", where the names of the columns do not say it or say it wrongly.
    columns
        The names of columns by role, such as {"traj_id": "journey", "lon": "east", "lat": "north"}, where
        they are others than above; an empty name switches a role off.
    gap_minutes
        Cut a trajectory wherever the time to the next point is longer; points without a time are dropped
        before. With it, a table with users needs no trajectory ids: the log of each user is cut. Numbers of no
        declared unit are no clock, and text is then ISO 8601 unless declared otherwise.
    time_format
        How times are written that are text, such as "%d/%m/%Y %H:%M"; the directives are those of Python's
        strptime, names of months in English. "iso" is ISO 8601.
    time_unit
        "s", "ms", "us" or "ns": in what unit times that are numbers count since 1970.
    timezone
        The IANA name of a time zone, such as "Europe/Lisbon"; UTC if left out. Times are local there, unless
        they have a zone or offset, are numbers in a unit, or have a format that says what they are. All are
        held in UTC, and shown in this zone when they are written.
    format
        The name of a format, as `write` has them, where neither name nor first bytes tell it; of a folder, only
        files of that format are read.
    """
    times = {"time_format": time_format, "time_unit": time_unit, "timezone": timezone}
    declared = Declared.of(crs, columns=columns, gap_minutes=gap_minutes, **times)
    opener = source_for(path)
    if opener is None:
        return open_declared(path, declared, format)
    from privtrace import frames

    source: ReadSource = getattr(frames, opener)(path, declared)
    return source


def open_declared(
    path: str | os.PathLike[str], declared: Declared, format: str | None = None, sizes: Sizes | None = None
) -> FileSource:
    """Open a file as `read` does, by what was declared; messages spell options as it does."""
    opening = partial(open_reader, received() if os.fspath(path) == STANDARD else Path(path), format)
    return FileSource(opening(declared), sizes, declared, opening)


def open_source(
    path: Path, crs: Crs | None, sizes: Sizes, *, format: str | None = None, **declared: Any
) -> FileSource:
    """Open a file as `read` does, with other sizes of what is in memory at once."""
    return open_declared(path, Declared.of(crs, **declared), format, sizes)


def write(
    trajectories: Source | Iterable[Trajectories],
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    names: str | None = None,
    force: bool = False,
) -> None:
    """Write a source, or parts as they come; where they have no ids, trajectories count from 0.

    The format is that of the suffix unless named: "parquet", "csv", "tsv", "geoparquet" (a row per point),
    "geoparquet-lines" (a row per trajectory), "gpkg", "geojson", "mfjson", "gpx", "dat", "porto" or "geolife",
    which is a folder; text is packed if the path ends in .gz. The file appears complete or not at all; `force`
    overwrites an existing one. A trajectory without points has no row, so it is not there when a table is read
    again. What the parts say about themselves, all the same, is kept in the footer of Parquet, and where
    GeoPackage, GeoJSON, MF-JSON and GPX describe themselves; tables of text cannot hold it. `read` does
    not read it: a file may have been changed since, so what comes from one promises nothing.

    `names="scikit-mobility"` gives the columns of a table the names of that library: uid, tid, datetime, lat,
    lng. Times are calendar times there; numbers are taken for seconds since 1970.

    The path "-" is standard output, for text; "csv" is the default there. It cannot be whole or nothing: what
    is written before a failure stays written.
    """
    check_output(path, force, format, names).write(trajectories)
