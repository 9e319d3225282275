"""Print, for each data set and epsilon, sizes, counts, and seconds and peak memory of each stage.

    python -m benchmarks.stages [--epsilons 0.2,1,2] [--data porto,geolife,brinkhoff]

Each run is a process of its own that streams the file, as `privtrace synth` does. The table shows exact counts
of the real data and is NOT PRIVATE.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from experiments import data

import privtrace as pt
from benchmarks.measuring import peak_mb
from privtrace.space.clip import clip


class Stopwatch:
    """Observe a run: seconds and peak memory so far at the end of each stage, of one within another not."""

    def __init__(self) -> None:
        self.stages: dict[str, list[float]] = {}
        self._depth = 0

    @contextmanager
    def stage(self, text: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Time a stage."""
        start = time.perf_counter()
        self._depth += 1
        yield lambda amount: None
        self._depth -= 1
        if not self._depth:
            before = self.stages.get(text, [0.0])[0]
            self.stages[text] = [round(before + time.perf_counter() - start, 3), round(peak_mb())]

    def note(self, text: str, *, loud: bool = False) -> None:
        """Drop the note."""

    def nothing_usable(self) -> None:
        """Drop it, too."""

    def warn(self, text: str) -> None:
        """Drop it."""

    def say(self, text: str) -> None:
        """Drop it too."""


def run(name: str, epsilon: str) -> dict[str, object]:
    """Fit and generate once, streaming; describe what came out."""
    watch = Stopwatch()
    file, box = data.REGIONS[name]
    source = pt.read(data.folder() / file)
    with watch.stage("Opening and grouping the input"):
        assert source.n_points
        next(source.parts())
    model = pt.PrivTrace(epsilon=epsilon, region=pt.Region.box(*box)).fit(source, observer=watch)
    with tempfile.TemporaryDirectory() as folder, watch.stage("Generating and writing"):
        made = model.sample(seed=1)
        made.write(Path(folder) / "synthetic.parquet")
    steps, n_inside = [], 0
    for part in source.parts():
        lengths = np.diff(model.grid.encode(clip(part, model.grid.region)).offsets)
        n_inside += int(np.sum(lengths > 0))
        steps.append(lengths[lengths > 0])
    return {
        "data": name,
        "epsilon": epsilon,
        "K": len(model.divisions),
        "m": model.grid.n_cells,
        "second order": len(model.second_states),
        "n noisy": model.n_trajectories,
        "n": n_inside,
        "steps real": round(float(np.concatenate(steps).mean()), 2),
        "steps synthetic": round(made.n_points / len(made), 2),
        "stages": watch.stages,
    }


def main() -> None:
    """Print a table of runs, then a table of their stages."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epsilons", default="0.2,1,2")
    parser.add_argument("--data", default=",".join(data.REGIONS))
    parser.add_argument("--one", nargs=2, metavar=("DATA", "EPSILON"), help="run once and print JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run(*options.one)))
        return
    rows = []
    for name in options.data.split(","):
        for epsilon in options.epsilons.split(","):
            command = [sys.executable, "-m", "benchmarks.stages", "--one", name, epsilon]
            rows.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    columns = [column for column in rows[0] if column != "stages"]
    print_table([columns, *([str(row[column]) for column in columns] for row in rows)])
    stages = list(rows[0]["stages"])
    cells = [
        [
            row["data"],
            row["epsilon"],
            *(f"{row['stages'][s][0]:.3f} s, {row['stages'][s][1]:.0f} MB" for s in stages),
        ]
        for row in rows
    ]
    print()
    print_table([["data", "epsilon", *stages], *cells])


def print_table(rows: list[list[str]]) -> None:
    """Print rows as a Markdown table, the first as its head."""
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |")
        if number == 0:
            print("|" + "---|" * len(row))


if __name__ == "__main__":
    main()
