"""A method from outside works wherever ours do: installed as a package, on the command line and in Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.examples.lines import FOLDER

import privtrace as pt
from privtrace.export import PRODUCTS, TIMED

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
    since = 15 * np.arange(len(wanderers.points))
    times = np.datetime64("2024-01-01", "ms") + since.astype("timedelta64[s]")
    replace(wanderers, times=times).write(folder / "timed.parquet")
    return folder


#: Runs commands one after the other, in one process that finds the example installed; importing takes longest.
DRIVER = """
import contextlib, io, json, sys
from privtrace.cli import main

for arguments in json.loads(sys.stdin.read()):
    out, err, code = io.StringIO(), io.StringIO(), 0
    sys.argv = ["privtrace", *arguments]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


def python(folder: Path, *arguments: str, given: str = "") -> str:
    """Run Python where the example is installed."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder / "site"), *sys.path[1:]])}
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, input=given, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run(folder: Path, *commands: tuple[str, ...]) -> list[tuple[int, str, str]]:
    """Run commands; give the exit code, output and errors of each."""
    shown = python(folder, "-c", DRIVER, given=json.dumps(commands)).splitlines()
    return [tuple(json.loads(line)) for line in shown]


def test_it_is_small() -> None:
    assert len((FOLDER / "straight_lines.py").read_text().splitlines()) < 150
    assert sorted(path.name for path in FOLDER.iterdir() if path.is_file()) == [
        "README.md",
        "pyproject.toml",
        "straight_lines.py",
        "test_straight_lines.py",
    ]


def test_every_command_knows_it(installed: Path) -> None:
    by_model = {what: "b.model" if what in TIMED else "a.model" for what in PRODUCTS}
    outputs = {
        what: ("export", model, "--what", what, "--output", f"{what}.csv") for what, model in by_model.items()
    }
    commands = {
        "help": ("help", "fit", "--method", "straight-lines"),
        "plan": ("plan", *FIT, "--count=600", "--json"),
        "fit": ("fit", "trips.parquet", *FIT, "--cells=6", "--output=a.model"),
        "fit with times": ("fit", "timed.parquet", *FIT, "--times", "--output=b.model"),
        "inspect": ("inspect", "a.model"),
        "inspect as JSON": ("inspect", "a.model", "--json"),
        "generate": ("generate", "a.model", "--count=300", "--seed=1", "--output=s.parquet"),
        "report": ("report", "a.model", "--output=a.html"),
        **outputs,
        "evaluate": ("evaluate", "trips.parquet", "s.parquet", BOX, "--json"),
        "explain": ("explain", "trips.parquet", BOX, FIT[-1], "--epsilons=1", "--runs=1"),
        "synth": ("synth", "trips.parquet", *FIT, "--output=t.csv", "--evaluation=e.html", "--report=r.html"),
    }
    mistakes = (
        ("plan", *FIT, "--count=9", "--cells=99"),
        ("plan", BOX, "--epsilon=1", "--count=9", "--cells=9"),
    )
    ends = run(installed, *commands.values(), *mistakes)
    assert [code for code, _, _ in ends] == [0] * len(commands) + [2] * len(mistakes), ends
    assert "--cells (cells) must be a whole number from 1 to 30, not '99'" in ends[-2][2]
    assert "--cells is a setting of straight-lines, and the method is bridgetrace" in ends[-1][2]
    del ends[-2:]
    shown = dict(zip(commands, (out for _, out, _ in ends), strict=True))
    assert "Settings of StraightLines (README.md):" in shown["help"] and "--cells INTEGER" in shown["help"]
    assert "[1 to 30; default: 8]" in shown["help"]
    assert [s["stage"] for s in json.loads(shown["plan"])["stages"]] == ["count", "density", "trips"]
    assert "from the package privtrace-straight-lines 0.1.0" in shown["inspect"]
    assert "have not reviewed" in shown["inspect"]
    assert json.loads(shown["inspect as JSON"])["settings"]["cells"] == 6
    assert pq.read_schema(installed / "s.parquet").metadata[b"privtrace.method"] == b"straight-lines"
    page = (installed / "a.html").read_text()
    assert "StraightLines" in page and "privtrace-straight-lines 0.1.0" in page and "not reviewed" in page
    assert all((installed / f"{what}.csv").read_text().count("\n") > 10 for what in PRODUCTS)
    assert {"length", "density"} <= {*json.loads(shown["evaluate"])["metrics"]}
    assert "+structure" in shown["explain"]
    assert (installed / "e-NOT-PRIVATE.html").exists() and (installed / "r.html").exists()


def test_python_loads_what_it_made(installed: Path) -> None:
    code = (
        "import privtrace as pt\n"
        "from privtrace.methods import registry\n"
        "settings = registry.find('straight-lines').settings\n"
        "region = pt.Region.box(0, 0, 10, 10)\n"
        "settings(epsilon=1, region=region).fit(pt.read('trips.parquet')).save('again.model')\n"
        "model = pt.load('again.model')\n"
        "print(type(model).__name__, model.release.package, len(model.sample(50, seed=1)))\n"
    )
    said = python(installed, "-c", code).split()
    assert said == ["StraightLinesModel", "privtrace-straight-lines", "0.1.0", "50"]


@pytest.mark.slow
def test_anyone_can_run_the_suites_on_it(installed: Path) -> None:
    shown = python(installed, "-m", "privtrace.testing", "straight-lines")
    assert shown.endswith("all hold\n") and "FAILED" not in shown
    for suite in ("contract", "sensitivity", "replay", "purity"):
        assert f"holds  {suite}: " in shown


def test_a_package_that_cannot_be_loaded_is_named(installed: Path) -> None:
    info = installed / "site" / "broken-2.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text("[privtrace.methods]\nbroken = no_such_module:METHOD\n")
    (code, _, said), (others, _, _) = run(
        installed,
        ("plan", BOX, "--epsilon=1", "--count=9", "--method=broken"),
        ("plan", BOX, "--epsilon=1", "--count=9"),  # as before
    )
    assert code == 2 and others == 0
    assert "the method broken of broken 2.0 cannot be loaded (ModuleNotFoundError" in said
