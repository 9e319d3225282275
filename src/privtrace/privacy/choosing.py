"""Choose which trajectories of users count, where these are: here, or on the machines of an engine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from privtrace.backends.passes import Passes
from privtrace.privacy.noise import Noise
from privtrace.privacy.selection import Candidates, Choice, check_users, chosen
from privtrace.privacy.unit import Unit
from privtrace.trajectories import Trajectories


@dataclass(frozen=True, eq=False)
class Chooser:
    """Choose among trajectories of users that are all there. Other machines get it, and the key with it."""

    per_user: int
    key: bytes = field(repr=False)

    def __call__(self, part: Trajectories) -> Trajectories:
        """Leave those that count: the smallest of all are those of what is left of some, and of others."""
        return Choice.of([Candidates.of(part, 0, self.key)], self.per_user).within(part, 0)


def choosing(passes: Passes, unit: Unit, noise: Noise) -> tuple[Passes, Choice | None]:
    """Choose which trajectories count: here in a pass of its own; on other machines in each, where users meet.

    There all trajectories of a user come together before any kernel runs, in every pass, so the choice is made
    of the same ones by the same key, and is the same. Nobody has to know of all users at once.
    """
    if not passes.is_remote:
        return passes, chosen(passes, unit, noise)
    check_users(passes)
    return replace(passes, choose=Chooser(unit.contributions, noise.selection_key())), None
