"""Empirical Bayes: means are nearer to what is true than noisy numbers, whether noise is small or large."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import pytest

from privtrace.empirical_bayes import (
    _MULTIPLES,
    _prior,
    _pseudocounts,
    posterior_means,
    smoothed,
    sums,
)
from privtrace.methods.bridgetrace.tuning import Tuning
from privtrace.trajectories import Floats

TUNING = Tuning()
Noise: TypeAlias = Literal["laplace", "normal"]


def noise(rng: np.random.Generator, error: Floats | float, n: int) -> Floats:
    """Draw Laplace noise with a standard deviation."""
    drawn: Floats = rng.laplace(0, 1, n) * error / np.sqrt(2)
    return drawn


def squared(estimate: Floats, truth: Floats) -> float:
    return float(np.mean((estimate - truth) ** 2))


def sparse(seed: int, n: int = 3000, error: float = 10.0) -> tuple[Floats, Floats, Floats]:
    """Make what is true where most entries are empty, what is measured of it, and what was expected."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(n) < 0.05, rng.exponential(60.0, n), 0.0)
    return truth, truth + noise(rng, error, n), np.full(n, truth.mean())


@pytest.mark.parametrize("kind", ["laplace", "normal"])
@pytest.mark.parametrize("error", [0.001, 0.1])
def test_with_little_noise_estimates_are_near_what_is_true(error: float, kind: Noise) -> None:
    rng = np.random.default_rng(1)
    truth = rng.uniform(5, 50, 500)
    estimate = posterior_means(truth + noise(rng, error, 500), np.full(500, 10.0), error, TUNING, noise=kind)
    assert np.all(np.abs(estimate - truth) < 0.15 * truth)


def test_with_little_noise_estimates_are_the_noisy_numbers() -> None:
    rng = np.random.default_rng(1)
    truth = rng.uniform(5, 50, 500)
    noisy = truth + noise(rng, 0.1, 500)
    assert squared(posterior_means(noisy, np.full(500, 10.0), 0.1, TUNING), truth) < 2 * squared(noisy, truth)


def test_where_all_is_noise_the_expectation_stays() -> None:
    rng = np.random.default_rng(2)
    expected = rng.uniform(5, 20, 500)
    estimate = posterior_means(expected + noise(rng, 1e5, 500), expected, 1e5, TUNING)
    assert np.all((estimate > 0.5 * expected) & (estimate < 2 * expected))


def test_where_all_is_noise_entries_keep_their_proportions() -> None:
    rng = np.random.default_rng(2)
    expected = rng.uniform(5, 20, 500)
    ratio = posterior_means(expected + noise(rng, 1e5, 500), expected, 1e5, TUNING) / expected
    assert ratio.max() < 2 * ratio.min()


def test_a_good_expectation_is_hardly_left() -> None:
    """Where what was expected is true, noise should move little."""
    rng = np.random.default_rng(3)
    expected = rng.uniform(5, 20, 2000)
    noisy = expected + noise(rng, 20.0, 2000)
    assert squared(posterior_means(noisy, expected, 20.0, TUNING), expected) < 0.05 * squared(noisy, expected)


@pytest.mark.parametrize("seed", range(3))
def test_where_most_are_empty_sums_are_about_right(seed: int) -> None:
    truth, noisy, expected = sparse(seed)
    estimate = posterior_means(noisy, expected, 10.0, TUNING)
    assert estimate.min() >= 0
    assert abs(estimate.sum() / truth.sum() - 1) < 0.25
    assert np.maximum(noisy, 0).sum() > 2 * truth.sum()  # as clipping would not have it
    some = truth > 80
    assert abs(estimate[some].sum() / truth[some].sum() - 1) < 0.1


@pytest.mark.parametrize("seed", range(3))
def test_where_most_are_empty_estimates_are_nearer_than_all_else(seed: int) -> None:
    truth, noisy, expected = sparse(seed)
    off = squared(posterior_means(noisy, expected, 10.0, TUNING), truth)
    others = (noisy, np.maximum(noisy, 0), expected)
    assert all(off < 0.7 * squared(other, truth) for other in others)


def test_estimates_rise_with_the_noisy_number() -> None:
    _, noisy, expected = sparse(4)
    estimate = posterior_means(noisy, expected, 10.0, TUNING)
    assert np.all(np.diff(estimate[np.argsort(noisy)]) > -1e-9)


