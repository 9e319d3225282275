"""PrivTrace (Wang et al., USENIX Security 2023): adaptive grid, adaptive Markov models, trip estimation.

Where the paper is silent or contradicts itself, docs/methods/privtrace.md says what is done here and why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from privtrace.caching import cached_property
from privtrace.errors import SettingsError
from privtrace.markov.second_order import states_worth_second_order
from privtrace.markov.transitions import Transitions, normcut
from privtrace.paths import Paths
from privtrace.privacy.epsilon import Epsilon
from privtrace.privacy.ledger import CLAMP
from privtrace.privacy.unit import WEIGHT
from privtrace.release import Release
from privtrace.space.adaptive import refine, refine_to
from privtrace.space.grid import Grid
from privtrace.space.measure import in_trajectories
from privtrace.synthesizers.fitted import SAMPLED, FittedModel, check_sound, only_number, within_limits
from privtrace.synthesizers.fitting import Fitting
from privtrace.synthesizers.plan import Plan
from privtrace.synthesizers.recipes.privtrace import released
from privtrace.synthesizers.settings import Settings, whole
from privtrace.synthesizers.view import Flows, Layer, Noisy, View, error_of
from privtrace.trajectories import Integers, Trajectories
from privtrace.trips.estimate import estimate_trips
from privtrace.trips.shortest import shortest_transitions
from privtrace.walk.decode import decode
from privtrace.walk.walker import Walker


@dataclass(frozen=True, kw_only=True)
class PrivTrace(Settings):
    """Hold PrivTrace's settings; all of them are public.

    Sizes left as None follow from the noisy count and epsilon, by the rules in docs/methods/privtrace.md; where
    users are protected, they read epsilon over max_per_user for epsilon.
    """

    order: Literal["adaptive", 1, 2] = "adaptive"  # of the Markov model: chosen state by state, or one for all
    second_layer: bool = True  # divide dense coarse cells
    trip_estimation: bool = True  # correct the starts for the length normalization
    K: int | None = None  # coarse cells per side
    c: float | None = None  # the paper's K = sqrt(count / c)
    max_states: int = 3000  # a limit on memory that no data decides
    states_factor: float = 1.5  # aim at states_factor * sqrt(count * epsilon2 / sqrt(2)) states
    states_per_coarse_cell: float = 6.0  # of the states aimed at, on average
    density_per_cell: float | None = None  # visits that a fine cell should hold
    population: float | None = None  # of the area: the paper's rule for the second layer
    theta1: float | None = None  # first order below so many moves, in trajectories; sqrt(2) m / epsilon2
    theta2: float = 5.0  # largest / second largest successor from which on: first order
    count_share: Epsilon = "0.02"  # of epsilon, out of the grid's share, unless the count is public
    grid_share: Epsilon = "0.2"
    first_order_share: Epsilon = "0.4"
    second_order_share: Epsilon = "0.4"
    max_steps: int = 1000  # states of a walk at most

    def _check(self) -> None:
        self._flag("second_layer", "trip_estimation")
        if self.order != "adaptive":
            self._set("order", whole(self.order, "order, if not 'adaptive',", 1, 2))
        # Tables of 5,000 by 5,000 numbers, several at a time, take over 1 GB.
        self._whole("max_states", 4, 5000)
        self._whole("max_steps", 1, 1_000_000)
        self._whole_if_given("K", 1, math.isqrt(self.max_states))
        self._positive("states_factor", "states_per_coarse_cell", "theta2")
        self._positive_if_given("c", "density_per_cell", "population", "theta1")
        if self.K is not None and self.c is not None:
            raise SettingsError("K and c both set the number of coarse cells; give one of them")
        if self.density_per_cell is not None and self.population is not None:
            raise SettingsError("density_per_cell and population both set the second layer; give one of them")
        self._shares_sum_to_one("grid", "first_order", "second_order")
        if self._share("count") >= self._share("grid"):
            raise SettingsError("the count's share is taken out of the grid's and must be smaller")

    @classmethod
    def paper(cls, *, c: float, population: float, **settings: Any) -> PrivTrace:
        """Use the paper's formulas: K = sqrt(count / c), and the second layer by population."""
        return cls(c=c, population=population, **settings)

    def _fitted(self, fitting: Fitting) -> PrivTraceModel:
        fields = released(self, fitting)
        return PrivTraceModel(release=fitting.release(), **fields)

    @property
    def _shares(self) -> dict[str, Fraction]:
        first, second = self._share("first_order"), self._share("second_order")
        if self.order == 1:
            first, second = first + second, Fraction(0)
        return {
            "count": self._count_share,
            "density": self._share("grid") - self._count_share,
            "first order": first,
            "second order": second,
        }

    @property
    def method(self) -> str:
        """Name the method."""
        return "privtrace"

    def plan(self, count: int) -> Plan:
        """Say what a fit to about so many trajectories would give, from public numbers alone."""
        sized_by = self._sized_by(count)
        size, states = self.coarse_size(sized_by), self._expected_states(sized_by)
        share = self._expected_second_order(count, states)
        return self._plan(
            count,
            _NOISY,
            self._own_warnings(states, share),
            grid=f"The grid: about {size} x {size} coarse cells, divided where it is dense into about "
            f"{states:,} states.",
            coarse_per_side=size,
            states=states,
            second_order_share=share,
            # As measured on two cores: see benchmarks/README.md.
            memory_mb=round(370 + 80e-6 * states**2),
            seconds=1 + 35 * (states / 3000) ** 3 + share * states**3 / 40e6,
        )

    def _expected_states(self, count: int) -> int:
        """Foresee the number of states: the target, or what a density per cell leads to, evenly spread."""
        coarse = self.coarse_size(count) ** 2
        if not self.second_layer:
            return coarse
        per_cell = self._density_per_cell(math.isqrt(coarse))
        wanted = self._target_states(count) if per_cell is None else round(count / per_cell)
        return max(coarse, min(wanted, self.max_states))

    def _expected_second_order(self, count: int, states: int) -> float:
        """Foresee the share of states that walk by second order, from how it went on three public data sets."""
        if self.order != "adaptive":
            return float(self.order == 2)
        load = count / states / self._theta1(states)  # 1 where an average state just passes the threshold
        return float(min(0.2 * load**1.6, 1.0))

    def _own_warnings(self, states: int, share: float) -> Iterator[str]:
        if self.order == "adaptive" and share < 0.2:
            yield (
                f"second order will hardly be used, for about {share:.0%} of the states; order 1 would give "
                "its share of epsilon to first order"
            )
        if states == self.max_states:
            yield f"max_states limits the model to {states:,} states; more data or epsilon adds no detail"

    def _target_states(self, n_trajectories: float) -> int:
        """Aim at the states at which noise is no larger than what an average state has to say."""
        # The share as set, also where order 1 spends more: an ablation should change one thing only.
        epsilon2 = self._share("first_order") * self._exact("epsilon") / self.protected.contributions
        target = self.states_factor * math.sqrt(n_trajectories * float(epsilon2) / math.sqrt(2))
        return min(self.max_states, round(target))

    def coarse_size(self, n_trajectories: float) -> int:
        """Choose K."""
        if self.K is not None:
            return self.K
        if self.c is not None:
            size = round(math.sqrt(n_trajectories / self.c))
        else:
            size = round(math.sqrt(self._target_states(n_trajectories) / self.states_per_coarse_cell))
        return min(max(2, size), math.isqrt(self.max_states))

    def refined(self, coarse: Grid, density: Integers, n_trajectories: float) -> Grid:
        """Divide dense coarse cells."""
        if not self.second_layer:
            return coarse
        visits = coarse.spread(in_trajectories(density))
        per_cell = self._density_per_cell(len(coarse.divisions))
        if per_cell is None:
            return refine_to(coarse, visits, self._target_states(n_trajectories))
        return refine(coarse, visits, per_cell, self.max_states)

    def _density_per_cell(self, coarse_size: int) -> float | None:
        """Find the visits that a fine cell should hold, where settings say it."""
        if self.population is None:
            return self.density_per_cell
        return 2e7 / (coarse_size * self.population / 1000)  # the paper's formula, population in thousands

    def second_order_states(self, moves: Integers) -> npt.NDArray[np.int32]:
        """Select the model of each state."""
        n_states = moves.shape[1]
        if self.order != "adaptive":
            return np.arange(n_states if self.order == 2 else 0, dtype=np.int32)
        theta1 = self._theta1(n_states) * WEIGHT
        return states_worth_second_order(normcut(moves[:n_states]), theta1, self.theta2)

    def _theta1(self, n_states: int) -> float:
        """Give the moves, in trajectories, below which a state stays first order."""
        if self.theta1 is not None:
            return self.theta1
        return math.sqrt(2) * n_states / self._per_unit("first order")

    def trips(self, grid: Grid, moves: Integers, n_trajectories: float) -> Integers:
        """Estimate how many trips go from each state to each, in weights; (0, 0) without trip estimation."""
        if not self.trip_estimation:
            return np.zeros((0, 0), np.int64)
        starts = in_trajectories(moves[-1])
        ends = in_trajectories(moves[:-1].diagonal())
        trips = estimate_trips(starts, ends, shortest_transitions(grid.touching()), n_trajectories)
        return np.round(trips * WEIGHT).astype(np.int64)


