"""Print how time and memory of a fit grow with the number of trips, by stage, in scans of the file.

    python -m benchmarks.growth [--trips 100000,300000,1000000,3000000] [--no-times] [--folder F]
                                [--evaluate] [--generate N]

A scan is one look at all columns that trips need, by Arrow alone, best of three: it makes figures of different
machines comparable. The data is trips in the invented city, as Parquet; with `--folder` it is kept for the next
run. Data is made, scanned and fitted each in a process of its own: memory is that of the fit alone, and kernels
are compiled before. The noise is seeded, so that runs compare: NOT PRIVATE. The figures go to growth.csv and
growth.svg beside this file.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.dataset as ds

import privtrace as pt
from benchmarks.measuring import best_of, peak_mb
from benchmarks.stages import Stopwatch, print_table
from privtrace.datasets import city, moving_objects
from privtrace.report.plots import Line, Plot, beside, lines
from privtrace.report.plots.marks import INK

#: What no stage covers.
REST = "reading and preparing"
SAMPLED = 100_000
#: Of the picture, in pixels.
HEIGHT = 420
#: Trips that a process of its own fits, so that kernels are compiled.
FEW = 2000


def make(path: str, n_trips: str) -> dict[str, Any]:
    """Make trips and write them."""
    moving_objects(city(seed=1), int(n_trips), seed=1).write(path, force=True)
    return {}


def scan(path: str) -> dict[str, Any]:
    """Time a plain look at the file."""

    def look() -> None:
        for _ in ds.dataset(path).to_batches(columns=["traj_id", "lon", "lat"]):
            pass

    return {"scan_s": best_of(3, look), "points": ds.dataset(path).count_rows()}


def measure(path: str, model_path: str, times: str, n_sampled: str) -> dict[str, Any]:
    """Fit a file as a user would; save, load and sample."""
    network, watch = city(seed=1), Stopwatch()
    synthesizer = pt.BridgeTrace(epsilon=1, region=pt.Region.box(*network.region), times=times == "times")
    start = time.perf_counter()
    with pt.read(path, timezone=network.zone) as source:
        model = synthesizer.fit(source, noise=pt.SeededNoise(1), observer=watch)
    fit_s, fit_mb = time.perf_counter() - start, peak_mb()
    model.save(model_path, force=True)
    del model
    loaded: Any = pt.load(model_path)
    first_s = best_of(1, lambda: loaded.sample(1, seed=1))
    loaded.sample(1000, seed=1)
    sample_s = best_of(1, lambda: loaded.sample(int(n_sampled), seed=1))
    stages = watch.stages
    rest_s = fit_s - sum(seconds for seconds, _ in stages.values())
    return {
        "stages": {REST: [rest_s, fit_mb], **stages},
        "fit_s": fit_s,
        "peak_mb": fit_mb,
        "first_s": first_s,
        "rate": int(n_sampled) / sample_s,
        "states": loaded.grid.n_cells,
        "zones": loaded.space.n_zones,
    }


def command(*arguments: str) -> dict[str, Any]:
    """Run a command of `privtrace`, and read what it held at most."""
    from privtrace.cli import main as run

    sys.argv = ["privtrace", *arguments, "--quiet"]
    with contextlib.redirect_stdout(None):
        try:
            run()
        except SystemExit as end:
            if end.code:
                raise
    return {"peak_mb": peak_mb()}


APART: dict[str, Callable[..., dict[str, Any]]] = {
    task.__name__: task for task in (make, scan, measure, command)
}


def apart(name: str, *arguments: object) -> dict[str, Any]:
    """Run a task in a process of its own; its seconds, start-up included, come along."""
    start = time.perf_counter()
    line = [sys.executable, "-m", "benchmarks.growth", "--one", name, *map(str, arguments)]
    done = subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return {"seconds": time.perf_counter() - start, **found}


def made(folder: Path, n_trips: int) -> Path:
    """Make the data of a size, unless it is there."""
    path = folder / f"city_{n_trips}.parquet"
    if not path.exists():
        part = path.with_name(f"unfinished_{path.name}")
        apart("make", part, n_trips)
        part.rename(path)
    return path


def grown(folder: Path, sizes: Sequence[int], *, times: bool, n_sampled: int) -> Iterator[dict[str, Any]]:
    """Measure one size after the other."""
    words = "times" if times else "no-times"
    apart("measure", made(folder, FEW), folder / "few.model", words, 10)  # compiles
    for size in sizes:
        path = made(folder, size)
        found = apart("scan", path)
        yield {"trips": size} | found | apart("measure", path, model_of(folder, size), words, n_sampled)


def model_of(folder: Path, n_trips: int) -> Path:
    """Name the file of a size's model."""
    return folder / f"city_{n_trips}.model"


