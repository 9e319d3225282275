"""How trips along lines are reported: numbers of points, gaps and ticks as measured, and within all limits."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from tests.timing.fleet import REGION, apart, ends, even, exact, fleet, released, straight

import privtrace as pt
from privtrace.privacy.unit import WEIGHT
from privtrace.timing import bins
from privtrace.timing.draw import N_QUANTILES, Placed, quantiles
from privtrace.timing.model import Timing

SEED = 5


def split(placed: Placed) -> list[tuple[np.ndarray, np.ndarray]]:
    """List the points and seconds of each trip."""
    return [(placed.points[a:b], placed.seconds[a:b]) for a, b in pairwise(placed.offsets)]


def as_trajectories(placed: Placed, timing: Timing) -> pt.Trajectories:
    return pt.Trajectories(placed.points, placed.offsets, timing.times(placed, 0, SEED), crs="planar")


def test_a_trip_is_the_same_in_any_block() -> None:
    timing, lines = released(), straight([10.0, 500.0, 3000.0, 9000.0, 30_000.0] * 8)
    whole = timing.on_lines(lines, 7, SEED)
    for size in (1, 3, 40):
        blocks = [timing.on_lines(lines[first : first + size], 7 + first, SEED) for first in range(0, 40, size)]
        assert np.array_equal(np.concatenate([block.points for block in blocks]), whole.points)
        assert np.array_equal(np.concatenate([block.seconds for block in blocks]), whole.seconds)
    times = timing.times(whole, 7, SEED)
    part = Placed(
        whole.points[whole.offsets[30] :],
        whole.offsets[30:] - whole.offsets[30],
        whole.seconds[whole.offsets[30] :],
    )
    assert np.array_equal(timing.times(part, 37, SEED), times[whole.offsets[30] :])
    assert not np.array_equal(timing.on_lines(lines, 8, SEED).seconds[:50], whole.seconds[:50])
    assert not np.array_equal(timing.on_lines(lines, 7, SEED + 1).seconds[:50], whole.seconds[:50])


@pytest.mark.parametrize("length", [60.0, 700.0, 4000.0])
def test_the_number_of_points_follows_the_row_of_the_length(length: float) -> None:
    timing = released()
    placed = timing.on_lines(straight([length] * 3000), 0, SEED)
    row = bins.bin_of(length, timing.draws.edges)
    found = np.searchsorted(bins.POINTS, np.diff(placed.offsets), side="right") - 1
    assert apart(np.bincount(found, minlength=bins.N_POINTS), timing.sampling.draw_points[row]) < 0.04


def test_numbers_within_a_bin_grow_with_the_length() -> None:
    """The spacing of points is what trips of all lengths share."""
    tables = even()
    tables["points"][:] = 0
    tables["points"][:, 12] = 100 * WEIGHT  # 91 to 127 points, whatever the length
    timing = released(tables)
    low, high = timing.draws.edges[10], timing.draws.edges[11]
    numbers = [
        np.diff(timing.on_lines(straight([low + share * (high - low)] * 400), 0, SEED).offsets)
        for share in (0.3, 0.5, 0.7)
    ]
    assert [91 <= some.min() and some.max() < 128 for some in numbers] == [True] * 3
    assert numbers[0].mean() + 4 < numbers[1].mean() < numbers[2].mean() - 4


def test_what_is_made_of_the_fleet_measures_like_the_fleet() -> None:
    timing = released()
    made = as_trajectories(timing.on_lines(ends(fleet()), 0, SEED), timing)
    found, wanted = exact(made), exact(fleet())
    limits = {
        "points": 0.12,
        "gaps": 0.25,
        "jumps": 0.05,
        "departures": 0.06,
        "ticks": 0.05,
        "stretches": 0.06,
        "paces": 0.15,
        "pauses": 0.1,
        "speeds": 0.15,
        "parts": 0.25,
        "tempos": 0.15,
    }
    for stage, limit in limits.items():
        assert apart(found[stage], wanted[stage]) < limit, stage
    still = [table["gaps"][..., 0].sum() / table["gaps"].sum() for table in (found, wanted)]
    assert still[1] > 0.05 and still[0] == pytest.approx(still[1], rel=0.3)
    steps = np.delete(np.abs(np.diff(made.points[:, 0])), made.offsets[1:-1] - 1)
    assert np.mean(steps == 0) > 0.05  # standing still, not creeping


def test_points_are_as_far_apart_as_was_measured() -> None:
    """Two speeds that all trips share are blurred by bins of lengths and points, but not by those of jumps."""
    rng = np.random.default_rng(0)
    legs = [np.where(rng.random(40) < slow, 60.0, 240.0) for slow in rng.uniform(0.1, 0.9, 2000)]
    offsets = 41 * np.arange(2001)
    along = np.concatenate([np.append(0.0, np.cumsum(leg)) for leg in legs])
    times = np.datetime64("2024-01-01", "ms") + (15_000 * np.arange(len(along))).astype("timedelta64[ms]")
    trips = pt.Trajectories(np.stack([along, 0 * along + 5000.0], axis=1), offsets, times, crs="planar")
    tables = exact(trips)
    steps = []
    for some in (tables, {**tables, "jumps": 0 * tables["jumps"]}):
        placed = released(some).on_lines(ends(trips), 0, SEED)
        steps.append(np.delete(np.abs(np.diff(placed.points[:, 0])), placed.offsets[1:-1] - 1))
    between = [np.mean((some > 85) & (some < 170)) for some in steps]
    assert between[0] < 0.15 and between[1] > 2 * between[0]
    assert [some.sum() for some in steps] == pytest.approx([along[offsets[1:] - 1].sum()] * 2)


def test_points_lie_on_the_line_from_its_start_to_its_end() -> None:
    lines = straight([1000.0, 20_000.0] * 50)
    for line, (points, seconds) in zip(lines.cut(1), split(released().on_lines(lines, 0, SEED)), strict=False):
        assert np.array_equal(points[0], line.points[0])
        if len(points) > 1:
            assert np.array_equal(points[-1], line.points[-1])
        assert (points[:, 1] == 5000.0).all() and (np.diff(seconds) > 0).all()


def test_nobody_is_faster_than_the_fastest() -> None:
    """Also not on lines that are much longer than any that were measured."""
    timing = released()
    assert 12 * 1.3 <= timing.fastest < 80
    for every_s in (0.0, 15.0):
        timing = released(every_s=every_s)
        placed = timing.on_lines(straight([3000.0, 30_000.0, 100_000.0] * 100), 0, SEED)
        for points, seconds in split(placed):
            meters = np.abs(np.diff(points[:, 0]))
            assert (meters <= timing.fastest * np.diff(seconds) * (1 + 1e-9)).all()


def slow_trips(fewest_bin: int, tick_bin: int) -> dict[str, np.ndarray]:
    """Let all trips have as few points and as short ticks, and crawl."""
    tables = even()
    for stage in ("points", "ticks", "speeds"):
        tables[stage][:] = 0
    tables["points"][:, fewest_bin], tables["ticks"][tick_bin], tables["speeds"][:5] = (
        100 * WEIGHT,
        1000 * WEIGHT,
        200 * WEIGHT,
    )
    return tables


@pytest.mark.parametrize(("points_bin", "tick_bin"), [(1, 14), (3, 0), (8, 6)])
def test_a_trip_that_is_too_fast_takes_longer(points_bin: int, tick_bin: int) -> None:
    timing = released(slow_trips(points_bin, tick_bin))
    assert timing.fastest < 1.0
    for points, seconds in split(timing.on_lines(straight([9000.0] * 30), 0, SEED)):
        assert seconds[-1] >= 9000.0 / timing.fastest
        meters = np.abs(np.diff(points[:, 0]))
        assert (meters <= timing.fastest * np.diff(seconds) * (1 + 1e-9)).all()


def test_public_ticks_are_kept_exactly() -> None:
    """Whoever would be too fast has more points, but no more than anybody."""
    for tables in (None, slow_trips(3, 14)):
        timing = released(tables, every_s=7.5)
        placed = timing.on_lines(straight([100.0, 4000.0, 60_000.0, 600_000.0] * 30), 0, SEED)
        for _, seconds in split(placed):
            assert np.array_equal(seconds, 7.5 * np.arange(len(seconds)))
        # The longest would need even more: they are too fast, and tick as all others do.
        n_points = np.diff(placed.offsets).reshape(-1, 4)
        assert (n_points[:, 3] == timing.most_points).all() and n_points[:, :3].max() < timing.most_points
        assert np.diff(timing.times(placed, 0, SEED)).astype(int).max() >= 7500


def test_no_trip_takes_longer_than_a_week() -> None:
    """Whatever tables say: days between points, and many of these."""
    tables = even()
    tables["points"][:], tables["ticks"][:] = 0, 0
    tables["points"][:, 14], tables["ticks"][40] = 100 * WEIGHT, 1000 * WEIGHT
    for _, seconds in split(released(tables).on_lines(straight([100.0, 5000.0] * 40), 0, SEED)):
        assert len(seconds) >= 182 and 1.0 < seconds[-1] <= bins.LONGEST_S and (np.diff(seconds) >= 1.0).all()


def test_trips_of_a_place_and_of_a_point() -> None:
    nowhere = pt.Trajectories(np.full((6, 2), 777.0), np.array([0, 1, 3, 3, 6]), crs="planar")
    for points, seconds in split(released().on_lines(nowhere, 0, SEED)):
        assert (points == 777.0).all() and (np.diff(seconds) > 0).all()
    placed = released().on_lines(nowhere, 0, SEED)
    assert placed.offsets[2] == placed.offsets[3]  # no line, no points
    tables = even()
    tables["points"][:] = 0
    tables["points"][:, 0] = 100 * WEIGHT
    single = released(tables)
    placed = single.on_lines(straight([10.0, 9000.0]), 0, SEED)
    assert placed.offsets.tolist() == [0, 1, 2] and placed.seconds.tolist() == [0.0, 0.0]
    assert single.times(placed, 0, SEED).dtype == "datetime64[ms]"


def test_without_a_clock_points_have_no_seconds() -> None:
    timing = released()
    bare = Timing(REGION, timing.sampling)
    placed = bare.on_lines(straight([3000.0] * 500), 0, SEED)
    assert len(placed.seconds) == 0
    timed = timing.on_lines(straight([3000.0] * 500), 0, SEED)
    assert np.array_equal(placed.offsets, timed.offsets)  # as many points, times or not


def test_quantiles_are_those_of_the_distribution() -> None:
    lower, upper = np.array([0.0, 1.0, 5.0]), np.array([0.0, 2.0, 9.0])
    values = quantiles(np.array([1, 2, 1]), lower, upper)
    assert len(values) == N_QUANTILES and (np.diff(values) >= 0).all()
    assert (values == 0).sum() == N_QUANTILES // 4 and (values >= 5).sum() == N_QUANTILES // 4
    assert values[N_QUANTILES // 2] == pytest.approx(1.5, abs=0.01)
    assert quantiles(np.array([0, 7, 0]), lower, upper).max() < 2.0


def test_most_points_bound_all() -> None:
    timing = released()
    placed = timing.on_lines(straight([100.0, 9000.0, 90_000.0, 900_000.0] * 200), 0, SEED)
    assert np.diff(placed.offsets).max() <= timing.most_points