#: How trips are known.
_ESTIMATED = "Flows are estimated from noisy starts and ends, and from the shortest ways between them."

#: What gets the noise of each stage, for plans.
_NOISY = {
    "count": "the total",
    "density": "a coarse cell",
    "first order": "a first-order count",
    "second order": "a second-order count",
}

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
class PrivTraceModel(FittedModel):
    """Hold what PrivTrace released, in weights of 2**-20 trajectories; walk on it."""

    density: Integers  # (K, K): noisy visits per coarse cell
    divisions: npt.NDArray[np.int32]  # (K, K): fine cells per side of each coarse cell
    moves: Integers  # (m + 1, m): noisy first-order moves, as in markov.counts
    second_states: npt.NDArray[np.int32]  # (s,), rising: states that walk by second order
    second: Transitions  # s * m rows: clean second-order moves
    trips: Integers  # (m, m): estimated trips from state to state, or (0, 0) without trip estimation

    def __post_init__(self) -> None:
        size, m = len(self.divisions), self.moves.shape[1]
        second = self.second
        limit = (1 << 62) // max(m, 1)
        checks = {
            "count": 0 <= self.count <= CLAMP,
            "density": self.density.shape == self.divisions.shape == (size, size)
            and size > 0
            and within_limits(self.density)
            and not np.delete(self.density, Grid.uniform(self.release.region, size).slots).any(),
            "divisions": bool(np.all((self.divisions >= 1) & (self.divisions <= 10_000))),
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
        return Walker(starts, self.first, self.second, self.second_states, self.longest_walk)

    @property
    def longest_walk(self) -> int:
        """Bound the states of a walk."""
        max_steps = self.release.settings["max_steps"]
        assert isinstance(max_steps, int)
        return max_steps

    def walk(self, trajectories: range, seed: int) -> tuple[Paths, int]:
        """Walk one path for each trajectory number; also count the walks that max_steps ended."""
        return self.walker.walk(trajectories, seed)

    def encode(self, part: Trajectories) -> Paths:
        """Turn real trajectories into paths of states. NOT PRIVATE."""
        return self.grid.encode(part)

    def place(self, paths: Paths, first: int, seed: int) -> Trajectories:
        """Place one point in each state of the paths, numbered from `first`."""
        return decode(paths, self.grid, first, seed)

    def view(self) -> View:
        """Show coarse cells and states, estimated trips, and first-order moves between states."""
        region, m = self.release.region, self.grid.n_cells
        largest = int(np.bincount(self.grid.parts()).max())
        coarse = Grid.uniform(region, len(self.divisions))
        visits = Noisy.of("visits", self.density.ravel()[coarse.slots], error_of(self.release, "density"))
        error = error_of(self.release, "first order")
        numbers = (
            # A state's moves lead to states of its own part; the others were emptied.
            Noisy.of("visits", self.moves[:-1].sum(axis=1), error_of(self.release, "first order", largest)),
            Noisy.of("starts", self.moves[-1], error),
            Noisy.of("ends", self.moves[:-1].diagonal(), error),
        )
        layers = (Layer("coarse cells", coarse, (visits,)), Layer("states", self.grid, numbers))
        origins = np.repeat(np.arange(m + 1), np.diff(self.first.offsets))
        between = (origins < m) & (origins != self.first.successors)  # leaves starts and ends out
        moves = Flows.of(
            1, origins[between], self.first.successors[between], self.first.weights[between], error
        )
        if not self.trips.any():
            return View(layers, self._sampled_trips(1, self.grid), SAMPLED, (moves,))
        return View(layers, Flows.of_table(1, self.trips, None), _ESTIMATED, (moves,))

    def summary(self) -> dict[str, Any]:
        """Describe sizes for a reader."""
        return {
            "trajectories": self.n_trajectories,
            "coarse cells per side": len(self.divisions),
            "coarse cells divided": int(np.sum(self.divisions > 1)),
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
        """Make the model again from its file's parts, checking settings and arrays."""
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
