"""Adjacency between cells that share a side: against touching cells, and against shapely."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from tests import polygons

import privtrace as pt
from privtrace.space.adjacency import Adjacency, adjacency, link_between
from privtrace.space.grid import Grid


def uneven(region: pt.Region, seed: int = 0, size: int = 3, most: int = 5) -> Grid:
    rng = np.random.default_rng(seed)
    return Grid(region, rng.integers(1, most + 1, (size, size)).astype(np.int32))


PLANAR = pt.Region.box(0, 0, 10, 10, crs="planar")

GRIDS = {
    "one cell": Grid.uniform(PLANAR, 1),
    "one divided": Grid(PLANAR, np.array([[3]], np.int32)),
    "uniform": Grid.uniform(PLANAR, 6),
    **{f"uneven {seed}": uneven(PLANAR, seed, 4, 7) for seed in range(4)},
    "antimeridian": uneven(pt.Region.box(179.7, -17, -179.4, -16.2, crs="lonlat"), 1),
    **{name: uneven(polygons.region(name), 2) for name in polygons.SHAPES},
}


@pytest.fixture(params=GRIDS)
def grid(request: pytest.FixtureRequest) -> Grid:
    return GRIDS[request.param]


def pairs(between: Adjacency) -> list[tuple[int, int]]:
    return list(zip(between.sources.tolist(), between.targets.tolist(), strict=True))


def share_a_stretch(grid: Grid, a: int, b: int) -> bool:
    low = np.maximum(grid.boxes[a, :2], grid.boxes[b, :2])
    high = np.minimum(grid.boxes[a, 2:], grid.boxes[b, 2:])
    least = 1e-9 * (grid.boxes[:, 2:] - grid.boxes[:, :2]).min()
    return bool(np.sum(high - low > least) == 1)


def test_cells_are_linked_that_touch_along_a_stretch(grid: Grid) -> None:
    """Cells that touch in a corner alone are not; over a polygon, `Grid.touching` has looked at pieces."""
    touching = grid.touching().tocoo()
    expected = {
        (a, b)
        for a, b in zip(touching.row.tolist(), touching.col.tolist(), strict=True)
        if share_a_stretch(grid, a, b)
    }
    found = pairs(adjacency(grid))
    assert len(found) == len(set(found)) and set(found) == expected


@pytest.mark.parametrize("name", ["uneven 0", "uneven 1", "antimeridian", *polygons.SHAPES])
def test_linked_pieces_share_a_border(name: str) -> None:
    grid = GRIDS[name]
    shapes = [shapely.box(*box) for box in grid.boxes]
    if grid.region.shape is not None:
        inside = polygons.oracle(name)
        shapes = [regular(shape.intersection(inside)) for shape in shapes]
    tree, found = shapely.STRtree(shapes), set(pairs(adjacency(grid)))
    near = tree.query(shapes, predicate="dwithin", distance=1e-6).T.tolist()
    expected = {(a, b) for a, b in near if a != b and shapes[a].intersection(shapes[b]).length > 1e-5}
    assert found == expected


def regular(shape: shapely.Geometry) -> shapely.Geometry:
    """Keep what has area: edges along a cell's side leave lines and slivers in an intersection."""
    parts = [part for part in getattr(shape, "geoms", [shape]) if part.geom_type == "Polygon"]
    return shapely.MultiPolygon([part for part in parts if part.area > 1e-12])


def test_links_are_in_order_and_lead_back(grid: Grid) -> None:
    between = adjacency(grid)
    assert pairs(between) == sorted(pairs(between))
    assert between.offsets.tolist() == [int(np.sum(between.sources < cell)) for cell in range(grid.n_cells + 1)]
    assert np.array_equal(between.back[between.back], np.arange(len(between.back)))
    assert np.array_equal(between.sources[between.back], between.targets)
    assert np.array_equal(between.targets[between.back], between.sources)


def test_a_link_is_found_by_its_ends(grid: Grid) -> None:
    between = adjacency(grid)
    numbers = {ends: number for number, ends in enumerate(pairs(between))}
    rng = np.random.default_rng(1)
    for a, b in [*numbers, *rng.integers(0, grid.n_cells, (100, 2)).tolist()]:
        assert link_between(a, b, between) == numbers.get((a, b), -1)


def test_cells_beside_finer_ones_are_linked_to_each() -> None:
    grid = Grid(PLANAR, np.array([[1, 3], [2, 1]], np.int32))
    # 0; 1 to 9 to its east, from the south up; 10 to 13 to its north; 14 in the northeast.
    linked = {a: [b for source, b in pairs(adjacency(grid)) if source == a] for a in (0, 9, 13, 14)}
    assert linked == {0: [1, 4, 7, 10, 11], 9: [6, 8, 14], 13: [11, 12, 14], 14: [7, 8, 9, 11, 13]}


def test_cells_that_meet_in_a_corner_alone_have_no_links() -> None:
    between = adjacency(Grid.uniform(polygons.region("two squares at a corner"), 2))
    assert len(between.sources) == len(between.back) == 0 and between.offsets.tolist() == [0, 0, 0]
