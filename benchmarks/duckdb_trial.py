"""Print seconds, memory and disk of bringing scattered rows together: our own spool, and DuckDB in its place.

    python -m benchmarks.duckdb_trial [--trips 280000] [--memory 512MB] [--runs 3]

Both take the rows from our readers, batch by batch, as arrow; make trajectories in order of time, then of place
in the file; and go over them twice, as a fit does. DuckDB sorts into a table on disk, since it has to give the
same order in every pass. Each has a process of its own, and they work in turns. Needs `pip install duckdb`: the
project does not depend on it, and without it this is skipped.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

import privtrace as pt
from benchmarks.measuring import peak_mb
from privtrace.datasets import city, moving_objects
from privtrace.rows.grouping import Runs, assemble, cut
from privtrace.trajectories import PART_POINTS, Trajectories

#: Rows of a batch, as our readers make them.
_BATCH_ROWS = PART_POINTS // 2


def ours(path: Path, memory: str) -> Iterator[Iterator[Trajectories]]:
    """Yield two passes over the parts of a source."""
    with pt.read(path) as source:
        yield source.parts()
        yield source.parts()


def duckdb(path: Path, memory: str) -> Iterator[Iterator[Trajectories]]:
    """Yield two passes over parts, sorted by DuckDB."""
    import duckdb

    source = pt.read(path)
    first = next(source._read())
    numbered = first.schema.append(pa.field("place", pa.int64()))
    keys = [name for name in ("user_id", "traj_id") if name in first.schema.names]
    with duckdb.connect(str(Path(tempfile.gettempdir()) / "sorted.duckdb")) as base:
        base.execute(f"SET memory_limit = '{memory}'; SET temp_directory = '{tempfile.gettempdir()}/spill'")
        base.register("rows", pa.RecordBatchReader.from_batches(numbered, with_places(source._read())))
        base.execute(
            "CREATE TABLE sorted AS SELECT * EXCLUDE place FROM rows "
            f"ORDER BY {', '.join(keys)}, t NULLS LAST, place"
        )
        for _ in range(2):
            batches = base.execute("SELECT * FROM sorted").to_arrow_reader(_BATCH_ROWS)
            alike = (batch.cast(first.schema) for batch in batches)
            yield (assemble(runs, source.crs) for runs in cut(map(Runs.of, alike), PART_POINTS))


def with_places(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Give each row its place in the file, which DuckDB needs to keep ties in order."""
    at = 0
    for batch in batches:
        yield batch.append_column("place", pa.array(np.arange(at, at + batch.num_rows)))
        at += batch.num_rows


def run(name: str, path: Path, memory: str) -> None:
    """Go over a file twice, and print what it took and a sum over what came."""
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = folder
        disk, ended = [0], threading.Event()
        watcher = threading.Thread(target=watch, args=(Path(folder), disk, ended))
        watcher.start()
        seconds, found = [], set()
        start = time.perf_counter()
        for parts in {"ours": ours, "duckdb": duckdb}[name](path, memory):
            total = n_points = n_trips = 0
            for part in parts:
                ranks = np.arange(part.n_points) - np.repeat(part.offsets[:-1], np.diff(part.offsets))
                total += int((part.points.view(np.int64).sum(axis=1) * (ranks + 1)).sum())
                n_points, n_trips = n_points + part.n_points, n_trips + len(part)
            found.add((total % 2**64, n_points, n_trips))
            seconds.append(time.perf_counter() - start)
            start = time.perf_counter()
        ended.set()
        watcher.join()
    assert len(found) == 1, "passes differ"
    print(json.dumps({"seconds": seconds, "memory": peak_mb(), "disk": disk[0] / 1e6, "found": found.pop()}))


def watch(folder: Path, most: list[int], ended: threading.Event) -> None:
    """Keep the most bytes that lay in a folder."""
    while not ended.wait(0.05):
        sizes = []
        for path in folder.rglob("*"):
            try:
                sizes.append(path.stat().st_blocks * 512)
            except FileNotFoundError:
                continue
        most[0] = max(most[0], sum(sizes))


def main() -> None:
    """Compare both on scattered rows in Parquet and CSV, with ids that are numbers and text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trips", type=int, default=280_000)
    parser.add_argument("--memory", default="512MB")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--one", nargs=2, metavar=("NAME", "FILE"), help="run once and print JSON")
    options = parser.parse_args()
    if find_spec("duckdb") is None:
        sys.exit("skipped: DuckDB is not installed; pip install duckdb")
    if options.one:
        run(options.one[0], Path(options.one[1]), options.memory)
        return
    with tempfile.TemporaryDirectory() as folder:
        for path in written(Path(folder), options.trips):
            compare(path, options.memory, options.runs)


def written(folder: Path, n_trips: int) -> Iterator[Path]:
    """Write the rows of trips in no order: ids as numbers in Parquet, as text in Parquet and CSV."""
    table = moving_objects(city(1), n_trips, seed=1).to_arrow()
    table = table.take(pa.array(np.random.default_rng(1).permutation(table.num_rows)))
    print(f"{table.num_rows:,} rows of {n_trips:,} trips, in no order")
    names = pa.compute.binary_join_element_wise("trip-", table["traj_id"].cast("string"), "")
    named = table.set_column(table.schema.get_field_index("traj_id"), "traj_id", names)
    for name, rows in (("numbers.parquet", table), ("text.parquet", named), ("text.csv", named)):
        path = folder / name
        if name.endswith("csv"):
            pa.csv.write_csv(rows, path)
        else:
            pa.parquet.write_table(rows, path)
        yield path


def compare(path: Path, memory: str, n_runs: int) -> None:
    """Run both in turns on a file, and print the best of each."""
    results: dict[str, list[dict]] = {"ours": [], "duckdb": []}
    for _ in range(n_runs):
        for name, found in results.items():
            arguments = ["--one", name, str(path), "--memory", memory]
            command = [sys.executable, "-m", "benchmarks.duckdb_trial", *arguments]
            found.append(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))
    assert len({tuple(one["found"]) for found in results.values() for one in found}) == 1, "they differ"
    for name, found in results.items():
        first, second = (min(one["seconds"][k] for one in found) for k in range(2))
        print(
            f"{path.name:16} {name:8} first pass {first:6.2f} s, second {second:5.2f} s, "
            f"memory {min(one['memory'] for one in found):6.0f} MB, disk {found[0]['disk']:6.0f} MB"
        )


if __name__ == "__main__":
    main()
