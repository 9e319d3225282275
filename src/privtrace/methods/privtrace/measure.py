"""Measure moves of first and second order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from privtrace.methods.privtrace import counts
from privtrace.privacy.crossing import Crossing, Table
from privtrace.space.grid import Grid
from privtrace.trajectories import Integers


def measure_first_order(crossing: Crossing, grid: Grid) -> Integers:
    """Count moves between states, start and end included; noisy, in weights, (m + 1, m) as in `counts`."""
    m = grid.n_cells
    statistic = "moves between states, with starts and ends, where every trip contributes a total weight of 1"
    return crossing.measure(
        "Measuring moves from cell to cell",
        lambda runs: counts.first_order(grid.encode(runs), m),
        Table("first order", statistic, (m + 1, m)),
    )


def measure_second_order(crossing: Crossing, grid: Grid, chosen: npt.NDArray[np.int32]) -> Iterator[Integers]:
    """Count moves through chosen states; noisy, in weights, one block (m, m) per chosen state, as in `counts`.

    The chosen states come from earlier releases, so leaving the others unread costs nothing. Blocks are drawn
    one at a time: all together can be larger than memory.
    """
    m = grid.n_cells
    statistic = (
        "moves from chosen states, given the previous state, where every trip contributes a total weight of 1"
    )
    return crossing.measure_blocks(
        "Measuring moves given the previous cell",
        lambda runs: counts.second_order(grid.encode(runs), m, chosen),
        Table("second order", statistic, (len(chosen), m, m)),
    )