def table(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Lay out figures, a column for each size."""
    stages = list(dict.fromkeys(text for row in rows for text in row["stages"]))
    return [
        ["", *(f"{row['trips']:,} trips" for row in rows)],
        ["points", *(f"{row['points']:,}" for row in rows)],
        ["a scan", *(f"{row['scan_s']:.3f} s" for row in rows)],
        *([text, *(_stage(row, text) for row in rows)] for text in stages),
        ["**fit**", *(f"**{row['fit_s']:.1f} s, {row['fit_s'] / row['scan_s']:.1f} scans**" for row in rows)],
        ["peak memory", *(f"{row['peak_mb']:,.0f} MB" for row in rows)],
        ["states, zones", *(f"{row['states']:,}, {row['zones']:,}" for row in rows)],
        ["first sample", *(f"{row['first_s']:.2f} s" for row in rows)],
        ["trajectories a second", *(f"{row['rate']:,.0f}" for row in rows)],
    ]


def _stage(row: Mapping[str, Any], text: str) -> str:
    if text not in row["stages"]:
        return "-"
    seconds, megabytes = row["stages"][text]
    return f"{seconds:.2f} s, {seconds / row['scan_s']:.1f} scans, {megabytes:,.0f} MB"


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Fit the power of the size by which time grows: least squares of logarithms."""
    x, y = np.log(sizes), np.log(seconds)
    return float(((x - x.mean()) * (y - y.mean())).sum() / ((x - x.mean()) ** 2).sum())


def laws(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Say how time grows."""
    seconds = {row["trips"]: row["fit_s"] for row in rows}
    if len(seconds) > 1:
        yield f"The fit's seconds grow as trips^{exponent([*seconds], [*seconds.values()]):.2f}."
    if {1_000_000, 3_000_000} <= set(seconds):
        yield f"3,000,000 trips take {seconds[3_000_000] / seconds[1_000_000]:.2f} times as long as 1,000,000."


def write_csv(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write raw figures, a line for each size and stage."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["trips", "what", "seconds", "scans", "peak_mb"])
        for row in rows:
            stages = row["stages"] | {
                "fit": [row["fit_s"], row["peak_mb"]],
                "scan": [row["scan_s"], ""],
                "first sample": [row["first_s"], ""],
                f"sample of {SAMPLED}": [SAMPLED / row["rate"], ""],
            }
            for text, (seconds, megabytes) in stages.items():
                scans = seconds / row["scan_s"]
                writer.writerow([row["trips"], text, f"{seconds:.4f}", f"{scans:.2f}", megabytes])


def picture(rows: Sequence[Mapping[str, Any]]) -> Plot:
    """Draw seconds of the fit and of its larger stages, and beside them memory."""
    sizes = [row["trips"] for row in rows]
    stages = dict.fromkeys(text for row in rows for text in row["stages"])
    large = [text for text in stages if any(_seconds(row, text) > 0.02 * row["fit_s"] for row in rows)]
    seconds = [Line("fit", sizes, [row["fit_s"] for row in rows], color=INK)]
    seconds += [Line(text, sizes, [_seconds(row, text) or math.nan for row in rows]) for text in large]
    memory = [Line("fit", sizes, [row["peak_mb"] for row in rows], color=INK)]
    return beside(
        "growth",
        "Time and memory of a fit by the number of trips",
        [
            _chart("Seconds by stage", "seconds", seconds, 760),
            _chart("Peak memory", "MB", memory, 280),
        ],
    )


def _seconds(row: Mapping[str, Any], text: str) -> float:
    return float(row["stages"].get(text, [0])[0])


def _chart(title: str, unit: str, drawn: Sequence[Line], width: float) -> Plot:
    return lines(unit, title, "trips", unit, drawn, y_log=True, width=width, height=HEIGHT, not_private=False)


def generated(folder: Path, row: Mapping[str, Any], count: int) -> tuple[Path, dict[str, Any]]:
    """Run `privtrace generate` to Parquet from the model of a size."""
    path = folder / f"synthetic_{count}.parquet"
    model = model_of(folder, row["trips"])
    return path, apart("command", "generate", model, "--count", count, "--seed", 1, "--output", path, "--force")


def evaluated(folder: Path, row: Mapping[str, Any]) -> dict[str, Any]:
    """Run `privtrace evaluate`, all profiles and the page, on a size against as many synthetic trips."""
    network, size = city(seed=1), row["trips"]
    synthetic, _ = generated(folder, row, size)
    region = "--region=" + ",".join(f"{bound:g}" for bound in network.region)
    words = ["--timezone", network.zone, "--profile", "all", "--output", folder / "evaluation.html", "--force"]
    few = made(folder, FEW)
    apart("command", "evaluate", few, few, region, *words)  # compiles
    return apart("command", "evaluate", made(folder, size), synthetic, region, *words)


def main() -> None:
    """Measure all sizes, and print, write and draw what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--trips", default="100000,300000,1000000,3000000", help="the sizes")
    parser.add_argument("--times", action=argparse.BooleanOptionalAction, default=True, help="fit times too")
    parser.add_argument("--folder", type=Path, help="keep the data here; else it is made anew")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent, help="where CSV and SVG go")
    parser.add_argument("--sampled", type=int, default=SAMPLED, help="trajectories to sample for a rate")
    parser.add_argument("--evaluate", action="store_true", help="evaluate the largest size up to 1,000,000")
    parser.add_argument("--generate", type=int, metavar="N", help="run `privtrace generate` for so many")
    parser.add_argument("--brief", action="store_true", help="print a line for each size, and write nothing")
    parser.add_argument("--one", nargs=argparse.REMAINDER, metavar="TASK", help="run one task, print JSON")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(APART[options.one[0]](*options.one[1:])))
        return
    with contextlib.ExitStack() as stack:
        folder = options.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        sizes = [int(size) for size in options.trips.split(",")]
        rows = list(grown(folder, sizes, times=options.times, n_sampled=options.sampled))
        if options.brief:
            for row in rows:
                print(
                    f"fitting {row['trips']:,} trips from a file  {row['fit_s']:8.2f} s   "
                    f"{row['fit_s'] / row['scan_s']:6.1f} scans  {row['peak_mb']:6.0f} MB"
                )
            return
        print_table(table(rows))
        for law in laws(rows):
            print(f"\n{law}")
        write_csv(rows, options.output / "growth.csv")
        (options.output / "growth.svg").write_text(picture(rows).svg_file())
        if options.generate:
            _, found = generated(folder, rows[-1], options.generate)
            rate = options.generate / found["seconds"]
            print(
                f"\ngenerate --count {options.generate} to Parquet: {found['seconds']:.1f} s, {rate:,.0f} "
                f"trajectories a second ({rows[-1]['rate']:,.0f} in memory), {found['peak_mb']:,.0f} MB"
            )
        if options.evaluate:
            row = max((row for row in rows if row["trips"] <= 1_000_000), key=lambda row: row["trips"])
            found = evaluated(folder, row)
            print(
                f"\nevaluate {row['trips']:,} against as many, all profiles, with the page: "
                f"{found['seconds']:.1f} s, {found['seconds'] / row['scan_s']:.1f} scans, "
                f"{found['peak_mb']:,.0f} MB"
            )


if __name__ == "__main__":
    main()
