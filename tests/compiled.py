"""Compile kernels before the tests, each once: test processes that need the same would each compile it.

`python -m tests.compiled` shares them out to two processes. Where all is compiled, it takes a few seconds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.kept import SETUPS, data, results

import privtrace as pt

#: Formats whose readers and writers are compiled.
FILES = ("a.csv", "a.geojson", "a.gpx", "a.dat", "a.parquet")


def main(share: str) -> None:
    """Run what needs the kernels of one share."""
    for name, (method, _) in SETUPS.items():
        if (method in ("BridgeTrace", "DPT")) == (share == "first"):
            results(name)
    if share == "first":
        return
    made = data()
    trips, region = made.trajectories, pt.Region.box(*made.region)
    pt.evaluate(trips, trips[:500], region=region, profile="all")
    with tempfile.TemporaryDirectory() as folder:
        for file in FILES:
            trips[:200].write(Path(folder) / file)
            pt.read(Path(folder) / file, crs="lonlat" if file == "a.dat" else None).collect()


if __name__ == "__main__":
    if sys.argv[1:]:
        main(sys.argv[1])
    else:
        shares = [
            subprocess.Popen([sys.executable, "-m", "tests.compiled", share]) for share in ("first", "second")
        ]
        sys.exit(max(share.wait() for share in shares))
