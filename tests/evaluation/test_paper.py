"""The paper's metrics: against a slow oracle, an example by hand, and what must hold of any two sets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, groupby, pairwise, permutations
from statistics import median as middle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import trajectories
from tests.polygons import oracle, region

import privtrace as pt
from privtrace.evaluation import paper
from privtrace.evaluation.frame import Frame
from privtrace.evaluation.paper import PaperTraits
from privtrace.evaluation.traits import Traits
from privtrace.trajectories import Floats

LN2 = math.log(2)
FRAME = Frame(pt.Region.box(100, 50, 120, 62, crs="planar"), 4)  # cells of 1 x 0.6
METRICS: dict[str, Callable[[PaperTraits, PaperTraits], float]] = {
    m.name: m.compare for m in paper.PROFILE.metrics
}
WHOLE = ("length", "diameter", "density", "pattern", "short_length_share", "short_diameter_share")
GROUPS = ("density_short", "density_long", "pattern_short", "pattern_long")

Points = list[tuple[float, float]]
Set = list[Points]


def walks(seed: int, n: int, most: int = 12, reach: float = 1.5) -> Set:
    """Draw walks of 1 to `most` points in the box that often pass the same cells."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        steps = rng.normal(0, reach, (rng.integers(1, most + 1), 2))
        points = np.clip(np.cumsum(steps, axis=0) + np.array([104, 53]), (100, 50), (120, 62))
        made.append([(x, y) for x, y in points.tolist()])
    return made


def measured(lists: Set, lots: list[float] | None = None, frame: Frame = FRAME) -> PaperTraits:
    traits = paper.measuring(frame)(frame.clip(trajectories(*lists)))
    return traits if lots is None else replace(traits, order=np.argsort(lots, kind="stable"))


def values(real: PaperTraits, synthetic: PaperTraits) -> dict[str, float]:
    return {name: compare(real, synthetic) for name, compare in METRICS.items()}


# The slow oracle: every definition once more, in plain Python


def slow_length(points: Points) -> float:
    return sum(math.dist(a, b) for a, b in pairwise(points))


def slow_diameter(points: Points) -> float:
    return max((math.dist(a, b) for a, b in combinations(points, 2)), default=0.0)


def slow_distribution(real: list[float], synthetic: list[float]) -> float:
    most = max(real)
    shares = []
    for numbers in (real, synthetic):
        bins = Counter(min(int(number / most * 50), 49) if most else 49 * (number > 0) for number in numbers)
        shares.append({b: count / len(numbers) for b, count in bins.items()})
    return sum(
        p / 2 * math.log(p / ((p + other.get(b, 0)) / 2))
        for own, other in permutations(shares)
        for b, p in own.items()
    )


def slow_density(real: Set, synthetic: Set) -> float:
    circles = paper.draw_circles(FRAME)
    errors = []
    for (x, y), radius in zip(circles.centers_m.tolist(), circles.radii_m.tolist(), strict=True):
        center = (x + 100, y + 50)
        count, other = (
            sum(any(math.dist(point, center) <= radius for point in points) for points in lists)
            for lists in (real, synthetic)
        )
        other_scaled = other * len(real) / len(synthetic)
        errors.append(abs(count - other_scaled) / max(count, 0.01 * len(real)))
    return sum(errors) / 500


def slow_patterns(lists: Set) -> Counter[tuple[int, ...]]:
    counts: Counter[tuple[int, ...]] = Counter()
    for points in lists:
        at = [(min(int(x - 100), 19), min(int((y - 50) / 0.6), 19)) for x, y in points]
        cells = [row * 20 + column for (column, row), _ in groupby(at)]
        for n in range(2, 6):
            counts.update(tuple(cells[start : start + n]) for start in range(len(cells) - n + 1))
    return counts


def slow_pattern(real: Set, synthetic: Set) -> float:
    counts, others = slow_patterns(real), slow_patterns(synthetic)
    top = sorted(counts, key=lambda cells: (-counts[cells], len(cells), cells))[:200]
    errors = [abs(counts[cells] - others[cells] * len(real) / len(synthetic)) / counts[cells] for cells in top]
    return sum(errors) / len(errors)


