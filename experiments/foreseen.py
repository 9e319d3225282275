"""Measure how far fitted numbers are off on public data sets, and find the constants by which plans foresee it.

    python -m experiments.foreseen > experiments/foreseen.csv      # measures; about half an hour
    python -m experiments.foreseen --fit experiments/foreseen.csv  # prints constants, and how well they foresee

A row of the table holds one statistic of fits with seeded noise, a few for each size and epsilon: the share of
a typical number by which nine in ten are off at most. Typical are the numbers in the middle half of the trips:
a quarter of them are in smaller numbers, and a quarter in larger ones. True numbers are those of the trips that
the model was fitted to.

Reads real data: NOT PRIVATE. Rows hold errors alone, and are of public data sets.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import least_squares

import privtrace as pt
from experiments.data import METHODS, REGIONS, ZONES, load
from experiments.lines import real_lines
from privtrace.calendar import Zone
from privtrace.datasets import city_trips
from privtrace.geometry import lengths_m
from privtrace.methods.counting import CellPlaces, Counter, Departures, Lines, Pairs, Passing, Sum, lines_of
from privtrace.methods.estimating import Sampling
from privtrace.methods.foreseeing import FACTOR, FEWEST, STATISTICS, STREETS, Constants
from privtrace.methods.settings import Settings
from privtrace.space.grid import Grid

#: Districts per side of the region.
PER_SIDE = (2, 3, 4, 6, 10, 20)

#: How many trips fits are made to, how often, and at which epsilons; None is all trips of a data set. Large
#: epsilons show what is left without noise, and stand for data sets that are larger than these.
SIZES: dict[int | None, tuple[int, tuple[str, ...]]] = {
    1000: (20, ("0.1", "0.3", "1", "3", "10")),
    5000: (12, ("0.1", "0.3", "1", "3", "10")),
    None: (6, ("0.03", "0.1", "0.3", "1", "3", "10", "30")),
}

#: The same for the published methods.
FEWER: dict[int | None, tuple[int, tuple[str, ...]]] = {
    1000: (4, ("0.1", "0.3", "1", "3", "10")),
    5000: (3, ("0.1", "0.3", "1", "3", "10")),
    None: (2, ("0.1", "0.3", "1", "3", "10")),
}

#: The busiest hours of the day that stand for the busiest.
N_BUSIEST = 4

#: Trips of the invented city, and the seed of its plan.
CITY_TRIPS, CITY_SEED = 20_000, 1


#: Errors beyond this are alike: nothing so far off can be used.
MOST_OFF = 0.9

#: Of a statistic that is right in no more cases than this, or a method in fewer, nothing is foreseen.
LEAST_RIGHT, LEAST_RIGHT_OF_ALL = 0.60, 0.75

#: The data sets whose trips have times of day.
TIMED = ("city", *ZONES)

#: The stages whose noise stands for that of a statistic.
STAGES = {
    "bridgetrace": {"district": "visits", "od": "trips", "length": "shapes", "street": "visits"},
    "privtrace": dict.fromkeys(("district", "od", "length", "street"), "first order"),
    "adatrace": {"district": "density", "od": "trips", "length": "trips", "street": "transitions"},
    "dpt": dict.fromkeys(("district", "od", "length", "street"), "level 1"),
}
for stages in STAGES.values():
    stages["hour"] = "departures"

#: How columns of the table are read; the others are text.
KINDS: dict[str, Callable[[str], Any]] = {"count": int, "districts": int, "share": float, "off": float}


class Row(NamedTuple):
    """Hold how far a statistic of one data set was off."""

    method: str
    data: str
    count: int
    epsilon: str
    statistic: str
    districts: int  # 1 where there are none
    share: float  # of the trips, in a typical number
    off: float  # nine in ten were off by less, as a share of the number


class Seen(NamedTuple):
    """Hold the numbers of some trips."""

    places: list[np.ndarray]  # visits of districts and flows between them, by districts per side; of streets
    hours: np.ndarray | None  # (24,)
    length: float  # the mean, in meters


class Errors(NamedTuple):
    """Hold by how much numbers of one run are off, as shares of them, and how much each counts."""

    off: np.ndarray
    weights: np.ndarray
    share: float  # of the trips, in a typical number


class Data:
    """Hold a data set, and what is true of some of its trips, which is counted once."""

    def __init__(self, name: str) -> None:
        self.name = name
        if name == "city":
            made = city_trips(CITY_TRIPS, seed=CITY_SEED)
            self.trips = made.trajectories
            self.region = pt.Region.box(*made.region).for_data(self.trips.crs)
        else:
            self.trips, self.region = load(name)
        self.timed = name in TIMED
        self.sample = cache(self._sample)

    def _sample(self, size: int | None, seed: int) -> tuple[pt.Trajectories, Seen]:
        """Choose some trips, or all, and say what is true of them."""
        some = self.trips
        if size is not None:
            chosen = np.random.default_rng(seed).choice(len(some), size, replace=False)
            some = some[np.sort(chosen)]
        zone = Zone.named(some.zone) if self.timed else None  # all of it: a model keeps only its typical week
        return some, seen(real_lines(some, self.region, zone), self.region, 1.0, timed=self.timed)


@cache
def counters(region: pt.Region) -> tuple[Counter, ...]:
    """List what is counted: by districts of all sizes, and last on stretches of streets."""
    of_sizes = [CellPlaces(Grid.uniform(region, per_side)) for per_side in PER_SIDE]
    streets = Passing(CellPlaces(Grid.uniform(region, STREETS)))
    return (*(counter(places) for places in of_sizes for counter in (Passing, Pairs)), streets)


def seen(blocks: Iterable[Lines], region: pt.Region, per_trip: float, *, timed: bool) -> Seen:
    """Count trips."""
    places, departures = [Sum(one) for one in counters(region)], Sum(Departures())
    meters, n_trips = 0.0, 0
    for lines in blocks:
        for one in [*places, departures]:
            one.add(lines)
        meters += float(lengths_m(lines.runs.points, lines.runs.offsets).sum())
        n_trips += len(lines)
    hours = departures.total(per_trip).table.reshape(7, 24).sum(axis=0) if timed else None
    return Seen([one.total(per_trip).table for one in places], hours, meters / max(n_trips, 1))


def errors_of(fitted: Seen, true: Seen, n_trips: int) -> Iterator[tuple[str, int, Errors]]:
    """Compare what synthetic trips say with what was true: statistics with their districts."""
    kinds = [(name, size**2) for size in PER_SIDE for name in ("district", "od")]
    for (name, size), numbers, real in zip([*kinds, ("street", 1)], fitted.places, true.places, strict=True):
        low, typical, high = (quantile(real, real, q) for q in (0.25, 0.5, 0.75))
        middle = (real >= low) & (real <= high) & (real > 0)
        off = np.abs(numbers[middle] - real[middle]) / real[middle]
        yield name, size, Errors(off, real[middle], typical / n_trips)
    if fitted.hours is not None and true.hours is not None:
        busiest = np.argsort(-true.hours, kind="stable")[:N_BUSIEST]
        off = np.abs(fitted.hours[busiest] / true.hours[busiest] - 1.0)
        yield "hour", 1, Errors(off, np.ones(N_BUSIEST), float(true.hours.max()) / n_trips)
    yield "length", 1, Errors(np.array([abs(fitted.length / true.length - 1.0)]), np.ones(1), 1.0)


def quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Find the value below which such a share of the weights is, between two values."""
    order = np.argsort(values, kind="stable")
    values, weights = values[order], weights[order]
    places = (np.cumsum(weights) - weights / 2) / weights.sum()
    return float(np.interp(share, places, values))


