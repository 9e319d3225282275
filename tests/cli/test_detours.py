"""The way from the input to the written file has no detours: each thing is opened, checked and read once."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import privtrace as pt
from privtrace.cli.commands import app_for
from privtrace.io import opening
from privtrace.io.source import FileSource
from privtrace.storage import atomic
from privtrace.testing.data import timed_wanderers

BOX = "--region=0,0,10,10"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the headers that are opened, the targets that are checked, and the passes over rows."""
    counts: Counter[str] = Counter()
    open_reader, parts, first_pass = opening.open_reader, FileSource.parts, FileSource._first_pass
    exists = atomic.check_target

    def opened(path: Path, *more: Any) -> Any:
        counts[f"opened {path.name}"] += 1
        return open_reader(path, *more)

    def checked(path: Any, *more: Any, **named: Any) -> Any:
        if not isinstance(path, atomic.Target):
            counts[f"checked {Path(path).name}"] += 1
        return exists(path, *more, **named)

    def passed(self: FileSource) -> Any:
        counts[f"passed over {Path(self.path).name}"] += 1
        return parts(self)

    def parsed(self: FileSource) -> Any:
        counts[f"parsed {Path(self.path).name}"] += 1
        return first_pass(self)

    monkeypatch.setattr("privtrace.io.open_reader", opened)
    for module in ("storage.atomic", "io.output", "report.document"):
        monkeypatch.setattr(f"privtrace.{module}.check_target", checked)
    monkeypatch.setattr(FileSource, "parts", passed)
    monkeypatch.setattr(FileSource, "_first_pass", parsed)
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
        "parsed trips.parquet": 1,
        "passed over trips.parquet": 4,  # points and count, density, paths; and the evaluation's one
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


def with_texts(path: str, trips: pt.Trajectories) -> None:
    """Write a text table with times in a column that may hold numbers: on the calendar, it is read anew."""
    owners = np.repeat(np.arange(len(trips)), np.diff(trips.offsets))
    times = np.datetime_as_string(trips.times)
    rows = [f"{owner},{x},{y},{time}" for owner, (x, y), time in zip(owners, trips.points, times, strict=True)]
    Path(path).write_text("\n".join(["tid,x,y,t", *rows]))


@pytest.mark.parametrize("more", [(), ("--period=2013-07-01/2014-07-01",), ("--no-times",)])
def test_text_with_times_is_parsed_once(
    tmp_path: Path, counted: Counter[str], monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    with_texts("trips.csv", timed_wanderers())
    reading = ("trips.csv", BOX, "--crs=planar", *more)
    run("fit", *reading, "--epsilon=1", "--output=a.model")
    assert counted["parsed trips.csv"] == 1
    if more != (
        "--no-times",
    ):  # a fit without times reads them as what sets the order, a comparison as a clock
        counted.clear()
        run("synth", *reading, "--epsilon=1", "--output=made.csv", "--evaluation=compared.html")
        assert counted["parsed trips.csv"] == 1
        counted.clear()
        run("explain", *reading, "--epsilons=1", "--runs=1", "--profile=time")
        assert counted["parsed trips.csv"] == 1


def test_text_with_times_is_compared_after_one_look(
    tmp_path: Path, counted: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("trips.csv", "made.csv"):
        with_texts(name, timed_wanderers())
    for more in (("--profile=all",), ("--output=page.html",), ("--period=2013-07-01/2014-07-01",), ()):
        counted.clear()
        run("evaluate", "trips.csv", "made.csv", BOX, "--crs=planar", *more)
        assert counted["parsed trips.csv"] == counted["parsed made.csv"] == 1, more
