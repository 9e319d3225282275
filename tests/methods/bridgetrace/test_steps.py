"""The table of steps: its layout, and a count by hand."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from tests import polygons

import privtrace as pt
from privtrace.methods.bridgetrace.steps import Steps, entries, step_entries, steps, weight_of
from privtrace.paths import Paths
from privtrace.space.adjacency import adjacency
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.space.traverse import trace

PLANAR = pt.Region.box(0, 0, 10, 10, crs="planar")

GRIDS = {
    "one cell": Grid.uniform(PLANAR, 1),
    "uniform": Grid.uniform(PLANAR, 5),
    "uneven": Grid(PLANAR, np.random.default_rng(1).integers(1, 5, (4, 4)).astype(np.int32)),
    **{name: Grid.uniform(polygons.region(name), 6) for name in ("frame", "two banks", "mixed 0")},
    "no links": Grid.uniform(polygons.region("two squares at a corner"), 2),
}


@pytest.fixture(params=GRIDS)
def grid(request: pytest.FixtureRequest) -> Grid:
    return GRIDS[request.param]


def table_of(grid: Grid) -> Steps:
    return steps(adjacency(grid))


def random_path(grid: Grid, rng: np.random.Generator) -> list[int]:
    """Walk at random from cell to cell; now and then to any other cell."""
    between = adjacency(grid)
    path = [int(rng.integers(grid.n_cells))]
    for _ in range(rng.integers(0, 30)):
        onward = between.targets[between.offsets[path[-1]] : between.offsets[path[-1] + 1]].tolist()
        if rng.random() < 0.05 or not onward:
            onward = [cell for cell in range(grid.n_cells) if cell != path[-1]] or onward
        if onward:
            path.append(int(rng.choice(onward)))
    return path


def steps_by_hand(path: list[int], linked: set[tuple[int, int]]) -> Counter[tuple[int, int, int]]:
    """List steps as (cell before, cell, next cell), -1 where there is none before or next."""
    taken: Counter[tuple[int, int, int]] = Counter()
    before = -1
    for now, after in pairwise(path):
        if (now, after) in linked:
            taken[before, now, after] += 1
            before = now
        else:
            before = -1
    taken[before, path[-1], -1] += 1
    return taken


def named(table: Steps) -> list[tuple[int, int, int]]:
    """Name each entry of the table as `steps_by_hand` names steps."""
    between = table.links
    names = []
    for row in range(len(table.cells)):
        before = int(between.sources[row]) if row < table.n_links else -1
        now = int(between.targets[row]) if row < table.n_links else row - table.n_links
        onward = between.targets[between.offsets[now] : between.offsets[now + 1]].tolist()
        names += [(before, now, after) for after in (*onward, -1)]
    return names


def test_there_is_an_entry_for_every_step_that_can_be(grid: Grid) -> None:
    table = table_of(grid)
    names, of_entries = named(table), entries(table)
    assert len(names) == len(set(names)) == table.n_entries == table.offsets[-1]
    for name, row, cell, is_end, link, onto in zip(names, *of_entries, strict=True):
        before, now, after = name
        assert table.offsets[row] <= names.index(name) < table.offsets[row + 1]
        assert now == cell == table.cells[row] and is_end == (after < 0)
        assert onto == (now if after < 0 else after)
        if after >= 0:
            assert (table.links.sources[link], table.links.targets[link]) == (now, after)
        if before >= 0:
            assert (table.links.sources[row], table.links.targets[row]) == (before, now)


def test_steps_are_those_counted_by_hand(grid: Grid) -> None:
    table, rng = table_of(grid), np.random.default_rng(2)
    linked = set(zip(table.links.sources.tolist(), table.links.targets.tolist(), strict=True))
    names = named(table)
    for _ in range(60):
        path = random_path(grid, rng)
        cells = np.array([7, *path, 7], np.int32)  # what stands before and after is not of this path
        found = np.full(len(cells), -7)
        step_entries(found, cells, 1, len(path) + 1, table)
        by_hand = steps_by_hand(path, linked)
        assert by_hand.keys() <= set(names) and found[0] == found[-1] == -7
        assert np.bincount(found[found >= 0], minlength=len(names)).tolist() == [
            by_hand[name] for name in names
        ]


def test_sums_of_the_table_are_starts_ends_visits_and_moves(grid: Grid, wanderers: pt.Trajectories) -> None:
    table, of_entries = table_of(grid), entries(table_of(grid))
    paths = [part for part in split(trace(clip(wanderers, grid.region), grid)) if len(part)]
    if grid.region.shape is not None:  # a line may lead over a corner or a strait, where no link is
        linked = set(zip(table.links.sources.tolist(), table.links.targets.tolist(), strict=True))
        paths = [path for path in paths if set(pairwise(path.tolist())) <= linked]
    assert len(paths) > 100
    found = [np.empty(len(path), np.int64) for path in paths]
    for path, its in zip(paths, found, strict=True):
        step_entries(its, path, 0, len(path), table)
    counted = np.bincount(np.concatenate(found), minlength=table.n_entries)
    n_cells, n_links = grid.n_cells, table.n_links
    every = np.concatenate(paths)

    def summed(chosen: np.ndarray) -> list[float]:
        return np.bincount(of_entries.cells[chosen], counted[chosen], n_cells).tolist()  # type: ignore[no-any-return]

    starts, ends = of_entries.rows >= n_links, of_entries.is_end
    assert summed(starts) == np.bincount([path[0] for path in paths], minlength=n_cells).tolist()
    assert summed(ends) == np.bincount([path[-1] for path in paths], minlength=n_cells).tolist()
    assert summed(ends | ~ends) == np.bincount(every, minlength=n_cells).tolist()
    moves = Counter(step for path in paths for step in pairwise(path.tolist()))
    taken = np.bincount(of_entries.links[~ends], counted[~ends], n_links)
    between = table.links
    assert taken.tolist() == [
        moves[a, b] for a, b in zip(between.sources.tolist(), between.targets.tolist(), strict=True)
    ]


def split(paths: Paths) -> list[np.ndarray]:
    return np.split(paths.cells, paths.offsets[1:-1])


def test_different_cells_weigh_once() -> None:
    cells, weights = np.array([3, 1, 2, 1, 2, 1, 0], np.int32), np.array([1, 10, 100, 1000])
    latest = np.full(4, -1, np.int64)
    assert weight_of(cells, 1, 6, weights, latest, 0) == 110
    assert latest.tolist() == [-1, 0, 0, -1]
    assert weight_of(cells, 0, 7, weights, latest, 2) == 1111
    assert weight_of(cells, 3, 3, weights, latest, 4) == 0
