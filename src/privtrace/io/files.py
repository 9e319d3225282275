"""Check that a file is there, stays the same, and fails in words that help."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from privtrace.errors import DataError, SettingsError
from privtrace.io.columns import Declared
from privtrace.trajectories import Crs

#: What to do about a file that is damaged, cut short or closed to us.
CURE = "download or write it again, and check that you may read it"


class FileVersion(NamedTuple):
    """Tell one state of a file from a later one, by its size and time of change."""

    path: Path
    n_bytes: int
    modified_ns: int

    @classmethod
    def at(cls, path: Path) -> FileVersion:
        """Ask the disk about a file; one that is not there or cannot hold data is refused."""
        try:
            status = path.stat()
        except FileNotFoundError:
            raise DataError(f"{path}: no such file; check the path") from None
        except (OSError, ValueError) as error:  # the name itself may be impossible
            reason = getattr(error, "strerror", None) or "not a path"
            raise DataError(f"{path}: cannot be opened ({reason}); check the path") from None
        if not path.is_file():
            # A pipe could be read only once, and every fit makes several passes.
            raise DataError(f"{path}: is not a regular file; save the data to a file first")
        return cls(path, status.st_size, status.st_mtime_ns)


@dataclass(frozen=True)
class Snapshot:
    """Remember the files of a source as they were when it was opened."""

    path: Path  # of the file, or of the folder that holds the files
    files: tuple[FileVersion, ...]

    @classmethod
    def of(cls, path: Path) -> Snapshot:
        """Take one file as it is now."""
        return cls(path, (FileVersion.at(path),))

    @classmethod
    def in_memory(cls, place: str) -> Snapshot:
        """Name what is no file; it cannot change on its own."""
        return cls(Path(place), ())

    def check(self) -> None:
        """Refuse a source that is no longer the one that was opened: passes must see the same data."""
        for version in self.files:
            try:
                same = FileVersion.at(version.path) == version
            except DataError:
                same = False
            if not same:
                raise DataError(f"{version.path}: changed while it was read; start again when it is complete")


def declared_crs(path: Path, declared: Declared, *possible: Crs) -> Crs:
    """Choose what the points of a format mean: what was declared, if it is possible, else the first."""
    if declared.crs is None:
        return possible[0]
    if declared.crs not in possible and ("planar" not in possible or declared.crs == "lonlat"):
        raise SettingsError(
            f"{path}: this format holds longitude and latitude in degrees; leave "
            f"{declared.option('crs', declared.crs)} out"
        )
    return declared.crs


def files_in(folder: Path, suffixes: Iterable[str], hidden: tuple[str, ...] = (".", "_")) -> list[Path]:
    """List the files below a folder with one of the suffixes, by path, but for those with hidden names.

    A folder below it that cannot be opened is listed itself: it may be one person's, and stops nothing.
    """
    endings = tuple(suffixes)
    found: list[Path] = []

    def closed(error: OSError) -> None:
        if Path(error.filename) == folder:
            raise DataError(
                f"{folder}: cannot be opened ({error.strerror}); check that you may read it"
            ) from None
        found.append(Path(error.filename))

    for place, folders, names in os.walk(folder, onerror=closed):
        folders[:] = [name for name in folders if not name.startswith(hidden)]
        shown = (name for name in names if not name.startswith(hidden))
        found += [Path(place, name) for name in shown if name.lower().endswith(endings)]
    return sorted(found)


@contextmanager
def reading(path: Path, cure: str) -> Iterator[None]:
    """Turn failures below into a `DataError` with a cure.

    Arrow's own words are left out, because they may quote a row.
    """
    try:
        yield
    except (MemoryError, pa.ArrowMemoryError):  # also what a damaged number asks for
        reason = "damaged, or too large for this memory"
    except OSError as error:
        reason = error.strerror or "damaged or truncated"
    except (pa.ArrowException, EOFError, zlib.error, UnicodeDecodeError):  # the last: names in a damaged footer
        reason = "damaged or truncated"
    else:
        return
    raise DataError(f"{path}: cannot be read ({reason}); {cure}") from None
