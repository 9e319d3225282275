"""What pictures of a comparison show, beside slow and obvious counting."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.conftest import trajectories
from tests.evaluation.profile_oracles import random_walks

import privtrace as pt
from privtrace.evaluation.figures import HEAT, N_BINS, N_PATTERNS, Figures
from privtrace.evaluation.paper import CELLS_PER_SIDE, LONGEST
from privtrace.space.clip import clip
from privtrace.space.grid import Grid

WIDTH, HEIGHT = 8.0, 5.0
REGION = pt.Region.box(0.0, 0.0, WIDTH, HEIGHT)
REAL, SYNTHETIC = (random_walks(seed, n, WIDTH, HEIGHT) for seed, n in ((1, 90), (2, 40)))


def drawn(real: list, synthetic: list) -> Figures:
    """Draw the figures of two sets."""
    evaluation = pt.evaluate(trajectories(*real), trajectories(*synthetic), region=REGION, profile="adatrace")
    assert evaluation.figures is not None
    return evaluation.figures


@pytest.fixture(scope="module")
def figures() -> Figures:
    return drawn(REAL, SYNTHETIC)


def slow_heat(walks: list) -> np.ndarray:
    """Ask of every cell and every stretch whether they share more than a point: (80, 80), north up."""
    rows, columns = np.mgrid[:HEAT, :HEAT]
    counts = np.zeros((HEAT, HEAT))
    for walk in walks:
        # In cells, from the northwest corner; an edge belongs to the cell east or south of it.
        places = [(x / WIDTH * HEAT, (HEIGHT - y) / HEIGHT * HEAT) for x, y in walk]
        passed = np.zeros((HEAT, HEAT), bool)
        for x, y in places:
            passed[min(int(y), HEAT - 1), min(int(x), HEAT - 1)] = True
        for (x, y), (to_x, to_y) in pairwise(places):
            enters, leaves = np.zeros((HEAT, HEAT)), np.ones((HEAT, HEAT))
            for start, end, low in ((x, to_x, columns), (y, to_y, rows)):
                if start == end:
                    leaves[(start < low) | (start >= low + 1)] = -1
                    continue
                one, other = (low - start) / (end - start), (low + 1 - start) / (end - start)
                enters = np.maximum(enters, np.minimum(one, other))
                leaves = np.minimum(leaves, np.maximum(one, other))
            passed |= leaves - enters > 1e-9
        counts += passed
    return counts / len(walks)


def test_heat_maps_agree_with_a_look_at_every_cell() -> None:
    """Few lines, away from the edges, where a cell more or less would be a matter of taste."""
    rng = np.random.default_rng(4)
    real, synthetic = (
        [
            [tuple(point) for point in rng.uniform((0.1, 0.1), (7.9, 4.9), (rng.integers(1, 6), 2))]
            for _ in range(count)
        ]
        for count in (7, 4)
    )
    figures = drawn(real, synthetic)
    for heat, walks in zip(figures.heat, (real, synthetic), strict=True):
        assert heat.shape == (HEAT, HEAT)
        np.testing.assert_allclose(heat, slow_heat(walks))


def test_heat_is_north_up_and_counts_a_trajectory_once_a_cell() -> None:
    there_and_back = [(0.01, 4.99), (7.99, 4.99), (0.01, 4.99)]
    heat = drawn([there_and_back, [(4.0, 2.0)]], [[(0.01, 0.01)]]).heat
    assert np.all(heat[0][0] == 0.5) and heat[0][1:].sum() == 0.5
    assert heat[1][HEAT - 1, 0] == 1 and heat[1].sum() == 1


def lengths(walks: list) -> list[float]:
    return [sum(np.hypot(a - c, b - d) for (a, b), (c, d) in pairwise(walk)) for walk in walks]


def diameters(walks: list) -> list[float]:
    return [max(np.hypot(a - c, b - d) for a, b in walk for c, d in walk) for walk in walks]


def ends_apart(walks: list) -> list[float]:
    return [float(np.hypot(walk[0][0] - walk[-1][0], walk[0][1] - walk[-1][1])) for walk in walks]


@pytest.mark.parametrize(
    ("name", "measure"), [("length", lengths), ("diameter", diameters), ("apart", ends_apart)]
)
def test_curves_agree_with_counting_by_hand(figures: Figures, name: str, measure) -> None:
    curve, real = figures.curves[name], measure(REAL)
    high = np.quantile(real, 0.995)
    assert curve.edges_m == pytest.approx(np.linspace(0, high, N_BINS + 1))
    for shares, median, values in zip(curve[1:3], curve.medians_m, (real, measure(SYNTHETIC)), strict=True):
        bins = [min(int(value / high * N_BINS), N_BINS - 1) for value in values]
        assert shares == pytest.approx(np.bincount(bins, minlength=N_BINS) / len(values))
        assert shares.sum() == pytest.approx(1) and median == pytest.approx(np.median(values))


def test_the_last_bin_holds_the_tail() -> None:
    """All but one in a thousand are short; the synthetic ones are all longer than the curve."""
    short, long = [(1.0, 1.0), (1.5, 1.0)], [(0.5, 1.0), (7.5, 1.0)]
    curve = drawn([short] * 999 + [long], [long] * 10).curves["length"]
    assert curve.edges_m[-1] == pytest.approx(0.5)
    assert curve.real[-1] == 1 and curve.synthetic[-1] == 1 and curve.medians_m == pytest.approx((0.5, 7.0))


def test_where_nothing_moves_there_are_curves_still() -> None:
    curve = drawn([[(1.0, 1.0)]] * 5, [[(2.0, 2.0)]] * 5).curves["length"]
    assert np.all(np.diff(curve.edges_m) > 0) and curve.real[0] == curve.synthetic[0] == 1


def test_pairs_of_zones_are_ordered_and_complete(figures: Figures) -> None:
    def pairs(walks: list) -> Counter:
        zones = [
            [min(int(x), 7) + 8 * min(int(y / HEIGHT * 8), 7) for x, y in (walk[0], walk[-1])] for walk in walks
        ]
        return Counter(map(tuple, zones))

    real, synthetic = pairs(REAL), pairs(SYNTHETIC)
    both = sorted(real.keys() | synthetic.keys(), key=lambda pair: (-real[pair], -synthetic[pair], pair))
    assert figures.pairs[0] == pytest.approx([real[pair] / 90 for pair in both])
    assert figures.pairs[1] == pytest.approx([synthetic[pair] / 40 for pair in both])
    assert figures.pairs[0].sum() == pytest.approx(1) and figures.pairs[1].sum() == pytest.approx(1)


def test_patterns_are_the_most_frequent_and_agree_with_a_counter(figures: Figures) -> None:
    grid = Grid.uniform(REGION.for_data("planar"), CELLS_PER_SIDE)

    def counted(walks: list) -> Counter:
        counts: Counter = Counter()
        paths = grid.encode(clip(trajectories(*walks), grid.region))
        for cells in np.split(paths.cells, paths.offsets[1:-1]):
            for first in range(len(cells)):
                for last in range(first + 2, min(first + LONGEST, len(cells)) + 1):
                    counts[tuple(cells[first:last].tolist())] += 1
        return counts

    real, synthetic = counted(REAL), counted(SYNTHETIC)
    best = sorted(real, key=lambda cells: (-real[cells], len(cells), cells))[:N_PATTERNS]
    assert [pattern.cells for pattern in figures.patterns] == best
    for pattern in figures.patterns:
        assert pattern.real == pytest.approx(real[pattern.cells] / 90)
        assert pattern.synthetic == pytest.approx(synthetic[pattern.cells] / 40)


def clocked(walks: list, seed: int) -> pt.Trajectories:
    """Give walks times: over a few weeks, with stops; some points have none, and the first walk not one."""
    given, rng = trajectories(*walks), np.random.default_rng(seed)
    since = np.cumsum(rng.integers(1, 300, given.n_points))
    starts = rng.integers(1.6e9, 1.602e9, len(given)) - since[given.offsets[:-1]]
    times = (since + np.repeat(starts, np.diff(given.offsets))).astype("datetime64[s]")
    times[rng.random(given.n_points) < 0.1] = np.datetime64("NaT")
    times[: given.offsets[1]] = np.datetime64("NaT")
    return replace(given, times=times)


@pytest.fixture(scope="module")
def timed() -> tuple[pt.Trajectories, pt.Trajectories]:
    return clocked(REAL, 1), clocked(SYNTHETIC, 2)


def hours(given: pt.Trajectories, zone: ZoneInfo) -> list[datetime | None]:
    """Find the local hour of each departure."""
    found: list[datetime | None] = []
    for first, last in pairwise(given.offsets):
        times = [moment for moment in given.times[first:last].tolist() if moment is not None]
        found.append(times[0].replace(tzinfo=UTC).astimezone(zone) if times else None)
    return found


def test_departures_and_parts_of_the_day_agree_with_the_calendar(
    timed: tuple[pt.Trajectories, pt.Trajectories],
) -> None:
    zone = "America/New_York"
    figures = pt.evaluate(*timed, region=REGION, timezone=zone).figures
    assert figures is not None and figures.clock is not None and figures.clock.zone == zone
    grid = Grid.uniform(REGION.for_data("planar"), CELLS_PER_SIDE)
    for given, week, parts in zip(timed, figures.clock.week, figures.clock.parts, strict=True):
        departures = hours(given, ZoneInfo(zone))
        counts, visits = np.zeros(168), np.zeros((6, CELLS_PER_SIDE, CELLS_PER_SIDE))
        paths = grid.encode(clip(given, grid.region))
        for departure, cells in zip(departures, np.split(paths.cells, paths.offsets[1:-1]), strict=True):
            if departure is not None:
                counts[24 * departure.weekday() + departure.hour] += 1
                for cell in cells.tolist():
                    visits[departure.hour // 4, 19 - cell // 20, cell % 20] += 1
        assert counts.sum() < len(given)
        np.testing.assert_allclose(week, counts / counts.sum())
        np.testing.assert_allclose(parts, visits / counts.sum())


def test_spreads_hold_all_in_half_octaves(timed: tuple[pt.Trajectories, pt.Trajectories]) -> None:
    figures = pt.evaluate(*timed, region=REGION).figures
    assert figures is not None
    assert list(figures.spreads) == ["duration", "speed", "interval", "jump", "points"]
    for spread in figures.spreads.values():
        assert spread.real.sum() == pytest.approx(1) and spread.synthetic.sum() == pytest.approx(1)
        bounds = spread.bounds[spread.bounds > 0]
        assert bounds[1:] / bounds[:-1] == pytest.approx(np.full(len(bounds) - 1, np.sqrt(2)))
        assert len(spread.bounds) == len(spread.real) + 1 and len(bounds) >= 10
    sizes = np.diff(timed[0].offsets)
    points = figures.spreads["points"]
    for low, high, share in zip(points.bounds[:-1], points.bounds[1:], points.real, strict=True):
        assert share == pytest.approx(np.mean((sizes >= low) & (sizes < high)))
    assert points.medians == (np.median(sizes), np.median(np.diff(timed[1].offsets)))
    # Walks rest now and then: no move is a bin of its own.
    assert figures.spreads["jump"].bounds[0] == 0 and figures.spreads["jump"].real[0] > 0.05


def test_tails_are_in_the_first_and_last_steps() -> None:
    """One in a thousand walks is far longer than all others, and one far shorter."""
    usual, long, short = ([(1.0, 1.0), (1.0 + size, 1.0)] for size in (0.5, 6.0, 1e-6))
    jump = drawn([usual] * 998 + [long, short], [usual] * 5).spreads["jump"]
    assert len(jump.real) == 9 and jump.real[[0, -1]] == pytest.approx([0.001, 0.001])
    assert jump.medians == (pytest.approx(0.5, rel=0.2), pytest.approx(0.5, rel=0.2))


def test_without_times_there_is_no_clock(timed: tuple[pt.Trajectories, pt.Trajectories]) -> None:
    for pair in ((timed[0], trajectories(*SYNTHETIC)), (trajectories(*REAL), timed[1])):
        figures = pt.evaluate(*pair, region=REGION).figures
        assert figures is not None and figures.clock is None
        assert list(figures.spreads) == ["jump", "points"]


def test_an_empty_synthetic_set_has_empty_figures() -> None:
    figures = drawn(REAL, [])
    assert figures.heat[1].sum() == figures.pairs[1].sum() == 0
    for curve in figures.curves.values():
        assert curve.real.sum() == pytest.approx(1) and curve.synthetic.sum() == 0
        assert np.isnan(curve.medians_m[1]) and not np.isnan(curve.medians_m[0])
    assert all(pattern.synthetic == 0 for pattern in figures.patterns)


def test_figures_change_no_metric() -> None:
    given = {"region": REGION, "profile": "adatrace"}
    plain = pt.evaluate(trajectories(*REAL), trajectories(*SYNTHETIC), figures=False, **given)
    also = pt.evaluate(trajectories(*REAL), trajectories(*SYNTHETIC), **given)
    assert plain.to_dict()["metrics"] == also.to_dict()["metrics"] and plain.figures is None
