"""Patterns: the most frequent ones and their counts against a counter over all runs of cells."""

from __future__ import annotations

from collections import Counter
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privtrace.evaluation.patterns import pair_counts, pattern_counts, top_patterns
from privtrace.paths import Paths

Cells = tuple[int, ...]


def paths(lists: list[list[int]]) -> Paths:
    offsets = np.cumsum([0, *map(len, lists)])
    return Paths(np.array([cell for cells in lists for cell in cells], np.int32), offsets)


def slow_counts(lists: list[list[int]], weights: list[int], longest: int) -> Counter[Cells]:
    """Count every run of 2 to `longest` consecutive cells."""
    counts: Counter[Cells] = Counter()
    for cells, weight in zip(lists, weights, strict=True):
        for length in range(2, longest + 1):
            for start in range(len(cells) - length + 1):
                counts[tuple(cells[start : start + length])] += weight
    return +counts  # without those that count nothing


def slow_top(lists: list[list[int]], weights: list[int], k: int, longest: int) -> list[tuple[Cells, int]]:
    """Order by count, then by length, then by cells."""
    ranked = sorted(slow_counts(lists, weights, longest).items(), key=lambda x: (-x[1], len(x[0]), x[0]))
    return ranked[:k]


def code(cells: Cells, n_cells: int) -> int:
    """Write cells plus one as digits in base n_cells + 1."""
    return sum((cell + 1) * (n_cells + 1) ** place for place, cell in enumerate(reversed(cells)))


def top(
    lists: list[list[int]], weights: list[int], k: int, longest: int, n_cells: int
) -> list[tuple[int, int]]:
    found = top_patterns(paths(lists), np.array(weights, np.int64), k, longest, n_cells)
    return list(zip(found.codes.tolist(), found.counts.tolist(), strict=True))


weighted = st.lists(
    st.tuples(
        st.lists(st.integers(0, 3), max_size=14).map(lambda cells: [cell for cell, _ in groupby(cells)]),
        st.integers(0, 3),
    ),
    max_size=12,
)


@given(weighted, st.integers(1, 40), st.integers(2, 6))
@settings(max_examples=200, deadline=None)
def test_the_most_frequent_agree_with_a_counter(
    given: list[tuple[list[int], int]], k: int, longest: int
) -> None:
    lists, weights = [cells for cells, _ in given], [weight for _, weight in given]
    expected = [(code(cells, 4), count) for cells, count in slow_top(lists, weights, k, longest)]
    assert top(lists, weights, k, longest, 4) == expected


@given(weighted, st.sets(st.lists(st.integers(0, 3), min_size=2, max_size=5).map(tuple), max_size=20))
@settings(max_examples=200, deadline=None)
def test_counts_agree_with_a_counter(given: list[tuple[list[int], int]], wanted: set[Cells]) -> None:
    """Asked for in any order, also such as never occur."""
    lists, weights = [cells for cells, _ in given], [weight for _, weight in given]
    counts = slow_counts(lists, weights, 5)
    codes = np.array([code(cells, 4) for cells in wanted], np.int64)
    found = pattern_counts(paths(lists), np.array(weights, np.int64), codes, 5, 4)
    assert found.tolist() == [counts[cells] for cells in wanted]


@pytest.mark.parametrize("k", [1, 5, 200])
@pytest.mark.parametrize("seed", range(3))
def test_the_paper_s_size(seed: int, k: int) -> None:
    """Go from cell to neighboring cell of 20 x 20, so that many patterns repeat and tie."""
    rng = np.random.default_rng(seed)
    lists = [(rng.integers(0, 30) + np.cumsum(rng.choice([1, 20, -1, 20], 25))).tolist() for _ in range(60)]
    lists = [[cell % 400 for cell in cells] for cells in lists]
    weights = rng.integers(0, 3, 60).tolist()
    expected = slow_top(lists, weights, k, 5)
    assert len(expected) == k
    assert top(lists, weights, k, 5, 400) == [(code(cells, 400), count) for cells, count in expected]
    codes = np.array([code(cells, 400) for cells, _ in expected])
    found = pattern_counts(paths(lists), np.array(weights), codes, 5, 400)
    assert found.tolist() == [count for _, count in expected]


