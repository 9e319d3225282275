"""Tests of significance, against SciPy, slow oracles and examples by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from privtrace.study.significance import Duel, Wins, duels, holm, welch, wins

RNG = np.random.default_rng(5)

#: Of other sizes, means and spreads.
SAMPLES = [
    (RNG.normal(0.2, 0.01, 10), RNG.normal(0.21, 0.05, 4)),
    (RNG.normal(3, 1, 2), RNG.normal(9, 0.1, 30)),
    (RNG.exponential(1, 5), np.linspace(0.4, 0.401, 7)),
    (RNG.normal(1e-9, 1e-10, 8), RNG.normal(2e-9, 3e-10, 8)),
]


@pytest.mark.parametrize(("first", "second"), SAMPLES)
def test_welch_is_that_of_scipy(first: np.ndarray, second: np.ndarray) -> None:
    oracle = stats.ttest_ind(first, second, equal_var=False)
    assert welch(first, second) == pytest.approx(oracle.pvalue, rel=1e-9)
    assert welch(second, first) == welch(first, second)


def test_samples_that_never_vary_differ_surely_or_not_at_all() -> None:
    assert welch(np.full(3, 0.1), np.full(3, 0.1)) == 1
    assert welch(np.zeros(2), np.zeros(5)) == 1
    assert welch(np.full(3, 0.1), np.full(3, 0.2)) == 0
    # The means of three and of ten times 0.1 differ by rounding alone.
    assert np.full(3, 0.1).mean() != np.full(10, 0.1).mean()
    assert welch(np.full(3, 0.1), np.full(10, 0.1)) == 1


@pytest.mark.parametrize("size", [0, 1])
def test_a_single_run_shows_nothing(size: int) -> None:
    few, many = np.full(size, 0.3), np.array([0.1, 0.2])
    assert math.isnan(welch(few, many)) and math.isnan(welch(many, few))


def test_nan_is_not_tested() -> None:
    assert math.isnan(welch(np.array([0.1, math.nan]), np.array([0.1, 0.2])))


def test_holm_by_hand() -> None:
    """The least of four counts four times, the next three times, and none less than one before it."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, 0.04]) == pytest.approx([0.02, 0.04])
    assert holm([0.5, 0.6]) == [1, 1] and holm([]) == []


@given(st.lists(st.one_of(st.just(math.nan), st.floats(0, 1), st.sampled_from([0.01, 0.02])), max_size=12))
def test_holm_is_what_a_slow_oracle_says(p_values: list[float]) -> None:
    """The largest of all p-values up to one's own, each times how many are not below it."""
    known = [p for p in p_values if not math.isnan(p)]
    for p, corrected in zip(p_values, holm(p_values), strict=True):
        if math.isnan(p):
            assert math.isnan(corrected)
        else:
            steps = [sum(other >= one for other in known) * one for one in known if one <= p]
            assert corrected == pytest.approx(min(1, max(steps)))


A, B, C = np.array([0.10, 0.11, 0.12]), np.array([0.20, 0.22, 0.21]), np.array([0.11, 0.12, 0.10])
ERRORS = {("a", "1"): A, ("b", "1"): B, ("c", "1"): C, ("a", "2"): B, ("b", "2"): A}


def test_duels_are_all_pairs_at_each_epsilon_corrected_together() -> None:
    met = duels(["a", "b", "c"], ["1", "2"], ERRORS)
    assert [(duel.first, duel.second, duel.epsilon) for duel in met] == [
        ("a", "b", "1"),
        ("a", "c", "1"),
        ("b", "c", "1"),
        ("a", "b", "2"),  # c has no errors there
    ]
    assert [duel.difference for duel in met] == pytest.approx([-0.1, 0, 0.1, 0.1])
    plain = stats.ttest_ind(A, B, equal_var=False).pvalue
    assert [duel.p_value for duel in met] == pytest.approx([4 * plain, 1, 4 * plain, 4 * plain])
    assert [duel.is_significant for duel in met] == [True, False, True, True]


def test_wins_by_hand() -> None:
    met = duels(["a", "b", "c"], ["1", "2"], ERRORS)
    assert wins(met, "a", "b") == wins(met, "b", "a") == Wins(better=1, significant=1, settings=2)
    assert wins(met, "a", "c") == wins(met, "c", "a") == Wins(0, 0, 1)  # the same numbers: nobody wins
    assert wins(met, "c", "b") == Wins(1, 1, 1) and wins(met, "b", "c") == Wins(0, 0, 1)
    assert wins(met, "a", "x") == Wins(0, 0, 0)
    assert wins(met, "a", "b") + wins(met, "c", "b") == Wins(2, 2, 3)


def test_rounding_wins_nothing() -> None:
    met = duels(["a", "b"], ["1"], {("a", "1"): np.full(3, 0.1), ("b", "1"): np.full(10, 0.1)})
    assert wins(met, "a", "b") == wins(met, "b", "a") == Wins(0, 0, 1)


def test_what_could_not_be_tested_is_not_significant() -> None:
    met = duels(["a", "b"], ["1"], {("a", "1"): A, ("b", "1"): B[:1]})
    assert math.isnan(met[0].p_value) and not met[0].is_significant
    assert wins(met, "a", "b") == Wins(1, 0, 1)
    assert not Duel("a", "b", "1", -1, 0.05).is_significant and Duel("a", "b", "1", -1, 0.049).is_significant
