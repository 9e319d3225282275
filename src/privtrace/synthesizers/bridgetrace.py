"""BridgeTrace, our own: traced paths, measured trips, and walks that arrive, fitted to all that was measured.

docs/methods/bridgetrace.md tells why each part is there, what was tried, and what it costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from privtrace.backends.base import Backend
from privtrace.backends.local import Threads
from privtrace.bridges.measure import Measured
from privtrace.bridges.shapes import N_BINS
from privtrace.caching import cached_property
from privtrace.calibrate.close import Target, close_loop, in_weights, within_zones
from privtrace.calibrate.first import clean_shapes, first_guess, normalized
from privtrace.calibrate.shrink import shrink
from privtrace.errors import SettingsError
from privtrace.markov.transitions import normcut
from privtrace.paths import Paths
from privtrace.privacy.epsilon import Epsilon
from privtrace.privacy.ledger import CLAMP
from privtrace.space.grid import MAX_SLOTS, Grid
from privtrace.space.measure import in_trajectories
from privtrace.space.region import Region
from privtrace.space.trace import trace
from privtrace.space.zones import zones
from privtrace.synthesizers.fitted import SAMPLED, FittedModel, check_sound, within_limits
from privtrace.synthesizers.fitting import Fitting
from privtrace.synthesizers.plan import Plan
from privtrace.synthesizers.recipes.bridgetrace import released
from privtrace.synthesizers.settings import Settings
from privtrace.synthesizers.view import Flows, Layer, Noisy, View, error_of
from privtrace.trajectories import Floats, Integers, Trajectories
from privtrace.walk.arrive import LOSSES, arrivals
from privtrace.walk.bridges import Bridges
from privtrace.walk.ground import N_CLASSES, Ground
from privtrace.walk.line import place_on_lines

#: Coarse cells per side at most by rule: finer ones gain nothing, since cells are divided further.
MOST_BY_RULE = 10

#: Every coarse cell is divided into four at least, and the densest into so many per side at most.
LEAST_DIVISION, MOST_DIVISION = 2, 64

#: Chances to arrive at most, a number for each zone, level and link: a quarter of a gigabyte.
MOST_CHANCES = 1 << 25

#: Points are as far apart as this part of the region's shorter side, unless a spacing is set.
SPACING = 1 / 160

#: The least spacing as part of it: closer points would fill the memory.
LEAST_SPACING = 1e-5


@dataclass(frozen=True, kw_only=True)
class BridgeTrace(Settings):
    """Hold BridgeTrace's settings; all of them are public.

    Sizes left as None follow from the noisy count and epsilon, by the rules in docs/methods/bridgetrace.md;
    where users are protected, they read epsilon over max_per_user for epsilon.
    """

    K: int | None = None  # coarse cells per side
    coarse_factor: float = 1.2  # the visits of a coarse cell, on average, in errors of its density
    cell_factor: float = 32.0  # the visits that a cell should have, in errors of a move
    zone_factor: float = 1.5  # the trips between two zones, on average, in errors of one
    max_states: int = 20_000  # a limit on memory that no data decides
    max_zones: int = 128
    rounds: int = 4  # of closing the loop
    spacing: float | None = None  # of points, in meters or planar units; 1/160 of the region's shorter side
    count_share: Epsilon = "0.01"  # of epsilon, out of the density's share, unless the count is public
    density_share: Epsilon = "0.06"
    visits_share: Epsilon = "0.36"
    moves_share: Epsilon = "0.36"
    trips_share: Epsilon = "0.13"
    shapes_share: Epsilon = "0.09"

    def _check(self) -> None:
        self._whole("max_states", 16, 50_000)
        self._whole("max_zones", 1, 1000)
        self._whole("rounds", 0, 100)
        self._whole_if_given("K", 1, 200)
        if self.K is not None and (LEAST_DIVISION * self.K) ** 2 > self.max_states:
            raise SettingsError(
                f"K = {self.K} coarse cells per side make {(LEAST_DIVISION * self.K) ** 2:,} states at least, "
                f"and max_states allows {self.max_states:,}; set a smaller K or more states"
            )
        self._positive("coarse_factor", "cell_factor", "zone_factor")
        self._positive_if_given("spacing")
        self._shares_sum_to_one("density", "visits", "moves", "trips", "shapes")
        if self._share("count") >= self._share("density"):
            raise SettingsError("the count's share is taken out of the density's and must be smaller")

    def _fitted(self, fitting: Fitting) -> BridgeTraceModel:
        fields = released(self, fitting)
        return BridgeTraceModel(release=fitting.release(), **fields)

    @property
    def _shares(self) -> dict[str, Fraction]:
        return {
            "count": self._count_share,
            "density": self._share("density") - self._count_share,
            "visits": self._share("visits"),
            "moves": self._share("moves"),
            "trips": self._share("trips"),
            "shapes": self._share("shapes"),
        }

    @property
    def method(self) -> str:
        """Name the method."""
        return "bridgetrace"

    def plan(self, count: int) -> Plan:
        """Say what a fit to about so many trajectories would give, from public numbers alone."""
        sized_by = self._sized_by(count)
        size, states = self.coarse_size(sized_by), self._expected_states(sized_by)
        n_zones = self._n_zones(sized_by, 4 * states)
        return self._plan(
            count,
            _NOISY,
            self._own_warnings(states),
            grid=f"The grid: about {size} x {size} coarse cells, divided into about {states:,} states; trips "
            f"go between about {n_zones} zones.",
            coarse_per_side=size,
            states=states,
            # As measured on two cores: see benchmarks/README.md.
            memory_mb=round(370 + 24e-6 * 4 * states * n_zones * len(LOSSES) + 0.02 * states),
            seconds=0.4 + 7e-8 * (self.rounds + 1) * states**1.5 * n_zones,
        )

    def _own_warnings(self, states: int) -> Iterator[str]:
        if states == self.max_states:
            yield f"max_states limits the model to {states:,} states; more data or epsilon adds no detail"

    def _error(self, stage: str) -> float:
        """Give the standard deviation of a stage's noise, in trajectories."""
        return math.sqrt(2) / self._per_unit(stage)

    def coarse_size(self, n_trajectories: float) -> int:
        """Choose K so that an average coarse cell has some more visits than its density has noise."""
        if self.K is not None:
            return self.K
        size = math.sqrt(n_trajectories / (self.coarse_factor * self._error("density")))
        return max(1, min(round(size), MOST_BY_RULE, math.isqrt(self.max_states) // LEAST_DIVISION))

    def _n_zones(self, n_trajectories: float, n_links: int) -> int:
        """Choose the number of zones so that the trips between two stay in proportion to their noise."""
        wanted = round(math.sqrt(n_trajectories / (self.zone_factor * self._error("trips"))))
        fitting = MOST_CHANCES // (len(LOSSES) * max(n_links, 1))
        return max(1, min(wanted, self.max_zones, fitting))

    def _expected_states(self, count: int) -> int:
        """Foresee the number of states, were density even."""
        coarse = self.coarse_size(count) ** 2
        division = self._divisions(np.array([count / coarse]))[0]
        return min(int(coarse * division**2), self.max_states)

    def clean_density(self, noisy: Integers, n_trajectories: float) -> Floats:
        """Judge the density of coarse cells, expecting the same of each; it adds up to the count."""
        total = max(n_trajectories, 1.0)
        even = np.full(len(noisy), total / len(noisy))
        clean = shrink(in_trajectories(noisy), even, self._error("density"))
        return clean * (total / clean.sum()) if clean.sum() > 0 else even

    def ground_of(self, coarse: Grid, visits: Floats, n_trajectories: float) -> Ground:
        """Divide coarse cells by their density, and gather cells in zones."""
        divisions = self._divisions(visits)
        grid = Grid(coarse.region, divisions)
        while grid.n_cells > self.max_states and divisions.max() > 1:
            divisions = np.maximum(np.where(divisions == divisions.max(), divisions // 2, divisions), 1)
            grid = Grid(coarse.region, divisions)
        one_zone = Ground(grid, np.zeros(grid.n_cells, np.int64))
        zone_of = zones(grid, visits, self._n_zones(n_trajectories, one_zone.steps.n_links))
        # A zone in several parts of the region promises ways that there are not: cut it, if zones suffice.
        by_part = np.unique(zone_of * (one_zone.parts.max() + 1) + one_zone.parts, return_inverse=True)[1]
        return Ground(grid, by_part if by_part.max() < self.max_zones else zone_of)

    def _divisions(self, visits: Floats) -> npt.NDArray[np.int32]:
        """Halve coarse cells until the visits of a cell are in proportion to the noise of its moves."""
        per_side = np.sqrt(visits / (self.cell_factor * self._error("moves")))
        # Powers of two, rounded by comparing: no logarithm, which machines may round apart.
        division = np.full(visits.shape, LEAST_DIVISION, np.int32)
        most = min(MOST_DIVISION, math.isqrt(MAX_SLOTS // visits.size))
        while np.any(finer := (per_side >= division * math.sqrt(2)) & (2 * division <= most)):
            division[finer] *= 2
        return division

    def walks(
        self, ground: Ground, density: Floats, weights: Integers, measured: Measured, backend: Backend
    ) -> dict[str, Integers]:
        """Guess what walks go by and close the loop; in integers, so that a file walks alike everywhere."""
        visits, moves, trips, shapes = (in_trajectories(noisy) for noisy in measured)
        guess = first_guess(ground, density.ravel(), moves, trips, self._error("trips"))
        target = Target(
            visits,
            weights,
            moves,
            clean_shapes(shapes, self._error("shapes")),
            self._error("visits"),
            self._error("moves"),
        )
        fitted = close_loop(ground, guess, target, self.rounds, backend)
        guess = fitted.guess
        trips = guess.trips / guess.trips.sum()
        return {
            "walk_trips": np.where(ground.joined, in_weights(trips), 0),
            "walk_starts": in_weights(within_zones(guess.starts, ground)),
            "walk_moves": in_weights(guess.chances / np.maximum(guess.chances.max(), 1.0)),
            "walk_levels": in_weights(fitted.levels),
            "walk_kept": in_weights(fitted.kept),
        }

    def spacing_m(self, region: Region) -> float:
        """Choose the spacing of points; whether it is too small for the region shows when that has meters."""
        least = LEAST_SPACING * region.shorter_side_m
        if self.spacing is not None and self.spacing < least:
            raise SettingsError(
                f"a spacing of {self.spacing:g} is too small for a region of this size; set {least:g} at least"
            )
        return self.spacing or SPACING * region.shorter_side_m


#: What gets the noise of each stage, for plans.
_NOISY = {
    "count": "the total",
    "density": "a coarse cell",
    "visits": "a cell",
    "moves": "a step after another",
    "trips": "a trip from zone to zone",
    "shapes": "a bin of diameter and length",
}

#: The arrays of a model file: name, type, number of axes.
SCHEMA = {
    "count": ("<i8", 1),
    "density": ("<i8", 2),
    "divisions": ("<i4", 2),
    "zones": ("<i4", 1),
    "visits": ("<i8", 1),
    "moves": ("<i8", 1),
    "trips": ("<i8", 2),
    "shapes": ("<i8", 2),
    "walk_trips": ("<i8", 2),
    "walk_starts": ("<i8", 1),
    "walk_moves": ("<i8", 1),
    "walk_levels": ("<i8", 2),
    "walk_kept": ("<i8", 2),
}


@dataclass(frozen=True, eq=False, repr=False)
class BridgeTraceModel(FittedModel):
    """Hold what BridgeTrace released, noisy, in weights of 2**-20 trajectories, and what walks go by."""

    density: Integers  # (K, K): visits per coarse cell
    divisions: npt.NDArray[np.int32]  # (K, K): cells per side of each coarse cell
    zones: npt.NDArray[np.int32]  # (m,): the zone of each cell
    visits: Integers  # (m,): different cells visited
    moves: Integers  # (n_entries,): steps, as in bridges.steps
    trips: Integers  # (n_zones, n_zones): from first to last zone
    shapes: Integers  # (N_BINS, N_BINS): diameter by length
    walk_trips: Integers  # (n_zones, n_zones): what trips are drawn by
    walk_starts: Integers  # (m,): what first cells are drawn by, within a zone
    walk_moves: Integers  # (n_entries,): what steps are drawn by, within a row
    walk_levels: Integers  # (N_CLASSES, n_levels): what the level of a trip is drawn by
    walk_kept: Integers  # (N_BINS, N_BINS): the chance to keep a walk, in 2**-30

    def __post_init__(self) -> None:
        settings = BridgeTrace.of_release(self.release)
        settings.spacing_m(self.release.region)
        size = len(self.divisions)
        check_sound(
            {
                "count": 0 <= self.count <= CLAMP,
                "divisions": self.divisions.shape == (size, size)
                and size > 0
                and bool(np.all((self.divisions >= 1) & (self.divisions <= MOST_DIVISION)))
                and (1 <= size <= MOST_BY_RULE if settings.K is None else size == settings.K),
            }
        )
        grid = self.grid
        zones_used = np.unique(self.zones)
        check_sound(
            {
                "divisions": 0 < grid.n_cells <= settings.max_states,
                "density": self.density.shape == (size, size)
                and within_limits(self.density)
                and not np.delete(self.density, Grid.uniform(self.release.region, size).slots).any(),
                "zones": self.zones.shape == (grid.n_cells,)
                and np.array_equal(zones_used, np.arange(len(zones_used)))
                and len(zones_used) <= settings.max_zones,
            }
        )
        ground, bins = self.ground, (N_BINS, N_BINS)
        pairs, n_entries = (ground.n_zones, ground.n_zones), ground.steps.n_entries
        check_sound(
            {
                "zones": ground.n_zones * len(LOSSES) * ground.steps.n_links <= MOST_CHANCES,
                "visits": self.visits.shape == (grid.n_cells,) and within_limits(self.visits),
                "moves": self.moves.shape == (n_entries,) and within_limits(self.moves),
                "trips": self.trips.shape == pairs and within_limits(self.trips),
                "shapes": self.shapes.shape == bins and within_limits(self.shapes),
                "walk_trips": self.walk_trips.shape == pairs
                and _are_weights(self.walk_trips[ground.joined])
                and not self.walk_trips[~ground.joined].any(),
                "walk_starts": self.walk_starts.shape == (grid.n_cells,) and _are_weights(self.walk_starts),
                "walk_moves": self.walk_moves.shape == (n_entries,) and _are_weights(self.walk_moves),
                "walk_levels": self.walk_levels.shape == (N_CLASSES, len(LOSSES))
                and _are_weights(self.walk_levels),
                "walk_kept": self.walk_kept.shape == bins and _are_weights(self.walk_kept),
            }
        )

    @cached_property
    def grid(self) -> Grid:
        """Build the grid that paths go on."""
        return Grid(self.release.region, self.divisions)

    @cached_property
    def ground(self) -> Ground:
        """Build what follows from grid and zones."""
        return Ground(self.grid, self.zones.astype(np.int64))

    @cached_property
    def bridges(self) -> Bridges:
        """Give what walks go by, worked out here unless it was prepared."""
        return self._bridges(Threads(1))

    def prepare(self, backend: Backend) -> None:
        """Work out what walks go by, once, on the backend."""
        BridgeTraceModel.bridges.made(self, lambda: self._bridges(backend))

    def _bridges(self, backend: Backend) -> Bridges:
        """Find the chances to arrive."""
        ground = self.ground
        chances = normalized(self.walk_moves.astype(np.float64), ground)
        arriving = arrivals(ground.steps, chances, ground.discounts, ground.zone_of, ground.n_zones, backend)
        return Bridges(
            ground,
            self.walk_trips,
            self.walk_starts,
            chances,
            arriving,
            self.walk_levels,
            self.walk_kept / 2.0**30,
        )

    @cached_property
    def _spacing_m(self) -> float:
        return BridgeTrace.of_release(self.release).spacing_m(self.release.region)

    @property
    def longest_walk(self) -> int:
        """Bound the points of a walk: those of a line as long as the last bin of lengths begins."""
        return math.ceil(float(self.ground.edges[-1]) / self._spacing_m)

    def walk(self, trajectories: range, seed: int) -> tuple[Paths, int]:
        """Walk one path of cells for each trajectory number; one that cannot arrive stays where it starts."""
        return self.bridges.walk(trajectories, seed), 0

    def encode(self, part: Trajectories) -> Paths:
        """Turn real trajectories into the cells that their lines pass. NOT PRIVATE."""
        return trace(part, self.grid)

    def place(self, paths: Paths, first: int, seed: int) -> Trajectories:
        """Lead a line through each of the paths, numbered from `first`, and set points on it."""
        return place_on_lines(paths, self.grid, self.ground.sides, self._spacing_m, first, seed)

    def view(self) -> View:
        """Show coarse cells and cells, trips of walks, and moves over sides."""
        release, steps, entries = self.release, self.ground.steps, self.ground.entries
        coarse = Grid.uniform(release.region, len(self.divisions))
        density = Noisy.of("visits", self.density.ravel()[coarse.slots], error_of(release, "density"))
        n_cells, n_links = self.grid.n_cells, steps.n_links
        moves, starting = self.moves, entries.rows >= n_links
        per_cell = round(n_links / n_cells) + 1  # numbers added up for an average cell

        def summed(chosen: npt.NDArray[np.bool_], name: str, n_added: int) -> Noisy:
            values = np.zeros(n_cells, np.int64)
            np.add.at(values, entries.cells[chosen], moves[chosen])
            return Noisy.of(name, values, error_of(release, "moves", n_added))

        numbers = (
            summed(np.ones(len(moves), np.bool_), "visits", round(steps.n_entries / n_cells)),
            summed(starting, "starts", per_cell),
            summed(entries.is_end, "ends", per_cell),
        )
        taken = np.zeros(n_links, np.int64)
        np.add.at(taken, entries.links[~entries.is_end], moves[~entries.is_end])
        clean = _clean_by_cell(taken, steps.links.offsets)
        links = steps.links
        flows = Flows.of(
            1,
            links.sources.astype(np.int64),
            links.targets.astype(np.int64),
            clean,
            error_of(release, "moves", per_cell),
        )
        layers = (Layer("coarse cells", coarse, (density,)), Layer("states", self.grid, numbers))
        return View(layers, self._sampled_trips(0, coarse), SAMPLED, (flows,))

    def summary(self) -> dict[str, Any]:
        """Describe sizes for a reader."""
        return {
            "trajectories": self.n_trajectories,
            "coarse cells per side": len(self.divisions),
            "states": self.grid.n_cells,
            "zones": self.ground.n_zones,
            "steps after another": self.ground.steps.n_entries,
        }


def _are_weights(weights: Integers) -> bool:
    """Tell whether numbers are as `in_weights` makes them."""
    return bool(np.all((weights >= 1) & (weights <= 1 << 30))) and len(weights) > 0


def _clean_by_cell(moves: Integers, offsets: Integers) -> Integers:
    """Clean the noisy moves out of each cell together, by NormCut."""
    sizes = np.diff(offsets)
    rows = np.zeros((len(sizes), int(sizes.max(initial=1))), np.int64)
    cell = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(moves)) - offsets[cell]
    rows[cell, place] = moves
    clean: Integers = normcut(rows)[cell, place]
    return clean
