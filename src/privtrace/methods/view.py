"""Show a model as any method's can be shown: cells with their noisy numbers, trips and moves between them.

Where a model has times, it also shows when trips depart, and how they go in each part of the day. All of it is
post-processing: it says nothing that the model file does not say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from privtrace.calendar import Calendar
from privtrace.privacy.unit import WEIGHT
from privtrace.release import Release
from privtrace.space.grid import Grid
from privtrace.trajectories import Floats, Integers


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


@dataclass(frozen=True, eq=False)
class Layer:
    """Hold the cells of one grid of a model, and what was measured of them.

    Visits are spread: each trajectory weighs one at most, divided evenly over the cells that it visits. Starts
    and ends weigh as little where they were measured along with moves; docs/export.md says where.
    """

    name: str  # "coarse cells"
    grid: Grid
    numbers: tuple[Noisy, ...]  # the first are visits

    @property
    def visits(self) -> Noisy:
        """Give the noisy density."""
        return self.numbers[0]


@dataclass(frozen=True, eq=False)
class Flows:
    """Hold what goes from cell to cell of a layer, cleaned and without zeros, by origin and destination."""

    layer: int  # in the view's layers
    origins: Integers  # (n,)
    destinations: Integers  # (n,)
    weights: Floats  # (n,): in trajectories, positive
    error: (
        float | None
    )  # the standard deviation of their noise before cleaning; None if not measured themselves

    @classmethod
    def of(
        cls, layer: int, origins: Integers, destinations: Integers, weights: Integers, error: float | None
    ) -> Flows:
        """Read clean weights of 2**-20 trajectories, in any order."""
        order = np.lexsort((destinations, origins))
        order = order[weights[order] > 0]
        return cls(layer, origins[order], destinations[order], weights[order] / WEIGHT, error)

    @classmethod
    def of_table(cls, layer: int, table: Integers, error: float | None) -> Flows:
        """Read a table of such weights, (n_cells, n_cells)."""
        origins, destinations = np.nonzero(table)
        return cls.of(layer, origins, destinations, table[origins, destinations], error)

    @classmethod
    def to_neighbors(
        cls,
        layer: int,
        cells: Integers,
        neighbors: npt.NDArray[np.int32],
        weights: Integers,
        error: float | None,
    ) -> Flows:
        """Read such weights of moves from cells to their neighbors: (n,), (n, 8) and (n, 8)."""
        rows, directions = np.nonzero(weights)
        onto = neighbors[rows, directions].astype(np.int64)
        return cls.of(layer, cells[rows], onto, weights[rows, directions], error)

    def strongest(self, count: int) -> Flows:
        """Keep the strongest between different cells, strongest first."""
        between = np.flatnonzero(self.origins != self.destinations)
        order = between[np.argsort(-self.weights[between], kind="stable")[:count]]
        return replace(
            self,
            origins=self.origins[order],
            destinations=self.destinations[order],
            weights=self.weights[order],
        )


@dataclass(frozen=True, eq=False)
class Spread:
    """Hold how trips spread over bins of one size: as measured, with noise, and as synthetic trips do."""

    name: str  # "duration", "speed", "interval", "jump" or "points"
    bounds: (
        Floats  # (n + 1,): in seconds, meters and the like; a first of 0 begins a bin for zero, or next to it
    )
    noisy: Noisy | None  # in each bin; None where it was not measured, but follows from what was
    shares: Floats  # (n,): of sampled trips
    median: float  # of sampled trips; NaN of none


@dataclass(frozen=True, eq=False)
class Passing:
    """Hold how sampled trips pass the cells of a layer, by the part of the day at which they depart."""

    trips: Floats  # (N_PARTS, n_cells): whose line passes a cell, each once, in trajectories
    n_sampled: Integers  # (N_PARTS, n_cells): sampled trips that the next two are of
    meters: Floats  # (N_PARTS, n_cells): from points in a cell to the next point
    seconds: Floats  # (N_PARTS, n_cells): likewise

    @property
    def speeds(self) -> Floats:
        """Divide meters by seconds: (N_PARTS, n_cells), NaN where nobody went."""
        return _ratio(self.meters, self.seconds)

    @property
    def speeds_of_day(self) -> Floats:
        """Divide those of the whole day: (n_cells,)."""
        return _ratio(self.meters.sum(axis=0), self.seconds.sum(axis=0))


@dataclass(frozen=True, eq=False)
class Hours:
    """Hold when trips depart, in local hours, and how they go in each part of the day."""

    calendar: Calendar
    departures: Noisy  # (HOURS,): in each hour of the week, from Monday at midnight
    chances: Floats  # (HOURS,): by which synthetic trips depart; they add up to 1
    trips: tuple[Flows, ...]  # by part of the day, between the cells of one layer
    passing: tuple[Passing, ...]  # layer by layer

    @property
    def shares(self) -> Floats:
        """Share sampled trips out to the parts of the day: (N_PARTS,)."""
        sums = np.array([flows.weights.sum() for flows in self.trips])
        return _ratio(sums, np.full(len(sums), sums.sum()))

    @property
    def speeds(self) -> Floats:
        """Give the mean speed in each part of the day: (N_PARTS,), NaN where nobody goes."""
        coarsest = self.passing[0]
        return _ratio(coarsest.meters.sum(axis=1), coarsest.seconds.sum(axis=1))


def _ratio(some: Floats, others: Floats) -> Floats:
    ratios: Floats = np.where(others > 0, some / np.where(others > 0, others, 1.0), np.nan)
    return ratios


@dataclass(frozen=True, eq=False)
class View:
    """Hold what of a model can be shown on a map or handed on as tables."""

    layers: tuple[Layer, ...]  # from coarse to fine
    trips: Flows  # from the first cell to the last
    trips_from: str  # how they are known, in a sentence
    moves: tuple[Flows, ...]  # from a cell to the next, layer by layer
    spreads: tuple[
        Spread, ...
    ] = ()  # of points, and where there are times of these; none if neither was measured
    hours: Hours | None = None  # where there are times


def error_of(release: Release, stage: str, n_added: int = 1) -> float:
    """Give the standard deviation of the noise of a stage, in trajectories, of so many numbers added up."""
    (charge,) = (charge for charge in release.charges if charge.stage == stage)
    return math.sqrt(2 * n_added) * charge.scale_in_trajectories
