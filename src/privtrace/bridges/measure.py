"""Measure visits, steps, trips and shapes of traced paths. A crossing: exact counts in, noisy ones out."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from privtrace.backends.scan import Scan
from privtrace.bridges.counts import shape_counts, step_counts, trip_counts, visit_counts
from privtrace.bridges.shapes import N_BINS, shape_edges
from privtrace.bridges.steps import Steps
from privtrace.privacy.ledger import Ledger
from privtrace.space.grid import Grid
from privtrace.space.trace import trace
from privtrace.trajectories import Integers, Trajectories

#: What each stage counts, in their order.
STATISTICS = {
    "visits": "different cells visited, weighted to where few go, each trajectory weighing one in all",
    "moves": "steps over a side by the one before, with starts and ends, each trajectory weighing one in all",
    "trips": "trips from first to last zone, one a trajectory",
    "shapes": "diameter and length in bins, one a trajectory",
}


class Measured(NamedTuple):
    """Hold noisy counts, in weights."""

    visits: Integers  # (n_cells,)
    moves: Integers  # (n_entries,), as `bridges.steps` lays them out
    trips: Integers  # (n_zones, n_zones)
    shapes: Integers  # (N_BINS, N_BINS)


def measure_paths(
    scan: Scan,
    grid: Grid,
    steps: Steps,
    weights: Integers,
    zone_of: Integers,
    ledger: Ledger,
    spend: Mapping[str, Fraction],
) -> Measured:
    """Trace trajectories and count what they do in one pass; noise and charge come one statistic at a time.

    Grid, weights and zones come from earlier releases, so each of the counts changes by a weight at most.
    """
    edges, n_zones = shape_edges(grid.region), int(zone_of.max()) + 1

    def counts(part: Trajectories) -> tuple[Integers, ...]:
        paths = trace(part, grid)
        return (
            visit_counts(paths, weights),
            step_counts(paths, steps),
            trip_counts(paths, zone_of, n_zones),
            shape_counts(part, grid, edges),
        )

    shapes = (grid.n_cells, steps.n_entries, (n_zones, n_zones), (N_BINS, N_BINS))
    totals = [np.zeros(shape, np.int64) for shape in shapes]
    for part in scan.map(counts, "Measuring visits, steps, trips and shapes"):
        for total, more in zip(totals, part, strict=True):
            total += more
    return Measured(
        *(
            ledger.laplace(
                total,
                stage=stage,
                statistic=statistic,
                sensitivity=ledger.unit.sensitivity,
                epsilon=spend[stage],
            )
            for total, (stage, statistic) in zip(totals, STATISTICS.items(), strict=True)
        )
    )
