"""Hand trajectories to arrow, and print them as text there, for the writers, without a loop over points."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.calendar import UNITS, Zone
from privtrace.errors import DataError
from privtrace.parsing.clock import epochs
from privtrace.parsing.dates import UTC
from privtrace.rows import floats_of, missing_user, on_one_line
from privtrace.trajectories import Array, Flags, Floats, Integers, Trajectories

#: Seconds since 1970 of the first and the last second that a calendar with years of four digits has.
_CALENDAR = (-62_135_596_800, 253_402_300_799)


def named(parts: Iterable[Trajectories]) -> Iterator[Trajectories]:
    """Recut parts to moderate size, without trajectories that have no points; each gets an id.

    Where there are none yet, ids are the places among all trajectories, counted from 0.
    """
    n_before = 0
    for part in parts:
        for piece in replace(part, ids=part.ids_from(n_before)).cut():
            yield only(piece, np.ones(piece.n_points, np.bool_))
        n_before += len(part)


def arrow_times(times: Array, zone: str | None = None) -> pa.Array:
    """Hand times to arrow, which knows four units of datetime64; NaN and NaT become null.

    Calendar times get a zone that is given as part of their type: they are moments, whoever reads them.
    """
    if times.dtype.kind == "M" and np.datetime_data(times.dtype)[0] not in UNITS:
        times = times.astype("datetime64[s]")
    made = pa.array(times, from_pandas=True)
    has_zone = zone is not None and pa.types.is_timestamp(made.type)
    return made.view(pa.timestamp(made.type.unit, zone)) if has_zone else made


def arrow_users(users: Array) -> pa.Array:
    """Hand users to arrow, unknown ones as null; the reverse of `rows.ids_of`."""
    ids = arrow_ids(users)
    if not pa.types.is_integer(ids.type):
        return ids
    unknown = pa.scalar(missing_user(ids.type.to_pandas_dtype()), ids.type)
    return pc.if_else(pc.equal(ids, unknown), pa.scalar(None, ids.type), ids)


def arrow_ids(ids: Array) -> pa.Array:
    """Hand ids to arrow as int64, uint64, float64 or text."""
    if ids.dtype.kind in "iu":
        # Widened: the edge of a small type, such as 255, is an id like any other.
        return pa.array(ids if ids.dtype == np.uint64 else ids.astype(np.int64))
    if ids.dtype.kind == "f":
        return pa.array(ids, from_pandas=True)
    return pa.array([None if value in (None, "") else str(value) for value in ids.tolist()], pa.string())


def labels(values: Array) -> pa.Array:
    """Print ids or users as text on one line; those that are unknown are null."""
    return on_one_line(arrow_users(values).cast(pa.large_string()))


def rounded(part: Trajectories) -> Trajectories:
    """Round points as text has them: to six decimals of degrees (11 cm), and to two of planar units.

    Of planar units nobody knows how long they are, so numbers below ten keep four digits.
    """
    if part.crs != "planar":
        return replace(part, points=np.round(part.points, 6 if part.crs == "lonlat" else 2))
    points = np.round(part.points, 2)
    small = np.abs(part.points) < 10
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = 10.0 ** (3 - np.floor(np.log10(np.abs(part.points[small]))))
        kept = np.rint(part.points[small] * powers) / powers
    points[small] = np.where(np.isfinite(kept), kept, part.points[small])
    return replace(part, points=points)


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


def peeked(parts: Iterable[Trajectories]) -> tuple[Trajectories, Iterator[Trajectories]]:
    """Look at the first part, which says what holds for all, and give all parts back."""
    parts = iter(parts)
    first = next(parts, Trajectories.concatenate([]))
    return first, chain([first], parts)


def drawable(parts: Iterable[Trajectories]) -> Iterator[Trajectories]:
    """Name parts as `named` does, without points that are not numbers, which no geometry can hold."""
    first, parts = peeked(parts)
    for part in named(parts):
        if part.crs != first.crs:
            raise DataError(
                "parts do not fit together: some are longitude and latitude, some planar; give one kind"
            )
        yield only(part, finite(part))


def finite(part: Trajectories) -> Flags:
    """Tell which points are numbers."""
    return np.isfinite(part.points[:, 0]) & np.isfinite(part.points[:, 1])


def only(part: Trajectories, keep: Flags) -> Trajectories:
    """Keep some of the points, and of the trajectories those that have one."""
    if keep.all() and np.diff(part.offsets).all():
        return part
    kept = np.concatenate([[0], np.cumsum(keep)])[part.offsets]
    times = None if part.times is None else part.times[keep]
    moments = None if part.moments is None else part.moments[keep]
    left = replace(part, points=part.points[keep], offsets=kept, times=times, moments=moments)
    return left.take(np.flatnonzero(np.diff(kept)))


def listed_times(part: Trajectories) -> pa.Array:
    """Print the times of each trajectory as a list of JSON: ISO 8601 in quotes or numbers, null if unknown."""
    assert part.times is not None
    if part.times.dtype.kind == "M":
        texts = chained('"', iso(part.times, part.zone), '"').fill_null("null")
    else:
        texts = shortest(part.times.astype(np.float64), "null")
    return chained("[", joined(texts, part.offsets, ","), "]")


def iso(times: Array, zone: str = UTC) -> pa.Array:
    """Print calendar time as ISO 8601, as in 2024-02-28T23:50:15Z, in a zone with its offset from UTC.

    In Europe/Lisbon, half a year later, 2024-08-28T23:50:15+01:00. Unknown times are null.
    """
    local, ahead = arrow_times(times), "Z"
    if zone != UTC:
        local, offsets = _local(times, zone)
        found, which = np.unique(offsets // 60, return_inverse=True)  # a zone has few
        clocks = [f"{'+-'[m < 0]}{abs(m) // 60:02}:{abs(m) % 60:02}" for m in found.tolist()]
        ahead = pa.array(clocks, pa.large_string()).take(pa.array(which))
    texts = pc.replace_substring(local.cast(pa.large_string()), " ", "T")
    # With no more decimals than there are.
    return chained(pc.replace_substring_regex(texts, r"\.0*$|(\.\d*?)0+$", r"\1"), ahead)


def wall_times(times: Array, zone: str) -> Array:
    """Give calendar times as clocks on the wall show them in a zone, for readers that know of none."""
    return times if zone == UTC else floats_of(_local(times, zone)[0])


def _local(times: Array, zone: str) -> tuple[pa.Array, Integers]:
    """Give calendar times as local timestamps, and the seconds by which each is ahead of UTC."""
    known = arrow_times(times)
    per_second = UNITS[known.type.unit]
    ticks = known.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = 60 * Zone.named(zone).minutes_at(ticks, per_second)
    local = pa.array(ticks + per_second * offsets, mask=known.is_null().to_numpy(zero_copy_only=False))
    return local.cast(known.type), offsets


def json_texts(values: pa.Array) -> pa.Array:
    """Print ids as JSON: text in quotes, numbers as they are, unknown ones as null."""
    texts = values.cast(pa.large_string())
    if not pa.types.is_string(values.type):
        return texts.fill_null("null")
    quoted = json.JSONEncoder(ensure_ascii=False).encode
    return pa.array([quoted(value) if value is not None else "null" for value in texts.to_pylist()], texts.type)


def words(about: Mapping[str, str]) -> str:
    """Put the words about the whole into one line."""
    return "; ".join(f"{name}: {value}" for name, value in about.items())


def calendar(times: Array) -> Array:
    """Give times as calendar time; numbers are seconds since 1970, and those of other ages unknown."""
    if times.dtype.kind == "M":
        return times
    return floats_of(epochs(arrow_times(times), "s"))


#: What of a part a format may be unable to hold, in words.
BAD_POINTS = "points that are not numbers"
TIMELESS_POINTS = "points without time"
NUMBERS_AS_TIMES = "times as numbers (they are written as seconds since 1970)"
TIME_ZONE = "the time zone (read it with --timezone {zone})"


def losing(*losses: str) -> Callable[[Trajectories], list[str]]:
    """Let a format lose some of these: it lists those that a part has."""

    def lost(part: Trajectories) -> list[str]:
        times = np.empty(0, "datetime64[s]") if part.times is None else part.times
        had = {
            BAD_POINTS: not np.isfinite(part.points).all(),
            TIMELESS_POINTS: whole_seconds(times).null_count > 0,
            NUMBERS_AS_TIMES: times.dtype.kind != "M",
            TIME_ZONE: part.times is not None and part.zone != UTC,
        }
        return [words.format(zone=part.zone) for words in losses if had[words]]

    return lost
