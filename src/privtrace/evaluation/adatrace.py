"""AdaTrace's metrics (Gursoy et al., CCS 2018), as its program has them, quirks repaired.

Repaired throughout: areas and grids are of the public region, not of the data's bounding box, and both sets are
clipped to it instead of points outside being put into the first cell; where sets differ in size, synthetic
counts are scaled.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privtrace.evaluation.circles import Circles, bit_counts, circles_error
from privtrace.evaluation.compare import category_error, distribution_error, kendall_tau, relative_error
from privtrace.evaluation.frame import QUERIES, Clipped, Frame
from privtrace.evaluation.metric import LN2, Metric, Profile
from privtrace.evaluation.patterns import Patterns, pattern_counts, top_patterns
from privtrace.evaluation.squares import Trips, paths_on, trips_on, visited_on
from privtrace.evaluation.traits import Bits, Traits, scaled
from privtrace.paths import Paths
from privtrace.trajectories import Floats

N_QUERIES = 200
RADIUS = 1 / 3  # of the region's longer side
COVERAGE_PER_SIDE = 15
CELLS_PER_SIDE = 6
LONGEST = 8
TOP = 100
N_BINS = 20


@dataclass(frozen=True, eq=False)
class AdaTraceTraits(Traits):
    """Hold what AdaTrace's metrics look at."""

    length_m: Floats  # (n,)
    diameter_m: Floats  # (n,)
    crossings: Bits  # (n, n_words): a bit for each query circle that the line comes into
    visited: Bits  # (n, n_words): a bit for each of 15 x 15 cells
    paths: Paths  # on 6 x 6 cells, filled
    trips: Trips  # (n,): first and last of 6 x 6 cells, as one number


def measuring(frame: Frame) -> Callable[[Clipped], AdaTraceTraits]:
    """Draw the query circles, and return what measures the traits of a clipped part."""
    circles = draw_queries(frame)

    def measure(runs: Clipped) -> AdaTraceTraits:
        return AdaTraceTraits.of(
            runs,
            length_m=runs.length_m,
            diameter_m=runs.diameter_m,
            crossings=circles.crossings(runs),
            visited=visited_on(runs, frame, COVERAGE_PER_SIDE),
            paths=paths_on(runs, frame, CELLS_PER_SIDE, filled=True),
            trips=trips_on(runs, frame, CELLS_PER_SIDE),
        )

    return measure


def draw_queries(frame: Frame) -> Circles:
    """Draw 200 circles: center uniform in the region, radius a third of its longer side."""
    radii = np.full(N_QUERIES, RADIUS * max(frame.region.width_m, frame.region.height_m))
    return Circles.over(frame.region, frame.centers_m(N_QUERIES, QUERIES), radii)


def query(real: AdaTraceTraits, synthetic: AdaTraceTraits) -> float:
    """Compare the numbers of trajectories through 200 circles of one size, by average relative error.

    A trajectory counts once in a circle if a point, or the line between two, comes within the radius, a third
    of the region's longer side. |real - synthetic| / max(real, 1 % of all real trajectories), averaged: from 0
    upward. Repaired: the radius does not depend on the name of the file, two points at the same place
    no longer hit every circle, and a single point can hit.
    """
    return circles_error(real, real.crossings, synthetic, synthetic.crossings, N_QUERIES)


def coverage(real: AdaTraceTraits, synthetic: AdaTraceTraits) -> float:
    """Compare the ranking of 15 x 15 cells by trajectories that visit them, by Kendall's tau-b.

    Steps to cells that do not touch are filled as a chess king goes. From -1 to 1, and 1 is best. Repaired: a
    tie counts the same on either side, neither for nor against, and the same ranking gets 1 even with ties.
    """
    counts, others = (bit_counts(x.visited, x.weights, COVERAGE_PER_SIDE**2) for x in (real, synthetic))
    return kendall_tau(counts, others)


def frequent_f1(real: AdaTraceTraits, synthetic: AdaTraceTraits) -> float:
    """Compare the lists of the 100 most frequent patterns of 2 to 8 cells, by their F1.

    On 6 x 6 cells, filled as above; every occurrence counts. Twice the patterns on both lists, over the lengths
    of both: from 0 to 1, and 1 is best. On ties the shorter pattern, then the smaller cells. Repaired: a
    trajectory that stays in a cell has no pattern, not that of a move from the cell to itself.
    """
    top, other = _top(real), _top(synthetic)
    n_listed = len(top.codes) + len(other.codes)
    return 2 * len(np.intersect1d(top.codes, other.codes)) / n_listed if n_listed else math.nan


def frequent_support(real: AdaTraceTraits, synthetic: AdaTraceTraits) -> float:
    """Compare the counts of the 100 most frequent real patterns, by average relative error.

    Patterns as above, |real - synthetic| / real, averaged: from 0 upward. Repaired: counts are scaled
    where the sets differ in size.
    """
    top = _top(real)
    others = pattern_counts(synthetic.paths, synthetic.weights, top.codes, LONGEST, CELLS_PER_SIDE**2)
    return relative_error(top.counts, scaled(others, synthetic, real), 1.0)


def _top(given: AdaTraceTraits) -> Patterns:
    return top_patterns(given.paths, given.weights, TOP, LONGEST, CELLS_PER_SIDE**2)


def trip(real: AdaTraceTraits, synthetic: AdaTraceTraits) -> float:
    """Compare pairs of first and last of 6 x 6 cells, by Jensen-Shannon divergence.

    Natural logarithm, from 0 to ln 2 = 0.693. Repaired: compared exactly, not through a noisy table.
    """
    return category_error((real.trips, real.weights), (synthetic.trips, synthetic.weights), CELLS_PER_SIDE**4)


def length_20(real: AdaTraceTraits, synthetic: AdaTraceTraits) -> float:
    """Compare the distributions of length in 20 bins, by Jensen-Shannon divergence.

    Lengths in meters, 20 equal bins from the real minimum to the real maximum; natural logarithm, from 0 to ln
    2 = 0.693. Repaired: bins begin at the minimum instead of 0, and what lies beyond an end is in the last bin
    there instead of being dropped.
    """
    return _distribution_error(real, synthetic, real.length_m, synthetic.length_m)


def diameter_20(real: AdaTraceTraits, synthetic: AdaTraceTraits) -> float:
    """Compare the distributions of diameter in 20 bins, by Jensen-Shannon divergence.

    Diameters in meters; bins, range and repair as for length_20.
    """
    return _distribution_error(real, synthetic, real.diameter_m, synthetic.diameter_m)


def _distribution_error(
    real: AdaTraceTraits, synthetic: AdaTraceTraits, values: Floats, other_values: Floats
) -> float:
    least = float(np.min(values[real.weights > 0], initial=np.inf))
    return distribution_error(
        (values, real.weights), (other_values, synthetic.weights), N_BINS, least if real.size else 0.0
    )


PROFILE = Profile(
    "adatrace",
    measuring,
    (
        Metric("query", query, "trips through circles, relative error"),
        Metric("coverage", coverage, "ranking of cells by visitors, Kendall's tau", 1.0, -1.0, 1.0),
        Metric("frequent_f1", frequent_f1, "top patterns, F1", 1.0, high=1.0),
        Metric("frequent_support", frequent_support, "counts of the top patterns, relative error"),
        Metric("trip", trip, "first and last cell, JSD", high=LN2),
        Metric("length_20", length_20, "trip length in 20 bins, JSD", high=LN2),
        Metric("diameter_20", diameter_20, "diameter in 20 bins, JSD", high=LN2),
    ),
)
