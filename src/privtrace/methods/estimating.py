"""Estimate how far fitted numbers, counted on trips of a model, are off: from the model alone.

Three things set them apart from the true numbers, and each is found without the data:

- Noise and the draw. A replica is the model fitted again, as it was, to trips that it made itself, with noise
  of its own. What such trips had is known, so what a replica says of them shows how far fits like this one are
  off: by the noise, by the draw of the synthetic trips, and by all that is done between.
- Misfit. The world may not be as any such model. Where fitted and noisy numbers differ by more than the known
  noise, that is what shows of it. Some of what could hide behind the noise is added.
- Places below the size of cells. A model knows nothing of how trips lie within its cells, and zones cut
  cells. Trips are counted again with the contents of each cell drawn together around some place in it, for so
  they are around stations and along streets. All of a cell stays in it: whole cells are as sure as ever.

Errors are those of square roots of numbers: there, noise of counts is about the same for small and large ones,
and no interval reaches below zero. Numbers of about the same size share their errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from privtrace.methods.counting import Counter, Lines, Numbers, Sum, counted, lines_of
from privtrace.methods.foreseeing import MOST_TRIPS, sampled
from privtrace.methods.misfit import UNDER_ROOT, Misfits, measured_of
from privtrace.methods.registry import find
from privtrace.methods.sampling import gathered, sample_parts
from privtrace.methods.settings import Settings
from privtrace.methods.view import MARGIN, error_of
from privtrace.observer import Silent
from privtrace.privacy.unit import WEIGHT
from privtrace.privacy.unsafe_noise import SeededNoise
from privtrace.runs import Runs
from privtrace.space.grid import Grid
from privtrace.space.lattice import cells_of
from privtrace.trajectories import Floats, Trajectories

if TYPE_CHECKING:
    from privtrace.methods.model import Model

#: Replicas of a model, and how often the contents of its cells are moved, and drawn together to what share.
_REPLICAS, _MOVED, _TOGETHER = 2, 2, 1 / 3

#: Seeds of the trips that a replica is fitted to, of its noise and of its own trips; those of the model have 0.
_SEED = 1 << 20

#: How near numbers have to be to share their errors, in natural logarithms, and at how many sizes that is
#: worked out; what all sizes have in common counts as one number.
_NEAR, _SIZES, _COMMON = 0.5, 48, 1.0

_TINY = 1e-9

#: Digits of epsilon that a replica is fitted with, after the point.
_DIGITS = 6


@dataclass(frozen=True, eq=False)
class Estimates:
    """Hold fitted numbers, and between which bounds nine in ten of the true ones are expected."""

    numbers: Numbers
    low: Floats  # (n,): of the numbers that are listed
    high: Floats  # (n,)
    high_of_none: float  # of a number that is not listed

    @property
    def table(self) -> Floats:
        """Lay all numbers out: (size,)."""
        return self.numbers.table


class _Replica(NamedTuple):
    """Hold what a replica says, counter by counter, and what was true."""

    fitted: list[Numbers]
    true: list[Numbers]


@dataclass(frozen=True, eq=False)
class Sampling:
    """Say how many trips of a model are sampled, and how many real ones each stands for."""

    count: int
    per_trip: float

    @classmethod
    def of(cls, model: Model) -> Sampling:
        """Sample several trips for each of the model's: their draw should matter less than that of the data."""
        count = sampled(model.n_trajectories) if model.count else 0
        return cls(count, model.count / WEIGHT / max(count, 1))


@dataclass(frozen=True, eq=False)
class Total:
    """Hold how many trips there are in all, and the standard deviation of the noise of that."""

    count: float
    error: float

    @classmethod
    def of(cls, model: Model) -> Total:
        """Read the noisy or declared count."""
        declared = model.release.public_count is not None
        return cls(model.count / WEIGHT, 0.0 if declared else error_of(model.release, "count"))

    def share(self, number: float) -> float:
        """Divide a number by all trips."""
        return max(number / max(self.count, _TINY), _TINY)


class Watching(Protocol):
    """See the trips that are counted."""

    def add(self, part: Trajectories, lines: Lines) -> None:
        """See some trips, as they are and as counters see them."""
        ...


