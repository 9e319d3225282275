"""Measure the number of trajectories and the density of a grid."""

from __future__ import annotations

from privtrace.methods.common import counts
from privtrace.privacy.crossing import Aside, Crossing, Table
from privtrace.privacy.unit import WEIGHT
from privtrace.space.grid import Grid
from privtrace.space.inside import tell_inside
from privtrace.space.region import Region
from privtrace.trajectories import Floats, Integers


def measure_count(crossing: Crossing, region: Region, public: int | None) -> float:
    """Count the trajectories with a point in the region, at least zero, unless their number is public."""
    text, aside = "Counting trajectories in the region", Aside(region.tally, tell_inside)
    if public is not None:
        crossing.measure_together(text, lambda part: [], aside=aside)  # for the curator's eyes alone
        return float(public)
    table = Table("count", "trajectories with a point in the region", (1,))
    noisy = crossing.measure(text, lambda part: counts.presence(part, region), table, aside)
    return float(max(noisy[0], 0)) / WEIGHT


def measure_density(crossing: Crossing, grid: Grid, stage: str = "density") -> Integers:
    """Count visits to each cell, with a total weight of one per path; noisy, in weights, (n_cells,)."""
    table = Table(stage, "visits per cell, with a total weight of one per trajectory", (grid.n_cells,))
    text = "Measuring where trajectories go"
    return crossing.measure(text, lambda part: counts.visits(grid.encode(part)), table)


def in_trajectories(noisy: Integers) -> Floats:
    """Turn noisy weights into trajectories; only after the noise."""
    return noisy / WEIGHT
