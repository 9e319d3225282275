"""Traits: weights, random samples and halves against lists with every trajectory as often as it counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import trajectories

from privtrace.evaluation.traits import Binned, Bits, Joining, Summed, Traits, scaled
from privtrace.paths import Paths
from privtrace.trajectories import Array, Floats


@dataclass(frozen=True, eq=False)
class Everything(Traits):
    """Hold one trait of each kind."""

    numbers: Floats
    bits: Bits
    paths: Paths
    binned: Binned


def everything(weights: list[int], seed: int = 0) -> Everything:
    rng = np.random.default_rng(seed)
    n = len(weights)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 4, n))])
    return Everything(
        np.array(weights, np.int64),
        rng.permutation(n),
        rng.random(n),
        rng.integers(0, 99, (n, 2)).astype(np.uint64),
        Paths(rng.integers(0, 9, offsets[-1]).astype(np.int32), offsets),
        Binned(rng.integers(0, 9, 2 * offsets[-1]).astype(np.uint8), 2 * offsets),
    )


def traits(weights: list[int], lots: list[float]) -> Traits:
    """Order trajectories by lots, those with the same as they come."""
    return Traits(np.array(weights, np.int64), np.argsort(lots, kind="stable"))


weighted = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=15)


def listed(given: list[tuple[int, int]]) -> list[int]:
    """Write each trajectory's number as often as it counts, smallest lots first, then the first."""
    order = sorted(range(len(given)), key=lambda t: (given[t][1], t))
    return [t for t in order for _ in range(given[t][0])]


@given(weighted, st.integers(0, 40))
@settings(max_examples=150, deadline=None)
def test_those_with_the_smallest_lots_are_drawn(given: list[tuple[int, int]], size: int) -> None:
    made = traits([weight for weight, _ in given], [lot for _, lot in given])
    chosen = listed(given)[:size]
    drawn = made.drawn(size)
    assert drawn.weights.tolist() == [chosen.count(t) for t in range(len(given))]
    assert drawn.size == len(chosen) == min(size, made.size)


@given(weighted)
@settings(max_examples=150, deadline=None)
def test_halves_are_halves(given: list[tuple[int, int]]) -> None:
    made = traits([weight for weight, _ in given], [lot for _, lot in given])
    first, second = made.halves()
    expected = listed(given)
    middle = -(-len(expected) // 2)
    for half, numbers in ((first, expected[:middle]), (second, expected[middle:])):
        assert half.weights.tolist() == [numbers.count(t) for t in range(len(given))]
    assert first.size - second.size in (0, 1)


def test_only_the_chosen_count_and_as_often_as_before() -> None:
    made = everything([1, 3, 0, 2])
    only = made.only(np.array([False, True, True, False]))
    assert only.weights.tolist() == [0, 3, 0, 0] and only.size == 3 and len(only) == 4
    assert made.weights.tolist() == [1, 3, 0, 2]


def test_choices_follow_each_other() -> None:
    """Of those that count 3 and 2 times, a sample of 4 has all of the one with the smaller lot."""
    made = traits([1, 3, 5, 2], [0.1, 0.9, 0.2, 0.3])
    some = made.only(np.array([False, True, False, True])).drawn(4)
    assert some.weights.tolist() == [0, 2, 0, 2]


def test_weights_change_nothing_else() -> None:
    made = everything([1, 3, 0, 2])
    for other in (made.weighing(np.array([0, 0, 9, 1])), made.drawn(2), *made.halves()):
        assert isinstance(other, Everything)
        for name in ("order", "numbers", "bits", "paths", "binned"):
            assert getattr(other, name) is getattr(made, name)


def test_every_trajectory_counts_once_at_first() -> None:
    made = Traits.of(trajectories([(0, 0), (1, 1)], [(2, 2)], [(3, 3)]))
    assert made.weights.tolist() == [1, 1, 1] and made.size == len(made) == 3
    assert Traits.of(trajectories()).size == 0


@pytest.mark.parametrize("lists", [[[1, 3], [0, 2, 5]], [[], [2], []], [[1]], [[], []]], ids=str)
def test_joined_parts_hold_every_trajectory_as_it_was(lists: list[list[int]]) -> None:
    parts = [everything(weights, seed) for seed, weights in enumerate(lists)]
    order = np.arange(sum(map(len, lists)))[::-1]
    joined = Everything.joined(parts.copy(), order)
    assert joined.order.tolist() == order.tolist()
    assert joined.weights.tolist() == [weight for weights in lists for weight in weights]
    rows = [(part, t) for part in parts for t in range(len(part))]
    assert len(joined) == len(rows)
    for row, (part, t) in enumerate(rows):
        assert joined.numbers[row] == part.numbers[t]
        assert joined.bits[row].tolist() == part.bits[t].tolist()
        assert run(joined.paths.cells, joined.paths, row) == run(part.paths.cells, part.paths, t)
        assert run(joined.binned.bins, joined.binned, row) == run(part.binned.bins, part.binned, t)


def test_joining_empties_the_list_of_parts() -> None:
    parts = [everything([1, 2]), everything([3])]
    Everything.joined(parts, np.arange(3))
    assert parts == []


def run(values: Array, ragged: Paths | Binned, row: int) -> list[int]:
    return values[ragged.offsets[row] : ragged.offsets[row + 1]].tolist()


def test_counts_are_scaled_to_the_real_size() -> None:
    real, given = traits([2, 1, 3], [0] * 3), traits([1, 0, 1, 2], [0] * 4)
    assert scaled(np.array([4, 1, 0]), given, real).tolist() == [6, 1.5, 0]
    assert scaled(np.array([0, 0]), traits([0], [0]), real).tolist() == [0, 0]


@dataclass(frozen=True, eq=False)
class Others(Traits):
    """Hold what another profile looks at."""

    bits: Bits
    heat: Summed


def test_what_profiles_share_in_parts_they_share_in_the_whole() -> None:
    joining, parts = Joining(), [everything([1] * n, n) for n in (3, 0, 40, 2)]
    for part in parts:
        counts = np.arange(4) * len(part)
        joining.add({"one": part, "other": Others(part.weights.copy(), part.order, part.bits, Summed(counts))})
    joined = joining.finish(np.arange(45))
    one, other = joined["one"], joined["other"]
    assert isinstance(one, Everything) and isinstance(other, Others)
    assert other.bits is one.bits and other.weights is one.weights and other.order is one.order
    np.testing.assert_array_equal(one.bits, np.concatenate([part.bits for part in parts]))
    assert one.numbers is not other.bits and one.weights.tolist() == [1] * 45
    assert other.heat.counts.tolist() == [0, 45, 90, 135]
