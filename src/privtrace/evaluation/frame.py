"""Put two sets of trajectories in one frame: the same region, the same clipping, the same chance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from privtrace.caching import cached_property
from privtrace.calendar import WEEK_S
from privtrace.compiling import compiled
from privtrace.geometry import diameters_m, ends_apart_m, steps_m, sums
from privtrace.methods.common.placing import decode
from privtrace.paths import Paths
from privtrace.random import EVALUATING, philox, uniform
from privtrace.runs import Runs
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.space.region import Region
from privtrace.trajectories import Array, Floats, Integers, Trajectories

#: What chance is used for: each has draws of its own.
CIRCLES, QUERIES, REAL, SYNTHETIC, SPLITS, BASELINE, BOOTSTRAP = range(7)


Value = TypeVar("Value")


@dataclass(frozen=True, eq=False, repr=False)
class Clipped(Runs):
    """Hold runs, none of them empty, and what was measured of them."""

    # Not handed on by `replace`: what is taken out of these has other lengths.
    _known: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def once(self, name: str, measure: Callable[[], Value]) -> Value:
        """Measure what several profiles look at, the first time that one asks for this name."""
        if name not in self._known:
            self._known[name] = measure()
        value: Value = self._known[name]
        return value

    @property
    def steps_m(self) -> Floats:
        """Give how far each point is from the one before: (n_points,), 0 for the first of a trajectory."""
        return self.once("steps", lambda: steps_m(self.points, self.offsets))

    @property
    def length_m(self) -> Floats:
        """Give the length of each."""
        return self.once("length", lambda: sums(self.steps_m, self.offsets))

    @property
    def diameter_m(self) -> Floats:
        """Give the diameter of each."""
        return self.once("diameter", lambda: diameters_m(self.points, self.offsets))

    @property
    def apart_m(self) -> Floats:
        """Give how far the ends of each are apart."""
        return self.once("apart", lambda: ends_apart_m(self.points, self.offsets))


@dataclass(frozen=True)
class Frame:
    """Hold what both sets are seen through: a region that knows its coordinates, a public seed, a time zone."""

    region: Region
    seed: int
    zone: str = "UTC"  # in which hours are shown: an IANA name

    @cached_property
    def _whole(self) -> Grid:
        return Grid.uniform(self.region, 1)

    def clip(self, part: Trajectories) -> Clipped:
        """Clip trajectories as a fit does, and drop those that have no point inside."""
        runs = clip(part, self.region)
        present = np.append(True, np.diff(runs.offsets) > 0)
        return Clipped(runs.points, runs.offsets[present], runs.times)

    def places(self, offsets: Integers, first: int, use: int) -> Trajectories:
        """Draw trajectories, numbered from `first`, whose points are uniform in the region."""
        nowhere = Paths(np.zeros(offsets[-1], np.int32), offsets)
        return decode(nowhere, self._whole, first, self._key(use))

    def moments(self, offsets: Integers, first: int, use: int) -> Array:
        """Draw times of points for trajectories, numbered from `first`, as datetime64.

        Departures are uniform over a week, and all other points over the week after the departure, in order.
        """
        moments: Integers = _moments(offsets, first, np.uint64(self._key(use)))
        return moments.view("datetime64[us]")

    def _key(self, use: int) -> int:
        """Give a key for draws of many trajectories: synthetic points may be drawn from the seed itself."""
        return int(self._words(1, use, 1)[0, 0])

    def centers_m(self, count: int, use: int) -> Floats:
        """Draw places uniform in the region, in meters from the box's southwest corner: (count, 2)."""
        return self.clip(self.places(np.arange(count + 1), 0, use)).points

    def shuffled(self, count: int, use: int, again: int = 0) -> Integers:
        """Put the numbers from 0 to count - 1 in random order."""
        return np.argsort(self.draw(count, use, again)[:, 0], kind="stable")

    def draw(self, count: int, use: int, again: int = 0) -> Floats:
        """Draw numbers uniform in [0, 1): (count, 2)."""
        return _uniform(self._words(count, use, 2 + again))  # type: ignore[no-any-return]

    def _words(self, count: int, use: int, again: int) -> Integers:
        return _words(count, np.uint64(self.seed), np.uint64(again << 8 | use))  # type: ignore[no-any-return]


class Unclipped(Frame):
    """Take trajectories as they are: a random walk is in the region, though its lines may leave it."""

    def clip(self, part: Trajectories) -> Clipped:
        """Bring points to meters."""
        return Clipped(self.region.meters(part.points), part.offsets, part.times)


@compiled
def _moments(offsets, first, key):  # type: ignore[no-untyped-def]
    """Draw microseconds since 1970: (n_points,).

    Numbers uniform over a stretch, in order, are sums of exponential ones as shares of the sum of one more.
    """
    moments = np.empty(offsets[-1], np.int64)
    week = WEEK_S * 1_000_000
    for t in range(len(offsets) - 1):
        n, trajectory = offsets[t + 1] - offsets[t], np.uint64(first + t)
        sums = np.zeros(n + 1)
        for p in range(1, n + 1):
            word, _ = philox(key, trajectory, np.uint64(p), np.uint64(EVALUATING))
            sums[p] = sums[p - 1] - math.log1p(-uniform(word))
        word, _ = philox(key, trajectory, np.uint64(0), np.uint64(EVALUATING))
        departure = int(uniform(word) * week)
        for p in range(n):
            moments[offsets[t] + p] = departure + int(sums[p] / sums[n] * week)
    return moments


@compiled
def _words(count, seed, step):  # type: ignore[no-untyped-def]
    words = np.empty((count, 2), np.uint64)
    for i in range(count):
        words[i] = philox(seed, np.uint64(i), step, np.uint64(EVALUATING))
    return words


@compiled
def _uniform(words):  # type: ignore[no-untyped-def]
    numbers = np.empty(words.shape)
    for i in range(len(words)):
        numbers[i, 0], numbers[i, 1] = uniform(words[i, 0]), uniform(words[i, 1])
    return numbers
