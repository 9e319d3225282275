"""Tell which points are in the region: kernels that look one point up, whether the region is box or polygon.

The edges of a polygon are listed in bands of equal height from south to north, so that a point is compared with
the few edges at its own height and not with all. Bands follow from the polygon alone, which is public.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from privtrace.compiling import compiled, inlined
from privtrace.space.polygon import Polygon
from privtrace.trajectories import Crs, Floats, Integers, is_bad, limits

_MAX_BANDS = 1 << 14

#: Entries of all bands per edge, at most: long edges stand in many bands.
_MAX_ENTRIES = 8

#: Steps per side of the box, in which a tally measures how spread points are: whole numbers add up exactly.
N_STEPS = 1 << 10

#: Nobody writes a degree beyond this: some count longitudes from 0 to 360.
_MAX_DEGREE = 360.0


class Area(NamedTuple):
    """Hold what kernels need to know of a region.

    Tuples of numbers are for loops over points, where touching an array of a tuple would count references.
    """

    bounds: tuple[float, float, float, float]  # west, south, east, north; east beyond 180 at the antimeridian
    turn: float  # degrees added to a longitude west of the region: 360 across the antimeridian, else 0
    limits: tuple[float, float, float]  # what is a bad point
    is_box: bool  # without edges: the bounds say all
    bands_per_unit: float
    bands: Integers  # (n_bands + 1,): band b holds edges[bands[b]:bands[b + 1]]
    edges: Floats  # (n_entries, 4): x, y of the southern end, x, y of the northern end


class Tally(NamedTuple):
    """Count how much of some trajectories is in a region: exact numbers, for a curator's eyes only."""

    n_trajectories: int = 0
    n_reaching: int = 0  # of the trajectories, those with a point inside
    n_inside: int = 0  # points
    n_outside: int = 0
    n_bad: int = 0
    n_swapped: int = 0  # points that would be inside if x and y changed places
    n_turned: int = 0  # bad points that would be degrees if longitude and latitude changed places
    n_meters: int = 0  # points, lost to a region of degrees, that are beyond all degrees
    n_degrees: int = 0  # points, lost to a region beyond all degrees, that could be degrees
    x: int = 0  # sums over the points inside, in steps of the region's box, and of their squares
    y: int = 0
    xx: int = 0
    yy: int = 0

    @property
    def n_points(self) -> int:
        """Count all points, bad ones too."""
        return self.n_inside + self.n_outside + self.n_bad

    @property
    def covered(self) -> float:
        """Give the share of the box over which points inside would be as spread if they were uniform there."""
        if self.n_inside == 0:
            return 0.0
        n = self.n_inside
        variances = [(n * squares - sums**2) / n**2 for sums, squares in ((self.x, self.xx), (self.y, self.yy))]
        # That of a uniform distribution is a twelfth of its squared width.
        return 12 * math.sqrt(variances[0] * variances[1]) / N_STEPS**2


def added(tallies: Iterable[Tally]) -> Tally:
    """Add up the tallies of parts."""
    return Tally(*map(sum, zip(Tally(), *tallies, strict=True)))


def area_of(bounds: Floats, crs: Crs | None, polygon: Polygon | None) -> Area:
    """Prepare a region for kernels."""
    west, south, east, north = bounds.tolist()
    turn = 360.0 if crs == "lonlat" and east > 180 else 0.0
    box = (west, south, east, north), turn, limits(crs)
    if polygon is None:
        return Area(*box, True, 0.0, np.zeros(2, np.int64), np.empty((0, 4)))
    edges, n_bands = polygon.edges, _n_bands(polygon.edges, north - south)
    per_unit = n_bands / (north - south)
    low, high = (np.minimum((edges[:, end] - south) * per_unit, n_bands - 1).astype(np.int64) for end in (1, 3))
    n_passed = high - low + 1
    edge = np.repeat(np.arange(len(edges)), n_passed)
    band = np.arange(len(edge)) - np.repeat(np.cumsum(n_passed) - n_passed, n_passed) + low[edge]
    order = np.argsort(band, kind="stable")
    bands = np.searchsorted(band[order], np.arange(n_bands + 1))
    return Area(*box, False, per_unit, bands, edges[edge[order]])


def _n_bands(edges: Floats, height: float) -> int:
    """Choose a band an edge, fewer where long edges would stand in very many."""
    heights = float(np.sum(edges[:, 3] - edges[:, 1])) / height
    return max(1, min(_MAX_BANDS, len(edges), int(_MAX_ENTRIES * len(edges) / max(heights, 1.0))))


