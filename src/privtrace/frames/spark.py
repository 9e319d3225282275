"""Read trajectories from a Spark DataFrame, on the machines that hold it.

The session, the table and the engine are the user's: nothing here makes a session, and no row comes to the
driver unless somebody iterates over the parts there. Each pass is one job. Spark brings the rows of a
trajectory together, by one shuffle, and sorts them by key, so that those of one follow each other. Each
partition is then read as a file is, batch by batch, by the same code.

Keys are compared by canonical values: bytes for text, whatever the collation of the column; no -0 and no NaN.
A key that comes back in its partition would count twice, so that ends the job. Passes compare digests of the
rows that they saw: a table that changed between two passes ends the fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self, TypeAlias, Unpack

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.errors import DataError, SettingsError
from privtrace.frames.telling import EngineFault, Guarded, asking
from privtrace.io.arrow import ArrowReader
from privtrace.io.columns import TIME, Declared, Layout, check_types, resolve
from privtrace.io.files import Snapshot
from privtrace.io.source import ReadSource, Sizes
from privtrace.observer import Observer
from privtrace.rows import floats_of, with_times
from privtrace.rows.faults import Faults
from privtrace.rows.grouping import Runs, assemble, cut, row_hashes
from privtrace.trajectories import PART_POINTS, Integers, Reading, Trajectories

#: Columns on the cluster, by role.
_ID, _USER, _X, _Y, _TIME, _ORDER = "traj_id", "user_id", "x", "y", "t", "nth"

#: Turns the parts of a partition into others, one after the other, and may note numbers of them.
Step: TypeAlias = Callable[[Iterable[Trajectories], "Meeting"], Iterable[Trajectories]]


class Seen(NamedTuple):
    """Say what a pass saw of the rows: numbers that add up, for the driver alone. NOT PRIVATE."""

    n_rows: int = 0
    digest_low: int = 0  # 32 bits of a sum of hashes; halves, so that sums of them stay within 63 bits
    digest_high: int = 0
    n_times: int = 0
    n_unread: int = 0
    n_unordered: int = 0
    n_dropped: int = 0

    @property
    def faults(self) -> Faults:
        """Say what was wrong with them, as a reader does."""
        faults = Faults()
        faults.n_times, faults.n_unread, faults.n_unordered = self.n_times, self.n_unread, self.n_unordered
        return faults

    @property
    def rows(self) -> tuple[int, int]:
        """Identify the rows, whatever their order."""
        return self.n_rows, (self.digest_low + (self.digest_high << 32)) % (1 << 64)


class SparkSource(ReadSource):
    """Give the trajectories of a Spark DataFrame with a row per point, where they are.

    A fit on it runs on the user's session, pass by pass, and gives the model that it would give of the same
    rows in a file, byte for byte. It needs a column with ids, and one with times or with the order of points:
    rows on a cluster have no position. Points with the same time and order are ordered by x, then y.
    """

    engine = "spark"

    def __init__(
        self,
        frame: Any,
        declared: Declared,
        partitions: int | None = None,
        persist: bool = False,
        place: str = "the Spark DataFrame",  # what messages call it
    ) -> None:
        check_partitions(partitions)
        self._frame, self._persist, self.partitions = frame, persist, partitions
        with asking(place):
            self._columns, assembly, order = _understood(place, frame, declared)
        self._assembly = assembly
        reader = assembly.reader(())
        reader.order = order  # as messages call it
        super().__init__(reader, declared)
        self._kept: dict[bool, Any] = {}
        self._seen: list[Seen] = []  # of the first pass
        self._n_keyless: dict[str, int] | None = None  # rows that no pass sees, by what they lack
        self._told = self._needs_times = False

    @classmethod
    def of(
        cls,
        frame: Any,
        *,
        partitions: int | None = None,
        persist: bool = False,
        **reading: Unpack[Reading],
    ) -> Self:
        """Take a DataFrame, of Spark or of Spark Connect, and say how to read it, as `privtrace.read` does.

        Parameters
        ----------
        partitions
            Into how many partitions a pass brings rows together; by default as many as the session says
            (`spark.sql.shuffle.partitions`).
        persist
            Keep what the shuffle gave, for later passes: that saves all shuffles but one, and stores private
            rows on the cluster until `close`, or the end of the fit.
        """
        return cls(frame, Declared.of(**reading), partitions, persist)

    def __repr__(self) -> str:
        return f"SparkSource({self.crs})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Spark DataFrame cannot be copied to another process; open it there")

    @property
    def n_points(self) -> int:
        """Tell how many rows a pass goes over, if that is known by now; for progress only."""
        return self._seen[0].n_rows if self._seen else 0

    def parts(self) -> Iterable[Trajectories]:
        """Give all trajectories, where they are."""
        return SparkParts(self)

    def gathered(self, by_user: bool) -> Any:
        """Bring the rows of each trajectory, or of each user, together, in the order of their keys."""
        if by_user in self._kept:
            return self._kept[by_user]
        keys = [name for name in (_USER, _ID) if name in self._columns]
        needed = keys if by_user else [_ID]
        rows = self._rows.where(" and ".join(f"{name} is not null" for name in needed))
        count = [] if self.partitions is None else [self.partitions]
        whole = rows.repartition(*count, *([_USER] if by_user else keys)).sortWithinPartitions(*keys)
        if self._persist:
            whole = self._kept[by_user] = whole.persist()
        return whole

    def count_keyless(self, by_user: bool) -> None:
        """Count, before the first pass, the rows that no pass will see: the curator is to know."""
        if self._n_keyless is None:
            lacks = {"an id": f"{_ID} is null"}
            lacks |= {"a user": f"{_USER} is null and {_ID} is not null"} if by_user else {}
            found = self._rows.where(" or ".join(lacks.values()))
            counts = found.selectExpr(*(f"count_if({lack}) as `{what}`" for what, lack in lacks.items()))
            (self._n_keyless,) = counts.toArrow().to_pylist()

    @property
    def _rows(self) -> Any:
        return self._frame.selectExpr(*(f"{what} as {name}" for name, what in self._columns.items()))

    def assembly(self, steps: tuple[Step, ...]) -> Assembly:
        """Say how a partition is read."""
        return replace(self._assembly, steps=steps)

    def met(self, seen: Seen) -> None:
        """Take note of what a pass saw, and refuse a table that changed since another one."""
        self._seen = self._seen or [seen]
        if seen.rows != self._seen[0].rows:
            raise DataError(
                f"{self.path}: its rows changed between two passes of the fit; give one that stays the same: a "
                "version of the table, or a copy of it, without random or current values"
            )

    def tell(self, observer: Observer) -> None:
        """Tell the curator, once, after a pass, what could not be used."""
        if self._told or not self._seen:
            return
        self._told, seen = True, self._seen[0]
        for what, count in {**(self._n_keyless or {}), "a time": seen.n_dropped}.items():
            if count:
                observer.note(f"{self.path}: rows dropped: {count:,}, without {what}")
        self._tell_unread(seen.faults, seen.n_rows, observer)
        if self._needs_times:
            self._tell_few_times(seen.faults, seen.n_rows, observer)

    def tell_untimed(self, observer: Observer) -> None:
        """Tell the curator, once there was a pass, if hardly any time could be read."""
        self._needs_times = True

    def close(self) -> None:
        """Let the cluster forget what was persisted."""
        for frame in self._kept.values():
            frame.unpersist()
        self._kept.clear()

    def _read_again(self, declared: Declared) -> Self:
        return type(self)(self._frame, declared, self.partitions, self._persist, str(self.path))


def check_partitions(given: int | None) -> None:
    """Refuse what is no number of partitions; where none is given, Spark chooses it."""
    if given is not None and (type(given) is not int or given < 1):
        raise SettingsError(f"partitions must be a whole number of at least 1, not {given!r}")


def from_spark(frame: Any, declared: Declared) -> SparkSource:
    """Take a DataFrame of Spark with a row per point; a fit runs where it is."""
    return SparkSource(frame, declared)


@dataclass(frozen=True)
class SparkParts:
    """Hold parts that are on a cluster, and what is to be done with them there. `RemoteParts`."""

    source: SparkSource
    by_user: bool = False  # all trajectories of a user are in one partition
    steps: tuple[Step, ...] = ()
    heard: tuple[tuple[int, Callable[[list[int]], None]], ...] = ()  # numbers of steps, and who gets them here

    def each(self, make: Callable[[Trajectories], Iterable[Trajectories]]) -> SparkParts:
        """Make parts of each part, there."""
        return replace(self, steps=(*self.steps, _Each(make)))

    def tallied(
        self, count: Callable[[Trajectories], list[int]], n_numbers: int, hear: Callable[[list[int]], None]
    ) -> SparkParts:
        """Count something of each part, there, and hear the sums here, after each pass."""
        heard = (*self.heard, (n_numbers, hear))
        return replace(self, steps=(*self.steps, _Tally(count, n_numbers)), heard=heard)

    def of_users(self, choose: Callable[[Trajectories], Trajectories]) -> SparkParts:
        """Leave of the trajectories of each user those that are chosen of them, there."""
        return replace(self, by_user=True, steps=(*self.steps, _OfUsers(choose)))

    @property
    def gathered(self) -> Any:
        """Give the rows, brought together, as a DataFrame."""
        return self.source.gathered(self.by_user)

    @property
    def assembly(self) -> Assembly:
        """Say how a partition of them becomes parts."""
        return self.source.assembly(self.steps)

    @property
    def n_numbers(self) -> int:
        """Count the numbers that a pass notes."""
        return len(Seen._fields) + sum(n_numbers for n_numbers, _ in self.heard)

    def met(self, numbers: list[int]) -> None:
        """Take note of what a pass noted, and hand it to who wants to hear it."""
        left = iter(numbers)
        self.source.met(Seen(*islice(left, len(Seen._fields))))
        for n_numbers, hear in self.heard:
            hear([*islice(left, n_numbers)])

    def __iter__(self) -> Iterator[Trajectories]:
        """Bring the parts here, a few at a time: private rows come to the driver."""
        total = [0] * self.n_numbers
        for _, batches in groupby(self._batches(), itemgetter(0)):
            meeting = Meeting()
            yield from self.assembly.parts_of((batch for _, batch in batches), meeting)
            total = [*map(sum, zip(total, meeting.numbers, strict=True))]
        self.met(total)

    def _batches(self) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Bring all rows here, and number the partitions that they are from."""
        partition = 0
        with asking(self.assembly.place):
            packed = self.gathered.mapInArrow(Guarded(_packed), "begins boolean, rows binary")
            for row in packed.toLocalIterator():
                partition += row.begins
                yield partition, pa.ipc.open_stream(row.rows).read_next_batch()


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write batches as bytes, to be sent to the driver one by one; the first of a partition says so."""
    begins = True
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.RecordBatch.from_pydict({"begins": [begins], "rows": [sink.getvalue().to_pybytes()]})
        begins = False


@dataclass(frozen=True)
class _Each:
    make: Callable[[Trajectories], Iterable[Trajectories]]

    def __call__(self, parts: Iterable[Trajectories], meeting: Meeting) -> Iterator[Trajectories]:
        return chain.from_iterable(map(self.make, parts))


@dataclass(frozen=True)
class _Tally:
    """Count something of parts on their way."""

    count: Callable[[Trajectories], list[int]]
    n_numbers: int

    def __call__(self, parts: Iterable[Trajectories], meeting: Meeting) -> Iterator[Trajectories]:
        total = np.zeros(self.n_numbers, np.int64)
        meeting.tallies.append(total)

        def counted(part: Trajectories) -> Trajectories:
            total[:] += self.count(part)
            return part

        return map(counted, parts)


@dataclass(frozen=True)
class _OfUsers:
    """Choose among the trajectories of each user, which follow each other.

    Of a user with very many, it is chosen among some before the others come, so that memory holds a part and
    those that may still count.
    """

    choose: Callable[[Trajectories], Trajectories]

    def __call__(self, parts: Iterable[Trajectories], meeting: Meeting) -> Iterator[Trajectories]:
        held = None
        for part in parts:
            held = part if held is None else Trajectories.end_to_end([held, part])
            if len(held) == 0:
                continue
            assert held.users is not None
            others = np.flatnonzero(held.users != held.users[-1])
            # The last user may go on in the next part.
            first = int(others[-1]) + 1 if len(others) else 0
            if first:
                yield self.choose(held[:first])
                held = held[first:]
            if held.n_points > PART_POINTS:
                held = self.choose(held)
        if held is not None:
            yield self.choose(held)


# --- on the workers -------------------------------------------------------------------------------------------


@dataclass
class Meeting:
    """Take note of the rows of a partition."""

    n_rows: int = 0
    digest: int = 0
    faults: Faults = field(default_factory=Faults)
    tallies: list[Integers] = field(default_factory=list)  # of steps that count, in their order

    def add(self, rows: pa.RecordBatch) -> None:
        """Add the rows of a batch."""
        self.n_rows += rows.num_rows
        self.digest = (self.digest + int(row_hashes(rows).sum(dtype=np.uint64))) % (1 << 64)

    @property
    def numbers(self) -> list[int]:
        """Say what was seen, as `Seen` has it, and what steps counted."""
        faults, halves = self.faults, divmod(self.digest, 1 << 32)
        found = (faults.n_times, faults.n_unread, faults.n_unordered, faults.counts.total())
        seen = Seen(self.n_rows, halves[1], halves[0], *found)
        return [*seen, *chain.from_iterable(total.tolist() for total in self.tallies)]


@dataclass(frozen=True)
class Assembly:
    """Say how the batches of a partition become trajectories: public facts, and what is done with parts."""

    place: str
    layout: Layout
    schema: pa.Schema
    declared: Declared
    steps: tuple[Step, ...] = ()

    def reader(self, batches: Iterable[pa.RecordBatch]) -> ArrowReader:
        """Read batches as rows."""
        return _PartitionReader(self, batches)

    def parts_of(self, batches: Iterable[pa.RecordBatch], meeting: Meeting) -> Iterable[Trajectories]:
        """Read a partition, part by part: a trajectory may go on from batch to batch."""
        meeting.faults = Faults(need_times=self.declared.gap_minutes is not None)
        parts: Iterable[Trajectories] = map(self._assembled, cut(self._runs(batches, meeting), PART_POINTS))
        for step in self.steps:
            parts = step(parts, meeting)
        return parts

    def _runs(self, batches: Iterable[pa.RecordBatch], meeting: Meeting) -> Iterator[Runs]:
        for rows in self.reader(_rising(batches)).batches(Sizes(), faults=meeting.faults):
            meeting.add(rows)
            yield Runs.of(with_times(rows) if meeting.faults.need_times else rows)

    def _assembled(self, runs: Runs) -> Trajectories:
        declared = self.declared
        return assemble(runs, self.layout.crs, declared.gap_minutes, declared.timezone, by_place=True)


class _PartitionReader(ArrowReader):
    """Read the rows of a partition as they come."""

    cure = "look at the log of Spark"

    def __init__(self, assembly: Assembly, batches: Iterable[pa.RecordBatch]) -> None:
        super().__init__(
            Snapshot.in_memory(assembly.place), assembly.layout, assembly.schema, 0, assembly.declared
        )
        self._given = batches

    def _batches(self, names: list[str], batch_rows: int) -> Iterator[pa.RecordBatch]:
        return (batch.select(names) for batch in self._given)


def _rising(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield batches, and see that keys never fall: so none can come back."""
    last: list[pa.Array] | None = None
    for batch in batches:
        keys = [batch[name] for name in (_USER, _ID) if name in batch.schema.names]
        if batch.num_rows:
            joined = keys if last is None else [pa.concat_arrays(pair) for pair in zip(last, keys, strict=True)]
            falls = np.zeros(len(joined[0]) - 1, np.bool_)
            for key in reversed(joined):  # the first counts most
                before, after = key[:-1], key[1:]
                lower = _ranked(before, after, pc.less)
                falls = _ranked(before, after, pc.greater) | (falls & ~lower)
            if falls.any():
                raise EngineFault("the rows of a trajectory are not together in their partition")
            last = [key[-1:] for key in keys]
        yield batch


