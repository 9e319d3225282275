"""Hold synthetic sets against one real set: traits in one pass, then every metric, limit and ceiling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from privtrace.backends.base import Backend
from privtrace.backends.local import Threads
from privtrace.backends.scan import Scan
from privtrace.errors import DataError, SettingsError
from privtrace.evaluation import adatrace, mobility, paper
from privtrace.evaluation.frame import BOOTSTRAP, CEILING, REAL, SPLITS, SYNTHETIC, Frame
from privtrace.evaluation.metric import Metric, Profile
from privtrace.evaluation.traits import Traits
from privtrace.observer import Observer, Silent
from privtrace.space.region import MISSING, Region
from privtrace.trajectories import Crs, Floats, Integers, Source, Trajectories, part_bounds

PROFILES = {profile.name: profile for profile in (paper.PROFILE, adatrace.PROFILE, mobility.PROFILE)}

Values = dict[str, float]  # by metric; NaN where it is not defined

#: Splits into halves of which a limit is the mean.
N_SPLITS = 5

#: Data that fills less than this share of the region's width and height is perhaps not meant for it.
_SMALL = 0.05


def profiles_named(name: str) -> tuple[Profile, ...]:
    """Find the profiles of a name: one, or all."""
    if name == "all":
        return tuple(PROFILES.values())
    if name not in PROFILES:
        raise SettingsError(f"the profile must be {', '.join(PROFILES)} or all, not {name!r}")
    return (PROFILES[name],)


@dataclass(frozen=True, eq=False)
class Portrait:
    """Hold what is measured of one set in one pass."""

    traits: Mapping[str, Traits]  # by profile
    n_points: Integers  # (n,): points of each trajectory in its run
    tally: Integers  # (6,): as `Region.tally` counts
    extent_m: Floats  # (2,): the greatest x and y of all runs less the least

    def __len__(self) -> int:
        return len(self.n_points)

    def weighing(self, weights: Integers) -> Portrait:
        """Let trajectories count as often as these weights say."""
        return self._changed(weights=weights)

    def with_lots(self, lots: Floats) -> Portrait:
        """Choose subsets by other lots."""
        return self._changed(lots=lots)

    def _changed(self, **arrays: Any) -> Portrait:
        return replace(self, traits={name: replace(given, **arrays) for name, given in self.traits.items()})

    def halves(self) -> tuple[Portrait, Portrait]:
        """Divide into two random halves."""
        first, second = next(iter(self.traits.values())).halves()
        return self.weighing(first.weights), self.weighing(second.weights)


@dataclass(frozen=True, eq=False)
class Yardstick:
    """Hold real data, measured once, so that many synthetic sets can be compared with it. NOT PRIVATE."""

    frame: Frame
    profiles: tuple[Profile, ...]
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
        backend: Backend | None = None,
        observer: Observer | None = None,
    ) -> Yardstick:
        """Measure the real set in one pass."""
        if not isinstance(region, Region):
            raise SettingsError(MISSING)
        if not isinstance(seed, int) or not 0 <= seed < 1 << 64:
            raise SettingsError(f"a seed is a whole number from 0 to 2**64 - 1, not {seed}")
        scan = Scan(real, backend or Threads(), observer or Silent())
        frame = Frame(region.for_data(real.crs), seed)
        profiles = profiles_named(profile)
        portrait = _portrait(scan, frame, profiles, REAL, "Measuring the real data")
        _check(portrait, frame, _named(real, "real"), scan.observer)
        if not len(portrait):
            raise DataError(f"{_named(real, 'real')}: there are no trajectories to compare with")
        return cls(frame, profiles, portrait, real.crs, scan.backend, scan.observer)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """List the metrics of all profiles."""
        return tuple(metric for profile in self.profiles for metric in profile.metrics)

    def measure(self, synthetic: Source, text: str = "Measuring the synthetic data") -> Portrait:
        """Measure a synthetic set in one pass."""
        scan = Scan(synthetic, self.backend, self.observer)
        if synthetic.crs != self.crs:
            raise DataError(
                f"the real data is {self.crs} and the synthetic data is {synthetic.crs}: they cannot be "
                "compared. If both hold the same coordinates, say which with --crs (crs=...); else project one"
            )
        portrait = _portrait(scan, self.frame, self.profiles, SYNTHETIC, text)
        name = _named(synthetic, "synthetic")
        _check(portrait, self.frame, name, self.observer)
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
        """Compare one random half of the real data with the other: what no set can be asked to beat.

        The mean of a few splits, which are drawn anew: one alone would be as much chance as limit.
        """
        if len(self.real) < 2:
            return {metric.name: np.nan for metric in self.metrics}
        splits = [self._split(again) for again in range(N_SPLITS)]
        return {
            metric.name: mean_of_defined([split[metric.name] for split in splits]) for metric in self.metrics
        }

    def _split(self, again: int) -> Values:
        first, second = self.real.with_lots(self.frame.draw(len(self.real), SPLITS, again)[:, 0]).halves()
        return self.values(second, first)

    def ceiling(self) -> Values:
        """Compare a uniform random walk over the region: what a set gets that knows nothing of the data.

        It has as many trajectories as the real data, each with as many points, and every step leads to a place
        uniform in the region.
        """
        made = Made(self._uniform_walks, self.crs, int(self.real.n_points.sum()))
        return self.values(self.measure(made, "Measuring a random walk"))

    def _uniform_walks(self) -> Iterator[Trajectories]:
        offsets = np.concatenate([[0], np.cumsum(self.real.n_points)])
        for start, stop in part_bounds(offsets):
            yield self.frame.places(offsets[start : stop + 1] - offsets[start], start, CEILING)

    def intervals(
        self, synthetic: Portrait, values: Values, n_replicates: int
    ) -> dict[str, tuple[float, float]]:
        """Find 95 % intervals by bootstrap: resample the trajectories of both sets, and compare again.

        Resampling adds chance of its own, which moves all distances up. So the interval is laid around the
        value itself, as wide to either side as 95 % of the replicates are around their mean.
        """
        replicates = []
        with self.observer.stage("Resampling", n_replicates) as advance:
            for again in range(n_replicates):
                real = self.real.weighing(self._resampled(len(self.real), 2 * again))
                other = synthetic.weighing(self._resampled(len(synthetic), 2 * again + 1))
                replicates.append(list(self.values(other, real).values()))
                advance(1)
        return {
            metric.name: _interval(metric, values[metric.name], column)
            for metric, column in zip(self.metrics, np.transpose(replicates), strict=True)
        }

    def _resampled(self, count: int, again: int) -> Integers:
        """Draw as many trajectories as there are, with replacement: how often each was drawn."""
        places = (self.frame.draw(count, BOOTSTRAP, again)[:, 0] * count).astype(np.int64)
        return np.bincount(places, minlength=count)


def mean_of_defined(values: Sequence[float]) -> float:
    """Average what is defined; NaN if nothing is."""
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else np.nan


def _interval(metric: Metric, value: float, replicates: Floats) -> tuple[float, float]:
    """Lay an interval around a value, from the replicates in which the metric is defined."""
    defined = replicates[~np.isnan(replicates)]
    if not len(defined):
        return np.nan, np.nan
    below, above = np.quantile(defined, (0.025, 0.975)) - defined.mean()
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


def _portrait(scan: Scan, frame: Frame, profiles: tuple[Profile, ...], use: int, text: str) -> Portrait:
    """Measure all that the profiles look at, in one pass over a source."""
    measures = {profile.name: profile.measuring(frame) for profile in profiles}

    def kernel(part: Trajectories) -> _Part:
        runs = frame.clip(part)
        traits = {name: measure(runs) for name, measure in measures.items()}
        ends = [runs.points.min(axis=0, initial=np.inf), -runs.points.max(axis=0, initial=-np.inf)]
        return _Part(traits, np.diff(runs.offsets), frame.region.tally(part), np.array(ends))

    parts = [*scan.map(kernel, text)] or [kernel(Trajectories.concatenate([], scan.source.crs))]
    n_points = np.concatenate([part.n_points for part in parts])
    traits: dict[str, Any] = {
        name: type(parts[0].traits[name]).joined([part.traits[name] for part in parts]) for name in measures
    }
    tally = np.sum([part.tally for part in parts], axis=0)
    extent_m = -np.min([part.ends_m for part in parts], axis=0).sum(axis=0)
    return Portrait(traits, n_points, tally, extent_m).with_lots(frame.draw(len(n_points), use)[:, 0])


class _Part(NamedTuple):
    """Hold what is measured of one part."""

    traits: dict[str, Traits]
    n_points: Integers
    tally: Integers
    ends_m: Floats  # (2, 2): the least x and y, and the greatest, negated


def _check(portrait: Portrait, frame: Frame, name: str, observer: Observer) -> None:
    """Refuse a set that cannot be meant, and tell of one that perhaps is not."""
    _, _, inside, outside, bad, swapped = (int(number) for number in portrait.tally)
    n_points = inside + outside + bad
    if swapped > 100 * inside:  # a few points are inside by chance
        raise DataError(
            f"{name}: {inside:,} of {n_points:,} points lie in the region, and {swapped:,} would if x and y "
            "changed places; longitude and latitude seem to be swapped. Exchange the names of its columns, or "
            "the sides of the region, which are W,S,E,N"
        )
    if n_points and bad == n_points:
        raise DataError(
            f"{name}: none of {n_points:,} points is one; they are not numbers, or not longitudes from -180 to "
            "180 and latitudes from -90 to 90. Are the columns right? Planar data needs columns x and y, or "
            "--crs planar (crs='planar')"
        )
    if n_points and not inside:
        raise DataError(
            f"{name}: none of {n_points:,} points lies in the region; is it the right region, and is it in the "
            "data's coordinates?"
        )
    if 2 * inside < n_points:
        observer.note(f"{name}: most of its points are outside the region, and do not count", loud=True)
    elif n_points and np.all(portrait.extent_m < _SMALL * np.array([frame.width_m, frame.height_m])):
        observer.note(f"{name}: it fills a small part of the region; are its sides W,S,E,N?", loud=True)


def _named(source: Source, role: str) -> str:
    path = getattr(source, "path", None)
    return f"the {role} data" if path is None else f"the {role} data, {path}"
