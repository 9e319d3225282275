"""Yield the trajectories of a file part by part, as often as a method wants."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

import pyarrow as pa

from privtrace.errors import DataError
from privtrace.io.columns import ORDER, TIME, Declared, Layout, named_zone, pair_of, tells_time
from privtrace.io.files import Snapshot
from privtrace.io.streams import side_by_side
from privtrace.observer import Observer
from privtrace.rows import for_order, keys_of, values_of, with_times
from privtrace.rows.faults import Fault, Faults
from privtrace.rows.grouping import Runs, assemble, cut, gather, indexed, look
from privtrace.rows.spool import Spool
from privtrace.trajectories import NO_TIMES, PART_POINTS, Crs, Trajectories

#: Where fewer than one point in so many has a time that can be read, times are not worth their epsilon.
_ONE_IN = 100


@dataclass(frozen=True)
class Sizes:
    """Say how much is in memory at once; no result depends on it."""

    part_points: int = PART_POINTS
    batch_rows: int = PART_POINTS // 2
    bucket_rows: int = 4 * PART_POINTS  # of a file whose trajectories are scattered; grouped in memory
    index_bytes: int = 1 << 26  # of the keys of a file, which are read again in every pass where they are more
    block_bytes: int = 1 << 22  # of text


class Reader(ABC):
    """Read one format. Opening uses public facts only: path, format, header, columns and their types.

    What one row, feature, track or file of a folder holds changes neither these facts nor how another is read.
    """

    snapshot: Snapshot
    layout: Layout  # where columns or attributes have roles
    crs: Crs
    has_users: bool  # whether rows may have a user
    has_times: bool  # or a time
    has_clock: bool  # and these may be calendar times, where such are wanted: numbers of no unit are none
    time_type = pa.null()  # of the column of times, where columns have types
    n_rows: int | None = None  # good or bad; of text known after a pass
    is_table = True  # a single one, whose header or schema says what rows have
    order: str | None = None  # the column that sets the order of points which share a time
    by_place = False  # whether those that it leaves tied are ordered by x, then y
    defines_times = False  # the format says how times are written, so that no option can
    parse_once = True  # a pass is dear enough to keep its result

    def lay_out(self, layout: Layout, time_type: pa.DataType = time_type) -> None:
        """Take what follows from columns, or from the attributes of features."""
        self.layout, self.crs, self.time_type = layout, layout.crs, time_type
        self.has_users, self.has_times = layout.user is not None, layout.time is not None
        self.order, self.by_place = layout.order, layout.by_place
        self.has_clock = self.has_times and tells_time(time_type, layout.clock)

    @abstractmethod
    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield rows as `privtrace.rows` describes them; the first batch is empty and shows the types.

        Faults of the rows of a batch are noted, where wanted, before the batch is yielded.
        """


Made = TypeVar("Made")


class _Prepared(NamedTuple):
    """Hold what the first pass over the rows found out."""

    rows: Spool | Callable[[], Iterable[Runs]]  # in buckets, to be gathered; or as they stand, together already
    n_kept: int
    faults: Faults


def _reopened(
    open_again: Callable[[Declared], Reader], declared: Declared, sizes: Sizes, snapshot: Snapshot
) -> FileSource:
    """Open a source that came from another process."""
    reader = open_again(declared)
    if reader.snapshot != snapshot:
        raise DataError(f"{snapshot.path}: changed since it was opened; open it again when it is complete")
    return FileSource(reader, sizes, declared, open_again)


