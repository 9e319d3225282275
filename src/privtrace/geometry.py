"""Measure lengths, diameters and the like of trajectories in meters: kernels of points and offsets."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

#: Up to so many points, comparing all pairs is faster than a hull.
_FEW = 100


@njit(cache=True, nogil=True)
def lengths_m(points, offsets):  # type: ignore[no-untyped-def]
    """Add up the distances between consecutive points: (n,), 0 for a single point."""
    return sums(steps_m(points, offsets), offsets)


@njit(cache=True, nogil=True)
def steps_m(points, offsets):  # type: ignore[no-untyped-def]
    """Measure from the point before to each: (n_points,), 0 for the first of a trajectory."""
    steps = np.zeros(len(points))
    for t in range(len(offsets) - 1):
        for p in range(offsets[t] + 1, offsets[t + 1]):
            steps[p] = math.hypot(points[p, 0] - points[p - 1, 0], points[p, 1] - points[p - 1, 1])
    return steps


@njit(cache=True, nogil=True)
def sums(steps, offsets):  # type: ignore[no-untyped-def]
    """Add up the numbers of each trajectory: (n,)."""
    totals = np.zeros(len(offsets) - 1)
    for t in range(len(offsets) - 1):
        total = 0.0
        for p in range(offsets[t], offsets[t + 1]):
            total += steps[p]
        totals[t] = total
    return totals


@njit(cache=True, nogil=True)
def ends_apart_m(points, offsets):  # type: ignore[no-untyped-def]
    """Measure from the first point to the last: (n,)."""
    distances = np.zeros(len(offsets) - 1)
    for t in range(len(offsets) - 1):
        a, b = offsets[t], offsets[t + 1] - 1
        distances[t] = math.hypot(points[b, 0] - points[a, 0], points[b, 1] - points[a, 1])
    return distances


@njit(cache=True, nogil=True)
def gyrations_m(points, offsets):  # type: ignore[no-untyped-def]
    """Measure the radius of gyration, the root mean square distance of points from their mean: (n,)."""
    radii = np.zeros(len(offsets) - 1)
    for t in range(len(offsets) - 1):
        n = offsets[t + 1] - offsets[t]
        x, y = points[offsets[t], 0], points[offsets[t], 1]
        from_x, from_y = x, y  # sums of differences: of a place that is never left, the mean is just that place
        for p in range(offsets[t], offsets[t + 1]):
            x += (points[p, 0] - from_x) / n
            y += (points[p, 1] - from_y) / n
        squares = 0.0
        for p in range(offsets[t], offsets[t + 1]):
            squares += ((points[p, 0] - x) ** 2 + (points[p, 1] - y) ** 2) / n
        radii[t] = math.sqrt(squares)
    return radii


@njit(cache=True, nogil=True)
def turn_bins(points, offsets, n_bins):  # type: ignore[no-untyped-def]
    """Put changes of direction into equal bins around the circle: bins and offsets.

    Bins have the main directions in their middle, so that rounding decides nothing for those who go straight
    on: the first has turning right around, the one in the middle of all has straight on. A point where the one
    before was makes no move.
    """
    bins = np.empty(len(points), np.uint8)
    bin_offsets = np.zeros(len(offsets), np.int64)
    n = 0
    for t in range(len(offsets) - 1):
        from_x = from_y = 0.0  # the move before, none yet
        for p in range(offsets[t] + 1, offsets[t + 1]):
            x, y = points[p, 0] - points[p - 1, 0], points[p, 1] - points[p - 1, 1]
            if x == 0.0 and y == 0.0:
                continue
            if from_x != 0.0 or from_y != 0.0:
                turn = math.atan2(from_x * y - from_y * x, from_x * x + from_y * y)
                bins[n] = int((turn / (2 * math.pi) + 0.5) * n_bins + 0.5) % n_bins
                n += 1
            from_x, from_y = x, y
        bin_offsets[t + 1] = n
    return bins[:n].copy(), bin_offsets


@njit(cache=True, nogil=True)
def diameters_m(points, offsets):  # type: ignore[no-untyped-def]
    """Find the greatest distance between any two points, by hull and calipers: (n,), O(p log p) each."""
    diameters = np.zeros(len(offsets) - 1)
    for t in range(len(offsets) - 1):
        given = points[offsets[t] : offsets[t + 1]]
        if len(given) > _FEW:
            given = _hull(given)
        diameters[t] = math.sqrt(_farthest_pair(given) if len(given) <= _FEW else _calipers(given))
    return diameters


@njit(cache=True, nogil=True, fastmath={"nnan", "nsz"})
def _farthest_pair(points):  # type: ignore[no-untyped-def]
    """Compare all pairs, several at a time, none being NaN; the square of the greatest distance."""
    xs, ys = points[:, 0].copy(), points[:, 1].copy()
    farthest = 0.0
    for a in range(len(points)):
        x, y = xs[a], ys[a]
        for b in range(a):
            apart2 = (x - xs[b]) ** 2 + (y - ys[b]) ** 2
            farthest = apart2 if apart2 > farthest else farthest
    return farthest


@njit(cache=True, nogil=True)
def _calipers(hull):  # type: ignore[no-untyped-def]
    """Turn a pair of parallel lines once around a convex polygon; the square of the greatest distance.

    Each edge meets the vertex farthest from its line: the two ends of a diameter touch such lines.
    """
    n = len(hull)
    farthest, opposite = _ends_apart2(hull), 1
    for a in range(n):
        b = (a + 1) % n
        while True:
            farthest = max(farthest, _apart2(hull, a, opposite))
            beyond = (opposite + 1) % n
            if _turn(hull, a, b, beyond) < _turn(hull, a, b, opposite) or beyond == a:
                break
            opposite = beyond
    return farthest


@njit(cache=True, nogil=True)
def _ends_apart2(hull):  # type: ignore[no-untyped-def]
    """Compare the ends of both axes: of a hull so thin that calipers turn by rounding alone, the diameter."""
    ends = np.array(
        [hull[:, 0].argmin(), hull[:, 0].argmax(), hull[:, 1].argmin(), hull[:, 1].argmax()], np.int64
    )
    return _farthest_pair(hull[ends])


@njit(cache=True, nogil=True)
def _hull(points):  # type: ignore[no-untyped-def]
    """Find the convex hull, counterclockwise: Andrew's monotone chain."""
    ordered = _outermost(points)
    n = len(ordered)
    hull = np.empty((2 * n, 2))
    size = 0
    for backward in range(2):  # the lower chain from west to east, the upper back again
        bottom = size
        for step in range(n):
            point = ordered[n - 1 - step] if backward else ordered[step]
            while size - bottom >= 2 and _cross(hull[size - 2], hull[size - 1], point) <= 0:
                size -= 1
            hull[size] = point
            size += 1
        size -= 1  # its end begins the other chain
    return hull[: max(size, 1)]