def slow_share(real: list[float], synthetic: list[float]) -> float:
    return sum(number <= middle(real) for number in synthetic) / len(synthetic)


def slow_group(real: Set, synthetic: Set, lots: list[list[float]], short: bool) -> tuple[Set, Set]:
    """Choose by the real median, then from the larger group as many as the smaller has, by smallest lots."""
    most = middle(slow_length(points) for points in real)
    groups = []
    for lists, numbers in zip((real, synthetic), lots, strict=True):
        chosen = [i for i, points in enumerate(lists) if (slow_length(points) <= most) == short]
        groups.append([lists[i] for i in sorted(chosen, key=lambda i: numbers[i])])
    size = min(len(group) for group in groups)
    return groups[0][:size], groups[1][:size]


def slow_values(real: Set, synthetic: Set, lots: list[list[float]]) -> dict[str, float]:
    lengths, diameters = (
        [[measure(points) for points in lists] for lists in (real, synthetic)]
        for measure in (slow_length, slow_diameter)
    )
    shorts, longs = (slow_group(real, synthetic, lots, short) for short in (True, False))
    return {
        "length": slow_distribution(*lengths),
        "diameter": slow_distribution(*diameters),
        "density": slow_density(real, synthetic),
        "pattern": slow_pattern(real, synthetic),
        "short_length_share": slow_share(*lengths),
        "short_diameter_share": slow_share(*diameters),
        "density_short": slow_density(*shorts),
        "density_long": slow_density(*longs),
        "pattern_short": slow_pattern(*shorts),
        "pattern_long": slow_pattern(*longs),
    }


@pytest.mark.parametrize(("n_real", "n_synthetic"), [(60, 60), (70, 33), (25, 80), (200, 40)])
def test_all_metrics_agree_with_a_slow_oracle(n_real: int, n_synthetic: int) -> None:
    real, synthetic = walks(n_real, n_real), walks(1000 + n_synthetic, n_synthetic, reach=1.2)
    rng = np.random.default_rng(n_real)
    lots = [rng.random(n).tolist() for n in (n_real, n_synthetic)]
    found = values(measured(real, lots[0]), measured(synthetic, lots[1]))
    assert found == pytest.approx(slow_values(real, synthetic, lots), rel=1e-9)
    assert len(slow_patterns(real)) > 200


# By hand


HAND = Frame(pt.Region.box(0, 0, 20, 20, crs="planar"), 0)  # cells of 1 x 1, twenty to a row
HAND_REAL: Set = [
    [(0.5, 0.5), (1.5, 0.5), (2.5, 0.5)],  # length 2, diameter 2, cells 0 1 2
    [(0.5, 0.5), (1.5, 0.5), (0.5, 0.5)],  # length 2, diameter 1, cells 0 1 0
    [(5.5, 5.5)],  # length 0, diameter 0, cell 105
    [(0.5, 0.5), (0.5, 10.5)],  # length 10, diameter 10, cells 0 200
]
HAND_SYNTHETIC: Set = [
    [(0.5, 0.5), (1.5, 0.5)],  # length 1, diameter 1, cells 0 1
    [(0.5, 0.5), (0.5, 12.5)],  # length 12, diameter 12, cells 0 240
    [(0.5, 0.5), (2.2, 0.5)],  # length 1.7, diameter 1.7, cells 0 2
]


@pytest.fixture
def by_hand() -> tuple[PaperTraits, PaperTraits]:
    """Measure the example; of the circles only three hold anything, and are written down."""
    real = measured(HAND_REAL, [0.5, 0.9, 0.1, 0.3], HAND)
    synthetic = measured(HAND_SYNTHETIC, [0.7, 0.2, 0.4], HAND)
    held = np.zeros((4, 8), np.uint64), np.zeros((3, 8), np.uint64)
    held[0][:, 0] = [0b001, 0b001, 0b010, 0b001]  # circle 0 has the 1st, 2nd and 4th, circle 1 the 3rd
    held[1][:, 0] = [0b001, 0b101, 0b001]  # circle 0 has all, circle 2 the 2nd
    return replace(real, hits=held[0]), replace(synthetic, hits=held[1])


