"""Zones of a region across the antimeridian, however a file writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely

import privtrace as pt
from privtrace.runs import Runs
from privtrace.zones import read_zones

FIJI = pt.Region.box(177, -20, -178, -16, crs="lonlat")
WHOLE = shapely.box(178, -19, 181, -17)
POINTS = np.array([[179.5, -18], [-179.5, -18], [177.5, -18], [-178.5, -18]])


def ring(*longitudes: float) -> list[list[list[float]]]:
    west, east = longitudes
    return [[[west, -19], [east, -19], [east, -17], [west, -17], [west, -19]]]


@pytest.mark.parametrize(
    "shape",
    [
        {"type": "MultiPolygon", "coordinates": [ring(178, 180), ring(-180, -179)]},  # as RFC 7946 asks
        {"type": "Polygon", "coordinates": ring(178, 181)},
        {"type": "Polygon", "coordinates": ring(-182, -179)},
        {"type": "Polygon", "coordinates": ring(178, -179)},  # the short way
    ],
)
def test_however_a_zone_is_written_it_is_one(shape: Any, tmp_path: Path) -> None:
    listed = [{"type": "Feature", "geometry": shape, "properties": {"n": "a"}}]
    (tmp_path / "a.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": listed}))
    zones = read_zones(tmp_path / "a.geojson", FIJI)
    assert zones.polygons[0].equals(WHOLE)
    assert zones.of_points(POINTS)[0].tolist() == [0, 1]
    lines = Runs(FIJI.meters(POINTS[[2, 1, 3]]), np.array([0, 2, 3]))
    assert zones.passed_by(lines)[0].tolist() == [0]
    assert FIJI.contains(zones.centers).all() and np.abs(zones.centers).max() <= 180
    assert zones.areas[0] == pytest.approx(FIJI.width_m * FIJI.height_m / 1e6 * 6 / 20)
    west = pt.Region.box(177, -20, 180, -16, crs="lonlat")
    if shape["type"] == "Polygon" and shape["coordinates"] == ring(178, -179):
        assert read_zones(tmp_path / "a.geojson", west).of_points(POINTS)[0].tolist() == [0]


def test_zones_as_wide_as_the_globe_are_where_the_region_is(tmp_path: Path) -> None:
    made = gpd.GeoDataFrame({"n": ["world"]}, geometry=[shapely.box(-180, -90, 180, 90)], crs=4326)
    made.to_file(tmp_path / "a.gpkg")
    assert read_zones(tmp_path / "a.gpkg", FIJI).of_points(POINTS)[0].tolist() == [0, 1, 2, 3]
    assert read_zones(tmp_path / "a.gpkg", FIJI).covered == pytest.approx(1)


def test_zones_of_a_projected_system_come_across(tmp_path: Path) -> None:
    made = gpd.GeoDataFrame({"n": ["a"]}, geometry=[shapely.segmentize(shapely.box(178, -19, 179.9, -17), 0.1)])
    moved = made.set_crs(4326).to_crs(3832)
    moved.geometry = moved.translate(1.1 * 111_320)  # a degree and a bit to the east
    moved.to_file(tmp_path / "a.gpkg")
    zones = read_zones(tmp_path / "a.gpkg", FIJI)
    west, _, east, _ = zones.polygons[0].bounds
    assert (west, east) == (pytest.approx(179.1, abs=0.02), pytest.approx(181, abs=0.02))
    assert zones.of_points(POINTS)[0].tolist() == [0, 1]
