"""Maps: what the script is told agrees with the model, and what is drawn agrees with both."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pytest
import shapely
from tests import polygons
from tests.conftest import trajectories
from tests.report.reading import BOX, Element, fitted, map_data, read, rows, walks

import privtrace as pt
from privtrace.methods.fitted import Fitted
from privtrace.methods.fitted import fitted as numbers_of
from privtrace.report.colors import SHADES, STEPS
from privtrace.report.maps import Sheet, heat
from privtrace.space.clip import clip
from privtrace.space.grid import Grid

REGION = pt.Region.box(*BOX)
FIJI = pt.Region.box(179.5, -18.0, -179.5, -17.0)
FRAME, ISLANDS = polygons.region("frame"), polygons.region("mixed 1")


def across_the_antimeridian() -> pt.Trajectories:
    made = walks(150, (179.5, -18.0, 180.5, -17.0))
    x, y = made.points.T
    return pt.Trajectories(np.stack([np.where(x > 180, x - 360, x), y], axis=1), made.offsets)


#: Models of all kinds of grids.
MODELS: dict[str, Callable[[], Any]] = {
    "BridgeTrace": lambda: fitted(pt.BridgeTrace(epsilon=30, region=REGION, rounds=1), walks(300)),
    "PrivTrace": lambda: fitted(pt.PrivTrace(epsilon=30, region=REGION), walks(300)),
    "AdaTrace": lambda: fitted(pt.AdaTrace(epsilon=30, region=REGION), walks(300)),
    "DPT": lambda: fitted(pt.DPT(epsilon=30, region=REGION, finest=8, keep=1e-9), walks(300)),
    "a polygon with a hole": lambda: fitted(pt.PrivTrace(epsilon=30, region=FRAME, K=5), walks(300)),
    "islands, BridgeTrace": lambda: fitted(pt.BridgeTrace(epsilon=30, region=ISLANDS, rounds=1), walks(300)),
    "islands, AdaTrace": lambda: fitted(pt.AdaTrace(epsilon=30, region=ISLANDS, N=5), walks(300)),
    "islands, DPT": lambda: fitted(pt.DPT(epsilon=30, region=ISLANDS, finest=8, keep=1e-9), walks(300)),
    "the antimeridian": lambda: fitted(pt.PrivTrace(epsilon=30, region=FIJI, K=4), across_the_antimeridian()),
    "one cell": lambda: fitted(pt.PrivTrace(epsilon=1, region=REGION, K=1, second_layer=False), walks(20)),
    "nothing": lambda: pt.PrivTrace(epsilon=1, region=REGION).fit(trajectories(), noise=pt.NoNoise()),
    "a huge epsilon": lambda: fitted(pt.PrivTrace(epsilon=1000, region=REGION), walks(300)),
    "negative visits": lambda: _all_negative(fitted(pt.PrivTrace(epsilon=1, region=REGION, K=3), walks(60))),
}


def _all_negative(model: Any) -> Any:
    return replace(model, density=-np.abs(model.density) - 1, moves=-np.abs(model.moves) - 1)


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    return MODELS[request.param]()


@pytest.fixture(scope="module")
def page(model: Any) -> Element:
    return read(model.report().html)


@pytest.fixture(scope="module")
def shown(model: Any) -> Fitted:
    return numbers_of(model)


def written(number: float) -> str:
    """Write a fitted number as pages do: to three digits, and one after the point at most."""
    rounded = round(number, 1) if number < 10 else float(f"{number:.3g}")
    return f"{rounded:,.0f}" if rounded.is_integer() else f"{rounded:,.1f}"


def bounded(number: float, low: float, high: float) -> str:
    return f"{written(number)} ({written(low)} to {written(high)})"


def cell_at(grid: dict[str, Any], x: float, y: float) -> int:
    """Look a cell up as the page's script does; x and y count in coarse cells from the southwest."""
    size = grid["size"]
    divisions = grid["divisions"] or [1] * size**2
    first = np.concatenate([[0], np.cumsum(np.square(divisions))])
    column, row = int(x), int(y)
    division = divisions[row * size + column]
    slot = first[row * size + column] + int((y - row) * division) * division + int((x - column) * division)
    return int(grid["cells"][slot] if grid["cells"] else slot)


def test_the_script_finds_the_cells_of_the_model(model: Any, page: Element) -> None:
    region = model.release.region
    west, south, east, north = region.bounds
    places = np.random.default_rng(2).uniform((west, south), (east, north), (200, 2))
    inside = region.contains(places)
    assert inside.sum() > 30
    shares = (places[inside] - (west, south)) / (east - west, north - south)
    for layer, grid in zip(model.view().layers, map_data(page)["grids"], strict=True):
        apart = pt.Trajectories(places[inside], np.arange(inside.sum() + 1), crs=region.crs)
        found = [cell_at(grid, *(share * grid["size"])) for share in shares]
        assert found == layer.grid.encode(clip(apart, layer.grid.region)).cells.tolist()


