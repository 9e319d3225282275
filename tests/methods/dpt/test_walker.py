"""Walks on prefix trees: as likely as all walks counted out, straighter by their heading, and repeatable."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests import polygons
from tests.counting import lists
from tests.methods.dpt.test_contexts import every_context, some_tree, spelled
from tests.methods.dpt.test_systems import BOX, SLIVER, place, places

import privtrace as pt
from privtrace.methods.dpt.contexts import Contexts
from privtrace.methods.dpt.systems import STOP, SWITCH, Systems
from privtrace.methods.dpt.walker import TreeWalker
from privtrace.space.shortest_paths import DIRECTIONS

Walk = tuple[int, ...]
LONG = pt.Region.box(0, 0, 40, 10, crs="planar")
SYSTEMS = {
    "box": Systems(BOX, (4, 2)),
    "long": Systems(LONG, (4, 2)),
    "gap": Systems(BOX, (8, 2)),
    "one": Systems(BOX, (3,)),
    "frame": Systems(polygons.region("frame"), (4, 2)),
}
SW, S, SE, W, E, NW, N, NE = range(8)


def some_walker(name: str, height: int, seed: int = 1, **settings: Any) -> TreeWalker:
    """Make a random tree: of some cells nothing is known, and of some contexts no more than of shorter ones."""
    systems = SYSTEMS[name]
    rng = np.random.default_rng(seed)
    contexts, events, arrivals = some_tree(systems, height, seed)
    events = np.where(rng.random((len(events), 1)) < 0.8, np.maximum(events, 0), 0)
    events[:, STOP] += 20 * (events.sum(axis=1) > 0)
    starts = np.zeros(systems.n_cells, np.int64)
    starts[rng.choice(systems.n_cells, 4, replace=False)] = [1, 2, 3, 4]
    chosen = {"heading_moves": 2, "heading_strength": 0.0, "max_steps": 4, **settings}
    return TreeWalker(systems, contexts, starts, np.maximum(arrivals, 0), events, **chosen)


class Oracle:
    """Count out all walks with their chances."""

    def __init__(self, walker: TreeWalker) -> None:
        self.walker, self.systems = walker, walker.systems
        self.rows = {
            run: walker.events[number].tolist()
            for number, run in enumerate(spelled(walker.contexts, walker.systems))
            if walker.events[number].any()
        }
        self.cells = places(self.systems)

    def walks(self) -> dict[tuple[Walk, bool], float]:
        """Give the chance of each walk; and whether it is one that the limit ends."""
        found: dict[tuple[Walk, bool], float] = defaultdict(float)
        starts = self.walker.starts.tolist()
        for cell, weight in enumerate(starts):
            if weight:
                self._go((cell,), cell, (cell,), (), 0, weight / sum(starts), found)
        return found

    def _go(
        self,
        walk: Walk,
        cell: int,
        run: Walk,
        moves: tuple[tuple[int, int], ...],
        n: int,
        chance: float,
        found: Any,
    ) -> None:
        system, row, column = place(self.systems, cell)
        known = [run[k:] for k in range(len(run)) if run[k:] in self.rows]
        if not known and system == len(self.systems.sizes) - 1:
            found[walk, False] += chance
            return
        chances = self._chances(self.rows[known[0]], system, moves) if known else {SWITCH + system + 1: 1.0}
        for event, share in chances.items():
            if event == STOP or n == self.walker.max_steps:
                found[walk, event != STOP] += chance * share
            elif event < STOP:
                east, north = DIRECTIONS[event].tolist()
                onto = self.cells[system, row + north, column + east]
                size = self.systems.sizes[system]
                moves_on = (*moves, (256 // size * east, 256 // size * north))
                self._go((*walk, onto), onto, (*run, onto), moves_on, n + 1, chance * share, found)
            else:
                within = self._within(system, row, column, event - SWITCH)
                if not within:
                    found[walk, False] += chance * share
                for onto, part in within.items():
                    self._go(walk, onto, (onto,), moves, n + 1, chance * share * part, found)

    def _chances(self, row: list[int], system: int, moves: tuple[tuple[int, int], ...]) -> dict[int, float]:
        chances = {event: weight / sum(row) for event, weight in enumerate(row) if weight}
        recent = moves[-self.walker.heading_moves :]
        region = self.systems.region
        heading = (region.width_m * sum(m[0] for m in recent), region.height_m * sum(m[1] for m in recent))
        if heading == (0, 0):
            return chances
        weights = {}
        for move in [event for event in chances if event < STOP]:
            east, north = region.width_m * DIRECTIONS[move, 0], region.height_m * DIRECTIONS[move, 1]
            cosine = (heading[0] * east + heading[1] * north) / math.hypot(*heading) / math.hypot(east, north)
            weights[move] = chances[move] * math.exp(self.walker.heading_strength * round(cosine * 128) / 128)
        moving = sum(chances[move] for move in weights)
        turned = {move: weight / sum(weights.values()) * moving for move, weight in weights.items()}
        return {**chances, **turned}

    def _within(self, system: int, row: int, column: int, onto: int) -> dict[int, float]:
        size, onto_size = self.systems.sizes[system], self.systems.sizes[onto]
        if onto_size < size:
            ratio = size // onto_size
            around = self.cells.get((onto, row // ratio, column // ratio))
            return {} if around is None else {around: 1.0}
        ratio = onto_size // size
        inside = [
            self.cells[onto, row * ratio + i, column * ratio + j]
            for i in range(ratio)
            for j in range(ratio)
            if (onto, row * ratio + i, column * ratio + j) in self.cells
        ]
        weights = {cell: int(self.walker.arrivals[cell]) for cell in inside}
        if not any(weights.values()):
            weights = dict.fromkeys(inside, 1)
        return {cell: weight / sum(weights.values()) for cell, weight in weights.items() if weight}


def assert_agree(walker: TreeWalker, n: int = 20_000, seed: int = 2) -> dict[tuple[Walk, bool], float]:
    """Compare how often walks are walked with their chances."""
    expected = Oracle(walker).walks()
    assert sum(expected.values()) == pytest.approx(1)
    paths, n_capped = walker.walk(range(n), seed)
    observed = Counter(tuple(path) for path in lists(paths))
    chances: dict[Walk, float] = defaultdict(float)
    for (walk, _), chance in expected.items():
        chances[walk] += chance
    assert observed.keys() <= chances.keys()
    shares = np.array([*chances.values()]) * n
    counts = np.array([observed[walk] for walk in chances])
    rare = shares < 5
    shares, counts = np.append(shares[~rare], shares[rare].sum()), np.append(counts[~rare], counts[rare].sum())
    if len(chances) > 1:
        assert stats.chisquare(counts + 1e-9, shares / shares.sum() * counts.sum() + 1e-9).pvalue > 1e-4
    capped = sum(chance for (_, is_capped), chance in expected.items() if is_capped)
    assert stats.binomtest(n_capped, n, min(capped, 1.0)).pvalue > 1e-4
    return expected


@pytest.mark.parametrize("height", [2, 3, 4])
@pytest.mark.parametrize("name", SYSTEMS)
def test_walks_are_as_likely_as_all_walks_counted_out_say(name: str, height: int) -> None:
    """Runs of one to three cells, shorter ones where longer are unknown, and switches up and down."""
    assert len(assert_agree(some_walker(name, height))) > 5


@pytest.mark.parametrize(("strength", "n_moves"), [(1.5, 1), (1.5, 3), (10.0, 2)])
@pytest.mark.parametrize("name", ["box", "long", "frame"])
def test_walks_with_a_heading_are_as_likely_as_counted_out(name: str, strength: float, n_moves: int) -> None:
    assert_agree(some_walker(name, 3, heading_strength=strength, heading_moves=n_moves))


def test_the_longest_known_context_decides() -> None:
    """Where nothing is known after a run of two cells, the last cell alone decides."""
    systems = Systems(BOX, (2,))
    contexts = every_context(systems, 2)
    events = np.zeros((len(contexts), systems.n_events), np.int64)
    runs = spelled(contexts, systems)
    for run, event in {(0,): E, (1,): STOP, (0, 1): N, (3,): W, (1, 3): S}.items():
        events[runs.index(run), event] = 1
    walker = TreeWalker(systems, contexts, np.array([1, 0, 0, 0]), np.zeros(4, np.int64), events, 5, 0.0, 50)
    # 0, and east to 1; known after (0, 1): north to 3; after (1, 3): south to 1; nothing after (3, 1): stop.
    assert lists(walker.walk(range(3), 1)[0]) == [[0, 1, 3, 1]] * 3


def test_an_unknown_cell_hands_over_to_the_coarser_system() -> None:
    """And at last, where no system knows on, the walk ends."""
    systems = Systems(BOX, (4, 2, 1))
    contexts = Contexts.of_cells(np.array([16, 17]), systems.n_cells)
    events = np.zeros((2, systems.n_events), np.int64)
    events[0, E] = events[1, SWITCH + 0] = 1
    arrivals = np.zeros(systems.n_cells, np.int64)
    arrivals[7] = 1
    starts = np.zeros(systems.n_cells, np.int64)
    starts[5] = 1
    walker = TreeWalker(systems, contexts, starts, arrivals, events, 5, 1.0, 50)
    # 5, coarser to 16, east to 17, finer to 7, of which nothing is known: coarser to 17, and so on for ever.
    paths, n_capped = walker.walk(range(4), 1)
    assert lists(paths) == [[5, 17]] * 4 and n_capped == 4
    ended = replace(walker, events=events * [[1], [0]])
    paths, n_capped = ended.walk(range(4), 1)
    assert lists(paths) == [[5, 17]] * 4 and n_capped == 0


@pytest.mark.parametrize("known", [True, False])
def test_a_walk_ends_where_the_other_system_has_no_cell(known: bool) -> None:
    """A sliver is a cell of small systems, and nothing in the large one."""
    systems = Systems(SLIVER, (8, 4, 2))
    small, middle = (cell for cell in range(systems.n_cells) if systems.boxes[cell, 2] > 9)
    contexts = Contexts.of_cells(np.array([small]), systems.n_cells)
    events = np.zeros((1, systems.n_events), np.int64)
    events[0, SWITCH + 2] = known
    starts = np.zeros(systems.n_cells, np.int64)
    starts[[small, middle]] = 1
    paths, n_capped = TreeWalker(systems, contexts, starts, starts, events, 5, 1.0, 50).walk(range(50), 1)
    assert {tuple(path) for path in lists(paths)} == {(small,), (middle,)} and n_capped == 0


@pytest.mark.parametrize("max_steps", [1, 2, 30])
def test_endless_walks_are_ended_and_counted(max_steps: int) -> None:
    """Around and around on 2 x 2 cells: so many moves, and a cell more."""
    systems = Systems(BOX, (2,))
    events = np.zeros((4, systems.n_events), np.int64)
    events[[0, 1, 3, 2], [E, N, W, S]] = 1
    starts = np.array([1, 0, 0, 0])
    walker = TreeWalker(systems, every_context(systems, 1), starts, starts, events, 5, 0.0, max_steps)
    paths, n_capped = walker.walk(range(10), 1)
    assert lists(paths) == [([0, 1, 3, 2] * 9)[: max_steps + 1]] * 10 and n_capped == 10
    stopping = events.copy()
    stopping[2] = 0
    stopping[2, STOP] = 1
    assert replace(walker, events=stopping).walk(range(10), 1)[1] == (10 if max_steps < 3 else 0)


def level(stop: float = 0.2) -> TreeWalker:
    """Lay out cells in which every move is as likely, and the stop has the same chance everywhere."""
    systems = Systems(BOX, (9,))
    legal = systems.legal[:, :STOP]
    events = np.zeros((81, systems.n_events), np.int64)
    moving = round(1050 * (1 - stop))
    events[:, :STOP] = legal * (moving // legal.sum(axis=1, keepdims=True))
    events[:, STOP] = 1050 - events.sum(axis=1)
    starts = np.zeros(81, np.int64)
    starts[40] = 1
    return TreeWalker(systems, every_context(systems, 1), starts, starts, events, 5, 0.0, 1000)


def cosines(walker: TreeWalker) -> float:
    """Tell how straight on walks go: the mean cosine between a move and the next."""
    turns = []
    for path in lists(walker.walk(range(4000), 3)[0]):
        places = np.array([divmod(cell, 9) for cell in path], float)
        moves = np.diff(places, axis=0)
        moves /= np.hypot(*moves.T)[:, None]
        turns += [float(a @ b) for a, b in pairwise(moves)]
    return float(np.mean(turns))


def test_a_stronger_heading_goes_straighter() -> None:
    straight = [cosines(replace(level(), heading_strength=strength)) for strength in (0.0, 0.5, 1.0, 3.0, 10.0)]
    assert all(b > a + 0.05 for a, b in pairwise(straight)) and straight[0] < 0


def test_no_heading_is_any_heading() -> None:
    descents = [replace(level(), heading_moves=n) for n in (1, 5, 1000)]
    one, *others = (lists(walker.walk(range(500), 3)[0]) for walker in descents)
    assert all(other == one for other in others)


@pytest.mark.parametrize("strength", [0.0, 1.0, 10.0])
def test_the_heading_does_not_change_when_walks_stop(strength: float) -> None:
    walker = replace(level(), heading_strength=strength)
    assert {*(walker.events[:, STOP] / walker.events.sum(axis=1)).tolist()} == {0.2}
    lengths = Counter(len(path) for path in lists(walker.walk(range(20_000), 5)[0]))
    shares = np.array([0.2 * 0.8**n for n in range(30)])
    counts = [lengths[n + 1] for n in range(30)]
    expected = np.append(shares, 1 - shares.sum()) * 20_000
    assert stats.chisquare([*counts, 20_000 - sum(counts)], expected).pvalue > 1e-4


def test_who_comes_back_has_no_heading() -> None:
    """Three cells of 0.1 to and fro cancel out, though 0.1 + 0.1 + 0.1 - 0.1 - 0.1 - 0.1 is not zero."""
    systems = Systems(pt.Region.box(0, 0, 0.4, 0.4, crs="planar"), (4,))
    events = np.zeros((16, systems.n_events), np.int64)
    events[[1, 2, 3, 6, 5, 4], [E, E, NW, W, SW, STOP]] = 1
    events[0, [E, N]] = 1
    starts = (np.arange(16) == 0).astype(np.int64)
    walker = TreeWalker(systems, every_context(systems, 1), starts, starts, events, 6, 10.0, 100)
    rounds = Counter(min(path.count(1), 2) for path in lists(walker.walk(range(4000), 1)[0]))
    assert stats.chisquare([rounds[0], rounds[1], rounds[2]], [2000, 1000, 1000]).pvalue > 1e-4


def test_headings_are_those_of_meters() -> None:
    """In cells four times as wide as high, a move to the north-east is nearly one to the east."""
    events = np.zeros((20, 11), np.int64)
    events[:16, [E, N, NE]] = 1
    systems = SYSTEMS["long"]
    events[~systems.legal] = 0
    starts = (np.arange(20) == 0).astype(np.int64)
    walker = TreeWalker(systems, every_context(systems, 1), starts, starts, events, 1, 3.0, 2)
    paths = lists(walker.walk(range(30_000), 1)[0])
    after_east = Counter(path[2] for path in paths if path[1] == 1)
    chances = np.exp(3 * np.array([1, 4 / math.hypot(4, 1), 0]))
    counts = [after_east[2], after_east[6], after_east[5]]
    assert sum(counts) == after_east.total() > 9000
    assert stats.chisquare(counts, chances / chances.sum() * sum(counts)).pvalue > 1e-4


def test_a_path_depends_on_its_number_alone() -> None:
    walker = some_walker("box", 3, heading_strength=1.0, max_steps=100)
    whole, n_capped = walker.walk(range(1000), 9)
    parts = [walker.walk(numbers, 9) for numbers in (range(7), range(7, 7), range(7, 640), range(640, 1000))]
    assert np.array_equal(np.concatenate([paths.cells for paths, _ in parts]), whole.cells)
    assert sum(capped for _, capped in parts) == n_capped
    assert not np.array_equal(walker.walk(range(1000), 8)[0].cells[:500], whole.cells[:500])
