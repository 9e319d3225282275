"""One trajectory more or less changes every exact count vector that is measured by at most 2**20 in L1.

The recipe runs twice, on neighboring sources. The second run is given the first run's noisy outputs, whatever
its own counts are, because each stage's bound must hold for every earlier output. All counts that reach the
ledger are compared, so a statistic that a later change adds is covered too.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests import polygons
from tests.conftest import trajectories

import privtrace as pt
from privtrace.models import to_bytes
from privtrace.privacy.ledger import Ledger
from privtrace.privacy.unit import WEIGHT
from privtrace.synthesizers import settings as recipes
from privtrace.trajectories import Integers


class Tape:
    """Record what passes the ledger in one run, and give its outputs again in the next."""

    def __init__(self) -> None:
        self.counts: list[Integers] = []
        self.outputs: list[Integers] = []

    def ledger(self, replay: Tape | None) -> type[Ledger]:
        tape = self

        class Taped(Ledger):
            def _noisy(self, counts: Integers, scale: Fraction) -> Integers:
                tape.counts.append(counts.copy())
                place = len(tape.outputs)
                output = super()._noisy(counts, scale) if replay is None else replay.outputs[place]
                tape.outputs.append(output)
                return output

        return Taped


def measured(monkeypatch: pytest.MonkeyPatch, source: pt.Source, replay: Tape | None, **setup: Any) -> Tape:
    tape = Tape()
    monkeypatch.setattr(recipes, "Ledger", tape.ledger(replay))
    pt.PrivTrace(**setup).fit(source, noise=pt.SeededNoise(1), backend=pt.Threads(1))
    return tape


def assert_neighbors_are_close(
    monkeypatch: pytest.MonkeyPatch, base: pt.Trajectories, extra: pt.Trajectories, **setup: Any
) -> list[int]:
    """Check the bound in every vector; return the L1 differences."""
    vectors = differences(monkeypatch, base, pt.Trajectories.concatenate([base, extra]), **setup)
    assert max(vectors) <= WEIGHT
    return vectors


def differences(
    monkeypatch: pytest.MonkeyPatch, first: pt.Source, second: pt.Source, **setup: Any
) -> list[int]:
    """Fit two sources to the same noisy outputs; return the L1 differences of all vectors."""
    one = measured(monkeypatch, first, None, **setup)
    other = measured(monkeypatch, second, one, **setup)
    assert len(one.counts) == len(other.counts) > 2
    # The blocks of second order are one vector.
    changes = [int(np.abs(a - b).sum()) for a, b in zip(one.counts, other.counts, strict=True)]
    return [*changes[:3], sum(changes[3:])]


def zigzag() -> pt.Trajectories:
    side = np.linspace(0.05, 9.95, 60)
    return trajectories([(x, y) for i, x in enumerate(side) for y in (side if i % 2 else side[::-1])])


def million() -> pt.Trajectories:
    rng = np.random.default_rng(0)
    return pt.Trajectories(rng.uniform(-1, 11, (1_000_000, 2)), np.array([0, 1_000_000]), crs="planar")


ABSURD = {
    "one point": lambda: trajectories([(5.0, 5.0)]),
    "one point on the edge": lambda: trajectories([(10.0, 10.0)]),
    "empty": lambda: trajectories([]),
    "a million points": million,
    "zigzag over every cell": zigzag,
    "partly outside": lambda: trajectories([(1, 1), (2, 2), (50, 50), (3, 3), (9, 9), (4, 4), (-1, 0)]),
    "not numbers": lambda: trajectories([(np.nan, 1), (1, np.inf), (2, 2), (-np.inf, np.nan), (7, 7)]),
    "to and fro": lambda: trajectories([(1, 1), (9, 9)] * 500),
    "far away": lambda: trajectories([(1e9, 1e9), (-1e300, 4)]),
}


@pytest.mark.parametrize("name", ABSURD)
@pytest.mark.parametrize("order", ["adaptive", 2])
def test_absurd_trajectories(
    name: str, order: Any, wanderers: pt.Trajectories, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = {"epsilon": 4, "region": region, "order": order}
    vectors = assert_neighbors_are_close(monkeypatch, wanderers, ABSURD[name](), **setup)
    if name == "one point" and order == 2:
        assert vectors == [WEIGHT] * 4  # the bound is reached: the test can fail


@pytest.mark.parametrize("name", ABSURD)
def test_absurd_trajectories_in_a_polygon(
    name: str, wanderers: pt.Trajectories, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = {"epsilon": 4, "region": polygons.region("mixed 0"), "order": 2}
    assert_neighbors_are_close(monkeypatch, wanderers, ABSURD[name](), **setup)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=0, max_size=40),
    shape=st.sampled_from(["frame", "two banks", "mixed 2"]),
)
def test_any_trajectory_in_a_polygon(
    steps: list[tuple[float, float]],
    shape: str,
    wanderers: pt.Trajectories,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Lines over lakes cut trajectories into runs; still only one of them counts."""
    setup = {"epsilon": 4, "region": polygons.region(shape), "theta1": 5.0}
    assert_neighbors_are_close(monkeypatch, wanderers[:300], trajectories(steps), **setup)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.tuples(st.floats(-2, 12), st.floats(-2, 12)), min_size=0, max_size=40),
    size=st.integers(0, 600),
)
def test_any_trajectory(
    steps: list[tuple[float, float]],
    size: int,
    wanderers: pt.Trajectories,
    region: pt.Region,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setup = {"epsilon": 4, "region": region, "theta1": 5.0}
    assert_neighbors_are_close(monkeypatch, wanderers[:size], trajectories(steps), **setup)


def test_a_trajectory_far_away_changes_nothing(wanderers: pt.Trajectories, region: pt.Region) -> None:
    synthesizer = pt.PrivTrace(epsilon=1, region=region)
    more = pt.Trajectories.concatenate([wanderers, trajectories([(1e6, 1e6), (-40, 3), (11, 11)])])
    first, second = (synthesizer.fit(source, noise=pt.SeededNoise(9)) for source in (wanderers, more))
    assert to_bytes(first) == to_bytes(second)


def test_a_public_count_is_not_measured(wanderers: pt.Trajectories, region: pt.Region) -> None:
    model = pt.PrivTrace(epsilon=1, region=region, public_count=600).fit(wanderers)
    assert [charge.stage for charge in model.release.charges] == ["density", "first order", "second order"]
    assert model.release.spent == 1 and model.n_trajectories == 600
    assert "2 epsilon = 2" in dict(model.release.statement())["Public inputs"]
