"""Say before any data is touched what a fit would give: how large a model, how much noise, at what cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from privtrace.methods.declaring import spelled
from privtrace.methods.foreseeing import DATA, FACTOR, Expected
from privtrace.privacy.epsilon import LARGE_EPSILON, decimal
from privtrace.privacy.unit import Unit

#: What every fit takes at the peak, libraries and compiled kernels included: see benchmarks/README.md.
BASE_MEMORY_MB = 370

#: Below this a model shows little but which quarter of the region is busy.
FEW_STATES = 16

#: What is said once wherever a plan is shown.
PLUS_MINUS = "± means that nine numbers in ten are off by less."


@dataclass(frozen=True)
class StagePlan:
    """Say how much noise one stage would add."""

    stage: str
    epsilon: Fraction
    scale: float  # of the noise, in trajectories
    what: str  # gets the noise: "a first-order count"

    @property
    def error(self) -> float:
        """Give the standard deviation of the noise, in trajectories."""
        return math.sqrt(2) * self.scale

    @property
    def margin(self) -> float:
        """Say by how many trips nine in ten are off at most, by the noise: what ± says."""
        from privtrace.methods.view import MARGIN  # which loads what plans need later, and help never

        return MARGIN * self.error

    @property
    def sentence(self) -> str:
        """Put the noise in plain words."""
        return f"{self.what} is off by about ±{rounded(self.margin)} trips"


@dataclass(frozen=True, repr=False)
class Plan:
    """Describe what a fit would give, from public numbers alone; `print` it to read it."""

    method: str
    epsilon: Fraction
    unit: Unit
    count: int  # of trajectories, as expected
    grid: str  # in a sentence
    coarse_per_side: int  # of the first layer, or of the coarsest system
    states: int  # cells between which walks go
    second_order_share: float  # of the states, roughly; 0 where the method has no second order
    stages: tuple[StagePlan, ...]
    memory_mb: int  # at the peak, roughly
    seconds: float  # roughly, on two cores; besides the passes over the points
    warnings: tuple[str, ...]
    expected: tuple[Expected, ...] = ()  # of the numbers that people want

    @property
    def per_state(self) -> float:
        """Give the trajectories that an average state would see, each with a total weight of one."""
        return self.count / self.states

    @property
    def heading(self) -> str:
        """Say what was planned for."""
        trips = "1 trip" if self.count == 1 else f"{self.count:,} trips"
        budget = f"epsilon {decimal(self.epsilon)} per {self.unit.kind}"
        return f"Planned for about {trips} at {budget}. No data was read."

    @property
    def average(self) -> str:
        """Say how much an average state would see."""
        weight = rounded(self.per_state)
        return f"An average state gets a weight of {weight}, where every trip contributes a total weight of 1."

    @property
    def cost(self) -> str:
        """Say what a fit would take."""
        return (
            f"Expect about {self.memory_mb:,} MB of memory, and {rounded(self.seconds)} s on two cores, plus "
            "half a second per million points to read the data."
        )

    @property
    def noise(self) -> list[tuple[str, str, str]]:
        """List for each stage its name, its epsilon and what its noise does, for tables."""
        return [(one.stage, decimal(one.epsilon), one.sentence) for one in self.stages]

    @property
    def noise_lines(self) -> list[str]:
        """Set the same out in lines."""
        width = max((len(epsilon) for _, epsilon, _ in self.noise), default=0)
        return [f"  {stage:14} epsilon {epsilon:{width}} {sentence}" for stage, epsilon, sentence in self.noise]

    @property
    def outlook(self) -> list[tuple[str, str, str]]:
        """List what to expect of numbers that people want: what they are, how far off, and a verdict."""
        return [(one.words, one.shown, one.verdict) for one in self.expected]

    @property
    def source(self) -> str:
        """Say where what to expect comes from, and how far to trust it."""
        if not self.expected:
            return f"How far off numbers would be is not foreseen for the method {self.method}."
        return (
            f"Foreseen from the noise and, for the rest, from a table of errors on public data: {DATA}. With "
            f"default settings, most of it came true there within a factor of {FACTOR:g}; your data may differ."
        )

    def __repr__(self) -> str:
        return (
            f"Plan({self.method}, epsilon {decimal(self.epsilon)}, {self.count:,} trajectories, "
            f"{self.states:,} states, {self.memory_mb:,} MB)"
        )

    def __str__(self) -> str:
        warnings = [f"Warning: {text}." for text in self.warnings]
        outlook = [f"  {words:48} {off:>14}  {verdict}" for words, off, verdict in self.outlook]
        head = [
            self.heading,
            PLUS_MINUS,
            "",
            "What to expect",
            *outlook,
            self.source,
            "",
            self.grid,
            self.average,
        ]
        return "\n".join([*head, "", "The noise", *self.noise_lines, "", self.cost, *warnings])

    def _repr_html_(self) -> str:
        from privtrace.notebooks import card, line, table

        warnings = [line(f"Warning: {text}.", red=True) for text in self.warnings]
        noise = table(("stage", "epsilon", "noise"), self.noise, n_words=3)
        head = ("what to expect", "off by", "verdict")
        outlook = [table(head, self.outlook, n_words=3)] if self.expected else []
        lines = [line(self.source), line(self.grid), line(self.average), noise, line(self.cost)]
        return card(self.heading, line(PLUS_MINUS), *outlook, *lines, *warnings)


def rounded(value: float) -> str:
    """Write a number with the two digits that matter: 3.5355 -> 3.5, 176.8 -> 180."""
    digits = 1 - math.floor(math.log10(value)) if value > 0 else 0
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def limited(states: int, most: int) -> Iterator[str]:
    """Warn where max_states, and not the noise, decides how many states there are."""
    if states == most:
        yield (
            f"{spelled('max_states')} limits the model to {states:,} states; more data or a larger "
            "epsilon adds no detail"
        )


def large(epsilon: Fraction) -> Iterator[str]:
    """Warn of an epsilon that promises little, before a fit and at its begin."""
    if epsilon > LARGE_EPSILON:
        yield (
            f"an epsilon above {LARGE_EPSILON} promises little; most releases stay at or below {LARGE_EPSILON}"
        )


def general_warnings(epsilon: Fraction, unit: Unit, states: int) -> Iterator[str]:
    """List what is worth a second thought whatever the method."""
    yield from large(epsilon)
    if unit.contributions > 1:
        yield (
            f"allowing {unit.contributions:,} trips per user multiplies the noise by "
            f"{unit.contributions:,}; a smaller limit gives less noise but counts fewer trips"
        )
    if states < FEW_STATES:
        yield (
            f"only about {states} states stand out from the noise: expect a rough picture at best, or use "
            "a larger epsilon"
        )
