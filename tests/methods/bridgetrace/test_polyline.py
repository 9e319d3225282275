"""Lines through cells: points in the cells of their paths, in order, and where the number says."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from tests import polygons
from tests.conftest import BOX

import privtrace as pt
from privtrace.compiling import compiled
from privtrace.methods.bridgetrace.polyline import (
    STRAIGHTNESS,
    Placing,
    draw_line,
    geometry,
    place_on_lines,
    scratch_for,
    sides,
    take_path,
)
from privtrace.paths import Paths
from privtrace.random import PLACING, Stream, uniforms
from privtrace.space.adjacency import adjacency, link_between
from privtrace.space.grid import Grid
from privtrace.space.shapes import shape_edges
from privtrace.testing.data import timed_wanderers
from privtrace.timing.draw import NO_DRAWS, Draws
from privtrace.trajectories import Floats

PLANAR = pt.Region.box(0, 0, 10, 10, crs="planar")


def uneven(region: pt.Region, seed: int = 1, size: int = 3) -> Grid:
    return Grid(region, np.random.default_rng(seed).integers(1, 5, (size, size)).astype(np.int32))


GRIDS = {
    "one cell": Grid.uniform(PLANAR, 1),
    "uniform": Grid.uniform(PLANAR, 5),
    "uneven": uneven(PLANAR),
    "town": uneven(pt.Region.box(-8.70, 41.10, -8.54, 41.22, crs="lonlat"), 2),
    "antimeridian": uneven(pt.Region.box(179.7, -17, -179.4, -16.2, crs="lonlat"), 3),
    **{
        name: uneven(polygons.region(name), 4)
        for name in ("mixed 0", "mixed 3", "frame", "two banks", "diamond")
    },
}


@pytest.fixture(params=GRIDS)
def grid(request: pytest.FixtureRequest) -> Grid:
    return GRIDS[request.param]


def random_paths(grid: Grid, n: int = 120, seed: int = 5) -> Paths:
    """Walk at random over links; some walks stay where they are."""
    rng, between = np.random.default_rng(seed), adjacency(grid)
    paths = []
    for _ in range(n):
        path = [int(rng.integers(grid.n_cells))]
        for _ in range(rng.integers(0, 25)):
            onward = between.targets[between.offsets[path[-1]] : between.offsets[path[-1] + 1]]
            path += [int(rng.choice(onward))] if len(onward) else []
        paths.append(path)
    cells = np.array([cell for path in paths for cell in path], np.int32)
    return Paths(cells, np.cumsum([0, *map(len, paths)]))


def spacing(grid: Grid, share: float = 0.02) -> float:
    return share * min(grid.region.width_m, grid.region.height_m)


@cache
def draws() -> Draws:
    """Measure, without noise, how wanderers are reported: some by one point, some gaps are none."""
    settings = pt.PrivTrace(epsilon=1, region=pt.Region.box(*BOX), K=1, order=1, times=True)
    timing = settings.fit(timed_wanderers(), noise=pt.NoNoise()).timing
    assert timing is not None
    return timing.draws


def placing(grid: Grid, share: float | None) -> Placing:
    """Set points as far apart as a share of the region's side, or as wanderers are reported."""
    if share is None:
        return Placing(0.0, draws()._replace(edges=shape_edges(grid.region)))
    return Placing(spacing(grid, share), NO_DRAWS)


def placed(
    paths: Paths, grid: Grid, share: float | None = 0.02, first: int = 0, seed: int = 9
) -> pt.Trajectories:
    made = place_on_lines(paths, geometry(grid, adjacency(grid)), placing(grid, share), first, seed)
    if share is None:  # departures, and then later and later
        assert len(made.seconds) == len(made.points)
        firsts = made.offsets[:-1][np.diff(made.offsets) > 0]
        later = np.diff(made.seconds, prepend=-1.0) > 0
        assert not made.seconds[firsts].any() and np.delete(later, firsts).all()
    else:
        assert len(made.seconds) == 0
    return pt.Trajectories(made.points, made.offsets, crs=grid.region.crs or "planar")


def each(made: pt.Trajectories, grid: Grid) -> list[Floats]:
    return np.split(grid.region.unwrap(made.points), made.offsets[1:-1])


