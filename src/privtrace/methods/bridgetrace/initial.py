"""Initialize the parameters of walks: where people are, how often they turn, and where they travel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privtrace.empirical_bayes import posterior_means, smoothed, sums
from privtrace.methods.bridgetrace.states import N_CLASSES, StateSpace
from privtrace.methods.bridgetrace.tuning import POSITIVE, TINY, Tuning
from privtrace.methods.common.measure import in_trajectories
from privtrace.space.shapes import N_BINS
from privtrace.trajectories import Floats, Integers

#: The kinds of steps of which it is measured how often they happen, all over the region.
_STRAIGHT, _TURN, _BACK, _FIRST, _LONE, _END = range(6)

#: Shapes that can be: no line is shorter than its diameter.
POSSIBLE = np.arange(N_BINS) >= np.arange(N_BINS)[:, np.newaxis]


@dataclass(frozen=True, eq=False)
class WalkParameters:
    """Hold the parameters of walks, in trajectories or as chances."""

    trips: Floats  # (n_zones, n_zones)
    starts: Floats  # (n_cells,): in proportion within a zone
    chances: Floats  # (n_entries,): of steps; in a row all moves sum to one, and the end comes on top


def clean_density(noisy: Integers, n_trajectories: float, error: float, tuning: Tuning) -> Floats:
    """Estimate the density of coarse cells, expecting the same of each; it adds up to the count."""
    total = max(n_trajectories, 1.0)
    even = np.full(len(noisy), total / len(noisy))
    clean = posterior_means(in_trajectories(noisy), even, error, tuning)
    return clean * (total / clean.sum()) if clean.sum() > 0 else even


def initialize(
    space: StateSpace, density: Floats, moves: Floats, trips: Floats, error: float, tuning: Tuning
) -> WalkParameters:
    """Set the parameters from the clean density (K * K,) of coarse cells, and from noisy moves and trips.

    `error` is the standard deviation of the noise of a trip.
    """
    area = space.grid.sizes_m.prod(axis=1)
    share = area / sums(area, space.coarse_of, len(density))[space.coarse_of]
    visits = density[space.coarse_of] * share
    visits = np.maximum(visits, tuning.least_visits * visits.mean())
    between = _trips(space, sums(visits, space.zone_of, space.n_zones), trips, error, tuning)
    chances = normalized(_steps(space, visits, moves, tuning), space)
    return WalkParameters(trips=between, starts=visits, chances=chances)


def normalized(weights: Floats, space: StateSpace) -> Floats:
    """Divide rows of the steps table by the sum of their moves; a row that has none ends for certain."""
    entries, n_rows = space.entries, len(space.steps.cells)
    moves = sums(np.where(entries.is_end, 0.0, weights), entries.rows, n_rows)
    rows = moves[entries.rows]
    chances: Floats = np.where(rows > 0, weights / np.where(rows > 0, rows, 1.0), 1.0)
    return chances


def clean_shapes(noisy: Floats, error: float, tuning: Tuning) -> Floats:
    """Clean noisy shapes into chances, expecting of each what its neighbors have: (N_BINS, N_BINS)."""
    least = tuning.least_shape * np.abs(noisy).mean() + POSITIVE
    expected = np.maximum(smoothed(noisy, POSSIBLE), least)
    clean = np.zeros(noisy.shape)
    clean[POSSIBLE] = posterior_means(noisy[POSSIBLE], expected[POSSIBLE], error, tuning)
    if not clean.any():  # noise has left nothing: any shape will do
        clean = POSSIBLE.astype(np.float64)
    shapes: Floats = clean / clean.sum()
    return shapes


def _steps(space: StateSpace, visits: Floats, moves: Floats, tuning: Tuning) -> Floats:
    """Expect steps in proportion to the flow before and after them, and as often as their kind is measured."""
    steps, entries, sides = space.steps, space.entries, space.geometry.sides
    links, n_links, n_cells = steps.links, steps.n_links, len(visits)
    if not n_links:
        return np.ones(steps.n_entries)
    border = ((sides[:, 2:] - sides[:, :2]) * space.grid.region.scale_m).max(axis=1)
    part = border / (2 * space.grid.sizes_m.sum(axis=1))[links.sources]
    flow = np.sqrt(visits[links.sources] * part * visits[links.targets] * part[links.back])
    through = np.maximum(sums(flow, links.sources.astype(np.int64), n_cells), TINY)  # a cell may have no link
    flow_in = np.concatenate([flow, through])[entries.rows]
    flow_out = np.where(entries.is_end, through[entries.cells], flow[entries.links])
    expected = flow_in * flow_out / through[entries.cells]
    kinds = _kinds(space)
    measured, modeled = sums(moves, kinds, _END + 1), sums(expected, kinds, _END + 1)
    measured = np.maximum(measured, tuning.least_kind * np.abs(measured).sum() + TINY)
    # A kind that has an entry has flow; one that has none is not looked up.
    weights: Floats = expected * (measured / np.where(modeled > 0, modeled, 1.0))[kinds]
    return weights


def _kinds(space: StateSpace) -> Integers:
    """Tell straight steps from turns, ways back, first steps and ends."""
    steps, entries, sides = space.steps, space.entries, space.geometry.sides
    links, n_links = steps.links, steps.n_links
    centers, axis = space.grid.centers_m, np.argmin(sides[:, 2:] - sides[:, :2], axis=1)
    ahead = np.sign(centers[links.targets] - centers[links.sources])[np.arange(n_links), axis]
    before = np.minimum(entries.rows, n_links - 1)
    same_axis = axis[before] == axis[entries.links]
    onward = np.where(ahead[before] == ahead[entries.links], _STRAIGHT, _BACK)
    moves = np.where(same_axis, onward, _TURN)
    is_start = entries.rows >= n_links
    return np.where(entries.is_end, np.where(is_start, _LONE, _END), np.where(is_start, _FIRST, moves)).astype(
        np.int64
    )


def _trips(space: StateSpace, visits: Floats, noisy: Floats, error: float, tuning: Tuning) -> Floats:
    """Clean noisy trips, expecting what starts, ends and distances say."""
    total, n_zones = max(float(noisy.sum()), 1.0), space.n_zones
    like = visits / visits.sum() * total
    starts, ends = (
        _scaled(
            posterior_means(noisy.sum(axis=axis), like, error * np.sqrt(n_zones), tuning, noise="normal"), total
        )
        for axis in (1, 0)
    )
    starts, ends = np.maximum(starts, tuning.least_ends), np.maximum(ends, tuning.least_ends)
    expected = _by_distance(space, noisy, starts, ends, error, tuning)
    clean = posterior_means(noisy.ravel(), expected.ravel(), error, tuning).reshape(noisy.shape)
    return _scaled(np.where(space.joined, np.maximum(clean, tuning.least_trips * expected), 0.0), total)


def _by_distance(
    space: StateSpace, noisy: Floats, starts: Floats, ends: Floats, error: float, tuning: Tuning
) -> Floats:
    """Expect trips in proportion to starts and ends, and to how many are measured at their distance."""
    classes = space.classes.ravel().astype(np.int64)
    n_pairs = np.bincount(classes, minlength=N_CLASSES)
    measured, errors = sums(noisy.ravel(), classes, N_CLASSES), error * np.sqrt(n_pairs)
    expected = np.where(space.joined, np.outer(starts, ends), TINY)
    for _ in range(tuning.class_rounds):
        expected = _fitted(expected, starts, ends, tuning)
        modeled = sums(expected.ravel(), classes, N_CLASSES)
        trust = modeled**2 / (modeled**2 + errors**2 + TINY)
        better = np.maximum(modeled + trust * (measured - modeled), tuning.least_class * modeled)
        expected *= (better / np.maximum(modeled, TINY))[space.classes]
    return np.maximum(_fitted(expected, starts, ends, tuning), POSITIVE)


def _fitted(table: Floats, rows: Floats, columns: Floats, tuning: Tuning) -> Floats:
    """Scale rows and columns in turn until their sums are about as given: iterative proportional fitting."""
    for _ in range(tuning.proportional_rounds):
        table = table * (rows / np.maximum(table.sum(axis=1), TINY))[:, np.newaxis]
        table = table * (columns / np.maximum(table.sum(axis=0), TINY))
    return table


def _scaled(values: Floats, total: float) -> Floats:
    scaled: Floats = values * (total / max(float(values.sum()), TINY))
    return scaled
