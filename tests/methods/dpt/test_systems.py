"""Reference systems: nested, numbered together, and over polygons only where there is something."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from tests import polygons

import privtrace as pt
from privtrace.methods.common.placing import decode
from privtrace.methods.dpt.settings import NODES_PER_CELL
from privtrace.methods.dpt.systems import STOP, SWITCH, Systems
from privtrace.paths import Paths
from privtrace.space.clip import clip
from privtrace.space.grid import Grid
from privtrace.space.shortest_paths import DIRECTIONS

BOX = pt.Region.box(0, 0, 10, 10, crs="planar")
#: A square, and beside it a sliver: a cell of its own in fine systems, nothing to speak of in the coarse one.
SLIVER = pt.Region.polygon(
    [[polygons.square(0, 0, 5)], [polygons.square(9.9999, 9.9999, 0.0001)]], crs="planar"
)
SYSTEMS = {
    "box": Systems(BOX, (8, 4, 2)),
    "gap": Systems(BOX, (16, 4)),
    "threes": Systems(BOX, (6, 3)),
    "one": Systems(BOX, (5,)),
    "one cell": Systems(BOX, (1,)),
    "sliver": Systems(SLIVER, (8, 4, 2)),
    **{
        name: Systems(polygons.region(name), (8, 4, 2))
        for name in ("frame", "ell", "two banks", "two squares at a corner", "mixed 1", "mixed 3")
    },
}


@pytest.fixture(params=SYSTEMS)
def systems(request: pytest.FixtureRequest) -> Systems:
    return SYSTEMS[request.param]


def place(systems: Systems, cell: int) -> tuple[int, int, int]:
    """Find system, row and column of a cell."""
    system = max(s for s in range(len(systems.sizes)) if systems.first_cell[s] <= cell)
    slot = int(systems.grids[system].slots[cell - int(systems.first_cell[system])])
    return system, *divmod(slot, systems.sizes[system])


def places(systems: Systems) -> dict[tuple[int, int, int], int]:
    """Look cells up by system, row and column."""
    return {place(systems, cell): cell for cell in range(systems.n_cells)}


def test_the_nodes_of_a_cell_are_its_moves_and_the_stop() -> None:
    assert NODES_PER_CELL == len(DIRECTIONS) + 1 == STOP + 1


def test_cells_are_numbered_system_by_system(systems: Systems) -> None:
    found = places(systems)
    assert len(found) == systems.n_cells == sum(grid.n_cells for grid in systems.grids)
    assert list(found) == sorted(found)  # system by system, row by row
    assert systems.of_cell.tolist() == [system for system, _, _ in found]


def test_every_cell_lies_within_those_of_coarser_systems(systems: Systems) -> None:
    """But for slivers, that are something in a small cell and nothing in a large one."""
    found, boxes = places(systems), systems.boxes
    orphans = 0
    for (system, row, column), cell in found.items():
        for coarser in range(system + 1, len(systems.sizes)):
            ratio = systems.sizes[system] // systems.sizes[coarser]
            around = found.get((coarser, row // ratio, column // ratio))
            if around is None:
                orphans += 1
                continue
            assert np.all(boxes[cell, :2] >= boxes[around, :2] - 1e-9)
            assert np.all(boxes[cell, 2:] <= boxes[around, 2:] + 1e-9)
    assert (orphans > 0) == (systems is SYSTEMS["sliver"])


def test_kernels_find_the_same_cells(systems: Systems) -> None:
    stack, found = systems.stack, places(systems)
    for system, size in enumerate(systems.sizes):
        for row, column in np.ndindex(size, size):
            cell = int(stack.cells[stack.first_slot[system] + row * size + column])
            expected = found.get((system, row, column), -1)
            assert (cell + stack.first_cell[system] if cell >= 0 else -1) == expected


def test_what_can_happen(systems: Systems) -> None:
    """Moves to touching cells, the stop, and a switch to any other system."""
    found, legal = places(systems), systems.legal
    touching = [
        {*zip(*(links + first for links in grid.touching().tocoo().coords), strict=True)}
        for grid, first in zip(systems.grids, systems.first_cell, strict=False)
    ]
    assert legal.shape == (systems.n_cells, systems.n_events) == (systems.n_cells, 9 + len(systems.sizes))
    for (system, row, column), cell in found.items():
        for direction, (east, north) in enumerate(DIRECTIONS.tolist()):
            neighbor = found.get((system, row + north, column + east), -1)
            assert legal[cell, direction] == ((cell, neighbor) in touching[system])
            if legal[cell, direction]:
                onto = systems.first_cell[system] + systems.stack.neighbors[cell, direction]
                assert onto == neighbor
        assert legal[cell, STOP]
        switches = legal[cell, SWITCH:].tolist()
        assert switches == [other != system for other in range(len(systems.sizes))]


def test_a_lone_cell_can_stop_only() -> None:
    assert SYSTEMS["one cell"].legal.tolist() == [[False] * STOP + [True, False]]


def test_boxes_and_pieces_are_those_of_the_grids(systems: Systems) -> None:
    assert np.array_equal(systems.boxes, np.concatenate([grid.boxes for grid in systems.grids]))
    for grid, first in zip(systems.grids, systems.first_cell, strict=False):
        for cell in range(grid.n_cells):
            of_grid = slice(*grid.pieces.offsets[cell : cell + 2])
            of_all = slice(*systems.pieces.offsets[first + cell : first + cell + 2])
            assert np.array_equal(grid.pieces.trapezoids[of_grid], systems.pieces.trapezoids[of_all])
            assert np.array_equal(grid.pieces.cumulative[of_grid], systems.pieces.cumulative[of_all])
            assert np.array_equal(grid.pieces.centers[cell], systems.pieces.centers[first + cell])


@pytest.mark.parametrize("name", ["frame", "mixed 1", "mixed 3"])
def test_points_are_placed_in_cells_of_every_system(name: str) -> None:
    systems, inside = SYSTEMS[name], polygons.oracle(name).buffer(1e-9)
    paths = Paths(np.repeat(np.arange(systems.n_cells, dtype=np.int32), 5), np.array([0, 5 * systems.n_cells]))
    points = decode(paths, systems, 0, 7).points
    low, high = systems.boxes[paths.cells, :2], systems.boxes[paths.cells, 2:]
    assert np.all((points >= low) & (points <= high)) and shapely.contains_xy(inside, *points.T).all()


def test_trajectories_are_read_by_the_finest_system(systems: Systems, wanderers: pt.Trajectories) -> None:
    paths, expected = (
        systems.encode(clip(wanderers, systems.region)),
        Grid.uniform(systems.region, systems.sizes[0]).encode(clip(wanderers, systems.region)),
    )
    assert np.array_equal(paths.cells, expected.cells) and np.array_equal(paths.offsets, expected.offsets)


@pytest.mark.parametrize(
    "region",
    [BOX, pt.Region.box(179, -18.5, -178.5, -17, crs="lonlat"), pt.Region.box(4, 60, 5, 61, crs="lonlat")],
)
def test_strides_are_as_long_as_cells_in_meters(region: pt.Region) -> None:
    """Also across the antimeridian, and far north, where a degree of longitude is short."""
    systems = Systems(region, (8, 4, 2))
    for size, strides in zip(systems.sizes, systems.strides * systems.cell_m, strict=True):
        width, height = region.width_m / size, region.height_m / size
        assert np.allclose(strides, [(east * width, north * height) for east, north in DIRECTIONS.tolist()])
