"""Hold what metrics look at: a few numbers per trajectory, instead of its points.

Metrics are functions of traits, and weights say how often each trajectory counts. So a random half, a subgroup
or a bootstrap replicate is the same traits under other weights, and no pass over the points is needed for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from privtrace.trajectories import Floats, Integers, Trajectories

Mask: TypeAlias = npt.NDArray[np.bool_]
Bits: TypeAlias = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Binned:
    """Hold runs of bins, one per trajectory."""

    bins: npt.NDArray[np.uint8]
    offsets: Integers  # (n + 1,): trajectory t has bins[offsets[t]:offsets[t + 1]]


@dataclass(frozen=True, eq=False)
class Traits:
    """Hold the traits of n trajectories; each profile adds its own, arrays with n rows or ragged ones."""

    weights: Integers  # (n,): how often each trajectory counts
    order: Integers  # (n,): all of them in random order, in which subsets are chosen

    @classmethod
    def of(cls, runs: Trajectories, **own: Any) -> Self:
        """Start with every trajectory counting once, in the order given."""
        return cls(np.ones(len(runs), np.int64), np.arange(len(runs)), **own)

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def size(self) -> int:
        """Count the trajectories, each as often as it counts."""
        return int(self.weights.sum())

    def weighing(self, weights: Integers) -> Self:
        """Let trajectories count as often as these weights say."""
        return replace(self, weights=weights)

    def only(self, chosen: Mask) -> Self:
        """Let only the chosen trajectories count."""
        return self.weighing(np.where(chosen, self.weights, 0))

    def drawn(self, size: int) -> Self:
        """Let only `size` of the trajectories count, the first in their random order."""
        before = np.cumsum(self.weights[self.order]) - self.weights[self.order]
        weights = np.zeros_like(self.weights)
        weights[self.order] = np.clip(size - before, 0, self.weights[self.order])
        return self.weighing(weights)

    def halves(self) -> tuple[Self, Self]:
        """Divide what counts into two random halves, the first no smaller than the second."""
        first = self.drawn((self.size + 1) // 2)
        return first, self.weighing(self.weights - first.weights)

    @classmethod
    def joined(cls, parts: list[Self], order: Integers) -> Self:
        """Join the traits of parts under a random order; the list is emptied, to hold each trait but once."""
        own = [field.name for field in fields(cls) if field.name != "order"]
        columns = {name: [getattr(part, name) for part in parts] for name in own}
        parts.clear()
        return cls(order=order, **{name: _joined(columns.pop(name)) for name in own})


def scaled(counts: Integers, given: Traits, real: Traits) -> Floats:
    """Scale counts of one set to the size of the real one."""
    return counts.astype(np.float64) * (real.size / max(given.size, 1))


def _joined(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    own = [field.name for field in fields(parts[0]) if field.name != "offsets"]
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in own}
    return replace(parts[0], offsets=offsets, **columns)
