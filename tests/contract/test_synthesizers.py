"""Every synthesizer keeps the same promises: those of `privtrace.testing`, under all of its setups."""

from __future__ import annotations

import numpy as np
import pytest
from tests.methods import setups

import privtrace as pt
from privtrace import trajectories as containers
from privtrace.methods import registry
from privtrace.methods.sampling import sample_parts
from privtrace.testing import Check, contract
from privtrace.testing.contract import NOTHING

#: Setups whose parts others have: polygons, times in a box, and, in the suite of times, times in a polygon.
SLOW = ("bridgetrace, times, polygon", "bridgetrace, few states", "dpt, order 1")

#: What no setting of a method changes: looked at under its defaults alone.
OF_METHODS = (
    "refuses a count",
    "writes its promise",
    "draws other noise",
    "makes no trips when none",
    "shows no more than noise",
)

#: What takes longest, and is tried on models of all kinds by its own tests: once without times, once with them.
EXPORTS = "shows itself in exports"

SETUPS = setups.of("CONTRACT")


def chosen(name: str) -> list[Check]:
    """Choose the checks of a setup: under the defaults all, else one source of nothing, another for each."""
    checks = contract(SETUPS[name])
    if name in registry.OURS:
        return checks
    nothing = [*NOTHING][[*SETUPS].index(name) % len(NOTHING)]
    others = {f"refuses no value: {source}" for source in NOTHING if source != nothing}
    skipped = OF_METHODS if "times" in name else (*OF_METHODS, EXPORTS)
    return [check for check in checks if check.name not in others and not check.name.startswith(skipped)]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name in SLOW else []) for name in SETUPS]
)
def test_the_contract(name: str) -> None:
    setups.hold(chosen(name))


def test_checks_of_methods_are_there() -> None:
    names = [check.name for check in contract(SETUPS["dpt"])]
    assert all(any(name.startswith(begin) for name in names) for begin in (*OF_METHODS, EXPORTS))


def test_endless_walks_are_made_in_small_blocks(wanderers: pt.Trajectories, region: pt.Region) -> None:
    model = pt.PrivTrace(epsilon=1, region=region, max_steps=1_000_000).fit(wanderers)
    assert model.block_trajectories == 4


@pytest.mark.parametrize(
    ("count", "seed", "word"), [(-1, 0, "from 0 to"), (1, -1, "seed"), (1, 1 << 64, "seed")]
)
def test_bad_samples_are_refused(
    wanderers: pt.Trajectories, region: pt.Region, count: int, seed: int, word: str
) -> None:
    model = pt.PrivTrace(epsilon=1, region=region).fit(wanderers)
    with pytest.raises(pt.SettingsError, match=word):
        list(sample_parts(model, count, seed))


def test_walks_cut_short_are_told(wanderers: pt.Trajectories, region: pt.Region) -> None:
    model = pt.PrivTrace(epsilon=1, region=region, max_steps=2).fit(wanderers, noise=pt.SeededNoise(1))
    with pytest.warns(pt.CappedWalks, match="walks reached --max-steps"):
        made = model.sample(500, seed=1)
    assert np.diff(made.offsets).max() == 2


def test_noise_that_vanishes_gives_the_empirical_model(city: tuple[pt.Trajectories, pt.Region]) -> None:
    """A large epsilon changes counts by less than a trajectory; K is given so that sizes stay apart."""
    trips, region = city
    setup = {"region": region, "K": 3, "density_per_cell": 200, "theta1": 100}
    exact = pt.PrivTrace(epsilon=1000, **setup).fit(trips, noise=pt.NoNoise())
    noisy = pt.PrivTrace(epsilon=1000, **setup).fit(trips, noise=pt.SeededNoise(1))
    assert np.array_equal(exact.divisions, noisy.divisions)
    assert np.abs(exact.moves - noisy.moves).max() < 0.1 * 2**20
    assert noisy.n_trajectories == pytest.approx(exact.n_trajectories, abs=2)


def test_data_in_memory_is_cut_into_moderate_parts(
    monkeypatch: pytest.MonkeyPatch, wanderers: pt.Trajectories
) -> None:
    monkeypatch.setattr(containers, "PART_POINTS", 1000)
    parts = list(wanderers.parts())
    assert len(parts) > 10 and max(part.n_points for part in parts) < 1200
    whole = pt.Trajectories.concatenate(parts)
    assert np.array_equal(whole.points, wanderers.points) and np.array_equal(whole.offsets, wanderers.offsets)
