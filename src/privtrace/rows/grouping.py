"""Turn rows into trajectories: which rows belong together, and in what order.

Rows with one key next to each other are a *run*. Where every key has one run only, a file can be streamed as it
stands; otherwise `gather` brings the rows of a key together first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.compiling import compiled
from privtrace.rows import floats_of, ids_of, join, keys_of, text_of, values_of
from privtrace.trajectories import Array, Crs, Floats, Integers, Trajectories, gaps_over, part_bounds

Hashes = npt.NDArray[np.uint64]

#: Orders points that tie in all else.
_PLACE = ("x", "y")

#: Runs up to this are sorted by counting.
_SHORT = 256
#: Keys that a table can hold at first: a power of two.
_FIRST_SIZE = 1 << 10


@dataclass(frozen=True)
class Runs:
    """Hold rows run by run: the key of each run once, and beside it what differs from row to row.

    Keys a and b that start at 0 and 2, of three rows, are those of rows a, a and b.
    """

    keys: pa.RecordBatch  # (n_runs,)
    starts: Integers  # (n_runs,): the first row of each
    rows: pa.Table
    order: Integers | None = None  # (n_rows,): which rows of the table these are; all as they stand if None

    @classmethod
    def of(cls, rows: pa.RecordBatch) -> Runs:
        """Find the runs of rows as they stand."""
        starts = run_starts(rows)
        return cls(keys_of(rows).take(pa.array(starts)), starts, pa.Table.from_batches([values_of(rows)]))

    @property
    def n_rows(self) -> int:
        """Count the rows."""
        return self.rows.num_rows if self.order is None else len(self.order)

    def column(self, name: str) -> Array | None:
        """Take one column out, if there is one of this name."""
        if name not in self.rows.column_names:
            return None
        values = self.whole(name)
        return values if self.order is None else values[self.order]

    def values(self, name: str, places: Integers) -> Array:
        """Take out what a column has at some places."""
        rows = places if self.order is None else self.order[places]
        return floats_of(self.rows[name].take(pa.array(rows)))

    def whole(self, name: str, out: Array | None = None) -> Array:
        """Take a column out as it stands in the table."""
        column = self.rows[name]
        chunks = [floats_of(chunk) for chunk in column.chunks or [pa.array([], column.type)]]
        return chunks[0] if len(chunks) == 1 and out is None else np.concatenate(chunks, out=out)

    def slice(self, first: int, last: int) -> Runs:
        """Take the runs from one to before another."""
        keys, bounds = self.keys.slice(first, last - first), np.append(self.starts, self.n_rows)
        start, stop = int(bounds[first]), int(bounds[last])
        starts = self.starts[first:last] - start
        if self.order is None:
            return Runs(keys, starts, self.rows.slice(start, stop - start))
        return Runs(keys, starts, self.rows, self.order[start:stop])

    def pieces(self, n_rows: int) -> Iterator[Runs]:
        """Cut into pieces of about so many rows."""
        return starmap(self.slice, part_bounds(np.append(self.starts, self.n_rows), n_rows))

    def followed_by(self, other: Runs) -> Runs:
        """Put runs after these; where the first of them has the key of the last here, they are one."""
        n_same = int(self.keys.slice(len(self.starts) - 1).equals(other.keys.slice(0, 1)))
        return Runs(
            join([self.keys, other.keys.slice(n_same)]),
            np.concatenate([self.starts, other.starts[n_same:] + self.n_rows]),
            pa.concat_tables([self.rows, other.rows]),
        )


def run_starts(rows: pa.RecordBatch) -> Integers:
    """Find the rows whose key differs from the one before: keys a a b a give 0, 2, 3."""
    changed = np.arange(rows.num_rows) == 0
    for column in keys_of(rows).columns:
        if pa.types.is_large_binary(column.type):
            changed[1:] |= floats_of(pc.fill_null(pc.not_equal(column[:-1], column[1:]), False))
        else:
            words = _words(column)
            changed[1:] |= words[1:] != words[:-1]
        if column.null_count:  # an unknown user is one more user
            unknown = floats_of(column.is_null())
            changed[1:] |= unknown[1:] != unknown[:-1]
    return np.flatnonzero(changed)


def look(scan: Callable[[], Iterable[pa.RecordBatch]], most_bytes: int) -> tuple[bool, pa.RecordBatch | None]:
    """Decide whether every key has one run only, and if so index the runs, if that takes few bytes.

    The index has the key of each run, and `start`: whoever has it need not read the keys again. Ids that only
    rise need no other memory. Otherwise a second pass remembers 64 bits of each run; two keys with the same 64
    bits make the answer False, which costs time and nothing else.
    """
    for has_one_run in (_rises, _never_repeats):
        runs: list[pa.RecordBatch] = []
        if has_one_run(_kept_if_few(_run_keys(scan()), most_bytes, runs)):
            return True, join(runs) if runs else None
    return False, None


def indexed(index: pa.RecordBatch, batches: Iterable[pa.RecordBatch]) -> Iterator[Runs]:
    """Find the runs of batches that follow each other in the file and have no keys."""
    keys, starts = keys_of(index), floats_of(index["start"])
    at = 0
    for batch in batches:
        end = at + batch.num_rows
        first = max(int(np.searchsorted(starts, at, "right")) - 1, 0)
        last = int(np.searchsorted(starts, end)) if end > at else first
        own_starts = np.maximum(starts[first:last] - at, 0)
        yield Runs(keys.slice(first, last - first), own_starts, pa.Table.from_batches([batch]))
        at = end


def _kept_if_few(
    runs: Iterable[pa.RecordBatch], most_bytes: int, kept: list[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield what comes and keep all of it, or nothing where it is too much."""
    n_bytes = 0
    for keys in runs:
        kept.append(keys)
        n_bytes += keys.nbytes
        if n_bytes > most_bytes:
            kept.clear()
        yield keys