def _ranked(before: pa.Array, after: pa.Array, relation: Callable[[pa.Array, pa.Array], pa.Array]) -> Any:
    """Compare keys where both are known, else whether they are: unknown ones come first."""
    known = relation(before, after).fill_null(False)
    if not before.null_count and not after.null_count:
        return floats_of(known)
    there = relation(before.is_valid().cast(pa.int8()), after.is_valid().cast(pa.int8()))
    return floats_of(known) | floats_of(there)


# --- what is said of it ---------------------------------------------------------------------------------------


def _understood(place: str, frame: Any, declared: Declared) -> tuple[dict[str, str], Assembly, str | None]:
    """Find the columns by names and types, which are public: what to select, and how to read that."""
    if getattr(frame, "isStreaming", False):
        raise DataError(f"{place}: it is a stream, which has no end; write it to a table and give that")
    _refuse_others(place, frame)
    path = Path(place)
    layout = resolve(path, frame.columns, declared)
    if layout.time is None and layout.order is None:
        raise DataError(
            f"{place}: it has no times and no order of points, and rows on a cluster have no position; name "
            f"the column of one with {declared.naming(TIME)} or {declared.naming('order')}"
        )
    given = frame.selectExpr(*map(_quoted, layout.names)).limit(0).toArrow().schema
    check_types(path, layout, given, declared)
    roles = {
        _USER: layout.user,
        _ID: layout.trajectory,
        _X: layout.x,
        _Y: layout.y,
        _TIME: layout.time,
        _ORDER: layout.order,
    }
    kinds = {role: given.field(name).type for role, name in roles.items() if name is not None}
    columns = {
        role: _canonical(_quoted(name), kinds[role]) if role in (_USER, _ID) else _quoted(name)
        for role, name in roles.items()
        if name is not None
    }
    if getattr(kinds.get(_TIME), "tz", None) is not None:
        kinds[_TIME] = pa.timestamp(kinds[_TIME].unit, "UTC")  # that of the session says nothing about the data
    at = {role: role if role in columns else None for role in roles}
    there = replace(layout, trajectory=_ID, user=at[_USER], time=at[_TIME], order=at[_ORDER], x=_X, y=_Y)
    return columns, Assembly(place, there, pa.schema([*kinds.items()]), declared), layout.order


