"""The first parameters: where people are, how often they turn, and between which zones they travel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from tests import polygons
from tests.methods.bridgetrace.test_counts import step_counts, trip_counts

import privtrace as pt
from privtrace.methods.bridgetrace.initial import POSSIBLE, WalkParameters, clean_shapes, initialize, normalized
from privtrace.methods.bridgetrace.states import StateSpace
from privtrace.methods.bridgetrace.tuning import Tuning
from privtrace.methods.bridgetrace.zones import zones
from privtrace.privacy.unit import WEIGHT
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.space.shapes import N_BINS
from privtrace.space.traverse import trace
from privtrace.trajectories import Floats

PLANAR = pt.Region.box(0, 0, 10, 10, crs="planar")
TUNING = Tuning()

GRIDS = {
    "uniform": Grid.uniform(PLANAR, 6),
    "uneven": Grid(PLANAR, np.random.default_rng(1).integers(1, 4, (4, 4)).astype(np.int32)),
    "town": Grid(pt.Region.box(-8.70, 41.10, -8.54, 41.22, crs="lonlat"), np.array([[1, 3], [4, 2]], np.int32)),
    "two banks": Grid.uniform(polygons.region("two banks"), 6),
    "mixed 0": Grid.uniform(polygons.region("mixed 0"), 6),
    "no links": Grid.uniform(polygons.region("two squares at a corner"), 2),
    "one cell": Grid.uniform(PLANAR, 1),
}


@cache
def space_of(name: str) -> StateSpace:
    grid = GRIDS[name]
    return StateSpace(grid, zones(grid, np.ones(grid.divisions.shape), 5))


@pytest.fixture(params=GRIDS)
def space(request: pytest.FixtureRequest) -> StateSpace:
    return space_of(request.param)


def density_of(space: StateSpace, seed: int = 2) -> Floats:
    density = np.random.default_rng(seed).exponential(100.0, space.grid.divisions.size)
    density[np.setdiff1d(np.arange(len(density)), space.coarse_of)] = 0
    return density


def measurements(space: StateSpace) -> Iterator[tuple[Floats, Floats, float]]:
    """Give moves and trips that are noisy, nothing but noise, empty, or all negative."""
    rng = np.random.default_rng(3)
    n_entries, pairs = space.steps.n_entries, (space.n_zones, space.n_zones)
    yield rng.exponential(5.0, n_entries) + rng.laplace(0, 1, n_entries), rng.exponential(50.0, pairs), 1.0
    yield rng.laplace(0, 1e6, n_entries), rng.laplace(0, 1e6, pairs), 1.4e6
    yield np.zeros(n_entries), np.zeros(pairs), 1.0
    yield np.full(n_entries, -5.0), np.full(pairs, -5.0), 1.0


def test_whatever_is_measured_walks_can_go_by_the_parameters(space: StateSpace) -> None:
    for density in (density_of(space), density_of(space) * 1e-6):
        for moves, trips, error in measurements(space):
            parameters = initialize(space, density, moves, trips, error, TUNING)
            for values in (parameters.trips, parameters.starts, parameters.chances):
                assert np.isfinite(values).all() and values.min() >= 0
            assert parameters.trips.shape == trips.shape and parameters.trips.sum() == pytest.approx(
                max(trips.sum(), 1.0)
            )
            assert np.array_equal(parameters.trips > 0, space.joined)
            assert parameters.starts.shape == (space.grid.n_cells,) and parameters.starts.min() > 0
            check_chances(space, parameters.chances)


def check_chances(space: StateSpace, chances: Floats) -> None:
    entries = space.entries
    assert chances.shape == (space.steps.n_entries,) and chances.min() > 0
    moves = np.bincount(entries.rows, np.where(entries.is_end, 0, chances))
    has_moves = np.bincount(entries.rows, ~entries.is_end) > 0
    assert np.allclose(moves[has_moves], 1)
    assert np.array_equal(chances[~has_moves[entries.rows]], np.ones(np.sum(~has_moves)))


def test_rows_are_divided_by_the_sum_of_their_moves(space: StateSpace) -> None:
    weights = np.random.default_rng(4).exponential(3.0, space.steps.n_entries)
    chances = normalized(weights, space)
    check_chances(space, chances)
    offsets = space.steps.offsets
    for row in range(len(space.steps.cells)):
        entries = slice(offsets[row], offsets[row + 1])
        if offsets[row + 1] - offsets[row] > 1:
            assert np.allclose(chances[entries] * weights[entries][:-1].sum(), weights[entries])


def test_starts_follow_density_and_area() -> None:
    space = space_of("uneven")
    density = density_of(space)
    moves, trips, error = next(measurements(space))
    starts = initialize(space, density, moves, trips, error, TUNING).starts
    assert np.allclose(np.bincount(space.coarse_of, starts), np.maximum(density, 0.05), rtol=0.1)
    for coarse in range(16):  # cells of a coarse cell are as large
        within = starts[space.coarse_of == coarse]
        assert np.allclose(within, within[0])


def measured_straight(space: StateSpace, seed: int = 5) -> tuple[Floats, Floats]:
    """Measure straight trips without noise: their steps and trips."""
    rng = np.random.default_rng(seed)
    ends = rng.uniform(0, 10, (2000, 2, 2))
    paths = trace(
        clip(pt.Trajectories(ends.reshape(-1, 2), np.arange(2001) * 2, crs="planar"), space.grid.region),
        space.grid,
    )
    zone_of = space.zone_of
    return step_counts(paths, space.steps) / WEIGHT, trip_counts(paths, zone_of, space.n_zones) / WEIGHT


def initialized_straight(space: StateSpace) -> tuple[WalkParameters, Floats, Floats]:
    moves, trips = measured_straight(space)
    return initialize(space, np.full(space.grid.divisions.size, 50.0), moves, trips, 0.5, TUNING), moves, trips


def test_steps_are_of_the_kinds_that_were_measured() -> None:
    """Straight trips never turn back, and seldom end; neither do walks by these parameters."""
    space = space_of("uniform")
    parameters, moves, _ = initialized_straight(space)
    entries, links = space.entries, space.steps.links
    taken = (entries.rows < space.steps.n_links) & ~entries.is_end
    before = np.minimum(entries.rows, space.steps.n_links - 1)
    back = taken & (entries.links == links.back[before])
    assert moves[back].sum() == 0
    assert parameters.chances[back].sum() < 0.1 * parameters.chances[taken].sum()
    ends = entries.is_end & (entries.rows < space.steps.n_links)
    assert parameters.chances[ends].mean() == pytest.approx(moves[ends].sum() / moves[taken].sum(), rel=0.5)


def test_trips_without_much_noise_are_those_measured() -> None:
    space = space_of("uniform")
    parameters, _, trips = initialized_straight(space)
    assert np.abs(parameters.trips - trips).sum() < 0.15 * trips.sum()


def test_trips_under_noise_are_nearer_than_the_noisy_ones() -> None:
    space = space_of("uniform")
    moves, trips = measured_straight(space)
    error = 150.0
    noisy = trips + np.random.default_rng(6).laplace(0, error / np.sqrt(2), trips.shape)
    parameters = initialize(space, np.full(space.grid.divisions.size, 50.0), moves, noisy, error, TUNING)
    assert np.abs(parameters.trips - trips).sum() < 0.7 * np.abs(noisy - trips).sum()


def test_trips_that_are_all_noise_keep_the_distances_that_were_measured() -> None:
    """No pair of zones stands out of the noise, but all pairs of a class together do: nobody leaves a zone."""
    grid = Grid.uniform(PLANAR, 16)
    space = StateSpace(grid, zones(grid, np.ones(grid.divisions.shape), 64))
    moves, _ = measured_straight(space)
    trips, error = 400.0 * np.eye(64), 300.0
    noisy = trips + np.random.default_rng(6).laplace(0, error / np.sqrt(2), trips.shape)
    parameters = initialize(space, np.full(grid.divisions.size, 50.0), moves, noisy, error, TUNING)
    assert np.trace(parameters.trips) > 0.7 * parameters.trips.sum()


def test_shapes_are_clean() -> None:
    rng = np.random.default_rng(7)
    truth = np.where(POSSIBLE, rng.exponential(100.0, (N_BINS, N_BINS)), 0.0)
    for noisy, error in (
        (truth + rng.laplace(0, 5, truth.shape), 7.0),
        (rng.laplace(0, 1e6, truth.shape), 1.4e6),
        (np.zeros(truth.shape), 1.0),
        (np.full(truth.shape, -9.0), 1.0),
    ):
        clean = clean_shapes(noisy, error, TUNING)
        assert clean.sum() == pytest.approx(1) and clean.min() >= 0 and np.isfinite(clean).all()
        assert not clean[~POSSIBLE].any()
    near = clean_shapes(truth, 0.1, TUNING)
    assert np.abs(near - truth / truth.sum()).sum() < 0.15


def test_lines_are_no_shorter_than_they_are_wide() -> None:
    assert all(
        POSSIBLE[diameter, length] == (length >= diameter) for diameter, length in np.ndindex(N_BINS, N_BINS)
    )
