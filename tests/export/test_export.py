"""Exports as a whole: formats, refusals, whole or not at all, the same bytes again, and NOT PRIVATE."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pyogrio
import pytest
from tests.conftest import trajectories
from tests.export import samples
from tests.export.samples import BOX, model, partition, zone_file

import privtrace as pt
from privtrace.export import DEMAND, FORMATS, PRODUCTS, TIMED, check_export, export, geotiff, gpkg, tables
from privtrace.export.columns import ZONED, Asked, schema

SUFFIXES = {
    "a.csv": "CSV",
    "a.CSV": "CSV",
    "a.csv.gz": "CSV",
    "a.parquet": "Parquet",
    "a.pq": "Parquet",
    "a.xlsx": "Excel",
    "a.geojson": "GeoJSON",
    "a.json": "GeoJSON",
    "a.geojson.gz": "GeoJSON",
    "a.gpkg": "GeoPackage",
    "a.tif": "GeoTIFF",
    "a.tiff": "GeoTIFF",
}
TIMED_MODEL, UNTIMED = "privtrace, strait, times", "privtrace, strait"

#: Every product with the suffix of each format that can hold it.
ALL = [
    (what, suffix)
    for form in FORMATS.values()
    for what in form.products
    for suffix in [form.suffixes[0], *([f"{form.suffixes[0]}.gz"] if form.is_text else [])]
]
METHODS = {"bridgetrace": pt.BridgeTrace, "privtrace": pt.PrivTrace, "adatrace": pt.AdaTrace, "dpt": pt.DPT}


@pytest.fixture(autouse=True)
def few_pixels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geotiff, "MOST_PIXELS", 256)


def options_for(what: str, name: str) -> dict[str, Any]:
    """Give what a product needs."""
    if what not in DEMAND:
        return {}
    crs = {"output_crs": "EPSG:3460"} if model(name).release.crs == "lonlat" and what == "matsim" else {}
    return {"seed": 5, "count": 50, **crs}


def test_the_documentation_tells_every_product_column_and_format() -> None:
    """Of numbers with bounds or margins, it tells the number, and once how the others are called."""
    page = (Path(__file__).parents[2] / "docs" / "export.md").read_text()
    listed = re.findall(r"^\| (`.+`)[ *]* \| .+ \| .+ \| (.+) \|$", page, re.MULTILINE)
    formats = {what: of.split(", ") for names, of in listed for what in re.findall(r"`([\w-]+)`", names)}
    for what in PRODUCTS | DEMAND:
        assert formats[what] == [form.name for form in FORMATS.values() if what in form.products]
    said, named = {*re.findall(r"\w+", page)}, {"low", "high", "starts_low", "starts_high", "margin"}
    named |= {form.suffixes[0][1:] for name, form in FORMATS.items() if name != "csv"}
    for what in PRODUCTS:
        for by in (None, "hour", "part", "weekday") if what in ("od", "density") else (None,):
            for kind in (None, "partition") if what in ZONED else (None,):
                zones = None if kind is None else samples.zones(TIMED_MODEL, kind)
                columns = schema(model(TIMED_MODEL), Asked(what, by, zones)).names
                named |= {re.sub("_(low|high|margin)$", "", name) for name in columns}
    centers = {name for name in named if name.endswith(("_lon", "_lat")) and not name.startswith("origin")}
    assert named - centers - said == set()


@pytest.mark.parametrize("name", SUFFIXES)
def test_the_suffix_is_the_format(name: str, tmp_path: Path) -> None:
    assert check_export("density", tmp_path / name).format.name == SUFFIXES[name]


@pytest.mark.parametrize("format", FORMATS)
def test_a_format_can_be_named(format: str, tmp_path: Path) -> None:
    what, name = FORMATS[format].products[0], "bridgetrace, times" if format == "xml" else "dpt"
    model(name).export(what, tmp_path / "named", format=format, **options_for(what, name))
    known = tmp_path / f"known{FORMATS[format].suffixes[0]}"
    model(name).export(what, known, **options_for(what, name))
    assert (tmp_path / "named").read_bytes() == known.read_bytes()


@pytest.mark.parametrize(("what", "suffix"), ALL)
def test_the_same_model_gives_the_same_bytes(what: str, suffix: str, tmp_path: Path) -> None:
    name = TIMED_MODEL if what in TIMED else UNTIMED
    model(name).save(tmp_path / "a.model")
    options = options_for(what, name)
    if what in ZONED and suffix != ".tif":
        pieces = partition(model(name).release.region)
        path = zone_file(tmp_path, pieces, range(len(pieces)))
        options |= {"zones": path, "zone_id": "id"}
    model(name).export(what, tmp_path / f"a{suffix}", **options)
    pt.load(tmp_path / "a.model").export(what, tmp_path / f"b{suffix}", **options)
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes() != b""


@pytest.mark.parametrize(("what", "instead"), [("hourly-od", "od"), ("hourly-density", "density")])
def test_old_names_still_work_and_say_the_new_ones(what: str, instead: str, tmp_path: Path) -> None:
    with pytest.warns(
        DeprecationWarning, match=rf"{what} was renamed to {instead} with --by part .*0\.3"
    ) as told:
        model(TIMED_MODEL).export(what, tmp_path / "old.csv")
    assert [one.filename for one in told] == [__file__] or len(told) == 1
    model(TIMED_MODEL).export(instead, tmp_path / "new.csv", by="part")
    assert (tmp_path / "old.csv").read_bytes() == (tmp_path / "new.csv").read_bytes()
    with pytest.raises(pt.SettingsError, match=rf"{what} is by part of the day; pass {instead} to have it by"):
        model(TIMED_MODEL).export(what, tmp_path / "a.csv", by="weekday")


REFUSALS: dict[str, tuple[Any, str, dict[str, Any], type[Exception], str]] = {
    "another product": (
        "flow",
        "a.csv",
        {},
        pt.SettingsError,
        r"--what \(what\) must be one of od, density, .*, matsim, not 'flow'$",
    ),
    "no product": (
        None,
        "a.csv",
        {},
        pt.SettingsError,
        r"--what \(what\) must be one of od, density, transitions, grid, departures, speeds, sumo, matsim$",
    ),
    "trips as a raster": (
        "od",
        "a.tif",
        {},
        pt.OutputError,
        r"a\.tif: GeoTIFF can hold density, speeds, but not od; for od give a path .* in \.csv, .*\.gpkg$",
    ),
    "density as a matrix": (
        "density",
        "a.omx",
        {},
        pt.OutputError,
        r"a\.omx: Open Matrix can hold od, but not density; for density give a path that ends in \.csv, ",
    ),
    "hours on a map": (
        "departures",
        "a.geojson",
        {},
        pt.OutputError,
        r"GeoJSON can hold od, .*, but not departures; for departures give .* \.csv, .*, \.pq, \.xlsx$",
    ),
    "demand as a table": ("sumo", "a.csv", {}, pt.OutputError, r"but not sumo; for sumo give .* in \.xml$"),
    "times of a model without": (
        "speeds",
        "a.csv",
        {},
        pt.SettingsError,
        r"--what \(what\) speeds: the model has no times\. Fit a model with --times .* on data .* grid without",
    ),
    "hours of a model without": (
        "od",
        "a.csv",
        {"by": "hour"},
        pt.SettingsError,
        r"--by \(by\) hour: the model has no times\. Fit a model with --times \(times=True\) on data",
    ),
    "demand of a model without": ("sumo", "a.xml", {}, pt.SettingsError, "sumo: the model has no times"),
    "other hours": (
        "od",
        "a.csv",
        {"by": "minute"},
        pt.SettingsError,
        r"--by \(by\) must be one of hour, part, weekday, not 'minute'",
    ),
    "hours of cells": (
        "grid",
        "a.csv",
        {"by": "hour"},
        pt.SettingsError,
        r"--by \(by\) is for od and density, not for grid; leave it out",
    ),
    "zones of moves": (
        "transitions",
        "a.csv",
        {"zones": "h3:5"},
        pt.SettingsError,
        r"--zones \(zones\) is for od, density and sumo, not for transitions; leave it out",
    ),
    "zones as a raster": (
        "density",
        "a.tif",
        {"zones": "h3:5"},
        pt.OutputError,
        r"a\.tif: GeoTIFF shows cells of the model, not zones; write \.gpkg or \.geojson instead",
    ),
    "an id without zones": (
        "od",
        "a.csv",
        {"zone_id": "NAME"},
        pt.SettingsError,
        r"--zone-id \(zone_id\) names an attribute of zones; pass the file with --zones \(zones\)",
    ),
    "zones that are not there": (
        "od",
        "a.csv",
        {"zones": "none.geojson"},
        pt.SettingsError,
        r"none\.geojson: cannot be read \(No such file or directory\); check the path",
    ),
    "cells of a plane": (
        "od",
        "a.csv",
        {"zones": "h3:5"},
        pt.SettingsError,
        r"--zones h3:5: the region is planar, and nobody knows where on earth it lies; give zones as a file",
    ),
    "a seed for a table": (
        "od",
        "a.csv",
        {"seed": 1},
        pt.SettingsError,
        r"--seed \(seed\) is for sumo and matsim, which are synthetic trips, not for od; leave it out",
    ),
    "a system for a table": ("od", "a.csv", {"output_crs": "EPSG:3763"}, pt.SettingsError, "is for sumo and"),
    "an unknown system": (
        "sumo",
        "a.xml",
        {"output_crs": "planar"},
        pt.SettingsError,
        "a place on earth, such",
    ),
    "half a trip": ("sumo", "a.xml", {"count": 0.5}, pt.SettingsError, r"--count \(count\) must be a whole"),
    "another suffix": ("od", "a.txt", {}, pt.OutputError, r"unknown format '\.txt'; .* \.xlsx, .* \.gpkg"),
    "a packed raster": ("density", "a.tif.gz", {}, pt.OutputError, "unknown format"),
    "another format": ("od", "a.csv", {"format": "dat"}, pt.OutputError, "unknown format 'dat'; .*geotiff"),
    "no folder": ("od", "none/a.csv", {}, pt.OutputError, "no such folder"),
    "a file that is there": ("od", "there.csv", {}, pt.OutputError, "exists; pass --force"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refusals_come_before_any_work(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    what, name, options, error, message = REFUSALS[case]
    (tmp_path / "there.csv").write_text("mine")
    fitted = model("dpt")  # before: a fit looks at its model
    monkeypatch.setattr(pt.DPTModel, "view", lambda model: pytest.fail("the model was looked at"))
    with pytest.raises(error, match=message):
        export(fitted, what, tmp_path / name, **options)
    assert [path.name for path in tmp_path.iterdir()] == ["there.csv"]
    assert (tmp_path / "there.csv").read_text() == "mine"


def test_a_raster_needs_no_word_for_what_it_holds(tmp_path: Path) -> None:
    export(model("dpt"), None, tmp_path / "a.tif")
    model("dpt").export("density", tmp_path / "b.tif")
    assert (tmp_path / "a.tif").read_bytes() == (tmp_path / "b.tif").read_bytes()


@pytest.mark.parametrize(
    ("package", "what", "name", "words"),
    [
        ("rasterio", "density", "a.tif", r"GeoTIFF needs the geo extra: pip install"),
        ("pyogrio", "density", "a.gpkg", r"GeoPackage needs the geo extra: pip install"),
        ("h5py", "od", "a.omx", r"Open Matrix needs the zones extra: pip install"),
    ],
)
def test_a_missing_package_is_named(
    package: str, what: str, name: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(pt.MissingExtra, match=words):
        model("dpt").export(what, tmp_path / name)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize(
    ("what", "suffix"), [(what, suffix) for what, suffix in ALL if what in ("od", "sumo") or suffix == ".tif"]
)
def test_nothing_half_written_stays(
    what: str, suffix: str, error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second chunk of rows, columns or trips fails, after the first was written."""
    name = TIMED_MODEL if what in TIMED else UNTIMED
    (tmp_path / f"a{suffix}").write_text("before")
    n_calls = 0

    def failing(known: Any) -> Any:
        def fail(*given: Any) -> Any:
            nonlocal n_calls
            n_calls += 1
            if n_calls > 1:
                raise error
            return known(*given)

        return fail

    from privtrace.export import simulators

    monkeypatch.setattr(tables, "CHUNK_ROWS", 20)
    monkeypatch.setattr(simulators, "_CHUNK_TRIPS", 20)
    monkeypatch.setattr(tables, "_with_bounds", failing(tables._with_bounds))
    monkeypatch.setattr(tables, "_slot_columns", failing(tables._slot_columns))  # of speeds
    monkeypatch.setattr(simulators, "_sumo_texts", failing(simulators._sumo_texts))
    with pytest.raises(error):
        model(name).export(what, tmp_path / f"a{suffix}", force=True, **options_for(what, name))
    assert n_calls == 2 or what == "speeds"
    assert [path.name for path in tmp_path.iterdir()] == [f"a{suffix}"]
    assert (tmp_path / f"a{suffix}").read_text() == "before"


