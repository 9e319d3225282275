"""Read trajectories from files and write them: point tables, one row a point, as Parquet or CSV.

The format is chosen by the suffix of the path. Only public facts can make `read` refuse a file: its path,
format, header, columns and their types. No value in a row can.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from privtrace.errors import DataError, OutputError
from privtrace.io import parquet, tables
from privtrace.io.atomic import check_target, replacing
from privtrace.io.files import Stamp
from privtrace.io.long_table import long_tables
from privtrace.io.source import FileSource, Reader, Sizes
from privtrace.trajectories import Crs, Source, Trajectories

__all__ = ["FileSource", "check_output", "read", "write"]

#: Rows of a table that a writer gets at once; a row group of Parquet.
_TABLE_ROWS = 1 << 20


@dataclass(frozen=True)
class _Format:
    reader: Callable[[Stamp, Crs | None], Reader]
    write: Callable[[Iterable[pa.Table], pa.Schema, Path], None]


_PARQUET = _Format(parquet.ParquetReader, parquet.write)
_CSV = _Format(tables.TableReader, tables.write)
_FORMATS = {".parquet": _PARQUET, ".pq": _PARQUET, ".csv": _CSV}


def read(path: str | os.PathLike[str], *, crs: Crs | None = None) -> FileSource:
    """Open a point table and check its header; rows are read when the source is passed over.

    Parameters
    ----------
    path
        A file with columns `traj_id`, `lon` and `lat` or `x` and `y`, and perhaps `user_id` and `t`.
    crs
        "lonlat" or "planar", where the names of the columns do not say it or say it wrongly.
    """
    return open_source(Path(path), crs, Sizes())


def open_source(path: Path, crs: Crs | None, sizes: Sizes) -> FileSource:
    """Open a file as `read` does, with other sizes of what is in memory at once."""
    if path.is_dir():
        raise DataError(f"{path}: is a folder; give the path of one file inside it")
    stamp = Stamp.of(path)
    chosen = _FORMATS.get(path.suffix.lower())
    if chosen is None:
        raise DataError(f"{path}: {_unknown(path)}")
    return FileSource(chosen.reader(stamp, crs), sizes)


def write(
    trajectories: Source | Iterable[Trajectories], path: str | os.PathLike[str], *, force: bool = False
) -> None:
    """Write a source, or parts as they come, as one long table; ids count from 0.

    The file appears complete or not at all; `force` overwrites an existing one. A trajectory without points has
    no row, so it is not there when the table is read again. What the first part says about itself is kept in
    the footer of Parquet; CSV has no place for it.
    """
    chosen = check_output(path, force)
    with replacing(path, force) as temporary:
        parts = trajectories if isinstance(trajectories, Iterable) else trajectories.parts()
        schema, long = long_tables(parts, _TABLE_ROWS)
        chosen.write(long, schema, temporary)


def check_output(path: str | os.PathLike[str], force: bool = False) -> _Format:
    """Refuse, before any work, a path that `write` would refuse; return the format to write."""
    path = Path(path)
    chosen = _FORMATS.get(path.suffix.lower())
    if chosen is None:
        raise OutputError(f"{path}: {_unknown(path)}")
    check_target(path, force)
    return chosen


def _unknown(path: Path) -> str:
    """Say that a suffix names no format, and which ones do."""
    known = ", ".join(_FORMATS)
    return f"unknown format {path.suffix!r}; the suffix must be one of {known}"
