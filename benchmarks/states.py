"""Print seconds and peak memory of a fit by the number of states: what `PrivTrace.plan` foretells.

.venv/bin/python -m benchmarks.states
"""

from __future__ import annotations

import time

import privtrace as pt
from benchmarks.measuring import peak_mb
from privtrace.datasets import city_trips

STATES = (500, 1000, 2000, 3000)


def main() -> None:
    made = city_trips(20_000, seed=1)
    region = pt.Region.box(*made.region)
    pt.PrivTrace(epsilon=1, region=region).fit(made.trajectories)  # compiles
    for most in STATES:
        synthesizer = pt.PrivTrace(epsilon=1, region=region, states_factor=100, max_states=most)
        start = time.perf_counter()
        states = synthesizer.fit(made.trajectories, noise=pt.SeededNoise(1)).summary()["states"]
        seconds = time.perf_counter() - start
        plan = synthesizer.plan(len(made.trajectories))
        print(
            f"{states:6,} states {seconds:8.1f} s (planned {plan.seconds:5.1f}) "
            f"{peak_mb():8.0f} MB (planned {plan.memory_mb:,})"
        )


if __name__ == "__main__":
    main()
