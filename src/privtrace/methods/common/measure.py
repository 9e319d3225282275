"""Measure the number of trajectories and the density of a grid."""

from __future__ import annotations

from privtrace.methods.common import counts
from privtrace.privacy.crossing import Aside, Crossing, Kernels, Table
from privtrace.privacy.unit import WEIGHT
from privtrace.space.area import Tally
from privtrace.space.grid import Grid
from privtrace.space.inside import tell_inside
from privtrace.space.region import Region
from privtrace.trajectories import Floats, Integers


def presence(region: Region) -> tuple[Kernels, tuple[Table], Aside]:
    """Say how to count the trajectories with a point in the region, and what to tell the curator of them."""
    table = Table("count", "trips with a point in the region", (1,))
    aside = Aside(region.tally, len(Tally._fields), tell_inside)
    return lambda runs: [counts.presence(runs)], (table,), aside


def measure_count(crossing: Crossing, region: Region, public: int | None) -> float:
    """Count the trajectories with a point in the region, at least zero, unless their number is public."""
    text = "Counting trips in the region"
    (counted,) = crossing.present or crossing.count(text, *presence(region))
    return float(max(crossing.noisy(counted)[0], 0)) / WEIGHT if public is None else float(public)


def measure_density(crossing: Crossing, grid: Grid, stage: str = "density") -> Integers:
    """Count visits to each cell, with a total weight of one per path; noisy, in weights, (n_cells,)."""
    table = Table(stage, "visits per cell, where every trip contributes a total weight of 1", (grid.n_cells,))
    text = "Measuring where trips go"
    return crossing.measure(text, lambda runs: counts.visits(grid.encode(runs)), table)


def in_trajectories(noisy: Integers) -> Floats:
    """Turn noisy weights into trajectories; only after the noise."""
    return noisy / WEIGHT
