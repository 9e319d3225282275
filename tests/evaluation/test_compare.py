"""Comparisons of histograms, counts and rankings against scipy and plain Python."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise, permutations
from statistics import median_low

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import kendalltau

from privtrace.evaluation.compare import (
    divergence,
    grouped_medians,
    histogram,
    kendall_tau,
    ndcg,
    ragged_histogram,
    relative_error,
)
from privtrace.trajectories import Integers

LN2 = math.log(2)


def whole(*numbers: int) -> Integers:
    return np.array(numbers, np.int64)


pairs = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=20)


@given(pairs)
@settings(max_examples=200, deadline=None)
def test_divergence_agrees_with_scipy(given: list[tuple[int, int]]) -> None:
    p, q = (whole(*column) for column in zip(*given, strict=True))
    if p.any() and q.any():
        assert divergence(p, q) == pytest.approx(jensenshannon(p, q) ** 2, abs=1e-9)
    assert divergence(p, q) == divergence(q, p)
    assert 0 <= divergence(p, q) <= LN2


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30), st.integers(1, 9))
@settings(max_examples=100, deadline=None)
def test_equal_shares_do_not_diverge(counts: list[int], times: int) -> None:
    assert divergence(whole(*counts), times * whole(*counts)) == pytest.approx(0, abs=1e-15)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.integers(0, 3)), max_size=20), st.integers(1, 4)
)
@settings(max_examples=200, deadline=None)
def test_medians_of_groups_are_those_of_copies(rows: list[tuple[int, int, int]], least: int) -> None:
    rows.sort(key=lambda row: row[1])
    groups, values, weights = np.array(rows, np.int64).reshape(-1, 3).T
    found = grouped_medians(groups, values.astype(float), weights, least, 4)
    for group in range(4):
        copies = [value for own, value, weight in rows for _ in range(weight) if own == group]
        expected = median_low(copies) if len(copies) >= least else math.nan
        assert found[group] == pytest.approx(expected, nan_ok=True)


def test_a_divergence_by_hand() -> None:
    """Shares (1/2, 1/2) and (1, 0) have the middle (3/4, 1/4).

    JSD = (1/2 ln(2/3) + 1/2 ln 2 + 1 ln(4/3)) / 2 = (ln(4/3) / 2 + ln(4/3)) / 2 = 3/4 ln(4/3).
    """
    assert divergence(whole(3, 3), whole(7, 0)) == pytest.approx(0.75 * math.log(4 / 3))


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        ((3, 0, 1), (0, 9, 0), LN2),
        ((0, 0), (0, 5), LN2),
        ((1, 0), (0, 0), LN2),
        ((0, 0), (0, 0), 0.0),
        ((), (), 0.0),
    ],
    ids=["disjoint", "nothing and something", "something and nothing", "nothing twice", "no bins"],
)
def test_what_has_nothing_in_common(p: tuple[int, ...], q: tuple[int, ...], expected: float) -> None:
    assert divergence(whole(*p), whole(*q)) == expected


# Histograms


@given(
    st.lists(st.tuples(st.integers(-20, 320), st.integers(0, 3)), max_size=30),
    st.integers(1, 60),
    st.integers(-10, 10),
    st.integers(1, 300),
)
@settings(max_examples=200, deadline=None)
def test_histograms_agree_with_exact_fractions(
    given: list[tuple[int, int]], n_bins: int, low: int, width: int
) -> None:
    """Whole numbers are often on the edges of bins: an edge belongs to the bin above."""
    expected = [0] * n_bins
    for value, weight in given:
        expected[min(max(math.floor(Fraction(value - low, width) * n_bins), 0), n_bins - 1)] += weight
    values, weights = (
        (np.array(column) for column in zip(*given, strict=True)) if given else (np.empty(0), whole())
    )
    assert histogram(values.astype(float), weights, n_bins, low, low + width).tolist() == expected


def test_both_ends_belong_to_the_histogram_and_so_does_what_is_beyond() -> None:
    values = np.array([0.0, 10.0, 9.99, 10.01, 1e300, -1.0, 5.0])
    assert histogram(values, np.ones(7, np.int64), 2, 0.0, 10.0).tolist() == [2, 5]


def test_the_middle_of_the_range_is_an_edge() -> None:
    """Of 50 bins from 0 to 194, bin 25 begins at 97."""
    assert histogram(np.array([97.0]), whole(1), 50, 0.0, 194.0).tolist().index(1) == 25


def test_a_range_of_nothing_divides_what_is_above_from_all_else() -> None:
    values = np.array([0.0, -1.0, 1e-300, 7.0])
    assert histogram(values, whole(1, 10, 100, 1000), 5, 0.0, 0.0).tolist() == [11, 0, 0, 0, 1100]
    assert histogram(values, whole(1, 10, 100, 1000), 1, 0.0, 0.0).tolist() == [1111]


def test_the_narrowest_range_has_its_bins() -> None:
    values = np.array([0.0, 5e-324, 1e300])
    assert histogram(values, whole(1, 2, 4), 50, 0.0, 5e-324).tolist() == [1, *[0] * 48, 6]


def test_nothing_has_an_empty_histogram() -> None:
    assert histogram(np.empty(0), whole(), 3, 0.0, 1.0).tolist() == [0, 0, 0]


def test_runs_of_bins_are_counted_by_weight() -> None:
    rng = np.random.default_rng(1)
    lists = [rng.integers(0, 6, rng.integers(0, 5)).tolist() for _ in range(20)]
    weights = rng.integers(0, 4, 20)
    bins = np.array([number for numbers in lists for number in numbers], np.uint8)
    expected = [
        sum(int(weight) * numbers.count(b) for numbers, weight in zip(lists, weights, strict=True))
        for b in range(6)
    ]
    assert ragged_histogram(bins, np.cumsum([0, *map(len, lists)]), weights, 6).tolist() == expected


# Relative errors


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 100)), min_size=1, max_size=20), st.floats(0.1, 9))
@settings(max_examples=100, deadline=None)
def test_relative_errors_agree_with_a_loop(given: list[tuple[int, float]], least: float) -> None:
    expected = sum(abs(real - other) / max(real, least) for real, other in given) / len(given)
    real, synthetic = (np.array(column) for column in zip(*given, strict=True))
    assert relative_error(real, synthetic, least) == pytest.approx(expected)


def test_a_relative_error_by_hand() -> None:
    """|4 - 1| / 4 = 0.75, |1 - 3| / 2 = 1 (1 counts as 2), |0 - 1| / 2 = 0.5: on average 0.75."""
    assert relative_error(whole(4, 1, 0), np.array([1.0, 3.0, 1.0]), 2.0) == 0.75


def test_an_average_of_nothing_is_not_defined() -> None:
    assert math.isnan(relative_error(whole(), np.empty(0), 1.0))


# Rankings


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25))
@settings(max_examples=200, deadline=None)
def test_kendall_s_tau_agrees_with_scipy(given: list[tuple[int, int]]) -> None:
    real, synthetic = (whole(*column) for column in zip(*given, strict=True))
    if len(set(real.tolist())) == 1 or len(set(synthetic.tolist())) == 1:
        assert math.isnan(kendall_tau(real, synthetic))
    else:
        assert kendall_tau(real, synthetic) == pytest.approx(kendalltau(real, synthetic).statistic, abs=1e-12)


def test_kendall_s_tau_of_known_rankings() -> None:
    assert kendall_tau(whole(1, 2, 3, 4), whole(10, 20, 30, 40)) == 1
    assert kendall_tau(whole(1, 2, 3, 4), whole(4, 3, 2, 1)) == -1
    assert kendall_tau(whole(1, 2, 3), whole(1, 3, 2)) == pytest.approx(1 / 3)  # two pairs agree, one does not
    assert math.isnan(kendall_tau(whole(1, 2, 3), whole(5, 5, 5)))


def slow_ndcg(gains: list[int], ranking: list[int], k: int) -> float:
    """Average over all orders in which the ranking does not rise; the best of all orders is the ideal."""

    def gained(order: tuple[int, ...]) -> float:
        return sum(gains[cell] / math.log2(place + 2) for place, cell in enumerate(order[:k]))

    orders = list(permutations(range(len(gains))))
    fitting = [o for o in orders if all(ranking[a] >= ranking[b] for a, b in pairwise(o))]
    ideal = max(gained(order) for order in orders)
    return sum(gained(order) for order in fitting) / len(fitting) / ideal if ideal else math.nan


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=6), st.integers(1, 8))
@settings(max_examples=100, deadline=None)
def test_gains_agree_with_the_average_over_all_orders_of_ties(given: list[tuple[int, int]], k: int) -> None:
    gains, ranking = ([*column] for column in zip(*given, strict=True))
    found = ndcg(whole(*gains), whole(*ranking), k)
    assert found == pytest.approx(slow_ndcg(gains, ranking, k), nan_ok=True)


def test_gains_of_known_rankings() -> None:
    """Gains 3, 1 in the wrong order: (1 / log2 2 + 3 / log2 3) / (3 / log2 2 + 1 / log2 3)."""
    swapped = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert ndcg(whole(3, 1), whole(1, 2), 2) == pytest.approx(swapped)
    assert ndcg(whole(3, 1), whole(9, 2), 2) == pytest.approx(1)
    assert ndcg(whole(3, 1), whole(1, 2), 1) == pytest.approx(1 / 3)
    assert ndcg(whole(3, 1), whole(5, 5), 1) == pytest.approx(2 / 3)  # a tie: 2 of at most 3
    assert math.isnan(ndcg(whole(0, 0), whole(1, 2), 2))
