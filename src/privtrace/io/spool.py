"""Keep rows on disk between passes, in a private folder that goes away with its owner.

Three uses: text is parsed once and kept as numbers; rows of trajectories that are scattered over a file are
dealt into buckets by a hash of their key, so that each bucket can be grouped in memory; and trajectories are
dealt into buckets by rank, so that each can be sorted in memory.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from privtrace.errors import DataError
from privtrace.io.grouping import key_hashes, order_by_number
from privtrace.io.owned import ROWS, OwnedFolder
from privtrace.io.rows import keys_of
from privtrace.trajectories import Array

#: Files open at once, at most; some systems allow 256 a process.
_MOST_BUCKETS = 128


class Spool:
    """Keep rows in a folder of their own, which goes when this is closed or collected, and at exit."""

    def __init__(self) -> None:
        with _using_disk():
            self._owned = OwnedFolder(Path(tempfile.gettempdir()), ROWS)
        self._folder, self.close = self._owned.path, self._owned.close

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
