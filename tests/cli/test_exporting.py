"""The command `export`: files, words and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import openpyxl
import pyarrow.csv
import pyogrio
import pytest
import shapely
from tests.cli.running import run
from tests.export.samples import model, partition, zone_file

from privtrace.export import DEMAND, FORMATS, PRODUCTS

NAMES = [f"District {number}" for number in range(9)]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("models")
    model("adatrace", private=True).save(made / "private.model")
    model("adatrace").save(made / "seeded.model")
    model("adatrace, frame, times").save(made / "timed.model")
    model("adatrace, across").save(made / "across.model")
    zone_file(made, partition(model("adatrace").release.region), NAMES, "NAME")
    return made


@pytest.fixture
def folder(models: Path, tmp_path: Path) -> Path:
    for path in models.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    return tmp_path


def test_writes_a_table_and_says_so(folder: Path) -> None:
    done = run("export", "private.model", "--what", "od", "--output", "od.csv", cwd=folder)
    assert done.stdout.startswith(
        "Trips from place to place, written to od.csv. No further epsilon is spent.\n"
        "pure differential privacy, epsilon = 20 per trajectory"
    )
    assert done.stderr == ""
    names = pyarrow.csv.read_csv(folder / "od.csv").column_names
    assert names[:6] == ["layer", "origin", "destination", "trips", "low", "high"]


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
    assert "deprecated" not in result


def test_warns_of_what_is_not_private(folder: Path) -> None:
    done = run("export", "seeded.model", "--what=density", "--output=d.parquet", "--quiet", cwd=folder)
    assert done.stderr.startswith("warning: NOT PRIVATE") and done.stdout == ""


def test_a_raster_is_density(folder: Path) -> None:
    done = run("export", "private.model", "--output=d.tif", cwd=folder)
    assert done.stdout.startswith("Trips per squared coordinate unit, one band per layer, written to d.tif.")
    assert (folder / "d.tif").read_bytes()[:2] == b"II"


def test_own_zones_are_said_and_how_they_lie(folder: Path) -> None:
    zones = ("--zones=zones.geojson", "--zone-id=NAME")
    done = run("export", "private.model", "--what=od", *zones, "--output=od.xlsx", cwd=folder)
    assert "Trips from zone to zone, written to od.xlsx. No further epsilon is spent." in done.stdout
    assert (
        "Counted in 9 own zones by NAME, which cover all of the region; they do not overlap.\n" in done.stdout
    )
    book = openpyxl.load_workbook(folder / "od.xlsx")
    assert book.sheetnames == ["od", "matrix", "About"]
    assert [row[0] for row in book["matrix"].iter_rows(min_row=2, values_only=True)] == NAMES
    done = run("export", "private.model", "--what=density", *zones, "-o", "d.gpkg", "--json", cwd=folder)
    assert json.loads(done.stdout)["files"] == {"density": "d.gpkg"}
    assert pyogrio.read_dataframe(folder / "d.gpkg").zone.tolist() == NAMES


def test_cells_of_the_globe_need_no_file(folder: Path) -> None:
    done = run("export", "across.model", "--what=density", "--zones=geohash:3", "-o", "-", cwd=folder)
    rows = done.stdout.splitlines()
    assert rows[0].startswith("zone,area_km2,trips,low,high,trips_per_km2,starts,") and len(rows) > 20
    said = f"Counted in {len(rows) - 1} geohash cells of length 3, which cover all of the region; they do not"
    assert said in done.stderr


def test_hours_and_demand_are_written_of_models_with_times(folder: Path) -> None:
    done = run("export", "timed.model", "--what=od", "--by=weekday", "--output=h.csv", cwd=folder)
    assert "Trips from place to place, by weekday, written to h.csv." in done.stdout
    assert done.stderr.startswith("warning: NOT PRIVATE")
    assert pyarrow.csv.read_csv(folder / "h.csv").column_names[:4] == [
        "layer",
        "weekday",
        "origin",
        "destination",
    ]
    for what, tag in (("sumo", "trip"), ("matsim", "person")):
        options = (f"--what={what}", "--count=30", "--seed=7", "--output=t.xml", "--force")
        done = run("export", "timed.model", *options, cwd=folder)
        assert f"Synthetic {'trips for SUMO' if what == 'sumo' else 'plans for MATSim'}, writ" in done.stdout
        assert len([*ElementTree.parse(folder / "t.xml").iter(tag)]) == 30


def test_old_names_work_with_a_note(folder: Path) -> None:
    done = run("export", "timed.model", "--what=hourly-od", "--output=old.csv", "--json", cwd=folder)
    told = "renamed to od with --by part (by='part'); the old name will be removed in version 0.3"
    assert f"warning: hourly-od was {told}\n" in done.stderr and "DeprecationWarning" not in done.stderr
    result = json.loads(done.stdout)
    assert result["deprecated"] == {"hourly-od": told} and result["files"] == {"od": "old.csv"}
    run("export", "timed.model", "--what=od", "--by=part", "--output=new.csv", cwd=folder)
    assert (folder / "old.csv").read_bytes() == (folder / "new.csv").read_bytes()


def test_help_names_products_and_formats(folder: Path) -> None:
    shown = " ".join(run("help", "export", cwd=folder).stdout.split())
    for name in (*PRODUCTS, *DEMAND, "--zones", "--zone-id", "--by", "h3:N", "geohash:6"):
        assert name in shown, name
    for form in FORMATS.values():
        assert form.suffixes[0] in shown, form.name


REFUSALS: dict[str, tuple[str, list[str], str]] = {
    "no product": (
        "private.model",
        ["--output=a.csv"],
        "--what (what) must be one of od, density, transitions, grid, departures, speeds, sumo, matsim",
    ),
    "a product that there is not": (
        "private.model",
        ["--what=flows", "--output=a.csv"],
        "Invalid value for '--what'",
    ),
    "trips as a raster": (
        "private.model",
        ["--what=od", "--output=a.tif"],
        "error: a.tif: GeoTIFF can hold density, speeds, but not od; for od give a path that ends in .csv,",
    ),
    "another suffix": (
        "private.model",
        ["--what=od", "--output=a.txt"],
        "error: a.txt: unknown format '.txt'; the suffix must be one of .csv, ",
    ),
    "times of a model without": (
        "private.model",
        ["--what=departures", "--output=a.csv"],
        "--what (what) departures: the model has no times. Fit a model with --times (times=True)",
    ),
    "hours of a model without": (
        "private.model",
        ["--what=od", "--by=hour", "--output=a.csv"],
        "--by (by) hour: the model has no times. Fit a model with --times (times=True)",
    ),
    "demand of a model without": (
        "private.model",
        ["--what=sumo", "--output=a.xml"],
        "--what (what) sumo: the model has no times.",
    ),
    "other hours": ("timed.model", ["--what=od", "--by=minute", "--output=a.csv"], "Invalid value for '--by'"),
    "no zone id": (
        "private.model",
        ["--what=od", "--zones=zones.geojson", "--output=a.csv"],
        "error: zones.geojson: say with --zone-id (zone_id) which attribute has the ids of zones: 'NAME', "
        "'people'\n",
    ),
    "an unknown attribute": (
        "private.model",
        ["--what=od", "--zones=zones.geojson", "--zone-id=name", "--output=a.csv"],
        "error: zones.geojson: it has no attribute 'name' for --zone-id (zone_id); it has 'NAME', 'people'\n",
    ),
    "zones elsewhere": (
        "private.model",
        ["--what=od", "--zones=far.geojson", "--output=a.csv"],
        "error: far.geojson: no zone meets the region: they lie within W,S,E,N 50,50,51,51 and the region is ",
    ),
    "zones that are not there": (
        "private.model",
        ["--what=od", "--zones=none.gpkg", "--output=a.csv"],
        "error: none.gpkg: cannot be read (No such file or directory); check the path",
    ),
    "zones of moves": (
        "private.model",
        ["--what=transitions", "--zones=zones.geojson", "--zone-id=NAME", "--output=a.csv"],
        "--zones (zones) is for od, density and sumo, not for transitions; leave it out",
    ),
    "zones as a raster": (
        "private.model",
        ["--what=density", "--zones=zones.geojson", "--zone-id=NAME", "--output=a.tif"],
        "a.tif: GeoTIFF shows cells of the model, not zones; write .gpkg or .geojson instead",
    ),
    "cells too small": (
        "across.model",
        ["--what=od", "--zones=h3:12", "--output=a.csv"],
        "--zones h3:12: the region has about ",
    ),
    "no such resolution": (
        "across.model",
        ["--what=od", "--zones=h3:16", "--output=a.csv"],
        "--zones h3:16: the resolution must be a whole number from 0 to 15, as in h3:6",
    ),
    "zones over themselves": (
        "private.model",
        ["--what=od", "--zones=zones.geojson", "--zone-id=NAME", "--output=zones.geojson", "--force"],
        "--output and --zones are the same file",
    ),
    "the model by another name": (
        "private.model",
        ["--what=od", "--output=link.csv", "--force"],
        "--output and the model are the same file",
    ),
    "density as a matrix": (
        "private.model",
        ["--what=density", "--zones=zones.geojson", "--zone-id=NAME", "--output=a.omx"],
        "a.omx: Open Matrix can hold od, but not density",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals(case: str, folder: Path) -> None:
    name, options, message = REFUSALS[case]
    (folder / "link.csv").symlink_to("private.model")
    far: dict[str, Any] = {"type": "Feature", "properties": {"id": 1}}
    far["geometry"] = json.loads(shapely.to_geojson(shapely.box(50, 50, 51, 51)))
    (folder / "far.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": [far]}))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    done = run("export", name, *options, cwd=folder, code=2)
    assert message in done.stderr and done.stdout == ""
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
