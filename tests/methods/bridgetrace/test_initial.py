"""The first guess: where people are, how often they turn, and between which zones they travel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pytest
from tests import polygons
from tests.methods.bridgetrace.test_counts import step_counts, trip_counts

import privtrace as pt
from privtrace.methods.bridgetrace.initial import POSSIBLE, Guess, clean_shapes, first_guess, normalized
from privtrace.methods.bridgetrace.shapes import N_BINS
from privtrace.methods.bridgetrace.states import Ground
from privtrace.methods.bridgetrace.zones import zones
from privtrace.privacy.unit import WEIGHT
from privtrace.space.grid import Grid
from privtrace.space.traverse import trace
from privtrace.trajectories import Floats

PLANAR = pt.Region.box(0, 0, 10, 10, crs="planar")

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
def ground_of(name: str) -> Ground:
    grid = GRIDS[name]
    return Ground(grid, zones(grid, np.ones(grid.divisions.shape), 5))


@pytest.fixture(params=GRIDS)
def ground(request: pytest.FixtureRequest) -> Ground:
    return ground_of(request.param)


def density_of(ground: Ground, seed: int = 2) -> Floats:
    density = np.random.default_rng(seed).exponential(100.0, ground.grid.divisions.size)
    density[np.setdiff1d(np.arange(len(density)), ground.coarse_of)] = 0
    return density


def measurements(ground: Ground) -> Iterator[tuple[Floats, Floats, float]]:
    """Give moves and trips that are noisy, nothing but noise, empty, or all negative."""
    rng = np.random.default_rng(3)
    n_entries, pairs = ground.steps.n_entries, (ground.n_zones, ground.n_zones)
    yield rng.exponential(5.0, n_entries) + rng.laplace(0, 1, n_entries), rng.exponential(50.0, pairs), 1.0
    yield rng.laplace(0, 1e6, n_entries), rng.laplace(0, 1e6, pairs), 1.4e6
    yield np.zeros(n_entries), np.zeros(pairs), 1.0
    yield np.full(n_entries, -5.0), np.full(pairs, -5.0), 1.0


def test_whatever_is_measured_walks_can_go_by_the_guess(ground: Ground) -> None:
    for density in (density_of(ground), density_of(ground) * 1e-6):
        for moves, trips, error in measurements(ground):
            guess = first_guess(ground, density, moves, trips, error)
            for values in (guess.trips, guess.starts, guess.chances):
                assert np.isfinite(values).all() and values.min() >= 0
            assert guess.trips.shape == trips.shape and guess.trips.sum() == pytest.approx(
                max(trips.sum(), 1.0)
            )
            assert np.array_equal(guess.trips > 0, ground.joined)
            assert guess.starts.shape == (ground.grid.n_cells,) and guess.starts.min() > 0
            check_chances(ground, guess.chances)


def check_chances(ground: Ground, chances: Floats) -> None:
    entries = ground.entries
    assert chances.shape == (ground.steps.n_entries,) and chances.min() > 0
    moves = np.bincount(entries.rows, np.where(entries.is_end, 0, chances))
    has_moves = np.bincount(entries.rows, ~entries.is_end) > 0
    assert np.allclose(moves[has_moves], 1)
    assert np.array_equal(chances[~has_moves[entries.rows]], np.ones(np.sum(~has_moves)))


def test_rows_are_divided_by_the_sum_of_their_moves(ground: Ground) -> None:
    weights = np.random.default_rng(4).exponential(3.0, ground.steps.n_entries)
    chances = normalized(weights, ground)
    check_chances(ground, chances)
    offsets = ground.steps.offsets
    for row in range(len(ground.steps.cells)):
        entries = slice(offsets[row], offsets[row + 1])
        if offsets[row + 1] - offsets[row] > 1:
            assert np.allclose(chances[entries] * weights[entries][:-1].sum(), weights[entries])


def test_starts_follow_density_and_area() -> None:
    ground = ground_of("uneven")
    density = density_of(ground)
    moves, trips, error = next(measurements(ground))
    starts = first_guess(ground, density, moves, trips, error).starts
    assert np.allclose(np.bincount(ground.coarse_of, starts), np.maximum(density, 0.05), rtol=0.1)
    for coarse in range(16):  # cells of a coarse cell are as large
        within = starts[ground.coarse_of == coarse]
        assert np.allclose(within, within[0])


def measured_straight(ground: Ground, seed: int = 5) -> tuple[Floats, Floats]:
    """Measure straight trips without noise: their steps and trips."""
    rng = np.random.default_rng(seed)
    ends = rng.uniform(0, 10, (2000, 2, 2))
    paths = trace(pt.Trajectories(ends.reshape(-1, 2), np.arange(2001) * 2, crs="planar"), ground.grid)
    zone_of = ground.zone_of
    return step_counts(paths, ground.steps) / WEIGHT, trip_counts(paths, zone_of, ground.n_zones) / WEIGHT


def guess_straight(ground: Ground) -> tuple[Guess, Floats, Floats]:
    moves, trips = measured_straight(ground)
    return first_guess(ground, np.full(ground.grid.divisions.size, 50.0), moves, trips, 0.5), moves, trips


def test_steps_are_of_the_kinds_that_were_measured() -> None:
    """Straight trips never turn back, and seldom end; so do not walks by the guess."""
    ground = ground_of("uniform")
    guess, moves, _ = guess_straight(ground)
    entries, links = ground.entries, ground.steps.links
    taken = (entries.rows < ground.steps.n_links) & ~entries.is_end
    before = np.minimum(entries.rows, ground.steps.n_links - 1)
    back = taken & (entries.links == links.back[before])
    assert moves[back].sum() == 0
    assert guess.chances[back].sum() < 0.1 * guess.chances[taken].sum()
    ends = entries.is_end & (entries.rows < ground.steps.n_links)
    assert guess.chances[ends].mean() == pytest.approx(moves[ends].sum() / moves[taken].sum(), rel=0.5)


def test_trips_without_much_noise_are_those_measured() -> None:
    ground = ground_of("uniform")
    guess, _, trips = guess_straight(ground)
    assert np.abs(guess.trips - trips).sum() < 0.15 * trips.sum()


def test_trips_under_noise_are_nearer_than_the_noisy_ones() -> None:
    ground = ground_of("uniform")
    moves, trips = measured_straight(ground)
    error = 150.0
    noisy = trips + np.random.default_rng(6).laplace(0, error / np.sqrt(2), trips.shape)
    guess = first_guess(ground, np.full(ground.grid.divisions.size, 50.0), moves, noisy, error)
    assert np.abs(guess.trips - trips).sum() < 0.7 * np.abs(noisy - trips).sum()


def test_trips_that_are_all_noise_keep_the_distances_that_were_measured() -> None:
    """No pair of zones stands out of the noise, but all pairs of a class together do: nobody leaves a zone."""
    grid = Grid.uniform(PLANAR, 16)
    ground = Ground(grid, zones(grid, np.ones(grid.divisions.shape), 64))
    moves, _ = measured_straight(ground)
    trips, error = 400.0 * np.eye(64), 300.0
    noisy = trips + np.random.default_rng(6).laplace(0, error / np.sqrt(2), trips.shape)
    guess = first_guess(ground, np.full(grid.divisions.size, 50.0), moves, noisy, error)
    assert np.trace(guess.trips) > 0.7 * guess.trips.sum()


def test_shapes_are_clean() -> None:
    rng = np.random.default_rng(7)
    truth = np.where(POSSIBLE, rng.exponential(100.0, (N_BINS, N_BINS)), 0.0)
    for noisy, error in (
        (truth + rng.laplace(0, 5, truth.shape), 7.0),
        (rng.laplace(0, 1e6, truth.shape), 1.4e6),
        (np.zeros(truth.shape), 1.0),
        (np.full(truth.shape, -9.0), 1.0),
    ):
        clean = clean_shapes(noisy, error)
        assert clean.sum() == pytest.approx(1) and clean.min() >= 0 and np.isfinite(clean).all()
        assert not clean[~POSSIBLE].any()
    near = clean_shapes(truth, 0.1)
    assert np.abs(near - truth / truth.sum()).sum() < 0.15


def test_lines_are_no_shorter_than_they_are_wide() -> None:
    assert all(
        POSSIBLE[diameter, length] == (length >= diameter) for diameter, length in np.ndindex(N_BINS, N_BINS)
    )
