"""Clean noisy counts into tables to walk on, in integers throughout. Post-processing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.caching import cached_property
from privtrace.compiling import compiled
from privtrace.methods.common.normcut import normcut
from privtrace.trajectories import Integers


def within_components(moves: Integers, components: Integers) -> Integers:
    """Empty noisy first-order moves between components of the region that no path joins; starts and ends stay.

    `components` (m,) numbers that of each state. Else walks would jump from one to another by noise alone.
    """
    if not components.any():  # one component, as every box is
        return moves
    kept = moves.copy()
    kept[: len(components)][components[:, np.newaxis] != components] = 0
    return kept


def block_within_components(block: Integers, state: int, components: Integers) -> Integers:
    """Empty noisy second-order moves through a state that come from or lead to another component."""
    if not components.any():
        return block
    here = components == components[state]
    return np.where(here[:, np.newaxis] & here, block, 0)


class Rows(NamedTuple):
    """Hold rows to draw from, for kernels; offsets and successors as in `Transitions`."""

    offsets: Integers
    successors: npt.NDArray[np.int32]
    cumulative: Integers  # (n_entries,): weights summed up within each row


@dataclass(frozen=True, eq=False)
class Transitions:
    """Hold rows of non-negative integer weights, sparse; a row's weights are those of its successors."""

    offsets: Integers  # (n_rows + 1,): row r is entries offsets[r]:offsets[r + 1]
    successors: npt.NDArray[np.int32]  # (n_entries,), rising in a row
    weights: Integers  # (n_entries,), positive

    @classmethod
    def of(cls, blocks: Iterable[Integers]) -> Transitions:
        """Clean blocks of noisy rows by NormCut and keep what is left of them."""
        counts, successors, weights = [np.zeros(1, np.int64)], [], []
        for block in blocks:
            clean = normcut(block)
            rows, columns = np.nonzero(clean)
            counts.append(np.bincount(rows, minlength=len(clean)))
            successors.append(columns.astype(np.int32))
            weights.append(clean[rows, columns])
        return cls(
            np.cumsum(np.concatenate(counts)),
            np.concatenate(successors) if successors else np.empty(0, np.int32),
            np.concatenate(weights) if weights else np.empty(0, np.int64),
        )

    @property
    def n_rows(self) -> int:
        """Count the rows."""
        return len(self.offsets) - 1

    @cached_property
    def rows(self) -> Rows:
        """Prepare the rows for drawing."""
        return Rows(self.offsets, self.successors, _cumulative(self.offsets, self.weights))


@compiled
def _cumulative(offsets, weights):  # type: ignore[no-untyped-def]
    cumulative = np.empty_like(weights)
    for row in range(len(offsets) - 1):
        total = 0
        for entry in range(offsets[row], offsets[row + 1]):
            total += weights[entry]
            cumulative[entry] = total
    return cumulative