class ReadSource(ABC):
    """Know what public facts say about the rows of a reader: coordinates, users, how times are read."""

    def __init__(self, reader: Reader, declared: Declared) -> None:
        self._reader, self._declared = reader, declared
        self.path, self.crs = reader.snapshot.path, reader.crs
        self.gap_minutes, self.zone = declared.gap_minutes, declared.timezone
        self.has_users, self.has_times = reader.has_users, reader.has_times
        self.has_clock = reader.has_clock  # whether times may be calendar times; `timed` reads them so
        self.times_by_default = reader.has_clock and reader.is_table  # synthesized unless told otherwise
        self._check_times()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    if TYPE_CHECKING:  # so it is a `Source`; what these are, others say

        @property
        def n_points(self) -> int: ...  # noqa: D102

        def parts(self) -> Iterable[Trajectories]: ...  # noqa: D102

    @abstractmethod
    def close(self) -> None:
        """Let go of what passes keep."""

    def timed(self, consequence: str = NO_TIMES[0], instead: str = NO_TIMES[1]) -> Self:
        """Give the source with its times read as calendar times, each value by itself.

        Text of no declared form is ISO 8601 then. What is a number instead is no time, and the curator is told;
        it sets the order of the points that have no time, as it did before. A source that cannot have any is
        refused: the words say what cannot be done so, and what to do instead.
        """
        self._refuse_unless(self.has_clock, consequence, instead)
        if self._has_clock_already:
            return self
        return self._read_again(replace(self._declared, wants_times=True))

    @abstractmethod
    def _read_again(self, declared: Declared) -> Self:
        """Give the same source, read in another way; itself, where there is nothing to read otherwise."""

    @property
    def _has_clock_already(self) -> bool:
        """Say whether every time that is read is a calendar time."""
        declared, reader = self._declared, self._reader
        if declared.has_clock or declared.gap_minutes is not None or declared.wants_times:
            return True
        # Where features or files of several kinds come together, numbers of no unit may be on the calendar.
        return reader.defines_times or (reader.is_table and self._is_timestamp)

    @property
    def _is_timestamp(self) -> bool:
        """Say whether times are read as timestamps: the first batch shows the types."""
        kind = next(iter(self._reader.batches(Sizes()))).schema.field("t").type
        return bool(pa.types.is_timestamp(kind))

    def _check_times(self) -> None:
        """Refuse a gap without a clock, and a form of times that nobody can declare: public facts all."""
        declared, reader = self._declared, self._reader
        if declared.has_clock and (reader.defines_times or not reader.has_times):
            named = f"there are no times; name their column with {declared.naming(TIME)}, or"
            why = "its format says how times are written;" if reader.has_times else named
            raise DataError(f"{self.path}: {why} leave out {declared.time_options('and')}")
        if declared.gap_minutes is not None:
            is_clock = reader.has_times and self._is_timestamp
            self._refuse_unless(is_clock, "nothing can be cut at gaps", f"leave out {declared.option('gap')}")

    def _refuse_unless(self, is_clock: bool, consequence: str, instead: str) -> None:
        """Refuse times that are numbers, or none, and say how to make a clock of them."""
        why = "its times are numbers without a unit, which only order the points"
        unit = self._declared.option("time_unit", "s, ms, us or ns")
        cure = f"set their unit since 1970 with {unit}"
        if not self.has_times:
            why, cure = "there are no times", f"name their column with {self._declared.naming(TIME)}"
        if not is_clock:
            raise DataError(f"{self.path}: {why}, so {consequence}; {cure}, or {instead}")

    def _tell_unread(self, faults: Faults, n_kept: int, observer: Observer) -> None:
        """Tell the curator, loudly, of times that were not read, and of points that nothing puts in order."""
        reader, declared = self._reader, self._declared
        last = " and ".join(pair_of(self.crs)) if reader.by_place else "the file"
        has_many = reader.by_place and not reader.is_table  # files, each with a rule of its own
        if has_many:
            last += ", or of the file where points have an order of their own"
        stay = ", and rows stay as they stand"
        if faults.n_unread:
            keys = ["their numbers" if declared.wants_times else "", reader.order and repr(reader.order), last]
            fate = f"come last, in the order of {' or of '.join(filter(None, keys))}"
            cure = f"set their format with {declared.time_options('or')}"
            if self.gap_minutes is not None:
                fate = "are dropped"
            elif reader.by_place:
                cure += f", or leave times out with {declared.without(TIME)}{'' if reader.order else stay}"
            if reader.defines_times:
                cure = "its format says how they are written"
            elif has_many:
                cure += ", where a file's format leaves that open"
            unread = f"{faults.n_unread:,} of {faults.n_times:,} times could not be read"
            observer.note(f"{self.path}: {unread}, and their points {fate}; {cure}", loud=True)
        if faults.n_unordered:
            lack = f"{faults.n_unordered:,} of {n_kept:,} points have no number in"
            column = repr(reader.order) if reader.order else "the column for their order"
            fate = f"{column} and come last, in the order of {last}"
            cure = f"leave that column out with {declared.without(ORDER)}{stay}"
            observer.note(f"{self.path}: {lack} {fate}; {cure}", loud=True)

    def _tell_few_times(self, faults: Faults, n_points: int, observer: Observer) -> None:
        n_read = faults.n_times - faults.n_unread
        if _ONE_IN * n_read < n_points:
            cure = f", or set how they are read with {self._declared.time_options('or')}"
            observer.note(
                f"{self.path}: {n_read:,} of {n_points:,} points have a readable time, so the share of "
                "epsilon for times is wasted and synthetic times are noise; leave them out with "
                f"--no-times (times=False){'' if self._reader.defines_times else cure}",
                loud=True,
            )


