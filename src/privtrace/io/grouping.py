"""Turn rows into trajectories: which rows belong together, and in what order.

Rows with one key next to each other are a *run*. Where every key has one run only, a file can be streamed as it
stands; otherwise `gather` brings the rows of a key together first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.compiling import compiled
from privtrace.io.rows import floats_of, ids_of, join, keys_of, text_of, values_of
from privtrace.trajectories import Array, Crs, Floats, Integers, Trajectories, gaps_over

Hashes = npt.NDArray[np.uint64]

#: Runs up to this are sorted by counting.
_SHORT = 64
#: Of a table of keys: a power of two.
_FIRST_SIZE = 1 << 12


@dataclass(frozen=True)
class Runs:
    """Hold rows run by run: the key of each run once, and beside it what differs from row to row.

    Keys a and b that start at 0 and 2, of three rows, are those of rows a, a and b.
    """

    keys: pa.RecordBatch  # (n_runs,)
    starts: Integers  # (n_runs,): the first row of each
    batches: Sequence[pa.RecordBatch]  # the rows, end to end
    order: Integers | None = None  # (n_rows,): which rows of the batches these are; all as they stand if None

    @classmethod
    def of(cls, rows: pa.RecordBatch) -> Runs:
        """Find the runs of rows as they stand."""
        starts = run_starts(rows)
        return cls(keys_of(rows).take(pa.array(starts)), starts, [values_of(rows)])

    @property
    def n_rows(self) -> int:
        """Count the rows."""
        return sum(batch.num_rows for batch in self.batches) if self.order is None else len(self.order)

    @property
    def schema(self) -> pa.Schema:
        """Say what differs from row to row."""
        return self.batches[0].schema

    def column(self, name: str) -> Array | None:
        """Take one column out, if there is one of this name."""
        if name not in self.schema.names:
            return None
        columns = [floats_of(batch[name]) for batch in self.batches]
        values = columns[0] if len(columns) == 1 else np.concatenate(columns)
        return values if self.order is None else values[self.order]

    def with_batches(self, change: Callable[[pa.RecordBatch], pa.RecordBatch]) -> Runs:
        """Change what differs from row to row."""
        return replace(self, batches=[change(batch) for batch in self.batches])

    def pieces(self, at_least: int) -> Iterator[Runs]:
        """Cut runs that were gathered into pieces of at least so many rows, if there are so many."""
        assert self.order is not None
        n_runs, bounds = len(self.starts), np.append(self.starts, self.n_rows)
        first = 0
        while True:
            last = int(np.searchsorted(bounds, bounds[first] + at_least))
            if last >= n_runs or bounds[-1] - bounds[last] < at_least:
                last = n_runs
            start, stop = bounds[first], bounds[last]
            keys, starts = self.keys.slice(first, last - first), self.starts[first:last] - start
            yield Runs(keys, starts, self.batches, self.order[start:stop])
            if last == n_runs:
                return
            first = last

    def divided(self) -> tuple[Runs, Runs]:
        """Take the last run apart from those before it."""
        n_runs, border = len(self.starts) - 1, int(self.starts[-1])
        ends = np.cumsum([batch.num_rows for batch in self.batches]).tolist()
        before, after = [], []
        for batch, end in zip(self.batches, ends, strict=True):
            n_before = min(max(border - (end - batch.num_rows), 0), batch.num_rows)
            before.append(batch.slice(0, n_before))
            if end > border:
                after.append(batch.slice(n_before))
        return (
            Runs(self.keys.slice(0, n_runs), self.starts[:n_runs], before),
            Runs(self.keys.slice(n_runs), self.starts[n_runs:] - border, after),
        )

    def followed_by(self, other: Runs) -> Runs:
        """Put runs after these; where the first of them has the key of the last here, they are one."""
        n_same = int(_same_key(_last_row(self.keys), _first_row(other.keys)))
        return Runs(
            join([self.keys, other.keys.slice(n_same)]),
            np.concatenate([self.starts, other.starts[n_same:] + self.n_rows]),
            [*self.batches, *other.batches],
        )


@dataclass(frozen=True)
class Index:
    """Hold the keys of all runs of a file, and where they start: whoever has it need not read them again."""

    runs: pa.RecordBatch  # (n_runs,): keys, and `start`, the first row of each

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Runs]:
        """Find the runs of batches that follow each other in the file and have no keys."""
        keys, starts = keys_of(self.runs), floats_of(self.runs["start"])
        at = 0
        for batch in batches:
            end = at + batch.num_rows
            first = max(int(np.searchsorted(starts, at, "right")) - 1, 0)
            last = int(np.searchsorted(starts, end)) if end > at else first
            yield Runs(keys.slice(first, last - first), np.maximum(starts[first:last] - at, 0), [batch])
            at = end


def run_starts(rows: pa.RecordBatch) -> Integers:
    """Find the rows whose key differs from the one before: keys a a b a give 0, 2, 3."""
    if rows.num_rows == 0:
        return np.empty(0, np.int64)
    changed = np.zeros(rows.num_rows, dtype=bool)
    changed[0] = True
    for column in keys_of(rows).columns:
        if column.null_count:  # an unknown user is one more user
            unknown = column.is_null().to_numpy(zero_copy_only=False)
            changed[1:] |= unknown[1:] != unknown[:-1]
        if pa.types.is_large_binary(column.type):
            _mark_texts(*_bytes_of(column), changed)
        else:
            values = _words_of(column)
            changed[1:] |= values[1:] != values[:-1]
    return np.flatnonzero(changed)


def _words_of(column: pa.Array) -> Hashes:
    """Give the 64 bits of each number, which are different for different ones; 0 for null."""
    return np.ascontiguousarray(floats_of(column.fill_null(0) if column.null_count else column)).view(np.uint64)


def _bytes_of(column: pa.Array) -> tuple[Integers, npt.NDArray[np.uint8]]:
    """Give where texts start and end in their bytes; null is as empty."""
    text = column.fill_null(b"") if column.null_count else column
    _, offset_buffer, data = text.buffers()
    offsets = np.frombuffer(offset_buffer or bytes(8), np.int64)[text.offset : text.offset + len(text) + 1]
    return offsets, np.frombuffer(data or b"", np.uint8)


def look(scan: Callable[[], Iterable[pa.RecordBatch]], most_bytes: int) -> tuple[bool, Index | None]:
    """Decide whether every key has one run only, and index the runs if so and if that takes few bytes.

    Ids that only rise need no other memory. Otherwise a second pass remembers 64 bits of each run; two keys
    with the same 64 bits make the answer False, which costs time and nothing else.
    """
    for has_one_run in (_rises, _never_repeats):
        runs: list[pa.RecordBatch] = []
        if has_one_run(_kept_if_few(_run_keys(scan()), most_bytes, runs)):
            return True, Index(join(runs)) if runs else None
    return False, None


def _kept_if_few(
    runs: Iterable[pa.RecordBatch], most_bytes: int, kept: list[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield what comes and keep all of it, or nothing where it is too much."""
    n_bytes = 0
    for keys in runs:
        n_bytes += keys.nbytes
        if n_bytes <= most_bytes:
            kept.append(keys)
        else:
            kept.clear()
        yield keys


