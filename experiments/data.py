"""Find the public data sets that experiments and benchmarks run on, by name, with their public regions."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import privtrace as pt
from privtrace.methods import registry

REGIONS = {
    "porto": ("porto_taxi.parquet", (-8.70, 41.10, -8.54, 41.22)),
    "geolife": ("geolife.parquet", (116.15, 39.80, 116.55, 40.10)),
    "brinkhoff": ("brinkhoff_oldenburg.parquet", (0, 3500, 24000, 31000)),
}

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
    """Load a data set into memory, with its region."""
    trips = pt.read(path(name)).collect()
    return trips, pt.Region.box(*REGIONS[name][1]).for_data(trips.crs)


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
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--data", type=_names, default=[*REGIONS])
    parser.add_argument("--epsilons", type=_names, default=_names(epsilons))
    if method is not None:
        parser.add_argument("--method", choices=METHODS, default=method)
    else:
        parser.add_argument("--methods", type=_names, default=[*METHODS])
    if profile is not None:
        parser.add_argument("--profile", default=profile)
    if tuning:  # with names, those alone
        parser.add_argument("--tuning", nargs="?", type=_names, const=[], metavar="NAMES")
    return parser.parse_args()


def _names(text: str) -> list[str]:
    return text.split(",")
