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
# The form that arrow reads by itself, and fast; the days are those that every such month has in every year.
_USUAL_ISO = (
    r"^\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    r"[T ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:[.]\d{1,6})?Z?$"
)
# The same with an offset, as it is written in a zone; the offset is its last signs.
_WITH_OFFSET = _USUAL_ISO.removesuffix("Z?$") + r"[+-]\d\d:\d\d$"
_OFFSET_SIGNS = len("+00:00")

# After the time of the day, these signs stand in a zone alone.
_NAMES_ZONE = r"[T ]\d\d:\d\d[^Z+-]*[Z+-]"

_BLANK = r"^\s*$"
_ZERO, _EMPTY = pa.scalar("0"), pa.scalar("")


def blank(text: pa.Array) -> npt.NDArray[np.bool_]:
    """Tell where nothing stands: null, or blanks alone."""
    nothing: npt.NDArray[np.bool_] = (
        pc.match_substring_regex(text, _BLANK).fill_null(True).to_numpy(zero_copy_only=False)
    )
    return nothing


def numbers(text: pa.Array, *, decimal_comma: bool = False) -> pa.Array:
    """Read numbers, with a decimal comma too if declared; anything else, "nan" and "inf" included, is null."""
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
    times = _iso(text).cast(pa.timestamp("us"))
    if zone == UTC:
        return times
    named = pc.match_substring_regex(text, _NAMES_ZONE).fill_null(False)
    return instants(times, zone, naive=~named.to_numpy(zero_copy_only=False))


def _iso(text: pa.Array) -> pa.Array:
    """Read ISO 8601 as microseconds since 1970: 1970-01-02T00:00:01.5 gives 86401500000."""
    usual = pc.match_substring_regex(text, _USUAL_ISO)
    plain = pc.if_else(usual, text, pa.scalar(None, text.type)).cast(pa.string())
    values = pc.ascii_rtrim(plain, characters="Z").cast(pa.timestamp("us")).cast(pa.int64())
    if usual.false_count:
        values = pc.replace_with_mask(values, pc.invert(usual), _iso_with_offset(text.filter(pc.invert(usual))))
    return values


def _iso_with_offset(text: pa.Array) -> pa.Array:
    """Read the usual form with an offset after it, and any other form field by field."""
    usual = pc.match_substring_regex(text, _WITH_OFFSET)
    if not usual.true_count:
        return _any_iso(text)
    plain = pc.if_else(usual, text, pa.scalar(None, text.type)).cast(pa.string())
    local = pc.utf8_slice_codeunits(plain, 0, -_OFFSET_SIGNS).cast(pa.timestamp("us")).cast(pa.int64())
    tails = pc.utf8_slice_codeunits(plain, -_OFFSET_SIGNS, None).dictionary_encode()
    minutes = [60 * int(tail[:3]) + int(tail[0] + tail[4:]) for tail in tails.dictionary.to_pylist()]  # few
    offsets = pa.array([60_000_000 * offset for offset in minutes], pa.int64()).take(tails.indices)
    values = pc.subtract(local, offsets)
    if usual.false_count:
        values = pc.replace_with_mask(values, pc.invert(usual), _any_iso(text.filter(pc.invert(usual))))
    return values


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
