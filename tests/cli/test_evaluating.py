"""Evaluating and explaining from the command line: files of strangers, words, refusals, progress."""

from __future__ import annotations

import csv
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from threading import Timer

import numpy as np
import pytest
from tests.cli.running import COMMAND, run

import privtrace as pt
from privtrace.cli.options import ComparingOptions

BOX = "--region=-8.7,41.1,-8.5,41.2"
REGION = pt.Region.box(-8.7, 41.1, -8.5, 41.2)
PAPER = ["length", "diameter", "density", "pattern"]


def wandering(seed: int, count: int = 300) -> pt.Trajectories:
    """Make walks of 1 to 20 points in and around the box, in degrees."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 20, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    steps = np.cumsum(rng.normal(0, 0.004, (offsets[-1], 2)), axis=0)
    starts = rng.uniform((-8.7, 41.1), (-8.5, 41.2), (count, 2)) - steps[offsets[:-1]]
    return pt.Trajectories(steps + np.repeat(starts, lengths, axis=0), offsets)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a real and a synthetic set, each as Parquet and as a stranger's CSV."""
    folder = tmp_path_factory.mktemp("evaluating")
    for name, seed in (("real", 1), ("synthetic", 2)):
        trips = wandering(seed)
        trips.write(folder / f"{name}.parquet")
        owners = np.repeat(np.arange(len(trips)), np.diff(trips.offsets))
        with open(folder / f"{name}.csv", "w", newline="") as file:
            table = csv.writer(file, delimiter=";")
            table.writerow(["Fahrt", "Breite", "Länge"])
            table.writerows(
                (f"{name}-{owner}", y, x) for owner, (x, y) in zip(owners, trips.points, strict=True)
            )
    return folder


COLUMNS = "--columns=traj_id=Fahrt,lat=Breite,lon=Länge"
SWAPPED = "traj_id=Fahrt,lon=Breite,lat=Länge"
PLANAR = "traj_id=Fahrt,y=Breite,x=Länge"


def test_the_table_says_what_it_is(folder: Path) -> None:
    shown = run("evaluate", "real.parquet", "synthetic.parquet", BOX, cwd=folder).stdout
    lines = shown.splitlines()
    assert lines[0].startswith("NOT PRIVATE") and "the privacy statement no longer holds" in lines[0]
    assert lines[2].startswith("real       300 of 300 trajectories") and lines[4].endswith(", lonlat")
    assert lines[6].split() == ["metric", "value", "limit", "baseline", "best"]
    assert [line.split()[0] for line in lines[7:11]] == PAPER
    assert "one random half of the real data against the other" in shown and "uniform random walk" in shown


def test_json_is_what_python_gives(folder: Path) -> None:
    done = run("evaluate", "real.parquet", "synthetic.parquet", BOX, "--json", "--profile=all", cwd=folder)
    listed = json.loads(done.stdout)
    result = pt.evaluate(
        pt.read(folder / "real.parquet"), pt.read(folder / "synthetic.parquet"), region=REGION, profile="all"
    )
    assert listed["metrics"] == json.loads(json.dumps(result.to_dict()["metrics"]))
    assert [*listed["metrics"]][:4] == PAPER and len(listed["metrics"]) == 27
    assert all({"value", "limit", "baseline"} <= set(entry) for entry in listed["metrics"].values())
    assert listed["inputs"]["real"]["path"] == "real.parquet" and listed["not_private"] is True
    assert done.stderr == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("real.csv", "synthetic.csv", COLUMNS),
        ("real.csv", "synthetic.parquet", COLUMNS),
        ("real.parquet", "synthetic.csv", COLUMNS.replace("--", "--synthetic-")),
    ],
    ids=["both", "the real one", "the synthetic one"],
)
def test_files_of_strangers(arguments: tuple[str, ...], folder: Path) -> None:
    plain = run("evaluate", "real.parquet", "synthetic.parquet", BOX, "--json", cwd=folder)
    other = run("evaluate", *arguments, BOX, "--json", cwd=folder)
    assert json.loads(other.stdout)["metrics"] == json.loads(plain.stdout)["metrics"]


