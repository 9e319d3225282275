"""Measure lengths, diameters and the like of trajectories in meters: kernels of points and offsets."""

from __future__ import annotations

import math

import numpy as np

from privtrace.compiling import compiled, inlined

#: Up to so many points, comparing all pairs is faster than a hull.
_FEW = 40

#: Radians by which a rough angle may be off.
_ROUGH = 3e-5


@compiled
def lengths_m(points, offsets):  # type: ignore[no-untyped-def]
    """Add up the distances between consecutive points: (n,), 0 for a single point."""
    return sums(steps_m(points, offsets), offsets)


@compiled
def steps_m(points, offsets):  # type: ignore[no-untyped-def]
    """Measure from the point before to each: (n_points,), 0 for the first of a trajectory."""
    steps = np.zeros(len(points))
    for t in range(len(offsets) - 1):
        for p in range(offsets[t] + 1, offsets[t + 1]):
            steps[p] = math.sqrt(_apart2(points, p, p - 1))
    return steps


@compiled
def sums(steps, offsets):  # type: ignore[no-untyped-def]
    """Add up the numbers of each trajectory: (n,)."""
    totals = np.zeros(len(offsets) - 1)
    for t in range(len(offsets) - 1):
        total = 0.0
        for p in range(offsets[t], offsets[t + 1]):
            total += steps[p]
        totals[t] = total
    return totals


@compiled
def ends_apart_m(points, offsets):  # type: ignore[no-untyped-def]
    """Measure from the first point to the last: (n,)."""
    distances = np.zeros(len(offsets) - 1)
    for t in range(len(offsets) - 1):
        distances[t] = math.sqrt(_apart2(points, offsets[t], offsets[t + 1] - 1))
    return distances


@compiled
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


@compiled
def turn_bins(points, offsets, n_bins):  # type: ignore[no-untyped-def]
    """Put changes of direction into equal bins around the circle: bins and offsets.

    Bins have the main directions in their middle, so that rounding decides nothing for those who go straight
    on: the first has turning right around, the one in the middle of all has straight on. A point where the one
    before was makes no move.
    """
    bins = np.empty(len(points), np.uint8)
    bin_offsets = np.zeros(len(offsets), np.int64)
    doubt = _ROUGH * n_bins / (2 * math.pi)  # so near to the edge of a bin, a rough angle does not do
    n = 0
    for t in range(len(offsets) - 1):
        from_x = from_y = 0.0  # the move before, none yet
        for p in range(offsets[t] + 1, offsets[t + 1]):
            x, y = points[p, 0] - points[p - 1, 0], points[p, 1] - points[p - 1, 1]
            if x == 0.0 and y == 0.0:
                continue
            if from_x != 0.0 or from_y != 0.0:
                aside, ahead = from_x * y - from_y * x, from_x * x + from_y * y
                place = (_rough_angle(aside, ahead) / (2 * math.pi) + 0.5) * n_bins + 0.5
                within = place - math.floor(place)
                if not doubt < within < 1 - doubt:
                    place = (math.atan2(aside, ahead) / (2 * math.pi) + 0.5) * n_bins + 0.5
                bins[n] = int(place) % n_bins
                n += 1
            from_x, from_y = x, y
        bin_offsets[t + 1] = n
    return bins[:n].copy(), bin_offsets


@inlined
def _rough_angle(y, x):  # type: ignore[no-untyped-def]
    """Find the angle of a direction to within _ROUGH, in a fifth of the time of atan2; NaN of none."""
    across, up = abs(x), abs(y)
    slope = min(across, up) / max(across, up)
    square = slope * slope
    # Abramowitz and Stegun, Handbook of Mathematical Functions, 4.4.47: it errs by less than _ROUGH / 2.
    angle = slope * (
        0.9998660 + square * (-0.3302995 + square * (0.1801410 + square * (-0.0851330 + square * 0.0208351)))
    )
    angle = math.pi / 2 - angle if up > across else angle
    angle = math.pi - angle if x < 0.0 else angle
    return -angle if y < 0.0 else angle


