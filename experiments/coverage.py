"""Check the bounds of exported numbers: which share of true numbers lies between them, on public data sets.

    python -m experiments.coverage [--methods bridgetrace] [--runs 3] [--data porto,geolife,brinkhoff]
        [--epsilons 0.5,1,2] > table.md

Zones are the model's own coarse cells, and districts that cut cells, around places that are drawn evenly: as
many as a region has coarse cells, and few large ones. A number counts where the export has a row for it that
is not 0, or where the true number is not 0; large ones are above 50 trips, by the export.

Reads real data: NOT PRIVATE.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import shapely

import privtrace as pt
from experiments.data import METHODS, arguments, load
from experiments.lines import real_lines
from privtrace.methods.counting import (
    SLOTS,
    CellPlaces,
    Counter,
    Departures,
    Ends,
    Numbers,
    Pairs,
    Passing,
    Places,
    ZonePlaces,
    counted,
)
from privtrace.methods.estimating import Estimates, estimated
from privtrace.methods.model import Model
from privtrace.zones import Zones

#: Numbers above this are large.
LARGE = 50.0

#: Large districts of a region.
FEW = 16


class Share(NamedTuple):
    """Hold how many numbers there are, and how many of them lie between their bounds."""

    n: int
    n_held: int

    @property
    def held(self) -> float:
        return self.n_held / self.n if self.n else float("nan")


class Coverage(NamedTuple):
    """Hold for one kind of numbers how many are between their bounds, and how wide these are."""

    large: Share
    small: Share
    width: float  # of the bounds of large numbers, a half, in shares of the number: the median
    error: float  # by how much large numbers are off, likewise


def districts(region: pt.Region, n: int, seed: int) -> Zones:
    """Divide a region into districts around places that are drawn evenly."""
    west, south, east, north = region.bounds
    places = np.random.default_rng(seed).random((n, 2)) * (east - west, north - south) + (west, south)
    box = shapely.box(*region.bounds)
    cells = shapely.get_parts(shapely.voronoi_polygons(shapely.multipoints(places), extend_to=box))
    return Zones(region, tuple(map(str, range(n))), shapely.intersection(cells, box), "districts", apart=True)


def counters_of(places: Places, *, timed: bool) -> dict[str, Counter]:
    """List what is counted in places."""
    counters: dict[str, Counter] = {
        "passing": Passing(places),
        "starts": Ends(places, at_first=True),
        "ends": Ends(places, at_first=False),
        "od": Pairs(places),
    }
    if timed:
        counters |= {
            "passing by part": Passing(places, SLOTS["part"]),
            "passing by hour": Passing(places, SLOTS["hour"]),
            "od by part": Pairs(places, SLOTS["part"]),
            "departures": Departures(),
        }
    return counters


def true_numbers(trips: pt.Trajectories, model: Model, counters: Sequence[Counter]) -> list[Numbers]:
    """Count the real trips as synthetic ones are counted."""
    region, calendar = model.release.region, model.release.times
    zone = None if calendar is None else calendar.zone
    return counted(counters, real_lines(trips, region, zone), 1.0)


def coverage(estimates: Estimates, true: Numbers) -> Coverage:
    """Compare bounds with true numbers."""
    listed = estimates.numbers
    codes = np.union1d(listed.codes, true.codes)
    at = np.minimum(np.searchsorted(listed.codes, codes), max(len(listed.codes) - 1, 0))
    known = listed.codes[at] == codes
    said, real = listed.at(codes), true.at(codes)
    low = np.where(known, estimates.low[at], 0.0)
    high = np.where(known, estimates.high[at], estimates.high_of_none)
    counts = (said > 0) | (real > 0)
    said, real, low, high = said[counts], real[counts], low[counts], high[counts]
    is_held, is_large = (real >= low - 1e-9) & (real <= high + 1e-9), said > LARGE
    large, small = (Share(int(some.sum()), int(is_held[some].sum())) for some in (is_large, ~is_large))
    half = (high - low)[is_large] / 2 / said[is_large]
    off = np.abs(real - said)[is_large] / said[is_large]
    return Coverage(large, small, *(float(np.median(one)) if len(one) else np.nan for one in (half, off)))


def coverages(trips: pt.Trajectories, model: Model, seed: int) -> Iterator[tuple[str, str, Coverage]]:
    """Check all numbers of a model: in its own cells, in districts about as large, and in larger ones."""
    region, timed = model.release.region, model.release.times is not None
    coarse, cells = model.view().layers[0].grid, model.view().layers[-1].grid
    for name, places, moved in (
        ("coarse cells", CellPlaces(coarse), None),
        ("districts", ZonePlaces(districts(region, coarse.n_cells, seed)), cells),
        ("large districts", ZonePlaces(districts(region, FEW, seed)), cells),
    ):
        counters = counters_of(places, timed=timed)
        found = estimated(model, [*counters.values()], moved=moved)
        true = true_numbers(trips, model, [*counters.values()])
        for kind, estimates, real in zip(counters, found, true, strict=True):
            yield name, kind, coverage(estimates, real)


def main() -> None:
    """Print a row for each data set, epsilon, method and kind of number."""
    options = arguments(__doc__, runs=3, epsilons="0.5,1,2", profile="paper")
    head = ("data", "epsilon", "method", "zones", "number", "large", "held", "small", "held", "±", "off")
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name in options.data:
        trips, region = load(name)
        for epsilon in options.epsilons:
            for method in options.methods:
                found: dict[tuple[str, str], list[Coverage]] = {}
                for run in range(options.runs):
                    synthesizer = METHODS[method](epsilon=epsilon, region=region)
                    model = synthesizer.fit(trips, noise=pt.SeededNoise(run))
                    for zones, kind, one in coverages(trips, model, run):
                        found.setdefault((zones, kind), []).append(one)
                for (zones, kind), some in found.items():
                    large, small = (
                        Share(*np.sum([getattr(c, s) for c in some], axis=0)) for s in ("large", "small")
                    )
                    width, error = (
                        np.mean([getattr(one, what) for one in some]) for what in ("width", "error")
                    )
                    print(
                        f"| {name} | {epsilon} | {method} | {zones} | {kind} | {large.n} | {large.held:.1%} | "
                        f"{small.n} | {small.held:.1%} | {width:.1%} | {error:.1%} |"
                    )
                sys.stdout.flush()


if __name__ == "__main__":
    main()