def estimated(
    model: Model, counters: Sequence[Counter], *, moved: Grid | None = None, also: Sequence[Watching] = ()
) -> list[Estimates]:
    """Count sampled trips, and find how far each number may be off.

    Contents of the cells of the grid `moved` are moved: none, if what is counted are cells of the model. Others
    may watch the trips too.
    """
    sampling, measured = Sampling.of(model), measured_of(model)
    both = [*counters, *(one.counter for one in measured)]
    sums, shifted = [Sum(one) for one in both], [[Sum(one) for one in counters] for _ in range(_MOVED)]
    for part, lines in lines_of(model, sampling.count, 0):
        for watching in also:
            watching.add(part, lines)
        for one in sums:
            one.add(lines)
        for turn, again in enumerate(shifted if moved is not None else []):
            assert moved is not None
            elsewhere = _displaced(lines, moved, turn)
            for one in again:
                one.add(elsewhere)
    numbers = [one.total(sampling.per_trip) for one in sums]
    fitted, known = numbers[: len(counters)], numbers[len(counters) :]
    others = [[one.total(sampling.per_trip) for one in again] for again in shifted]
    misfits, total = Misfits.of(model, measured, known), Total.of(model)
    replicas = [*_replicas(model, counters)] if sampling.count else []
    return [
        _bounded(
            fitted[n],
            [(one.fitted[n], one.true[n]) for one in replicas],
            [again[n] for again in others] if moved is not None else [],
            # To several of some numbers a trip adds, such as those of all cells that it passes.
            partial(misfits.of_roots, counter, n_each=total.share(float(fitted[n].values.sum()))),
            total,
        )
        for n, counter in enumerate(counters)
    ]


def _replicas(model: Model, counters: Sequence[Counter]) -> Iterator[_Replica]:
    """Fit the model again to trips that it made, a few times.

    Trips of a model are public, so that this spends nothing. The noise is seeded, for the same model has to
    give the same intervals; nothing of a replica is released but how far it is off. A model of more trips than
    can be sampled is fitted to fewer, with as much less noise.
    """
    count = min(max(model.n_trajectories, 1), MOST_TRIPS)
    scale = model.count / WEIGHT / count
    settings = _settings_again(model, count, Fraction(round(scale * 10**_DIGITS), 10**_DIGITS))
    for number in range(_REPLICAS):
        seed = _SEED + 3 * number
        trips, _ = gathered(sample_parts(model, count, seed), count)
        again = settings.fit(trips, noise=SeededNoise(seed + 1), observer=_Unmoved())
        true = counted(counters, _blocks(trips, model), scale)
        sampling = Sampling.of(again)
        lines = (lines for _, lines in lines_of(again, sampling.count, seed + 2))
        yield _Replica(counted(counters, lines, sampling.per_trip * scale), true)


class _Unmoved(Silent):
    """Pass on nothing of how a replica is fitted: whoever asks for numbers has heard it of the model."""

    def note(self, text: str, *, loud: bool = False) -> None:
        """Drop it."""

    def warn(self, text: str) -> None:
        """Drop it."""


def _blocks(trips: Trajectories, model: Model) -> Iterator[Lines]:
    """Bring trips to the form that counters see, block by block."""
    release, size = model.release, model.block_trajectories
    for first in range(0, len(trips), size):
        yield Lines.of(trips[first : first + size], release.region, release.times)


def _settings_again(model: Model, count: int, scale: Fraction) -> Settings:
    """Give the settings that a model was fitted with, for its own trips: each is protected by itself."""
    release = model.release
    settings = find(release.method).settings.of_release(release)
    return replace(
        settings,
        epsilon=release.epsilon * max(scale, Fraction(1, 10**_DIGITS)) / release.unit.contributions,
        unit="trajectory",
        max_per_user=None,
        period=None,
        public_count=None if release.public_count is None else count,
    )


def _displaced(lines: Lines, grid: Grid, turn: int) -> Lines:
    """Draw the contents of each cell together around a place in it, another place each turn."""
    points, region = lines.runs.points, grid.region
    cells = cells_of(points, grid.lattice)
    inside = np.flatnonzero(cells >= 0)
    cells = cells[inside]
    # Evenly spread over the cell, and the same each time: multiples of two irrational numbers.
    steps = (np.arange(1, grid.n_cells + 1)[:, np.newaxis] + turn * grid.n_cells) * np.array([_FIRST, _SECOND])
    corners = (grid.boxes[:, :2] - region.bounds[:2]) * np.array(region.scale_m)
    places = corners + steps % 1.0 * grid.sizes_m
    moved = points.copy()
    moved[inside] = places[cells] + _TOGETHER * (points[inside] - places[cells])
    return replace(lines, runs=Runs(moved, lines.runs.offsets))


