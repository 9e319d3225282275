"""State what a backend is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


class Backend(Protocol):
    """Map a pure function over parts. Results come in the order of the parts."""

    def map(self, task: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        """Yield task(part) for each part."""
        ...
