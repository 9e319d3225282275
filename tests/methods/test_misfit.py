"""Misfit is what fitted and noisy numbers differ by beyond the noise: found, or allowed for where hidden."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

import privtrace as pt
from privtrace.methods.counting import (
    ALL,
    SLOTS,
    CellPlaces,
    Departures,
    Ends,
    Lines,
    Pairs,
    Passing,
    Visits,
    counted,
    lines_of,
)
from privtrace.methods.misfit import Misfit, Misfits, guess, guessed_ends, measured_of, misfit_of
from privtrace.methods.view import MARGIN, Noisy, Trips

SIZES = np.geomspace(2, 4000, 300)


def noisy_of(numbers: np.ndarray, variance: np.ndarray, error: float, seed: int) -> Noisy:
    """Give numbers that are off by so much, as noisy ones."""
    rng = np.random.default_rng(seed)
    true = numbers + rng.standard_normal(len(numbers)) * np.sqrt(variance)
    return Noisy("visits", true + rng.laplace(0, error / np.sqrt(2), len(numbers)), error)


@pytest.mark.parametrize(("per_trip", "per_square"), [(0.0, 0.0), (3.0, 0.0), (0.0, 0.04), (2.0, 0.04)])
def test_misfit_is_found_beyond_the_noise(per_trip: float, per_square: float) -> None:
    variance = per_trip * SIZES + per_square * SIZES**2
    found = [misfit_of(SIZES, noisy_of(SIZES, variance, 3.0, seed)) for seed in range(30)]
    said = np.mean([one.per_trip * SIZES + one.per_square * SIZES**2 for one in found], axis=0)
    large = SIZES > 20
    if per_trip or per_square:
        np.testing.assert_allclose(said[large], variance[large], rtol=0.35)
    else:
        assert np.all(said < 0.3 * SIZES + 0.001 * SIZES**2)


def test_without_noise_and_misfit_there_is_none() -> None:
    exact = misfit_of(SIZES, Noisy("visits", SIZES, 0.0))
    assert exact.per_trip == pytest.approx(0, abs=1e-6) and exact.per_square == pytest.approx(0, abs=1e-6)


def test_too_few_numbers_say_nothing() -> None:
    few = np.array([400.0, 300.0, 0.5, 0.2])
    assert misfit_of(few, Noisy("visits", few + 200, 1.0)) == Misfit()


def test_more_noise_hides_more_and_more_is_allowed_for() -> None:
    hidden = [
        np.mean(
            [
                misfit_of(SIZES, noisy_of(SIZES, 0 * SIZES, error, seed)).of_roots(np.array([100.0]), 1.0)[0]
                for seed in range(20)
            ]
        )
        for error in (0.5, 5.0, 50.0)
    ]
    assert 4 * hidden[0] < hidden[1] and 4 * hidden[1] < hidden[2]


def test_half_of_what_may_be_hidden_is_added() -> None:
    numbers = np.array([1e5, 1e6])
    errors = np.array([[0.04, 1e-7], [1e-7, 1e-10]])
    once = numbers / 2
    hidden = np.sqrt(0.04 + 2e-7 * once + 1e-10 * once**2) / 2
    found = Misfit(3.0, 0.0, errors).of_roots(numbers, 2.0)
    np.testing.assert_allclose(found, 2 * (3.0 + hidden) / 4, rtol=0.01)


def test_variances_of_roots_are_those_of_numbers_divided() -> None:
    # The variance of the root of a large number is that of the number over four times the number.
    misfit = Misfit(2.0, 0.1)
    numbers = np.array([1e4, 1e5])
    variances = (2.0 * numbers + 0.1 * numbers**2) / (4 * numbers)
    np.testing.assert_allclose(misfit.of_roots(numbers, 1.0), variances, rtol=0.03)


@pytest.mark.parametrize("number", [0.5, 2.0, 10.0, 100.0])
def test_small_numbers_are_bounded_as_skewed_ones_are(number: float) -> None:
    """Of gamma variables of such a mean and variance, 5 in 100 are above the bound, or a few less."""
    per_trip = 6.0
    root = np.sqrt(number + 0.375) + MARGIN * np.sqrt(Misfit(per_trip).of_roots(np.array([number]), 1.0)[0])
    above = scipy.stats.gamma.sf(root**2 - 0.375, number / per_trip, scale=per_trip)
    assert 0.015 < above < 0.07


@pytest.fixture(scope="module")
def model(city: tuple[pt.Trajectories, pt.Region]) -> pt.Model:
    return pt.BridgeTrace(epsilon=2, region=city[1]).fit(city[0], noise=pt.SeededNoise(1))


@pytest.fixture(scope="module")
def misfits(model: pt.Model) -> Misfits:
    measured = measured_of(model)
    lines = (lines for _, lines in lines_of(model, 4000, 0))
    return Misfits.of(model, measured, counted([one.counter for one in measured], lines, len_of(model) / 4000))


def len_of(model: pt.Model) -> float:
    return model.count / 2**20


def test_all_that_was_measured_is_held_against_synthetic_trips(model: pt.Model) -> None:
    kinds = [one.kind for one in measured_of(model)]
    assert kinds == ["visits", "visits", "trips", "ends", "ends", "departures"]
    for one in measured_of(model):
        assert one.counter.size == len(one.noisy.values)


def test_starts_and_ends_of_zones_have_the_noise_of_their_sums(model: pt.Model) -> None:
    _, _, trips, ends, starts, _ = measured_of(model)
    n = int(np.sqrt(len(trips.noisy.values)))
    table = trips.noisy.values.reshape(n, n)
    np.testing.assert_allclose(starts.noisy.values, table.sum(axis=1))
    np.testing.assert_allclose(ends.noisy.values, table.sum(axis=0))
    assert starts.noisy.error == ends.noisy.error == pytest.approx(np.sqrt(n) * trips.noisy.error)
    # and the synthetic trips that they are held against are counted at the same ends
    (of_starts, of_ends) = counted(
        [starts.counter, ends.counter], (lines for _, lines in lines_of(model, 4000, 0)), len_of(model) / 4000
    )
    assert (
        np.corrcoef(of_starts.table, starts.noisy.values)[0, 1]
        > np.corrcoef(of_ends.table, starts.noisy.values)[0, 1]
    )


def test_trips_are_allowed_what_guessing_costs(model: pt.Model, misfits: Misfits) -> None:
    numbers, n_each = np.array([5.0, 50.0]), 0.02
    for layer in model.view().layers:
        for slots, factor in ((ALL, 1.0), (SLOTS["hour"], 1.0)):
            few = misfits.of_roots(Pairs(CellPlaces(layer.grid), slots), numbers, n_each)
            guessed = misfits.guessed.of_roots(numbers, n_each)
            assert np.all(few >= factor * guessed - 1e-12) and np.all(guessed > 0)


def test_ends_are_allowed_what_guessing_them_from_visits_costs(model: pt.Model, misfits: Misfits) -> None:
    view = model.view()
    assert view.trips is not None
    layer, n = view.layers[view.trips.layer], view.trips.n_groups
    found = guessed_ends(view.trips, layer)
    assert found.per_trip + found.per_square > 0
    numbers, n_each = np.array([30.0, 300.0]), 0.1
    roots = misfits.of_roots(Ends(CellPlaces(layer.grid), True), numbers, n_each)
    assert np.all(roots >= found.scaled(1 / 4).of_roots(numbers, n_each) - 1e-12)
    # Where trips begin and end as often as visits are, guessing costs nothing.
    visits = np.maximum(np.bincount(view.trips.groups, layer.visits.values, n), 1.0)
    even = Noisy("trips", np.outer(visits, visits).ravel() / visits.sum(), 0.01)
    none = guessed_ends(Trips(view.trips.layer, view.trips.groups, even), layer)
    assert none.per_trip == pytest.approx(0, abs=1e-3) and none.per_square == pytest.approx(0, abs=1e-5)


def test_what_visits_are_off_by_all_places_may_be_off_by(misfits: Misfits, model: pt.Model) -> None:
    coarse, fine = (CellPlaces(layer.grid) for layer in model.view().layers)
    numbers, n_each = np.array([30.0, 300.0]), 0.1
    of_coarse, of_fine = (misfits.visits[one.n].of_roots(numbers, n_each) for one in (coarse, fine))
    np.testing.assert_allclose(misfits.of_roots(Passing(coarse), numbers, n_each), of_coarse)
    np.testing.assert_allclose(misfits.of_roots(Passing(fine), numbers, n_each), np.sqrt(of_coarse * of_fine))
    for places, least in ((coarse, of_coarse), (fine, np.sqrt(of_coarse * of_fine))):
        assert np.all(misfits.of_roots(Ends(places, True), numbers, n_each) >= least - 1e-12)
        assert np.all(misfits.of_roots(Pairs(places), numbers, n_each) >= least / 2 - 1e-12)
    of_hours = misfits.of_roots(Departures(), numbers, n_each)
    assert np.all(of_hours >= of_coarse / 2 - 1e-12)
    # What was measured itself is off by what itself is off by.
    for layer, least in zip(model.view().layers, (of_coarse, of_fine), strict=True):
        np.testing.assert_allclose(misfits.of_roots(Visits(layer), numbers, n_each), least)


def test_hours_share_what_places_are_off_by(misfits: Misfits, model: pt.Model) -> None:
    places, numbers = CellPlaces(model.view().layers[0].grid), np.array([30.0, 300.0])
    all_day, by_hour = (
        misfits.of_roots(Passing(places, slots), numbers, 1.0) for slots in (ALL, SLOTS["hour"])
    )
    np.testing.assert_allclose(by_hour, all_day / np.sqrt(24))


def test_a_guess_keeps_the_trips_between_larger_zones(model: pt.Model) -> None:
    view = model.view()
    assert view.trips is not None
    layer = view.layers[view.trips.layer]
    n = view.trips.n_groups
    # Where trips are spread evenly over where they begin and end, the guess is right.
    starts, ends = np.arange(1.0, n + 1), np.arange(n, 0.0, -1)
    even = Trips(view.trips.layer, view.trips.groups, Noisy("trips", np.outer(starts, ends).ravel(), 1.0))
    np.testing.assert_allclose(guess(even, layer), even.noisy.values)
    # Where they are not, trips between larger zones stay as many.
    rng = np.random.default_rng(2)
    uneven = Trips(view.trips.layer, view.trips.groups, Noisy("trips", rng.gamma(0.3, 50, n * n), 1.0))
    guessed = guess(uneven, layer)
    assert guessed.sum() == pytest.approx(uneven.noisy.values.sum())
    assert np.abs(guessed - uneven.noisy.values).sum() > 0.1 * guessed.sum()


def test_trips_are_unknown_where_neither_they_nor_ends_were_measured(
    city: tuple[pt.Trajectories, pt.Region],
) -> None:
    numbers = np.array([100.0, 1000.0])
    for method, is_known in ((pt.DPT, False), (pt.PrivTrace, True)):
        model = method(epsilon=2, region=city[1]).fit(city[0], noise=pt.SeededNoise(1))
        measured = measured_of(model)
        blocks = [Lines.of(model.sample(2000, seed=1), model.release.region, None)]
        found = Misfits.of(model, measured, counted([one.counter for one in measured], blocks, 1.5))
        pairs = Pairs(CellPlaces(model.view().layers[0].grid))
        low = np.sqrt(numbers) - MARGIN * np.sqrt(found.of_roots(pairs, numbers, 1.0))
        assert np.all((low**2 > 0.2 * numbers) == is_known), method
