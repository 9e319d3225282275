"""Hold synthetic sets against one real set: traits in one pass, then every metric, limit and ceiling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from privtrace.backends.base import Backend
from privtrace.backends.local import Threads
from privtrace.backends.passes import Passes
from privtrace.errors import DataError, SettingsError
from privtrace.evaluation import adatrace, mobility, paper
from privtrace.evaluation.compare import defined
from privtrace.evaluation.frame import BOOTSTRAP, CEILING, REAL, SPLITS, SYNTHETIC, Frame
from privtrace.evaluation.metric import Measure, Metric, Profile
from privtrace.evaluation.portrait import Portrait, check, named, portrait_of
from privtrace.observer import Observer, Silent
from privtrace.space.region import MISSING, Region
from privtrace.trajectories import Crs, Floats, Integers, Source, Trajectories, part_bounds

PROFILES = {profile.name: profile for profile in (paper.PROFILE, adatrace.PROFILE, mobility.PROFILE)}

Values = dict[str, float]  # by metric; NaN where it is not defined

#: Splits into halves of which a limit is the mean.
N_SPLITS = 5


def profiles_named(name: str) -> tuple[Profile, ...]:
    """Find the profiles of a name: one, or all."""
    if name == "all":
        return tuple(PROFILES.values())
    if name not in PROFILES:
        raise SettingsError(f"the profile must be {', '.join(PROFILES)} or all, not {name!r}")
    return (PROFILES[name],)


@dataclass(frozen=True, eq=False)
class Yardstick:
    """Hold real data, measured once, so that many synthetic sets can be compared with it. NOT PRIVATE."""

    frame: Frame
    profiles: tuple[Profile, ...]
    measures: Mapping[str, Measure]  # of each profile, and of what else is measured: for clipped parts
    real: Portrait
    crs: Crs
    backend: Backend
    observer: Observer

    @classmethod
    def of(
        cls,
        real: Source,
        region: Region,
        *,
        profile: str = "paper",
        seed: int = 1,
        also: tuple[Profile, ...] = (),
        backend: Backend | None = None,
        observer: Observer | None = None,
    ) -> Yardstick:
        """Measure the real set in one pass: the traits of a profile, and also those of others."""
        if not isinstance(region, Region):
            raise SettingsError(MISSING)
        if not isinstance(seed, int) or not 0 <= seed < 1 << 64:
            raise SettingsError(f"a seed is a whole number from 0 to 2**64 - 1, not {seed}")
        passes = Passes(real, backend or Threads(), observer or Silent())
        frame = Frame(region.for_data(real.crs), seed)
        profiles = profiles_named(profile)
        measured = dict.fromkeys((*profiles, *also))  # each once: some draw circles first
        measures = {profile.name: profile.measuring(frame) for profile in measured}
        portrait = portrait_of(passes, frame, measures, REAL, "Measuring the real data")
        check(portrait, frame, named(real, "real"), passes.observer)
        if not len(portrait):
            raise DataError(f"{named(real, 'real')}: there are no trajectories to compare with")
        return cls(frame, profiles, measures, portrait, real.crs, passes.backend, passes.observer)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """List the metrics of all profiles."""
        return tuple(metric for profile in self.profiles for metric in profile.metrics)

    def measure(self, synthetic: Source) -> Portrait:
        """Measure a synthetic set in one pass."""
        return self._measured(synthetic, self.measures, "Measuring the synthetic data")

    def _measured(self, synthetic: Source, measures: Mapping[str, Measure], text: str) -> Portrait:
        passes = Passes(synthetic, self.backend, self.observer)
        if synthetic.crs != self.crs:
            raise DataError(
                f"the real data is {self.crs} and the synthetic data is {synthetic.crs}: they cannot be "
                "compared. If both hold the same coordinates, say which with --crs (crs=...); else project one"
            )
        portrait = portrait_of(passes, self.frame, measures, SYNTHETIC, text)
        name = named(synthetic, "synthetic")
        check(portrait, self.frame, name, self.observer)
        if not len(portrait):
            self.observer.note(f"{name}: it is empty; its numbers are what nothing at all gets", loud=True)
        return portrait

    def values(self, synthetic: Portrait, real: Portrait | None = None) -> Values:
        """Compare a set with the real one, or with what is given for it, by every metric."""
        real = self.real if real is None else real
        return {
            metric.name: metric.compare(real.traits[profile.name], synthetic.traits[profile.name])
            for profile in self.profiles
            for metric in profile.metrics
        }

    def limit(self) -> Values:
        """Compare one random half of the real data with the other: what sampling alone makes of a metric.

        The mean of a few splits, which are drawn anew: one alone would be as much chance as limit. A half is
        half as large as the data, so fresh data of full size would come out lower.
        """
        if len(self.real) < 2:
            return {metric.name: np.nan for metric in self.metrics}
        splits = list(self.backend.map(self._split, range(N_SPLITS)))
        columns = {metric.name: defined([split[metric.name] for split in splits]) for metric in self.metrics}
        return {name: float(column.mean()) if len(column) else np.nan for name, column in columns.items()}

    def _split(self, again: int) -> Values:
        first, second = self.real.ordered(self.frame.shuffled(len(self.real), SPLITS, again)).halves()
        return self.values(second, first)

    def ceiling(self) -> Values:
        """Compare a uniform random walk over the region: what a set gets that knows nothing of the data.

        It has as many trajectories as the real data, each with as many points, and every step leads to a place
        uniform in the region.
        """
        made = Made(self._uniform_walks, self.crs, int(self.real.n_points.sum()))
        scored = {profile.name: self.measures[profile.name] for profile in self.profiles}
        return self.values(self._measured(made, scored, "Measuring a random walk"))

    def _uniform_walks(self) -> Iterator[Trajectories]:
        offsets = np.concatenate([[0], np.cumsum(self.real.n_points)])
        for start, stop in part_bounds(offsets):
            yield self.frame.places(offsets[start : stop + 1] - offsets[start], start, CEILING)

    def intervals(
        self, synthetic: Portrait, values: Values, n_replicates: int
    ) -> dict[str, tuple[float, float]]:
        """Find 95 % intervals by bootstrap: resample the trajectories of both sets, and compare again.

        They say where values of other samples of these sizes would lie. Resampling adds chance of its own,
        which moves all distances up; so the interval is laid around the value itself, as wide to either side as
        95 % of the replicates are around their mean.
        """

        def replicate(again: int) -> list[float]:
            real = self.real.weighing(self._resampled(len(self.real), 2 * again))
            other = synthetic.weighing(self._resampled(len(synthetic), 2 * again + 1))
            return list(self.values(other, real).values())

        replicates = []
        with self.observer.stage("Resampling", n_replicates) as advance:
            for row in self.backend.map(replicate, range(n_replicates)):
                replicates.append(row)
                advance(1)
        return {
            metric.name: _interval(metric, values[metric.name], column)
            for metric, column in zip(self.metrics, np.transpose(replicates), strict=True)
        }

    def _resampled(self, count: int, again: int) -> Integers:
        """Draw as many trajectories as there are, with replacement: how often each was drawn."""
        places = (self.frame.draw(count, BOOTSTRAP, again)[:, 0] * count).astype(np.int64)
        return np.bincount(places, minlength=count)


def _interval(metric: Metric, value: float, replicates: Floats) -> tuple[float, float]:
    """Lay an interval around a value, from the replicates in which the metric is defined."""
    replicates = defined(replicates)
    if not len(replicates):
        return np.nan, np.nan
    below, above = np.quantile(replicates, (0.025, 0.975)) - replicates.mean()
    # The mean lies beyond a quantile where a few replicates are far from all others.
    low, high = value + min(float(below), 0.0), value + max(float(above), 0.0)
    return max(low, metric.low), min(high, metric.high)


@dataclass(frozen=True)
class Made:
    """Offer trajectories that are made while they are passed over. A `Source`."""

    make: Callable[[], Iterator[Trajectories]]
    crs: Crs
    n_points: int
    gap_minutes: float | None = None

    def parts(self) -> Iterator[Trajectories]:
        """Start a pass."""
        return self.make()
