"""Hold AdaTrace's settings, the rules for its sizes, and what a fit would give."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from privtrace.methods.declaring import Flag, Number, Whole, setting, share, spelled
from privtrace.methods.plan import Plan
from privtrace.methods.settings import Settings
from privtrace.privacy.epsilon import Epsilon

#: Cells per side at most: trips are a table of all pairs of cells; and at most by rule.
MOST_PER_SIDE = 40
MOST_BY_RULE = 32

#: What gets the noise of each stage, for plans.
_NOISY = {
    "count": "the total",
    "density": "a cell",
    "fine density": "a fine cell",
    "transitions": "a move to a neighbor",
    "trips": "a trip from cell to cell",
    "lengths": "a number of extra cells",
}

#: What a fit takes, as measured on two cores (benchmarks/README.md): memory of any fit and of a pair of cells,
#: and pairs per second.
_PAIR_MB, _PAIRS_PER_S = 80e-6, 16e6


@dataclass(frozen=True, kw_only=True)
class AdaTrace(Settings):
    """Hold AdaTrace's settings; all of them are public.

    After Gursoy et al., CCS 2018, the private variant: attack resilience as published consults the raw data,
    and so is not offered; docs/methods/adatrace.md says more. Sizes left as None follow from the noisy count
    and epsilon, by the rules there; where users are protected, they read epsilon over max_per_user for epsilon.
    """

    method: ClassVar[str] = "adatrace"

    N: int | None = setting("Cells per side.", Whole(1, MOST_PER_SIDE), None, otherwise="by rule")
    cells_factor: float = setting("N = (this * count * epsilon of the trips) ** (1/4).", Number(), 0.2)
    second_layer: bool = setting("Divide dense cells to place points more precisely.", Flag(), True)
    density_per_cell: float | None = setting(
        "Target number of visits per fine cell.", Number(), None, otherwise="by --fine-factor"
    )
    fine_factor: float = setting(
        "Target visits per fine cell, in standard errors of its density.", Number(), 1.0
    )
    max_cells: int = setting("Most fine cells; limits memory.", Whole(4, 100_000), 10_000)
    max_extra: int | None = setting(
        "Most cells of a path beyond the shortest path.", Whole(0, 10_000), None, otherwise="N"
    )
    count_share: Epsilon = share("the count (part of the grid's share)", "0.01")
    fine_share: Epsilon = share("fine cells (part of the grid's share)", "0.02")
    grid_share: Epsilon = share("the count and the grid", "0.05")
    transitions_share: Epsilon = share("moves to neighbors", "0.35")
    trips_share: Epsilon = share("trips", "0.5")
    lengths_share: Epsilon = share("lengths", "0.1")

    def check_together(self) -> None:
        """Refuse settings that do not fit each other."""
        self.shares_sum_to_one("grid", "transitions", "trips", "lengths")
        self.share_is_within("grid", "count", "fine")

    @property
    def shares(self) -> dict[str, Fraction]:
        """Divide epsilon among the stages."""
        fine = self.share_of("fine") if self.second_layer else Fraction(0)
        return {
            "count": self.share_of_count,
            "density": self.share_of("grid") - self.share_of_count - fine,
            "fine density": fine,
            "transitions": self.share_of("transitions"),
            "trips": self.share_of("trips"),
            "lengths": self.share_of("lengths"),
        }

    def plan(self, count: int) -> Plan:
        """Say what a fit to about so many trajectories would give, from public numbers alone."""
        size = self.cells_per_side(self.sized_by(count))
        placed = "placed more finely in dense cells" if self.second_layer else "placed uniformly in them"
        return self.planned(
            count,
            _NOISY,
            self._own_warnings(size),
            grid=f"The grid: about {size} x {size} cells, which are the states; points are {placed}.",
            coarse_per_side=size,
            states=size**2,
            memory_mb=_PAIR_MB * size**4,
            seconds=1 + size**4 / _PAIRS_PER_S,
        )

    def _own_warnings(self, size: int) -> Iterator[str]:
        if self.N is None and size == MOST_BY_RULE:
            yield (
                f"the rule for {spelled('N')} stops at {size} cells per side; more data or a larger "
                "epsilon adds no detail to trips"
            )

    def cells_per_side(self, n_trajectories: float) -> int:
        """Choose N so that the noise of a trip stays in proportion to what one of the N**4 has to say."""
        if self.N is not None:
            return self.N
        # Two square roots: they are the same on every machine.
        size = math.sqrt(math.sqrt(self.cells_factor * n_trajectories * self.per_unit("trips")))
        return round(min(max(size, 2), MOST_BY_RULE))

    def most_extra(self, size: int) -> int:
        """Give the extra cells of a path that are distinguished, at most."""
        return size if self.max_extra is None else self.max_extra

    def density_of_fine_cells(self) -> float:
        """Find the visits that a fine cell should hold."""
        if self.density_per_cell is not None:
            return self.density_per_cell
        return self.fine_factor * math.sqrt(2) / self.per_unit("fine density")
