"""Plans: from public numbers alone, in plain words, and near to what a fit then gives."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import privtrace as pt
from privtrace.methods.plan import StagePlan, rounded

SETTINGS = pt.PrivTrace(epsilon=1, region=pt.Region.box(-8.70, 41.10, -8.54, 41.22))


def test_noise_in_plain_words() -> None:
    sentences = [stage.sentence for stage in SETTINGS.plan(25_000).stages]
    assert "a first-order count is off by about ±5.8 trips" in sentences
    assert "the total is off by about ±120 trips" in sentences


def test_nine_draws_of_noise_in_ten_are_within_what_plus_minus_says() -> None:
    drawn = pt.SeededNoise(1).laplace(20_000, Fraction(300))
    stage = StagePlan("density", Fraction(1, 300), 300.0, "a cell")
    assert np.mean(np.abs(drawn) < stage.margin) == pytest.approx(0.9, abs=0.01)
    assert stage.margin == pytest.approx(1.645 * stage.error)


@pytest.mark.parametrize(
    ("value", "text"), [(3.5355, "3.5"), (176.8, "180"), (0.0141, "0.014"), (12_345, "12,000")]
)
def test_two_digits(value: float, text: str) -> None:
    assert rounded(value) == text


def test_the_charges_of_a_fit_are_the_planned_ones(wanderers: pt.Trajectories, region: pt.Region) -> None:
    synthesizer = pt.PrivTrace(epsilon="0.7", region=region, unit="user", max_per_user=3)
    users = [number // 4 for number in range(600)]
    trips = pt.Trajectories(wanderers.points, wanderers.offsets, users=users, crs="planar")
    charges = synthesizer.fit(trips, noise=pt.SeededNoise(1)).release.charges
    planned = synthesizer.plan(600).stages
    assert [(stage.stage, stage.epsilon) for stage in planned] == [(c.stage, c.epsilon) for c in charges]
    assert [stage.scale for stage in planned] == [c.scale_in_trajectories for c in charges]


@pytest.mark.parametrize(
    "settings", [{}, {"K": 3}, {"second_layer": False}, {"density_per_cell": 40.0}, {"order": 1}]
)
def test_the_states_of_a_fit_are_about_the_planned_ones(
    settings: dict[str, object], city: tuple[pt.Trajectories, pt.Region]
) -> None:
    trips, region = city
    synthesizer = pt.PrivTrace(epsilon=2, region=region, **settings)  # type: ignore[arg-type]
    planned = synthesizer.plan(len(trips))
    fitted = synthesizer.fit(trips, noise=pt.SeededNoise(4)).summary()
    assert fitted["coarse cells per side"] == planned.coarse_per_side
    assert 0.6 * planned.states <= fitted["states"] <= 1.5 * planned.states


def test_warnings() -> None:
    def said(count: int = 25_000, **settings: object) -> str:
        return " ".join(replace(SETTINGS, **settings).plan(count).warnings)  # type: ignore[arg-type]

    assert "of the states will use second order" in said()
    assert "second order" not in said(order=1)
    assert "second order" not in said(states_factor=0.5)
    assert "multiplies the noise by 5" in said(unit="user", max_per_user=5)
    assert "rough picture" in said(50) and "rough picture" not in said()
    assert "above 10" in said(epsilon=20)
    assert "max_states" in said(max_states=50) and "max_states" not in said()


def test_more_epsilon_is_less_noise_and_more_states() -> None:
    less, more = (replace(SETTINGS, epsilon=epsilon).plan(25_000) for epsilon in ("0.5", "2"))
    assert less.states < more.states
    assert all(a.error == 4 * b.error for a, b in zip(less.stages, more.stages, strict=True))


@pytest.mark.parametrize("method", [pt.BridgeTrace, pt.PrivTrace, pt.AdaTrace, pt.DPT])
def test_a_public_count_sets_the_sizes(method: Any) -> None:
    synthesizer = method(epsilon=1, region=SETTINGS.region)
    declared = replace(synthesizer, public_count=100)
    assert declared.plan(1_000_000).states == declared.plan(100).states < synthesizer.plan(1_000_000).states
    with pytest.raises(pt.SettingsError, match="count\\) must be a whole number"):
        synthesizer.plan(0)