@compiled
def diameters_m(points, offsets):  # type: ignore[no-untyped-def]
    """Find the greatest distance between any two points: (n,), O(p log p) each.

    Only points are compared that are farther from a corner of their box than some two points from each other:
    no others can be the ends of a diameter. Where these are many, hull and calipers find it.
    """
    diameters = np.zeros(len(offsets) - 1)
    longest = 0
    for t in range(len(offsets) - 1):
        longest = max(longest, offsets[t + 1] - offsets[t])
    outer = np.empty((longest, 2))
    for t in range(len(offsets) - 1):
        n_outer, farthest = _outer(points, offsets[t], offsets[t + 1], outer)
        if n_outer > _FEW:
            hull = _hull(outer[:n_outer])
            farthest = max(farthest, _farthest_pair(hull) if len(hull) <= _FEW else _calipers(hull))
        else:
            farthest = max(farthest, _farthest_pair(outer[:n_outer]))
        diameters[t] = math.sqrt(farthest)
    return diameters


@compiled
def _outer(points, start, stop, outer):  # type: ignore[no-untyped-def]
    """Write down which points can be ends of a diameter; return their number, and a square to exceed.

    It is the greatest between those farthest to opposite winds. Rounding does not matter: what is larger does
    not round to less, so that no two points are farther apart than one of them is from a corner.
    """
    west = east = south = north = southwest = northeast = southeast = northwest = start
    for p in range(start + 1, stop):
        x, y = points[p, 0], points[p, 1]
        west = p if x < points[west, 0] else west
        east = p if x > points[east, 0] else east
        south = p if y < points[south, 1] else south
        north = p if y > points[north, 1] else north
        southwest = p if x + y < points[southwest, 0] + points[southwest, 1] else southwest
        northeast = p if x + y > points[northeast, 0] + points[northeast, 1] else northeast
        southeast = p if x - y > points[southeast, 0] - points[southeast, 1] else southeast
        northwest = p if x - y < points[northwest, 0] - points[northwest, 1] else northwest
    farthest = max(
        max(_apart2(points, west, east), _apart2(points, south, north)),
        max(_apart2(points, southwest, northeast), _apart2(points, southeast, northwest)),
    )
    least_x, most_x, least_y, most_y = points[west, 0], points[east, 0], points[south, 1], points[north, 1]
    n_outer = 0
    for p in range(start, stop):
        x, y = points[p, 0], points[p, 1]
        outer[n_outer, 0], outer[n_outer, 1] = x, y
        n_outer += max(x - least_x, most_x - x) ** 2 + max(y - least_y, most_y - y) ** 2 > farthest
    return n_outer, farthest


@compiled
def _farthest_pair(points):  # type: ignore[no-untyped-def]
    """Compare all pairs; the square of the greatest distance."""
    farthest = 0.0
    for a in range(len(points)):
        for b in range(a):
            farthest = max(farthest, _apart2(points, a, b))
    return farthest


@compiled
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


@compiled
def _ends_apart2(hull):  # type: ignore[no-untyped-def]
    """Compare the ends of both axes: of a hull so thin that calipers turn by rounding alone, the diameter."""
    ends = np.array(
        [hull[:, 0].argmin(), hull[:, 0].argmax(), hull[:, 1].argmin(), hull[:, 1].argmax()], np.int64
    )
    return _farthest_pair(hull[ends])


@compiled
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


@compiled
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


@inlined
def _apart2(points, a, b):  # type: ignore[no-untyped-def]
    return (points[a, 0] - points[b, 0]) ** 2 + (points[a, 1] - points[b, 1]) ** 2


@inlined
def _turn(points, a, b, c):  # type: ignore[no-untyped-def]
    """Measure how far c is to the left of the line from a to b, times the line's length."""
    return _cross(points[a], points[b], points[c])


@inlined
def _cross(a, b, c):  # type: ignore[no-untyped-def]
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])
