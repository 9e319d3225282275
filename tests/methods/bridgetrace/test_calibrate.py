"""Calibration: walks come nearer to what was measured, and do not chase what is noise."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests import polygons
from tests.methods.bridgetrace.test_counts import shape_counts, step_counts, trip_counts, visit_counts

import privtrace as pt
from privtrace.backends.local import Threads
from privtrace.methods.bridgetrace import calibrate as calibration
from privtrace.methods.bridgetrace.calibrate import Calibration, Target, calibrate, in_weights
from privtrace.methods.bridgetrace.hitting import hitting_probabilities
from privtrace.methods.bridgetrace.initial import POSSIBLE, WalkParameters, clean_shapes, initialize, normalized
from privtrace.methods.bridgetrace.measure import measured_moves, measured_visits
from privtrace.methods.bridgetrace.polyline import Placing, place_on_lines
from privtrace.methods.bridgetrace.sampler import Sampler
from privtrace.methods.bridgetrace.states import N_CLASSES, StateSpace
from privtrace.methods.bridgetrace.tuning import LOSSES, Tuning
from privtrace.methods.bridgetrace.zones import zones
from privtrace.paths import Paths
from privtrace.privacy.unit import WEIGHT
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.space.shapes import N_BINS
from privtrace.space.traverse import trace
from privtrace.timing.draw import NO_DRAWS
from privtrace.trajectories import Floats, Integers

PLANAR = pt.Region.box(0, 0, 10, 10, crs="planar")
TUNING = Tuning()
EVENLY = Placing(0.2, NO_DRAWS)
N = 4000


@cache
def space_of(name: str) -> StateSpace:
    grids = {
        "box": lambda: Grid(PLANAR, np.full((4, 4), 3, np.int32)),
        "two banks": lambda: Grid.uniform(polygons.region("two banks"), 6),
        "no links": lambda: Grid.uniform(polygons.region("two squares at a corner"), 2),
        "one cell": lambda: Grid.uniform(PLANAR, 1),
    }
    grid = grids[name]()
    return StateSpace(grid, zones(grid, np.ones(grid.divisions.shape), 4))


def commuters() -> pt.Trajectories:
    """Give trips that all lead through one square in the middle: coarse cells alone cannot tell."""
    rng = np.random.default_rng(1)
    points = np.stack([rng.uniform(0, 10, (N, 2)), rng.normal(4.6, 0.3, (N, 2)), rng.uniform(0, 10, (N, 2))], 1)
    return pt.Trajectories(points.reshape(-1, 2), np.arange(N + 1) * 3, crs="planar")


def weights_of(space: StateSpace) -> Integers:
    return np.random.default_rng(2).integers(500, 2000, space.grid.n_cells)


def visits_in(paths: Paths, space: StateSpace) -> Floats:
    return visit_counts(paths, weights_of(space)) / WEIGHT


def moves_in(paths: Paths, space: StateSpace) -> Floats:
    return step_counts(paths, space.steps) / WEIGHT


def shapes_in(trips: pt.Trajectories, space: StateSpace) -> Floats:
    return shape_counts(trips, space.grid, space.edges) / WEIGHT


@cache
def measured() -> tuple[WalkParameters, Target]:
    """Measure the commuters without noise, and parameters from their coarse density."""
    space, trips = space_of("box"), commuters()
    paths = trace(clip(trips, space.grid.region), space.grid)
    visits, moves, shapes = visits_in(paths, space), moves_in(paths, space), shapes_in(trips, space)
    between = trip_counts(paths, space.zone_of, space.n_zones) / WEIGHT
    density = np.bincount(space.coarse_of, visits)
    parameters = initialize(space, density, moves, between, 0.1, TUNING)
    return parameters, Target(visits, weights_of(space), moves, clean_shapes(shapes, 0.1, TUNING), 0.1, 0.1)


def walked(space: StateSpace, fitted: Calibration, n: int = 6000) -> Paths:
    parameters = fitted.parameters
    starts = parameters.starts / np.bincount(space.zone_of, parameters.starts)[space.zone_of]
    backend = Threads(1)
    return Sampler(
        space,
        np.round(parameters.trips * 2.0**20).astype(np.int64),
        in_weights(starts),
        parameters.chances,
        hitting_probabilities(space, parameters.chances, backend),
        in_weights(fitted.levels),
        fitted.kept,
        EVENLY,
    ).walk(range(n), seed=77)


def lines_of(paths: Paths, space: StateSpace) -> pt.Trajectories:
    made = place_on_lines(paths, space.geometry, EVENLY, 0, 77)
    return pt.Trajectories(made.points, made.offsets, crs="planar")


def visits_of(space: StateSpace, fitted: Calibration) -> Floats:
    """Measure walks as the data is: the share of visits of each cell."""
    return shares(visits_in(walked(space, fitted), space))


def shares(values: Floats) -> Floats:
    return values / values.sum()


def apart(one: Floats, other: Floats) -> float:
    return float(np.abs(one - other).sum() / 2)


def test_walks_are_measured_by_the_kernels_that_measure_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """What calibration compares is what the data's kernels count of each walk, as often as that weighs."""
    space = space_of("box")
    parameters, target = measured()
    seen: dict[str, list[tuple[Paths, Floats, Floats]]] = {"measured_visits": [], "measured_moves": []}

    def looked_at(name: str, measured: Any) -> Any:
        def measure(paths: Paths, weights: Floats, *given: Any) -> Floats:
            seen[name].append((paths, weights, measured(paths, weights, *given)))
            return seen[name][-1][2]

        return measure

    for name, kernel in (("measured_visits", measured_visits), ("measured_moves", measured_moves)):
        monkeypatch.setattr(calibration, name, looked_at(name, kernel))
    calibrate(space, parameters, target, 2, TUNING, EVENLY, Threads(2))
    assert [len(turns) for turns in seen.values()] == [2, 2]
    for (paths, weights, visits), (others, each, moves) in zip(*seen.values(), strict=True):
        assert paths is others and weights is each
        assert len(weights) == len(paths.offsets) - 1
        for counted in (visits, moves):  # a weight is divided, but for what rounding takes
            assert counted.sum() == pytest.approx(weights.sum(), rel=1e-4)
        ones = np.ones(len(weights))
        assert np.allclose(measured_visits(paths, ones, target.weights), visits_in(paths, space), rtol=1e-12)
        assert np.allclose(measured_moves(paths, ones, space.steps), moves_in(paths, space), rtol=1e-12)
        some = [0, 7, len(weights) - 1]  # without one of the walks, there is less by what it is
        for walk in some:
            first, last = paths.offsets[walk : walk + 2]
            one = Paths(paths.cells[first:last], np.array([0, last - first]))
            fewer = np.where(np.arange(len(weights)) == walk, 0.0, weights)
            fewer_visits = measured_visits(paths, fewer, target.weights)
            fewer_moves = measured_moves(paths, fewer, space.steps)
            assert np.allclose(visits - fewer_visits, weights[walk] * visits_in(one, space), atol=1e-9)
            assert np.allclose(moves - fewer_moves, weights[walk] * moves_in(one, space), atol=1e-9)


