"""Pass over a source, part by part, side by side, with progress in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from privtrace.backends.base import Backend, Result
from privtrace.observer import Observer
from privtrace.trajectories import RemoteParts, Source, Trajectories, check_source, is_remote


@dataclass(frozen=True)
class Passes:
    """Hold what passes over a source need; each `map` is one pass. It yields what the kernel makes: private."""

    source: Source
    backend: Backend
    observer: Observer
    choose: Callable[[RemoteParts], RemoteParts] | None = None  # among those of users, on other machines

    def __post_init__(self) -> None:
        check_source(self.source)

    @property
    def is_remote(self) -> bool:
        """Tell whether an engine on other machines holds the parts."""
        return getattr(self.source, "engine", None) is not None

    def map(
        self, kernel: Callable[[Trajectories], Result], text: str, part_points: int | None = None
    ) -> Iterator[Result]:
        """Yield kernel(part) for each part, in order. A kernel is pure and runs on one thread.

        With `part_points`, parts are cut into parts of about so many points. Where parts are on other machines,
        a result may stand for several, as their backend says.
        """
        if not self.is_remote:
            yield from self.map_numbered(lambda part, first: kernel(part), text, part_points)
            return
        parts = self.source.parts()
        assert is_remote(parts)
        if self.choose is not None:
            parts = self.choose(parts)
        if part_points is not None:
            parts = parts.each(lambda part: part.cut(part_points))
        with self._stage(text):
            yield from self.backend.map(kernel, parts)

    def map_numbered(
        self, kernel: Callable[[Trajectories, int], Result], text: str, part_points: int | None = None
    ) -> Iterator[Result]:
        """Yield kernel(part, first), the part's first trajectory being the `first` of the source."""
        with self._stage(text) as advance:
            for n_points, result in self.backend.map(
                lambda numbered: (numbered[0].n_points, kernel(*numbered)), self._numbered(part_points)
            ):
                advance(n_points)
                yield result

    @contextmanager
    def _stage(self, text: str) -> Iterator[Callable[[int], None]]:
        """Show a pass, and let the source tell the curator what its rows tell."""
        tell = getattr(self.source, "tell", lambda observer: None)
        tell(self.observer)  # what only a look at its rows can tell a curator
        with self.observer.stage(text, self.source.n_points) as advance:
            yield advance
        tell(self.observer)  # and what only a pass can

    def _numbered(self, part_points: int | None) -> Iterator[tuple[Trajectories, int]]:
        n_trajectories = 0
        for whole in self.source.parts():
            for part in [whole] if part_points is None else whole.cut(part_points):
                yield part, n_trajectories
                n_trajectories += len(part)
