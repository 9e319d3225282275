"""Ask circles which trajectories come into them: one bit per circle, a row of bits per trajectory."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from privtrace.evaluation.compare import relative_error
from privtrace.evaluation.traits import Bits, Traits, scaled
from privtrace.space.region import Region
from privtrace.trajectories import Floats, Integers, Trajectories

#: Squares per side by which circles are looked up: of most circles a square is all inside or all outside.
_SIDE = 64

#: The share of the real trajectories that a circle is taken to have at least, when an error is divided by it.
SANITY = 0.01

#: Squares as near as this share of the radius to a circle's edge are not decided as a whole.
_NEAR = 1e-9

#: Lines are looked at in stretches of so many steps, most of which are far from a circle's edge.
_STRETCH = 8


class Circles(NamedTuple):
    """Hold circles, and which of them hold each square of a box all, or in part."""

    centers_m: Floats  # (n_circles, 2), in meters from the box's southwest corner
    radii_m: Floats  # (n_circles,)
    squares_per_m: tuple[float, float]
    holding: Bits  # (n_squares, n_words): a bit for each circle that holds all of the square
    offsets: Integers  # (n_squares + 1,)
    cutting: npt.NDArray[np.int32]  # the circles that cut square s are cutting[offsets[s]:offsets[s + 1]]
    edges: Floats  # (n_cutting, 3): center and square of the radius of each, to be read one after the other

    @classmethod
    def over(cls, region: Region, centers_m: Floats, radii_m: Floats) -> Circles:
        """Prepare circles for points of a region's box."""
        per_m = (_SIDE / region.width_m, _SIDE / region.height_m)
        return cls(centers_m, radii_m, per_m, *_look_up(centers_m, radii_m, per_m))

    def hits(self, runs: Trajectories) -> Bits:
        """Tell which circles, edge included, each trajectory has a point in: (n, n_words) of bits."""
        return _hits(runs.points, runs.offsets, self)  # type: ignore[no-any-return]

    def crossings(self, runs: Trajectories) -> Bits:
        """Tell which circles, edge included, the line of each trajectory comes into: (n, n_words) of bits."""
        return _crossings(runs.points, runs.offsets, self, self.hits(runs))  # type: ignore[no-any-return]


def circles_error(real: Traits, bits: Bits, synthetic: Traits, other_bits: Bits, n_circles: int) -> float:
    """Average |real - synthetic| / max(real, 1 % of all real trajectories) over circles; NaN without any."""
    if not real.size:
        return math.nan
    counts = bit_counts(bits, real.weights, n_circles)
    others = bit_counts(other_bits, synthetic.weights, n_circles)
    return relative_error(counts, scaled(others, synthetic, real), SANITY * real.size)


def bit_counts(bits: Bits, weights: Integers, n_bits: int) -> Integers:
    """Count, for each bit, the rows that have it, each as often as its weight says: (n_bits,)."""
    counts: Integers = grouped_bit_counts(bits, np.zeros(len(bits), np.int64), weights, 1, n_bits)[0]
    return counts


@njit(cache=True, nogil=True)
def grouped_bit_counts(bits, groups, weights, n_groups, n_bits):  # type: ignore[no-untyped-def]
    """Count the same for each group of rows: (n_groups, n_bits). Rows of groups below 0 are left out."""
    counts = np.zeros((n_groups, bits.shape[1], 64), np.int64)
    for row in range(len(bits)):
        if groups[row] < 0 or weights[row] == 0:
            continue
        own = counts[groups[row]]
        for word in range(bits.shape[1]):
            for bit in range(64):
                own[word, bit] += weights[row] * np.int64(bits[row, word] >> np.uint64(bit) & np.uint64(1))
    return counts.reshape(n_groups, bits.shape[1] * 64)[:, :n_bits]


@njit(cache=True, nogil=True, inline="always")
def set_bit(bits, bit):  # type: ignore[no-untyped-def]
    """Set a bit of a row."""
    bits[bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)


@njit(cache=True, nogil=True, inline="always")
def _has_bit(bits, bit):  # type: ignore[no-untyped-def]
    return bits[bit >> 6] >> np.uint64(bit & 63) & np.uint64(1) != 0


