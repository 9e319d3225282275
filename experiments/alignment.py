"""Print how the paper's errors of real paths through equal cells depend on how many cells there are per side.

    python -m experiments.alignment [--data porto,geolife,brinkhoff]

The pattern error is measured on 20 x 20 cells, and a grid whose borders fall on theirs has an advantage. NOT
PRIVATE: it compares with real data.
"""

from __future__ import annotations

from experiments.data import METRICS, arguments, load
from privtrace.evaluation.reference import Reference
from privtrace.methods.common.placing import decode
from privtrace.space.clip import clip
from privtrace.space.grid import Grid

PER_SIDE = (9, 10, 11, 19, 20, 21)


def main() -> None:
    """Print a row for each data set and number of cells."""
    print(f"| data | cells per side | {' | '.join(METRICS)} |")
    print("|" + "---|" * (2 + len(METRICS)))
    for name in arguments(__doc__).data:
        trips, region = load(name)
        reference = Reference.of(trips, region)
        for n_per_side in PER_SIDE:
            grid = Grid.uniform(region, n_per_side)
            values = reference.values(
                reference.measure(decode(grid.encode(clip(trips, grid.region)), grid, 0, seed=1))
            )
            print(f"| {name} | {n_per_side} | {' | '.join(f'{values[metric]:.3f}' for metric in METRICS)} |")


if __name__ == "__main__":
    main()
