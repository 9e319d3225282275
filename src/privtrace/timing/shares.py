"""Divide what is spent on points and times among their stages, and choose how fine their grids are."""

from __future__ import annotations

import math
from fractions import Fraction

#: Of what is spent on points.
OF_POINTS = {"points": Fraction(3, 4), "gaps": Fraction(1, 4)}

#: Of what is spent on times. Departures need most: 168 hours; ticks and pauses are few numbers that stand out.
OF_CLOCK = {
    "departures": Fraction(30, 100),
    "ticks": Fraction(7, 100),
    "stretches": Fraction(5, 100),
    "paces": Fraction(22, 100),
    "pauses": Fraction(6, 100),
    "speeds": Fraction(5, 100),
    "parts": Fraction(17, 100),
    "places": Fraction(8, 100),
}

#: What needs no measuring where the tick is public: a trip of n points then takes n - 1 ticks.
BY_TICK = ("ticks", "stretches", "paces", "pauses")

#: What gets the noise of each stage, for plans.
NOISY = {
    "points": "a bin of length and number of points",
    "gaps": "a bin of the distance between points",
    "departures": "an hour of the week",
    "ticks": "a bin of the time between points",
    "stretches": "a class of uneven times between points",
    "paces": "a bin of length and duration",
    "pauses": "a bin of pauses",
    "parts": "a trip in a part of the day",
    "speeds": "a bin of speed",
    "places": "a bin of speed in a cell",
}

#: Trips of a part of the day between two zones, on average, in errors of one; and visits of a bin of speeds.
_TRIPS_PER_ERROR, _VISITS_PER_ERROR = 0.5, 0.5
#: Speeds of a cell lie in about so many bins.
_BINS_OF_SPEED = 4
_MOST_ZONES, _MOST_CELLS = 6, 16


def shares_of(sampling: Fraction, clock: Fraction, *, by_tick: bool) -> dict[str, Fraction]:
    """Divide the shares of epsilon for points and for the clock among the stages."""
    points = {stage: part * sampling for stage, part in OF_POINTS.items()}
    times = {stage: part * clock for stage, part in OF_CLOCK.items() if not (by_tick and stage in BY_TICK)}
    return {stage: share for stage, share in (points | times).items() if share}


def zones_per_side(n_trips: float, error: float) -> int:
    """Choose zones so that the trips between two in a part of the day stay in proportion to their noise."""
    wanted = (max(n_trips, 0.0) / (6 * _TRIPS_PER_ERROR * error)) ** 0.25
    return max(1, min(math.floor(wanted), _MOST_ZONES))


def cells_per_side(n_trips: float, error: float) -> int:
    """Choose cells so that the visits of a bin of speeds stay in proportion to their noise."""
    wanted = math.sqrt(max(n_trips, 0.0) / (_BINS_OF_SPEED * _VISITS_PER_ERROR * error))
    return max(1, min(math.floor(wanted), _MOST_CELLS))
