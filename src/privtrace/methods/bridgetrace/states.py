"""Hold the state space of walks: a grid, its zones, and all that follows from them, which are public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privtrace.caching import cached_property
from privtrace.methods.bridgetrace.dissection import dissect
from privtrace.methods.bridgetrace.polyline import Geometry, geometry
from privtrace.methods.bridgetrace.steps import Entries, Steps, entries, steps
from privtrace.methods.bridgetrace.tuning import LOSSES, Tuning
from privtrace.methods.bridgetrace.zones import zones
from privtrace.space.adjacency import adjacency
from privtrace.space.grid import Grid
from privtrace.space.shapes import shape_edges
from privtrace.trajectories import Floats, Integers

if TYPE_CHECKING:
    from privtrace.methods.bridgetrace.settings import BridgeTrace

#: Pairs of zones are classified by distance, in parts of the region's shorter side; class 0 is a zone itself.
_CLASS_EDGES = (1 / 16, 1 / 8, 1 / 4, 1 / 2)
N_CLASSES = len(_CLASS_EDGES) + 2

#: The weight of a cell of mean density: large enough that rounding to whole weights does not matter.
_MEAN_WEIGHT = 1024

#: Lengths of steps are in such parts of the region's shorter side, since `LOSSES` are.
_STEPS_ACROSS = 20.0

#: Discounts are whole multiples of one over this, so that machines whose powers differ in the last bit agree.
_ROUNDED = 2.0**40


@dataclass(frozen=True, eq=False)
class StateSpace:
    """Hold a grid and the zone of each of its cells, and find what follows from them."""

    grid: Grid
    zone_of: Integers  # (n_cells,): every zone has a cell

    @cached_property
    def n_zones(self) -> int:
        """Count the zones."""
        return int(self.zone_of.max()) + 1

    @cached_property
    def steps(self) -> Steps:
        """Lay out what paths can do next."""
        return steps(adjacency(self.grid))

    @cached_property
    def entries(self) -> Entries:
        """List the entries of the steps table."""
        return entries(self.steps)

    @cached_property
    def geometry(self) -> Geometry:
        """Gather what lines have to know of the grid."""
        return geometry(self.grid, self.steps.links)

    @cached_property
    def edges(self) -> Floats:
        """Give the edges of the bins of shapes."""
        return shape_edges(self.grid.region)

    @cached_property
    def coarse_of(self) -> Integers:
        """Give the coarse cell of each cell, row by row from the southwest: (n_cells,)."""
        column, row, division = self.grid.places.T
        coarse: Integers = row // division * len(self.grid.divisions) + column // division
        return coarse

    def visit_weights(self, density: Floats, tuning: Tuning) -> Integers:
        """Weigh cells so that one with a quarter of the density counts twice, up to a limit: (n_cells,)."""
        busy = np.maximum(density.ravel() / density.mean(), tuning.least_density)
        weights: Integers = np.round(_MEAN_WEIGHT / np.sqrt(busy)).astype(np.int64)
        return np.maximum(weights, 1)[self.coarse_of]

    @cached_property
    def classes(self) -> npt.NDArray[np.int8]:
        """Classify pairs of zones by how far apart they are: (n_zones, n_zones)."""
        n_cells = np.bincount(self.zone_of)
        centers = np.stack(
            [np.bincount(self.zone_of, axis) / n_cells for axis in self.grid.centers_m.T], axis=1
        )
        apart = centers[:, np.newaxis] - centers
        distance = np.sqrt(np.sum(apart * apart, axis=2)) / self.grid.region.shorter_side_m
        classes = 1 + np.searchsorted(_CLASS_EDGES, distance)
        np.fill_diagonal(classes, 0)
        small: npt.NDArray[np.int8] = classes.astype(np.int8)
        return small

    @cached_property
    def components(self) -> Integers:
        """Find the connected component of each cell, by ways over sides: (n_cells,)."""
        if self.grid.region.shape is None:  # a box is one
            return np.zeros(self.grid.n_cells, np.int64)
        from scipy.sparse import csr_array
        from scipy.sparse.csgraph import connected_components

        links, n_cells = self.steps.links, self.grid.n_cells
        ones = np.ones(len(links.sources), np.bool_)
        graph = csr_array((ones, (links.sources, links.targets)), shape=(n_cells, n_cells))
        return connected_components(graph, directed=False)[1].astype(np.int64)  # type: ignore[no-any-return]

    @cached_property
    def joined(self) -> npt.NDArray[np.bool_]:
        """Find which zones a way joins: (n_zones, n_zones)."""
        has = np.zeros((self.n_zones, int(self.components.max()) + 1), np.int64)
        has[self.zone_of, self.components] = 1
        joined: npt.NDArray[np.bool_] = has @ has.T > 0
        return joined

    @cached_property
    def joins(self) -> Integers:
        """List in which order cells are joined to solve for hitting probabilities."""
        return dissect(self.grid)

    @cached_property
    def discounts(self) -> Floats:
        """Give what each level keeps of a walk's weight on a step over a link: (n_levels, n_links)."""
        sizes = np.sqrt(self.grid.sizes_m.prod(axis=1)) / self.grid.region.shorter_side_m
        return discounts(_STEPS_ACROSS * sizes[self.steps.links.targets])


def discounts(lengths: Floats) -> Floats:
    """Give what a step keeps of a walk's weight, (n_levels, n_links), for steps as long as `lengths`.

    Lengths are in twentieths of the region's shorter side.
    """
    kept: Floats = np.round((1.0 - np.array(LOSSES)[:, np.newaxis]) ** lengths * _ROUNDED) / _ROUNDED
    return kept


def state_space_of(coarse: Grid, visits: Floats, n_trajectories: float, settings: BridgeTrace) -> StateSpace:
    """Divide coarse cells by their density, and gather cells in zones."""
    divisions = settings.divisions(visits)
    grid = Grid(coarse.region, divisions)
    while grid.n_cells > settings.max_states and divisions.max() > 1:
        divisions = np.maximum(np.where(divisions == divisions.max(), divisions // 2, divisions), 1)
        grid = Grid(coarse.region, divisions)
    one_zone = StateSpace(grid, np.zeros(grid.n_cells, np.int64))
    zone_of = zones(grid, visits, settings.n_zones(n_trajectories, one_zone.steps.n_links))
    # A zone in several components of the region promises ways that there are not: cut it, if zones suffice.
    by_component = np.unique(
        zone_of * (one_zone.components.max() + 1) + one_zone.components, return_inverse=True
    )[1]
    return StateSpace(grid, by_component if by_component.max() < settings.max_zones else zone_of)
