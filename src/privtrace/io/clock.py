"""Say how times are read: in a form that is declared, as ISO 8601, or for the order of points alone.

How all values of a column are read follows from public facts: options, the name and the type of the column,
and whether logs are cut. Each value is then read by itself; one that cannot be read is no time, and counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.errors import SettingsError
from privtrace.io import text
from privtrace.io.zones import UNITS, UTC, instants, to_utc
from privtrace.trajectories import Floats, Integers

Flags = npt.NDArray[np.bool_]

#: Stands for ISO 8601 where a pattern may stand.
ISO = "iso"

#: What times with a clock are, but for those that have another unit by their type.
TIMESTAMP = pa.timestamp("us")
#: Microseconds that are a date; beyond, some 146,000 years from now, they would overflow.
_MOST = 2.0**62

#: Seconds since 1970 where years have four digits: from the year 1 up to, and without, the year 10000.
_FIRST, _END = -62_135_596_800, 253_402_300_800


class Read(NamedTuple):
    """Hold times as they were read."""

    values: pa.Array  # timestamps, or float64 for the order alone; null where there is no time
    unread: Flags  # where there is something that is no time
    order: pa.Array | None = (
        None  # float64: numbers that are no time and set the order of what has none, if kept
    )

    @classmethod
    def of(cls, values: pa.Array, given: pa.Array, order: pa.Array | None = None) -> Read:
        """Tell apart, where no time was read, what is blank and what is something else."""
        unread = np.zeros(len(values), np.bool_)
        if values.null_count:
            missed = np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))
            unread[missed] = ~text.blank(given.take(pa.array(missed)))
        return cls(values, unread, order)

    @classmethod
    def of_numbers(cls, values: pa.Array, given: pa.Array, order: pa.Array | None = None) -> Read:
        """Tell apart, where no time was read, what is missing and what is a number or timestamp."""
        missing = given.is_null(nan_is_null=pa.types.is_floating(given.type))
        return cls(values, pc.and_not(values.is_null(), missing).to_numpy(zero_copy_only=False), order)


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
        if pattern is not None and unit is not None:
            raise SettingsError(
                f"{option('time_format')} is for times written as dates, {option('time_unit')} for times that "
                "are numbers; give one of them"
            )
        if unit is not None:
            if not isinstance(unit, str) or unit not in UNITS:
                raise SettingsError(f"{option('time_unit')} must be one of {', '.join(UNITS)}, not {unit!r}")
            return cls(None, unit, is_declared=True)
        if pattern is None:
            return None
        if not isinstance(pattern, str):
            raise SettingsError(
                f"{option('time_format')} must be text such as '%d/%m/%Y %H:%M', not {pattern!r}"
            )
        if pattern != ISO:
            _compiled(pattern, option("time_format"))  # refuses what is no pattern of dates
        return cls(pattern, is_declared=True)

    def text(self, column: pa.Array, *, decimal_comma: bool = False) -> Read:
        """Read times that are written as text."""
        if self.order_only and not self.on_calendar:
            return Read.of(text.times(column, decimal_comma=decimal_comma, zone=self.zone), column)
        values = self._dates(column)
        if values.null_count and (self.order_only or self.unit is not None):
            values = pc.coalesce(values, self._placed(text.numbers(column, decimal_comma=decimal_comma)))
        order = text.numbers(column, decimal_comma=decimal_comma) if self.keeps_order else None
        return Read.of(values, column, order)

    def _dates(self, column: pa.Array) -> pa.Array:
        """Read text by the pattern; what is no such time is null."""
        if self.pattern is None:
            return pa.nulls(len(column), TIMESTAMP)
        return (
            text.iso(column, self.zone) if self.pattern == ISO else by_pattern(column, self.pattern, self.zone)
        )

    def numbers(self, column: pa.Array) -> Read:
        """Read times that are numbers: in their unit, or without one for the order alone."""
        if self.unit is None and not self.on_calendar:
            return Read(column.cast(pa.float64(), safe=False), np.zeros(len(column), np.bool_))
        order = column.cast(pa.float64(), safe=False) if self.keeps_order else None
        return Read.of_numbers(self._placed(column), column, order)

    def timestamps(self, column: pa.Array) -> Read:
        """Read times that are timestamps by their type: as they are, or to the microsecond as all others."""
        times = instants(column, self.zone)
        order = pa.nulls(len(column), pa.float64()) if self.keeps_order else None
        if not self.on_calendar:
            return Read(times, np.zeros(len(column), np.bool_), order)
        return Read.of_numbers(_to_microseconds(times), column, order)

    def _placed(self, numbers: pa.Array) -> pa.Array:
        """Give numbers their place on the calendar: that of seconds, where they set the order alone."""
        if self.unit is not None:
            return epochs(numbers, self.unit)
        if not self.order_only:
            return pa.nulls(len(numbers), TIMESTAMP)
        seconds: Floats = (
            numbers.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        )
        right = np.abs(seconds) < _MOST / 1_000_000
        microseconds = np.rint(1e6 * np.where(right, seconds, 0)).astype(np.int64)
        return pa.array(microseconds, mask=~right).cast(TIMESTAMP)


#: What text is read by where nothing is declared and a clock is there.
ISO_CLOCK = Clock()


def epochs(numbers: pa.Array, unit: str) -> pa.Array:
    """Take numbers as time since 1970, to the microsecond; null outside of the years 1 to 9999.

    The number 1704067200000 in ms gives 2024-01-01.
    """
    ticks = UNITS[unit]
    first, end = _FIRST * ticks, _END * ticks
    if not pa.types.is_integer(numbers.type):
        values: Floats = numbers.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy(zero_copy_only=False)
        right = (values >= first) & (values < end)
        microseconds = np.rint(np.where(right, values, 0) * (1_000_000 / ticks)).astype(np.int64)
        return pa.array(microseconds, mask=~right).cast(TIMESTAMP)
    wide = pa.int64() if pa.types.is_signed_integer(numbers.type) else pa.uint64()
    whole = numbers.cast(wide).fill_null(0).to_numpy(zero_copy_only=False)
    bounds = np.iinfo(whole.dtype)
    right = (whole >= max(first, bounds.min)) & (whole <= min(end - 1, bounds.max, np.iinfo(np.int64).max))
    counted: Integers = np.where(right, whole, 0).astype(np.int64)
    microseconds = counted * (1_000_000 // ticks) if ticks <= 1_000_000 else counted // (ticks // 1_000_000)
    right &= numbers.is_valid().to_numpy(zero_copy_only=False)
    return pa.array(microseconds, mask=~right).cast(TIMESTAMP)


def _to_microseconds(times: pa.Array) -> pa.Array:
    """Bring timestamps to microseconds, rounded down; null where that would overflow."""
    ticks: Integers = times.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    unknown = times.is_null().to_numpy(zero_copy_only=False)
    if times.type.unit == "ns":
        return pa.array(ticks // 1000, mask=unknown).cast(TIMESTAMP)
    factor = 1_000_000 // UNITS[times.type.unit]
    unknown = unknown | ~(np.abs(ticks.astype(np.float64)) < _MOST / factor)
    return pa.array(np.where(unknown, 0, ticks) * factor, mask=unknown).cast(TIMESTAMP)


def read_each(column: pa.Array, clocks: Sequence[Clock], which: Integers, form: Clock) -> Read:
    """Read each text by a clock of its own, clocks[which], and give all the type that `form` gives."""
    places = [np.flatnonzero(which == number) for number in range(len(clocks))]
    reads = [form.text(column.slice(0, 0))]
    reads += [clock.text(column.take(pa.array(mine))) for clock, mine in zip(clocks, places, strict=True)]
    if pa.types.is_floating(reads[0].values.type):
        reads = [read._replace(values=in_seconds(read.values)) for read in reads]
    back = np.argsort(np.concatenate([np.empty(0, np.int64), *places]))
    values = pa.concat_arrays([read.values for read in reads]).take(pa.array(back))
    order = None
    if form.keeps_order:
        numbers = [
            pa.nulls(len(read.values), pa.float64()) if read.order is None else read.order for read in reads
        ]
        order = pa.concat_arrays(numbers).take(pa.array(back))
    return Read(values, np.concatenate([read.unread for read in reads])[back], order)


def in_seconds(times: pa.Array) -> pa.Array:
    """Give timestamps as seconds since 1970, and leave numbers as they are."""
    if pa.types.is_floating(times.type):
        return times
    return pc.divide(times.cast(pa.int64()).cast(pa.float64(), safe=False), 1e6)


_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def _any_name(names: list[str]) -> str:
    """Match names in full or by three letters, in any case."""
    return f"(?i:{'|'.join(f'{name[:3]}(?:{name[3:]})?' if name[3:] else name for name in names)})"


#: What stands for a directive: the field that it gives, and the pattern of its text. They are those of Python's
#: strptime, in English wherever the program runs.
_DIRECTIVES = {
    "Y": ("year", r"\d{4}"),
    "y": ("short_year", r"\d{2}"),
    "m": ("month", r"1[0-2]|0[1-9]|[1-9]"),
    "b": ("month_name", _any_name(_MONTHS)),
    "d": ("day", r"3[01]|[12]\d|0[1-9]|[1-9]| [1-9]"),
    "j": ("day_of_year", r"36[0-6]|3[0-5]\d|[12]\d\d|0[1-9]\d|00[1-9]|[1-9]\d|0[1-9]|[1-9]"),
    "H": ("hour", r"2[0-3]|[01]\d|\d"),
    "I": ("hour_of_half", r"1[0-2]|0[1-9]|[1-9]"),
    "p": ("half", r"(?i:[ap]\.?m\.?)"),
    "M": ("minute", r"[0-5]\d|\d"),
    "S": ("second", r"60|[0-5]\d|\d"),
    "f": ("fraction", r"\d{1,9}"),
    "z": ("zone", r"Z|[+-]\d\d(?::?\d\d)?"),
    "Z": (None, r"UTC|GMT|Z"),
    "a": (None, _any_name(_DAYS)),
}
_DIRECTIVES |= {"B": _DIRECTIVES["b"], "h": _DIRECTIVES["b"], "e": _DIRECTIVES["d"], "A": _DIRECTIVES["a"]}
_SHORT = {"F": "%Y-%m-%d", "T": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y"}

#: Fields of which a pattern has one and no more, with the word for them.
_DATE = (
    ({"year", "short_year"}, "year"),
    ({"month", "month_name", "day_of_year"}, "month"),
    ({"day", "day_of_year"}, "day"),
)
#: Of these too it has no more than one.
_HOUR = ({"hour", "hour_of_half"}, "hour")
#: Fields that say nothing without one of others.
_NEEDING = {
    "hour_of_half": ({"half"}, "hour of half a day (%I)", "half (%p)"),
    "half": ({"hour_of_half"}, "half of the day (%p)", "hour of it (%I)"),
    "minute": (_HOUR[0], "minute", "hour"),
    "second": ({"minute"}, "second", "minute"),
    "fraction": ({"second"}, "fraction", "second"),
}


@cache
def _compiled(pattern: str, option: str = "time_format") -> str:
    """Turn a pattern of dates into a regular expression, whose groups are the fields of a date.

    Messages name the `option` that has the pattern.
    """
    for short, long in _SHORT.items():
        pattern = re.sub(rf"(?<!%)((?:%%)*)%{short}", rf"\1{long}", pattern)
    fields: list[str] = []
    pieces = list(_pieces(pattern, fields, option))
    cure = "write it as in '%d/%m/%Y %H:%M'"
    for choices, word in (*_DATE, _HOUR):
        if sum(field in choices for field in fields) > 1:
            raise SettingsError(f"{option}: {pattern!r} says twice what the {word} is; {cure}")
    for choices, word in _DATE:
        if not choices & set(fields):
            raise SettingsError(
                f"{option}: {pattern!r} has no {word}, and a time without a date is none; {cure}"
            )
    for field, (choices, word, missing) in _NEEDING.items():
        if fields.count(field) > 1:
            raise SettingsError(f"{option}: {pattern!r} has the {word} twice; {cure}")
        if field in fields and not choices & set(fields):
            raise SettingsError(f"{option}: {pattern!r} has the {word} but no {missing}; {cure}")
    if fields.count("zone") > 1:
        raise SettingsError(f"{option}: {pattern!r} has the zone twice; {cure}")
    return rf"^\s*{''.join(pieces)}\s*$"


def _pieces(pattern: str, fields: list[str], option: str) -> Iterator[str]:
    """Yield the regular expression of each piece of a pattern, and note the fields on the way."""
    for directive, blanks, literal in re.findall(r"%(.?)|(\s+)|([^%\s]+)", pattern, re.DOTALL):
        if blanks:
            yield r"\s+"
        elif literal:
            yield re.escape(literal)
        elif directive == "%":
            yield "%"
        elif directive in _DIRECTIVES:
            field, signs = _DIRECTIVES[directive]
            fields += [] if field is None else [field]
            yield f"(?:{signs})" if field is None else f"(?P<{field}>{signs})"
        else:
            known = " ".join(f"%{name}" for name in sorted([*_DIRECTIVES, *_SHORT], key=str.lower))
            raise SettingsError(f"{option}: %{directive} in {pattern!r} is not known; known are {known} %%")


#: Directives by which a pattern names a zone in each time.
_ZONES = re.compile(r"(?<!%)(?:%%)*%[zZ]")


def by_pattern(column: pa.Array, pattern: str, zone: str = UTC) -> pa.Array:
    """Read text by a pattern such as %d/%m/%Y %H:%M, local in `zone` unless it has one; else null."""
    signs = _compiled(pattern)
    matched = pc.match_substring_regex(column, signs)
    # What matched is made of the pattern's own signs and of ASCII, so it is valid text.
    plain = pc.if_else(matched, column, pa.scalar(None, column.type)).cast(pa.string())
    fields = text.Fields(pc.extract_regex(plain, signs))
    year = _years(fields)
    minute, second = fields.integers("minute"), fields.integers("second")
    seconds, right = text.calendar_seconds(
        year, _months(fields), fields.integers("day", 1), _hours(fields), minute, second
    )
    day_of_year = fields.integers("day_of_year", 1)
    first = (year - 1970).astype("datetime64[Y]")
    right &= day_of_year <= ((first + 1).astype("datetime64[D]") - first.astype("datetime64[D]")).astype(int)
    right &= plain.is_valid().to_numpy(zero_copy_only=False)
    seconds += 86400 * (day_of_year - 1) - _zone_seconds(fields)
    if zone != UTC and not _ZONES.search(pattern):
        seconds = to_utc(seconds, 1, zone)
    return pa.array(1_000_000 * seconds + fields.microseconds("fraction"), mask=~right).cast(TIMESTAMP)


def _years(fields: text.Fields) -> Integers:
    """Read the year, of two digits as POSIX has it: from 1969 to 2068."""
    if "year" in fields:
        return fields.integers("year")
    short = fields.integers("short_year")
    return short + np.where(short < 69, 2000, 1900)


def _months(fields: text.Fields) -> Integers:
    """Read the month, from 1 on, by its number or its name."""
    if "month_name" not in fields:
        return fields.integers("month", 1)
    letters = pc.utf8_slice_codeunits(pc.ascii_lower(fields.text("month_name")), 0, 3)
    places = pc.index_in(letters, pa.array([name[:3] for name in _MONTHS])).fill_null(0)
    months: Integers = places.cast(pa.int64()).to_numpy() + 1
    return months


def _hours(fields: text.Fields) -> Integers:
    """Read the hour, of a day or of its half."""
    if "half" not in fields:
        return fields.integers("hour")
    after_noon = pc.starts_with(pc.ascii_lower(fields.text("half")), "p").to_numpy(zero_copy_only=False)
    hours: Integers = fields.integers("hour_of_half") % 12 + 12 * after_noon
    return hours


def _zone_seconds(fields: text.Fields) -> Integers:
    """Read how far a zone is ahead: +01:30 gives 5400; 0 for Z and without a zone."""
    if "zone" not in fields:
        return np.zeros(len(fields.groups), np.int64)
    digits = pc.replace_substring_regex(fields.text("zone"), r"[Z:+-]", "")
    padded = pc.utf8_slice_codeunits(pc.binary_join_element_wise(digits, "0000", ""), 0, 4)
    value: Integers = padded.cast(pa.int64()).to_numpy()
    behind = pc.starts_with(fields.text("zone"), "-").to_numpy(zero_copy_only=False)
    seconds: Integers = np.where(behind, -1, 1) * (3600 * (value // 100) + 60 * (value % 100))
    return seconds
