"""Exports as a whole: formats, refusals, whole or not at all, the same bytes again, and NOT PRIVATE."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.conftest import trajectories
from tests.export.samples import BOX, model

import privtrace as pt
from privtrace.export import FORMATS, PRODUCTS, RASTERS, TIMED, check_export, export, geojson, geotiff
from privtrace.export.columns import schema

SUFFIXES = {
    "a.csv": "CSV",
    "a.CSV": "CSV",
    "a.csv.gz": "CSV",
    "a.parquet": "Parquet",
    "a.geojson": "GeoJSON",
    "a.json": "GeoJSON",
    "a.tif": "GeoTIFF",
    "a.tiff": "GeoTIFF",
}
UNTIMED = [what for what in PRODUCTS if what not in TIMED]
SUFFIXES_OF_ALL = (".csv", ".csv.gz", ".parquet", ".geojson")
PAIRS = [(what, suffix) for what in UNTIMED for suffix in SUFFIXES_OF_ALL]
TIMED_PAIRS = [
    *((what, suffix) for what in TIMED for suffix in SUFFIXES_OF_ALL if what in FORMATS["geojson"].products),
    ("departures", ".csv"),
    ("departures", ".parquet"),
    *((what, ".tif") for what in RASTERS if what in TIMED),
]
METHODS = {"bridgetrace": pt.BridgeTrace, "privtrace": pt.PrivTrace, "adatrace": pt.AdaTrace, "dpt": pt.DPT}


def test_the_documentation_tells_every_product_column_and_format() -> None:
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text()
    listed = re.findall(r"^\| `(\w[\w-]*)` \| .+ \| (.+) \| (.+) \|$", page, re.MULTILINE)
    rows = {row[0]: row for row in listed if row[0] not in METHODS}
    assert {*rows} == {*PRODUCTS}
    for what, (_, columns, formats) in rows.items():
        assert formats.split(", ") == [form.name for form in FORMATS.values() if what in form.products]
        named = {*re.findall(r"\w+", columns)}
        told = schema(model("privtrace, strait, times"), what, "").names
        assert {name for name in told if not name.endswith(("_lon", "_lat"))} <= named, what


@pytest.mark.parametrize("name", SUFFIXES)
def test_the_suffix_is_the_format(name: str, tmp_path: Path) -> None:
    assert check_export("density", tmp_path / name)[1].name == SUFFIXES[name]


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_can_be_named(format: str, tmp_path: Path) -> None:
    model("dpt").export("density", tmp_path / "named", format=format)
    model("dpt").export("density", tmp_path / f"known{FORMATS[format].suffixes[0]}")
    (known,) = tmp_path.glob("known*")
    assert (tmp_path / "named").read_bytes() == known.read_bytes()


@pytest.mark.parametrize(("what", "suffix"), [*PAIRS, ("density", ".tif"), *TIMED_PAIRS])
def test_the_same_model_gives_the_same_bytes(
    what: str, suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(geotiff, "MOST_PIXELS", 256)
    name = "privtrace, strait, times" if what in TIMED else "privtrace, strait"
    model(name).save(tmp_path / "a.model")
    model(name).export(what, tmp_path / f"a{suffix}")
    pt.load(tmp_path / "a.model").export(what, tmp_path / f"b{suffix}")
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes() != b""


REFUSALS: dict[str, tuple[Any, str, dict[str, Any], type[Exception], str]] = {
    "another product": (
        "flow",
        "a.csv",
        {},
        pt.SettingsError,
        r"--what \(what\) must be one of od, density, .*, not 'flow'",
    ),
    "no product": (
        None,
        "a.csv",
        {},
        pt.SettingsError,
        r"--what \(what\) must be one of od, density, transitions, grid, departures, hourly-od, .*, speeds$",
    ),
    "trips as a raster": (
        "od",
        "a.tif",
        {},
        pt.OutputError,
        r"a\.tif: GeoTIFF can hold density, .*, but not od; for od give a path .* in \.csv, \.parquet, .*json$",
    ),
    "hours on a map": (
        "departures",
        "a.geojson",
        {},
        pt.OutputError,
        r"GeoJSON can hold od, .*, but not departures; for departures give a path .* \.csv, \.parquet, \.pq$",
    ),
    "times of a model without": (
        "speeds",
        "a.csv",
        {},
        pt.SettingsError,
        r"speeds: the model has no times\. Fit a model with --times .* on data .* one of od, .* grid$",
    ),
    "another suffix": ("od", "a.xlsx", {}, pt.OutputError, r"unknown format '\.xlsx'; .* \.csv, .* \.tif"),
    "a packed raster": ("density", "a.tif.gz", {}, pt.OutputError, "unknown format"),
    "another format": ("od", "a.csv", {"format": "dat"}, pt.OutputError, "unknown format 'dat'; .*geotiff"),
    "no folder": ("od", "none/a.csv", {}, pt.OutputError, "no such folder"),
    "a file that is there": ("od", "there.csv", {}, pt.OutputError, "exists; pass --force"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_come_before_any_work(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    what, name, options, error, message = REFUSALS[case]
    (tmp_path / "there.csv").write_text("mine")
    monkeypatch.setattr(pt.DPTModel, "view", lambda model: pytest.fail("the model was looked at"))
    with pytest.raises(error, match=message):
        export(model("dpt"), what, tmp_path / name, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]
    assert (tmp_path / "there.csv").read_text() == "mine"


def test_a_raster_needs_no_word_for_what_it_holds(tmp_path: Path) -> None:
    export(model("dpt"), None, tmp_path / "a.tif")
    model("dpt").export("density", tmp_path / "b.tif")
    assert (tmp_path / "a.tif").read_bytes() == (tmp_path / "b.tif").read_bytes()


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rasterio", None)
    with pytest.raises(pt.MissingExtra, match=r"a\.tif: GeoTIFF needs the geo extra: pip install"):
        model("dpt").export("density", tmp_path / "a.tif")
    assert not any(tmp_path.iterdir())


def test_nothing_half_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.geojson").write_text("before")

    def fail(table: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(geojson, "_properties", fail)
    with pytest.raises(KeyboardInterrupt):
        model("dpt").export("od", tmp_path / "a.geojson", force=True)
    assert (tmp_path / "a.geojson").read_text() == "before" and len([*tmp_path.iterdir()]) == 1


def test_force_overwrites(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("before")
    model("dpt").export("grid", tmp_path / "a.csv", force=True)
    assert (tmp_path / "a.csv").read_text().startswith("layer,cell,west,")


@pytest.mark.parametrize("what", PRODUCTS)
def test_parquet_says_whether_it_is_private(what: str, tmp_path: Path) -> None:
    name = "adatrace, frame, times" if what in TIMED else "adatrace"
    for private in (True, False):
        model(name, private=private).export(what, tmp_path / "a.parquet", force=True)
        about = pq.read_schema(tmp_path / "a.parquet").metadata
        assert (about.get(b"privtrace.private") == b"true") == private
        assert (b"NOT PRIVATE" in about[b"privtrace.guarantee"]) != private


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("what", "suffix"), PAIRS)
def test_a_model_of_nothing_can_be_exported(method: str, what: str, suffix: str, tmp_path: Path) -> None:
    nothing = METHODS[method](epsilon=1, region=BOX).fit(trajectories(), noise=pt.NoNoise())
    nothing.export(what, tmp_path / f"a{suffix}")
    assert (tmp_path / f"a{suffix}").stat().st_size > 0
