"""Pass over a source with a kernel: parts side by side, progress in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from privtrace.backends.base import Backend, Result
from privtrace.errors import DataError
from privtrace.observer import Observer
from privtrace.trajectories import Source, Trajectories


@dataclass(frozen=True)
class Scan:
    """Hold what passes over a source need; each `map` is one pass."""

    source: Source
    backend: Backend
    observer: Observer

    def __post_init__(self) -> None:
        if not hasattr(self.source, "parts"):
            raise DataError(
                f"trajectories are needed, or a source of them such as privtrace.read(path), "
                f"not {type(self.source).__name__}"
            )

    def map(self, kernel: Callable[[Trajectories], Result], text: str) -> Iterator[Result]:
        """Yield kernel(part) for each part, in order. A kernel is pure and runs on one thread."""
        with self.observer.stage(text, self.source.n_points) as advance:
            parts = self.source.parts()
            for n_points, result in self.backend.map(lambda part: (part.n_points, kernel(part)), parts):
                advance(n_points)
                yield result
