"""Read numbers and times that are written as text, each value on its own.

What cannot be read is missing. How one value is read never depends on another: a type guessed from many
rows would let one row change the meaning of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.compiling import compiled
from privtrace.io.zones import UTC, instants
from privtrace.trajectories import Floats, Integers

# Digits are limited so that no value can overflow; nothing that can be measured needs more.
_NUMBER = (
    r"^\s*[+-]?(?:(?:\d{1,30}(?:POINT\d{0,30})?|POINT\d{1,30})(?:[eE][+-]?0?\d{1,2})?"
    r"|[1-9](?:POINT\d{0,30})?[eE](?:[+]?(?:[12]\d\d|30[0-7])|-(?:[12]\d\d|30[0-8])))\s*$"
)
_WITH_POINT = _NUMBER.replace("POINT", "[.]")
_WITH_POINT_OR_COMMA = _NUMBER.replace("POINT", "[.,]")
_ISO = (
    r"^\s*(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?:[T ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?P<fraction>[.,]\d{1,9})?)?"
    r"\s*(?:Z|(?P<zone>[+-])(?P<zone_hour>\d\d):?(?P<zone_minute>\d\d)?)?)?\s*$"
)
# After the time of the day, these signs stand in a zone alone.
_NAMES_ZONE = r"[T ]\d\d:\d\d[^Z+-]*[Z+-]"

_BLANK = r"^\s*$"

#: Whole numbers up to this, and these powers of ten, are exact as floats; so is their quotient, but for one
#: rounding, which makes it the float nearest to the decimal.
_EXACT = 2**53
_POWERS = np.array([float(10**power) for power in range(23)])
#: Digits of a number that 64 bits hold, whatever they are.
_MOST_DIGITS = 18
#: Splits a float into two of half its digits.
_SPLITTER = float(2**27 + 1)

_MINUS, _PLUS, _POINT, _NUL, _NINE = (ord(sign) for sign in "-+.09")
_SPACE, _TEE, _COLON, _ZULU = (ord(sign) for sign in " T:Z")
#: Which bytes a number may have.
_OF_NUMBERS = np.isin(np.arange(256), np.frombuffer(b"0123456789+-.,eE \t\n\r\f", np.uint8))

_DAYS = np.array([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])
_DAYS_BEFORE = np.concatenate([[0], np.cumsum(_DAYS)])
_DAYS_TO_1970 = 719_162  # from the first day of the year 1
#: What a text of the usual form says: nothing, a time without a zone, a time with one.
_NO_TIME, _NAIVE, _NAMED = range(3)
_ZERO, _EMPTY = pa.scalar("0"), pa.scalar("")


def blank(text: pa.Array) -> npt.NDArray[np.bool_]:
    """Tell where nothing stands: null, or blanks alone."""
    nothing: npt.NDArray[np.bool_] = (
        pc.match_substring_regex(text, _BLANK).fill_null(True).to_numpy(zero_copy_only=False)
    )
    return nothing


def numbers(text: pa.Array, *, decimal_comma: bool = False) -> pa.Array:
    """Read numbers, with a decimal comma too if declared; anything else, "nan" and "inf" included, is null."""
    data, starts, stops = _pieces(text)
    values, doubted = short_numbers(data, starts, stops, decimal_comma=decimal_comma)
    missing = np.isnan(values)
    if len(doubted):
        slowly = _any_numbers(text.take(pa.array(doubted)), decimal_comma=decimal_comma)
        missing[doubted] = slowly.is_null().to_numpy(zero_copy_only=False)
        values[doubted] = slowly.to_numpy(zero_copy_only=False)
    return pa.array(values, mask=missing) if missing.any() else pa.array(values)


def short_numbers(
    data: npt.NDArray[np.uint8], starts: Integers, stops: Integers, *, decimal_comma: bool = False
) -> tuple[Floats, Integers]:
    """Read numbers such as -8.618643 from pieces of bytes, and list those that may be written otherwise.

    All that is not read is NaN.
    """
    values = np.full(len(starts), np.nan)
    doubted = np.zeros(len(starts), np.bool_)
    _read_short(data, starts, stops, ord(",") if decimal_comma else ord("."), values, doubted)
    return values, np.flatnonzero(doubted)


def _pieces(text: pa.Array) -> tuple[npt.NDArray[np.uint8], Integers, Integers]:
    """Give the bytes of texts, and where each starts and stops; null is as empty."""
    text = text.cast(pa.large_binary())
    text = text.fill_null(b"") if text.null_count else text
    _, offset_buffer, data = text.buffers()
    offsets = np.frombuffer(offset_buffer or bytes(8), np.int64)[text.offset : text.offset + len(text) + 1]
    return np.frombuffer(data or b"", np.uint8), offsets[:-1], offsets[1:]


def _any_numbers(text: pa.Array, *, decimal_comma: bool) -> pa.Array:
    """Read numbers in any form."""
    pattern = _WITH_POINT_OR_COMMA if decimal_comma else _WITH_POINT
    plain = pc.if_else(pc.match_substring_regex(text, pattern), text, pa.scalar(None, text.type))
    # What matched is ASCII, so it is valid text.
    trimmed = pc.ascii_trim_whitespace(plain.cast(pa.string()))
    return (pc.replace_substring(trimmed, ",", ".") if decimal_comma else trimmed).cast(pa.float64())


def times(text: pa.Array, *, decimal_comma: bool = False, zone: str = UTC) -> pa.Array:
    """Read numbers as they are, and ISO 8601 as seconds since 1970: what sets an order and is no clock."""
    values = numbers(text, decimal_comma=decimal_comma)
    unread = values.is_null()
    if not pc.any(unread).as_py():
        return values
    microseconds = iso(text.filter(unread), zone).cast(pa.int64())
    seconds = pc.divide(microseconds.cast(pa.float64(), safe=False), 1e6)
    return pc.replace_with_mask(values, unread, seconds)


def iso(text: pa.Array, zone: str = UTC) -> pa.Array:
    """Read ISO 8601 as timestamps to the microsecond, UTC; local in `zone` unless it names one itself.

    A number is null.
    """
    ticks, said = np.zeros(len(text), np.int64), np.zeros(len(text), np.uint8)
    _read_iso(*_pieces(text), ticks, said)
    other = np.flatnonzero(said == _NO_TIME)
    missing = np.zeros(len(text), np.bool_)
    if len(other):
        given = text.take(pa.array(other))
        slowly = _any_iso(given)
        missing[other] = slowly.is_null().to_numpy(zero_copy_only=False)
        ticks[other] = slowly.fill_null(0).to_numpy(zero_copy_only=False)
        named = pc.match_substring_regex(given, _NAMES_ZONE).fill_null(False).to_numpy(zero_copy_only=False)
        said[other] = np.where(named, _NAMED, _NAIVE)
    times = pa.array(ticks, mask=missing if missing.any() else None).cast(pa.timestamp("us"))
    return instants(times, zone, naive=said == _NAIVE)


def _any_iso(text: pa.Array) -> pa.Array:
    """Read ISO 8601 in any form, field by field; null if it is not a day of the calendar."""
    matched = pc.match_substring_regex(text, _ISO)
    plain = pc.if_else(matched, text, pa.scalar(None, text.type)).cast(pa.string())
    fields = Fields(pc.extract_regex(plain, _ISO))
    year, month, day = (fields.integers(name) for name in ("year", "month", "day"))
    hour, minute, second = (fields.integers(name) for name in ("hour", "minute", "second"))
    zone_minutes = 60 * fields.integers("zone_hour") + fields.integers("zone_minute")
    zone_minutes *= np.where(pc.equal(fields.text("zone"), "-").to_numpy(False), -1, 1)

    seconds, right = calendar_seconds(year, month, day, hour, minute, second)
    right &= plain.is_valid().to_numpy(False)
    microseconds = 1_000_000 * (seconds - 60 * zone_minutes) + fields.microseconds("fraction")
    return pa.array(microseconds, mask=~right)


def calendar_seconds(
    year: Integers, month: Integers, day: Integers, hour: Integers, minute: Integers, second: Integers
) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """Count seconds since 1970, and tell which are a day of the calendar and a time of the day."""
    first = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    days = first.astype("datetime64[D]").astype(np.int64)
    days_in_month = (first + 1).astype("datetime64[D]").astype(np.int64) - days
    right = (month >= 1) & (month <= 12) & (day >= 1) & (day <= days_in_month)
    right &= (hour < 24) & (minute < 60) & (second < 61)
    return 86400 * (days + day - 1) + 3600 * hour + 60 * minute + second, right


@dataclass(frozen=True)
class Fields:
    """Hold the groups of a regular expression in each of many texts."""

    groups: pa.StructArray

    def __contains__(self, name: str) -> bool:
        return bool(self.groups.type.get_field_index(name) >= 0)

    def text(self, name: str) -> pa.Array:
        """Take one group, '0' where it is absent."""
        group = pc.coalesce(pc.struct_field(self.groups, name), _ZERO)
        return pc.if_else(pc.equal(group, _EMPTY), _ZERO, group)

    def integers(self, name: str, otherwise: int = 0) -> Integers:
        """Read one group as integers; without such a group, all are the same."""
        if name not in self:
            return np.full(len(self.groups), otherwise)
        values: Integers = pc.ascii_trim_whitespace(self.text(name)).cast(pa.int64()).to_numpy()
        return values

    def microseconds(self, name: str) -> Integers:
        """Read one group as a fraction of a second, its digits after a point, a comma or nothing."""
        if name not in self:
            return np.zeros(len(self.groups), np.int64)
        digits = pc.ascii_ltrim(self.text(name), characters=".,")
        fractions: Floats = pc.binary_join_element_wise(_ZERO, digits, ".").cast(pa.float64()).to_numpy()
        return np.rint(1e6 * fractions).astype(np.int64)


@compiled
def _read_short(data, starts, stops, separator, values, doubted):  # type: ignore[no-untyped-def]
    """Read numbers of few digits without an exponent; doubt what may be another number, and leave the rest."""
    for i in range(len(starts)):
        at, stop = starts[i], stops[i]
        while at < stop and data[at] == _SPACE:
            at += 1
        negative = at < stop and data[at] == _MINUS
        at += negative
        first, point = at, -1
        digits, n_digits = np.int64(0), 0  # without leading zeros
        while at < stop:
            digit = np.int64(data[at]) - _NUL
            if 0 <= digit <= 9:
                digits = 10 * digits + digit
                n_digits += int(n_digits > 0 or digit > 0)
            elif point < 0 and (data[at] == _POINT or data[at] == separator):
                point = at
            else:
                break
            at += 1
        has_digits = at - first > (point >= 0)
        n_decimals = at - point - 1 if point >= 0 else 0
        if at == stop and has_digits and n_digits <= _MOST_DIGITS and n_decimals < len(_POWERS):
            power = _POWERS[n_decimals]
            value = digits / power if digits <= _EXACT else _quotient(digits, power)
            if value >= 0:
                values[i] = -value if negative else value
                continue
        possible = at < stop or has_digits
        while possible and at < stop:
            possible = _OF_NUMBERS[data[at]]
            at += 1
        doubted[i] = possible


@compiled
def _quotient(digits, power):  # type: ignore[no-untyped-def]
    """Divide a whole number by a power of ten, to the nearest float; -1 where that is too close to call.

    The number is the sum of two floats. The first is divided, and what that leaves, which is known exactly, is
    divided again: a correction of about the last bit.
    """
    high = float(digits)
    low = float(digits - np.int64(high))
    quotient = high / power
    # The product of two floats is the sum of two floats.
    product = quotient * power
    a = _SPLITTER * quotient
    a = a - (a - quotient)
    b = quotient - a
    c = _SPLITTER * power
    c = c - (c - power)
    d = power - c
    rest = ((a * c - product) + a * d + b * c) + b * d
    correction = ((high - product) - rest + low) / power
    doubt = quotient * 2.0**-98 + abs(correction) * 2.0**-48  # more than these few steps can round away
    value = quotient + (correction - doubt)
    return value if value == quotient + (correction + doubt) else -1.0


@compiled
def _read_iso(data, starts, stops, ticks, said):  # type: ignore[no-untyped-def]
    """Read 2013-07-01T07:00:00, with up to six decimals, and with Z or an offset such as +01:00 or without."""
    for i in range(len(starts)):
        at, stop = starts[i], stops[i]
        if stop - at < 19 or data[at + 4] != _MINUS or data[at + 7] != _MINUS:
            continue
        if data[at + 13] != _COLON or data[at + 16] != _COLON:
            continue
        if data[at + 10] != _TEE and data[at + 10] != _SPACE:
            continue
        century, year = _two_digits(data, at), _two_digits(data, at + 2)
        month, day = _two_digits(data, at + 5), _two_digits(data, at + 8)
        hour, minute, second = (
            _two_digits(data, at + 11),
            _two_digits(data, at + 14),
            _two_digits(data, at + 17),
        )
        if min(century, year, month, day, hour, minute, second) < 0:
            continue
        year += 100 * century
        is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        if year < 1 or month < 1 or month > 12 or hour > 23 or minute > 59 or second > 59:
            continue
        if day < 1 or day > _DAYS[month - 1] + (is_leap and month == 2):
            continue
        at += 19
        fraction = 0
        if at < stop and data[at] == _POINT:
            at += 1
            unit = 100_000
            while at < stop and unit > 0 and _NUL <= data[at] <= _NINE:
                fraction += unit * (data[at] - _NUL)
                unit //= 10
                at += 1
            if unit == 100_000:
                continue
        found, ahead = _NAIVE, 0  # of UTC, in minutes
        if stop - at == 1 and data[at] == _ZULU:
            found = _NAMED
        elif stop - at == 6 and (data[at] == _PLUS or data[at] == _MINUS) and data[at + 3] == _COLON:
            hours, minutes = _two_digits(data, at + 1), _two_digits(data, at + 4)
            if min(hours, minutes) < 0:
                continue
            found, ahead = _NAMED, 60 * hours + minutes
            ahead = -ahead if data[at] == _MINUS else ahead
        elif at != stop:
            continue
        before = year - 1
        days = 365 * before + before // 4 - before // 100 + before // 400 - _DAYS_TO_1970
        days += _DAYS_BEFORE[month - 1] + (is_leap and month > 2) + day - 1
        seconds = 86400 * days + 3600 * hour + 60 * (minute - ahead) + second
        ticks[i] = 1_000_000 * seconds + fraction
        said[i] = found


@compiled
def _two_digits(data, at):  # type: ignore[no-untyped-def]
    """Read a number of two digits, or -1 or less where they are none."""
    tens, ones = np.int64(data[at]) - _NUL, np.int64(data[at + 1]) - _NUL
    return 10 * tens + ones if 0 <= tens <= 9 and 0 <= ones <= 9 else -1
