"""Chances from noisy tables: nothing but noise is moderate, exact tables come back, and tails are cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.timing.fleet import apart, exact, fleet

from privtrace.privacy.unit import WEIGHT
from privtrace.space.shapes import N_BINS, half_octaves
from privtrace.timing import bins, clean

RNG = np.random.default_rng


def laplace(rng: np.random.Generator, error: float, shape: Any) -> Any:
    return rng.laplace(0.0, error / np.sqrt(2), shape)


def noisy_tables(error: float, seed: int) -> dict[str, Any]:
    """Give the fleet's tables with noise; 0 trips if it is None."""
    rng = RNG(seed)
    return {stage: table / WEIGHT + laplace(rng, error, table.shape) for stage, table in exact(fleet()).items()}


#: Jumps that come alike in all bins but the first.
AS_MANY = np.append(0.0, np.full(bins.N_JUMPS - 1, 1 / (bins.N_JUMPS - 1)))


def all_chances(tables: dict[str, Any], error: float) -> dict[str, Any]:
    lengths, points = clean.clean_points(tables["points"], error)
    variations, gaps = clean.clean_gaps(tables["gaps"], error)
    hours = clean.clean_departures(tables["departures"], error)
    ticks, paces = clean.clean_ticks(tables["ticks"], error), clean.clean_paces(tables["paces"], error)
    stretches = clean.clean_stretches(tables["stretches"], error)
    return {
        "lengths": lengths,
        "points": points,
        "variations": variations,
        "gaps": gaps,
        "hours": hours,
        "ticks": ticks,
        "paces": paces,
        "stretches": stretches,
        "pauses": clean.clean_pauses(tables["pauses"], error),
        "jumps": clean.clean_jumps(tables["jumps"], AS_MANY, error),
        "parts": np.moveaxis(clean.clean_parts(tables["parts"], hours, error)[0], 0, -1),
        "tempos": clean.clean_tempos(tables["tempos"], hours, error)[0],
        **dict(
            zip(
                ("fitted ticks", "fitted paces", "fitted stretches"),
                clean.fitted_clock(lengths, points, ticks, paces, stretches),
                strict=True,
            )
        ),
    }


#: Tables of which no row need add up to one.
WEIGHTS = ("tempos", "fitted ticks", "fitted paces", "fitted stretches")


def check_chances(chances: dict[str, Any]) -> None:
    for name, table in chances.items():
        assert np.isfinite(table).all() and (table >= 0).all(), name
        if name in WEIGHTS:
            assert table.max() == 1.0, name
        else:
            assert np.allclose(table.sum(axis=-1), 1.0), name


@pytest.mark.parametrize("error", [1e-9, 30.0, 1e9])
def test_where_all_is_noise_points_and_ticks_are_moderate(error: float) -> None:
    many = []
    for seed in range(6):
        rng = RNG(seed)
        tables = {stage: laplace(rng, error, table.shape) for stage, table in exact(fleet()).items()}
        chances = all_chances(tables, error)
        check_chances(chances)
        many.append(chances["points"] @ bins.POINTS)
        assert 1 <= clean.last_speed(tables["speeds"], error, 0.0) < bins.N_SPEEDS
    means = np.median(many, axis=0)
    assert (np.diff(means) >= 0).all()
    # A point each 1/160 of the side: some 200 for a trip that goes all around the region.
    side = 1 + int(np.searchsorted(half_octaves(0.01, N_BINS), 1.0))
    assert 100 < means[side] < 400 and means[0] == 2


def test_noise_alone_hardly_ever_makes_thousands_of_points() -> None:
    rng, error = RNG(8), 30.0
    shape = N_BINS, bins.N_POINTS
    means = [clean.clean_points(laplace(rng, error, shape), error)[1][8] @ bins.POINTS for _ in range(150)]
    assert np.quantile(means, 0.97) < 500


@pytest.mark.parametrize("value", [0.0, -5.0])
def test_tables_without_anything_are_chances_too(value: float) -> None:
    tables = {stage: np.full(table.shape, value) for stage, table in exact(fleet()).items()}
    chances = all_chances(tables, 2.0)
    check_chances(chances)
    assert chances["stretches"].tolist() == [float(k == bins.EVEN) for k in range(bins.N_STRETCHES)]
    assert bins.TICKS[chances["ticks"] > 0].min() == 1.0 and bins.TICKS[chances["ticks"] > 0].max() == 300.0
    assert np.allclose(chances["hours"], 1 / bins.HOURS)


