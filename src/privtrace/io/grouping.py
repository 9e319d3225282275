"""Turn rows into trajectories: which rows belong together, and in what order.

Rows of a batch with one key next to each other are a *run*. Where every key has one run only, a file can be
streamed as it stands; otherwise `gather` brings the rows of a key together first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.io.rows import floats_of, ids_of, join, keys_of, text_of
from privtrace.spelling import numbered
from privtrace.trajectories import Array, Crs, Floats, Integers, Trajectories, gaps_over

Hashes = npt.NDArray[np.uint64]


def run_starts(rows: pa.RecordBatch) -> Integers:
    """Find the rows whose key differs from the one before: keys a a b a give 0, 2, 3."""
    if rows.num_rows == 0:
        return np.empty(0, np.int64)
    changed = np.zeros(rows.num_rows, dtype=bool)
    changed[0] = True
    for column in keys_of(rows).columns:
        before, after = column[:-1], column[1:]
        differ = pc.fill_null(pc.not_equal(before, after), False)
        if column.null_count:  # an unknown user is one more user
            differ = pc.or_(differ, pc.xor(before.is_null(), after.is_null()))
        changed[1:] |= differ.to_numpy(zero_copy_only=False)
    return np.flatnonzero(changed)


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
    return len(run_starts(join([keys_of(one), keys_of(other)]))) == 1


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
        hashes = _mixed(hashes + _bits(column))
        if column.null_count:  # else an unknown user would share the bucket of user 0
            hashes ^= column.is_null().to_numpy(zero_copy_only=False).astype(np.uint64)
    return hashes


def _mixed(bits: Hashes) -> Hashes:
    """Spread 64 bits over 64 bits, one to one (the finalizer of SplitMix64)."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def _bits(column: pa.Array) -> Hashes:
    """Turn ids into 64 bits each: numbers as they are, text as a polynomial in its bytes modulo 2**64."""
    if not pa.types.is_large_binary(column.type):
        return np.ascontiguousarray(floats_of(column.fill_null(0))).view(np.uint64)
    text = column.fill_null(b"")
    _, offset_buffer, data = text.buffers()
    offsets = np.frombuffer(offset_buffer, np.int64)[text.offset : text.offset + len(text) + 1]
    lengths = np.diff(offsets)
    values = np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]].astype(np.uint64)
    offsets = offsets - offsets[0]
    places = np.arange(len(values)) - np.repeat(offsets[:-1], lengths)
    powers = np.cumprod(np.full(lengths.max(initial=0), 0x100000001B3, np.uint64))
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum((values + np.uint64(1)) * powers[places])])
    polynomials: Hashes = sums[offsets[1:]] - sums[offsets[:-1]]
    return polynomials


def gather(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Bring the rows of each key together, keys in order of first appearance, rows in the order they had."""
    starts = run_starts(rows)
    keys = keys_of(rows).take(pa.array(starts))
    numbers = numbered(*keys.columns)  # (n_runs,)
    order = np.argsort(np.repeat(numbers, _lengths(starts, rows.num_rows)), kind="stable")
    return rows.take(pa.array(order))


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
        border = int(run_starts(batch)[-1])  # the last trajectory may go on in the next batch
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
    in_order = times[1:] >= times[:-1]  # False beside a missing time, which is then looked at below
    in_order[starts[1:] - 1] = True
    if in_order.all():
        return slice(None)
    trajectories = np.repeat(np.arange(len(starts)), _lengths(starts, len(times)))
    by = (times, trajectories) if order is None else (order, times, trajectories)
    return np.lexsort(by)  # stable, NaN and NaT last


def _lengths(starts: Integers, n_rows: int) -> Integers:
    return np.diff(starts, append=n_rows)
