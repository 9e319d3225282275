"""Walks between zones: they arrive, and each is as likely as its steps say, given that it arrives."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from tests import polygons

import privtrace as pt
from privtrace.backends.local import Threads
from privtrace.methods.bridgetrace import hitting
from privtrace.methods.bridgetrace.hitting import LOSSES, arrivals
from privtrace.methods.bridgetrace.initial import normalized
from privtrace.methods.bridgetrace.sampler import Bridges
from privtrace.methods.bridgetrace.shapes import N_BINS
from privtrace.methods.bridgetrace.states import N_CLASSES, Ground
from privtrace.methods.bridgetrace.zones import zones
from privtrace.space.grid import Grid
from privtrace.trajectories import Floats, Integers

PLANAR = pt.Region.box(0, 0, 10, 10, crs="planar")


def chances_of(ground: Ground, ending: float, seed: int = 1) -> Floats:
    weights = np.random.default_rng(seed).uniform(0.2, 1.0, ground.steps.n_entries)
    return normalized(np.where(ground.entries.is_end, ending * weights, weights), ground)


def bridges_of(
    ground: Ground,
    trips: Integers,
    *,
    level: int | None = None,
    ending: float = 0.5,
    starts: Integers | None = None,
    kept: Floats | None = None,
) -> Bridges:
    """Make walks that go by random chances, all at one level or at any."""
    chances = chances_of(ground, ending)
    levels = np.ones((N_CLASSES, len(LOSSES)), np.int64)
    if level is not None:
        levels *= np.arange(len(LOSSES)) == level
    return Bridges(
        ground,
        trips,
        np.ones(ground.grid.n_cells, np.int64) if starts is None else starts,
        chances,
        arrivals(ground.steps, chances, ground.discounts, ground.zone_of, ground.n_zones, Threads(1)),
        levels,
        np.ones((N_BINS, N_BINS)) if kept is None else kept,
    )


def one_trip(n_zones: int, origin: int, goal: int) -> Integers:
    trips = np.zeros((n_zones, n_zones), np.int64)
    trips[origin, goal] = 7
    return trips


def paths_of(bridges: Bridges, n: int, seed: int = 3) -> list[tuple[int, ...]]:
    paths, _ = bridges.candidates(range(n), seed)
    return [tuple(part.tolist()) for part in np.split(paths.cells, paths.offsets[1:-1])]


GROUNDS = {
    "uniform": Ground(Grid.uniform(PLANAR, 6), zones(Grid.uniform(PLANAR, 6), np.ones((6, 6)), 7)),
    "uneven": Ground(
        grid := Grid(PLANAR, np.array([[1, 3], [4, 2]], np.int32)), zones(grid, np.ones((2, 2)), 6)
    ),
    "frame": Ground(grid := Grid.uniform(polygons.region("frame"), 8), zones(grid, np.ones((8, 8)), 5)),
    "one cell": Ground(Grid.uniform(PLANAR, 1), np.zeros(1, np.int64)),
}


@pytest.mark.parametrize("name", GROUNDS)
def test_walks_lead_over_links_from_origin_to_goal(name: str) -> None:
    ground = GROUNDS[name]
    links = ground.steps.links
    linked = set(zip(links.sources.tolist(), links.targets.tolist(), strict=True))
    for origin in range(ground.n_zones):
        for goal in range(ground.n_zones):
            for path in paths_of(bridges_of(ground, one_trip(ground.n_zones, origin, goal)), 40):
                assert ground.zone_of[path[0]] == origin and ground.zone_of[path[-1]] == goal
                assert set(pairwise(path)) <= linked


Law = dict[tuple[int, ...], float]


def law_of(bridges: Bridges, kept: Floats, start: int, goal: int, most: int) -> Law:
    """Give the chance of every walk from a cell to a zone with up to so many cells, given that it arrives.

    It is in proportion to the chances of its steps times discounts. What all walks have together, however long,
    is summed up link by link.
    """
    ground, chances = bridges.ground, bridges.chances
    steps, links = ground.steps, ground.steps.links
    law: Law = {}
    waiting = [((start,), steps.n_links + start, 1.0)]
    while waiting:
        path, row, weight = waiting.pop()
        now, first, last = path[-1], steps.offsets[row], steps.offsets[row + 1] - 1
        if ground.zone_of[now] == goal:
            law[path] = weight * chances[last]
        for link in range(links.offsets[now], links.offsets[now + 1] if len(path) < most else 0):
            onward = weight * chances[first + link - links.offsets[now]] * kept[link]
            waiting.append(((*path, int(links.targets[link])), link, onward))
    entries, total = ground.entries, 0.0
    ending = chances * (entries.is_end & (ground.zone_of[entries.cells] == goal))
    at = (np.arange(len(steps.cells)) == steps.n_links + start).astype(float)
    while at.sum() > 1e-15:
        total += float(at[entries.rows] @ ending)
        moving = np.where(entries.is_end, 0.0, at[entries.rows] * chances * kept[entries.links])
        at = np.bincount(entries.links, moving, len(at))
    return {path: weight / total for path, weight in law.items()}


ELL = [[0, 0], [3, 0], [3, 2], [1, 2], [1, 3], [0, 3], [0, 0]]

TINY = {
    "four cells": Ground(Grid.uniform(PLANAR, 2), np.array([0, 1, 2, 1])),
    "one beside four": Ground(
        Grid(PLANAR, np.array([[1, 2], [1, 1]], np.int32)), np.array([0, 1, 1, 2, 1, 0, 1])
    ),
    "an ell": Ground(Grid.uniform(pt.Region.polygon([ELL], crs="planar"), 3), np.array([0, 0, 1, 0, 1, 1, 2])),
}


@pytest.mark.parametrize("level", [0, 2, len(LOSSES) - 1])
@pytest.mark.parametrize("name", TINY)
def test_walks_are_as_likely_as_their_steps_given_that_they_arrive(
    name: str, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hitting, "_TOLERANCE", 1e-9)
    ground, n = TINY[name], 20_000
    starts = np.where((ground.zone_of == 0) & (np.arange(ground.grid.n_cells) > 0), 0, 1)
    for goal in range(3):
        bridges = bridges_of(ground, one_trip(3, 0, goal), level=level, ending=1.0, starts=starts)
        law = law_of(bridges, ground.discounts[level], 0, goal, 9)
        seen = Counter(paths_of(bridges, n))
        assert {path for path in seen if len(path) <= 9} <= law.keys()
        likely = [path for path, chance in law.items() if chance * n > 8]
        chances = np.array([law[path] for path in likely])
        counts = np.array([seen[path] for path in likely], float)
        assert counts.sum() > 0.2 * n
        if (rest := 1 - chances.sum()) * n > 5:
            chances, counts = np.append(chances, rest), np.append(counts, n - counts.sum())
        else:  # too rare to be judged
            assert n - counts.sum() < 30
            chances /= chances.sum()
        if len(chances) > 1:
            assert stats.chisquare(counts, chances * counts.sum()).pvalue > 1e-4


def test_trips_starts_and_levels_are_drawn_by_their_weights() -> None:
    ground = GROUNDS["uneven"]
    rng = np.random.default_rng(4)
    trips, n = rng.integers(0, 20, (ground.n_zones, ground.n_zones)), 20_000
    starts = rng.integers(1, 9, ground.grid.n_cells)
    bridges = bridges_of(ground, trips, starts=starts)
    paths, drawn = bridges.candidates(range(n), 5)
    first, last = paths.cells[paths.offsets[:-1]], paths.cells[paths.offsets[1:] - 1]
    went = ground.zone_of[first] * ground.n_zones + ground.zone_of[last]
    counts, expected = np.bincount(went, minlength=trips.size), trips.ravel() / trips.sum() * n
    assert not counts[expected == 0].any()
    assert stats.chisquare(counts[expected > 0], expected[expected > 0]).pvalue > 1e-4
    assert np.array_equal(drawn.classes, ground.classes[ground.zone_of[first], ground.zone_of[last]])
    assert stats.chisquare(np.bincount(drawn.levels, minlength=len(LOSSES))).pvalue > 1e-4
    by_zone = defaultdict(list)
    for cell in first.tolist():
        by_zone[int(ground.zone_of[cell])].append(cell)
    for zone, cells in by_zone.items():
        within = np.flatnonzero(ground.zone_of == zone)
        counts = np.array([cells.count(cell) for cell in within])
        if len(within) > 1:
            assert stats.chisquare(counts, starts[within] / starts[within].sum() * len(cells)).pvalue > 1e-4


def test_weaker_discounts_make_longer_walks() -> None:
    ground = GROUNDS["uniform"]
    trips = np.ones((ground.n_zones, ground.n_zones), np.int64)
    means = [
        np.mean([len(path) for path in paths_of(bridges_of(ground, trips, level=level, ending=0.1), 3000)])
        for level in range(len(LOSSES))
    ]
    assert np.all(np.diff(means) > 0) and means[-1] > 1.5 * means[0]


def test_where_no_way_leads_a_walk_stays_in_its_cell() -> None:
    grid = Grid.uniform(polygons.region("two banks"), 6)
    ground = Ground(grid, (grid.boxes[:, 1] > 4.95).astype(np.int64))
    assert not ground.joined[0, 1]
    bridges = bridges_of(ground, one_trip(2, 0, 1))
    paths = paths_of(bridges, 200)
    assert {len(path) for path in paths} == {1} and {int(ground.zone_of[path[0]]) for path in paths} == {0}
    kept = bridges.walk(range(200), 3)
    assert np.diff(kept.offsets).tolist() == [1] * 200 and set(ground.zone_of[kept.cells].tolist()) == {0}


def test_cells_without_links_are_walked_on_too() -> None:
    ground = Ground(Grid.uniform(polygons.region("two squares at a corner"), 2), np.array([0, 1]))
    bridges = bridges_of(ground, np.ones((2, 2), np.int64))
    assert {len(path) for path in paths_of(bridges, 50)} == {1}


def test_a_walk_depends_on_the_seed_and_its_number_alone() -> None:
    ground = GROUNDS["uneven"]
    trips = np.ones((ground.n_zones, ground.n_zones), np.int64)
    bridges = bridges_of(ground, trips, kept=np.full((N_BINS, N_BINS), 0.4))
    for walk in (bridges.walk, lambda numbers, seed: bridges.candidates(numbers, seed)[0]):
        whole = walk(range(500), 9)
        for numbers in (range(0, 1), range(7, 300), range(499, 500)):
            part = walk(numbers, 9)
            cells = whole.cells[whole.offsets[numbers.start] : whole.offsets[numbers.stop]]
            assert np.array_equal(part.cells, cells)
        assert not np.array_equal(walk(range(500), 10).offsets, whole.offsets)
    assert len(bridges.walk(range(0), 9).cells) == 0


def test_walks_that_are_all_kept_are_the_first_drawn() -> None:
    ground = GROUNDS["uneven"]
    bridges = bridges_of(ground, np.ones((ground.n_zones, ground.n_zones), np.int64))
    walked, drawn = bridges.walk(range(300), 2), bridges.candidates(range(300), 2)[0]
    assert np.array_equal(walked.cells, drawn.cells) and np.array_equal(walked.offsets, drawn.offsets)


def test_shapes_that_are_kept_come_oftener() -> None:
    """Keep short walks for certain and long ones seldom; the lines' lengths follow."""
    ground = GROUNDS["uniform"]
    trips = np.ones((ground.n_zones, ground.n_zones), np.int64)
    usual = bridges_of(ground, trips, ending=0.2)
    _, drawn = usual.candidates(range(4000), 1)
    middle = int(np.median(drawn.lengths))
    kept = np.tile(np.where(np.arange(N_BINS) <= middle, 1.0, 0.1), (N_BINS, 1))
    sizes = [
        np.diff(bridges_of(ground, trips, ending=0.2, kept=some).walk(range(4000), 1).offsets)
        for some in (usual.kept, kept)
    ]
    assert sizes[1].mean() < 0.9 * sizes[0].mean()
    never = bridges_of(ground, trips, ending=0.2, kept=np.zeros((N_BINS, N_BINS)))
    ends = never.walk(range(200), 1)
    assert np.diff(ends.offsets).min() >= 1  # the last of several is kept, whatever its shape
