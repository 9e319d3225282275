"""Cross from private trajectories to public numbers: count what counts, add noise and charge, in one act.

There is no other way over. A recipe holds a crossing, and gets nothing from it but noisy tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from privtrace.backends.base import Result
from privtrace.backends.passes import Passes
from privtrace.backends.sums import Adding, Sums
from privtrace.errors import DataError
from privtrace.observer import Observer
from privtrace.privacy.accumulator import Accumulator, Counts
from privtrace.privacy.contributions import Contributions
from privtrace.privacy.ledger import Ledger
from privtrace.privacy.selection import Choice
from privtrace.runs import Runs
from privtrace.trajectories import Integers, Trajectories

#: Entries that a kernel should make of one part at most.
_MOST_ENTRIES = 1 << 24

#: Says what the runs of a part contribute to a table. It is pure and runs on one thread.
Kernel: TypeAlias = Callable[[Runs], Contributions]

#: Says it of several tables, one after the other.
Kernels: TypeAlias = Callable[[Runs], Iterable[Contributions]]


class Table(NamedTuple):
    """Describe what a stage measures; the shape follows from public inputs and earlier releases."""

    stage: str  # of the recipe, in a word
    statistic: str  # what is measured, in words
    shape: tuple[int, ...]


class Aside(NamedTuple):
    """Tell the curator about a pass: exact numbers that go to the screen and nowhere else."""

    count_part: Callable[[Trajectories], Sequence[int]]  # numbers that add up
    n_numbers: int
    tell: Callable[[list[int], Observer, bool], None]  # True where only trajectories of a period count


class Counted(NamedTuple):
    """Hold a table that was counted: sealed until it is made noisy. One that never is was never read."""

    table: Table
    counts: Counts


@dataclass(frozen=True)
class Counting:
    """Count what the trajectories of a part add to tables, each bounded. It is a pure function of the part.

    It holds what is public or was released, and nothing of the ledger or its noise: other machines may have it.
    What it gives of parts adds up, table by table; last comes what goes aside.
    """

    clip: Callable[[Trajectories], Runs]
    kernels: Kernels
    tables: tuple[Accumulator, ...]  # empty: they say how to bound
    aside: Aside | None

    @property
    def sizes(self) -> list[int]:
        """Say how many entries there are of each."""
        return [*(table.size for table in self.tables), *([] if self.aside is None else [self.aside.n_numbers])]

    def __call__(self, part: Trajectories) -> list[Sums]:
        """Count one part."""
        each = zip(self.tables, self.kernels(self.clip(part)), strict=True)
        counted = [table.bounded(made, len(part)) for table, made in each]
        return counted if self.aside is None else [*counted, Sums.of(self.aside.count_part(part))]


@dataclass(frozen=True)
class Crossing:
    """Hold what counts of a source, and the ledger that it is measured under; each measurement is one pass."""

    passes: Passes
    ledger: Ledger
    budget: Mapping[str, Fraction]  # the epsilon of each stage
    choice: Choice | None  # the trajectories that count, where users are protected; else all
    clip: Callable[[Trajectories], Runs]  # brings a part into the region, each trajectory by itself
    part_points: int | None = None  # cut the source's parts into parts of about so many points
    present: list[Counted] | None = None  # trajectories in the region, if a pass counted them along

    def making(self, n_entries: int) -> Crossing:
        """Cut parts so fine that kernels that make up to n_entries of each point stay in bounds of memory."""
        return replace(self, part_points=max(1, _MOST_ENTRIES // n_entries))

    def measure(self, text: str, kernel: Kernel, table: Table) -> Integers:
        """Measure a table in one pass; every entry gets noise."""
        return self.measure_together(text, lambda runs: [kernel(runs)], table)[0]

    def measure_together(self, text: str, kernels: Kernels, *tables: Table) -> list[Integers]:
        """Measure several tables in one pass; every entry of every table gets noise."""
        return [self.noisy(counted) for counted in self.count(text, kernels, tables, None)]

    def noisy(self, counted: Counted) -> Integers:
        """Add noise to every entry of a counted table, and charge for it."""
        table, counts = counted
        noisy = self.ledger.laplace(counts, table.stage, table.statistic, self.budget[table.stage])
        return noisy.reshape(table.shape)

    def measure_blocks(self, text: str, kernel: Kernel, table: Table) -> Iterator[Integers]:
        """Measure a table that may be larger than memory, and yield it along its first axis, when asked for."""
        ((_, counts),) = self.count(text, lambda runs: [kernel(runs)], [table], None)
        epsilon, shape = self.budget[table.stage], table.shape[1:]
        blocks = self.ledger.laplace_blocks(counts, math.prod(shape), table.stage, table.statistic, epsilon)
        return (block.reshape(shape) for block in blocks)

    def count(self, text: str, kernels: Kernels, tables: Sequence[Table], aside: Aside | None) -> list[Counted]:
        """Count tables in one pass, and keep them sealed.

        Of tables that may be asked for, all can be counted, and the one made noisy that earlier releases ask
        for: which it is follows from what is public, and the others stay sealed.
        """
        empty = [Accumulator(math.prod(table.shape), self.ledger.unit) for table in tables]
        counting = Counting(self.clip, kernels, tuple(empty), aside)
        sums = [Accumulator(table.size, table.unit) for table in empty]
        exact = [] if aside is None else [Adding(aside.n_numbers)]
        for counted in self._map(text, counting):
            for table, more in zip([*sums, *exact], counted, strict=True):
                table.add(more)
        if aside is not None:
            (told,) = exact
            numbers = told.total().numbers(told.size)
            aside.tell(numbers, self.passes.observer, hasattr(self.passes.source, "period"))
        return [Counted(table, made.counts()) for table, made in zip(tables, sums, strict=True)]

    def _map(self, text: str, task: Callable[[Trajectories], Result]) -> Iterator[Result]:
        """Yield task(part) of what counts of each part, and see that every pass yields the same."""
        choice, n_seen = self.choice, 0
        if choice is None:
            yield from self.passes.map(task, text, self.part_points)
            return

        def of_numbered(part: Trajectories, first: int) -> tuple[int, Result]:
            return first + len(part), task(choice.within(part, first))

        for n_until, result in self.passes.map_numbered(of_numbered, text, self.part_points):
            n_seen = n_until
            yield result
        if n_seen != choice.n_trajectories:
            raise DataError(
                "two passes over the source differ; each must give the same trajectories in the same order"
            )
