"""Tell local time: zones by their IANA names, hours of the week, and periods of local days.

Everywhere else times are UTC, in whole numbers; here alone they are given a zone.
"""

from __future__ import annotations

import re
import zoneinfo
from bisect import bisect_left
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from privtrace.errors import SettingsError
from privtrace.trajectories import Array, Integers

DAY_S, WEEK_S = 86_400, 604_800

#: Ticks per second, by the unit in which times count since 1970.
UNITS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}

#: Offsets of zones are looked up within these years; before and after, the first and the last of them hold.
_YEARS = range(1970, 2101)

#: Times are read from the first of these moments on, up to the second; others are none, as in files.
_SANE = (np.datetime64("0001-01-01", "s"), np.datetime64("10000-01-01", "s"))

#: Units of datetime64 in which 64 bits end before they leave these years; one without a unit holds no time.
_SHORT_UNITS = frozenset({"ns", "ps", "fs", "as", "generic"})

#: Names of zones that are another one's on every machine, or no zone at all.
_NO_ZONES = frozenset({"localtime", "posixrules", "Factory"})

#: The day 0 of the epoch, 1970-01-01, was a Thursday; weeks begin on Monday.
_THURSDAY = 3


@dataclass(frozen=True, eq=False)
class Zone:
    """Hold a time zone: the moments at which its offset from UTC changes, and the offsets between them."""

    name: str  # of the IANA
    breaks: Integers  # (n,): seconds since 1970, UTC, rising
    offsets: Integers  # (n + 1,): seconds ahead of UTC, before the first of them and from each one on

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Zone) and (
            self.name == other.name
            and np.array_equal(self.breaks, other.breaks)
            and np.array_equal(self.offsets, other.offsets)
        )

    def __hash__(self) -> int:
        return hash(self.name)

    @classmethod
    def named(cls, name: str) -> Zone:
        """Find a zone by its IANA name, such as Europe/Lisbon."""
        return _zone(name)

    def within(self, period: Period) -> Zone:
        """Keep the changes that concern the days of a period, and a week around them."""
        days = period.days
        first, last = np.searchsorted(
            self.breaks, [DAY_S * days[0] - WEEK_S, DAY_S * days[-1] + 2 * WEEK_S], side="right"
        )
        return Zone(self.name, self.breaks[first:last], self.offsets[first : last + 1])

    def offsets_at(self, utc_s: Integers) -> Integers:
        """Give the seconds by which the zone is ahead of UTC at moments given in UTC."""
        offsets: Integers = self.offsets[np.searchsorted(self.breaks, utc_s, side="right")]
        return offsets

    def to_local(self, utc_s: Integers) -> Integers:
        """Turn seconds since 1970, UTC, into those that a clock on the wall shows."""
        return utc_s + self.offsets_at(utc_s)

    def to_utc(self, local: Integers, per_second: int = 1) -> Integers:
        """Turn what a clock on the wall shows into UTC, each by itself, in seconds or in finer ticks.

        A time that comes twice, when clocks go back, is the first; one that never comes, when they go forward,
        moves forward by the length of the gap. Where 64 bits end, times are left as they are.
        """
        # Both are read by the offset before the change.
        ends = self.breaks + np.maximum(self.offsets[:-1], self.offsets[1:])
        shift = per_second * self.offsets[np.searchsorted(ends, local // per_second, side="right")]
        return np.where(_movable(local, per_second), local - shift, local)

    def minutes_at(self, utc: Integers, per_second: int) -> Integers:
        """Give the whole minutes by which the zone is ahead of UTC: offsets in ISO 8601 have no seconds."""
        minutes = np.floor_divide(self.offsets_at(utc // per_second) + 30, 60)
        return np.where(_movable(utc, per_second), minutes, 0)


def _movable(ticks: Integers, per_second: int) -> Array:
    """Tell which times can be moved by any offset without leaving 64 bits."""
    margin = np.iinfo(np.int64).max - 2 * DAY_S * per_second
    return (ticks > -margin) & (ticks < margin)


def is_known(name: object) -> bool:
    """Tell whether a name is that of a zone of the IANA, in the data that this machine has."""
    return name == "UTC" or (isinstance(name, str) and name in _names())


@cache
def _names() -> frozenset[str]:
    """List the names of zones; those that mean something else on another machine are left out."""
    return frozenset(zoneinfo.available_timezones()) - _NO_ZONES


@cache
def _zone(name: str) -> Zone:
    """Find where the offset of a zone changes: weeks are looked at one by one, and the changes between them."""
    if not is_known(name):
        raise SettingsError(f"there is no time zone {name!r:.60}; give an IANA name like Europe/Lisbon or UTC")
    zone = zoneinfo.ZoneInfo(name)

    def offset(utc_s: int) -> int:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=utc_s)
        local = moment.astimezone(zone).utcoffset()
        assert local is not None
        return round(local.total_seconds())

    first, last = (int(datetime(year, 1, 1, tzinfo=UTC).timestamp()) for year in (_YEARS[0], _YEARS[-1]))
    weeks = range(first, last, WEEK_S)
    seen = [offset(week) for week in weeks]
    breaks, offsets = [], [seen[0]]
    for week, before, after in zip(weeks, seen, seen[1:], strict=False):
        if before != after:
            within = range(week, week + WEEK_S)
            # True from the moment on at which the offset is no longer the one before.
            place = bisect_left(within, True, key=lambda at, old=before: offset(at) != old)  # type: ignore[misc]
            breaks.append(week + place)
            offsets.append(after)
    return Zone(name, np.array(breaks, np.int64), np.array(offsets, np.int64))


def tzdata_version(name: str) -> str:
    """Say which version of the IANA's data a zone comes from: the system's, else the package's.

    A system that does not say which version it has leaves it unknown.
    """
    for folder in map(Path, zoneinfo.TZPATH):
        if (folder / name).is_file():  # the same folders, in the same order, in which zoneinfo looks
            return _version_in(folder)
    try:
        import tzdata  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        return "unknown"
    return str(tzdata.IANA_VERSION)


def _version_in(folder: Path) -> str:
    for name, pattern in (("tzdata.zi", r"# version (\S+)"), ("+VERSION", r"(\S+)")):
        try:
            with (folder / name).open(encoding="ascii") as file:
                found = re.match(pattern, file.readline())
        except (OSError, UnicodeDecodeError):
            continue
        if found:
            return found[1][:20]
    return "unknown"


def seconds_of(times: Array) -> Integers:
    """Turn datetime64 into whole seconds since 1970; what is no time is the least number."""
    seconds: Integers = sane(times).astype("datetime64[s]").view(np.int64)
    return seconds


def milliseconds_of(times: Array) -> Integers:
    """Turn datetime64 into whole milliseconds since 1970; what is no time is the least number."""
    milliseconds: Integers = sane(times).astype("datetime64[ms]").view(np.int64)
    return milliseconds


def sane(times: Array) -> Array:
    """Take datetime64 beyond the years 1 to 9999 for no time: in a finer unit it would wrap to another one."""
    if np.datetime_data(times.dtype)[0] in _SHORT_UNITS:
        return times
    first, end = (moment.astype(times.dtype) for moment in _SANE)
    return np.where((times >= first) & (times < end), times, np.array("NaT", times.dtype))


def hours_of_week(local_s: Integers) -> Integers:
    """Find the hour of the week of local times, from 0 on Monday at midnight to 167."""
    return (local_s // 3600 + 24 * _THURSDAY) % 168


def weekdays(days: Integers) -> Integers:
    """Find the weekday of days since 1970, from 0 on Monday to 6."""
    return (days + _THURSDAY) % 7


@dataclass(frozen=True)
class Period:
    """Hold a period of local days: from the first to the last, which is not part of it."""

    first: date
    end: date

    def __post_init__(self) -> None:
        if not date(1970, 1, 1) <= self.first < self.end:
            raise SettingsError(
                f"the period {self} must begin in 1970 or later and end on a later day (the end day "
                "itself is excluded)"
            )

    @classmethod
    def of(cls, value: Any) -> Period:
        """Read a period as it is written, 2013-07-01/2014-07-01: its last day is not part of it."""
        if isinstance(value, Period):
            return value
        try:
            first, end = (date.fromisoformat(day) for day in str(value).split("/"))
        except ValueError:
            raise SettingsError(
                "a period is two days, the first one and the one after the last, for example "
                f"2013-07-01/2014-07-01; not {value!r:.60}"
            ) from None
        return cls(first, end)

    def __str__(self) -> str:
        return f"{self.first}/{self.end}"

    @property
    def days(self) -> range:
        """List the days, counted from 1970."""
        epoch = date(1970, 1, 1)
        return range((self.first - epoch).days, (self.end - epoch).days)


#: Milliseconds in the units of durations, the longest first.
_UNITS = {"h": 3_600_000, "min": 60_000, "s": 1000, "ms": 1}
_DURATION = re.compile(r"(\d{1,9})(?:\.(\d{1,3}))? ?(h|min|s|ms)")


def duration(value: Any) -> str:
    """Write a duration in its plain form: 90 s is 90s, 60000ms is 1min."""
    milliseconds = _milliseconds(value)
    unit = next(unit for unit, count in _UNITS.items() if milliseconds % count == 0)
    return f"{milliseconds // _UNITS[unit]}{unit}"


def seconds_in(value: str | None) -> float:
    """Read a duration as seconds; none is 0."""
    return 0.0 if value is None else _milliseconds(value) / 1000


def _milliseconds(value: Any) -> int:
    found = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise ValueError(value)
    whole, part, unit = found.groups()
    milliseconds = Fraction(f"{whole}.{part or 0}") * _UNITS[unit]
    if milliseconds.denominator != 1 or not 1 <= milliseconds <= 24 * _UNITS["h"]:
        raise ValueError(value)
    return int(milliseconds)


#: Days on which trips fall that have no period: a week from Monday on.
TYPICAL_WEEK = Period(date(2024, 1, 1), date(2024, 1, 8))


@dataclass(frozen=True)
class Calendar:
    """Hold the public facts of local time: the zone, the days, and the version of the zone's data."""

    zone: Zone  # with the changes within the days alone
    tzdata: str
    period: Period | None  # None for a typical week

    @classmethod
    def of(cls, timezone: str, period: Period | None) -> Calendar:
        """Look the zone up, and keep what of it concerns the days."""
        return cls(Zone.named(timezone).within(period or TYPICAL_WEEK), tzdata_version(timezone), period)

    @property
    def days(self) -> range:
        """List the days on which trips depart, counted from 1970."""
        return (self.period or TYPICAL_WEEK).days
