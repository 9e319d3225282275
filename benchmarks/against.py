"""Print how long fitting and generating take here and at another commit, in one run, turn by turn.

    python -m benchmarks.against COMMIT [--runs 15] [--methods bridgetrace,privtrace,adatrace,dpt]
        [--data porto]

The other commit is laid out in a temporary folder. Each has a process of its own, on warm code, and they work
in turns with the same seeded noise, so that what else a machine does falls on both. The least of the runs
counts; generating is counted by the point, since there are not as many. The data is Porto where it is at hand,
else trips in the invented city.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from experiments.data import METHODS, folder

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

#: What is measured, in which unit, and how many of them are in a second.
_MEASURED = (("fit", "s", 1.0), ("generate", "ns/point", 1e9))


class Worker:
    """Fit and generate in a process of its own, with the package of a tree."""

    def __init__(self, tree: Path, data: list[str]) -> None:
        environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}:{tree}", "PRIVTRACE_DATA": str(folder())}
        command = [sys.executable, "-c", _WORKER, *data]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=tree
        )

    def seconds(self, method: str) -> tuple[float, float]:
        """Fit once, and generate once: seconds, and seconds by the point."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{method}\n")
        self._process.stdin.flush()
        fit, generate = map(float, self._process.stdout.readline().split())
        return fit, generate

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def main() -> None:
    """Compare fitting and generating with each method."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("commit")
    options.add_argument("--runs", type=int, default=15)
    options.add_argument("--methods", type=lambda names: names.split(","), default=[*METHODS])
    options.add_argument("--data", nargs=1, default=[])
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as laid_out:
        archive = subprocess.run(
            ["git", "archive", chosen.commit], cwd=HERE, check=True, stdout=subprocess.PIPE
        )
        subprocess.run(["tar", "-x", "-C", laid_out], input=archive.stdout, check=True)
        there, here = (Worker(tree, chosen.data) for tree in (Path(laid_out), HERE))
        try:
            for method in chosen.methods:
                for worker in (there, here):  # compile
                    worker.seconds(method)
                print_ratios(
                    method, [(there.seconds(method), here.seconds(method)) for _ in range(chosen.runs)]
                )
        finally:
            there.stop()
            here.stop()


def print_ratios(method: str, pairs: list[tuple[tuple[float, float], tuple[float, float]]]) -> None:
    """Print a line for fitting and one for generating."""
    for k, (name, unit, per_second) in enumerate(_MEASURED):
        before, after = ([per_second * side[k] for side in sides] for sides in zip(*pairs, strict=True))
        ratio = statistics.median(b / a for a, b in zip(before, after, strict=True))
        print(
            f"{method:<12} {name:<8} there {min(before):8.3f}   here {min(after):8.3f} {unit:<8}   least/least "
            f"{min(after) / min(before):5.2f}   median of ratios {ratio:5.2f}"
        )


if __name__ == "__main__":
    main()
