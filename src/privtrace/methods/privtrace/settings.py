"""Hold PrivTrace's settings, the rules for its sizes, and what a fit would give."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal

from privtrace.errors import SettingsError
from privtrace.methods.declaring import Flag, Number, OneOf, Whole, setting, share, spelled, whole
from privtrace.methods.foreseeing import Table
from privtrace.methods.plan import Plan, limited
from privtrace.methods.privtrace.foreseen import FORESEEN
from privtrace.methods.settings import Settings
from privtrace.privacy.epsilon import Epsilon

#: What gets the noise of each stage, for plans.
_NOISY = {
    "count": "the total",
    "density": "a coarse cell",
    "first order": "a first-order count",
    "second order": "a second-order count",
}

#: The paper's rule for the second layer: a fine cell holds this over K times the population in thousands.
_PAPER_DENSITY = 2e7

#: The share of states that walk by second order, where an average state just passes the threshold, and the
#: power of its load by which that grows: as it went on three public data sets.
_SECOND_ORDER_AT_THRESHOLD, _SECOND_ORDER_POWER = 0.2, 1.6

#: Below this share of the states, second order is not worth its share of epsilon.
_HARDLY_USED = 0.2

#: What a fit takes, as measured on two cores (benchmarks/README.md): memory of any fit and of a pair of states,
#: seconds to estimate trips between so many states, and second-order entries per second.
_PAIR_MB = 80e-6
_TRIPS_S, _TRIPS_STATES = 35, 3000
_SECOND_ORDER_PER_S = 40e6


@dataclass(frozen=True, kw_only=True)
class PrivTrace(Settings):
    """Hold PrivTrace's settings; all of them are public.

    Sizes left as None follow from the noisy count and epsilon, by the rules in docs/methods/privtrace.md; where
    users are protected, they read epsilon over max_per_user for epsilon.
    """

    method: ClassVar[str] = "privtrace"

    order: Literal["adaptive", 1, 2] = setting(
        "Order of the Markov model: adaptive per state, or one for all.",
        OneOf(("adaptive", 1, 2)),
        "adaptive",
    )
    second_layer: bool = setting("Divide dense coarse cells.", Flag(), True)
    trip_estimation: bool = setting("Correct the starts for the length normalization.", Flag(), True)
    K: int | None = setting("Coarse cells per side.", Whole(1, 70), None, otherwise="by rule")
    c: float | None = setting("The paper's K = sqrt(count / c), rounded up.", Number(), None)
    # Tables of 5,000 by 5,000 numbers, several at a time, take over 1 GB.
    max_states: int = setting("Most states; limits memory.", Whole(4, 5000), 3000)
    states_factor: float = setting(
        "Aim for this many times sqrt(count * epsilon2 / sqrt(2)) states.", Number(), 1.5
    )
    states_per_coarse_cell: float = setting("Mean number of states per coarse cell.", Number(), 6.0)
    density_per_cell: float | None = setting(
        "Target number of visits per fine cell.", Number(), None, otherwise="by rule"
    )
    population: float | None = setting("Factor of the paper's rule for the second layer.", Number(), None)
    theta1: float | None = setting(
        "Use first order for states with fewer moves.", Number(), None, otherwise="sqrt(2) m / epsilon2"
    )
    theta2: float = setting("Use first order if the top successor has this many times the next.", Number(), 5.0)
    count_share: Epsilon = share("the count (part of the grid's share)", "0.02")
    grid_share: Epsilon = share("the count and the grid", "0.2")
    first_order_share: Epsilon = share("first order", "0.4")
    second_order_share: Epsilon = share("second order (with --order 1, first order gets it)", "0.4")
    max_steps: int = setting("Most states of a walk.", Whole(1, 1_000_000), 1000)
    fallback: bool = setting(
        "Walk on by first order where a second-order row is empty; the paper's walks end there.",
        Flag(),
        True,
        later=True,
    )

    def check_together(self) -> None:
        """Refuse settings that do not fit each other."""
        if self.K is not None:
            whole(self.K, "K", 1, math.isqrt(self.max_states))
        for one, other, what in (
            ("K", "c", "the number of coarse cells"),
            ("density_per_cell", "population", "the second layer"),
        ):
            if getattr(self, one) is not None and getattr(self, other) is not None:
                raise SettingsError(f"{spelled(one)} and {spelled(other)} both set {what}; give one of them")
        self.shares_sum_to_one("grid", "first_order", "second_order")
        self.share_is_within("grid", "count")

    @classmethod
    def paper(cls, *, c: float, population: float, **settings: Any) -> PrivTrace:
        """Use PrivTrace as published: K = sqrt(count / c), second layer by population, walks without fallback.

        The paper's c is 5000 for its Brinkhoff data, 1200 for Taxi and 500 for Geolife. Other settings can be
        given too. The section "As published" of docs/methods/privtrace.md says what remains different.
        """
        return cls(c=c, population=population, **{"fallback": False, **settings})

    @property
    def foreseen(self) -> Table:
        """Give the table of errors on public data."""
        return FORESEEN

    @property
    def shares(self) -> dict[str, Fraction]:
        """Divide epsilon among the stages."""
        first, second = self.share_of("first_order"), self.share_of("second_order")
        if self.order == 1:
            first, second = first + second, Fraction(0)
        return {
            "count": self.share_of_count,
            "density": self.share_of("grid") - self.share_of_count,
            "first order": first,
            "second order": second,
        }

    def plan(self, count: int) -> Plan:
        """Say what a fit to about so many trajectories would give, from public numbers alone."""
        sized_by = self.sized_by(count)
        size, states = self.coarse_size(sized_by), self._expected_states(sized_by)
        share = self._expected_second_order(count, states)
        return self.planned(
            count,
            _NOISY,
            self._own_warnings(states, share),
            grid=f"The grid: about {size} x {size} coarse cells, divided in dense areas into about "
            f"{states:,} states.",
            coarse_per_side=size,
            states=states,
            second_order_share=share,
            memory_mb=_PAIR_MB * states**2,
            seconds=1 + _TRIPS_S * (states / _TRIPS_STATES) ** 3 + share * states**3 / _SECOND_ORDER_PER_S,
        )

    def _expected_states(self, count: int) -> int:
        """Foresee the number of states: the target, or what a density per cell leads to, evenly spread."""
        coarse = self.coarse_size(count) ** 2
        if not self.second_layer:
            return coarse
        per_cell = self.density_of_fine_cells(math.isqrt(coarse))
        wanted = self.target_states(count) if per_cell is None else round(count / per_cell)
        return max(coarse, min(wanted, self.max_states))

    def _expected_second_order(self, count: int, states: int) -> float:
        """Foresee the share of states that walk by second order."""
        if self.order != "adaptive":
            return float(self.order == 2)
        load = count / states / self.least_moves(states)  # 1 where an average state just passes the threshold
        return float(min(_SECOND_ORDER_AT_THRESHOLD * load**_SECOND_ORDER_POWER, 1.0))

    def _own_warnings(self, states: int, share: float) -> Iterator[str]:
        if self.order == "adaptive" and share < _HARDLY_USED:
            yield (
                f"only about {100 * share:.0f} % of the states will use second order; --order 1 (order=1) "
                "gives its share of epsilon to first order"
            )
        yield from limited(states, self.max_states)

    def target_states(self, n_trajectories: float) -> int:
        """Aim at the states at which noise is no larger than what an average state has to say."""
        # The share as set, also where order 1 spends more: an ablation should change one thing only.
        epsilon2 = self.share_of("first_order") * self.exact("epsilon") / self.protected.contributions
        target = self.states_factor * math.sqrt(n_trajectories * float(epsilon2) / math.sqrt(2))
        return min(self.max_states, round(target))

    def coarse_size(self, n_trajectories: float) -> int:
        """Choose K."""
        if self.K is not None:
            return self.K
        if self.c is not None:
            # Rounded up: the square roots of the paper are 2.45, 12.9 and 5.94, and its K are 3, 13 and 6.
            size = math.ceil(math.sqrt(n_trajectories / self.c))
        else:
            size = round(math.sqrt(self.target_states(n_trajectories) / self.states_per_coarse_cell))
        return min(max(2, size), math.isqrt(self.max_states))

    def density_of_fine_cells(self, coarse_size: int) -> float | None:
        """Find the visits that a fine cell should hold, where settings say it."""
        if self.population is None:
            return self.density_per_cell
        return _PAPER_DENSITY / (coarse_size * self.population / 1000)

    def least_moves(self, n_states: int) -> float:
        """Give the moves, in trajectories, below which a state stays first order: the paper's theta1."""
        if self.theta1 is not None:
            return self.theta1
        return math.sqrt(2) * n_states / self.per_unit("first order")
