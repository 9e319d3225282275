"""Turn rows into trajectories: which rows belong together, and in what order.

Rows of a batch with one key next to each other are a *run*. Where every key has one run only, a file can be
streamed as it stands; otherwise `gather` brings the rows of a key together first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from privtrace.io.rows import floats_of, ids_of, join, keys_of, text_of
from privtrace.trajectories import Array, Crs, Floats, Integers, Trajectories, gaps_over

Hashes = npt.NDArray[np.uint64]

#: Runs up to this are sorted by insertion.
_SHORT = 16
#: Of a table of keys: a power of two.
_FIRST_SIZE = 1 << 12


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


def _last_start(rows: pa.RecordBatch) -> int:
    """Find where the last run starts, from the end on: most runs are short."""
    n_looked_at = 256
    while True:
        before: int = max(rows.num_rows - n_looked_at, 0)
        start = int(run_starts(rows.slice(before))[-1])
        if start > 0 or before == 0:
            return before + start
        n_looked_at *= 4


def is_contiguous(scan: Callable[[], Iterable[pa.RecordBatch]]) -> bool:
    """Decide whether every key has one run only.

    Ids that only rise need no memory. Otherwise a second pass remembers 64 bits of each run; two keys with
    the same 64 bits make the answer False, which costs time and nothing else.
    """
    return _rises(_run_keys(scan())) or _never_repeats(_run_keys(scan()))


def _run_keys(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the key of every run, once also where a run goes on over the border of two batches."""
    last = None
    for batch in batches:
        if batch.num_rows == 0:
            continue
        rows = keys_of(batch)
        keys = rows.take(pa.array(run_starts(rows)))
        if last is not None and _same_key(last, _first_row(keys)):
            keys = keys.slice(1)
        last = _last_row(rows)
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


