"""Keep rows on disk between passes, in a file without a name.

Three uses: text is parsed once and kept as numbers; rows of trajectories that are scattered over a file are
dealt into buckets by a hash of their key, so that each bucket can be grouped in memory; and trajectories are
dealt into buckets by rank, so that each can be sorted in memory.
"""

from __future__ import annotations

import mmap
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import pyarrow as pa

from privtrace.errors import DataError
from privtrace.rows import keys_of
from privtrace.rows.grouping import key_hashes, order_by_number
from privtrace.trajectories import Array

#: Buckets, at most: with more of them, what is written to each at a time is little.
_MOST_BUCKETS = 128


def _by_key(batch: pa.RecordBatch, n_buckets: int) -> Array:
    """Choose the bucket of each row by a hash of its key."""
    return key_hashes(batch) % np.uint64(n_buckets)


class Spool:
    """Hold batches of one schema, dealt into buckets: each row in its own, in the order in which rows come.

    The file has no name: nobody else can open it, and the system removes it when its owner ends, or is killed.
    """

    def __init__(
        self,
        batches: Iterable[pa.RecordBatch],
        n_buckets: int = 1,
        bucket_of: Callable[[pa.RecordBatch, int], Array] = _by_key,
    ) -> None:
        self.n_buckets = min(max(n_buckets, 1), _MOST_BUCKETS)
        with _using_disk():
            self._file = tempfile.TemporaryFile()  # noqa: SIM115
            weakref.finalize(self, self._file.close)
            self._writer = None
            for batch in batches:
                self._writer = self._writer or pa.ipc.new_file(pa.PythonFile(self._file, "w"), batch.schema)
                for rows in _dealt(batch, self.n_buckets, bucket_of):
                    self._writer.write_batch(rows)
            if self._writer is not None:
                self._writer.close()
            self._file.flush()

    def batches(self, bucket: int = 0, *, keys_only: bool = False) -> Iterator[pa.RecordBatch]:
        """Read a bucket back; it is mapped into memory as long as its rows are used."""
        if self._writer is not None:
            mapped = pa.ipc.open_file(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ))
            for piece in range(bucket, mapped.num_record_batches, self.n_buckets):
                batch = mapped.get_batch(piece)
                yield keys_of(batch) if keys_only else batch


def _dealt(
    batch: pa.RecordBatch, n_buckets: int, bucket_of: Callable[[pa.RecordBatch, int], Array]
) -> Iterator[pa.RecordBatch]:
    """Split a batch into the rows of each bucket."""
    if n_buckets == 1:
        yield batch
        return
    order, starts = order_by_number(bucket_of(batch, n_buckets).astype(np.int32), n_buckets)
    sorted_rows = batch.take(pa.array(order))
    for start, stop in pairwise([*starts.tolist(), batch.num_rows]):
        yield sorted_rows.slice(start, stop - start)


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
