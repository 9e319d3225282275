"""Calibrate walks: walk, measure the walks as the data was measured, compare, and adjust the parameters.

What was measured gives each trajectory the same weight, however long it is, and so do the walks when they
are measured: whatever that does to the numbers it does to both. Where they differ by more than noise
explains, chances, starts and trips are multiplied by some of the ratio, and new walks are drawn. Walks that
are all drawn alike would be too short or too long; by how they are drawn (the level of discount) and which
are kept (by shape), their diameters and lengths follow the measured ones. All randomness here is from fixed
seeds, and nothing but noisy numbers comes in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numba import njit

from privtrace.backends.base import Backend
from privtrace.methods.bridgetrace.empirical_bayes import posterior_means, sums
from privtrace.methods.bridgetrace.hitting import hitting_probabilities
from privtrace.methods.bridgetrace.initial import POSSIBLE, WalkParameters, clean_shapes, initialize, normalized
from privtrace.methods.bridgetrace.sampler import Drawn, Sampler
from privtrace.methods.bridgetrace.shapes import N_BINS
from privtrace.methods.bridgetrace.states import N_CLASSES, StateSpace
from privtrace.methods.bridgetrace.steps import step_entries, weight_of
from privtrace.methods.bridgetrace.tuning import LOSSES
from privtrace.methods.common.measure import in_trajectories
from privtrace.paths import Paths
from privtrace.trajectories import Floats, Integers

if TYPE_CHECKING:
    from privtrace.methods.bridgetrace.measure import Measurements
    from privtrace.methods.bridgetrace.settings import BridgeTrace

#: Walks that are measured in a round, at most: a block for each so many trips. One task walks a block.
_WALKS = 8192
_BLOCK = 1024

#: How much of a difference is made up for in a round: of visits and moves, and of trips, which are known well.
_DAMPING, _TRIPS_DAMPING = 0.7, 0.3
_MOST = 10.0  # times as much, or as little

#: Groups of cells, each with a prior of its own for their visits.
_GROUPS = 4

#: Walks drawn for one that is kept, at most where they are as often called for as drawn; and the least chance.
_DRAWN_FOR_ONE = 1.5
_LEAST_KEPT = 0.02

#: Rounds of fitting levels to shapes, and the share of walks drawn at any level, so that all stay known.
_ROUNDS = 60
_EXPLORING = 0.2


@dataclass(frozen=True, eq=False)
class Target:
    """Hold what the walks should come to: noisy numbers, in trajectories, and the errors of their noise."""

    visits: Floats  # (n_cells,)
    weights: Integers  # (n_cells,): by which a path's visits were weighted
    moves: Floats  # (n_entries,)
    shapes: Floats  # (N_BINS, N_BINS): clean, adding up to one
    visits_error: float
    moves_error: float


@dataclass(frozen=True, eq=False)
class Calibration:
    """Hold calibrated parameters, and how walks are drawn and kept by them."""

    parameters: WalkParameters
    levels: Floats  # (N_CLASSES, n_levels): chances, by how far zones are apart
    kept: Floats  # (N_BINS, N_BINS): the chance to keep a walk, by its shape


def calibrate(
    space: StateSpace, parameters: WalkParameters, target: Target, n_rounds: int, backend: Backend
) -> Calibration:
    """Adjust parameters to the target in so many rounds, and fit levels and shapes to the last."""
    drawn_by = np.full((N_CLASSES, len(LOSSES)), 1.0 / len(LOSSES))
    hitting = None
    for turn in range(n_rounds + 1):
        hitting = hitting_probabilities(space, parameters.chances, backend, hitting)
        paths, drawn = _walks(space, parameters, hitting, drawn_by, turn, backend)
        levels, wanted = _fit_shapes(drawn, _class_shares(space, parameters), target.shapes)
        if turn == n_rounds:
            break
        weights = levels[drawn.classes, drawn.levels] / drawn_by[drawn.classes, drawn.levels]
        weights *= np.minimum(wanted, _MOST)[drawn.diameters, drawn.lengths]
        weights *= parameters.trips.sum() / max(float(weights.sum()), 1e-12)
        parameters = _adjusted(space, parameters, target, paths, weights)
        drawn_by = (1 - _EXPLORING) * levels + _EXPLORING / len(LOSSES)
    kept = np.clip(wanted / _DRAWN_FOR_ONE, _LEAST_KEPT, 1.0)
    return Calibration(parameters, levels, np.where(POSSIBLE, kept, _LEAST_KEPT))


def fitted_walks(
    space: StateSpace,
    density: Floats,
    weights: Integers,
    measured: Measurements,
    settings: BridgeTrace,
    backend: Backend,
) -> dict[str, Integers]:
    """Initialize and calibrate walks; in whole weights, so that a file walks alike everywhere."""
    parameters = initialize(
        space,
        density.ravel(),
        in_trajectories(measured.moves),
        in_trajectories(measured.trips),
        settings.error("trips"),
    )
    target = Target(
        visits=in_trajectories(measured.visits),
        weights=weights,
        moves=in_trajectories(measured.moves),
        shapes=clean_shapes(in_trajectories(measured.shapes), settings.error("shapes")),
        visits_error=settings.error("visits"),
        moves_error=settings.error("moves"),
    )
    fitted = calibrate(space, parameters, target, settings.rounds, backend)
    parameters = fitted.parameters
    trips = parameters.trips / parameters.trips.sum()
    return {
        "walk_trips": np.where(space.joined, in_weights(trips), 0),
        "walk_starts": in_weights(within_zones(parameters.starts, space)),
        "walk_moves": in_weights(parameters.chances / np.maximum(parameters.chances.max(), 1.0)),
        "walk_levels": in_weights(fitted.levels),
        "walk_kept": in_weights(fitted.kept),
    }


def in_weights(chances: Floats) -> Integers:
    """Turn chances into whole weights, none of them zero."""
    return np.maximum(np.round(chances * 2.0**30), 1.0).astype(np.int64)


def within_zones(starts: Floats, space: StateSpace) -> Floats:
    """Divide starts by those of their zone."""
    return starts / sums(starts, space.zone_of, space.n_zones)[space.zone_of]


def _walks(
    space: StateSpace,
    parameters: WalkParameters,
    hitting: Floats,
    drawn_by: Floats,
    seed: int,
    backend: Backend,
) -> tuple[Paths, Drawn]:
    """Walk by these parameters, and keep every walk."""
    starts = within_zones(parameters.starts, space)
    sampler = Sampler(
        space,
        trips=np.round(parameters.trips * 2.0**20).astype(np.int64),
        starts=in_weights(starts),
        chances=parameters.chances,
        hitting=hitting,
        levels=in_weights(drawn_by),
        kept=np.ones((N_BINS, N_BINS)),
    )
    n_walks = min(max(round(parameters.trips.sum() / _BLOCK), 1) * _BLOCK, _WALKS)
    blocks = [range(first, first + _BLOCK) for first in range(0, n_walks, _BLOCK)]
    walked = list(backend.map(lambda block: sampler.candidates(block, seed), blocks))
    sizes = np.concatenate([np.diff(paths.offsets) for paths, _ in walked])
    cells = np.concatenate([paths.cells for paths, _ in walked])
    drawn = Drawn(*(np.concatenate(column) for column in zip(*(drawn for _, drawn in walked), strict=True)))
    return Paths(cells, np.concatenate([[0], np.cumsum(sizes)])), drawn


def _class_shares(space: StateSpace, parameters: WalkParameters) -> Floats:
    shares = sums(parameters.trips.ravel(), space.classes.ravel().astype(np.int64), N_CLASSES)
    return shares / max(float(shares.sum()), 1e-12)


def _fit_shapes(drawn: Drawn, class_shares: Floats, shapes: Floats) -> tuple[Floats, Floats]:
    """Find the levels of each class that bring walks nearest to the shapes called for, by maximum likelihood.

    Return their chances, (N_CLASSES, n_levels), and how much oftener than that walks of each shape are called
    for, (N_BINS, N_BINS).
    """
    n_levels, n_shapes = len(LOSSES), N_BINS * N_BINS
    row = drawn.classes.astype(np.int64) * n_levels + drawn.levels
    shape = drawn.diameters.astype(np.int64) * N_BINS + drawn.lengths
    counts = np.bincount(row * n_shapes + shape, minlength=N_CLASSES * n_levels * n_shapes)
    counts = counts.reshape(N_CLASSES * n_levels, n_shapes)
    chances = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    seen = counts.any(axis=0)
    among, wanted = chances[:, seen], shapes.ravel()[seen]
    levels = np.full((N_CLASSES, n_levels), 1.0 / n_levels)
    for _ in range(_ROUNDS):
        made = (class_shares[:, np.newaxis] * levels).ravel() @ among
        levels = levels * (among @ (wanted / (made + 1e-7))).reshape(levels.shape)
        total = levels.sum(axis=1, keepdims=True)
        levels = np.where(total > 0, levels / np.where(total > 0, total, 1.0), 1.0 / n_levels)
    made = ((class_shares[:, np.newaxis] * levels).ravel() @ chances).reshape(N_BINS, N_BINS)
    return levels, (shapes + 1e-5) / (made + 1e-5)


def _adjusted(
    space: StateSpace, parameters: WalkParameters, target: Target, paths: Paths, weights: Floats
) -> WalkParameters:
    """Multiply chances, starts and trips by some of what walks lack or have too much."""
    entries = space.entries
    visits, moves = _measured(paths.cells, paths.offsets, weights, target.weights, space.steps)
    by_visits, of_zones = _visits_ratio(space, target, visits)
    by_moves, by_starts = _moves_ratio(space, parameters, target, moves, weights.sum() / len(weights))
    chances = parameters.chances * (by_moves * by_visits[entries.onto]) ** _DAMPING
    return replace(
        parameters,
        trips=parameters.trips * (np.outer(of_zones, of_zones) ** _TRIPS_DAMPING),
        starts=parameters.starts * (by_starts * by_visits) ** _DAMPING,
        chances=normalized(np.maximum(chances, 1e-9), space),
    )


def _visits_ratio(space: StateSpace, target: Target, visits: Floats) -> tuple[Floats, Floats]:
    """Compare visits, first of coarse cells and then of cells; return the ratios of cells and of zones."""
    expected = visits + 0.02 * np.maximum(visits, 0.05 * visits.mean())
    n_coarse = space.grid.divisions.size
    n_within = np.bincount(space.coarse_of, minlength=n_coarse)
    exists = n_within > 0
    coarse = sums(expected, space.coarse_of, n_coarse)
    estimate_coarse = np.zeros(len(coarse))
    estimate_coarse[exists] = posterior_means(
        sums(target.visits, space.coarse_of, n_coarse)[exists],
        coarse[exists],
        target.visits_error * np.sqrt(n_within[exists]),
        n_groups=_GROUPS,
        noise="normal",
    )
    expected *= np.maximum(estimate_coarse / np.where(exists, coarse, 1.0), 1e-3)[space.coarse_of]
    estimate = posterior_means(target.visits, expected, target.visits_error, n_groups=_GROUPS)
    estimate *= visits.sum() / max(float(estimate.sum()), 1e-12)
    by_zone = (sums(values, space.zone_of, space.n_zones) for values in (estimate, visits + 1e-9))
    of_zones = np.divide(*by_zone)
    return _bounded(estimate / (visits + 1e-3 * visits.mean())), _bounded(of_zones)


def _moves_ratio(
    space: StateSpace, parameters: WalkParameters, target: Target, moves: Floats, weight: float
) -> tuple[Floats, Floats]:
    """Compare moves; return the ratios of the entries of the table, and of starts in each cell.

    Few walks take a rare step. So half a walk is added to each row, which steps as the parameters say.
    """
    rows, n_rows, n_links = space.entries.rows, len(space.steps.cells), space.steps.n_links
    taken = sums(moves, rows, n_rows)
    going = moves + 0.5 * weight * parameters.chances / sums(parameters.chances, rows, n_rows)[rows]
    least = 0.02 * taken[:n_links].mean() if n_links else 0.0
    expected = np.maximum(taken, least + 1e-9)[rows] * going / sums(going, rows, n_rows)[rows]
    expected *= max(float(target.moves.sum()), 1.0) / expected.sum()
    estimate = posterior_means(target.moves, expected, target.moves_error)
    started = sums(estimate, rows, n_rows)[n_links:] / sums(expected, rows, n_rows)[n_links:]
    return _bounded(estimate / expected), _bounded(started)


def _bounded(ratio: Floats) -> Floats:
    return np.clip(ratio, 1 / _MOST, _MOST)


@njit(cache=True, nogil=True)
def _measured(cells, offsets, weights, cell_weights, steps):  # type: ignore[no-untyped-def]
    """Measure walks as the data was: visits and moves, each walk with the total weight that is given."""
    visits, moves = np.zeros(len(cell_weights)), np.zeros(steps.offsets[-1])
    latest = np.full(len(cell_weights), -1, np.int64)
    entries = np.empty(len(cells), np.int64)
    for path in range(len(offsets) - 1):
        first, last = offsets[path], offsets[path + 1]
        step_entries(entries, cells, first, last, steps)
        total = weight_of(cells, first, last, cell_weights, latest, 2 * path)
        for p in range(first, last):
            if latest[cells[p]] == 2 * path:
                latest[cells[p]] = 2 * path + 1
                visits[cells[p]] += weights[path] * cell_weights[cells[p]] / total
            if entries[p] >= 0:
                moves[entries[p]] += weights[path] / (last - first)
    return visits, moves
