"""Move times between UTC and what clocks on the wall show in a zone, in ticks of any unit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from privtrace.calendar import Zone
from privtrace.trajectories import Flags, Integers

#: The zone of times where none is declared.
UTC = "UTC"

#: Ticks per second, by the unit in which times count since 1970.
UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

#: No zone is so far from UTC, in seconds.
_FARTHEST = 2 * 86_400


def to_utc(ticks: Integers, per_second: int, zone: str) -> Integers:
    """Turn ticks of local time into those of UTC, each by itself; see `Zone.to_utc`."""
    seconds = ticks // per_second
    return ticks + per_second * _within_limits(ticks, per_second, Zone.named(zone).to_utc(seconds) - seconds)


def offsets_at(ticks: Integers, per_second: int, zone: str) -> Integers:
    """Give the whole minutes, in seconds, by which a zone is ahead of UTC at moments given in UTC.

    ISO 8601 has no seconds of offsets, and zones no longer do.
    """
    offsets = Zone.named(zone).offsets_at(ticks // per_second)
    return 60 * _within_limits(ticks, per_second, np.floor_divide(offsets + 30, 60))


def instants(times: pa.Array, zone: str, naive: Flags | None = None) -> pa.Array:
    """Turn timestamps that name no zone, or those of them that are naive, from local time into UTC."""
    if zone == UTC or times.type.tz is not None:
        return times
    ticks: Integers = times.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    moved = to_utc(ticks, UNITS[times.type.unit], zone)
    unknown = times.is_null().to_numpy(zero_copy_only=False)
    return pa.array(moved if naive is None else np.where(naive, moved, ticks), mask=unknown).cast(times.type)


def _within_limits(ticks: Integers, per_second: int, shift: Integers) -> Integers:
    """Leave times unmoved where 64 bits end."""
    margin = np.iinfo(np.int64).max - _FARTHEST * per_second
    return np.where((ticks > -margin) & (ticks < margin), shift, 0)
