"""Tell formats apart, by content first, then by suffix, and open files.

Content means the first bytes and the first line. Rows are private and do not count, so that none of them can
change how the others are read.
"""

from __future__ import annotations

import os
from pathlib import Path

from privtrace.errors import DataError
from privtrace.io import geolife, geoparquet
from privtrace.io.columns import Declared
from privtrace.io.files import CURE, Stamp, files_in, reading
from privtrace.io.formats import FORMATS, Format, first_sign
from privtrace.io.source import Reader
from privtrace.io.streams import first_line, opened
from privtrace.io.suffixes import listed_suffixes

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


def open_reader(path: Path, declared: Declared) -> Reader:
    """Open a file, or a folder of files, in the format that it has."""
    if not os.path.isdir(path):  # False, not an error, where it may not be looked at
        stamp = Stamp.of(path)
        return recognize(path).read(stamp, declared)
    files = geolife.files_of(path)
    if files:  # whatever else lies beside them, such as labels
        return FORMATS["geolife"].read(Stamp.of_folder(path, files), declared)
    files = _data_in(path)
    if not files:
        raise DataError(
            f"{path}: no data in this folder; looked for {listed_suffixes(FORMATS.values())}, else .txt"
        )
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
    maps = [suffix for suffix, format in suffixes.items() if format in (FORMATS["geojson"], FORMATS["gpkg"])]
    return (
        files_in(folder, suffixes.keys() - maps)  # a region often lies beside its data, and notes do
        or files_in(folder, maps)
        or files_in(folder, (".txt", ".txt.gz"))
    )


def recognize(path: Path) -> Format:
    """Tell the format of a file, and refuse what clearly is none of ours."""
    if path.suffix.lower() in FORMATS["geolife"].suffixes:
        return FORMATS["geolife"]
    with reading(path, CURE), path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    if head.startswith(b"PAR1"):
        return FORMATS["geoparquet"] if geoparquet.is_geoparquet(path) else FORMATS["parquet"]
    if FORMATS["gpkg"].recognizes(head):
        return FORMATS["gpkg"]
    line = first_line(path)
    if not line and path.suffix.lower() in FORMATS["dat"].suffixes:
        return FORMATS["dat"]  # it has no header, so nothing is no trajectories
    if not line:
        raise DataError(f"{path}: is empty, without even a header; check that it was written to its end")
    if not FORMATS["dat"].recognizes(line):  # there the first line is an id, which may hold any bytes
        with opened(path, CURE) as file:
            head = file.read(_HEAD_BYTES)
        for name in ("gpx", "geojson"):  # what their first line says does not matter
            if FORMATS[name].recognizes(head):
                return FORMATS[name]
        _refuse_foreign(path, line)
    return next(format for format in FORMATS.values() if format.recognizes(line))


def _refuse_foreign(path: Path, line: bytes) -> None:
    """Say what a file is that is none of ours, and what to do."""
    for start, mark, what, cure in _FOREIGN:
        if line[start:].startswith(mark):
            raise DataError(f"{path}: is {what}; {cure}")
    if line.startswith(b"PAR1"):
        raise DataError(f"{path}: is Parquet packed with gzip; unpack it")
    if first_sign(line) == b"[":
        raise DataError(f"{path}: is JSON; write it as GeoJSON, or as a table of points, one row a point")
    if first_sign(line) == b"<":
        raise DataError(f"{path}: is XML other than GPX, such as KML; write it as GPX or GeoJSON")
    if path.suffix.lower() in FORMATS["parquet"].suffixes:
        raise DataError(
            f"{path}: has the name of Parquet but not its first bytes: damaged, or something else; "
            "if it is a table in text, name it .csv"
        )
    if b"\0" in line:
        raise DataError(f"{path}: is not text but some binary format; give a table, as CSV or Parquet")