def test_lengths_by_hand(by_hand: tuple[PaperTraits, PaperTraits]) -> None:
    """Fill bins of 10 / 50 = 0.2: real bin 0: 1/4, 10: 1/2, 49: 1/4; synthetic 5: 1/3, 8: 1/3, 49: 1/3.

    Only bin 49 is common, its middle (1/4 + 1/3) / 2 = 7/24. Elsewhere p / middle = 2.
    real half: (3/4 ln 2 + 1/4 ln(6/7)) / 2 = (0.519860 - 0.038538) / 2 = 0.240661
    synthetic half: (2/3 ln 2 + 1/3 ln(8/7)) / 2 = (0.462098 + 0.044510) / 2 = 0.253304
    """
    assert paper.length(*by_hand) == pytest.approx(0.240661 + 0.253304, abs=2e-6)


def test_diameters_by_hand(by_hand: tuple[PaperTraits, PaperTraits]) -> None:
    """Fill bins of 0.2: real bins 0, 5, 10 and 49: 1/4 each; synthetic 5, 8 and 49: 1/3 each.

    Bins 5 and 49 are common, their middle 7/24.
    real half: (1/2 ln 2 + 1/2 ln(6/7)) / 2 = (0.346574 - 0.077075) / 2 = 0.134749
    synthetic half: (1/3 ln 2 + 2/3 ln(8/7)) / 2 = (0.231049 + 0.089021) / 2 = 0.160035
    """
    assert paper.diameter(*by_hand) == pytest.approx(0.134749 + 0.160035, abs=2e-6)


def test_density_by_hand(by_hand: tuple[PaperTraits, PaperTraits]) -> None:
    """Scale synthetic counts by 4/3; no circle counts less than 1 % of 4 = 0.04.

    circle 0: |3 - 3 * 4/3| / 3 = 1/3; circle 1: |1 - 0| / 1 = 1; circle 2: |0 - 4/3| / 0.04 = 100/3; others 0.
    (1/3 + 1 + 100/3) / 500 = 104/1500
    """
    assert paper.density(*by_hand) == pytest.approx(104 / 1500)


def test_patterns_by_hand(by_hand: tuple[PaperTraits, PaperTraits]) -> None:
    """Count 0-1 twice, 0-200, 1-0, 1-2, 0-1-0 and 0-1-2 once.

    The synthetic set has 0-1 once, scaled by 4/3: |2 - 4/3| / 2 = 1/3. It has none of the other five.
    (1/3 + 5) / 6 = 8/9
    """
    assert paper.pattern(*by_hand) == pytest.approx(8 / 9)


def test_shares_by_hand(by_hand: tuple[PaperTraits, PaperTraits]) -> None:
    """Find the median length 2 of 0, 2, 2, 10, and the median diameter (1 + 2) / 2 = 1.5 of 0, 1, 2, 10.

    Of synthetic lengths 1, 1.7 and 12 two are up to 2; of diameters 1, 1.7 and 12 one is up to 1.5.
    """
    assert paper.short_length_share(*by_hand) == pytest.approx(2 / 3)
    assert paper.short_diameter_share(*by_hand) == pytest.approx(1 / 3)


def test_groups_by_hand(by_hand: tuple[PaperTraits, PaperTraits]) -> None:
    """Divide by the median length 2: short are the first three real and the 1st and 3rd synthetic ones.

    Two of the short real ones are drawn, those with the lots 0.1 and 0.5: the 3rd and the 1st.
    density_short: circle 0: |1 - 2| / 1 = 1; circle 1: |1 - 0| / 1 = 1: 2 / 500
    density_long: the 4th and the 2nd; circle 0: |1 - 1| = 0; circle 2: |0 - 1| / (1 % of 1) = 100: 100 / 500
    pattern_short: 0-1, 1-2 and 0-1-2 once each; the synthetic ones have 0-1 and 0-2: (0 + 1 + 1) / 3
    pattern_long: 0-200 against 0-240: 1
    """
    assert paper.density_short(*by_hand) == pytest.approx(2 / 500)
    assert paper.density_long(*by_hand) == pytest.approx(100 / 500)
    assert paper.pattern_short(*by_hand) == pytest.approx(2 / 3)
    assert paper.pattern_long(*by_hand) == 1