def test_options_reach_the_evaluation(folder: Path) -> None:
    given = ["evaluate", "real.parquet", "synthetic.parquet", BOX, "--json"]
    plain = json.loads(run(*given, cwd=folder).stdout)
    seeded = json.loads(run(*given, "--seed=2", "--bootstrap=5", "--threads=1", cwd=folder).stdout)
    assert plain["metrics"]["density"]["value"] != seeded["metrics"]["density"]["value"]
    assert plain["metrics"]["length"]["value"] == seeded["metrics"]["length"]["value"]
    low, high = seeded["metrics"]["length"]["interval"]
    assert low <= seeded["metrics"]["length"]["value"] <= high
    assert run(*given[:-1], "--quiet", cwd=folder).stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["real.parquet", "synthetic.parquet"], "a region is needed"),
        (["real.parquet", "synthetic.parquet", "--region=1,1,2,2"], "none of"),
        (["real.parquet", "synthetic.csv", BOX], "--synthetic-columns"),
        (["real.parquet", "synthetic.csv", BOX, f"--synthetic-columns={PLANAR}"], "planar"),
        (["real.parquet", "synthetic.csv", BOX, f"--synthetic-columns={SWAPPED}"], "swapped"),
        (["real.parquet", "synthetic.parquet", BOX, "--bootstrap=1"], "bootstrap must be"),
        (["real.parquet", "synthetic.parquet", BOX, "--synthetic-time-unit=s"], "leave out --synthetic-time-"),
        (["real.parquet", "synthetic.parquet", BOX, "--synthetic-timezone=x"], "-timezone: there is no time"),
        (["real.parquet", "synthetic.parquet", BOX, "--synthetic-time-format=%H"], "time-format: '%H' has no"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_refused(arguments: list[str], words: str, folder: Path) -> None:
    done = run("evaluate", *arguments, cwd=folder, code=2)
    assert words in done.stderr and done.stdout == ""
    assert "-8." not in done.stderr.replace("-8.70,41.10,-8.54,41.22", "").replace("-8.70, 41.10, -8.54", "")


def test_the_synthetic_times_are_local_where_the_real_ones_are(folder: Path) -> None:
    for declared, wanted in (
        (ComparingOptions(), "UTC"),
        (ComparingOptions(timezone="Europe/Lisbon"), "Europe/Lisbon"),
        (ComparingOptions(timezone="Europe/Lisbon", synthetic_timezone="UTC"), "UTC"),
        (ComparingOptions(synthetic_timezone="Asia/Tokyo"), "Asia/Tokyo"),
    ):
        assert declared.synthetic_source(folder / "synthetic.parquet").zone == wanted


def test_strict_speaks_of_the_columns_that_are_meant(folder: Path) -> None:
    """A bad row does not make other columns be read."""
    (folder / "bad.csv").write_text("Fahrt,Breite,Länge,traj_id,lon,lat\n1,none,-8.6,1,-8.6,41.15\n")
    done = run("evaluate", "real.csv", "bad.csv", COLUMNS, BOX, "--strict", cwd=folder, code=2)
    assert "bad.csv:2: latitude" in done.stderr and "--strict" in done.stderr


def test_explain(folder: Path) -> None:
    given = ["explain", "real.parquet", BOX, "--epsilons=0.5,2", "--runs=2"]
    shown = run(*given, cwd=folder).stdout.splitlines()
    assert shown[0].startswith("NOT PRIVATE") and shown[2].startswith("real       300 of 300 trajectories")
    assert shown[4].startswith("epsilon 0.5: 300 trajectories, ")
    assert shown[7].split()[:5] == ["metric", "epsilon", "limit", "points", "cells"]
    assert [line.split()[:2] for line in shown[8:10]] == [["length", "0.5"], ["length", "2"]]
    listed = json.loads(run(*given, "--json", "--rounds=0", cwd=folder).stdout)
    expected = pt.explain(
        pt.read(folder / "real.parquet"),
        pt.BridgeTrace(epsilon=1, region=REGION, rounds=0),
        epsilons=["0.5", "2"],
        runs=2,
    )
    assert listed["metrics"] == json.loads(json.dumps(expected.to_dict()["metrics"]))
    assert listed["inputs"]["epsilons"] == ["0.5", "2"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--epsilons=0.5,,2"], "epsilon must be a positive"),
        (["--epsilons=1", "--unit=user"], "--max-per-user"),
    ],
)
def test_explain_refuses(arguments: list[str], words: str, folder: Path) -> None:
    assert words in run("explain", "real.parquet", BOX, *arguments, cwd=folder, code=2).stderr


