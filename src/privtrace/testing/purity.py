"""Check that what is counted of a trajectory does not change with its neighbors in the part.

The accumulator bounds whatever a kernel emits, so purity is all that a kernel has to be trusted with. Kernels
are taken from whole fits, so that of a new statistic is looked at too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from typing import Any, TypeAlias
from unittest import mock

import numpy as np

from privtrace.backends.local import Threads
from privtrace.methods import fitting
from privtrace.methods.settings import Settings
from privtrace.privacy.contributions import Contributions
from privtrace.privacy.crossing import Crossing, Kernels
from privtrace.privacy.unsafe_noise import SeededNoise
from privtrace.testing.check import Check, Make
from privtrace.testing.data import ABSURD, REGIONS, wanderers
from privtrace.trajectories import Integers, Trajectories

#: Says what the trajectories of a part contribute to several tables.
Emit: TypeAlias = Callable[[Trajectories], Iterable[Contributions]]


def kernels_of(settings: Settings, source: Trajectories | None = None) -> dict[str, Emit]:
    """Take clipping and the kernels of all passes of a fit, by the stages that they serve."""
    source = source or wanderers()
    taken: dict[str, Emit] = {}

    class Watched(Crossing):
        def count(self, text: str, kernels: Kernels, tables: Any, aside: Any = None) -> Any:
            taken[", ".join(table.stage for table in tables)] = lambda part: kernels(self.clip(part))
            return super().count(text, kernels, tables, aside)

    with mock.patch.object(fitting, "Crossing", Watched):
        settings.fit(source, noise=SeededNoise(1), backend=Threads(1))
    # What is counted need not be measured: not a count that is public.
    assert {stage for stages in taken for stage in stages.split(", ")} >= {*settings.settled(source).budget}
    return taken


def assert_pure(kernels: dict[str, Emit], part: Trajectories, order: Integers) -> None:
    """Compare what is emitted among others, in this order and twice over, with what is emitted alone."""
    for stages, kernel in kernels.items():
        alone = [_by_trajectory([*kernel(part[t : t + 1])]) for t in range(len(part))]
        for some in (order, np.concatenate([order, order])):
            among = _by_trajectory([*kernel(part.take(some))])
            for table, emitted in enumerate(among):
                assert emitted == [alone[t][table][0] for t in some], f"{stages}: it sees the others"


def _by_trajectory(emitted: list[Contributions]) -> list[list[tuple[list[int], list[int]]]]:
    """List the entries and weights of each trajectory, in each of the tables."""
    return [
        [(codes[first:last].tolist(), weights[first:last].tolist()) for first, last in pairwise(offsets)]
        for codes, weights, offsets in emitted
    ]


def purity(make: Make) -> list[Check]:
    """List the checks, one for each kind of region."""
    return [Check("purity", where, partial(_is_pure, make, where)) for where in REGIONS]


def _is_pure(make: Make, where: str) -> None:
    walks = wanderers()
    # A million points are for the accumulator to bound.
    hostile = [make_one() for name, make_one in ABSURD.items() if "million" not in name]
    others = Trajectories(walks.points, walks.offsets, crs="planar")
    part = Trajectories.concatenate([others[:40], *hostile, others[40:80]])
    order = np.random.default_rng(1).permutation(len(part))
    assert_pure(kernels_of(make(epsilon=4, region=REGIONS[where])), part, order)
