"""Hold DPT's settings, the rules for its sizes, and what a fit would give."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Literal

from privtrace.methods.declaring import Flag, Number, OneOf, Whole, setting, share, spelled, whole
from privtrace.methods.dpt.foreseen import FORESEEN
from privtrace.methods.foreseeing import Table
from privtrace.methods.plan import Plan
from privtrace.methods.settings import Settings
from privtrace.privacy.epsilon import Epsilon

#: Cells per side of the finest system at most.
MOST_PER_SIDE = 512

#: The nodes that a cell has in its tree, switches aside: eight moves and the stop.
NODES_PER_CELL = 9

#: Events of a walk at most, per cell of the finest side: few trips cross a region ten times, and noise can lead
#: a walk round in circles.
EVENTS_PER_SIDE_CELL = 10

#: What a fit takes, as measured on two cores (benchmarks/README.md): memory of any fit and of a cell at the
#: default height, twice as much for each level more; and cells per second.
_CELL_MB, _MEASURED_HEIGHT, _CELLS_PER_S = 1e-3, 3, 50_000


@dataclass(frozen=True, kw_only=True)
class DPT(Settings):
    """Hold DPT's settings; all of them are public.

    After the published description; parameters that the description leaves open are ours. The finest system, if
    left as None, follows from the noisy count and epsilon, by the rule in docs/methods/dpt.md; where users are
    protected, it reads epsilon over max_per_user for epsilon.
    """

    method: ClassVar[str] = "dpt"

    height: int = setting("Levels of the prefix trees: the length of a context plus one.", Whole(2, 6), 3)
    finest: int | None = setting(
        "Cells per side of the finest system.", Whole(1, MOST_PER_SIDE), None, otherwise="by rule"
    )
    max_systems: int = setting("Most reference systems: the finest, then halved while even.", Whole(1, 10), 8)
    mapping: Literal["speed", "coarsest"] = setting(
        "Which system encodes a pair of points.", OneOf(("speed", "coarsest")), "speed"
    )
    hysteresis: bool = setting("Stay in a system as long as it can encode the next pair.", Flag(), True)
    load: float = setting("Mean mass of a node of the finest system, in standard errors.", Number(), 0.8)
    keep: float = setting("Keep systems whose nodes have this mean mass, in standard errors.", Number(), 0.3)
    expand: float = setting("Expand nodes with at least this count, in standard errors.", Number(), 2.0)
    max_contexts: int = setting("Most contexts of one depth; limits memory.", Whole(1, 5_000_000), 500_000)
    heading_moves: int = setting("Number of last moves that set the heading.", Whole(1, 1000), 5)
    heading_strength: float = setting(
        "A move straight ahead is exp(this) times as likely as one sideways.", Number(0, 10), 1.0
    )
    count_share: Epsilon = share("the count (part of the systems' share)", "0.02")
    systems_share: Epsilon = share("the count and the reference systems", "0.1")
    starts_share: Epsilon = share("starts", "0.1")
    trees_share: Epsilon = share("the prefix trees, the same for each level", "0.8")
    max_steps: int | None = setting(
        "Most events of a walk.",
        Whole(1, 1_000_000),
        None,
        otherwise=f"{EVENTS_PER_SIDE_CELL} per cell of the finest side",
    )

    def check_together(self) -> None:
        """Refuse settings that do not fit each other."""
        if self.finest is not None:
            whole(self.finest, "finest", 1, self.most_per_side)
        self.shares_sum_to_one("systems", "starts", "trees")
        self.share_is_within("systems", "count")

    @property
    def foreseen(self) -> Table:
        """Give the table of errors on public data."""
        return FORESEEN

    @property
    def shares(self) -> dict[str, Fraction]:
        """Divide epsilon among the stages."""
        level = self.share_of("trees") / self.height
        return {
            "count": self.share_of_count,
            "systems": self.share_of("systems") - self.share_of_count,
            "starts": self.share_of("starts"),
            **{f"level {number + 1}": level for number in range(self.height)},
        }

    def plan(self, count: int) -> Plan:
        """Say what a fit to about so many trajectories would give, from public numbers alone."""
        sizes = self.sizes(self.finest_size(self.sized_by(count)))
        states = sum(size * size for size in sizes)
        return self.planned(
            count,
            _noisy(self.height),
            self._own_warnings(sizes[0]),
            grid=f"The reference systems: {', '.join(f'{size} x {size}' for size in sizes)} cells at "
            "most; only those that are used enough are kept.",
            coarse_per_side=sizes[-1],
            states=states,
            memory_mb=_CELL_MB * states * 2 ** (self.height - _MEASURED_HEIGHT),
            seconds=1 + states / _CELLS_PER_S,
        )

    def _own_warnings(self, finest: int) -> Iterator[str]:
        if self.finest is None and finest == self.most_per_side:
            yield (
                f"the rule for {spelled('finest')} stops at {finest} cells per side; more data adds no detail"
            )

    @property
    def node_error(self) -> float:
        """Give the standard deviation of a node's noise, in trajectories."""
        return math.sqrt(2) / self.per_unit("level 1")

    @property
    def most_per_side(self) -> int:
        """Limit the finest system."""
        from privtrace.space.shortest_paths import MOST_OVER_POLYGON

        return MOST_PER_SIDE if self.region.shape is None else MOST_OVER_POLYGON

    def sizes(self, finest: int) -> tuple[int, ...]:
        """List the cells per side of all systems, from the finest to the coarsest."""
        sizes = [finest]
        while sizes[-1] % 2 == 0 and sizes[-1] > 2 and len(sizes) < self.max_systems:
            sizes.append(sizes[-1] // 2)
        return tuple(sizes)

    def finest_size(self, n_trajectories: float) -> int:
        """Choose the finest system: as fine as its nodes bear, if it encoded all events.

        It has 2, 3, 4, 6, 8, 12, 16, 24, ... cells per side, so that it can be halved often.
        """
        if self.finest is not None:
            return self.finest
        bearable = math.sqrt(n_trajectories / (NODES_PER_CELL * self.load * self.node_error))
        most, levels = max(min(bearable, self.most_per_side), 2), range(MOST_PER_SIDE.bit_length())
        return max(size << level for size in (2, 3) for level in levels if size << level <= most)


def _noisy(height: int) -> dict[str, str]:
    """Name what gets the noise of each stage, for plans."""
    levels = {f"level {level}": f"a count of {level} cells in a row" for level in range(2, height + 1)}
    return {
        "count": "the total",
        "systems": "the use of a reference system",
        "starts": "a count of starts",
        "level 1": "a count of arrivals",
        **levels,
    }
