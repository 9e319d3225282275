"""List the formats, and tell them apart: by content first, then by suffix.

Content means the first bytes and the first line. Rows are private and do not count, so that none of them can
change how the others are read.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from privtrace.errors import DataError, OutputError
from privtrace.io import dat, geojson, geolife, geopackage, geoparquet, gpx, parquet, porto, printing, tables
from privtrace.io.columns import Declared
from privtrace.io.features import FeatureFolderReader
from privtrace.io.files import CURE, Stamp, files_in, reading
from privtrace.io.folder import FolderReader
from privtrace.io.json_features import JsonReader
from privtrace.io.naming import NAMES
from privtrace.io.source import Reader
from privtrace.io.streams import first_line, opened
from privtrace.trajectories import Crs, Trajectories

Read: TypeAlias = Callable[[Stamp, Declared], Reader]
Write: TypeAlias = Callable[..., None]  # of parts and a path; and of `names`, where there are columns


@dataclass(frozen=True)
class Format:
    """Say how one format is recognized, read and written."""

    name: str
    suffixes: tuple[str, ...]  # the first is the usual one
    is_text: bool  # text may be packed with gzip, and then its suffix has .gz after it
    read: Read
    write: Write
    recognizes: Callable[[bytes], bool] = lambda line: False  # from the first line
    read_folder: Read | None = None  # of a folder with files in this format, if they belong together
    lost: Callable[[Trajectories], list[str]] = lambda part: []  # what of a part it has no room for, in words
    folder_of: str | None = None  # written as a folder of files with this suffix
    has_columns: bool = False  # which may be named as another program wants: `write` takes `names`
    prepare: Callable[[Path], object] = lambda path: None  # refuses, before the work, for want of a package
    lonlat_only: bool = False
    needs_times: bool = False

    @property
    def all_suffixes(self) -> tuple[str, ...]:
        """List the suffixes, packed or not."""
        return self.suffixes + tuple(f"{suffix}.gz" for suffix in self.suffixes if self.is_text)

    def check_room(self, path: Path, crs: Crs, *, has_times: bool) -> None:
        """Refuse, before any work, trajectories that the format cannot hold."""
        if self.needs_times and not has_times:
            raise OutputError(f"{path}: {self.name} needs times, and there are none; write another format")
        if self.lonlat_only and crs != "lonlat":
            raise OutputError(f"{path}: {self.name} has no room for planar points; write another format")


def _fixed(reader: Callable[[Stamp, Crs | None], Reader]) -> Read:
    """Adapt a reader whose format fixes what stands where."""

    def read(stamp: Stamp, declared: Declared) -> Reader:
        if declared.columns:
            raise DataError(f"{stamp.path}: its format has no columns to name; leave out --columns (columns)")
        return reader(stamp, declared.crs)

    return read


def _is_porto(line: bytes) -> bool:
    return any(name.upper() == "POLYLINE" for dialect in tables.DIALECTS for name in dialect.split(line))


def _first_sign(text: bytes) -> bytes:
    return text.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]


_SQLITE = b"SQLite format 3\0"
_GPX_ROOT = re.compile(rb"<(\w+:)?gpx[\s>]")

_PARQUET = Format(
    "parquet",
    (".parquet", ".pq"),
    is_text=False,
    recognizes=lambda line: line.startswith(b"PAR1"),
    read=parquet.ParquetReader,
    read_folder=partial(FolderReader, parquet.ParquetReader),
    write=parquet.write,
    has_columns=True,
)
_CSV = Format(
    "csv",
    (".csv",),
    is_text=True,
    recognizes=lambda line: True,
    read=tables.TableReader,
    read_folder=partial(FolderReader, tables.TableReader),
    write=tables.write,
    has_columns=True,
)
# Not recognized by a first line: a table says in its header what stands between fields, and is read as CSV.
_TSV = Format(
    "tsv",
    (".tsv", ".tab"),
    is_text=True,
    read=_CSV.read,
    read_folder=_CSV.read_folder,
    write=partial(tables.write, delimiter="\t"),
    has_columns=True,
)
_DAT = Format(
    "dat",
    (".dat",),
    is_text=True,
    recognizes=lambda line: re.fullmatch(rb"(\xef\xbb\xbf)?#[^\r\n]*:\s*", line) is not None,
    read=_fixed(dat.DatReader),
    write=dat.write,
    lost=dat.lost,
)
_PORTO = Format(
    "porto",
    (),
    is_text=True,
    recognizes=_is_porto,
    read=_fixed(porto.PortoReader),
    write=porto.write,
    lonlat_only=True,
    lost=porto.lost,
)
# Known by the footer of a Parquet file; points and lines are read alike.
_GEOPARQUET = Format(
    "geoparquet",
    (".geoparquet",),
    is_text=False,
    read=geoparquet.GeoParquetReader,
    read_folder=partial(FeatureFolderReader, geoparquet.GeoParquetReader),
    write=geoparquet.write_points,
    lost=printing.bad_points_lost,
)
_GEOPARQUET_LINES = replace(_GEOPARQUET, name="geoparquet-lines", suffixes=(), write=geoparquet.write_lines)
_GPKG = Format(
    "gpkg",
    (".gpkg",),
    is_text=False,
    recognizes=lambda line: line.startswith(_SQLITE) and line[68:72] in (b"GPKG", b"GP10", b"GP11"),
    read=geopackage.GeoPackageReader,
    read_folder=partial(FeatureFolderReader, geopackage.GeoPackageReader),
    write=geopackage.write,
    prepare=geopackage.gdal,
    lost=printing.bad_points_lost,
)
_GEOJSON = Format(
    "geojson",
    (".geojson",),
    is_text=True,
    recognizes=lambda line: _first_sign(line) == b"{",
    read=JsonReader,
    read_folder=partial(FeatureFolderReader, JsonReader),
    write=geojson.write,
    lonlat_only=True,
    lost=geojson.lost,
)
# Not recognized by a first line: moving features are features too, and read as GeoJSON.
_MFJSON = Format(
    "mfjson",
    (".mfjson",),
    is_text=True,
    read=JsonReader,
    read_folder=partial(FeatureFolderReader, JsonReader),
    write=geojson.write_moving,
    lonlat_only=True,
    needs_times=True,
    lost=geojson.lost_of_moving,
)
_GPX = Format(
    "gpx",
    (".gpx",),
    is_text=True,
    recognizes=lambda head: _first_sign(head) == b"<" and _GPX_ROOT.search(head) is not None,
    read=gpx.GpxReader,
    read_folder=partial(FeatureFolderReader, gpx.GpxReader),
    write=gpx.write,
    lonlat_only=True,
    lost=gpx.lost,
)
# Known by its name.
_GEOLIFE = Format(
    "geolife",
    (".plt",),
    is_text=False,
    read=_fixed(geolife.GeolifeReader),
    write=geolife.write,
    lonlat_only=True,
    needs_times=True,
    lost=geolife.lost,
    folder_of=".plt",
)

#: By name, in the order in which they are asked whether they recognize a file.
FORMATS = {
    format.name: format
    for format in (
        _PARQUET,
        _GEOPARQUET,
        _GEOPARQUET_LINES,
        _GPKG,
        _GEOJSON,
        _MFJSON,
        _GPX,
        _DAT,
        _PORTO,
        _GEOLIFE,
        _CSV,
        _TSV,
    )
}

#: What is something else: where a mark stands, the mark, what has it and how to mend it.
_FOREIGN: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"PRIVTRAC", "a privtrace model", "make trajectories of it with privtrace generate"),
    (0, b"PK\x03\x04", "a ZIP archive or a spreadsheet", "unpack it, or save the sheet as CSV"),
    (0, b"%PDF", "a PDF document", "give the table itself, as CSV or Parquet"),
    (0, b"\x89PNG", "a PNG picture", "give a table, as CSV or Parquet"),
    (0, b"SQLite format 3", "an SQLite database but no GeoPackage", "export the table as CSV or Parquet"),
    (0, b"\x89HDF", "an HDF5 file", "export the table as CSV or Parquet"),
    (0, b"ARROW1", "an Arrow (Feather) file", "write the table as Parquet"),
    (0, b"FEA1", "a Feather file", "write the table as Parquet"),
    (0, b"\xff\xfe", "text in UTF-16", "save it as UTF-8"),
    (0, b"\xfe\xff", "text in UTF-16", "save it as UTF-8"),
    (0, b"\x28\xb5\x2f\xfd", "packed with zstd", "unpack it, or pack it with gzip"),
    (0, b"BZh", "packed with bzip2", "unpack it, or pack it with gzip"),
    (0, b"\xfd7zXZ", "packed with xz", "unpack it, or pack it with gzip"),
    (0, b"\x1f\x8b", "packed twice", "unpack it once"),
    (257, b"ustar", "a tar archive", "unpack it and give the folder"),
)


#: Where XML says what it is, after declarations and comments.
_HEAD_BYTES = 1 << 12


def recognize(path: Path) -> Format:
    """Tell the format of a file, and refuse what clearly is none of ours."""
    if path.suffix.lower() in _GEOLIFE.suffixes:
        return _GEOLIFE
    with reading(path, CURE), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(b"PAR1"):
        return _GEOPARQUET if geoparquet.is_geoparquet(path) else _PARQUET
    if _GPKG.recognizes(head):
        return _GPKG
    line = first_line(path)
    if not line and path.suffix.lower() in _DAT.suffixes:
        return _DAT  # it has no header, so nothing is no trajectories
    if not line:
        raise DataError(f"{path}: is empty, without even a header; check that it was written to its end")
    if not _DAT.recognizes(line):  # there the first line is an id, which may hold any bytes
        with opened(path, CURE) as file:
            head = file.read(_HEAD_BYTES)
        if _GPX.recognizes(head):  # the first line of XML does not say what it is
            return _GPX
        _refuse_foreign(path, line)
    return next(format for format in FORMATS.values() if format.recognizes(line))


def _refuse_foreign(path: Path, line: bytes) -> None:
    """Say what a file is that is none of ours, and what to do."""
    for start, mark, what, cure in _FOREIGN:
        if line[start:].startswith(mark):
            raise DataError(f"{path}: is {what}; {cure}")
    if line.startswith(b"PAR1"):
        raise DataError(f"{path}: is Parquet packed with gzip; unpack it")
    if _first_sign(line) == b"[":
        raise DataError(f"{path}: is JSON; write it as GeoJSON, or as a table of points, one row a point")
    if _first_sign(line) == b"<":
        raise DataError(f"{path}: is XML other than GPX, such as KML; write it as GPX or GeoJSON")
    if path.suffix.lower() in _PARQUET.suffixes:
        raise DataError(
            f"{path}: has the name of Parquet but not its first bytes: damaged, or something else; "
            "if it is a table in text, name it .csv"
        )
    if b"\0" in line:
        raise DataError(f"{path}: is not text but some binary format; give a table, as CSV or Parquet")


def open_reader(path: Path, declared: Declared) -> Reader:
    """Open a file, or a folder of files, in the format that it has."""
    if not os.path.isdir(path):  # False, not an error, where it may not be looked at
        stamp = Stamp.of(path)
        return recognize(path).read(stamp, declared)
    files = geolife.files_of(path)
    if files:  # whatever else lies beside them, such as labels
        return _GEOLIFE.read(Stamp.of_folder(path, files), declared)
    files = _data_in(path)
    if not files:
        raise DataError(f"{path}: no data in this folder; looked for {_listed_suffixes()}, else .txt")
    stamp = Stamp.of_folder(path, files)
    kinds = {recognize(file): file for file in files}
    (kind, file), *others = kinds.items()
    if others:
        listed = ", ".join(f"{kind.name} ({file})" for kind, file in kinds.items())
        raise DataError(f"{path}: holds files of several formats: {listed}; give a folder with one of them")
    if kind.read_folder is None:
        raise DataError(f"{path}: a folder of {kind.name} files is not read; give one file, such as {file}")
    return kind.read_folder(stamp, declared)


def _data_in(folder: Path) -> list[Path]:
    """List the files below a folder that are named like data; maps, and .txt, only if nothing else is."""
    suffixes = {suffix: format for format in FORMATS.values() for suffix in format.all_suffixes}
    maps = [suffix for suffix, format in suffixes.items() if format in (_GEOJSON, _GPKG)]
    return (
        files_in(folder, suffixes.keys() - maps)  # a region often lies beside its data, and notes do
        or files_in(folder, maps)
        or files_in(folder, (".txt", ".txt.gz"))
    )


def format_of_output(path: Path, name: str | None, names: str | None = None) -> Format:
    """Choose the format to write, by its name if given, else by the suffix, and how its columns are named."""
    format = _chosen(path, name)
    format.prepare(path)
    if names is None:
        return format
    if names not in NAMES:
        raise OutputError(f"{path}: unknown names {names!r}; they must be those of {', '.join(NAMES)}")
    if not format.has_columns:
        able = ", ".join(other.name for other in FORMATS.values() if other.has_columns)
        raise OutputError(f"{path}: {format.name} has no columns to name as {names} does; write one of {able}")
    return replace(format, write=partial(format.write, names=names), lost=printing.numbers_lost)


def _chosen(path: Path, name: str | None) -> Format:
    if name is not None and name not in FORMATS:
        raise OutputError(f"{path}: unknown format {name!r}; it must be one of {', '.join(FORMATS)}")
    if name is not None:
        return FORMATS[name]
    for format in FORMATS.values():
        if path.name.lower().endswith(format.all_suffixes):
            return format
    raise OutputError(f"{path}: unknown format {path.suffix!r}; the suffix must be one of {_listed_suffixes()}")


def write(parts: Iterable[Trajectories], path: Path, format: Format, *, packed: bool) -> None:
    """Write a file in a format, packed with gzip or not."""
    if not packed:
        return format.write(parts, path)
    plain = path.with_name(f"{path.name}-plain")
    try:
        format.write(parts, plain)
        # Without name and date, so that the same trajectories make the same file.
        with (
            plain.open("rb") as file,
            path.open("wb") as sink,
            gzip.GzipFile("", "wb", 6, sink, mtime=0) as packer,
        ):
            shutil.copyfileobj(file, packer, 1 << 20)
    finally:
        plain.unlink(missing_ok=True)


def _listed_suffixes() -> str:
    suffixes = [suffix for format in FORMATS.values() for suffix in format.suffixes]
    return f"{', '.join(suffixes)}, and .gz after those of text"
