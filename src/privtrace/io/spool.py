"""Keep rows on disk between passes, in a private folder that goes away with its owner.

Three uses: text is parsed once and kept as numbers; rows of trajectories that are scattered over a file are
dealt into buckets by a hash of their key, so that each bucket can be grouped in memory; and trajectories are
dealt into buckets by rank, so that each can be sorted in memory.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from privtrace.errors import DataError
from privtrace.io.grouping import key_hashes, order_by_number
from privtrace.io.rows import keys_of
from privtrace.trajectories import Array

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

#: Files open at once, at most; some systems allow 256 a process.
_MOST_BUCKETS = 128


#: What our folders are called, and the file in each that its owner holds locked as long as it lives.
_PREFIX, _LOCK = "privtrace-rows-", "owner"
_NAME = re.compile(rf"{_PREFIX}[a-z0-9_]{{8}}")


class Spool:
    """Own a folder that only this user can read, removed on close, on collection and at exit.

    What a process leaves that is killed, the next one removes that needs a folder.
    """

    def __init__(self) -> None:
        with _using_disk():
            _sweep(Path(tempfile.gettempdir()))
            self._folder, lock = _new_folder()
        self.close = weakref.finalize(self, _remove, self._folder, os.getpid(), lock)

    def keep(self, batches: Iterable[pa.RecordBatch]) -> Path:
        """Write batches to one file."""
        path = self._folder / "rows"
        with _using_disk(), ExitStack() as stack:
            writer = None
            for batch in batches:
                writer = writer or _open(path, batch.schema, stack)
                writer.write_batch(batch)
        return path

    def deal(
        self,
        batches: Iterable[pa.RecordBatch],
        n_buckets: int,
        bucket_of: Callable[[pa.RecordBatch, int], Array],
    ) -> list[Path]:
        """Write each row to its bucket, as `bucket_of` numbers them, in the order in which rows come."""
        n_buckets = min(max(n_buckets, 1), _MOST_BUCKETS)
        paths = [self._folder / f"bucket-{bucket}" for bucket in range(n_buckets)]
        with _using_disk(), ExitStack() as stack:
            writers = None
            for batch in batches:
                writers = writers or [_open(path, batch.schema, stack) for path in paths]
                dealt = _dealt(batch, bucket_of(batch, n_buckets), n_buckets)
                for writer, rows in zip(writers, dealt, strict=True):
                    writer.write_batch(rows)
        return paths if writers else []


def by_key(batch: pa.RecordBatch, n_buckets: int) -> Array:
    """Choose the bucket of each row by a hash of its key."""
    return key_hashes(batch) % np.uint64(n_buckets)


def _dealt(batch: pa.RecordBatch, buckets: Array, n_buckets: int) -> Iterator[pa.RecordBatch]:
    """Split a batch into the rows of each bucket."""
    order, starts = order_by_number(buckets.astype(np.uint8), n_buckets)
    sorted_rows = batch.take(pa.array(order))
    bounds = np.append(starts, batch.num_rows)
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield sorted_rows.slice(start, stop - start)


def kept(path: Path, *, keys_only: bool = False) -> Iterator[pa.RecordBatch]:
    """Read back what `keep` wrote."""
    with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as batches:
        for batch in batches:
            yield keys_of(batch) if keys_only else batch


def _open(path: Path, schema: pa.Schema, stack: ExitStack) -> pa.RecordBatchWriter:
    file = stack.enter_context(pa.OSFile(str(path), "wb"))
    return stack.enter_context(pa.ipc.new_stream(file, schema))


@contextmanager
def _using_disk() -> Iterator[None]:
    """Say what to do when the disk is full; errors of the source have their own words already."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{tempfile.gettempdir()}: rows cannot be kept here ({error.strerror or 'no space'}); "
            "set TMPDIR to a folder with as much space as the source"
        ) from None


def _new_folder() -> tuple[Path, int | None]:
    """Make a folder of mode 0700 and lock it; the lock goes with the process, whatever ends it."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
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


def _sweep(place: Path) -> None:
    """Remove our folders whose owner is gone: whose lock is free, and which are this user's."""
    if fcntl is None:
        return
    with contextlib.suppress(OSError):
        for entry in os.scandir(place):
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                is_mine = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
                if is_mine and _NAME.fullmatch(entry.name):
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
