"""Ask circles which trajectories come into them: one bit per circle, a row of bits per trajectory."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from privtrace.compiling import compiled, inlined, without_nan
from privtrace.evaluation.compare import relative_error
from privtrace.evaluation.traits import Bits, Traits, scaled
from privtrace.runs import Runs
from privtrace.space.region import Region
from privtrace.trajectories import Floats, Integers

#: Squares per side by which circles are looked up: of most circles a square is all inside or far outside.
_SIDE = 128

#: The share of the real trajectories that a circle is taken to have at least, when an error is divided by it.
SANITY = 0.01

#: Squares and lines as near as this share of the radius to a circle's edge are not decided as a whole.
_NEAR = 1e-9

#: Squares are near a circle that are no farther from it than this share of its radius.
_MARGIN = 0.005


class Circles(NamedTuple):
    """Hold circles, and which of them hold each square of a box all, or are near it."""

    centers_m: Floats  # (n_circles, 2), in meters from the box's southwest corner
    radii_m: Floats  # (n_circles,)
    squares_per_m: tuple[float, float]
    around: Bits  # (n_squares, 2 * n_words): a bit for each circle that holds all of it, then for each one near

    @classmethod
    def over(cls, region: Region, centers_m: Floats, radii_m: Floats) -> Circles:
        """Prepare circles for points of a region's box."""
        per_m = (_SIDE / region.width_m, _SIDE / region.height_m)
        return cls(centers_m, radii_m, per_m, _look_up(centers_m, radii_m, per_m))

    def hits(self, runs: Runs) -> Bits:
        """Tell which circles, edge included, each trajectory has a point in: (n, n_words) of bits."""
        return _hits(runs.points, runs.offsets, self, False)  # type: ignore[no-any-return]

    def crossings(self, runs: Runs) -> Bits:
        """Tell which circles, edge included, the line of each trajectory comes into: (n, n_words) of bits."""
        return _hits(runs.points, runs.offsets, self, True)  # type: ignore[no-any-return]


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


@compiled
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


@inlined
def set_bit(bits, bit):  # type: ignore[no-untyped-def]
    """Set a bit of a row."""
    bits[bit >> 6] |= np.uint64(1) << np.uint64(bit & 63)


@compiled
def _look_up(centers_m, radii_m, squares_per_m):  # type: ignore[no-untyped-def]
    n_words = (len(radii_m) + 63) // 64
    around = np.zeros((_SIDE * _SIDE, 2 * n_words), np.uint64)
    for square in range(_SIDE * _SIDE):
        west, south = square % _SIDE / squares_per_m[0], square // _SIDE / squares_per_m[1]
        east, north = (square % _SIDE + 1) / squares_per_m[0], (square // _SIDE + 1) / squares_per_m[1]
        for c in range(len(radii_m)):
            x, y = centers_m[c, 0], centers_m[c, 1]
            nearest2 = max(west - x, 0.0, x - east) ** 2 + max(south - y, 0.0, y - north) ** 2
            farthest2 = max(x - west, east - x) ** 2 + max(y - south, north - y) ** 2
            if farthest2 <= (radii_m[c] * (1 - _NEAR)) ** 2:
                set_bit(around[square, :n_words], c)
            if nearest2 <= (radii_m[c] * (1 + _MARGIN) * (1 + _NEAR)) ** 2:
                set_bit(around[square, n_words:], c)
    return around


@compiled
def _hits(points, offsets, circles, with_lines):  # type: ignore[no-untyped-def]
    """Tell which circles the points of each trajectory come into, or the lines between them as well.

    Of a circle that holds no square with a point, but is near one, all points are looked at.
    """
    centers_m, radii_m, per_m, around = (
        circles.centers_m,
        circles.radii_m,
        circles.squares_per_m,
        circles.around,
    )
    n_words = around.shape[1] // 2
    # A line that comes in has an end as near as this: see _may_come_in.
    longest2 = 4 * _MARGIN * (2 + _MARGIN) * radii_m.min() ** 2 if len(radii_m) else 0.0
    hits = np.zeros((len(offsets) - 1, n_words), np.uint64)
    own = np.empty(2 * n_words, np.uint64)
    for t in range(len(offsets) - 1):
        start, stop = offsets[t], offsets[t + 1]
        own[:] = 0
        for p in range(start, stop):
            column = min(int(points[p, 0] * per_m[0]), _SIDE - 1)
            row = min(int(points[p, 1] * per_m[1]), _SIDE - 1)
            for word in range(2 * n_words):
                own[word] |= around[row * _SIDE + column, word]
        step2 = _longest_step2(points, start, stop) if with_lines else 0.0
        for word in range(n_words):
            found = own[word]
            left = ~found if step2 > longest2 else own[n_words + word] & ~found
            while left:
                lowest = left & (~left + np.uint64(1))
                left ^= lowest
                c = 64 * word + math.frexp(np.float64(lowest))[1] - 1
                if c >= len(radii_m):
                    break
                x, y, radius2 = centers_m[c, 0], centers_m[c, 1], radii_m[c] ** 2
                nearest2 = _nearest2(points, start, stop, x, y)
                if nearest2 <= radius2 or (
                    with_lines
                    and _may_come_in(nearest2, radius2, step2)
                    and _comes_in(points, start, stop, x, y, radius2)
                ):
                    found |= lowest
            hits[t, word] = found
    return hits


@without_nan
def _longest_step2(points, start, stop):  # type: ignore[no-untyped-def]
    """Find the longest step of a line; its square."""
    longest2 = 0.0
    for p in range(start + 1, stop):
        step2 = (points[p, 0] - points[p - 1, 0]) ** 2 + (points[p, 1] - points[p - 1, 1]) ** 2
        longest2 = step2 if step2 > longest2 else longest2
    return longest2


@without_nan
def _nearest2(points, start, stop, x, y):  # type: ignore[no-untyped-def]
    """Measure from a center to the nearest point, none being NaN, several at a time; the square of it."""
    nearest2 = np.inf
    for p in range(start, stop):
        apart2 = (points[p, 0] - x) ** 2 + (points[p, 1] - y) ** 2
        nearest2 = apart2 if apart2 < nearest2 else nearest2
    return nearest2


@inlined
def _may_come_in(nearest2, radius2, step2):  # type: ignore[no-untyped-def]
    """Tell whether a line may come into a circle, from its nearest point and its longest step.

    Where a step comes in, it is at the radius from the center or nearer, and from there one of its ends is half
    of the step away at most: by Pythagoras, that end is near.
    """
    return nearest2 <= (radius2 + step2 / 4) * (1 + _NEAR)


@compiled
def _comes_in(points, start, stop, center_x, center_y, radius2):  # type: ignore[no-untyped-def]
    """Tell whether a line, whose points are outside, comes into a circle."""
    for p in range(start + 1, stop):
        x, y = points[p - 1, 0] - center_x, points[p - 1, 1] - center_y
        dx, dy = points[p, 0] - points[p - 1, 0], points[p, 1] - points[p - 1, 1]
        toward = -(x * dx + y * dy)
        if toward <= 0.0:  # nowhere nearer than at its first point
            continue
        # The point of the line nearest to the center.
        along = min(toward / (dx * dx + dy * dy), 1.0)
        if (x + along * dx) ** 2 + (y + along * dy) ** 2 <= radius2:
            return True
    return False