# What must hold of any two sets


@pytest.mark.parametrize("seed", range(4))
def test_a_set_against_itself_is_perfect(seed: int) -> None:
    lists = walks(seed, 41 + seed)
    traits = measured(lists, np.random.default_rng(seed).random(len(lists)).tolist())
    found = values(traits, traits)
    for name, measure in (("short_length_share", slow_length), ("short_diameter_share", slow_diameter)):
        numbers = [measure(points) for points in lists]
        assert found.pop(name) == slow_share(numbers, numbers) >= 0.5
    assert found == dict.fromkeys(found, 0)


@pytest.mark.parametrize("seed", range(3))
def test_values_are_between_their_bounds_and_worse_than_the_best(seed: int) -> None:
    found = values(measured(walks(seed, 40)), measured(walks(50 + seed, 30, most=5, reach=4)))
    for metric in paper.PROFILE.metrics:
        assert metric.low <= found[metric.name] <= metric.high
        assert found[metric.name] != metric.best


def test_the_profile_has_ten_metrics() -> None:
    assert paper.PROFILE.name == "paper" and tuple(METRICS) == WHOLE + GROUPS


@pytest.mark.parametrize("seed", range(3))
def test_where_the_longest_agree_lengths_and_diameters_are_symmetric(seed: int) -> None:
    across = [(100.0, 50.0), (120.0, 62.0), (100.0, 50.0), (120.0, 62.0), (100.0, 50.0)]
    one, other = (measured([*walks(seed + n, n, most=5), across]) for n in (30, 50))
    for compare in (paper.length, paper.diameter):
        assert compare(one, other) == pytest.approx(compare(other, one), rel=1e-12)
        assert compare(one, other) > 0


def test_bins_follow_the_longest_real_one() -> None:
    short, long = measured([[(101, 51), (102, 51)]] * 3), measured([[(101, 51), (111, 51)]] * 3)
    assert paper.length(short, long) == paper.diameter(short, long) == 0  # longer ones are in the last bin
    assert paper.length(long, short) == paper.diameter(long, short) == pytest.approx(LN2)


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("n", [20, 50])
def test_writing_each_synthetic_trajectory_twice_changes_nothing(name: str, n: int) -> None:
    real, synthetic = walks(1, 30), walks(2, n)
    doubled = [points for points in synthetic for _ in range(2)]
    once, twice = (METRICS[name](measured(real), measured(x)) for x in (synthetic, doubled))
    assert twice == pytest.approx(once, rel=1e-12)


@pytest.mark.parametrize("role", ["real", "synthetic"])
def test_a_weight_is_the_trajectory_written_as_often(role: str) -> None:
    rng = np.random.default_rng(8)
    lists, weights, lots = walks(3, 40), rng.integers(0, 4, 40), rng.random(40)
    weighted = measured(lists, lots.tolist()).weighing(weights)
    repeated = np.repeat(np.arange(40), weights).tolist()
    written = measured([lists[i] for i in repeated], [lots[i] for i in repeated])
    other = measured(walks(4, 50), rng.random(50).tolist())
    if role == "real":
        assert values(weighted, other) == pytest.approx(values(written, other), rel=1e-12)
    else:
        assert values(other, weighted) == pytest.approx(values(other, written), rel=1e-12)


@given(st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 3)), min_size=1, max_size=12))
@settings(max_examples=150, deadline=None)
def test_medians_agree_with_plain_python(given: list[tuple[int, int]]) -> None:
    written = [value for value, weight in given for _ in range(weight)]
    if written:
        numbers, weights = (np.array(column) for column in zip(*given, strict=True))
        traits = Traits(weights, np.zeros(len(given)))
        assert paper.median(numbers.astype(float), traits) == middle(written)


