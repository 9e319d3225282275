"""Keep what comes by standard input in a file, since every fit makes several passes over its data."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from privtrace.errors import DataError
from privtrace.io.owned import ROWS, OwnedFolder

if TYPE_CHECKING:
    _Base = Path
else:
    _Base = type(Path())  # before Python 3.12, Path itself has no subclasses that work


class _Received(_Base):
    """Be the path of the file, and go by another name in messages."""

    def __fspath__(self) -> str:
        return super().__str__()

    def __str__(self) -> str:
        return "standard input"


def received() -> Path:
    """Copy standard input to a file that only this user can read; it goes at exit, or at the next run."""
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
