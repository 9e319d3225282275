"""Comparing from the command line: the page, files of strangers, refusals, an interrupt that loses nothing."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.cli.running import COMMAND, run

import privtrace as pt
from privtrace.study.study import Study

BOX = "--region=-8.7,41.1,-8.5,41.2"
GIVEN = ("compare", "real.parquet", BOX, "--methods=dpt", "--epsilons=0.5,1", "--runs=2", "--workers=1")
STRANGER = ("--file=theirs=made.csv", "--synthetic-columns=traj_id=Fahrt,lat=Breite,lon=Länge")


def wandering(seed: int, count: int = 200) -> pt.Trajectories:
    """Make walks of 1 to 20 points in and around the box, in degrees."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 20, count)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    steps = np.cumsum(rng.normal(0, 0.004, (offsets[-1], 2)), axis=0)
    starts = rng.uniform((-8.7, 41.1), (-8.5, 41.2), (count, 2)) - steps[offsets[:-1]]
    return pt.Trajectories(steps + np.repeat(starts, lengths, axis=0), offsets)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write real data, and what another tool made of it, in its own words."""
    folder = tmp_path_factory.mktemp("comparing")
    wandering(1).write(folder / "real.parquet")
    wandering(2).write(folder / "other.parquet")
    made = wandering(3)
    owners = np.repeat(np.arange(len(made)), np.diff(made.offsets))
    with open(folder / "made.csv", "w", newline="") as file:
        table = csv.writer(file, delimiter=";")
        table.writerow(["Fahrt", "Breite", "Länge"])
        table.writerows((f"t{owner}", y, x) for owner, (x, y) in zip(owners, made.points, strict=True))
    return folder


@pytest.fixture(scope="module")
def listed(folder: Path) -> dict[str, Any]:
    """Compare once; what it found is there for all tests, and no fit is made again."""
    done = run(*GIVEN, *STRANGER, "--json", "--figures=figures", "--output=page.html", cwd=folder)
    assert done.stderr == ""
    found: dict[str, Any] = json.loads(done.stdout, parse_constant=lambda word: pytest.fail(word))
    return found


def test_json_is_what_python_reads_in_the_results(listed: dict[str, Any], folder: Path) -> None:
    study = Study.read(folder / "page-NOT-PRIVATE.parquet")
    assert study.labels == ("dpt", "theirs")
    assert listed["scores"] == json.loads(json.dumps(study.to_dict()["scores"]))
    assert listed["wins"] == json.loads(json.dumps(study.to_dict()["wins"])) and {*listed["costs"]} == {"dpt"}
    assert listed["not_private"] is True and listed["inputs"]["path"] == "real.parquet"
    by_hand = pt.evaluate(
        wandering(1), wandering(3), region=pt.Region.box(-8.7, 41.1, -8.5, 41.2), figures=False
    )
    assert study.mean("theirs", 1, "length").value == by_hand["length"].value
    assert study.limit["length"] == by_hand["length"].limit


def test_all_that_it_writes_says_not_private(listed: dict[str, Any], folder: Path) -> None:
    names = ["page-NOT-PRIVATE.html", "page-NOT-PRIVATE.parquet", "figures-NOT-PRIVATE"]
    assert [listed[name] for name in ("page", "results", "figures")] == names
    assert not any((folder / name).exists() for name in ("page.html", "page.parquet", "figures"))
    page = (folder / names[0]).read_text()
    assert "NOT PRIVATE" in page and "theirs" in page and ">nan" not in page.lower()
    kinds = {path.suffix for path in (folder / names[2]).iterdir() if path.suffix}
    assert kinds == {".svg", ".png", ".csv"}


def test_again_it_reads_what_is_there(listed: dict[str, Any], folder: Path) -> None:
    kept = (folder / "page-NOT-PRIVATE.parquet").read_bytes()
    shown = run(*GIVEN, *STRANGER, "--output=page.html", "--force", "--title=Two of them", cwd=folder).stdout
    assert shown.startswith("NOT PRIVATE") and "value ± standard deviation" in shown
    assert "Page written to page-NOT-PRIVATE.html. NOT PRIVATE: keep it with the data." in shown
    assert "Two of them" in (folder / "page-NOT-PRIVATE.html").read_text()
    assert (folder / "page-NOT-PRIVATE.parquet").read_bytes() == kept


def test_files_may_be_by_epsilon_and_several(listed: dict[str, Any], folder: Path) -> None:
    files = ["--file=a@0.5=other.parquet", "--file=a@1=other.parquet", "--file=a@1=real.parquet"]
    arguments = ["compare", "real.parquet", BOX, "--methods=", *files, "--epsilons=0.5,1", "--runs=2", "--json"]
    found = json.loads(run(*arguments, "--output=files.html", cwd=folder).stdout)
    runs = {(row["epsilon"], row["runs"]) for row in found["scores"]}
    assert runs == {(0.5, 1), (1.0, 2)} and found["costs"] == {}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--runs=1"], "--runs (runs) must be at least 2: a single run shows neither spread nor significance"),
        (["--runs=0"], "must be a whole number from 2 to 1000"),
        (["--methods=magic"], "must be of bridgetrace, privtrace, adatrace, dpt, or module:Class, not 'magic'"),
        (["--methods=mine:Mine"], "mine:Mine: cannot be imported (ModuleNotFoundError"),
        (["--methods=tests.study.methods:Unfit"], "Unfit: what it makes has no fit"),
        (["--methods="], "there is nothing to compare"),
        (["--file=x"], "--file takes NAME=PATH, or NAME@EPSILON=PATH, not 'x'"),
        (["--file=x=nowhere.csv"], "nowhere.csv"),
        (["--file=x@7=other.parquet"], "x: its files are for epsilon 7, which is not compared"),
        (["--file=dpt=other.parquet"], "two competitors are called dpt"),
        (["--file=x=made.csv"], "--synthetic-columns"),
        (["--epsilons=1,zero"], "epsilon must be a positive decimal number like 0.5, not 'zero'"),
        (["--profile=magic"], "'magic' is not one of 'paper'"),
        (["--workers=0"], "--workers"),
        (["--region="], "region"),
        (["--period=2024-01-01/2024-01-08"], "no period can be applied"),
        (["--unit=user"], "--max-per-user"),
        (["--timezone=Mars/Base"], "there is no time zone"),
        (["--output=page.pdf"], "a page is HTML"),
        (["--output=nowhere/page.html"], "no such folder"),
        (["--results=nowhere/r.parquet"], "no such folder"),
        (["--results=real.parquet"], "--results and TRIPS are the same file"),
        (["--results=other.parquet"], "is no file of results of a comparison; give another path"),
        (["--seed=2"], "holds results of another comparison, of another seed; remove it, or give another"),
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_meant_is_told_in_a_sentence(
    arguments: list[str], words: str, listed: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])  # which gets the folder
    before = sorted(path.name for path in folder.iterdir())
    kept = [] if arguments[0].startswith("--results") else ["--results=page-NOT-PRIVATE.parquet"]
    done = run(*GIVEN, "--output=another.html", *kept, *arguments, cwd=folder, code=2)
    said = " ".join(done.stderr.split())
    assert words in said and done.stdout == "" and "are kept in" not in said
    assert "Traceback" not in done.stderr and "nan" not in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before


def test_what_is_there_stays_without_force(listed: dict[str, Any], folder: Path) -> None:
    before = (folder / "page-NOT-PRIVATE.html").read_bytes()
    done = run(*GIVEN, *STRANGER, "--output=page.html", cwd=folder, code=2)
    assert done.stderr.split("\n")[0] == (
        "error: page-NOT-PRIVATE.html: exists; pass --force (force=True) to overwrite it"
    )
    assert (folder / "page-NOT-PRIVATE.html").read_bytes() == before
    figures = (*GIVEN, "--output=another.html", "--figures=figures")
    assert "figures-NOT-PRIVATE: exists" in run(*figures, cwd=folder, code=2).stderr  # before any work
    assert not (folder / "another-NOT-PRIVATE.parquet").exists()


def test_results_of_other_data_are_refused(listed: dict[str, Any], folder: Path) -> None:
    arguments = ["compare", "other.parquet", *GIVEN[2:], "--output=another.html"]
    done = run(*arguments, "--results=page-NOT-PRIVATE.parquet", cwd=folder, code=2)
    assert done.stderr == (
        "error: page-NOT-PRIVATE.parquet: holds results of another comparison, of other data; remove it, or "
        "give another path with --results (results=...)\n"
    )


#: A class in a file beside the data. Its second fit interrupts whoever compares, once.
MINE = """
import os, signal
from pathlib import Path

