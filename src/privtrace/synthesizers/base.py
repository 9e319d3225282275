"""State what a synthesizer and a model are."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy.typing as npt

from privtrace.backends.base import Backend
from privtrace.backends.local import Threads
from privtrace.errors import SettingsError
from privtrace.observer import Observer
from privtrace.privacy.budget_file import BudgetFile
from privtrace.privacy.epsilon import Epsilon
from privtrace.privacy.noise import Noise
from privtrace.release import Release
from privtrace.space.region import Region
from privtrace.synthesizers.plan import Plan
from privtrace.synthesizers.view import View
from privtrace.trajectories import Source, Trajectories

if TYPE_CHECKING:
    from privtrace.report.document import Report

#: Trajectories that one task makes: enough to keep a core busy, little enough to stream; and points at most.
BLOCK_TRAJECTORIES = 1 << 12
BLOCK_POINTS = 1 << 22

#: Trajectories of a sample at most: a slip of the keyboard should not fill a disk.
MOST_TRAJECTORIES = 1 << 39


class Model(Protocol):
    """Hold a fitted model: noisy, complete and publishable."""

    @property
    def release(self) -> Release:
        """Give the public facts."""
        ...

    @property
    def checksum(self) -> str:
        """Give the SHA-256 of the model's file."""
        ...

    @property
    def about(self) -> Mapping[str, str]:
        """Give the words that go along with what is made from the model; they name it by its checksum."""
        ...

    @property
    def n_trajectories(self) -> int:
        """Give the number of trajectories that the model takes the data to have, noisy or declared.

        Where users are protected, it is the number of those that count.
        """
        ...

    @property
    def block_trajectories(self) -> int:
        """Say how many trajectories one task should make; no result depends on it."""
        ...

    def prepare(self, backend: Backend) -> None:
        """Work out what walks need, once, on the backend; walks on many threads would each wait for it."""
        ...

    def sample_block(self, trajectories: range, seed: int) -> tuple[Trajectories, int]:
        """Make the trajectories of these numbers; also count the walks cut short. A pure function."""
        ...

    def retrace(self, part: Trajectories, first: int, seed: int) -> Trajectories:
        """Lead real trajectories, numbered from `first`, through the model's cells and back. NOT PRIVATE.

        What is left of them is what cells can tell; for explaining errors only.
        """
        ...

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """List the arrays that a model file holds."""
        ...

    @classmethod
    def from_arrays(cls, release: Release, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Make the model again from its file's parts, checking them."""
        ...

    def summary(self) -> dict[str, Any]:
        """Describe sizes for a reader."""
        ...

    def view(self) -> View:
        """Show cells with their noisy numbers, trips and moves. Post-processing."""
        ...

    def sample(self, count: int | None = None, *, seed: int | None = None) -> Trajectories:
        """Make synthetic trajectories, as many as the data has if no count is given."""
        ...

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the model file."""
        ...

    def report(
        self,
        path: str | Path | None = None,
        *,
        title: str | None = None,
        note: str | None = None,
        force: bool = False,
    ) -> Report:
        """Show the model as a page that is as publishable as its file."""
        ...

    def export(self, what: str, path: str | Path, *, format: str | None = None, force: bool = False) -> None:
        """Write "od", "density", "transitions" or "grid" as a table or map."""
        ...


class Synthesizer(Protocol):
    """Hold a method's settings, before any data."""

    @property
    def method(self) -> str:
        """Name the method."""
        ...

    @property
    def region(self) -> Region:
        """Give the public area."""
        ...

    def at(self, epsilon: Epsilon) -> Self:
        """Keep the settings and change the budget."""
        ...

    def plan(self, count: int) -> Plan:
        """Say what a fit to about so many trajectories would give, from public numbers alone."""
        ...

    def fit(
        self,
        source: Source,
        *,
        noise: Noise | None = None,
        backend: Backend | None = None,
        observer: Observer | None = None,
        budget_file: BudgetFile | None = None,
    ) -> Model:
        """Measure a source under the budget and return the model."""
        ...


def sample_parts(
    model: Model, count: int, seed: int | None, backend: Backend | None = None
) -> Iterator[tuple[Trajectories, int]]:
    """Make trajectories block by block; each comes with the number of its walks that were cut short.

    The same model and seed give the same trajectories, whatever the count and the backend: trajectory i is
    always the same. Without a seed a fresh one is drawn.
    """
    if not 0 <= count <= MOST_TRAJECTORIES:
        raise SettingsError(f"the number of trajectories must be from 0 to {MOST_TRAJECTORIES}, not {count}")
    if seed is None:
        seed = secrets.randbits(64)
    if not 0 <= seed < 1 << 64:
        raise SettingsError(f"a seed is a whole number from 0 to 2**64 - 1, not {seed}")
    size = model.block_trajectories
    firsts = range(0, max(count, 1), size)  # no trajectories are one empty block, of known type
    blocks = (range(first, min(first + size, count)) for first in firsts)
    backend = backend or Threads()
    model.prepare(backend)
    return backend.map(lambda block: model.sample_block(block, seed), blocks)


def in_words(summary: Mapping[str, Any]) -> str:
    """Put the sizes of a model in words."""
    return ", ".join(f"{size:,} {_singular(name) if size == 1 else name}" for name, size in summary.items())


def _singular(name: str) -> str:
    """Name one of them: coarse cells divided -> coarse cell divided, trajectories -> trajectory."""
    return re.sub(r"(ie)?s\b", lambda ending: "y" if ending[1] else "", name, count=1)


def capped_walks(n_capped: int) -> str:
    """Put the number of walks cut short in words."""
    return f"{n_capped:,} walks reached max_steps and were ended there; a larger max_steps lets them go on"
