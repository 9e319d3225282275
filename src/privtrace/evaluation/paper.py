"""The metrics of PrivTrace's paper: its appendix "Details of Evaluation Metrics", and "Impact on Subgroups".

Both sets are clipped to the region before. Where they differ in size, synthetic counts are scaled to the real
size.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from privtrace.evaluation.circles import Circles, circles_error
from privtrace.evaluation.compare import distribution_error, relative_error
from privtrace.evaluation.frame import CIRCLES, Clipped, Frame
from privtrace.evaluation.metric import LN2, Metric, Profile
from privtrace.evaluation.patterns import pattern_counts, top_patterns
from privtrace.evaluation.squares import paths_on
from privtrace.evaluation.traits import Bits, Traits, scaled
from privtrace.paths import Paths
from privtrace.trajectories import Floats

N_BINS = 50
N_CIRCLES = 500
RADII = (0.01, 0.25)  # of the region's shorter side
CELLS_PER_SIDE = 20
LONGEST = 5
TOP = 200


@dataclass(frozen=True, eq=False)
class PaperTraits(Traits):
    """Hold what the paper's metrics look at."""

    length_m: Floats  # (n,)
    diameter_m: Floats  # (n,)
    hits: Bits  # (n, n_words): a bit for each circle that holds a point
    paths: Paths  # on 20 x 20 cells


def measuring(frame: Frame) -> Callable[[Clipped], PaperTraits]:
    """Draw the circles, and return what measures the traits of a clipped part."""
    circles = draw_circles(frame)

    def measure(runs: Clipped) -> PaperTraits:
        return PaperTraits.of(
            runs,
            length_m=runs.length_m,
            diameter_m=runs.diameter_m,
            hits=runs.once("hits", lambda: circles.hits(runs)),
            paths=runs.once("paths", lambda: paths_on(runs, frame, CELLS_PER_SIDE)),
        )

    return measure


def draw_circles(frame: Frame) -> Circles:
    """Draw 500 circles: center uniform in the region, radius uniform from 1 % to 25 % of its shorter side."""
    centers = frame.centers_m(N_CIRCLES, CIRCLES)
    least, most = (share * frame.region.shorter_side_m for share in RADII)
    radii = least + (most - least) * frame.draw(N_CIRCLES, CIRCLES)[:, 0]
    return Circles.over(frame.region, centers, radii)


def length(real: PaperTraits, synthetic: PaperTraits) -> float:
    """Compare the distributions of length, by Jensen-Shannon divergence.

    The length of a trajectory is the sum of the distances between consecutive points, in meters; 0 for a single
    point. 50 equal bins from 0 to the real maximum, longer ones in the last. Natural logarithm: from 0 (the
    same) to ln 2 = 0.693 (nothing in common).
    """
    return distribution_error((real.length_m, real.weights), (synthetic.length_m, synthetic.weights), N_BINS)


def diameter(real: PaperTraits, synthetic: PaperTraits) -> float:
    """Compare the distributions of diameter, by Jensen-Shannon divergence.

    The diameter of a trajectory is the greatest distance between any two of its points, in meters. Bins and
    range as for length.
    """
    return distribution_error(
        (real.diameter_m, real.weights), (synthetic.diameter_m, synthetic.weights), N_BINS
    )


def density(real: PaperTraits, synthetic: PaperTraits) -> float:
    """Compare the numbers of trajectories in 500 random circles, by average relative error.

    A trajectory counts once in a circle if any of its points is inside. Centers are uniform in the region,
    radii uniform from 1 % to 25 % of its shorter side. |real - synthetic| / max(real, 1 % of all real
    trajectories), averaged: from 0 (the same) upward; no trajectories at all give at most 1.
    """
    return circles_error(real, real.hits, synthetic, synthetic.hits, N_CIRCLES)


