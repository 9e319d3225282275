"""AdaTrace (Gursoy et al., CCS 2018): grid, moves to neighbors, trips, lengths, and bridges between ends.

This is the private variant: all that leaves the data goes through the ledger, unlike in the published program.
Its filters against attacks consult the raw data, and so are not offered. docs/methods/adatrace.md says more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from privtrace.caching import cached_property
from privtrace.errors import SettingsError
from privtrace.markov.transitions import normcut, shrunk
from privtrace.paths import Paths
from privtrace.privacy.epsilon import Epsilon
from privtrace.privacy.ledger import CLAMP
from privtrace.space.adaptive import refine
from privtrace.space.grid import Grid
from privtrace.space.measure import in_trajectories
from privtrace.space.ways import Ways, fill, steps_between, ways
from privtrace.synthesizers.base import BLOCK_POINTS
from privtrace.synthesizers.fitted import FittedModel, check_sound, within_limits
from privtrace.synthesizers.fitting import Fitting
from privtrace.synthesizers.plan import Plan
from privtrace.synthesizers.recipes.adatrace import released
from privtrace.synthesizers.settings import Settings
from privtrace.synthesizers.view import Flows, Layer, Noisy, View, error_of
from privtrace.trajectories import Integers, Trajectories
from privtrace.trips.clean import clean_trips
from privtrace.trips.lengths import likely_lengths
from privtrace.walk.bridge import Bridge
from privtrace.walk.choose import FineCells
from privtrace.walk.decode import decode

#: Cells per side at most: trips are a table of all pairs of cells; and at most by rule.
MOST_PER_SIDE = 40
MOST_BY_RULE = 32


@dataclass(frozen=True, kw_only=True)
class AdaTrace(Settings):
    """Hold AdaTrace's settings; all of them are public.

    After Gursoy et al., CCS 2018, the private variant: attack resilience as published consults the raw data,
    and so is not offered; docs/methods/adatrace.md says more. Sizes left as None follow from the noisy count
    and epsilon, by the rules there; where users are protected, they read epsilon over max_per_user for epsilon.
    """

    N: int | None = None  # cells per side
    cells_factor: float = 0.2  # N = (cells_factor * count * epsilon of the trips) ** (1/4)
    second_layer: bool = True  # divide dense cells for placing points
    density_per_cell: float | None = None  # visits that a fine cell should hold
    fine_factor: float = 1.0  # else so many times the noise of the fine density
    max_cells: int = 10_000  # fine cells at most: a limit on memory that no data decides
    max_extra: int | None = None  # cells of a path beyond the shortest way at most; N
    count_share: Epsilon = "0.01"  # of epsilon, out of the grid's share, unless the count is public
    fine_share: Epsilon = "0.02"  # of epsilon, out of the grid's share, unless there is no second layer
    grid_share: Epsilon = "0.05"
    transitions_share: Epsilon = "0.35"
    trips_share: Epsilon = "0.5"
    lengths_share: Epsilon = "0.1"

    def _check(self) -> None:
        self._flag("second_layer")
        self._whole_if_given("N", 1, MOST_PER_SIDE)
        self._whole("max_cells", 4, 100_000)
        self._whole_if_given("max_extra", 0, 10_000)
        self._positive("cells_factor", "fine_factor")
        self._positive_if_given("density_per_cell")
        self._shares_sum_to_one("grid", "transitions", "trips", "lengths")
        if self._share("count") + self._share("fine") >= self._share("grid"):
            raise SettingsError(
                "the shares of count and fine density are taken out of the grid's and must be smaller together"
            )

    def _fitted(self, fitting: Fitting) -> AdaTraceModel:
        fields = released(self, fitting)
        return AdaTraceModel(release=fitting.release(), **fields)

    @property
    def _shares(self) -> dict[str, Fraction]:
        fine = self._share("fine") if self.second_layer else Fraction(0)
        return {
            "count": self._count_share,
            "density": self._share("grid") - self._count_share - fine,
            "fine density": fine,
            "transitions": self._share("transitions"),
            "trips": self._share("trips"),
            "lengths": self._share("lengths"),
        }

    @property
    def method(self) -> str:
        """Name the method."""
        return "adatrace"

    def plan(self, count: int) -> Plan:
        """Say what a fit to about so many trajectories would give, from public numbers alone."""
        size = self.cells_per_side(self._sized_by(count))
        placed = "placed finer where it is dense" if self.second_layer else "uniform in them"
        return self._plan(
            count,
            _NOISY,
            self._own_warnings(size),
            grid=f"The grid: about {size} x {size} cells, which are the states; points are {placed}.",
            coarse_per_side=size,
            states=size**2,
            # As measured on two cores: see benchmarks/README.md.
            memory_mb=round(370 + 80e-6 * size**4),
            seconds=1 + size**4 / 16e6,
        )

    def _own_warnings(self, size: int) -> Iterator[str]:
        if self.N is None and size == MOST_BY_RULE:
            yield f"the rule for N ends at {size} cells per side; more data or epsilon adds no detail to trips"

    def cells_per_side(self, n_trajectories: float) -> int:
        """Choose N so that the noise of a trip stays in proportion to what one of the N**4 has to say."""
        if self.N is not None:
            return self.N
        # Two square roots: they are the same on every machine.
        size = math.sqrt(math.sqrt(self.cells_factor * n_trajectories * self._per_unit("trips")))
        return round(min(max(size, 2), MOST_BY_RULE))

    def most_extra(self, size: int) -> int:
        """Give the extra cells of a path that are told apart, at most."""
        return size if self.max_extra is None else self.max_extra

    def refined(self, grid: Grid, density: Integers) -> Grid:
        """Divide dense cells."""
        if not self.second_layer:
            return grid
        visits = in_trajectories(density)
        fine = refine(grid, visits, self._density_per_cell(), self.max_cells)
        # Of a cell that is hardly there, rounding may leave no fine cell at all: it stays whole.
        lost = grid.slots[np.diff(_fine_offsets(grid, fine)) == 0]
        divisions = fine.divisions.copy()
        divisions.reshape(-1)[lost] = 1
        return Grid(grid.region, divisions) if len(lost) else fine

    def _density_per_cell(self) -> float:
        """Find the visits that a fine cell should hold."""
        if self.density_per_cell is not None:
            return self.density_per_cell
        return self.fine_factor * math.sqrt(2) / self._per_unit("fine density")


def _fine_offsets(grid: Grid, fine: Grid) -> Integers:
    """Find where the fine cells of each cell of a uniform grid begin, and the end: (n_cells + 1,)."""
    first = np.searchsorted(fine.slots, fine.first_slot[grid.slots])
    return np.append(first, fine.n_cells)


#: How trips are known.
_MEASURED = "Flows were measured with noise, each from cell to cell, and cleaned of it as well as can be."

#: What gets the noise of each stage, for plans.
_NOISY = {
    "count": "the total",
    "density": "a cell",
    "fine density": "a fine cell",
    "transitions": "a move to a neighbor",
    "trips": "a trip from cell to cell",
    "lengths": "a number of extra cells",
}

#: The arrays of a model file: name, type, number of axes.
SCHEMA = {
    "count": ("<i8", 1),
    "density": ("<i8", 2),
    "divisions": ("<i4", 2),
    "fine_density": ("<i8", 1),
    "transitions": ("<i8", 2),
    "trips": ("<i8", 2),
    "lengths": ("<i8", 2),
}


@dataclass(frozen=True, eq=False, repr=False)
class AdaTraceModel(FittedModel):
    """Hold what AdaTrace released, noisy as measured, in weights of 2**-20 trajectories; walk on it."""

    density: Integers  # (N, N): visits per cell
    divisions: npt.NDArray[np.int32]  # (N, N): fine cells per side of each cell
    fine_density: Integers  # (n_fine,): visits per fine cell; (0,) without a second layer
    transitions: Integers  # (m, 8): moves to neighbors, as in markov.counts
    trips: Integers  # (m, m): from first to last cell
    lengths: Integers  # (most steps + 1, max_extra + 1): extra cells, as in trips.counts

    def __post_init__(self) -> None:
        settings = AdaTrace.of_release(self.release)
        size = len(self.divisions)
        check_sound(
            {
                "count": 0 <= self.count <= CLAMP,
                "divisions": self.divisions.shape == (size, size)
                and (2 <= size <= MOST_BY_RULE if settings.N is None else size == settings.N)
                and bool(np.all((self.divisions >= 1) & (self.divisions <= 10_000)))
                and (settings.second_layer or bool(np.all(self.divisions == 1))),
            }
        )
        m, slots = self.grid.n_cells, self.grid.slots
        n_fine = self.fine.n_cells
        check_sound(
            {
                "density": self.density.shape == (size, size)
                and not np.delete(self.density, slots).any()
                and within_limits(self.density),
                "divisions": n_fine <= max(settings.max_cells, m)
                and bool(np.all(np.diff(_fine_offsets(self.grid, self.fine)) > 0)),
                "fine_density": self.fine_density.shape == (n_fine if settings.second_layer else 0,)
                and within_limits(self.fine_density),
                "transitions": self.transitions.shape == self.ways.neighbors.shape
                and within_limits(self.transitions),
                "trips": self.trips.shape == (m, m) and within_limits(self.trips),
                "lengths": self.lengths.shape == (int(self.steps.max()) + 1, settings.most_extra(size) + 1)
                and within_limits(self.lengths),
            }
        )

    @cached_property
    def grid(self) -> Grid:
        """Build the grid that paths go on."""
        return Grid.uniform(self.release.region, len(self.divisions))

    @cached_property
    def fine(self) -> Grid:
        """Build the grid that points are placed on."""
        return Grid(self.release.region, self.divisions)

    @cached_property
    def ways(self) -> Ways:
        """Find the neighbors of each cell, and the ways between any two."""
        return ways(self.grid)

    @cached_property
    def steps(self) -> npt.NDArray[np.int16]:
        """Count the steps from each cell to each, -1 where no way leads."""
        return steps_between(self.ways)

    @cached_property
    def bridge(self) -> Bridge:
        """Clean trips, lengths and transitions into tables to walk on."""
        trips, lengths = clean_trips(self.trips, self.steps), likely_lengths(self.lengths)
        if not trips.any():  # noise has left nothing: any cell, and not beyond it
            trips, lengths = np.eye(len(trips), dtype=np.int64), np.ones((len(lengths), 1), np.int64)
        transitions = normcut(np.where(self.ways.neighbors >= 0, self.transitions, 0))
        return Bridge(trips, lengths, transitions, self.ways)

    @cached_property
    def fine_cells(self) -> FineCells:
        """Clean the fine density, that of a cell together; where noise has left nothing, weights are equal."""
        offsets = _fine_offsets(self.grid, self.fine)
        if not len(self.fine_density):
            return FineCells(offsets, np.ones(self.fine.n_cells, np.int64))
        weights = shrunk(self.fine_density)
        for first, last in pairwise(offsets.tolist()):
            clean = normcut(weights[np.newaxis, first:last])[0]
            weights[first:last] = clean if clean.any() else 1
        return FineCells(offsets, weights)

    @property
    def longest_walk(self) -> int:
        """Bound the points of a walk."""
        return sum(self.lengths.shape)

    @property
    def block_trajectories(self) -> int:
        """Let a task walk more where cells are many: paths to the same cell share what is computed for it."""
        return max(super().block_trajectories, min(16 * self.grid.n_cells, BLOCK_POINTS // self.longest_walk))

    def walk(self, trajectories: range, seed: int) -> tuple[Paths, int]:
        """Walk one path of cells for each trajectory number; none is cut short."""
        return self.bridge.walk(trajectories, seed), 0

    def encode(self, part: Trajectories) -> Paths:
        """Turn real trajectories into paths from neighbor to neighbor. NOT PRIVATE."""
        return fill(self.grid.encode(part), self.ways)

    def place(self, paths: Paths, first: int, seed: int) -> Trajectories:
        """Place a point in each cell of the paths, numbered from `first`, and two in a lone cell."""
        return decode(self.fine_cells.choose(paths, first, seed), self.fine, first, seed)

    def view(self) -> View:
        """Show cells and fine cells, measured trips, and moves to neighbors."""
        release, m = self.release, self.grid.n_cells
        ends_error = error_of(release, "trips", m)
        numbers = (
            Noisy.of("visits", self.density.ravel()[self.grid.slots], error_of(release, "density")),
            Noisy.of("starts", self.trips.sum(axis=1), ends_error),
            Noisy.of("ends", self.trips.sum(axis=0), ends_error),
        )
        layers = [Layer("cells", self.grid, numbers)]
        if len(self.fine_density):
            fine_visits = Noisy.of("visits", self.fine_density, error_of(release, "fine density"))
            layers.append(Layer("fine cells", self.fine, (fine_visits,)))
        bridge = self.bridge
        moves = Flows.to_neighbors(
            0, np.arange(m), self.ways.neighbors, bridge.transitions, error_of(release, "transitions")
        )
        trips = Flows.of_table(0, bridge.trips, error_of(release, "trips"))
        return View(tuple(layers), trips, _MEASURED, (moves,))

    def summary(self) -> dict[str, Any]:
        """Describe sizes for a reader."""
        return {
            "trajectories": self.n_trajectories,
            "cells per side": len(self.divisions),
            "states": self.grid.n_cells,
            "cells divided": int(np.sum(self.divisions > 1)),
            "fine cells": self.fine.n_cells,
            "trips from cell to cell": int(np.count_nonzero(self.bridge.trips)),
        }
