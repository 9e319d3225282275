"""Test whether one method has less error than another: Welch's test of runs, corrected after Holm."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from privtrace.trajectories import Floats

#: A difference counts as significant where its corrected p-value is below this.
LEVEL = 0.05

#: What is below this share of a mean is rounding, be it a standard deviation or a difference of means.
_ROUNDING = 1e-12


def welch(first: Floats, second: Floats) -> float:
    """Compute the two-sided p-value of Welch's t-test, for two samples whose variances may differ.

    NaN where one of them has fewer than two numbers. Samples that never vary differ surely, or not at all.
    """
    from scipy.special import stdtr  # here, for the library behind it takes long to load

    difference, error, freedom = _difference(first, second)
    if math.isnan(error):
        return math.nan
    if not error:
        return 0.0 if difference else 1.0
    return float(2 * stdtr(freedom, -abs(difference) / error))


def _difference(first: Floats, second: Floats) -> tuple[float, float, float]:
    """Give the difference of two means, its standard error, and Welch's degrees of freedom."""
    if len(first) < 2 or len(second) < 2:
        return math.nan, math.nan, math.nan
    means = float(first.mean()), float(second.mean())
    rounding = _ROUNDING * max(map(abs, means))
    squares = [float(sample.var(ddof=1)) / len(sample) for sample in (first, second)]
    spread = sum(square**2 / (len(x) - 1) for square, x in zip(squares, (first, second), strict=True))
    freedom = sum(squares) ** 2 / spread if spread else math.inf
    error = math.sqrt(sum(squares))
    return _apart(*means), 0.0 if error <= rounding else error, freedom


def _apart(first: float, second: float) -> float:
    """Subtract two means; what is rounding is no difference."""
    difference = first - second
    return 0.0 if abs(difference) <= _ROUNDING * max(abs(first), abs(second)) else difference


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values of one family after Holm: holm([0.01, 0.04]) -> [0.02, 0.04]. NaN stays NaN."""
    tested = sorted((p, place) for place, p in enumerate(p_values) if not math.isnan(p))
    corrected, largest = list(p_values), 0.0
    for rank, (p, place) in enumerate(tested):
        largest = max(largest, min(1.0, p * (len(tested) - rank)))
        corrected[place] = largest
    return corrected


@dataclass(frozen=True)
class Duel:
    """Hold how two competitors compare in one metric at one epsilon."""

    first: str
    second: str
    epsilon: str
    difference: float  # of mean errors, first minus second: below zero the first is better
    p_value: float  # corrected within the metric; NaN where it could not be tested

    @property
    def is_significant(self) -> bool:
        """Tell whether the difference is more than chance."""
        return self.p_value < LEVEL


def duels(
    labels: Sequence[str], epsilons: Sequence[str], errors: Mapping[tuple[str, str], Floats]
) -> list[Duel]:
    """Compare each pair of competitors at each epsilon, with errors by label and epsilon: one family of tests.

    A pair of which one has no errors at an epsilon is left out there.
    """
    pairs = [
        (one, other, epsilon)
        for epsilon in epsilons
        for place, one in enumerate(labels)
        for other in labels[place + 1 :]
        if len(errors.get((one, epsilon), ())) and len(errors.get((other, epsilon), ()))
    ]
    p_values = holm([welch(errors[one, epsilon], errors[other, epsilon]) for one, other, epsilon in pairs])
    return [
        Duel(one, other, epsilon, _apart(*(float(np.mean(errors[who, epsilon])) for who in (one, other))), p)
        for (one, other, epsilon), p in zip(pairs, p_values, strict=True)
    ]


@dataclass(frozen=True)
class Wins:
    """Count in how many settings one competitor has less error than another."""

    better: int
    significant: int  # of these, by more than chance
    settings: int

    def __add__(self, other: Wins) -> Wins:
        return Wins(
            self.better + other.better,
            self.significant + other.significant,
            self.settings + other.settings,
        )


def wins(given: Sequence[Duel], one: str, other: str) -> Wins:
    """Count the wins of one competitor over another."""
    met = [duel for duel in given if {duel.first, duel.second} == {one, other}]
    won = [duel for duel in met if (duel.difference < 0) == (duel.first == one) and duel.difference]
    return Wins(len(won), sum(duel.is_significant for duel in won), len(met))
