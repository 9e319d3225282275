"""Print the error decomposition of each method on every public data set, for the paper's four metrics.

    python -m experiments.decompositions [--methods bridgetrace,privtrace,adatrace,dpt] [--runs 10]
        [--epsilons 1] [--data porto,geolife,brinkhoff]

A Markdown table. Reads real data: NOT PRIVATE. `privtrace explain` prints the same for one file, with all
metrics.
"""

from __future__ import annotations

from typing import Any

import privtrace as pt
from experiments.data import METHODS, METRICS, arguments, load
from privtrace.evaluation.decomposition import TERMS

HEAD = (
    "method | data | metric | epsilon | limit | points | cells | structure | release ± sd | baseline | "
    "lost by points | by cells | by structure | by noise"
)


def main() -> None:
    """Print a row for each method, data set, metric and epsilon."""
    options = arguments(__doc__, runs=10, epsilons="1")
    print(f"| {HEAD} |")
    print("|" + "---|" * len(HEAD.split("|")))
    for method in options.methods:
        for name in options.data:
            trips, region = load(name)
            synthesizer = METHODS[method](epsilon=1, region=region)
            explanation = pt.explain(trips, synthesizer, epsilons=options.epsilons, runs=options.runs)
            listed = explanation.to_dict()["metrics"]
            for metric in METRICS:
                for epsilon in explanation.terms:
                    print(row(method, name, metric, epsilon, listed[metric]))


def row(method: str, data: str, metric: str, epsilon: str, given: dict[str, Any]) -> str:
    """Write one row, from what an explanation lists of a metric; a term that a method lacks stays empty."""
    terms = given["epsilons"][epsilon]
    *before, release = (terms.get(term) for term in TERMS)
    numbers = [
        f"{given['limit']:.4f}",
        *("" if term is None else f"{term['value']:.3f}" for term in before),
        f"**{release['value']:.3f}** ± {release['sd']:.3f}",
        f"{given['baseline']:.3g}",
        *("" if term is None else f"{term['loss']:+.3f}" for term in (*before, release)),
    ]
    return f"| {method} | {data} | {metric} | {epsilon} | {' | '.join(numbers)} |"


if __name__ == "__main__":
    main()
