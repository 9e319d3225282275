"""Fit how far points are apart: by which jumps trips along lines become such as were measured.

The number of points by length and the gaps over their mean say how far points are apart only in half octaves
of each, one on top of the other. Speeds of streets and vehicles, which all trips share, are blurred by that.
So jumps as they come are moved to where those that were measured are, in order of size, and then scaled to the
line again. How they come is found by drawing trips: post-processing.
"""

from __future__ import annotations

import numpy as np

from privtrace.compiling import compiled
from privtrace.random import Stream
from privtrace.searching import first_above
from privtrace.timing.bins import N_JUMPS, N_MOVES, half_octave
from privtrace.timing.clean import clean_jumps
from privtrace.timing.draw import Draws, draw_reports, moves, number_of_points, reports_for
from privtrace.trajectories import Floats

#: Trips that are drawn, and how often: scaling moves jumps once more, which the next round takes into account.
_TRIPS = 1024

#: Multiples of this, less whole numbers, are spread evenly from 0 to 1.
_GOLDEN = 0.6180339887498949


def fitted_jumps(draws: Draws, edges: Floats, lengths: Floats, noisy: Floats, error: float) -> Floats:
    """Find the chances of jumps as they come before each time they are moved, and what they become at last.

    They are of trips with such lengths: (N_MOVES + 1, N_JUMPS). They become what was measured, as far as that
    stands out against how they come.
    """
    sums = np.cumsum(lengths)
    made = _made(draws, sums, edges)
    fitted = np.zeros((N_MOVES + 1, N_JUMPS))
    if not made.any():
        return fitted
    fitted[-1] = clean_jumps(noisy, made, error)
    for move in range(N_MOVES):
        fitted[move] = made
        draws = draws._replace(moves=moves(edges, fitted[: move + 1], fitted[-1]))
        made = _made(draws, sums, edges)
    return fitted


@compiled
def _made(draws, lengths, edges):  # type: ignore[no-untyped-def]
    """Draw trips along lines of such lengths, and find the chances of their jumps; each trip weighs one.

    Those below the second edge are no movement, and do not count.
    """
    made, reports = np.zeros(len(edges)), reports_for(draws.most_points)
    for trip in range(_TRIPS):
        row = min(first_above(lengths, (trip + 0.5) / _TRIPS * lengths[-1]), len(lengths) - 1)
        low = draws.edges[row]
        high = draws.edges[row + 1] if row + 1 < len(lengths) else 2.0 * low
        length_m = low + (trip * _GOLDEN) % 1.0 * (high - low)
        stream = Stream(np.uint64(0), np.uint64(trip))
        n_points = number_of_points(length_m, draws, stream)
        n_points = draw_reports(reports, n_points, length_m, length_m, draws, stream)
        for p in range(1, n_points):
            made[half_octave(reports.along_m[p] - reports.along_m[p - 1], edges)] += 1.0 / (n_points - 1)
    made[0] = 0.0
    return made / max(made.sum(), 1.0)
