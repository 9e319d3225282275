"""Hold what PrivTrace released, and walk on its Markov models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from privtrace.caching import cached_property
from privtrace.methods.common.normcut import normcut
from privtrace.methods.common.placing import decode
from privtrace.methods.model import Model, only_number
from privtrace.methods.privtrace.transitions import Transitions
from privtrace.methods.privtrace.walker import Walker
from privtrace.methods.view import Flows, Layer, Noisy, View, error_of, visits_evenly
from privtrace.paths import Paths
from privtrace.release import Release
from privtrace.runs import Runs
from privtrace.soundness import check_sound, within_limits
from privtrace.space.grid import MAX_DIVISION, Grid
from privtrace.trajectories import Integers, Trajectories

#: The arrays of a model file: name, type, number of axes.
SCHEMA = {
    "count": ("<i8", 1),
    "density": ("<i8", 2),
    "divisions": ("<i4", 2),
    "moves": ("<i8", 2),
    "second_states": ("<i4", 1),
    "second_offsets": ("<i8", 1),
    "second_successors": ("<i4", 1),
    "second_weights": ("<i8", 1),
    "trips": ("<i8", 2),
}


@dataclass(frozen=True, eq=False, repr=False)
class PrivTraceModel(Model):
    """Hold what PrivTrace released, in weights of 2**-20 trajectories; walk on it."""

    density: Integers  # (K, K): noisy visits per coarse cell
    divisions: npt.NDArray[np.int32]  # (K, K): fine cells per side of each coarse cell
    moves: Integers  # (m + 1, m): noisy first-order moves, as in `counts`
    second_states: npt.NDArray[np.int32]  # (s,), rising: states that walk by second order
    second: Transitions  # s * m rows: clean second-order moves
    trips: Integers  # (m, m): estimated trips from state to state, or (0, 0) without trip estimation

    def __post_init__(self) -> None:
        super().__post_init__()
        size, m = len(self.divisions), self.moves.shape[1]
        second = self.second
        limit = (1 << 62) // max(m, 1)
        checks = {
            "density": self.density.shape == self.divisions.shape == (size, size)
            and size > 0
            and within_limits(self.density)
            and not np.delete(self.density, Grid.uniform(self.release.region, size).slots).any(),
            "divisions": bool(np.all((self.divisions >= 1) & (self.divisions <= MAX_DIVISION))),
            "moves": self.moves.shape == (m + 1, m) and m == self.grid.n_cells and within_limits(self.moves),
            "second_states": _rising(self.second_states, 0, m),
            "second_offsets": second.n_rows == len(self.second_states) * m
            and second.offsets[0] == 0
            and second.offsets[-1] == len(second.successors) == len(second.weights)
            and bool(np.all(second.offsets[1:] >= second.offsets[:-1])),
            "second_successors": bool(np.all((second.successors >= 0) & (second.successors < m))),
            "second_weights": bool(np.all((second.weights > 0) & (second.weights <= limit))),
            "trips": self.trips.shape in ((m, m), (0, 0))
            and bool(np.all(self.trips >= 0))
            and self.trips.sum(dtype=np.float64) < 2.0**62,
        }
        check_sound(checks)

    @cached_property
    def grid(self) -> Grid:
        """Build the grid of states."""
        return Grid(self.release.region, self.divisions)

    @cached_property
    def first(self) -> Transitions:
        """Clean the first-order moves; row m is the start."""
        return Transitions.of([self.moves])

    @cached_property
    def walker(self) -> Walker:
        """Prepare the tables to walk on."""
        starts = self.trips.sum(axis=1)
        if not starts.any():  # no trips were estimated: the noisy starts, and failing them any state
            starts = normcut(self.moves[-1:])[0]
        if not starts.any():
            starts = np.ones(self.grid.n_cells, np.int64)
        return Walker(starts, self.first, self.second, self.second_states, self.longest_walk, self.fallback)

    @property
    def fallback(self) -> bool:
        """Say whether walks go on by first order where a second-order row is empty."""
        return self.release.settings.get("fallback", True) is True  # as files say that do not name it

    @property
    def longest_walk(self) -> int:
        """Bound the states of a walk."""
        max_steps = self.release.settings["max_steps"]
        assert isinstance(max_steps, int)
        return max_steps

    def walk(self, trajectories: range, seed: int) -> tuple[Paths, int]:
        """Walk one path for each trajectory number; also count the walks that max_steps ended."""
        return self.walker.walk(trajectories, seed)

    def encode(self, runs: Runs) -> Paths:
        """Turn real runs into paths of states. NOT PRIVATE."""
        return self.grid.encode(runs)

    def place(self, paths: Paths, first: int, seed: int) -> Trajectories:
        """Place one point in each state of the paths, numbered from `first`."""
        return decode(paths, self.grid, first, seed)

    def view(self) -> View:
        """Show coarse cells and states, and first-order moves between states."""
        region, m = self.release.region, self.grid.n_cells
        largest = int(np.bincount(self.grid.components()).max())
        coarse = Grid.uniform(region, len(self.divisions))
        visits = Noisy.of("visits", self.density.ravel()[coarse.slots], error_of(self.release, "density"))
        error = error_of(self.release, "first order")
        numbers = (
            # A state's moves lead to states of its own component; the others were emptied.
            Noisy.of("visits", self.moves[:-1].sum(axis=1), error_of(self.release, "first order", largest)),
            Noisy.of("starts", self.moves[-1], error),
            Noisy.of("ends", self.moves[:-1].diagonal(), error),
        )
        # A path's start shares its weight, besides its states.
        states = Layer("states", self.grid, numbers, lambda runs: visits_evenly(self.encode(runs), m, 1))
        layers = (Layer("coarse cells", coarse, (visits,)), states)
        origins = np.repeat(np.arange(m + 1), np.diff(self.first.offsets))
        between = (origins < m) & (origins != self.first.successors)  # leaves starts and ends out
        moves = Flows.of(
            1, origins[between], self.first.successors[between], self.first.weights[between], error
        )
        return View(layers, 1, (moves,))

    def summary(self) -> dict[str, Any]:
        """Describe sizes for a reader."""
        return {
            "trajectories": self.n_trajectories,
            "coarse cells per side": len(self.divisions),
            "divided coarse cells": int(np.sum(self.divisions > 1)),
            "states": self.grid.n_cells,
            "second-order states": len(self.second_states),
            "second-order entries": len(self.second.weights),
        }

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """List the arrays that a model file holds, as SCHEMA names them."""
        return {
            "count": np.array([self.count]),
            "density": self.density,
            "divisions": self.divisions,
            "moves": self.moves,
            "second_states": self.second_states,
            "second_offsets": self.second.offsets,
            "second_successors": self.second.successors,
            "second_weights": self.second.weights,
            "trips": self.trips,
        }

    @classmethod
    def from_arrays(cls, release: Release, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Make the model again from its file's arrays, checking settings and arrays."""
        return cls(
            release=release,
            count=only_number(arrays["count"]),
            density=arrays["density"],
            divisions=arrays["divisions"],
            moves=arrays["moves"],
            second_states=arrays["second_states"],
            second=Transitions(arrays["second_offsets"], arrays["second_successors"], arrays["second_weights"]),
            trips=arrays["trips"],
        )


def _rising(values: npt.NDArray[np.int32], low: int, high: int) -> bool:
    """Tell whether values rise strictly within [low, high)."""
    return len(values) == 0 or bool(
        values[0] >= low and values[-1] < high and np.all(np.diff(values.astype(np.int64)) > 0)
    )
