"""Judge from noisy first-order moves which states deserve a second order. Post-processing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privtrace.trajectories import Integers


def states_worth_second_order(moves: Integers, theta1: float, theta2: float) -> npt.NDArray[np.int32]:
    """Choose states whose moves are many and have no dominant successor.

    `moves` (m, m) are a state's clean noisy moves in weights, its end included. A state stays first order if
    its moves sum to less than theta1 (noise would drown its second order), or if its largest is at least theta2
    times its second largest (memory would not change the guess).
    """
    totals = moves.sum(axis=1)
    largest = np.sort(moves, axis=1)[:, -2:] if moves.shape[1] > 1 else np.pad(moves, ((0, 0), (1, 0)))
    dominated = largest[:, 1] >= theta2 * largest[:, 0]
    return np.flatnonzero((totals >= theta1) & ~dominated).astype(np.int32)
