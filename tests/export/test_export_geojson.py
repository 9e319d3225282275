"""GeoJSON: valid geometry that covers the region, cut at the antimeridian, with the numbers of the tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shapely
from shapely.geometry import shape
from tests import polygons
from tests.export.samples import MODELS, POLYGONS, TIMED_MODELS, model, partition, table, zone_file

import privtrace as pt
from privtrace.export import FORMATS, TIMED, geojson
from privtrace.export.geojson import printed
from privtrace.export.geometries import cells_drawn, lines_drawn
from privtrace.space.grid import Grid

MAPS = FORMATS["geojson"].products
MAPPED = [(name, what, None) for name in MODELS for what in MAPS if what not in TIMED]
MAPPED += [(name, "speeds", None) for name in TIMED_MODELS]
MAPPED += [("adatrace, frame, times", what, "part") for what in ("od", "density")]


def exported(name: str, what: str, folder: Path, **options: Any) -> dict[str, Any]:
    model(name).export(what, folder / "a.geojson", **options)
    return json.loads((folder / "a.geojson").read_text())  # type: ignore[no-any-return]


def cells(grid: Grid) -> list[Any]:
    texts = printed(cells_drawn(grid, np.arange(grid.n_cells)))
    return [shape(json.loads(text)) for text in texts.to_pylist()]


@pytest.mark.parametrize(("name", "what", "by"), MAPPED)
def test_properties_are_the_rows_of_the_table_and_geometry_is_valid(
    name: str, what: str, by: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(geojson, "_CHUNK_FEATURES", 10)
    features = exported(name, what, tmp_path, by=by)["features"]
    rows = table(name, what, by)
    centers = [column for column in rows.column_names if column.endswith(("_x", "_y", "_lon", "_lat"))]
    assert [feature["properties"] for feature in features] == rows.drop_columns(centers).to_pylist()
    assert {feature["type"] for feature in features} <= {"Feature"}
    for feature in features:
        if feature["geometry"] is None:
            assert feature["properties"]["origin"] == feature["properties"]["destination"]
            continue
        geometry = shape(feature["geometry"])
        assert geometry.is_valid and not geometry.is_empty
        assert max(map(abs, geometry.bounds)) <= 180  # planar samples are small


@pytest.mark.parametrize("name", POLYGONS)
def test_cells_cover_the_region_once(name: str) -> None:
    """What they cover together is the polygon, and each is its box cut by the polygon."""
    oracle = POLYGONS[name]
    for layer in model(name).view().layers:
        turn = layer.grid.region.area.turn
        boxes = [shapely.box(*box) for box in layer.grid.boxes.tolist()]
        found = [_unwrapped(cell, turn) for cell in cells(layer.grid)]
        assert sum(cell.area for cell in found) == pytest.approx(oracle.area, rel=1e-6)
        assert shapely.union_all(found).symmetric_difference(oracle).area < 1e-6 * oracle.area
        for cell, box in zip(found, boxes, strict=True):
            assert cell.symmetric_difference(oracle.intersection(box)).area < 1e-9 * box.area


@pytest.mark.parametrize("name", polygons.SHAPES)
def test_cells_of_any_size_cover_any_polygon(name: str) -> None:
    region, oracle = polygons.region(name), polygons.oracle(name)
    for seed, size in enumerate((1, 4, 7)):
        divisions = np.random.default_rng(seed).integers(1, 5, (size, size)).astype(np.int32)
        grid = Grid(region, divisions)
        found, boxes = np.array(cells(grid)), shapely.box(*grid.boxes.T)
        assert shapely.is_valid(found).all()
        apart = shapely.symmetric_difference(found, shapely.intersection(oracle, boxes))
        assert np.all(shapely.area(apart) <= 1e-9 * shapely.area(boxes))


def _unwrapped(cell: Any, turn: float) -> Any:
    """Bring longitudes west of 0 to beyond 180, where a region is across the antimeridian."""

    def east(points: Any) -> Any:
        return np.stack([np.where(points[:, 0] < 0, points[:, 0] + turn, points[:, 0]), points[:, 1]], axis=1)

    return shapely.union_all([shapely.transform(cell, east)]) if turn else cell


@pytest.mark.parametrize("name", POLYGONS)
def test_outer_rings_turn_left_and_holes_right(name: str) -> None:
    for layer in model(name).view().layers:
        for cell in cells(layer.grid):
            for part in shapely.get_parts(cell):
                assert part.exterior.is_ccw and not any(hole.is_ccw for hole in part.interiors)


def test_a_hole_within_a_cell_stays() -> None:
    ring = [[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]
    hole = [[1, 1], [2, 1], [2, 2], [1, 2], [1, 1]]
    region = pt.Region.polygon([[ring, hole]], crs="planar")
    cell = cells(Grid.uniform(region, 2))[0]
    assert len(cell.interiors) == 1 and cell.area == 24


def test_a_cell_across_the_antimeridian_is_cut_there() -> None:
    grid = Grid.uniform(pt.Region.box(179, 0, -178, 3, crs="lonlat"), 1)
    (cell,) = cells(grid)
    assert cell.geom_type == "MultiPolygon"
    assert sorted(part.bounds for part in cell.geoms) == [(-180, 0, -178, 3), (179, 0, 180, 3)]


LINES = {
    "before it": ((0, 1), {"type": "LineString", "coordinates": [[177, 0.5], [179, 0.5]]}),
    "across it": (
        (1, 2),
        {"type": "MultiLineString", "coordinates": [[[179, 0.5], [180, 0.5]], [[-180, 0.5], [-179, 0.5]]]},
    ),
    "across it, back": (
        (3, 1),
        {"type": "MultiLineString", "coordinates": [[[-177, 0.5], [-180, 0.5]], [[180, 0.5], [179, 0.5]]]},
    ),
    "beyond it": ((2, 3), {"type": "LineString", "coordinates": [[-179, 0.5], [-177, 0.5]]}),
    "slanting": (
        (1, 6),
        {"type": "MultiLineString", "coordinates": [[[179, 0.5], [180, 1.0]], [[-180, 1.0], [-179, 1.5]]]},
    ),
    "nowhere": ((2, 2), None),
}


@pytest.mark.parametrize("case", LINES)
def test_lines_at_the_antimeridian(case: str) -> None:
    """Four columns of cells, from 176 to 184, with centers at 177, 179, 181 and 183."""
    (here, there), wanted = LINES[case]
    grid = Grid.uniform(pt.Region.box(176, 0, -176, 4, crs="lonlat"), 4)
    (text,) = lines(grid, [here], [there])
    assert json.loads(text) == wanted


def lines(grid: Grid, here: list[int], there: list[int]) -> Any:
    """Draw lines between cells."""
    centers = grid.pieces.centers
    return printed(lines_drawn(centers[here], centers[there], grid.region)).to_pylist()


def test_lines_that_touch_the_antimeridian_are_not_cut() -> None:
    """Three columns, the middle one with its center on the line: it is 180 or -180 as the line comes."""
    grid = Grid.uniform(pt.Region.box(177, 0, -177, 3, crs="lonlat"), 3)
    texts = lines(grid, [0, 1, 1], [1, 2, 4])
    assert [json.loads(text)["coordinates"] for text in texts] == [
        [[178, 0.5], [180, 0.5]],
        [[-180, 0.5], [-178, 0.5]],
        [[-180, 0.5], [-180, 1.5]],
    ]


def test_lines_lead_from_center_to_center(tmp_path: Path) -> None:
    features = exported("privtrace, holes", "transitions", tmp_path)["features"]
    centers = model("privtrace, holes").grid.pieces.centers
    for feature in features:
        ends = [feature["properties"][end] for end in ("from", "to")]
        assert np.array_equal(feature["geometry"]["coordinates"], centers[ends])


@pytest.mark.parametrize("name", ["adatrace, across", "privtrace, strait"])
def test_zones_across_the_antimeridian_are_cut_there(name: str, tmp_path: Path) -> None:
    pieces = partition(model(name).release.region)
    options = {"zones": zone_file(tmp_path, pieces, range(len(pieces))), "zone_id": "id"}
    found = [shape(one["geometry"]) for one in exported(name, "density", tmp_path, **options)["features"]]
    assert all(one.is_valid and np.abs(one.bounds).max() <= 180 for one in found)
    for one, piece in zip(found, pieces, strict=True):
        assert _unwrapped(one, 360).symmetric_difference(piece).area < 1e-6 * piece.area
    model(name).export("od", tmp_path / "b.geojson", **options)
    for one in json.loads((tmp_path / "b.geojson").read_text())["features"]:
        origin, onto = (int(one["properties"][end]) for end in ("origin", "destination"))
        assert (one["geometry"] is None) == (origin == onto)
        if one["geometry"] is not None:
            ends = shape(one["geometry"])
            ends = shapely.get_coordinates(ends.geoms if "Multi" in ends.geom_type else ends)[[0, -1]]
            ends[:, 0] += np.where(ends[:, 0] < 0, 360, 0)
            assert pieces[origin].contains(shapely.Point(ends[0]))
            assert pieces[onto].contains(shapely.Point(ends[1]))


def test_the_release_goes_along(tmp_path: Path) -> None:
    member = exported("privtrace", "density", tmp_path)["privtrace"]
    assert member["method"] == "privtrace" and "NOT PRIVATE" in member["guarantee"]
    assert "private" not in member and member["coordinates"].startswith("planar")
    model("privtrace", private=True).export("density", tmp_path / "b.geojson")
    assert json.loads((tmp_path / "b.geojson").read_text())["privtrace"]["private"] is True
