"""One accumulator stops every trajectory at 2**20, exactly, whatever a kernel emits; and parts add up."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privtrace.backends import sums
from privtrace.privacy.accumulator import Accumulator, Counts
from privtrace.privacy.contributions import Contributions, evenly, once
from privtrace.privacy.unit import WEIGHT, Unit
from privtrace.trajectories import Integers

SIZE = 40


def emitted(*trajectories: list[tuple[int, int]]) -> Contributions:
    """Write contributions down as lists of (entry, weight)."""
    codes, weights = (np.array([e[axis] for t in trajectories for e in t], np.int64) for axis in (0, 1))
    return Contributions(codes, weights, np.cumsum([0, *map(len, trajectories)]))


def accumulated(*parts: Contributions, size: int = SIZE) -> Counts:
    table = Accumulator(size, Unit())
    for part in parts:
        table.add(table.bounded(part, len(part.offsets) - 1))
    return table.counts()


def dense(counts: Counts) -> Integers:
    return counts.dense(0, counts.size)


def by_hand(trajectories: list[list[tuple[int, int]]], size: int) -> list[int]:
    """Follow the rule entry by entry, with Python's own integers."""
    table = [0] * size
    for entries in trajectories:
        left = WEIGHT
        for code, weight in entries:
            if 0 <= code < size:
                taken = min(max(weight, 0), left)
                table[code] += taken
                left -= taken
    return table


ENTRIES = st.lists(
    st.tuples(
        st.integers(-3, SIZE + 3),
        st.one_of(st.integers(-5, 50), st.integers(-(2**62), 2**62), st.sampled_from([WEIGHT, WEIGHT - 1])),
    ),
    max_size=12,
)


@given(st.lists(ENTRIES, max_size=8), st.sampled_from([SIZE, 1 << 20]), st.integers(0, 8))
def test_it_adds_up_by_the_rule(trajectories: list[list[tuple[int, int]]], size: int, cut: int) -> None:
    """In a small table and a large one, as one part and as two."""
    expected = by_hand(trajectories, size)
    whole = accumulated(emitted(*trajectories), size=size)
    parts = accumulated(emitted(*trajectories[:cut]), emitted(*trajectories[cut:]), size=size)
    assert dense(whole).tolist() == dense(parts).tolist() == expected


@given(st.lists(ENTRIES, max_size=6), ENTRIES, st.integers(0, 6))
def test_one_trajectory_changes_it_by_2_20_at_most(
    others: list[list[tuple[int, int]]], hostile: list[tuple[int, int]], place: int
) -> None:
    with_it = dense(accumulated(emitted(*others[:place], hostile, *others[place:])))
    without = dense(accumulated(emitted(*others)))
    assert np.all(with_it >= without) and (with_it - without).sum() <= WEIGHT


@pytest.mark.parametrize(
    ("entries", "taken"),
    [
        ([(0, WEIGHT)], WEIGHT),
        ([(0, WEIGHT + 1)], WEIGHT),
        ([(0, WEIGHT), (1, WEIGHT)], WEIGHT),
        ([(0, -WEIGHT), (1, 2 * WEIGHT)], WEIGHT),  # what is taken away does not buy more
        ([(0, 2**62), (1, 2**62)], WEIGHT),
        ([(-1, WEIGHT), (SIZE, WEIGHT), (0, 7)], 7),
        ([], 0),
    ],
)
def test_it_stops_exactly_at_2_20(entries: list[tuple[int, int]], taken: int) -> None:
    assert dense(accumulated(emitted(entries))).sum() == taken


def test_it_stops_at_2_20_entries_of_one() -> None:
    assert dense(accumulated(emitted([(e % SIZE, 1) for e in range(2 * WEIGHT)]))).sum() == WEIGHT


def test_offsets_of_any_kind_are_safe_and_bounded() -> None:
    """A kernel that is wrong about where a trajectory's entries stand still cannot break the bound."""
    codes, weights = np.zeros(5, np.int64), np.full(5, WEIGHT)
    for offsets in ([0, 5, 0, 5], [-9, 99, 3, 7], [5, 4, 3, 2], [0, 0, 0, 0], [2**62, -(2**62), 5, 5]):
        counts = accumulated(Contributions(codes, weights, np.array(offsets)))
        assert 0 <= dense(counts).sum() <= 3 * WEIGHT


def test_a_kernel_must_tell_of_every_trajectory() -> None:
    """Else entries of one could pass for those of many, each with a bound of its own."""
    table = Accumulator(SIZE, Unit())
    for n_trajectories in (1, 3):
        with pytest.raises(TypeError, match="for each trajectory"):
            table.bounded(emitted([(0, 1)], [(1, 1)]), n_trajectories)
    with pytest.raises(TypeError, match="a weight to each entry"):
        table.bounded(Contributions(np.zeros(2, np.int64), np.ones(1, np.int64), np.array([0, 2])), 1)


@pytest.mark.parametrize("merge", [1, 50, 1 << 21])
@pytest.mark.parametrize("size", [100, 1 << 40])
def test_parts_add_up_in_any_order(merge: int, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sums, "_MERGE_ENTRIES", merge)
    rng = np.random.default_rng(1)
    codes, weights = rng.integers(0, 100, 5000) * (size // 100), rng.integers(0, 1000, 5000)
    cuts = np.sort(rng.integers(0, 5000, 60))
    parts = [
        Contributions(codes[a:b], weights[a:b], np.arange(b - a + 1))
        for a, b in pairwise([0, *cuts.tolist(), 5000])
    ]
    expected = np.bincount(codes // (size // 100), weights, 100).astype(np.int64)
    for order in (parts, parts[::-1]):
        counts = accumulated(*order, size=size)
        found = [counts.dense(code * (size // 100), code * (size // 100) + 1)[0] for code in range(100)]
        assert found == expected.tolist()


def test_counts_are_written_out_block_by_block() -> None:
    counts = accumulated(emitted([(3, 5), (7, 6)], [(7, 1)]), size=10)
    assert [counts.dense(a, min(a + 4, 10)).tolist() for a in (0, 4, 8)] == [[0, 0, 0, 5], [0, 0, 0, 7], [0, 0]]


def test_weights_are_rounded_down() -> None:
    """Rounded to the nearest or up, seven entries would weigh more than one trajectory."""
    for n in (1, 3, 7, 1000, WEIGHT + 1):
        even = evenly(np.zeros(n, np.int32), np.array([0, n, n]))
        assert even.weights.tolist() == [WEIGHT // n] * n
        assert (
            evenly(np.zeros(n, np.int32), np.array([0, n]), n_more=2).weights.tolist()
            == [WEIGHT // (n + 2)] * n
        )
    alone = once(np.array([4, 2]), np.array([True, False, True]))
    assert alone.offsets.tolist() == [0, 1, 1, 2] and alone.weights.tolist() == [WEIGHT] * 2