def test_exact_tables_come_back() -> None:
    tables = {stage: table / WEIGHT for stage, table in exact(fleet()).items()}
    chances = all_chances(tables, 0.05)
    check_chances(chances)
    lengths = tables["points"].sum(axis=1)
    assert apart(chances["lengths"], lengths) < 0.01
    for name in ("points", "paces"):
        many = tables[name].sum(axis=1) > 100
        for got, table in zip(chances[name][many], tables[name][many], strict=True):
            assert apart(got, table) < 0.03
    assert apart(chances["hours"], tables["departures"]) < 0.01
    for name in ("ticks", "stretches"):
        assert apart(chances[name], tables[name]) < 0.01
    many = tables["gaps"].sum(axis=2) > 100
    assert max(map(apart, chances["gaps"][many], tables["gaps"][many])) < 0.03
    assert apart(chances["variations"], tables["gaps"].sum(axis=(1, 2))) < 0.01
    trips = tables["parts"].sum(axis=0)
    for origin, goal in np.argwhere(trips > 100):
        assert apart(chances["parts"][origin, goal], tables["parts"][:, origin, goal]) < 0.03


def test_noisy_tails_are_cut() -> None:
    """One trip in a hundred with a thousand times the points would be ten times as many points in all."""
    truth = exact(fleet())["points"] / WEIGHT
    lengths = truth.sum(axis=1) / truth.sum()
    wanted = truth.sum(axis=0) @ bins.POINTS / truth.sum()
    for seed in range(5):
        error = 40.0  # of 3000 trips
        _, points = clean.clean_points(truth + laplace(RNG(seed), error, truth.shape), error)
        assert lengths @ points @ bins.POINTS == pytest.approx(wanted, rel=0.3)


@pytest.mark.parametrize("seed", range(3))
def test_noise_leaves_the_usual_tick_and_hours(seed: int) -> None:
    chances = all_chances(noisy_tables(40.0, seed), 40.0)
    check_chances(chances)
    assert [*bins.TICKS[chances["ticks"] > 0.1]] == [15.0, 60.0]
    found = np.argsort(-chances["hours"])[:11]
    truth = exact(fleet())["departures"]
    assert truth[found].sum() > 0.9 * truth.sum()


def test_trips_by_part_of_the_day_add_up_to_the_departures() -> None:
    tables = noisy_tables(5.0, 1)
    hours = clean.clean_departures(tables["departures"], 5.0)
    chances, _ = clean.clean_parts(tables["parts"], hours, 5.0)
    trips = exact(fleet())["parts"].sum(axis=0)
    of_parts = hours.reshape(7, 6, 4).sum(axis=(0, 2))
    assert np.abs((chances * trips).sum(axis=(1, 2)) / trips.sum() - of_parts).max() < 0.02


def test_as_many_trips_depart_in_each_part_as_were_measured() -> None:
    """Trips by where they lead and trips by their speed are right each by themselves, but not together."""
    hours = np.repeat([1.0, 2.0, 6.0, 3.0, 5.0, 2.0] * 7, 4)
    hours /= hours.sum()
    of_parts = hours.reshape(7, 6, 4).sum(axis=(0, 2))
    rng = RNG(5)
    trips, speeds = rng.random(16), rng.random(bins.N_SPEEDS)
    parts, tempos = rng.random((6, 4, 4)), rng.random((6, bins.N_SPEEDS))
    parts[2, :, 0], tempos[2, :9] = 5.0, 4.0  # to one zone, and slowly, in the morning

    def made(tempos: np.ndarray) -> np.ndarray:
        both = parts.reshape(6, 16, 1) * tempos[:, np.newaxis]
        often = np.outer(trips, speeds) / trips.sum() / speeds.sum()
        return (often * both / both.sum(axis=0)).sum(axis=(1, 2))

    assert np.abs(made(tempos) - of_parts).max() > 0.1
    changed = clean.balanced(parts, trips, tempos, speeds, hours)
    assert np.abs(made(changed) - of_parts).max() < 0.003 and changed.max() == 1
    assert np.allclose(changed / tempos, (changed / tempos)[:, :1])  # a factor for each part