def _refuse_others(place: str, frame: Any) -> None:
    """Refuse what is not a DataFrame of Spark, or of a Spark that can be used."""
    can = {name for name in ("to_spark", "selectExpr", "toArrow") if hasattr(type(frame), name)}
    if "to_spark" in can:
        raise DataError(f"{place}: it is of pandas on Spark; give its to_spark() instead")
    if "selectExpr" not in can:
        raise DataError(f"a Spark DataFrame is needed, not {type(frame).__name__}")
    if "toArrow" not in can:
        raise DataError(
            f"{place}: it is of an older Spark, and privtrace needs Spark 4 or newer; upgrade Spark, or write "
            "the table to Parquet files and fit these"
        )


def _quoted(name: str) -> str:
    """Name a column in SQL."""
    return f"`{name.replace('`', '``')}`"


def _canonical(name: str, kind: pa.DataType) -> str:
    """Write keys so that those that are one are alike, and unknown ones are null."""
    if pa.types.is_integer(kind) or pa.types.is_null(kind):
        return f"cast({name} as bigint)"
    if pa.types.is_floating(kind):
        return f"case when {name} = 0 then 0.0D when not isnan({name}) then cast({name} as double) end"
    return f"case when octet_length({name}) > 0 then cast({name} as binary) end"
