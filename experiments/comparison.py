"""Compare the methods: the paper's four errors on every public data set, at every epsilon, in a Markdown table.

    python -m experiments.comparison [--methods bridgetrace,privtrace,adatrace,dpt] [--runs 10]
        [--data porto,geolife,brinkhoff] [--epsilons 0.2,0.5,1,2]
        [--profile paper|adatrace|mobility|time] > table.md

Prints mean and standard deviation of the runs; the limit, one random half of the real data against the other;
the baseline, a uniform random walk; and the seconds that a fit and its sample took, the mean of the runs on
warm code. Standard error gets, for each pair of methods, in how many settings one is better, and by how much.

Reads real data: NOT PRIVATE.
"""

from __future__ import annotations

import sys
from itertools import permutations

import numpy as np

import privtrace as pt
from experiments.data import METHODS, METRICS, arguments, load
from experiments.runs import runs_of
from privtrace.evaluation.comparison import PROFILES
from privtrace.evaluation.reference import Reference


def main() -> None:
    """Print a row for each data set, epsilon and method."""
    options = arguments(__doc__, runs=10, epsilons="0.2,0.5,1,2", profile="paper")
    listed = [metric.name for metric in PROFILES[options.profile].metrics]
    names = METRICS if options.profile == "paper" else listed
    print(f"| data | epsilon | method | {' | '.join(names)} | seconds |")
    print("|" + "---|" * (4 + len(names)))
    means: dict[str, list[np.ndarray]] = {method: [] for method in options.methods}
    for name in options.data:
        trips, region = load(name)
        reference = Reference.of(trips, region, profile=options.profile)
        for line, values in (("limit", reference.limit()), ("baseline", reference.baseline())):
            print(f"| {name} | | {line} | {' | '.join(f'{values[metric]:.4f}' for metric in names)} | |")
        for method in options.methods:  # compiled code is loaded before the first run is timed
            METHODS[method](epsilon=1, region=region).fit(trips, noise=pt.SeededNoise(0)).sample(seed=0)
        for epsilon in options.epsilons:
            for method in options.methods:
                synthesizer = METHODS[method](epsilon=epsilon, region=region)
                errors, seconds = runs_of(trips, synthesizer, reference, names, options.runs)
                means[method].append(errors.mean(axis=0))
                cells = [
                    f"{mean:.3f} ± {sd:.3f}"
                    for mean, sd in zip(errors.mean(axis=0), errors.std(axis=0, ddof=1), strict=True)
                ]
                print(f"| {name} | {epsilon} | {method} | {' | '.join(cells)} | {np.mean(seconds):.2f} |")
                sys.stdout.flush()
    if options.profile != "paper":
        return  # not all of its metrics are errors
    for one, other in permutations(options.methods, 2):
        print(versus(one, np.array(means[one]), other, np.array(means[other])), file=sys.stderr)


def versus(one: str, errors: np.ndarray, other: str, others: np.ndarray) -> str:
    """Say in how many settings one method has less error than another, and at most half of it."""
    ratios = errors / others  # (n_settings, n_metrics)
    by_metric = ", ".join(
        f"{metric} {np.exp(np.log(ratios[:, place]).mean()):.2f}" for place, metric in enumerate(METRICS)
    )
    return (
        f"{one} against {other}: less error in {np.sum(ratios < 1)} of {ratios.size} settings, at most half in "
        f"{np.sum(ratios <= 0.5)}; error relative to it (geometric means): {by_metric}"
    )


if __name__ == "__main__":
    main()
