"""Print trajectories as text, one a line or a file, for the writers, without a loop over points."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.errors import OutputError
from privtrace.io.long_table import arrow_users
from privtrace.io.rows import on_one_line
from privtrace.trajectories import Array, Floats, Integers, Trajectories

#: Seconds since 1970 of the first and the last second that a calendar with years of four digits has.
_CALENDAR = (-62_135_596_800, 253_402_300_799)


def named(parts: Iterable[Trajectories]) -> Iterator[Trajectories]:
    """Recut parts to moderate size, without trajectories that have no points; each gets an id.

    Where there are none yet, ids are the places among all trajectories, counted from 0.
    """
    n_before = 0
    for part in parts:
        for piece in replace(part, ids=part.ids_from(n_before)).parts():
            yield piece.take(np.flatnonzero(np.diff(piece.offsets)))
        n_before += len(part)


def lonlat_only(part: Trajectories, format_name: str) -> None:
    """Refuse planar points in a format whose readers take all points for longitude and latitude."""
    if part.crs != "lonlat":
        raise OutputError(
            f"{format_name} holds longitude and latitude in degrees, and these points are planar; "
            "write another format"
        )


def labels(values: Array) -> pa.Array:
    """Print ids or users as text on one line; those that are unknown are null."""
    return on_one_line(arrow_users(values).cast(pa.large_string()))


def shortest(values: Floats, unknown: str) -> pa.Array:
    """Print numbers with as few digits as read back to the same number."""
    return pa.array(values, mask=~np.isfinite(values)).cast(pa.large_string()).fill_null(unknown)


def chained(*pieces: pa.Array | str) -> pa.Array:
    """Put texts end to end, row by row: chained("#", ["1", "2"], ":") gives "#1:", "#2:"."""
    texts = [pa.scalar(piece, pa.large_string()) if isinstance(piece, str) else piece for piece in pieces]
    return pc.binary_join_element_wise(*texts, pa.scalar("", pa.large_string()))


def joined(texts: pa.Array, offsets: Integers, separator: str) -> pa.Array:
    """Join the texts of the points of each trajectory into one."""
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), texts)
    return pc.binary_join(lists, pa.scalar(separator, pa.large_string()))


def content(texts: pa.Array) -> memoryview:
    """Give all texts end to end, as they lie in memory."""
    if len(texts) == 0:
        return memoryview(b"")
    offsets = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return memoryview(texts.buffers()[2])[offsets[0] : offsets[-1]]


def whole_seconds(times: Array) -> pa.Array:
    """Turn times into whole seconds since 1970, rounded down; unknown ones and other ages are null."""
    if times.dtype.kind == "M":
        seconds = times.astype("datetime64[s]").astype(np.int64)
    else:
        seconds = np.floor(times.astype(np.float64))
    known = (seconds >= _CALENDAR[0]) & (seconds <= _CALENDAR[1])
    return pa.array(np.where(known, seconds, 0).astype(np.int64), mask=~known)


def are_whole(times: Array) -> bool:
    """Tell whether `whole_seconds` loses nothing but times that are unknown or of other ages."""
    seconds = whole_seconds(times)
    known = seconds.is_valid().to_numpy(zero_copy_only=False)
    whole = seconds.drop_null().to_numpy()
    return bool(np.all(times[known] == (whole.astype("datetime64[s]") if times.dtype.kind == "M" else whole)))