def test_a_map_of_one_layer_is_not_half_a_map(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.gpkg").write_text("before")
    given, layers = gpkg._given, []

    def fail(layer: gpkg.Layer) -> Any:
        layers.append(layer.name)
        if len(layers) > 1:
            raise KeyboardInterrupt
        return given(layer)

    monkeypatch.setattr(gpkg, "_given", fail)
    with pytest.raises(KeyboardInterrupt):
        model(UNTIMED).export("od", tmp_path / "a.gpkg", force=True)
    assert len(layers) == 2 and [*tmp_path.iterdir()] == [tmp_path / "a.gpkg"]
    assert (tmp_path / "a.gpkg").read_text() == "before"


def test_force_overwrites(tmp_path: Path) -> None:
    for suffix, first in ((".csv", b"layer,cell,west,"), (".gpkg", b"SQLite format 3"), (".xlsx", b"PK")):
        (tmp_path / f"a{suffix}").write_text("before")
        model("dpt").export("grid", tmp_path / f"a{suffix}", force=True)
        assert (tmp_path / f"a{suffix}").read_bytes().startswith(first)


@pytest.mark.parametrize("what", PRODUCTS)
def test_parquet_says_whether_it_is_private(what: str, tmp_path: Path) -> None:
    name = "adatrace, frame, times" if what in TIMED else "adatrace"
    for private in (True, False):
        model(name, private=private).export(what, tmp_path / "a.parquet", force=True)
        about = pq.read_schema(tmp_path / "a.parquet").metadata
        assert (about.get(b"privtrace.private") == b"true") == private
        assert (b"NOT PRIVATE" in about[b"privtrace.guarantee"]) != private


@pytest.mark.parametrize("suffix", sorted({suffix for what, suffix in ALL if what == "od"}))
def test_every_format_but_csv_says_that_a_release_is_not_private(suffix: str, tmp_path: Path) -> None:
    import gzip
    import zipfile

    model("adatrace").export("od", tmp_path / f"a{suffix}")
    content = (tmp_path / f"a{suffix}").read_bytes()
    if suffix == ".xlsx":
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            content = b"".join(archive.read(name) for name in archive.namelist())
    content = gzip.decompress(content) if suffix.endswith(".gz") else content
    assert (b"NOT PRIVATE" in content) == (".csv" not in suffix)


@pytest.fixture(scope="module")
def nothing() -> dict[str, Any]:
    """Fit every method to no trajectory, and one with times."""
    made = {name: of(epsilon=1, region=BOX) for name, of in METHODS.items()}
    empty = {name: one.fit(trajectories(), noise=pt.NoNoise()) for name, one in made.items()}
    timed = pt.AdaTrace(epsilon=1, region=BOX, times=True)
    return {**empty, "times": timed.fit(samples.timed_walks()[:0], noise=pt.NoNoise())}


OF_NOTHING = [("times", what, suffix) for what, suffix in ALL if not suffix.endswith(".gz")]
OF_NOTHING += [(method, what, ".csv") for method in METHODS for what in PRODUCTS if what not in TIMED]


@pytest.mark.parametrize(("method", "what", "suffix"), OF_NOTHING)
def test_a_model_of_nothing_can_be_exported(
    nothing: dict[str, Any], method: str, what: str, suffix: str, tmp_path: Path
) -> None:
    options: list[dict[str, Any]] = [{}]
    if what in ZONED and suffix != ".tif":
        options.append({"zones": zone_file(tmp_path, partition(BOX), range(9)), "zone_id": "id"})
    for one in options:
        nothing[method].export(what, tmp_path / f"a{suffix}", force=True, **one)
        assert (tmp_path / f"a{suffix}").stat().st_size > 0
    if suffix == ".gpkg":
        layers = pyogrio.list_layers(tmp_path / "a.gpkg")[:, 0].tolist()
        assert ("od" in layers) == (what == "od") and layers
