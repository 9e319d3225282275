"""Make synthetic trajectories block by block, each trajectory from its own number and the seed."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING

from privtrace.backends.base import Backend
from privtrace.backends.local import Threads
from privtrace.errors import SettingsError
from privtrace.methods.declaring import spelled
from privtrace.methods.settings import MOST_TRAJECTORIES
from privtrace.trajectories import Trajectories

if TYPE_CHECKING:
    from privtrace.methods.model import Model

#: Trajectories that one task makes: enough to keep a core busy, little enough to stream; and points at most.
BLOCK_TRAJECTORIES = 1 << 12
BLOCK_POINTS = 1 << 22


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


def capped_walks(n_capped: int) -> str:
    """Put the number of walks cut short in words."""
    return (
        f"{n_capped:,} walks reached {spelled('max_steps')} and were ended there; a larger one lets them go on"
    )
