"""Read dates that are written as text, each by itself: ISO 8601, or by a pattern as Python's strptime has it.

What is no such date is null. A date that names no zone is local in the one that is declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.calendar import Zone
from privtrace.compiling import compiled
from privtrace.errors import SettingsError
from privtrace.parsing.text import Bytes, ByteSlices
from privtrace.trajectories import Flags, Floats, Integers

#: The zone of times where none is declared.
UTC = "UTC"
#: Stands for ISO 8601 where a pattern may stand.
ISO = "iso"
#: What times with a clock are, but for those that have another unit by their type.
TIMESTAMP = pa.timestamp("us")

_ISO = (
    r"^\s*(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?:[T ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)?"
    r"\s*(?P<zone>Z|[+-]\d\d:?(?:\d\d)?)?)?\s*$"
)
_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:tember)?|oct(?:ober)?"
    "|nov(?:ember)?|dec(?:ember)?"
)
_WEEKDAYS = "mon(?:day)?|tue(?:sday)?|wed(?:nesday)?|thu(?:rsday)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?"

#: What stands for a directive: the field that it gives, and the pattern of its text. They are those of Python's
#: strptime, in English wherever the program runs.
_DIRECTIVES = {
    "Y": ("year", r"\d{4}"),
    "y": ("short_year", r"\d{2}"),
    "m": ("month", r"1[0-2]|0[1-9]|[1-9]"),
    "b": ("month_name", f"(?i:{_MONTHS})"),
    "d": ("day", r"3[01]|[12]\d|0[1-9]|[1-9]| [1-9]"),
    "j": ("day_of_year", r"36[0-6]|3[0-5]\d|[12]\d\d|0[1-9]\d|00[1-9]|[1-9]\d|0[1-9]|[1-9]"),
    "H": ("hour", r"2[0-3]|[01]\d|\d"),
    "I": ("hour_of_half", r"1[0-2]|0[1-9]|[1-9]"),
    "p": ("half", r"(?i:[ap]\.?m\.?)"),
    "M": ("minute", r"[0-5]\d|\d"),
    "S": ("second", r"60|[0-5]\d|\d"),
    "f": ("fraction", r"\d{1,9}"),
    "z": ("zone", r"Z|[+-]\d\d(?::?\d\d)?"),
    "Z": ("zone_name", r"UTC|GMT|Z"),
    "a": ("weekday", f"(?i:{_WEEKDAYS})"),
}
_DIRECTIVES |= {"B": _DIRECTIVES["b"], "h": _DIRECTIVES["b"], "e": _DIRECTIVES["d"], "A": _DIRECTIVES["a"]}
_SHORT = {"F": "%Y-%m-%d", "T": "%H:%M:%S", "R": "%H:%M", "D": "%m/%d/%y"}

#: What fields say, where that is not their name.
_SAYING = {
    "short_year": ["year"],
    "month_name": ["month"],
    "day_of_year": ["month", "day"],
    "hour_of_half": ["hour", "hour of half a day (%I)"],
    "half": ["half of the day (%p)"],
}
#: What says nothing without something else.
_NEEDING = {
    "hour of half a day (%I)": "half of the day (%p)",
    "half of the day (%p)": "hour of half a day (%I)",
    "minute": "hour",
    "second": "minute",
    "fraction": "second",
}

#: What a text may say: nothing, a time in another form than the usual, a time without a zone, one with a zone.
_NONE, _OTHER, _NAIVE, _NAMED = range(4)
#: Stands for seconds of what is no day of the calendar or no time of the day.
_NEVER = np.iinfo(np.int64).min
_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_DAYS_BEFORE = np.concatenate([[0], np.cumsum(_DAYS)])
_DAYS_TO_1970 = 719_162  # from the first day of the year 1
_MINUS, _PLUS, _POINT, _SPACE, _TEE, _COLON, _ZULU, _ZERO, _NINE = (ord(sign) for sign in "-+. T:Z09")
_BLANK = np.isin(np.arange(256), np.frombuffer(b" \t\n\r\f", np.uint8))
#: Stands for the month where a day is one of the year.
_WHOLE_YEAR = 100
#: Makes any number negative that it is a digit of.
_NO_DIGITS = -(1 << 20)


def iso(column: pa.Array, zone: str = UTC) -> pa.Array:
    """Read ISO 8601 as timestamps to the microsecond, UTC; local in `zone` unless it names one itself."""
    ticks, said = np.zeros(len(column), np.int64), np.full(len(column), _NONE, np.uint8)
    pieces = ByteSlices.of(column)
    _read_iso(pieces.text, pieces.starts, pieces.stops, ticks, said)
    others = np.flatnonzero(said == _OTHER)
    if len(others):
        ticks[others], said[others] = _by_fields(column.take(pa.array(others)), _ISO)
    return _timestamps(ticks, said, zone)


def by_pattern(column: pa.Array, pattern: str, zone: str = UTC) -> pa.Array:
    """Read text by a pattern such as %d/%m/%Y %H:%M, local in `zone` unless it has one; else null."""
    return _timestamps(*_by_fields(column, compiled_pattern(pattern)), zone)


def _timestamps(ticks: Integers, said: Bytes, zone: str) -> pa.Array:
    if zone != UTC:
        ticks = np.where(said == _NAIVE, Zone.named(zone).to_utc(ticks, 1_000_000), ticks)
    missing = said == _NONE
    return pa.array(ticks, mask=missing if missing.any() else None).cast(TIMESTAMP)


@cache
def compiled_pattern(pattern: str, option: str = "time_format") -> str:
    """Turn a pattern of dates into a regular expression, whose groups are the fields of a date.

    Messages name the `option` that has the pattern.
    """
    for short, long in _SHORT.items():
        pattern = re.sub(rf"(?<!%)((?:%%)*)%{short}", rf"\1{long}", pattern)
    fields: list[str] = []
    signs = "".join(_pieces(pattern, fields, option))
    said = [word for field in fields for word in _SAYING.get(field, [field.replace("_", " ")])]
    faults = [f"gives the {word} twice" for word in said if said.count(word) > 1]
    date = (word for word in ("year", "month", "day") if word not in said)
    faults += [f"has no {word}, but a time needs a date" for word in date]
    lacking = ((one, other) for one, other in _NEEDING.items() if one in said and other not in said)
    faults += [f"has the {one} but no {other}" for one, other in lacking]
    if faults:
        raise SettingsError(f"{option}: {pattern!r} {faults[0]}; write it as in '%d/%m/%Y %H:%M'")
    return rf"^\s*{signs}\s*$"


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
            fields.append(field)
            yield f"(?P<{field}>{signs})"
        else:
            known = " ".join(f"%{name}" for name in sorted([*_DIRECTIVES, *_SHORT], key=str.lower))
            raise SettingsError(f"{option}: %{directive} in {pattern!r} is not known; known are {known} %%")


def _by_fields(column: pa.Array, signs: str) -> tuple[Integers, Bytes]:
    """Read texts by a regular expression with the fields of a date; also tell what each text says."""
    matched: Flags = pc.match_substring_regex(column, signs).fill_null(False).to_numpy(zero_copy_only=False)
    # What matched is made of the pattern's own signs and of ASCII, so it is valid text.
    groups = pc.extract_regex(column.filter(pa.array(matched)).cast(pa.string()), signs)
    names = [field.name for field in groups.type]

    def text(name: str) -> pa.Array:
        """Take a field, '0' where it is empty."""
        group = pc.ascii_trim_whitespace(pc.struct_field(groups, name))
        return pc.if_else(pc.equal(group, ""), "0", group)

    def number(name: str) -> Integers:
        """Read a field, 0 where there is no such field."""
        none = np.zeros(len(groups), np.int64)
        return text(name).cast(pa.int64()).to_numpy() if name in names else none

    def starts(name: str, letter: str) -> Flags:
        flags: Flags = pc.starts_with(pc.ascii_lower(text(name)), letter).to_numpy(zero_copy_only=False)
        return flags

    year, month, day, hour = (number(name) for name in ("year", "month", "day", "hour"))
    if "short_year" in names:  # as POSIX has it: from 1969 to 2068
        year = number("short_year") + np.where(number("short_year") < 69, 2000, 1900)
    if "month_name" in names:
        letters = pc.utf8_slice_codeunits(pc.ascii_lower(text("month_name")), 0, 3)
        month = 1 + pc.index_in(letters, pa.array(re.findall(r"(?:^|\|)(...)", _MONTHS))).to_numpy()
    if "day_of_year" in names:
        month, day = np.full(len(groups), _WHOLE_YEAR), number("day_of_year")
    if "half" in names:
        hour = number("hour_of_half") % 12 + 12 * starts("half", "p")
    seconds = calendar_seconds(year, month, day, hour, number("minute"), number("second"))[0]
    microseconds, is_named = 1_000_000 * seconds, np.full(len(groups), "zone_name" in names)
    if "zone" in names:
        padded = pc.replace_substring_regex(pc.binary_join_element_wise(text("zone"), "0000", ""), "[Z:+-]", "")
        ahead: Integers = pc.utf8_slice_codeunits(padded, 0, 4).cast(pa.int64()).to_numpy()
        ahead = np.where(starts("zone", "-"), -60, 60) * (60 * (ahead // 100) + ahead % 100)
        microseconds -= 1_000_000 * ahead
        is_named |= ~starts("zone", "0")
    if "fraction" in names:
        parts: Floats = pc.binary_join_element_wise("0", text("fraction"), ".").cast(pa.float64()).to_numpy()
        microseconds += np.rint(1e6 * parts).astype(np.int64)
    ticks, said = np.zeros(len(column), np.int64), np.full(len(column), _NONE, np.uint8)
    ticks[matched] = microseconds
    said[matched] = np.where(seconds == _NEVER, _NONE, np.where(is_named, _NAMED, _NAIVE))
    return ticks, said


def calendar_seconds(*fields: Integers) -> tuple[Integers, Flags]:
    """Count seconds since 1970 by year, month, day, hour, minute and second; also tell which there are."""
    seconds = np.empty(len(fields[0]), np.int64)
    _count_seconds(np.stack(fields), seconds)
    return seconds, seconds != _NEVER


@compiled
def _count_seconds(fields, seconds):  # type: ignore[no-untyped-def]
    for i in range(len(seconds)):
        year, month, day, hour, minute, second = fields[:, i]
        seconds[i] = _seconds(year, month, day, hour, minute, second)


@compiled
def _seconds(year, month, day, hour, minute, second):  # type: ignore[no-untyped-def]
    """Count seconds since 1970; none if there is no such day or time of the day."""
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if 1 <= month <= 12:
        n_days, n_before = _DAYS[month - 1] + (is_leap and month == 2), _DAYS_BEFORE[month - 1]
    else:
        n_days, n_before = (365 + is_leap if month == _WHOLE_YEAR else 0), 0
    if day < 1 or day > n_days:
        return _NEVER
    if min(year, hour, minute, second) < 0 or hour > 23 or minute > 59 or second > 60:
        return _NEVER
    before = year - 1
    days = 365 * before + before // 4 - before // 100 + before // 400 - _DAYS_TO_1970
    days += n_before + (is_leap and 2 < month <= 12) + day - 1
    return 86400 * days + 3600 * hour + 60 * minute + second


@compiled
def _read_iso(data, starts, stops, ticks, said):  # type: ignore[no-untyped-def]
    """Read 2013-07-01T07:00:00, with up to six decimals, and with Z or an offset such as +01:00 or without."""
    for i in range(len(starts)):
        at, stop = starts[i], stops[i]
        while at < stop and _BLANK[data[at]]:
            at += 1
        if stop - at < 10 or data[at + 4] != _MINUS:
            continue
        said[i] = _OTHER
        if stop - at < 19 or data[at + 7] != _MINUS or data[at + 13] != _COLON or data[at + 16] != _COLON:
            continue
        if data[at + 10] != _TEE and data[at + 10] != _SPACE:
            continue
        year, month, day = _digits(data, at, 4), _digits(data, at + 5, 2), _digits(data, at + 8, 2)
        hour, minute = _digits(data, at + 11, 2), _digits(data, at + 14, 2)
        seconds = _seconds(year, month, day, hour, minute, _digits(data, at + 17, 2))
        if seconds == _NEVER:
            continue
        at += 19
        fraction = 0
        if at < stop and data[at] == _POINT:
            at += 1
            unit = 100_000
            while at < stop and unit > 0 and _ZERO <= data[at] <= _NINE:
                fraction += unit * (data[at] - _ZERO)
                unit //= 10
                at += 1
            if unit == 100_000:
                continue
        found, ahead = _NAIVE, 0  # of UTC, in minutes
        if stop - at == 1 and data[at] == _ZULU:
            found = _NAMED
        elif stop - at == 6 and (data[at] == _PLUS or data[at] == _MINUS) and data[at + 3] == _COLON:
            found, ahead = _NAMED, 60 * _digits(data, at + 1, 2) + _digits(data, at + 4, 2)
            if ahead < 0:
                continue
            ahead = -ahead if data[at] == _MINUS else ahead
        elif at != stop:
            continue
        ticks[i] = 1_000_000 * (seconds - 60 * ahead) + fraction
        said[i] = found


@compiled
def _digits(data, at, n_digits):  # type: ignore[no-untyped-def]
    """Read a number of so many digits; it is negative where one of them is none."""
    number = np.int64(0)
    for place in range(at, at + n_digits):
        digit = np.int64(data[place]) - _ZERO
        number = 10 * number + (digit if 0 <= digit <= 9 else _NO_DIGITS)
    return number