class Mine:
    def __init__(self, epsilon, region):
        pass

    def fit(self, trips, seed):
        with open("fits", "a") as file:
            file.write(f"{os.getpid()}\\n")
        if len(Path("fits").read_text().splitlines()) == 2:
            os.kill(os.getppid(), signal.SIGINT)
            signal.pause()
        return trips[seed % 7 :]
"""


def test_an_interrupt_keeps_what_is_done_and_leaves_no_process(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    wandering(1).write(tmp_path / "real.parquet")
    arguments = [
        "compare",
        "real.parquet",
        BOX,
        "--methods=mine:Mine",
        "--epsilons=1",
        "--runs=2",
        "--workers=1",
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 130 and done.stdout == "", done.stderr
    assert done.stderr == (
        "error: interrupted; no incomplete file is left behind; results so far are kept in "
        "comparison-NOT-PRIVATE.parquet; the same command goes on from there\n"
    )
    [process] = {int(line) for line in (tmp_path / "fits").read_text().split()}
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "comparison-NOT-PRIVATE.parquet", "fits", "mine.py", "real.parquet",
    ]  # fmt: skip
    kept = pq.read_table(tmp_path / "comparison-NOT-PRIVATE.parquet").to_pylist()
    run(*arguments, "--quiet", cwd=tmp_path)
    whole = pq.read_table(tmp_path / "comparison-NOT-PRIVATE.parquet").to_pylist()
    assert (tmp_path / "comparison-NOT-PRIVATE.html").exists()
    assert kept and all(row in whole for row in kept)
    assert Study.read(tmp_path / "comparison-NOT-PRIVATE.parquet").mean("Mine", 1, "length").runs == 2
