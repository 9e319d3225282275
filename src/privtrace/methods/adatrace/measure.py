"""Measure paths from neighbor to neighbor: their moves, their trips, and how long these are."""

from __future__ import annotations

from privtrace.methods.adatrace import counts
from privtrace.methods.common.counts import trips
from privtrace.privacy.crossing import Crossing, Table
from privtrace.space.grid import Grid
from privtrace.space.shortest_paths import ShortestPaths, connect, graph_distances
from privtrace.trajectories import Integers


def measure_transitions(crossing: Crossing, grid: Grid, shortest: ShortestPaths) -> Integers:
    """Count moves from each cell to its neighbors; noisy, in weights, (m, 8) as in `counts`."""
    statistic = "moves between neighboring cells, where every trip contributes a total weight of 1"
    return crossing.measure(
        "Measuring moves between neighboring cells",
        lambda runs: counts.to_neighbors(connect(grid.encode(runs), shortest), shortest),
        Table("transitions", statistic, shortest.neighbors.shape),
    )


def measure_trips(crossing: Crossing, grid: Grid, shortest: ShortestPaths) -> Integers:
    """Count trips from each cell to each; noisy, in weights, (m, m)."""
    m = grid.n_cells
    return crossing.measure(
        "Measuring trips",
        lambda runs: trips(connect(grid.encode(runs), shortest), m),
        Table("trips", "trips from first to last cell, one per trip", (m, m)),
    )


def measure_lengths(crossing: Crossing, grid: Grid, shortest: ShortestPaths, max_extra: int) -> Integers:
    """Count the extra cells of trips, by the distance of their ends; noisy, in weights, as in `counts`.

    Trips as far apart are counted together before the noise: a histogram for each pair of cells would be
    nothing but noise.
    """
    distances = graph_distances(shortest)
    statistic = "extra cells of a trip, given the number of steps between its ends, one per trip"
    return crossing.measure(
        "Measuring detours",
        lambda runs: counts.lengths(connect(grid.encode(runs), shortest), distances, max_extra),
        Table("lengths", statistic, (int(distances.max()) + 1, max_extra + 1)),
    )