@inlined
def unwrapped(x, bounds, turn):  # type: ignore[no-untyped-def]
    """Bring a coordinate to where the region is: across the antimeridian, -179 degrees becomes 181."""
    return x + turn if x < bounds[0] else x


@inlined
def is_in_box(x, y, bounds):  # type: ignore[no-untyped-def]
    """Tell whether a point, its x unwrapped, is in the region's box, edges included."""
    return bounds[0] <= x <= bounds[2] and bounds[1] <= y <= bounds[3]


@compiled
def is_inside(x, y, area):  # type: ignore[no-untyped-def]
    """Tell whether a point, its x unwrapped, is in the region: a box with its edges, a polygon by even-odd."""
    return is_in_box(x, y, area.bounds) and (area.is_box or is_in_polygon(x, y, area))


@compiled
def is_in_polygon(x, y, area):  # type: ignore[no-untyped-def]
    """Tell whether an odd number of edges is to the east of a point."""
    edges, band = area.edges, band_at(y, area)
    odd = False
    for e in range(area.bands[band], area.bands[band + 1]):
        # Most edges are wholly to one side, and need no division.
        if edges[e, 1] <= y < edges[e, 3] and x < max(edges[e, 0], edges[e, 2]):
            odd ^= x < min(edges[e, 0], edges[e, 2]) or x < crossing(edges, e, y)
    return odd


@compiled
def band_at(y, area):  # type: ignore[no-untyped-def]
    """Find the band of a height. Rounding rises with y, so an edge stands in the band of each of its points."""
    return min(max(int((y - area.bounds[1]) * area.bands_per_unit), 0), len(area.bands) - 2)


@inlined
def crossing(edges, e, y):  # type: ignore[no-untyped-def]
    """Give the x of an edge at a height between its ends; rounding does not lead beyond them."""
    x = edges[e, 0] + (y - edges[e, 1]) * ((edges[e, 2] - edges[e, 0]) / (edges[e, 3] - edges[e, 1]))
    return min(max(x, min(edges[e, 0], edges[e, 2])), max(edges[e, 0], edges[e, 2]))


@inlined
def is_beyond_degrees(x, y):  # type: ignore[no-untyped-def]
    """Tell whether a point, finite, is far from all longitudes and latitudes, as meters are."""
    return (abs(x) > _MAX_DEGREE or abs(y) > _MAX_DEGREE) and abs(x) < np.inf and abs(y) < np.inf


@inlined
def could_be_degrees(x, y):  # type: ignore[no-untyped-def]
    """Tell whether a point could be longitude and latitude."""
    return abs(x) <= 180.0 and abs(y) <= 90.0 and not (x == 0.0 and y == 0.0)


@compiled
def tally(points, offsets, area):  # type: ignore[no-untyped-def]
    """Count how much of some trajectories is in the region."""
    n_reaching = n_inside = n_outside = n_bad = n_swapped = n_turned = n_meters = n_degrees = 0
    bounds, turn, limits, is_box = area.bounds, area.turn, area.limits, area.is_box
    x_sum = y_sum = xx_sum = yy_sum = 0
    in_degrees = not is_beyond_degrees(bounds[0], bounds[1]) and not is_beyond_degrees(bounds[2], bounds[3])
    for trajectory in range(len(offsets) - 1):
        found = False
        for p in range(offsets[trajectory], offsets[trajectory + 1]):
            x, y = points[p, 0], points[p, 1]
            bad = is_bad(x, y, limits)
            at = unwrapped(x, bounds, turn)
            if not bad and is_in_box(at, y, bounds) and (is_box or is_in_polygon(at, y, area)):
                n_inside += 1
                found = True
                step_x = int((at - bounds[0]) / (bounds[2] - bounds[0]) * N_STEPS)
                step_y = int((y - bounds[1]) / (bounds[3] - bounds[1]) * N_STEPS)
                x_sum, y_sum = x_sum + step_x, y_sum + step_y
                xx_sum, yy_sum = xx_sum + step_x * step_x, yy_sum + step_y * step_y
            else:
                n_bad += bad
                n_outside += not bad
                n_turned += bad and could_be_degrees(y, x)
                n_meters += in_degrees and is_beyond_degrees(x, y)
                n_degrees += not in_degrees and could_be_degrees(x, y)
            at = unwrapped(y, bounds, turn)
            if is_in_box(at, x, bounds) and not is_bad(y, x, limits):
                n_swapped += is_box or is_in_polygon(at, x, area)
        n_reaching += found
    counts = n_reaching, n_inside, n_outside, n_bad, n_swapped, n_turned, n_meters, n_degrees
    return Tally(len(offsets) - 1, *counts, x_sum, y_sum, xx_sum, yy_sum)