def test_the_script_is_told_fitted_numbers_with_bounds_and_noisy_ones_beside(
    shown: Fitted, page: Element
) -> None:
    for layer, cells, grid in zip(shown.view.layers, shown.cells, map_data(page)["grids"], strict=True):
        *fitted_ones, area, noisy = grid["numbers"]
        assert [one["name"] for one in fitted_ones] == ["trips", "starts", "ends"]
        for told, one in zip(fitted_ones, (cells.trips, cells.starts, cells.ends), strict=True):
            for name, numbers in (("values", one.numbers.values), ("low", one.low), ("high", one.high)):
                np.testing.assert_allclose(told[name], numbers, rtol=0.00501, atol=0.0501)
            low, values, high = (np.array(told[name]) for name in ("low", "values", "high"))
            assert told["error"] is None and np.all(low >= 0)
            assert np.all(low <= values) and np.all(values <= high)
        assert noisy["name"] == "measured, with noise: visits"
        np.testing.assert_allclose(noisy["values"], layer.visits.values, atol=0.0501)
        assert noisy["error"] == pytest.approx(1.645 * layer.visits.error, rel=0.05)
        assert len(area["values"]) == layer.grid.n_cells and area["error"] is None
        assert np.allclose(area["values"], areas(layer.grid), rtol=0.006)


def areas(grid: Grid, *, whole: bool = False) -> np.ndarray:
    """Measure what of each cell is in the region, or all of its box, in square kilometers or square units."""
    region, boxes = grid.region, shapely.box(*grid.boxes.T)
    if region.shape is not None and not whole:
        rings = map(shapely.Polygon, region.shape.rings)  # what is in a hole is in two of them
        boxes = shapely.intersection(boxes, reduce(shapely.symmetric_difference, rings))
    return shapely.area(boxes) * np.prod(region.scale_m) / (1e6 if region.crs == "lonlat" else 1)


def test_units_are_meters_only_where_they_are(model: Any, page: Element) -> None:
    data, text = map_data(page), page.all("main")[0].text
    lonlat = model.release.crs == "lonlat"
    assert data["unit"] == ("m" if lonlat else "units")
    assert data["metersPerUnit"] == pytest.approx(model.release.region.width_m / 1000)
    assert {grid["numbers"][-2]["unit"] for grid in data["grids"]} == {" km²" if lonlat else " square units"}
    assert bool(re.search(r"\d k?m\b|km²", text)) == lonlat and ("units by" in text) != lonlat


def drawn_cells(page: Element, layer: int) -> list[tuple[int, float, float]]:
    """List the cells that are drawn: shade, left and top."""
    (ground,) = (g for g in page.all("g", "cells") if g.attributes["data-layer"] == str(layer))
    return [
        (int(path.classes[0].removeprefix("q")), float(x), float(y))
        for path in ground.all("path")
        for x, y in re.findall(r"M([-\d.]+) ([-\d.]+)h", path.attributes["d"] or "")
    ]


def test_every_cell_is_drawn_in_its_place_in_a_shade_of_its_density(
    model: Any, shown: Fitted, page: Element
) -> None:
    """A sliver of a cell counts as a quarter of it: small areas would be the darkest by noise alone."""
    region = model.release.region
    west, _, east, north = region.bounds
    for number, (layer, cells) in enumerate(zip(shown.view.layers, shown.cells, strict=True)):
        boxes = layer.grid.boxes
        scale = 1000 / (east - west), 1000 * region.scale_m[1] / region.width_m
        expected = {
            (round((box[0] - west) * scale[0], 1), round((north - box[3]) * scale[1], 1)): cell
            for cell, box in enumerate(boxes)
        }
        drawn = drawn_cells(page, number)
        density = cells.trips.table / np.maximum(areas(layer.grid), areas(layer.grid, whole=True) / 4)
        assert len(drawn) == len(expected) == layer.grid.n_cells
        shades = np.full(layer.grid.n_cells, -1)
        for shade, x, y in drawn:
            near = min(expected, key=lambda place: abs(place[0] - x) + abs(place[1] - y))
            shades[expected[near]] = shade
        assert shades.min() >= 0 and shades.max() < SHADES
        assert np.all(shades[density <= 0] == 0)
        assert np.all(np.diff(shades[np.argsort(density)]) >= 0)
        assert density.max() <= 0 or shades[density.argmax()] == SHADES - 1