def test_visits_of_walks_come_nearer_to_what_was_measured() -> None:
    space = space_of("box")
    parameters, target = measured()
    wanted = target.visits / target.visits.sum()
    off = [
        apart(visits_of(space, calibrate(space, parameters, target, n, TUNING, EVENLY, Threads(2))), wanted)
        for n in (0, 6)
    ]
    assert off[1] < 0.7 * off[0] and off[1] < 0.15


def test_more_rounds_do_not_lead_astray() -> None:
    space = space_of("box")
    parameters, target = measured()
    visits = visits_of(space, calibrate(space, parameters, target, 12, TUNING, EVENLY, Threads(2)))
    assert apart(visits, target.visits / target.visits.sum()) < 0.15


def test_shapes_of_walks_are_those_called_for() -> None:
    """Levels and what is kept are fitted even without a round."""
    space = space_of("box")
    parameters, target = measured()
    fitted = calibrate(space, parameters, target, 4, TUNING, EVENLY, Threads(2))
    _, drawn = Sampler(
        space,
        np.round(fitted.parameters.trips * 2.0**20).astype(np.int64),
        np.ones(space.grid.n_cells, np.int64),
        fitted.parameters.chances,
        hitting_probabilities(space, fitted.parameters.chances, Threads(1)),
        np.ones((N_CLASSES, len(LOSSES)), np.int64),
        fitted.kept,
        EVENLY,
    ).candidates(range(6000), 5)
    wanted = target.shapes.sum(axis=0)
    at_any = np.bincount(drawn.lengths, minlength=N_BINS) / 6000
    cells = np.diff(walked(space, fitted).offsets).mean()
    of_data = np.diff(trace(clip(commuters(), space.grid.region), space.grid).offsets).mean()
    assert 0.8 < cells / of_data < 1.25
    assert apart(at_any, wanted) > 0.1  # levels at random would not do


def noise_only(error: float, seed: int = 3) -> Target:
    space, rng = space_of("box"), np.random.default_rng(seed)
    _, target = measured()
    return Target(
        rng.laplace(0, error / np.sqrt(2), space.grid.n_cells) + N / space.grid.n_cells,
        weights_of(space),
        rng.laplace(0, error / np.sqrt(2), space.steps.n_entries) + N / space.steps.n_entries,
        target.shapes,
        error,
        error,
    )


