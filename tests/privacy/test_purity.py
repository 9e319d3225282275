"""What a kernel emits for a trajectory does not change with its neighbors in the part.

The accumulator bounds whatever a kernel emits, so purity is all that a kernel has to be trusted with. Kernels
are taken from whole fits, so that of a new statistic is looked at too.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import polygons
from tests.conftest import BOX, trajectories
from tests.privacy.test_sensitivity import ABSURD, SETUPS

import privtrace as pt
from privtrace.privacy.contributions import Contributions
from privtrace.privacy.crossing import Crossing, Kernels

REGIONS = {"box": pt.Region.box(*BOX), "polygon": polygons.region("mixed 0")}

#: Trajectories of all kinds; the one of a million points is for the accumulator.
HOSTILE = pt.Trajectories.concatenate([make() for name, make in ABSURD.items() if "million" not in name])


@pytest.fixture(
    scope="module", params=[(method, where) for method in SETUPS for where in REGIONS], ids="-".join
)
def kernels(request: pytest.FixtureRequest, wanderers: pt.Trajectories) -> dict[str, Kernels]:
    """Take the kernels of all passes of a fit, by the stages that they serve."""
    method, where = request.param
    taken: dict[str, Kernels] = {}

    class Watched(Crossing):
        def _count(self, text: str, emitting: Kernels, tables: Any, aside: Any) -> Any:
            taken[", ".join(table.stage for table in tables)] = emitting
            return super()._count(text, emitting, tables, aside)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("privtrace.methods.fitting.Crossing", Watched)
        synthesizer = SETUPS[method](epsilon=4, region=REGIONS[where])
        synthesizer.fit(wanderers, noise=pt.SeededNoise(1), backend=pt.Threads(1))
    assert {stage for stages in taken for stage in stages.split(", ")} == {*synthesizer.budget}
    return taken


def by_trajectory(emitted: list[Contributions]) -> list[list[tuple[list[int], list[int]]]]:
    """List the entries and weights of each trajectory, in each of the tables."""
    return [
        [(codes[first:last].tolist(), weights[first:last].tolist()) for first, last in pairwise(offsets)]
        for codes, weights, offsets in emitted
    ]


def assert_pure(kernels: dict[str, Kernels], part: pt.Trajectories, order: np.ndarray) -> None:
    """Compare what is emitted among others, in this order and twice over, with what is emitted alone."""
    for stages, emitting in kernels.items():
        alone = [by_trajectory([*emitting(part[t : t + 1])]) for t in range(len(part))]
        for some in (order, np.concatenate([order, order])):
            among = by_trajectory([*emitting(part.take(some))])
            for table, emitted in enumerate(among):
                assert emitted == [alone[t][table][0] for t in some], f"{stages}: it sees the others"


def test_hostile_neighbors_change_nothing(kernels: dict[str, Kernels], wanderers: pt.Trajectories) -> None:
    part = pt.Trajectories.concatenate([wanderers[:40], HOSTILE, wanderers[40:80]])
    assert_pure(kernels, part, np.random.default_rng(1).permutation(len(part)))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    points=st.lists(
        st.lists(st.tuples(st.floats(-2, 12), st.floats(-2, 12)), max_size=12), min_size=1, max_size=8
    ),
    data=st.data(),
)
def test_any_neighbors_change_nothing(
    points: list[list[tuple[float, float]]], data: st.DataObject, kernels: dict[str, Kernels]
) -> None:
    order = data.draw(st.lists(st.integers(0, len(points) - 1), min_size=1, max_size=12))
    assert_pure(kernels, trajectories(*points), np.array(order))