def errors_of_run(
    data: Data, size: int | None, settings: Settings, run: int
) -> Iterator[tuple[str, int, Errors]]:
    """Fit once, with seeded noise, and compare."""
    trips, true = data.sample(size, 0 if size is None else run)
    model = settings.fit(trips, noise=pt.SeededNoise(run))
    sampling = Sampling.of(model)
    made = (lines for _, lines in lines_of(model, sampling.count, run))
    fitted = seen(made, settings.region, sampling.per_trip, timed=data.timed)
    yield from errors_of(fitted, true, len(trips))


def rows_of(data: Data, method: str, size: int | None, runs: Iterable[int], epsilon: str) -> Iterator[Row]:
    """Fit and count, a few runs, and say how far typical numbers are off."""
    settings = METHODS[method](epsilon=epsilon, region=data.region, times=data.timed)
    found: dict[tuple[str, int], list[Errors]] = {}
    for run in runs:
        for statistic, districts, errors in errors_of_run(data, size, settings, run):
            found.setdefault((statistic, districts), []).append(errors)
    count = len(data.trips) if size is None else size
    for (statistic, districts), some in found.items():
        off, weights = (np.concatenate([one[k] for one in some]) for k in range(2))
        share = float(np.mean([one.share for one in some]))
        yield Row(method, data.name, count, epsilon, statistic, districts, share, quantile(off, weights, 0.9))


def measure(names: Iterable[str], methods: Iterable[str]) -> None:
    """Print a row for each statistic, as they come."""
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(Row._fields)
    for name in names:
        data = Data(name)
        for method in methods:
            for size, (runs, epsilons) in (SIZES if method == "bridgetrace" else FEWER).items():
                for epsilon in epsilons:
                    for row in rows_of(data, method, size, range(runs), epsilon):
                        table.writerow([*row[:-2], f"{row.share:.4g}", f"{row.off:.4g}"])
                    sys.stdout.flush()


# --- constants ---


def read(path: Path) -> list[Row]:
    """Read a table."""
    with path.open() as file:
        return [Row(**{k: KINDS.get(k, str)(v) for k, v in row.items()}) for row in csv.DictReader(file)]


@cache
def settings_of(method: str, epsilon: str, *, timed: bool) -> Settings:
    """Make the settings of a row; the region does not matter."""
    return METHODS[method](epsilon=epsilon, region=(0, 0, 1, 1), times=timed)


