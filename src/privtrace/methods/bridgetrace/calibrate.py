"""Calibrate walks: walk, measure the walks as the data was measured, compare, and adjust the parameters.

What was measured gives each trajectory the same weight, however long it is, and the same kernels measure the
walks: whatever that does to the numbers it does to both. Where they differ by more than noise
explains, chances, starts and trips are multiplied by some of the ratio, and new walks are drawn. Walks that
are all drawn alike would be too short or too long; by how they are drawn (the level of discount) and which
are kept (by shape), their diameters and lengths follow the measured ones. All randomness here is from fixed
seeds, and nothing but noisy numbers comes in.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from privtrace.backends.base import Backend
from privtrace.empirical_bayes import posterior_means, sums
from privtrace.methods.bridgetrace.hitting import hitting_probabilities
from privtrace.methods.bridgetrace.initial import POSSIBLE, WalkParameters, clean_shapes, initialize, normalized
from privtrace.methods.bridgetrace.measure import Measurements, measured_moves, measured_visits
from privtrace.methods.bridgetrace.polyline import Placing
from privtrace.methods.bridgetrace.sampler import CERTAIN, Drawn, Sampler
from privtrace.methods.bridgetrace.states import N_CLASSES, StateSpace
from privtrace.methods.bridgetrace.tuning import LOSSES, POSITIVE, TINY, Tuning
from privtrace.methods.common.measure import in_trajectories
from privtrace.paths import Paths
from privtrace.privacy.unit import WEIGHT
from privtrace.space.shapes import N_BINS
from privtrace.trajectories import Floats, Integers

if TYPE_CHECKING:
    from privtrace.methods.bridgetrace.settings import BridgeTrace


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
    space: StateSpace,
    parameters: WalkParameters,
    target: Target,
    n_rounds: int,
    tuning: Tuning,
    placing: Placing,
    backend: Backend,
) -> Calibration:
    """Adjust parameters to the target in so many rounds, and fit levels and shapes to the last."""
    drawn_by = np.full((N_CLASSES, len(LOSSES)), 1.0 / len(LOSSES))
    for turn in range(n_rounds + 1):
        # Nobody holds the sampler: its hitting probabilities go before there are new ones.
        paths, drawn = _walks(
            _sampler(space, parameters, drawn_by, placing, backend),
            _n_walks(parameters, tuning),
            turn,
            tuning,
            backend,
        )
        levels, wanted = _fit_shapes(drawn, _class_shares(space, parameters), target.shapes, tuning)
        if turn == n_rounds:
            break
        weights = levels[drawn.classes, drawn.levels] / drawn_by[drawn.classes, drawn.levels]
        weights *= np.minimum(wanted, tuning.most_wanted)[drawn.diameters, drawn.lengths]
        # Every class has a level that some of its walks were drawn at, so their sum is not zero.
        weights *= parameters.trips.sum() / weights.sum()
        parameters = _adjusted(space, parameters, target, tuning, paths, weights, backend)
        drawn_by = (1 - tuning.exploring) * levels + tuning.exploring / len(LOSSES)
    kept = np.clip(wanted / tuning.draws_for_one, tuning.least_kept, 1.0)
    return Calibration(parameters, levels, np.where(POSSIBLE, kept, tuning.least_kept))


def fitted_walks(
    space: StateSpace,
    density: Floats,
    weights: Integers,
    measured: Measurements,
    settings: BridgeTrace,
    placing: Placing,
    backend: Backend,
) -> dict[str, Integers]:
    """Initialize and calibrate walks; in whole weights, so that a file walks alike everywhere."""
    tuning, moves, trips = settings.tuning, in_trajectories(measured.moves), in_trajectories(measured.trips)
    parameters = initialize(space, density.ravel(), moves, trips, settings.error("trips"), tuning)
    target = Target(
        visits=in_trajectories(measured.visits),
        weights=weights,
        moves=moves,
        shapes=clean_shapes(in_trajectories(measured.shapes), settings.error("shapes"), tuning),
        visits_error=settings.error("visits"),
        moves_error=settings.error("moves"),
    )
    fitted = calibrate(space, parameters, target, settings.rounds, tuning, placing, backend)
    parameters = fitted.parameters
    chances = parameters.trips / parameters.trips.sum()
    return {
        "walk_trips": np.where(space.joined, in_weights(chances), 0),
        "walk_starts": in_weights(within_zones(parameters.starts, space)),
        "walk_moves": in_weights(parameters.chances / np.maximum(parameters.chances.max(), 1.0)),
        "walk_levels": in_weights(fitted.levels),
        "walk_kept": in_weights(fitted.kept),
    }


def in_weights(chances: Floats) -> Integers:
    """Turn chances into whole weights, none of them zero."""
    return np.maximum(np.round(chances * CERTAIN), 1.0).astype(np.int64)


def within_zones(starts: Floats, space: StateSpace) -> Floats:
    """Divide starts by those of their zone."""
    return starts / sums(starts, space.zone_of, space.n_zones)[space.zone_of]


def _sampler(
    space: StateSpace, parameters: WalkParameters, drawn_by: Floats, placing: Placing, backend: Backend
) -> Sampler:
    """Draw walks by these parameters, at levels drawn by these chances."""
    return Sampler(
        space,
        trips=np.round(parameters.trips * WEIGHT).astype(np.int64),
        starts=in_weights(within_zones(parameters.starts, space)),
        chances=parameters.chances,
        hitting=hitting_probabilities(space, parameters.chances, backend),
        levels=in_weights(drawn_by),
        kept=np.ones((N_BINS, N_BINS)),
        placing=placing,
    )


def _n_walks(parameters: WalkParameters, tuning: Tuning) -> int:
    """Choose how many walks a round has: about as many as trips, in whole blocks."""
    n_blocks = max(round(float(parameters.trips.sum()) / tuning.walks_per_block), 1)
    return min(n_blocks * tuning.walks_per_block, tuning.walks)


def _walks(sampler: Sampler, n_walks: int, seed: int, tuning: Tuning, backend: Backend) -> tuple[Paths, Drawn]:
    """Walk, and keep every walk."""
    size = tuning.walks_per_block
    blocks = [range(first, first + size) for first in range(0, n_walks, size)]
    walked = list(backend.map(lambda block: sampler.candidates(block, seed), blocks))
    sizes = np.concatenate([np.diff(paths.offsets) for paths, _ in walked])
    cells = np.concatenate([paths.cells for paths, _ in walked])
    drawn = Drawn(*(np.concatenate(column) for column in zip(*(drawn for _, drawn in walked), strict=True)))
    return Paths(cells, np.concatenate([[0], np.cumsum(sizes)])), drawn


def _class_shares(space: StateSpace, parameters: WalkParameters) -> Floats:
    """Find the share of trips of each class of distance; there are trips, at least within zones."""
    trips = sums(parameters.trips.ravel(), space.classes.ravel().astype(np.int64), N_CLASSES)
    shares: Floats = trips / trips.sum()
    return shares


def _fit_shapes(drawn: Drawn, class_shares: Floats, shapes: Floats, tuning: Tuning) -> tuple[Floats, Floats]:
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
    for _ in range(tuning.level_rounds):
        made = (class_shares[:, np.newaxis] * levels).ravel() @ among
        levels = levels * (among @ (wanted / (made + tuning.level_doubt))).reshape(levels.shape)
        total = levels.sum(axis=1, keepdims=True)
        levels = np.where(total > 0, levels / np.where(total > 0, total, 1.0), 1.0 / n_levels)
    made = ((class_shares[:, np.newaxis] * levels).ravel() @ chances).reshape(N_BINS, N_BINS)
    return levels, (shapes + tuning.shape_doubt) / (made + tuning.shape_doubt)


def _adjusted(
    space: StateSpace,
    parameters: WalkParameters,
    target: Target,
    tuning: Tuning,
    paths: Paths,
    weights: Floats,
    backend: Backend,
) -> WalkParameters:
    """Multiply chances, starts and trips by some of what walks lack or have too much."""
    entries = space.entries
    tasks: tuple[Callable[[], tuple[Floats, Floats]], ...] = (
        lambda: _moves_ratio(space, parameters, target, tuning, paths, weights),
        lambda: _visits_ratio(space, target, tuning, paths, weights),
    )
    (by_moves, by_starts), (by_visits, of_zones) = backend.map(operator.call, tasks)
    chances = parameters.chances * (by_moves * by_visits[entries.onto]) ** tuning.damping
    return replace(
        parameters,
        trips=parameters.trips * (np.outer(of_zones, of_zones) ** tuning.trips_damping),
        starts=parameters.starts * (by_starts * by_visits) ** tuning.damping,
        chances=normalized(np.maximum(chances, POSITIVE), space),
    )


def _visits_ratio(
    space: StateSpace, target: Target, tuning: Tuning, paths: Paths, weights: Floats
) -> tuple[Floats, Floats]:
    """Compare visits, first of coarse cells and then of cells; return the ratios of cells and of zones."""
    visits = measured_visits(paths, weights, target.weights)
    expected = visits + tuning.more_visits * np.maximum(visits, tuning.more_visits_of_mean * visits.mean())
    n_coarse = space.grid.divisions.size
    n_within = np.bincount(space.coarse_of, minlength=n_coarse)
    exists = n_within > 0
    coarse = sums(expected, space.coarse_of, n_coarse)
    estimate_coarse = np.zeros(len(coarse))
    estimate_coarse[exists] = posterior_means(
        sums(target.visits, space.coarse_of, n_coarse)[exists],
        coarse[exists],
        target.visits_error * np.sqrt(n_within[exists]),
        tuning,
        n_groups=tuning.visit_groups,
        noise="normal",
    )
    ratio = np.maximum(estimate_coarse / np.where(exists, coarse, 1.0), tuning.least_coarse)
    expected *= ratio[space.coarse_of]
    estimate = posterior_means(
        target.visits, expected, target.visits_error, tuning, n_groups=tuning.visit_groups
    )
    estimate *= visits.sum() / max(float(estimate.sum()), TINY)  # where all is found to be empty, none are left
    by_zone = (sums(values, space.zone_of, space.n_zones) for values in (estimate, visits + POSITIVE))
    of_zones = np.divide(*by_zone)
    by_visits = estimate / (visits + tuning.ratio_visits * visits.mean())
    return _bounded(by_visits, tuning), _bounded(of_zones, tuning)


def _moves_ratio(
    space: StateSpace,
    parameters: WalkParameters,
    target: Target,
    tuning: Tuning,
    paths: Paths,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Compare moves; return the ratios of the entries of the table, and of starts in each cell.

    Few walks take a rare step, so some of a walk of mean weight is added to each row, which steps as the
    parameters say.
    """
    moves, weight = measured_moves(paths, weights, space.steps), weights.sum() / len(weights)
    rows, n_rows, n_links = space.entries.rows, len(space.steps.cells), space.steps.n_links
    taken = sums(moves, rows, n_rows)
    going = (
        moves + tuning.more_walks * weight * parameters.chances / sums(parameters.chances, rows, n_rows)[rows]
    )
    least = tuning.least_steps * taken[:n_links].mean() if n_links else 0.0
    expected = np.maximum(taken, least + POSITIVE)[rows] * going / sums(going, rows, n_rows)[rows]
    expected *= max(float(target.moves.sum()), 1.0) / expected.sum()
    estimate = posterior_means(target.moves, expected, target.moves_error, tuning)
    started = sums(estimate, rows, n_rows)[n_links:] / sums(expected, rows, n_rows)[n_links:]
    return _bounded(estimate / expected, tuning), _bounded(started, tuning)


def _bounded(ratio: Floats, tuning: Tuning) -> Floats:
    return np.clip(ratio, 1 / tuning.most_ratio, tuning.most_ratio)
