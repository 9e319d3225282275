"""Print the speed of fitting, generating, reading, evaluating, inventing data and noise, on warm code.

    make bench

A unit is the best of five single-threaded `numpy.sort(x, kind="stable")` of all x coordinates in file order, in
the same process: it makes figures of different machines comparable. The data is Porto where it is at hand (see
experiments/data.py), else trips in the invented city.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
from experiments import data

import privtrace as pt
from benchmarks.measuring import best_of, peak_mb
from privtrace.backends.local import available_cores
from privtrace.datasets import city, city_trips, moving_objects
from privtrace.privacy.noise import SystemNoise


def bench_noise() -> None:
    """Print draws per second of the exact sampler, one thread."""
    noise, n_draws = SystemNoise(), 1_000_000
    for scale in (Fraction(1), Fraction(1 << 20), Fraction(1 << 20) / Fraction("0.4"), Fraction(1 << 40)):
        noise.laplace(1000, scale)
        rate = n_draws / best_of(3, lambda scale=scale: noise.laplace(n_draws, scale))
        print(f"discrete Laplace, scale {float(scale):16,.1f}   {rate / 1e6:7.1f} million draws/s")


def bench_reading(trips: pt.Trajectories) -> None:
    """Print points per second read from files of each format, grouping included."""
    names = {
        "parquet": "a.parquet",
        "csv": "a.csv",
        "tsv": "a.tsv.gz",
        "dat": "a.dat",
        "porto": "b.csv",
        "geolife": "plt",
    }
    with tempfile.TemporaryDirectory() as folder:
        for format, name in names.items():
            path = Path(folder, name)
            pt.write(trips, path, format=format)
            rate = trips.n_points / best_of(3, lambda path=path: read(path))
            print(f"reading {format:24} {rate / 1e6:8.2f} million points/s")


def read(path: Path) -> None:
    with pt.read(path) as source:
        for _ in source.parts():
            pass


def bench_evaluation() -> None:
    """Print what benchmarks.evaluation prints, from a process of its own: its memory is measured too."""
    subprocess.run([sys.executable, "-m", "benchmarks.evaluation"], check=True)


def bench_inventing() -> None:
    """Print how long the city's trips take."""
    seconds = best_of(3, lambda: moving_objects(city(1), 50_000, seed=1))
    print(f"inventing 50,000 trips          {seconds:8.2f} s")


def trips_and_region() -> tuple[str, pt.Trajectories, pt.Region]:
    """Load Porto where it is at hand, else invent trips."""
    if data.path("porto").exists():
        return "porto", *data.load("porto")
    made = city_trips(25_000, seed=1)
    return "city", made.trajectories, pt.Region.box(*made.region)


def bench_synthesis(name: str, trips: pt.Trajectories, region: pt.Region) -> None:
    """Print fitting and generating in units of a sort."""
    x = trips.points[:, 0].copy()
    unit = best_of(5, lambda: np.sort(x, kind="stable"))
    synthesizer = pt.PrivTrace(epsilon=1, region=region)
    model = synthesizer.fit(trips)
    model.sample(1000, seed=0)
    fit = best_of(5, lambda: synthesizer.fit(trips))
    generate = best_of(5, lambda: model.sample(seed=0))
    print(f"{name}: {len(trips):,} trajectories, {trips.n_points:,} points; {available_cores()} cores")
    print(f"unit (one sort of x)            {unit:8.4f} s")
    print(f"fit at epsilon 1                {fit:8.4f} s   {fit / unit:6.2f} units")
    print(f"generate {model.n_trajectories:,} trajectories    {generate:8.4f} s   {generate / unit:6.2f} units")
    print(f"peak memory of the process      {peak_mb():8.0f} MB")


if __name__ == "__main__":
    name, trips, region = trips_and_region()
    bench_synthesis(name, trips, region)
    bench_reading(trips)
    bench_evaluation()
    bench_inventing()
    bench_noise()
