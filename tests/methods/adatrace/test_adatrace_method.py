"""AdaTrace: exact where noise is off, at home in its cells, and refusing what is not sound."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests import polygons
from tests.conftest import trajectories
from tests.counting import lists
from tests.methods.editing import Edit, array, given, setting
from tests.methods.privtrace.test_counts import slow_neighbors
from tests.test_models import put_together, taken_apart

import privtrace as pt
from privtrace.methods.adatrace import fine_cells
from privtrace.methods.adatrace.fine_cells import refined
from privtrace.methods.adatrace.model import AdaTraceModel
from privtrace.models import from_bytes, to_bytes
from privtrace.privacy.unit import WEIGHT
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.space.shortest_paths import graph_distances, shortest_paths


@pytest.fixture(scope="module")
def noiseless(city: tuple[pt.Trajectories, pt.Region]) -> AdaTraceModel:
    trips, region = city
    return pt.AdaTrace(epsilon=1, region=region, N=5, density_per_cell=50).fit(trips, noise=pt.NoNoise())


def test_without_noise_the_model_is_the_empirical_one(
    noiseless: AdaTraceModel, city: tuple[pt.Trajectories, pt.Region]
) -> None:
    paths = lists(noiseless.encode(clip(city[0], noiseless.release.region)))
    trips, lengths = np.zeros((25, 25), np.int64), np.zeros((5, 6), np.int64)
    for path in filter(None, paths):
        trips[path[0], path[-1]] += WEIGHT
        apart = max(abs(path[0] % 5 - path[-1] % 5), abs(path[0] // 5 - path[-1] // 5))
        lengths[apart, min(5, max(len(path), 2) - max(apart + 1, 2))] += WEIGHT
    assert np.array_equal(noiseless.trips, trips) and np.array_equal(noiseless.bridge.trips, trips)
    assert np.array_equal(noiseless.transitions, slow_neighbors(paths, noiseless.grid))
    assert np.array_equal(noiseless.bridge.transitions, noiseless.transitions)
    assert np.array_equal(noiseless.lengths, lengths)
    assert noiseless.n_trajectories == len(city[0])


def test_the_second_layer_is_where_the_density_is(noiseless: AdaTraceModel) -> None:
    visits = noiseless.density / WEIGHT
    assert np.array_equal(noiseless.divisions, np.maximum(1, np.round(np.sqrt(visits / 50))))
    assert noiseless.divisions.max() > 2 and noiseless.divisions.min() == 1
    # Visits of a trajectory weigh one in all, in coarse cells and in fine ones.
    assert noiseless.fine_density.sum() == pytest.approx(noiseless.density.sum(), rel=1e-4)


def test_noise_that_vanishes_gives_the_empirical_model(
    noiseless: AdaTraceModel, city: tuple[pt.Trajectories, pt.Region]
) -> None:
    trips, region = city
    settings = pt.AdaTrace(epsilon=10_000, region=region, N=5, density_per_cell=50)
    noisy = settings.fit(trips, noise=pt.SeededNoise(1))
    for name in ("density", "transitions", "trips", "lengths"):
        assert np.abs(getattr(noisy, name) - getattr(noiseless, name)).max() < 0.5 * WEIGHT, name
    assert noisy.n_trajectories == pytest.approx(noiseless.n_trajectories, abs=2)


def test_synthetic_trips_are_as_frequent_as_real_ones(noiseless: AdaTraceModel) -> None:
    paths = lists(noiseless.walk(range(30_000), seed=3)[0])
    made = np.zeros((25, 25))
    for path in paths:
        made[path[0], path[-1]] += 1
    expected = noiseless.trips / noiseless.trips.sum() * len(paths)
    assert not made[expected == 0].any()
    assert stats.chisquare(made[expected > 0], expected[expected > 0]).pvalue > 1e-4


def test_points_lie_in_the_cells_of_their_path(noiseless: AdaTraceModel) -> None:
    paths, n_capped = noiseless.walk(range(500, 2500), seed=6)
    made, _ = noiseless.sample_block(range(500, 2500), seed=6)
    again = noiseless.encode(clip(made, noiseless.release.region))
    assert np.array_equal(again.cells, paths.cells) and np.array_equal(again.offsets, paths.offsets)
    n_cells, n_points = np.diff(paths.offsets), np.diff(made.offsets)
    assert np.array_equal(n_points, np.where(n_cells == 1, 2, n_cells))  # a lone cell has start and end
    assert n_points.max() <= noiseless.longest_walk and n_capped == 0


def test_points_are_as_dense_as_the_fine_cells(noiseless: AdaTraceModel) -> None:
    cell = int(noiseless.divisions.argmax())
    first, last = noiseless.fine_cells.offsets[cell : cell + 2]
    points = noiseless.sample(20_000, seed=2).points
    counts = np.zeros(last - first)
    for place, (west, south, east, north) in enumerate(noiseless.fine.boxes[first:last]):
        inside = np.all((points > [west, south]) & (points < [east, north]), axis=1)
        counts[place] = inside.sum()
    weights = noiseless.fine_density[first:last]
    assert not counts[weights == 0].any() and len(counts) >= 9
    expected = (weights / weights.sum() * counts.sum())[weights > 0]
    assert stats.chisquare(counts[weights > 0], expected).pvalue > 1e-4


def test_real_trajectories_go_through_the_cells_and_back(
    noiseless: AdaTraceModel, city: tuple[pt.Trajectories, pt.Region]
) -> None:
    part = city[0][:300]
    back = noiseless.retrace(clip(part, noiseless.release.region), 0, seed=1)
    paths, again = (
        noiseless.encode(clip(part, noiseless.release.region)),
        noiseless.encode(clip(back, noiseless.release.region)),
    )
    assert np.array_equal(paths.cells, again.cells) and np.array_equal(paths.offsets, again.offsets)


def test_data_in_one_cell_stays_there(region: pt.Region) -> None:
    source = trajectories(*[[(1.45, 8.6), (1.2, 8.9)]] * 400)
    model = pt.AdaTrace(epsilon=1, region=region, N=6, density_per_cell=4).fit(source, noise=pt.NoNoise())
    made = model.sample(500, seed=1)
    assert np.diff(made.offsets).tolist() == [2] * 500
    # Fine cells are a sixth wide; all points lie in the two that have been visited.
    low, high = (np.array([column / 6, 8 + 1 / 3 + row / 6]) for column, row in ((8, 1), (7, 3)))
    within = [np.all((made.points >= south) & (made.points <= south + 1 / 6), axis=1) for south in (low, high)]
    assert np.array_equal(within[0], ~within[1]) and 400 < within[0].sum() < 600


def test_a_single_cell_is_a_model(wanderers: pt.Trajectories, region: pt.Region) -> None:
    model = pt.AdaTrace(epsilon=1, region=region, N=1).fit(wanderers)
    assert model.trips.shape == (1, 1) and model.lengths.shape == (1, 2)
    assert np.diff(model.sample(100, seed=1).offsets).tolist() == [2] * 100


def test_trips_that_noise_has_emptied_leave_cells_alone(region: pt.Region) -> None:
    """Without data, a cell is as good as another, and nothing is known beyond it."""
    model = pt.AdaTrace(epsilon=1, region=region, N=4).fit(trajectories(), noise=pt.NoNoise())
    paths, _ = model.walk(range(1600), 1)
    assert np.diff(paths.offsets).tolist() == [1] * 1600
    assert stats.chisquare(np.bincount(paths.cells, minlength=16)).pvalue > 1e-4


@pytest.mark.parametrize("seed", range(5))
def test_no_path_crosses_where_none_leads(seed: int, wanderers: pt.Trajectories) -> None:
    """With noise on every move and trip, also those from bank to bank."""
    model = pt.AdaTrace(epsilon="0.2", region=polygons.region("two banks"), N=4).fit(
        wanderers, noise=pt.SeededNoise(seed)
    )
    parts = model.grid.components()
    assert np.any(model.trips[parts[:, None] != parts] > 0)
    made = model.sample(1000, seed=1)
    for first, last in pairwise(made.offsets.tolist()):
        assert len({*(made.points[first:last, 1] > 5).tolist()}) == 1
    for path in lists(model.walk(range(1000), 1)[0]):
        assert all(model.distances[a, b] == 1 for a, b in pairwise(path))


def test_every_cell_of_a_polygon_keeps_a_fine_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rounding leaves none of a divided cell, it stays whole."""
    area = polygons.region("mixed 1")
    grid = Grid.uniform(area, 4)
    density = grid.spread(np.full(grid.n_cells, 40 * WEIGHT))
    synthesizer = pt.AdaTrace(epsilon=1, region=area, N=4, density_per_cell=10)
    fine = refined(grid, density, synthesizer)
    assert fine.divisions.max() == 2

    def lossy(grid: Grid, fine: Grid) -> np.ndarray:
        offsets = true_offsets(grid, fine)
        offsets[3] = offsets[4]  # as if cell 3 had none
        return offsets

    true_offsets = fine_cells.fine_offsets
    monkeypatch.setattr(fine_cells, "fine_offsets", lossy)
    mended = refined(grid, density, synthesizer).divisions
    assert [*zip(*np.nonzero(mended != fine.divisions), strict=True)] == [divmod(int(grid.slots[3]), 4)]


