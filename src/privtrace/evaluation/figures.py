"""Hold what pictures of a comparison show: heat maps, curves, patterns, as shares of each set. NOT PRIVATE.

The figures are drawn from traits, in the pass that also measures the metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from privtrace.evaluation import mobility, paper
from privtrace.evaluation.compare import histogram, ragged_histogram
from privtrace.evaluation.frame import Frame
from privtrace.evaluation.measured import MeasuredSet
from privtrace.evaluation.metric import Profile
from privtrace.evaluation.patterns import pattern_cells, pattern_counts, top_patterns
from privtrace.evaluation.traits import Traits
from privtrace.geometry import ends_apart_m
from privtrace.paths import Paths
from privtrace.space.raster import passed
from privtrace.space.region import Region
from privtrace.trajectories import Floats, Trajectories

#: Cells per side of the heat maps, as in the paper's figure.
HEAT = 80
N_BINS = 40
N_PATTERNS = 10
#: Curves end where so much of the real data does; the rest is in their last bin.
_SHOWN = 0.995


class Curve(NamedTuple):
    """Hold the distributions of one trait in both sets."""

    edges_m: Floats  # (n + 1,): the last bin also holds all beyond it
    real: Floats  # (n,): shares of the trajectories
    synthetic: Floats
    medians_m: tuple[float, float]  # NaN of an empty set


class Pattern(NamedTuple):
    """Hold how often one run of cells occurs, for each trajectory."""

    cells: tuple[int, ...]  # of 20 x 20, from south to north, west to east
    real: float
    synthetic: float


@dataclass(frozen=True, eq=False)
class Figures:
    """Hold what is drawn of two sets. NOT PRIVATE."""

    region: Region
    heat: tuple[Floats, Floats]  # real and synthetic, (80, 80), north up: shares of trajectories that pass
    curves: Mapping[str, Curve]  # length, diameter and distance between the ends
    pairs: tuple[Floats, Floats]  # shares of trips between pairs of 8 x 8 zones, the really frequent first
    patterns: tuple[Pattern, ...]  # the most frequent in the real set

    @classmethod
    def of(cls, frame: Frame, real: MeasuredSet, synthetic: MeasuredSet) -> Figures:
        """Draw all figures from the traits of two sets."""
        both: tuple[Mapping[str, Any], ...] = real.traits, synthetic.traits
        lengths, diameters = (
            [getattr(x["paper"], f"{name}_m") for x in both] for name in ("length", "diameter")
        )
        apart = [_drawn(x).apart_m for x in both]
        real_heat, synthetic_heat = (_heat(_drawn(x)) for x in both)
        return cls(
            frame.region,
            (real_heat, synthetic_heat),
            {
                "length": _curve(*lengths),
                "diameter": _curve(*diameters),
                "apart": _curve(*apart),
            },
            _pairs(*(x["mobility"] for x in both)),
            _patterns(*(x["paper"] for x in both)),
        )


@dataclass(frozen=True, eq=False)
class DrawnTraits(Traits):
    """Hold what only figures look at."""

    apart_m: Floats  # (n,): from the first point to the last
    passed: Paths  # the cells of 80 x 80 that the line passes, each once, from the northwest in rows


def measuring(frame: Frame) -> Callable[[Trajectories], DrawnTraits]:
    """Return what measures the traits of a clipped part."""
    box = Region.box(0.0, 0.0, frame.region.width_m, frame.region.height_m, crs="planar")

    def measure(runs: Trajectories) -> DrawnTraits:
        return DrawnTraits.of(
            runs,
            apart_m=ends_apart_m(runs.points, runs.offsets),
            passed=passed(runs, box.area, HEAT, HEAT),
        )

    return measure


DRAWN = Profile("figures", measuring, ())

#: The profiles whose traits figures are drawn from.
NEEDED = (paper.PROFILE, mobility.PROFILE, DRAWN)


def _drawn(traits: Mapping[str, Any]) -> DrawnTraits:
    drawn = traits[DRAWN.name]
    assert isinstance(drawn, DrawnTraits)
    return drawn


def _heat(given: DrawnTraits) -> Floats:
    counts = ragged_histogram(given.passed.cells, given.passed.offsets, given.weights, HEAT**2)
    shares: Floats = counts.reshape(HEAT, HEAT) / max(given.size, 1)
    return shares


def _curve(real: Floats, synthetic: Floats) -> Curve:
    high = float(np.quantile(real, _SHOWN)) if len(real) else 0.0
    high = high or float(np.max(synthetic, initial=1.0))  # where nothing real moves
    counts = [
        histogram(values, np.ones(len(values), np.int64), N_BINS, 0.0, high) for values in (real, synthetic)
    ]
    shares = [count / max(int(count.sum()), 1) for count in counts]
    medians = [float(np.median(values)) if len(values) else np.nan for values in (real, synthetic)]
    return Curve(np.linspace(0.0, high, N_BINS + 1), shares[0], shares[1], (medians[0], medians[1]))


def _pairs(real: mobility.MobilityTraits, synthetic: mobility.MobilityTraits) -> tuple[Floats, Floats]:
    """Share trips out to pairs of zones, the most frequent real ones first; those that nobody goes last."""
    size = mobility.ZONES_PER_SIDE**4
    counts = [np.bincount(given.trips, given.weights, size) for given in (real, synthetic)]
    order = np.lexsort((-counts[1], -counts[0]))
    order = order[(counts[0] + counts[1])[order] > 0]
    shares = [count[order] / max(given.size, 1) for count, given in zip(counts, (real, synthetic), strict=True)]
    return shares[0], shares[1]


def _patterns(real: paper.PaperTraits, synthetic: paper.PaperTraits) -> tuple[Pattern, ...]:
    n_cells = paper.CELLS_PER_SIDE**2
    top = top_patterns(real.paths, real.weights, N_PATTERNS, paper.LONGEST, n_cells)
    others = pattern_counts(synthetic.paths, synthetic.weights, top.codes, paper.LONGEST, n_cells)
    shares: list[list[float]] = [
        (counts / max(given.size, 1)).tolist() for counts, given in ((top.counts, real), (others, synthetic))
    ]
    cells = (pattern_cells(code, n_cells) for code in top.codes.tolist())
    return tuple(Pattern(*row) for row in zip(cells, *shares, strict=True))
