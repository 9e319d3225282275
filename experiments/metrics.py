"""Measure how far synthetic trajectories are from real ones, by the paper's four metrics.

They read real data and are NOT PRIVATE at any epsilon. Only for public data or data at hand for tests.
"""

from __future__ import annotations

import numpy as np
from numba import njit

import privtrace as pt
from privtrace.paths import Paths
from privtrace.space.grid import Grid
from privtrace.space.lattice import longest_run


def errors(real: pt.Trajectories, synthetic: pt.Trajectories, region: pt.Region) -> dict[str, float]:
    """Compare length, diameter, density and patterns; 0 is best. Both sets are clipped to the region."""
    real, synthetic = clip(real, region), clip(synthetic, region)
    scale = np.array(region.scale_m)
    return {
        "length": _histogram_error(_lengths(real, scale), _lengths(synthetic, scale)),
        "diameter": _histogram_error(
            _diameters(real.points * scale, real.offsets),
            _diameters(synthetic.points * scale, synthetic.offsets),
        ),
        "density": _density_error(real, synthetic, region),
        "pattern": _pattern_error(real, synthetic, region),
    }


def clip(given: pt.Trajectories, region: pt.Region) -> pt.Trajectories:
    """Keep each trajectory's longest run in the region; drop those that have none."""
    keep, offsets = _clip(given.points, given.offsets, Grid.uniform(region, 1).lattice)
    return pt.Trajectories(given.points[keep], offsets, crs=given.crs)


@njit(cache=True)
def _clip(points, offsets, lattice):  # type: ignore[no-untyped-def]
    keep = np.zeros(len(points), np.bool_)
    kept_offsets = [0]
    for t in range(len(offsets) - 1):
        start, stop = longest_run(points, offsets[t], offsets[t + 1], lattice)
        for p in range(start, stop):
            keep[p] = np.isfinite(points[p, 0]) and np.isfinite(points[p, 1])
        if stop > start:
            kept_offsets.append(kept_offsets[-1] + keep[start:stop].sum())
    return keep, np.array(kept_offsets)


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    """Compute the Jensen-Shannon divergence of two histograms, with the natural logarithm."""
    p, q = p / max(p.sum(), 1), q / max(q.sum(), 1)
    middle = (p + q) / 2

    def entropy(x: np.ndarray) -> float:
        return -float(np.sum(x[x > 0] * np.log(x[x > 0])))

    return entropy(middle) - (entropy(p) + entropy(q)) / 2


def _histogram_error(real: np.ndarray, synthetic: np.ndarray) -> float:
    """Compare 50 equal bins from 0 to the real maximum; what is above falls in the last."""
    edges = np.linspace(0, real.max(), 51)
    return divergence(*(np.histogram(np.minimum(x, real.max()), edges)[0] for x in (real, synthetic)))


def _lengths(given: pt.Trajectories, scale: np.ndarray) -> np.ndarray:
    steps = np.hypot(*np.diff(given.points * scale, axis=0, append=np.nan).T)
    steps[given.offsets[1:] - 1] = 0
    return np.add.reduceat(steps, given.offsets[:-1])


@njit(cache=True)
def _diameters(points, offsets):  # type: ignore[no-untyped-def]
    diameters = np.zeros(len(offsets) - 1)
    for t in range(len(offsets) - 1):
        best = 0.0
        for a in range(offsets[t], offsets[t + 1]):
            for b in range(offsets[t], a):
                dx, dy = points[a, 0] - points[b, 0], points[a, 1] - points[b, 1]
                best = max(best, dx * dx + dy * dy)
        diameters[t] = np.sqrt(best)
    return diameters


def _density_error(real: pt.Trajectories, synthetic: pt.Trajectories, region: pt.Region) -> float:
    """Ask 500 random circles how many trajectories have a point inside; mean relative error."""
    rng = np.random.default_rng(1)
    scale = np.array(region.scale_m)
    side = min(region.width_m, region.height_m)
    centers = rng.uniform(region.sides[:2], region.sides[2:], (500, 2)) * scale
    radii = rng.uniform(0.01, 0.25, 500) * side
    hits = [_hits(x.points * scale, x.offsets, centers, radii) for x in (real, synthetic)]
    expected = hits[1] * (len(real) / max(len(synthetic), 1))
    return float(np.mean(np.abs(hits[0] - expected) / np.maximum(hits[0], 0.01 * len(real))))


@njit(cache=True)
def _hits(points, offsets, centers, radii):  # type: ignore[no-untyped-def]
    hits = np.zeros(len(centers))
    for c in range(len(centers)):
        reach = radii[c] ** 2
        for t in range(len(offsets) - 1):
            for p in range(offsets[t], offsets[t + 1]):
                if (points[p, 0] - centers[c, 0]) ** 2 + (points[p, 1] - centers[c, 1]) ** 2 <= reach:
                    hits[c] += 1
                    break
    return hits


def _pattern_error(real: pt.Trajectories, synthetic: pt.Trajectories, region: pt.Region) -> float:
    """Compare the counts of the real data's 200 most frequent patterns of 2 to 5 cells on 20 x 20."""
    grid = Grid.uniform(region, 20)
    (codes, counts), (other, other_counts) = (_patterns(grid.encode(x)) for x in (real, synthetic))
    top = np.lexsort((codes, -counts))[:200]
    place = np.minimum(np.searchsorted(other, codes[top]), max(len(other) - 1, 0))
    found = np.where(other[place] == codes[top], other_counts[place], 0) if len(other) else np.zeros(len(top))
    expected = found * (len(real) / max(len(synthetic), 1))
    return float(np.mean(np.abs(counts[top] - expected) / counts[top]))


def _patterns(paths: Paths) -> tuple[np.ndarray, np.ndarray]:
    """Count runs of 2 to 5 cells, coded in base 401 so that lengths do not mix."""
    cells = paths.cells.astype(np.int64) + 1
    owner = np.repeat(np.arange(len(paths)), np.diff(paths.offsets))
    codes, code = [], cells
    for length in range(2, 6):
        code = code[:-1] * 401 + cells[length - 1 :]
        codes.append(code[owner[: len(code)] == owner[length - 1 :]])
    return np.unique(np.concatenate(codes), return_counts=True)
