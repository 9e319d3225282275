"""Hold what metrics look at: a few numbers per trajectory, instead of its points.

Metrics are functions of traits, and weights say how often each trajectory counts. So a random half, a subgroup
or a bootstrap replicate is the same traits under other weights, and no pass over the points is needed for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled
from privtrace.runs import Runs
from privtrace.trajectories import Array, Floats, Integers

Mask: TypeAlias = npt.NDArray[np.bool_]
Bits: TypeAlias = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Binned:
    """Hold runs of bins, one per trajectory."""

    bins: npt.NDArray[np.uint8]
    offsets: Integers  # (n + 1,): trajectory t has bins[offsets[t]:offsets[t + 1]]


@dataclass(frozen=True, eq=False)
class Summed:
    """Hold counts of all trajectories together, each of them once: what no subset is asked for."""

    counts: Integers


@dataclass(frozen=True, eq=False)
class Traits:
    """Hold the traits of n trajectories; each profile adds its own, arrays with n rows or ragged ones."""

    weights: Integers  # (n,): how often each trajectory counts
    order: Integers  # (n,): all of them in random order, in which subsets are chosen

    @classmethod
    def of(cls, runs: Runs, **own: Any) -> Self:
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
        return self.weighing(_drawn(self.weights, self.order, size))

    def halves(self) -> tuple[Self, Self]:
        """Divide what counts into two random halves, the first no smaller than the second."""
        first = self.drawn((self.size + 1) // 2)
        return first, self.weighing(self.weights - first.weights)

    @classmethod
    def joined(cls, parts: list[Self], order: Integers) -> Self:
        """Join the traits of parts under a random order; the list is emptied, to hold each trait but once."""
        joining = Joining()
        for part in parts:
            joining.add({"": part})
        parts.clear()
        joined = joining.finish(order)[""]
        assert isinstance(joined, cls)
        return joined


@compiled
def _drawn(weights, order, size):  # type: ignore[no-untyped-def]
    drawn = np.zeros_like(weights)
    left = size
    for t in order:
        if left <= 0:
            break
        drawn[t] = min(weights[t], left)
        left -= drawn[t]
    return drawn


def scaled(counts: Integers, given: Traits, real: Traits) -> Floats:
    """Scale counts of one set to the size of the real one."""
    return counts.astype(np.float64) * (real.size / max(given.size, 1))


class Joining:
    """Join the traits of parts while they come, those of several profiles side by side.

    What profiles share in a part, one and the same object, they share in the whole; and they all share weights.
    """

    def __init__(self) -> None:
        self._columns: dict[tuple[str, str], _Column | _Runs | _Sum] = {}
        self._shared: dict[tuple[str, str], tuple[str, str]] = {}  # which column has what a profile calls so
        self._profiles: dict[str, type[Traits]] = {}

    def add(self, traits: Mapping[str, Traits]) -> None:
        """Append the traits of a part, by profile; the first part says which there are."""
        if not self._profiles:
            self._begin(traits)
        for (profile, name), column in self._columns.items():
            column.append(getattr(traits[profile], name))

    def _begin(self, traits: Mapping[str, Traits]) -> None:
        seen: dict[int, tuple[str, str]] = {}
        for profile, given in traits.items():
            self._profiles[profile] = type(given)
            for name in _own(given):
                value = getattr(given, name)
                key = seen.setdefault(0 if name == "weights" else id(value), (profile, name))
                self._shared[profile, name] = key
                if key == (profile, name):
                    self._columns[key] = _column(value)

    def finish(self, order: Integers) -> dict[str, Traits]:
        """Give the traits of all parts, under a random order."""
        whole: dict[tuple[str, str], Any] = {key: column.finish() for key, column in self._columns.items()}
        return {
            profile: kind(order=order, **{name: whole[self._shared[profile, name]] for name in _own(kind)})
            for profile, kind in self._profiles.items()
        }


def _own(given: Traits | type[Traits]) -> Iterator[str]:
    return (field.name for field in fields(given) if field.name != "order")


def _column(value: Any) -> _Column | _Runs | _Sum:
    """Begin a column of what is like this value."""
    if isinstance(value, np.ndarray):
        return _Column()
    return _Sum() if isinstance(value, Summed) else _Runs()


@dataclass
class _Column:
    """Append rows to an array that is longer than it has to be: what was not written to takes no memory."""

    _rows: Array | None = None
    _size: int = 0

    def append(self, rows: Array) -> None:
        size = self._size + len(rows)
        if self._rows is None:
            self._rows = rows[:0]
        if size > len(self._rows):
            longer = np.empty((size + size // 2, *rows.shape[1:]), rows.dtype)
            longer[: self._size] = self._rows[: self._size]
            self._rows = longer
        self._rows[self._size : size] = rows
        self._size = size

    def finish(self) -> Array:
        assert self._rows is not None
        return self._rows[: self._size]


@dataclass
class _Runs:
    """Append ragged arrays, which have offsets."""

    _kind: Any = None
    _columns: dict[str, _Column] = field(default_factory=dict)
    _end: int = 0

    def append(self, runs: Any) -> None:
        if self._kind is None:
            self._kind = type(runs)
            self._columns = {field.name: _Column() for field in fields(runs)}
            self._columns["offsets"].append(runs.offsets[:1])
        for name, column in self._columns.items():
            column.append(runs.offsets[1:] + self._end if name == "offsets" else getattr(runs, name))
        self._end += int(runs.offsets[-1])

    def finish(self) -> Any:
        return self._kind(**{name: column.finish() for name, column in self._columns.items()})


@dataclass
class _Sum:
    """Add up counts."""

    _counts: Any = 0

    def append(self, summed: Summed) -> None:
        self._counts = self._counts + summed.counts

    def finish(self) -> Summed:
        return Summed(self._counts)
