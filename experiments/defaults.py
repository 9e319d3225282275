"""Sweep PrivTrace's defaults: how error depends on the sizes of the grid and on the shares of epsilon.

    python -m experiments.defaults [--runs 5] [--data porto,geolife,brinkhoff] [--epsilons 0.2,1,2] > all.csv

One setting changes at a time. Prints the errors of every setting, mean of the runs; and on standard error how
they compare with the defaults, by data set and by metric (geometric means; 1 is as good, below 1 is better).

Reads real data: NOT PRIVATE. Run it on public data only, and choose defaults that are good on all of it.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator

import numpy as np

import privtrace as pt
from experiments.data import METRICS, arguments, load
from privtrace.evaluation.yardstick import Yardstick


def settings() -> Iterator[dict[str, object]]:
    """List the settings, the defaults first."""
    yield {}
    yield from ({"states_factor": factor} for factor in (0.5, 0.75, 1.0, 2.0, 3.0))
    yield from ({"states_per_coarse_cell": divisor} for divisor in (2.0, 4.0, 8.0, 12.0))
    for grid, first in (
        ("0.1", "0.4"),
        ("0.1", "0.45"),
        ("0.1", "0.6"),
        ("0.2", "0.2"),
        ("0.2", "0.3"),
        ("0.2", "0.5"),
        ("0.2", "0.6"),
        ("0.2", "0.7"),
        ("0.3", "0.35"),
        ("0.3", "0.4"),
    ):
        second = f"{1 - float(grid) - float(first):.2f}"
        yield {"grid_share": grid, "first_order_share": first, "second_order_share": second}
    yield {"theta1": 1e9}  # no state has so many moves: second order is paid for and not used
    yield from ({"order": order} for order in (1, 2))
    yield {"second_layer": False}
    yield {"trip_estimation": False}


def main() -> None:
    """Print a row for each data set, epsilon and setting."""
    options = arguments(__doc__)
    table = csv.writer(sys.stdout)
    table.writerow(["data", "epsilon", "setting", "K", "states", "second", *METRICS])
    logs: dict[str, dict[str, list[np.ndarray]]] = {}
    for name in options.data:
        trips, region = load(name)
        yardstick = Yardstick.of(trips, region)
        for epsilon in options.epsilons:
            defaults = None
            for setting in settings():
                words = " ".join(f"{key}={value}" for key, value in setting.items()) or "defaults"
                synthesizer = pt.PrivTrace(epsilon=epsilon, region=region, **setting)  # type: ignore[arg-type]
                means = mean_of_runs(trips, synthesizer, yardstick, options.runs)
                table.writerow([name, epsilon, words, *(f"{value:.4g}" for value in means)])
                sys.stdout.flush()
                defaults = means if defaults is None else defaults
                logs.setdefault(words, {}).setdefault(name, []).append(np.log(means[3:] / defaults[3:]))
    for words, by_data in logs.items():
        ratios = ", ".join(f"{name} {np.exp(np.mean(rows)):.2f}" for name, rows in by_data.items())
        by_metric = np.exp(np.mean([row for rows in by_data.values() for row in rows], axis=0))
        metrics = ", ".join(f"{metric} {ratio:.2f}" for metric, ratio in zip(METRICS, by_metric, strict=True))
        print(f"{words}: {ratios}; {metrics}", file=sys.stderr)


def mean_of_runs(
    trips: pt.Trajectories, synthesizer: pt.PrivTrace, yardstick: Yardstick, n_runs: int
) -> np.ndarray:
    """Fit and generate several times; return mean K, states, second-order states and errors."""
    rows = []
    for seed in range(n_runs):
        model = synthesizer.fit(trips, noise=pt.SeededNoise(seed))
        shape = (len(model.divisions), model.grid.n_cells, len(model.second_states))
        values = yardstick.values(yardstick.measure(model.sample(seed=seed)))
        rows.append([*shape, *(values[metric] for metric in METRICS)])
    return np.mean(rows, axis=0)


if __name__ == "__main__":
    main()