#: The powers of the inverse of the plastic number, whose multiples fill a square evenly.
_FIRST, _SECOND = 0.7548776662466927, 0.5698402909980532


def _bounded(
    fitted: Numbers,
    replicas: Sequence[tuple[Numbers, Numbers]],
    moved: Sequence[Numbers],
    misfit: Callable[[Floats], Floats],
    total: Total,
) -> Estimates:
    """Find between which bounds the true numbers are expected, and last that of a number that is not listed."""
    values = np.append(fitted.values, 0.0)
    if not replicas:
        none = np.zeros(len(fitted.values))
        return Estimates(fitted, none, none + total.count, total.count)
    pairs = _pairs(replicas)
    variances = _with_complements(lambda sizes: _shared(*pairs, sizes) + misfit(sizes), values, total)
    if moved:
        apart = np.mean([_squares(one.at(fitted.codes), fitted.values) for one in moved], axis=0)
        # Half by each number itself, since borders cut some cells and others not; half by all of its size.
        apart = (np.append(apart, 0.0) + _shared(fitted.values, apart, values)) / 2
        variances = variances + apart
    low, high = _interval(values, MARGIN * np.sqrt(variances))
    return Estimates(fitted, low[:-1], high[:-1], float(high[-1]))


def _with_complements(variances_of: Callable[[Floats], Floats], values: Floats, total: Total) -> Floats:
    """Give the variances of roots; of most trips, by those that are left.

    What is in a place is off by what is elsewhere, and by what all together are off by.
    """
    variances = variances_of(values)
    most = np.flatnonzero(values > total.count / 2)
    left = np.maximum(total.count - values[most], 0.0)
    squares = 4 * (left + UNDER_ROOT) * variances_of(left) + total.error**2
    variances[most] = np.minimum(variances[most], squares / (4 * (values[most] + UNDER_ROOT)))
    return variances


def _interval(values: Floats, margins: Floats) -> tuple[Floats, Floats]:
    """Go to both sides of numbers by margins of their square roots; none reaches below zero."""
    roots = np.sqrt(values + UNDER_ROOT)
    low = np.maximum((roots - margins).clip(0.0) ** 2 - UNDER_ROOT, 0.0)
    high = (roots + margins) ** 2 - UNDER_ROOT
    return np.minimum(low, values), np.maximum(high, values)


def _squares(some: Floats, others: Floats) -> Floats:
    """Square the differences of the square roots of numbers."""
    roots = (np.sqrt(np.maximum(numbers, 0.0) + UNDER_ROOT) for numbers in (some, others))
    squares: Floats = np.subtract(*roots) ** 2
    return squares


def _pairs(replicas: Sequence[tuple[Numbers, Numbers]]) -> tuple[Floats, Floats]:
    """Compare what replicas say with what was true: numbers, and their squared errors; zeros are left out."""
    sizes, squares = [], []
    for fitted, true in replicas:
        codes = np.union1d(fitted.codes, true.codes)
        said, had = fitted.at(codes), true.at(codes)
        there = (said > 0) | (had > 0)
        sizes.append(said[there])
        squares.append(_squares(said[there], had[there]))
    return np.concatenate(sizes), np.concatenate(squares)


def _shared(sizes: Floats, squares: Floats, at: Floats) -> Floats:
    """Average squared errors over numbers of about the same size."""
    if not len(sizes):
        return np.zeros(len(at))
    most = float(max(np.log1p(sizes).max(), np.log1p(at).max(initial=0.0)))
    grid = np.linspace(0.0, most + 1e-9, _SIZES)
    # Numbers are first brought to the nearest sizes of the grid, so that the work does not grow with them.
    places = np.round(np.log1p(sizes) / grid[1]).astype(np.int64)
    counts, sums = np.bincount(places, minlength=_SIZES), np.bincount(places, squares, _SIZES)
    near = np.exp(-0.5 * ((grid[:, np.newaxis] - grid) / _NEAR) ** 2)
    means = (near @ sums + _COMMON * squares.mean()) / (near @ counts + _COMMON)
    found: Floats = np.interp(np.log1p(at), grid, means)
    return found
