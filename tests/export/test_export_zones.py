"""Own zones: counted as by hand, trip by trip with shapely; sums that agree; ids as they were given."""

from __future__ import annotations

import csv
import json
import warnings
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import h3
import h5py
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyogrio
import pytest
import shapely
from tests.export.samples import MODELS, ODD, TIMED_MODELS, column, model, partition, table, zone_file, zones

import privtrace as pt
from privtrace.export import writing, xlsx
from privtrace.export.columns import Asked, about_zones
from privtrace.export.tables import product
from privtrace.methods.estimating import Sampling
from privtrace.privacy.unit import WEIGHT
from privtrace.zones import read_zones

TIMED, FLAT = "bridgetrace, times", "adatrace"
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
ALL_BY = [None, "hour", "part", "weekday"]

#: How far sums of numbers with six digits may be apart.
NEAR = 2e-3


def total(name: str) -> float:
    """Give the number of trips that a model speaks of."""
    return float(model(name).count / WEIGHT)


# --- the oracle ---


def slot_of(trip: Any, zone: str, by: str | None) -> tuple[Any, ...]:
    """Say by which hours a trip departs, in the words of the columns."""
    if by is None:
        return ()
    utc = datetime.fromtimestamp(trip.times[0].astype("datetime64[ms]").astype(int) / 1000, UTC)
    local = utc.astimezone(ZoneInfo(zone))
    if by == "weekday":
        return (DAYS[local.weekday()],)
    return (local.hour,) if by == "hour" else (local.hour // 4 * 4, local.hour // 4 * 4 + 4)


def holding(point: Any, shapes: dict[str, Any]) -> list[str]:
    """Name the zones of a point: all that hold it inside, and the first on whose border it lies."""
    here = shapely.Point(point)
    meeting = [name for name, shape in shapes.items() if shape.intersects(here)]
    on_border = [name for name in meeting if not shapes[name].contains(here)]
    return [name for name in meeting if name not in on_border[1:]]


def by_hand(name: str, shapes: dict[str, Any], by: str | None) -> dict[str, Counter[Any]]:
    """Count the trips that an export counts, one after the other."""
    made, found = model(name), {what: Counter[Any]() for what in ("trips", "starts", "ends", "od")}
    turn = made.release.region.area.turn
    sampling = Sampling.of(made)
    sample = made.sample(sampling.count, seed=0)
    for trip in sample:
        points = np.where(trip.points < 0, trip.points + np.array([turn, 0]), trip.points)
        slot = slot_of(trip, sample.zone, by)
        line = shapely.LineString(points) if len(points) > 1 else shapely.Point(points[0])
        first, last = holding(points[0], shapes), holding(points[-1], shapes)
        found["trips"].update((*slot, zone) for zone, shape in shapes.items() if shape.intersects(line))
        found["starts"].update((*slot, zone) for zone in first)
        found["ends"].update((*slot, zone) for zone in last)
        found["od"].update((*slot, origin, onto) for origin in first for onto in last)
    for counts in found.values():
        for key in counts:
            counts[key] = round(counts[key] * sampling.per_trip, 6)  # type: ignore[assignment]
    return found


@pytest.mark.parametrize(
    ("name", "kind", "by"),
    [(TIMED, "odd", by) for by in ALL_BY]
    + [("privtrace, strait, times", "partition", "part"), (FLAT, "odd", None)],
)
def test_numbers_are_those_of_trips_counted_one_by_one(name: str, kind: str, by: str | None) -> None:
    of_zones = zones(name, kind)
    shapes = dict(zip(of_zones.names, of_zones.polygons, strict=True))
    wanted, slots = by_hand(name, shapes, by), {None: [], "part": ["hour_from", "hour_to"]}.get(by, [by])
    density, flows = table(name, "density", by, kind), table(name, "od", by, kind)
    n_slots = {None: 1, "hour": 24, "part": 6, "weekday": 7}[by]
    assert len(density) == n_slots * len(shapes)
    for what in ("trips", "starts", "ends"):
        numbers = {
            tuple(row[key] for key in (*slots, "zone")): row[what] for row in density.to_pylist() if row[what]
        }
        assert numbers == pytest.approx(dict(wanted[what]), abs=2e-6)
    keys = [*slots, "origin", "destination"]
    numbers = {tuple(row[key] for key in keys): row["trips"] for row in flows.to_pylist()}
    assert len(numbers) == len(flows) and numbers == pytest.approx(dict(wanted["od"]), abs=2e-6)
    if kind == "odd":
        assert density.slice(0, len(shapes))["zone"].to_pylist() == [*ODD]
        assert zones(name, kind).overlaps and len({key[-2:] for key in wanted["od"]}) > 9


# --- sums ---


@pytest.mark.parametrize("name", [*MODELS, *TIMED_MODELS])
def test_where_zones_partition_the_region_sums_are_the_number_of_trips(name: str) -> None:
    density, flows = table(name, "density", None, "partition"), table(name, "od", None, "partition")
    assert zones(name, "partition").covered == pytest.approx(1)
    for rows, what in ((density, "starts"), (density, "ends"), (flows, "trips")):
        assert column(rows, what).sum() == pytest.approx(total(name), abs=NEAR)
    for end, what in (("origin", "starts"), ("destination", "ends")):
        sums = dict.fromkeys(density["zone"].to_pylist(), 0.0)
        for row in flows.to_pylist():
            sums[row[end]] += row["trips"]
        assert [*sums.values()] == pytest.approx(column(density, what).tolist(), abs=NEAR)
    assert np.all(column(density, "trips") >= np.maximum(column(density, "starts"), column(density, "ends")))
    assert column(density, "area_km2" if "area_km2" in density.column_names else "area").sum() > 0


@pytest.mark.parametrize("name", TIMED_MODELS)
@pytest.mark.parametrize(
    ("kind", "by"), [(None, "part"), *(("partition", by) for by in ("hour", "part", "weekday"))]
)
def test_numbers_by_hours_add_up_to_those_of_all_hours(name: str, kind: str | None, by: str) -> None:
    place = ["layer", "cell"] if kind is None else ["zone"]
    for what, keys in (("density", place), ("od", ["origin", "destination"])):
        whole, parts = table(name, what, None, kind), table(name, what, by, kind)
        numbers = ["trips", "starts", "ends"] if what == "density" else ["trips"]
        sums = parts.group_by(keys).aggregate([(number, "sum") for number in numbers])
        both = sums.join(whole.select([*keys, *numbers]), keys)
        assert len(both) == len(whole) == len(sums)
        for number in numbers:
            assert np.allclose(column(both, f"{number}_sum"), column(both, number), rtol=0, atol=5e-5)
    assert column(table(name, "od", by, "partition"), "trips").sum() == pytest.approx(total(name), abs=NEAR)


@pytest.mark.parametrize("name", [*MODELS, *TIMED_MODELS])
def test_bounds_lie_around_numbers_and_nothing_is_negative(name: str) -> None:
    made = [table(name, what, None, kind) for what in ("od", "density") for kind in (None, "partition")]
    if name in TIMED_MODELS:
        made += [table(name, what, by, "partition") for what in ("od", "density") for by in ALL_BY]
    if name in (TIMED, FLAT):
        made += [table(name, what, None, "odd") for what in ("od", "density")]
    for rows in made:
        for what in {"trips", "starts", "ends", "visits"} & {*rows.column_names}:
            prefix = "" if what == "trips" else f"{what}_"
            low, number, high = (column(rows, one) for one in (f"{prefix}low", what, f"{prefix}high"))
            assert np.isfinite([low, number, high]).all() and (low >= 0).all()
            assert (low <= number).all() and (number <= high).all() and (low < high).all()
            assert np.median((high - low)[number > 1]) < 2 * total(name)


def test_zones_that_cover_a_part_count_what_is_in_them() -> None:
    density, flows = table(TIMED, "density", None, "left"), table(TIMED, "od", None, "left")
    (row,) = density.to_pylist()
    (flow,) = flows.to_pylist()
    assert (row["zone"], flow["origin"], flow["destination"]) == ("left", "left", "left")
    assert 0 < flow["trips"] < min(row["starts"], row["ends"]) and row["trips"] < total(TIMED) - 1
    assert row["area"] == pytest.approx(50)
    said = "1 own zones by id, which cover 50 % of the region; they do not overlap; nothing is counted outside"
    assert said in about_zones(zones(TIMED, "left"))
    assert about_zones(zones(TIMED, "partition")).endswith("cover all of the region; they do not overlap")
    assert "they overlap, so a trip may count in several" in about_zones(zones(TIMED, "odd"))


def test_a_zone_outside_the_region_has_no_trips_and_no_area() -> None:
    row = table(FLAT, "density", None, "odd").to_pylist()[[*ODD].index("outside")]
    assert (row["trips"], row["starts"], row["low"], row["area"]) == (0, 0, 0, 0)
    assert row["trips_per_area"] is None


# --- public grids ---


def starts_by(name: str, given: str) -> tuple[Any, dict[str, float], float]:
    """Count first points in listed cells; give them all too, and what a trip weighs."""
    made = model(name)
    rows = product(made, Asked("density", zones=read_zones(given, made.release.region)))
    found = pa.concat_tables([one.table for one in rows.rows])
    sampling = Sampling.of(made)
    sample = made.sample(sampling.count, seed=0)
    numbers = dict(zip(found["zone"].to_pylist(), column(found, "starts"), strict=True))
    return sample.points[sample.offsets[:-1]], numbers, sampling.per_trip


def geohash(longitude: float, latitude: float, length: int) -> str:
    """Spell the geohash of a point, bit by bit."""
    sides, bits = [[-180.0, 180.0], [-90.0, 90.0]], []
    for bit in range(5 * length):
        low, high = sides[bit % 2]
        here, middle = (longitude, latitude)[bit % 2], (low + high) / 2
        bits.append(here >= middle)
        sides[bit % 2] = [middle, high] if here >= middle else [low, middle]
    codes = [sum(bits[5 * n + k] << (4 - k) for k in range(5)) for n in range(length)]
    return "".join("0123456789bcdefghjkmnpqrstuvwxyz"[code] for code in codes)


@pytest.mark.parametrize("name", ["adatrace, across", "privtrace, strait"])
def test_geohash_cells_hold_the_points_that_are_spelled_so(name: str) -> None:
    points, numbers, per_trip = starts_by(name, "geohash:3")
    wanted = Counter(geohash(*point, 3) for point in points.tolist())
    assert {*wanted} <= {*numbers} and all(len(one) == 3 for one in numbers)
    assert {key: number for key, number in numbers.items() if number} == pytest.approx(
        {key: n * per_trip for key, n in wanted.items()}, abs=1e-5
    )


@pytest.mark.parametrize("name", ["adatrace, across", "privtrace, strait"])
def test_h3_cells_hold_the_points_that_h3_puts_there(name: str) -> None:
    """But for their sides, which are straight here and arcs there."""
    points, numbers, per_trip = starts_by(name, "h3:3")
    wanted = Counter(h3.latlng_to_cell(y, x, 3) for x, y in points.tolist())
    assert {*wanted} <= {*numbers} and all(h3.get_resolution(one) == 3 for one in numbers)
    apart = sum(abs(number - per_trip * wanted[key]) for key, number in numbers.items())
    assert apart < 0.01 * sum(numbers.values()) == pytest.approx(0.01 * total(name), abs=1e-4)


# --- files ---

IDS = ["=1+1", 'a "b", c', "007", "7", "São\nJoão", "origin", "<&>", "x'y", "-3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Hold a file of nine zones with ids that need care, and what was exported from it in each format."""
    made = tmp_path_factory.mktemp("zones")
    path = zone_file(made, partition(model(TIMED).release.region), IDS, "my id")
    for suffix in ("csv", "csv.gz", "parquet", "xlsx", "omx", "geojson", "gpkg"):
        model(TIMED).export("od", made / f"od.{suffix}", zones=path, zone_id="my id")
        if suffix != "omx":
            model(TIMED).export("density", made / f"density.{suffix}", zones=path, zone_id="my id", by="part")
    model(TIMED).export("od", made / "part.xlsx", zones=path, zone_id="my id", by="part")
    model(TIMED).export("od", made / "part.omx", zones=path, zone_id="my id", by="part")
    return made


def rows_of(folder: Path, what: str) -> list[dict[str, Any]]:
    return pq.read_table(folder / f"{what}.parquet").to_pylist()  # type: ignore[no-any-return]


def test_ids_and_numbers_are_the_same_in_every_table(folder: Path) -> None:
    for what, n in (("od", 0), ("density", 6 * 9)):
        wanted = rows_of(folder, what)
        assert len(wanted) == n or what == "od"
        with open(folder / f"{what}.csv", newline="", encoding="utf-8") as file:
            assert [*csv.DictReader(file)] == [{k: as_text(v) for k, v in row.items()} for row in wanted]
        sheet = openpyxl.load_workbook(folder / f"{what}.xlsx")[what]
        header, *lines = sheet.iter_rows(values_only=True)
        assert [dict(zip(header, line, strict=True)) for line in lines] == wanted
        assert not any(cell.data_type == "f" for row in sheet for cell in row)
        features = json.loads((folder / f"{what}.geojson").read_text())["features"]
        assert [one["properties"] for one in features] == wanted
        layer = "od" if what == "od" else "zones"
        found = pyogrio.read_dataframe(folder / f"{what}.gpkg", layer=layer).drop(columns="geometry")
        assert found.to_dict("records") == wanted
    assert {row["origin"] for row in rows_of(folder, "od")} == {*IDS}


def as_text(value: Any) -> str:
    """Write a value as CSV does: a whole number without a fraction."""
    return value if isinstance(value, str) else f"{value:.17g}" if value == int(value) else repr(value)


def test_matrices_have_a_row_per_origin(folder: Path) -> None:
    numbers = {(row["origin"], row["destination"]): row for row in rows_of(folder, "od")}
    book = openpyxl.load_workbook(folder / "od.xlsx")
    assert book.sheetnames == ["od", "matrix", "About"]
    header, *lines = book["matrix"].iter_rows(values_only=True)
    assert header == ("origin", *IDS) and [line[0] for line in lines] == IDS
    with h5py.File(folder / "od.omx") as file:
        assert [name.decode() for name in file["lookup/zone"]] == IDS and {*file["data"]} == {
            "trips",
            "low",
            "high",
        }
        for i, origin in enumerate(IDS):
            for j, onto in enumerate(IDS):
                row = numbers.get((origin, onto), {"trips": 0.0, "low": 0.0})
                assert lines[i][j + 1] == file["data/trips"][i, j] == row["trips"]
                assert file["data/low"][i, j] == row["low"]
                assert file["data/high"][i, j] >= max(row.get("high", 0), row["trips"])
        assert file.attrs["privtrace.zones"].decode().startswith("9 own zones by my id, which cover all")


def test_matrices_by_part_of_the_day_add_up(folder: Path) -> None:
    book = openpyxl.load_workbook(folder / "part.xlsx")
    names = [f"matrix {4 * n} to {4 * n + 4} h" for n in range(6)]
    assert book.sheetnames == ["od", *names, "About"]
    with h5py.File(folder / "part.omx") as file, h5py.File(folder / "od.omx") as whole:
        spans = [f"{4 * n:02}_{4 * n + 4:02}h" for n in range(6)]
        assert {*file["data"]} == {f"{one}_{span}" for one in ("trips", "low", "high") for span in spans}
        parts = np.array([file[f"data/trips_{span}"] for span in spans])
        assert np.allclose(parts.sum(axis=0), whole["data/trips"], rtol=0, atol=1e-5)
    for name, part in zip(names, parts, strict=True):
        lines = [*book[name].iter_rows(min_row=2, min_col=2, values_only=True)]
        assert np.array_equal(np.array(lines, float), part)


def test_maps_have_the_zones_as_they_were_given_and_flows_as_lines(folder: Path) -> None:
    given = dict(zip(IDS, partition(model(TIMED).release.region), strict=True))
    for row in json.loads((folder / "density.geojson").read_text())["features"]:
        shape = shapely.from_geojson(json.dumps(row["geometry"]))
        assert shape.equals(given[row["properties"]["zone"]])
    assert pyogrio.list_layers(folder / "od.gpkg").tolist() == [["od", "LineString"], ["zones", "MultiPolygon"]]
    beside = pyogrio.read_dataframe(folder / "od.gpkg", layer="zones")
    assert all(shape.equals(given[zone]) for zone, shape in zip(beside.zone, beside.geometry, strict=True))
    starts = dict(zip(beside.zone, beside.starts, strict=True))
    sums = Counter[str]()
    for row in rows_of(folder, "od"):
        sums[row["origin"]] += row["trips"]
    assert starts == pytest.approx(dict(sums), abs=1e-4)
    for _, row in pyogrio.read_dataframe(folder / "od.gpkg", layer="od").iterrows():
        assert (row.geometry is None) == (row.origin == row.destination)
        if row.geometry is not None:
            ends = [shapely.Point(point) for point in row.geometry.coords]
            assert given[row.origin].contains(ends[0]) and given[row.destination].contains(ends[1])


def test_words_say_which_zones_and_what_the_numbers_mean(folder: Path) -> None:
    about = pq.read_schema(folder / "od.parquet").metadata
    assert about[b"privtrace.product"] == b"od: trips from zone to zone"
    assert b"nine in ten true numbers are expected" in about[b"privtrace.columns"]
    assert b"zones.geojson" not in b"".join(about.values())  # a file name says nothing, or too much
    sheet = openpyxl.load_workbook(folder / "density.xlsx")["About"]
    told = dict(sheet.iter_rows(min_row=2, values_only=True))
    assert told["zones"].startswith("9 own zones by my id") and "NOT PRIVATE" in told["guarantee"]
    assert {f"columns: {name}" for name in pq.read_schema(folder / "density.parquet").names} <= {*told}


def test_zones_of_any_file_give_the_same_numbers(folder: Path, tmp_path: Path) -> None:
    frame = pyogrio.read_dataframe(folder / "zones.geojson").set_crs(None, allow_override=True)
    frame["my id"] = range(9)
    with warnings.catch_warnings(action="ignore"):  # that planar zones have no system
        for suffix in ("gpkg", "shp"):
            frame.to_file(tmp_path / f"a.{suffix}")
        frame.to_parquet(tmp_path / "a.parquet")
    trips = [row["trips"] for row in rows_of(folder, "od")]
    for suffix in ("gpkg", "shp", "parquet"):
        out = tmp_path / f"{suffix}.parquet"
        model(TIMED).export("od", out, zones=tmp_path / f"a.{suffix}", zone_id="my id")
        found = pq.read_table(out)
        assert found["trips"].to_pylist() == trips and found["origin"].to_pylist()[0] == "0"


def test_what_excel_or_a_matrix_cannot_hold_is_refused_in_a_sentence(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"zones": folder / "zones.geojson", "zone_id": "my id"}
    monkeypatch.setattr(xlsx, "MOST_ROWS", 55)
    model(TIMED).export("density", tmp_path / "fits.xlsx", by="part", **given)  # 54 rows and a header
    monkeypatch.setattr(xlsx, "MOST_ROWS", 54)
    with pytest.raises(pt.OutputError, match=r"a\.xlsx: the table of density has 54 rows .* most 53; write"):
        model(TIMED).export("density", tmp_path / "a.xlsx", by="part", **given)
    with pytest.raises(pt.OutputError, match=r"a\.xlsx: sheet 'od' has \d+ rows .* at most 53; write \.csv"):
        model(TIMED).export("od", tmp_path / "a.xlsx", **given)
    monkeypatch.setattr(writing, "MOST_OMX_ZONES", 8)
    with pytest.raises(pt.OutputError, match=r"a\.omx: there are 9 zones, and a matrix of more than 8 takes"):
        model(TIMED).export("od", tmp_path / "a.omx", **given)
    assert [path.name for path in tmp_path.iterdir()] == ["fits.xlsx"]
    monkeypatch.undo()
    monkeypatch.setattr(writing, "MOST_MATRIX_CELLS", 80)
    model(TIMED).export("od", tmp_path / "a.xlsx", **given)
    book = openpyxl.load_workbook(tmp_path / "a.xlsx")
    assert book.sheetnames == ["od", "About"]
    told = dict(book["About"].iter_rows(min_row=2, values_only=True))
    assert told["matrix"] == "left out, since it would have 81 cells, more than the limit of 80; " + (
        "the table has all trips, or write .omx"
    )


def test_chunks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    from privtrace.export import tables

    whole = table(TIMED, "od", "hour", "odd")
    monkeypatch.setattr(tables, "CHUNK_ROWS", 7)
    made = product(model(TIMED), Asked("od", "hour", zones(TIMED, "odd")))
    chunks = [rows.table for rows in made.rows]
    assert len(chunks) == -(-len(whole) // 7) and pa.concat_tables(chunks).equals(whole)
    assert pc.min(whole["trips"]).as_py() > 0  # what does not occur has no row
