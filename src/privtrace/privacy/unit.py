"""Say what is protected: the unit by which two neighboring data sets differ."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from privtrace.errors import SettingsError

#: The weight of one trajectory in every count: counts are integers in units of 2**-20 trajectories.
WEIGHT = 1 << 20

#: Scales of noise above this would leave too few of 62 bits for sums of noisy numbers.
MAX_SCALE = Fraction(1 << 44)

#: Trajectories of one user that may count, at most: more would leave little but noise.
MOST_PER_USER = 10_000


@dataclass(frozen=True)
class Unit:
    """Describe the protected unit, and bound what it can add to any count.

    Where users are protected, `contributions` trajectories of a user count at most. They are chosen once per
    fit, over the whole source, before any kernel sees a part; see `privacy.selection`.
    """

    kind: Literal["trajectory", "user"] = "trajectory"
    contributions: int = 1  # trajectories of one unit that count, at most
    gap_minutes: float | None = None  # logs were cut into trajectories at gaps longer than this, a public rule

    def __post_init__(self) -> None:
        if self.kind not in ("trajectory", "user"):
            raise SettingsError(f"the protected unit must be 'trajectory' or 'user', not {self.kind!r}")
        most = MOST_PER_USER if self.kind == "user" else 1
        if type(self.contributions) is not int or not 1 <= self.contributions <= most:
            raise SettingsError(
                f"from 1 to {most} trajectories of one {self.kind} may count, not {self.contributions!r}"
            )
        gap = self.gap_minutes
        if gap is not None and (isinstance(gap, str | bool) or not 0 < gap < 1e9):
            raise SettingsError(
                f"the gap at which logs are cut must be a positive number of minutes, not {gap!r}"
            )
        object.__setattr__(self, "gap_minutes", gap if gap is None else float(gap))

    @property
    def max_per_user(self) -> int | None:
        """Say how many trajectories of a user count at most, where users are protected."""
        return self.contributions if self.kind == "user" else None

    @property
    def sensitivity(self) -> int:
        """Bound, in L1 and exactly, what one unit adds to a count vector."""
        return self.contributions * WEIGHT

    @property
    def neighbors(self) -> str:
        """Name what one change of the data may be; epsilons add up only where this is the same.

        How many trajectories of a user count is no part of it, nor how a user's log is cut: the promise is
        about all of them together.
        """
        if self.kind == "user" or self.gap_minutes is None:
            return self.kind
        return f"trip between gaps over {self.gap_minutes:.12g} minutes"
