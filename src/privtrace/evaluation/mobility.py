"""What mobility analysts look at: trips between zones, visits, transitions, gyration, turns, prediction.

Both sets are clipped to the region before. All but the prediction are divergences of shares, or ranks, so the
sizes of the sets do not matter.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privtrace.evaluation.compare import (
    category_error,
    distribution_error,
    divergence,
    histogram,
    ndcg,
    ragged_histogram,
)
from privtrace.evaluation.frame import Clipped, Frame
from privtrace.evaluation.metric import LN2, Metric, Profile
from privtrace.evaluation.patterns import pair_counts
from privtrace.evaluation.squares import Trips, paths_on, trips_on
from privtrace.evaluation.traits import Binned, Traits
from privtrace.geometry import gyrations_m, turn_bins
from privtrace.paths import Paths
from privtrace.trajectories import Floats, Integers

ZONES_PER_SIDE = 8
CELLS_PER_SIDE = 20
TOP = 50
N_BINS = 50
N_TURN_BINS = 36  # of 10 degrees


@dataclass(frozen=True, eq=False)
class MobilityTraits(Traits):
    """Hold what the mobility metrics look at."""

    trips: Trips  # (n,): first and last of 8 x 8 zones, as one number
    paths: Paths  # on 20 x 20 cells
    gyration_m: Floats  # (n,)
    straightness: Floats  # (n,): NaN for one that does not move
    turns: Binned  # changes of direction


def measuring(frame: Frame) -> Callable[[Clipped], MobilityTraits]:
    """Return what measures the traits of a clipped part."""

    def measure(runs: Clipped) -> MobilityTraits:
        with np.errstate(invalid="ignore"):
            straightness = runs.apart_m / runs.length_m
        return MobilityTraits.of(
            runs,
            trips=trips_on(runs, frame, ZONES_PER_SIDE),
            paths=runs.once("paths", lambda: paths_on(runs, frame, CELLS_PER_SIDE)),
            gyration_m=gyrations_m(runs.points, runs.offsets),
            straightness=straightness,
            turns=Binned(*turn_bins(runs.points, runs.offsets, N_TURN_BINS)),
        )

    return measure


def od(real: MobilityTraits, synthetic: MobilityTraits) -> float:
    """Compare origins and destinations on 8 x 8 zones, by Jensen-Shannon divergence.

    The zones of the first and the last point, as pairs. Natural logarithm: from 0 (the same) to ln 2 = 0.693.
    """
    return category_error((real.trips, real.weights), (synthetic.trips, synthetic.weights), ZONES_PER_SIDE**4)


def visits(real: MobilityTraits, synthetic: MobilityTraits) -> float:
    """Compare visits to 20 x 20 cells, by Jensen-Shannon divergence.

    Consecutive points in one cell are one visit. Natural logarithm: from 0 (the same) to ln 2 = 0.693.
    """
    return divergence(_visits(real), _visits(synthetic))


def visits_ndcg(real: MobilityTraits, synthetic: MobilityTraits) -> float:
    """Compare the 50 most visited of 20 x 20 cells, by normalized discounted cumulative gain.

    Cells in the order of synthetic visits gain their real visits, each place less than the one before by the
    logarithm; over the gain in the real order. From 0 to 1, and 1 is best. Ties share their places' gain.
    """
    return ndcg(_visits(real), _visits(synthetic), TOP)


def _visits(given: MobilityTraits) -> Integers:
    counts: Integers = ragged_histogram(
        given.paths.cells, given.paths.offsets, given.weights, CELLS_PER_SIDE**2
    )
    return counts


def transition(real: MobilityTraits, synthetic: MobilityTraits) -> float:
    """Compare transitions between 20 x 20 cells, by Jensen-Shannon divergence.

    Which cell is visited after which, as pairs in this order, each as often as it occurs; consecutive points in
    one cell are one visit, so no cell follows itself. Natural logarithm: from 0 (the same) to ln 2 = 0.693.
    """
    return divergence(_moves(real), _moves(synthetic))


def gyration(real: MobilityTraits, synthetic: MobilityTraits) -> float:
    """Compare the distributions of the radius of gyration, by Jensen-Shannon divergence.

    The root mean square distance of a trajectory's points from their mean, in meters. 50 equal bins from 0 to
    the real maximum, larger ones in the last. Natural logarithm: from 0 (the same) to ln 2 = 0.693.
    """
    return distribution_error(
        (real.gyration_m, real.weights), (synthetic.gyration_m, synthetic.weights), N_BINS
    )


def straightness(real: MobilityTraits, synthetic: MobilityTraits) -> float:
    """Compare the distributions of straightness, by Jensen-Shannon divergence.

    The distance from the first point to the last over the length, from 0 (a round trip) to 1 (a straight line),
    in 50 equal bins; trajectories that do not move are left out. Natural logarithm: from 0 to ln 2 = 0.693.
    """
    counts = []
    for given in (real, synthetic):
        moves = ~np.isnan(given.straightness)
        counts.append(histogram(given.straightness[moves], given.weights[moves], N_BINS, 0.0, 1.0))
    return divergence(*counts)


def turning(real: MobilityTraits, synthetic: MobilityTraits) -> float:
    """Compare turning angles, by Jensen-Shannon divergence.

    The change of direction from each move to the next, in bins of 10 degrees with straight on in the middle of
    one; points where the one before was are skipped. Natural logarithm: from 0 (the same) to ln 2 = 0.693.
    """
    return divergence(
        *(ragged_histogram(x.turns.bins, x.turns.offsets, x.weights, N_TURN_BINS) for x in (real, synthetic))
    )


def next_cell(real: MobilityTraits, synthetic: MobilityTraits) -> float:
    """Tell how much accuracy next-cell prediction loses by learning from synthetic data.

    The cell that most often follows a cell of 20 x 20 (the first on a tie) is foretold for the moves of one
    random half of the real trajectories. The share foretold rightly by what the other half teaches, minus that
    by what as many synthetic trajectories teach: from -1 to 1, 0 is as good, below 0 is better. The real data
    itself, which has seen the test, gets below 0. Not defined where the half has no moves.
    """
    taught, tested = real.halves()
    moves, by_real, by_synthetic = (_moves(given) for given in (tested, taught, synthetic.drawn(taught.size)))
    n_moves = int(moves.sum())
    return (_foretold(moves, by_real) - _foretold(moves, by_synthetic)) / n_moves if n_moves else math.nan


def _moves(given: MobilityTraits) -> Integers:
    return pair_counts(given.paths, given.weights, CELLS_PER_SIDE**2)


def _foretold(moves: Integers, taught: Integers) -> int:
    """Count the moves to the most frequent successor that was taught; from cells never left, none are."""
    foretold = moves[np.arange(len(moves)), taught.argmax(axis=1)]
    return int(foretold[taught.any(axis=1)].sum())


PROFILE = Profile(
    "mobility",
    measuring,
    (
        Metric("od", od, "origins and destinations by zone, JSD", high=LN2),
        Metric("visits", visits, "visits to cells, JSD", high=LN2),
        Metric("visits_ndcg", visits_ndcg, "most visited cells, NDCG", 1.0, high=1.0),
        Metric("transition", transition, "moves from cell to cell, JSD", high=LN2),
        Metric("gyration", gyration, "radius of gyration, JSD", high=LN2),
        Metric("straightness", straightness, "straightness, JSD", high=LN2),
        Metric("turning", turning, "turning angles, JSD", high=LN2),
        Metric("next_cell", next_cell, "next-cell prediction, loss of accuracy", low=-1.0, high=1.0),
    ),
)
