"""Say what is protected: the unit by which two neighboring data sets differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from privtrace.errors import SettingsError

#: The weight of one trajectory in every count: counts are integers in units of 2**-20 trajectories.
WEIGHT = 1 << 20


@dataclass(frozen=True)
class Unit:
    """Describe the protected unit, and bound what it can add to any count.

    A user-level unit differs from this one in two places only: `contributions` is then the number of
    trajectories that a user may have, and the choice of those trajectories is made once per fit, over the
    whole source, before any kernel sees a part.
    """

    kind: Literal["trajectory"] = "trajectory"
    contributions: int = 1  # trajectories that one unit may hold

    def __post_init__(self) -> None:
        if self.kind != "trajectory" or self.contributions != 1:
            raise SettingsError(
                f"the protected unit must be one trajectory, not {self.contributions} of {self.kind!r}"
            )

    @property
    def sensitivity(self) -> int:
        """Bound, in L1 and exactly, what one unit adds to a count vector."""
        return self.contributions * WEIGHT

    @property
    def sentence(self) -> str:
        """Tell a reader who is protected."""
        return (
            "One trajectory: all points recorded under one trajectory id (and user, where users are given). "
            "Adding or removing any one trajectory, whatever it contains, changes the probability of any "
            "release by a factor of at most exp(epsilon). A person with several trajectories is protected "
            "for each of them, not for all together."
        )
