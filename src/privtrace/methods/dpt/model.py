"""Hold what DPT released, and walk down its prefix trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from privtrace.caching import cached_property
from privtrace.methods.common.normcut import normcut, shrunk
from privtrace.methods.common.placing import decode
from privtrace.methods.dpt.contexts import Contexts, Growth, consistent, grow
from privtrace.methods.dpt.events import Mapper
from privtrace.methods.dpt.settings import DPT, EVENTS_PER_SIDE_CELL
from privtrace.methods.dpt.systems import STOP, Systems, kept
from privtrace.methods.dpt.walker import TreeWalker
from privtrace.methods.model import Model
from privtrace.methods.view import Flows, Layer, Noisy, View, error_of, visits_evenly
from privtrace.paths import Paths
from privtrace.runs import Runs
from privtrace.soundness import check_sound, within_limits
from privtrace.trajectories import Floats, Integers, Trajectories

#: Trips are shown between the cells of the finest system that has at most so many.
_ZONES = 1024

#: The arrays of a model file: name, type, number of axes.
SCHEMA = {
    "count": ("<i8", 1),
    "sizes": ("<i4", 1),
    "usage": ("<i8", 1),
    "starts": ("<i8", 1),
    "arrivals": ("<i8", 1),
    "events": ("<i8", 2),
}


@dataclass(frozen=True, eq=False, repr=False)
class DPTModel(Model):
    """Hold what DPT released, in weights of 2**-20 trajectories; walk on it."""

    sizes: npt.NDArray[np.int32]  # (n_systems,): cells per side of each system, from the finest to the coarsest
    usage: Integers  # (n_systems,): noisy arrivals in each
    starts: Integers  # (n_cells,): noisy starts in each cell of the systems kept
    arrivals: Integers  # (n_cells,): noisy arrivals there: level 1 of the trees
    events: Integers  # (n_contexts, n_events): noisy counts of what follows contexts: the other levels

    def __post_init__(self) -> None:
        super().__post_init__()
        finest, most = self.settings.finest, self.settings.most_per_side
        check_sound({"sizes": len(self.sizes) > 0 and 1 <= self.sizes[0] <= most})
        check_sound(
            {
                "sizes": tuple(self.sizes.tolist()) == self.settings.sizes(finest or int(self.sizes[0])),
                "usage": self.usage.shape == self.sizes.shape,
            }
        )
        for name in ("usage", "starts", "arrivals", "events"):
            check_sound({name: within_limits(getattr(self, name))})
        n_cells = self.systems.n_cells
        check_sound({"starts": len(self.starts) == n_cells, "arrivals": len(self.arrivals) == n_cells})
        check_sound({"events": self.events.shape == (len(self.contexts), self.systems.n_events)})
        impossible = ~self.systems.legal[self.contexts.last_cell]
        check_sound({"events": not self.events[impossible].any()})

    @cached_property
    def settings(self) -> DPT:
        """Read the settings of the release."""
        return DPT.of_release(self.release)

    @cached_property
    def systems(self) -> Systems:
        """Build the reference systems that the noisy usage keeps."""
        every = Systems(self.release.region, tuple(self.sizes.tolist()))
        return kept(every, self.usage, self.settings)

    @cached_property
    def contexts(self) -> Contexts:
        """Grow the contexts that the noisy counts lead to."""

        def table(contexts: Contexts) -> Integers:
            rows = self.events[contexts.deepest]
            n_rows = contexts.deepest.stop - contexts.deepest.start
            check_sound({"events": rows.shape == (n_rows, self.systems.n_events)})
            return rows

        return grow(self.systems, self.arrivals, Growth.of(self.settings), table)[0]

    @cached_property
    def walker(self) -> TreeWalker:
        """Prepare the tables to walk on."""
        starts = normcut(shrunk(self.starts)[np.newaxis])[0]
        if not starts.any():  # any cell of the coarsest system
            starts = (self.systems.of_cell == len(self.systems.sizes) - 1).astype(np.int64)
        return TreeWalker(
            self.systems,
            self.contexts,
            starts,
            shrunk(np.maximum(self.arrivals, 0)),
            consistent(self.contexts, self.arrivals, self.events),
            self.settings.heading_moves,
            self.settings.heading_strength,
            self._max_steps,
        )

    @property
    def longest_walk(self) -> int:
        """Bound the points of a walk."""
        return self._max_steps + 1

    @property
    def _max_steps(self) -> int:
        return self.settings.max_steps or EVENTS_PER_SIDE_CELL * self.systems.sizes[0]

    def walk(self, trajectories: range, seed: int) -> tuple[Paths, int]:
        """Walk one path for each trajectory number; also count the walks that max_steps ended."""
        return self.walker.walk(trajectories, seed)

    def encode(self, runs: Runs) -> Paths:
        """Turn real runs into the cells that their strings of events move to. NOT PRIVATE."""
        return Mapper.of(self.systems, self.settings).strings(runs).moves()

    def place(self, paths: Paths, first: int, seed: int) -> Trajectories:
        """Place one point in each cell of the paths, numbered from `first`."""
        return decode(paths, self.systems, first, seed)

    def view(self) -> View:
        """Show the systems from coarse to fine, and what follows single cells."""
        systems, release = self.systems, self.release
        bounds = [*pairwise(systems.first_cell.tolist())][::-1]
        layers = tuple(
            Layer(
                f"{len(grid.divisions)} x {len(grid.divisions)} cells",
                grid,
                (
                    Noisy.of("visits", self.arrivals[first:last], error_of(release, "level 1")),
                    Noisy.of("starts", self.starts[first:last], error_of(release, "starts")),
                ),
                partial(self._visits_of, first, last),
            )
            for grid, (first, last) in zip(systems.grids[::-1], bounds, strict=True)
        )
        cells, events = self._after_single_cells
        moves = []
        for layer, (first, last) in enumerate(bounds):
            here = (cells >= first) & (cells < last)
            neighbors = systems.stack.neighbors[cells[here]]
            flows = cells[here] - first, neighbors, events[here]
            moves.append(Flows.to_neighbors(layer, *flows, error_of(release, "level 2")))
        zones = max(layer for layer, (first, last) in enumerate(bounds) if layer == 0 or last - first <= _ZONES)
        return View(layers, zones, tuple(moves))

    def _visits_of(self, first: int, last: int, runs: Runs) -> Floats:
        """Count where strings of synthetic trips arrive, in the cells numbered from `first` until `last`."""
        strings = Mapper.of(self.systems, self.settings).strings(runs)
        here = (strings.cells >= first) & (strings.cells < last)
        paths = Paths(np.where(here, strings.cells - first, -1), strings.offsets)
        return visits_evenly(paths, last - first, n_more=1)  # the stop shares the weight of a string

    @property
    def _after_single_cells(self) -> tuple[Integers, Integers]:
        """Give the cells that are contexts alone, and the clean moves that follow them: (n,), (n, 8)."""
        single = slice(0, int(self.contexts.first[1]))
        return self.contexts.last_cell[single].astype(np.int64), self.walker.events[single, :STOP]

    def summary(self) -> dict[str, Any]:
        """Describe sizes for a reader."""
        return {
            "trajectories": self.n_trajectories,
            "reference systems": len(self.sizes),
            "kept systems": len(self.systems.sizes),
            "cells per side of the finest": self.systems.sizes[0],
            "cells": self.systems.n_cells,
            "contexts": len(self.contexts),
        }
