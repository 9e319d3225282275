"""The unit says who is protected, and bounds what one unit adds."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.test_models import put_together, taken_apart

import privtrace as pt
from privtrace.models import from_bytes, to_bytes
from privtrace.privacy.unit import MOST_PER_USER, WEIGHT, Unit
from privtrace.privacy.wording import who_is_protected


def test_sensitivity_is_that_of_all_that_count() -> None:
    assert Unit().sensitivity == WEIGHT
    assert Unit("user", 7).sensitivity == 7 * WEIGHT


@pytest.mark.parametrize(
    "fields",
    [
        ("person",),
        ("trajectory", 2),
        ("user", 0),
        ("user", MOST_PER_USER + 1),
        ("user", True),
        ("user", 2.0),
        ("trajectory", 1, 0),
        ("trajectory", 1, float("nan")),
        ("trajectory", 1, True),
        ("trajectory", 1, "30"),
    ],
)
def test_odd_units_are_refused(fields: Any) -> None:
    with pytest.raises(pt.SettingsError):
        Unit(*fields)


def test_sentences_say_who_is_protected() -> None:
    assert who_is_protected(Unit()).startswith("One trajectory: all points recorded under one trajectory id")
    trip = who_is_protected(Unit(gap_minutes=30))
    assert trip.startswith("One trip after splitting at gaps over 30 minutes") and "trajectories" not in trip
    assert (
        "neighbors if they differ by one trip after dropping points without a time and splitting at gaps over "
        "30 minutes." in trip
    )
    person = who_is_protected(Unit("user", 5))
    assert person.startswith("One person: all trajectories of one user together")
    assert "more than 5 trajectories, 5 chosen at random" in person and "without a user do not count" in person
    assert who_is_protected(Unit("user", 5, 12.5)).endswith(
        "Points without a time do not count; a trajectory means one trip after splitting at gaps over 12.5 "
        "minutes."
    )


def test_epsilons_add_up_for_the_same_neighbors_only() -> None:
    names = [Unit(), Unit(gap_minutes=30), Unit(gap_minutes=60), Unit("user", 1)]
    assert len({unit.neighbors for unit in names}) == 4
    # However many trajectories count and however logs are cut: the promise is about the whole user.
    assert Unit("user", 1).neighbors == Unit("user", 9, 30).neighbors


def with_users(source: pt.Trajectories, gap_minutes: float | None = None) -> pt.Trajectories:
    return replace(source, users=np.arange(len(source)) % 50, gap_minutes=gap_minutes)


def test_releases_of_users_speak_of_users(wanderers: pt.Trajectories, region: pt.Region) -> None:
    setup = pt.PrivTrace(epsilon=4, region=region, unit="user", max_per_user=np.int64(3))  # type: ignore[arg-type]
    model = setup.fit(with_users(wanderers, 30))
    release = model.release
    assert release.unit == Unit("user", 3, 30.0) and release.private
    assert {charge.sensitivity for charge in release.charges} == {3 * WEIGHT}
    assert {charge.unit for charge in release.charges} == {"user"}
    statement = dict(release.statement())
    assert "epsilon = 4 per user" in statement["Guarantee"]
    assert statement["Protected unit"] == who_is_protected(release.unit)
    assert "L1 sensitivity 3 trajectories" in statement["Mechanisms"]
    assert "trips that count (at most 3 per user)" in statement["Public inputs"]
    assert "SipHash" in statement["Randomness"]
    exact = setup.fit(with_users(wanderers, 30), noise=pt.NoNoise())
    assert 100 < exact.n_trajectories <= 150  # three of each of 50 users, where they are in the region
    again = from_bytes(to_bytes(model))
    assert again.release == release


def test_gaps_go_into_the_statement_and_the_file(wanderers: pt.Trajectories, region: pt.Region) -> None:
    setup = pt.PrivTrace(epsilon=4, region=region)
    content = to_bytes(setup.fit(replace(wanderers, gap_minutes=20)))
    header, _ = taken_apart(content)
    assert header["unit"] == {"kind": "trajectory", "contributions": 1, "gap_minutes": 20.0}
    release = from_bytes(content).release
    assert "gaps over 20 minutes" in dict(release.statement())["Protected unit"]
    assert "epsilon = 4 per trip between gaps over 20 minutes" in release.verdict  # which goes along alone
    plain, _ = taken_apart(to_bytes(setup.fit(wanderers)))
    assert plain["unit"] == {"kind": "trajectory", "contributions": 1}


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "trajectory"},
        {"contributions": 2},
        {"contributions": 3.0},
        {"contributions": "3"},
        {"gap_minutes": None},
        {"gap_minutes": 30},
        {"gap_minutes": -1.0},
        {"gap_minutes": [30.0]},
        {"gap_minutes": "30"},
        {"host": "here"},
    ],
    ids=json.dumps,
)
def test_files_with_another_unit_are_refused(
    change: dict[str, Any], wanderers: pt.Trajectories, region: pt.Region
) -> None:
    setup = pt.PrivTrace(epsilon=4, region=region, order=1, unit="user", max_per_user=3)
    header, arrays = taken_apart(to_bytes(setup.fit(with_users(wanderers))))
    header["unit"].update(change)
    with pytest.raises(pt.ModelFormatError):
        from_bytes(put_together(header, arrays))


def test_a_release_tells_the_rule_by_which_logs_were_cut(wanderers: pt.Trajectories, region: pt.Region) -> None:
    source = replace(wanderers[:50], gap_minutes=30.0)
    release = pt.PrivTrace(epsilon=1, region=region).fit(source).release
    assert release.unit.gap_minutes == 30 and "gaps over 30 minutes" in release.verdict