def expected(row: Row) -> float:
    """Say what a plan would say of a row."""
    found = settings_of(row.method, row.epsilon, timed=row.data in TIMED).expected(
        row.count, max(row.districts, FEWEST)
    )
    return next(one.off for one in found if one.statistic == row.statistic)


def off_by(constants: Constants, row: Row) -> float:
    """Say what constants say of a row."""
    settings = settings_of(row.method, row.epsilon, timed=row.data in TIMED)
    return constants.off(row.count * settings.per_unit(constants.stage), row.count, row.districts)


def constants_for(rows: Sequence[Row]) -> Constants:
    """Fit constants to the rows of one statistic: least squares of logarithms, all beyond MOST_OFF alike."""
    statistic, stage = rows[0].statistic, STAGES[rows[0].method][rows[0].statistic]
    n_powers = 2 if STATISTICS[statistic].of_districts else 0
    settings = [settings_of(row.method, row.epsilon, timed=row.data in TIMED) for row in rows]
    most = max(row.count * one.per_unit(stage) for row, one in zip(rows, settings, strict=True))
    shares, most = shares_of(rows), float(f"{most:.2g}")

    def made(x: np.ndarray) -> Constants:
        by = x[3:] if n_powers else (0.0, 0.0)
        return Constants(stage, np.exp(x[0]), x[1], by[0], np.exp(x[2]), by[1], *shares, most)

    def residuals(x: np.ndarray) -> list[float]:
        one = made(x)
        return [np.log(min(off_by(one, row), MOST_OFF) / min(row.off, MOST_OFF)) for row in rows]

    begin = [1.0, 0.5, -4.0] + [0.4] * n_powers
    bounds = [-5.0, 0.05, -8.0] + [0.0] * n_powers, [8.0, 2.0, 0.0] + [2.0] * n_powers
    found = made(least_squares(residuals, begin, bounds=bounds).x)
    short = {
        name: float(f"{value:.3g}") for name, value in asdict(found).items() if name not in ("stage", "most")
    }
    return replace(found, **short)


def shares_of(rows: Sequence[Row]) -> tuple[float, float]:
    """Find which share of the trips a typical number has, and by which power of the districts it falls."""
    shares, sizes = np.log([row.share for row in rows]), np.log([row.districts for row in rows])
    by, share = np.polyfit(sizes, shares, 1) if np.ptp(sizes) else (0.0, shares.mean())
    return float(np.exp(share)), abs(float(by))


def close(pairs: Iterable[tuple[float, float]]) -> list[bool]:
    """Say which forecasts were right within FACTOR; where both are beyond MOST_OFF, nobody learns anything."""
    told = [(min(said, MOST_OFF), min(off, MOST_OFF)) for said, off in pairs if min(said, off) < MOST_OFF]
    return [1 / FACTOR <= said / off <= FACTOR for said, off in told]


def fit(rows: Sequence[Row]) -> None:
    """Print tables, and in how many cases they are right: on all data sets, and on one that was left out."""
    print("| method | statistic | cases | right within 1.5 | with data sets left out |\n|---|---|---|---|---|")
    tables: dict[str, dict[str, Constants]] = {}
    for method in dict.fromkeys(row.method for row in rows):
        every: list[bool] = []
        left: list[bool] = []
        for statistic in STATISTICS:
            some = [row for row in rows if (row.method, row.statistic) == (method, statistic)]
            constants = tables.setdefault(method, {})[statistic] = constants_for(some)
            right = close((off_by(constants, row), row.off) for row in some)
            out: list[bool] = []
            for name in dict.fromkeys(row.data for row in some):
                without = constants_for([row for row in some if row.data != name])
                out += close((off_by(without, row), row.off) for row in some if row.data == name)
            print(f"| {method} | {statistic} | {len(right)} | {np.mean(right):.1%} | {np.mean(out):.1%} |")
            every, left = every + right, left + out
            if np.mean(right) <= LEAST_RIGHT:
                del tables[method][statistic]
        print(f"| {method} | all | {len(every)} | {np.mean(every):.1%} | {np.mean(left):.1%} |", flush=True)
        if np.mean(every) < LEAST_RIGHT_OF_ALL:
            del tables[method]
    for method, table in tables.items():
        print(f"\n# methods/{method}/foreseen.py")
        for statistic, constants in table.items():
            stage, *numbers = (getattr(constants, field.name) for field in fields(constants))
            print(
                f'    "{statistic}": Constants("{stage}", {", ".join(f"{number:.6g}" for number in numbers)}),'
            )


def main() -> None:
    """Measure, or fit constants to what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=lambda text: text.split(","), default=[*REGIONS, "city"])
    parser.add_argument("--methods", type=lambda text: text.split(","), default=[*METHODS])
    parser.add_argument("--fit", type=Path, metavar="CSV")
    options = parser.parse_args()
    if options.fit is not None:
        fit(read(options.fit))
    else:
        measure(options.data, options.methods)


if __name__ == "__main__":
    main()
