"""Measure the number of trajectories and the density of a grid. A crossing: exact counts in, noisy ones out."""

from __future__ import annotations

from fractions import Fraction

from privtrace.backends.scan import Scan
from privtrace.counts import evenly
from privtrace.observer import Observer
from privtrace.paths import Paths
from privtrace.privacy.ledger import Ledger
from privtrace.privacy.unit import WEIGHT
from privtrace.space.grid import Grid
from privtrace.space.region import Region
from privtrace.trajectories import Floats, Integers


def measure_count(scan: Scan, region: Region, ledger: Ledger, epsilon: Fraction) -> float:
    """Count the trajectories with a point in the region; the noisy count is at least zero."""
    tally = _tally(scan, region)
    counts = tally[1:2] * WEIGHT  # a unit adds one weight for each of its trajectories
    noisy = ledger.laplace(
        counts,
        stage="count",
        statistic="trajectories with a point in the region",
        sensitivity=ledger.unit.sensitivity,
        epsilon=epsilon,
    )
    return float(max(noisy[0], 0)) / WEIGHT


def measure_density(
    scan: Scan, grid: Grid, ledger: Ledger, epsilon: Fraction, *, stage: str = "density"
) -> Integers:
    """Count visits to each cell, each path weighing one in all; noisy, in weights, (n_cells,)."""
    counts = scan.total(
        lambda part: visit_counts(grid.encode(part), grid.n_cells),
        "Measuring where trajectories go",
        grid.n_cells,
    )
    return ledger.laplace(
        counts,
        stage=stage,
        statistic="visits per cell, each trajectory weighing one in all",
        sensitivity=ledger.unit.sensitivity,
        epsilon=epsilon,
    )


def tell_curator(scan: Scan, region: Region) -> None:
    """Look at a source for the curator's sake alone: nothing is measured and nothing returned."""
    _tally(scan, region)


def _tally(scan: Scan, region: Region) -> Integers:
    """Count exactly over a source what `Region.tally` counts, and tell the curator, who alone may know."""
    tally = scan.total(region.tally, "Counting trajectories in the region", 6)
    _note(tally, scan.observer)
    return tally


def _note(tally: Integers, observer: Observer) -> None:
    """Put a tally in words for the curator, loudly where nothing is usable or the axes seem to be swapped."""
    n_trajectories, n_inside, inside, outside, bad, swapped = (int(number) for number in tally)
    n_points = inside + outside + bad
    if n_inside == 0:
        observer.nothing_usable()
    seems_swapped = swapped > inside and 2 * inside < n_points
    if seems_swapped:
        observer.note(
            f"{inside:,} of {n_points:,} points lie in the region, and {swapped:,} would if x and y changed "
            "places; are longitude and latitude swapped, in the data or in the region?",
            loud=True,
        )
    elif n_points == 0:
        observer.note("there are no rows in the data; check that the file was written to its end", loud=True)
        return
    elif n_inside == 0:
        observer.note(
            f"0 of {n_points:,} points are usable ({outside:,} are outside the region, {bad:,} are no points "
            "at all); is it the right region, in the data's coordinates, or are longitude and latitude "
            "swapped?",
            loud=True,
        )
        return
    observer.note(
        f"{n_inside:,} of {n_trajectories:,} trajectories and {inside:,} of {n_points:,} points lie in the "
        f"region; {outside:,} points are outside, and {bad:,} are not usable and were dropped"
    )


def visit_counts(paths: Paths, n_cells: int) -> Integers:
    """Count visits, floor(2**20 / visits) each; so a path adds at most 2**20 in all."""
    return evenly(paths.cells, paths.offsets, n_cells, 0, WEIGHT)  # type: ignore[no-any-return]


def in_trajectories(noisy: Integers) -> Floats:
    """Turn noisy weights into trajectories; only after the noise."""
    return noisy / WEIGHT
