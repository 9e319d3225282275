"""What a kernel emits for a trajectory does not change with its neighbors in the part.

The suite of `privtrace.testing`, under the setups of all methods, and beyond it whatever hypothesis finds.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import polygons
from tests.conftest import BOX, trajectories
from tests.methods import setups

import privtrace as pt
from privtrace.privacy.crossing import Kernels
from privtrace.testing import purity
from privtrace.testing.purity import assert_pure, kernels_of

SETUPS = setups.of("SENSITIVITY")
REGIONS = {"box": pt.Region.box(*BOX), "polygon": polygons.region("mixed 0")}


@pytest.mark.parametrize("name", SETUPS)
def test_hostile_neighbors_change_nothing(name: str) -> None:
    setups.hold(purity(SETUPS[name]))


@pytest.fixture(
    scope="module", params=[(method, where) for method in SETUPS for where in REGIONS], ids="-".join
)
def kernels(request: pytest.FixtureRequest) -> dict[str, Kernels]:
    method, where = request.param
    return kernels_of(SETUPS[method](epsilon=4, region=REGIONS[where]))


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
