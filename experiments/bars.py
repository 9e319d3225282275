"""Hold BridgeTrace against the bars that were set for it, and give a verdict on each; in Markdown.

    python -m experiments.bars [--runs 10] [--data porto,geolife,brinkhoff] [--epsilons 0.2,0.5,1,2] > table.md
    python -m experiments.bars --freeze --methods privtrace,adatrace,dpt > experiments/frozen.csv

The bars, on the means of the runs:

1. each of the paper's four errors is at most half of the best of PrivTrace, AdaTrace and DPT, whose errors are
   frozen in `frozen.csv`, and never more than it;
2. at epsilon 2, length and diameter are within three times the limit, one random half of the real data against
   the other, and density and pattern within five times;
3. the share of short trips is from 0.45 to 0.55, and the density error of long trips at most 1.3 times that of
   short ones;
4. fitting and sampling take twice the time of PrivTrace at most, measured side by side.

Reads real data: NOT PRIVATE.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from pathlib import Path

import numpy as np

import privtrace as pt
from experiments.data import METHODS, METRICS, REGIONS, load
from experiments.runs import runs_of
from privtrace.evaluation.reference import Reference

FROZEN = Path(__file__).parent / "frozen.csv"
SHARES = ("short_length_share", "short_diameter_share")
GROUPS = ("density_short", "density_long")

#: Times the limit within which the errors at epsilon 2 should be.
TIMES = {"length": 3, "diameter": 3, "density": 5, "pattern": 5}


def main() -> None:
    """Print the tables, or the errors to freeze."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--data", type=lambda text: text.split(","), default=[*REGIONS])
    parser.add_argument("--epsilons", type=lambda text: text.split(","), default=["0.2", "0.5", "1", "2"])
    parser.add_argument("--methods", type=lambda text: text.split(","), default=["bridgetrace"])
    parser.add_argument("--freeze", action="store_true")
    options = parser.parse_args()
    if options.freeze:
        freeze(options)
        return
    rows: dict[str, list[str]] = {bar: [] for bar in ("errors", "limits", "groups", "cost")}
    for name in options.data:
        trips, region = load(name)
        reference = Reference.of(trips, region)
        limit = reference.limit()
        for epsilon in options.epsilons:
            means = mean_errors("bridgetrace", trips, region, reference, epsilon, options.runs)
            print(f"{name} {epsilon}", file=sys.stderr)
            rows["errors"].append(errors_row(name, epsilon, means, best_frozen(name, epsilon)))
            rows["groups"].append(groups_row(name, epsilon, means))
            rows["cost"].append(cost_row(name, trips, region, epsilon))
            if epsilon == "2":
                rows["limits"].append(limits_row(name, means, limit))
    titles = {
        "errors": ("error, bar (half of the best), verdict", METRICS),
        "limits": ("error, times the limit, verdict", METRICS),
        "groups": ("verdict", (*SHARES, *GROUPS, "long / short")),
        "cost": ("seconds of PrivTrace, of BridgeTrace, ratio, verdict", ("fit", "sample")),
    }
    for bar, (about, columns) in titles.items():
        print(f"\n{bar} ({about})\n\n| data | epsilon | {' | '.join(columns)} |")
        print("|" + "---|" * (2 + len(columns)))
        print("\n".join(rows[bar]))
    told = "".join(rows["errors"])
    print(
        f"\nhalf or less: {told.count('✓')}; no more than the best: {told.count('○')}; worse: {told.count('✗')}"
    )


def freeze(options: argparse.Namespace) -> None:
    """Print the errors of methods as they stand."""
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["data", "epsilon", "method", *METRICS])
    for name in options.data:
        trips, region = load(name)
        reference = Reference.of(trips, region)
        for epsilon in options.epsilons:
            for method in options.methods:
                means = mean_errors(method, trips, region, reference, epsilon, options.runs)
                table.writerow([name, epsilon, method, *(f"{means[metric]:.4g}" for metric in METRICS)])
                sys.stdout.flush()


def mean_errors(
    method: str, trips: pt.Trajectories, region: pt.Region, reference: Reference, epsilon: str, runs: int
) -> dict[str, float]:
    """Average every metric of the paper over runs with seeded noise."""
    names = [metric.name for metric in reference.comparison.metrics]
    errors, _ = runs_of(trips, METHODS[method](epsilon=epsilon, region=region), reference, names, runs)
    return dict(zip(names, errors.mean(axis=0).tolist(), strict=True))


def best_frozen(name: str, epsilon: str) -> dict[str, float]:
    """Find the least frozen error of each metric."""
    with FROZEN.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["data"], row["epsilon"]) == (name, epsilon)]
    return {metric: min(float(row[metric]) for row in rows) for metric in METRICS}


def errors_row(name: str, epsilon: str, means: dict[str, float], best: dict[str, float]) -> str:
    """Compare with the best of the others: ✓ half or less, ○ no more than it, ✗ more."""
    cells = []
    for metric in METRICS:
        verdict = "✓" if 2 * means[metric] <= best[metric] else "○" if means[metric] <= best[metric] else "✗"
        cells.append(f"{means[metric]:.4f} ({best[metric] / 2:.4f}) {verdict}")
    return f"| {name} | {epsilon} | {' | '.join(cells)} |"


def limits_row(name: str, means: dict[str, float], limit: dict[str, float]) -> str:
    """Compare with the limit."""
    times = {metric: means[metric] / limit[metric] for metric in METRICS}
    cells = [
        f"{means[metric]:.4f} ({times[metric]:.1f}x of {TIMES[metric]}x) {mark(times[metric] <= TIMES[metric])}"
        for metric in METRICS
    ]
    return f"| {name} | 2 | {' | '.join(cells)} |"


def groups_row(name: str, epsilon: str, means: dict[str, float]) -> str:
    """Judge short and long trips."""
    shares = [f"{means[share]:.3f} {mark(0.45 <= means[share] <= 0.55)}" for share in SHARES]
    short, long = (means[group] for group in GROUPS)
    return (
        f"| {name} | {epsilon} | {' | '.join(shares)} | {short:.3f} | {long:.3f} | "
        f"{long / short:.2f} {mark(long <= 1.3 * short)} |"
    )


def cost_row(name: str, trips: pt.Trajectories, region: pt.Region, epsilon: str) -> str:
    """Time PrivTrace and BridgeTrace in turns, on warm code; the least of five each."""
    seconds = np.full((2, 2, 5), np.inf)
    for again in range(-1, 5):
        for place, method in enumerate(("privtrace", "bridgetrace")):
            synthesizer = METHODS[method](epsilon=epsilon, region=region)
            start = time.perf_counter()
            model = synthesizer.fit(trips, noise=pt.SeededNoise(0))
            fitted = time.perf_counter()
            model.sample(seed=0)
            if again >= 0:
                seconds[place, :, again] = fitted - start, time.perf_counter() - fitted
    least = seconds.min(axis=2)
    cells = [
        f"{old:.3f}, {new:.3f}, {new / old:.1f}x {mark(new <= 2 * old)}"
        for old, new in zip(*least, strict=True)
    ]
    return f"| {name} | {epsilon} | {' | '.join(cells)} |"


def mark(good: bool) -> str:
    """Say whether a bar is met."""
    return "✓" if good else "✗"


if __name__ == "__main__":
    main()
