"""What methods give back of a town whose law is known: within a stated error, with and without noise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.recovery.errors import errors
from tests.recovery.town import REGION, SIZE, town

import privtrace as pt
from privtrace.privacy.unit import WEIGHT
from privtrace.space.clip import clip
from privtrace.space.traverse import trace

N = 8000


class Case(NamedTuple):
    """Hold a fit and the largest errors that it may have: small ones are half as large again as they are."""

    settings: Any
    noise: Callable[[], Any]
    ceilings: dict[str, float]


def of(*ceilings: float) -> dict[str, float]:
    """Name ceilings: of where trips start and end, what they visit, from where to where they lead, ..."""
    names = ("starts", "ends", "visits", "trips", "moves", "turns", "lengths", "diameters")
    return dict(zip(names, ceilings, strict=True))


EXACT = {"region": REGION, "epsilon": 20}  # with this epsilon methods trust numbers that have no noise
CASES = {
    "bridgetrace": Case(
        pt.BridgeTrace(**EXACT, K=6, cell_factor=1e6, max_zones=16, sampling=False),
        pt.NoNoise,
        of(0.13, 0.135, 0.06, 0.12, 0.065, 0.072, 0.035, 0.038),
    ),
    "bridgetrace, points": Case(  # about one in a cell, as people have: lines between them cut corners
        pt.BridgeTrace(**EXACT, K=6, cell_factor=1e6, max_zones=16),
        pt.NoNoise,
        of(0.13, 0.135, 0.06, 0.12, 0.12, 0.165, 0.035, 0.043),
    ),
    "bridgetrace under noise": Case(
        pt.BridgeTrace(region=REGION, epsilon="0.5", K=6, cell_factor=1e6),
        lambda: pt.SeededNoise(1),
        of(0.48, 0.26, 0.09, 0.35, 0.23, 0.22, 0.06, 0.055),
    ),
    "privtrace": Case(
        pt.PrivTrace(**EXACT, K=SIZE, second_layer=False),
        pt.NoNoise,
        of(0.10, 0.16, 0.09, 0.65, 0.085, 0.13, 0.42, 0.43),
    ),
    "privtrace, order 1": Case(
        pt.PrivTrace(**EXACT, K=SIZE, second_layer=False, order=1),
        pt.NoNoise,
        of(0.10, 0.16, 0.09, 0.70, 0.09, 0.42, 0.40, 0.60),
    ),
    "privtrace under noise": Case(
        pt.PrivTrace(region=REGION, epsilon=2),
        lambda: pt.SeededNoise(1),
        of(0.36, 0.27, 0.13, 0.72, 0.23, 0.38, 0.30, 0.34),
    ),
    "adatrace": Case(
        pt.AdaTrace(**EXACT, N=SIZE), pt.NoNoise, of(0.035, 0.05, 0.085, 0.03, 0.11, 0.33, 0.20, 0.15)
    ),
    "adatrace under noise": Case(
        pt.AdaTrace(region=REGION, epsilon=2),
        lambda: pt.SeededNoise(1),
        of(0.60, 0.38, 0.15, 0.50, 0.31, 0.40, 0.18, 0.15),
    ),
    "dpt": Case(pt.DPT(**EXACT, finest=SIZE), pt.NoNoise, of(0.035, 0.22, 0.17, 0.66, 0.13, 0.18, 0.40, 0.34)),
    "dpt under noise": Case(
        pt.DPT(region=REGION, epsilon=2),
        lambda: pt.SeededNoise(1),
        of(0.46, 0.36, 0.16, 0.72, 0.27, 0.46, 0.36, 0.43),
    ),
}


@cache
def fitted(name: str) -> Any:
    return CASES[name].settings.fit(town(N, 1).trips, noise=CASES[name].noise())


def sampled(model: Any, n: int = 20_000) -> pt.Trajectories:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pt.CappedWalks)
        return model.sample(n, seed=1)


def exceeded(found: dict[str, float], ceilings: dict[str, float]) -> dict[str, tuple[float, float]]:
    return {name: (found[name], most) for name, most in ceilings.items() if not found[name] <= most}


@pytest.mark.parametrize("name", CASES)
def test_the_town_is_recovered(name: str) -> None:
    found = errors(town(N, 1), sampled(fitted(name)))
    assert not exceeded(found, CASES[name].ceilings)


def test_trips_of_another_week_are_as_near_as_can_be() -> None:
    """So near are two weeks of one town: smaller errors are chance."""
    found = errors(town(N, 1), town(20_000, 2).trips)
    assert max(found.values()) < 0.08


def test_the_town_is_traced_as_it_was_walked() -> None:
    """Else errors would be those of the measuring."""
    real, model = town(N, 1), fitted("bridgetrace")
    west, south = model.grid.boxes[:, :2].round().astype(int).T
    paths = trace(clip(real.trips, model.grid.region), model.grid)
    assert np.array_equal(paths.offsets, real.paths.offsets)
    assert np.array_equal((south * SIZE + west)[paths.cells], real.paths.cells)


def far_and_near() -> pt.Trajectories:
    """Make trips of which half cross the town from the west, and half lead from the middle to the next cell."""
    rng, n = np.random.default_rng(1), 4000
    far = np.arange(n) % 2 == 0
    start, row = np.where(far, 0.5, rng.integers(4, 7, n) + 0.5), rng.integers(0, SIZE, n) + 0.5
    end = np.where(far, SIZE - 0.5, start + 1)
    along = start[:, np.newaxis] + np.linspace(0, 1, 23) * (end - start)[:, np.newaxis]
    points = np.stack([along, np.broadcast_to(row[:, np.newaxis], along.shape)], axis=2)
    return pt.Trajectories(points.reshape(-1, 2), np.arange(n + 1) * 23, crs="planar")


def test_trip_estimation_gives_long_trips_their_starts_back() -> None:
    """Half of all trips are long, and as each move of a long trip weighs less, 19 % of the weight of starts."""
    settings = pt.PrivTrace(**EXACT, K=SIZE, second_layer=False, order=1)
    made = settings.fit(far_and_near(), noise=pt.NoNoise()).sample(20_000, seed=1)
    assert 0.26 < np.mean(made.points[made.offsets[:-1], 0] < 1) < 0.6


def test_cells_are_as_large_as_their_visits_allow() -> None:
    """Coarse cells of BridgeTrace are halved while a cell has more than twice the visits that it should."""
    rng = np.random.default_rng(1)
    places = rng.beta(2, 6, (N, 1, 2)) * (SIZE - 0.3) + rng.uniform(0, 0.2, (N, 2, 2))
    crowd = pt.Trajectories(places.reshape(-1, 2), np.arange(N + 1) * 2, crs="planar")
    settings = pt.BridgeTrace(**EXACT, K=6, cell_factor=50.0, rounds=0, times=False)
    model = settings.fit(crowd, noise=pt.NoNoise())
    visits, should = model.density / WEIGHT, 50.0 * np.sqrt(2) / float(settings.budget["moves"])
    per_cell = visits / model.divisions**2
    assert model.divisions.max() >= 8 and model.divisions.min() == 2
    assert np.all(per_cell < 2.1 * should)
    assert np.all(per_cell[model.divisions > 2] > should / 2.1)
