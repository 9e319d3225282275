"""Contexts: grown by noisy counts alone, found as a table of runs finds them, and made to add up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests import polygons
from tests.methods.dpt.test_events import as_lists, jumpers
from tests.methods.dpt.test_systems import BOX
from tests.methods.privtrace.test_transitions import slow_normcut

from privtrace.methods.dpt.contexts import Contexts, Growth, consistent, follow, grow
from privtrace.methods.dpt.events import Mapper
from privtrace.methods.dpt.systems import STOP, Systems
from privtrace.space.clip import clip

SYSTEMS = {
    "box": Systems(BOX, (4, 2)),
    "gap": Systems(BOX, (8, 2)),
    "one cell": Systems(BOX, (1,)),
    "frame": Systems(polygons.region("frame"), (4, 2)),
    "mixed": Systems(polygons.region("mixed 1"), (6, 3)),
}


@pytest.fixture(params=SYSTEMS)
def systems(request: pytest.FixtureRequest) -> Systems:
    return SYSTEMS[request.param]


def spelled(contexts: Contexts, systems: Systems) -> list[tuple[int, ...]]:
    """Spell contexts out as runs of cells, in order of their numbers."""
    runs: dict[int, tuple[int, ...]] = {
        int(number): (cell,) for cell, number in enumerate(contexts.of_cell) if number >= 0
    }
    for number in range(len(contexts)):
        for direction, longer in enumerate(contexts.longer[number].tolist()):
            if longer >= 0:
                last = runs[number][-1]
                first = int(systems.first_cell[systems.of_cell[last]])
                runs[longer] = (*runs[number], first + int(systems.stack.neighbors[last, direction]))
    return [runs[number] for number in range(len(contexts))]


def every_context(systems: Systems, depth: int) -> Contexts:
    contexts = Contexts.of_cells(np.arange(systems.n_cells), systems.n_cells)
    while contexts.depth < depth:
        can = systems.legal[contexts.last_cell[contexts.deepest], :STOP]
        contexts = contexts.grown(np.flatnonzero(can.ravel()), systems)
    return contexts


def some_tree(systems: Systems, height: int, seed: int = 3) -> tuple[Contexts, np.ndarray, np.ndarray]:
    """Grow a tree from random numbers, as noisy counts are; with its arrivals and events."""
    rng = np.random.default_rng(seed)
    arrivals = rng.integers(-30, 100, systems.n_cells)

    def table(contexts: Contexts) -> np.ndarray:
        return rng.integers(-30, 60, (contexts.deepest.stop - contexts.deepest.start, systems.n_events))

    return *grow(systems, arrivals, Growth(height, 20, 60), table), arrivals


COUNTS = arrays(np.int64, st.integers(0, 30), elements=st.integers(-4, 9))


@given(counts=COUNTS, least=st.integers(1, 8), most=st.integers(1, 12))
def test_the_largest_counts_are_worth_it(counts: np.ndarray, least: int, most: int) -> None:
    ranked = sorted((-count, place) for place, count in enumerate(counts.tolist()) if count >= least)
    assert Growth(3, least, most).worth(counts).tolist() == sorted(place for _, place in ranked[:most])


@pytest.mark.parametrize("least", [1 << 62, 1 << 63, 10**30])
def test_a_threshold_beyond_all_counts(least: int) -> None:
    assert len(Growth(3, least, 5).worth(np.array([1 << 60, -(1 << 60), 0]))) == 0


@pytest.mark.parametrize("height", [2, 3, 4])
def test_a_tree_grows_by_large_counts(height: int, systems: Systems) -> None:
    contexts, events, arrivals = some_tree(systems, height)
    runs = spelled(contexts, systems)
    assert contexts.depth == height - 1 and len(events) == len(contexts) == len({*runs})
    assert [len(run) for run in runs] == sorted(len(run) for run in runs)
    assert contexts.last_cell.tolist() == [run[-1] for run in runs]
    assert contexts.first.tolist() == [sum(len(run) < depth for run in runs) for depth in range(1, height + 1)]
    assert {run[0] for run in runs if len(run) == 1} == {*np.flatnonzero(arrivals >= 20).tolist()}
    for depth in range(1, height - 1):
        here = range(contexts.first[depth - 1], contexts.first[depth])
        counts = {(row, move): int(events[row, move]) for row in here for move in range(STOP)}
        ranked = sorted((-count, node) for node, count in counts.items() if count >= 20)
        grown = {(row, move) for row in here for move in range(STOP) if contexts.longer[row, move] >= 0}
        assert grown == {node for _, node in ranked[:60]}
    assert (contexts.longer[contexts.deepest] == -1).all()


def test_what_cannot_happen_is_emptied(systems: Systems) -> None:
    contexts, events, _ = some_tree(systems, 3)
    assert not events[~systems.legal[contexts.last_cell]].any()
    assert systems.n_cells == 1 or (events[systems.legal[contexts.last_cell]] < 0).any()


def test_a_tree_of_nothing(systems: Systems) -> None:
    asked = []

    def table(contexts: Contexts) -> np.ndarray:
        asked.append(contexts.depth)
        return np.empty((0, systems.n_events), np.int64)

    contexts, events = grow(systems, np.zeros(systems.n_cells, np.int64), Growth(4, 1, 9), table)
    assert len(contexts) == 0 and events.shape == (0, systems.n_events) and asked == [1, 2, 3]
    assert consistent(contexts, np.zeros(systems.n_cells, np.int64), events).shape == events.shape


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_contexts_are_followed_as_a_table_of_runs_says(depth: int, systems: Systems) -> None:
    contexts, _, _ = some_tree(systems, depth + 1)
    numbers = {run: number for number, run in enumerate(spelled(contexts, systems))}
    held = np.full(depth, -1)
    for cells, events in as_lists(Mapper(systems, "speed", False).strings(clip(jumpers(), systems.region))):
        run: tuple[int, ...] = ()
        for place, cell in enumerate(cells):
            event = events[place - 1] if place else STOP
            run = (*run, cell) if event < STOP else (cell,)
            follow(held, event, cell, contexts.tree)
            suffixes = [run[-length:] if len(run) >= length else None for length in range(1, depth + 1)]
            assert held.tolist() == [numbers.get(suffix, -1) if suffix else -1 for suffix in suffixes]


def slowly_consistent(
    contexts: Contexts, systems: Systems, arrivals: np.ndarray, events: np.ndarray
) -> list[list[int]]:
    """Go from runs to longer ones: cut a row to the count of its run, or raise it."""
    runs = spelled(contexts, systems)
    total = {(cell,): max(int(count), 0) for cell, count in enumerate(arrivals)}
    clean = []
    for number, run in enumerate(runs):
        row = [max(int(value), 0) for value in events[number]]
        excess = sum(row) - total[run]
        # NormCut pays negatives out of the smallest values: so let what is too much be one.
        row = slow_normcut([*row, -excess])[:-1] if excess > 0 else row
        rise = Fraction(total[run], max(sum(row), 1))
        row = [round(float(value * rise)) for value in row]
        for direction, longer in enumerate(contexts.longer[number].tolist()):
            if longer >= 0:
                total[runs[longer]] = row[direction]
        clean.append(row)
    return clean


@pytest.mark.parametrize("height", [2, 3, 4])
@pytest.mark.parametrize("seed", [1, 2])
def test_counts_are_made_consistent(height: int, seed: int, systems: Systems) -> None:
    contexts, events, arrivals = some_tree(systems, height, seed)
    clean = consistent(contexts, arrivals, events)
    assert np.abs(clean - slowly_consistent(contexts, systems, arrivals, events)).max(initial=0) <= 1
    assert (clean >= 0).all() and not clean[events <= 0].any()
    runs = {run: number for number, run in enumerate(spelled(contexts, systems))}
    for run, number in runs.items():
        sums = clean[number].sum()
        parent = max(arrivals[run[0]], 0)
        if len(run) > 1:
            before = runs[run[:-1]]
            parent = clean[before, contexts.longer[before].tolist().index(number)]
        # Rounded one by one, so the sum may be off by half of each; or nothing is known of what follows.
        assert abs(sums - parent) <= systems.n_events / 2 or (sums == 0 and not (events[number] > 0).any())


def test_the_largest_numbers_stay_in_range(systems: Systems) -> None:
    huge = 1 << 60
    contexts = every_context(systems, 2)
    legal = systems.legal[contexts.last_cell]
    for arrivals in (huge, 1, -huge):
        for values in (huge, 1):
            events = np.where(legal, values, 0)
            clean = consistent(contexts, np.full(systems.n_cells, arrivals), events)
            assert (clean >= 0).all() and clean.astype(object).sum(axis=1).max() <= 2 * huge
            assert clean.any() == (arrivals > 0)
