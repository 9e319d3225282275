"""Read numbers and times that are written as text, each value on its own.

What cannot be read is missing. How one value is read never depends on another: a type guessed from many
rows would let one row change the meaning of all.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.trajectories import Floats, Integers

# Digits are limited so that no value can overflow; nothing that can be measured needs more.
_NUMBER = r"^\s*[+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30})(?:[eE][+-]?\d{1,2})?\s*$"
_ISO = (
    r"^\s*(?P<year>\d{4})-(?P<month>\d\d)-(?P<day>\d\d)"
    r"(?:[T ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?P<fraction>[.]\d{1,9})?)?"
    r"\s*(?:Z|(?P<zone>[+-])(?P<zone_hour>\d\d):?(?P<zone_minute>\d\d)?)?)?\s*$"
)


def numbers(text: pa.Array) -> pa.Array:
    """Read numbers; anything else, "nan" and "inf" included, is null."""
    plain = pc.if_else(pc.match_substring_regex(text, _NUMBER), text, pa.scalar(None, text.type))
    # What matched is ASCII, so it is valid text.
    return pc.ascii_trim_whitespace(plain.cast(pa.string())).cast(pa.float64())


def times(text: pa.Array) -> pa.Array:
    """Read numbers as they are, and ISO 8601 as seconds since 1970 (UTC unless it names a zone)."""
    values = numbers(text)
    unread = values.is_null()
    if not pc.any(unread).as_py():
        return values
    return pc.replace_with_mask(values, unread, _iso_seconds(text.filter(unread)))


def _iso_seconds(text: pa.Array) -> pa.Array:
    """Read ISO 8601 as seconds: 1970-01-02T00:00:01 gives 86401. Not a day of the calendar: null."""
    matched = pc.match_substring_regex(text, _ISO)
    plain = pc.if_else(matched, text, pa.scalar(None, text.type)).cast(pa.string())
    fields = pc.extract_regex(plain, _ISO)
    year, month, day = (_integers(fields, name) for name in ("year", "month", "day"))
    hour, minute, second = (_integers(fields, name) for name in ("hour", "minute", "second"))
    zone_minutes = 60 * _integers(fields, "zone_hour") + _integers(fields, "zone_minute")
    zone_minutes *= np.where(pc.equal(_field(fields, "zone"), "-").to_numpy(False), -1, 1)

    first = (12 * (year - 1970) + month - 1).astype("datetime64[M]")
    days = first.astype("datetime64[D]").astype(np.int64)
    days_in_month = (first + 1).astype("datetime64[D]").astype(np.int64) - days
    right = (month >= 1) & (month <= 12) & (day >= 1) & (day <= days_in_month)
    right &= (hour < 24) & (minute < 60) & (second < 61)
    seconds = 86400 * (days + day - 1) + 3600 * hour + 60 * (minute - zone_minutes) + second
    return pa.array(seconds + _fractions(fields), mask=~(right & plain.is_valid().to_numpy(False)))


def _field(fields: pa.StructArray, name: str) -> pa.Array:
    """Take one group of a match, '0' where it is absent."""
    group = pc.fill_null(pc.struct_field(fields, name), "0")
    return pc.if_else(pc.equal(group, ""), "0", group)


def _integers(fields: pa.StructArray, name: str) -> Integers:
    values: Integers = _field(fields, name).cast(pa.int64()).to_numpy()
    return values


def _fractions(fields: pa.StructArray) -> Floats:
    values: Floats = _field(fields, "fraction").cast(pa.float64()).to_numpy()
    return values