class FileSource(ReadSource):
    """Yield the trajectories of a file or folder, the same ones in every pass.

    A trajectory is all rows with one (user, trajectory id), wherever they stand. Its points are in order of
    time, those without time last; see `assemble` for those that share one. Points that cannot be read are NaN.
    Times are datetime64, or float64 where they set the order and are no clock. Users and ids are int64, uint64,
    float64 or text; an unknown user is the lowest int64, the highest uint64, NaN or ''.

    With `gap_minutes`, points without a time are dropped first. Then a trajectory ends wherever the time to
    the next point is longer, and another begins: the pieces of a are called a/1, a/2 and so on.
    """

    def __init__(
        self,
        reader: Reader,
        sizes: Sizes | None = None,
        declared: Declared | None = None,
        open_again: Callable[[Declared], Reader] | None = None,  # None where there is nothing to read otherwise
    ) -> None:
        super().__init__(reader, declared or Declared())
        self._sizes, self._open_again = sizes or Sizes(), open_again
        self._has_told = False
        self._lock = threading.Lock()
        self._prepared: _Prepared | None = None

    def __repr__(self) -> str:
        gap = "" if self.gap_minutes is None else f", gap_minutes={self.gap_minutes:g}"
        return f"FileSource({str(self.path)!r}, {self.crs}{gap})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process as what opens it there; it must find the files as they were here."""
        return _reopened, (self._open_again, self._declared, self._sizes, self._reader.snapshot)

    def _read_again(self, declared: Declared) -> FileSource:
        if self._open_again is None:
            return self
        return FileSource(self._open_again(declared), self._sizes, declared, self._open_again)

    @property
    def n_points(self) -> int:
        """Tell how many rows a pass goes over, for progress only."""
        known = None if self._reader.parse_once else self._reader.n_rows
        return self._prepare().n_kept if known is None else known

    @property
    def dropped(self) -> Counter[str]:
        """Count by reason the rows that belong to no trajectory. For the curator: NOT PRIVATE."""
        return self._prepare().faults.counts.copy()

    @property
    def dropped_rows(self) -> int:
        """Count the rows that were dropped, for whatever reason. For the curator: NOT PRIVATE."""
        return self.dropped.total()

    @property
    def unread_times(self) -> tuple[int, int]:
        """Count the times that could not be read, and all that there are. For the curator: NOT PRIVATE."""
        faults = self._prepare().faults
        return faults.n_unread, faults.n_times

    def tell(self, observer: Observer) -> None:
        """Tell the curator, once, of a zone that is not the declared one, and loudly of times not read."""
        if self._has_told:
            return
        zone, declared = named_zone(self._reader.time_type), self._declared
        if zone is not None and zone != self.zone:
            # What is no IANA name, such as an offset, cannot be declared.
            given = (zone, repr(zone)) if "/" in zone else ()
            observer.say(
                f"{self.path}: the type of its times names the zone {zone}, but hours and days are counted in "
                f"{self.zone}; set the zone with {declared.option('timezone', *given)}"
            )
        self._has_told = True
        prepared = self._prepare()
        self._tell_unread(prepared.faults, prepared.n_kept, observer)

    def tell_untimed(self, observer: Observer) -> None:
        """Tell the curator, loudly, where times are synthesized and hardly any can be read."""
        self._tell_few_times(self._prepare().faults, self.n_points, observer)

    def faults(self) -> Iterator[Fault]:
        """Pass over all rows and yield what is wrong with them, in order. For the curator: NOT PRIVATE."""
        faults = Faults(locating=True, need_times=self.gap_minutes is not None)
        for _ in self._read(faults=faults):
            yield from faults.take()
        yield from faults.take()

    def parts(self) -> Iterator[Trajectories]:
        """Start a pass over all trajectories."""
        return self.made(self.assembled)

    def assembled(self, runs: Runs) -> Trajectories:
        """Make trajectories of runs, which say as this source does whether times are by default."""
        made = assemble(runs, self.crs, self.gap_minutes, self.zone, by_place=self._reader.by_place)
        return replace(made, times_on_request=not self._reader.is_table)

    def made(self, make: Callable[[Runs], Made]) -> Iterator[Made]:
        """Make something of whole trajectories, each a run of rows in the order of the file, some at a time."""
        rows, n_points = self._prepare().rows, self._sizes.part_points
        self._reader.snapshot.check()
        if not isinstance(rows, Spool):
            yield from map(make, cut(rows(), n_points))
            return

        def made(bucket: int) -> list[Made]:
            return [make(runs) for runs in gather([*rows.batches(bucket)]).pieces(n_points)]

        yield from chain.from_iterable(side_by_side(made, range(rows.n_buckets)))

    def keys(self) -> Iterator[pa.RecordBatch]:
        """Yield which trajectory each row belongs to, in the order of the file."""
        return self._read(keys_only=True)

    def collect(self) -> Trajectories:
        """Load all trajectories into memory.

        Times are as in `parts`. Where text is read for the order alone, it is kept which of it are dates: fits
        of what is in memory have the times that fits of the source have.
        """
        if not self.times_by_default or self._has_clock_already or self._open_again is None:
            return Trajectories.end_to_end([*self.parts()], self.crs)
        self._reader.snapshot.check()
        with self.timed() as timed:
            parts = [*timed.made(lambda runs: self.assembled(replace(runs, rows=for_order(runs.rows))))]
        self._reader.snapshot.check()
        return Trajectories.end_to_end(parts, self.crs)

    def close(self) -> None:
        """Remove what is kept on disk; a later pass starts from the file again."""
        with self._lock:
            self._prepared = None

    def _prepare(self) -> _Prepared:
        """Pass over the rows once and decide how to do so again."""
        with self._lock:
            if self._prepared is None:
                self._prepared = self._first_pass()
            return self._prepared

    def _first_pass(self) -> _Prepared:
        sizes, reader = self._sizes, self._reader
        n_kept, faults = 0, Faults()

        def counted(*, keys_only: bool = False) -> Iterator[pa.RecordBatch]:
            nonlocal n_kept, faults
            n_kept, faults = 0, Faults(need_times=self.gap_minutes is not None)  # of the latest pass
            for batch in self._read(keys_only=keys_only, faults=faults):
                n_kept += batch.num_rows
                yield batch

        scan: Callable[..., Iterator[pa.RecordBatch]] = (
            Spool(counted()).batches if reader.parse_once else counted
        )
        contiguous, index = look(lambda: scan(keys_only=True), sizes.index_bytes)
        if not contiguous:
            n_rows = n_kept if reader.parse_once else reader.n_rows
            if n_rows is None:  # the look ended early
                n_rows = sum(batch.num_rows for batch in self.keys())
            return _Prepared(Spool(scan(), n_rows // sizes.bucket_rows), n_kept, faults)

        keeps_all = n_kept == reader.n_rows  # else some rows are left out

        def runs() -> Iterable[Runs]:
            if index is None:
                return map(Runs.of, scan())
            if hasattr(reader, "values") and keeps_all:
                return indexed(index, self._unchanged(reader.values(sizes)))
            return indexed(index, map(values_of, scan()))

        return _Prepared(runs, n_kept, faults)

    def _read(self, *, keys_only: bool = False, faults: Faults | None = None) -> Iterator[pa.RecordBatch]:
        """Pass over the file itself, which has to stay the same meanwhile."""
        need_times = self.gap_minutes is not None
        batches = self._reader.batches(self._sizes, keys_only=keys_only and not need_times, faults=faults)
        for batch in self._unchanged(batches):
            whole = with_times(batch) if need_times else batch
            yield keys_of(whole) if keys_only else whole

    def _unchanged(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield what is read, and refuse a file that changed meanwhile."""
        self._reader.snapshot.check()
        try:
            yield from batches
        except DataError:
            self._reader.snapshot.check()  # "changed" explains more than "damaged"
            raise
        self._reader.snapshot.check()