def test_paths_are_counted_in_blocks_some_longer_than_one() -> None:
    """Paths of no cells, of a few and of tens of thousands, many of them left out."""
    rng = np.random.default_rng(1)
    sizes = [*rng.integers(0, 9, 4000), 40_000, *rng.integers(0, 9, 4000), 16_384, 16_383, 16_385, 3]
    lists = [(rng.integers(0, 6) + np.cumsum(rng.choice([1, 2, 5], size))) % 6 for size in sizes]
    weights = rng.integers(0, 3, len(sizes))
    weights[[4000, -4, -3, -2]] = 2, 1, 3, 1
    cells = [own.tolist() for own in lists]
    expected = slow_top(cells, weights.tolist(), 80, 5)
    assert top(cells, weights.tolist(), 80, 5, 6) == [(code(own, 6), count) for own, count in expected]
    codes = np.array([code(own, 6) for own, _ in expected])
    assert pattern_counts(paths(cells), weights, codes, 5, 6).tolist() == [count for _, count in expected]


def test_on_a_tie_at_the_last_place_the_shorter_comes_then_the_smaller_cells() -> None:
    lists = [[3, 2, 1, 0], [0, 4]]  # every run occurs once
    by_rule: list[Cells] = [(0, 4), (1, 0), (2, 1), (3, 2), (2, 1, 0), (3, 2, 1), (3, 2, 1, 0)]
    for k in range(1, 9):
        assert top(lists, [1, 1], k, 5, 5) == [(code(cells, 5), 1) for cells in by_rule[:k]]


def test_a_longer_pattern_comes_before_a_rarer_shorter_one() -> None:
    lists = [[0, 1, 2], [2, 0]]
    expected: list[tuple[Cells, int]] = [((0, 1), 2), ((1, 2), 2), ((0, 1, 2), 2), ((2, 0), 1)]
    for k in range(1, 6):
        assert top(lists, [2, 1], k, 3, 3) == [(code(cells, 3), count) for cells, count in expected[:k]]


def test_every_occurrence_counts_also_where_they_overlap() -> None:
    lists = [[0, 1, 0, 1, 0]]
    assert top(lists, [3], 3, 3, 2) == [(code(cells, 2), 6) for cells in [(0, 1), (1, 0), (0, 1, 0)]]


@pytest.mark.parametrize(
    ("lists", "weights"),
    [([], []), ([[]], [1]), ([[2], [], [0]], [1, 2, 1]), ([[0, 1, 2]], [0])],
    ids=["no path", "an empty path", "no moves", "no weight"],
)
def test_without_moves_there_are_no_patterns(lists: list[list[int]], weights: list[int]) -> None:
    assert top(lists, weights, 5, 4, 3) == []
    wanted = np.array([code((0, 1), 3), code((0, 1, 2), 3)])
    assert pattern_counts(paths(lists), np.array(weights, np.int64), wanted, 4, 3).tolist() == [0, 0]


def test_patterns_do_not_lead_from_one_path_to_the_next() -> None:
    lists = [[0, 1], [2, 3], [], [1]]
    assert [found for found, _ in top(lists, [1] * 4, 9, 4, 4)] == [code((0, 1), 4), code((2, 3), 4)]


def test_no_codes_have_no_counts() -> None:
    assert pattern_counts(paths([[0, 1]]), np.ones(1, np.int64), np.empty(0, np.int64), 5, 4).tolist() == []


def test_pairs_agree_with_a_loop() -> None:
    rng = np.random.default_rng(0)
    lists = [rng.integers(0, 5, rng.integers(0, 9)).tolist() for _ in range(30)]
    weights = rng.integers(0, 4, 30)
    expected = np.zeros((5, 5), np.int64)
    for cells, weight in zip(lists, weights, strict=True):
        for before, after in pairwise(cells):
            expected[before, after] += weight
    assert np.array_equal(pair_counts(paths(lists), weights, 5), expected)


def test_a_longer_pattern_may_just_pass_the_last_of_the_shorter_ones() -> None:
    """Eleven paths 0 1 2 and ten paths 3 4: of 3 patterns, the third is 0 1 2 and not 3 4."""
    cells = [*[0, 1, 2] * 11, *[3, 4] * 10]
    offsets = np.cumsum([0, *[3] * 11, *[2] * 10])
    top = top_patterns(Paths(np.array(cells, np.int32), offsets), np.ones(21, np.int64), 3, 3, 5)
    assert top.counts.tolist() == [11, 11, 11]
    assert top.codes.tolist() == [1 * 6 + 2, 2 * 6 + 3, (1 * 6 + 2) * 6 + 3]
