"""NormCut against the paper's algorithm, step by step; sparse rows; the choice of order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from privtrace.methods.common.normcut import normcut
from privtrace.methods.privtrace.selection import states_worth_second_order
from privtrace.methods.privtrace.transitions import Transitions

ROWS = arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(1, 12)), elements=st.integers(-9, 9))


def slow_normcut(row: list[int]) -> list[int]:
    """Do what the paper's algorithm says: pay the debt from the smallest positive value, again and again."""
    row = list(row)
    debt = -sum(value for value in row if value < 0)
    row = [max(value, 0) for value in row]
    while debt and any(row):
        place = min((place for place, value in enumerate(row) if value > 0), key=lambda place: row[place])
        paid = min(debt, row[place])
        row[place] -= paid
        debt -= paid
    return row


@given(ROWS)
def test_normcut_agrees_with_the_papers_algorithm(rows: np.ndarray) -> None:
    assert normcut(rows).tolist() == [slow_normcut(row) for row in rows.tolist()]


@given(ROWS, st.lists(st.integers(-5, 40), min_size=5, max_size=5))
def test_normcut_takes_what_is_more_than_a_total(rows: np.ndarray, totals: list[int]) -> None:
    """As if the excess of the positive values stood in the row as a negative one."""
    totals = totals[: len(rows)]
    for row, clean, total in zip(rows.tolist(), normcut(rows, np.array(totals)).tolist(), totals, strict=True):
        positive = [max(value, 0) for value in row]
        excess = max(sum(positive) - max(total, 0), 0)
        assert clean == (slow_normcut([*positive, -excess])[:-1] if total > 0 else [0] * len(row))
        assert sum(clean) == max(min(sum(positive), total), 0)


def test_normcut_by_hand() -> None:
    """The paper's example, and one whose negatives outweigh."""
    assert normcut(np.array([[-5, 1, 7], [-5, 1, 3]])).tolist() == [[0, 0, 3], [0, 0, 0]]
    totals = np.array([6, 9, 0, -1])
    assert normcut(np.array([[-5, 2, 7]] * 4), totals).tolist() == [[0, 0, 6], [0, 2, 7], [0, 0, 0], [0, 0, 0]]


@given(ROWS)
def test_normcut_keeps_positive_sums(rows: np.ndarray) -> None:
    clean = normcut(rows)
    assert (clean >= 0).all()
    assert clean.sum(axis=1).tolist() == np.maximum(rows.sum(axis=1), 0).tolist()


def test_normcut_does_not_overflow() -> None:
    rows = np.full((1, 3000), 1 << 60)
    clean = normcut(rows)
    assert (clean > 0).all() and clean.astype(object).sum() < 1 << 63


@given(ROWS)
def test_sparse_rows_hold_the_clean_table(rows: np.ndarray) -> None:
    transitions = Transitions.of([rows, rows[:1]])
    table = np.zeros((transitions.n_rows, rows.shape[1]), np.int64)
    owners = np.repeat(np.arange(transitions.n_rows), np.diff(transitions.offsets))
    table[owners, transitions.successors] = transitions.weights
    assert np.array_equal(table, normcut(np.vstack([rows, rows[:1]])))
    for row in range(transitions.n_rows):
        entries = slice(transitions.offsets[row], transitions.offsets[row + 1])
        assert np.array_equal(np.cumsum(transitions.weights[entries]), transitions.rows.cumulative[entries])


def test_no_blocks_make_no_rows() -> None:
    assert Transitions.of([]).n_rows == 0


@pytest.mark.parametrize(
    ("row", "second"),
    [
        ([50, 50, 0], True),
        ([30, 30, 0], False),  # fewer than theta1
        ([100, 20, 0], False),  # largest is theta2 times the second
        ([99, 20, 0], True),
        ([100, 0, 0], False),  # one successor dominates
        ([0, 0, 0], False),
    ],
)
def test_the_choice_of_order(row: list[int], second: bool) -> None:
    moves = np.array([row, [0, 0, 0], [0, 0, 0]])
    assert states_worth_second_order(moves, 70, 5).tolist() == ([0] if second else [])


def test_a_single_state_has_no_second_order() -> None:
    assert states_worth_second_order(np.array([[100]]), 1, 5).tolist() == []
