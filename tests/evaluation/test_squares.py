"""Squares: paths against a plain loop, filled steps, bits of visited cells, ends."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import trajectories

import privtrace as pt
from privtrace.evaluation.frame import Frame
from privtrace.evaluation.squares import paths_on, trips_on, visited_on
from privtrace.paths import Paths

BOX = Frame(pt.Region.box(100, 200, 164, 232, crs="planar"), 0)  # 64 x 32


def as_lists(paths: Paths) -> list[list[int]]:
    return [part.tolist() for part in np.split(paths.cells, paths.offsets[1:-1])]


def in_pairs(given: pt.Trajectories) -> list[list[tuple[float, float]]]:
    return [[(x, y) for x, y in part.tolist()] for part in np.split(given.points, given.offsets[1:-1])]


def slow_cell(point: tuple[float, float], frame: Frame, n: int) -> tuple[int, int]:
    """Find column and row with exact fractions; the far edges belong to the last cells."""
    x, y = (
        Fraction(v) * n / Fraction(size)
        for v, size in zip(point, (frame.region.width_m, frame.region.height_m), strict=True)
    )
    return min(int(x), n - 1), min(int(y), n - 1)


def king(start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
    """Go as a chess king does, with all diagonal steps first; without the start."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    n_diagonal = min(abs(dx), abs(dy))
    n_straight = max(abs(dx), abs(dy)) - n_diagonal
    diagonal = int(np.sign(dx)), int(np.sign(dy))
    straight = (diagonal[0], 0) if abs(dx) > abs(dy) else (0, diagonal[1])
    cells = [start]
    for x, y in [diagonal] * n_diagonal + [straight] * n_straight:
        cells.append((cells[-1][0] + x, cells[-1][1] + y))
    return cells[1:]


def slow_path(points: list[tuple[float, float]], frame: Frame, n: int, filled: bool) -> list[int]:
    cells = [cell for cell, _ in groupby(slow_cell(point, frame, n) for point in points)]
    if filled:
        cells = [cells[0], *(cell for a, b in pairwise(cells) for cell in king(a, b))]
    return [row * n + column for column, row in cells]


@pytest.mark.parametrize("filled", [False, True], ids=["as they are", "filled"])
@pytest.mark.parametrize("n", [1, 2, 6, 20])
def test_paths_agree_with_a_plain_loop(n: int, filled: bool) -> None:
    rng = np.random.default_rng(n)
    lengths = rng.integers(1, 9, 80)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    points = rng.random((offsets[-1], 2)) * (64, 32)
    points[1::5] = points[:-1:5]  # two points in one cell
    given = pt.Trajectories(points, offsets, crs="planar")
    expected = [slow_path(x, BOX, n, filled) for x in in_pairs(given)]
    assert as_lists(paths_on(given, BOX, n, filled=filled)) == expected


@given(st.lists(st.tuples(st.integers(0, 64), st.integers(0, 32)), min_size=1, max_size=10), st.booleans())
@settings(max_examples=100, deadline=None)
def test_points_on_edges_of_cells(points: list[tuple[int, int]], filled: bool) -> None:
    """Cells of 4 x 2: whole numbers are often on their edges."""
    given = [(float(x), float(y)) for x, y in points]
    paths = paths_on(trajectories(given), BOX, 16, filled=filled)
    assert as_lists(paths) == [slow_path(given, BOX, 16, filled)]


def test_cells_are_numbered_from_south_to_north_and_west_to_east() -> None:
    given = trajectories([(0, 0), (63, 0), (0, 31), (63, 31)])
    assert as_lists(paths_on(given, BOX, 2)) == [[0, 1, 2, 3]]


def test_the_far_edges_belong_to_the_last_cells() -> None:
    given = trajectories([(64, 0)], [(0, 32)], [(64, 32)], [(32, 16)])
    assert as_lists(paths_on(given, BOX, 4)) == [[3], [12], [15], [10]]


def test_a_visit_is_one_however_many_points_it_has() -> None:
    given = trajectories([(1, 1), (2, 2), (40, 1), (41, 2), (1, 1), (1, 1)], [(1, 1), (1, 1)], [(2, 2)])
    for filled in (False, True):
        assert as_lists(paths_on(given, BOX, 2, filled=filled)) == [[0, 1, 0], [0], [0]]


def test_a_king_goes_diagonally_first() -> None:
    """On 8 x 8 cells of 8 x 4: column 0, row 0 to column 4, row 2, and back by another way."""
    given = trajectories([(1, 1), (33, 9), (1, 1)])
    assert as_lists(paths_on(given, BOX, 8, filled=True)) == [[0, 9, 18, 19, 20, 11, 2, 1, 0]]
    assert as_lists(paths_on(given, BOX, 8)) == [[0, 20, 0]]


def test_filled_paths_may_have_far_more_cells_than_points() -> None:
    given = trajectories([(0, 0), (64, 32), (0, 0), (64, 0)], [(0, 32), (64, 0)], [(5, 5)])
    cells = [len(path) for path in as_lists(paths_on(given, BOX, 50, filled=True))]
    assert cells == [1 + 3 * 49, 50, 1]


def test_no_trajectories_have_no_paths() -> None:
    for filled in (False, True):
        paths = paths_on(trajectories(), BOX, 4, filled=filled)
        assert len(paths) == 0 and len(paths.cells) == 0
    assert trips_on(trajectories(), BOX, 4).tolist() == []
    assert visited_on(trajectories(), BOX, 4).shape == (0, 1)


@pytest.mark.parametrize("n", [1, 3, 8, 9, 20])
def test_ends_and_visited_cells_are_those_of_a_plain_loop(n: int) -> None:
    rng = np.random.default_rng(n)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(1, 9, 50))])
    points = rng.random((offsets[-1], 2)) * (64, 32)
    points[::4] = np.rint(points[::4])  # many on the edges of cells
    given = pt.Trajectories(points, offsets, crs="planar")
    expected = [slow_path(x, BOX, n, filled=True) for x in in_pairs(given)]
    assert trips_on(given, BOX, n).tolist() == [cells[0] * n**2 + cells[-1] for cells in expected]
    bits = visited_on(given, BOX, n)
    assert bits.shape == (50, -(-(n**2) // 64))
    found = [{c for c in range(64 * len(row)) if int(row[c // 64]) >> c % 64 & 1} for row in bits]
    assert found == [set(cells) for cells in expected]


def test_whole_numbers_on_the_edges_of_cells_are_beyond_them() -> None:
    """Of 6 cells over 94 units the fourth begins at 47; 6 / 94 rounds down."""
    frame = Frame(pt.Region.box(0, 0, 94, 94, crs="planar"), 1)
    assert paths_on(trajectories([(47, 47)]), frame, 6).cells.tolist() == [3 * 6 + 3]
