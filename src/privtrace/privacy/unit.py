"""Say what is protected: the unit by which two neighboring data sets differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from privtrace.errors import SettingsError

#: The weight of one trajectory in every count: counts are integers in units of 2**-20 trajectories.
WEIGHT = 1 << 20

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
                f"of one {self.kind}, from 1 to {most} trajectories may count, not {self.contributions!r}"
            )
        gap = self.gap_minutes
        if gap is not None and (isinstance(gap, str | bool) or not 0 < gap < 1e9):
            raise SettingsError(
                f"the gap at which logs are cut must be a positive number of minutes, not {gap!r}"
            )
        object.__setattr__(self, "gap_minutes", gap if gap is None else float(gap))

    @classmethod
    def of(cls, kind: Literal["trajectory", "user"], max_per_user: int | None) -> Unit:
        """Make the unit that settings describe."""
        if kind == "user" and max_per_user is None:
            raise SettingsError(
                "to protect users, say how many trajectories of a user count at most, such as --max-per-user 5 "
                "(max_per_user=5): noise grows with it, so choose it without the data"
            )
        if kind != "user" and max_per_user is not None:
            raise SettingsError("max_per_user goes with --unit user (unit='user') only; leave it out")
        return cls(kind, max_per_user or 1)

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

    @property
    def each_or_all(self) -> str:
        """Tell whoever fits data with users what these are promised, and how to promise more."""
        word = "trajectory" if self.gap_minutes is None else "trip"
        return (
            f"The data has users, and each {word} is protected by itself: a person with many is protected for "
            f"each {word}, not for all together. To protect people: --unit user --max-per-user K (unit='user', "
            "max_per_user=K)."
        )

    @property
    def sentence(self) -> str:
        """Tell a reader who is protected."""
        gap = None if self.gap_minutes is None else f"splitting at gaps over {self.gap_minutes:.12g} minutes"
        if self.kind == "user":
            cut = (
                f" Points without a time do not count, and a trajectory is one trip after {gap}." if gap else ""
            )
            return _USER.format(k=f"{self.contributions:,}", cut=cut)
        if gap:
            one = f"trip after {gap}: all points between two such gaps, recorded"
            neighbors = (
                f"Two data sets are neighbors if, after dropping points without a time and {gap}, they differ "
                "by one trip. "
            )
            return _TRAJECTORY.format(one=one, neighbors=neighbors, word="trip", words="trips")
        return _TRAJECTORY.format(
            one="trajectory: all points recorded", neighbors="", word="trajectory", words="trajectories"
        )


_TRAJECTORY = (
    "One {one} under one trajectory id (and user, where users are given). {neighbors}Adding or removing any "
    "one {word}, whatever it contains, changes the probability of any release by a factor of at most "
    "exp(epsilon). A person with several {words} is protected for each of them, not for all together."
)
_USER = (
    "One person: all trajectories of one user together, however many. Adding or removing any one user, "
    "whatever their trajectories contain, changes the probability of any release by a factor of at most "
    "exp(epsilon). Of a user with more than {k} trajectories, {k} chosen at random count; rows without a user "
    "do not count.{cut}"
)
