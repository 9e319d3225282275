"""Bring the rows of any format into one form, which everything after the readers relies on.

A batch of rows is an arrow `RecordBatch` with the columns

    traj_id     int64, uint64, float64 or large_binary, never null: such rows belong to no trajectory
    user_id     the same types, null where unknown; only if the file has users
    x, y        float64, NaN where missing or unreadable
    t           a timestamp, or float64 where times set the order alone; null where missing or unreadable; only
                if the file has times
    number      float64: sets the order of rows whose time is null, null where nothing does; only where calendar
                times are wanted of a column that may hold numbers of no unit
    order       float64: sets the order of rows that tie in both, or have neither; null or NaN where missing;
                only if a table has a column for it
    row         float64: sets the order of rows that tie in all this, null where x and y do; only in folders
    moment      whether t, float64 then, is that of a date in text; only where `for_order` made it

and, until `usable` has noted the faults of a batch, `unread`: whether the time is there and cannot be read.

Text is held as bytes: whether they are valid UTF-8 is a fact about a row, and no row may stop a reader.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from hashlib import sha256

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.parsing.clock import Clock, Read, in_seconds
from privtrace.rows.faults import Faults, Place
from privtrace.trajectories import Array, Crs, Flags

KEYS = ("traj_id", "user_id")

_BYTES = ("binary", "large_binary", "binary_view", "fixed_size_binary")
_TEXT = tuple(getattr(pa.types, f"is_{form}") for form in ("string", "large_string", "string_view", *_BYTES))

#: Bytes of an id or user that are kept as they are.
LONGEST_ID = 1000


def rows(
    trajectory: pa.Array | None,
    user: pa.Array | None,
    x: pa.Array | None = None,
    y: pa.Array | None = None,
    time: Read | None = None,
    order: pa.Array | None = None,
) -> pa.RecordBatch:
    """Make a batch of columns that are ready; rows without a trajectory are still there, for `usable`."""
    columns = {"traj_id": trajectory, "user_id": user, "x": x, "y": y, "order": order}
    if time is not None:
        columns |= {"t": time.values, "number": time.number, "unread": pa.array(time.unread)}
    return pa.RecordBatch.from_pydict({name: column for name, column in columns.items() if column is not None})


def usable(
    batch: pa.RecordBatch, crs: Crs, faults: Faults | None, place: Place, *, may_lack_times: bool = False
) -> pa.RecordBatch:
    """Leave out rows that belong to no trajectory; note faults, where wanted also those of values that stay.

    Where nothing promised times, it is no fault that a row has none, unless logs are cut.
    """
    if faults is not None:
        faults.add("no trajectory id", np.flatnonzero(_nulls(batch["traj_id"])), place)
        if faults.locating:
            for reason, wrong in _wrong_values(batch, crs):
                faults.add(reason, np.flatnonzero(wrong), place)
        has_times = "t" in batch.schema.names
        unread = floats_of(batch["unread"]) if has_times else np.zeros(batch.num_rows, np.bool_)
        no_time = _nulls(batch["t"]) & ~unread if has_times else ~unread
        faults.n_times += len(unread) - int(no_time.sum())
        faults.n_unread += int(unread.sum())
        # A row is dropped for one reason; all that is wrong with it is listed.
        among = True if faults.locating else ~_nulls(batch["traj_id"])
        if faults.need_times or (faults.locating and has_times and not may_lack_times):
            faults.add("time is missing", np.flatnonzero(no_time & among), place)
        if faults.need_times or faults.locating:
            faults.add("time cannot be read", np.flatnonzero(unread & among), place)
        if "order" in batch.schema.names and not has_times:  # else it decides on a tie alone
            no_order = _nulls(batch["order"])
            faults.n_unordered += int((no_order & ~_nulls(batch["traj_id"])).sum())
            if faults.locating:
                faults.add("order is missing or not a number", np.flatnonzero(no_order), place)
    if "unread" in batch.schema.names:
        batch = batch.drop_columns(["unread"])
    return batch.filter(batch["traj_id"].is_valid()) if batch["traj_id"].null_count else batch


def for_order(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Give calendar times, and numbers beside them, as the numbers that set the order: dates in seconds."""
    times, number = batch["t"], pa.nulls(batch.num_rows, pa.float64())
    if "number" in batch.schema.names:
        number = batch["number"]
        batch = batch.drop_columns(["number"])
    is_date = times.is_valid() if pa.types.is_timestamp(times.type) else pc.and_(times.is_valid(), False)
    values = pc.coalesce(in_seconds(times), number)
    return batch.set_column(batch.schema.get_field_index("t"), "t", values).append_column("moment", is_date)


def _wrong_values(batch: pa.RecordBatch, crs: Crs) -> Iterator[tuple[str, Flags]]:
    """Tell for each reason which rows have that fault."""
    if "x" in batch.schema.names:
        words = ("longitude", "latitude") if crs == "lonlat" else ("x", "y")
        x, y = floats_of(batch["x"]), floats_of(batch["y"])
        for word, values in zip(words, (x, y), strict=True):
            yield f"{word} is missing or not a number", ~np.isfinite(values)
        if crs == "lonlat":
            yield "longitude is beyond 180 degrees", np.isfinite(x) & (np.abs(x) > 180)
            yield "latitude is beyond 90 degrees", np.isfinite(y) & (np.abs(y) > 90)
            yield "the point is (0, 0), which receivers report without a fix", (x == 0) & (y == 0)


