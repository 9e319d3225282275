"""Print what a fit on Spark costs beside one here: seconds of passes and what they consist of, memory, bytes.

    .venv/with-spark/bin/python -m benchmarks.spark [--trips 1000000] [--master local[2]] [--memory 1g]
                                                    [--persist] [--times] [--user] [--entries] [--folder F]

It needs what `make test-spark` sets up. The data is trips in the invented city, as Parquet; with `--folder`
it is kept for the next run. A fit here and one on Spark read the same file, each in processes of its own, on
warm kernels, and have to give the same model. Memory is the most that all processes of a run held together;
of shared pages, each counts its share. What a pass consists of is told by doing less of it: reading the rows;
bringing them together and sorting them too; sending them to Python as well. Bytes are those of Spark's event
log. The noise is seeded, so that runs compare: NOT PRIVATE.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import privtrace as pt
from benchmarks.growth import FEW, made
from benchmarks.measuring import best_of
from benchmarks.stages import Stopwatch, print_table
from privtrace.backends.sums import Sums
from privtrace.datasets import city
from privtrace.privacy.crossing import Counting

SAMPLED = 1_000_000

#: What a task prints when its fit is done: the memory of what follows is not that of a fit.
FITTED = "fitted"


class Watch:
    """Note, twice a second, what a process and all that it started hold, by kind. For Linux."""

    def __init__(self, pid: int) -> None:
        self.peaks: Counter[str] = Counter()
        self._pid, self._ended = pid, threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> dict[str, int]:
        """Give the peaks in MB: of each kind, and of all together."""
        self._ended.set()
        self._thread.join()
        return dict(self.peaks)

    def _run(self) -> None:
        while not self._ended.wait(0.5):
            held: Counter[str] = Counter()
            for pid in family(self._pid):
                with contextlib.suppress(OSError, StopIteration):  # it has ended
                    name = Path(f"/proc/{pid}/comm").read_text().strip()
                    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                    size = next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
                    kind = "the JVM" if name == "java" else "the driver" if pid == self._pid else "workers"
                    held[kind] += size >> 10
            held["all"] = sum(held.values())
            for kind, size in held.items():
                self.peaks[kind] = max(self.peaks[kind], size)


def family(pid: int) -> list[int]:
    """List a process and all that it started."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for parent in found:  # grows while it is gone through
        found += [child for child, its in parents.items() if its == parent]
    return found


