"""Measure visits, steps, trips and shapes of traced paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from privtrace.methods.bridgetrace import counts
from privtrace.methods.bridgetrace.shapes import N_BINS, shape_edges
from privtrace.methods.bridgetrace.steps import Steps
from privtrace.privacy.contributions import Contributions
from privtrace.privacy.crossing import Crossing, Table
from privtrace.space.grid import Grid
from privtrace.space.traverse import trace
from privtrace.trajectories import Integers, Trajectories

_VISITS = "different cells visited, weighted to where few go, with a total weight of one per trajectory"
_MOVES = "steps over a side by the one before, with starts and ends, with a total weight of one per trajectory"
_TRIPS = "trips from first to last zone, one per trajectory"
_SHAPES = "diameter and length in bins, one per trajectory"


class Measurements(NamedTuple):
    """Hold noisy counts, in weights."""

    visits: Integers  # (n_cells,)
    moves: Integers  # (n_entries,), as `Steps` lays them out
    trips: Integers  # (n_zones, n_zones)
    shapes: Integers  # (N_BINS, N_BINS)


def measure_paths(
    crossing: Crossing, grid: Grid, steps: Steps, weights: Integers, zone_of: Integers
) -> Measurements:
    """Trace trajectories and measure what they do in one pass.

    Grid, weights and zones come from earlier releases.
    """
    edges, n_zones = shape_edges(grid.region), int(zone_of.max()) + 1

    def emitted(part: Trajectories) -> Iterator[Contributions]:
        paths = trace(part, grid)
        yield counts.visits(paths, weights)
        yield counts.steps_taken(paths, steps)
        yield counts.trips(paths, zone_of, n_zones)
        yield counts.shapes(part, grid, edges)

    noisy = crossing.measure_together(
        "Measuring visits, steps, trips and shapes",
        emitted,
        Table("visits", _VISITS, (grid.n_cells,)),
        Table("moves", _MOVES, (steps.n_entries,)),
        Table("trips", _TRIPS, (n_zones, n_zones)),
        Table("shapes", _SHAPES, (N_BINS, N_BINS)),
    )
    return Measurements(*noisy)