def test_parts_measured_one_by_one_are_the_whole() -> None:
    lists, other = walks(5, 40), measured(walks(6, 30))
    parts = PaperTraits.joined([measured(lists[i : i + 9]) for i in range(0, 40, 9)], np.arange(40))
    assert values(parts, other) == values(measured(lists), other)
    assert values(other, parts) == values(other, measured(lists))


def test_what_is_outside_does_not_count() -> None:
    lists, other = walks(7, 30), measured(walks(8, 30))
    around: Set = [[(90, 50), *points, (np.nan, 0), (100, 49.9)] for points in lists]  # type: ignore[list-item]
    assert values(measured([*around, [(0, 0), (1, 1)]]), other) == values(measured(lists), other)


# Small sets


@pytest.fixture(scope="module")
def moving() -> PaperTraits:
    return measured(walks(9, 25))


@pytest.fixture(scope="module")
def nothing() -> PaperTraits:
    return measured([])


def test_an_empty_synthetic_set_gets_the_worst(moving: PaperTraits, nothing: PaperTraits) -> None:
    """A trajectory in a circle is at least 1 % of 25, so each circle that holds a real one has the error 1."""
    found = values(moving, nothing)
    circles = paper.draw_circles(FRAME)
    assert found["length"] == found["diameter"] == LN2
    for name, short in (("density", None), ("density_short", True), ("density_long", False)):
        lengths = [slow_length(points) for points in walks(9, 25)]
        lists = [
            points
            for points, length in zip(walks(9, 25), lengths, strict=True)
            if short is None or (length <= middle(lengths)) == short
        ]
        places = np.array([point for points in lists for point in points]) - (100, 50)
        distances = np.hypot(*np.moveaxis(places[:, None] - circles.centers_m, 2, 0))
        assert found[name] == pytest.approx(np.mean((distances <= circles.radii_m).any(axis=0)))
    assert found["pattern"] == found["pattern_short"] == found["pattern_long"] == 1
    assert math.isnan(found["short_length_share"]) and math.isnan(found["short_diameter_share"])


def test_without_a_real_trajectory_little_is_defined(moving: PaperTraits, nothing: PaperTraits) -> None:
    found = values(nothing, moving)
    assert found.pop("length") == found.pop("diameter") == LN2
    assert all(math.isnan(value) for value in found.values())
    assert paper.length(nothing, nothing) == paper.diameter(nothing, nothing) == 0


def test_real_trajectories_that_count_nothing_are_none(moving: PaperTraits, nothing: PaperTraits) -> None:
    weightless = moving.weighing(np.zeros(25, np.int64))
    assert values(weightless, moving) == pytest.approx(values(nothing, moving), nan_ok=True)
    assert values(moving, weightless) == pytest.approx(values(moving, nothing), nan_ok=True)


def test_a_longest_trajectory_that_does_not_count_sets_no_bins() -> None:
    lists: Set = [[(101, 51), (102, 51)], [(101, 51), (111, 51)]]
    traits = measured(lists).weighing(np.array([1, 0]))
    assert paper.length(traits, measured(lists[1:])) == 0


def test_single_points_have_no_patterns_and_no_longer_half(moving: PaperTraits) -> None:
    """All real ones are single points: every length is the median 0, and nothing is above it."""
    lists = walks(9, 25)
    single = measured([[points[0]] for points in lists])
    found = values(single, moving)
    for name in ("pattern", "pattern_short", "density_long", "pattern_long"):
        assert math.isnan(found[name])
    standing = sum(len(points) == 1 for points in lists) / 25
    assert 0 < standing < 1
    assert found["short_length_share"] == found["short_diameter_share"] == standing
    shares = slow_distribution([0.0] * 25, [float(len(points) > 1) for points in lists])
    assert found["length"] == found["diameter"] == pytest.approx(shares)
    assert found["density"] > 0 and math.isfinite(found["density_short"])


