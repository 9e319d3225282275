"""State what a backend is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from privtrace.backends.sums import Sums
from privtrace.trajectories import Trajectories

Part = TypeVar("Part")
Result = TypeVar("Result")


class Count(Protocol):
    """Count a part: tables of whole numbers that add up over parts. Pure, with nothing secret in it."""

    @property
    def sizes(self) -> list[int]:
        """Say how many entries the tables have."""
        ...

    def __call__(self, part: Trajectories) -> list[Sums]:
        """Count one part."""
        ...


class Backend(Protocol):
    """Map a pure function over parts. Results come in the order of the parts.

    Where parts are on other machines and the task is a `Count`, a result may be the sum of several.
    """

    def map(self, task: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        """Yield task(part) for each part."""
        ...
