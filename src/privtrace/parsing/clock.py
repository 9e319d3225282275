"""Say how times are read: in a form that is declared, as ISO 8601, or for the order of points alone.

How all values of a column are read follows from public facts: options, the name and the type of the column,
and whether logs are cut. Each value is then read by itself; one that cannot be read is no time, and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.calendar import UNITS, Zone
from privtrace.errors import SettingsError
from privtrace.parsing import text
from privtrace.parsing.dates import ISO, TIMESTAMP, UTC, by_pattern, compiled_pattern, iso
from privtrace.trajectories import Array, Flags, Integers

#: Seconds since 1970 where years have four digits: from the year 1 up to, and without, the year 10000.
_FOUR_DIGITS = (-62_135_596_800, 253_402_300_800)
#: Those that a timestamp can hold, some 146,000 years in both directions.
_ANYWHEN = (-(2**62) // 1_000_000, 2**62 // 1_000_000)


class Read(NamedTuple):
    """Hold times as they were read."""

    values: pa.Array  # timestamps, or float64 for the order alone; null where there is no time
    unread: Flags  # where there is something that is no time
    number: pa.Array | None = None  # float64: numbers that are no time and set the order of what has none

    @classmethod
    def of(cls, values: pa.Array, given: pa.Array, number: pa.Array | None = None) -> Read:
        """Tell apart, where no time was read, what is nothing and what is something else."""
        unread = np.zeros(len(values), np.bool_)
        if values.null_count:
            missed = np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))
            unread[missed] = ~text.blank(given.take(pa.array(missed)))
        return cls(values, unread, number)


@dataclass(frozen=True)
class Clock:
    """Say how the times of a source are read."""

    pattern: str | None = ISO  # by which text is read; None where text is no time unless it is a number
    unit: str | None = None  # in which numbers count since 1970; None where a number is no time
    order_only: bool = False  # there is no clock: numbers of any unit, and ISO 8601, set the order of points
    on_calendar: bool = False  # times are timestamps, also those that set the order alone
    is_declared: bool = False  # by the caller, and not by what a file is
    zone: str = UTC  # in which times are local that name none; an IANA name
    keeps_order: bool = False  # numbers of no unit are no time, and still set the order of points without one

    @classmethod
    def declared(cls, pattern: str | None, unit: str | None, option: Callable[[str], str]) -> Clock | None:
        """Take what a caller declares, by options that are spelled so; None if that is nothing."""
        if pattern is None and unit is None:
            return None
        if pattern is not None and unit is not None:
            raise SettingsError(
                f"{option('time_format')} is for times written as dates, {option('time_unit')} for times that "
                "are numbers; give one of them"
            )
        if unit is not None and (not isinstance(unit, str) or unit not in UNITS):
            raise SettingsError(f"{option('time_unit')} must be one of {', '.join(UNITS)}, not {unit!r}")
        if pattern is not None and not isinstance(pattern, str):
            example = "'%d/%m/%Y %H:%M'"
            raise SettingsError(f"{option('time_format')} must be text like {example}, not {pattern!r}")
        if pattern is not None and pattern != ISO:
            compiled_pattern(pattern, option("time_format"))  # refuses what is no pattern of dates
        return cls(pattern, unit, is_declared=True)

    def text(self, column: pa.Array, *, decimal_comma: bool = False) -> Read:
        """Read times that are written as text."""
        if self.pattern is None:
            dates = pa.nulls(len(column), TIMESTAMP)
        elif self.pattern == ISO:
            dates = iso(column, self.zone)
        else:
            dates = by_pattern(column, self.pattern, self.zone)
        numbers = pa.nulls(len(column), pa.float64())
        if dates.null_count and (self.order_only or self.keeps_order or self.unit is not None):
            numbers = text.numbers(column, decimal_comma=decimal_comma)
        if self.order_only and not self.on_calendar:
            return Read.of(pc.coalesce(in_seconds(dates), numbers), column)
        return self._joined(dates, numbers, column)

    def numbers(self, column: pa.Array) -> Read:
        """Read times that are numbers: in their unit, or without one for the order alone."""
        if self.unit is None and not self.on_calendar:
            return Read.of(column.cast(pa.float64(), safe=False), column)
        return self._joined(pa.nulls(len(column), TIMESTAMP), column, column)

    def timestamps(self, column: pa.Array) -> Read:
        """Read times that are timestamps by their type: as they are, or to the microsecond as all others."""
        times = instants(column, self.zone)
        if self.on_calendar:
            times = epochs(times.cast(pa.int64()), times.type.unit, _ANYWHEN)
        number = pa.nulls(len(column), pa.float64()) if self.keeps_order else None
        return Read.of(times, column, number)

    def _joined(self, dates: pa.Array, numbers: pa.Array, given: pa.Array) -> Read:
        """Give numbers their place on the calendar: that of seconds, where they set the order alone."""
        number = numbers.cast(pa.float64(), safe=False) if self.keeps_order else None
        if dates.null_count and self.unit is not None:
            dates = pc.coalesce(dates, epochs(numbers, self.unit))
        elif dates.null_count and self.order_only:
            dates = pc.coalesce(dates, epochs(numbers, "s", _ANYWHEN))
        return Read.of(dates, given, number)


#: What text is read by where nothing is declared and a clock is there.
ISO_CLOCK = Clock()


def epochs(numbers: pa.Array, unit: str, within: tuple[int, int] = _FOUR_DIGITS) -> pa.Array:
    """Take numbers as time since 1970, to the microsecond; null outside of these seconds.

    The number 1704067200000 in ms gives 2024-01-01. No time moves forward: whole numbers are rounded down.
    """
    ticks, (first, end) = UNITS[unit], within
    kind = numbers.type if pa.types.is_integer(numbers.type) else pa.float64()
    values: Array = numbers.cast(kind, safe=False).fill_null(0).to_numpy(zero_copy_only=False)
    right = numbers.is_valid().to_numpy(zero_copy_only=False)
    right = right & (values >= ticks * first) & (values < ticks * end)
    if pa.types.is_integer(kind):
        right = right & (values < 2**63)
    values = np.where(right, values, 0)
    if kind == pa.float64():
        values = np.rint(values * (1_000_000 / ticks))
    elif ticks <= 1_000_000:
        values = values.astype(np.int64) * (1_000_000 // ticks)
    else:
        values = values.astype(np.int64) // (ticks // 1_000_000)
    return pa.array(values.astype(np.int64), mask=~right).cast(TIMESTAMP)


def instants(times: pa.Array, zone: str) -> pa.Array:
    """Turn timestamps that name no zone from local time into UTC."""
    if zone == UTC or times.type.tz is not None:
        return times
    ticks: Integers = times.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    moved = Zone.named(zone).to_utc(ticks, UNITS[times.type.unit])
    return pa.array(moved, mask=times.is_null().to_numpy(zero_copy_only=False)).cast(times.type)


def in_seconds(times: pa.Array) -> pa.Array:
    """Give timestamps as seconds since 1970, and leave numbers as they are."""
    if pa.types.is_floating(times.type):
        return times
    return pc.divide(times.cast(pa.int64()).cast(pa.float64(), safe=False), 1e6)


def read_each(column: pa.Array, clocks: Sequence[Clock], which: Integers, form: Clock) -> Read:
    """Read each text by a clock of its own, clocks[which], and give all the type that `form` gives."""
    places = [np.flatnonzero(which == number) for number in range(len(clocks))]
    reads = [clock.text(column.take(pa.array(mine))) for clock, mine in zip(clocks, places, strict=True)]
    reads.append(form.text(column.slice(0, 0)))  # shows the type
    in_order = np.argsort(np.concatenate([*places, np.empty(0, np.int64)]))
    values = [read.values for read in reads]
    if pa.types.is_floating(values[-1].type):
        values = [in_seconds(some) for some in values]
    numbers = [
        pa.nulls(len(read.values), pa.float64()) if read.number is None else read.number for read in reads
    ]
    return Read(
        pa.concat_arrays(values).take(pa.array(in_order)),
        np.concatenate([read.unread for read in reads])[in_order],
        pa.concat_arrays(numbers).take(pa.array(in_order)) if form.keeps_order else None,
    )
