"""Keep temporary files in private folders that go with their owner, or at the next run where it was killed.

Each folder has a file that its owner holds locked as long as it lives: the lock goes with the process, whatever
ends it. So whoever makes a folder removes those beside it whose lock is free, and never one that is in use.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
import weakref
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

#: What folders are called that hold data for a while, among the temporary files of the system.
ROWS = "privtrace-rows-"

_LOCK = "owner"


class OwnedFolder:
    """Own a folder that only this user can read, removed on close, on collection and at exit."""

    def __init__(self, place: Path, prefix: str) -> None:
        _sweep(place, prefix)
        self.path, lock = _new_folder(place, prefix)
        self.close = weakref.finalize(self, _remove, self.path, os.getpid(), lock)


def _new_folder(place: Path, prefix: str) -> tuple[Path, int | None]:
    """Make a folder of mode 0700 and lock it."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=place))
        if fcntl is None:
            return folder, None
        with contextlib.suppress(FileNotFoundError):  # someone who sweeps took it for a leftover: once more
            lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
            try:
                if _is_locked(lock) and os.path.samestat(os.fstat(lock), os.stat(folder / _LOCK)):
                    return folder, lock
            except OSError as error:
                os.close(lock)
                if isinstance(error, FileNotFoundError):
                    continue
                (folder / _LOCK).unlink(missing_ok=True)  # no locks here; without the file nobody sweeps it
                return folder, None
            os.close(lock)


def _is_locked(lock: int) -> bool:
    """Take a lock, unless another process has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _sweep(place: Path, prefix: str) -> None:
    """Remove folders with this prefix whose owner is gone: whose lock is free, and which are this user's."""
    if fcntl is None:
        return
    name = re.compile(rf"{re.escape(prefix)}[a-z0-9_]{{8}}")
    with contextlib.suppress(OSError):
        for entry in os.scandir(place):
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False) if name.fullmatch(entry.name) else None
                if status and stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid():
                    _remove_if_free(Path(entry.path))


def _remove_if_free(folder: Path) -> None:
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        folder.rmdir()  # if it is empty: killed before it had a lock, or about to get one, and then made anew
        return
    try:
        if _is_locked(lock):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)


def _remove(folder: Path, owner: int, lock: int | None) -> None:
    # A forked worker inherits the finalizer, and must not pull the folder away from its parent.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
    if lock is not None:
        os.close(lock)