def test_fine_cells_are_held_back(region: pt.Region) -> None:
    within = region.for_data("planar")
    grid = Grid.uniform(within, 6)
    density = np.full((6, 6), 1000 * WEIGHT)
    density[2, 3] *= 50
    fine = refined(grid, density, pt.AdaTrace(epsilon=1, region=within, density_per_cell=0.01, max_cells=500))
    assert 36 < fine.n_cells <= 500
    few = refined(grid, density, pt.AdaTrace(epsilon=1, region=within, density_per_cell=0.01, max_cells=4))
    assert few.n_cells == 36


def test_sizes_follow_the_rules(region: pt.Region) -> None:
    settings = pt.AdaTrace(epsilon=1, region=region)
    assert [settings.plan(count).coarse_per_side for count in (1, 25_000, 1_000_000, 1 << 39)] == [2, 7, 18, 32]
    users = pt.AdaTrace(epsilon=1, region=region, unit="user", max_per_user=5)
    fifth = pt.AdaTrace(epsilon="0.2", region=region)
    assert users.plan(900_000).coarse_per_side == fifth.plan(900_000).coarse_per_side
    assert users.density_of_fine_cells() == pytest.approx(fifth.density_of_fine_cells())
    assert settings.density_of_fine_cells() == pytest.approx(2**0.5 / 0.02)


