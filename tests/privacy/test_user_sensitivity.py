"""One user more or less changes every exact count vector by at most k * 2**20 in L1, with however many trips.

As in `privtrace.testing.sensitivity`, the recipe runs on neighboring sources with the same noisy outputs. It
also runs with the same key, under which the choice of all other users must be the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.methods import setups
from tests.privacy.test_selection import TYPES

import privtrace as pt
from privtrace import trajectories as containers
from privtrace.privacy.unit import WEIGHT
from privtrace.testing.data import Cut, crowd, without_99
from privtrace.testing.sensitivity import PER_USER, differences

SETUPS, POINT = setups.of("SENSITIVITY"), setups.of("POINT")
K = PER_USER
SETUP: dict[str, Any] = {"epsilon": 40, "unit": "user", "max_per_user": K}


@pytest.mark.parametrize("method", SETUPS)
@pytest.mark.parametrize("n_trips", [0, 1, K, K + 1, 10_000])
def test_users_of_any_size(
    n_trips: int, method: str, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(containers, "PART_POINTS", 700)  # some thirty parts
    more, synthesizer = crowd(n_trips), SETUPS[method](region=region, **SETUP)
    vectors = differences(synthesizer, without_99(more), more)
    bound = min(n_trips, K) * WEIGHT
    if method in POINT:  # the bound is reached: the test can fail
        weights = {stage: POINT[method].get(stage, 1) for stage in vectors}
        assert all(weight is None or vectors[stage] == bound * weight for stage, weight in weights.items())
    assert max(vectors.values()) <= bound


def test_a_cap_for_every_part_would_be_noticed(region: pt.Region, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each part choosing for itself lets a user of many parts in many times."""
    from privtrace.privacy.selection import Candidates, Choice

    def choose_by_part(parts: Iterator[Candidates], per_user: int) -> Choice:
        choices = [whole([part], per_user) for part in parts]
        places = np.concatenate([choice.places for choice in choices])
        return Choice(places, sum(choice.n_trajectories for choice in choices), 41, 0)

    whole = Choice.of
    monkeypatch.setattr(Choice, "of", choose_by_part)
    monkeypatch.setattr(containers, "PART_POINTS", 700)
    more, synthesizer = crowd(1000), SETUPS["adaptive"](region=region, **SETUP)
    vectors = differences(synthesizer, without_99(more), more)
    assert min(vectors[stage] for stage in ("count", "density", "first order")) > K * WEIGHT


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    owners=st.lists(st.integers(0, 6), min_size=1, max_size=80),
    kinds=st.tuples(st.sampled_from(sorted(TYPES)), st.sampled_from([None, *sorted(TYPES)])),
    per_user=st.integers(1, 20),
    sizes=st.lists(st.integers(0, 40), max_size=5),
    method=st.sampled_from([*SETUPS]),
    data=st.data(),
)
def test_any_user_of_any_type(
    owners: list[int],
    kinds: tuple[str, str | None],
    per_user: int,
    sizes: list[int],
    method: str,
    data: st.DataObject,
    wanderers: pt.Trajectories,
    region: pt.Region,
) -> None:
    ids = None if kinds[1] is None else TYPES[kinds[1]](list(range(len(owners))))
    source = replace(wanderers[: len(owners)], users=TYPES[kinds[0]](owners), ids=ids)
    gone = data.draw(st.sampled_from(owners))
    fewer = source.take(np.flatnonzero(np.array(owners) != gone))
    synthesizer = SETUPS[method](**SETUP | {"max_per_user": per_user, "epsilon": 400}, region=region)
    vectors = differences(synthesizer, Cut(fewer, sizes), source)
    assert max(vectors.values()) <= min(per_user, owners.count(gone)) * WEIGHT


@pytest.mark.parametrize("gone", ["ann", "", "eve", "nobody"])
@pytest.mark.parametrize("method", POINT)
def test_scattered_rows_of_a_file(gone: str, method: str, tmp_path: Path, region: pt.Region) -> None:
    """Users number their own trips, rows stand anywhere, and some have no user."""
    rng = np.random.default_rng(3)
    names = ["ann", "bob", "eve", "", *(f"user {n}" for n in range(20))]
    shares = np.array([400, 3, 40, 60, *[20] * 20])
    rows = [
        f"{trip},{name},{x:.6f},{y:.6f}"
        for name, n_trips in zip(names, shares, strict=True)
        for trip in range(n_trips)
        for x, y in rng.uniform(-1, 11, (rng.integers(1, 5), 2))
    ]
    rng.shuffle(rows)
    for file, kept in (("more", rows), ("fewer", [row for row in rows if row.split(",")[1] != gone])):
        (tmp_path / f"{file}.csv").write_text("\n".join(["traj_id,user_id,x,y", *kept]) + "\n")
    with pt.read(tmp_path / "more.csv") as more, pt.read(tmp_path / "fewer.csv") as fewer:
        changes = differences(SETUPS[method](region=region, **SETUP), fewer, more).values()
    assert max(changes) <= K * WEIGHT
    assert (max(changes) > 0) == (gone in ("ann", "eve"))  # who has no user does not count at all
