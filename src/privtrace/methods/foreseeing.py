"""Foresee from public numbers alone how far off a model's numbers would be, and which epsilon would do.

What is off has three parts. Noise: how much each stage adds follows from the settings, and how much of it is
left in fitted numbers from a table. The draw of synthetic trips: it follows from their number. Misfit, what a
method misses without any noise: it is in the table too. `experiments/foreseen.py` makes the table from public
data sets. All of it is about typical numbers, those in the middle half of the trips.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from privtrace.errors import SettingsError
from privtrace.methods.declaring import whole
from privtrace.privacy.epsilon import LARGE_EPSILON, decimal

if TYPE_CHECKING:
    from privtrace.methods.settings import Settings

#: Equal districts that a region is cut into where nobody says how many; the fewest and most that were measured.
DISTRICTS, FEWEST, MOST = 9, 4, 400

#: A stretch of street is one of this many equal parts of the region, per side.
STREETS = 64

#: Off by at most so much of it, a number is good; by at most so much, rough; else it is not usable.
GOOD, ROUGH = 0.15, 0.5

#: Synthetic trips that are counted: so many for each real one, at least and at most.
PER_TRIP, LEAST_TRIPS, MOST_TRIPS = 4, 2_000, 100_000

#: Within which factor most of what was foreseen came true: see experiments/foreseen.py.
FACTOR = 1.5

#: How many times as many trips are thought of where these are too few.
MORE_TRIPS = (2, 5, 10, 20, 50, 100)

#: The smallest epsilon.
LEAST_EPSILON = 1e-9

#: On which data the tables rest.
DATA = "taxis in Porto, GPS logs in Beijing, Brinkhoff's generator and an invented city"

#: What is asked for, as in "od error 10%"; the second group is empty where there is no number.
_TARGET = re.compile(
    r"\s*([a-z][a-z -]*?)\s*(?:\b(?:error|within|off by)\b)?\s*[±<≤:=]?\s*([\d.]*)\s*(%|percent)?\s*"
)


@dataclass(frozen=True)
class Statistic:
    """Name a number that people want."""

    name: str
    words: str
    aliases: tuple[str, ...]
    of_districts: bool = False


#: What is foreseen.
STATISTICS = {
    one.name: one
    for one in (
        Statistic("district", "trips through a typical district", ("districts", "visits"), True),
        Statistic("od", "a typical flow between two districts", ("flow", "flows", "trips"), True),
        Statistic("hour", "departures in the busiest hour of the day", ("hours", "busiest hour", "departures")),
        Statistic("length", "the mean length of a trip", ("lengths", "trip length", "mean length")),
        Statistic("street", "trips through a typical stretch of street", ("streets",)),
    )
}


@dataclass(frozen=True)
class Constants:
    """Hold what a table says of one statistic: powers of the number of districts, and of the signal.

    The signal is the number of trips, in scales of the noise of a stage.
    """

    stage: str
    noise: float  # as a share of a number, of one district and a signal of one
    power: float  # of the signal by which it falls
    noise_by: float  # of the districts by which it rises
    misfit: float
    misfit_by: float
    share: float  # of the trips, in a typical number
    share_by: float  # of the districts by which it falls
    most: float  # the largest signal that was measured: more is not known to make it better

    def off(self, signal: float, count: int, districts: int) -> float:
        """Say by which share of it nine in ten typical numbers are off at most."""
        noise = self.noise * districts**self.noise_by / min(signal, self.most) ** self.power
        return math.hypot(noise, self.floor(count, districts))

    def floor(self, count: int, districts: int) -> float:
        """Say the same without noise."""
        from privtrace.methods.view import MARGIN  # which loads what plans need later, and help never

        share = min(self.share / districts**self.share_by, 1.0)
        draw = MARGIN * math.sqrt((1 - share) / share / sampled(count))
        return math.hypot(draw, self.misfit * districts**self.misfit_by)

    def signal_for(self, off: float, count: int, districts: int) -> float:
        """Find the least signal at which typical numbers are off by so much; infinite if there is none."""
        floor = self.floor(count, districts)
        if off <= floor:
            return math.inf
        noise = math.sqrt(off**2 - floor**2)
        signal: float = (self.noise * districts**self.noise_by / noise) ** (1 / self.power)
        return signal if signal <= self.most else math.inf


#: What tables say, by statistic.
Table = Mapping[str, Constants]


@dataclass(frozen=True)
class Expected:
    """Say how far off a statistic is expected to be."""

    statistic: str  # of STATISTICS
    off: float  # nine in ten are off by less, as a share of the number; 1 stands for more as well
    districts: int  # of equal size; 1 where it is of none

    @property
    def words(self) -> str:
        """Name the statistic in plain words."""
        return STATISTICS[self.statistic].words + (f" ({self.districts} in all)" if self.districts > 1 else "")

    @property
    def verdict(self) -> str:
        """Say what such a number is worth."""
        return "good" if self.off <= GOOD else "rough" if self.off <= ROUGH else "not usable"

    @property
    def shown(self) -> str:
        """Write how far off: ±8 %."""
        return percent(self.off)

    def __str__(self) -> str:
        return f"{self.words}: {self.shown}, {self.verdict}"


@dataclass(frozen=True)
class Target:
    """Ask for a statistic that is off by at most so much."""

    statistic: str  # of STATISTICS
    off: float  # a share of the number

    @classmethod
    def read(cls, text: str) -> tuple[Target, ...]:
        """Read targets, such as "od error 10%, hour 5%"."""
        return tuple(cls._read(part) for part in str(text).split(","))

    @classmethod
    def _read(cls, text: str) -> Target:
        found = _TARGET.fullmatch(text.lower())
        names = {name: one.name for one in STATISTICS.values() for name in (one.name, *one.aliases)}
        if found is None or found[1] not in names:
            raise SettingsError(
                f"a target is a statistic and by how much it may be off, such as 'od error 10%', not "
                f"{text.strip()!r:.60}; the statistics are {', '.join(STATISTICS)}"
            )
        name, number, unit = names[found[1]], found[2], found[3]
        off = float(number) / 100 if re.fullmatch(r"\d+(\.\d*)?|\.\d+", number) else 0.0
        if not 0.001 <= off < 1.0 or (unit is None and off < 0.01):
            raise SettingsError(
                f"a target needs an error from 0.1% to 99%, such as '{name} error 10%', not "
                f"{text.strip()!r:.60}"
            )
        return cls(name, off)

    @property
    def shown(self) -> str:
        """Write by how much it may be off: ±10 %."""
        return f"±{100 * self.off:g} %"

    def __str__(self) -> str:
        return f"{STATISTICS[self.statistic].words} within {self.shown}"


def sampled(count: int) -> int:
    """Say how many synthetic trips of a model numbers are counted on."""
    return min(max(PER_TRIP * count, LEAST_TRIPS), MOST_TRIPS)


def expected_of(settings: Settings, count: int, districts: int = DISTRICTS) -> tuple[Expected, ...]:
    """Say how far off typical numbers would be; nothing where no table says so."""
    districts = whole(districts, "districts", FEWEST, MOST)
    return tuple(
        Expected(name, min(one.off(count * settings.per_unit(one.stage), count, size), 1.0), size)
        for name, one in settings.foreseen.items()
        if one.stage in settings.budget
        for size in (among(name, districts),)
    )


def least_epsilon(
    settings: Settings, targets: Sequence[Target], count: int, districts: int = DISTRICTS
) -> Fraction:
    """Find the least epsilon of one digit with which all targets are met; refuse what none can."""
    districts = whole(districts, "districts", FEWEST, MOST)
    questions = [_Question(settings, target, count, districts) for target in targets]
    for one in questions:
        one.check()
    return max(rounded_up(one.epsilon) for one in questions)


def what_would_help(
    settings: Settings, targets: Sequence[Target], count: int, districts: int = DISTRICTS
) -> str:
    """Say what brings the target that needs most epsilon to less of it."""
    questions = [_Question(settings, target, count, districts) for target in targets]
    return max(questions, key=lambda one: one.epsilon).cures


def among(statistic: str, districts: int) -> int:
    """Say among how many districts a statistic is: one where it is of none."""
    return districts if STATISTICS[statistic].of_districts else 1


@dataclass(frozen=True)
class _Question:
    """Ask which epsilon meets a target."""

    settings: Settings
    target: Target
    count: int
    districts: int

    @property
    def size(self) -> int:
        """Give the number of districts that matters."""
        return among(self.target.statistic, self.districts)

    @property
    def constants(self) -> Constants:
        """Find what the table says; refuse what it does not."""
        settings, statistic = self.settings, STATISTICS[self.target.statistic]
        if statistic.name not in settings.foreseen:
            raise SettingsError(
                f"how far off {statistic.words} would be is not foreseen for the method {settings.method}, so "
                "no epsilon can be found for a target; choose epsilon yourself, or use the method bridgetrace"
            )
        one = settings.foreseen[statistic.name]
        if one.stage not in settings.budget:
            raise SettingsError(
                f"a target for {statistic.words} needs a model with times; turn times on (--times, "
                "times=True), or ask for another statistic"
            )
        return one

    @property
    def epsilon(self) -> float:
        """Find the epsilon of the signal that meets the target, in proportion; infinite if none does."""
        one, epsilon = self.constants, float(self.settings.exact("epsilon"))
        signal = one.signal_for(self.target.off, self.count, self.size)
        return max(epsilon * signal / (self.count * self.settings.per_unit(one.stage)), LEAST_EPSILON)

    def check(self) -> None:
        """Refuse a target that no epsilon meets."""
        if math.isfinite(self.epsilon):
            return
        one = self.constants
        among = f" ({self.size} districts)" if self.size > 1 else ""
        raise SettingsError(
            f"no epsilon is known to bring {self.target}{among}: however large it is, expect about "
            f"{percent(one.off(one.most, self.count, self.size))}. What would help: {self.cures}"
        )

    @property
    def cures(self) -> str:
        """Say what would help."""
        one, per_unit = self.constants, self.settings.at(LARGE_EPSILON).per_unit(self.constants.stage)
        off = percent(one.off(self.count * per_unit, self.count, self.size))
        error = f"a larger error (epsilon {LARGE_EPSILON} gives about {off})"
        cures = (self._fewer_districts, self._more_trips, error)
        return ", or ".join(filter(None, cures))

    @property
    def _fewer_districts(self) -> str:
        for per_side in range(math.isqrt(self.size - 1), 1, -1) if self.size > 1 else ():
            epsilon = replace(self, districts=per_side**2).epsilon
            if epsilon <= LARGE_EPSILON:
                return f"{per_side**2} districts (then epsilon {decimal(rounded_up(epsilon))} is enough)"
        return ""

    @property
    def _more_trips(self) -> str:
        for times in MORE_TRIPS:
            epsilon = replace(self, count=times * self.count).epsilon
            if epsilon <= LARGE_EPSILON:
                return (
                    f"{times} times as many trips, as in a longer period (then epsilon "
                    f"{decimal(rounded_up(epsilon))} is enough)"
                )
        return ""


def rounded_up(value: float) -> Fraction:
    """Round up to one digit: 0.234 -> 3/10."""
    exact = Fraction(value)
    step = Fraction(10) ** math.floor(math.log10(value))
    if exact < step:  # the logarithm was rounded
        step /= 10
    return math.ceil(exact / step) * step


def percent(share: float) -> str:
    """Write how far off a number is: ±8 %, ±0.5 %; from 100 % on nothing is known."""
    if share >= 0.995:
        return "±100 % or more"
    return f"±{100 * share:.0f} %" if share >= 0.0095 else f"±{100 * share:.1g} %"


def described(expected: Expected) -> dict[str, Any]:
    """Describe what is expected for a program."""
    return {
        "statistic": expected.statistic,
        "words": expected.words,
        "districts": expected.districts if expected.districts > 1 else None,
        "off": round(expected.off, 4),
        "verdict": expected.verdict,
    }