def _run_keys(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the key and start of every run, once also where a run goes on over the border of two batches."""
    last = None
    n_before = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        rows = keys_of(batch)
        starts = run_starts(rows)
        keys = rows.take(pa.array(starts)).append_column("start", pa.array(starts + n_before))
        if last is not None and _same_key(last, _first_row(keys)):
            keys = keys.slice(1)
        last = _last_row(rows)
        n_before += batch.num_rows
        yield keys


def _same_key(one: pa.RecordBatch, other: pa.RecordBatch) -> bool:
    """Compare the keys of two single rows."""
    same: bool = keys_of(one).equals(keys_of(other))
    return same


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
    """Check that the hashes of all runs are different, looking again whenever their number doubled."""
    seen: Hashes = np.empty(0, np.uint64)
    fresh: list[Hashes] = []
    n_fresh = 0
    for keys in runs:
        fresh.append(key_hashes(keys))
        n_fresh += len(fresh[-1])
        if n_fresh > len(seen):
            seen, fresh, n_fresh = np.concatenate([seen, *fresh]), [], 0
            if _repeats(seen):
                return False
    return not _repeats(np.concatenate([seen, *fresh]))


def _repeats(hashes: Hashes) -> bool:
    hashes.sort()
    return bool(np.any(hashes[1:] == hashes[:-1]))


class Distinct:
    """Count different hashes, and those that came more than once, in memory for the different ones only."""

    def __init__(self) -> None:
        self._seen: Hashes = np.empty(0, np.uint64)
        self._again: Hashes = np.empty(0, np.uint64)
        self._fresh: list[Hashes] = []

    def add(self, hashes: Hashes) -> None:
        """Take more hashes."""
        self._fresh.append(hashes)
        if sum(map(len, self._fresh)) > len(self._seen):
            self._settle()

    def counts(self) -> tuple[int, int]:
        """Tell how many are different, and how many of these came more than once."""
        self._settle()
        return len(self._seen), len(self._again)

    def _settle(self) -> None:
        self._seen, times = np.unique(np.concatenate([self._seen, *self._fresh]), return_counts=True)
        self._again = np.union1d(self._again, self._seen[times > 1])
        self._fresh = []


def n_scattered(batches: Iterable[pa.RecordBatch]) -> int:
    """Count the keys that have more than one run."""
    runs = Distinct()
    for keys in _run_keys(batches):
        runs.add(key_hashes(keys))
    return runs.counts()[1]


def key_hashes(keys: pa.RecordBatch) -> Hashes:
    """Mix the key of each row into 64 bits, the same in every process."""
    hashes: Hashes = np.zeros(keys.num_rows, np.uint64)
    for column in keys_of(keys).columns:
        if pa.types.is_large_binary(column.type):
            _mix_texts(*_bytes_of(column), hashes)
        else:
            _mix(_words_of(column), hashes)
        if column.null_count:  # else an unknown user would share the bucket of user 0
            hashes ^= column.is_null().to_numpy(zero_copy_only=False).astype(np.uint64)
    return hashes


def gather(batches: Sequence[pa.RecordBatch]) -> Runs:
    """Bring the rows of each key together, keys in order of first appearance, rows in the order they had."""
    keys = join([keys_of(batch) for batch in batches])
    words = [_identities(column) for column in keys.columns]  # one or two
    order, starts = order_by_number(*_numbered(words[0], words[-1], key_hashes(keys)))
    firsts = pa.array(order[starts])
    return Runs(keys.take(firsts), starts, [join([values_of(batch) for batch in batches])], order)


def _numbered(words: Hashes, others: Hashes, hashes: Hashes) -> tuple[npt.NDArray[np.int32], int]:
    """Give keys of two words numbers by first appearance, and count them.

    The table is as large as the keys need, which are few beside the rows, so that it stays in the caches.
    """
    numbers = np.empty(len(words), np.int32)
    n_keys, size = -1, _FIRST_SIZE
    while n_keys < 0:
        table, keys = np.full(size, -1, np.int32), np.empty((size // 4, 2), np.uint64)
        n_keys = _number_keys(words, others, hashes, table, keys, numbers)
        size *= 8
    return numbers, n_keys


def _identities(column: pa.Array) -> Hashes:
    """Give each value 64 bits that it has alone."""
    if column.null_count or pa.types.is_large_binary(column.type):
        indices = column.dictionary_encode(null_encoding="encode").indices
        return floats_of(indices).astype(np.uint64)
    return _words_of(column)


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
            whole, held = held.divided()
            yield whole
    if held is not None:
        yield held
    elif empty is not None:
        yield empty


def _first_row(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.slice(0, 1)


def _last_row(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.slice(batch.num_rows - 1)


def assemble(runs: Runs, crs: Crs, gap_minutes: float | None = None, zone: str = "UTC") -> Trajectories:
    """Make trajectories of runs whose keys are all different, in order of time and cut at longer gaps.

    Where they are cut, all rows have a time, and it is a timestamp.
    """
    keys, starts, order = runs.keys, runs.starts, runs.order
    times, moments = runs.column("t"), runs.column("moment")
    if times is not None:
        places = _in_time(times, starts, runs.column("order"))
        if places is not None:
            times, moments = times[places], None if moments is None else moments[places]
            order = places if order is None else order[places]
        if gap_minutes is not None:
            starts, keys = _cut_at_gaps(times, starts, keys, gap_minutes)
    users = ids_of(keys["user_id"]) if "user_id" in keys.schema.names else None
    offsets = np.append(starts, runs.n_rows)
    ids, points = ids_of(keys["traj_id"]), _points(runs.batches, order)
    return Trajectories(points, offsets, times, users, ids, crs, gap_minutes, zone, moments=moments)


def _points(batches: Sequence[pa.RecordBatch], order: Integers | None) -> Floats:
    """Lay x and y side by side, in an order or end to end."""
    columns = [(floats_of(batch["x"]), floats_of(batch["y"])) for batch in batches]
    if order is not None:
        points = np.empty((len(order), 2))  # (n_points, 2)
        x, y = columns[0] if len(columns) == 1 else map(np.concatenate, zip(*columns, strict=True))
        _pair_in_order(x, y, order, points)
        return points
    points = np.empty((sum(len(x) for x, _ in columns), 2))
    at = 0
    for x, y in columns:
        _pair(x, y, points[at : at + len(x)])
        at += len(x)
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


def _in_time(times: Array, starts: Integers, order: Floats | None) -> Integers | None:
    """Order the points of trajectories by time, missing ones last, on a tie by `order`, else as in the file.

    If that is how they stand, None.
    """
    bounds = np.append(starts, len(times))
    # As they are, without a copy, what is missing has the lowest ticks: one below zero, they wrap around.
    is_calendar = times.dtype.kind == "M"
    zero = np.uint64(_LAST if is_calendar else _LAST + 1)
    rises = _rise((times if is_calendar else _ranks(times)).view(np.uint64), zero, bounds)
    if rises and (order is None or not np.isnan(times).any()):
        return None
    ranks = _ranks(times)
    places = np.arange(len(times))
    for keys in (ranks,) if order is None else (_ranks(order), ranks):  # stable: the last one counts most
        _sort_runs(keys, bounds, places)
    return places


#: The highest rank: that of what is missing.
_LAST = np.iinfo(np.int64).max


def _ranks(values: Array) -> Integers:
    """Give integers in the order of values, NaN and NaT last."""
    if values.dtype.kind == "M":
        ticks: Integers = values.view(np.int64) - 1  # NaT is the lowest, and wraps around
        return ticks
    bits = (values + 0.0).view(np.int64)  # adding zero turns -0 into 0
    # Floats are in the order of their bits; among negative ones, those but the sign are to be turned around.
    return np.where(np.isnan(values), _LAST, bits ^ ((bits >> 63) & _LAST))


@compiled
def _pair(x, y, points):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        points[i, 0] = x[i]
        points[i, 1] = y[i]


@compiled
def _pair_in_order(x, y, order, points):  # type: ignore[no-untyped-def]
    for i in range(len(order)):
        points[i, 0] = x[order[i]]
        points[i, 1] = y[order[i]]


@compiled
def _mark_texts(offsets, data, changed):  # type: ignore[no-untyped-def]
    for i in range(1, len(offsets) - 1):
        before, start, stop = offsets[i - 1], offsets[i], offsets[i + 1]
        if stop - start != start - before:
            changed[i] = True
            continue
        for j in range(stop - start):
            if data[before + j] != data[start + j]:
                changed[i] = True
                break


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
def _number_keys(words, others, hashes, table, keys, numbers):  # type: ignore[no-untyped-def]
    """Give keys numbers by first appearance: a b a gives 0, 1, 0; returns their count, or -1 if too many.

    Hashes say where in the table to look; it is the words that are compared, so this is exact.
    """
    mask = len(table) - 1
    n_keys = 0
    for row in range(len(words)):
        # Not by the low bits, which chose the bucket and are alike in all its rows.
        place = np.int64(hashes[row] >> np.uint64(32)) & mask
        number = table[place]
        while number >= 0 and (keys[number, 0] != words[row] or keys[number, 1] != others[row]):
            place = (place + 1) & mask
            number = table[place]
        if number < 0:
            if n_keys == len(keys):
                return -1
            number = n_keys
            table[place] = number
            keys[number, 0] = words[row]
            keys[number, 1] = others[row]
            n_keys += 1
        numbers[row] = number
    return n_keys


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
def _rise(ranks, zero, bounds):  # type: ignore[no-untyped-def]
    """Tell whether no rank falls within a run; ranks are counted from a zero, and wrap around."""
    for run in range(len(bounds) - 1):
        falls = False
        for i in range(bounds[run] + 1, bounds[run + 1]):
            falls |= ranks[i] + zero < ranks[i - 1] + zero
        if falls:
            return False
    return True


@compiled
def _sort_runs(ranks, bounds, places):  # type: ignore[no-untyped-def]
    """Sort the places of each run by their ranks, ties as they stand."""
    longest = 0
    for run in range(len(bounds) - 1):
        longest = max(longest, bounds[run + 1] - bounds[run])
    scratch, keys = np.empty(max(longest, _SHORT), np.int64), np.empty(_SHORT, np.int64)
    for run in range(len(bounds) - 1):
        start, stop = bounds[run], bounds[run + 1]
        for low in range(start, stop, _SHORT):
            _sort_stretch(ranks, places[low : min(low + _SHORT, stop)], keys, scratch)
        width = _SHORT
        while width < stop - start:  # and two sorted neighbors become one
            for low in range(start, stop - width, 2 * width):
                _merge(ranks, places, low, low + width, min(low + 2 * width, stop), scratch)
            width *= 2


@compiled
def _sort_stretch(ranks, places, keys, scratch):  # type: ignore[no-untyped-def]
    """Sort a few places by counting for each what comes before it: quick, as nothing depends on the outcome."""
    n_places = len(places)
    for i in range(n_places):
        scratch[i] = places[i]
        keys[i] = ranks[places[i]]
    for i in range(n_places):
        key, n_before = keys[i], 0
        for j in range(n_places):
            n_before += keys[j] < key
        for j in range(i):
            n_before += keys[j] == key
        places[n_before] = scratch[i]


@compiled
def _merge(ranks, places, low, middle, high, scratch):  # type: ignore[no-untyped-def]
    if ranks[places[middle - 1]] <= ranks[places[middle]]:
        return
    n_left = middle - low
    for i in range(n_left):
        scratch[i] = places[low + i]
    left, right, to = 0, middle, low
    while left < n_left and right < high:
        if ranks[places[right]] < ranks[scratch[left]]:
            places[to] = places[right]
            right += 1
        else:
            places[to] = scratch[left]
            left += 1
        to += 1
    while left < n_left:
        places[to] = scratch[left]
        left += 1
        to += 1
