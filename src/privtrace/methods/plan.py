"""Say before any data is touched what a fit would give: how large a model, how much noise, at what cost."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from privtrace.methods.declaring import spelled
from privtrace.privacy.epsilon import LARGE_EPSILON
from privtrace.privacy.unit import Unit

#: What every fit takes at the peak, libraries and compiled kernels included: see benchmarks/README.md.
BASE_MEMORY_MB = 370

#: Below this a model shows little but which quarter of the region is busy.
FEW_STATES = 16


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
    def sentence(self) -> str:
        """Put the noise in plain words."""
        return f"{self.what} is off by about ±{rounded(self.error)} trips"


@dataclass(frozen=True)
class Plan:
    """Describe what a fit would give, from public numbers alone."""

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

    @property
    def per_state(self) -> float:
        """Give the trajectories that an average state would see, each with a total weight of one."""
        return self.count / self.states


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


def general_warnings(epsilon: Fraction, unit: Unit, states: int) -> Iterator[str]:
    """List what is worth a second thought whatever the method."""
    if epsilon > LARGE_EPSILON:
        yield (
            f"an epsilon above {LARGE_EPSILON} promises little; most releases stay at or below {LARGE_EPSILON}"
        )
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