def test_the_budget_is_divided_exactly(region: pt.Region) -> None:
    def shares(**settings: Any) -> dict[str, Fraction]:
        budget = pt.AdaTrace(epsilon="0.5", region=region, **settings).budget
        assert sum(budget.values()) == Fraction(1, 2)
        return {stage: 200 * epsilon for stage, epsilon in budget.items()}

    after = {"transitions": 35, "trips": 50, "lengths": 10}
    assert shares() == {"count": 1, "density": 2, "fine density": 2, **after}
    assert shares(public_count=9) == {"density": 3, "fine density": 2, **after}
    assert shares(second_layer=False) == {"count": 1, "density": 4, **after}
    assert list(shares()) == ["count", "density", "fine density", "transitions", "trips", "lengths"]


@pytest.mark.parametrize("settings", [{}, {"second_layer": False}, {"public_count": 600}])
def test_the_charges_of_a_fit_are_the_planned_ones(
    settings: dict[str, Any], wanderers: pt.Trajectories, region: pt.Region
) -> None:
    synthesizer = pt.AdaTrace(epsilon="0.7", region=region, **settings)
    planned = synthesizer.plan(600)
    model = synthesizer.fit(wanderers, noise=pt.SeededNoise(4))
    charges = model.release.charges
    assert [(stage.stage, stage.epsilon) for stage in planned.stages] == [(c.stage, c.epsilon) for c in charges]
    assert [stage.scale for stage in planned.stages] == [c.scale_in_trajectories for c in charges]
    assert planned.coarse_per_side == model.summary()["cells per side"] == 3
    assert model.fine_density.size == (0 if "second_layer" in settings else model.fine.n_cells)


def test_plans_say_how_points_are_placed() -> None:
    settings = pt.AdaTrace(epsilon=1, region=pt.Region.box(0, 0, 1, 1))
    assert settings.plan(25_000).grid.endswith("points are placed more finely in dense cells.")
    one_layer = pt.AdaTrace(epsilon=1, region=settings.region, second_layer=False)
    assert one_layer.plan(25_000).grid.endswith("points are placed uniformly in them.")


def test_plans_warn() -> None:
    settings = pt.AdaTrace(epsilon=1, region=pt.Region.box(0, 0, 1, 1))
    assert "the rule for --N (N) stops at 32" in " ".join(settings.plan(1 << 39).warnings)
    assert "rough picture" in " ".join(settings.plan(50).warnings) and not settings.plan(25_000).warnings


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"N": 0}, r"N\) must be a whole number from 1 to 40"),
        ({"N": 41}, r"N\) must be"),
        ({"N": 2.5}, r"N\) must be a whole number"),
        ({"N": True}, r"N\) must be a whole number"),
        ({"cells_factor": 0}, r"cells_factor\) must be a positive"),
        ({"cells_factor": None}, r"cells_factor\) must be a positive"),
        ({"second_layer": "no"}, "True or False"),
        ({"density_per_cell": -1}, "density_per_cell"),
        ({"fine_factor": "5"}, r"fine_factor\) must be a positive"),
        ({"max_cells": 3}, r"max_cells\) must be"),
        ({"max_cells": 1_000_000}, r"max_cells\) must be"),
        ({"max_extra": -1}, r"max_extra\) must be a whole number from 0"),
        ({"max_extra": 10_001}, r"max_extra\) must be"),
        ({"trips_share": "0.6"}, "shares of grid, transitions, trips and lengths must add up to exactly 1"),
        ({"count_share": "0.03"}, "must be smaller than --grid-share"),
        ({"fine_share": "0.04"}, "must be smaller than --grid-share"),
        ({"lengths_share": "0"}, r"lengths_share\) must be a positive"),
    ],
)
def test_bad_settings_are_refused_in_words(settings: dict[str, Any], word: str, region: pt.Region) -> None:
    with pytest.raises(pt.SettingsError, match=word):
        pt.AdaTrace(**{"epsilon": 1, "region": region, **settings})


