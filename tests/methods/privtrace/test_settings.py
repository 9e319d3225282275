"""PrivTrace's settings: sizes by rule, shares, and refusals in words."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import privtrace as pt
from privtrace.methods.privtrace.model import PrivTraceModel
from privtrace.methods.privtrace.selection import refined, second_order_states
from privtrace.models import from_bytes, to_bytes


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"order": 3}, "order"),
        ({"K": 0}, r"K\) must be"),
        ({"K": 60}, r"K\) must be a whole number from 1 to 54"),
        ({"K": 3, "c": 100}, "give one of them"),
        ({"c": -1}, r"c\) must be a positive"),
        ({"density_per_cell": math.nan}, "density_per_cell"),
        ({"density_per_cell": 5, "population": 5}, "give one of them"),
        ({"grid_share": "0.3"}, "add up to exactly 1"),
        ({"count_share": "0.2"}, "must be smaller"),
        ({"max_steps": 0}, "max_steps"),
        ({"max_states": 3}, "max_states"),
        ({"theta1": -1}, "theta1"),
        ({"K": 2.5}, r"K\) must be a whole number"),
        ({"K": "3"}, r"K\) must be a whole number"),
        ({"K": True}, r"K\) must be a whole number"),
        ({"theta2": "5"}, r"theta2\) must be a positive number"),
        ({"theta2": 1e300}, r"theta2\) must be a positive number"),
        ({"theta2": None}, r"theta2\) must be a positive number"),
        ({"states_factor": None}, r"states_factor\) must be a positive number"),
        ({"second_layer": "no"}, "True or False"),
        ({"fallback": None}, r"--fallback \(fallback\) must be True or False"),
        ({"max_steps": 50.0}, "whole number"),
    ],
)
def test_bad_settings_are_refused_in_words(settings: dict[str, Any], word: str, region: pt.Region) -> None:
    with pytest.raises(pt.SettingsError, match=word):
        pt.PrivTrace(**{"epsilon": 1, "region": region, **settings})


def test_the_budget_is_divided_exactly(region: pt.Region) -> None:
    budget = pt.PrivTrace(epsilon=0.7, region=region).budget
    assert budget == {
        "count": Fraction(7, 500),
        "density": Fraction(63, 500),
        "first order": Fraction(14, 50),
        "second order": Fraction(14, 50),
    }
    assert sum(budget.values()) == Fraction(7, 10)
    assert pt.PrivTrace(epsilon=1, region=region, public_count=9).budget["density"] == Fraction(1, 5)
    assert pt.PrivTrace(epsilon=1, region=region, order=1).budget["first order"] == Fraction(4, 5)


def test_sizes_follow_the_rule(region: pt.Region) -> None:
    """The figures of the paper's Taxi data: 200,000 trajectories at epsilon 1."""
    settings = pt.PrivTrace(epsilon=1, region=region, states_factor=1.0)
    assert settings.target_states(200_000) == 238
    assert settings.coarse_size(200_000) == round(math.sqrt(238 / 6))
    assert settings.target_states(1e12) == 3000 and settings.coarse_size(0) == 2


def test_sizes_follow_the_noise_of_the_unit(region: pt.Region) -> None:
    """Five trajectories of a user make noise five times as large, like a fifth of epsilon."""
    users = pt.PrivTrace(epsilon=1, region=region, unit="user", max_per_user=5)
    fifth = pt.PrivTrace(epsilon="0.2", region=region)
    assert users.target_states(9e5) == fifth.target_states(9e5)
    moves = np.random.default_rng(0).integers(0, 35 << 20, (11, 10))
    chosen = second_order_states(moves, users)
    assert 0 < len(chosen) < 10 and np.array_equal(chosen, second_order_states(moves, fifth))


@pytest.mark.parametrize(("count", "c", "size"), [(30_000, 5000, 3), (200_000, 1200, 13), (17_621, 500, 6)])
def test_c_gives_the_papers_coarse_cells(count: int, c: float, size: int, region: pt.Region) -> None:
    """The square roots are 2.45, 12.9 and 5.94: only rounded up are they the K that the paper reports."""
    settings = pt.PrivTrace.paper(c=c, population=1_310_000, epsilon=1, region=region)
    assert settings.coarse_size(count) == size
    assert settings.coarse_size(49 * c) == 7 and settings.coarse_size(0) == 2


