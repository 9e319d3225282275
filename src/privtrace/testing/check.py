"""Say what a check is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from privtrace.methods.settings import Settings

#: Makes the settings of a method from what all methods have: epsilon, region, unit, and so on.
Make: TypeAlias = Callable[..., Settings]


@dataclass(frozen=True)
class Check:
    """Hold one thing that a method must keep; calling it raises AssertionError where it does not."""

    suite: str
    name: str
    run: Callable[[], None]

    def __call__(self) -> None:
        """Run the check."""
        self.run()

    def __str__(self) -> str:
        return f"{self.suite}: {self.name}"
