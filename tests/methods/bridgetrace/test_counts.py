"""What traced paths contribute: as documented, against counts by hand, and one weight a path at most."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from tests import polygons
from tests.conftest import trajectories
from tests.counting import summed

import privtrace as pt
from privtrace.methods.bridgetrace import counts as kernels
from privtrace.methods.bridgetrace.steps import Steps, entries, steps
from privtrace.methods.bridgetrace.zones import zones
from privtrace.paths import Paths
from privtrace.privacy.unit import WEIGHT
from privtrace.space.adjacency import adjacency
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.space.shapes import N_BINS, shape_edges
from privtrace.space.traverse import trace
from privtrace.trajectories import Floats, Integers

PLANAR = pt.Region.box(0, 0, 10, 10, crs="planar")

GRIDS = {
    "one cell": Grid.uniform(PLANAR, 1),
    "uneven": Grid(PLANAR, np.random.default_rng(1).integers(1, 5, (4, 4)).astype(np.int32)),
    "frame": Grid.uniform(polygons.region("frame"), 6),
    "no links": Grid.uniform(polygons.region("two squares at a corner"), 2),
}


@pytest.fixture(params=GRIDS)
def grid(request: pytest.FixtureRequest) -> Grid:
    return GRIDS[request.param]


def visit_counts(paths: Paths, weights: Integers) -> Integers:
    return summed(kernels.visits(paths, weights), len(weights))


def step_counts(paths: Paths, table: Steps) -> Integers:
    return summed(kernels.steps_taken(paths, table), table.n_entries)


def trip_counts(paths: Paths, zone_of: Integers, n_zones: int) -> Integers:
    return summed(kernels.trips(paths, zone_of, n_zones), n_zones, n_zones)


def shape_counts(part: pt.Trajectories, grid: Grid, edges: Floats) -> Integers:
    return summed(kernels.shapes(clip(part, grid.region), edges), N_BINS, N_BINS)


def weights_of(grid: Grid) -> Integers:
    return np.random.default_rng(2).integers(1, 1 << 20, grid.n_cells)


def counts_of(part: pt.Trajectories, grid: Grid) -> list[Integers]:
    """Count visits, steps, trips and shapes, as they are measured together."""
    zone_of = zones(grid, np.ones(grid.divisions.shape), 5)
    paths = trace(clip(part, grid.region), grid)
    return [
        visit_counts(paths, weights_of(grid)),
        step_counts(paths, steps(adjacency(grid))),
        trip_counts(paths, zone_of, int(zone_of.max()) + 1),
        shape_counts(part, grid, shape_edges(grid.region)),
    ]


def hostile() -> pt.Trajectories:
    """Give trajectories that are empty, bad, outside, repeated, on edges, or jump to and fro."""
    jumps = [(0.1, 0.1), (9.9, 9.8)] * 40
    return trajectories(
        [],
        [(np.nan, 1), (np.inf, 2)],
        [(99, 99), (-1, 5)],
        [(1, 1)],
        [(1, 1)] * 50,
        [(0, 0), (10, 10)],
        [(10, 10), (10, 0), (0, 0), (0, 10), (10, 10)],
        [(5, 5), (2.5, 5), (2.5, 2.5), (7.5, 2.5), (5, 5)],
        jumps,
        [*jumps, (99, 0), *jumps],
        [(1, 1), (np.nan, 0), (9, 1), (9, 9), (np.nan, np.nan), (1, 9)],
    )


def test_a_trajectory_adds_a_weight_at_most_to_each(grid: Grid, wanderers: pt.Trajectories) -> None:
    for part in (hostile(), wanderers[:150]):
        for number in range(len(part)):
            one = part[number : number + 1]
            visits, moves, trips, shapes = counts_of(one, grid)
            paths = trace(clip(one, grid.region), grid)
            n_cells, weights = len(paths.cells), weights_of(grid)[np.unique(paths.cells)]
            for counts in (visits, moves, trips, shapes):
                assert counts.dtype == np.int64 and counts.min() >= 0 and counts.sum() <= WEIGHT
            if n_cells == 0:
                assert not any(counts.any() for counts in (visits, moves, trips, shapes))
                continue
            assert visits[np.unique(paths.cells)].tolist() == (WEIGHT * weights // weights.sum()).tolist()
            assert visits.sum() > WEIGHT - len(weights)  # what rounding takes
            assert set((moves[moves > 0] % (WEIGHT // n_cells)).tolist()) == {0}
            assert sorted(trips[trips > 0].tolist()) == sorted(shapes[shapes > 0].tolist()) == [WEIGHT]
            if grid.region.shape is None:
                assert moves.sum() == WEIGHT // n_cells * n_cells


def test_a_path_of_any_cells_adds_a_weight_at_most(grid: Grid) -> None:
    """Also where no line would lead: moves that no link joins are left out."""
    rng = np.random.default_rng(3)
    for length in (1, 2, 3, 100, 5000):
        paths = Paths(rng.integers(0, grid.n_cells, length).astype(np.int32), np.array([0, length]))
        for weights in (weights_of(grid), np.ones(grid.n_cells, np.int64)):
            assert 0 < visit_counts(paths, weights).sum() <= WEIGHT
        assert 0 < step_counts(paths, steps(adjacency(grid))).sum() <= WEIGHT


def test_a_path_too_long_for_any_weight_adds_nothing_to_steps() -> None:
    grid = GRIDS["uneven"]
    paths = Paths(np.tile([0, 1], WEIGHT).astype(np.int32)[: WEIGHT + 1], np.array([0, WEIGHT + 1]))
    assert step_counts(paths, steps(adjacency(grid))).sum() == 0
    assert visit_counts(paths, np.ones(grid.n_cells, np.int64)).sum() == WEIGHT


def test_counts_are_those_by_hand(wanderers: pt.Trajectories) -> None:
    grid = GRIDS["uneven"]
    table = steps(adjacency(grid))
    zone_of = zones(grid, np.ones((4, 4)), 5)
    paths = trace(clip(wanderers, grid.region), grid)
    weights = weights_of(grid).tolist()
    visits, trips = Counter[int](), Counter[tuple[int, int]]()
    moves = Counter[tuple[int, int, int]]()
    for part in np.split(paths.cells, paths.offsets[1:-1]):
        path = part.tolist()
        if not path:
            continue
        total = sum(weights[cell] for cell in set(path))
        for cell in set(path):
            visits[cell] += WEIGHT * weights[cell] // total
        trips[int(zone_of[path[0]]), int(zone_of[path[-1]])] += WEIGHT
        for before, now, after in zip([-1, *path], path, [*path[1:], -1], strict=False):
            moves[before, now, after] += WEIGHT // len(path)
    assert visit_counts(paths, weights_of(grid)).tolist() == [visits[cell] for cell in range(grid.n_cells)]
    found = trip_counts(paths, zone_of, 5)
    assert {(a, b): int(found[a, b]) for a, b in np.argwhere(found).tolist()} == trips
    counted, of_entries = step_counts(paths, table), entries(table)
    assert counted.sum() == sum(moves.values())
    for entry in np.flatnonzero(counted).tolist():
        row, now = of_entries.rows[entry], int(of_entries.cells[entry])
        before = int(table.links.sources[row]) if row < table.n_links else -1
        after = -1 if of_entries.is_end[entry] else int(of_entries.onto[entry])
        assert counted[entry] == moves[before, now, after]


def test_shapes_are_those_of_longest_runs(wanderers: pt.Trajectories) -> None:
    grid, expected = GRIDS["uneven"], np.zeros((N_BINS, N_BINS), np.int64)
    edges = shape_edges(grid.region)
    unsure = 0
    for number in range(len(wanderers)):
        runs: list[list[tuple[float, float]]] = [[]]
        for x, y in wanderers.points[wanderers.offsets[number] : wanderers.offsets[number + 1]]:
            if 0 <= x <= 10 and 0 <= y <= 10:
                runs[-1].append((x, y))
            else:
                runs.append([])
        run = np.array(max(runs, key=len))
        if len(run):
            length = np.sum(np.hypot(*np.diff(run, axis=0).T))
            apart = run[:, np.newaxis] - run
            diameter = np.hypot(apart[..., 0], apart[..., 1]).max()
            low, high = (int(np.searchsorted(edges, d, side="right")) - 1 for d in (0.98 * diameter, diameter))
            unsure += low != high
            expected[high, int(np.searchsorted(edges, length, side="right")) - 1] += WEIGHT
    found = shape_counts(wanderers, grid, edges)
    assert found.sum() == expected.sum()
    assert np.array_equal(found.sum(axis=0), expected.sum(axis=0))  # lengths are exact
    assert np.abs(found - expected).sum() <= 2 * WEIGHT * unsure


def test_nothing_counts_nothing(grid: Grid) -> None:
    for part in (trajectories(), trajectories([], []), trajectories([(99, 99)])):
        assert not any(counts.any() for counts in counts_of(part, grid))
