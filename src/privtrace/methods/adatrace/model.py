"""Hold what AdaTrace released, and walk between given ends on it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from privtrace.caching import cached_property
from privtrace.methods.adatrace.bridge import Bridge
from privtrace.methods.adatrace.fine_cells import FineCells, fine_offsets
from privtrace.methods.adatrace.lengths import likely_lengths
from privtrace.methods.adatrace.settings import MOST_BY_RULE, AdaTrace
from privtrace.methods.adatrace.trips import clean_trips
from privtrace.methods.common.normcut import normcut, shrunk
from privtrace.methods.common.placing import decode
from privtrace.methods.model import Model
from privtrace.methods.view import Flows, Layer, Noisy, Trips, View, error_of
from privtrace.paths import Paths
from privtrace.runs import Runs
from privtrace.soundness import check_sound, within_limits
from privtrace.space.grid import MAX_DIVISION, Grid
from privtrace.space.shortest_paths import ShortestPaths, connect, graph_distances, shortest_paths
from privtrace.trajectories import Integers, Trajectories

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
class AdaTraceModel(Model):
    """Hold what AdaTrace released, noisy as measured, in weights of 2**-20 trajectories; walk on it."""

    density: Integers  # (N, N): visits per cell
    divisions: npt.NDArray[np.int32]  # (N, N): fine cells per side of each cell
    fine_density: Integers  # (n_fine,): visits per fine cell; (0,) without a second layer
    transitions: Integers  # (m, 8): moves to neighbors, as in `counts`
    trips: Integers  # (m, m): from first to last cell
    lengths: Integers  # (most distance + 1, max_extra + 1): extra cells, as in `counts`

    def __post_init__(self) -> None:
        super().__post_init__()
        settings = AdaTrace.of_release(self.release)
        size = len(self.divisions)
        check_sound(
            {
                "divisions": self.divisions.shape == (size, size)
                and (2 <= size <= MOST_BY_RULE if settings.N is None else size == settings.N)
                and bool(np.all((self.divisions >= 1) & (self.divisions <= MAX_DIVISION)))
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
                and bool(np.all(np.diff(fine_offsets(self.grid, self.fine)) > 0)),
                "fine_density": self.fine_density.shape == (n_fine if settings.second_layer else 0,)
                and within_limits(self.fine_density),
                "transitions": self.transitions.shape == self.shortest.neighbors.shape
                and within_limits(self.transitions),
                "trips": self.trips.shape == (m, m) and within_limits(self.trips),
                "lengths": self.lengths.shape == (int(self.distances.max()) + 1, settings.most_extra(size) + 1)
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
    def shortest(self) -> ShortestPaths:
        """Find the neighbors of each cell, and shortest paths between any two."""
        return shortest_paths(self.grid)

    @cached_property
    def distances(self) -> npt.NDArray[np.int16]:
        """Count the steps from each cell to each, -1 where no path leads."""
        return graph_distances(self.shortest)

    @cached_property
    def _clean_trips(self) -> Integers:
        return clean_trips(self.trips, self.distances)

    @cached_property
    def bridge(self) -> Bridge:
        """Clean trips, lengths and transitions into tables to walk on."""
        trips, lengths = self._clean_trips, likely_lengths(self.lengths)
        if not trips.any():  # noise has left nothing: any cell, and not beyond it
            trips, lengths = np.eye(len(trips), dtype=np.int64), np.ones((len(lengths), 1), np.int64)
        transitions = normcut(np.where(self.shortest.neighbors >= 0, self.transitions, 0))
        return Bridge(trips, lengths, transitions, self.shortest)

    @cached_property
    def fine_cells(self) -> FineCells:
        """Clean the fine density, that of a cell together; where noise has left nothing, weights are equal."""
        offsets = fine_offsets(self.grid, self.fine)
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
        return max(super().block_trajectories, min(16 * self.grid.n_cells, self.most_trajectories))

    def walk(self, trajectories: range, seed: int) -> tuple[Paths, int]:
        """Walk one path of cells for each trajectory number; none is cut short."""
        return self.bridge.walk(trajectories, seed), 0

    def encode(self, runs: Runs) -> Paths:
        """Turn real runs into paths from neighbor to neighbor. NOT PRIVATE."""
        return connect(self.grid.encode(runs), self.shortest)

    def place(self, paths: Paths, first: int, seed: int) -> Trajectories:
        """Place a point in each cell of the paths, numbered from `first`, and two in a lone cell."""
        return decode(self.fine_cells.choose(paths, first, seed), self.fine, first, seed)

    def view(self) -> View:
        """Show cells and fine cells, trips as measured, and moves to neighbors."""
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
            0, np.arange(m), self.shortest.neighbors, bridge.transitions, error_of(release, "transitions")
        )
        trips = Trips(0, np.arange(m), Noisy.of("trips", self.trips.ravel(), error_of(release, "trips")))
        return View(tuple(layers), 0, (moves,), trips)

    def summary(self) -> dict[str, Any]:
        """Describe sizes for a reader."""
        return {
            "trajectories": self.n_trajectories,
            "cells per side": len(self.divisions),
            "states": self.grid.n_cells,
            "cells divided": int(np.sum(self.divisions > 1)),
            "fine cells": self.fine.n_cells,
            "trips from cell to cell": int(np.count_nonzero(self._clean_trips)) or self.grid.n_cells,
        }