@njit(cache=True, nogil=True)
def _outermost(points):  # type: ignore[no-untyped-def]
    """Order points by x, keeping of those with the same x the lowest and the highest: no other is on a hull."""
    order = np.argsort(points[:, 0])
    kept = np.empty((len(points), 2))
    size = 0
    p = 0
    while p < len(order):
        x = points[order[p], 0]
        low = high = points[order[p], 1]
        while p < len(order) and points[order[p], 0] == x:
            low, high = min(low, points[order[p], 1]), max(high, points[order[p], 1])
            p += 1
        kept[size] = x, low
        size += 1
        if high > low:
            kept[size] = x, high
            size += 1
    return kept[:size]


@njit(cache=True, nogil=True, inline="always")
def _apart2(points, a, b):  # type: ignore[no-untyped-def]
    return (points[a, 0] - points[b, 0]) ** 2 + (points[a, 1] - points[b, 1]) ** 2


@njit(cache=True, nogil=True, inline="always")
def _turn(points, a, b, c):  # type: ignore[no-untyped-def]
    """Measure how far c is to the left of the line from a to b, times the line's length."""
    return _cross(points[a], points[b], points[c])


@njit(cache=True, nogil=True, inline="always")
def _cross(a, b, c):  # type: ignore[no-untyped-def]
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
