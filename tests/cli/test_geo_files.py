"""Geographic formats and names of columns, as a user asks for them on the command line."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from tests.cli.running import COMMAND, run

TRIPS = "tid,uid,datetime,lng,lat\n1,7,2024-01-01T10:00:00,8.5,47.1\n1,7,2024-01-01T10:00:15,8.6,47.2\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "trips.csv").write_text(TRIPS)
    return tmp_path


def test_convert_there_and_back_with_names(folder: Path) -> None:
    run("convert", "trips.csv", "lines", "--to", "geoparquet-lines", cwd=folder)
    run("convert", "lines", "again.csv", "--names", "scikit-mobility", cwd=folder)
    lines = (folder / "again.csv").read_text().splitlines()
    assert lines[0] == "uid,tid,datetime,lat,lng" and "47.2,8.6" in lines[2]


def test_check_tells_which_feature_is_wrong(folder: Path) -> None:
    features = [{"type": "Feature", "properties": {"tid": 1}, "geometry": None}]
    (folder / "a.json").write_text(json.dumps({"features": features}))
    done = run("check", "a.json", cwd=folder, code=1)
    assert "a.json:1: the geometry is missing, empty or cannot be read" in done.stdout


def test_a_missing_extra_is_one_line_and_exit_code_2(folder: Path) -> None:
    (folder / "pyogrio.py").write_text("raise ImportError\n")  # the current folder is looked at first
    arguments = [*COMMAND, "convert", "trips.csv", "a.gpkg"]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "a.gpkg: GeoPackage needs the geo extra: pip install 'privtrace[geo]'" in " ".join(
        done.stderr.split()
    )
    assert not (folder / "a.gpkg").exists()


def test_nothing_is_spent_on_what_the_output_cannot_hold(folder: Path) -> None:
    arguments = [
        "synth",
        "trips.csv",
        "--region=8,47,9,48",
        "--epsilon=1",
        "--budget-file=a.ledger",
        "--limit=1",
    ]
    done = run(*arguments, "--no-times", "--output=a.mfjson", cwd=folder, code=2)
    assert "mfjson needs times" in " ".join(done.stderr.split())
    assert not (folder / "a.ledger").exists()
    run(*arguments, "--count=3", "--output=a.mfjson", cwd=folder)
    assert (folder / "a.ledger").exists() and "MovingPoint" in (folder / "a.mfjson").read_text()
