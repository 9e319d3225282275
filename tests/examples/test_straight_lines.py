"""A method from outside works wherever ours do: installed as a package, on the command line and in Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.examples.lines import FOLDER

import privtrace as pt

BOX = "--region=0,0,10,10"
FIT = (BOX, "--epsilon=1", "--method=straight-lines")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory, wanderers: pt.Trajectories) -> Path:
    """Put the example where Python finds it, with what an installer makes of its pyproject.toml."""
    folder = tmp_path_factory.mktemp("work")
    project = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]
    site = folder / "site"
    info = site / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    (entries,) = project["entry-points"].items()
    listed = "\n".join(f"{name} = {place}" for name, place in entries[1].items())
    (info / "entry_points.txt").write_text(f"[{entries[0]}]\n{listed}\n")
    (site / "straight_lines.py").write_text((FOLDER / "straight_lines.py").read_text())
    wanderers.write(folder / "trips.parquet")
    return folder


def run(folder: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a command where the example is installed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "site"), *sys.path[1:]])}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == code and "Traceback" not in done.stderr, done.stderr
    return done


def test_it_is_small() -> None:
    assert len((FOLDER / "straight_lines.py").read_text().splitlines()) < 150
    assert sorted(path.name for path in FOLDER.iterdir() if path.is_file()) == [
        "README.md",
        "pyproject.toml",
        "straight_lines.py",
        "test_straight_lines.py",
    ]


def test_every_command_knows_it(installed: Path) -> None:
    shown = run(installed, "privtrace", "help", "fit", "--method", "straight-lines").stdout
    assert (
        "Settings of StraightLines (README.md):" in shown
        and "--cells INTEGER" in shown
        and "[1 to 30; default: 8]" in shown
    )
    planned = json.loads(run(installed, "privtrace", "plan", *FIT, "--count=600", "--json").stdout)
    assert [stage["stage"] for stage in planned["stages"]] == ["count", "density", "trips"]
    run(installed, "privtrace", "fit", "trips.parquet", *FIT, "--cells=6", "--output=a.model")
    inspected = run(installed, "privtrace", "inspect", "a.model").stdout
    assert "of the package privtrace-straight-lines 0.1.0" in inspected and "was not reviewed" in inspected
    assert (
        json.loads(run(installed, "privtrace", "inspect", "a.model", "--json").stdout)["settings"]["cells"] == 6
    )
    run(installed, "privtrace", "generate", "a.model", "--count=300", "--seed=1", "--output=s.parquet")
    assert pq.read_schema(installed / "s.parquet").metadata[b"privtrace.method"] == b"straight-lines"
    run(installed, "privtrace", "report", "a.model", "--output=a.html")
    page = (installed / "a.html").read_text()
    assert "StraightLines" in page and "privtrace-straight-lines 0.1.0" in page and "not reviewed" in page
    for what in ("od", "density", "transitions", "grid"):
        run(installed, "privtrace", "export", "a.model", "--what", what, "--output", f"{what}.csv")
        assert (installed / f"{what}.csv").read_text().count("\n") > 10
    compared = run(installed, "privtrace", "evaluate", "trips.parquet", "s.parquet", BOX, "--json").stdout
    assert {"length", "density"} <= {*json.loads(compared)["metrics"]}
    explained = run(
        installed,
        "privtrace",
        "explain",
        "trips.parquet",
        BOX,
        "--method=straight-lines",
        "--epsilons=1",
        "--runs=1",
    ).stdout
    assert "+structure" in explained
    synth = ("synth", "trips.parquet", *FIT, "--output=t.parquet", "--evaluation=e.html", "--report=r.html")
    run(installed, "privtrace", *synth)
    assert (installed / "e-NOT-PRIVATE.html").exists() and (installed / "r.html").exists()


def test_its_mistakes_are_said_like_ours(installed: Path) -> None:
    done = run(installed, "privtrace", "plan", *FIT, "--count=9", "--cells=99", code=2)
    assert "--cells (cells) must be a whole number from 1 to 30, not '99'" in done.stderr
    done = run(installed, "privtrace", "plan", BOX, "--epsilon=1", "--count=9", "--cells=9", code=2)
    assert "--cells is a setting of straight-lines, and the method is bridgetrace" in done.stderr


def test_python_loads_what_it_made(installed: Path) -> None:
    code = (
        "import privtrace as pt\n"
        "model = pt.load('again.model')\n"
        "print(type(model).__name__, model.release.package, len(model.sample(50, seed=1)))\n"
    )
    run(installed, "privtrace", "fit", "trips.parquet", *FIT, "--output=again.model")
    (installed / "look.py").write_text(code)
    assert run(installed, "look").stdout.split() == [
        "StraightLinesModel",
        "privtrace-straight-lines",
        "0.1.0",
        "50",
    ]


def test_anyone_can_run_the_suites_on_it(installed: Path) -> None:
    shown = run(installed, "privtrace.testing", "straight-lines").stdout
    assert shown.endswith("all hold\n") and "FAILED" not in shown
    for suite in ("contract", "sensitivity", "replay", "purity"):
        assert f"holds  {suite}: " in shown


def test_a_package_that_cannot_be_loaded_is_named(installed: Path) -> None:
    info = installed / "site" / "broken-2.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text("[privtrace.methods]\nbroken = no_such_module:METHOD\n")
    done = run(installed, "privtrace", "plan", BOX, "--epsilon=1", "--count=9", "--method=broken", code=2)
    assert "the method broken of broken 2.0 cannot be loaded (ModuleNotFoundError" in done.stderr
    run(installed, "privtrace", "plan", BOX, "--epsilon=1", "--count=9")  # others are as before
