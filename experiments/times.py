"""Hold what BridgeTrace makes of points and times against the targets that were set for it; in Markdown.

    python -m experiments.times [--runs 30] [--epsilons 1]
        [--data porto,geolife,brinkhoff,porto60,porto-irregular]
    python -m experiments.times --shares [--runs 5] [--epsilons 1] [--data ...]

The targets, on the means of the runs. "Lines alone" is the same method where it measures neither points nor
times, and has all of epsilon for lines (`--no-sampling`). From epsilon 1 on:

1. pattern is at most as the table says, and at most 1.1 times that of the same fits with the real points given
   the length: with tables of points and times that have no noise and of which nothing is cut;
2. jump and interval are at most 0.05, points 0.02, duration 0.015, speed 0.025, departure 5 times the limit;
3. density is at most 1.1 times that of lines alone, length and diameter 1.25 times it, or 5 times the limit;
4. hourly density and trips are better than with departures shuffled among the synthetic trips, wherever
   shuffling the real ones costs more than 2 times the limit; elsewhere they are no worse, to 5 percent.

Below epsilon 1: departures over the day are off by half of the baseline at most, and points and jumps by no
more than those of lines alone. The speed that one gap between points in a thousand exceeds is shown beside the
real one.

With --shares, the shares of epsilon for points and for times, and how these are divided among their stages, are
halved and doubled one at a time. A row has the errors relative to the defaults, geometric means of the data;
those below a tenth of their target count as that tenth.

Reads real data, and measures some of it without noise: NOT PRIVATE.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple
from unittest import mock

import numpy as np

import privtrace as pt
from experiments.bars import mark
from experiments.data import METRICS, REGIONS, STAND_INS, load, parser_of
from privtrace.evaluation.frame import Frame
from privtrace.evaluation.metric import Metric
from privtrace.evaluation.reference import Reference
from privtrace.methods import timed
from privtrace.privacy.crossing import Crossing
from privtrace.privacy.epsilon import decimal
from privtrace.privacy.ledger import Ledger
from privtrace.timing import shares

#: Pattern at most, at epsilon 1.
PATTERN = {"porto": 0.33, "porto60": 0.39, "porto-irregular": 0.33, "geolife": 0.42, "brinkhoff": 0.22}

#: Times the pattern of the same fits with the real points.
TIMES_REAL_POINTS = 1.1

#: Errors of points and times at most; that of departures in limits.
MOST = {"jump": 0.05, "interval": 0.05, "points": 0.02, "duration": 0.015, "speed": 0.025}
DEPARTURE_LIMITS = 5

#: Errors that are smaller, as part of their target, are all the same.
NEGLIGIBLE = 0.1

#: Errors of lines at most, over those of lines alone; or so many limits.
OVER_ALONE = {"density": 1.1, "length": 1.25, "diameter": 1.25}
LIMITS = {"density": 0, "length": 5, "diameter": 5}

HOURLY = ("hourly_density", "hourly_od")
COSTLY_LIMITS = 2  # from where shuffling the real times costs something
NO_WORSE = 1.05

#: Below this, other targets hold.
SMALL = 1.0

#: The speed of gaps that is looked at, as a quantile.
FAST = 0.999

#: So little noise, in trajectories, that nothing is cut.
_TINY = 1e-6

Values = dict[str, float]  # by metric; NaN where it is not defined


class Given(NamedTuple):
    """Hold a data set, and the real data of both profiles that releases are compared with."""

    name: str
    trips: pt.Trajectories
    region: pt.Region
    paper: Reference
    time: Reference

    @classmethod
    def of(cls, name: str) -> Given:
        """Load a data set and measure it."""
        trips, region = load(name)
        paper, time = (Reference.of(trips, region, profile=profile) for profile in ("paper", "time"))
        return cls(name, trips, region, paper, time)

    @property
    def frame(self) -> Frame:
        """Give what sets are seen through."""
        return self.time.comparison.frame

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """List the metrics of both profiles."""
        return (*self.paper.comparison.metrics, *self.time.comparison.metrics)

    def values(self, made: pt.Trajectories) -> Values:
        """Compare a set by all metrics."""
        return {
            **self.paper.values(self.paper.measure(made)),
            **self.time.values(self.time.measure(made)),
        }


@dataclass(frozen=True)
class Result:
    """Hold what runs got on a data set at an epsilon: means over the runs, and what they are held against."""

    given: Given
    epsilon: str
    measured: Values  # points and times as by default
    real_points: Values
    alone: Values  # lines alone
    shuffled: Values  # as measured, with departures shuffled
    fast: tuple[float, float]  # the quantile of speeds, real and synthetic
    limit: Values
    baseline: Values
    real_shuffled: Values


def main() -> None:
    """Print the tables."""
    options = parser_of(__doc__, epsilons="1", runs=30, data=(*REGIONS, *STAND_INS))
    options.add_argument("--shares", action="store_true")
    chosen = options.parse_args()
    if chosen.shares:
        print_shares(chosen.data, chosen.epsilons, chosen.runs)
        return
    results = []
    for name in chosen.data:
        given = Given.of(name)
        for epsilon in chosen.epsilons:
            results.append(result_of(given, epsilon, chosen.runs))
            print(f"{name} {epsilon}", file=sys.stderr)
    large = [result for result in results if float(result.epsilon) >= SMALL]
    small = [result for result in results if float(result.epsilon) < SMALL]
    print_table("pattern (error; most, and of real points)", ("pattern",), large, pattern_cells)
    print_table("points and times (error; most)", (*MOST, "departure"), large, timing_cells)
    print_table("lines (error; most, and of lines alone)", OVER_ALONE, large, line_cells)
    print_table(
        "hours (error; with shuffled times; shuffling real ones, over 2 limits)", HOURLY, large, hour_cells
    )
    print_table("small epsilon (error; most)", ("departure_day", "points", "jump"), small, small_cells)
    print_table("speeds between points, m/s, 99.9 %", ("real", "synthetic"), results, speed_cells)
    print("\nerrors, mean of the runs (points and times; real points; lines alone)\n")
    print_all(results)


def print_table(
    title: str, columns: Iterable[str], results: list[Result], cells: Callable[[Result], Iterable[str]]
) -> None:
    """Print a row for each data set and epsilon; nothing where there is none."""
    if not results:
        return
    columns = [*columns]
    print(f"\n{title}\n\n| data | epsilon | {' | '.join(columns)} |")
    print("|" + "---|" * (2 + len(columns)))
    for result in results:
        print(f"| {result.given.name} | {result.epsilon} | {' | '.join(cells(result))} |")


def pattern_cells(result: Result) -> Iterator[str]:
    """Hold pattern against the target, and against that of the real points."""
    value, real, most = result.measured["pattern"], result.real_points["pattern"], PATTERN[result.given.name]
    good = value <= most and value <= TIMES_REAL_POINTS * real
    yield f"{value:.3f} ({most:.2f}; {TIMES_REAL_POINTS} x {real:.3f}) {mark(good)}"


def timing_cells(result: Result) -> Iterator[str]:
    """Hold points and times against their targets."""
    for name in (*MOST, "departure"):
        most = MOST.get(name, DEPARTURE_LIMITS * result.limit["departure"])
        yield judged(result.measured[name], most)


def line_cells(result: Result) -> Iterator[str]:
    """Hold lines against those of lines alone."""
    for name, ratio in OVER_ALONE.items():
        most = max(ratio * result.alone[name], LIMITS[name] * result.limit[name])
        yield f"{judged(result.measured[name], most)} of {result.alone[name]:.4f}"


def hour_cells(result: Result) -> Iterator[str]:
    """Hold where people go by part of the day against shuffled departures."""
    for name in HOURLY:
        value, shuffled, real = result.measured[name], result.shuffled[name], result.real_shuffled[name]
        if np.isnan(value):
            yield ""
            continue
        costs = real / (COSTLY_LIMITS * result.limit[name])
        good = value < shuffled if costs > 1 else value <= NO_WORSE * shuffled
        yield f"{value:.4f} ({shuffled:.4f}; {costs:.2f}) {mark(good)}"


def small_cells(result: Result) -> Iterator[str]:
    """Hold a small epsilon against its targets."""
    yield judged(result.measured["departure_day"], result.baseline["departure_day"] / 2)
    for name in ("points", "jump"):
        yield judged(result.measured[name], result.alone[name])


def speed_cells(result: Result) -> Iterator[str]:
    """Show the greatest speeds."""
    return ("" if np.isnan(speed) else f"{speed:.1f}" for speed in result.fast)


def judged(value: float, most: float) -> str:
    """Write a value with the most that it should be, and a verdict; nothing where it is not defined."""
    return "" if np.isnan(value) else f"{value:.4f} ({most:.4f}) {mark(value <= most)}"


def print_all(results: list[Result]) -> None:
    """Print every metric."""
    names = [metric.name for metric in results[0].given.metrics]
    print("| metric | " + " | ".join(f"{result.given.name} {result.epsilon}" for result in results) + " |")
    print("|" + "---|" * (1 + len(results)))
    for name in names:
        cells = (
            "; ".join(
                "-" if np.isnan(of[name]) else f"{of[name]:.4f}"
                for of in (result.measured, result.real_points, result.alone)
            )
            for result in results
        )
        print(f"| {name} | {' | '.join(cells)} |")


def result_of(given: Given, epsilon: str, runs: int) -> Result:
    """Fit and sample with seeded noise in all three ways, and compare."""
    settings: dict[str, Any] = {"epsilon": epsilon, "region": given.region}
    synthesizer = pt.BridgeTrace(**settings)
    alone = pt.BridgeTrace(**settings, times=False, sampling=False)
    has_times = given.trips.has_clock
    found: dict[str, list[Values]] = {"measured": [], "real_points": [], "alone": [], "shuffled": []}
    fast = []
    for seed in range(runs):
        made = sampled(given, synthesizer, seed)
        found["measured"].append(given.values(made))
        fast.append(fast_speed(made, given.frame))
        if has_times:
            found["shuffled"].append(given.values(shuffled(made, seed)))
        with real_points():
            found["real_points"].append(given.values(sampled(given, synthesizer, seed)))
        found["alone"].append(given.values(sampled(given, alone, seed)))
    none = dict.fromkeys((metric.name for metric in given.metrics), np.nan)
    return Result(
        given,
        epsilon,
        **{name: mean_of(values) if values else none for name, values in found.items()},
        fast=(fast_speed(given.trips, given.frame), float(np.mean(fast))),
        limit={**given.paper.limit(), **given.time.limit()},
        baseline={**given.paper.baseline(), **given.time.baseline()},
        real_shuffled=given.values(shuffled(given.trips, 0)) if has_times else none,
    )


def sampled(given: Given, synthesizer: pt.BridgeTrace, seed: int) -> pt.Trajectories:
    """Fit with seeded noise, and sample."""
    return synthesizer.fit(given.trips, noise=pt.SeededNoise(seed)).sample(seed=seed)


def mean_of(runs: list[Values]) -> Values:
    """Average each metric."""
    return {name: float(np.mean([values[name] for values in runs])) for name in runs[0]}


@contextmanager
def real_points() -> Iterator[None]:
    """Let fits have tables of points and times without noise, of which nothing is cut. NOT PRIVATE.

    They are measured with noise first, so that the noise of all other stages is as in any fit.
    """
    measured = timed.measure_timing

    def exactly(
        crossing: Crossing, region: pt.Region, errors: Mapping[str, float], *others: Any, **along: Any
    ) -> Any:
        measured(crossing, region, errors, *others, **along)
        ledger = Ledger(crossing.ledger.epsilon, crossing.ledger.unit, pt.NoNoise())
        exact = replace(crossing, ledger=ledger)
        return measured(exact, region, dict.fromkeys(errors, _TINY), *others, **along)

    with mock.patch.object(timed, "measure_timing", exactly):
        yield


def shuffled(trips: pt.Trajectories, seed: int) -> pt.Trajectories:
    """Let trips depart when others do, and take as long as they did."""
    sizes = np.diff(trips.offsets)
    there = sizes > 0
    departures = trips.times[trips.offsets[:-1][there]]
    since = trips.times - np.repeat(departures, sizes[there])
    others = np.random.default_rng(seed).permutation(departures)
    return replace(trips, times=np.repeat(others, sizes[there]) + since, about={})


def fast_speed(trips: pt.Trajectories, frame: Frame) -> float:
    """Find the speed between points in the region that one gap in a thousand exceeds; NaN without times."""
    runs = frame.clip(trips)
    if runs.times is None:
        return np.nan
    seconds = np.diff(runs.times) / np.timedelta64(1, "s")
    meters = np.linalg.norm(np.diff(runs.points, axis=0), axis=1)
    inside = np.ones(len(meters), bool)
    inside[runs.offsets[1:-1] - 1] = False
    inside &= seconds > 0
    return float(np.quantile(meters[inside] / seconds[inside], FAST)) if inside.any() else np.nan


# --- shares ---


def print_shares(data: list[str], epsilons: list[str], runs: int) -> None:
    """Print how errors change with the shares of epsilon."""
    names = (*METRICS, *MOST, "departure", *HOURLY)
    ratios: dict[str, list[list[float]]] = {}
    for name in data:
        given = Given.of(name)
        for epsilon in epsilons:
            defaults = None
            for words, settings, divided in trials():
                with divided:
                    synthesizer = pt.BridgeTrace(epsilon=epsilon, region=given.region, **settings)
                    means = mean_of([given.values(sampled(given, synthesizer, seed)) for seed in range(runs)])
                errors = {one: max(means[one], NEGLIGIBLE * MOST.get(one, 0.0)) for one in names}
                defaults = errors if defaults is None else defaults
                ratios.setdefault(words, []).append([errors[one] / defaults[one] for one in names])
                print(name, epsilon, words, file=sys.stderr)
    print(f"| shares | {' | '.join(names)} |")
    print("|" + "---|" * (1 + len(names)))
    for words, rows in ratios.items():
        means = np.exp(np.nanmean(np.log(rows), axis=0))
        print(f"| {words} | {' | '.join(f'{ratio:.2f}' for ratio in means)} |")


def trials() -> Iterator[tuple[str, dict[str, Any], AbstractContextManager[object]]]:
    """List what is tried, defaults first: in words, as settings, and with the shares of stages divided so."""
    yield "defaults", {}, nullcontext()
    for name in ("points_share", "clock_share"):
        default = Fraction(str(getattr(pt.BridgeTrace, name)))
        for factor in (Fraction(1, 2), Fraction(2)):
            share = decimal(factor * default)
            yield f"{name}={share}", {name: share}, nullcontext()
    for table in (shares.OF_POINTS, shares.OF_CLOCK):
        for stage, share in table.items():
            for factor in (Fraction(1, 2), Fraction(2)):
                if factor * share < 1:
                    yield f"{stage}={decimal(factor * share)}", {}, divided_so(table, stage, factor * share)


def divided_so(table: dict[str, Fraction], stage: str, share: Fraction) -> AbstractContextManager[object]:
    """Give a stage another share, and the others what is left in the same proportions."""
    left = (1 - share) / (1 - table[stage])
    return mock.patch.dict(table, {name: share if name == stage else left * of for name, of in table.items()})


if __name__ == "__main__":
    main()
