"""Cut a grid into zones that hold about as much each. Post-processing: only noisy numbers come in."""

from __future__ import annotations

import heapq

import numpy as np

from privtrace.space.grid import Grid
from privtrace.trajectories import Floats, Integers


def zones(grid: Grid, density: Floats, n_zones: int) -> Integers:
    """Give each cell its zone, (n_cells,): rectangles, n_zones of them, or one per cell if that is less.

    `density` (K, K), not negative, is that of the coarse cells, and is taken to lie evenly in their cells. The
    fullest zone is cut in two, across its longer axis if it can be, and as near to half its density as can be,
    until there are enough. Where people are many, zones are small.
    """
    # Each cell stands at its southwest corner, on a lattice as fine as the finest cells.
    finest, size = int(grid.divisions.max()), len(grid.divisions)
    column, row, division = grid.places.T
    place = (row * finest // division, column * finest // division)
    lattice = np.zeros((2, finest * size, finest * size))  # what cells hold, and the cells
    lattice[0][place] = density[row // division, column // division] / division**2
    lattice[1][place] = 1
    below: Floats = np.zeros((2, finest * size + 1, finest * size + 1))
    below[:, 1:, 1:] = lattice.cumsum(axis=1).cumsum(axis=2)

    n_tried, zones = 0, [(0.0, 0, ((0, finest * size), (0, finest * size)))]
    done: list[_Zone] = []  # zones of one cell
    step_m = (grid.region.height_m, grid.region.width_m)
    while zones and len(zones) + len(done) < n_zones:
        zone = heapq.heappop(zones)[2]
        parts = _halves(zone, below, step_m)
        if not parts:
            done.append(zone)
        for part in parts:
            n_tried += 1
            heapq.heappush(zones, (-float(_within(part, below)[0]), n_tried, part))
    number: Integers = np.zeros(lattice.shape[1:], np.int64)
    for place_in_list, ((south, north), (west, east)) in enumerate(sorted([*done, *(z for _, _, z in zones)])):
        number[south:north, west:east] = place_in_list
    zone_of: Integers = number[place]
    return zone_of


_Span = tuple[int, int]
_Zone = tuple[_Span, _Span]


def _within(zone: _Zone, below: Floats) -> Floats:
    """Add up the density and the cells in a zone."""
    (south, north), (west, east) = zone
    total: Floats = (
        below[:, north, east] - below[:, south, east] - below[:, north, west] + below[:, south, west]
    )
    return total


def _halves(zone: _Zone, below: Floats, step_m: tuple[float, float]) -> tuple[_Zone, ...]:
    """Cut a zone in two, each with a cell; one of a single cell cannot be cut."""
    (south, north), (west, east) = zone
    by_row = below[:, south : north + 1, east] - below[:, south : north + 1, west]
    by_column = below[:, north, west : east + 1] - below[:, south, west : east + 1]
    tall = (north - south) * step_m[0] >= (east - west) * step_m[1]
    for across_rows in (tall, not tall):
        cut = _cut(by_row if across_rows else by_column)
        if cut and across_rows:
            return ((south, south + cut), (west, east)), ((south + cut, north), (west, east))
        if cut:
            return ((south, north), (west, west + cut)), ((south, north), (west + cut, east))
    return ()


def _cut(reached: Floats) -> int:
    """Find where running sums of density and cells are best cut in two; 0 where one part would have no cell."""
    density, cells = reached - reached[:, :1]
    places = np.flatnonzero((cells > 0) & (cells < cells[-1]))
    if not len(places):
        return 0
    # Where nothing is known of the density, by cells.
    sums = density if density[-1] > 0 else cells
    return int(places[np.argmin(np.abs(sums[places] - sums[-1] / 2))])
