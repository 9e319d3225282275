"""The command `export`: files, words and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pytest
from tests.cli.running import run
from tests.export.samples import model

from privtrace.export import RASTERS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model("adatrace", private=True).save(tmp_path / "private.model")
    model("adatrace").save(tmp_path / "seeded.model")
    return tmp_path


def test_writes_a_table_and_says_so(folder: Path) -> None:
    done = run("export", "private.model", "--what", "od", "--output", "od.csv", cwd=folder)
    assert (
        "Trips from cell to cell, written to od.csv." in done.stdout
        and "epsilon = 20 per trajectory" in done.stdout
    )
    assert done.stderr == ""
    assert pyarrow.csv.read_csv(folder / "od.csv").column_names[:4] == [
        "layer",
        "origin",
        "destination",
        "trips",
    ]


def test_a_table_goes_to_standard_output(folder: Path) -> None:
    to_file = run("export", "private.model", "--what=od", "--output=od.csv", cwd=folder)
    done = run("export", "private.model", "--what=od", "-o", "-", cwd=folder)
    assert done.stdout == (folder / "od.csv").read_text()
    assert done.stderr == to_file.stdout.replace("od.csv", "standard output")
    told = run("fit", "od.csv", "--region=0,0,1,1", "--epsilon=1", "-o-", cwd=folder, code=2).stderr
    assert told == "error: -: only text can go to standard output; give the path of a file\n"
    assert not (folder / "-").exists()


def test_tells_a_program(folder: Path) -> None:
    done = run("export", "private.model", "--what=grid", "-o", "g.geojson", "--json", cwd=folder)
    result = json.loads(done.stdout)
    assert result["files"] == {"grid": "g.geojson"} and result["private"] is True


def test_warns_of_what_is_not_private(folder: Path) -> None:
    done = run("export", "seeded.model", "--what=density", "--output=d.parquet", "--quiet", cwd=folder)
    assert done.stderr.startswith("warning: NOT PRIVATE") and done.stdout == ""


def test_a_raster_is_density(folder: Path) -> None:
    pytest.importorskip("rasterio")
    assert (
        "Noisy visits per unit of area, written to d.tif."
        in run("export", "private.model", "--output=d.tif", cwd=folder).stdout
    )
    assert (folder / "d.tif").read_bytes()[:2] == b"II"


def test_help_names_what_a_raster_can_hold(folder: Path) -> None:
    shown = " ".join(run("help", "export", cwd=folder).stdout.split())
    *most, last = RASTERS
    assert f".tif (GeoTIFF) for {', '.join(most)} or {last}." in shown


def test_hours_are_written_of_models_with_times(folder: Path) -> None:
    model("adatrace, frame, times").save(folder / "timed.model")
    done = run("export", "timed.model", "--what=hourly-od", "--output=h.csv", cwd=folder)
    assert "Trips between cells by part of the day, written to h.csv." in done.stdout
    assert done.stderr.startswith("warning: NOT PRIVATE")
    assert pyarrow.csv.read_csv(folder / "h.csv").column_names[3:6] == ["hour_from", "hour_to", "trips"]


REFUSALS = {
    "no product": (
        ["--output=a.csv"],
        "--what (what) must be one of od, density, transitions, grid, departures",
    ),
    "trips as a raster": (
        ["--what=od", "--output=a.tif"],
        "GeoTIFF can hold density, hourly-density, speeds, but not od",
    ),
    "times of a model without": (
        ["--what=departures", "--output=a.csv"],
        "departures: the model has no times. Fit a model with --times (times=True)",
    ),
    "the model by another name": (
        ["--what=od", "--output=link.csv", "--force"],
        "--output and the model are the same file",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case: str, folder: Path) -> None:
    options, message = REFUSALS[case]
    (folder / "link.csv").symlink_to("private.model")
    before = (folder / "private.model").read_bytes()
    done = run("export", "private.model", *options, cwd=folder, code=2)
    assert message in done.stderr and done.stdout == ""
    assert (folder / "private.model").read_bytes() == before
