"""Choose the grid by its noisy density, and the states that deserve a second order. Post-processing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privtrace.methods.common.measure import in_trajectories
from privtrace.methods.common.normcut import normcut
from privtrace.privacy.unit import WEIGHT
from privtrace.space.adaptive import refine, refine_to
from privtrace.space.grid import Grid
from privtrace.trajectories import Integers

if TYPE_CHECKING:
    from privtrace.methods.privtrace.settings import PrivTrace


def refined(coarse: Grid, density: Integers, n_trajectories: float, settings: PrivTrace) -> Grid:
    """Divide dense coarse cells."""
    if not settings.second_layer:
        return coarse
    visits = coarse.spread(in_trajectories(density))
    per_cell = settings.density_of_fine_cells(len(coarse.divisions))
    if per_cell is None:
        return refine_to(coarse, visits, settings.target_states(n_trajectories))
    return refine(coarse, visits, per_cell, settings.max_states)


def second_order_states(moves: Integers, settings: PrivTrace) -> npt.NDArray[np.int32]:
    """Select the model of each state."""
    n_states = moves.shape[1]
    if settings.order != "adaptive":
        return np.arange(n_states if settings.order == 2 else 0, dtype=np.int32)
    theta1 = settings.least_moves(n_states) * WEIGHT
    return states_worth_second_order(normcut(moves[:n_states]), theta1, settings.theta2)


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
