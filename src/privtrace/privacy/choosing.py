"""Choose which trajectories of users count, where these are: here, or on the machines of an engine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from privtrace.backends.passes import Passes
from privtrace.observer import Observer
from privtrace.privacy import wording
from privtrace.privacy.noise import Noise
from privtrace.privacy.selection import Candidates, Choice, check_users, chosen
from privtrace.privacy.unit import Unit
from privtrace.trajectories import RemoteParts, Trajectories


@dataclass(frozen=True, eq=False)
class Chooser:
    """Choose among trajectories of users that are all there. Other machines get it, and the key with it."""

    per_user: int
    key: bytes = field(repr=False)

    def __call__(self, part: Trajectories) -> Trajectories:
        """Leave those that count: the smallest of all are those of what is left of some, and of others."""
        return Choice.of([Candidates.of(part, 0, self.key)], self.per_user).within(part, 0)


@dataclass(frozen=True, eq=False)
class Choosing:
    """Choose on other machines, in every pass; after the first, tell the curator what the choice left out."""

    chooser: Chooser
    observer: Observer
    counted: list[int] = field(default_factory=list)  # trips before the choice, once a pass is over

    def __call__(self, parts: RemoteParts) -> RemoteParts:
        """Say what is to be done there."""
        if self.counted:
            return parts.of_users(self.chooser)
        before = parts.tallied(lambda part: [len(part)], 1, self.counted.extend)
        return before.of_users(self.chooser).tallied(users_and_trips, 2, self.tell)

    def tell(self, numbers: list[int]) -> None:
        """Tell the curator how many users there are, and how many of their trips count."""
        (n_users, n_chosen), (n_trips,) = numbers, self.counted
        words = wording.chosen(n_users, n_trips, n_chosen, self.chooser.per_user)
        self.observer.note(words, loud=n_users == 0)


def users_and_trips(part: Trajectories) -> list[int]:
    """Count users, whose trajectories follow each other, and trajectories."""
    assert part.users is not None
    return [len(part) and 1 + int(np.count_nonzero(part.users[1:] != part.users[:-1])), len(part)]


def choosing(passes: Passes, unit: Unit, noise: Noise) -> tuple[Passes, Choice | None]:
    """Choose which trajectories count: here in a pass of its own; on other machines in each, where users meet.

    There all trajectories of a user come together before any kernel runs, in every pass, so the choice is made
    of the same ones by the same key, and is the same. Nobody has to know of all users at once.
    """
    if not passes.is_remote:
        return passes, chosen(passes, unit, noise)
    check_users(passes)
    chooser = Chooser(unit.contributions, noise.selection_key())
    return replace(passes, choose=Choosing(chooser, passes.observer)), None
