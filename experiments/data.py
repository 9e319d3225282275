"""Find the public data sets that experiments and benchmarks run on, by name, with their public regions.

Their points are dense, and those of real fleets are not. Two stand-ins are made of Porto's trips: `porto60` has
points a minute apart or more, and `porto-irregular` 5 seconds to 5 minutes, unevenly within a trip.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

import privtrace as pt
from privtrace.compiling import compiled
from privtrace.methods import registry

REGIONS = {
    "porto": ("porto_taxi.parquet", (-8.70, 41.10, -8.54, 41.22)),
    "geolife": ("geolife.parquet", (116.15, 39.80, 116.55, 40.10)),
    "brinkhoff": ("brinkhoff_oldenburg.parquet", (0, 3500, 24000, 31000)),
}

#: In which zone the times of a data set are told, which are UTC in the files. Brinkhoff's are steps, no clock.
ZONES = {"porto": "Europe/Lisbon", "geolife": "Asia/Shanghai"}

#: Seconds between the points of `porto60`, at least.
MINUTE_S = 60

#: Seconds between the points of `porto-irregular`, from where to where: all, and the typical ones of trips; and
#: how much those of a trip vary around it, as the standard deviation of their logarithm.
SHORTEST_S, LONGEST_S = 5, 300
TYPICAL_S = (8, 120)
UNEVENNESS = 0.9

METHODS = {name: registry.find(name).settings for name in registry.OURS}

#: The paper's own metrics, by which experiments judge.
METRICS = ("length", "diameter", "density", "pattern")


def folder() -> Path:
    """Find the folder with the data sets: $PRIVTRACE_DATA, or one beside the project."""
    return Path(os.environ.get("PRIVTRACE_DATA", Path(__file__).parents[2] / "shared" / "data"))


def path(name: str) -> Path:
    """Find the file of a data set."""
    return folder() / REGIONS[name][0]


def load(name: str) -> tuple[pt.Trajectories, pt.Region]:
    """Load a data set into memory, or make a stand-in of it, with its region."""
    if name in STAND_INS:
        trips, region = load("porto")
        return STAND_INS[name](trips), region
    trips = replace(pt.read(path(name)).collect(), zone=ZONES.get(name, "UTC"))
    return trips, pt.Region.box(*REGIONS[name][1]).for_data(trips.crs)


def thinned(trips: pt.Trajectories) -> pt.Trajectories:
    """Leave the first point of each trip, and each that is a minute or more after the last one left."""
    kept = _thinned(_seconds(trips), trips.offsets)
    offsets = np.concatenate([[0], np.cumsum(kept)])[trips.offsets]
    return replace(trips, points=trips.points[kept], times=trips.times[kept], offsets=offsets)


def irregular(trips: pt.Trajectories, seed: int = 1) -> pt.Trajectories:
    """Report trips at irregular moments, from their first point on, where they then were on their lines."""
    rng = np.random.default_rng(seed)
    seconds, starts = _seconds(trips), trips.offsets[:-1]
    durations = seconds[trips.offsets[1:] - 1] - seconds[starts]
    low, high = np.log(TYPICAL_S)
    typical = np.exp(rng.uniform(low, high, len(trips)))
    n_gaps = (durations // SHORTEST_S).astype(np.int64)  # at most
    owners = np.repeat(np.arange(len(trips)), n_gaps + 1)
    gaps = typical[owners] * np.exp(UNEVENNESS * rng.standard_normal(len(owners)))
    gaps = np.rint(np.clip(gaps, SHORTEST_S, LONGEST_S))
    firsts = np.cumsum(n_gaps + 1) - (n_gaps + 1)
    gaps[firsts] = 0.0
    sums = np.cumsum(gaps)
    since = sums - sums[firsts][owners]
    kept = since <= durations[owners]
    owners, since = owners[kept], since[kept]
    # One axis for all trips, each on a stretch of its own.
    apart = durations.max() + 1.0
    real = np.repeat(np.arange(len(trips)), np.diff(trips.offsets))
    axis = real * apart + (seconds - seconds[starts][real])
    places = owners * apart + since
    points = np.stack([np.interp(places, axis, trips.points[:, k]) for k in range(2)], axis=1)
    times = trips.times[starts][owners] + (1000 * since).astype("timedelta64[ms]")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owners, minlength=len(trips)))])
    return replace(trips, points=points, times=times, offsets=offsets)


STAND_INS = {"porto60": thinned, "porto-irregular": irregular}


def _seconds(trips: pt.Trajectories) -> np.ndarray:
    return trips.times.astype("datetime64[ms]").astype(np.int64) / 1000.0


@compiled
def _thinned(seconds: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    kept = np.zeros(len(seconds), np.bool_)
    for t in range(len(offsets) - 1):
        last = -np.inf
        for p in range(offsets[t], offsets[t + 1]):
            if seconds[p] - last >= MINUTE_S:
                kept[p], last = True, seconds[p]
    return kept


def arguments(
    about: str | None,
    *,
    runs: int = 5,
    epsilons: str = "0.2,1,2",
    method: str | None = None,
    profile: str | None = None,
    tuning: bool = False,
) -> argparse.Namespace:
    """Read what experiments are told on the command line; one method or profile where a default is given."""
    parser = parser_of(about, runs=runs, epsilons=epsilons)
    if method is not None:
        parser.add_argument("--method", choices=METHODS, default=method)
    else:
        parser.add_argument("--methods", type=_names, default=[*METHODS])
    if profile is not None:
        parser.add_argument("--profile", default=profile)
    if tuning:  # with names, those alone
        parser.add_argument("--tuning", nargs="?", type=_names, const=[], metavar="NAMES")
    return parser.parse_args()


def parser_of(
    about: str | None, *, runs: int, epsilons: str, data: Iterable[str] = REGIONS
) -> argparse.ArgumentParser:
    """Begin to read the command line: what all experiments are told."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--data", type=_names, default=[*data])
    parser.add_argument("--epsilons", type=_names, default=_names(epsilons))
    return parser


def _names(text: str) -> list[str]:
    return text.split(",")