def test_each_entry_has_its_own_error() -> None:
    rng = np.random.default_rng(5)
    truth, errors = rng.exponential(20.0, 1000), np.repeat([0.5, 200.0], 500)
    expected = np.full(1000, 20.0)
    estimate = posterior_means(truth + noise(rng, errors, 1000), expected, errors, TUNING)
    moved = np.abs(estimate - expected)
    assert np.corrcoef(estimate[:500], truth[:500])[0, 1] > 0.98
    assert np.std(estimate[500:]) < 0.7 * np.std(truth) < np.std(estimate[:500]) and moved.max() > 20


def test_groups_are_estimated_by_what_holds_among_them() -> None:
    """Where little is expected nothing is there; where much is expected there is as much as that."""
    rng = np.random.default_rng(6)
    expected = np.repeat([5.0, 50.0], 1000)
    truth = np.where(expected > 10, expected * rng.uniform(0.7, 1.3, 2000), 0.0)
    noisy = truth + noise(rng, 20.0, 2000)
    together, apart = (posterior_means(noisy, expected, 20.0, TUNING, n_groups=n) for n in (1, 2))
    assert squared(apart, truth) < squared(together, truth)
    assert apart[:1000].sum() < 0.35 * expected[:1000].sum()
    assert abs(apart[1000:].sum() / truth[1000:].sum() - 1) < 0.05


def test_what_is_likely_is_found_from_the_noisy_numbers() -> None:
    """Three in ten entries are empty, and seven have half as much again as expected: just so they are found."""
    rng = np.random.default_rng(9)
    expected, error = np.full(4000, 30.0), np.full(4000, 10.0)
    truth = np.where(rng.random(4000) < 0.3, 0.0, 45.0)
    noisy = truth + noise(rng, 10.0, 4000)
    prior = _prior(noisy, expected, error, _pseudocounts(TUNING), False, TUNING.prior_rounds)
    assert prior[_MULTIPLES < 0.2].sum() == pytest.approx(0.3, abs=0.04)
    assert prior[(_MULTIPLES > 1.2) & (_MULTIPLES < 1.8)].sum() == pytest.approx(0.7, abs=0.06)
    # Who was told both would get 0.28.
    assert squared(posterior_means(noisy, expected, 10.0, TUNING), truth) < 0.33 * squared(noisy, truth)


def test_few_entries_are_one_group() -> None:
    _, noisy, expected = sparse(7, 90)
    assert np.array_equal(
        posterior_means(noisy, expected, 10.0, TUNING, n_groups=8),
        posterior_means(noisy, expected, 10.0, TUNING),
    )


@pytest.mark.parametrize("kind", ["laplace", "normal"])
def test_whatever_comes_estimates_are_finite_and_not_negative(kind: Noise) -> None:
    rng = np.random.default_rng(8)
    noisy = np.concatenate([rng.normal(0, 10.0**exponent, 40) for exponent in range(-9, 15)])
    for expected in (1e-9, 1.0, 1e9):
        for error in (1e-3, 1.0, 1e6):
            estimate = posterior_means(
                noisy, np.full(len(noisy), expected), error, TUNING, n_groups=4, noise=kind
            )
            assert np.isfinite(estimate).all() and estimate.min() >= 0
    assert len(posterior_means(np.empty(0), np.empty(0), 1.0, TUNING)) == 0
    assert len(posterior_means(np.array([-3.0]), np.array([1.0]), 1.0, TUNING)) == 1


def test_averages_are_over_possible_neighbors() -> None:
    table = np.arange(16.0).reshape(4, 4)
    assert np.allclose(smoothed(table, np.ones((4, 4), np.bool_))[1:3, 1:3], table[1:3, 1:3])
    possible = np.triu(np.ones((4, 4), np.bool_))
    averages = smoothed(np.where(possible, 3.0, 99.0), possible)
    assert np.allclose(averages[possible], 3.0)
    corner = smoothed(table, possible)[0, 0]
    assert corner == pytest.approx((4 * 0 + 2 * 1 + 1 * 5) / 7)


def test_sums_are_by_place() -> None:
    assert sums(np.array([1.0, 2.0, 4.0]), np.array([2, 0, 2]), 4).tolist() == [2, 0, 5, 0]
    assert sums(np.empty(0), np.empty(0, np.int64), 2).tolist() == [0, 0]
