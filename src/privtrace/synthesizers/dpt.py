"""DPT (He et al., PVLDB 2015): hierarchical reference systems, noisy prefix trees, direction-weighted sampling.

After the published description; parameters that the description leaves open are ours, and its figures are no
reproduction of the authors' program. docs/methods/dpt.md says what is known and what is chosen here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from privtrace.caching import cached_property
from privtrace.errors import SettingsError
from privtrace.markov.transitions import normcut, shrunk
from privtrace.paths import Paths
from privtrace.privacy.epsilon import Epsilon
from privtrace.privacy.ledger import CLAMP
from privtrace.privacy.unit import WEIGHT
from privtrace.space.ways import MOST_OVER_POLYGON
from privtrace.synthesizers.fitted import SAMPLED, FittedModel, check_sound, within_limits
from privtrace.synthesizers.fitting import Fitting
from privtrace.synthesizers.plan import Plan
from privtrace.synthesizers.recipes.dpt import released
from privtrace.synthesizers.settings import Settings, within
from privtrace.synthesizers.view import Flows, Layer, Noisy, View, error_of
from privtrace.trajectories import Integers, Trajectories
from privtrace.trees.contexts import Contexts, Growth, consistent, grow
from privtrace.trees.events import Mapper
from privtrace.trees.systems import STOP, Systems
from privtrace.walk.decode import decode
from privtrace.walk.descent import Descent

#: Cells per side of the finest system at most.
_MOST_PER_SIDE = 512

#: Trips are shown between the cells of the finest system that has at most so many.
_ZONES = 1024


@dataclass(frozen=True, kw_only=True)
class DPT(Settings):
    """Hold DPT's settings; all of them are public.

    After the published description; parameters that the description leaves open are ours. The finest system, if
    left as None, follows from the noisy count and epsilon, by the rule in docs/methods/dpt.md; where users are
    protected, it reads epsilon over max_per_user for epsilon.
    """

    height: int = 3  # levels of the prefix trees; what happens next depends on height - 1 cells
    finest: int | None = None  # cells per side of the finest system; each further one has half as many
    max_systems: int = 8  # the finest and its halves, while they are even, at most so many
    mapping: Literal["speed", "coarsest"] = "speed"  # which system tells a pair of points
    hysteresis: bool = True  # stay in a system where it tells the next pair as well
    load: float = 0.8  # mean mass of a node of the finest, if it told all, in standard deviations of its noise
    keep: float = 0.3  # a system is kept from this mean mass of a node on, in standard deviations of its noise
    expand: float = 2.0  # a node is told what follows from this count on, in standard deviations of its noise
    max_contexts: int = 500_000  # of one depth: a limit on memory that no data decides
    heading_moves: int = 5  # the last moves that make the heading
    heading_strength: float = 1.0  # a move ahead is exp(strength) times as likely as one across; 0 is none
    count_share: Epsilon = "0.02"  # of epsilon, out of the systems' share, unless the count is public
    systems_share: Epsilon = "0.1"
    starts_share: Epsilon = "0.1"
    trees_share: Epsilon = "0.8"  # the same for each level
    max_steps: int | None = None  # events of a walk at most; ten for each cell of a side of the finest system

    def _check(self) -> None:
        self._whole("height", 2, 6)
        self._whole_if_given("finest", 1, self.most_per_side)
        self._whole("max_systems", 1, 10)
        if self.mapping not in ("speed", "coarsest"):
            raise SettingsError(f"mapping must be 'speed' or 'coarsest', not {self.mapping!r}")
        self._flag("hysteresis")
        self._positive("load", "keep", "expand")
        self._whole("max_contexts", 1, 5_000_000)
        self._whole("heading_moves", 1, 1000)
        self._set("heading_strength", within(self.heading_strength, "heading_strength", 0, 10))
        self._whole_if_given("max_steps", 1, 1_000_000)
        self._shares_sum_to_one("systems", "starts", "trees")
        if self._share("count") >= self._share("systems"):
            raise SettingsError("the count's share is taken out of the systems' and must be smaller")

    def _fitted(self, fitting: Fitting) -> DPTModel:
        fields = released(self, fitting)
        return DPTModel(release=fitting.release(), **fields)

    @property
    def method(self) -> str:
        """Name the method."""
        return "dpt"

    @property
    def _shares(self) -> dict[str, Fraction]:
        level = self._share("trees") / self.height
        return {
            "count": self._count_share,
            "systems": self._share("systems") - self._count_share,
            "starts": self._share("starts"),
            **{f"level {number + 1}": level for number in range(self.height)},
        }

    def mapper(self, systems: Systems) -> Mapper:
        """Map trajectories as the settings say."""
        return Mapper(systems, self.mapping, self.hysteresis)

    @property
    def growth(self) -> Growth:
        """Say how the trees grow."""
        return Growth(self.height, math.ceil(self.expand * self._node_error * WEIGHT), self.max_contexts)

    def plan(self, count: int) -> Plan:
        """Say what a fit to about so many trajectories would give, from public numbers alone."""
        sizes = self.sizes(self.finest_size(self._sized_by(count)))
        states = sum(size * size for size in sizes)
        return self._plan(
            count,
            _noisy(self.height),
            self._own_warnings(sizes[0]),
            grid=f"The reference systems: {', '.join(f'{size} x {size}' for size in sizes)} cells at most; "
            "those are kept that are used enough.",
            coarse_per_side=sizes[-1],
            states=states,
            # As measured on two cores: see benchmarks/README.md.
            memory_mb=round(370 + 1e-3 * states * 2 ** (self.height - 3)),
            seconds=1 + states / 50_000,
        )

    def _own_warnings(self, finest: int) -> Iterator[str]:
        if self.finest is None and finest == self.most_per_side:
            yield f"the rule for finest ends at {finest} cells per side; more data or epsilon adds none"

    @property
    def _node_error(self) -> float:
        """Give the standard deviation of a node's noise, in trajectories."""
        return math.sqrt(2) / self._per_unit("level 1")

    @property
    def most_per_side(self) -> int:
        """Limit the finest system."""
        return _MOST_PER_SIDE if self.region.shape is None else MOST_OVER_POLYGON

    def sizes(self, finest: int) -> tuple[int, ...]:
        """List the cells per side of all systems, from the finest to the coarsest."""
        sizes = [finest]
        while sizes[-1] % 2 == 0 and sizes[-1] > 2 and len(sizes) < self.max_systems:
            sizes.append(sizes[-1] // 2)
        return tuple(sizes)

    def finest_size(self, n_trajectories: float) -> int:
        """Choose the finest system: as fine as its nodes bear, if it told all events.

        It has 2, 3, 4, 6, 8, 12, 16, 24, ... cells per side, so that it can be halved often.
        """
        if self.finest is not None:
            return self.finest
        most = min(math.sqrt(n_trajectories / (9 * self.load * self._node_error)), self.most_per_side)
        return max(size << level for size in (2, 3) for level in range(9) if size << level <= max(most, 2))

    def kept(self, systems: Systems, usage: Integers) -> Systems:
        """Keep the systems whose nodes hold more than noise, by their mean; and in any case the most used."""
        nodes = 9 * np.diff(systems.first_cell)  # eight moves and the stop
        kept = usage / nodes >= self.keep * self._node_error * WEIGHT
        kept[np.argmax(usage)] = True
        sizes = tuple(size for size, is_kept in zip(systems.sizes, kept, strict=True) if is_kept)
        return Systems(systems.region, sizes)


def _noisy(height: int) -> dict[str, str]:
    """Name what gets the noise of each stage, for plans."""
    levels = {f"level {level}": f"a count of {level} cells in a row" for level in range(2, height + 1)}
    return {
        "count": "the total",
        "systems": "the use of a reference system",
        "starts": "a count of starts",
        "level 1": "a count of arrivals",
        **levels,
    }


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
class DPTModel(FittedModel):
    """Hold what DPT released, in weights of 2**-20 trajectories; walk on it."""

    sizes: npt.NDArray[np.int32]  # (n_systems,): cells per side of each system, from the finest to the coarsest
    usage: Integers  # (n_systems,): noisy arrivals in each
    starts: Integers  # (n_cells,): noisy starts in each cell of the systems kept
    arrivals: Integers  # (n_cells,): noisy arrivals there: level 1 of the trees
    events: Integers  # (n_contexts, n_events): noisy counts of what follows contexts: the other levels

    def __post_init__(self) -> None:
        finest, most = self.settings.finest, self.settings.most_per_side
        check_sound({"sizes": len(self.sizes) > 0 and 1 <= self.sizes[0] <= most})
        check_sound(
            {
                "count": 0 <= self.count <= CLAMP,
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
        return self.settings.kept(every, self.usage)

    @cached_property
    def contexts(self) -> Contexts:
        """Grow the contexts that the noisy counts lead to."""

        def table(contexts: Contexts) -> Integers:
            rows = self.events[contexts.deepest]
            n_rows = contexts.deepest.stop - contexts.deepest.start
            check_sound({"events": rows.shape == (n_rows, self.systems.n_events)})
            return rows

        return grow(self.systems, self.arrivals, self.settings.growth, table)[0]

    @cached_property
    def descent(self) -> Descent:
        """Prepare the tables to walk on."""
        starts = normcut(shrunk(self.starts)[np.newaxis])[0]
        if not starts.any():  # any cell of the coarsest system
            starts = (self.systems.of_cell == len(self.systems.sizes) - 1).astype(np.int64)
        return Descent(
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
        # Few trips cross a region ten times, and noise can lead a walk round in circles.
        return self.settings.max_steps or 10 * self.systems.sizes[0]

    def walk(self, trajectories: range, seed: int) -> tuple[Paths, int]:
        """Walk one path for each trajectory number; also count the walks that max_steps ended."""
        return self.descent.walk(trajectories, seed)

    def encode(self, part: Trajectories) -> Paths:
        """Turn real trajectories into the cells that their strings of events move to. NOT PRIVATE."""
        return self.settings.mapper(self.systems).strings(part).moves()

    def place(self, paths: Paths, first: int, seed: int) -> Trajectories:
        """Place one point in each cell of the paths, numbered from `first`."""
        return decode(paths, self.systems, first, seed)

    def view(self) -> View:
        """Show the systems from coarse to fine, trips of sampled walks, and what follows single cells."""
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
        return View(layers, self._sampled_trips(zones, layers[zones].grid), SAMPLED, tuple(moves))

    @property
    def _after_single_cells(self) -> tuple[Integers, Integers]:
        """Give the cells that are contexts alone, and the clean moves that follow them: (n,), (n, 8)."""
        single = slice(0, int(self.contexts.first[1]))
        return self.contexts.last_cell[single].astype(np.int64), self.descent.events[single, :STOP]

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
