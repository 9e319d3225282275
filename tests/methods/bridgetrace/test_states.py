"""The state space of walks between zones: what follows from cells and zones."""

from __future__ import annotations

import numpy as np

import privtrace as pt
from privtrace.methods.bridgetrace.states import N_CLASSES, StateSpace
from privtrace.space.grid import Grid

STRIP = Grid.uniform(pt.Region.box(0, 0, 64, 32, crs="planar"), 32)


def columns(*zones: tuple[int, int]) -> StateSpace:
    """Make zones of columns of cells, each 2 x 1 units, from one to before another."""
    column = STRIP.places[:, 0]
    zone_of = np.full(STRIP.n_cells, len(zones))
    for zone, (first, last) in enumerate(zones):
        zone_of[(column >= first) & (column < last)] = zone
    return StateSpace(STRIP, zone_of)


def test_zones_are_told_apart_by_their_distance() -> None:
    """In parts of the shorter side, 32: below 1/16, 1/8, 1/4, 1/2, and above; a zone itself is class 0."""
    space = columns((0, 1), (1, 2), (2, 3), (4, 5), (8, 9), (16, 17))
    # Centers of the columns are at 1, 3, 5, 9, 17 and 33.
    assert space.classes[0, :6].tolist() == [0, 1, 2, 3, 4, 5]
    assert np.array_equal(space.classes, space.classes.T) and space.classes.max() < N_CLASSES
    assert np.diagonal(space.classes).tolist() == [0] * 7


def test_steps_onto_larger_cells_are_discounted_more() -> None:
    """A cell of a tenth of the shorter side is as long as two twentieths."""
    grid = Grid(pt.Region.box(0, 0, 10, 10, crs="planar"), np.array([[1, 5], [5, 5]], np.int32))
    space = StateSpace(grid, np.zeros(grid.n_cells, np.int64))
    sizes = np.sqrt(grid.sizes_m.prod(axis=1))[space.steps.links.targets]
    small, large = (space.discounts[:, np.isclose(sizes, size)] for size in (1.0, 5.0))
    assert np.allclose(small, small[:, :1]) and np.allclose(large, small[:, :1] ** 5)
