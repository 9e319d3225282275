"""The way from the input to the written file has no detours: each thing is opened, checked and read once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import privtrace as pt
from privtrace.cli.commands import app_for
from privtrace.io import atomic, opening
from privtrace.io.source import FileSource

BOX = "--region=0,0,10,10"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the headers that are opened, the targets that are checked, and the passes over rows."""
    counts: Counter[str] = Counter()
    open_reader, parts = opening.open_reader, FileSource.parts
    exists = atomic.check_target

    def opened(path: Path, *more: Any) -> Any:
        counts[f"opened {path.name}"] += 1
        return open_reader(path, *more)

    def checked(path: Any, force: bool = False) -> Any:
        if not isinstance(path, atomic.Target):
            counts[f"checked {Path(path).name}"] += 1
        return exists(path, force)

    def passed(self: FileSource) -> Any:
        counts[f"passed over {Path(self.path).name}"] += 1
        return parts(self)

    monkeypatch.setattr("privtrace.io.open_reader", opened)
    for module in ("atomic", "output"):
        monkeypatch.setattr(f"privtrace.io.{module}.check_target", checked)
    monkeypatch.setattr("privtrace.report.document.check_target", checked)
    monkeypatch.setattr(FileSource, "parts", passed)
    return counts


def run(*arguments: str) -> None:
    done = CliRunner().invoke(app_for(arguments), arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output


def test_synth_with_all_outputs(
    tmp_path: Path, wanderers: pt.Trajectories, counted: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wanderers.write("trips.parquet")
    counted.clear()
    run(
        "synth", "trips.parquet", BOX, "--epsilon=1", "--output=made.parquet", "--model=made.model",
        "--report=made.html", "--evaluation=compared.html",
    )  # fmt: skip
    assert counted == {
        "opened trips.parquet": 1,  # for the fit and for the evaluation
        "passed over trips.parquet": 5,  # points, count, density and paths; and the evaluation's one
        "checked made.parquet": 1,
        "checked made.model": 1,
        "checked made.html": 1,
        "checked compared-NOT-PRIVATE.html": 1,
    }


def test_fit_and_generate(
    tmp_path: Path, wanderers: pt.Trajectories, counted: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    wanderers.write("trips.csv")
    counted.clear()
    run("fit", "trips.csv", BOX, "--epsilon=1", "--output=a.model")
    run("generate", "a.model", "--output=made.csv")
    assert counted["opened trips.csv"] == counted["checked a.model"] == counted["checked made.csv"] == 1
    assert counted["opened made.csv"] == 0
