"""Hold what BridgeTrace released, and walk between zones on it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from privtrace.backends.base import Backend
from privtrace.backends.local import Threads
from privtrace.caching import cached_property
from privtrace.methods.bridgetrace.hitting import hitting_probabilities
from privtrace.methods.bridgetrace.initial import clean_density, normalized
from privtrace.methods.bridgetrace.measure import measured_visits
from privtrace.methods.bridgetrace.polyline import Placing, place_on_lines
from privtrace.methods.bridgetrace.sampler import CERTAIN, Sampler
from privtrace.methods.bridgetrace.settings import MOST_BY_RULE, MOST_DIVISION, MOST_HITTING, BridgeTrace
from privtrace.methods.bridgetrace.states import N_CLASSES, StateSpace
from privtrace.methods.bridgetrace.tuning import LOSSES
from privtrace.methods.common.normcut import normcut
from privtrace.methods.model import Model
from privtrace.methods.view import Flows, Layer, Noisy, Trips, View, error_of
from privtrace.paths import Paths
from privtrace.privacy.unit import WEIGHT
from privtrace.runs import Runs
from privtrace.soundness import check_sound, within_limits
from privtrace.space.grid import Grid
from privtrace.space.shapes import N_BINS
from privtrace.space.traverse import trace
from privtrace.timing.draw import Placed
from privtrace.timing.lines import spaced
from privtrace.trajectories import Floats, Integers, Trajectories

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
class BridgeTraceModel(Model):
    """Hold what BridgeTrace released, noisy, in weights of 2**-20 trajectories, and the parameters of walks."""

    density: Integers  # (K, K): visits per coarse cell
    divisions: npt.NDArray[np.int32]  # (K, K): cells per side of each coarse cell
    zones: npt.NDArray[np.int32]  # (m,): the zone of each cell
    visits: Integers  # (m,): different cells visited
    moves: Integers  # (n_entries,): steps, as `Steps` lays them out
    trips: Integers  # (n_zones, n_zones): from first to last zone
    shapes: Integers  # (N_BINS, N_BINS): diameter by length
    walk_trips: Integers  # (n_zones, n_zones): what trips are drawn by
    walk_starts: Integers  # (m,): what first cells are drawn by, within a zone
    walk_moves: Integers  # (n_entries,): what steps are drawn by, within a row
    walk_levels: Integers  # (N_CLASSES, n_levels): what the level of a trip is drawn by
    walk_kept: Integers  # (N_BINS, N_BINS): the chance to keep a walk, in 2**-30

    def __post_init__(self) -> None:
        super().__post_init__()
        settings = self.settings
        settings.spacing_m(self.release.region)
        size = len(self.divisions)
        check_sound(
            {
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
        space, bins = self.space, (N_BINS, N_BINS)
        pairs, n_entries = (space.n_zones, space.n_zones), space.steps.n_entries
        check_sound(
            {
                "zones": space.n_zones * len(LOSSES) * space.steps.n_links <= MOST_HITTING,
                "visits": self.visits.shape == (grid.n_cells,) and within_limits(self.visits),
                "moves": self.moves.shape == (n_entries,) and within_limits(self.moves),
                "trips": self.trips.shape == pairs and within_limits(self.trips),
                "shapes": self.shapes.shape == bins and within_limits(self.shapes),
                "walk_trips": self.walk_trips.shape == pairs
                and _are_weights(self.walk_trips[space.joined])
                and not self.walk_trips[~space.joined].any(),
                "walk_starts": self.walk_starts.shape == (grid.n_cells,) and _are_weights(self.walk_starts),
                "walk_moves": self.walk_moves.shape == (n_entries,) and _are_weights(self.walk_moves),
                "walk_levels": self.walk_levels.shape == (N_CLASSES, len(LOSSES))
                and _are_weights(self.walk_levels),
                "walk_kept": self.walk_kept.shape == bins and _are_weights(self.walk_kept),
            }
        )

    @cached_property
    def settings(self) -> BridgeTrace:
        """Read the settings of the release."""
        return BridgeTrace.of_release(self.release)

    @cached_property
    def grid(self) -> Grid:
        """Build the grid that paths go on."""
        return Grid(self.release.region, self.divisions)

    @cached_property
    def space(self) -> StateSpace:
        """Build the state space of walks."""
        return StateSpace(self.grid, self.zones.astype(np.int64))

    @cached_property
    def sampler(self) -> Sampler:
        """Give what draws walks, worked out here unless it was prepared."""
        return self._sampler(Threads(1))

    def prepare(self, backend: Backend) -> None:
        """Work out what draws walks, once, on the backend."""
        BridgeTraceModel.sampler.made(self, lambda: self._sampler(backend))

    def _sampler(self, backend: Backend) -> Sampler:
        """Solve for hitting probabilities."""
        space = self.space
        chances = normalized(self.walk_moves.astype(np.float64), space)
        return Sampler(
            space,
            trips=self.walk_trips,
            starts=self.walk_starts,
            chances=chances,
            hitting=hitting_probabilities(space, chances, backend),
            levels=self.walk_levels,
            kept=self.walk_kept / CERTAIN,
            placing=self._placing,
        )

    @cached_property
    def _placing(self) -> Placing:
        return self.settings.placing(self.release.region, self.timing)

    @property
    def longest_walk(self) -> int:
        """Bound the points of a walk: those of a line as long as the last bin of lengths begins."""
        if self.timing is not None:
            return self.timing.most_points
        return math.ceil(float(self.space.edges[-1]) / self._placing.spacing_m)

    def walk(self, trajectories: range, seed: int) -> tuple[Paths, int]:
        """Walk one path of cells for each trajectory number; one that cannot arrive stays where it starts."""
        return self.sampler.walk(trajectories, seed), 0

    def sample_points(self, trajectories: range, seed: int) -> tuple[Placed, int]:
        """Make the points of these trajectories: as by `walk` and `place`, but each line is drawn once."""
        return self.sampler.sample(trajectories, seed), 0

    def encode(self, runs: Runs) -> Paths:
        """Turn real runs into the cells that their lines pass. NOT PRIVATE."""
        return trace(runs, self.grid)

    def place(self, paths: Paths, first: int, seed: int) -> Trajectories:
        """Lead a line through each of the paths, numbered from `first`, and set points on it."""
        return self.reported(
            place_on_lines(paths, self.space.geometry, self._placing, first, seed), first, seed
        )

    def made(self, paths: Paths, first: int, seed: int) -> Trajectories:
        """Make trajectories of paths, numbered from `first`: lines have their points already."""
        return self.place(paths, first, seed)

    def on_lines(self, lines: Trajectories, first: int, seed: int) -> Trajectories:
        """Set points on lines that are given, numbered from `first`, as on those of walks."""
        if self.timing is not None:
            return super().on_lines(lines, first, seed)
        region, spacing_m = self.release.region, self._placing.spacing_m
        return self.reported(spaced(lines, region, spacing_m, first, seed), first, seed)

    def view(self) -> View:
        """Show coarse cells and cells, and moves over sides."""
        release, steps, entries = self.release, self.space.steps, self.space.entries
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
            Noisy.of("visits", self.visits, error_of(release, "visits")),
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
        states = Layer("states", self.grid, numbers, self._visits_of)
        between_zones = Noisy.of("trips", self.trips.ravel(), error_of(release, "trips"))
        trips = Trips(1, self.space.zone_of, between_zones)
        return View((Layer("coarse cells", coarse, (density,)), states), 0, (flows,), trips)

    def _visits_of(self, runs: Runs) -> Floats:
        """Count visits of synthetic trips as those of real ones were measured."""
        return measured_visits(self.encode(runs), np.ones(len(runs)), self._visit_weights)

    @cached_property
    def _visit_weights(self) -> Integers:
        """Give the weights with which visits were measured, which follow from the density."""
        release, settings = self.release, self.settings
        coarse = Grid.uniform(release.region, len(self.divisions))
        noisy, count = self.density.ravel()[coarse.slots], self.count / WEIGHT
        density = clean_density(noisy, count, settings.error("density"), settings.tuning)
        return self.space.visit_weights(coarse.spread(density), settings.tuning)

    def summary(self) -> dict[str, Any]:
        """Describe sizes for a reader."""
        return {
            "trajectories": self.n_trajectories,
            "coarse cells per side": len(self.divisions),
            "states": self.grid.n_cells,
            "zones": self.space.n_zones,
            "moves given the previous one": self.space.steps.n_entries,
        }


def _are_weights(weights: Integers) -> bool:
    """Tell whether numbers are as `in_weights` makes them."""
    return bool(np.all((weights >= 1) & (weights <= CERTAIN))) and len(weights) > 0


def _clean_by_cell(moves: Integers, offsets: Integers) -> Integers:
    """Clean the noisy moves out of each cell together, by NormCut."""
    sizes = np.diff(offsets)
    rows = np.zeros((len(sizes), int(sizes.max(initial=1))), np.int64)
    cell = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(moves)) - offsets[cell]
    rows[cell, place] = moves
    clean: Integers = normcut(rows)[cell, place]
    return clean
