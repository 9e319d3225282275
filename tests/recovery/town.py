"""A town whose law is known: where trips start, where they lead, and how they get there, cell by cell.

The town is a square of 12 x 12 cells of one unit each. Trips lead from district to district, between some pairs
of districts and not between others. Most start in every second cell of their district, as the white fields of
a chess board lie. In even rows most go east, in odd rows most go west, and nobody turns back; all come nearer
to their goal with most steps and end where they reach it. So visits alone do not tell moves, starts of
districts do not tell starts of cells, and starts and ends do not tell trips.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

import privtrace as pt
from privtrace.paths import Paths
from privtrace.trajectories import Floats, Integers

SIZE = 12  # cells per side
DISTRICT = 3  # cells per side of a district
N_DISTRICTS = (SIZE // DISTRICT) ** 2
REGION = pt.Region.box(0, 0, SIZE, SIZE, crs="planar")

#: Steps to the east, north, west and south.
_STEPS = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)])
_ONWARD, _TURN, _BACK = 1.0, 0.35, 0.0  # how likely, after the step before
_NEARER = 5.0  # times as likely as a step away from the goal
_AGAINST = 0.15  # as likely as a step the way that its row goes
_MOST = 90  # cells of a trip


class Town(NamedTuple):
    """Hold trips in the town: as cells, row by row from the southwest, and as points."""

    paths: Paths
    trips: pt.Trajectories


@cache
def town(n: int, seed: int) -> Town:
    """Make n trips."""
    rng = np.random.default_rng(seed)
    pairs = rng.choice(N_DISTRICTS**2, n, p=district_trips().ravel())
    starts = _cell_in(pairs // N_DISTRICTS, rng, white=True)
    paths = _walked(starts, _cell_in(pairs % N_DISTRICTS, rng, white=False), rng)
    return Town(paths, _points(paths, rng))


def district_trips() -> Floats:
    """Give the share of trips from district to district: each leads to three others and to itself."""
    rng = np.random.default_rng(1)
    table = 0.02 * np.ones((N_DISTRICTS, N_DISTRICTS)) / N_DISTRICTS
    busy = rng.uniform(0.4, 1.6, N_DISTRICTS)
    for origin in range(N_DISTRICTS):
        table[origin, [origin, *rng.choice(N_DISTRICTS, 3, replace=False)]] += busy[origin]
    return table / table.sum()


def district_of(cells: Integers) -> Integers:
    """Find the districts of cells."""
    return cells // SIZE // DISTRICT * (SIZE // DISTRICT) + cells % SIZE // DISTRICT


def _cell_in(districts: Integers, rng: np.random.Generator, *, white: bool) -> Integers:
    """Draw a cell of each district, a white one if asked, but for one in twenty."""
    per_side = SIZE // DISTRICT
    corner = np.stack([districts % per_side, districts // per_side], axis=1) * DISTRICT
    within = rng.integers(0, DISTRICT, (len(districts), 2))
    for _ in range(60 if white else 0):
        black = (corner + within).sum(axis=1) % 2 == 1
        again = black & (rng.random(len(black)) < 0.8)
        within[again] = rng.integers(0, DISTRICT, (again.sum(), 2))
    column, row = (corner + within).T
    return row * SIZE + column


def _walked(starts: Integers, goals: Integers, rng: np.random.Generator) -> Paths:
    """Walk all trips side by side, a step at a time."""
    n = len(starts)
    at, goal = (np.stack([cells % SIZE, cells // SIZE], axis=1) for cells in (starts, goals))
    cells = np.full((n, _MOST), -1, np.int32)
    cells[:, 0] = starts
    last = np.full(n, -1)  # the direction of the step before
    going = np.flatnonzero(np.any(at != goal, axis=1))
    for step in range(1, _MOST):
        here = at[going]
        onto = here[:, np.newaxis] + _STEPS
        weights = np.where(np.all((onto >= 0) & (onto < SIZE), axis=2), 1.0, 0.0)
        away = (
            np.abs(onto - goal[going][:, np.newaxis]).sum(axis=2)
            > np.abs(here - goal[going]).sum(axis=1)[:, np.newaxis]
        )
        weights *= np.where(away, 1.0, _NEARER)
        east = here[:, 1] % 2 == 0
        weights[:, 0] *= np.where(east, 1.0, _AGAINST)
        weights[:, 2] *= np.where(east, _AGAINST, 1.0)
        turned = (np.arange(4) - last[going][:, np.newaxis]) % 4
        kinds = np.array([_ONWARD, _TURN, _BACK, _TURN])
        weights *= np.where(last[going][:, np.newaxis] < 0, 1.0, kinds[turned])
        reached = weights.cumsum(axis=1)
        chosen = (reached < rng.random((len(going), 1)) * reached[:, -1:]).sum(axis=1)
        last[going] = chosen
        at[going] = here + _STEPS[chosen]
        cells[going, step] = at[going, 1] * SIZE + at[going, 0]
        going = going[np.any(at[going] != goal[going], axis=1)]
    sizes = (cells >= 0).sum(axis=1)
    return Paths(cells[cells >= 0], np.concatenate([[0], np.cumsum(sizes)]))


def _points(paths: Paths, rng: np.random.Generator) -> pt.Trajectories:
    """Lead a line through each path: from anywhere in its first cell to anywhere in its last.

    It goes over each side between somewhere in the middle half.
    """
    cells, offsets = paths.cells.astype(np.int64), paths.offsets
    corner = np.stack([cells % SIZE, cells // SIZE], axis=1)
    sides = (
        corner[1:] + (corner[:-1] - corner[1:] + 1) / 2
    )  # the middle of the side behind each cell, where there is one
    sides += np.where(corner[1:] == corner[:-1], rng.uniform(-0.25, 0.25, sides.shape), 0.0)
    first = np.zeros(len(cells), np.bool_)
    first[offsets[:-1]] = True
    inner = corner + rng.uniform(0.02, 0.98, corner.shape)
    # A path of s cells has its start, s - 1 sides and its end.
    places = np.arange(len(cells)) + np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    points = np.empty((len(cells) + len(offsets) - 1, 2))
    points[places] = np.where(first[:, np.newaxis], inner, np.concatenate([inner[:1], sides]))
    points[offsets[1:] + np.arange(len(offsets) - 1)] = corner[offsets[1:] - 1] + rng.uniform(
        0.02, 0.98, (len(offsets) - 1, 2)
    )
    return pt.Trajectories(points, offsets + np.arange(len(offsets)), crs="planar")
