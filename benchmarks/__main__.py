"""Print the speed of methods, reading, evaluating, pages, inventing data and noise, on warm code.

    make bench

A unit is the best of five single-threaded `numpy.sort(x, kind="stable")` of all x coordinates in file order, in
the same process: it makes figures of different machines comparable. The data is Porto where it is at hand (see
experiments/data.py), else trips in the invented city.
"""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import privtrace as pt
from benchmarks.measuring import best_of, files, run_apart
from benchmarks.methods import trips_and_region
from privtrace.datasets import city, moving_objects
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
    with tempfile.TemporaryDirectory() as folder:
        for format, name in files().items():
            path = Path(folder, name)
            pt.write(trips, path, format=format)
            rate = trips.n_points / best_of(3, lambda path=path: read(path))
            print(f"reading {format:24} {rate / 1e6:8.2f} million points/s")
        bench_scattered(Path(folder))


def bench_scattered(folder: Path) -> None:
    """Print how many times as long rows take that stand in no order, against the same rows by trajectory."""
    table = moving_objects(city(1), 280_000, seed=1).to_arrow()  # ten million rows
    order = np.random.default_rng(1).permutation(table.num_rows)
    paths = folder / "sorted.parquet", folder / "scattered.parquet"
    for path, rows in zip(paths, (table, table.take(pa.array(order))), strict=True):
        pq.write_table(rows, path, compression="zstd")
    together, scattered = (best_of(2, lambda path=path: read(path)) for path in paths)
    rate = table.num_rows / together
    print(f"reading parquet, a larger city  {rate / 1e6:8.2f} million points/s")
    print(f"the same rows, scattered        {scattered / together:8.2f} times as long")


def read(path: Path) -> None:
    with pt.read(path) as source:
        for _ in source.parts():
            pass


def bench_inventing() -> None:
    """Print how long the city's trips take."""
    seconds = best_of(3, lambda: moving_objects(city(1), 50_000, seed=1))
    print(f"inventing 50,000 trips          {seconds:8.2f} s")


if __name__ == "__main__":
    run_apart("benchmarks.methods")
    run_apart("benchmarks.growth", "--trips", "100000", "--brief")
    bench_reading(trips_and_region()[1])
    run_apart("benchmarks.evaluation")
    run_apart("benchmarks.pages")
    bench_inventing()
    bench_noise()