def _run_keys(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the key and start of every run, once also where a run goes on over the border of two batches."""
    last, n_before = None, 0
    for batch in batches:
        if batch.num_rows:
            starts = run_starts(batch)
            keys = keys_of(batch).take(pa.array(starts))
            n_same = int(last is not None and last.equals(keys.slice(0, 1)))
            yield keys.append_column("start", pa.array(starts + n_before)).slice(n_same)
            last, n_before = keys.slice(len(starts) - 1), n_before + batch.num_rows


def _rises(runs: Iterable[pa.RecordBatch]) -> bool:
    """Check that trajectory ids rise from run to run; then no key can come back, whatever the users."""
    last = None
    for keys in runs:
        ids = keys["traj_id"] if last is None else pa.concat_arrays([last, keys["traj_id"]])
        if not pc.all(pc.less(ids[:-1], ids[1:]), min_count=0).as_py():
            return False
        last = ids[-1:]
    return True


def _never_repeats(runs: Iterable[pa.RecordBatch]) -> bool:
    seen = Distinct()
    return all(map(seen.add, runs)) and seen.counts()[1] == 0


class Distinct:
    """Count different keys, and those that came more than once, in 64 bits for each of the different ones."""

    def __init__(self) -> None:
        self._seen: Hashes = np.empty(0, np.uint64)
        self._again: Hashes = np.empty(0, np.uint64)
        self._fresh: list[Hashes] = []

    def add(self, keys: pa.RecordBatch) -> bool:
        """Take more keys; tell whether all were different when last looked at, as their number doubled."""
        self._fresh.append(key_hashes(keys))
        if sum(map(len, self._fresh)) > len(self._seen):
            self.counts()
        return not len(self._again)

    def counts(self) -> tuple[int, int]:
        """Tell how many are different, and how many of these came more than once."""
        self._seen, times = np.unique(np.concatenate([self._seen, *self._fresh]), return_counts=True)
        self._again = np.union1d(self._again, self._seen[times > 1])
        self._fresh = []
        return len(self._seen), len(self._again)


def n_scattered(batches: Iterable[pa.RecordBatch]) -> int:
    """Count the keys that have more than one run."""
    runs = Distinct()
    for keys in _run_keys(batches):
        runs.add(keys)
    return runs.counts()[1]


def key_hashes(keys: pa.RecordBatch) -> Hashes:
    """Mix the key of each row into 64 bits, the same in every process."""
    hashes: Hashes = np.zeros(keys.num_rows, np.uint64)
    for column in keys_of(keys).columns:
        if pa.types.is_large_binary(column.type):
            text = column.fill_null(b"") if column.null_count else column
            _, offsets, data = text.buffers()
            bounds = np.frombuffer(offsets or bytes(8), np.int64)[text.offset : text.offset + len(text) + 1]
            _mix_texts(bounds, np.frombuffer(data or b"", np.uint8), hashes)
        else:
            _mix(_words(column), hashes)
        if column.null_count:  # else an unknown user would share the bucket of user 0
            hashes ^= floats_of(column.is_null()).astype(np.uint64)
    return hashes


def row_hashes(rows: pa.RecordBatch) -> Hashes:
    """Mix all of each row into 64 bits, the same in every process."""
    hashes = key_hashes(rows)
    for column in values_of(rows).columns:
        words = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
        _mix(_words(words), hashes)
    return hashes


def _words(column: pa.Array) -> Hashes:
    """Give the 64 bits of each number, which are different for different ones; 0 for null."""
    return np.ascontiguousarray(floats_of(column.fill_null(0) if column.null_count else column)).view(np.uint64)


def gather(batches: Sequence[pa.RecordBatch]) -> Runs:
    """Bring the rows of each key together, keys in order of first appearance, rows in the order they had."""
    keys = join([keys_of(batch) for batch in batches])
    words = [_identities(column) for column in keys.columns]  # one or two
    order, starts = order_by_number(*_numbered(words[0], words[-1]))
    rows = pa.Table.from_batches([join([values_of(batch) for batch in batches])])
    return Runs(keys.take(pa.array(order[starts])), starts, rows, order)


def _identities(column: pa.Array) -> Hashes:
    """Give each value 64 bits that it has alone."""
    if column.null_count or pa.types.is_large_binary(column.type):
        return floats_of(column.dictionary_encode(null_encoding="encode").indices).astype(np.uint64)
    return _words(column)


def cut(batches: Iterable[Runs], at_least: int) -> Iterator[Runs]:
    """Recut contiguous runs so that each is a whole trajectory, and at least so many rows come at once.

    The last may be fewer. If all is empty, so is what comes out: no trajectories, but the right columns.
    """
    empty = held = None
    for runs in batches:
        if runs.n_rows == 0:
            empty = runs
            continue
        held = runs if held is None else held.followed_by(runs)
        if held.starts[-1] >= at_least:  # the last trajectory may go on in the next batch
            n_whole = len(held.starts) - 1
            yield held.slice(0, n_whole)
            held = held.slice(n_whole, n_whole + 1)
    last = empty if held is None else held
    if last is not None:
        yield last


def assemble(
    runs: Runs,
    crs: Crs,
    gap_minutes: float | None = None,
    zone: str = "UTC",
    *,
    by_place: bool = False,
) -> Trajectories:
    """Make trajectories of runs whose keys are all different, in order of time and cut at longer gaps.

    Points are in order of `t`, then `number`, `order` and `row`, as far as there are such columns; missing
    values come last. Those that tie are in order of x, then y, if `by_place`, so that nothing depends on where
    rows stand; otherwise they stay as they stand. Where trajectories are cut, all rows have a time, and it is
    a timestamp.
    """
    keys, starts, order = runs.keys, runs.starts, runs.order
    times, moments = runs.column("t"), runs.column("moment")
    places = _in_order(runs, times, _PLACE if by_place else ())
    if places is not None:
        times, moments = (None if some is None else some[places] for some in (times, moments))
        order = places if order is None else order[places]
    if times is not None and gap_minutes is not None:
        starts, keys = _cut_at_gaps(times, starts, keys, gap_minutes)
    users = ids_of(keys["user_id"]) if "user_id" in keys.schema.names else None
    offsets = np.append(starts, runs.n_rows)
    ids, points = ids_of(keys["traj_id"]), _points(runs, order)
    return Trajectories(points, offsets, times, users, ids, crs, gap_minutes, zone, moments=moments)


def _points(runs: Runs, order: Integers | None) -> Floats:
    """Lay x and y side by side, in an order or as they stand."""
    points = np.empty((runs.n_rows, 2))  # (n_points, 2)
    if order is not None:
        _pair_in_order(runs.whole("x"), runs.whole("y"), order, points)
    else:
        runs.whole("x", out=points[:, 0])
        runs.whole("y", out=points[:, 1])
    return points


def _cut_at_gaps(
    times: Array, starts: Integers, keys: pa.RecordBatch, gap_minutes: float
) -> tuple[Integers, pa.RecordBatch]:
    """Start a new trajectory after each longer gap; the pieces of trajectory a are called a/1, a/2, ...

    Without the points of a piece, the gap around it is longer still: all other pieces stay as they are, though
    later ones are called otherwise. Names count for nothing but the choice among the trajectories of a user,
    and where that is made, all pieces of a user come and go together.
    """
    is_start = np.append(False, gaps_over(times, gap_minutes)) if len(times) else np.empty(0, bool)
    is_start[starts] = True
    pieces = np.flatnonzero(is_start)
    origins = np.searchsorted(starts, pieces, side="right") - 1  # (n_pieces,): which trajectory each is from
    numbers = np.arange(len(pieces)) - np.searchsorted(pieces, starts)[origins] + 1
    keys = keys.take(pa.array(origins))
    names = pc.binary_join_element_wise(
        text_of(keys["traj_id"]), text_of(pa.array(numbers)), pa.scalar(b"/", pa.large_binary())
    )
    return pieces, keys.set_column(keys.schema.get_field_index("traj_id"), "traj_id", names)


def _in_order(runs: Runs, times: Array | None, last: tuple[str, ...] = ()) -> Integers | None:
    """Order the points of each run by its columns, each where those before it tie, missing values last.

    What still ties stays as it stands. If nothing moves, None.
    """
    names = [name for name in ("number", "order", "row", *last) if name in runs.rows.column_names]
    places: Integers | None = None  # which point comes to stand where
    tied: Integers | None = None  # where those stand that tie so far; all of a run do at first
    bounds = np.append(runs.starts, runs.n_rows)  # of what ties
    for name in names if times is None else ["t", *names]:
        if tied is None:
            found = times if name == "t" else runs.column(name)
            assert found is not None
            ranks = _ranks(found)
        else:
            ranks = _ranks(runs.values(name, tied if places is None else places[tied]))
        rises, ties, tie_bounds = _ties(ranks, bounds)
        if not rises:
            moved = np.arange(len(ranks))
            _sort_runs(ranks, bounds, moved)
            _, ties, tie_bounds = _ties(ranks[moved], bounds)
            if tied is None:
                places = moved
            else:
                places = np.arange(runs.n_rows) if places is None else places
                places[tied] = places[tied][moved]
        tied, bounds = ties if tied is None else tied[ties], tie_bounds
        if not len(tied):
            break
    return places


def _ranks(values: Array) -> Integers:
    """Give integers in the order of values, NaN and NaT last."""
    if values.dtype.kind == "M":
        ticks: Integers = values.view(np.int64) - 1  # NaT is the lowest, and wraps around
        return ticks
    bits, last = (values + 0.0).view(np.int64), np.iinfo(np.int64).max  # adding zero turns -0 into 0
    # Floats are in the order of their bits; among negative ones, those but the sign are to be turned around.
    return np.where(np.isnan(values), last, bits ^ ((bits >> 63) & last))


@compiled
def _ties(ranks, bounds):  # type: ignore[no-untyped-def]
    """Find the ranks of each run that are those of their neighbors: where they are, and the bounds of each tie.

    Ranks 1, 2, 2, 3 give 1, 2 and 0, 2. Where a rank is below the one before it, False and nothing.
    """
    places, firsts = np.empty(len(ranks), np.int64), np.empty(len(ranks) + 1, np.int64)
    n_tied = n_ties = 0
    for run in range(len(bounds) - 1):
        own = ranks[bounds[run] : bounds[run + 1]]
        rises = True
        for i in range(len(own) - 1):  # quick, as nothing depends on what was found before
            rises &= own[i] < own[i + 1]
        if rises:
            continue
        for at in range(bounds[run] + 1, bounds[run + 1]):
            if ranks[at] > ranks[at - 1]:
                continue
            if ranks[at] < ranks[at - 1]:
                return False, places[:0].copy(), firsts[:0].copy()
            if n_tied == 0 or places[n_tied - 1] != at - 1:
                firsts[n_ties] = n_tied
                places[n_tied] = at - 1
                n_ties += 1
                n_tied += 1
            places[n_tied] = at
            n_tied += 1
    firsts[n_ties] = n_tied
    return True, places[:n_tied].copy(), firsts[: n_ties + 1].copy()


@compiled
def _pair_in_order(x, y, order, points):  # type: ignore[no-untyped-def]
    for i in range(len(order)):
        points[i, 0] = x[order[i]]
        points[i, 1] = y[order[i]]


@compiled
def _mixed(bits):  # type: ignore[no-untyped-def]
    """Spread 64 bits over 64 bits, one to one (the finalizer of SplitMix64)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@compiled
def _mix(words, hashes):  # type: ignore[no-untyped-def]
    for i in range(len(words)):
        hashes[i] = _mixed(hashes[i] + words[i])


@compiled
def _mix_texts(offsets, data, hashes):  # type: ignore[no-untyped-def]
    """Mix texts in, each as a polynomial in its bytes modulo 2**64."""
    for i in range(len(hashes)):
        power = np.uint64(1)
        polynomial = np.uint64(0)
        for j in range(offsets[i], offsets[i + 1]):
            power *= np.uint64(0x100000001B3)
            polynomial += (np.uint64(data[j]) + np.uint64(1)) * power
        hashes[i] = _mixed(hashes[i] + polynomial)


@compiled
def _numbered(words, others):  # type: ignore[no-untyped-def]
    """Give keys of two words numbers by first appearance, and count them: a b a gives 0, 1, 0, and 2.

    The table is as large as the keys need, which are few beside the rows, so that it stays in the caches.
    """
    numbers = np.empty(len(words), np.int32)
    known, table = np.empty((0, 2), np.uint64), np.empty(0, np.int32)  # keys by number; numbers by hash, or -1
    n_keys = row = 0
    while row < len(words):
        if n_keys == len(known):  # begin again with a larger table
            known = np.empty((max(8 * n_keys, _FIRST_SIZE), 2), np.uint64)
            table = np.full(4 * len(known), -1, np.int32)
            n_keys = row = 0
        # Not by the low bits, which chose the bucket and are alike in all its rows.
        place = np.int64(_mixed(_mixed(words[row]) + others[row]) >> np.uint64(32)) & (len(table) - 1)
        number = table[place]
        while number >= 0 and (known[number, 0] != words[row] or known[number, 1] != others[row]):
            place = (place + 1) & (len(table) - 1)
            number = table[place]
        if number < 0:
            number = table[place] = n_keys
            known[number, 0], known[number, 1] = words[row], others[row]
            n_keys += 1
        numbers[row] = number
        row += 1
    return numbers, n_keys


@compiled
def order_by_number(numbers, n_keys):  # type: ignore[no-untyped-def]
    """Order rows by their numbers, ties as they stand: 0, 1, 0 gives 0, 2, 1; also where each starts: 0, 2."""
    ends = np.zeros(n_keys + 1, np.int64)
    for row in range(len(numbers)):
        ends[numbers[row] + 1] += 1
    for number in range(n_keys):
        ends[number + 1] += ends[number]
    starts = ends[:n_keys].copy()
    order = np.empty(len(numbers), np.int64)
    for row in range(len(numbers)):
        order[ends[numbers[row]]] = row
        ends[numbers[row]] += 1
    return order, starts


@compiled
def _sort_runs(ranks, bounds, places):  # type: ignore[no-untyped-def]
    """Sort the places of each run by their ranks, ties as they stand.

    Of a short run it is counted what comes before each: quick, as nothing depends on the outcome.
    """
    keys, held = np.empty(_SHORT, np.int64), np.empty(_SHORT, np.int64)
    for run in range(len(bounds) - 1):
        own = places[bounds[run] : bounds[run + 1]]
        if len(own) > _SHORT:
            own[:] = own[np.argsort(ranks[own], kind="mergesort")]
            continue
        for i in range(len(own)):
            held[i] = own[i]
            keys[i] = ranks[own[i]]
        for i in range(len(own)):
            key, n_before = keys[i], 0
            for j in range(len(own)):
                n_before += keys[j] < key
            for j in range(i):
                n_before += keys[j] == key
            own[n_before] = held[i]
