"""A fit ends with what may be read from its model, and says loudly if that is nothing."""

from __future__ import annotations

import json
import logging
import subprocess
from pathlib import Path

import pytest
from tests.cli.running import run

import privtrace as pt

#: A model of which nothing can be read, whatever the noise.
NO_TRIPS = "--public-count=0"
NOISE = "nothing can be read"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, city: tuple[pt.Trajectories, pt.Region]) -> Path:
    folder = tmp_path_factory.mktemp("verdicts")
    trips, _ = city
    trips.write(folder / "trips.parquet")
    return folder


def fitted(folder: Path, region: pt.Region, epsilon: str, *more: str) -> subprocess.CompletedProcess[str]:
    box = ",".join(map(str, region.bounds))
    return run(
        "fit", "trips.parquet", f"--region={box}", "--epsilon", epsilon, "--timezone=Europe/Berlin",
        "--output", f"{epsilon}.model", "--force", *more, cwd=folder,
    )  # fmt: skip


def test_a_fit_ends_with_its_verdict(folder: Path, city: tuple[pt.Trajectories, pt.Region]) -> None:
    told = fitted(folder, city[1], "2")
    assert "Readable: visits of coarse cells" in told.stdout
    assert "stand out from their noise" in told.stdout and "all noise" not in told.stdout + told.stderr
    model = pt.load(folder / "2.model")
    for level in model.usability().levels:
        assert level.sentence in told.stdout.replace("\n", " ") or level.sentence in told.stdout
    again = run("inspect", "2.model", cwd=folder).stdout
    assert model.usability().verdict in again.replace("\n", " ")
    described = json.loads(run("inspect", "2.model", "--json", cwd=folder).stdout)
    assert described["usability"] == model.usability().facts()


@pytest.mark.parametrize("quiet", [False, True])
def test_a_fit_that_is_noise_says_so_and_what_would_help(
    quiet: bool, folder: Path, city: tuple[pt.Trajectories, pt.Region]
) -> None:
    told = fitted(folder, city[1], "1", NO_TRIPS, *(["--quiet"] if quiet else []))
    said = " ".join(told.stderr.split())
    assert NOISE in said and "a larger epsilon, more trips, coarser cells" in said
    assert "adds to what is spent: with the same epsilon, 2 in all" in said
    assert quiet or "Readable" not in told.stdout
    assert not quiet or told.stdout == ""
    described = json.loads(fitted(folder, city[1], "1", NO_TRIPS, "--json").stdout)
    assert described["usability"]["all_noise"] and described["usability"]["advice"]


def test_a_fit_in_python_logs_that_it_is_noise(
    city: tuple[pt.Trajectories, pt.Region], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "privtrace"):
        model = pt.BridgeTrace(epsilon=1, region=city[1], public_count=0).fit(city[0])
    (record,) = [one for one in caplog.records if one.name == "privtrace"]
    assert NOISE in record.getMessage() and "adds to what is spent" in record.getMessage()
    assert model.usability().verdict in model._repr_html_()
    caplog.clear()
    with caplog.at_level(logging.WARNING, "privtrace"):
        pt.BridgeTrace(epsilon=2, region=city[1]).fit(city[0])
    assert not caplog.records
