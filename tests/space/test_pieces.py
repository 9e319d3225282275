"""Grids over polygons: cells, areas, sampling and links against shapely, paths against the contract's words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.conftest import trajectories
from tests.polygons import SHAPES, oracle, region, square

import privtrace as pt
from privtrace.methods.common.placing import decode
from privtrace.methods.privtrace.shortest import shortest_transitions
from privtrace.methods.privtrace.trips import estimate_trips
from privtrace.observer import Silent
from privtrace.paths import Paths
from privtrace.runs import Runs
from privtrace.space.adaptive import refine_to
from privtrace.space.clip import clip
from privtrace.space.grid import MAX_SLOTS, Grid
from privtrace.space.traverse import trace
from privtrace.trajectories import Floats


def uneven(name: str, seed: int = 0, size: int = 4) -> Grid:
    rng = np.random.default_rng(seed)
    return Grid(region(name), rng.integers(1, 5, (size, size)).astype(np.int32))


def slot_boxes(grid: Grid) -> list[tuple[float, float, float, float]]:
    """List all slots in their order, with or without a cell."""
    west, south, east, north = grid.region.bounds
    size = len(grid.divisions)
    boxes = []
    for row in range(size):
        for column in range(size):
            d = int(grid.divisions[row, column])
            for i in range(d):
                for j in range(d):
                    x0, x1 = (west + (east - west) * (column + k / d) / size for k in (j, j + 1))
                    y0, y1 = (south + (north - south) * (row + k / d) / size for k in (i, i + 1))
                    boxes.append((x0, y0, x1, y1))
    return boxes


@pytest.mark.parametrize("name", SHAPES)
def test_cells_exist_where_the_polygon_has_area_in_their_box(name: str) -> None:
    grid, polygon = uneven(name), oracle(name)
    expected = []
    for box in slot_boxes(grid):
        cell = shapely.box(*box)
        if cell.intersection(polygon).area > 1e-9 * cell.area:
            expected.append(box)
    assert grid.n_cells == len(expected) == len(grid.boxes)
    assert np.allclose(grid.boxes, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_pieces_have_the_areas_and_centers_of_intersections(name: str) -> None:
    grid, polygon = uneven(name, seed=1), oracle(name)
    assert areas(grid).sum() == pytest.approx(polygon.area, rel=1e-9)
    for area, box, center in zip(areas(grid), grid.boxes, grid.pieces.centers, strict=True):
        piece = shapely.box(*box).intersection(polygon)
        assert area == pytest.approx(piece.area, rel=1e-9, abs=1e-12)
        assert piece.distance(shapely.Point(center)) < 1e-9
    assert grid.region.contains(grid.pieces.centers).all()


@pytest.mark.parametrize("name", SHAPES)
def test_touching_agrees_with_shapely(name: str) -> None:
    assert_links_agree(uneven(name, seed=2, size=3), oracle(name))


@settings(max_examples=60, deadline=None)
@given(
    corners=st.lists(
        st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=8, unique=True
    ).filter(lambda corners: shapely.Polygon(corners).is_valid and shapely.Polygon(corners).area > 0),
    size=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_corners_and_edges_on_the_lines_of_the_grid_are_cut_right(
    corners: list[tuple[int, int]], size: int, seed: int
) -> None:
    polygon = shapely.Polygon(corners)
    divisions = np.random.default_rng(seed).integers(1, 3, (size, size)).astype(np.int32)
    grid = Grid(pt.Region.polygon([[*corners, corners[0]]], crs="planar"), divisions)
    expected = [shapely.box(*box).intersection(polygon).area for box in grid.boxes]
    assert np.allclose(areas(grid), expected, rtol=0, atol=1e-12)
    assert sum(expected) == pytest.approx(polygon.area)
    assert_links_agree(grid, polygon)


def areas(grid: Grid) -> Floats:
    """Measure what of each cell is in the region."""
    pieces = grid.pieces
    sizes: Floats = np.prod(grid.boxes[:, 2:] - grid.boxes[:, :2], axis=1)
    cut = np.diff(pieces.offsets) > 0
    sizes[cut] = pieces.cumulative[pieces.offsets[1:][cut] - 1]
    return sizes


def assert_links_agree(grid: Grid, polygon: Any) -> None:
    shapes = [_regular(shapely.box(*box).intersection(polygon)) for box in grid.boxes]
    links = grid.touching().toarray()
    assert np.array_equal(links, links.T)
    for a in range(grid.n_cells):
        for b in range(a):
            border = shapely.box(*grid.boxes[a]).intersection(shapely.box(*grid.boxes[b]))
            if border.geom_type == "Point":  # boxes share but a corner: both pieces must reach it
                expected = max(shapes[a].distance(border), shapes[b].distance(border)) < 1e-9
            else:
                expected = shapes[a].intersection(shapes[b]).length > 1e-5
            assert (links[a, b] > 0) == expected, (a, b, grid.boxes[a], grid.boxes[b])
            if expected:
                assert links[a, b] == pytest.approx(np.hypot(*(grid.centers_m[a] - grid.centers_m[b])))


def _regular(shape: Any) -> Any:
    """Keep what has area: edges along a cell's side leave lines and slivers in an intersection."""
    parts = getattr(shape, "geoms", [shape])
    return shapely.MultiPolygon([part for part in parts if part.geom_type == "Polygon" and part.area > 1e-12])


