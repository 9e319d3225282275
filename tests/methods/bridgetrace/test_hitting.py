"""Hitting probabilities: against a linear solve of all links at once."""

from __future__ import annotations

import numpy as np
import pytest
from tests import polygons

import privtrace as pt
from privtrace.backends.local import Threads
from privtrace.methods.bridgetrace import hitting
from privtrace.methods.bridgetrace.hitting import hitting_probabilities
from privtrace.methods.bridgetrace.initial import normalized
from privtrace.methods.bridgetrace.states import StateSpace, discounts
from privtrace.methods.bridgetrace.tuning import LOSSES
from privtrace.methods.bridgetrace.zones import zones
from privtrace.space.grid import Grid
from privtrace.trajectories import Floats

PLANAR = pt.Region.box(0, 0, 10, 10, crs="planar")

GRIDS = {
    "uniform": Grid.uniform(PLANAR, 5),
    "uneven": Grid(PLANAR, np.array([[1, 3], [4, 2]], np.int32)),
    "frame": Grid.uniform(polygons.region("frame"), 6),
    "two banks": Grid.uniform(polygons.region("two banks"), 6),
}


def space_of(name: str, n_zones: int = 5) -> StateSpace:
    grid = GRIDS[name]
    return StateSpace(grid, zones(grid, np.ones(grid.divisions.shape), n_zones))


def chances_of(space: StateSpace, seed: int = 1) -> Floats:
    weights = np.random.default_rng(seed).exponential(1.0, space.steps.n_entries)
    return normalized(np.where(space.entries.is_end, 0.3 * weights, weights), space)


def hitting_of(space: StateSpace, chances: Floats, n_threads: int = 1) -> Floats:
    return hitting_probabilities(space, chances, Threads(n_threads))


def solved(space: StateSpace, chances: Floats) -> Floats:
    """Solve h = discount * (end in the zone + P h) densely, level by level."""
    entries, n_links = space.entries, space.steps.n_links
    moves = np.flatnonzero((entries.rows < n_links) & ~entries.is_end)
    ends = np.flatnonzero((entries.rows < n_links) & entries.is_end)
    onward = np.zeros((n_links, n_links))
    onward[entries.rows[moves], entries.links[moves]] = chances[moves]
    end = np.zeros((n_links, space.n_zones))
    end[entries.rows[ends], space.zone_of[entries.cells[ends]]] = chances[ends]
    levels = [
        np.linalg.solve(np.eye(n_links) - kept[:, np.newaxis] * onward, kept[:, np.newaxis] * end)
        for kept in space.discounts
    ]
    return np.array(levels).transpose(2, 0, 1)


@pytest.mark.parametrize("name", GRIDS)
def test_probabilities_solve_the_equations_of_every_level_and_zone(name: str) -> None:
    space = space_of(name)
    chances = chances_of(space)
    found, exact = hitting_of(space, chances), solved(space, chances)
    assert found.shape == (space.n_zones, len(LOSSES), space.steps.n_links) == exact.shape
    assert np.allclose(found, exact, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("n_threads", [2, 5])
def test_neither_threads_nor_their_number_change_a_bit(n_threads: int) -> None:
    space = space_of("uniform", 25)
    chances = chances_of(space)
    assert np.array_equal(hitting_of(space, chances), hitting_of(space, chances, n_threads))


@pytest.mark.parametrize("n_together", [1, 3, 100])
def test_zones_do_not_depend_on_those_solved_with_them(
    n_together: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = space_of("uneven", 20)
    chances = chances_of(space)
    usual = hitting_of(space, chances)
    monkeypatch.setattr(hitting, "_TOGETHER", n_together)
    assert np.allclose(hitting_of(space, chances), usual, rtol=1e-9, atol=1e-300)


def test_nobody_arrives_where_no_way_leads() -> None:
    space = space_of("two banks", 2)
    found, links = hitting_of(space, chances_of(space)), space.steps.links
    assert not space.joined[0, 1]
    for zone in range(2):
        there = space.zone_of[links.targets] == zone
        assert np.all(found[zone][:, there] > 0) and not found[zone][:, ~there].any()


def test_without_links_there_is_nothing_to_solve() -> None:
    grid = Grid.uniform(PLANAR, 1)
    space = StateSpace(grid, np.zeros(1, np.int64))
    assert hitting_of(space, np.ones(1)).shape == (1, len(LOSSES), 0)


def test_discounts_are_by_length_and_weaker_level_by_level() -> None:
    lengths = np.array([0.1, 1.0, 2.0, 20.0])
    kept = discounts(lengths)
    assert kept.shape == (len(LOSSES), 4) and np.all((kept > 0) & (kept < 1))
    assert np.allclose(kept, (1 - np.array(LOSSES)[:, np.newaxis]) ** lengths, rtol=0, atol=1e-11)
    assert np.all(np.diff(kept, axis=0) > 0) and np.all(np.diff(kept, axis=1) < 0)
