"""Keep rows on disk between passes, in a private folder that goes away with its owner.

Three uses: text is parsed once and kept as numbers; rows of trajectories that are scattered over a file are
dealt into buckets by a hash of their key, so that each bucket can be grouped in memory; and trajectories are
dealt into buckets by rank, so that each can be sorted in memory.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from privtrace.errors import DataError
from privtrace.io.grouping import gather, key_hashes, run_starts
from privtrace.io.rows import join, keys_of
from privtrace.trajectories import Array

#: Files open at once, at most; some systems allow 256 a process.
_MOST_BUCKETS = 128


class Spool:
    """Own a folder that only this user can read, removed on close, on collection and at exit."""

    def __init__(self) -> None:
        with _using_disk():
            self._folder = Path(tempfile.mkdtemp(prefix="privtrace-"))  # mode 0700
        self.close = weakref.finalize(self, _remove, self._folder, os.getpid())

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
    starts = run_starts(batch)
    hashes = key_hashes(keys_of(batch).take(pa.array(starts)))  # (n_runs,)
    return np.repeat(hashes % np.uint64(n_buckets), np.diff(starts, append=batch.num_rows))


def _dealt(batch: pa.RecordBatch, buckets: Array, n_buckets: int) -> Iterator[pa.RecordBatch]:
    """Split a batch into the rows of each bucket."""
    buckets = buckets.astype(np.uint8)  # small, so that sorting is quick
    sorted_rows = batch.take(pa.array(np.argsort(buckets, kind="stable")))
    bounds = np.concatenate([[0], np.cumsum(np.bincount(buckets, minlength=n_buckets))])
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        yield sorted_rows.slice(start, stop - start)


def kept(path: Path, *, keys_only: bool = False) -> Iterator[pa.RecordBatch]:
    """Read back what `keep` wrote."""
    with pa.memory_map(str(path)) as file, pa.ipc.open_stream(file) as batches:
        for batch in batches:
            yield keys_of(batch) if keys_only else batch


def gathered(buckets: Iterable[Path], batch_rows: int) -> Iterator[pa.RecordBatch]:
    """Read back what `deal` wrote, the rows of each key together."""
    for path in buckets:
        rows = gather(join(list(kept(path))))
        yield rows.slice(0, 0)
        for start in range(0, rows.num_rows, batch_rows):
            yield rows.slice(start, batch_rows)


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


def _remove(folder: Path, owner: int) -> None:
    # A forked worker inherits the finalizer, and must not pull the folder away from its parent.
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
