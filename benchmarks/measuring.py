"""Measure what ratios need: the least seconds of several runs, and the process's memory."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any


def best_of(n_runs: int, task: Callable[[], Any]) -> float:
    """Time a task several times; return the least seconds."""
    seconds = []
    for _ in range(n_runs):
        start = time.perf_counter()
        task()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def run_apart(module: str, *arguments: str) -> None:
    """Run a benchmark in a process of its own: it prints memory too."""
    subprocess.run([sys.executable, "-m", module, *arguments], check=True)


def resident_mb() -> float:
    """Read what the process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def peak_mb() -> float:
    """Read the most that the process held; getrusage would count what its parent held when it started it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def files() -> dict[str, str]:
    """Name a file for each format that is read here, so that it is recognized by its name."""
    names = {
        "parquet": "a.parquet",
        "csv": "a.csv",
        "tsv": "a.tsv.gz",
        "dat": "a.dat",
        "porto": "b.csv",
        "geolife": "plt",
        "geoparquet": "a.geoparquet",
        "geoparquet-lines": "lines.parquet",
        "geojson": "a.geojson",
        "mfjson": "a.mfjson",
        "gpx": "a.gpx",
    }
    return {**names, "gpkg": "a.gpkg"} if find_spec("pyogrio") else names
