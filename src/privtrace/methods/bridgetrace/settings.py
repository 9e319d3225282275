"""Hold BridgeTrace's settings, the rules for its sizes, and what a fit would give."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from privtrace.errors import SettingsError
from privtrace.methods.bridgetrace.foreseen import FORESEEN
from privtrace.methods.bridgetrace.tuning import LOSSES, Tuning
from privtrace.methods.declaring import Number, Whole, setting, share, spelled
from privtrace.methods.foreseeing import Table
from privtrace.methods.plan import Plan, limited
from privtrace.methods.settings import Settings
from privtrace.privacy.epsilon import Epsilon

if TYPE_CHECKING:
    import numpy.typing as npt

    from privtrace.methods.bridgetrace.polyline import Placing
    from privtrace.space.region import Region
    from privtrace.timing.model import Timing
    from privtrace.trajectories import Floats

#: Coarse cells per side at most by rule: finer ones gain nothing, since cells are divided further.
MOST_BY_RULE = 10

#: Every coarse cell is divided into four at least, and the densest into so many per side at most.
LEAST_DIVISION, MOST_DIVISION = 2, 64

#: Hitting probabilities at most, a number for each zone, level and link: a quarter of a gigabyte.
MOST_HITTING = 1 << 25

#: Points that are not measured are as far apart as this part of the region's shorter side, or as is set.
SPACING = 1 / 160

#: The least spacing as part of it: closer points would fill the memory.
LEAST_SPACING = 1e-5

#: What gets the noise of each stage, for plans.
_NOISY = {
    "count": "the total",
    "density": "a coarse cell",
    "visits": "a cell",
    "moves": "a move given the previous one",
    "trips": "a trip from zone to zone",
    "shapes": "a bin of diameter and length",
}


@dataclass(frozen=True, kw_only=True)
class BridgeTrace(Settings):
    """Hold BridgeTrace's settings; all of them are public.

    Sizes left as None follow from the noisy count and epsilon, by the rules in docs/methods/bridgetrace.md;
    where users are protected, they read epsilon over max_per_user for epsilon.
    """

    method: ClassVar[str] = "bridgetrace"
    tuning: ClassVar[Tuning] = Tuning()  # no setting: nobody need choose it, and no file holds it

    @property
    def samples(self) -> bool:
        """Say that points are measured by default, unless their spacing is set."""
        return self.spacing is None

    @property
    def against_times(self) -> tuple[str, ...]:
        """Name the settings that stand in the way of times, as messages do."""
        spacing = () if self.spacing is None else (spelled("spacing"),)
        return (*super().against_times, *spacing)

    @property
    def sets_points(self) -> bool:
        """Say that points are set on lines, however far apart."""
        return True

    @property
    def foreseen(self) -> Table:
        """Give the table of errors on public data."""
        return FORESEEN

    K: int | None = setting("Coarse cells per side.", Whole(1, 200), None, otherwise="by rule")
    coarse_factor: float = setting(
        "Mean visits per coarse cell, in standard errors of its density.", Number(), 1.2
    )
    cell_factor: float = setting("Target visits per cell, in standard errors of a move.", Number(), 32.0)
    zone_factor: float = setting("Mean trips per pair of zones, in standard errors of one.", Number(), 1.5)
    max_states: int = setting("Most states; limits memory.", Whole(16, 50_000), 20_000)
    max_zones: int = setting("Most zones.", Whole(1, 1000), 128)
    rounds: int = setting("Rounds of calibration: walk, measure, adjust.", Whole(0, 100), 4)
    spacing: float | None = setting(
        "Meters (or planar units) between points.",
        Number(),
        None,
        otherwise="as measured, or by rule",
    )
    count_share: Epsilon = share("the count (part of the density's share)", "0.01")
    density_share: Epsilon = share("the count and coarse cells", "0.06")
    visits_share: Epsilon = share("visits", "0.36")
    moves_share: Epsilon = share("moves", "0.36")
    trips_share: Epsilon = share("trips", "0.13")
    shapes_share: Epsilon = share("diameters and lengths", "0.09")

    def check_together(self) -> None:
        """Refuse settings that do not fit each other."""
        if self.K is not None and (LEAST_DIVISION * self.K) ** 2 > self.max_states:
            raise SettingsError(
                f"{spelled('K')} = {self.K} coarse cells per side make at least "
                f"{(LEAST_DIVISION * self.K) ** 2:,} states, but {spelled('max_states')} allows "
                f"{self.max_states:,}; set fewer cells or more states"
            )
        if self.spacing is not None and (self.times or self.sampling):
            raise SettingsError(
                f"{spelled('spacing')} sets a fixed distance between points, but "
                f"{spelled('times' if self.times else 'sampling')} measures it; leave one of them out"
            )
        self.shares_sum_to_one("density", "visits", "moves", "trips", "shapes")
        self.share_is_within("density", "count")

    @property
    def shares(self) -> dict[str, Fraction]:
        """Divide epsilon among the stages."""
        return {
            "count": self.share_of_count,
            "density": self.share_of("density") - self.share_of_count,
            "visits": self.share_of("visits"),
            "moves": self.share_of("moves"),
            "trips": self.share_of("trips"),
            "shapes": self.share_of("shapes"),
        }

    def plan(self, count: int) -> Plan:
        """Say what a fit to about so many trajectories would give, from public numbers alone."""
        sized_by = self.sized_by(count)
        size, states = self.coarse_size(sized_by), self._expected_states(sized_by)
        n_zones = self.n_zones(sized_by, 4 * states)
        return self.planned(
            count,
            _NOISY,
            limited(states, self.max_states),
            grid=f"The grid: about {size} x {size} coarse cells, divided into about {states:,} states; trips "
            f"go between about {n_zones} zones.",
            coarse_per_side=size,
            states=states,
            # As measured on two cores: see benchmarks/README.md.
            memory_mb=10e-6 * 4 * states * n_zones * len(LOSSES) + 0.02 * states,
            seconds=0.4 + (self.rounds + 1) * states * (3.6e-5 + 8.8e-7 * n_zones),
        )

    def coarse_size(self, n_trajectories: float) -> int:
        """Choose K so that an average coarse cell has some more visits than its density has noise."""
        if self.K is not None:
            return self.K
        size = math.sqrt(n_trajectories / (self.coarse_factor * self.error("density")))
        return max(1, min(round(size), MOST_BY_RULE, math.isqrt(self.max_states) // LEAST_DIVISION))

    def n_zones(self, n_trajectories: float, n_links: int) -> int:
        """Choose the number of zones so that the trips between two stay in proportion to their noise."""
        wanted = round(math.sqrt(n_trajectories / (self.zone_factor * self.error("trips"))))
        affordable = MOST_HITTING // (len(LOSSES) * max(n_links, 1))
        return max(1, min(wanted, self.max_zones, affordable))

    def _expected_states(self, count: int) -> int:
        """Foresee the number of states, were density even."""
        coarse = self.coarse_size(count) ** 2
        division = self.divisions(np.array([count / coarse]))[0]
        return min(int(coarse * division**2), self.max_states)

    def divisions(self, visits: Floats) -> npt.NDArray[np.int32]:
        """Halve coarse cells until the visits of a cell are in proportion to the noise of its moves."""
        from privtrace.space.grid import MAX_SLOTS

        per_side = np.sqrt(visits / (self.cell_factor * self.error("moves")))
        # Powers of two, rounded by comparing: no logarithm, which machines may round apart.
        division = np.full(visits.shape, LEAST_DIVISION, np.int32)
        most = min(MOST_DIVISION, math.isqrt(MAX_SLOTS // visits.size))
        while np.any(finer := (per_side >= division * math.sqrt(2)) & (2 * division <= most)):
            division[finer] *= 2
        return division

    def placing(self, region: Region, timing: Timing | None) -> Placing:
        """Say how points are set on lines: as trips are reported, if that was measured, else by spacing."""
        from privtrace.methods.bridgetrace.polyline import Placing
        from privtrace.timing.draw import NO_DRAWS

        return Placing(self.spacing_m(region), NO_DRAWS) if timing is None else Placing(0.0, timing.draws)

    def spacing_m(self, region: Region) -> float:
        """Choose the spacing of points; whether it is too small for the region shows when that has meters."""
        least = LEAST_SPACING * region.shorter_side_m
        if self.spacing is not None and self.spacing < least:
            raise SettingsError(
                f"{spelled('spacing')} = {self.spacing:g} is too small for a region of this size; set at "
                f"least {least:g}"
            )
        return self.spacing or SPACING * region.shorter_side_m