def test_jumps_that_stand_out_are_found_at_every_scale() -> None:
    """One kind of jumps that is missing, and all short ones that are more; but noise changes nothing."""
    come = np.append(0.0, np.exp(-(((np.arange(36) - 20) / 5.0) ** 2)))
    come /= come.sum()
    there = come.copy()
    there[21] *= 0.2
    there[8:14] += 0.01
    there /= there.sum()
    found = clean.clean_jumps(20_000 * there + laplace(RNG(0), 60.0, 37), come, 60.0)
    assert apart(found, there) < 0.4 * apart(come, there) and found[0] == 0
    noise = clean.clean_jumps(laplace(RNG(1), 60.0, 37), come, 60.0)
    assert apart(noise, come) < 0.1


def test_no_jump_is_longer_than_those_that_come_unless_it_stands_out() -> None:
    come = np.append(0.0, np.exp(-(((np.arange(36) - 12) / 2.0) ** 2)))
    come /= come.sum()
    noisy = 20_000 * come
    noisy[30:34] = 150.0
    last = int(np.flatnonzero(come > 1e-3)[-1])
    assert not clean.clean_jumps(noisy, come, 60.0)[last + 1 :].any()
    noisy[30:34] = 2000.0
    assert (clean.clean_jumps(noisy, come, 60.0)[30:34] > 0.02).all()


def test_expected_are_the_same_trips_all_day() -> None:
    """Where noise hides the parts, the hours alone say when; no trip is impossible in any part."""
    hours = np.repeat([0.5, 0.1, 1.0, 0.7, 1.0, 0.2] * 7, 4)
    hours /= hours.sum()
    rng = RNG(4)
    trips = np.full((4, 4), 100.0)
    noisy = trips * hours.reshape(7, 6, 4).sum(axis=(0, 2))[:, np.newaxis, np.newaxis] + laplace(
        rng, 500.0, (6, 4, 4)
    )
    chances, _ = clean.clean_parts(noisy, hours, 500.0)
    assert np.abs(chances - hours.reshape(7, 6, 4).sum(axis=(0, 2))[:, np.newaxis, np.newaxis]).max() < 0.2
    assert chances.min() > 0


def test_the_fastest_are_a_bin_or_two_behind_the_last_that_stand_out() -> None:
    speeds = np.zeros(bins.N_SPEEDS)
    speeds[5:12] = 1000.0
    assert clean.last_speed(speeds, 1.0, 7000.0) in (12, 13)
    speeds[20] = 3.0  # noise alone
    assert clean.last_speed(speeds, 1.0, 7000.0) in (12, 13)
    speeds[31] = 50.0
    assert clean.last_speed(speeds, 1.0, 7000.0) == 31
    assert clean.last_speed(0 * speeds, 1.0, 7000.0, 18) == 18  # nothing is known


def test_noise_that_hides_the_fast_slows_nobody_down() -> None:
    """One bin with less than nothing may part slow speeds from fast ones, of which none stands out alone."""
    speeds = np.zeros(bins.N_SPEEDS)
    speeds[4:11], speeds[11], speeds[12:15] = 1000.0, -500.0, 900.0
    assert clean.last_speed(speeds, 300.0, speeds.sum(), 18) == 18
    assert clean.last_speed(speeds, 300.0, 7000.0, 18) in (10, 11, 12)  # of so many, these are all
    assert clean.last_speed(speeds, 300.0, speeds.sum(), 5) in (10, 11, 12)  # and never less than stands out