def test_the_method_as_published(region: pt.Region) -> None:
    """Its shares, its thresholds, its walk; the rest can be set."""
    settings = pt.PrivTrace.paper(c=1200, population=1_310_000, epsilon=1, region=region)
    assert settings == pt.PrivTrace(c=1200, population=1_310_000, fallback=False, epsilon=1, region=region)
    shares = {"count": "1/50", "density": "9/50", "first order": "2/5", "second order": "2/5"}
    assert settings.budget == {stage: Fraction(share) for stage, share in shares.items()}
    assert settings.order == "adaptive" and settings.second_layer and settings.trip_estimation
    assert settings.least_moves(200) == pytest.approx(math.sqrt(2) / 0.4 * 200) and settings.theta2 == 5
    other = pt.PrivTrace.paper(c=1200, population=9, fallback=True, theta2=3, epsilon=1, region=region)
    assert other.fallback and other.theta2 == 3 and other.c == 1200


def test_models_say_of_the_fallback_what_older_ones_say_unless_it_is_off(
    region: pt.Region, wanderers: pt.Trajectories
) -> None:
    for fallback in (True, False):
        settings = pt.PrivTrace(epsilon=1, region=region, K=2, fallback=fallback)
        content = to_bytes(settings.fit(wanderers, noise=pt.SeededNoise(1)))
        model = from_bytes(content)
        assert isinstance(model, PrivTraceModel)
        assert model.fallback is fallback and model.walker.fallback is fallback
        assert (b'"fallback":false' in content) is not fallback and b'"fallback":true' not in content
        said = replace(model.release, settings={**model.release.settings, "fallback": True})
        with pytest.raises(pt.ModelFormatError, match="fields that this format does not have"):
            from_bytes(to_bytes(replace(model, release=said)))  # two files of one model


def test_the_papers_second_layer(region: pt.Region) -> None:
    """A division is sqrt(density / 1174)."""
    settings = pt.PrivTrace.paper(c=1200, population=1_310_000, epsilon=1, region=region)
    from privtrace.space.grid import Grid

    coarse = Grid.uniform(region.for_data("planar"), 13)
    density = (coarse.divisions.ravel() * 0).astype("int64")
    density[:2] = [1174 * 9 << 20, 2640 << 20]  # sqrt gives 3 and 1.4996
    grid = refined(coarse, density, 200_000, settings)
    assert grid.divisions.ravel()[:3].tolist() == [3, 1, 1]


def test_a_finer_second_layer_than_memory_allows_is_held_back(region: pt.Region) -> None:
    from privtrace.space.grid import Grid

    settings = pt.PrivTrace(epsilon=1, region=region, density_per_cell=0.001, max_states=100)
    coarse = Grid.uniform(region.for_data("planar"), 4)
    density = coarse.divisions.ravel().astype("int64") * (50 << 20)
    assert refined(coarse, density, 1000, settings).n_cells <= 100


def test_numbers_of_numpy_are_numbers(region: pt.Region, wanderers: pt.Trajectories) -> None:
    """They are written as plain numbers: the same settings are the same file."""
    plain = pt.PrivTrace(epsilon=1, region=region, K=3, max_steps=50, theta2=5, order=2, public_count=600)
    fancy = pt.PrivTrace(
        epsilon=np.float64(1),
        region=region,
        K=np.int64(3),
        max_steps=np.int32(50),
        theta2=np.float32(5),
        order=np.int8(2),
        public_count=np.uint64(600),
    )
    assert plain.own_settings() == fancy.own_settings()
    one, two = (setup.fit(wanderers, noise=pt.SeededNoise(1)) for setup in (plain, fancy))
    assert to_bytes(one) == to_bytes(two)


@pytest.mark.parametrize("method", [pt.BridgeTrace, pt.PrivTrace, pt.AdaTrace, pt.DPT])
def test_what_no_file_could_hold_is_refused(method: Any, region: pt.Region) -> None:
    with pytest.raises(pt.SettingsError, match="too many digits"):
        method(epsilon="0." + "1" * 79, region=region)
    fine = method(epsilon="0." + "1" * 30, region=region).fit(pt.Trajectories.concatenate([], crs="planar"))
    assert from_bytes(to_bytes(fine)).release == fine.release
