"""Make sources of others: the trajectories of a period of local days, or all in another system. As private."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self

import numpy as np

from privtrace.calendar import DAY_S, Period, Zone, seconds_of
from privtrace.observer import Observer
from privtrace.trajectories import (
    NO_TIMES,
    Crs,
    Flags,
    Source,
    Trajectories,
    each,
    is_remote,
    on_the_calendar,
)

#: What cannot be done without calendar times, and what to do instead, where there is a period.
NO_PERIOD = ("no period can be applied", "leave out --period (period)")


class _Found(NamedTuple):
    """Say what a pass over all trajectories found, in numbers that add up. For the curator: NOT PRIVATE."""

    n_trajectories: int = 0
    n_kept: int = 0
    n_untimed: int = 0

    @classmethod
    def of(cls, kept: Flags, has_time: Flags) -> _Found:
        return cls(len(kept), int(kept.sum()), int((~has_time).sum()))


#: What a source may have beside its duty, as `Source` lists it, and a derived one has as well.
_FURTHER = (
    "has_users",
    "has_clock",
    "zone",
    "times_by_default",
    "tell",
    "tell_untimed",
    "path",
    "engine",
    "close",
)


@dataclass(frozen=True)
class Derived:
    """Give trajectories of another source otherwise; what it may say beside is as the source says.

    Nothing else of the source can be had by this one: not what would lead to trajectories that are left out.
    """

    source: Source

    def __getattr__(self, name: str) -> Any:
        if name not in _FURTHER:
            raise AttributeError(name)
        return getattr(self.source, name)

    @property
    def crs(self) -> Crs:
        """Say what points mean."""
        return self.source.crs

    @property
    def n_points(self) -> int:
        """Tell how many rows a pass goes over, for progress only."""
        return self.source.n_points

    @property
    def gap_minutes(self) -> float | None:
        """Say by which public rule logs were cut into trajectories."""
        return self.source.gap_minutes

    def timed(self, consequence: str = NO_TIMES[0], instead: str = NO_TIMES[1]) -> Self:
        """Give the same of the source with its times read as calendar times."""
        timed = getattr(self.source, "timed", lambda *words: self.source)(consequence, instead)
        return self if timed is self.source else replace(self, source=timed)


@dataclass(frozen=True)
class Within(Derived):
    """Yield the trajectories of a source that begin in a period, the same ones in every pass.

    A trajectory begins on the local day of its first point that has a time, before anything is clipped. One
    that begins on another day, or has no time at all, does not count. A time before 1970 or after 9999 is none.
    """

    period: Period
    local: Zone  # in whose days the period counts
    # Of the first pass, until it is told, and then None.
    _found: list[_Found | None] = field(default_factory=list, init=False, repr=False, compare=False)

    def tell(self, observer: Observer) -> None:
        """Tell the curator what the source has to, and once, after a pass, how much begins in the period."""
        getattr(self.source, "tell", lambda observer: None)(observer)
        found = self._found[0] if self._found else None
        if found is not None:
            self._found[0] = None
            observer.note(
                f"{found.n_kept:,} of {found.n_trajectories:,} trips begin in the period {self.period} "
                f"(local days in {self.local.name}); {found.n_untimed:,} have no time",
                loud=found.n_kept == 0,
            )

    def parts(self) -> Iterable[Trajectories]:
        """Start a pass over the trajectories of the period."""
        parts = self.source.parts()
        if not is_remote(parts):
            return self._told(parts)
        period, local = self.period, self.local
        if not self._found:
            parts = parts.tallied(
                lambda part: [*_Found.of(*_begin(part, period, local))],
                len(_Found._fields),
                lambda numbers: self._heard(_Found(*numbers)),
            )
        return parts.each(lambda part: [_taken(part, _begin(part, period, local)[0])])

    def _told(self, parts: Iterable[Trajectories]) -> Iterator[Trajectories]:
        total = _Found()
        for part in parts:
            kept, has_time = _begin(part, self.period, self.local)
            total = _Found(*map(sum, zip(total, _Found.of(kept, has_time), strict=True)))
            yield _taken(part, kept)
        self._heard(total)

    def _heard(self, found: _Found) -> None:
        if not self._found:
            self._found.append(found)


def _taken(part: Trajectories, kept: Flags) -> Trajectories:
    return part if kept.all() else part.take(np.flatnonzero(kept))


def _begin(part: Trajectories, period: Period, local: Zone) -> tuple[Flags, Flags]:
    """Tell which trajectories begin in the period, and which have a time at all."""
    if part.times is None or not part.on_calendar:
        return np.zeros(len(part), np.bool_), np.zeros(len(part), np.bool_)
    seconds = seconds_of(part.times)
    timed = np.append(np.flatnonzero(seconds >= 0), part.n_points)
    # (n,): the first of each, or of a later one if it has none
    firsts = timed[np.searchsorted(timed, part.offsets[:-1])]
    has_time = firsts < part.offsets[1:]
    days = local.to_local(np.append(seconds, 0)[firsts]) // DAY_S
    return has_time & (days >= period.days.start) & (days < period.days.stop), has_time


def within(source: Source, period: Period, zone: str | None = None) -> Within:
    """Leave of a source what begins in a period, in days of a zone or its own: once, however often asked."""
    local = Zone.named(getattr(source, "zone", "UTC") if zone is None else zone)
    if isinstance(source, Within) and (source.period, source.local) == (period, local):
        return source
    return Within(source, period, local)


@contextmanager
def read_within(source: Source, period: Period | None, zone: str | None = None) -> Iterator[Source]:
    """Read a source with a clock, and leave of it what begins in a period; of no period, all as it is."""
    if period is None:
        yield source
        return
    with on_the_calendar(source, *NO_PERIOD) as timed:
        yield within(timed, period, zone)


@dataclass(frozen=True)
class Transformed(Derived):
    """Give a source in another coordinate system."""

    target: Crs

    @property
    def crs(self) -> Crs:
        """Say what points mean now."""
        return self.target

    def parts(self) -> Iterable[Trajectories]:
        """Start a pass over all trajectories."""
        target = self.target
        return each(self.source.parts(), lambda part: [part.to_crs(target)])
