"""Print how long fits take here and at another commit, in one run, turn by turn.

    python -m benchmarks.against COMMIT [RUNS]

The other commit is laid out in a temporary folder. Each has a process of its own, on warm code, and they fit in
turns with the same seeded noise, so that what else a machine does falls on both. The least of the runs counts.
The data is Porto where it is at hand, else trips in the invented city.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from experiments.data import METHODS, folder

HERE = Path(__file__).parents[1]

#: What each process does: fit whenever it is told a method, and say how long it took.
_WORKER = """
import sys, time
import privtrace as pt
from benchmarks.methods import trips_and_region
from experiments.data import METHODS
_, trips, region = trips_and_region()
for line in sys.stdin:
    synthesizer = METHODS[line.strip()](epsilon=1, region=region)
    start = time.perf_counter()
    synthesizer.fit(trips, noise=pt.SeededNoise(1))
    print(time.perf_counter() - start, flush=True)
"""


class Worker:
    """Fit in a process of its own, with the package of a tree."""

    def __init__(self, tree: Path) -> None:
        environment = os.environ | {"PYTHONPATH": f"{tree / 'src'}:{tree}", "PRIVTRACE_DATA": str(folder())}
        command = [sys.executable, "-c", _WORKER]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=tree
        )

    def seconds(self, method: str) -> float:
        """Fit once."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(f"{method}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def main() -> None:
    """Compare the fits of every method."""
    commit, n_runs = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 15
    with tempfile.TemporaryDirectory() as laid_out:
        archive = subprocess.run(["git", "archive", commit], cwd=HERE, check=True, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", laid_out], input=archive.stdout, check=True)
        there, here = Worker(Path(laid_out)), Worker(HERE)
        try:
            for method in METHODS:
                for worker in (there, here):  # compile
                    worker.seconds(method)
                pairs = [(there.seconds(method), here.seconds(method)) for _ in range(n_runs)]
                before, after = (min(times) for times in zip(*pairs, strict=True))
                ratios = statistics.median(b / a for a, b in pairs)
                print(
                    f"{method:<12} {commit} {before:7.4f} s   here {after:7.4f} s   least/least "
                    f"{after / before:5.2f}   median of ratios {ratios:5.2f}"
                )
        finally:
            there.stop()
            here.stop()


if __name__ == "__main__":
    main()