@pytest.mark.parametrize("name", ["mixed 0", "mixed 3", "ell", "diamond", "steps"])
def test_points_are_uniform_in_their_pieces(name: str) -> None:
    """Count points in 3 x 3 parts of each cell; each part expects its share of the piece's area."""
    grid, polygon = uneven(name, seed=3, size=2), oracle(name)
    n = 2000
    cells = np.repeat(np.arange(grid.n_cells, dtype=np.int32), n)
    points = decode(Paths(cells, np.arange(len(cells) + 1)), grid, 0, 7).points
    assert grid.region.contains(points).all()
    statistic, freedom = 0.0, 0
    for cell, (west, south, east, north) in enumerate(grid.boxes):
        mine = points[cell * n : (cell + 1) * n]
        assert np.all((mine >= (west, south)) & (mine <= (east, north)))
        x, y = np.linspace(west, east, 4), np.linspace(south, north, 4)
        areas = np.array(
            [
                [shapely.box(x[i], y[j], x[i + 1], y[j + 1]).intersection(polygon).area for j in range(3)]
                for i in range(3)
            ]
        )
        counts = np.histogram2d(*mine.T, bins=(x, y))[0]
        expected = n * areas / areas.sum()
        assert counts[areas == 0].sum() == 0
        large = expected > 5
        statistic += float(((counts - expected)[large] ** 2 / expected[large]).sum())
        freedom += int(large.sum()) - 1
    assert chi2.sf(statistic, freedom) > 1e-3


def test_a_point_depends_on_seed_trajectory_and_step_alone() -> None:
    grid = uneven("mixed 1")
    rng = np.random.default_rng(0)
    cells = rng.integers(0, grid.n_cells, 300).astype(np.int32)
    offsets = np.arange(0, 301, 10)
    together = decode(Paths(cells, offsets), grid, 5, 9).points
    apart = decode(Paths(cells[100:], offsets[10:] - 100), grid, 15, 9).points
    assert np.array_equal(together[100:], apart)


def slow_paths(given: pt.Trajectories, grid: Grid) -> list[list[int]]:
    """Look every point of a run up among the boxes of existing cells."""
    boxes = {box: cell for cell, box in enumerate(map(tuple, grid.boxes.tolist()))}
    runs, paths = clip(given, grid.region), []
    for run in np.split(runs.points, runs.offsets[1:-1]):
        path: list[int] = []
        for x, y in (run + grid.region.bounds[:2]).tolist():
            cell = next(cell for (w, s, e, n), cell in boxes.items() if w <= x < e and s <= y < n)
            if not path or path[-1] != cell:
                path.append(cell)
        paths.append(path)
    return paths


@pytest.mark.parametrize("name", [*(f"mixed {seed}" for seed in range(4)), "frame", "ell", "two banks"])
def test_paths_are_those_of_the_points_of_runs(name: str, wanderers: pt.Trajectories) -> None:
    grid = uneven(name, seed=4, size=5)
    rng = np.random.default_rng(6)
    points = wanderers.points[:1500].copy()
    points[rng.random(len(points)) < 0.05] = np.nan
    offsets = np.append(wanderers.offsets[wanderers.offsets < 1500], 1500)
    given = pt.Trajectories(points, offsets, crs="planar")
    paths = grid.encode(clip(given, grid.region))
    found = [part.tolist() for part in np.split(paths.cells, paths.offsets[1:-1])]
    assert found == slow_paths(given, grid)


