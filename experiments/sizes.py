"""Sweep the size rule: how error depends on the number of states and of coarse cells.

    python -m experiments.sizes [--runs 3] [--data porto,geolife,brinkhoff] > sizes.csv

Reads real data: NOT PRIVATE. Run it on public data only, and choose defaults that are good on all of it.
"""

from __future__ import annotations

import argparse
import csv
import sys

import numpy as np

import privtrace as pt
from experiments.data import REGIONS, load
from experiments.metrics import errors

FACTORS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
DIVISORS = (2.0, 4.0, 6.0, 8.0, 12.0)
DEFAULT = {"states_factor": 1.5, "states_per_coarse_cell": 6.0}


def main() -> None:
    """Print a row for each data set, epsilon and size: the mean errors of several runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--data", default=",".join(REGIONS))
    parser.add_argument("--epsilons", default="0.2,1,2")
    options = parser.parse_args()
    sizes = [{**DEFAULT, "states_factor": a} for a in FACTORS]
    sizes += [{**DEFAULT, "states_per_coarse_cell": d} for d in DIVISORS if d != 6.0]
    table = csv.writer(sys.stdout)
    header = ["data", "epsilon", "a", "divisor", "K", "states", "second"]
    table.writerow([*header, "length", "diameter", "density", "pattern"])
    for name in options.data.split(","):
        trips, region = load(name)
        for epsilon in options.epsilons.split(","):
            for size in sizes:
                rows = []
                for seed in range(options.runs):
                    synthesizer = pt.PrivTrace(epsilon=epsilon, region=region, **size)
                    model = synthesizer.fit(trips, noise=pt.SeededNoise(seed))
                    shape = (len(model.divisions), model.grid.n_cells, len(model.second_states))
                    rows.append([*shape, *errors(trips, model.sample(seed=seed), region).values()])
                mean = [f"{value:.4g}" for value in np.mean(rows, axis=0)]
                table.writerow([name, epsilon, size["states_factor"], size["states_per_coarse_cell"], *mean])
                sys.stdout.flush()


if __name__ == "__main__":
    main()
