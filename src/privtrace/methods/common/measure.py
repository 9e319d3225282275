"""Measure the number of trajectories and the density of a grid."""

from __future__ import annotations

from privtrace.methods.common import counts
from privtrace.privacy.crossing import Aside, Counting, Crossing, Table
from privtrace.privacy.unit import WEIGHT
from privtrace.space.grid import Grid
from privtrace.space.inside import tell_inside
from privtrace.space.region import Region
from privtrace.trajectories import Floats, Integers


def presence(region: Region, public: int | None) -> Counting:
    """Count the trajectories with a point in the region, for the curator alone where their number is public."""
    table = Table("count", "trajectories with a point in the region", (1,))
    aside = Aside(region.tally, tell_inside)
    if public is not None:
        return Counting(lambda part: [], (), aside)
    return Counting(lambda part: [counts.presence(part, region)], (table,), aside)


def measure_count(crossing: Crossing, region: Region, public: int | None) -> float:
    """Count the trajectories with a point in the region, at least zero, unless their number is public."""
    present = crossing.present
    if present is None:
        (present,) = crossing.count("Counting trajectories in the region", presence(region, public))
    if public is not None:
        return float(public)
    return float(max(crossing.release(present[0])[0], 0)) / WEIGHT


def measure_density(crossing: Crossing, grid: Grid, stage: str = "density") -> Integers:
    """Count visits to each cell, with a total weight of one per path; noisy, in weights, (n_cells,)."""
    table = Table(stage, "visits per cell, with a total weight of one per trajectory", (grid.n_cells,))
    text = "Measuring where trajectories go"
    return crossing.measure(text, lambda part: counts.visits(grid.encode(part)), table)


def in_trajectories(noisy: Integers) -> Floats:
    """Turn noisy weights into trajectories; only after the noise."""
    return noisy / WEIGHT