def test_points_without_a_cell_are_passed_over() -> None:
    sliver = [[[0, 0], [10, 0], [10, 5], [5 + 1e-12, 5], [5 + 1e-12, 10], [5, 10], [5, 5], [0, 5], [0, 0]]]
    grid = Grid.uniform(pt.Region.polygon(sliver, crs="planar"), 4)
    there = Runs(np.array([[1.0, 1.0], [5.0, 9.9], [9.0, 1.0]]), np.array([0, 3]))
    assert grid.encode(there).cells.tolist() == [0, 3]
    assert -1 not in trace(there, grid).cells
    nowhere = Runs(np.array([[5.0, 9.9]]), np.array([0, 1]))
    assert len(grid.encode(nowhere).cells) == len(trace(nowhere, grid).cells) == 0


def test_refinement_counts_existing_cells() -> None:
    rng = np.random.default_rng(1)
    for name in SHAPES:
        coarse = Grid.uniform(region(name), 4)
        density = coarse.spread(rng.exponential(100, coarse.n_cells))
        for n_cells in (coarse.n_cells, 40, 300):
            grid = refine_to(coarse, density, n_cells)
            assert max(coarse.n_cells, 0.8 * n_cells) <= grid.n_cells <= max(n_cells, coarse.n_cells)


def test_tiny_islands_in_a_wide_sea_are_cut_within_limits() -> None:
    far = pt.Region.polygon([[square(0, 0, 1)], [square(5000, 5000, 1)]], crs="planar")
    coarse = Grid.uniform(far, 12)
    assert coarse.n_cells == 2
    grid = refine_to(coarse, coarse.spread(np.array([50.0, 80.0])), 1000)
    assert 2 <= grid.n_cells <= 1000 and grid.n_slots <= MAX_SLOTS
    with pytest.raises(pt.SettingsError, match="at most"):
        Grid(far, np.full((12, 12), 1000, np.int32))


def test_a_polygon_that_would_take_minutes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A comb whose teeth all end at heights of their own: 45,000 would, and 2,000 do under a lower limit."""
    tips = np.stack([np.arange(4000), np.random.default_rng(0).uniform(0, 4e3, 4000)], axis=1)
    tips[::2, 1] += 5e3
    comb = pt.Region.polygon([[*tips.tolist(), [4e3, 1e4], [0, 1e4], tips[0].tolist()]], crs="planar")
    assert Grid.uniform(comb, 2).n_cells == 4
    monkeypatch.setattr("privtrace.space.pieces._MAX_WORK", 1 << 20)
    with pytest.raises(pt.SettingsError, match="too complex"):
        Grid.uniform(comb, 2).encode(clip(trajectories([(1, 1)]), comb))


def test_looking_for_edges_where_there_are_none_is_work_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Teeth as high as the region stand in every band, also of boxes far to the east of them."""
    x = np.arange(2000) / 2000
    teeth = np.stack([x, np.where(np.arange(2000) % 4 < 2, 2.0, 0.1)], axis=1)
    corners = [(0, 2), (0, 0), (10, 0), (10, 0.1), (1, 0.1), *teeth[::-1].tolist()]
    comb = pt.Region.polygon([corners], crs="planar")
    monkeypatch.setattr("privtrace.space.pieces._MAX_WORK", 1 << 22)
    assert Grid(comb, np.array([[1, 1], [1, 2]], np.int32)).n_cells > 0
    with pytest.raises(pt.SettingsError, match="too complex"):
        Grid(comb, np.array([[1, 1], [1, 200]], np.int32)).slots.sum()


@pytest.mark.parametrize("name", ["two banks", "mixed 2"])
def test_parts_that_cannot_reach_each_other_have_no_trips(name: str) -> None:
    grid = Grid(region(name), np.full((5, 5), 2, np.int32))
    lengths = shortest_transitions(grid.touching())
    rng = np.random.default_rng(0)
    trips = estimate_trips(*rng.exponential(5, (2, grid.n_cells)), lengths, 1000.0)
    apart = np.isinf(lengths)
    assert apart.any() and not trips[apart].any()
    assert trips.sum() == pytest.approx(1000)


