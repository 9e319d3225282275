"""What paths contribute to tables of trips and extra cells: against a double loop, one weight a path."""

from __future__ import annotations

import numpy as np
import pytest
from tests import polygons
from tests.counting import lists, summed

import privtrace as pt
from privtrace.methods.adatrace.counts import lengths
from privtrace.methods.common.counts import trips
from privtrace.paths import Paths
from privtrace.privacy.unit import WEIGHT
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.space.shortest_paths import connect, graph_distances, shortest_paths
from privtrace.trajectories import Integers

GRIDS = {
    "box": Grid.uniform(pt.Region.box(0, 0, 10, 10, crs="planar"), 6),
    **{name: Grid.uniform(polygons.region(name), 6) for name in ("frame", "two banks", "mixed 1")},
}


def trip_counts(paths: Paths, n_cells: int) -> Integers:
    return summed(trips(paths, n_cells), n_cells, n_cells)


def length_counts(paths: Paths, distances: np.ndarray, max_extra: int) -> Integers:
    return summed(lengths(paths, distances, max_extra), int(distances.max()) + 1, max_extra + 1)


@pytest.fixture(params=GRIDS)
def grid(request: pytest.FixtureRequest) -> Grid:
    return GRIDS[request.param]


def test_trips_agree_with_a_loop(grid: Grid, wanderers: pt.Trajectories) -> None:
    paths = connect(grid.encode(clip(wanderers, grid.region)), shortest_paths(grid))
    table = np.zeros((grid.n_cells, grid.n_cells), np.int64)
    for path in filter(None, lists(paths)):
        table[path[0], path[-1]] += WEIGHT
    assert np.array_equal(trip_counts(paths, grid.n_cells), table) and table.any()
    assert not table[graph_distances(shortest_paths(grid)) < 0].any()


@pytest.mark.parametrize("max_extra", [0, 3, 50])
def test_lengths_agree_with_a_loop(grid: Grid, max_extra: int, wanderers: pt.Trajectories) -> None:
    distances = graph_distances(shortest_paths(grid))
    paths = connect(grid.encode(clip(wanderers, grid.region)), shortest_paths(grid))
    table = np.zeros((distances.max() + 1, max_extra + 1), np.int64)
    for path in filter(None, lists(paths)):
        apart = int(distances[path[0], path[-1]])
        needed = apart + 1 if path[0] != path[-1] else 2
        extra = max(len(path), 2) - needed
        assert extra >= 0
        table[apart, min(extra, max_extra)] += WEIGHT
    assert np.array_equal(length_counts(paths, distances, max_extra), table)
    assert np.count_nonzero(table) > (1 if max_extra == 0 else 5)


def test_trips_within_a_cell() -> None:
    """Staying has no extra cell, there and back has one, around a corner two."""
    distances = graph_distances(shortest_paths(GRIDS["box"]))
    for path, extra in (([7], 0), ([7, 8, 7], 1), ([7, 8, 14, 7], 2)):
        paths = Paths(np.array(path, np.int32), np.array([0, len(path)]))
        counts = length_counts(paths, distances, 4)
        assert counts[0, extra] == counts.sum() == WEIGHT
        assert trip_counts(paths, 36)[7, 7] == WEIGHT


def test_empty_paths_count_nothing() -> None:
    paths = Paths(np.empty(0, np.int32), np.zeros(4, np.int64))
    assert not trip_counts(paths, 36).any()
    assert not length_counts(paths, graph_distances(shortest_paths(GRIDS["box"])), 5).any()
