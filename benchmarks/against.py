"""Print how long fitting and generating, or reading, take here and at another commit, in one run, turn by turn.

    python -m benchmarks.against COMMIT [--runs 15] [--methods bridgetrace,privtrace,adatrace,dpt]
        [--data porto]
    python -m benchmarks.against COMMIT --reading [--runs 15] [--formats csv,gpx] [--data porto]

The other commit is laid out in a temporary folder. Each has a process of its own, on warm code, and they work
in turns with the same seeded noise, so that what else a machine does falls on both. The least of the runs
counts; generating is counted by the point, since there are not as many. Files are written once, here, in every
format that both read. The data is Porto where it is at hand, else trips in the invented city.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from experiments.data import METHODS, folder, load

import privtrace as pt
from benchmarks.measuring import files
from benchmarks.methods import trips_and_region

HERE = Path(__file__).parents[1]

#: What each process does: fit and generate whenever it is told a method, and say how long it took.
_WORKER = """
import sys, time
import privtrace as pt
from benchmarks.methods import trips_and_region
from experiments.data import METHODS, load
trips, region = load(sys.argv[1]) if sys.argv[1:] else trips_and_region()[1:]
for line in sys.stdin:
    synthesizer = METHODS[line.strip()](epsilon=1, region=region)
    start = time.perf_counter()
    model = synthesizer.fit(trips, noise=pt.SeededNoise(1))
    fitted = time.perf_counter()
    model.sample(1, seed=0)
    ready = time.perf_counter()
    made = model.sample(seed=0)
    print(fitted - start, (time.perf_counter() - ready) / made.n_points, flush=True)
"""

#: What each process does where reading is compared: pass over whatever file it is told.
_READER = """
import sys, time
import privtrace as pt
for line in sys.stdin:
    start = time.perf_counter()
    with pt.read(line.strip()) as source:
        n_points = sum(part.n_points for part in source.parts())
    print((time.perf_counter() - start) / n_points, flush=True)
"""

#: What is measured, in which unit, and how many of them are in a second.
_MEASURED = (("fit", "s", 1.0), ("generate", "ns/point", 1e9))
_READ = (("read", "ns/point", 1e9),)


class Worker:
    """Do one thing after the other in a process of its own, with the package of a tree."""

    def __init__(self, tree: Path, script: str, data: list[str]) -> None:
        environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}:{tree}", "PRIVTRACE_DATA": str(folder())}
        command = [sys.executable, "-c", script, *data]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=tree
        )

    def seconds(self, told: object) -> tuple[float, ...]:
        """Do what is told, a method or a file, and give the seconds that it took."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{told}\n")
        self._process.stdin.flush()
        return tuple(map(float, self._process.stdout.readline().split()))

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def main() -> None:
    """Compare fitting and generating with each method, or reading each format."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("commit")
    options.add_argument("--runs", type=int, default=15)
    options.add_argument("--methods", type=lambda names: names.split(","), default=[*METHODS])
    options.add_argument("--reading", action="store_true")
    options.add_argument("--formats", type=lambda names: names.split(","))
    options.add_argument("--data", nargs=1, default=[])
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as made:
        laid_out, place = Path(made, "there"), Path(made, "files")
        laid_out.mkdir()
        archive = subprocess.run(
            ["git", "archive", chosen.commit], cwd=HERE, check=True, stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "-x", "-C", laid_out], input=archive.stdout, check=True)
        if chosen.reading:
            told, script, measured = written(place, chosen.data), _READER, _READ
            told = {format: told[format] for format in chosen.formats or told}
        else:
            told, script, measured = {name: name for name in chosen.methods}, _WORKER, _MEASURED
        there, here = (Worker(tree, script, chosen.data) for tree in (laid_out, HERE))
        try:
            for name, what in told.items():
                for worker in (there, here):  # compile
                    worker.seconds(what)
                pairs = [(there.seconds(what), here.seconds(what)) for _ in range(chosen.runs)]
                print_ratios(name, measured, pairs)
        finally:
            there.stop()
            here.stop()


def written(place: Path, data: list[str]) -> dict[str, Path]:
    """Write a file in every format, and one whose trajectories are scattered over it."""
    trips = load(data[0])[0] if data else trips_and_region()[1]
    place.mkdir()
    for format, name in files().items():
        pt.write(trips, place / name, format=format)
    rows, scattered = pq.read_table(place / files()["parquet"]), place / "scattered.parquet"
    pq.write_table(rows.take(np.random.default_rng(1).permutation(rows.num_rows)), scattered)
    return {format: place / name for format, name in files().items()} | {"scattered": scattered}


def print_ratios(
    what: str, measured: Sequence[tuple[str, str, float]], pairs: list[tuple[tuple[float, ...], ...]]
) -> None:
    """Print a line for each thing that was measured."""
    for k, (name, unit, per_second) in enumerate(measured):
        before, after = ([per_second * side[k] for side in sides] for sides in zip(*pairs, strict=True))
        ratio = statistics.median(b / a for a, b in zip(before, after, strict=True))
        print(
            f"{what:<17} {name:<8} there {min(before):8.3f}   here {min(after):8.3f} {unit:<8}   least/least "
            f"{min(after) / min(before):5.2f}   median of ratios {ratio:5.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
