"""Print seconds and peak memory of a fit and a sample by the size of the model, beside what `plan` foretells.

    python -m benchmarks.states [METHOD]

Without a method, each runs in a process of its own: memory is the process's. The data is trips in the invented
city.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from experiments import data

import privtrace as pt
from benchmarks.measuring import peak_mb, run_apart
from privtrace.datasets import city_trips

#: What makes models of each method larger and larger.
SIZES: dict[str, tuple[dict[str, Any], ...]] = {
    "bridgetrace": tuple({"cell_factor": 0.5, "max_states": most} for most in (1000, 2000, 5000, 10_000)),
    "privtrace": tuple({"states_factor": 100, "max_states": most} for most in (500, 1000, 2000, 3000)),
    "adatrace": tuple({"N": size} for size in (8, 16, 32, 40)),
    "dpt": tuple({"finest": size, "expand": 0.01} for size in (32, 64, 128, 256)),
}


def bench(method: str) -> None:
    """Print a line for each size of a method's models."""
    made = city_trips(20_000, seed=1)
    region = pt.Region.box(*made.region)
    data.METHODS[method](epsilon=1, region=region).fit(made.trajectories).sample(100)  # compiles
    for settings in SIZES[method]:
        synthesizer = data.METHODS[method](epsilon=1, region=region, **settings)
        start = time.perf_counter()
        model = synthesizer.fit(made.trajectories, noise=pt.SeededNoise(1))
        model.sample(20_000, seed=1)
        seconds = time.perf_counter() - start
        plan = synthesizer.plan(len(made.trajectories))
        words = ", ".join(f"{name} {value:g}" for name, value in settings.items())
        print(
            f"{method:11} {words:36} {seconds:8.1f} s (planned {plan.seconds:5.1f}) "
            f"{peak_mb():8.0f} MB (planned {plan.memory_mb:,})",
            flush=True,
        )


def main() -> None:
    """Run the method that is named, or all of them one after the other."""
    if sys.argv[1:]:
        bench(sys.argv[1])
        return
    for method in SIZES:
        run_apart("benchmarks.states", method)


if __name__ == "__main__":
    main()