def edits() -> dict[str, Edit]:
    def shape(name: str, *shape: int) -> Edit:
        return given(name, lambda values: np.zeros(shape))

    def divided(value: int) -> Edit:
        return lambda header, arrays: arrays["divisions"].fill(value)

    return {
        "another N": setting(N=4),
        "N as float": setting(N=3.0),
        "another cap": setting(max_extra=5),
        "one layer": setting(second_layer=False),
        "fewer cells": setting(max_cells=4),
        "other shares": setting(trips_share="0.4", lengths_share="0.2"),
        "unknown setting": setting(host="here"),
        "no division": array("divisions", 0),
        "negative division": array("divisions", -1),
        "other division": array("divisions", 9),
        "huge divisions": divided(10_000),
        "divisions that wrap around": divided(2**31 - 1),
        "negative count": array("count", -1),
        "no cells": shape("divisions", 0, 0),
        "no square": shape("divisions", 3, 2),
        "no density": shape("density", 0, 0),
        "fine density missing": shape("fine_density", 0),
        "transitions of other shape": shape("transitions", 8, 9),
        "trips of other shape": shape("trips", 3, 27),
        "no lengths": shape("lengths", 0, 0),
        "lengths of other shape": shape("lengths", 4, 3),
        **{
            f"{name} beyond the ledger's limit ({sign:+})": array(name, sign * ((1 << 60) + 1))
            for name in ("density", "fine_density", "transitions", "trips", "lengths")
            for sign in (1, -1)
        },
        "least of all numbers": array("trips", -(1 << 63)),
    }


@pytest.fixture(scope="module")
def content(wanderers: pt.Trajectories, region: pt.Region) -> bytes:
    synthesizer = pt.AdaTrace(epsilon=4, region=region, N=3, density_per_cell=20)
    return to_bytes(synthesizer.fit(wanderers, noise=pt.SeededNoise(1)))


@pytest.mark.parametrize("name", edits())
def test_files_that_are_not_sound_are_refused(content: bytes, name: str) -> None:
    header, arrays = taken_apart(content)
    assert put_together(header, arrays) == content
    edits()[name](header, arrays)
    with pytest.raises(pt.ModelFormatError):
        from_bytes(put_together(header, arrays))


@pytest.mark.parametrize("value", [1 << 60, -(1 << 60), 0])
def test_the_largest_numbers_of_a_sound_file_are_walked_on(content: bytes, value: int) -> None:
    header, arrays = taken_apart(content)
    for name in ("fine_density", "transitions", "trips", "lengths"):
        arrays[name].fill(value)
    made = from_bytes(put_together(header, arrays)).sample(500, seed=1)
    assert len(made) == 500 and made.points.min() >= 0 and made.points.max() <= 10


def test_polygons_of_files_are_checked(wanderers: pt.Trajectories) -> None:
    model = pt.AdaTrace(epsilon=4, region=polygons.region("mixed 1"), N=5).fit(wanderers)
    header, arrays = taken_apart(to_bytes(model))
    assert graph_distances(shortest_paths(model.grid)).max() + 1 == len(model.lengths) != 5
    arrays["density"][arrays["density"] == 0] = 7  # where there is no cell
    with pytest.raises(pt.ModelFormatError, match="density"):
        from_bytes(put_together(header, arrays))


def test_a_summary_in_words(noiseless: AdaTraceModel) -> None:
    sizes = noiseless.summary()
    assert sizes["cells per side"] == 5 and sizes["states"] == 25
    assert sizes["fine cells"] == int(np.sum(noiseless.divisions.astype(int) ** 2))
    assert sizes["trips from cell to cell"] == np.count_nonzero(noiseless.trips)


def test_many_cells_are_walked_in_large_blocks(wanderers: pt.Trajectories, region: pt.Region) -> None:
    model = pt.AdaTrace(epsilon=4, region=region, N=30).fit(wanderers)
    assert model.block_trajectories == 16 * 900
    longest = pt.AdaTrace(epsilon=4, region=region, N=30, max_extra=10_000).fit(wanderers)
    assert longest.block_trajectories == (1 << 22) // longest.longest_walk < 500
