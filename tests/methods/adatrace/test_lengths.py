"""Distributions of extra cells: recognized for what they are, and as brute force has them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from privtrace.methods.adatrace.lengths import FAMILIES, TOTAL, closest_family, likely_lengths
from privtrace.privacy.unit import WEIGHT


def candidates(mean: float, size: int) -> list[np.ndarray]:
    """Restrict each family to 0, ..., size - 1, by scipy."""
    extra = np.arange(size)
    uniform = (extra <= round(2 * mean)).astype(float)
    geometric = stats.geom.pmf(extra + 1, 1 / (1 + mean))
    poisson = stats.poisson.pmf(extra, mean)
    return [chances / chances.sum() for chances in (uniform, geometric, poisson)]


@pytest.mark.parametrize("mean", [0.3, 1.0, 2.5, 8.0])
@pytest.mark.parametrize("family", range(3), ids=FAMILIES)
def test_each_family_is_recognized(family: int, mean: float) -> None:
    if family == 0:
        mean = max(mean, 1.0)  # below, a uniform distribution is one on 0 and 1
    chances = candidates(mean, 300)[family]
    chosen, weights = closest_family(np.round(chances * 1e9).astype(np.int64))
    assert FAMILIES[chosen] == FAMILIES[family]
    assert weights / weights.sum() == pytest.approx(chances, abs=1e-6)


@pytest.mark.parametrize("size", [1, 2, 5, 25, 200])
def test_the_nearest_is_that_of_brute_force(size: int) -> None:
    rng = np.random.default_rng(size)
    extra = np.arange(size)
    for _ in range(30):
        counts = rng.integers(0, 1 << 30, size) * rng.integers(0, 2, size)
        counts[rng.integers(size)] += 1
        mean = float(extra @ counts / counts.sum())
        given = candidates(mean, size)
        distances = [stats.wasserstein_distance(extra, extra, counts, chances) for chances in given]
        chosen, weights = closest_family(counts)
        assert distances[chosen] <= min(distances) + 1e-9
        assert weights / TOTAL == pytest.approx(given[chosen], abs=1e-9)


def test_no_extra_cells_are_uniform_on_zero() -> None:
    """All three are the same then; the first wins."""
    chosen, weights = closest_family(np.array([7, 0, 0]))
    assert chosen == 0 and weights.tolist() == [TOTAL, 0, 0]


def test_all_at_the_cap() -> None:
    _, weights = closest_family(np.array([0, 0, 0, 9]))
    assert weights.min() >= 0 and weights.sum() > TOTAL // 2


def test_long_lengths_do_not_vanish() -> None:
    """exp(-5000) is zero; the chances around 5,000 are not."""
    counts = np.round(1e9 * stats.poisson.pmf(np.arange(10_001), 5000)).astype(np.int64)
    chosen, weights = closest_family(counts)
    assert FAMILIES[chosen] == "Poisson" and abs(int(weights.argmax()) - 5000) <= 1
    assert weights.sum() == pytest.approx(TOTAL, rel=1e-6)


def test_rows_that_noise_emptied_take_all_rows_together() -> None:
    noisy = np.array([[90, 10, 0], [-5, 1, 1], [9, 80, 11]]) * WEIGHT
    weights = likely_lengths(noisy)
    assert weights.shape == noisy.shape
    assert np.array_equal(weights[1], closest_family(noisy.sum(axis=0))[1])
    assert np.array_equal(weights[0], closest_family(noisy[0])[1])
    assert not np.array_equal(weights[0], weights[1])


def test_without_any_counts_there_are_no_extra_cells() -> None:
    assert likely_lengths(np.array([[-5, 1, 1], [0, 0, 0]])).tolist() == [[TOTAL, 0, 0]] * 2


def test_negatives_are_cleaned_before_a_family_is_chosen() -> None:
    """What noise adds to bins that are empty must not stretch the distribution."""
    weights = likely_lengths(np.array([[100, -2, 1, 0, -3, 2, 1, 1]]) * WEIGHT)
    assert weights.tolist() == [[TOTAL, *[0] * 7]]


@pytest.mark.parametrize("value", [1 << 60, -(1 << 60)])
def test_the_largest_numbers_do_not_overflow(value: int) -> None:
    noisy = np.full((40, 200), value)
    noisy[3, 5] = 1 << 60
    weights = likely_lengths(noisy)
    assert weights.min() >= 0 and weights.sum(axis=1).min() > TOTAL // 2
