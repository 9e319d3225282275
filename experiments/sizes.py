"""Sweep the size rule: how error depends on the number of states and of coarse cells.

    python -m experiments.sizes [--runs 5] [--data porto,geolife,brinkhoff] > sizes.csv

Prints the table, and on standard error how errors compare with the defaults (geometric means over data sets and
epsilons; 1 is as good, below 1 is better).

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
DEFAULT = (1.5, 6.0)
METRICS = ("length", "diameter", "density", "pattern")


def main() -> None:
    """Print a row for each data set, epsilon and size: the mean errors of several runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--data", default=",".join(REGIONS))
    parser.add_argument("--epsilons", default="0.2,1,2")
    options = parser.parse_args()
    sizes = [(a, DEFAULT[1]) for a in FACTORS] + [(DEFAULT[0], d) for d in DIVISORS if d != DEFAULT[1]]
    table = csv.writer(sys.stdout)
    table.writerow(["data", "epsilon", "a", "divisor", "K", "states", "second", *METRICS])
    ratios: dict[tuple[float, float], list[np.ndarray]] = {size: [] for size in sizes}
    for name in options.data.split(","):
        trips, region = load(name)
        for epsilon in options.epsilons.split(","):
            means = {}
            for size in sizes:
                means[size] = mean_of_runs(trips, region, epsilon, size, options.runs)
                table.writerow([name, epsilon, *size, *(f"{value:.4g}" for value in means[size])])
                sys.stdout.flush()
            for size in sizes:
                ratios[size].append(np.log(means[size][3:] / means[DEFAULT][3:]))
    for size, logs in ratios.items():
        by_metric = np.exp(np.mean(logs, axis=0))
        words = ", ".join(f"{metric} {ratio:.2f}" for metric, ratio in zip(METRICS, by_metric, strict=True))
        print(f"a {size[0]}, divisor {size[1]}: {words}; all {np.exp(np.mean(logs)):.2f}", file=sys.stderr)


def mean_of_runs(
    trips: pt.Trajectories, region: pt.Region, epsilon: str, size: tuple[float, float], n_runs: int
) -> np.ndarray:
    """Fit and generate several times; return mean K, states, second-order states and errors."""
    rows = []
    for seed in range(n_runs):
        factor, divisor = size
        synthesizer = pt.PrivTrace(
            epsilon=epsilon, region=region, states_factor=factor, states_per_coarse_cell=divisor
        )
        model = synthesizer.fit(trips, noise=pt.SeededNoise(seed))
        shape = (len(model.divisions), model.grid.n_cells, len(model.second_states))
        found = errors(trips, model.sample(seed=seed), region)
        rows.append([*shape, *(found[metric] for metric in METRICS)])
    return np.mean(rows, axis=0)


if __name__ == "__main__":
    main()