@njit(cache=True, nogil=True)
def _look_up(centers_m, radii_m, squares_per_m):  # type: ignore[no-untyped-def]
    holding = np.zeros((_SIDE * _SIDE, (len(radii_m) + 63) // 64), np.uint64)
    offsets = np.zeros(_SIDE * _SIDE + 1, np.int64)
    cutting = []
    for square in range(_SIDE * _SIDE):
        west, south = square % _SIDE / squares_per_m[0], square // _SIDE / squares_per_m[1]
        east, north = (square % _SIDE + 1) / squares_per_m[0], (square // _SIDE + 1) / squares_per_m[1]
        for c in range(len(radii_m)):
            x, y = centers_m[c, 0], centers_m[c, 1]
            nearest2 = max(west - x, 0.0, x - east) ** 2 + max(south - y, 0.0, y - north) ** 2
            farthest2 = max(x - west, east - x) ** 2 + max(y - south, north - y) ** 2
            if farthest2 <= (radii_m[c] * (1 - _NEAR)) ** 2:
                set_bit(holding[square], c)
            elif nearest2 <= (radii_m[c] * (1 + _NEAR)) ** 2:
                cutting.append(np.int32(c))
        offsets[square + 1] = len(cutting)
    listed = np.empty(len(cutting), np.int32)
    edges = np.empty((len(cutting), 3))
    for entry, cut in enumerate(cutting):
        listed[entry] = cut
        edges[entry] = centers_m[cut, 0], centers_m[cut, 1], radii_m[cut] ** 2
    return holding, offsets, listed, edges


@njit(cache=True, nogil=True)
def _hits(points, offsets, circles):  # type: ignore[no-untyped-def]
    per_m, holding, first_cutting = circles.squares_per_m, circles.holding, circles.offsets
    cutting, edges = circles.cutting, circles.edges
    n_words = holding.shape[1]
    hits = np.zeros((len(offsets) - 1, n_words), np.uint64)
    for t in range(len(offsets) - 1):
        last = -1
        for p in range(offsets[t], offsets[t + 1]):
            x, y = points[p, 0], points[p, 1]
            square = min(int(y * per_m[1]), _SIDE - 1) * _SIDE + min(int(x * per_m[0]), _SIDE - 1)
            if square != last:
                for word in range(n_words):
                    hits[t, word] |= holding[square, word]
                last = square
            for entry in range(first_cutting[square], first_cutting[square + 1]):
                # Without a branch, which nobody could foretell.
                inside = (x - edges[entry, 0]) ** 2 + (y - edges[entry, 1]) ** 2 <= edges[entry, 2]
                c = cutting[entry]
                hits[t, c >> 6] |= np.uint64(inside) << np.uint64(c & 63)
    return hits


@njit(cache=True, nogil=True)
def _crossings(points, offsets, circles, hits):  # type: ignore[no-untyped-def]
    """Add to the hits the circles that a line comes into between two points outside."""
    centers_m, radii_m = circles.centers_m, circles.radii_m
    longest = 0
    for t in range(len(offsets) - 1):
        longest = max(longest, offsets[t + 1] - offsets[t])
    boxes = np.empty((1 + longest // _STRETCH + 1, 4))
    for t in range(len(offsets) - 1):
        n_boxes = _find_boxes(points, offsets[t], offsets[t + 1], boxes)
        for c in range(len(radii_m)):
            if _has_bit(hits[t], c) or _is_clear(boxes[0], centers_m[c], radii_m[c]):
                continue
            for box in range(1, n_boxes):
                if _is_clear(boxes[box], centers_m[c], radii_m[c]):
                    continue
                first = offsets[t] + (box - 1) * _STRETCH
                last = min(first + _STRETCH, offsets[t + 1] - 1)
                if _comes_in(points, first, last, centers_m[c], radii_m[c]):
                    set_bit(hits[t], c)
                    break
    return hits


@njit(cache=True, nogil=True, inline="always")
def _find_boxes(points, start, stop, boxes):  # type: ignore[no-untyped-def]
    """Find the box of a line, then those of its stretches: west, south, east, north. Return their number."""
    boxes[0, :2], boxes[0, 2:] = np.inf, -np.inf
    n_boxes = 1
    for first in range(start, stop - 1, _STRETCH):
        west, south = points[first]
        east, north = west, south
        for p in range(first + 1, min(first + _STRETCH, stop - 1) + 1):
            west, east = min(west, points[p, 0]), max(east, points[p, 0])
            south, north = min(south, points[p, 1]), max(north, points[p, 1])
        boxes[n_boxes, 0], boxes[n_boxes, 1], boxes[n_boxes, 2], boxes[n_boxes, 3] = west, south, east, north
        boxes[0, 0], boxes[0, 1] = min(boxes[0, 0], west), min(boxes[0, 1], south)
        boxes[0, 2], boxes[0, 3] = max(boxes[0, 2], east), max(boxes[0, 3], north)
        n_boxes += 1
    return n_boxes


@njit(cache=True, nogil=True, inline="always")
def _is_clear(box, center_m, radius_m):  # type: ignore[no-untyped-def]
    """Tell whether a box, and so every line in it, is surely outside a circle."""
    across = max(box[0] - center_m[0], 0.0, center_m[0] - box[2])
    along = max(box[1] - center_m[1], 0.0, center_m[1] - box[3])
    return across * across + along * along > (radius_m * (1 + _NEAR)) ** 2


@njit(cache=True, nogil=True, inline="always")
def _comes_in(points, first, last, center_m, radius_m):  # type: ignore[no-untyped-def]
    """Tell whether a stretch of a line, whose points are outside, comes into a circle."""
    for p in range(first + 1, last + 1):
        x, y = points[p - 1, 0] - center_m[0], points[p - 1, 1] - center_m[1]
        dx, dy = points[p, 0] - points[p - 1, 0], points[p, 1] - points[p - 1, 1]
        toward = -(x * dx + y * dy)
        if toward <= 0.0:  # nowhere nearer than at its first point
            continue
        # The point of the line nearest to the center.
        along = min(toward / (dx * dx + dy * dy), 1.0)
        if (x + along * dx) ** 2 + (y + along * dy) ** 2 <= radius_m**2:
            return True
    return False
