"""Print fitting and generating with each method at epsilon 1 in units of a sort, and its peak memory.

    python -m benchmarks.methods [METHOD]

Without a method, each runs in a process of its own: memory is the process's. The data is Porto where it is at
hand (see experiments/data.py), else trips in the invented city.
"""

from __future__ import annotations

import sys

import numpy as np
from experiments import data

import privtrace as pt
from benchmarks.measuring import best_of, peak_mb, run_apart
from privtrace.backends.cores import available_cores
from privtrace.datasets import city_trips


def trips_and_region() -> tuple[str, pt.Trajectories, pt.Region]:
    """Load Porto where it is at hand, else invent trips."""
    if data.path("porto").exists():
        return "porto", *data.load("porto")
    made = city_trips(25_000, seed=1)
    return "city", made.trajectories, pt.Region.box(*made.region)


def bench(method: str) -> None:
    """Print time and memory of one method, on warm code."""
    name, trips, region = trips_and_region()
    x = trips.points[:, 0].copy()
    unit = best_of(5, lambda: np.sort(x, kind="stable"))
    synthesizer = data.METHODS[method](epsilon=1, region=region)
    model = synthesizer.fit(trips)
    model.sample(1000, seed=0)
    fit = best_of(5, lambda: synthesizer.fit(trips))
    generate = best_of(5, lambda: model.sample(seed=0))
    print(
        f"{method} on {name}: {len(trips):,} trajectories, {trips.n_points:,} points; {available_cores()} cores"
    )
    print(f"unit (one sort of x)            {unit:8.4f} s")
    print(f"fit at epsilon 1                {fit:8.4f} s   {fit / unit:6.2f} units")
    print(f"generate {model.n_trajectories:,} trajectories    {generate:8.4f} s   {generate / unit:6.2f} units")
    print(f"peak memory of the process      {peak_mb():8.0f} MB")


def main() -> None:
    """Run the method that is named, or all of them one after the other."""
    if sys.argv[1:]:
        bench(sys.argv[1])
        return
    for method in data.METHODS:
        run_apart("benchmarks.methods", method)


if __name__ == "__main__":
    main()
