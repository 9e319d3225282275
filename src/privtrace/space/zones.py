"""Cut a grid into zones that hold about as much each. Post-processing: only noisy numbers come in."""

from __future__ import annotations

import heapq

import numpy as np

from privtrace.space.grid import Grid
from privtrace.trajectories import Floats, Integers


def zones(grid: Grid, density: Floats, n_zones: int) -> Integers:
    """Give each cell its zone, (n_cells,): rectangles, of which there are n_zones, or as many as cells allow.

    `density` (K, K), not negative, is that of the coarse cells, and is taken to lie evenly in each. The fullest
    zone is cut in two, across its longer side and as near to half its density as can be, until there are
    enough. Where people are many, zones are small.
    """
    finest = int(grid.divisions.max())
    lattice = np.repeat(np.repeat(density / finest**2, finest, axis=0), finest, axis=1)
    below: Floats = np.zeros((len(lattice) + 1, len(lattice) + 1))
    below[1:, 1:] = lattice.cumsum(axis=0).cumsum(axis=1)

    whole = ((0, len(lattice)), (0, len(lattice)))
    waiting = [(-float(below[-1, -1]), 0, whole)]
    done: list[tuple[_Span, _Span]] = []  # cells that cannot be cut
    n_cut = 0
    while waiting and len(waiting) + len(done) < n_zones:
        _, _, zone = heapq.heappop(waiting)
        parts = _halves(zone, below)
        if len(parts) == 1:
            done += parts
        for part in parts if len(parts) == 2 else ():
            n_cut += 1
            heapq.heappush(waiting, (-_within(part, below), n_cut, part))
    number: Integers = np.zeros(lattice.shape, np.int64)
    listed = sorted([*done, *(zone for _, _, zone in waiting)])
    for place, ((south, north), (west, east)) in enumerate(listed):
        number[south:north, west:east] = place

    # A cell that two zones share belongs to the one with its southwest corner; a zone may be left without any.
    column, row, division = grid.places.T
    held = number[row * finest // division, column * finest // division]
    return np.unique(held, return_inverse=True)[1].astype(np.int64)


_Span = tuple[int, int]


def _within(zone: tuple[_Span, _Span], below: Floats) -> float:
    """Add up the density in a zone."""
    (south, north), (west, east) = zone
    return float(below[north, east] - below[south, east] - below[north, west] + below[south, west])


def _halves(zone: tuple[_Span, _Span], below: Floats) -> list[tuple[_Span, _Span]]:
    """Cut a zone in two; one that is as small as can be stays."""
    (south, north), (west, east) = zone
    if north - south >= east - west:
        if north - south < 2:
            return [zone]
        reached = below[south + 1 : north, east] - below[south + 1 : north, west]
        cut = south + 1 + _nearest(reached, below[south, east] - below[south, west], zone, below)
        return [((south, cut), (west, east)), ((cut, north), (west, east))]
    reached = below[north, west + 1 : east] - below[south, west + 1 : east]
    cut = west + 1 + _nearest(reached, below[north, west] - below[south, west], zone, below)
    return [((south, north), (west, cut)), ((south, north), (cut, east))]


def _nearest(reached: Floats, before: float, zone: tuple[_Span, _Span], below: Floats) -> int:
    """Find where a running sum is nearest to half the zone's; in the middle, where the zone is empty."""
    total = _within(zone, below)
    if total <= 0:
        return len(reached) // 2
    return int(np.argmin(np.abs(reached - before - total / 2)))