def method(options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Say what is fitted, and how the file is read."""
    network = city(seed=1)
    unit = {"unit": "user", "max_per_user": 4} if options["user"] else {}
    region = pt.Region.box(*network.region)
    synthesizer = pt.BridgeTrace(epsilon=1, region=region, times=options["times"], **unit)
    return synthesizer, {"timezone": network.zone}


def here(options: dict[str, Any], few: str, path: str) -> dict[str, Any]:
    """Fit a file as a user would without Spark."""
    synthesizer, reading = method(options)
    noise, watch = pt.SeededNoise(1), Stopwatch()
    with pt.read(few, **reading) as source:
        synthesizer.fit(source, noise=noise)
    start = time.perf_counter()
    with pt.read(path, **reading) as source:
        model = synthesizer.fit(source, noise=noise, observer=watch)
    seconds = time.perf_counter() - start
    print(FITTED, flush=True)
    model.sample(1, seed=1)
    rate = SAMPLED / best_of(1, lambda: model.sample(SAMPLED, seed=1))
    return {"fit_s": seconds, "stages": watch.stages, "checksum": model.checksum, "rate": rate}


def there(options: dict[str, Any], few: str, path: str) -> dict[str, Any]:
    """Fit a file on Spark, and time parts of a pass by themselves."""
    from pyspark.sql import SparkSession

    synthesizer, reading = method(options)
    noise, watch = pt.SeededNoise(1), Stopwatch()
    with tempfile.TemporaryDirectory() as events:
        configured = {
            "spark.driver.memory": options["memory"],
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": events,
            "spark.eventLog.compress": "false",
            **options["set"],
        }
        builder = SparkSession.builder.appName("benchmark").master(options["master"]).config(map=configured)
        spark = builder.getOrCreate()
        found: dict[str, Any] = {}
        with pt.SparkSource.of(spark.read.parquet(few), **reading) as source:
            synthesizer.fit(source, noise=noise)
        log = next(Path(events).rglob("*local*"))
        log = log if log.is_file() else next(log.glob("events*"))
        n_before = len(log.read_text().splitlines())
        frame, how = (
            spark.read.parquet(path),
            {"partitions": options["partitions"], "persist": options["persist"]},
        )
        start = time.perf_counter()
        with pt.SparkSource.of(frame, **reading, **how) as source:
            model = synthesizer.fit(source, noise=noise, observer=watch)
            found |= {"fit_s": time.perf_counter() - start, "stages": watch.stages, "checksum": model.checksum}
            print(FITTED, flush=True)
            time.sleep(2)  # until the log has all of it
            found |= moved(log.read_text().splitlines()[n_before:])
            found["states"] = model.grid.n_cells
        if options["parts"]:
            with pt.SparkSource.of(frame, **reading, partitions=options["partitions"]) as source:
                found["parts"] = parts_of_a_pass(source, frame, options["user"])
            model.sample_spark(spark, 10_000, seed=1).write.format("noop").mode("overwrite").save()
            made_there = model.sample_spark(spark, SAMPLED, seed=1)
            write = made_there.write.format("noop").mode("overwrite")
            found["rate"] = SAMPLED / best_of(1, write.save)
        spark.stop()
    return found


def parts_of_a_pass(source: Any, frame: Any, by_user: bool) -> dict[str, float]:
    """Time a pass that does less, and then more."""

    def no_rows(batches: Any) -> Iterator[Any]:
        for _ in batches:
            pass
        return iter(())

    rows = source.gathered(by_user)
    tasks = {
        "reading the columns": frame.select("traj_id", "lon", "lat", "t"),
        "and the shuffle, and sorting": rows,
        "and sending to Python": rows.mapInArrow(no_rows, "n long"),
    }
    return {
        name: best_of(2, lambda task=task: task.write.format("noop").mode("overwrite").save())
        for name, task in tasks.items()
    }


def moved(lines: Sequence[str]) -> dict[str, Any]:
    """Add up what tasks of a fit say that they moved: bytes and seconds."""
    found: Counter[str] = Counter()
    for line in lines:
        event = json.loads(line)
        if event["Event"] != "SparkListenerTaskEnd":
            continue
        metrics = event["Task Metrics"]
        written = metrics["Shuffle Write Metrics"]
        found["shuffle_mb"] += written["Shuffle Bytes Written"] / 1e6
        found["shuffle_rows"] += written["Shuffle Records Written"]
        found["spilled_mb"] += metrics["Disk Bytes Spilled"] / 1e6
        found["result_mb"] += metrics["Result Size"] / 1e6
        found["task_s"] += metrics["Executor Run Time"] / 1e3
    return {name: round(value, 3) for name, value in found.items()}


def entries(options: dict[str, Any], few: str, path: str) -> dict[str, Any]:
    """Note how large the tables of a fit are, and how many entries the points of a part fill."""
    synthesizer, reading = method(options)
    count, filled = Counting.__call__, []

    def noted(task: Counting, part: pt.Trajectories) -> list[Sums]:
        counted = count(task, part)
        filled.append((sum(task.sizes), part.n_points, sum(len(sums.codes) for sums in counted)))
        return counted

    with patch.object(Counting, "__call__", noted), pt.read(path, **reading) as source:
        model = synthesizer.fit(source, noise=pt.SeededNoise(1))
    lines = [["pass", "parts", "points of a part", "entries filled of a part", "entries of all tables"]]
    for number, size in enumerate(dict.fromkeys(size for size, *_ in filled), 1):
        points, some = np.array([row[1:] for row in filled if row[0] == size]).T
        held = (len(points), points.mean(), some.mean(), size)
        lines.append([str(number), *(f"{value:,.0f}" for value in held)])
    return {"states": model.grid.n_cells, "lines": lines}


TASKS = {"here": here, "there": there, "entries": entries}


def apart(name: str, options: dict[str, Any], few: Path, path: Path) -> dict[str, Any]:
    """Run a task in processes of its own, and watch what they hold."""
    line = [sys.executable, "-m", "benchmarks.spark", "--one", name, json.dumps(options), str(few), str(path)]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=environment) as process:
        watch = Watch(process.pid)
        assert process.stdout is not None
        lines, peaks = [], {}
        for text in process.stdout:
            lines.append(text)
            if text.strip() == FITTED:
                peaks = watch.stop()
        watch.stop()
    if process.returncode:
        raise SystemExit(f"{name} failed")
    found: dict[str, Any] = json.loads(lines[-1])
    return found | {"peaks": peaks}


def main() -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--trips", type=int, default=1_000_000, help="how many")
    parser.add_argument("--master", default="local[2]", help="where Spark runs")
    parser.add_argument("--memory", default="1g", help="what the JVM may use")
    parser.add_argument("--partitions", type=int, help="of the shuffle; else as many as Spark says, 200")
    parser.add_argument("--persist", action="store_true", help="keep what the shuffle gave")
    parser.add_argument("--set", type=lambda text: text.split("=", 1), default=[], nargs="*", help="KEY=VALUE")
    parser.add_argument("--times", action="store_true", help="fit times too")
    parser.add_argument("--user", action="store_true", help="protect users, of whom four trips count")
    parser.add_argument("--parts", action=argparse.BooleanOptionalAction, default=True, help="parts of a pass")
    parser.add_argument("--here", action=argparse.BooleanOptionalAction, default=True, help="fit here too")
    parser.add_argument("--entries", action="store_true", help="only count entries of tables, in a fit here")
    parser.add_argument("--folder", type=Path, help="keep the data here; else it is made anew")
    parser.add_argument("--one", nargs=argparse.REMAINDER, help="run one task, print JSON")
    given = parser.parse_args()
    if given.one:
        name, options, few, path = given.one
        print(json.dumps(TASKS[name](json.loads(options), few, path)))
        return
    options = {name: value for name, value in vars(given).items() if name not in ("folder", "one")}
    options["set"] = dict(given.set)
    with contextlib.ExitStack() as stack:
        folder = given.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        few, path = made(folder, FEW), made(folder, given.trips)
        if given.entries:
            noted = apart("entries", options, few, path)
            print_table(noted["lines"])
            print(f"{noted['states']:,} states")
            return
        names = ["here", "there"] if given.here else ["there"]
        found = {name: apart(name, options, few, path) for name in names}
    if len({row["checksum"] for row in found.values()}) > 1:
        raise SystemExit("the models differ")
    print_table(table(found))


def table(found: dict[str, dict[str, Any]]) -> list[list[str]]:
    """Lay out figures, a column for each fit."""
    rows, there = [*found.values()], found["there"]
    stages = list(dict.fromkeys(text for row in rows for text in row["stages"]))
    kinds = ("all", "the driver", "the JVM", "workers")
    lines = [
        ["", *found],
        *([text, *(_seconds(row, text) for row in rows)] for text in stages),
        ["**fit**", *(f"**{row['fit_s']:.1f} s**" for row in rows)],
        *([f"peak memory, {kind}", *(f"{row['peaks'].get(kind, 0):,} MB" for row in rows)] for kind in kinds),
    ]
    if "rate" in there:
        lines.append(["trajectories a second", *(f"{row['rate']:,.0f}" for row in rows)])
    blank = [""] * (len(rows) - 1)
    before = 0.0
    for text, seconds in there.get("parts", {}).items():
        lines.append([f"of a pass: {text}", *blank, f"+ {seconds - before:.1f} s"])
        before = seconds
    lines.append(["moved by the shuffles", *blank, f"{there['shuffle_mb']:,.0f} MB"])
    per_row = there["shuffle_mb"] * 1e6 / max(there["shuffle_rows"], 1)
    lines.append(["by a row", *blank, f"{per_row:.1f} bytes ({there['shuffle_rows']:,} rows)"])
    lines.append(["spilled to disk", *blank, f"{there['spilled_mb']:,.0f} MB"])
    lines.append(["sent to the driver", *blank, f"{there['result_mb']:,.1f} MB"])
    lines.append(["seconds of all tasks", *blank, f"{there['task_s']:,.0f} s"])
    lines.append(["states", *blank, f"{there['states']:,}"])
    return lines


def _seconds(row: dict[str, Any], text: str) -> str:
    return f"{row['stages'][text][0]:.1f} s" if text in row["stages"] else "-"


if __name__ == "__main__":
    main()
