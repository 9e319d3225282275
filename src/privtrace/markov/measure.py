"""Measure moves: of first and second order, and to neighbors. A crossing: exact counts in, noisy ones out."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from privtrace.backends.scan import Scan
from privtrace.counts import Counts
from privtrace.markov.counts import first_order_counts, neighbor_counts, second_order_counts
from privtrace.privacy.ledger import Ledger
from privtrace.space.grid import Grid
from privtrace.space.ways import Ways, fill
from privtrace.trajectories import Integers


def measure_first_order(scan: Scan, grid: Grid, ledger: Ledger, epsilon: Fraction) -> Integers:
    """Count moves between states, start and end included; noisy, in weights, (m + 1, m) as in `counts`."""
    m = grid.n_cells
    counts = Counts.total(
        scan.map(lambda part: first_order_counts(grid.encode(part), m), "Measuring moves from cell to cell")
    )
    return ledger.laplace(
        counts.dense(0, (m + 1) * m).reshape(m + 1, m),
        stage="first order",
        statistic="moves between states with start and end, each trajectory weighing one in all",
        sensitivity=ledger.unit.sensitivity,
        epsilon=epsilon,
    )


def measure_second_order(
    scan: Scan, grid: Grid, chosen: npt.NDArray[np.int32], ledger: Ledger, epsilon: Fraction
) -> Iterator[Integers]:
    """Count moves through chosen states; noisy, in weights, a block (m, m) a chosen state as in `counts`.

    The chosen states come from earlier releases, so leaving the others unread costs nothing. Blocks are drawn
    one at a time: all together can be larger than memory.
    """
    m = grid.n_cells
    counts = Counts.total(
        scan.map(
            lambda part: second_order_counts(grid.encode(part), m, chosen),
            "Measuring moves that remember the cell before",
        )
    )
    blocks = (counts.dense(b * m * m, (b + 1) * m * m).reshape(m, m) for b in range(len(chosen)))
    return ledger.laplace_blocks(
        blocks,
        stage="second order",
        statistic="moves through chosen states with the state before, each trajectory weighing one in all",
        sensitivity=ledger.unit.sensitivity,
        epsilon=epsilon,
    )


def measure_transitions(scan: Scan, grid: Grid, ways: Ways, ledger: Ledger, epsilon: Fraction) -> Integers:
    """Count moves from each cell to its neighbors; noisy, in weights, (m, 8) as in `counts`."""
    counts = scan.total(
        lambda part: neighbor_counts(fill(grid.encode(part), ways), ways),
        "Measuring moves from cell to neighboring cell",
        ways.neighbors.shape,
    )
    return ledger.laplace(
        counts,
        stage="transitions",
        statistic="moves between neighboring cells, each trajectory weighing one in all",
        sensitivity=ledger.unit.sensitivity,
        epsilon=epsilon,
    )
