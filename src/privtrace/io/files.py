"""Check that a file is there, stays the same, and fails in words that help."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from privtrace.errors import DataError


@dataclass(frozen=True)
class Stamp:
    """Remember what a file looked like when it was opened."""

    path: Path
    n_bytes: int
    modified_ns: int

    @classmethod
    def of(cls, path: Path) -> Stamp:
        """Look at a file; one that is not there or cannot hold a table is refused."""
        try:
            status = path.stat()
        except FileNotFoundError:
            raise DataError(f"{path}: no such file; check the path") from None
        except OSError as error:
            raise DataError(f"{path}: cannot be opened ({error.strerror}); check the path") from None
        if path.is_dir():
            raise DataError(f"{path}: is a folder; give the path of one file inside it")
        if not path.is_file():
            # A pipe could be read only once, and every fit makes several passes.
            raise DataError(f"{path}: is not a regular file; save the data to a file first")
        return cls(path, status.st_size, status.st_mtime_ns)

    def check(self) -> None:
        """Refuse a file that is no longer the one that was opened: passes must see the same data."""
        try:
            same = Stamp.of(self.path) == self
        except DataError:
            same = False
        if not same:
            raise DataError(f"{self.path}: changed while it was read; start again when it is complete")


@contextmanager
def reading(path: Path, cure: str) -> Iterator[None]:
    """Turn failures below into a `DataError` with a cure.

    Arrow's own words are left out, because they may quote a row.
    """
    try:
        yield
    except pa.ArrowMemoryError:
        raise
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror or 'damaged or truncated'}); {cure}"
        ) from None
    except pa.ArrowException:
        raise DataError(f"{path}: cannot be read (damaged or truncated); {cure}") from None
