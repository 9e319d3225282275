"""BridgeTrace: walks that arrive, points as far apart as asked, and refusing what is not sound."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import shapely
from scipy import stats
from tests import polygons
from tests.conftest import trajectories
from tests.counting import lists
from tests.test_models import put_together, taken_apart

import privtrace as pt
from privtrace.geometry import diameters_m, lengths_m
from privtrace.methods.bridgetrace.model import SCHEMA, BridgeTraceModel
from privtrace.models import from_bytes, to_bytes
from privtrace.privacy.unit import WEIGHT
from privtrace.space.clip import clip
from privtrace.testing.data import timed_wanderers
from privtrace.timing.shares import BY_TICK, OF_CLOCK

#: The stages of times that are measured where the tick is public, and their share.
UNKNOWN = [stage for stage in OF_CLOCK if stage not in BY_TICK]
UNKNOWN_SHARE = sum(OF_CLOCK[stage] for stage in UNKNOWN)


@pytest.fixture(scope="module")
def noiseless(wanderers: pt.Trajectories, region: pt.Region) -> BridgeTraceModel:
    settings = pt.BridgeTrace(epsilon=1, region=region, K=4, cell_factor=2.0, zone_factor=1.0)
    return settings.fit(wanderers, noise=pt.NoNoise())


def banks(seed: int, wanderers: pt.Trajectories, **settings: Any) -> BridgeTraceModel:
    """Fit wanderers on two banks of a river that nothing crosses."""
    river = polygons.region("two banks")
    synthesizer = pt.BridgeTrace(region=river, K=4, rounds=1, zone_factor=0.3, **settings)
    return synthesizer.fit(wanderers, noise=pt.SeededNoise(seed))


def test_without_noise_trips_are_the_empirical_ones(
    noiseless: BridgeTraceModel, wanderers: pt.Trajectories
) -> None:
    paths = [path for path in lists(noiseless.encode(clip(wanderers, noiseless.release.region))) if path]
    trips = np.zeros_like(noiseless.trips)
    for path in paths:
        trips[noiseless.zones[path[0]], noiseless.zones[path[-1]]] += WEIGHT
    assert len(trips) > 4 and np.array_equal(noiseless.trips, trips)
    assert noiseless.shapes.sum() == trips.sum() == noiseless.count == len(paths) * WEIGHT
    assert len(paths) * WEIGHT * 0.999 < noiseless.moves.sum() <= len(paths) * WEIGHT


def test_walks_arrive_where_their_trip_leads(noiseless: BridgeTraceModel) -> None:
    """Trips of walks are as frequent as the model draws them: none is lost on its way."""
    paths, n_capped = noiseless.walk(range(20_000), seed=3)
    assert n_capped == 0
    made = np.zeros(noiseless.trips.shape)
    ends = noiseless.zones[paths.cells[paths.offsets[:-1]]], noiseless.zones[paths.cells[paths.offsets[1:] - 1]]
    np.add.at(made, ends, 1)
    expected = noiseless.walk_trips / noiseless.walk_trips.sum() * len(paths.offsets[1:])
    assert expected.min() > 5 and stats.chisquare(made.ravel(), expected.ravel()).pvalue > 1e-4


@pytest.mark.parametrize("shape", [None, "mixed 1", "frame"])
def test_walks_go_over_shared_sides(shape: str | None, wanderers: pt.Trajectories, region: pt.Region) -> None:
    area = region if shape is None else polygons.region(shape)
    model = pt.BridgeTrace(epsilon=2, region=area, K=4, rounds=1).fit(wanderers, noise=pt.SeededNoise(2))
    west, south, east, north = model.grid.boxes.T
    paths = lists(model.walk(range(500), seed=1)[0])
    assert max(map(len, paths)) > 5
    for here, there in {move for path in paths for move in pairwise(path)}:
        across = min(east[here], east[there]) - max(west[here], west[there])
        up = min(north[here], north[there]) - max(south[here], south[there])
        assert max(across, up) > 0 and min(across, up) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("shape", ["mixed 1", "frame", "diamond"])
def test_points_lie_in_a_polygon(shape: str, wanderers: pt.Trajectories) -> None:
    settings = pt.BridgeTrace(epsilon=2, region=polygons.region(shape), K=4, rounds=0)
    model = settings.fit(wanderers, noise=pt.SeededNoise(1))
    points = model.sample(1000, seed=4).points
    assert len(points) > 5000
    assert shapely.dwithin(polygons.oracle(shape), shapely.points(points), 1e-9).all()


@pytest.mark.parametrize("seed", range(3))
def test_no_walk_crosses_where_no_way_leads(seed: int, wanderers: pt.Trajectories) -> None:
    """With noise on every trip, also those from bank to bank."""
    model = banks(seed, wanderers, epsilon=1)
    assert not model.space.joined.all() and np.any(model.trips[~model.space.joined] > 0)
    made = model.sample(1000, seed=1)
    north = made.points[:, 1] > 5
    assert np.array_equal(np.minimum.reduceat(north, made.offsets[:-1]), north[made.offsets[:-1]])
    assert np.array_equal(np.maximum.reduceat(north, made.offsets[:-1]), north[made.offsets[:-1]])
    assert 0 < north.sum() < len(north)


def test_cells_that_meet_at_corners_alone(wanderers: pt.Trajectories) -> None:
    """Where no two cells share a side, every walk stays in its cell."""
    area = polygons.region("two squares at a corner")
    settings = pt.BridgeTrace(epsilon=1, region=area, K=1, cell_factor=1e6)
    model = from_bytes(to_bytes(settings.fit(wanderers, noise=pt.SeededNoise(1))))
    assert isinstance(model, BridgeTraceModel) and model.space.steps.n_links == 0
    paths, _ = model.walk(range(200), 1)
    assert np.diff(paths.offsets).tolist() == [1] * 200 and {*paths.cells} == {0, 1}
    assert len(model.view().moves[0].weights) == 0


@pytest.mark.parametrize("spacing", [30.0, 100.0, None])
def test_points_are_as_far_apart_as_asked(spacing: float | None, wanderers: pt.Trajectories) -> None:
    """In meters, along the line; where points are not measured, a default follows from the region alone."""
    trips = pt.Trajectories(wanderers.points / 100 + [8, 41], wanderers.offsets, crs="lonlat")
    region = pt.Region.box(8, 41, 8.1, 41.1).for_data("lonlat")
    settings = pt.BridgeTrace(epsilon=4, region=region, rounds=1, spacing=spacing, sampling=False)
    model = settings.fit(trips, noise=pt.SeededNoise(1))
    made = model.sample(1000, seed=1)
    lengths = lengths_m(made.points * region.scale_m, made.offsets)
    asked = spacing or min(region.width_m, region.height_m) / 160
    long = lengths > 10 * asked
    assert long.sum() > 300
    gaps = np.diff(made.offsets)[long] - 1
    assert lengths[long].sum() / gaps.sum() == pytest.approx(asked, rel=0.05)
    assert np.diff(made.offsets).min() >= 2


@pytest.mark.parametrize("settings", [{"spacing": 0.2}, {"times": False}, {"times": True}], ids=str)
@pytest.mark.parametrize("shape", [None, "mixed 1", "two banks", "two squares at a corner"])
def test_samples_are_the_points_on_the_lines_of_walks(
    shape: str | None, settings: dict[str, Any], region: pt.Region
) -> None:
    """Sampling draws each line once, and comes to what `walk` and `place` come to one after the other."""
    area = region if shape is None else polygons.region(shape)
    model = pt.BridgeTrace(epsilon=2, region=area, K=2, rounds=1, **settings).fit(
        timed_wanderers(), noise=pt.SeededNoise(2)
    )
    for numbers in (range(0, 500), range(77, 79), range(5, 5)):
        made, n_capped = model.sample_block(numbers, 9)
        placed = model.place(model.walk(numbers, 9)[0], numbers.start, 9)
        assert np.array_equal(made.points, placed.points) and np.array_equal(made.offsets, placed.offsets)
        assert (made.crs, made.about, n_capped) == (placed.crs, model.about, 0)
        assert made.crs == model.release.crs == "planar"
        if settings.get("times"):
            assert made.times is not None and made.zone == placed.zone == "Europe/Lisbon"
            assert np.array_equal(made.times, placed.times)
        else:
            assert made.times is None and placed.times is None


def test_a_spacing_changes_points_and_not_walks(wanderers: pt.Trajectories, region: pt.Region) -> None:
    one, two = (
        pt.BridgeTrace(epsilon=1, region=region, rounds=1, spacing=spacing).fit(
            wanderers, noise=pt.SeededNoise(1)
        )
        for spacing in (0.05, 0.5)
    )
    assert np.array_equal(one.walk(range(300), 1)[0].cells, two.walk(range(300), 1)[0].cells)
    assert one.sample(300, seed=1).n_points > 4 * two.sample(300, seed=1).n_points


def test_trips_within_a_cell_are_kept(region: pt.Region) -> None:
    """Where the data stays in its cell, most walks do, and few come far."""
    rng = np.random.default_rng(1)
    places = rng.uniform(0.2, 9.6, (500, 1, 2)) + rng.uniform(0, 0.05, (500, 3, 2))
    still = pt.Trajectories(places.reshape(-1, 2), np.arange(501) * 3, crs="planar")
    model = pt.BridgeTrace(epsilon=1, region=region, K=4).fit(still, noise=pt.NoNoise())
    assert np.mean(np.diff(model.encode(clip(still, model.release.region)).offsets) == 1) > 0.9
    assert np.mean(np.diff(model.walk(range(2000), 1)[0].offsets) == 1) > 0.6
    made = model.sample(2000, seed=1)
    assert np.median(diameters_m(made.points, made.offsets)) < 0.6


def test_lengths_and_diameters_follow_the_measured_ones(
    noiseless: BridgeTraceModel, wanderers: pt.Trajectories, region: pt.Region
) -> None:
    inside = noiseless.encode(clip(wanderers, noiseless.release.region))
    kept = wanderers.take(np.flatnonzero(np.diff(inside.offsets) > 0))
    made = noiseless.sample(3000, seed=1)
    result = pt.evaluate(kept, made, region=region).to_dict()["metrics"]
    assert result["length"]["value"] < 0.1 and result["diameter"]["value"] < 0.1


def test_the_same_on_any_number_of_threads(wanderers: pt.Trajectories, region: pt.Region) -> None:
    """With all rounds: also the walks that calibration makes."""
    settings = pt.BridgeTrace(epsilon=1, region=region)
    one, four = (
        settings.fit(wanderers, noise=pt.SeededNoise(7), backend=pt.Threads(n_threads)) for n_threads in (1, 4)
    )
    assert to_bytes(one) == to_bytes(four)
    many = one.sample(9000, seed=3, backend=pt.Threads(1))
    few = four.sample(5000, seed=3, backend=pt.Threads(4))
    assert np.array_equal(many[:5000].points, few.points)


@pytest.mark.parametrize("sampling", [False, True])
def test_a_retraced_trajectory_keeps_its_ends_about(
    sampling: bool, noiseless: BridgeTraceModel, wanderers: pt.Trajectories, region: pt.Region
) -> None:
    """But for one that is reported by one point, which is about where it starts."""
    if not sampling:
        evenly = pt.BridgeTrace(epsilon=1, region=region, K=4, rounds=0, sampling=False)
        noiseless = evenly.fit(wanderers, noise=pt.NoNoise())
    part = wanderers[:200]
    paths, back = (
        lists(noiseless.encode(clip(part, noiseless.release.region))),
        noiseless.retrace(clip(part, noiseless.release.region), 0, seed=1),
    )
    assert [len(path) > 0 for path in paths] == (np.diff(back.offsets) > 0).tolist()
    for path, first, last in zip(paths, back.offsets[:-1], back.offsets[1:], strict=True):
        if path:
            ends = [(path[0], back.points[first]), (path[-1], back.points[last - 1])]
            assert last - first > 1 or sampling
            for cell, point in ends if last - first > 1 else ends[:1]:
                west, south, east, north = noiseless.grid.boxes[cell]
                assert west <= point[0] <= east and south <= point[1] <= north


@pytest.mark.parametrize("epsilon", ["0.001", "1000"])
@pytest.mark.parametrize("source", ["wanderers", "nothing"])
def test_budgets_of_all_sizes(epsilon: str, source: str, wanderers: pt.Trajectories, region: pt.Region) -> None:
    data = wanderers if source == "wanderers" else trajectories()
    model = pt.BridgeTrace(epsilon=epsilon, region=region, rounds=1, max_states=400).fit(
        data, noise=pt.SeededNoise(1)
    )
    points = model.sample(100, seed=1).points
    assert points.min() >= 0 and points.max() <= 10 and model.grid.n_cells <= 400


def test_the_budget_is_divided_exactly(region: pt.Region) -> None:
    budget = pt.BridgeTrace(epsilon="0.7", region=region, sampling=False).budget
    assert sum(budget.values()) == Fraction(7, 10)
    assert [*budget] == ["count", "density", "visits", "moves", "trips", "shapes"]
    declared = pt.BridgeTrace(epsilon="0.7", region=region, sampling=False, public_count=9).budget
    assert declared["density"] == budget["count"] + budget["density"] and "count" not in declared


@pytest.mark.parametrize(
    ("settings", "stages", "spent"),
    [
        ({"times": False}, ["points", "gaps", "jumps"], Fraction("0.04")),
        ({"times": True}, ["points", "gaps", "jumps", *OF_CLOCK], Fraction("0.14")),
        # Open: what a table with times leads to.
        ({}, ["points", "gaps", "jumps", *OF_CLOCK], Fraction("0.14")),
        # What is not measured where the tick is public is left to the method.
        ({"every": "15s"}, ["points", "gaps", "jumps", *UNKNOWN], Fraction("0.04") + UNKNOWN_SHARE / 10),
        ({"times": True, "clock_share": "0.2"}, ["points", "gaps", "jumps", *OF_CLOCK], Fraction("0.24")),
    ],
    ids=["points", "times", "open", "every", "more"],
)
def test_points_and_times_come_first_and_the_rest_is_divided_as_ever(
    settings: dict[str, Any], stages: list[str], spent: Fraction, region: pt.Region
) -> None:
    shares = {"points_share": "0.04", "clock_share": "0.1", **settings}
    budget = pt.BridgeTrace(epsilon="0.7", region=region, **shares).budget
    assert sum(budget.values()) == Fraction(7, 10)
    assert [*budget] == [*stages, "count", "density", "visits", "moves", "trips", "shapes"]
    assert sum(budget[stage] for stage in stages) == spent * Fraction(7, 10)
    alone = pt.BridgeTrace(epsilon="0.7", region=region, sampling=False).budget
    assert {stage: budget[stage] for stage in alone} == {
        stage: share * (1 - spent) for stage, share in alone.items()
    }


def test_sizes_follow_the_noise_of_the_unit(region: pt.Region) -> None:
    """Five trajectories of a user make noise five times as large, like a fifth of epsilon."""
    users = pt.BridgeTrace(epsilon=1, region=region, unit="user", max_per_user=5).plan(90_000)
    fifth = pt.BridgeTrace(epsilon="0.2", region=region).plan(90_000)
    assert (users.coarse_per_side, users.states, users.grid) == (
        fifth.coarse_per_side,
        fifth.states,
        fifth.grid,
    )


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"K": 3},
        {"public_count": 600},
        {"max_states": 16},
        {"sampling": False},
        {"times": False},
        {"times": True, "K": 3},
        {"every": "15s", "K": 3},
    ],
    ids=str,
)
def test_plans_say_what_a_fit_gives(settings: dict[str, Any], region: pt.Region) -> None:
    """To a table with times, where nothing is said of them."""
    synthesizer = pt.BridgeTrace(epsilon=2, region=region, rounds=0, **settings)
    plan, model = synthesizer.plan(600), synthesizer.fit(timed_wanderers(), noise=pt.SeededNoise(4))
    charges, sizes = model.release.charges, model.summary()
    assert [(stage.stage, stage.epsilon) for stage in plan.stages] == [(c.stage, c.epsilon) for c in charges]
    assert [stage.scale for stage in plan.stages] == [c.scale_in_trajectories for c in charges]
    assert plan.coarse_per_side == sizes["coarse cells per side"]
    assert 0.5 * plan.states <= sizes["states"] <= 2 * plan.states
    assert f"{plan.states:,} states" in plan.grid and "zones" in plan.grid
    assert ("max_states" in " ".join(plan.warnings)) == ("max_states" in settings)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"K": 0}, r"K\) must be a whole number from 1 to 200"),
        ({"K": 2.5}, r"K\) must be a whole number"),
        ({"K": True}, r"K\) must be a whole number"),
        ({"K": 100}, r"make at least 40,000 states, but --max-states \(max_states\) allows 20,000"),
        ({"K": 3, "max_states": 16}, "set fewer cells or more states"),
        ({"max_states": 15}, r"max_states\) must be a whole number from 16"),
        ({"max_states": 10**6}, r"max_states\) must be"),
        ({"max_zones": 0}, r"max_zones\) must be a whole number from 1"),
        ({"rounds": -1}, r"rounds\) must be a whole number from 0"),
        ({"rounds": None}, r"rounds\) must be"),
        ({"cell_factor": 0}, r"cell_factor\) must be a positive"),
        ({"coarse_factor": None}, r"coarse_factor\) must be a positive"),
        ({"zone_factor": "2"}, r"zone_factor\) must be a positive"),
        ({"spacing": 0}, r"spacing\) must be a positive"),
        ({"spacing": -5}, r"spacing\) must be a positive"),
        ({"spacing": float("nan")}, r"spacing\) must be a positive"),
        ({"trips_share": "0.6"}, "shares of density, visits, moves, trips and shapes must add up to exactly 1"),
        ({"count_share": "0.5"}, "must be smaller"),
        ({"shapes_share": "0"}, r"shapes_share\) must be a positive"),
        ({"spacing": 5, "sampling": True}, r"but --sampling \(sampling\) measures it; leave one"),
        ({"spacing": 5, "times": True}, r"but --times \(times\) measures it; leave one"),
        ({"spacing": 5, "every": "15s"}, r"--every \(every\) needs times"),
        ({"sampling": False, "times": True}, "times need measured points"),
        ({"sampling": False, "every": "15s"}, r"--every \(every\) needs times"),
    ],
)
def test_bad_settings_are_refused_in_words(settings: dict[str, Any], word: str, region: pt.Region) -> None:
    with pytest.raises(pt.SettingsError, match=word):
        pt.BridgeTrace(**{"epsilon": 1, "region": region, **settings})


@pytest.fixture(scope="module")
def content(wanderers: pt.Trajectories) -> bytes:
    return to_bytes(banks(1, wanderers, epsilon=4))


#: What can be wrong with any array of a file.
DAMAGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "nothing": lambda array: array[:0],
    "a row less": lambda array: array[:-1],
    "a row more": lambda array: np.concatenate([array, array[-1:]]),
    "too large": lambda array: np.where(np.arange(array.size).reshape(array.shape), array, _most(array)),
    "too small": lambda array: np.where(np.arange(array.size).reshape(array.shape), array, -_most(array)),
    "all too large": lambda array: np.full_like(array, np.iinfo(array.dtype).max),
    "all too small": lambda array: np.full_like(array, np.iinfo(array.dtype).min),
}


def _most(array: np.ndarray) -> int:
    """Give the first number beyond what a ledger can give, or the largest there is."""
    return min((1 << 60) + 1, int(np.iinfo(array.dtype).max))


def refuse(header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    for entry in header["arrays"]:
        entry[2] = list(arrays[entry[0]].shape)
    with pytest.raises(pt.ModelFormatError):
        from_bytes(put_together(header, arrays))


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_arrays_are_refused(damage: str, content: bytes) -> None:
    for name in SCHEMA:
        header, arrays = taken_apart(content)
        assert put_together(header, arrays) == content
        arrays[name] = DAMAGES[damage](arrays[name]).astype(arrays[name].dtype)
        refuse(header, arrays)


@pytest.mark.parametrize("name", [name for name in SCHEMA if name.startswith("walk_")])
@pytest.mark.parametrize("value", [0, -1, (1 << 30) + 1])
def test_weights_that_no_walk_could_go_by_are_refused(name: str, value: int, content: bytes) -> None:
    header, arrays = taken_apart(content)
    place = np.flatnonzero(arrays[name])[0]
    arrays[name].reshape(-1)[place] = value
    refuse(header, arrays)


def test_trips_from_bank_to_bank_are_refused(content: bytes) -> None:
    header, arrays = taken_apart(content)
    arrays["walk_trips"][arrays["walk_trips"] == 0] = 1
    refuse(header, arrays)


@pytest.mark.parametrize(
    "change",
    [
        {"K": 5},
        {"K": None},
        {"K": 4.0},
        {"max_states": 16},
        {"max_zones": 1},
        {"rounds": 1.0},
        {"cell_factor": 16},
        {"spacing": 0.0},
        {"spacing": "1"},
        {"trips_share": "0.2"},
        {"host": "here"},
    ],
    ids=str,
)
def test_other_settings_are_refused(change: dict[str, Any], content: bytes) -> None:
    header, arrays = taken_apart(content)
    if change == {"K": None}:  # by rule, there are never so many
        change = {"K": None, "max_states": 36}
    header["settings"].update(change)
    refuse(header, arrays)


def test_zones_that_leave_one_out_are_refused(content: bytes) -> None:
    header, arrays = taken_apart(content)
    arrays["zones"][arrays["zones"] == 1] = 0
    refuse(header, arrays)


@pytest.mark.parametrize("value", [1 << 60, -(1 << 60), 0])
def test_the_largest_numbers_of_a_sound_file_are_shown_and_walked_on(content: bytes, value: int) -> None:
    header, arrays = taken_apart(content)
    for name in ("visits", "moves", "trips", "shapes"):
        arrays[name].fill(value)
    arrays["density"][arrays["density"] != 0] = value
    for name in ("walk_starts", "walk_moves", "walk_levels", "walk_kept"):
        arrays[name].fill(1 if value < 0 else 1 << 30)
    model = from_bytes(put_together(header, arrays))
    made = model.sample(300, seed=1)
    assert len(made) == 300 and made.points.min() >= 0 and made.points.max() <= 10
    assert np.isfinite(model.view().layers[1].visits.values).all()
