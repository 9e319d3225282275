"""Walks between zones: they arrive, and each is as likely as its steps say, given that it arrives."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats
from tests import polygons
from tests.methods.bridgetrace.test_polyline import placing

import privtrace as pt
from privtrace.backends.local import Threads
from privtrace.methods.bridgetrace.hitting import hitting_probabilities
from privtrace.methods.bridgetrace.initial import normalized
from privtrace.methods.bridgetrace.polyline import MANY_POINTS, place_on_lines
from privtrace.methods.bridgetrace.sampler import FEW_CELLS, MOST_CELLS, MOST_TRIES, Sampler
from privtrace.methods.bridgetrace.states import N_CLASSES, StateSpace
from privtrace.methods.bridgetrace.tuning import LOSSES
from privtrace.methods.bridgetrace.zones import zones
from privtrace.space.adjacency import link_between
from privtrace.space.grid import Grid
from privtrace.space.shapes import N_BINS, shape_bin, shape_edges, shape_of
from privtrace.timing.bins import N_POINTS
from privtrace.trajectories import Floats, Integers

PLANAR = pt.Region.box(0, 0, 10, 10, crs="planar")


def chances_of(space: StateSpace, ending: float, seed: int = 1) -> Floats:
    weights = np.random.default_rng(seed).uniform(0.2, 1.0, space.steps.n_entries)
    return normalized(np.where(space.entries.is_end, ending * weights, weights), space)


def sampler_of(
    space: StateSpace,
    trips: Integers,
    *,
    level: int | None = None,
    ending: float = 0.5,
    starts: Integers | None = None,
    kept: Floats | None = None,
    share: float | None = 0.02,
) -> Sampler:
    """Make walks that go by random chances, all at one level or at any; `share` is of test_polyline."""
    chances = chances_of(space, ending)
    levels = np.ones((N_CLASSES, len(LOSSES)), np.int64)
    if level is not None:
        levels *= np.arange(len(LOSSES)) == level
    return Sampler(
        space,
        trips,
        np.ones(space.grid.n_cells, np.int64) if starts is None else starts,
        chances,
        hitting_probabilities(space, chances, Threads(1)),
        levels,
        np.ones((N_BINS, N_BINS)) if kept is None else kept,
        placing(space.grid, share),
    )


def one_trip(n_zones: int, origin: int, goal: int) -> Integers:
    trips = np.zeros((n_zones, n_zones), np.int64)
    trips[origin, goal] = 7
    return trips


def paths_of(sampler: Sampler, n: int, seed: int = 3) -> list[tuple[int, ...]]:
    paths, _ = sampler.candidates(range(n), seed)
    return [tuple(part.tolist()) for part in np.split(paths.cells, paths.offsets[1:-1])]


SPACES = {
    "uniform": StateSpace(Grid.uniform(PLANAR, 6), zones(Grid.uniform(PLANAR, 6), np.ones((6, 6)), 7)),
    "uneven": StateSpace(
        grid := Grid(PLANAR, np.array([[1, 3], [4, 2]], np.int32)), zones(grid, np.ones((2, 2)), 6)
    ),
    "frame": StateSpace(grid := Grid.uniform(polygons.region("frame"), 8), zones(grid, np.ones((8, 8)), 5)),
    "one cell": StateSpace(Grid.uniform(PLANAR, 1), np.zeros(1, np.int64)),
}


@pytest.mark.parametrize("name", SPACES)
def test_walks_lead_over_links_from_origin_to_goal(name: str) -> None:
    space = SPACES[name]
    links = space.steps.links
    linked = set(zip(links.sources.tolist(), links.targets.tolist(), strict=True))
    for origin in range(space.n_zones):
        for goal in range(space.n_zones):
            for path in paths_of(sampler_of(space, one_trip(space.n_zones, origin, goal)), 40):
                assert space.zone_of[path[0]] == origin and space.zone_of[path[-1]] == goal
                assert set(pairwise(path)) <= linked


Law = dict[tuple[int, ...], float]


def law_of(sampler: Sampler, kept: Floats, start: int, goal: int, most: int) -> Law:
    """Give the chance of every walk from a cell to a zone with up to so many cells, given that it arrives.

    It is in proportion to the chances of its steps times discounts. What all walks have together, however long,
    is summed up link by link.
    """
    space, chances = sampler.space, sampler.chances
    steps, links = space.steps, space.steps.links
    law: Law = {}
    waiting = [((start,), steps.n_links + start, 1.0)]
    while waiting:
        path, row, weight = waiting.pop()
        now, first, last = path[-1], steps.offsets[row], steps.offsets[row + 1] - 1
        if space.zone_of[now] == goal:
            law[path] = weight * chances[last]
        for link in range(links.offsets[now], links.offsets[now + 1] if len(path) < most else 0):
            onward = weight * chances[first + link - links.offsets[now]] * kept[link]
            waiting.append(((*path, int(links.targets[link])), link, onward))
    entries, total = space.entries, 0.0
    ending = chances * (entries.is_end & (space.zone_of[entries.cells] == goal))
    at = (np.arange(len(steps.cells)) == steps.n_links + start).astype(float)
    while at.sum() > 1e-15:
        total += float(at[entries.rows] @ ending)
        moving = np.where(entries.is_end, 0.0, at[entries.rows] * chances * kept[entries.links])
        at = np.bincount(entries.links, moving, len(at))
    return {path: weight / total for path, weight in law.items()}


ELL = [[0, 0], [3, 0], [3, 2], [1, 2], [1, 3], [0, 3], [0, 0]]

TINY = {
    "four cells": StateSpace(Grid.uniform(PLANAR, 2), np.array([0, 1, 2, 1])),
    "one beside four": StateSpace(
        Grid(PLANAR, np.array([[1, 2], [1, 1]], np.int32)), np.array([0, 1, 1, 2, 1, 0, 1])
    ),
    "an ell": StateSpace(
        Grid.uniform(pt.Region.polygon([ELL], crs="planar"), 3), np.array([0, 0, 1, 0, 1, 1, 2])
    ),
    "six ways from the first": StateSpace(
        Grid(PLANAR, np.array([[1, 3], [3, 1]], np.int32)), np.minimum(np.arange(20), 2)
    ),
}


@pytest.mark.parametrize("level", [0, 2, len(LOSSES) - 1])
@pytest.mark.parametrize("name", TINY)
def test_walks_are_as_likely_as_their_steps_given_that_they_arrive(name: str, level: int) -> None:
    space, n = TINY[name], 20_000
    most = 9 if space.grid.n_cells < 9 else 6
    starts = np.where((space.zone_of == 0) & (np.arange(space.grid.n_cells) > 0), 0, 1)
    for goal in range(3):
        sampler = sampler_of(space, one_trip(3, 0, goal), level=level, ending=1.0, starts=starts)
        law = law_of(sampler, space.discounts[level], 0, goal, most)
        seen = Counter(paths_of(sampler, n))
        assert {path for path in seen if len(path) <= most} <= law.keys()
        likely = [path for path, chance in law.items() if chance * n > 8]
        chances = np.array([law[path] for path in likely])
        counts = np.array([seen[path] for path in likely], float)
        assert counts.sum() > 0.1 * n
        if (rest := 1 - chances.sum()) * n > 5:
            chances, counts = np.append(chances, rest), np.append(counts, n - counts.sum())
        else:  # too rare to be judged
            assert n - counts.sum() < 30
            chances /= chances.sum()
        if len(chances) > 1:
            assert stats.chisquare(counts, chances * counts.sum()).pvalue > 1e-4


def test_trips_starts_and_levels_are_drawn_by_their_weights() -> None:
    space = SPACES["uneven"]
    rng = np.random.default_rng(4)
    trips, n = rng.integers(0, 20, (space.n_zones, space.n_zones)), 20_000
    starts = rng.integers(1, 9, space.grid.n_cells)
    sampler = sampler_of(space, trips, starts=starts)
    paths, drawn = sampler.candidates(range(n), 5)
    first, last = paths.cells[paths.offsets[:-1]], paths.cells[paths.offsets[1:] - 1]
    went = space.zone_of[first] * space.n_zones + space.zone_of[last]
    counts, expected = np.bincount(went, minlength=trips.size), trips.ravel() / trips.sum() * n
    assert not counts[expected == 0].any()
    assert stats.chisquare(counts[expected > 0], expected[expected > 0]).pvalue > 1e-4
    assert np.array_equal(drawn.classes, space.classes[space.zone_of[first], space.zone_of[last]])
    assert stats.chisquare(np.bincount(drawn.levels, minlength=len(LOSSES))).pvalue > 1e-4
    by_zone = defaultdict(list)
    for cell in first.tolist():
        by_zone[int(space.zone_of[cell])].append(cell)
    for zone, cells in by_zone.items():
        within = np.flatnonzero(space.zone_of == zone)
        counts = np.array([cells.count(cell) for cell in within])
        if len(within) > 1:
            assert stats.chisquare(counts, starts[within] / starts[within].sum() * len(cells)).pvalue > 1e-4


def test_weaker_discounts_make_longer_walks() -> None:
    space = SPACES["uniform"]
    trips = np.ones((space.n_zones, space.n_zones), np.int64)
    means = [
        np.mean([len(path) for path in paths_of(sampler_of(space, trips, level=level, ending=0.1), 3000)])
        for level in range(len(LOSSES))
    ]
    assert np.all(np.diff(means) > 0) and means[-1] > 1.5 * means[0]


@pytest.mark.parametrize("share", [0.02, None])
def test_walks_of_many_cells_find_memory(share: float | None) -> None:
    """There is memory for few cells at first; a longer walk is drawn again, the same, where there is more."""
    space = SPACES["uniform"]
    trips = np.ones((space.n_zones, space.n_zones), np.int64)
    sampler = sampler_of(space, trips, level=len(LOSSES) - 1, ending=0.002, share=share)
    walked = sampler.walk(range(400), 4)
    sizes, lasts = np.diff(walked.offsets), walked.offsets[1:] - 1
    assert sizes.min() < FEW_CELLS and np.count_nonzero(sizes > FEW_CELLS) > 20 and sizes.max() > 2 * FEW_CELLS
    steps = zip(np.delete(walked.cells, lasts), np.delete(walked.cells, walked.offsets[:-1]), strict=True)
    assert all(link_between(int(one), int(other), space.steps.links) >= 0 for one, other in steps)
    assert np.bincount(sizes)[[FEW_CELLS, 2 * FEW_CELLS]].max() < 10  # they do not end where memory does
    for t in np.flatnonzero(sizes > FEW_CELLS)[:20].tolist():  # alone, and behind others that had found it
        own = walked.cells[walked.offsets[t] : walked.offsets[t + 1]]
        assert np.array_equal(sampler.walk(range(t, t + 1), 4).cells, own)
    placed, made = sampler.sample(range(400), 4), place_on_lines(walked, space.geometry, sampler.placing, 0, 4)
    assert np.array_equal(placed.points, made.points) and np.array_equal(placed.seconds, made.seconds)


def test_where_no_way_leads_a_walk_stays_in_its_cell() -> None:
    grid = Grid.uniform(polygons.region("two banks"), 6)
    space = StateSpace(grid, (grid.boxes[:, 1] > 4.95).astype(np.int64))
    assert not space.joined[0, 1]
    sampler = sampler_of(space, one_trip(2, 0, 1))
    paths = paths_of(sampler, 200)
    assert {len(path) for path in paths} == {1} and {int(space.zone_of[path[0]]) for path in paths} == {0}
    kept = sampler.walk(range(200), 3)
    assert np.diff(kept.offsets).tolist() == [1] * 200 and set(space.zone_of[kept.cells].tolist()) == {0}


@pytest.mark.parametrize("name", SPACES)
def test_chances_next_to_nothing_lead_over_links_too(name: str) -> None:
    """The smallest numbers that there are cannot be multiplied by a share: all of them is as likely as some."""
    space = SPACES[name]
    links = space.steps.links
    linked = set(zip(links.sources.tolist(), links.targets.tolist(), strict=True))
    sampler = sampler_of(space, one_trip(space.n_zones, 0, space.n_zones - 1))
    for least in (5e-324, 2e-323):
        # Nothing but one link leads on from a cell, and that only just.
        onto = np.zeros(space.steps.n_links)
        onto[links.offsets[:-1][np.diff(links.offsets) > 0]] = least
        tiny = replace(sampler, hitting=np.broadcast_to(onto, sampler.hitting.shape).copy())
        paths, _ = tiny.candidates(range(50), 3)
        assert len(paths.cells) < 50 * MOST_CELLS
        for path in np.split(paths.cells, paths.offsets[1:-1]):
            assert set(pairwise(path.tolist())) <= linked


def test_cells_without_links_are_walked_on_too() -> None:
    space = StateSpace(Grid.uniform(polygons.region("two squares at a corner"), 2), np.array([0, 1]))
    sampler = sampler_of(space, np.ones((2, 2), np.int64))
    assert {len(path) for path in paths_of(sampler, 50)} == {1}


@pytest.mark.parametrize("share", [0.02, None])
def test_a_walk_depends_on_the_seed_and_its_number_alone(share: float | None) -> None:
    space = SPACES["uneven"]
    trips = np.ones((space.n_zones, space.n_zones), np.int64)
    sampler = sampler_of(space, trips, kept=np.full((N_BINS, N_BINS), 0.4), share=share)
    for walk in (sampler.walk, lambda numbers, seed: sampler.candidates(numbers, seed)[0]):
        whole = walk(range(500), 9)
        for numbers in (range(0, 1), range(7, 300), range(499, 500)):
            part = walk(numbers, 9)
            cells = whole.cells[whole.offsets[numbers.start] : whole.offsets[numbers.stop]]
            assert np.array_equal(part.cells, cells)
        assert not np.array_equal(walk(range(500), 10).offsets, whole.offsets)
    assert len(sampler.walk(range(0), 9).cells) == 0
    whole = sampler.sample(range(500), 9)
    made = place_on_lines(sampler.walk(range(500), 9), space.geometry, sampler.placing, 0, 9)
    assert np.array_equal(whole.points, made.points) and np.array_equal(whole.offsets, made.offsets)
    for numbers in (range(0, 1), range(7, 300), range(499, 500)):
        part = sampler.sample(numbers, 9)
        points = whole.points[whole.offsets[numbers.start] : whole.offsets[numbers.stop]]
        assert np.array_equal(part.points, points)
    assert sampler.sample(range(0), 9).offsets.tolist() == [0]


@pytest.mark.parametrize("share", [0.02, None])
def test_walks_that_are_all_kept_are_the_first_drawn(share: float | None) -> None:
    space = SPACES["uneven"]
    sampler = sampler_of(space, np.ones((space.n_zones, space.n_zones), np.int64), share=share)
    walked, drawn = sampler.walk(range(300), 2), sampler.candidates(range(300), 2)[0]
    assert np.array_equal(walked.cells, drawn.cells) and np.array_equal(walked.offsets, drawn.offsets)


@pytest.mark.parametrize("share", [0.02, None])
def test_shapes_that_are_kept_come_oftener(share: float | None) -> None:
    """Keep short walks for certain and long ones seldom; the lines' lengths follow."""
    space = SPACES["uniform"]
    trips = np.ones((space.n_zones, space.n_zones), np.int64)
    usual = sampler_of(space, trips, ending=0.2, share=share)
    _, drawn = usual.candidates(range(4000), 1)
    middle = int(np.median(drawn.lengths))
    kept = np.tile(np.where(np.arange(N_BINS) <= middle, 1.0, 0.1), (N_BINS, 1))
    sizes = [
        np.diff(sampler_of(space, trips, ending=0.2, kept=some, share=share).walk(range(4000), 1).offsets)
        for some in (usual.kept, kept)
    ]
    assert sizes[1].mean() < 0.9 * sizes[0].mean()
    never = sampler_of(space, trips, ending=0.2, kept=np.zeros((N_BINS, N_BINS)), share=share)
    ends = never.walk(range(200), 1)
    assert np.diff(ends.offsets).min() >= 1  # the last of several is kept, whatever its shape


def test_walks_are_kept_by_the_shape_of_their_points() -> None:
    """Few points cut corners, so that the line through them is shorter than the one that they were set on."""
    space = SPACES["uniform"]
    sampler = sampler_of(space, np.ones((space.n_zones,) * 2, np.int64), share=None)
    three = np.tile(np.arange(N_POINTS) >= 2, (N_BINS, 1)).astype(np.int64)
    draws = sampler.placing.draws._replace(points=three)
    sampler = replace(sampler, placing=sampler.placing._replace(draws=draws))
    paths, drawn = sampler._drawn(range(900), 3, MOST_TRIES)
    made = sampler.sample(range(900), 3)
    edges, shorter = shape_edges(space.grid.region), 0
    for t, (first, last) in enumerate(pairwise(made.offsets.tolist())):
        if last - first > MANY_POINTS * np.diff(paths.offsets)[t]:  # these are kept by the line itself
            continue
        diameter, length = shape_of(made.points[first:last], last - first, space.grid.region.scale_m)
        assert (drawn.diameters[t], drawn.lengths[t]) == (shape_bin(diameter, edges), shape_bin(length, edges))
        shorter += last - first < 4
    assert shorter > 5