def test_sides_are_what_the_boxes_of_linked_cells_share(grid: Grid) -> None:
    between = adjacency(grid)
    found = sides(grid, between)
    assert found.shape == (len(between.sources), 4)
    for side, a, b in zip(found, between.sources, between.targets, strict=True):
        low, high = np.maximum(*grid.boxes[[a, b], :2]), np.minimum(*grid.boxes[[a, b], 2:])
        assert np.array_equal(side, [*low, *high])
        assert np.count_nonzero(low == high) == np.count_nonzero(low < high) == 1  # flat, and no mere corner


@pytest.mark.parametrize("share", [0.5, 0.02, None])
def test_points_lie_in_the_cells_of_their_path_in_order(grid: Grid, share: float | None) -> None:
    paths = random_paths(grid)
    made = placed(paths, grid, share)
    near = 1e-12 * np.abs(grid.region.bounds).max()  # longitudes lose a bit at the antimeridian
    for path, points in zip(np.split(paths.cells, paths.offsets[1:-1]), each(made, grid), strict=True):
        boxes = grid.boxes[path]
        low, high = boxes[:, :2] - near, boxes[:, 2:] + near
        assert np.all((low[0] <= points[0]) & (points[0] <= high[0]))
        if len(points) > 1 or share is not None:
            assert np.all((low[-1] <= points[-1]) & (points[-1] <= high[-1]))
        place = 0
        for point in points:
            while place < len(path) and not np.all((low[place] <= point) & (point <= high[place])):
                place += 1
            assert place < len(path)


@pytest.mark.parametrize("share", [0.5, 0.02, None])
def test_points_are_in_the_region(grid: Grid, share: float | None) -> None:
    made = placed(random_paths(grid), grid, share)
    assert grid.region.contains(made.points).all() and np.diff(made.offsets).min() >= 1


@pytest.mark.parametrize("share", [0.004, None])
def test_both_ends_are_points_whatever_the_spacing(grid: Grid, share: float | None) -> None:
    """But for trips of one point, which is where they start."""
    paths = random_paths(grid)
    wide, narrow = placed(paths, grid, 10.0), placed(paths, grid, share)
    assert np.diff(wide.offsets).min() >= 2
    if share is not None:
        assert np.diff(narrow.offsets).min() >= 2
    several = np.diff(narrow.offsets) > 1
    assert several.sum() > 0.8 * len(several)
    if grid.region.shape is None:  # else a point that leaves the polygon is drawn anew
        assert np.array_equal(wide.points[wide.offsets[:-1]], narrow.points[narrow.offsets[:-1]])
        lasts = [made.points[made.offsets[1:] - 1][several] for made in (wide, narrow)]
        assert np.array_equal(*lasts)


@pytest.mark.parametrize("name", ["uniform", "uneven", "town", "antimeridian"])
def test_points_are_about_as_far_apart_as_asked_for(name: str) -> None:
    grid = GRIDS[name]
    paths, scale = random_paths(grid), np.array(grid.region.scale_m)
    finely = each(placed(paths, grid, 0.0005), grid)
    lengths = np.array([np.hypot(*(np.diff(points, axis=0) * scale).T).sum() for points in finely])
    made = placed(paths, grid, 0.02)
    n_gaps, asked = np.diff(made.offsets) - 1, spacing(grid)
    assert np.all(np.abs(n_gaps - np.maximum(lengths / asked, 1)) < 1.1 + 0.01 * n_gaps)
    long = lengths > asked
    assert abs(n_gaps[long].sum() * asked / lengths[long].sum() - 1) < 0.01
    for points in each(made, grid):
        assert np.hypot(*(np.diff(points, axis=0) * scale).T).max() < 2.01 * asked


@pytest.mark.parametrize("name", ["one cell", "uneven", "mixed 0"])
def test_a_path_of_one_cell_stays_there_and_may_be_short(name: str) -> None:
    grid = GRIDS[name]
    cells = np.arange(grid.n_cells, dtype=np.int32).repeat(200)
    made = placed(Paths(cells, np.arange(len(cells) + 1)), grid, 0.02)
    assert np.diff(made.offsets).min() >= 2 and grid.region.contains(made.points).all()
    boxes = np.repeat(grid.boxes[cells], np.diff(made.offsets), axis=0)
    assert np.all((boxes[:, :2] <= made.points) & (made.points <= boxes[:, 2:]))
    ends = made.points[made.offsets[1:] - 1] - made.points[made.offsets[:-1]]
    sizes = grid.boxes[cells, 2:] - grid.boxes[cells, :2]
    apart = np.abs(ends / sizes).max(axis=1)
    assert np.mean(apart < 0.1) > 0.1 and np.mean(apart > 0.4) > 0.1


