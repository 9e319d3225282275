"""Measure visits, steps, trips and shapes of traced paths."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from privtrace.methods.bridgetrace import counts
from privtrace.methods.bridgetrace.states import StateSpace
from privtrace.methods.bridgetrace.steps import Steps
from privtrace.paths import Paths
from privtrace.privacy.contributions import Contributions
from privtrace.privacy.crossing import Crossing, Table
from privtrace.runs import Runs
from privtrace.space.shapes import N_BINS
from privtrace.space.traverse import trace
from privtrace.trajectories import Floats, Integers

_SPREAD = "where every trip contributes a total weight of 1"
_VISITS = f"distinct cells visited, with more weight on rarely visited cells, {_SPREAD}"
_MOVES = f"moves between adjacent cells, given the previous move, with starts and ends, {_SPREAD}"
_TRIPS = "trips from first to last zone, one per trip"
_SHAPES = "diameter and length in bins, one per trip"


class Measurements(NamedTuple):
    """Hold noisy counts, in weights."""

    visits: Integers  # (n_cells,)
    moves: Integers  # (n_entries,), as `Steps` lays them out
    trips: Integers  # (n_zones, n_zones)
    shapes: Integers  # (N_BINS, N_BINS)


def measure_paths(crossing: Crossing, space: StateSpace, weights: Integers) -> Measurements:
    """Trace runs and measure what they do in one pass.

    The state space and the weights of its cells come from earlier releases.
    """
    tables = (
        Table("visits", _VISITS, (space.grid.n_cells,)),
        Table("moves", _MOVES, (space.steps.n_entries,)),
        Table("trips", _TRIPS, (space.n_zones, space.n_zones)),
        Table("shapes", _SHAPES, (N_BINS, N_BINS)),
    )

    def emitted(runs: Runs) -> Iterator[Contributions]:
        paths = trace(runs, space.grid)
        yield counts.visits(paths, weights)
        yield counts.steps_taken(paths, space.steps)
        yield counts.trips(paths, space.zone_of, space.n_zones)
        yield counts.shapes(runs, space.edges)

    noisy = crossing.measure_together("Measuring visits, moves, trips and shapes", emitted, *tables)
    return Measurements(**{table.stage: measured for table, measured in zip(tables, noisy, strict=True)})


def measured_visits(walks: Paths, each: Floats, weights: Integers) -> Floats:
    """Measure visits of walks by the kernel that measures the data; `each` walk has a weight of its own.

    Walks are made from noisy numbers: nothing private comes in, and no noise is needed.
    """
    return counts.weighted(counts.visits(walks, weights), each, len(weights))


def measured_moves(walks: Paths, each: Floats, steps: Steps) -> Floats:
    """Measure moves of walks in the same way."""
    return counts.weighted(counts.steps_taken(walks, steps), each, steps.n_entries)
