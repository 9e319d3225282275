"""Find how far fitted numbers are off beyond their noise: what shows of a world unlike the model.

Fitted numbers and noisy ones of the same thing differ by the noise, which is known, and by misfit. Five things
cannot be seen that way, and are allowed for:

- What could hide behind the noise: half of the standard error of the misfit is added to it.
- Trips between places that are not the zones between which trips were measured, and by hours. There a model can
  only guess who goes where. What guessing costs shows one size up: zones are joined to larger ones, trips
  between zones are guessed from trips between these, and the guess is held against what was measured. Likewise
  starts and ends, which are guessed from visits.
- Trips of methods that measure neither trips nor ends. Nothing says there which ends belong to which starts, so
  that bounds go from next to nothing to several times the number.
- What neighbors are off by together: see `Misfits`.
- Other numbers by hours. Of the misfit of a place, some is the same at all hours and some is not: each hour has
  the geometric mean of both cases.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from privtrace.methods.counting import (
    KINDS,
    CellPlaces,
    Counter,
    Departures,
    Ends,
    GroupPlaces,
    Numbers,
    Pairs,
    Visits,
)
from privtrace.methods.view import Layer, Noisy, Trips, error_of
from privtrace.trajectories import Floats, Integers

if TYPE_CHECKING:
    from privtrace.methods.model import Model

#: Put under square roots: with it, those of small counts spread as those of large ones do (Anscombe, 1948).
UNDER_ROOT = 0.375

#: Numbers below this say nothing of misfit, and so few neither; and how often its likelihood is climbed.
_LEAST, _FEWEST, _ROUNDS = 1.0, 3, 60

#: Of what guesses of trips, and of their ends, cost: walks know more, such as how long trips are. And of what
#: visits are off by, for trips and departures: much of it is about neither.
_GUESSED_TRIPS, _GUESSED_ENDS, _OF_VISITS = 1 / 3, 1 / 4, 1 / 2

#: Relative variance of trips where neither they nor ends were measured: bounds begin near zero.
_UNKNOWN = 1.5

_TINY = 1e-9
_NONE: Floats = np.zeros((2, 2))


class Measured(NamedTuple):
    """Hold noisy numbers of a kind, and how to count them on synthetic trips."""

    kind: str
    counter: Counter
    noisy: Noisy


def measured_of(model: Model) -> list[Measured]:
    """List what was measured of a model that synthetic trips can be held against."""
    view = model.view()
    found = [Measured("visits", Visits(layer), layer.visits) for layer in view.layers]
    if view.trips is not None:
        noisy, n = view.trips.noisy, view.trips.n_groups
        groups = GroupPlaces(CellPlaces(view.layers[view.trips.layer].grid), view.trips.groups, n)
        found.append(Measured("trips", Pairs(groups), noisy))
        error, table = math.sqrt(n) * noisy.error, noisy.values.reshape(n, n)
        for axis, name in enumerate(("ends", "starts")):
            ends = Noisy(name, table.sum(axis=axis), error)
            found.append(Measured("ends", Ends(groups, name == "starts"), ends))
    if model.timing is not None and model.timing.timetable is not None:
        weights, error = model.timing.timetable.departures, error_of(model.release, "departures")
        found.append(Measured("departures", Departures(), Noisy.of("departures", weights, error)))
    return found


class Misfit(NamedTuple):
    """Say how far numbers are off beyond the noise: the variance of a number of so many trips."""

    per_trip: float = 0.0
    per_square: float = 0.0  # what large numbers are off by, relative to them
    errors: Floats = _NONE  # (2, 2): the covariance of the two, as far as the noise lets them be known

    def scaled(self, factor: float) -> Misfit:
        """Take another share of it."""
        return Misfit(self.per_trip * factor, self.per_square * factor, self.errors * factor**2)

    def of_roots(self, sizes: Floats, n_each: float) -> Floats:
        """Give the variance of square roots of numbers, to n_each of which a trip adds.

        Half of the standard error is added: so much may well be there and not show.
        """
        once = np.maximum(sizes, _LEAST) / n_each
        known = self.per_trip + self.per_square * once
        unknown = self.errors[0, 0] + 2 * self.errors[0, 1] * once + self.errors[1, 1] * once**2
        roots: Floats = n_each * (known + np.sqrt(np.maximum(unknown, 0.0)) / 2) / 4
        # Small numbers of such a variance are skewed: most are nearer. So are bounds of gamma variables.
        return 1.0 / (1.0 / np.maximum(roots, _TINY) + 1.0 / (sizes + UNDER_ROOT))


@dataclass(frozen=True)
class Misfits:
    """Hold the misfits of a model, by the kind of what was measured."""

    visits: Mapping[int, Misfit]  # by the number of cells of a layer, from coarse to fine
    by_kind: Mapping[str, Sequence[Misfit]]  # of all others
    guessed: Misfit  # of trips between places that are not the zones between which trips were measured

    @classmethod
    def of(cls, model: Model, measured: Sequence[Measured], known: Sequence[Numbers]) -> Misfits:
        """Hold what was measured against the same numbers of synthetic trips."""
        found = [(by, misfit_of(one.table, by.noisy)) for by, one in zip(measured, known, strict=True)]
        visits = {by.counter.size: misfit for by, misfit in found if by.kind == "visits"}
        by_kind = {kind: [misfit for by, misfit in found if by.kind == kind] for kind in KINDS}
        view = model.view()
        if view.trips is None:
            has_ends = any(one.name == "ends" for layer in view.layers for one in layer.numbers)
            return cls(visits, by_kind, Misfit() if has_ends else Misfit(per_square=_UNKNOWN))
        trips, layer = view.trips, view.layers[view.trips.layer]
        by_kind["ends"] = by_kind["ends"] + [guessed_ends(trips, layer).scaled(_GUESSED_ENDS)]
        return cls(visits, by_kind, misfit_of(guess(trips, layer), trips.noisy).scaled(_GUESSED_TRIPS))

    def of_roots(self, counter: Counter, numbers: Floats, n_each: float) -> Floats:
        """Give the variances of the square roots of numbers of a counter, to n_each of which a trip adds."""
        n_slots, kind = counter.slots.n, counter.kind
        if kind == "visits":
            return self.visits[counter.size].of_roots(numbers, n_each)
        share = 1.0 if kind in ("passing", "ends") else _OF_VISITS
        known = [one.of_roots(numbers, n_each) for one in self.by_kind[kind]]
        known.append(share * self._of_places(_n_places(counter), numbers, n_each))
        most: Floats = np.max(known, axis=0) / math.sqrt(n_slots)
        if kind == "trips":  # by hours no less: none were measured so
            most = np.maximum(most, self.guessed.of_roots(numbers, n_each))
        return most

    def _of_places(self, n_places: int, numbers: Floats, n_each: float) -> Floats:
        """Give what numbers of so many places are off by, as visits of cells are, and together with neighbors.

        What small cells are off by by themselves is known best. But what they are off by together shows only in
        large ones: the smallest places have the geometric mean of both, and larger ones more of the latter.
        """
        coarse, fine = min(self.visits), max(self.visits)
        apart = math.log(fine / coarse)
        share = min(max(math.log(n_places / coarse) / apart, 0.0), 1.0) / 2 if apart else 0.0
        of_large, of_small = (self.visits[n].of_roots(numbers, n_each) for n in (coarse, fine))
        roots: Floats = of_large ** (1 - share) * of_small**share
        return roots


def _n_places(counter: Counter) -> int:
    """Count the places that numbers are about; hours are all about the largest."""
    n_numbers = counter.size // counter.slots.n
    return {"trips": math.isqrt(n_numbers), "departures": 1}.get(counter.kind, n_numbers)


def guess(trips: Trips, layer: Layer) -> Floats:
    """Guess trips between zones from trips between larger ones, by how many begin and end in each: (n * n,)."""
    n, table = trips.n_groups, trips.noisy.values.reshape(trips.n_groups, -1)
    larger = _joined(trips, layer)
    starts, ends = (np.maximum(table.sum(axis=axis), _LEAST) for axis in (1, 0))
    between = np.zeros((larger.max() + 1,) * 2)
    np.add.at(between, (larger[:, np.newaxis], larger), table)
    of_starts, of_ends = (each / np.bincount(larger, each)[larger] for each in (starts, ends))
    shares = of_starts[:, np.newaxis] * of_ends
    guessed: Floats = np.maximum(between, 0.0)[larger[:, np.newaxis], larger] * shares
    return guessed.reshape(n * n)


def guessed_ends(trips: Trips, layer: Layer) -> Misfit:
    """Guess how many trips begin and end in zones, by visits and larger zones, and see how far that is off."""
    n, larger = trips.n_groups, _joined(trips, layer)
    visits = np.maximum(np.bincount(trips.groups, layer.visits.values, n), _LEAST)
    shares = visits / np.bincount(larger, visits)[larger]
    table = trips.noisy.values.reshape(n, n)
    measured = [table.sum(axis=axis) for axis in (1, 0)]
    guesses = [np.maximum(np.bincount(larger, ends), 0.0)[larger] * shares for ends in measured]
    noisy = Noisy("ends", np.concatenate(measured), math.sqrt(n) * trips.noisy.error)
    return misfit_of(np.concatenate(guesses), noisy)


def _joined(trips: Trips, layer: Layer) -> Integers:
    """Join zones whose centers lie in the same square, about four at a time: (n_groups,)."""
    bounds, n = layer.grid.region.bounds, trips.n_groups
    per_side = max(2, round(math.sqrt(n) / 2))
    sizes = np.bincount(trips.groups, minlength=n)
    centers = np.stack([np.bincount(trips.groups, axis, n) / sizes for axis in layer.grid.pieces.centers.T])
    places = (centers - bounds[:2, np.newaxis]) / (bounds[2:] - bounds[:2])[:, np.newaxis]
    column, row = np.minimum((places * per_side).astype(np.int64), per_side - 1)
    joined: Integers = np.unique(row * per_side + column, return_inverse=True)[1]
    return joined


def misfit_of(numbers: Floats, noisy: Noisy) -> Misfit:
    """Find how far fitted numbers are off beyond their noise.

    What fitted and noisy numbers differ by has the variance of the noise, if the fit is right; what is more is
    misfit. Each number counts by how much it can say: their likelihood is maximal.
    """
    known = numbers > _LEAST
    fitted, beyond = numbers[known], (numbers - noisy.values)[known] ** 2 - noisy.error**2
    if len(fitted) < _FEWEST:
        return Misfit()
    powers, found = np.stack([fitted, fitted**2], axis=1), np.zeros(2)
    found[0] = max(float(beyond.sum() / fitted.sum()), 0.0)
    for _ in range(_ROUNDS):
        weights = (noisy.error**2 + powers @ found + _TINY) ** -2.0
        inverse = np.linalg.pinv((powers * weights[:, np.newaxis]).T @ powers)
        found = (found + _least_squares(powers, beyond, weights)) / 2
    scores = powers * (weights * (beyond - powers @ found))[:, np.newaxis]
    per_trip, per_square = found.tolist()
    return Misfit(per_trip, per_square, inverse @ (scores.T @ scores) @ inverse)


def _least_squares(powers: Floats, wanted: Floats, weights: Floats) -> Floats:
    """Fit two factors, neither below zero, to what is wanted."""
    together, with_wanted = (powers.T * weights) @ powers, (powers.T * weights) @ wanted
    both = np.linalg.pinv(together) @ with_wanted
    if (both >= 0).all():
        return both
    alone = np.maximum(with_wanted / together.diagonal(), 0.0)
    gains = alone * with_wanted - alone**2 * together.diagonal() / 2
    found: Floats = np.where(np.arange(2) == np.argmax(gains), alone, 0.0)
    return found
