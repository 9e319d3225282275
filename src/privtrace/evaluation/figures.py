"""Hold what pictures of a comparison show: heat maps, curves, patterns, as shares of each set. NOT PRIVATE.

The figures are drawn from traits, in the pass that also measures the metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from privtrace.backends.base import Backend
from privtrace.evaluation import mobility, octaves, paper, time
from privtrace.evaluation.compare import Whole, histogram, ragged_histogram
from privtrace.evaluation.frame import Clipped, Frame
from privtrace.evaluation.measured import MeasuredSet
from privtrace.evaluation.metric import Profile
from privtrace.evaluation.patterns import pattern_cells, pattern_counts, top_patterns
from privtrace.evaluation.traits import Binned, Summed, Traits
from privtrace.paths import n_passing
from privtrace.space.grid import Grid
from privtrace.space.region import Region
from privtrace.space.traverse import trace
from privtrace.timing.bins import HOURS, N_PARTS
from privtrace.trajectories import Floats, Integers

#: Cells per side of the heat maps, as in the paper's figure.
HEAT = 80
N_BINS = 40
N_PATTERNS = 10
_N_CELLS = paper.CELLS_PER_SIDE**2
#: Curves end where so much of the real data does; the rest is in their last bin.
_SHOWN = 0.995


class Curve(NamedTuple):
    """Hold the distributions of one trait in both sets."""

    edges_m: Floats  # (n + 1,): the last bin also holds all beyond it
    real: Floats  # (n,): shares of the trajectories
    synthetic: Floats
    medians_m: tuple[float, float]  # NaN of an empty set


class SpreadPair(NamedTuple):
    """Hold the distributions of one trait in both sets, in half octaves.

    The first bin also holds all below it, and the last all beyond. Where anything is zero, a bin of its own
    comes before them: the first bound is 0 then.
    """

    bounds: Floats  # (n + 1,): in seconds, meters and the like
    real: Floats  # (n,): shares
    synthetic: Floats
    medians: tuple[float, float]  # of trajectories, or where they have several, of what is spread over bins


class Clock(NamedTuple):
    """Hold when trips depart, in both sets, and where they are then; the first is real."""

    zone: str  # whose hours these are
    week: tuple[Floats, Floats]  # (168,): shares of departures, from Monday at midnight
    parts: tuple[Floats, Floats]  # (6, 20, 20), north up: visits to cells by part of the day, for each trip


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
    spreads: Mapping[str, SpreadPair]  # jump and points; with times in both also duration, speed, interval
    clock: Clock | None  # where both sets have times

    @classmethod
    def of(cls, frame: Frame, real: MeasuredSet, synthetic: MeasuredSet, backend: Backend) -> Figures:
        """Draw all figures from the traits of two sets, side by side on the backend."""
        both: tuple[Mapping[str, Any], ...] = real.traits, synthetic.traits
        papers, drawn = [x["paper"] for x in both], [_drawn(x) for x in both]
        with_times = real.has_times and synthetic.has_times
        drawing: list[Callable[[], Any]] = [
            lambda: _patterns(*papers),
            lambda: _spreads(*(x["time"] for x in both), with_times=with_times),
            lambda: _clock(frame, both) if with_times else None,
            lambda: _curve(*(x.length_m for x in papers)),
            lambda: _curve(*(x.diameter_m for x in papers)),
            lambda: _curve(*(x.apart_m for x in drawn)),
            lambda: _pairs(*(x["mobility"] for x in both)),
        ]
        patterns, spreads, clock, length, diameter, apart, pairs = backend.map(lambda draw: draw(), drawing)
        curves = {"length": length, "diameter": diameter, "apart": apart}
        heat = _heat(drawn[0]), _heat(drawn[1])
        return cls(frame.region, heat, curves, pairs, patterns, spreads, clock)


@dataclass(frozen=True, eq=False)
class DrawnTraits(Traits):
    """Hold what only figures look at."""

    apart_m: Floats  # (n,): from the first point to the last
    heat: Summed  # how many lines pass each of 80 x 80 cells, from the northwest in rows


def measuring(frame: Frame) -> Callable[[Clipped], DrawnTraits]:
    """Return what measures the traits of a clipped part."""
    box = Region.box(0.0, 0.0, frame.region.width_m, frame.region.height_m, crs="planar")
    pixels = Grid.uniform(box, HEAT)

    def measure(runs: Clipped) -> DrawnTraits:
        return DrawnTraits.of(
            runs,
            apart_m=runs.apart_m,
            heat=Summed(n_passing(trace(runs, pixels), HEAT**2).reshape(HEAT, HEAT)[::-1].ravel()),
        )

    return measure


DRAWN = Profile("figures", measuring, ())

#: The profiles whose traits figures are drawn from.
NEEDED = (paper.PROFILE, mobility.PROFILE, time.PROFILE, DRAWN)


def _drawn(traits: Mapping[str, Any]) -> DrawnTraits:
    drawn = traits[DRAWN.name]
    assert isinstance(drawn, DrawnTraits)
    return drawn


def _heat(given: DrawnTraits) -> Floats:
    shares: Floats = given.heat.counts.reshape(HEAT, HEAT) / max(given.size, 1)
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
    n_cells = _N_CELLS
    top = top_patterns(real.paths, real.weights, N_PATTERNS, paper.LONGEST, n_cells)
    others = pattern_counts(synthetic.paths, synthetic.weights, top.codes, paper.LONGEST, n_cells)
    shares: list[list[float]] = [
        (counts / max(given.size, 1)).tolist() for counts, given in ((top.counts, real), (others, synthetic))
    ]
    cells = (pattern_cells(code, n_cells) for code in top.codes.tolist())
    return tuple(Pattern(*row) for row in zip(cells, *shares, strict=True))


def _spreads(real: time.TimeTraits, synthetic: time.TimeTraits, *, with_times: bool) -> dict[str, SpreadPair]:
    both = real, synthetic
    spreads = {
        "jump": _spread_over([x.jumps for x in both], both),
        "points": _spread_of([x.n_points for x in both], both),
    }
    if with_times:
        timed = {
            "duration": _spread_of([x.duration_s for x in both], both),
            "speed": _spread_of([x.speed for x in both], both),
            "interval": _spread_over([x.intervals for x in both], both),
        }
        spreads = timed | spreads
    return spreads


def _spread_of(sizes: Sequence[Floats | Whole], both: Sequence[Traits]) -> SpreadPair:
    """Count one size of each trajectory."""
    counts = [octaves.histogram(own, given.weights) for own, given in zip(sizes, both, strict=True)]
    there = [own[~np.isnan(own)] for own in sizes]
    medians = [float(np.median(own)) if len(own) else np.nan for own in there]
    return _spread(counts[0], counts[1], (medians[0], medians[1]))


def _spread_over(gaps: Sequence[Binned], both: Sequence[Traits]) -> SpreadPair:
    """Count the gaps of each trajectory, which together weigh one."""
    counts: list[Floats] = [
        octaves.spread_histogram(own.bins, own.offsets, given.weights)
        for own, given in zip(gaps, both, strict=True)
    ]
    medians = [_middle(own) for own in counts]
    return _spread(counts[0], counts[1], (medians[0], medians[1]))


def _middle(counts: Floats) -> float:
    """Find the middle of the bin that the median is in, by ratio; that of no gaps is NaN."""
    if not counts.any():
        return np.nan
    at = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))
    low, high = octaves.BOUNDS[[at, at + 1]].tolist()
    return float(np.sqrt(low * high)) if at else 0.0


def _spread(real: Floats | Integers, synthetic: Floats | Integers, medians: tuple[float, float]) -> SpreadPair:
    """Take shares, and gather the tails in the first and the last bin that are shown."""
    shares = [counts / max(float(counts.sum()), 1e-12) for counts in (real, synthetic)]
    bins = octaves.shown_bins(np.maximum(shares[0], shares[1]), after=1)
    bounds = octaves.BOUNDS[bins.start : bins.stop + 1]
    shown = []
    for own in shares:
        within = own[bins].copy()
        within[0] += own[1 : bins.start].sum()
        within[-1] += own[bins.stop :].sum()
        shown.append(within)
    if shares[0][0] + shares[1][0] > 0:
        bounds = np.append(0.0, bounds)
        shown = [np.append(own[0], within) for own, within in zip(shares, shown, strict=True)]
    return SpreadPair(bounds, shown[0], shown[1], medians)


def _clock(frame: Frame, both: Sequence[Mapping[str, Any]]) -> Clock:
    weeks, parts = [], []
    for traits in both:
        timed, paths = traits["time"], traits["paper"].paths
        departs = timed.hour >= 0
        n_departures = max(int(timed.weights[departs].sum()), 1)
        weeks.append(np.bincount(timed.hour[departs], timed.weights[departs], HOURS) / n_departures)
        visits = [
            ragged_histogram(paths.cells, paths.offsets, timed.weights * (timed.part == part), _N_CELLS)
            for part in range(N_PARTS)
        ]
        shape = (N_PARTS, paper.CELLS_PER_SIDE, paper.CELLS_PER_SIDE)
        parts.append(np.reshape(visits, shape)[:, ::-1] / n_departures)
    return Clock(frame.zone, (weeks[0], weeks[1]), (parts[0], parts[1]))