@pytest.mark.parametrize("order", ["adaptive", 1, 2])
def test_walks_stay_in_the_part_that_they_start_in(order: Any, wanderers: pt.Trajectories) -> None:
    banks = [[square(0, 0, 4)], [square(6, 0, 4)]]
    area = pt.Region.polygon({"type": "MultiPolygon", "coordinates": banks})
    settings = pt.PrivTrace(epsilon=4, region=area, order=order, K=5, second_layer=False)
    made = settings.fit(wanderers, noise=pt.SeededNoise(2)).sample(3000, seed=1)
    east = np.add.reduceat(made.points[:, 0] >= 6, made.offsets[:-1])
    assert np.all((east == 0) | (east == np.diff(made.offsets)))
    assert 0 < np.sum(east > 0) < 3000 and np.diff(made.offsets).max() > 3


def test_a_lake_is_walked_around() -> None:
    """From bank to bank it is six cells in a row, or eight around the lake: nine transitions."""
    grid = Grid.uniform(region("frame"), 8)
    west, east = (int(np.argmin(np.hypot(*(grid.centers_m - at).T))) for at in ((1.9, 5.6), (8.1, 5.6)))
    assert shortest_transitions(grid.touching())[west, east] == 9


def shifted(given: pt.Trajectories, by: float) -> pt.Trajectories:
    """Move longitudes around the globe; by powers of two, so that nothing rounds."""
    points = given.points + np.array([by, 0])
    points[points[:, 0] > 180, 0] -= 360
    return pt.Trajectories(points, given.offsets, crs="lonlat")


@pytest.mark.parametrize("is_polygon", [False, True])
def test_the_antimeridian_is_a_line_like_any_other(is_polygon: bool, wanderers: pt.Trajectories) -> None:
    """A town moved across 180 degrees has the same model and the same synthetic points, moved as well."""
    points = np.round(wanderers.points * 2.0**20) / 2.0**24 + np.array([100, 40])  # some 60 km
    town = pt.Trajectories(points, wanderers.offsets, crs="lonlat")
    made = []
    for by in (0.0, 79.75):
        west, east = 100 + by, 100.625 + by
        area = pt.Region.box(west, 40, east - 360 if east > 180 else east, 40.625)
        if is_polygon:
            ring = np.array([[0, 1], [5, 0], [10, 4], [7, 10], [1, 9], [0, 1]]) / 16 + (west, 40)
            lake = np.array([[3, 2.5], [4, 6.25], [6.125, 6], [3, 2.5]]) / 16 + (west, 40)
            area = pt.Region.polygon([ring, lake])
        model = pt.PrivTrace(epsilon=10, region=area).fit(shifted(town, by), noise=pt.SeededNoise(4))
        made.append((model, model.sample(2000, seed=1)))
    (first, here), (second, there) = made
    assert first.grid.n_cells > 20
    for name, values in first.arrays().items():
        assert np.array_equal(values, second.arrays()[name]), name
    assert np.abs(there.points).max() <= 180 and (there.points[:, 0] < 0).any() and (there.points > 179).any()
    assert np.allclose(there.points, shifted(here, 79.75).points, rtol=0, atol=1e-9)
    assert second.release.region.contains(there.points).all()


def test_trips_of_a_fit_stay_in_their_part(wanderers: pt.Trajectories) -> None:
    area = pt.Region.polygon([[square(0, 0, 4)], [square(6, 6, 4)]])
    model = pt.PrivTrace(epsilon=5, region=area, K=5).fit(wanderers, noise=pt.SeededNoise(1))
    north = model.grid.boxes[:, 1] > 5
    assert north.any() and not north.all()
    assert not model.trips[np.ix_(north, ~north)].any() and not model.trips[np.ix_(~north, north)].any()
    assert model.trips[np.ix_(north, north)].any() and model.trips[np.ix_(~north, ~north)].any()


class Listener(Silent):
    """Remember what the curator is told."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, bool]] = []

    def note(self, text: str, *, loud: bool = False) -> None:
        self.notes.append((text, loud))


@pytest.mark.parametrize(
    ("box", "word", "is_loud"),
    [
        ((0, 0, 10, 10), "of 600 trajectories", False),
        ((20, 0, 30, 10), "seem to be swapped", True),
        ((50, 50, 60, 60), "seems to be elsewhere", True),
    ],
)
def test_the_curator_hears_of_swapped_axes(
    box: tuple[float, ...], word: str, is_loud: bool, wanderers: pt.Trajectories
) -> None:
    given = wanderers
    if is_loud:
        given = pt.Trajectories(wanderers.points + np.array([0, 20]), wanderers.offsets, crs="planar")
    listener = Listener()
    pt.PrivTrace(epsilon=1, region=pt.Region.box(*box)).fit(given, observer=listener)
    text, loud = listener.notes[0]
    assert word in text and loud == is_loud
