"""Print the ladder of PrivTrace on every public data set, as a Markdown table: the paper's four metrics.

    python -m experiments.ladders [--runs 5] [--data porto,geolife,brinkhoff] [--epsilons 0.2,1,2]

Reads real data: NOT PRIVATE. `privtrace explain` prints the same for one file, with all metrics.
"""

from __future__ import annotations

from typing import Any

import privtrace as pt
from experiments.data import METRICS, arguments, load

HEAD = (
    "data | metric | epsilon | limit | cells | structure | release ± sd | ceiling | "
    "lost by cells | by structure | by noise"
)


def main() -> None:
    """Print a row for each data set, metric and epsilon."""
    options = arguments(__doc__)
    print(f"| {HEAD} |")
    print("|" + "---|" * len(HEAD.split("|")))
    for name in options.data:
        trips, region = load(name)
        ladder = pt.explain(
            trips,
            pt.PrivTrace(epsilon=1, region=region),
            epsilons=options.epsilons,
            runs=options.runs,
        )
        listed = ladder.to_dict()["metrics"]
        for metric in METRICS:
            for epsilon in ladder.rungs:
                print(row(name, metric, epsilon, listed[metric]))


def row(data: str, metric: str, epsilon: str, given: dict[str, Any]) -> str:
    """Write one row, from what an explanation lists of a metric."""
    cells, structure, release = given["epsilons"][epsilon].values()
    numbers = [
        f"{given['sampling']:.4f}",
        f"{cells['value']:.3f}",
        f"{structure['value']:.3f}",
        f"**{release['value']:.3f}** ± {release['sd']:.3f}",
        f"{given['ceiling']:.3g}",
        *(f"{rung['loss']:+.3f}" for rung in (cells, structure, release)),
    ]
    return f"| {data} | {metric} | {epsilon} | {' | '.join(numbers)} |"


if __name__ == "__main__":
    main()
