"""Divide what is spent on points and times among their stages, and choose how fine their grids are."""

from __future__ import annotations

import math
from fractions import Fraction

#: Of what is spent on points.
OF_POINTS = {"points": Fraction(44, 100), "gaps": Fraction(42, 100), "jumps": Fraction(14, 100)}

#: Of what is spent on times. Departures need most: 168 hours; ticks and pauses are few numbers that stand out.
OF_CLOCK = {
    "departures": Fraction(460, 1000),
    "ticks": Fraction(55, 1000),
    "stretches": Fraction(45, 1000),
    "paces": Fraction(150, 1000),
    "pauses": Fraction(55, 1000),
    "speeds": Fraction(30, 1000),
    "tempos": Fraction(35, 1000),
    "parts": Fraction(170, 1000),
}

#: What needs no measuring where the tick is public: a trip of n points then takes n - 1 ticks.
BY_TICK = ("ticks", "stretches", "paces", "pauses")

#: What gets the noise of each stage, for plans.
NOISY = {
    "points": "a number of points by length",
    "gaps": "a relative distance between points",
    "jumps": "a distance between points",
    "departures": "an hour of the week",
    "ticks": "a time between points",
    "stretches": "a class of uneven times",
    "paces": "a duration by length",
    "pauses": "a pause",
    "parts": "a trip in a part of the day",
    "speeds": "a speed between points",
    "tempos": "a speed in a part of the day",
}

#: Trips of a part of the day between two zones, on average, in errors of one.
_TRIPS_PER_ERROR = 0.4
MOST_PER_SIDE = 6


def shares_of(sampling: Fraction, clock: Fraction, *, by_tick: bool) -> dict[str, Fraction]:
    """Divide the shares of epsilon for points and for the clock among the stages."""
    points = {stage: part * sampling for stage, part in OF_POINTS.items()}
    times = {stage: part * clock for stage, part in OF_CLOCK.items() if not (by_tick and stage in BY_TICK)}
    return {stage: share for stage, share in (points | times).items() if share}


def zones_per_side(n_trips: float, error: float) -> int:
    """Choose zones so that the trips between two in a part of the day stay in proportion to their noise."""
    wanted: float = (max(n_trips, 0.0) / (6 * _TRIPS_PER_ERROR * error)) ** 0.25
    return max(1, min(math.floor(wanted), MOST_PER_SIDE))
