"""Grids: encoding against a slow oracle, numbering, touching cells, refinement."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.conftest import BOX, trajectories
from tests.counting import summed

import privtrace as pt
from privtrace.methods.common.counts import visits
from privtrace.space.adaptive import refine, refine_to
from privtrace.space.clip import clip
from privtrace.space.grid import Grid

PLANAR = pt.Region.box(*BOX, crs="planar")


def uneven(seed: int = 0, size: int = 4) -> Grid:
    rng = np.random.default_rng(seed)
    return Grid(PLANAR, rng.integers(1, 5, (size, size)).astype(np.int32))


def slow_paths(given: pt.Trajectories, grid: Grid) -> list[list[int]]:
    """Find each longest run and look every point up among all boxes."""
    paths = []
    for first, last in zip(given.offsets[:-1], given.offsets[1:], strict=True):
        runs: list[list[tuple[float, float]]] = [[]]
        for x, y in given.points[first:last]:
            if not (np.isfinite(x) and np.isfinite(y)):
                continue
            if 0 <= x <= 10 and 0 <= y <= 10:
                runs[-1].append((x, y))
            else:
                runs.append([])
        longest = max(runs, key=len)
        path: list[int] = []
        for x, y in longest:
            inside = np.all((grid.boxes[:, :2] <= (x, y)) & ((x, y) < grid.boxes[:, 2:]), axis=1)
            cell = int(np.flatnonzero(inside)[0])
            if not path or path[-1] != cell:
                path.append(cell)
        paths.append(path)
    return paths


def as_lists(paths: object) -> list[list[int]]:
    return [part.tolist() for part in np.split(paths.cells, paths.offsets[1:-1])]  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(4))
def test_paths_agree_with_a_slow_oracle(seed: int, wanderers: pt.Trajectories) -> None:
    grid = uneven(seed)
    rng = np.random.default_rng(seed)
    points = wanderers.points.copy()
    points[rng.random(len(points)) < 0.05] = np.nan
    given = pt.Trajectories(points, wanderers.offsets, crs="planar")
    assert as_lists(grid.encode(clip(given, grid.region))) == slow_paths(given, grid)


def test_the_longest_run_wins_and_the_first_on_a_tie() -> None:
    grid = Grid.uniform(PLANAR, 2)
    given = trajectories(
        [(1, 1), (1, 9), (99, 0), (9, 9), (9, 1)],  # two runs of two: the first
        [(1, 1), (99, 0), (9, 9), (np.nan, 0), (9, 1)],  # a bad point does not end a run
        [(99, 99)],
    )
    assert as_lists(grid.encode(clip(given, grid.region))) == [[0, 2], [3, 1], []]


def test_edges_belong_to_cells() -> None:
    grid = uneven(1)
    corners = trajectories([(0, 0)], [(10, 0)], [(0, 10)], [(10, 10)])
    cells = grid.encode(clip(corners, grid.region)).cells
    for cell, corner in zip(cells, [(0, 0), (10, 0), (0, 10), (10, 10)], strict=True):
        low, high = grid.boxes[cell, :2], grid.boxes[cell, 2:]
        assert np.all(low <= corner) and np.all(corner <= high)


def test_boxes_tile_the_region() -> None:
    grid = uneven(2)
    areas = np.prod(grid.boxes[:, 2:] - grid.boxes[:, :2], axis=1)
    assert areas.sum() == pytest.approx(100)
    assert grid.boxes[:, :2].min() == 0 and grid.boxes[:, 2:].max() == 10


@pytest.mark.parametrize("seed", range(5))
def test_touching_agrees_with_exact_fractions(seed: int) -> None:
    grid = uneven(seed, size=3)
    spans = []
    for row in range(3):
        for column in range(3):
            d = int(grid.divisions[row, column])
            for i in range(d):
                for j in range(d):
                    x, y = column + Fraction(j, d), row + Fraction(i, d)
                    spans.append((x, y, x + Fraction(1, d), y + Fraction(1, d)))
    links = grid.touching().toarray()
    for a, (ax, ay, ax2, ay2) in enumerate(spans):
        for b, (bx, by, bx2, by2) in enumerate(spans):
            share_a_point = ax <= bx2 and bx <= ax2 and ay <= by2 and by <= ay2
            assert (links[a, b] > 0) == (share_a_point and a != b)
            if links[a, b]:
                assert links[a, b] == pytest.approx(np.hypot(*(grid.centers_m[a] - grid.centers_m[b])))


def test_visits_agree_with_a_double_loop(wanderers: pt.Trajectories) -> None:
    grid = Grid.uniform(PLANAR, 5)
    paths = grid.encode(clip(wanderers, grid.region))
    expected = np.zeros(25, np.int64)
    for path in as_lists(paths):
        for cell in path:
            expected[cell] += 2**20 // len(path)
    assert np.array_equal(summed(visits(paths), 25), expected)


def test_refinement_comes_as_close_as_it_can_without_passing() -> None:
    rng = np.random.default_rng(0)
    for n_cells in (16, 17, 40, 200, 1000):
        density = rng.exponential(100, (4, 4)) - 20
        grid = refine_to(Grid.uniform(PLANAR, 4), density, n_cells)
        assert grid.n_cells <= n_cells
        per_cell = np.geomspace(1e-3, 1e4, 4000)
        reachable = [refine(Grid.uniform(PLANAR, 4), density, d, most=1 << 40).n_cells for d in per_cell]
        assert grid.n_cells >= max(n for n in reachable if n <= n_cells)


def test_refinement_without_density_divides_nothing() -> None:
    for density in (np.zeros((3, 3)), np.full((3, 3), -5.0)):
        assert refine_to(Grid.uniform(PLANAR, 3), density, 1000).n_cells == 9
    assert refine_to(Grid.uniform(PLANAR, 3), np.full((3, 3), 5.0), 4).n_cells == 9
