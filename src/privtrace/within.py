"""Leave of a source the trajectories of a period of local days. Private data, as the source is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from privtrace.calendar import DAY_S, Period, Zone, seconds_of
from privtrace.observer import Observer
from privtrace.trajectories import Crs, Flags, Source, Trajectories


@dataclass(frozen=True)
class Within:
    """Yield the trajectories of a source that begin in a period, the same ones in every pass.

    A trajectory begins on the local day of its first point that has a time, before anything is clipped. One
    that begins on another day, or has no time at all, does not count. A time before 1970 is none.
    """

    source: Source
    period: Period
    local: Zone  # in whose days the period counts

    @property
    def crs(self) -> Crs:
        """Say whether points are longitude and latitude or planar."""
        return self.source.crs

    @property
    def n_points(self) -> int:
        """Tell how many rows a pass goes over, for progress only."""
        return self.source.n_points

    @property
    def gap_minutes(self) -> float | None:
        """Say by which public rule logs were cut into trajectories, before the period is looked at."""
        return self.source.gap_minutes

    @property
    def zone(self) -> str:
        """Say in which zone the times of the source are shown."""
        return str(self._said("zone", "UTC"))

    @property
    def has_users(self) -> bool:
        """Say whether trajectories may have users; a source from elsewhere need not know before a pass."""
        return bool(self._said("has_users", True))

    @property
    def has_clock(self) -> bool:
        """Say whether trajectories may have calendar times."""
        return bool(self._said("has_clock", True))

    @property
    def times_by_default(self) -> bool:
        """Say whether times are synthesized unless told otherwise."""
        return bool(self._said("times_by_default", False))

    def timed(self) -> Within:
        """Give the same of the source with its times read as calendar times."""
        timed = self._said("timed", lambda: self.source)()
        return self if timed is self.source else Within(timed, self.period, self.local)

    def tell(self, observer: Observer) -> None:
        """Tell the curator what the source has to tell."""
        self._said("tell", lambda observer: None)(observer)

    def parts(self) -> Iterator[Trajectories]:
        """Start a pass over the trajectories of the period."""
        for part in self.source.parts():
            counts = self._counts(part)
            yield part if counts.all() else part.take(np.flatnonzero(counts))

    def _counts(self, part: Trajectories) -> Flags:
        """Tell which trajectories begin in the period."""
        if part.times is None or not part.on_calendar:
            return np.zeros(len(part), np.bool_)
        seconds = seconds_of(part.times)
        timed = np.append(np.flatnonzero(seconds >= 0), part.n_points)
        firsts = timed[
            np.searchsorted(timed, part.offsets[:-1])
        ]  # (n,): of each, or of a later one if it has none
        has_time = firsts < part.offsets[1:]
        days = self.local.to_local(np.append(seconds, 0)[firsts]) // DAY_S
        return has_time & (days >= self.period.days.start) & (days < self.period.days.stop)

    def _said(self, name: str, otherwise: Any) -> Any:
        """Ask the source for what not every source can tell."""
        return getattr(self.source, name, otherwise)
