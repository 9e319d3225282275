"""Shortest paths from cell to neighbor: against a search, as short as can be, and never where there is none."""

from __future__ import annotations

from collections import deque
from itertools import chain, pairwise

import numpy as np
import pytest
from tests import polygons

import privtrace as pt
from privtrace.paths import Paths
from privtrace.space.grid import Grid
from privtrace.space.shortest_paths import (
    DIRECTIONS,
    MOST_OVER_POLYGON,
    ShortestPaths,
    connect,
    graph_distances,
    next_cell,
    shortest_paths,
)

GRIDS = {
    "box": Grid.uniform(pt.Region.box(0, 0, 10, 10, crs="planar"), 5),
    "one cell": Grid.uniform(pt.Region.box(0, 0, 10, 10, crs="planar"), 1),
    **{name: Grid.uniform(polygons.region(name), 8) for name in ("frame", "ell", "two banks", "mixed 3")},
}


@pytest.fixture(params=GRIDS)
def grid(request: pytest.FixtureRequest) -> Grid:
    return GRIDS[request.param]


def touching(grid: Grid) -> dict[int, set[int]]:
    links = grid.touching().tocoo()
    pairs = list(zip(links.row.tolist(), links.col.tolist(), strict=True))
    return {cell: {b for a, b in pairs if a == cell} for cell in range(grid.n_cells)}


def searched(links: dict[int, set[int]], origin: int) -> dict[int, int]:
    """Count steps by a search, breadth first."""
    steps, waiting = {origin: 0}, deque([origin])
    while waiting:
        now = waiting.popleft()
        for after in links[now] - steps.keys():
            steps[after] = steps[now] + 1
            waiting.append(after)
    return steps


def test_neighbors_touch_and_lie_where_they_are_said_to(grid: Grid) -> None:
    size, links, neighbors = len(grid.divisions), touching(grid), shortest_paths(grid).neighbors
    for cell in range(grid.n_cells):
        assert {*neighbors[cell].tolist()} - {-1} == links[cell]
        for neighbor, (east, north) in zip(neighbors[cell].tolist(), DIRECTIONS.tolist(), strict=True):
            assert neighbor < 0 or grid.slots[neighbor] == grid.slots[cell] + east + size * north


def test_distances_are_those_of_a_search(grid: Grid) -> None:
    links, distances = touching(grid), graph_distances(shortest_paths(grid))
    for origin in range(grid.n_cells):
        found = searched(links, origin)
        assert distances[origin].tolist() == [found.get(cell, -1) for cell in range(grid.n_cells)]


def test_every_next_cell_is_one_nearer(grid: Grid) -> None:
    between, links = shortest_paths(grid), touching(grid)
    distances = graph_distances(between)
    for now, goal in np.ndindex(distances.shape):
        if distances[now, goal] > 0:
            after = int(next_cell(now, goal, between))
            assert after in links[now] and distances[after, goal] == distances[now, goal] - 1
        elif distances[now, goal] < 0:
            assert next_cell(now, goal, between) == -1


def slowly_connected(path: list[int], between: ShortestPaths) -> list[int]:
    connected = path[:1]
    for goal in path[1:]:
        while connected[-1] != goal:
            after = int(next_cell(connected[-1], goal, between))
            if after < 0:
                return connected
            connected.append(after)
    return connected


def test_paths_are_connected_as_by_hand(grid: Grid) -> None:
    rng = np.random.default_rng(2)
    between, links = shortest_paths(grid), touching(grid)
    paths = [rng.integers(0, grid.n_cells, rng.integers(0, 9)).tolist() for _ in range(200)]
    offsets = np.cumsum([0, *map(len, paths)])
    connected = connect(Paths(np.array([*chain(*paths)], np.int32), offsets), between)
    for path, cells in zip(paths, np.split(connected.cells, connected.offsets[1:-1]), strict=True):
        assert cells.tolist() == slowly_connected(path, between)
        assert all(b in links[a] for a, b in pairwise(cells.tolist()))


def test_over_a_box_paths_go_diagonally_and_then_straight() -> None:
    paths = connect(Paths(np.array([0, 14], np.int32), np.array([0, 2])), shortest_paths(GRIDS["box"]))
    assert paths.cells.tolist() == [0, 6, 12, 13, 14]


def test_grids_over_a_polygon_have_a_limit() -> None:
    with pytest.raises(pt.SettingsError, match="set fewer cells, or use a box"):
        shortest_paths(Grid.uniform(polygons.region("ell"), MOST_OVER_POLYGON + 1))


def test_a_path_ends_when_it_is_long_enough(grid: Grid) -> None:
    between, to_and_fro = shortest_paths(grid), np.tile([0, grid.n_cells - 1], 6)
    paths = Paths(np.tile(to_and_fro, 2).astype(np.int32), np.array([0, 12, 24]))
    whole = connect(paths, between)
    for longest in (1, 2, 5, 1000):
        cut = connect(paths, between, longest)
        for path in range(2):
            full = whole.cells[whole.offsets[path] : whole.offsets[path + 1]]
            assert cut.cells[cut.offsets[path] : cut.offsets[path + 1]].tolist() == full[:longest].tolist()
