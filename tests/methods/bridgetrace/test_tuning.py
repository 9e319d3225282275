"""What BridgeTrace is tuned by: every number has its place in the sweep, and none is a setting or in a file."""

from __future__ import annotations

import re
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import numpy as np
import pytest
from experiments.defaults import trials, tuned, tuning_values

import privtrace as pt
from privtrace import empirical_bayes
from privtrace.methods.bridgetrace import tuning
from privtrace.methods.bridgetrace.tuning import Tuning
from privtrace.models import from_bytes, to_bytes

NAMES = [field.name for field in fields(Tuning)]


def test_every_number_is_in_the_sweep_with_other_values() -> None:
    values = tuning_values()
    assert [*values] == NAMES
    for name, others in values.items():
        default = getattr(Tuning(), name)
        assert len(others) == 2 and others[0] < default < others[1]
        assert {type(other) for other in others} == {type(default)}
    tried = [words for words, _ in trials("bridgetrace", [])]
    assert tried[0] == "defaults" and len(tried) == 1 + 2 * len(NAMES)
    assert {words.split("=")[0] for words in tried[1:]} == {*NAMES}


def test_the_sweep_can_be_of_some_alone() -> None:
    assert [words for words, _ in trials("bridgetrace", ["walks"])] == ["defaults", "walks=4096", "walks=16384"]
    with pytest.raises(SystemExit, match="no tuning is called walkers; there are prior_entries, "):
        [*trials("bridgetrace", ["walkers"])]
    with pytest.raises(SystemExit, match="--method bridgetrace"):
        [*trials("dpt", [])]


def test_every_number_is_used() -> None:
    files = [Path(empirical_bayes.__file__), *Path(tuning.__file__).parent.glob("*.py")]
    sources = "".join(path.read_text() for path in files)
    assert {*re.findall(r"\btuning\.([a-z_]+)\b(?! import)", sources)} == {*NAMES}


@pytest.mark.parametrize("name", ["class_rounds", "exploring", "damping", "draws_for_one"])
def test_a_fit_goes_by_it_and_measures_the_same(
    name: str, wanderers: pt.Trajectories, region: pt.Region
) -> None:
    """What comes after the measurements changes walks alone."""
    usual, other = (
        method(epsilon=1, region=region, K=2, cell_factor=2.0, rounds=1)
        .fit(wanderers, noise=pt.SeededNoise(1))
        .arrays()
        for method in (pt.BridgeTrace, tuned(name, tuning_values()[name][1]))
    )
    changed = {key for key in usual if not np.array_equal(usual[key], other[key])}
    assert changed and {key.split("_")[0] for key in changed} == {"walk"}


def test_it_is_no_setting_and_in_no_file(wanderers: pt.Trajectories, region: pt.Region) -> None:
    assert "tuning" not in pt.BridgeTrace.declared()
    with pytest.raises(TypeError):
        pt.BridgeTrace(epsilon=1, region=region, tuning=Tuning())  # type: ignore[call-arg]
    model = tuned("damping", 0.5)(epsilon=1, region=region, K=2, rounds=1).fit(
        wanderers, noise=pt.SeededNoise(1)
    )
    again = from_bytes(to_bytes(model))
    assert b"tuning" not in to_bytes(model)
    assert np.array_equal(again.sample(50, seed=1).points, model.sample(50, seed=1).points)


def test_nobody_changes_it_by_the_way() -> None:
    with pytest.raises(FrozenInstanceError):
        pt.BridgeTrace.tuning.damping = 0.5  # type: ignore[misc]