def test_starts_are_uniform_in_their_cell() -> None:
    grid = GRIDS["uneven"]
    paths = Paths(np.full(20_000, 3, np.int32), np.arange(20_001))
    made = placed(paths, grid, 10.0)
    within = (made.points[made.offsets[:-1]] - grid.boxes[3, :2]) / (grid.boxes[3, 2:] - grid.boxes[3, :2])
    assert np.allclose(np.quantile(within, [0.1, 0.5, 0.9], axis=0).T, [0.1, 0.5, 0.9], rtol=0, atol=0.02)


@pytest.mark.parametrize("share", [0.02, None])
def test_a_line_depends_on_its_path_its_number_and_the_seed_alone(grid: Grid, share: float | None) -> None:
    paths = random_paths(grid, 100)
    whole = placed(paths, grid, share, first=7)
    assert np.array_equal(placed(paths, grid, share, first=7).points, whole.points)
    for first, last in ((0, 1), (13, 60), (99, 100)):
        cells = paths.cells[paths.offsets[first] : paths.offsets[last]]
        part = Paths(cells, paths.offsets[first : last + 1] - paths.offsets[first])
        made, expected = placed(part, grid, share, first=7 + first), whole[first:last]
        assert np.array_equal(made.points, expected.points)
        assert np.array_equal(made.offsets, expected.offsets)
    assert not np.array_equal(placed(paths, grid, share, first=8).points[:2], whole.points[:2])
    assert not np.array_equal(placed(paths, grid, share, first=7, seed=10).points[:2], whole.points[:2])


@pytest.mark.parametrize("share", [0.02, None])
def test_empty_paths_have_no_points(share: float | None) -> None:
    grid = GRIDS["uneven"]
    made = placed(Paths(np.array([0, 1], np.int32), np.array([0, 0, 2, 2])), grid, share)
    sizes = np.diff(made.offsets).tolist()
    assert sizes[0] == sizes[2] == 0 < sizes[1]
    assert len(placed(Paths(np.empty(0, np.int32), np.zeros(1, np.int64)), grid, share)) == 0


@pytest.mark.parametrize("share", [0.02, None])
@pytest.mark.parametrize("name", ["two banks", "mixed 0", "frame"])
def test_a_step_that_no_side_joins_raises_nothing(name: str, share: float | None) -> None:
    grid = GRIDS[name]
    cells = np.random.default_rng(6).integers(0, grid.n_cells, 400).astype(np.int32)
    made = placed(Paths(cells, np.arange(0, 401, 8)), grid, share)
    assert grid.region.contains(made.points).all()


def length_of(made: pt.Trajectories, grid: Grid) -> float:
    return float(sum(np.hypot(*np.diff(points, axis=0).T).sum() for points in each(made, grid)))


@pytest.mark.parametrize(
    "name",
    [
        "uniform",
        "uneven",
        "diamond",
        "two banks",
        "mixed 0",
        "mixed 3",
    ],
)
def test_more_points_make_a_line_hardly_longer(name: str) -> None:
    """Points that are set more densely lie on the same line, also where it follows a polygon's border."""
    grid, paths = GRIDS[name], random_paths(GRIDS[name])
    coarsely, finely = (length_of(placed(paths, grid, share), grid) for share in (0.02, 0.004))
    assert finely < 1.3 * coarsely


def test_a_long_path_has_room() -> None:
    grid = GRIDS["uniform"]
    made = placed(Paths(np.tile([0, 1], 5000).astype(np.int32), np.array([0, 10_000])), grid)
    assert made.n_points > 256  # more than the memory for points begins with
    assert made.points[:, 0].max() <= 4 and made.points[:, 1].max() <= 2


TOWN = Grid.uniform(pt.Region.box(0, 0, 40, 40, crs="planar"), 40)