def _nulls(column: pa.Array) -> Flags:
    if not column.null_count and not pa.types.is_floating(column.type):
        return np.zeros(len(column), np.bool_)
    return floats_of(column.is_null(nan_is_null=True))


def ids(column: pa.Array) -> pa.Array:
    """Bring ids of any accepted type into one of four, empty text and NaN as null, long text shortened."""
    column = decoded(column)
    if pa.types.is_uint64(column.type):
        return column
    if pa.types.is_floating(column.type):
        # Tables made with pandas hold integers with gaps as floats. Adding zero turns -0 into 0.
        values = pc.add(column.cast(pa.float64()), 0.0)
        return pc.if_else(pc.is_nan(values), None, values)
    if is_text(column.type):
        text = _shortened(column.cast(pa.large_binary()))
        empty = pc.equal(pc.binary_length(text), 0)
        return pc.if_else(empty, None, text) if empty.true_count else text
    return column.cast(pa.int64())


def _shortened(text: pa.Array) -> pa.Array:
    """Let a digest stand for the end of very long ids; one byte longer than all others, they equal none.

    An id is repeated at each point, so that one row with a long id and many points could fill the memory.
    """
    long = pc.greater(pc.binary_length(text), LONGEST_ID)
    if not pc.any(long).as_py():
        return text
    written = [value[: LONGEST_ID - 31] + sha256(value).digest() for value in text.filter(long).to_pylist()]
    return pc.replace_with_mask(text, long, pa.array(written, pa.large_binary()))


def numbers(column: pa.Array) -> pa.Array:
    """Bring numbers of any type to float64; what a float cannot hold exactly is rounded, not refused."""
    return decoded(column).cast(pa.float64(), safe=False)


def times(column: pa.Array, clock: Clock) -> Read:
    """Read times: those of a type that is calendar time as they are, others as the clock says."""
    column = decoded(column)
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        unit = {pa.date32(): "s", pa.date64(): "ms"}.get(kind)
        return clock.timestamps(column.cast(pa.timestamp(unit)) if unit else column)
    is_written = is_text(kind) or pa.types.is_null(kind)  # of null, no value says what it would be
    return clock.text(column.cast(pa.large_binary())) if is_written else clock.numbers(column)


def is_text(kind: pa.DataType) -> bool:
    """Tell whether values are runs of bytes, valid text or not."""
    return any(is_one(kind) for is_one in _TEXT)


def decoded(column: pa.Array) -> pa.Array:
    """Write the values of a dictionary out."""
    return column.dictionary_decode() if pa.types.is_dictionary(column.type) else column


def with_times(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Leave out rows without a time: where logs are cut, no piece could claim them."""
    return batch.filter(batch["t"].is_valid()) if batch["t"].null_count else batch


def join(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Put batches of one schema end to end."""
    if len(batches) == 1:
        return batches[0]
    schema = batches[0].schema
    columns = [pa.concat_arrays([batch.column(i) for batch in batches]) for i in range(len(schema))]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def keys_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Keep the columns that say which trajectory a row belongs to."""
    return batch.select([name for name in KEYS if name in batch.schema.names])


def values_of(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Keep the columns that differ from point to point."""
    return batch.select([name for name in batch.schema.names if name not in (*KEYS, "unread")])


def floats_of(column: pa.Array) -> Array:
    """Take numbers or timestamps out of arrow, null as NaN or NaT."""
    values: Array = column.to_numpy(zero_copy_only=False)
    return values


def ids_of(column: pa.Array) -> Array:
    """Take ids out of arrow: int64, uint64, float64 or text; see `missing_user` for unknown users."""
    if pa.types.is_large_binary(column.type):
        return np.array(_texts(column), dtype=np.dtypes.StringDType())
    if pa.types.is_floating(column.type):
        return floats_of(column)
    return floats_of(column.fill_null(missing_user(column.type.to_pandas_dtype())))


def text_of(column: pa.Array) -> pa.Array:
    """Write ids as text, different ones differently."""
    return column if pa.types.is_large_binary(column.type) else column.cast(pa.string()).cast(pa.large_binary())


def missing_user(kind: type[np.integer]) -> int:
    """Name the integer that stands for an unknown user; for text it is '', for floats NaN.

    The type of users may not depend on whether one is missing, so a value at the edge has to do.
    """
    limits = np.iinfo(kind)
    return int(limits.min) if limits.min < 0 else int(limits.max)


#: Starts the written form of ids that are not text, and of those which start with it themselves.
_ESCAPE = "\ufffd"


def escaped(value: bytes) -> str:
    """Write any bytes as letters and digits, different ones differently."""
    return _ESCAPE + value.hex()


def on_one_line(ids: pa.Array) -> pa.Array:
    """Write ids with a line break otherwise, where a line is a row."""
    broken = pc.match_substring_regex(ids, "[\r\n]")
    if not pc.any(broken).as_py():
        return ids
    written = [escaped(value.encode()) for value in ids.filter(broken).to_pylist()]
    return pc.replace_with_mask(ids, broken, pa.array(written, ids.type))


def _texts(column: pa.Array) -> list[str]:
    """Decode bytes, null as ''; different bytes always give different text, or two users would be one."""
    values = column.fill_null(b"")
    with suppress(pa.ArrowInvalid):
        text = values.cast(pa.large_string())
        if not pc.any(pc.starts_with(text, _ESCAPE)).as_py():
            decoded: list[str] = text.to_pylist()
            return decoded
    read = [(value, value.decode(errors="replace")) for value in values.to_pylist()]
    return [text if text.encode() == value and text[:1] != _ESCAPE else escaped(value) for value, text in read]