def drifted(seed: int) -> tuple[float, float]:
    """Calibrate to nothing but noise: how far do visits drift, and how far away is what was measured."""
    space, target = space_of("box"), noise_only(2000.0, seed)
    parameters, _ = measured()
    before, after = (
        visits_of(space, calibrate(space, parameters, target, n, TUNING, EVENLY, Threads(2))) for n in (0, 4)
    )
    noisy = np.maximum(target.visits, 0)
    return apart(after, before), apart(noisy / noisy.sum(), before)


def test_what_is_noise_is_not_believed() -> None:
    for seed in (1, 3):
        drift, away = drifted(seed)
        assert drift < 0.8 * away


def test_what_is_noise_is_not_chased() -> None:
    """Noise larger than all that there is should leave walks as they are."""
    assert max(drifted(seed)[0] for seed in range(4)) < 0.1


def arrays(fitted: Calibration) -> list[Floats]:
    return [
        fitted.parameters.trips,
        fitted.parameters.starts,
        fitted.parameters.chances,
        fitted.levels,
        fitted.kept,
    ]


def test_the_same_comes_out_again_on_any_number_of_threads() -> None:
    space = space_of("box")
    parameters, target = measured()
    first, *others = (
        arrays(calibrate(space, parameters, target, 2, TUNING, EVENLY, Threads(n))) for n in (1, 1, 3)
    )
    for other in others:
        assert all(np.array_equal(a, b) for a, b in zip(first, other, strict=True))


def test_what_is_given_stays_as_it_is() -> None:
    space = space_of("box")
    parameters, target = measured()
    before = [
        values.copy()
        for values in (parameters.trips, parameters.starts, parameters.chances, target.visits, target.moves)
    ]
    calibrate(space, parameters, target, 1, TUNING, EVENLY, Threads(2))
    after = (parameters.trips, parameters.starts, parameters.chances, target.visits, target.moves)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@pytest.mark.parametrize("name", ["box", "two banks", "no links", "one cell"])
@pytest.mark.parametrize("amount", ["noise", "nothing", "negative"])
def test_whatever_is_measured_walks_can_go_by_what_comes_out(name: str, amount: str) -> None:
    space, rng = space_of(name), np.random.default_rng(4)
    n_cells, n_entries, n_zones = space.grid.n_cells, space.steps.n_entries, space.n_zones
    scale = {"noise": 50.0, "nothing": 0.0, "negative": 0.0}[amount]
    shift = -5.0 if amount == "negative" else 0.0

    def noisy(*shape: int) -> Floats:
        return scale * rng.normal(0, 1, shape) + shift

    parameters = initialize(
        space, np.ones(space.grid.divisions.size), noisy(n_entries), noisy(n_zones, n_zones), 50.0, TUNING
    )
    shapes = clean_shapes(noisy(N_BINS, N_BINS), 50.0, TUNING)
    target = Target(noisy(n_cells), weights_of(space), noisy(n_entries), shapes, 50.0, 50.0)
    fitted = calibrate(space, parameters, target, 2, TUNING, EVENLY, Threads(2))
    for values in arrays(fitted):
        assert np.isfinite(values).all() and values.min() >= 0
    assert np.allclose(fitted.levels.sum(axis=1), 1)
    assert np.all((fitted.kept > 0) & (fitted.kept <= 1))
    assert np.array_equal(fitted.parameters.trips > 0, space.joined)
    assert fitted.parameters.starts.min() > 0 and fitted.parameters.chances.min() > 0
    paths = walked(space, fitted, 200)
    assert np.diff(paths.offsets).min() >= 1


def test_weights_are_whole_and_never_zero() -> None:
    chances = np.array([0.0, 1e-30, 0.25, 1.0])
    assert in_weights(chances).tolist() == [1, 1, 1 << 28, 1 << 30]


def test_impossible_shapes_are_hardly_kept() -> None:
    space = space_of("box")
    fitted = calibrate(space, *measured(), 0, TUNING, EVENLY, Threads(2))
    assert fitted.kept[~POSSIBLE].max() <= fitted.kept[POSSIBLE].min()


