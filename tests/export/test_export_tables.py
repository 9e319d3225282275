"""Tables: they say what the view says, in named columns, with words about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.export.samples import ACROSS, MODELS, POLYGONS, TIMED_MODELS, model

from privtrace.export import PRODUCTS, TIMED, tables
from privtrace.export.tables import areas, product


def table(name: str, what: str) -> pa.Table:
    made = product(model(name), model(name).view(), what)
    return pa.concat_tables([made.schema.empty_table(), *(rows.table for rows in made.rows)])


def column(rows: pa.Table, name: str) -> Any:
    return rows[name].to_numpy()


@pytest.mark.parametrize("name", MODELS)
def test_density_is_that_of_the_view(name: str) -> None:
    density = table(name, "density")
    first = 0
    for layer in model(name).view().layers:
        rows = density.slice(first, layer.grid.n_cells)
        first += layer.grid.n_cells
        assert set(rows["layer"].to_pylist()) == {layer.name}
        assert rows["cell"].to_pylist() == [*range(layer.grid.n_cells)]
        for number in layer.numbers:
            assert np.array_equal(column(rows, number.name), np.round(number.values, 6))
            assert set(rows[f"{number.name}_error"].to_pylist()) == {number.error}
        for missing in {"visits", "starts", "ends"} - {number.name for number in layer.numbers}:
            assert rows[missing].null_count == rows[f"{missing}_error"].null_count == len(rows)
    assert first == len(density)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("what", "weight"), [("od", "trips"), ("transitions", "weight")])
def test_flows_are_those_of_the_view(
    name: str, what: str, weight: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = model(name).view()
    all_flows = (view.trips,) if what == "od" else view.moves
    whole = table(name, what)
    assert whole.column_names[1:3] == (["origin", "destination"] if what == "od" else ["from", "to"])
    for place, field in ((1, "origins"), (2, "destinations")):
        assert np.array_equal(whole[place].to_numpy(), np.concatenate([getattr(f, field) for f in all_flows]))
    weights = np.concatenate([flows.weights for flows in all_flows])
    assert np.array_equal(column(whole, weight), np.round(weights, 6))
    errors = [error for flows in all_flows for error in [flows.error] * len(flows.weights)]
    assert whole["error"].to_pylist() == errors
    monkeypatch.setattr(tables, "CHUNK_ROWS", 7)
    assert table(name, what).equals(whole)


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
    first = grid.filter(pa.compute.equal(grid["layer"], "cells"))
    assert column(first, "area_km2").sum() == pytest.approx(5 * 107 * 8 * 110.6, rel=0.01)


def test_visits_per_area_are_visits_by_area() -> None:
    density = table("privtrace, holes", "density")
    quotient = column(density, "visits") / column(density, "area")
    assert np.allclose(column(density, "visits_per_area"), quotient, rtol=1e-4)


def test_divisions_tell_how_fine_cells_lie_in_coarse_ones() -> None:
    grid, divisions = table("privtrace", "grid"), model("privtrace").divisions
    states = grid.filter(pa.compute.equal(grid["layer"], "states"))
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


#: Models with what can be exported of them.
PAIRS = [(name, what) for name in MODELS for what in PRODUCTS if what not in TIMED]
PAIRS += [(name, what) for name in TIMED_MODELS for what in TIMED]


@pytest.mark.parametrize("what", PRODUCTS)
def test_every_column_is_explained(what: str, tmp_path: Path) -> None:
    model("bridgetrace, times" if what in TIMED else "dpt").export(what, tmp_path / "a.parquet")
    schema = pq.read_schema(tmp_path / "a.parquet")
    assert list(json.loads(schema.metadata[b"privtrace.columns"])) == schema.names
    assert schema.metadata[b"privtrace.product"].decode().startswith(f"{what}: ")
    if what == "od":
        assert "walks of the model" in json.loads(schema.metadata[b"privtrace.columns"])["trips"]


@pytest.mark.parametrize("name", TIMED_MODELS)
def test_departures_are_those_of_the_view(name: str) -> None:
    rows, hours = table(name, "departures"), model(name).view().hours
    assert rows.column_names == ["hour_of_week", "weekday", "hour", "trips", "error", "share"]
    assert rows["hour_of_week"].to_pylist() == [*range(168)]
    assert rows["weekday"].to_pylist()[::24] == [
        "Monday",
        "Tuesday",
        "Wednesday",
        "Thursday",
        "Friday",
        "Saturday",
        "Sunday",
    ]
    assert rows["hour"].to_pylist() == [*range(24)] * 7
    assert np.array_equal(column(rows, "trips"), np.round(hours.departures.values, 6))
    assert set(rows["error"].to_pylist()) == {hours.departures.error}
    assert np.array_equal(column(rows, "share"), hours.chances)


@pytest.mark.parametrize("name", TIMED_MODELS)
def test_trips_by_part_are_those_of_the_view(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, view = table(name, "hourly-od"), model(name).view()
    assert whole.column_names[:6] == ["layer", "origin", "destination", "hour_from", "hour_to", "trips"]
    assert set(whole["layer"].to_pylist()) == {view.layers[view.trips.layer].name}
    for part, flows in enumerate(view.hours.trips):
        rows = whole.filter(pa.compute.equal(whole["hour_from"], 4 * part))
        assert set(rows["hour_to"].to_pylist()) <= {4 * part + 4}
        for place, field in ((1, "origins"), (2, "destinations")):
            assert np.array_equal(rows[place].to_numpy(), getattr(flows, field))
        assert np.array_equal(column(rows, "trips"), np.round(flows.weights, 6))
    assert len(whole) == sum(len(flows.weights) for flows in view.hours.trips) > 0
    monkeypatch.setattr(tables, "CHUNK_ROWS", 7)
    assert table(name, "hourly-od").equals(whole)


@pytest.mark.parametrize("name", TIMED_MODELS)
def test_density_and_speeds_by_part_are_those_of_the_view(name: str) -> None:
    density, speeds, view = table(name, "hourly-density"), table(name, "speeds"), model(name).view()
    unit = "units_per_second" if model(name).release.crs == "planar" else "meters_per_second"
    first = 0
    for layer, passing in zip(view.layers, view.hours.passing, strict=True):
        for part in range(6):
            rows, fast = (whole.slice(first, layer.grid.n_cells) for whole in (density, speeds))
            first += layer.grid.n_cells
            for some in (rows, fast):
                assert set(some["layer"].to_pylist()) == {layer.name}
                assert some["cell"].to_pylist() == [*range(layer.grid.n_cells)]
                assert set(some["hour_from"].to_pylist()) == {4 * part}
                assert set(some["hour_to"].to_pylist()) == {4 * part + 4}
            assert np.array_equal(column(rows, "trips"), np.round(passing.trips[part], 6))
            per_area = column(rows, rows.column_names[-1])
            assert np.allclose(per_area, passing.trips[part] / areas(layer.grid))
            assert np.array_equal(column(fast, "sampled_trips"), passing.n_sampled[part])
            wanted = [
                None if np.isnan(speed) else speed for speed in np.round(passing.speeds[part], 6).tolist()
            ]
            assert fast[unit].to_pylist() == wanted
    assert first == len(density) == len(speeds)


@pytest.mark.parametrize(("name", "what"), PAIRS)
def test_files_hold_the_tables(name: str, what: str, tmp_path: Path) -> None:
    for suffix in (".csv", ".csv.gz", ".parquet"):
        model(name).export(what, tmp_path / f"a{suffix}")
    wanted = table(name, what)
    assert pq.read_table(tmp_path / "a.parquet").equals(wanted)
    for suffix in (".csv", ".csv.gz"):
        options = pa.csv.ConvertOptions(column_types=wanted.schema)
        assert pa.csv.read_csv(tmp_path / f"a{suffix}", convert_options=options).equals(wanted)
