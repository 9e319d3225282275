"""Print how long the two pages take to draw, and how large they are, on warm code.

    .venv/bin/python -m benchmarks.pages

The evaluation itself is not part of its page's time: benchmarks.evaluation has it.
"""

from __future__ import annotations

from experiments.data import METHODS

import privtrace as pt
from benchmarks.measuring import best_of
from benchmarks.methods import trips_and_region


def main() -> None:
    """Draw a release page for each method, and an evaluation page."""
    name, trips, region = trips_and_region()
    print(f"pages of {name}")
    models = {
        method: synthesizer(epsilon=1, region=region).fit(trips) for method, synthesizer in METHODS.items()
    }
    for method, model in models.items():
        show(f"release page, {method}", model.report)
    synthetic = models["bridgetrace"].sample(seed=1)
    show("evaluation page", pt.evaluate(trips, synthetic, region=region, profile="all").report)


def show(what: str, report) -> None:
    seconds = best_of(5, report)
    print(f"{what:32}{seconds:8.4f} s   {len(report().html.encode()) / 1000:8.0f} kB")


if __name__ == "__main__":
    main()