def known(near: int, far: int) -> tuple[StateSpace, Calibration]:
    """Make a law to be recovered: trips within a zone go at one level of discount, all others at another."""
    space, rng = space_of("box"), np.random.default_rng(1)
    weights = rng.uniform(0.3, 1.7, space.steps.n_entries)
    trips = rng.uniform(0.5, 1.5, (space.n_zones, space.n_zones))
    levels = np.zeros((N_CLASSES, len(LOSSES)))
    levels[0, near], levels[1:, far] = 1, 1
    parameters = WalkParameters(
        trips * (N / trips.sum()),
        rng.uniform(0.2, 1.8, space.grid.n_cells),
        normalized(np.where(space.entries.is_end, 0.15 * weights, weights), space),
    )
    return space, Calibration(parameters, levels, np.ones((N_BINS, N_BINS)))


def target_of(space: StateSpace, law: Calibration) -> Target:
    """Measure many walks of a law, without noise."""
    paths = walked(space, law, 5 * N)
    lines = lines_of(paths, space)
    return Target(
        visits_in(paths, space) / 5,
        weights_of(space),
        moves_in(paths, space) / 5,
        clean_shapes(shapes_in(lines, space) / 5, 0.1, TUNING),
        0.1,
        0.1,
    )


def test_levels_of_near_and_far_trips_are_found_from_shapes() -> None:
    """Trips within a zone wander, those to others do not: nearly all are drawn at the level that made them."""
    space, law = known(near=len(LOSSES) - 1, far=0)
    fitted = calibrate(space, law.parameters, target_of(space, law), 4, TUNING, EVENLY, Threads(2))
    there = np.unique(space.classes)
    assert fitted.levels[0, -1] > 0.7 and fitted.levels[there[1:], 0].min() > 0.7


def test_right_parameters_stay_right() -> None:
    """Where long walks are called for, calibration listens to long ones, though it draws short ones as well."""
    space, law = known(near=len(LOSSES) - 1, far=len(LOSSES) - 1)
    target = target_of(space, law)
    paths = walked(space, calibrate(space, law.parameters, target, 1, TUNING, EVENLY, Threads(2)), 5 * N)
    assert apart(shares(visits_in(paths, space)), shares(target.visits)) < 0.06
    assert apart(shares(moves_in(paths, space)), shares(target.moves)) < 0.14


def test_visits_are_followed_where_moves_are_all_noise() -> None:
    """Steps lead to where many are: the square that all trips pass gets three times its first visits."""
    space = space_of("box")
    parameters, target = measured()
    noisy = replace(target, moves=noise_only(2000.0).moves, moves_error=2000.0)
    wanted, entries = shares(target.visits), space.entries
    middle = int(np.argmax(wanted))
    before, after = (
        calibrate(space, parameters, noisy, n_rounds, TUNING, EVENLY, Threads(2)) for n_rounds in (0, 6)
    )
    visits = [visits_of(space, fitted) for fitted in (before, after)]
    assert apart(visits[1], wanted) < 0.75 * apart(visits[0], wanted)
    assert (
        visits[1][middle] == pytest.approx(wanted[middle], rel=0.2) and visits[0][middle] < 0.5 * wanted[middle]
    )
    onto = (entries.onto == middle) & ~entries.is_end
    assert after.parameters.chances[onto].mean() > 1.5 * before.parameters.chances[onto].mean()


def test_moves_are_followed_where_visits_are_all_noise() -> None:
    space = space_of("box")
    parameters, target = measured()
    noisy = replace(target, visits=noise_only(2000.0).visits, visits_error=2000.0)
    off = []
    for n_rounds in (0, 6):
        paths = walked(space, calibrate(space, parameters, noisy, n_rounds, TUNING, EVENLY, Threads(2)))
        off.append(apart(shares(moves_in(paths, space)), shares(target.moves)))
    assert off[1] < 0.3 * off[0]


def test_zones_that_are_visited_oftener_than_walked_to_get_more_trips() -> None:
    """Visits of one zone are tripled, and neither moves nor shapes show it."""
    space = space_of("box")
    parameters, target = measured()
    busy = space.zone_of == 3
    tripled = replace(target, visits=np.where(busy, 3.0, 1.0) * target.visits, moves_error=2000.0)
    more = calibrate(space, parameters, tripled, 4, TUNING, EVENLY, Threads(2)).parameters.trips
    grown = (more.sum(axis=1) / more.sum()) / (parameters.trips.sum(axis=1) / parameters.trips.sum())
    assert grown[3] > 1.2 > 1 > grown[:3].max()


def test_walks_have_the_shapes_that_were_measured() -> None:
    """Diameters and lengths in half octaves, in total variation."""
    space = space_of("box")
    parameters, target = measured()
    paths = walked(space, calibrate(space, parameters, target, 4, TUNING, EVENLY, Threads(2)), 3 * N)
    lines = lines_of(paths, space)
    made = shares(shapes_in(lines, space))
    for axis in (0, 1):
        assert apart(made.sum(axis=axis), target.shapes.sum(axis=axis)) < 0.065
