"""Tell formats apart and open files, folders and standard input.

A file is what was declared, else what its name says where its first bytes are a row's, else what its first
bytes and its first line say. Rows are private and do not count, so that none of them can change how the others
are read. In a folder every file is told apart by itself.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from privtrace.errors import DataError, SettingsError
from privtrace.io import tables
from privtrace.io.beginning import Beginning
from privtrace.io.columns import Declared
from privtrace.io.files import files_in
from privtrace.io.folder import FolderReader, Group
from privtrace.io.formats import FORMATS, Format, listed_suffixes
from privtrace.io.source import Reader
from privtrace.storage.owned import ROWS, OwnedFolder

#: What is something else: how its first line starts, what it is and how to mend it.
_FOREIGN: tuple[tuple[bytes, str, str], ...] = (
    (rb"PRIVTRAC", "a privtrace model", "make trajectories of it with privtrace generate"),
    (rb"PK\x03\x04", "a ZIP archive or a spreadsheet", "unpack it, or save the sheet as CSV"),
    (rb"%PDF", "a PDF document", "give the table itself, as CSV or Parquet"),
    (rb"\x89PNG", "a PNG picture", "give a table, as CSV or Parquet"),
    (rb"SQLite format 3", "an SQLite database but not a GeoPackage", "export the table as CSV or Parquet"),
    (rb"\x89HDF", "an HDF5 file", "export the table as CSV or Parquet"),
    (rb"ARROW1|FEA1", "an Arrow (Feather) file", "write the table as Parquet"),
    (rb"\xff\xfe|\xfe\xff", "text in UTF-16", "save it as UTF-8"),
    (rb"\x28\xb5\x2f\xfd", "packed with zstd", "unpack it, or pack it with gzip"),
    (rb"BZh", "packed with bzip2", "unpack it, or pack it with gzip"),
    (rb"\xfd7zXZ", "packed with xz", "unpack it, or pack it with gzip"),
    (rb"\x1f\x8b", "packed twice", "unpack it once"),
    (rb"(?s:.{257})ustar", "a tar archive", "unpack it and give the folder"),
    (rb"PAR1", "Parquet packed with gzip", "unpack it"),
    (rb"(\xef\xbb\xbf)?\s*\[", "JSON", "write it as GeoJSON, or as a table of points, one row per point"),
    (rb"(\xef\xbb\xbf)?\s*<", "XML other than GPX and KML", "write it as GPX or GeoJSON"),
)
#: The text of AdaTrace, but for its name.
_LIKE_DAT = rb"(\xef\xbb\xbf)?#[^\r\n]*:\s*$"

#: Names of tables that have many other meanings: in a folder they are data only if their header says so.
_NOTES = (".txt", ".txt.gz")


def open_reader(path: Path, name: str | None, declared: Declared) -> Reader:
    """Open a file, or a folder of files, in the format of this name or in the one that it has."""
    if name is not None and name not in FORMATS:
        raise SettingsError(f"{declared.option('format')} must be one of {', '.join(FORMATS)}, not {name!r}")
    format = None if name is None else FORMATS[name]
    if os.path.isdir(path):  # False, not an error, where it may not be looked at
        return _open_folder(path, declared, format)
    with Beginning.of(path) as beginning:
        return (format.read if format else _open_file)(beginning, declared)


def _open_folder(path: Path, declared: Declared, format: Format | None) -> Reader:
    """Open all files below a folder that are named like data, or like data of a format."""
    formats = [*FORMATS.values()] if format is None else [format]
    # Together: they are many and small. Their names are ids, of which some begin as what others hide.
    groups: list[Group] = [
        (files_in(path, (other.folder_of,), hidden=(".",)), other.read) for other in formats if other.folder_of
    ]
    tracks = {file for files, _ in groups for file in files}
    suffixes = [suffix for other in formats for suffix in other.read_suffixes if not other.folder_of]
    suffixes += FORMATS["csv"].read_suffixes if format is FORMATS["porto"] else ()
    suffixes += _NOTES if format in (FORMATS["csv"], FORMATS["tsv"]) else ()
    files = {*files_in(path, suffixes)}
    if format is None:
        files |= {file for file in files_in(path, _NOTES) if file.is_file() and _is_table(file, declared)}
    groups += [([file], format.read if format else _open_file) for file in sorted(files - tracks)]
    roots = [other.folder_root for other in formats if other.folder_root]
    if format is None and not tracks | files and not any((path / root).is_dir() for root in roots):
        raise DataError(
            f"{path}: no data in this folder; looked for {listed_suffixes(formats)}, and .txt with a header; "
            f"if the folder is meant to be empty, set the format with {declared.option('format')}"
        )
    return FolderReader(path, groups, declared)


def _is_table(path: Path, declared: Declared) -> bool:
    """Tell from its first line whether a text is a table."""
    try:
        with Beginning.of(path) as beginning:
            tables.understood(path, beginning.first_line, declared)
    except DataError:
        return False
    return True


def _open_file(beginning: Beginning, declared: Declared) -> Reader:
    """Open a file in the format that it has, and refuse what clearly is none of ours."""
    path = beginning.path
    for format in FORMATS.values():
        if path.name.lower().endswith(format.by_name):
            return format.read(beginning, declared)
    if not beginning.first_line:
        raise DataError(f"{path}: is empty and has no header; check that the file is complete")
    for format in FORMATS.values():
        if format.recognizes(beginning):
            return format.read(beginning, declared)
    _refuse_foreign(path, beginning.first_line, declared)
    return tables.TableReader(beginning, declared)


def _refuse_foreign(path: Path, line: bytes, declared: Declared) -> None:
    """Say what a file is that is none of ours, and what to do."""
    for start, what, cure in _FOREIGN:
        if re.match(start, line):
            raise DataError(f"{path}: is {what}; {cure}")
    if re.match(_LIKE_DAT, line):
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


if TYPE_CHECKING:
    _Base = Path
else:
    _Base = type(Path())  # before Python 3.12, Path itself has no subclasses that work


class _Received(_Base):
    """Be the path of a file, and go by another name in messages."""

    def __fspath__(self) -> str:
        return super().__str__()

    def __str__(self) -> str:
        return "standard input"


def received() -> Path:
    """Copy standard input to a file that only this user can read: every fit makes several passes over its data.

    It goes at exit, or at the next run.
    """
    try:
        folder = OwnedFolder(Path(tempfile.gettempdir()), ROWS)
        path = folder.path / "stdin"
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    except OSError as error:
        raise DataError(
            f"standard input: cannot be kept in {tempfile.gettempdir()} ({error.strerror or 'no space'}); "
            "set TMPDIR to a folder with as much space as the data"
        ) from None
    _held.append(folder)
    return _Received(path)


#: Folders that stay until the process ends: sources may be opened from them again.
_held: list[OwnedFolder] = []
