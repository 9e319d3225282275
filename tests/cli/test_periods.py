"""A period from the command line: which trips count, what is compared, and what the curator is told."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from tests.cli.running import run

import privtrace as pt

BOX = "--region=0,0,10,10"
MONDAY, TUESDAY, NEVER = "2024-01-01/2024-01-02", "2024-01-02/2024-01-03", "2020-01-01/2021-01-01"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 40 trips of a Monday, in the west, 60 of a Tuesday, in the east, and 5 without a time."""
    folder = tmp_path_factory.mktemp("periods")
    rng = np.random.default_rng(1)
    rows = ["tid,x,y,t"]
    for trip in range(105):
        day = "2024-01-01" if trip < 40 else "2024-01-02"
        x, y = rng.uniform(1, 3) + 6 * (trip >= 40), rng.uniform(1, 9)
        for minute in range(8):
            time = f"{day}T12:{minute:02}:00" if trip < 100 else ""
            rows.append(f"{trip},{x + 0.1 * minute:.3f},{y:.3f},{time}")
    (folder / "trips.csv").write_text("\n".join(rows))
    (folder / "numbers.csv").write_text("\n".join(row.replace("2024-01-0", "").split("T")[0] for row in rows))
    pt.read(folder / "trips.csv", crs="planar").timed().collect().write(folder / "trips.parquet")
    return folder


def compared(page: str) -> tuple[str, str]:
    """Find how many real trajectories a page compares with, and how many of them are in the region."""
    found = re.findall(r">(?:Trajectories|of these in the region)</th><td[^>]*>([\d,]+)</td>", page)
    return found[0], found[1]


@pytest.mark.parametrize("more", [(), ("--no-times",)])
@pytest.mark.parametrize(("period", "count"), [(MONDAY, "40"), (TUESDAY, "60")])
def test_the_page_compares_with_the_trips_of_the_period(
    folder: Path, period: str, count: str, more: tuple[str, ...]
) -> None:
    run(
        "synth", "trips.csv", BOX, "--crs=planar", "--epsilon=9", f"--period={period}", "--output=made.csv",
        "--evaluation=page.html", "--force", *more, cwd=folder,
    )  # fmt: skip
    page = (folder / "page-NOT-PRIVATE.html").read_text()
    assert compared(page) == (count, count) and f"begin in the period {period}" in page


@pytest.mark.parametrize("file", ["trips.csv", "trips.parquet"])
def test_a_release_of_a_period_is_compared_by_hand(folder: Path, file: str) -> None:
    arguments = ("evaluate", file, "trips.parquet", BOX, "--crs=planar", "--json")
    whole = json.loads(run(*arguments, cwd=folder).stdout)["inputs"]
    assert whole["period"] is None and whole["real"]["trajectories"] == 105
    for period, count in ((MONDAY, 40), (TUESDAY, 60)):
        found = json.loads(run(*arguments, f"--period={period}", cwd=folder).stdout)["inputs"]
        assert found["period"] == period and found["real"]["trajectories"] == count
        assert found["synthetic"]["trajectories"] == 105
    table = run(*arguments[:-1], f"--period={MONDAY}", cwd=folder).stdout
    assert f"period     {MONDAY}, last day excluded" in table
    real, region = pt.read(folder / file, crs="planar"), pt.Region.box(0, 0, 10, 10)
    python = pt.evaluate(real, real, region=region, period=MONDAY, figures=False)
    assert python.inputs["real"]["trajectories"] == 40 and python["density"].value > 0


def test_days_are_those_of_the_zone(folder: Path) -> None:
    arguments = ("evaluate", "trips.csv", "trips.parquet", BOX, "--crs=planar", "--json", f"--period={TUESDAY}")
    there = run(*arguments, "--timezone=Pacific/Kiritimati", cwd=folder)  # text names no zone: local there
    assert json.loads(there.stdout)["inputs"]["real"]["trajectories"] == 60
    real = pt.read(folder / "trips.parquet", crs="planar")
    found = pt.evaluate(
        real, real, region=pt.Region.box(0, 0, 10, 10), period=TUESDAY, timezone="Pacific/Kiritimati"
    )
    assert found.inputs["real"]["trajectories"] == 40  # noon of Monday in UTC is Tuesday there


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["trips.csv", "--period=2024"], "--period (period) must be two days, the first"),
        (["numbers.csv", "--columns=t="], None),
        (
            ["numbers.csv", "--columns=t=", f"--period={MONDAY}"],
            "so no period can be applied; name their column",
        ),
    ],
)
def test_a_period_that_cannot_be_applied_is_refused(
    folder: Path, arguments: list[str], words: str | None
) -> None:
    done = run(
        "evaluate", arguments[0], "trips.parquet", BOX, "--crs=planar", "--synthetic-columns=t=t",
        *arguments[1:], cwd=folder, code=0 if words is None else 2,
    )  # fmt: skip
    assert words is None or (words in done.stderr and "synthesize" not in done.stderr)


@pytest.mark.parametrize("command", ["fit", "synth"])
def test_without_a_clock_no_period_is_applied_and_times_are_not_blamed(folder: Path, command: str) -> None:
    done = run(
        command, "numbers.csv", BOX, "--crs=planar", "--columns=t=", "--epsilon=1", "--no-times",
        f"--period={MONDAY}", f"--output={command}.csv", cwd=folder, code=2,
    )  # fmt: skip
    assert "no period can be applied" in done.stderr and "leave out --period (period)" in done.stderr
    assert "synthesize" not in done.stderr and "no noise was drawn" in done.stderr


def test_an_empty_period_is_told_as_one(folder: Path) -> None:
    done = run(
        "fit", "trips.csv", BOX, "--crs=planar", "--epsilon=1", f"--period={NEVER}", "--output=never.model",
        cwd=folder,
    )  # fmt: skip
    told = done.stderr
    assert told.count(f"0 of 105 trips begin in the period {NEVER} (local days in UTC); 5 have no time") == 1
    assert "no trip begins in the period. Is it the right period" in told
    assert "no rows" not in told and "is complete" not in told
    assert "how many times can be read (only trips that begin in the period count)" in told


def test_without_a_period_nothing_is_said_of_one(folder: Path) -> None:
    (folder / "empty.csv").write_text("tid,x,y,t\n")
    told = run("fit", "empty.csv", BOX, "--crs=planar", "--epsilon=1", "--output=e.model", cwd=folder).stderr
    assert "the data has no rows" in told and "period" not in told


def test_after_one_pass_a_comparison_tells_it_too(folder: Path) -> None:
    arguments = ("evaluate", "trips.csv", "trips.parquet", BOX, "--crs=planar", f"--period={NEVER}")
    told = run(*arguments, cwd=folder, code=2).stderr
    assert f"0 of 105 trips begin in the period {NEVER}" in told
    assert "trips.csv: there are no trips to compare with" in told
