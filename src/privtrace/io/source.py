"""Yield the trajectories of a file part by part, as often as a method wants."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Protocol

import pyarrow as pa

from privtrace.errors import DataError
from privtrace.io.columns import Roles
from privtrace.io.faults import Fault, Faults
from privtrace.io.files import Stamp
from privtrace.io.grouping import assemble, cut, is_contiguous
from privtrace.io.spool import Spool, by_key, gathered, kept
from privtrace.trajectories import PART_POINTS, Crs, Trajectories


@dataclass(frozen=True)
class Sizes:
    """Say how much is in memory at once; no result depends on it."""

    part_points: int = PART_POINTS
    batch_rows: int = PART_POINTS // 4
    bucket_rows: int = 4 * PART_POINTS  # of a file whose trajectories are scattered; grouped in memory
    block_bytes: int = 1 << 23  # of text


class Reader(Protocol):
    """Read one format. Opening looks at public facts only: path, format, header, columns and their types.

    What one row, feature, track or file of a folder holds changes neither these facts nor how another is read.
    """

    stamp: Stamp

    @property
    def n_rows(self) -> int | None:
        """Count the rows, good or bad; of text known after a pass."""
        ...

    @property
    def crs(self) -> Crs:
        """Say whether points are longitude and latitude or planar."""
        ...

    @property
    def has_users(self) -> bool:
        """Say whether rows may have a user."""
        ...

    @property
    def has_times(self) -> bool:
        """Say whether rows may have a time."""
        ...

    @property
    def parse_once(self) -> bool:
        """Say whether a pass is dear enough to keep its result."""
        ...

    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows as `privtrace.io.rows` describes them; the first batch is empty and shows the types.

        Faults of the rows of a batch are noted, where wanted, before the batch is yielded.
        """
        ...


class ColumnReader:
    """Answer what follows from the columns of a table, or from the attributes of features."""

    layout: Roles

    @property
    def crs(self) -> Crs:
        """Say whether points are longitude and latitude or planar."""
        return self.layout.crs

    @property
    def has_users(self) -> bool:
        """Say whether there is a column of users."""
        return self.layout.user is not None

    @property
    def has_times(self) -> bool:
        """Say whether there is a column of times."""
        return self.layout.time is not None


@dataclass(frozen=True)
class _Prepared:
    """Hold what the first look at the rows found out."""

    batches: Callable[[], Iterator[pa.RecordBatch]]  # the rows of each trajectory together
    n_kept: int
    dropped: Counter[str]


class _Counted:
    """Count the rows of the latest pass, and those that it dropped."""

    def __init__(self, scan: Callable[[Faults], Iterable[pa.RecordBatch]]) -> None:
        self._scan = scan
        self.n_rows = 0
        self.faults = Faults()

    def __call__(self) -> Iterator[pa.RecordBatch]:
        self.n_rows, self.faults = 0, Faults()
        for batch in self._scan(self.faults):
            self.n_rows += batch.num_rows
            yield batch