def test_single_points_among_themselves() -> None:
    single = measured([[(101, 51)], [(110, 60)], [(110.1, 60)]])
    found = values(single, single)
    assert found["length"] == found["diameter"] == found["density"] == found["density_short"] == 0
    assert found["short_length_share"] == found["short_diameter_share"] == 1


def test_synthetic_single_points_have_none_of_the_patterns(moving: PaperTraits) -> None:
    found = values(moving, measured([[points[0]] for points in walks(9, 25)]))
    assert found["pattern"] == found["pattern_short"] == found["pattern_long"] == 1
    assert found["short_length_share"] == found["short_diameter_share"] == 1


def test_one_trajectory_is_a_set() -> None:
    one = measured([[(101, 51), (105, 54), (110, 54)]])  # length 5 + 5
    longer = measured([[(101, 51), (105, 54), (113, 54)]])  # length 5 + 8
    found = values(one, one)
    assert found.pop("short_length_share") == found.pop("short_diameter_share") == 1
    assert math.isnan(found.pop("density_long")) and math.isnan(found.pop("pattern_long"))
    assert found == dict.fromkeys(found, 0)
    assert paper.short_length_share(one, longer) == paper.short_diameter_share(one, longer) == 0
    assert paper.short_length_share(longer, one) == 1
    # Of its patterns a-b, b-c and a-b-c the other has the first alone.
    assert paper.pattern(one, longer) == pytest.approx(2 / 3)


# Circles and meters


def radii_and_side(frame: Frame) -> tuple[Floats, float]:
    return paper.draw_circles(frame).radii_m, min(frame.region.width_m, frame.region.height_m)


@pytest.mark.parametrize(
    "here",
    [FRAME.region, pt.Region.box(13.0, 52.3, 13.8, 52.7, crs="lonlat"), region("mixed 1")],
    ids=["planar", "degrees", "polygon"],
)
def test_circles_are_as_large_as_the_paper_says(here: pt.Region) -> None:
    radii, side = radii_and_side(Frame(here, 2))
    assert len(radii) == 500
    assert 0.01 * side <= radii.min() < 0.02 * side and 0.24 * side < radii.max() <= 0.25 * side
    counts, _ = np.histogram(radii, bins=4, range=(0.01 * side, 0.25 * side))
    assert np.all(np.abs(counts - 125) < 50)


def test_centers_of_circles_are_in_the_region_and_no_two_the_same() -> None:
    here, polygon = region("mixed 1"), oracle("mixed 1")
    centers = paper.draw_circles(Frame(here, 2)).centers_m + here.bounds[:2]
    assert here.contains(centers).all() and len(np.unique(centers, axis=0)) == 500
    assert centers.mean(axis=0) == pytest.approx([polygon.centroid.x, polygon.centroid.y], abs=0.6)


def test_circles_follow_the_seed() -> None:
    first, again, other = (paper.draw_circles(Frame(FRAME.region, seed)) for seed in (1, 1, 2))
    assert np.array_equal(first.centers_m, again.centers_m) and np.array_equal(first.radii_m, again.radii_m)
    assert (
        not np.isin(first.centers_m, other.centers_m).any() and not np.isin(first.radii_m, other.radii_m).any()
    )


def test_degrees_are_measured_in_meters() -> None:
    here = pt.Region.box(13.0, 52.3, 13.8, 52.7, crs="lonlat")
    frame = Frame(here, 1)
    given = trajectories([(13.1, 52.41), (13.1, 52.51), (13.3, 52.51), (13.1, 52.51)], crs="lonlat")
    traits = paper.measuring(frame)(frame.clip(given))
    up, across = 0.1 * here.scale_m[1], 0.2 * here.scale_m[0]
    assert traits.length_m.tolist() == pytest.approx([up + 2 * across])
    assert traits.diameter_m.tolist() == pytest.approx([math.hypot(up, across)])
    # Cells of 0.04 by 0.02 degrees: columns 2, 2, 7, 2 and rows 5, 10, 10, 10.
    assert traits.paths.cells.tolist() == [102, 202, 207, 202]
