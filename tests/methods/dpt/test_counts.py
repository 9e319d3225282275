"""What strings contribute: against double loops, one weight a string, and adding up from level to level."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests import polygons
from tests.counting import events_after as table
from tests.counting import summed
from tests.methods.dpt.test_contexts import every_context, spelled
from tests.methods.dpt.test_events import as_lists, jumpers
from tests.methods.dpt.test_systems import BOX

import privtrace as pt
from privtrace.methods.dpt.contexts import Contexts, Growth, consistent, grow
from privtrace.methods.dpt.counts import arrivals, starts, systems_used
from privtrace.methods.dpt.events import Mapper, Strings
from privtrace.methods.dpt.systems import STOP, Systems
from privtrace.privacy.unit import WEIGHT
from privtrace.space.clip import clip
from privtrace.trajectories import Integers

MAPPERS = {
    "box": Mapper(Systems(BOX, (8, 4, 2)), "speed", False),
    "coarsest": Mapper(Systems(BOX, (8, 4, 2)), "coarsest", True),
    "gap": Mapper(Systems(BOX, (12, 3)), "speed", True),
    "one": Mapper(Systems(BOX, (5,)), "speed", False),
    "two banks": Mapper(Systems(polygons.region("two banks"), (6, 3)), "speed", False),
    "mixed": Mapper(Systems(polygons.region("mixed 1"), (8, 4)), "speed", False),
}


@pytest.fixture(params=MAPPERS)
def mapper(request: pytest.FixtureRequest) -> Mapper:
    return MAPPERS[request.param]


@pytest.fixture
def strings(mapper: Mapper, wanderers: pt.Trajectories) -> Strings:
    return mapper.strings(
        clip(pt.Trajectories.concatenate([wanderers[:200], jumpers()]), mapper.systems.region)
    )


def start_counts(strings: Strings, n_cells: int) -> Integers:
    return summed(starts(strings), n_cells)


def arrival_counts(strings: Strings, n_cells: int) -> Integers:
    return summed(arrivals(strings), n_cells)


def system_counts(strings: Strings, of_cell: Integers, n_systems: int) -> Integers:
    return summed(systems_used(strings, of_cell), n_systems)


def some_contexts(systems: Systems, depth: int) -> Contexts:
    """Make a tree of two thirds of the cells, and of two thirds of all that can grow on them."""
    rng = np.random.default_rng(4)
    contexts = Contexts.of_cells(np.flatnonzero(rng.random(systems.n_cells) < 0.67), systems.n_cells)
    while contexts.depth < depth:
        can = systems.legal[contexts.last_cell[contexts.deepest], :STOP].ravel()
        contexts = contexts.grown(np.flatnonzero(can & (rng.random(can.size) < 0.67)), systems)
    return contexts


def test_starts_and_arrivals_agree_with_loops(mapper: Mapper, strings: Strings) -> None:
    n_cells, of_cell = mapper.systems.n_cells, mapper.systems.of_cell.tolist()
    started, arrived, usage = Counter[int](), Counter[int](), Counter[int]()
    for cells, _ in as_lists(strings):
        for place, cell in enumerate(cells):
            started[cell] += WEIGHT if place == 0 else 0
            arrived[cell] += WEIGHT // (len(cells) + 1)
            usage[of_cell[cell]] += WEIGHT // (len(cells) + 1)
    n_systems = len(mapper.systems.sizes)
    assert start_counts(strings, n_cells).tolist() == [started[cell] for cell in range(n_cells)]
    assert arrival_counts(strings, n_cells).tolist() == [arrived[cell] for cell in range(n_cells)]
    counted = system_counts(strings, mapper.systems.of_cell, n_systems)
    assert counted.tolist() == [usage[system] for system in range(n_systems)] and counted.all()


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_events_agree_with_a_double_loop(depth: int, mapper: Mapper, strings: Strings) -> None:
    """After a context is what happens in its last cell, if moves alone have led there."""
    systems = mapper.systems
    contexts = some_contexts(systems, depth)
    numbers = {run: number for number, run in enumerate(spelled(contexts, systems)) if len(run) == depth}
    expected = np.zeros((len(numbers), systems.n_events), np.int64)
    for cells, events in as_lists(strings):
        for place, event in enumerate(events):
            run = tuple(cells[max(place - depth + 1, 0) : place + 1])
            led = events[max(place - depth + 1, 0) : place]
            if run in numbers and all(move < STOP for move in led):
                expected[numbers[run] - contexts.deepest.start, event] += WEIGHT // (len(cells) + 1)
    assert np.array_equal(table(strings, contexts, systems.n_events), expected) and expected.any()
    assert not expected[~systems.legal[contexts.last_cell[contexts.deepest]]].any()


def test_levels_add_up(mapper: Mapper, strings: Strings) -> None:
    """Whoever arrives in a cell moves, switches or stops there; and so after a move from cell to cell."""
    systems = mapper.systems
    alone = every_context(systems, 1)
    arrived, events = arrival_counts(strings, systems.n_cells), table(strings, alone, systems.n_events)
    assert np.array_equal(events.sum(axis=1), arrived)
    for depth in (2, 3):
        contexts = every_context(systems, depth)
        after = table(strings, contexts, systems.n_events)
        context, direction = np.nonzero(contexts.longer >= 0)
        grown = contexts.longer[context, direction]
        deepest = grown >= contexts.deepest.start
        before = events[context[deepest] - contexts.first[depth - 2], direction[deepest]]
        assert np.array_equal(after[grown[deepest] - contexts.deepest.start].sum(axis=1), before)
        events = after


def test_exact_counts_are_consistent_already(mapper: Mapper, strings: Strings) -> None:
    systems = mapper.systems
    arrived = arrival_counts(strings, systems.n_cells)
    contexts, events = grow(
        systems, arrived, Growth(4, 1, 10**6), lambda contexts: table(strings, contexts, systems.n_events)
    )
    assert contexts.depth == 3 and len(contexts) > systems.n_cells
    assert np.array_equal(consistent(contexts, arrived, events), events)


def test_no_string_weighs_more_than_one(mapper: Mapper) -> None:
    """In starts exactly one; elsewhere each of n cells weighs 1 / (n + 1)."""
    systems = mapper.systems
    trees = [every_context(systems, depth) for depth in (1, 2, 3)]
    source = jumpers(40)
    for place in range(len(source)):
        strings = mapper.strings(source[place : place + 1])
        n_cells = len(strings.cells)
        weights = n_cells * (WEIGHT // (n_cells + 1))
        assert start_counts(strings, systems.n_cells).sum() == (WEIGHT if n_cells else 0)
        assert arrival_counts(strings, systems.n_cells).sum() == weights <= WEIGHT
        assert system_counts(strings, systems.of_cell, len(systems.sizes)).sum() == weights
        sums = [table(strings, contexts, systems.n_events).sum() for contexts in trees]
        assert WEIGHT >= weights == sums[0] >= sums[1] >= sums[2]


def test_nothing_counts_nothing(mapper: Mapper) -> None:
    systems, strings = (
        mapper.systems,
        Strings(np.empty(0, np.int32), np.empty(0, np.int8), np.zeros(4, np.int64)),
    )
    assert not start_counts(strings, systems.n_cells).any()
    assert not arrival_counts(strings, systems.n_cells).any()
    assert not table(strings, every_context(systems, 2), systems.n_events).any()


def test_a_tree_without_contexts_counts_nothing(mapper: Mapper, strings: Strings) -> None:
    systems = mapper.systems
    none = Contexts.of_cells(np.empty(0, np.int64), systems.n_cells)
    for contexts in (none, none.grown(np.empty(0, np.int64), systems)):
        assert table(strings, contexts, systems.n_events).shape == (0, systems.n_events)


def test_a_string_by_hand() -> None:
    """East, north-east, a switch to the coarse system and a stop: four cells, so a fifth each."""
    systems, fifth = Systems(BOX, (4, 2)), WEIGHT // 5
    strings = Strings(np.array([0, 1, 6, 16], np.int32), np.array([4, 7, 10, STOP], np.int8), np.array([0, 4]))
    contexts = every_context(systems, 2)
    runs = spelled(contexts, systems)
    found = {
        (runs[row + contexts.deepest.start], event): weight
        for (row, event), weight in np.ndenumerate(table(strings, contexts, systems.n_events))
        if weight
    }
    assert found == {((0, 1), 7): fifth, ((1, 6), 10): fifth}
    assert np.flatnonzero(arrival_counts(strings, 20)).tolist() == [0, 1, 6, 16]
    assert system_counts(strings, systems.of_cell, 2).tolist() == [3 * fifth, fifth]
    assert start_counts(strings, 20)[0] == WEIGHT
