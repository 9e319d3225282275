"""Tell how far lines come and how long they are, in public bins: half octaves of the region's shorter side."""

from __future__ import annotations

import math

import numpy as np

from privtrace.compiling import compiled, inlined
from privtrace.searching import first_above
from privtrace.space.region import Region
from privtrace.trajectories import Floats

#: Bins of diameter, and of length: below a hundredth of the shorter side, then half octaves, and all above.
N_BINS = 21
_LEAST = 0.01

#: The extent of a line is measured along two axes and their diagonals, as they are and turned by a quarter of a
#: right angle: in eight directions. The widest is its diameter, to 2 % at most.
_TURNS = ((1.0, 0.0), (math.cos(math.pi / 8), math.sin(math.pi / 8)))
_DIAGONAL = math.sqrt(0.5)


def half_octaves(first: float, count: int) -> Floats:
    """List so many numbers from `first` on, each sqrt(2) times the one before."""
    # Doubled, not raised to a power: machines may round that apart.
    octaves = first * np.repeat(2.0 ** np.arange((count + 1) // 2), 2)[:count]
    octaves[1::2] *= math.sqrt(2)
    return octaves


def shape_edges(region: Region) -> Floats:
    """Give the lower edges of the bins, in meters: (N_BINS,)."""
    return np.concatenate([[0.0], half_octaves(_LEAST * region.shorter_side_m, N_BINS - 1)])


@compiled
def shape_of(line, n_points, scale_m):  # type: ignore[no-untyped-def]
    """Measure the diameter and the length of the line through line[:n_points], in meters."""
    return diameter_of(line, n_points, scale_m), length_of(line, n_points, scale_m)


@compiled
def diameter_of(line, n_points, scale_m):  # type: ignore[no-untyped-def]
    """Measure the diameter alone."""
    diameter = 0.0
    for cosine, sine in _TURNS:
        least_along = least_across = least_sum = least_difference = np.inf
        most_along = most_across = most_sum = most_difference = -np.inf
        for p in range(n_points):
            x, y = line[p, 0] * scale_m[0], line[p, 1] * scale_m[1]
            along, across = cosine * x + sine * y, cosine * y - sine * x
            least_along, most_along = min(least_along, along), max(most_along, along)
            least_across, most_across = min(least_across, across), max(most_across, across)
            least_sum, most_sum = min(least_sum, along + across), max(most_sum, along + across)
            difference = along - across
            least_difference, most_difference = (
                min(least_difference, difference),
                max(most_difference, difference),
            )
        diagonal = _DIAGONAL * max(most_sum - least_sum, most_difference - least_difference)
        diameter = max(diameter, most_along - least_along, most_across - least_across, diagonal)
    return diameter


@compiled
def length_of(line, n_points, scale_m):  # type: ignore[no-untyped-def]
    """Measure the length alone."""
    length = 0.0
    for p in range(1, n_points):
        x = line[p, 0] * scale_m[0] - line[p - 1, 0] * scale_m[0]
        y = line[p, 1] * scale_m[1] - line[p - 1, 1] * scale_m[1]
        length += math.sqrt(x * x + y * y)
    return length


@inlined
def shape_bin(meters, edges):  # type: ignore[no-untyped-def]
    """Find the bin of a diameter or length."""
    return first_above(edges, meters) - 1
