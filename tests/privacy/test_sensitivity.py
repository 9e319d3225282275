"""One trajectory more or less changes every exact table that is measured by at most 2**20 in L1, and no more.

The suites of `privtrace.testing`, under the setups of all methods, and beyond them whatever hypothesis finds.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import polygons
from tests.conftest import BOX, trajectories
from tests.methods import setups

import privtrace as pt
from privtrace.methods.dpt.contexts import Contexts
from privtrace.methods.dpt.counts import events
from privtrace.methods.dpt.events import Mapper
from privtrace.methods.dpt.systems import STOP, Systems
from privtrace.methods.settings import Settings
from privtrace.privacy.unit import WEIGHT
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.space.shortest_paths import LONGEST, connect, shortest_paths
from privtrace.testing import data as checked
from privtrace.testing import replay, sensitivity
from privtrace.testing.check import Make
from privtrace.testing.sensitivity import Tape, assert_close, assert_near, taped

SETUPS, VARIANTS, HEAVY = (setups.of(kind) for kind in ("SENSITIVITY", "VARIANTS", "HEAVY"))


@pytest.mark.parametrize("name", SETUPS)
def test_sensitivity(name: str) -> None:
    setups.hold(sensitivity(SETUPS[name]))


@pytest.mark.parametrize("make", [*SETUPS.values(), *VARIANTS.values()], ids=[*SETUPS, *VARIANTS])
def test_replay(make: Make) -> None:
    setups.hold(replay(make))


def test_no_trajectory_fills_the_memory(region: pt.Region) -> None:
    """Cells between points that are far apart are told too, but no more of them than can weigh anything."""
    to_and_fro = trajectories([(0.1, 0.1), (9.9, 9.9)] * 10_000, [(0.1, 0.1), (0.3, 0.1)])
    mapper = Mapper.of(Systems(region, (64,)), pt.DPT(epsilon=1, region=region))
    strings = mapper.strings(clip(to_and_fro, mapper.systems.region))
    assert np.diff(strings.offsets).tolist() == [LONGEST, 2] and LONGEST < WEIGHT < 20_000 * 63
    assert strings.events[LONGEST - 1] == strings.events[-1] == STOP
    assert events(strings, Contexts.of_cells(np.arange(64 * 64), 64 * 64), STOP + 2).weights.min() > 0
    grid = Grid.uniform(region, 64)
    assert np.diff(
        connect(grid.encode(clip(to_and_fro, grid.region)), shortest_paths(grid)).offsets
    ).tolist() == [LONGEST, 2]


@pytest.mark.parametrize("method", HEAVY)
def test_the_bound_is_reached(method: str, wanderers: pt.Trajectories, region: pt.Region) -> None:
    synthesizer = SETUPS[method](epsilon=4, region=region)
    vectors = assert_close(synthesizer, wanderers, trajectories(HEAVY[method]))
    assert [*vectors] == [*synthesizer.settled(wanderers).budget]
    assert min(vectors.values()) >= (0.99 * WEIGHT if method == "dpt" else WEIGHT)


@cache
def recorded(method: str, shape: str, size: int) -> tuple[Settings, pt.Trajectories, Tape]:
    """Fit once what many trajectories are added to."""
    region = pt.Region.box(*BOX) if shape == "box" else polygons.region(shape)
    synthesizer, base = SETUPS[method](epsilon=4, region=region), checked.wanderers()[:size]
    return synthesizer, base, taped(base, synthesizer)


def assert_bounded(method: str, shape: str, size: int, steps: list[tuple[float, float]]) -> None:
    synthesizer, base, tape = recorded(method, shape, size)
    assert_near(tape, synthesizer, base, trajectories(steps))


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=0, max_size=40),
    shape=st.sampled_from(["frame", "two banks", "mixed 2"]),
    method=st.sampled_from([*SETUPS]),
)
def test_any_trajectory_in_a_polygon(steps: list[tuple[float, float]], shape: str, method: str) -> None:
    """Lines over lakes cut trajectories into runs; still only one of them counts."""
    assert_bounded(method, shape, 300, steps)


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(st.tuples(st.floats(-2, 12), st.floats(-2, 12)), min_size=0, max_size=40),
    size=st.sampled_from([0, 1, 20, 600]),
    method=st.sampled_from([*SETUPS]),
)
def test_any_trajectory(steps: list[tuple[float, float]], size: int, method: str) -> None:
    assert_bounded(method, "box", size, steps)
