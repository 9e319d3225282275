"""Tables of cells: what synthetic trips say, counted by hand, beside what was measured; and words about it."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import shapely
from tests.export.samples import ACROSS, MODELS, POLYGONS, TIMED_MODELS, column, model, table

from privtrace.export import PRODUCTS, TIMED, tables
from privtrace.export.columns import Asked
from privtrace.export.tables import areas, product, products
from privtrace.methods.estimating import Sampling
from privtrace.methods.fitted import fitted
from privtrace.methods.view import MARGIN, error_of
from privtrace.privacy.unit import WEIGHT

#: Models with what can be exported of them, and by which hours.
TABLES = [(name, what, None) for name in MODELS for what in PRODUCTS if what not in TIMED]
TABLES += [(name, what, None) for name in TIMED_MODELS for what in ("departures", "speeds")]
TABLES += [("adatrace, frame, times", what, by) for what, by in (("od", "weekday"), ("density", "part"))]


def of_layer(rows: pa.Table, layer: str) -> pa.Table:
    return rows.filter(pc.equal(rows["layer"], layer))


# --- density and trips ---


@pytest.mark.parametrize("name", ["bridgetrace", "adatrace", "dpt"])
def test_numbers_of_cells_are_those_of_trips_counted_one_by_one(name: str) -> None:
    """A line passes a cell if some of it lies inside; whether it does where it only touches is left open."""
    made = model(name)
    view, sampling, density = made.view(), Sampling.of(made), table(name, "density")
    trips = [*made.sample(sampling.count, seed=0)]
    for layer in view.layers:
        boxes, counts = shapely.box(*layer.grid.boxes.T), np.zeros((3, layer.grid.n_cells), np.int64)
        tree = shapely.STRtree(boxes)
        for trip in trips:
            points = shapely.points(trip.points)
            line = shapely.LineString(trip.points) if len(points) > 1 else points[0]
            touched = tree.query(line, predicate="intersects")
            lengths = shapely.length(shapely.intersection(line, boxes[touched]))
            counts[0, touched] += 1
            counts[1, touched[lengths > 1e-9]] += 1
            counts[2, tree.query(points[0], predicate="within")] += 1
        rows = of_layer(density, layer.name)
        passing, starts = (column(rows, what) / sampling.per_trip for what in ("trips", "starts"))
        assert np.all(counts[1] <= passing + 1e-4) and np.all(passing <= counts[0] + 1e-4)
        assert np.abs(starts - counts[2]).sum() < 1e-3 * len(trips)
        assert (counts[0] - counts[1]).sum() < 0.2 * counts[0].sum()


@pytest.mark.parametrize("name", MODELS)
def test_trips_between_cells_add_up(name: str) -> None:
    view, whole, density = model(name).view(), table(name, "od"), table(name, "density")
    layer = view.layers[view.zones]
    assert {*whole["layer"].to_pylist()} == {layer.name}
    assert pc.min(whole["trips"]).as_py() > 0  # pairs without any have no row
    codes = column(whole, "origin") * layer.grid.n_cells + column(whole, "destination")
    assert np.all(np.diff(codes) > 0)
    total = float(model(name).count / WEIGHT)
    for end, what in (("origin", "starts"), ("destination", "ends")):
        sums = np.bincount(column(whole, end), column(whole, "trips"), layer.grid.n_cells)
        assert np.allclose(sums, column(of_layer(density, layer.name), what), rtol=0, atol=1e-3)
        assert sums.sum() == pytest.approx(total, abs=2e-3)
    for one in view.layers:
        rows = of_layer(density, one.name)
        assert column(rows, "starts").sum() == pytest.approx(total, abs=2e-3)
        assert column(rows, "visits").sum() <= total + 2e-3  # each trip has a weight of one, or less
    assert column(rows, "visits").sum() > 0.2 * total


@pytest.mark.parametrize("name", MODELS)
def test_noisy_numbers_are_those_of_the_view(name: str) -> None:
    density, first = table(name, "density"), 0
    for layer in model(name).view().layers:
        rows = density.slice(first, layer.grid.n_cells)
        first += layer.grid.n_cells
        assert set(rows["layer"].to_pylist()) == {layer.name}
        assert rows["cell"].to_pylist() == [*range(layer.grid.n_cells)]
        for number in layer.numbers:
            assert np.array_equal(column(rows, f"noisy_{number.name}"), np.round(number.values, 6))
            assert set(rows[f"noisy_{number.name}_margin"].to_pylist()) == {round(MARGIN * number.error, 6)}
        for missing in {"visits", "starts", "ends"} - {number.name for number in layer.numbers}:
            for one in (f"noisy_{missing}", f"noisy_{missing}_margin"):
                assert rows[one].null_count == len(rows)
    assert first == len(density)


def test_noisy_trips_stand_beside_where_they_were_measured_cell_by_cell() -> None:
    made, whole = model("adatrace"), table("adatrace", "od")
    trips = made.view().trips
    n, codes = trips.n_groups, column(whole, "origin") * trips.n_groups + column(whole, "destination")
    assert n == len(trips.groups)
    assert np.array_equal(column(whole, "noisy_trips"), np.round(trips.noisy.values[codes], 6))
    assert set(whole["noisy_trips_margin"].to_pylist()) == {round(trips.noisy.margin, 6)}
    assert np.corrcoef(column(whole, "noisy_trips"), column(whole, "trips"))[0, 1] > 0.8
    measured = model("bridgetrace").view().trips
    assert measured is not None and not measured.are_of_cells  # but between zones of several cells
    assert table("bridgetrace", "od")["noisy_trips"].null_count == len(table("bridgetrace", "od"))


def test_fitted_numbers_are_those_of_the_page() -> None:
    shown, density = fitted(model("adatrace")), table("adatrace", "density")
    for layer, cells in zip(shown.view.layers, shown.cells, strict=True):
        rows = of_layer(density, layer.name)
        for what in ("trips", "visits", "starts", "ends"):
            numbers = getattr(cells, what)
            assert np.allclose(column(rows, what), numbers.table, rtol=0, atol=1e-6)
            prefix = "" if what == "trips" else f"{what}_"
            # Bounds are rounded away from the number.
            below, above = (
                numbers.low - column(rows, f"{prefix}low"),
                column(rows, f"{prefix}high") - numbers.high,
            )
            assert np.all((below > -1e-9) & (below < 0.01)) and np.all((above > -1e-9) & (above < 0.01))


def test_trips_per_area_are_trips_by_area() -> None:
    density = table("privtrace, holes", "density")
    quotient = column(density, "trips") / column(density, "area")
    assert np.allclose(column(density, "trips_per_area"), quotient, rtol=1e-5)
    for name in ("area", "trips_per_area"):  # as many digits as are right
        assert all(float(f"{one:.6g}") == pytest.approx(one, rel=1e-12) for one in density[name].to_pylist())


def test_several_tables_are_counted_on_the_same_trips() -> None:
    flows, density = products(model("privtrace"), Asked("od"), Asked("density"))
    assert pa.concat_tables([one.table for one in flows.rows]).equals(table("privtrace", "od"))
    assert pa.concat_tables([one.table for one in density.rows]).equals(table("privtrace", "density"))


# --- moves, cells, hours and speeds ---


@pytest.mark.parametrize("name", MODELS)
def test_moves_are_those_of_the_view(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    view, whole = model(name).view(), table(name, "transitions")
    assert whole.column_names[1:5] == ["from", "to", "weight", "margin"]
    for place, field in (("from", "origins"), ("to", "destinations")):
        assert np.array_equal(column(whole, place), np.concatenate([getattr(f, field) for f in view.moves]))
    weights = np.concatenate([flows.weights for flows in view.moves])
    assert np.array_equal(column(whole, "weight"), np.round(weights, 6))
    margins = [round(MARGIN * flows.error, 6) for flows in view.moves for _ in flows.weights]
    assert whole["margin"].to_pylist() == margins
    monkeypatch.setattr(tables, "CHUNK_ROWS", 7)
    again = product(model(name), Asked("transitions"))
    assert pa.concat_tables([rows.table for rows in again.rows]).equals(whole)


@pytest.mark.parametrize("name", POLYGONS)
def test_areas_add_up_to_the_region(name: str) -> None:
    for layer in model(name).view().layers:
        region = layer.grid.region
        per_unit = np.prod(region.scale_m) / 1e6 if region.crs == "lonlat" else 1.0
        assert areas(layer.grid).sum() == pytest.approx(POLYGONS[name].area * per_unit, rel=1e-6)


def test_areas_of_degrees_are_square_kilometers() -> None:
    """A degree is about 111 km, and at 16 degrees south 107 km to the east."""
    grid = table("adatrace, across", "grid")
    assert "area_km2" in grid.column_names and "area" in table("adatrace", "grid").column_names
    assert column(of_layer(grid, "cells"), "area_km2").sum() == pytest.approx(5 * 107 * 8 * 110.6, rel=0.01)


def test_divisions_tell_how_fine_cells_lie_in_coarse_ones() -> None:
    states, divisions = of_layer(table("privtrace", "grid"), "states"), model("privtrace").divisions
    row, col, division = (column(states, name) for name in ("coarse_row", "coarse_column", "division"))
    assert np.array_equal(division, divisions[row, col]) and division.max() > 1
    assert np.array_equal(np.floor(column(states, "south") * 3 / 10 + 1e-9), row)
    assert np.array_equal(np.floor(column(states, "west") * 3 / 10 + 1e-9), col)
    assert np.allclose(column(states, "east") - column(states, "west"), 10 / 3 / division)


def test_across_the_antimeridian_longitudes_stay_within_180() -> None:
    grid, flows = table("adatrace, across", "grid"), table("adatrace, across", "od")
    west, east = column(grid, "west"), column(grid, "east")
    places = np.concatenate([west, east, column(flows, "origin_lon"), column(flows, "destination_lon")])
    assert np.all((places >= ACROSS[0]) | (places <= ACROSS[2])) and np.abs(places).max() <= 180
    widths = np.where(west > east, east + 360, east) - west
    assert np.all((widths > 0) & (widths < 1.01))


def test_cells_that_touch_the_antimeridian_do_not_cross_it() -> None:
    grid = table("adatrace, across", "grid").slice(0, 5)  # each a degree wide, from 177
    assert column(grid, "west").tolist() == pytest.approx([177, 178, 179, -180, -179])
    assert column(grid, "east").tolist() == pytest.approx([178, 179, 180, -179, -178])


@pytest.mark.parametrize("name", ["privtrace, holes", "privtrace, strait"])
def test_centers_lie_in_the_region(name: str) -> None:
    x, y = ("x", "y") if "holes" in name else ("lon", "lat")
    flows = table(name, "transitions")
    for end in ("from", "to"):
        centers = np.stack([column(flows, f"{end}_{x}"), column(flows, f"{end}_{y}")], axis=1)
        assert model(name).release.region.contains(centers).all()


@pytest.mark.parametrize("name", TIMED_MODELS)
def test_departures_are_those_of_trips_beside_the_measured_ones(name: str) -> None:
    rows, made = table(name, "departures"), model(name)
    assert rows.column_names == [
        "hour_of_week", "weekday", "hour", "trips", "low", "high", "share", "noisy_trips", "noisy_trips_margin",
    ]  # fmt: skip
    assert rows["hour_of_week"].to_pylist() == [*range(168)] and rows["hour"].to_pylist() == [*range(24)] * 7
    days = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    assert rows["weekday"].to_pylist()[::24] == days
    measured, error = made.timing.timetable.departures / WEIGHT, error_of(made.release, "departures")
    assert np.array_equal(column(rows, "noisy_trips"), np.round(measured, 6))
    assert set(rows["noisy_trips_margin"].to_pylist()) == {round(MARGIN * error, 6)}
    assert np.array_equal(column(rows, "share"), made.timing.chances) and sum(made.timing.chances) == (
        pytest.approx(1)
    )
    total = float(made.count / WEIGHT)
    assert column(rows, "trips").sum() == pytest.approx(total, abs=2e-3)
    # Each is a draw by its chance.
    expected, n = total * column(rows, "share"), Sampling.of(made).count
    assert np.all(np.abs(column(rows, "trips") - expected) <= 5 * np.sqrt(expected * total / n) + 5 * total / n)
    assert np.all(column(rows, "low") <= column(rows, "trips")) and np.all(column(rows, "low") >= 0)
    assert np.all(column(rows, "trips") <= column(rows, "high"))


@pytest.mark.parametrize("name", TIMED_MODELS)
def test_speeds_are_those_of_the_page(name: str) -> None:
    rows, shown = table(name, "speeds"), fitted(model(name))
    unit = "units_per_second" if model(name).release.crs == "planar" else "meters_per_second"
    first = 0
    for layer, speeds in zip(shown.view.layers, shown.hours.speeds, strict=True):
        for part in range(6):
            some = rows.slice(first, layer.grid.n_cells)
            first += layer.grid.n_cells
            assert set(some["layer"].to_pylist()) == {layer.name}
            assert some["cell"].to_pylist() == [*range(layer.grid.n_cells)]
            assert set(some["hour_from"].to_pylist()) == {4 * part}
            assert set(some["hour_to"].to_pylist()) == {4 * part + 4}
            assert np.array_equal(column(some, "sampled_trips"), speeds.n_sampled[part])
            wanted = [None if math.isnan(one) else one for one in np.round(speeds.by_part[part], 6).tolist()]
            assert some[unit].to_pylist() == wanted
    assert first == len(rows) and rows[unit].null_count < len(rows)


# --- files ---


BOUNDED = ["trips", "low", "high"]
PASSING = [*BOUNDED, "trips_per_area", "starts", "starts_low", "starts_high", "ends", "ends_low", "ends_high"]
MEASURED = ["visits", "visits_low", "visits_high"]
MEASURED += [f"noisy_{one}{more}" for one in ("visits", "starts", "ends") for more in ("", "_margin")]
CELL = ["layer", "cell", "west", "south", "east", "north", "area"]
CENTERS = ["origin_x", "origin_y", "destination_x", "destination_y"]
ENDS = ["origin", "destination"]


@pytest.mark.parametrize(
    ("what", "by", "kind", "names"),
    [
        ("density", None, None, [*CELL, *PASSING, *MEASURED]),
        ("density", "hour", None, [*CELL, "hour", *PASSING]),
        ("density", "part", "odd", ["zone", "area", "hour_from", "hour_to", *PASSING]),
        ("density", "weekday", "odd", ["zone", "area", "weekday", *PASSING]),
        ("density", None, "odd", ["zone", "area", *PASSING]),
        ("od", None, None, ["layer", *ENDS, *BOUNDED, "noisy_trips", "noisy_trips_margin", *CENTERS]),
        ("od", "hour", None, ["layer", "hour", *ENDS, *BOUNDED, *CENTERS]),
        ("od", None, "odd", [*ENDS, *BOUNDED]),
        ("od", "part", "odd", ["hour_from", "hour_to", *ENDS, *BOUNDED]),
    ],
)
def test_columns(what: str, by: str | None, kind: str | None, names: list[str]) -> None:
    """Those that hold nothing are not there."""
    rows = table("bridgetrace, times", what, by, kind)
    assert rows.column_names == names
    unmeasured = {name for name in names if name.startswith("noisy_")}
    assert not any(rows[name].null_count for name in {*names} - unmeasured - {"trips_per_area"})


@pytest.mark.parametrize("what", PRODUCTS)
@pytest.mark.parametrize("by", [None, "hour", "part", "weekday"])
def test_every_column_is_explained(what: str, by: str | None) -> None:
    if by is not None and what not in ("od", "density"):
        return
    schema = product(model("adatrace, frame, times"), Asked(what, by)).schema
    meanings = json.loads(schema.metadata[b"privtrace.columns"])
    assert [*meanings] == schema.names and all(meanings.values())
    assert schema.metadata[b"privtrace.product"].decode().startswith(f"{what}: ")
    if "trips" in meanings:
        assert "sampled from the model" in meanings["trips"] and "nine in ten" in meanings["low"]


@pytest.mark.parametrize(("name", "what", "by"), TABLES)
def test_files_hold_the_tables(name: str, what: str, by: str | None, tmp_path: Path) -> None:
    wanted = table(name, what, by)
    model(name).export(what, tmp_path / "a.parquet", by=by)
    assert pq.read_table(tmp_path / "a.parquet").equals(wanted)
    if name not in ("adatrace", "privtrace, strait", "adatrace, frame, times"):
        return  # the others are written in the same way
    for suffix in (".csv", ".csv.gz"):
        model(name).export(what, tmp_path / f"a{suffix}", by=by)
        options = pa.csv.ConvertOptions(column_types=wanted.schema)
        assert pa.csv.read_csv(tmp_path / f"a{suffix}", convert_options=options).equals(wanted)
    model(name).export(what, tmp_path / "a.xlsx", by=by)
    header, *lines = openpyxl.load_workbook(tmp_path / "a.xlsx")[what].iter_rows(values_only=True)
    assert [dict(zip(header, line, strict=True)) for line in lines] == wanted.to_pylist()
