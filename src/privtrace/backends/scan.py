"""Pass over a source with a kernel: parts side by side, progress in words, only what counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from privtrace.backends.base import Backend, Result
from privtrace.errors import DataError
from privtrace.observer import Observer
from privtrace.privacy.noise import Noise
from privtrace.privacy.selection import NO_USERS, Candidates, Choice
from privtrace.privacy.unit import Unit
from privtrace.trajectories import Integers, Source, Trajectories

#: Entries that a kernel should make of one part at most.
_MOST_ENTRIES = 1 << 24


@dataclass(frozen=True)
class Scan:
    """Hold what passes over a source need; each `map` is one pass."""

    source: Source
    backend: Backend
    observer: Observer
    choice: Choice | None = None  # the trajectories that count; all of them if None
    part_points: int | None = None  # cut the source's parts into parts of about so many points

    def __post_init__(self) -> None:
        if not callable(getattr(self.source, "parts", None)):  # the parts of a pathlib.Path are no method
            raise DataError(
                f"trajectories are needed, or a source of them such as privtrace.read(path), "
                f"not {type(self.source).__name__}"
            )

    def counting(self, unit: Unit, noise: Noise) -> Scan:
        """Settle, in a pass of its own, which trajectories count in all passes of a fit."""
        if unit.kind == "trajectory":
            return self
        if not getattr(self.source, "has_users", True):  # a file's header tells before any pass
            raise DataError(NO_USERS)
        key = noise.selection_key()
        candidates = self._map(
            lambda part, first: Candidates.of(part, first, key), "Choosing the trajectories that count"
        )
        choice = Choice.of(candidates, unit.contributions)
        self.observer.note(choice.words(unit.contributions), loud=choice.n_users == 0)
        return replace(self, choice=choice)

    def making(self, n_entries: int) -> Scan:
        """Cut parts so fine that kernels that make up to n_entries of each point stay in bounds of memory."""
        return replace(self, part_points=max(1, _MOST_ENTRIES // n_entries))

    def map(self, kernel: Callable[[Trajectories], Result], text: str) -> Iterator[Result]:
        """Yield kernel(part) for each part, in order. A kernel is pure and runs on one thread."""
        choice = self.choice
        if choice is None:
            return self._map(lambda part, first: kernel(part), text)
        return self._map(lambda part, first: kernel(choice.within(part, first)), text)

    def total(
        self, kernel: Callable[[Trajectories], Integers], text: str, shape: int | tuple[int, ...]
    ) -> Integers:
        """Add up kernel(part) of this shape over all parts: counts of parts add up to the counts of all."""
        return sum(self.map(kernel, text), start=np.zeros(shape, np.int64))

    def _map(self, task: Callable[[Trajectories, int], Result], text: str) -> Iterator[Result]:
        """Yield task(part, first), the part's first trajectory being the `first` of the source."""
        with self.observer.stage(text, self.source.n_points) as advance:
            for n_points, result in self.backend.map(
                lambda numbered: (numbered[0].n_points, task(*numbered)), self._numbered()
            ):
                advance(n_points)
                yield result

    def _numbered(self) -> Iterator[tuple[Trajectories, int]]:
        """Start a pass, telling with each part how many trajectories went before."""
        n_trajectories = 0
        for whole in self.source.parts():
            for part in [whole] if self.part_points is None else whole.cut(self.part_points):
                yield part, n_trajectories
                n_trajectories += len(part)
        if self.choice is not None and n_trajectories != self.choice.n_trajectories:
            raise DataError(
                "the source did not yield the same trajectories in every pass; it must, and in the same order"
            )
