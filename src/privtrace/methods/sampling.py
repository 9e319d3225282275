"""Make synthetic trajectories block by block, each trajectory from its own number and the seed."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.backends.base import Backend
from privtrace.backends.local import Threads
from privtrace.methods.declaring import MOST_SEED, spelled, whole
from privtrace.methods.settings import MOST_TRAJECTORIES
from privtrace.trajectories import Trajectories

if TYPE_CHECKING:
    from privtrace.methods.model import Model

#: Trajectories that one task makes: enough to keep a core busy, little enough to stream; and points at most.
BLOCK_TRAJECTORIES = 1 << 12
BLOCK_POINTS = 1 << 22

#: Times the memory that all need if they are as long as the first block: blocks are alike.
_SPARE = 1.02


def sample_parts(
    model: Model, count: int, seed: int | None, backend: Backend | None = None
) -> Iterator[tuple[Trajectories, int]]:
    """Make trajectories block by block; each comes with the number of its walks that were cut short.

    The same model and seed give the same trajectories, whatever the count and the backend: trajectory i is
    always the same. Without a seed a fresh one is drawn.
    """
    count = whole(count, "count", 0, MOST_TRAJECTORIES)
    seed = secrets.randbits(64) if seed is None else whole(seed, "seed", 0, MOST_SEED)
    size = model.block_trajectories
    firsts = range(0, max(count, 1), size)  # no trajectories are one empty block, of known type
    blocks = (range(first, min(first + size, count)) for first in firsts)
    backend = backend or Threads()
    model.prepare(backend)
    return backend.map(lambda block: model.sample_block(block, seed), blocks)


def gathered(blocks: Iterator[tuple[Trajectories, int]], count: int) -> tuple[Trajectories, int]:
    """Lay the blocks of `count` trajectories end to end, as they come; also count the walks cut short.

    A block is let go once it was copied: so they take memory once, and the next one finds it warm.
    """
    first, n_capped = next(blocks)
    per_block = count / max(len(first), 1)
    columns = [_Column.of(values, per_block) for values in _values(first)]
    for block, capped in blocks:
        columns = [column.longer(values) for column, values in zip(columns, _values(block), strict=True)]
        n_capped += capped
    points, sizes, *times = (column.whole for column in columns)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return replace(first, points=points, offsets=offsets, times=times[0] if times else None), n_capped


def _values(block: Trajectories) -> list[npt.NDArray[Any]]:
    """List what blocks of one model have of each point or trajectory."""
    values = [block.points, np.diff(block.offsets)]
    return values if block.times is None else [*values, block.times]


class _Column(NamedTuple):
    """Hold values that are laid end to end, in memory for more of them."""

    memory: npt.NDArray[Any]
    n: int

    @classmethod
    def of(cls, first: npt.NDArray[Any], times_as_many: float) -> _Column:
        """Begin with values, and with memory for so many times as many."""
        n_expected = int(_SPARE * times_as_many * len(first)) + 1
        return cls(np.empty((n_expected, *first.shape[1:]), first.dtype), 0).longer(first)

    def longer(self, more: npt.NDArray[Any]) -> _Column:
        """Lay values behind the others."""
        memory, n = self.memory, self.n + len(more)
        while n > len(memory):
            memory = np.concatenate([memory, np.empty_like(memory)])
        memory[self.n : n] = more
        return _Column(memory, n)

    @property
    def whole(self) -> npt.NDArray[Any]:
        """Give all values."""
        return self.memory[: self.n]


def capped_walks(n_capped: int) -> str:
    """Put the number of walks cut short in words."""
    return (
        f"{n_capped:,} walks reached {spelled('max_steps')} and were cut there; set a larger limit to let "
        "them finish"
    )