def slow_clock(points: Any, ticks: Any, paces: Any, stretches: Any) -> tuple[Any, Any, Any]:
    """Find the ticks, durations by length and stretches of trips, drawn by weights, trip by trip."""
    made = np.zeros(bins.N_SECONDS), np.zeros((N_BINS, bins.N_SECONDS)), np.zeros(bins.N_STRETCHES)
    middle = (bins.STRETCHES_FROM + bins.STRETCHES_TO) / 2
    middle[bins.EVEN] = 1.0
    for length, column in np.argwhere(points):
        fewest, beyond = bins.POINTS[column], [*bins.POINTS, bins.POINTS[-1] + 1][column + 1]
        n_some = min(4, beyond - fewest)
        for some in range(n_some):
            n_gaps = int(fewest + (beyond - fewest) * (2 * some + 1) // (2 * n_some)) - 1
            durations = np.outer(n_gaps * bins.TICKS, middle)
            at = np.searchsorted(bins.SECONDS, durations, side="right") - 1
            weights = np.outer(ticks, stretches) * paces[length][at] * (durations <= bins.LONGEST_S)
            if n_gaps < 2:
                weights[:, np.arange(bins.N_STRETCHES) != bins.EVEN] = 0
            weights *= points[length, column] / n_some / weights.sum()
            made[0][:] += weights.sum(axis=1)
            np.add.at(made[1][length], at, weights)
            made[2][:] += weights.sum(axis=0)
    return made


def test_ticks_durations_and_stretches_fit_together() -> None:
    """Trips of a fleet whose long trips tick slowly: all three tables come out as they were."""
    lengths, points = np.zeros(N_BINS), np.zeros((N_BINS, bins.N_POINTS))
    lengths[8:14] = 1 / 6
    for length in range(N_BINS):
        points[length, max(length - 3, 1) : max(length, 2)] = 1
    points /= points.sum(axis=1, keepdims=True)
    ticks, stretches = np.zeros(bins.N_SECONDS), np.array([0.1, 1.0, 0.3, 0.2, 0, 0, 0, 0])
    ticks[[14, 16, 18]] = 0.6, 0.1, 0.3
    hidden = np.exp(-0.1 * (np.arange(bins.N_SECONDS) - 1.3 * np.arange(N_BINS)[:, np.newaxis] - 14) ** 2)
    truth = slow_clock(points * lengths[:, np.newaxis], ticks, hidden, stretches)
    wanted = [table / table.sum() for table in truth]
    paces = truth[1] / np.maximum(truth[1].sum(axis=1, keepdims=True), 1e-12)
    fitted = clean.fitted_clock(lengths, points, wanted[0], paces, wanted[2])
    made = slow_clock(points * lengths[:, np.newaxis], *fitted)
    assert [apart(one, table) < 0.02 for one, table in zip(made, wanted, strict=True)] == [True] * 3
    unfitted = slow_clock(points * lengths[:, np.newaxis], wanted[0], np.maximum(paces, 1e-3), wanted[2])
    assert max(apart(one, table) for one, table in zip(unfitted, wanted, strict=True)) > 0.05


def test_tables_that_contradict_each_other_still_give_weights() -> None:
    lengths, points = np.full(N_BINS, 1 / N_BINS), np.zeros((N_BINS, bins.N_POINTS))
    points[:, 10] = 1.0
    ticks, paces = np.zeros(bins.N_SECONDS), np.zeros((N_BINS, bins.N_SECONDS))
    ticks[40], paces[:, 3] = 1.0, 1.0  # a day between points, and trips of a second
    stretches = np.zeros(bins.N_STRETCHES)
    stretches[7] = 1.0
    for table in clean.fitted_clock(lengths, points, ticks, paces, stretches):
        assert np.isfinite(table).all() and table.max() == 1.0


def test_weights_are_whole_and_what_is_possible_stays_so() -> None:
    weights = clean.in_weights(np.array([1.0, 0.5, 1e-30, 0.0]))
    assert weights.tolist() == [1 << 30, 1 << 29, 1, 0]


def test_rows_that_nobody_filled_are_like_the_nearest_moved_along() -> None:
    table = np.zeros((N_BINS, bins.N_POINTS))
    table[6, 8:10] = 1.0, 3.0
    rows = clean._rows(table)
    assert rows[6, 8:10].tolist() == [0.25, 0.75] and rows[8, 10:12].tolist() == [0.25, 0.75]
    assert (rows[9:, 11] == 1).all()  # twice as many points as were seen, but no more
    assert rows[0, 2:4].tolist() == [0.25, 0.75] and np.allclose(rows.sum(axis=1), 1)


def test_noise_makes_no_long_gaps_where_all_tick_evenly() -> None:
    tables = np.zeros((bins.N_STRETCHES, bins.N_RATIOS))
    tables[bins.EVEN, bins.TICK], tables[bins.EVEN, 36] = 20_000.0, 6 * 200.0  # stands out by chance
    tables[5, bins.TICK], tables[5, bins.TICK + 6] = 3_000.0, 1_200.0  # pauses of eight ticks and more
    chances = clean.clean_pauses(tables, 200.0)
    assert (bins.RATIOS * chances[bins.EVEN]).sum() < bins.STRETCHES_TO[bins.EVEN]
    assert chances[bins.EVEN, bins.TICK] > 0.99
    # What a stretch is long enough for is left as it is.
    assert chances[5, bins.TICK + 6 :].sum() == pytest.approx(1_200 / 4_200, rel=0.1)