def pattern(real: PaperTraits, synthetic: PaperTraits) -> float:
    """Compare the counts of the 200 most frequent patterns of 2 to 5 cells, by average relative error.

    On 20 x 20 equal cells of the region's box, consecutive points in one cell being one visit; patterns are
    runs of consecutive visits, every occurrence counting, the most frequent those of the real data. |real -
    synthetic| / real, averaged: from 0 (the same) upward; a set without any of them gets 1. Not
    defined where no real trajectory leaves its cell.
    """
    n_cells = CELLS_PER_SIDE**2
    top = top_patterns(real.paths, real.weights, TOP, LONGEST, n_cells)
    others = pattern_counts(synthetic.paths, synthetic.weights, top.codes, LONGEST, n_cells)
    return relative_error(top.counts, scaled(others, synthetic, real), 1.0)


def short_length_share(real: PaperTraits, synthetic: PaperTraits) -> float:
    """Give the share of synthetic trajectories no longer than the real median.

    From 0 to 1, and 0.5 is best: below, short trajectories are lost, above, long ones. Where many real ones
    have the very median length (single points have 0), their own share is above 0.5.
    """
    return _share_up_to_median(real, synthetic, real.length_m, synthetic.length_m)


def short_diameter_share(real: PaperTraits, synthetic: PaperTraits) -> float:
    """Give the share of synthetic trajectories with a diameter up to the real median.

    From 0 to 1, and 0.5 is best, as for lengths.
    """
    return _share_up_to_median(real, synthetic, real.diameter_m, synthetic.diameter_m)


def _share_up_to_median(real: PaperTraits, synthetic: PaperTraits, values: Floats, others: Floats) -> float:
    if not real.size or not synthetic.size:
        return math.nan
    return int(synthetic.weights[others <= median(values, real)].sum()) / synthetic.size


def median(values: Floats, given: Traits) -> float:
    """Find the median of what counts; the mean of the two in the middle where their number is even."""
    return float(np.median(np.repeat(values, given.weights)))


def density_short(real: PaperTraits, synthetic: PaperTraits) -> float:
    """Compare the density of trajectories up to the real median length.

    The short real ones against the short synthetic ones, both by the real median; of the larger group a random
    sample as large as the smaller. Unit and range as for density.
    """
    return density(*_group(real, synthetic, short=True))


def density_long(real: PaperTraits, synthetic: PaperTraits) -> float:
    """Compare the density of trajectories above the real median length.

    Groups, unit and range as for density_short.
    """
    return density(*_group(real, synthetic, short=False))


def pattern_short(real: PaperTraits, synthetic: PaperTraits) -> float:
    """Compare the patterns of trajectories up to the real median length.

    Groups as for density_short, unit and range as for pattern.
    """
    return pattern(*_group(real, synthetic, short=True))


def pattern_long(real: PaperTraits, synthetic: PaperTraits) -> float:
    """Compare the patterns of trajectories above the real median length.

    Groups as for density_short, unit and range as for pattern.
    """
    return pattern(*_group(real, synthetic, short=False))


def _group(real: PaperTraits, synthetic: PaperTraits, *, short: bool) -> tuple[PaperTraits, PaperTraits]:
    """Take the short or the long of both sets, equal in number unless one of them has none."""
    if not real.size:
        return real, synthetic
    most = median(real.length_m, real)
    real, synthetic = (given.only((given.length_m <= most) == short) for given in (real, synthetic))
    size = min(real.size, synthetic.size)
    return (real.drawn(size), synthetic.drawn(size)) if size else (real, synthetic)


PROFILE = Profile(
    "paper",
    measuring,
    (
        Metric("length", length, "trip length, JSD", high=LN2),
        Metric("diameter", diameter, "diameter, JSD", high=LN2),
        Metric("density", density, "trips through random circles, relative error"),
        Metric("pattern", pattern, "top patterns of cells, relative error"),
        Metric(
            "short_length_share",
            short_length_share,
            "share of synthetic trips below the real median length",
            0.5,
            high=1.0,
        ),
        Metric(
            "short_diameter_share",
            short_diameter_share,
            "share of synthetic trips below the real median diameter",
            0.5,
            high=1.0,
        ),
        Metric("density_short", density_short, "density of the shorter half, relative error"),
        Metric("density_long", density_long, "density of the longer half, relative error"),
        Metric("pattern_short", pattern_short, "patterns of the shorter half, relative error"),
        Metric("pattern_long", pattern_long, "patterns of the longer half, relative error"),
    ),
)