#: A thread that never ends: what an interrupt may make of those of a pool.
STUCK = """
import atexit, os, threading
atexit.register(os.write, 2, b"cleaned up")
from privtrace.cli import main
threading.Thread(target=threading.Event().wait).start()
main()
"""


@pytest.mark.parametrize("command", [COMMAND, [sys.executable, "-c", STUCK]], ids=["all end", "a thread hangs"])
def test_progress_shows_and_an_interrupt_is_clean(command: list[str], folder: Path) -> None:
    terminal, errors = pty.openpty()
    arguments = ["evaluate", "real.parquet", "synthetic.parquet", BOX, "--bootstrap=100000"]
    process = subprocess.Popen([*command, *arguments], cwd=folder, stdout=subprocess.PIPE, stderr=errors)
    os.close(errors)
    shown = b""
    while b"Resampling" not in shown:
        shown += os.read(terminal, 1024)
    assert b"Measuring the real data" in shown and b"Measuring the synthetic data" in shown
    process.send_signal(signal.SIGINT)
    last_resort = Timer(60, process.kill)  # else one that hangs would hang this test
    last_resort.start()
    try:
        while some := os.read(terminal, 1024):
            shown += some
    except OSError:  # how Linux says that the other end is closed
        pass
    code = process.wait()
    last_resort.cancel()
    assert code == 130 and b"interrupted" in shown and b"Traceback" not in shown
    assert command == COMMAND or b"cleaned up" in shown
    assert process.stdout is not None and process.stdout.read() == b""
    process.stdout.close()
    os.close(terminal)


def test_times_are_compared_in_the_hours_of_a_zone(folder: Path) -> None:
    """At 7:30 in UTC it is 8:30 in Lisbon, in July; the synthetic file is in UTC, and says so."""
    for name, hour in (("clock.csv", "08:30:00"), ("made.csv", "07:30:00")):
        rows = [f"{n},-8.6{n % 5},41.1{k},2024-07-0{n % 7 + 1}T{hour}" for n in range(20) for k in (4, 5)]
        (folder / name).write_text("\n".join(["traj_id,lon,lat,t", *rows]))
    given = ["evaluate", "clock.csv", "made.csv", BOX, "--profile=time", "--synthetic-timezone=UTC"]
    given += ["--timezone=Europe/Lisbon"]
    done = run(*given, cwd=folder)
    assert "hours      local time in Europe/Lisbon" in done.stdout and "left out" not in done.stdout
    listed = json.loads(run(*given, "--json", cwd=folder).stdout)
    assert listed["metrics"]["departure"]["value"] == 0 and listed["inputs"]["timezone"] == "Europe/Lisbon"
    assert listed["inputs"]["real"]["untimed_points"] == 20  # each second point is at the time of the first
    given[-1:] = ["--json"]
    assert json.loads(run(*given, cwd=folder).stdout)["metrics"]["departure"]["value"] > 0.6
    untimed = run("evaluate", "real.parquet", "made.csv", BOX, "--profile=time", cwd=folder)
    assert "left out   the real data has no usable times" in untimed.stdout