def test_arcs_are_the_strongest_fitted_flows(shown: Fitted, page: Element) -> None:
    n, trips = shown.zones.n_cells, shown.trips
    known = {
        (code // n, code % n): bounds
        for code, *bounds in zip(
            trips.numbers.codes.tolist(), trips.numbers.values, trips.low, trips.high, strict=True
        )
        if code // n != code % n and bounds[0] > 0
    }
    told = [path.all("title")[0].text for path in page.all("path", "flow")]
    ends = [tuple(map(int, re.findall(r"(\d+) to (\d+)$", text)[0])) for text in told]
    assert len(set(ends)) == len(ends) == min(40, len(known))
    strongest = sorted((number for number, _, _ in known.values()), reverse=True)[:40]
    assert [known[end][0] for end in ends] == strongest
    name = shown.view.layers[shown.view.zones].name.removesuffix("s")
    for text, (origin, destination) in zip(told, ends, strict=True):
        bounds = bounded(*known[origin, destination])
        assert text == f"{bounds} trips, from {name} {origin} to {destination}"


def test_arcs_lead_from_center_to_center() -> None:
    """All trips go from the southwest cell to the northeast one."""
    there = trajectories(*[[(1.0, 1.0), (9.0, 9.0)]] * 50)
    settings = pt.PrivTrace(epsilon=1, region=REGION, K=2, order=1, second_layer=False, trip_estimation=False)
    page = read(settings.fit(there, noise=pt.NoNoise()).report().html)
    (arc,) = page.all("path", "flow")
    assert re.fullmatch(r"M250.0 750.0Q[\d. -]+ 750.0 250.0", arc.attributes["d"] or "")
    assert re.fullmatch(r"50 \([\d.]+ to [\d.]+\) trips, from state 0 to 3", arc.text)
    assert "The arc is the only flow between different states" in page.section("The model on a map").text


def test_nothing_is_drawn_outside_the_map(model: Any, page: Element) -> None:
    (svg,) = page.all("svg", "map")
    width, height = (float(number) for number in (svg.attributes["viewbox"] or "").split()[2:])
    for line in page.all("path", "trip"):
        for x, y in re.findall(r"([-\d.]+) ([-\d.]+)", line.attributes["d"] or ""):
            assert -0.1 <= float(x) <= width + 0.1 and -0.1 <= float(y) <= height + 0.1
    assert len(page.all("path", "trip")) <= 150


def test_the_table_lists_the_busiest_cells_first(model: Any, shown: Fitted, page: Element) -> None:
    found, finest, cells = page.section("The model on a map"), shown.view.layers[-1], shown.cells[-1]
    head, *listed = rows(found.all("table")[0])
    passing = cells.trips.table
    order = sorted(range(finest.grid.n_cells), key=lambda cell: (-passing[cell], cell))[:15]
    assert [int(row[0]) for row in listed] == order
    for row, cell in zip(listed, order, strict=True):
        for text, one in zip(row[2:5], (cells.trips, cells.starts, cells.ends), strict=True):
            assert text == bounded(one.table[cell], one.low[cell], one.high[cell])
        assert int(row[5].replace(",", "")) == round(finest.visits.values[cell])
    assert head[2:5] == ["Trips", "Starts", "Ends"] and head[5].startswith("Measured visits ± ")
    margin = float(head[5].removeprefix("Measured visits ± ").replace(",", ""))
    assert margin == pytest.approx(1.645 * finest.visits.error, rel=0.05)
    centers = np.array([[float(number) for number in row[1].split(", ")] for row in listed])
    assert model.release.region.contains(centers).all() or model.release.region.shape is not None
    assert model.release.crs == "planar" or np.abs(centers[:, 0]).max() <= 180


def test_the_finest_layer_shows_first_and_each_has_its_button(model: Any, page: Element) -> None:
    n_layers = len(model.view().layers)
    found = page.section("The model on a map")
    shown = [("hidden" not in layer.attributes) for layer in found.all("g", "cells")]
    assert shown == [False] * (n_layers - 1) + [True]
    buttons = [control for control in found.all("input") if control.attributes["type"] == "radio"]
    assert len(buttons) == (n_layers if n_layers > 1 else 0)
    assert [("checked" in button.attributes) for button in buttons] == shown[: len(buttons)]
    assert len(found.all("figure", "legend")) == n_layers


def test_holes_are_cut_out_of_the_outline() -> None:
    outline = Sheet(polygons.region("frame")).outline
    assert outline.count("Z") == 2 and "M0.0 1000.0" in outline and "250.0 250.0" in outline


def test_a_heat_map_is_drawn_north_up_and_runs_of_one_shade_together() -> None:
    shades = np.full((4, 4), 3)
    shades[0, 3] = 2 * STEPS
    paths = {
        path.classes[0]: path.attributes["d"]
        for path in read(heat(Sheet(REGION.for_data("planar")), "d", shades)).all("path")
    }
    assert paths["d20"] == "M750 0.00h250v250.00h-250z"
    assert paths["d3"].count("M") == 4 and "M0 0.00h750" in paths["d3"] and "M0 750.00h1000" in paths["d3"]
