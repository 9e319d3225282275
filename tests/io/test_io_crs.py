"""Coordinate systems, by option or by what a file declares, in every format; and regions in them."""

from __future__ import annotations

import sys
from pathlib import Path

import geopandas as gpd
import numpy as np
import pytest
import shapely
from tests.io.trips import trips

import privtrace as pt
from privtrace import coordinates

POINTS = np.array([[-40062.25, 163618.5], [-40000.0, 163700.75], [-39000.5, 164000.0]])
PORTO = pt.Trajectories(POINTS, np.array([0, 2, 3]), crs="EPSG:3763")
DEGREES = shapely.box(-8.70, 41.10, -8.54, 41.22)


@pytest.mark.parametrize("name", ["a.gpkg", "a.fgb", "a.shp", "a.geoparquet"])
def test_files_declare_their_system(name: str, tmp_path: Path) -> None:
    pt.write(PORTO, tmp_path / name)
    found = pt.read(tmp_path / name)
    assert found.crs == "EPSG:3763"
    np.testing.assert_array_equal(found.collect().points, POINTS)
    assert pt.read(tmp_path / name, crs="planar").crs == "planar"  # what is declared wins


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.dat"])
def test_tables_are_told_their_system(name: str, tmp_path: Path) -> None:
    pt.write(PORTO, tmp_path / name)
    assert pt.read(tmp_path / name).crs == "planar"
    found = pt.read(tmp_path / name, crs="epsg:3763").collect()
    assert found.crs == "EPSG:3763"
    np.testing.assert_array_equal(found.points, POINTS)


@pytest.mark.parametrize("name", ["a.geojson", "a.gpx", "a.kml"])
def test_formats_of_degrees_get_degrees(name: str, tmp_path: Path) -> None:
    pt.write(PORTO, tmp_path / name)
    frame = gpd.GeoSeries(shapely.points(POINTS), crs=3763).to_crs(4326)
    wanted = shapely.get_coordinates(frame.to_numpy())
    np.testing.assert_allclose(pt.read(tmp_path / name).collect().points, wanted, atol=6e-7)
    with pytest.raises(pt.OutputError, match="planar"):
        pt.write(trips("bare", "planar"), tmp_path / f"b{name}")


def test_points_move_there_and_back() -> None:
    moved = PORTO.to_crs("lonlat")
    assert moved.crs == "lonlat" and DEGREES.contains(shapely.points(moved.points)).all()
    np.testing.assert_allclose(moved.to_crs("EPSG:3763").points, POINTS, atol=1e-4)
    assert PORTO.to_crs("EPSG:4326").crs == "lonlat"
    with pytest.raises(pt.DataError, match="do not say where on earth"):
        trips("bare", "planar").to_crs("lonlat")


def test_codes_that_mean_nothing_here_are_refused() -> None:
    for code, words in {
        "EPSG:999999": "no coordinate system has the code",
        "EPSG:4277": "neither a projected system nor close to WGS 84",
        "mercator": "or a code such as 'EPSG:3763'",
    }.items():
        with pytest.raises(pt.SettingsError, match=words):
            pt.Trajectories(POINTS, np.array([0, 3]), crs=code)


def test_meters_are_those_on_the_ground() -> None:
    mercator = pt.Region.box(-968000, 5030000, -958000, 5040000, crs="EPSG:3857")
    assert mercator.width_m == pytest.approx(10_000 * np.cos(np.radians(41.16)), rel=0.005)
    feet = pt.Region.box(980_000, 190_000, 990_000, 200_000, crs="EPSG:2263")
    assert feet.width_m == pytest.approx(3048, rel=1e-3) and feet.in_meters


def test_without_pyproj_one_line_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    coordinates._system.cache_clear()
    monkeypatch.setitem(sys.modules, "pyproj", None)
    with pytest.raises(pt.MissingExtra, match=r"EPSG:27700 needs the geo extra: pip install"):
        pt.Trajectories(POINTS, np.array([0, 3]), crs="EPSG:27700")


@pytest.mark.parametrize("name", ["a.shp", "a.gpkg", "a.fgb", "a.kml", "a.geoparquet", "a.geojson"])
def test_a_region_is_read_from_any_file_and_moves_to_the_data(name: str, tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame({"name": ["Porto"]}, geometry=[DEGREES], crs=4326)
    frame.to_parquet(tmp_path / name) if "parquet" in name else frame.to_file(tmp_path / name)
    region = pt.Region.parse(str(tmp_path / name))
    assert region.for_data("lonlat").bounds.tolist() == [-8.70, 41.10, -8.54, 41.22]
    moved = region.for_data("EPSG:3763")
    corners = gpd.GeoSeries([DEGREES], crs=4326).to_crs(3763).total_bounds
    np.testing.assert_allclose(moved.bounds, corners, atol=0.01)
    assert moved.contains(POINTS).all()


def test_files_of_a_region_that_hold_none_are_refused(tmp_path: Path) -> None:
    pt.write(PORTO, tmp_path / "a.gpkg")
    with pytest.raises(pt.SettingsError, match=r"a\.gpkg: a region must be a Polygon"):
        pt.Region.read(tmp_path / "a.gpkg")
    pt.write(PORTO, tmp_path / "a.parquet")
    with pytest.raises(pt.SettingsError, match="has no geometries"):
        pt.Region.read(tmp_path / "a.parquet")


def test_real_and_synthetic_may_be_in_different_systems(tmp_path: Path) -> None:
    region = pt.Region.box(-45_000, 160_000, -35_000, 170_000)
    degrees = PORTO.to_crs("lonlat")
    found = pt.evaluate(PORTO, degrees, region=region)
    same = pt.evaluate(PORTO, PORTO, region=region)
    assert found.scores == pytest.approx(same.scores, nan_ok=True)
    planar = pt.Trajectories(POINTS, np.array([0, 2, 3]), crs="planar")
    with pytest.raises(pt.DataError, match="cannot be compared"):
        pt.evaluate(PORTO, planar, region=region)


def test_a_model_keeps_its_system(tmp_path: Path) -> None:
    region = pt.Region.box(-45_000, 160_000, -35_000, 170_000)
    model = pt.PrivTrace(epsilon=1, region=region).fit(PORTO, noise=pt.SeededNoise(1))
    model.save(tmp_path / "a.model")
    again = pt.load(tmp_path / "a.model")
    assert again.release.crs == "EPSG:3763" and again.sample(3, seed=1).crs == "EPSG:3763"


def test_a_box_in_degrees_moves_to_the_data_too() -> None:
    box, polygon = pt.Region.box(*DEGREES.bounds), pt.Region.of(shapely.geometry.mapping(DEGREES))
    assert box.for_data("EPSG:3763") == polygon.for_data("EPSG:3763")
    fiji = pt.Region.box(177, -20, -178, -16).for_data("EPSG:3832")  # across the antimeridian
    assert fiji.width_m == pytest.approx(111_320 * np.cos(np.radians(18)) * 5, rel=0.01)
