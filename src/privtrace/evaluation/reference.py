"""Compare synthetic sets with one real set: every metric, with its limit, random baseline and intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from privtrace.calendar import Period
from privtrace.evaluation.compare import defined
from privtrace.evaluation.comparison import Comparison
from privtrace.evaluation.frame import BASELINE, BOOTSTRAP, SPLITS, Unclipped
from privtrace.evaluation.measured import MeasuredSet
from privtrace.evaluation.metric import Metric, Profile
from privtrace.methods.declaring import days
from privtrace.space.region import Region
from privtrace.trajectories import Crs, Floats, Integers, Source, Trajectories, check_source, part_bounds
from privtrace.within import read_within

Values = dict[str, float]  # by metric; NaN where it is not defined

#: Splits into halves of which a limit is the mean.
N_SPLITS = 5


@dataclass(frozen=True, eq=False)
class Reference:
    """Hold real data, measured once, so that many synthetic sets can be compared with it. NOT PRIVATE."""

    comparison: Comparison
    real: MeasuredSet
    period: str | None = None  # of the real data, where only what begins in one counts

    @classmethod
    def of(cls, real: Source, region: Region, *, period: str | None = None, **settings: Any) -> Reference:
        """Measure the real set in one pass, or what of it begins in a period; settings as of `Comparison.of`.

        Hours and days are those of the real data's zone, unless another is given.
        """
        check_source(real)
        zone = settings.pop("zone", None) or getattr(real, "zone", "UTC")
        period = days(period)
        with read_within(real, None if period is None else Period.of(period), zone) as met:
            return cls.measured(met, Comparison.of(region, real.crs, zone=zone, **settings))

    @classmethod
    def measured(cls, real: Source, comparison: Comparison) -> Reference:
        """Measure the real set in one pass, for a comparison that is laid down already."""
        period = getattr(real, "period", None)
        return cls(comparison, comparison.measure(real, "real"), None if period is None else str(period))

    def measure(self, synthetic: Source) -> MeasuredSet:
        """Measure a synthetic set in one pass."""
        return self.comparison.measure(synthetic)

    def values(self, synthetic: MeasuredSet, real: MeasuredSet | None = None) -> Values:
        """Compare a set with the real one, or with what is given for it, by every metric.

        Where one of them has no usable times, metrics that need them are not defined.
        """
        [values] = self._values_of([(self.real if real is None else real, synthetic)])
        return values

    def _values_of(
        self, pairs: Iterable[tuple[MeasuredSet, MeasuredSet]], *, with_times: bool = True
    ) -> Iterator[Values]:
        """Compare the second of each pair of sets with the first, metrics side by side on the backend."""

        def comparing() -> Iterator[Callable[[], float]]:
            for real, synthetic in pairs:
                have_times = with_times and real.has_times and synthetic.has_times
                for profile in self.comparison.profiles:
                    both = real.traits[profile.name], synthetic.traits[profile.name]
                    for metric in profile.metrics:
                        can = have_times or not metric.needs_times
                        yield partial(metric.compare, *both) if can else lambda: np.nan

        names = [metric.name for metric in self.comparison.metrics]
        values = self.comparison.backend.map(lambda compare: compare(), comparing())
        while some := list(islice(values, len(names))):
            yield dict(zip(names, some, strict=True))

    def limit(self, *, with_times: bool = True) -> Values:
        """Compare one random half of the real data with the other: what chance alone makes of a metric.

        Without times, metrics that need them are not defined.

        The mean of a few splits, which are drawn anew: one alone would be as much chance as limit. A half is
        half as large as the data, so fresh data of full size would come out lower.
        """
        if len(self.real) < 2:
            return {metric.name: np.nan for metric in self.comparison.metrics}
        halves = self.comparison.backend.map(self._split, range(N_SPLITS))
        splits = list(self._values_of(halves, with_times=with_times))
        columns = {name: defined([split[name] for split in splits]) for name in splits[0]}
        return {name: float(column.mean()) if len(column) else np.nan for name, column in columns.items()}

    def _split(self, again: int) -> tuple[MeasuredSet, MeasuredSet]:
        return self.real.ordered(self.comparison.frame.shuffled(len(self.real), SPLITS, again)).halves()

    def baseline(self, *, with_times: bool = True) -> Values:
        """Compare a uniform random walk over the region: what a set gets that knows nothing of the data.

        It has as many trajectories as the real data, each with as many points, and every step leads to a place
        uniform in the region. Departures are uniform over the week, and the points after them over a week. A
        metric that would find the real data in it again, as in its numbers of points, takes those from it.
        Without times, metrics that need them are not defined.
        """
        profiles = self.comparison.profiles
        if not (with_times and self.real.has_times):
            return self._baseline_of(profiles, with_times=False)
        # A walk that is everywhere has long paths: traits of places and those of times are not held together.
        values: Values = {}
        for timed in (False, True):
            own = tuple(profile for profile in profiles if profile.needs_times == timed)
            values |= self._baseline_of(own, with_times=timed) if own else {}
        return values

    def _baseline_of(self, profiles: tuple[Profile, ...], *, with_times: bool) -> Values:
        measures = {profile.name: self.comparison.measures[profile.name] for profile in profiles}
        given = self.comparison.frame
        frame = Unclipped(given.region, given.seed, given.zone)
        own = replace(self.comparison, frame=frame, profiles=profiles, measures=measures)  # without figures
        walks = partial(self._uniform_walks, with_times)
        made = Made(walks, self.comparison.crs, int(self.real.n_points.sum()))
        walk = own.measure(made, text=f"Measuring a random walk{' in time' if with_times else ''}")
        return replace(self, comparison=own).values(walk) | {
            metric.name: metric.compare(
                self.real.traits[profile.name], metric.uninformed(walk.traits[profile.name])
            )
            for profile in profiles
            for metric in profile.metrics
            if metric.uninformed is not None
        }

    def _uniform_walks(self, with_times: bool) -> Iterator[Trajectories]:
        frame, offsets = self.comparison.frame, np.concatenate([[0], np.cumsum(self.real.n_points)])
        for start, stop in part_bounds(offsets):
            own = offsets[start : stop + 1] - offsets[start]
            times = frame.moments(own, start, BASELINE) if with_times else None
            yield replace(frame.places(own, start, BASELINE), times=times)

    def intervals(
        self, synthetic: MeasuredSet, values: Values, n_replicates: int
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
        with self.comparison.observer.stage("Resampling", n_replicates) as advance:
            for row in self.comparison.backend.map(replicate, range(n_replicates)):
                replicates.append(row)
                advance(1)
        return {
            metric.name: _interval(metric, values[metric.name], column)
            for metric, column in zip(self.comparison.metrics, np.transpose(replicates), strict=True)
        }

    def _resampled(self, count: int, again: int) -> Integers:
        """Draw as many trajectories as there are, with replacement: how often each was drawn."""
        places = (self.comparison.frame.draw(count, BOOTSTRAP, again)[:, 0] * count).astype(np.int64)
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