def per_cell(path: list[int]) -> float:
    """Lead 400 lines through a path of cells of one unit: their mean length for each step."""
    cells = np.tile(np.array(path, np.int32), 400)
    made = placed(Paths(cells, np.arange(401) * len(path)), TOWN, 0.001)
    return length_of(made, TOWN) / 400 / (len(path) - 1)


def test_lines_are_half_way_between_a_taut_string_and_random_places() -> None:
    """Straight on, a string has length 1 a step and random places 1.08; up stairs they have 0.71 and 0.77."""
    straight, stairs = [20 * 40 + k for k in range(40)], [(k + 1) // 2 * 40 + k // 2 for k in range(78)]
    assert 1.015 < per_cell(straight) < 1.035
    assert 0.718 < per_cell(stairs) < 0.738


def test_lines_cross_sides_here_and_there() -> None:
    """Half as far apart as random places, a side after the other, and more than on a string."""
    straight = [20 * 40 + k for k in range(40)]
    made = placed(Paths(np.tile(np.array(straight, np.int32), 400), np.arange(401) * 40), TOWN, 0.001)
    sides_at = np.arange(5, 35)
    crossed = np.array([np.interp(sides_at, points[:, 0], points[:, 1]) for points in each(made, TOWN)]) - 20
    assert 0.14 < crossed.std() < 0.21  # 0.29 at random, 0.10 on a string
    assert 0.16 < np.diff(crossed, axis=1).std() < 0.25  # 0.41 at random, 0.03 on a string


@compiled
def drawn_line(cells: Any, geometry: Any, stream: Any) -> Any:
    scratch = scratch_for(len(cells), 1)
    take_path(scratch, cells, geometry.links)
    draw_line(scratch, len(cells), geometry, stream)
    return scratch.line[: len(cells) + 1].copy()


def line_by_rounds(cells: Any, grid: Grid, ends: Floats, stream: Stream) -> Floats:
    """Draw a line as its module says: places that are drawn evenly, and four rounds one after the other."""
    between, n_cells = adjacency(grid), len(cells)
    boxes, shares = sides(grid, between), np.empty(n_cells + 5)
    uniforms(shares, n_cells + 4, stream, 3, PLACING)
    line, limits = np.empty((n_cells + 1, 2)), np.empty((n_cells + 1, 4))
    line[0], line[-1] = ends
    for k in range(1, n_cells):
        link = link_between(np.int64(cells[k - 1]), np.int64(cells[k]), between)
        middle = grid.pieces.centers[cells[k - 1 : k + 1]].sum(axis=0) / 2
        limits[k] = boxes[link] if link >= 0 else [*middle, *middle]
        line[k] = limits[k, :2] + shares[k] * (limits[k, 2:] - limits[k, :2])
    taut = line.copy()
    for _ in range(4):
        for k in range(1, n_cells):
            low, high = limits[k, :2], limits[k, 2:]
            axis = int(low[0] != high[0])
            across = taut[k + 1] - taut[k - 1]
            share = (low[axis] - taut[k - 1, axis]) / across[axis] if across[axis] else 0.5
            taut[k] = np.clip(taut[k - 1] + np.clip(share, 0.0, 1.0) * across, low, high)
    inner = slice(1, n_cells)
    line[inner] += STRAIGHTNESS * (taut[inner] - line[inner])
    return line


@pytest.mark.parametrize("name", ["uneven", "town", "antimeridian", "two banks"])
def test_lines_agree_with_rounds_one_after_the_other(name: str) -> None:
    grid = GRIDS[name]
    anywhere = np.random.default_rng(8).integers(0, grid.n_cells, 30).astype(np.int32)  # links are missing
    paths = [*np.split((over := random_paths(grid)).cells, over.offsets[1:-1]), anywhere, anywhere[:2]]
    several = [path for path in paths if len(path) > 1]
    assert {2, 3, 4, 5, 6, 7, 8} < {len(path) for path in several}
    for number, path in enumerate(several):
        stream = Stream(np.uint64(9), np.uint64(number))
        made = drawn_line(path, geometry(grid, adjacency(grid)), stream)
        assert np.array_equal(made, line_by_rounds(path, grid, made[[0, -1]], stream))