class FileSource:
    """Yield the trajectories of a file or folder, the same ones in every pass.

    A trajectory is all rows with one (user, trajectory id), wherever they stand. Its points are in order of
    time, those without time last; points that cannot be read are NaN. Times are float64 or datetime64. Users
    and ids are int64, uint64, float64 or text; an unknown user is the lowest int64, the highest uint64, NaN
    or ''.

    With `gap_minutes`, a trajectory ends wherever the time to the next point is longer (numbers are seconds),
    and another begins: the pieces of a are called a/1, a/2 and so on. A point without time stays with the
    piece before it.
    """

    def __init__(self, reader: Reader, sizes: Sizes | None = None, *, gap_minutes: float | None = None) -> None:
        if gap_minutes is not None and not reader.has_times:
            raise DataError(
                f"{reader.stamp.path}: there are no times, so nothing can be cut at gaps; "
                "name their column with --columns t=NAME, or leave out --gap (gap_minutes)"
            )
        self.gap_minutes = gap_minutes
        self._reader = reader
        self._sizes = sizes or Sizes()
        self._lock = threading.Lock()
        self._spool: Spool | None = None
        self._prepared: _Prepared | None = None

    def __repr__(self) -> str:
        gap = "" if self.gap_minutes is None else f", gap_minutes={self.gap_minutes:g}"
        return f"FileSource({str(self.path)!r}, {self.crs}{gap})"

    def __enter__(self) -> FileSource:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """Say where the file or folder is."""
        return self._reader.stamp.path

    @property
    def crs(self) -> Crs:
        """Say whether points are longitude and latitude or planar."""
        return self._reader.crs

    @property
    def has_users(self) -> bool:
        """Say whether rows have a user."""
        return self._reader.has_users

    @property
    def has_times(self) -> bool:
        """Say whether rows have a time."""
        return self._reader.has_times

    @property
    def n_points(self) -> int:
        """Tell how many rows a pass goes over, for progress only."""
        known = None if self._reader.parse_once else self._reader.n_rows
        return self._prepare().n_kept if known is None else known

    @property
    def dropped(self) -> Counter[str]:
        """Count by reason the rows that belong to no trajectory. For the curator: NOT PRIVATE."""
        return self._prepare().dropped.copy()

    @property
    def dropped_rows(self) -> int:
        """Count the rows that were dropped, for whatever reason. For the curator: NOT PRIVATE."""
        return self.dropped.total()

    def faults(self) -> Iterator[Fault]:
        """Look at all rows and yield what is wrong with them, in order. For the curator: NOT PRIVATE."""
        faults = Faults(locating=True)
        for _ in self._read(faults=faults):
            yield from faults.take()
        yield from faults.take()

    def parts(self) -> Iterator[Trajectories]:
        """Start a pass over all trajectories."""
        for rows in self.rows():
            yield assemble(rows, self.crs, self.gap_minutes)

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of whole trajectories, those of each together and in the order of the file."""
        prepared = self._prepare()
        self._reader.stamp.check()
        yield from cut(prepared.batches(), self._sizes.part_points)

    def keys(self) -> Iterator[pa.RecordBatch]:
        """Yield which trajectory each row belongs to, in the order of the file."""
        return self._read(keys_only=True)

    def collect(self) -> Trajectories:
        """Load all trajectories into memory."""
        return Trajectories.concatenate(self.parts(), self.crs)

    def close(self) -> None:
        """Remove what is kept on disk; a later pass starts from the file again."""
        with self._lock:
            if self._spool is not None:
                self._spool.close()
            self._spool = self._prepared = None

    def _prepare(self) -> _Prepared:
        """Look at the rows once and decide how to pass over them."""
        with self._lock:
            if self._prepared is None:
                self._prepared = self._looked_at()
            return self._prepared

    def _looked_at(self) -> _Prepared:
        read = _Counted(lambda faults: self._read(faults=faults))
        if self._reader.parse_once:
            return self._kept(read)
        keys = _Counted(lambda faults: self._read(keys_only=True, faults=faults))
        if is_contiguous(keys):
            return _Prepared(read, keys.n_rows, keys.faults.counts)
        batches = self._gathered(read, self._reader.n_rows or 0)
        return _Prepared(batches, read.n_rows, read.faults.counts)

    def _kept(self, read: _Counted) -> _Prepared:
        """Read once, keep the rows, and decide by what was kept."""
        path = self._room().keep(read())
        n_kept, dropped = read.n_rows, read.faults.counts
        if is_contiguous(lambda: kept(path, keys_only=True)):
            return _Prepared(lambda: kept(path), n_kept, dropped)
        batches = self._gathered(lambda: kept(path), n_kept)
        path.unlink()
        return _Prepared(batches, n_kept, dropped)

    def _gathered(
        self, scan: Callable[[], Iterator[pa.RecordBatch]], n_rows: int
    ) -> Callable[[], Iterator[pa.RecordBatch]]:
        """Deal scattered rows into buckets, from which the rows of each trajectory come together."""
        sizes = self._sizes
        buckets = self._room().deal(scan(), n_rows // sizes.bucket_rows, by_key)
        return lambda: gathered(buckets, sizes.batch_rows)

    def _room(self) -> Spool:
        """Make a folder for rows the first time that one is needed."""
        if self._spool is None:
            self._spool = Spool()
        return self._spool

    def _read(self, *, keys_only: bool = False, faults: Faults | None = None) -> Iterator[pa.RecordBatch]:
        """Pass over the file itself, which has to stay the same meanwhile."""
        self._reader.stamp.check()
        try:
            yield from self._reader.batches(self._sizes, keys_only=keys_only, faults=faults)
        except DataError:
            self._reader.stamp.check()  # "changed" explains more than "damaged"
            raise
        self._reader.stamp.check()
