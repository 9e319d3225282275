"""What experiments make of data and fits: stand-ins for fleets, exact points, shuffled times, verdicts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from experiments import data, times

import privtrace as pt
from privtrace.timing import shares


@pytest.fixture(scope="module")
def trips(city: tuple[pt.Trajectories, pt.Region]) -> pt.Trajectories:
    """Give some trips with a point every 15 seconds, as taxis have them."""
    some = city[0][:300]
    since = 15 * (np.arange(some.n_points) - np.repeat(some.offsets[:-1], np.diff(some.offsets)))
    departures = np.datetime64("2024-03-04T08:00:00.000") + 300 * np.arange(len(some)).astype("timedelta64[s]")
    return replace(some, times=np.repeat(departures, np.diff(some.offsets)) + since.astype("timedelta64[s]"))


def apart(trips: pt.Trajectories) -> list[pt.Trajectories]:
    return [trips[t : t + 1] for t in range(len(trips))]


def gaps_s(trips: pt.Trajectories) -> np.ndarray:
    assert trips.times is not None
    return np.concatenate([np.diff(one.times) / np.timedelta64(1, "s") for one in apart(trips)])  # type: ignore[arg-type]


def test_thinned_trips_have_points_a_minute_apart(trips: pt.Trajectories) -> None:
    thin = data.thinned(trips)
    assert set(gaps_s(thin)) == {60.0}
    for real, made in zip(apart(trips), apart(thin), strict=True):
        np.testing.assert_array_equal(made.points, real.points[::4])


def test_irregular_trips_are_where_they_were_at_uneven_moments(trips: pt.Trajectories) -> None:
    made = data.irregular(trips)
    gaps = gaps_s(made)
    assert gaps.min() >= 5 and gaps.max() <= 300 and len(set(gaps)) > 50
    for real, one in zip(apart(trips), apart(made), strict=True):
        assert one.times is not None and real.times is not None
        seconds, others = ((of.times - real.times[0]) / np.timedelta64(1, "s") for of in (real, one))
        assert others[0] == 0 and seconds[-1] - 300 < others[-1] <= seconds[-1]
        for axis in range(2):
            np.testing.assert_allclose(
                one.points[:, axis], np.interp(others, seconds, real.points[:, axis]), atol=1e-9
            )
    again = data.irregular(trips)
    np.testing.assert_array_equal(again.points, made.points)
    # Trips differ in their typical gap, from 8 to 120 seconds, by more than gaps within a trip make them.
    typical = [
        np.median(np.diff(one.times) / np.timedelta64(1, "s")) for one in apart(made) if len(one.points) > 9
    ]  # type: ignore[arg-type]
    assert np.quantile(typical, 0.9) > 2.5 * np.quantile(typical, 0.1)


def test_real_points_are_exact_and_leave_all_other_noise_as_it_was(
    city: tuple[pt.Trajectories, pt.Region],
) -> None:
    trips, region = city[0][:800], city[1]
    synthesizer = pt.BridgeTrace(epsilon=1, region=region, rounds=0)
    noisy = synthesizer.fit(trips, noise=pt.SeededNoise(5))
    with times.real_points():
        exact = synthesizer.fit(trips, noise=pt.SeededNoise(5))
    noiseless = synthesizer.fit(trips, noise=pt.NoNoise())
    for name in ("count", "density", "visits", "moves", "trips", "shapes"):
        np.testing.assert_array_equal(getattr(exact, name), getattr(noisy, name))
    assert exact.timing is not None and noiseless.timing is not None and noisy.timing is not None
    np.testing.assert_array_equal(exact.timing.sampling.points, noiseless.timing.sampling.points)
    assert np.any(exact.timing.sampling.points != noisy.timing.sampling.points)
    seen = exact.timing.sampling.points > 0
    assert exact.timing.sampling.draw_points[seen].all()  # nothing is cut
    assert noisy.release.charges == exact.release.charges
    assert not exact.release.private


def test_shuffled_times_are_those_of_others(trips: pt.Trajectories) -> None:
    made = times.shuffled(trips, 3)
    assert trips.times is not None and made.times is not None
    departures, others = (of.times[of.offsets[:-1]] for of in (trips, made))  # type: ignore[index]
    assert np.any(departures != others)
    np.testing.assert_array_equal(np.sort(departures), np.sort(others))
    np.testing.assert_array_equal(gaps_s(made), gaps_s(trips))


def test_shares_that_are_tried_add_up_and_are_put_back() -> None:
    before = {**shares.OF_POINTS}, {**shares.OF_CLOCK}
    words = []
    for name, settings, divided in times.trials():
        with divided:
            assert sum(shares.OF_POINTS.values()) == sum(shares.OF_CLOCK.values()) == Fraction(1)
            changed = (shares.OF_POINTS, shares.OF_CLOCK) != before
            assert changed or settings or name == "defaults"
            pt.BridgeTrace(epsilon=1, region=pt.Region.box(0, 0, 1, 1), **settings)
        words.append(name)
    assert (shares.OF_POINTS, shares.OF_CLOCK) == before
    assert len(words) == len(set(words))
    assert {name.split("=")[0] for name in words} == {
        "defaults",
        "points_share",
        "clock_share",
        *shares.OF_POINTS,
        *shares.OF_CLOCK,
    }


def result(**changed: Any) -> Any:
    """Make a result that meets every target, but for what is changed."""
    names = (*times.MOST, *times.OVER_ALONE, *times.HOURLY, "departure", "departure_day", "pattern")
    values = {
        "measured": dict.fromkeys(names, 0.01),
        "real_points": {"pattern": 0.01},
        "alone": dict.fromkeys(names, 0.01),
        "shuffled": dict.fromkeys(names, 0.02),
        "limit": dict.fromkeys(names, 0.002),
        "baseline": {"departure_day": 0.02},
        "real_shuffled": dict.fromkeys(names, 0.005),
    }
    for name, (metric, value) in changed.items():
        values[name] = {**values[name], metric: value}
    return SimpleNamespace(given=SimpleNamespace(name="porto"), **values)


@pytest.mark.parametrize(
    ("cells", "changed"),
    [
        ("pattern_cells", {"measured": ("pattern", 0.34), "real_points": ("pattern", 0.4)}),
        ("pattern_cells", {"measured": ("pattern", 0.0111)}),
        ("timing_cells", {"measured": ("jump", 0.051)}),
        ("timing_cells", {"measured": ("points", 0.021)}),
        ("timing_cells", {"measured": ("departure", 0.0101)}),
        ("line_cells", {"measured": ("density", 0.0111)}),
        ("line_cells", {"measured": ("length", 0.0126)}),
        ("hour_cells", {"measured": ("hourly_od", 0.02)}),
        ("hour_cells", {"measured": ("hourly_od", 0.0211), "real_shuffled": ("hourly_od", 0.003)}),
        ("small_cells", {"measured": ("departure_day", 0.0101)}),
        ("small_cells", {"measured": ("jump", 0.0101)}),
    ],
)
def test_a_target_that_is_missed_is_marked(cells: str, changed: dict[str, Any]) -> None:
    verdicts, others = ("".join(getattr(times, cells)(given)) for given in (result(), result(**changed)))
    assert "✓" in verdicts and "✗" not in verdicts
    assert others.count("✗") == 1


def test_what_is_no_worse_with_shuffled_times_is_enough_where_they_cost_nothing() -> None:
    cheap = result(measured=("hourly_od", 0.0205), real_shuffled=("hourly_od", 0.003))
    assert "✗" not in "".join(times.hour_cells(cheap))
    assert "".join(times.timing_cells(result(measured=("jump", np.nan)))).count("✓") == len(times.MOST)
