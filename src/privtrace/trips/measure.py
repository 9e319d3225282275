"""Measure trips and their lengths. A crossing: exact counts come in, noisy ones go out."""

from __future__ import annotations

from fractions import Fraction

from privtrace.backends.scan import Scan
from privtrace.privacy.ledger import Ledger
from privtrace.space.grid import Grid
from privtrace.space.ways import Ways, fill, steps_between
from privtrace.trajectories import Integers
from privtrace.trips.counts import length_counts, trip_counts


def measure_trips(scan: Scan, grid: Grid, ways: Ways, ledger: Ledger, epsilon: Fraction) -> Integers:
    """Count trips from each cell to each; noisy, in weights, (m, m)."""
    m = grid.n_cells
    counts = scan.total(lambda part: trip_counts(fill(grid.encode(part), ways), m), "Measuring trips", (m, m))
    return ledger.laplace(
        counts,
        stage="trips",
        statistic="trips from first to last cell, one a trajectory",
        sensitivity=ledger.unit.sensitivity,
        epsilon=epsilon,
    )


def measure_lengths(
    scan: Scan, grid: Grid, ways: Ways, max_extra: int, ledger: Ledger, epsilon: Fraction
) -> Integers:
    """Count the extra cells of trips, by the steps between their ends; noisy, in weights, as in `counts`.

    Trips as far apart are counted together before the noise: a histogram for each pair of cells would be
    nothing but noise.
    """
    steps = steps_between(ways)
    counts = scan.total(
        lambda part: length_counts(fill(grid.encode(part), ways), steps, max_extra),
        "Measuring how much longer than needed trips are",
        (int(steps.max()) + 1, max_extra + 1),
    )
    return ledger.laplace(
        counts,
        stage="lengths",
        statistic="extra cells of trips by the steps between their ends, one a trajectory",
        sensitivity=ledger.unit.sensitivity,
        epsilon=epsilon,
    )
