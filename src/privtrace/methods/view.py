"""Show what was measured, as any method's model can: cells with their noisy numbers, and moves between them.

What synthetic trips say of the same cells is in `fitted`, and is nearer to the truth. All of it is
post-processing: it says nothing that the model file does not say.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from privtrace.paths import Paths
from privtrace.privacy.unit import WEIGHT
from privtrace.release import Release
from privtrace.runs import Runs
from privtrace.space.grid import Grid
from privtrace.trajectories import Floats, Integers

#: What ± says, in standard deviations: nine numbers in ten are off by less. Of a single Laplace variable nine
#: in ten are within 1.628, of sums of many within 1.645.
MARGIN = 1.645


@dataclass(frozen=True, eq=False)
class Noisy:
    """Hold a noisy number of each cell, or of each bin or hour, in trajectories."""

    name: str  # "visits", "starts" or "ends"; "departures", or what is in bins
    values: Floats  # (n,): as measured, so some may be negative
    error: float  # the standard deviation of the noise of each

    @classmethod
    def of(cls, name: str, weights: Integers, error: float) -> Noisy:
        """Read weights of 2**-20 trajectories."""
        return cls(name, weights / WEIGHT, error)

    @property
    def margin(self) -> float:
        """Say by how much nine in ten are off at most, by the noise."""
        return MARGIN * self.error


@dataclass(frozen=True, eq=False)
class Layer:
    """Hold the cells of one grid of a model, and what was measured of them.

    Visits are spread: each trajectory weighs one at most, divided over the cells that it visits. Starts and
    ends weigh as little where they were measured along with moves; docs/export.md says where.
    """

    name: str  # "coarse cells"
    grid: Grid
    numbers: tuple[Noisy, ...]  # the first are visits
    #: Counts visits of synthetic trips as those of real ones were: (n_cells,); None where each counts evenly.
    visits_of: Callable[[Runs], Floats] | None = None

    def visited(self, runs: Runs) -> Floats:
        """Count visits of synthetic trips as those of real ones were measured: (n_cells,), in trajectories."""
        if self.visits_of is not None:
            return self.visits_of(runs)
        return visits_evenly(self.grid.encode(runs), self.grid.n_cells)

    @property
    def visits(self) -> Noisy:
        """Give the noisy density."""
        return self.numbers[0]


@dataclass(frozen=True, eq=False)
class Trips:
    """Hold trips as they were measured: from first to last cell of a layer, or between groups of its cells."""

    layer: int  # in the view's layers
    groups: Integers  # (n_cells,): the group of each cell
    noisy: Noisy  # (n_groups**2,)

    @property
    def n_groups(self) -> int:
        """Count the groups."""
        return math.isqrt(len(self.noisy.values))

    @property
    def are_of_cells(self) -> bool:
        """Tell whether each cell is a group of its own."""
        return self.n_groups == len(self.groups)


@dataclass(frozen=True, eq=False)
class Flows:
    """Hold what goes from cell to cell of a layer, cleaned and without zeros, by origin and destination."""

    layer: int  # in the view's layers
    origins: Integers  # (n,)
    destinations: Integers  # (n,)
    weights: Floats  # (n,): in trajectories, positive
    error: float  # the standard deviation of their noise before cleaning

    @classmethod
    def of(
        cls, layer: int, origins: Integers, destinations: Integers, weights: Integers, error: float
    ) -> Flows:
        """Read clean weights of 2**-20 trajectories, in any order."""
        order = np.lexsort((destinations, origins))
        order = order[weights[order] > 0]
        return cls(layer, origins[order], destinations[order], weights[order] / WEIGHT, error)

    @classmethod
    def to_neighbors(
        cls,
        layer: int,
        cells: Integers,
        neighbors: npt.NDArray[np.int32],
        weights: Integers,
        error: float,
    ) -> Flows:
        """Read such weights of moves from cells to their neighbors: (n,), (n, 8) and (n, 8)."""
        rows, directions = np.nonzero(weights)
        onto = neighbors[rows, directions].astype(np.int64)
        return cls.of(layer, cells[rows], onto, weights[rows, directions], error)


@dataclass(frozen=True, eq=False)
class View:
    """Hold what was measured, as it can be shown on a map or handed on as tables."""

    layers: tuple[Layer, ...]  # from coarse to fine
    zones: int  # the layer between whose cells trips are counted
    moves: tuple[Flows, ...]  # from a cell to the next, layer by layer
    trips: Trips | None = None  # where they were measured


def visits_evenly(paths: Paths, n_cells: int, n_more: int = 0) -> Floats:
    """Count visits, (n_cells,): each path has a weight of one, shared with n_more others; -1 is no cell."""
    sizes = np.diff(paths.offsets)
    weights, here = np.repeat(1.0 / np.maximum(sizes + n_more, 1), sizes), paths.cells >= 0
    return np.bincount(paths.cells[here], weights[here], n_cells).astype(np.float64)


def error_of(release: Release, stage: str, n_added: int = 1) -> float:
    """Give the standard deviation of the noise of a stage, in trajectories, of so many numbers added up."""
    (charge,) = (charge for charge in release.charges if charge.stage == stage)
    return math.sqrt(2 * n_added) * charge.scale_in_trajectories
