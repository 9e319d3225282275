"""What the command line says of times: if they are synthesized, what is in the way, and what they buy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.cli.running import run

import privtrace as pt
from privtrace.testing.data import timed_wanderers

BOX = ("--region=0,0,10,10", "--crs=planar", "--epsilon=1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write trips with times, with step numbers for times, and with a time in a hundred points or so."""
    folder = tmp_path_factory.mktemp("times")
    trips = timed_wanderers()[:120]
    owners = np.repeat(np.arange(len(trips)), np.diff(trips.offsets))
    steps = np.arange(trips.n_points)
    times = np.datetime_as_string(trips.times)
    few = np.where(steps % 200 == 0, times, "")
    for name, column in {"timed": times, "steps": steps, "few": few, "blank": np.full(len(steps), "")}.items():
        rows = [f"{owner},{x},{y},{t}" for owner, (x, y), t in zip(owners, trips.points, column, strict=True)]
        (folder / f"{name}.csv").write_text("\n".join(["tid,x,y,t", *rows]))
        read = pa.csv.read_csv(folder / f"{name}.csv")  # with types: timestamps, where all are times
        pq.write_table(read, folder / f"{name}.parquet")
    trips.write(folder / "timed.gpkg")
    return folder


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--spacing=1",), "To get times, pass --times and leave out --spacing (spacing)."),
        (("--no-sampling",), "To get times, pass --times and leave out --no-sampling (sampling=False)."),
        (("--no-times",), "To get times, pass --times."),
        (("--method=privtrace",), "To get times, pass --times."),
    ],
)
def test_what_stands_in_the_way_of_times_is_named(folder: Path, more: tuple[str, ...], words: str) -> None:
    said = run("fit", "timed.csv", *BOX, *more, "--output=a.model", "--force", cwd=folder).stdout
    assert f"get no times. {words}" in said
    if "leave out" in words:  # what is said to help does
        assert (
            "Trips get times"
            in run("fit", "timed.csv", *BOX, "--times", "--output=a.model", "--force", cwd=folder).stdout
        )


@pytest.mark.parametrize("name", ["steps.csv", "few.csv", "blank.csv", "few.parquet"])
@pytest.mark.parametrize("more", [(), ("--period=2013-07-01/2014-07-01",)])
def test_a_share_that_buys_nothing_is_told(folder: Path, name: str, more: tuple[str, ...]) -> None:
    done = run("fit", name, *BOX, *more, "--output=a.model", "--force", cwd=folder)
    told = [line for line in done.stderr.splitlines() if "is wasted" in line]
    assert len(told) == 1 and "NOT PRIVATE" in told[0] and "points have a readable time" in told[0]
    assert "--no-times (times=False)" in told[0] and "or --time-unit (" in told[0]


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("timed.csv", ()),
        ("timed.parquet", ()),
        ("timed.gpkg", ("--times",)),
        ("steps.csv", ("--no-times",)),
        ("steps.csv", ("--time-unit=s",)),
        ("steps.parquet", ("--time-unit=s",)),
        ("steps.csv", ("--method=dpt",)),
    ],
)
def test_no_share_is_wasted_where_times_are_read_or_left_out(
    folder: Path, name: str, more: tuple[str, ...]
) -> None:
    done = run("fit", name, *BOX, *more, "--output=a.model", "--force", cwd=folder)
    assert done.returncode == 0 and "is wasted" not in done.stderr


def test_settings_that_were_left_open_say_what_stands_for_them(folder: Path) -> None:
    run("fit", "timed.csv", *BOX, "--output=open.model", cwd=folder)
    shown = run("inspect", "open.model", cwd=folder).stdout
    listed = shown.partition("Settings\n")[2].partition("\n\n")[0]
    settings = dict(line.split(maxsplit=1) for line in listed.splitlines())
    assert settings["period"] == "all days" and settings["every"] == "measured"
    assert settings["spacing"] == "as measured, or by rule" and settings["K"] == "by rule"
    page = pt.load(folder / "open.model").report().html
    for words in ("all days", "measured", "as measured, or by rule"):
        assert f">{words}</td>" in page
