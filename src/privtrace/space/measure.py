"""Measure the number of trajectories and the density of a grid."""

from __future__ import annotations

from privtrace.privacy.crossing import Aside, Crossing, Table
from privtrace.privacy.unit import WEIGHT
from privtrace.space import kernels
from privtrace.space.grid import Grid
from privtrace.space.inside import tell_inside
from privtrace.space.region import Region
from privtrace.trajectories import Floats, Integers

_COUNTING = "Counting trajectories in the region"


def measure_count(crossing: Crossing, region: Region) -> float:
    """Count the trajectories with a point in the region; the noisy count is at least zero."""
    table = Table("count", "trajectories with a point in the region", (1,))
    aside = Aside(region.tally, tell_inside)
    (noisy,) = crossing.measure(_COUNTING, lambda part: [kernels.presence(part, region)], table, aside=aside)
    return float(max(noisy[0], 0)) / WEIGHT


def look_only(crossing: Crossing, region: Region) -> None:
    """Pass over a source for the curator's sake alone: nothing is measured and nothing returned."""
    crossing.measure(_COUNTING, lambda part: [], aside=Aside(region.tally, tell_inside))


def measure_density(crossing: Crossing, grid: Grid, stage: str = "density") -> Integers:
    """Count visits to each cell, each path weighing one in all; noisy, in weights, (n_cells,)."""
    table = Table(stage, "visits per cell, each trajectory weighing one in all", (grid.n_cells,))
    text = "Measuring where trajectories go"
    (noisy,) = crossing.measure(text, lambda part: [kernels.visits(grid.encode(part))], table)
    return noisy


def in_trajectories(noisy: Integers) -> Floats:
    """Turn noisy weights into trajectories; only after the noise."""
    return noisy / WEIGHT
