"""Bounds hold what is true in nine cases of ten, from the model alone, and are as wide as it takes."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import shapely
from experiments.coverage import Coverage, Share, coverages

import privtrace as pt
from privtrace.methods import estimating
from privtrace.methods.counting import CellPlaces, Counter, Ends, Lines, Numbers, Pairs, Passing, ZonePlaces
from privtrace.methods.estimating import Estimates, Sampling, estimated
from privtrace.methods.model import Model
from privtrace.methods.view import error_of
from privtrace.models import from_bytes, to_bytes
from privtrace.space.grid import Grid
from privtrace.space.lattice import cells_of
from privtrace.zones import Zones

EPSILONS = ("0.5", "2")


@pytest.fixture(scope="module", params=EPSILONS)
def model(request: pytest.FixtureRequest, city: tuple[pt.Trajectories, pt.Region]) -> Model:
    return pt.BridgeTrace(epsilon=request.param, region=city[1]).fit(city[0], noise=pt.SeededNoise(4))


def pooled(found: list[Coverage]) -> tuple[Share, Share]:
    large, small = (np.sum([getattr(one, size) for one in found], axis=0) for size in ("large", "small"))
    return Share(*large), Share(*small)


def test_bounds_hold_nine_numbers_in_ten(model: Model, city: tuple[pt.Trajectories, pt.Region]) -> None:
    found = [(zones, one) for zones, kind, one in coverages(city[0], model, 1) if "hour" not in kind]
    for zones, some in itertools.groupby(found, lambda pair: pair[0]):
        large, small = pooled([one for _, one in some])
        # Few are large in so small a city: some more or fewer of them are chance.
        assert large.n > 30 and 0.75 <= large.held <= 1.0, zones
        assert small.n > 1000 and 0.80 <= small.held <= 0.99, zones


def bounds(model: Model, counter: Counter, moved: Grid | None = None) -> Estimates:
    (found,) = estimated(model, [counter], moved=moved)
    return found


def widths(found: Estimates) -> float:
    return float((found.high - found.low).sum() / found.numbers.values.sum())


def test_less_noise_gives_narrower_bounds(city: tuple[pt.Trajectories, pt.Region]) -> None:
    trips, region = city
    places = CellPlaces(Grid.uniform(region, 5))
    models = [
        pt.BridgeTrace(epsilon=epsilon, region=region).fit(trips, noise=pt.SeededNoise(2))
        for epsilon in ("0.2", "1", "5")
    ]
    some = [widths(bounds(model, Passing(places))) for model in models]
    assert some[0] > 1.5 * some[1] > 1.5 * 1.5 * some[2]


def test_bounds_enclose_numbers_and_none_is_negative(model: Model) -> None:
    for counter in (Passing(places_of(model)), Pairs(places_of(model))):
        found = bounds(model, counter)
        assert np.all(found.low >= 0) and np.all(found.low <= found.numbers.values)
        assert np.all(found.numbers.values <= found.high) and np.all(np.isfinite(found.high))
        assert found.high_of_none > 0


def places_of(model: Model) -> CellPlaces:
    return CellPlaces(model.view().layers[0].grid)


def test_a_model_gives_the_same_numbers_each_time_and_from_its_file(model: Model) -> None:
    some, again = (bounds(one, Passing(places_of(one))) for one in (model, from_bytes(to_bytes(model))))
    np.testing.assert_array_equal(some.numbers.values, again.numbers.values)
    np.testing.assert_array_equal(some.low, again.low)
    np.testing.assert_array_equal(some.high, again.high)


def test_numbers_are_those_of_synthetic_trips(model: Model) -> None:
    sampling, grid = Sampling.of(model), model.view().layers[0].grid
    trips = model.sample(sampling.count, seed=0)
    cells = grid.encode(Lines.of(trips, model.release.region, None).runs)
    passed = np.unique(
        np.stack([np.repeat(np.arange(len(trips)), np.diff(cells.offsets)), cells.cells]), axis=1
    )
    of_points = np.bincount(passed[1], minlength=grid.n_cells) * sampling.per_trip
    found = bounds(model, Passing(CellPlaces(grid))).table
    assert sampling.count * sampling.per_trip == pytest.approx(model.count / 2**20)
    # Lines pass cells that hold none of their points too.
    assert np.all(found >= of_points - 1e-9) and found.sum() < 1.3 * of_points.sum()


def test_zones_that_cut_cells_are_less_sure_than_those_that_do_not(
    city: tuple[pt.Trajectories, pt.Region],
) -> None:
    trips, region = city
    model = pt.BridgeTrace(epsilon=5, region=region, K=4, max_states=64).fit(trips, noise=pt.SeededNoise(2))
    grid = model.view().layers[-1].grid
    assert grid.n_cells == 64
    settled = model.release.region
    fine = Grid.uniform(settled, 24)
    narrow = ZonePlaces(Zones(settled, tuple(map(str, range(576))), boxes(fine), "cells", apart=True))
    whole = ZonePlaces(Zones(settled, tuple(map(str, range(64))), boxes(grid), "cells", apart=True))
    assert widths(bounds(model, Ends(narrow, True), grid)) > 1.3 * widths(bounds(model, Ends(narrow, True)))
    assert widths(bounds(model, Ends(whole, True), grid)) < 1.01 * widths(bounds(model, Ends(whole, True)))


def boxes(grid: Grid) -> np.ndarray:
    return shapely.box(*grid.boxes.T)


def test_contents_of_cells_are_drawn_together_and_stay_in_their_cells(model: Model) -> None:
    grid, region = model.view().layers[-1].grid, model.release.region
    lines = Lines.of(model.sample(2000, seed=1), region, None)
    points, found = lines.runs.points, cells_of(lines.runs.points, grid.lattice)
    centers = []
    for turn in range(2):
        moved = estimating._displaced(lines, grid, turn).runs.points
        np.testing.assert_array_equal(cells_of(moved, grid.lattice), found)
        for cell in np.unique(found)[:30]:
            before, after = points[found == cell], moved[found == cell]
            np.testing.assert_allclose(np.ptp(after, axis=0), np.ptp(before, axis=0) / 3, atol=1e-6)
            centers.append((after[0] - before[0] / 3) / grid.sizes_m[cell])
    # Each cell, and each turn, has a place of its own.
    assert len(np.unique(np.round(centers, 6), axis=0)) > 50


def test_a_model_without_trips_says_zero_and_how_many_there_may_be(
    city: tuple[pt.Trajectories, pt.Region],
) -> None:
    none = pt.BridgeTrace(epsilon=1, region=city[1], public_count=0).fit(city[0], noise=pt.SeededNoise(1))
    found = bounds(none, Passing(places_of(none)))
    assert not found.table.any() and not found.low.any()


def test_a_zone_that_holds_all_is_as_sure_as_the_count(model: Model) -> None:
    region, grid = model.release.region, model.view().layers[-1].grid
    whole = ZonePlaces(Zones(region, ("all",), np.array([shapely.box(*region.bounds)]), "zones"))
    (found,) = estimated(model, [Ends(whole, True)], moved=grid)
    total, error = model.count / 2**20, error_of(model.release, "count")
    assert found.table[0] == pytest.approx(total)
    assert found.high[0] - found.low[0] < 0.02 * total + 4 * error


def test_most_trips_are_as_sure_as_those_that_are_left() -> None:
    values, total = np.array([10.0, 400.0, 990.0]), estimating.Total(1000.0, 3.0)
    variances = estimating._with_complements(lambda sizes: 0.01 * sizes, values, total)
    squares = 4 * (10 + 0.375) * 0.1 + 9
    np.testing.assert_allclose(variances, [0.1, 4.0, squares / (4 * 990.375)])


def test_intervals_are_of_square_roots(model: Model) -> None:
    values, margins = np.array([0.0, 3.0, 100.0, 100.0]), np.array([0.5, 2.0, 1.0, 0.0])
    low, high = estimating._interval(values, margins)
    for value, margin, below, above in zip(values, margins, low, high, strict=True):
        assert below == pytest.approx(max(max(np.sqrt(value + 0.375) - margin, 0) ** 2 - 0.375, 0))
        assert above == pytest.approx((np.sqrt(value + 0.375) + margin) ** 2 - 0.375)


def test_replicas_are_fitted_as_the_model_was(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = estimating._settings_again(model, model.n_trajectories, estimating.Fraction(1))
    assert settings == replace(type(settings).of_release(model.release), period=None)
    # A model of more trips than are sampled is fitted to fewer, with as much less noise.
    monkeypatch.setattr(estimating, "MOST_TRIPS", 1000)
    scale = model.count / 2**20 / 1000
    asked, fit = [], type(settings).fit

    def spy(self: pt.BridgeTrace, trips: pt.Trajectories, **how: Any) -> Model:
        asked.append((self, len(trips)))
        return fit(self, trips, **how)

    monkeypatch.setattr(type(settings), "fit", spy)
    bounds(model, Passing(places_of(model)))
    assert [count for _, count in asked] == [1000, 1000]
    for again, _ in asked:
        assert float(again.epsilon) == pytest.approx(scale * float(model.release.epsilon), rel=1e-5)


def test_numbers_of_users_are_replicated_with_the_noise_that_users_cost(
    city: tuple[pt.Trajectories, pt.Region],
) -> None:
    trips = replace(city[0], users=np.arange(len(city[0])) % 1000)
    model = pt.BridgeTrace(epsilon=2, region=city[1], unit="user", max_per_user=4).fit(
        trips, noise=pt.SeededNoise(1)
    )
    settings = estimating._settings_again(model, 3000, estimating.Fraction(1))
    assert settings.unit == "trajectory" and float(settings.epsilon) == pytest.approx(2 / 4)
    assert settings.error("density") == pytest.approx(model.settings.error("density"))  # type: ignore[attr-defined]


def numbers(values: dict[int, float]) -> Numbers:
    codes = np.array(sorted(values))
    return Numbers(100, codes, np.array([values[code] for code in codes]))


def test_replicas_are_compared_where_either_says_something() -> None:
    sizes, squares = estimating._pairs(
        [(numbers({1: 4.0, 2: 0.0, 5: 9.0}), numbers({2: 0.0, 5: 16.0, 7: 1.0}))]
    )
    root = np.sqrt(np.array([4.0, 9.0, 0.0]) + 0.375)
    other = np.sqrt(np.array([0.0, 16.0, 1.0]) + 0.375)
    np.testing.assert_allclose(sizes, [4.0, 9.0, 0.0])
    np.testing.assert_allclose(squares, (root - other) ** 2)
