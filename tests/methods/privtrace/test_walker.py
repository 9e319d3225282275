"""Walks follow the tables that model selection chose; points lie in their cells."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from tests.counting import lists

import privtrace as pt
from privtrace.methods.common.placing import decode
from privtrace.methods.privtrace.model import PrivTraceModel
from privtrace.methods.privtrace.transitions import Transitions
from privtrace.methods.privtrace.walker import Walker


@pytest.fixture(scope="module")
def noiseless(city: tuple[pt.Trajectories, pt.Region]) -> PrivTraceModel:
    trips, region = city
    synthesizer = pt.PrivTrace(epsilon=1, region=region, K=3, density_per_cell=150, theta1=100)
    return synthesizer.fit(trips, noise=pt.NoNoise())


def deviation(observed: Counter[int], expected: dict[int, int]) -> float:
    """Test observed successors against weights; return the p-value."""
    assert observed.keys() <= expected.keys()
    if len(expected) == 1:
        return 1.0
    weights = np.array(list(expected.values()), float)
    counts = np.array([observed[successor] for successor in expected], float)
    share = weights / weights.sum() * counts.sum()
    rare = share < 5
    if rare.sum() > 1:
        counts = np.append(counts[~rare], counts[rare].sum())
        share = np.append(share[~rare], share[rare].sum())
    return float(stats.chisquare(counts, share).pvalue) if len(share) > 1 else 1.0


def row(transitions: Transitions, number: int) -> dict[int, int]:
    entries = slice(transitions.offsets[number], transitions.offsets[number + 1])
    return dict(
        zip(transitions.successors[entries].tolist(), transitions.weights[entries].tolist(), strict=True)
    )


def test_conditional_frequencies_converge_to_the_chosen_tables(noiseless: PrivTraceModel) -> None:
    m = noiseless.grid.n_cells
    rank = {state: r for r, state in enumerate(noiseless.second_states.tolist())}
    assert 3 < len(rank) < m  # both orders are at work
    paths, _ = noiseless.walker.walk(range(150_000), seed=1)
    seen: dict[tuple[int, ...], Counter[int]] = {}
    starts: Counter[int] = Counter()
    for path in np.split(paths.cells, paths.offsets[1:-1]):
        cells = path.tolist()
        starts[cells[0]] += 1
        for place, now in enumerate(cells):
            after = cells[place + 1] if place + 1 < len(cells) else now
            second = now in rank and place > 0
            context = (cells[place - 1], now) if second else (now,)
            seen.setdefault(context, Counter())[after] += 1
    p_values = [deviation(starts, {s: w for s, w in enumerate(noiseless.walker.starts.tolist()) if w})]
    orders = Counter(len(context) for context in seen)
    for context, successors in seen.items():
        if len(context) == 1:
            expected = row(noiseless.first, context[0])
        else:
            expected = row(noiseless.second, rank[context[1]] * m + context[0])
            expected = expected or row(noiseless.first, context[1])
        p_values.append(deviation(successors, expected))
    assert orders[1] > 10 and orders[2] > 10
    # Uniform p-values, and none that is impossible among so many.
    assert min(p_values) > 1e-3 / len(p_values)
    assert np.median(p_values) > 0.4


def walker(first: list[list[int]], starts: list[int], max_steps: int = 10) -> Walker:
    table = np.array([*first, starts], np.int64)
    none = np.empty(0, np.int32)
    return Walker(np.array(starts), Transitions.of([table]), Transitions.of([]), none, max_steps, True)


def test_an_empty_row_ends_the_walk() -> None:
    paths, capped = walker([[0, 1], [0, 0]], [1, 0]).walk(range(3), 0)
    assert paths.cells.tolist() == [0, 1] * 3 and capped == 0


def test_the_diagonal_is_the_end() -> None:
    paths, _ = walker([[5, 0], [0, 5]], [0, 1]).walk(range(4), 0)
    assert paths.cells.tolist() == [1] * 4 and np.diff(paths.offsets).tolist() == [1] * 4


def test_endless_walks_are_ended_and_counted() -> None:
    paths, capped = walker([[0, 1], [1, 0]], [1, 0]).walk(range(5), 0)
    assert np.diff(paths.offsets).tolist() == [10] * 5 and capped == 5


def test_a_walk_that_ends_by_itself_is_not_cut_short() -> None:
    paths, capped = walker([[0, 1], [0, 1]], [1, 0], max_steps=2).walk(range(5), 0)
    assert np.diff(paths.offsets).tolist() == [2] * 5 and capped == 0


@pytest.mark.parametrize(("fallback", "walked"), [(True, [0, 1, 2]), (False, [0, 1])])
def test_an_empty_second_order_row_falls_back_to_first_order_or_ends_the_walk(
    fallback: bool, walked: list[int]
) -> None:
    """0 -> 1 -> 2 -> end by first order; by second order, nothing is known of 0, and nothing of 1 after 0."""
    first = Transitions.of([np.array([[0, 1, 0], [0, 0, 1], [0, 0, 1], [1, 0, 0]])])
    after_2 = np.array([[0, 0, 0], [0, 0, 0], [1, 0, 0]])  # 2 -> 1 -> 0
    second = Transitions.of([np.zeros((3, 3), np.int64), after_2])
    chosen = np.array([0, 1], np.int32)  # yet the state after the start comes from first order
    paths, capped = Walker(np.array([1, 0, 0]), first, second, chosen, 10, fallback).walk(range(2), 0)
    assert paths.cells.tolist() == walked * 2 and capped == 0


def test_without_fallback_the_same_walks_end_where_it_would_help(
    city: tuple[pt.Trajectories, pt.Region],
) -> None:
    trips, region = city
    setup = pt.PrivTrace(epsilon=1, region=region, K=4, theta1=1.0)
    helped, plain = (
        replace(setup, fallback=fallback).fit(trips, noise=pt.SeededNoise(1)) for fallback in (True, False)
    )
    m, rank = plain.grid.n_cells, {state: r for r, state in enumerate(plain.second_states.tolist())}
    n_ended = 0
    for whole, path in zip(*(lists(model.walk(range(3000), 2)[0]) for model in (helped, plain)), strict=True):
        assert whole[: len(path)] == path
        contexts = [(p, s) for p, s in pairwise(path) if s in rank]
        empty = [context for context in contexts if not row(plain.second, rank[context[1]] * m + context[0])]
        assert empty in ([], [tuple(path[-2:])])
        assert whole == path or empty
        n_ended += bool(empty)
    assert 0 < n_ended < 3000


def test_a_trajectory_depends_on_its_number_alone(noiseless: PrivTraceModel) -> None:
    whole, _ = noiseless.walker.walk(range(1000), 9)
    for numbers in (range(0, 1), range(7, 300), range(999, 1000)):
        part, _ = noiseless.walker.walk(numbers, 9)
        cells = whole.cells[whole.offsets[numbers.start] : whole.offsets[numbers.stop]]
        assert np.array_equal(part.cells, cells)


def test_points_are_uniform_in_their_cells(noiseless: PrivTraceModel) -> None:
    paths, _ = noiseless.walker.walk(range(20_000), 4)
    points = decode(paths, noiseless.grid, 0, 4).points
    boxes = noiseless.grid.boxes[paths.cells]
    within = (points - boxes[:, :2]) / (boxes[:, 2:] - boxes[:, :2])
    assert within.min() >= 0 and within.max() <= 1
    for axis in range(2):
        assert stats.kstest(within[:, axis], "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(within.T)[0, 1]) < 0.02
