"""Tracing against geometry: every cell that a line crosses, in order, and else only those that it touches."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, groupby, pairwise
from typing import Any

import numpy as np
import pytest
import shapely
from tests import polygons
from tests.conftest import trajectories

import privtrace as pt
from privtrace.paths import Paths
from privtrace.runs import Runs
from privtrace.space.adjacency import adjacency
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.space.shortest_paths import LONGEST
from privtrace.space.traverse import trace
from privtrace.trajectories import Floats

#: In cells. What is nearer than this to a line may be in its path, and what it crosses for less may not be.
NEAR = 1e-9

BOXES = {
    "square": pt.Region.box(0, 0, 10, 10, crs="planar"),
    "wide": pt.Region.box(-3, 100, 41.3, 101.7, crs="planar"),
    "far away": pt.Region.box(4_300_000.1, 5_100_000.7, 4_309_000.9, 5_140_000.3, crs="planar"),
    "town": pt.Region.box(-8.70, 41.10, -8.54, 41.22, crs="lonlat"),
    "antimeridian": pt.Region.box(179.7, -17, -179.4, -16.2, crs="lonlat"),
}


def uneven(region: pt.Region, seed: int, size: int = 4, most: int = 7) -> Grid:
    rng = np.random.default_rng(seed)
    return Grid(region, rng.integers(1, most + 1, (size, size)).astype(np.int32))


def as_lists(paths: Paths) -> list[list[int]]:
    return [part.tolist() for part in np.split(paths.cells, paths.offsets[1:-1])]


def traced(grid: Grid, lines: Floats, longest: int = LONGEST) -> list[list[int]]:
    """Trace lines given in coarse columns and rows, (n, n_points, 2), each a run, wherever it leads."""
    assert grid.region.crs is not None
    west, south, east, north = grid.region.bounds
    unit = np.array([east - west, north - south]) / len(grid.divisions)
    points = np.clip((west, south) + lines.reshape(-1, 2) * unit, (west, south), (east, north))
    points[:, 0] = grid.region.wrap(points[:, 0])
    offsets = np.arange(len(lines) + 1) * lines.shape[1]
    return as_lists(trace(Runs(grid.region.meters(points), offsets), grid, longest))


def cell_boxes(grid: Grid) -> Any:
    """Give cells as boxes, in coarse columns and rows."""
    column, row, division = grid.places.T
    return shapely.box(column / division, row / division, (column + 1) / division, (row + 1) / division)


def line_of(ends: Floats) -> Any:
    return shapely.Point(ends[0]) if np.array_equal(ends[0], ends[-1]) else shapely.LineString(ends)


class Geometry:
    """Look cells up by shapely."""

    def __init__(self, grid: Grid) -> None:
        self.boxes = cell_boxes(grid)
        self.inner = shapely.buffer(self.boxes, -NEAR, join_style="mitre")
        between = adjacency(grid)
        self.linked = set(zip(between.sources.tolist(), between.targets.tolist(), strict=True))

    def crossed(self, ends: Floats) -> list[int]:
        """List the cells whose interior a line crosses, in order."""
        line = line_of(ends)
        near = np.flatnonzero(shapely.dwithin(self.inner, line, 1e-12))
        stretches = shapely.intersection(self.inner[near], line)
        some = shapely.length(stretches) > 10 * NEAR
        along = shapely.line_locate_point(line, shapely.centroid(stretches[some]))
        return near[some][np.argsort(along)].tolist()  # type: ignore[no-any-return]

    def check(self, path: list[int], ends: Floats, *, is_linked: bool = True) -> None:
        crossed, about = self.crossed(ends), (path, ends.tolist())
        assert [cell for cell in path if cell in set(crossed)] == crossed, about
        assert shapely.distance(self.boxes[path], line_of(ends)).max() <= NEAR, about
        assert len(set(path)) == len(path) > 0, about
        if is_linked:
            assert all(step in self.linked for step in pairwise(path)), about


def random_lines(seed: int, size: int, n: int = 80) -> Floats:
    """Draw ends anywhere, and of some lines near by or straight to a side."""
    rng = np.random.default_rng(seed)
    lines = rng.uniform(0, size, (n, 2, 2))
    lines[: n // 4, 1] = np.clip(lines[: n // 4, 0] + rng.normal(0, 0.1, (n // 4, 2)), 0, size)
    lines[n // 4 : n // 3, 1, 0] = lines[n // 4 : n // 3, 0, 0]
    lines[n // 3 : n // 2, 1, 1] = lines[n // 3 : n // 2, 0, 1]
    return lines


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize("seed", range(3))
def test_lines_cross_the_cells_that_geometry_says(name: str, seed: int) -> None:
    size = 3 + seed
    for grid in (uneven(BOXES[name], seed, size), Grid.uniform(BOXES[name], 2 * size)):
        geometry, lines = Geometry(grid), random_lines(seed, len(grid.divisions))
        for path, ends in zip(traced(grid, lines), lines, strict=True):
            geometry.check(path, ends)


@pytest.mark.parametrize("seed", range(12))
def test_lines_through_corners_and_along_sides_are_traced_as_well(seed: int) -> None:
    """Ends on a lattice: most lines pass corners, run along sides, or end on them."""
    rng = np.random.default_rng(seed)
    size, finer = int(rng.integers(1, 6)), int(rng.choice([1, 2, 3, 4, 6]))
    grid = uneven(pt.Region.box(0, 0, size, size, crs="planar"), seed, size, most=6)
    geometry = Geometry(grid)
    lines = rng.integers(0, finer * size + 1, (100, 2, 2)) / finer
    for path, ends in zip(traced(grid, lines), lines, strict=True):
        geometry.check(path, ends)


@pytest.mark.parametrize("seed", range(6))
def test_ends_a_rounding_beside_sides_and_corners_lead_nowhere_else(seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 4))
    grid = uneven(pt.Region.box(0, 0, size, size, crs="planar"), seed, size)
    places = np.unique(np.concatenate([np.arange(size * d + 1) / d for d in range(1, 8)]))
    lines = rng.choice(places, (100, 2, 2))
    for _ in range(2):
        away = rng.integers(-1, 2, lines.shape)
        lines = np.where(away == 0, lines, np.nextafter(lines, np.where(away < 0, -np.inf, np.inf)))
    lines = np.clip(lines, 0, size)
    geometry = Geometry(grid)
    for path, ends in zip(traced(grid, lines), lines, strict=True):
        geometry.check(path, ends)


def test_a_line_that_ends_on_a_side_goes_no_farther() -> None:
    """The end is in the large cell to the north, of which some is also to the east."""
    grid = Grid(pt.Region.box(0, 0, 2, 2, crs="planar"), np.array([[4, 1], [1, 1]], np.int32))
    (path,) = traced(grid, np.array([[[0.1, 0.8], [0.3, 1.0]]]))
    assert path == [12, 13, 17]


def test_a_corner_is_passed_to_the_east_or_west_first() -> None:
    grid = Grid.uniform(pt.Region.box(0, 0, 2, 2, crs="planar"), 2)
    across = np.array([[0.5, 0.5], [1.5, 1.5]])
    aslant = np.array([[0.5, 1.5], [1.5, 0.5]])
    lines = np.stack([across, across[::-1], aslant, aslant[::-1]])
    assert traced(grid, lines) == [[0, 1, 3], [3, 2, 0], [2, 3, 1], [1, 0, 2]]


def test_over_a_polygon_a_corner_is_passed_where_a_cell_is() -> None:
    """Three cells of four exist; the ways over the one that does not are closed."""
    for missing, expected in ((1, [0, 1, 2]), (2, [0, 1, 2])):
        cells = [polygons.square(x, y, 1) for x, y in ((0, 0), (1, 0), (0, 1), (1, 1))]
        del cells[missing]
        region = pt.Region.polygon(polygons_of(cells), crs="planar")
        grid = Grid.uniform(region, 2)
        assert grid.n_cells == 3
        line = np.array([[[0.5, 0.5], [1.5, 1.5]]])
        assert traced(grid, line) == [expected]
        assert traced(grid, line[:, ::-1]) == [expected[::-1]]


def polygons_of(rings: list[Any]) -> Any:
    united = shapely.union_all([shapely.Polygon(ring) for ring in rings])
    return shapely.geometry.mapping(united)


def test_where_cells_meet_in_a_corner_alone_the_path_goes_on_all_the_same() -> None:
    grid = Grid.uniform(polygons.region("two squares at a corner"), 2)
    (path,) = traced(grid, np.array([[[0.5, 0.5], [1.5, 1.5]]]))
    assert path == [0, 1] and grid.n_cells == 2


@pytest.mark.parametrize("name", ["mixed 0", "mixed 3", "frame", "ell", "diamond", "steps", "two banks"])
def test_over_polygons_lines_cross_the_cells_that_geometry_says(name: str) -> None:
    grid = uneven(polygons.region(name), 5, 4, most=5)
    rng = np.random.default_rng(6)
    size = len(grid.divisions)
    west, south, east, north = grid.region.bounds
    unit = np.array([east - west, north - south]) / size
    points = rng.uniform(0, size, (600, 2))
    points = points[grid.region.contains(points * unit + (west, south))]
    lines = points[: len(points) // 2 * 2].reshape(-1, 2, 2)
    lines[::2, 1] = lines[::2, 0] + (lines[::2, 1] - lines[::2, 0]) * 0.1
    lines = lines[grid.region.contains(lines[:, 1] * unit + (west, south))]
    geometry = Geometry(grid)
    gaps = shapely.difference(shapely.box(0, 0, size, size), shapely.union_all(geometry.boxes))
    n_whole = n_over = 0
    for path, ends in zip(traced(grid, lines), lines, strict=True):
        in_gaps = shapely.intersection(gaps, line_of(ends)).length
        if in_gaps == 0:
            n_whole += 1
            geometry.check(path, ends, is_linked=False)
            boxes = geometry.boxes[path]
            assert all(shapely.intersection(a, b).length > 0 for a, b in pairwise(boxes))
        elif in_gaps > 1e-6:  # the path goes on behind a gap
            n_over += 1
            passed = shapely.intersection(geometry.boxes, line_of(ends))
            assert set(path) >= set(np.flatnonzero(shapely.length(passed) > 1e-6).tolist())
            assert all(shapely.distance(geometry.boxes[cell], line_of(ends)) < NEAR for cell in path)
    assert n_whole > 20 and (n_over > 5 or name in ("diamond", "two banks"))


def merged(parts: Iterator[list[int]]) -> list[int]:
    return [cell for cell, _ in groupby(chain.from_iterable(parts))]


@pytest.mark.parametrize("name", BOXES)
def test_a_path_is_that_of_its_lines_one_after_the_other(name: str) -> None:
    grid = uneven(BOXES[name], 3)
    lines = np.random.default_rng(7).uniform(0, 4, (50, 9, 2))
    lines[:, 4] = lines[:, 3]  # a point repeated
    pairs = traced(grid, np.stack([lines[:, :-1], lines[:, 1:]], axis=2).reshape(-1, 2, 2))
    for number, path in enumerate(traced(grid, lines)):
        assert path == merged(iter(pairs[8 * number : 8 * number + 8]))


def test_paths_pass_the_cells_of_their_points(wanderers: pt.Trajectories) -> None:
    """Bad points are absent and points outside end a run, as for `Grid.encode`."""
    rng = np.random.default_rng(8)
    points = wanderers.points.copy()
    points[rng.random(len(points)) < 0.1] = np.nan
    points[rng.random(len(points)) < 0.02, 1] = np.inf
    given = pt.Trajectories(points, wanderers.offsets, crs="planar")
    grid = uneven(BOXES["square"], 9)
    seen = as_lists(grid.encode(clip(given, grid.region)))
    assert sum(not cells for cells in seen) > 1
    for path, cells in zip(as_lists(trace(clip(given, grid.region), grid)), seen, strict=True):
        assert path[:1] == cells[:1] and path[-1:] == cells[-1:]
        passed = iter(path)
        assert all(cell in passed for cell in cells)  # in this order


def test_the_longest_run_alone_is_traced() -> None:
    grid = Grid.uniform(BOXES["square"], 2)
    given = trajectories(
        [(1, 1), (99, 0), (9, 9), (np.nan, 0), (1, 9), (-1, 1), (9, 9)],
        [(1, 1), (99, 0), (9, 9)],
        [(99, 99), (np.nan, np.nan)],
        [],
        [(4, 4)],
        [(4, 4), (4, 4), (4.5, 4)],
    )
    assert as_lists(trace(clip(given, grid.region), grid)) == [[3, 2], [0], [], [], [0], [0]]


def test_whatever_comes_is_traced_from_side_to_side() -> None:
    rng = np.random.default_rng(10)
    odd = [0.0, -0.0, 10.0, 5.0, 2.5, 10 / 3, 20 / 3, 1e-300, 5e-324, 1e-17, np.nextafter(10, 0)]
    odd += [np.nextafter(0, -1), np.nextafter(10, 11), np.nan, np.inf, -np.inf, 1e300, 1e18, 7.0]
    points = rng.choice(odd, (20_000, 2), p=[0.06] * 11 + [0.02] * 7 + [0.2])
    given = pt.Trajectories(points, np.sort([0, *rng.integers(0, 20_001, 3000), 20_000]), crs="planar")
    for seed in range(3):
        grid = uneven(BOXES["square"], seed, 3)
        linked = Geometry(grid).linked
        paths = as_lists(trace(clip(given, grid.region), grid))
        assert max(map(len, paths)) > 50
        assert all(step in linked for path in paths for step in pairwise(path))


def test_the_antimeridian_is_a_line_like_any_other() -> None:
    here, there = (
        pt.Region.box(west, 40, east, 40.5, crs="lonlat") for west, east in ((100, 101), (179.5, -179.5))
    )
    lines = np.round(random_lines(11, 4) * 2**30) / 2**30
    divisions = uneven(here, 12).divisions
    assert traced(Grid(here, divisions), lines) == traced(Grid(there, divisions), lines)


def test_a_path_ends_when_it_is_long_enough() -> None:
    grid = uneven(BOXES["square"], 13)
    lines = np.random.default_rng(14).uniform(0, 4, (20, 6, 2))
    whole = traced(grid, lines)
    for longest in (1, 2, 5, 17, 10_000):
        assert traced(grid, lines, longest) == [path[:longest] for path in whole]


def test_one_trajectory_that_jumps_to_and_fro_fills_no_memory() -> None:
    grid = Grid.uniform(BOXES["square"], 100)
    jumps = np.tile([[0.5, 0.5], [99.5, 99.5]], (10_000, 1))[np.newaxis]
    (path,) = traced(grid, jumps)
    assert len(path) == LONGEST
