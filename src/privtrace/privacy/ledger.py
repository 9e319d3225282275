"""Spend epsilon in the open: noise and its charge are one act, so neither is had without the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from privtrace.errors import BudgetExceeded
from privtrace.privacy.accumulator import Counts
from privtrace.privacy.epsilon import check_scale, decimal
from privtrace.privacy.noise import Noise, SystemNoise
from privtrace.privacy.unit import WEIGHT, Unit
from privtrace.trajectories import Integers

if TYPE_CHECKING:
    from privtrace.privacy.budget_file import BudgetFile

#: A noisy sum stays within this, so that sums of noisy numbers stay within 63 bits.
CLAMP = 1 << 60


@dataclass(frozen=True)
class Charge:
    """Record one spending."""

    stage: str  # of the recipe, in a word
    statistic: str  # what was measured, in words
    unit: str  # what the sensitivity is about
    sensitivity: int  # in L1, in weights of 2**-20 trajectories
    epsilon: Fraction
    mechanism: str = "discrete Laplace"

    @property
    def scale(self) -> Fraction:
        """Give the noise's scale in weights of 2**-20 trajectories."""
        return Fraction(self.sensitivity) / self.epsilon

    @property
    def scale_in_trajectories(self) -> float:
        """Give the noise's scale for a reader."""
        return float(self.scale / WEIGHT)


class Ledger:
    """Hold a budget and spend it, in exact fractions, refusing before anything is drawn.

    Parameters
    ----------
    epsilon: the whole budget.
    unit: what is protected.
    noise: where noise comes from; it decides whether the release may call itself private.
    budget_file: the curator's ledger of the data set. It is charged with the whole budget just before the
        first draw, so that fits at the same time cannot starve each other half way; what it refuses is never
        drawn, and what it granted stays charged if the fit then fails. What it would refuse now is refused now.
    method: what the budget file calls this fit.
    """

    def __init__(
        self,
        epsilon: Fraction,
        unit: Unit,
        noise: Noise,
        *,
        budget_file: BudgetFile | None = None,
        method: str = "",
    ) -> None:
        self.epsilon = epsilon
        self.unit = unit
        self._noise = noise
        self._budget_file = budget_file
        self._method = method
        self._charges: list[Charge] = []
        if budget_file is not None:
            budget_file.check(epsilon, unit, private=self.private)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """List what was spent, in order."""
        return tuple(self._charges)

    @property
    def spent(self) -> Fraction:
        """Add up what was spent; composition is sequential."""
        return sum((charge.epsilon for charge in self._charges), Fraction(0))

    @property
    def private(self) -> bool:
        """Tell whether all that is random is secret and exact: only that of `SystemNoise` is believed to be."""
        return type(self._noise) is SystemNoise

    def laplace(self, counts: Counts, stage: str, statistic: str, epsilon: Fraction) -> Integers:
        """Charge for a table of counts and return it with discrete Laplace noise on every entry: (size,)."""
        scale = self._charge(counts, stage, statistic, epsilon)
        return self._noisy(counts.dense(0, counts.size), scale)

    def laplace_blocks(
        self, counts: Counts, block: int, stage: str, statistic: str, epsilon: Fraction
    ) -> Iterator[Integers]:
        """Charge once for a table of counts and yield it with noise, a block of entries at a time.

        The charge falls due now, for the whole table, however little of it is used.
        """
        scale = self._charge(counts, stage, statistic, epsilon)
        starts = range(0, counts.size, block)
        return (self._noisy(counts.dense(start, min(start + block, counts.size)), scale) for start in starts)

    def _charge(self, counts: Counts, stage: str, statistic: str, epsilon: Fraction) -> Fraction:
        """Charge by the sensitivity of the unit, or refuse before anything is drawn; give the noise's scale."""
        if type(counts) is not Counts or counts.unit != self.unit:
            raise TypeError(f"{stage}: the counts must be accumulated for the unit of the ledger")
        charge = Charge(stage, statistic, self.unit.kind, self.unit.sensitivity, epsilon)
        left = self.epsilon - self.spent
        if epsilon > left:
            raise BudgetExceeded(
                f"{stage} asks for epsilon {decimal(epsilon)}, but only {decimal(left)} of "
                f"{decimal(self.epsilon)} is left"
            )
        check_scale(stage, charge.sensitivity, epsilon)
        if self._budget_file is not None and not self._charges:
            self._budget_file.charge(self.epsilon, self.unit, self._method)
        self._charges.append(charge)
        return charge.scale

    def _noisy(self, counts: Integers, scale: Fraction) -> Integers:
        noise = self._noise.laplace(counts.size, scale)
        noisy: Integers = np.clip(counts + noise, -CLAMP, CLAMP)
        return noisy
