"""The reference: limit, baseline and intervals are what they say, and chance comes from the seed alone."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import shapely
from tests import polygons

import privtrace as pt
from privtrace.evaluation import comparison as module
from privtrace.evaluation import octaves
from privtrace.evaluation.comparison import Comparison
from privtrace.evaluation.frame import BASELINE, SPLITS, Frame, Unclipped
from privtrace.evaluation.measured import MeasuredSet
from privtrace.evaluation.metric import Metric, Profile
from privtrace.evaluation.reference import Reference
from privtrace.evaluation.traits import Traits
from privtrace.testing.data import Cut

#: These compare random subsets of the sets they are given.
BY_LOT = {"density_short", "density_long", "pattern_short", "pattern_long", "next_cell", "travel_time"}


@pytest.fixture(scope="module")
def synthetic(wanderers: pt.Trajectories) -> pt.Trajectories:
    """Give other walks: 300 of the 600, turned around."""
    some = wanderers[200:500]
    return replace(some, points=10 - some.points, ids=None)


@pytest.fixture(scope="module", params=["box", "mixed 1"])
def reference(request: pytest.FixtureRequest, wanderers: pt.Trajectories, region: pt.Region) -> Reference:
    within = region if request.param == "box" else polygons.region(request.param)
    return Reference.of(wanderers, within, profile="all", seed=4)


def numbers_inside(given: pt.Trajectories, region: pt.Region) -> np.ndarray:
    """Find the trajectories with a point in the region."""
    inside = region.for_data(given.crs).contains(given.points)
    return np.array([t for t in range(len(given)) if inside[given.offsets[t] : given.offsets[t + 1]].any()])


def test_limit_is_one_half_against_the_other(reference: Reference, wanderers: pt.Trajectories) -> None:
    """Five times, and the mean of it."""
    numbers = numbers_inside(wanderers, reference.comparison.frame.region)
    tables, halves = [], []
    for again in range(5):
        lots = reference.comparison.frame.draw(len(numbers), SPLITS, again)[:, 0]
        chosen = np.isin(np.arange(len(numbers)), np.argsort(lots)[: (len(numbers) + 1) // 2])
        first, second = (wanderers.take(numbers[half]) for half in (chosen, ~chosen))
        tables.append(
            pt.evaluate(first, second, region=reference.comparison.frame.region, profile="all", seed=4)
        )
        halves.append(chosen)
    assert len(np.unique(halves, axis=0)) == 5
    limit = reference.limit()
    assert set(limit) == set(tables[0])
    for name in set(limit) - BY_LOT:
        expected = np.mean([table[name].value for table in tables])
        assert limit[name] == pytest.approx(expected, abs=1e-12, nan_ok=name == "cell_speed")


def test_halves_are_of_chance_not_of_order(wanderers: pt.Trajectories, region: pt.Region) -> None:
    halves = []
    for seed in (1, 2):
        first, _ = Reference.of(wanderers, region, seed=seed).real.halves()
        halves.append(first.traits["paper"].weights)
    places = [np.flatnonzero(half).mean() / len(half) for half in halves]
    assert places == pytest.approx([0.5, 0.5], abs=0.1)
    assert 0.3 < np.mean(halves[0] == halves[1]) < 0.7


def test_baseline_is_of_uniform_walks_with_as_many_points(
    reference: Reference, wanderers: pt.Trajectories
) -> None:
    offsets = np.concatenate([[0], np.cumsum(reference.real.n_points)])
    frame = reference.comparison.frame
    walks = replace(frame.places(offsets, 0, BASELINE), times=frame.moments(offsets, 0, BASELINE))
    assert reference.comparison.frame.region.contains(walks.points).all()
    unclipped = Unclipped(frame.region, frame.seed, frame.zone)  # lines over a polygon's border end no run
    measured = replace(reference, comparison=replace(reference.comparison, frame=unclipped)).measure(walks)
    assert np.array_equal(measured.n_points, reference.real.n_points)  # none of them is cut short
    baseline, values = reference.baseline(), reference.values(measured)
    assert values["points"] == 0 < baseline["points"]  # of which the next test tells
    assert baseline == pytest.approx(values | {"points": baseline["points"]}, rel=0, abs=0, nan_ok=True)


def test_baseline_of_points_knows_their_mean_alone(wanderers: pt.Trajectories, region: pt.Region) -> None:
    reference = Reference.of(wanderers, region, profile="time")
    sizes = reference.real.n_points
    shares = np.bincount(octaves.bins_of(sizes)) / len(sizes)
    there, mean = shares > 0, int(octaves.bins_of(np.array([round(sizes.mean())]))[0])
    middle = (shares + (np.arange(len(shares)) == mean)) / 2
    expected = np.sum(shares[there] * np.log(shares[there] / middle[there])) / 2 - np.log(middle[mean]) / 2
    assert reference.baseline()["points"] == pytest.approx(expected) and expected > 0.1


def test_baseline_counts_the_points_that_are_inside(wanderers: pt.Trajectories, region: pt.Region) -> None:
    real = Reference.of(wanderers, region).real
    runs = [len(max(runs_inside(walk), key=len)) for walk in split(wanderers)]
    assert real.n_points.tolist() == [size for size in runs if size]


def split(given: pt.Trajectories) -> Iterator[np.ndarray]:
    for first, last in zip(given.offsets[:-1], given.offsets[1:], strict=True):
        yield given.points[first:last]


def runs_inside(walk: np.ndarray) -> list[list[tuple[float, float]]]:
    runs: list[list[tuple[float, float]]] = [[]]
    for x, y in walk:
        if 0 <= x <= 10 and 0 <= y <= 10:
            runs[-1].append((x, y))
        else:
            runs.append([])
    return runs


@pytest.mark.parametrize("name", ["box", "mixed 1", "ell"])
def test_baseline_walks_are_uniform(name: str, region: pt.Region) -> None:
    frame = Frame((region if name == "box" else polygons.region(name)).for_data("planar"), 6)
    points = frame.places(np.array([0, 4000, 8000]), 0, BASELINE).points
    middle = np.median(points, axis=0)
    shape = shapely.box(0, 0, 10, 10) if name == "box" else polygons.oracle(name)
    for west, south, east, north in [(-9, -9, middle[0], 99), (-9, -9, 99, middle[1]), (-9, -9, *middle)]:
        share = np.mean((points >= (west, south)).all(axis=1) & (points <= (east, north)).all(axis=1))
        area = shape.intersection(shapely.box(west, south, east, north)).area / shape.area
        assert share == pytest.approx(area, abs=0.03)
    assert not np.array_equal(points[:4000], points[4000:])


def test_baseline_walks_depart_uniformly_over_the_week_and_go_on_uniformly_for_a_week(
    region: pt.Region,
) -> None:
    frame, offsets = Frame(region.for_data("planar"), 6), np.arange(0, 20_001, 4)
    moments = frame.moments(offsets, 0, BASELINE).astype(np.int64).reshape(-1, 4) / 1e6 / 604_800
    assert (np.diff(moments) > 0).all() and 0 <= moments.min() and moments[:, 0].max() < 1
    shares = np.histogram(moments[:, 0], 7, (0, 1))[0] / len(moments)
    assert shares == pytest.approx(np.full(7, 1 / 7), abs=0.02)
    # The first, second and third of three uniform numbers are 1/4, 2/4 and 3/4 on average.
    later = moments[:, 1:] - moments[:, :1]
    assert later.mean(axis=0) == pytest.approx([0.25, 0.5, 0.75], abs=0.02) and later.max() < 1
    assert np.corrcoef(moments[:, 0], later[:, 0])[0, 1] == pytest.approx(0, abs=0.05)
    assert np.array_equal(
        frame.moments(np.array([0, 4]), 17, BASELINE), frame.moments(offsets, 0, BASELINE)[68:72]
    )


def test_a_long_baseline_is_walked_in_parts(
    wanderers: pt.Trajectories, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = Reference.of(wanderers, region, profile="all").baseline()
    monkeypatch.setattr("privtrace.trajectories.PART_POINTS", 500)
    assert Reference.of(wanderers, region, profile="all").baseline() == whole


def test_parts_and_threads_do_not_matter(
    wanderers: pt.Trajectories, synthetic: pt.Trajectories, region: pt.Region
) -> None:
    settings = {"region": region, "profile": "all", "seed": 7, "bootstrap": 2}
    whole = pt.evaluate(wanderers, synthetic, **settings, backend=pt.Threads(2))
    for sizes, n_threads in (([1] * 20, 2), ([0, 300, 0], 1), ([599], 2), ([200, 200, 200], 1)):
        pair = Cut(wanderers, sizes), Cut(synthetic, sizes)
        table = pt.evaluate(*pair, **settings, backend=pt.Threads(n_threads))
        assert table.to_dict() == whole.to_dict() and str(table) == str(whole), (sizes, n_threads)


def test_another_seed_draws_other_circles_halves_and_walks(
    wanderers: pt.Trajectories, synthetic: pt.Trajectories, region: pt.Region
) -> None:
    one, two = (pt.evaluate(wanderers, synthetic, region=region, profile="all", seed=seed) for seed in (1, 2))
    for name in ("density", "query", "next_cell", "travel_time"):
        assert one[name].value != two[name].value
    for name in ("length", "pattern", "trip", "coverage"):
        assert one[name].value == two[name].value
        assert one[name].limit != two[name].limit
        assert one[name].baseline != two[name].baseline


def test_the_largest_seed_is_a_seed(wanderers: pt.Trajectories, region: pt.Region) -> None:
    assert pt.evaluate(wanderers, wanderers, region=region, seed=2**64 - 1)["density"].value == 0


@pytest.fixture
def replicates(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Traits, Traits]]:
    """Offer a profile that writes down what it is asked to compare."""
    seen: list[tuple[Traits, Traits]] = []

    def compare(real: Traits, synthetic: Traits) -> float:
        seen.append((real, synthetic))
        return 0.0

    monkeypatch.setitem(
        module.PROFILES, "seen", Profile("seen", lambda frame: Traits.of, (Metric("seen", compare, "nothing"),))
    )
    return seen


def test_a_replicate_has_as_many_trajectories_drawn_with_replacement(
    wanderers: pt.Trajectories,
    synthetic: pt.Trajectories,
    region: pt.Region,
    replicates: list[tuple[Traits, Traits]],
) -> None:
    pt.evaluate(wanderers, synthetic, region=region, profile="seen", bootstrap=20)
    # The set itself, five splits into halves, 20 replicates, the baseline.
    resampled = [pair for pair in replicates if pair[0].weights.max() > 1]
    assert len(replicates) == 27 and len(resampled) == 20
    sizes = [len(numbers_inside(given, region)) for given in (wanderers, synthetic)]
    for place, size in enumerate(sizes):
        weights = np.array([pair[place].weights for pair in resampled])
        assert weights.shape == (20, size)
        assert (weights.sum(axis=1) == size).all() and weights.min() == 0
        # Each count is of n draws with a chance of 1 / n: on average 1, and 0 in 1 / e of cases.
        assert np.mean(weights == 0) == pytest.approx(1 / math.e, abs=0.02)
        assert weights.mean(axis=0).std() == pytest.approx(math.sqrt(1 / 20), rel=0.2)
        assert len(np.unique(weights, axis=0)) == 20


def test_the_two_sets_are_resampled_apart(
    wanderers: pt.Trajectories, region: pt.Region, replicates: list[tuple[Traits, Traits]]
) -> None:
    pt.evaluate(wanderers, wanderers, region=region, profile="seen", bootstrap=10)
    resampled = [pair for pair in replicates if pair[0].weights.max() > 1]
    assert len(np.unique([given.weights for pair in resampled for given in pair], axis=0)) == 20


def test_intervals_contain_the_value_within_the_range_and_repeat(
    wanderers: pt.Trajectories, synthetic: pt.Trajectories, region: pt.Region
) -> None:
    one, two, other = (
        pt.evaluate(wanderers, synthetic, region=region, profile="all", seed=seed, bootstrap=25)
        for seed in (1, 1, 2)
    )
    for score in one.scores.values():
        assert score.interval is not None
        low, high = score.interval
        assert score.metric.low <= low <= score.value <= high <= score.metric.high
        assert low < high
    assert one.to_dict() == two.to_dict()
    assert one["length"].interval != other["length"].interval


def test_intervals_do_not_change_what_they_are_around(
    wanderers: pt.Trajectories, synthetic: pt.Trajectories, region: pt.Region
) -> None:
    without, with_them = (
        pt.evaluate(wanderers, synthetic, region=region, profile="all", bootstrap=n) for n in (0, 5)
    )
    for name, score in without.scores.items():
        assert score.interval is None
        assert (score.value, score.limit, score.baseline) == (
            with_them[name].value,
            with_them[name].limit,
            with_them[name].baseline,
        )


def test_intervals_narrow_with_more_trajectories(
    wanderers: pt.Trajectories, synthetic: pt.Trajectories, region: pt.Region
) -> None:
    few, many = (
        pt.evaluate(wanderers[:n], synthetic[:n], region=region, profile="all", bootstrap=40) for n in (40, 300)
    )
    for name in (
        "short_length_share",
        "density",
        "query",
        "turning",
        "jump",
        "visits",
        "gyration",
        "length_20",
    ):
        widths = [table[name].interval[1] - table[name].interval[0] for table in (few, many)]  # type: ignore[index]
        assert widths[1] < widths[0]


def drawn(value: float, replicates: list[float]) -> Iterator[float]:
    """Give what a metric is asked for, in order: the value, five halves, the replicates, the baseline."""
    return iter([value, *[0.0] * 5, *replicates, 0.0])


def test_interval_is_as_wide_as_replicates_are_around_their_mean(
    wanderers: pt.Trajectories, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The value is 0.5; replicates are 0.80, 0.81 ... 1.20 with a mean of 1. Of 41 in order, the 2.5 % quantile
    # is the second, 0.81, and the 97.5 % quantile 1.19: 0.5 - 0.19 to 0.5 + 0.19.
    numbers = drawn(0.5, np.linspace(0.8, 1.2, 41).tolist())
    metric = Metric("drawn", lambda real, synthetic: next(numbers), "nothing")
    monkeypatch.setitem(module.PROFILES, "drawn", Profile("drawn", lambda frame: Traits.of, (metric,)))
    table = pt.evaluate(wanderers, wanderers, region=region, profile="drawn", bootstrap=41)
    assert table["drawn"].value == 0.5
    assert table["drawn"].interval == pytest.approx((0.31, 0.69))


@pytest.mark.parametrize("lone", [0.0, 2.0])
def test_interval_contains_the_value_whatever_replicates_are(
    wanderers: pt.Trajectories, region: pt.Region, monkeypatch: pytest.MonkeyPatch, lone: float
) -> None:
    # One replicate far from 99 equal ones draws the mean away from both quantiles.
    numbers = drawn(0.5, [lone, *[1.0] * 99])
    metric = Metric("drawn", lambda real, synthetic: next(numbers), "nothing")
    monkeypatch.setitem(module.PROFILES, "drawn", Profile("drawn", lambda frame: Traits.of, (metric,)))
    table = pt.evaluate(wanderers, wanderers, region=region, profile="drawn", bootstrap=100)
    interval = table["drawn"].interval
    assert interval is not None and interval[0] <= 0.5 <= interval[1]


def test_replicates_and_splits_in_which_a_metric_is_not_defined_are_left_out(
    wanderers: pt.Trajectories, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    for splits, replicates, limit, interval in (
        ([math.nan, 1.0, math.nan, 3.0, math.nan], [0.8, math.nan, 1.2], 2.0, (0.31, 0.69)),
        ([math.nan] * 5, [math.nan] * 3, math.nan, (math.nan, math.nan)),
    ):
        numbers = iter([0.5, *splits, *replicates, 0.0])
        metric = Metric("drawn", lambda real, synthetic, numbers=numbers: next(numbers), "nothing")
        monkeypatch.setitem(module.PROFILES, "drawn", Profile("drawn", lambda frame: Traits.of, (metric,)))
        table = pt.evaluate(wanderers, wanderers, region=region, profile="drawn", bootstrap=3)
        assert table["drawn"].limit == pytest.approx(limit, nan_ok=True)
        # Of 0.8 and 1.2 the quantiles are 0.81 and 1.19, the mean is 1.
        assert table["drawn"].interval == pytest.approx(interval, nan_ok=True)


def test_a_reference_measures_many_sets(
    wanderers: pt.Trajectories, synthetic: pt.Trajectories, region: pt.Region
) -> None:
    reference = Reference.of(wanderers, region, profile="all", seed=9)
    for given in (synthetic, wanderers[:50], synthetic):
        table = pt.evaluate(wanderers, given, region=region, profile="all", seed=9)
        values = reference.values(reference.measure(given))
        assert values == {name: score.value for name, score in table.scores.items()}


def test_the_walk_s_places_and_times_are_not_held_together(
    wanderers: pt.Trajectories, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = Reference.of(wanderers, region, profile="all", figures=True)
    together: list[list[str]] = []
    measure = Comparison.measure

    def noted(self: Comparison, *given: Any, **named: Any) -> MeasuredSet:
        together.append(list(self.measures))
        return measure(self, *given, **named)

    monkeypatch.setattr(Comparison, "measure", noted)
    values = reference.baseline()
    assert together == [["paper", "adatrace", "mobility"], ["time"]]  # and nothing for figures
    assert list(values) == [metric.name for metric in reference.comparison.metrics]


def test_without_times_no_times_are_looked_at(
    wanderers: pt.Trajectories, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither limit nor baseline of what is left out; the walk is measured once then."""
    reference = Reference.of(wanderers, region, profile="all")
    limit, baseline = reference.limit(), reference.baseline()
    n_passes = 0
    measure = Comparison.measure

    def counted(self: Comparison, *given: Any, **named: Any) -> MeasuredSet:
        nonlocal n_passes
        n_passes += 1
        return measure(self, *given, **named)

    def refused(*given: Any) -> None:
        raise AssertionError("times were drawn")

    monkeypatch.setattr(Comparison, "measure", counted)
    monkeypatch.setattr(Frame, "moments", refused)
    for whole, without in (
        (limit, reference.limit(with_times=False)),
        (baseline, reference.baseline(with_times=False)),
    ):
        assert list(without) == [metric.name for metric in reference.comparison.metrics]
        for metric in reference.comparison.metrics:
            assert (
                math.isnan(without[metric.name])
                if metric.needs_times
                else without[metric.name] == whole[metric.name]
            )
    assert n_passes == 1
