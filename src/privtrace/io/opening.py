"""Tell formats apart and open files and folders.

A file is what was declared, else what its name says where its first bytes are a row's, else what its first
bytes and its first line say. Rows are private and do not count, so that none of them can change how the others
are read. In a folder every file is told apart by itself.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from privtrace.errors import DataError, SettingsError
from privtrace.io import tables
from privtrace.io.beginning import Beginning
from privtrace.io.columns import Declared
from privtrace.io.files import files_in
from privtrace.io.folder import FolderReader, Group
from privtrace.io.formats import FORMATS, Format, first_sign
from privtrace.io.source import Reader
from privtrace.io.suffixes import listed_suffixes

#: What is something else: where a mark stands, the mark, what has it and how to mend it.
_FOREIGN: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"PRIVTRAC", "a privtrace model", "make trajectories of it with privtrace generate"),
    (0, b"PK\x03\x04", "a ZIP archive or a spreadsheet", "unpack it, or save the sheet as CSV"),
    (0, b"%PDF", "a PDF document", "give the table itself, as CSV or Parquet"),
    (0, b"\x89PNG", "a PNG picture", "give a table, as CSV or Parquet"),
    (0, b"SQLite format 3", "an SQLite database but not a GeoPackage", "export the table as CSV or Parquet"),
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

_LIKE_DAT = re.compile(rb"^(\xef\xbb\xbf)?#[^\r\n]*:\s*$")

#: Names of tables that have many other meanings: in a folder they are data only if their header says so.
_NOTES = (".txt", ".txt.gz")


def open_reader(path: Path, declared: Declared, name: str | None = None) -> Reader:
    """Open a file, or a folder of files, in the format of this name or in the one that it has."""
    if name is not None and name not in FORMATS:
        raise SettingsError(f"{declared.option('format')} must be one of {', '.join(FORMATS)}, not {name!r}")
    format = None if name is None else FORMATS[name]
    if os.path.isdir(path):  # False, not an error, where it may not be looked at
        return _open_folder(path, declared, format)
    with Beginning.of(path) as beginning:
        return format.read(beginning, declared) if format else _open_file(beginning, declared)


def _open_folder(path: Path, declared: Declared, format: Format | None) -> Reader:
    """Open all files below a folder that are named like data, or like data of a format."""
    groups = []
    tracks: list[Path] = []
    for other in FORMATS.values():
        if other.folder_of and format in (None, other):
            # Together: they are many and small. Their names are ids, of which some begin as what others hide.
            tracks += (found := files_in(path, (other.folder_of,), hidden=(".",)))
            groups += [Group(found, other.read)] if found else []
    if format is None:
        named = files_in(path, {suffix for other in FORMATS.values() for suffix in other.read_suffixes})
        notes = [file for file in files_in(path, _NOTES) if file.is_file() and _is_table(file, declared)]
        groups += [Group([file], _open_file) for file in sorted({*named, *notes} - set(tracks))]
    elif not format.folder_of:
        table = FORMATS["csv"].read_suffixes if format is FORMATS["porto"] else ()
        text = _NOTES if format in (FORMATS["csv"], FORMATS["tsv"]) else ()
        files = files_in(path, (*format.read_suffixes, *table, *text))
        groups += [Group([file], format.read) for file in files]
    roots = [other.folder_root for other in FORMATS.values() if other.folder_root]
    if not groups and format is None and not any((path / root).is_dir() for root in roots):
        listed = listed_suffixes(FORMATS.values())
        raise DataError(
            f"{path}: no data in this folder; looked for {listed}, and .txt with a header; if the folder "
            f"is meant to be empty, set the format with {declared.option('format')}"
        )
    return FolderReader(path, groups, declared)


def _open_file(beginning: Beginning, declared: Declared) -> Reader:
    return recognize(beginning, declared).read(beginning, declared)


def _is_table(path: Path, declared: Declared) -> bool:
    """Tell from its first line whether a text is a table."""
    try:
        with Beginning.of(path) as beginning:
            tables.understood(path, beginning.first_line, declared)
    except DataError:
        return False
    return True


def recognize(beginning: Beginning, declared: Declared) -> Format:
    """Tell the format of a file, and refuse what clearly is none of ours."""
    path = beginning.path
    for format in FORMATS.values():
        if path.name.lower().endswith(format.by_name):
            return format
    if not beginning.first_line:
        raise DataError(f"{path}: is empty and has no header; check that the file is complete")
    for format in FORMATS.values():
        if format.recognizes(beginning):
            return format
    _refuse_foreign(path, beginning.first_line, declared)
    return FORMATS["csv"]


def _refuse_foreign(path: Path, line: bytes, declared: Declared) -> None:
    """Say what a file is that is none of ours, and what to do."""
    for start, mark, what, cure in _FOREIGN:
        if line[start:].startswith(mark):
            raise DataError(f"{path}: is {what}; {cure}")
    if line.startswith(b"PAR1"):
        raise DataError(f"{path}: is Parquet packed with gzip; unpack it")
    if first_sign(line) == b"[":
        raise DataError(f"{path}: is JSON; write it as GeoJSON, or as a table of points, one row per point")
    if first_sign(line) == b"<":
        raise DataError(f"{path}: is XML other than GPX and KML; write it as GPX or GeoJSON")
    if _LIKE_DAT.match(line):
        raise DataError(
            f"{path}: looks like the text of AdaTrace and PrivTrace, which has no header; name it .dat, or "
            f"pass {declared.option('format', 'dat', repr('dat'))}"
        )
    if path.suffix.lower() in FORMATS["parquet"].suffixes:
        raise DataError(
            f"{path}: is named like Parquet but does not start like it: it is damaged or something else; "
            "if it is a text table, name it .csv"
        )
    if b"\0" in line:
        raise DataError(f"{path}: is a binary file of an unknown format; give a table, as CSV or Parquet")
