"""Zones: a partition into rectangles, as many as called for, small where much is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests import polygons

import privtrace as pt
from privtrace.methods.bridgetrace.zones import zones
from privtrace.space.grid import Grid
from privtrace.trajectories import Floats

PLANAR = pt.Region.box(0, 0, 10, 10, crs="planar")


def uneven(region: pt.Region, seed: int, size: int = 4) -> Grid:
    rng = np.random.default_rng(seed)
    return Grid(region, rng.choice([1, 2, 4], (size, size)).astype(np.int32))


GRIDS = {
    "uniform": Grid.uniform(PLANAR, 8),
    "one cell": Grid.uniform(PLANAR, 1),
    **{f"uneven {seed}": uneven(PLANAR, seed) for seed in range(3)},
    "odd divisions": Grid(PLANAR, np.array([[3, 5], [7, 1]], np.int32)),
    **{name: uneven(polygons.region(name), 1) for name in ("mixed 0", "frame", "two banks", "diamond")},
}


@pytest.fixture(params=GRIDS)
def grid(request: pytest.FixtureRequest) -> Grid:
    return GRIDS[request.param]


def densities(grid: Grid) -> list[Floats]:
    rng = np.random.default_rng(4)
    some: Floats = rng.exponential(1.0, grid.divisions.shape) ** 3
    lone = np.zeros(some.shape)
    lone[-1, 0] = 1e6
    return [some, np.zeros(some.shape), np.ones(some.shape), lone, np.where(some > 1, some, 0.0)]


def test_every_cell_has_a_zone_and_every_zone_a_cell(grid: Grid) -> None:
    for density, n_zones in product(densities(grid), (1, 2, 3, 7, 16, 100, 100_000)):
        found = zones(grid, density, n_zones)
        assert found.shape == (grid.n_cells,) and found.dtype == np.int64
        assert np.array_equal(np.unique(found), np.arange(found.max() + 1))
        assert found.max() < min(n_zones, grid.n_cells)
        assert np.array_equal(found, zones(grid, density.copy(), n_zones))


def test_zones_are_rectangles(grid: Grid) -> None:
    """No cell of another zone has its southwest corner among the corners of a zone's cells."""
    for density in densities(grid):
        found = zones(grid, density, 9)
        for zone in range(found.max() + 1):
            corners = grid.boxes[found == zone, :2]
            within = np.all((grid.boxes[:, :2] >= corners.min(0)) & (grid.boxes[:, :2] <= corners.max(0)), 1)
            assert np.array_equal(within, found == zone)


@pytest.mark.parametrize("n_zones", [1, 2, 5, 16, 63, 64, 65])
def test_there_are_as_many_as_called_for_or_as_cells_allow(n_zones: int) -> None:
    grid = GRIDS["uniform"]
    for density in densities(grid):
        if density.min() > 0:
            assert zones(grid, density, n_zones).max() + 1 == min(n_zones, 64)


def test_with_enough_zones_each_cell_is_its_own() -> None:
    for name in ("uniform", "uneven 0", "odd divisions", "mixed 0"):
        grid = GRIDS[name]
        found = zones(grid, np.ones(grid.divisions.shape), 10**6)
        assert np.array_equal(np.sort(found), np.arange(grid.n_cells))


def test_zones_of_even_density_are_as_large() -> None:
    sizes = np.bincount(zones(GRIDS["uniform"], np.ones((8, 8)), 16))
    assert sizes.tolist() == [4] * 16


def test_where_much_is_zones_are_small() -> None:
    size = 16
    at = (np.arange(size) + 0.5) / size
    density = np.exp(-8 * ((at - 0.2) ** 2 + (at[:, np.newaxis] - 0.7) ** 2))
    found = zones(Grid.uniform(PLANAR, size), density, 24)
    held, n_cells = np.bincount(found, density.ravel()), np.bincount(found)
    assert len(held) == 24 and held.max() < 1.8 * held.mean() and held.min() > 0.4 * held.mean()
    dense = n_cells[found[np.argmax(density)]]
    assert dense <= 0.2 * n_cells.max()
    assert np.corrcoef(held / n_cells, n_cells)[0, 1] < -0.3


def test_zones_are_compact() -> None:
    """Cut across their longer sides, they are about as wide as high: one and a half to one on average."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        found = zones(Grid.uniform(PLANAR, 32), rng.exponential(1.0, (32, 32)), 40).reshape(32, 32)
        spans = []
        for zone in range(40):
            row, column = np.nonzero(found == zone)
            spans.append((np.ptp(row) + 1, np.ptp(column) + 1))
        longer, shorter = np.max(spans, axis=1), np.min(spans, axis=1)
        assert np.mean(longer / shorter) < 1.7 and np.max(longer / shorter) < 4


def test_an_empty_region_is_cut_in_the_middle() -> None:
    found = zones(GRIDS["uniform"], np.zeros((8, 8)), 4).reshape(8, 8)
    assert [len(np.unique(found[rows, columns])) for rows in (H0, H1) for columns in (H0, H1)] == [1] * 4
    assert found.max() == 3


H0, H1 = slice(0, 4), slice(4, 8)