def gather(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Bring the rows of each key together, keys in order of first appearance, rows in the order they had."""
    keys = join([keys_of(batch) for batch in batches])
    words = [_identities(column) for column in keys.columns]  # one or two
    order = pa.array(_order_by_key(words[0], words[-1], key_hashes(keys)))
    schema = batches[0].schema
    # One column after the other: whole rows would be in memory twice.
    columns = [pa.concat_arrays([batch[name] for batch in batches]).take(order) for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _identities(column: pa.Array) -> Hashes:
    """Give each value 64 bits that it has alone."""
    if column.null_count or pa.types.is_large_binary(column.type):
        indices = column.dictionary_encode(null_encoding="encode").indices
        return floats_of(indices).astype(np.uint64)
    return _words_of(column)


def cut(batches: Iterable[pa.RecordBatch], at_least: int) -> Iterator[pa.RecordBatch]:
    """Recut contiguous batches so that each holds whole trajectories, and at least so many rows but the last.

    If all is empty, so is the one batch that comes out: no trajectories, but columns of the right types.
    """
    empty = None
    held: list[pa.RecordBatch] = []
    for batch in batches:
        if batch.num_rows == 0:
            empty = batch
            continue
        n_held = sum(some.num_rows for some in held)
        border = _last_start(batch)  # the last trajectory may go on in the next batch
        goes_on = border == 0 and (not held or _same_key(_last_row(held[-1]), _first_row(batch)))
        if goes_on or n_held + border < at_least:
            held.append(batch)
            continue
        yield join([*held, batch.slice(0, border)])
        held = [batch.slice(border)]
    if held:
        yield join(held)
    elif empty is not None:
        yield empty


def _first_row(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.slice(0, 1)


def _last_row(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.slice(batch.num_rows - 1)


def assemble(
    rows: pa.RecordBatch, crs: Crs, gap_minutes: float | None = None, zone: str = "UTC"
) -> Trajectories:
    """Make trajectories of rows whose keys have one run each, in order of time and cut at longer gaps.

    Where they are cut, all rows have a time, and it is a timestamp.
    """
    starts = run_starts(rows)
    points = np.empty((rows.num_rows, 2))  # (n_points, 2)
    points[:, 0] = floats_of(rows["x"])
    points[:, 1] = floats_of(rows["y"])
    keys = keys_of(rows).take(pa.array(starts))
    times = floats_of(rows["t"]) if "t" in rows.schema.names else None
    moments = floats_of(rows["moment"]) if "moment" in rows.schema.names else None
    if times is not None:
        order = floats_of(rows["order"]) if "order" in rows.schema.names else None
        places = _in_time(times, starts, order)
        points, times = points[places], times[places]
        moments = None if moments is None else moments[places]
        if gap_minutes is not None:
            starts, keys = _cut_at_gaps(times, starts, keys, gap_minutes)
    users = ids_of(keys["user_id"]) if "user_id" in keys.schema.names else None
    offsets = np.append(starts, rows.num_rows)
    ids = ids_of(keys["traj_id"])
    return Trajectories(points, offsets, times, users, ids, crs, gap_minutes, zone, moments=moments)


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


def _in_time(times: Array, starts: Integers, order: Floats | None) -> Integers | slice:
    """Order the points of trajectories by time, missing ones last, on a tie by `order`, else as in the file."""
    bounds = np.append(starts, len(times))
    ranks = _ranks(times)
    if _rise(ranks, bounds) and (order is None or not (ranks == _LAST).any()):
        return slice(None)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
def _mixed(bits):  # type: ignore[no-untyped-def]
    """Spread 64 bits over 64 bits, one to one (the finalizer of SplitMix64)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@njit(cache=True, nogil=True)
def _mix(words, hashes):  # type: ignore[no-untyped-def]
    for i in range(len(words)):
        hashes[i] = _mixed(hashes[i] + words[i])


@njit(cache=True, nogil=True)
def _mix_texts(offsets, data, hashes):  # type: ignore[no-untyped-def]
    """Mix texts in, each as a polynomial in its bytes modulo 2**64."""
    for i in range(len(hashes)):
        power = np.uint64(1)
        polynomial = np.uint64(0)
        for j in range(offsets[i], offsets[i + 1]):
            power *= np.uint64(0x100000001B3)
            polynomial += (np.uint64(data[j]) + np.uint64(1)) * power
        hashes[i] = _mixed(hashes[i] + polynomial)


@njit(cache=True, nogil=True)
def _order_by_key(words, others, hashes):  # type: ignore[no-untyped-def]
    """Order rows by the first appearance of their key, rows of one as they stand: a b a gives 0, 2, 1.

    Hashes say where in a table to look; it is the words that are compared, so this is exact. The table grows
    with the keys, which are few beside the rows, so that it stays in the caches.
    """
    n_rows = len(hashes)
    numbers = np.empty(n_rows, np.int32)
    size = _FIRST_SIZE
    table = np.full(size, -1, np.int32)  # numbers of keys
    keys = np.empty((size // 4, 3), np.uint64)  # the words of each and its hash
    counts = np.zeros(n_rows + 1, np.int64)
    n_keys = 0
    for row in range(n_rows):
        place = _place(hashes[row], size)
        number = table[place]
        while number >= 0 and (keys[number, 0] != words[row] or keys[number, 1] != others[row]):
            place = (place + 1) & (size - 1)
            number = table[place]
        if number < 0:
            number = n_keys
            table[place] = number
            keys[number] = words[row], others[row], hashes[row]
            n_keys += 1
            if 4 * n_keys == size:
                size *= 4
                keys = np.concatenate((keys, np.empty((size // 4 - n_keys, 3), np.uint64)))
                table = np.full(size, -1, np.int32)
                for known in range(n_keys):
                    place = _place(keys[known, 2], size)
                    while table[place] >= 0:
                        place = (place + 1) & (size - 1)
                    table[place] = known
        numbers[row] = number
        counts[number + 1] += 1
    for number in range(n_keys):
        counts[number + 1] += counts[number]
    order = np.empty(n_rows, np.int64)
    for row in range(n_rows):
        order[counts[numbers[row]]] = row
        counts[numbers[row]] += 1
    return order


@njit(cache=True, nogil=True)
def _place(hashed, size):  # type: ignore[no-untyped-def]
    """Find where to look first; not by the low bits, which chose the bucket and are alike in all its rows."""
    return np.int64(hashed >> np.uint64(32)) & (size - 1)


@njit(cache=True, nogil=True)
def _rise(ranks, bounds):  # type: ignore[no-untyped-def]
    """Tell whether no rank falls within a run."""
    for run in range(len(bounds) - 1):
        for i in range(bounds[run] + 1, bounds[run + 1]):
            if ranks[i] < ranks[i - 1]:
                return False
    return True


@njit(cache=True, nogil=True)
def _sort_runs(ranks, bounds, places):  # type: ignore[no-untyped-def]
    """Sort the places of each run by their ranks, ties as they stand."""
    longest = 0
    for run in range(len(bounds) - 1):
        longest = max(longest, bounds[run + 1] - bounds[run])
    scratch = np.empty(longest, np.int64)
    for run in range(len(bounds) - 1):
        start, stop = bounds[run], bounds[run + 1]
        for low in range(start, stop, _SHORT):  # short stretches by insertion
            high = min(low + _SHORT, stop)
            for i in range(low + 1, high):
                place = places[i]
                rank = ranks[place]
                j = i
                while j > low and ranks[places[j - 1]] > rank:
                    places[j] = places[j - 1]
                    j -= 1
                places[j] = place
        width = _SHORT
        while width < stop - start:  # and two sorted neighbors become one
            for low in range(start, stop - width, 2 * width):
                _merge(ranks, places, low, low + width, min(low + 2 * width, stop), scratch)
            width *= 2


@njit(cache=True, nogil=True)
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
