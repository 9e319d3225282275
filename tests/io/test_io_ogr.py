"""What GDAL reads and writes, geopandas reads and writes too; without the extra one line says so."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import geopandas as gpd
import numpy as np
import pyogrio
import pytest
import shapely
from tests.io.trips import assert_same, trips

import privtrace as pt

LINES = [shapely.LineString([(1, 2), (3, 4)]), shapely.MultiLineString([[(5, 6), (7, 8)], [(9, 9), (9, 8)]])]


def saved(frame: gpd.GeoDataFrame, folder: Path, **options) -> Path:
    frame.to_file(folder / "a.gpkg", **options)
    return folder / "a.gpkg"


def asked(path: Path, statement: str) -> list[tuple]:
    with closing(sqlite3.connect(path)) as database, database:
        return database.execute(statement).fetchall()


@pytest.mark.parametrize("suffix", ["gpkg", "fgb", "shp"])
@pytest.mark.parametrize(("kind", "crs"), [("calendar", "lonlat"), ("numbers", "planar"), ("bare", "lonlat")])
def test_nothing_is_lost_there_and_back(suffix: str, crs: str, kind: str, tmp_path: Path) -> None:
    given = trips(kind, crs)
    pt.write(given, tmp_path / f"a.{suffix}")
    assert_same(pt.read(tmp_path / f"a.{suffix}").collect(), given)


@pytest.mark.parametrize("kind", ["calendar", "bare"])
def test_kml_keeps_all_but_types(kind: str, tmp_path: Path) -> None:
    given = trips(kind)
    given = replace(given, points=np.round(given.points, 6))
    pt.write(given, tmp_path / "a.kml")
    found = pt.read(tmp_path / "a.kml", columns={"user_id": ""} if kind == "bare" else None).collect()
    if kind == "bare":
        found = replace(found, times=None)  # in a format without a header there may always be some
    assert_same(found, given, ids_as_text=True)
    assert "<name>" in (tmp_path / "a.kml").read_text()


def test_a_shapefile_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    pt.write(trips("calendar"), tmp_path / "a.shp")
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".cpg", ".dbf", ".prj", ".shp", ".shx"]
    (tmp_path / "b.dbf").write_text("somebody's table")
    with pytest.raises(pt.OutputError, match=r"b\.dbf: exists; pass --force"):
        pt.write(trips("calendar"), tmp_path / "b.shp")
    pt.write(trips("bare"), tmp_path / "a.shp", force=True)
    assert pt.read(tmp_path / "a.shp").collect().times is None


def test_a_shapefile_that_changes_beside_is_noticed(tmp_path: Path) -> None:
    pt.write(trips("calendar"), tmp_path / "a.shp")
    source = pt.read(tmp_path / "a.shp")
    (tmp_path / "a.dbf").write_bytes((tmp_path / "a.dbf").read_bytes() + b" ")
    with pytest.raises(pt.DataError, match=r"a\.dbf: changed while it was read"):
        source.collect()


def test_times_of_flatgeobuf_name_their_zone_each_by_itself(tmp_path: Path) -> None:
    times = np.array(["2024-07-01T10:00", "2024-07-01T11:00"], "datetime64[ms]")
    shapes = shapely.to_wkb(shapely.points([1, 2], [3, 4]))
    pyogrio.raw.write(
        tmp_path / "a.fgb",
        shapes,
        [np.array([1, 2]), times],
        ["traj_id", "t"],
        geometry_type="Point",
        crs="EPSG:4326",
        gdal_tz_offsets={"t": np.array([0, 100])},  # unknown, and UTC
        SPATIAL_INDEX="NO",
    )
    found = pt.read(tmp_path / "a.fgb", timezone="Europe/Lisbon").collect()
    assert [str(t)[11:16] for t in found.times] == ["09:00", "11:00"]


def test_folders_of_kml_are_read_one_after_the_other(tmp_path: Path) -> None:
    line = "<Placemark><name>%s</name><LineString><coordinates>1,2 3,4</coordinates></LineString></Placemark>"
    folders = "".join(f"<Folder><name>f</name>{line % name}</Folder>" for name in "ab") + line % "c"
    (tmp_path / "a.kml").write_text(
        f'<kml xmlns="http://www.opengis.net/kml/2.2"><Document>{folders}</Document></kml>'
    )
    assert sorted(pt.read(tmp_path / "a.kml").collect().ids.tolist()) == ["a", "b", "c"]
    with pytest.raises(pt.SettingsError, match="holds longitude and latitude"):
        pt.read(tmp_path / "a.kml", crs="planar")


def test_geopandas_reads_what_is_written(tmp_path: Path) -> None:
    given = trips("calendar")
    pt.write(given, tmp_path / "a.gpkg")
    frame = gpd.read_file(tmp_path / "a.gpkg")
    assert frame.crs == "EPSG:4326" and frame.geom_type.tolist() == ["LineString", "Point", "LineString"]
    np.testing.assert_array_equal(shapely.get_coordinates(frame.geometry), given.points)
    assert frame.traj_id.tolist() == given.ids.tolist() and frame.user_id.isna().tolist() == [
        False,
        True,
        False,
    ]
    assert frame.coordTimes[1] == '["2024-02-29T00:00:30.25Z"]'


def test_lines_of_geopandas_are_trajectories(tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame({"uid": [7, 8]}, geometry=LINES, crs=4326)
    found = pt.read(saved(frame, tmp_path)).collect()
    assert found.ids.tolist() == [0, 1] and found.users.tolist() == [7, 8]
    assert found.offsets.tolist() == [0, 2, 6]


def test_points_of_geopandas_are_joined_by_id(tmp_path: Path) -> None:
    times = np.array(["2024-01-01T10:00:05", "2024-01-01", "2024-01-01T10:00"], "datetime64[ms]")
    points = gpd.points_from_xy([1, 2, 3], [4, 5, 6], [7, 8, 9])
    frame = gpd.GeoDataFrame({"trip_id": [1, 2, 1], "time": times}, geometry=points, crs=3857)
    found = pt.read(saved(frame, tmp_path)).collect()
    assert found.crs == "EPSG:3857" and found.points.tolist() == [[3, 6], [1, 4], [2, 5]]
    assert found.times.dtype.kind == "M"


def test_bad_geometries_are_faults_with_their_rows(tmp_path: Path) -> None:
    shapes = [LINES[0], None, shapely.box(0, 0, 1, 1)]
    frame = gpd.GeoDataFrame({"traj_id": range(3)}, geometry=shapes, crs=4326)
    source = pt.read(saved(frame, tmp_path, geometry_type="Unknown"))
    assert [fault.line for fault in source.faults()] == [2, 3]
    assert source.collect().ids.tolist() == [0]


def test_values_of_a_wrong_type_stop_nothing_and_are_not_told(tmp_path: Path) -> None:
    points = gpd.points_from_xy([1, 2], [4, 5])
    times = np.array(["2024-01-01T10:00:05"] * 2, "datetime64[ms]")
    frame = gpd.GeoDataFrame({"trip_id": [1, 2], "time": times}, geometry=points, crs=4326)
    path = saved(frame, tmp_path, SPATIAL_INDEX="NO")
    asked(path, "update a set time = 'secret', trip_id = 'secret' where trip_id = 2")
    found = pt.read(path).collect()  # a warning would be an error here
    assert found.times.tolist()[0] is not None and len(found) >= 1


def test_of_several_layers_ours_is_read_and_others_must_be_chosen(tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame(geometry=LINES, crs=4326)
    path = saved(frame, tmp_path, layer="one")
    saved(frame[:1], tmp_path, layer="two", mode="a")
    with pytest.raises(pt.DataError, match="several layers, 'one', 'two'; keep one"):
        pt.read(path)
    saved(frame[:1], tmp_path, layer="trajectories", mode="a")
    assert len(pt.read(path).collect()) == 1


def test_a_layer_of_polygons_or_points_without_ids_is_refused(tmp_path: Path) -> None:
    with pytest.raises(pt.DataError, match="declared as Polygon"):
        pt.read(saved(gpd.GeoDataFrame(geometry=[shapely.box(0, 0, 1, 1)], crs=4326), tmp_path))
    with pytest.raises(pt.DataError, match="no column 'traj_id'"):
        pt.read(saved(gpd.GeoDataFrame({"uid": [1]}, geometry=[shapely.Point(1, 1)], crs=4326), tmp_path))


@pytest.mark.parametrize("suffix", ["gpkg", "fgb", "shp", "kml"])
def test_damage_is_told_without_the_words_of_gdal(suffix: str, tmp_path: Path) -> None:
    pt.write(trips("calendar"), tmp_path / f"a.{suffix}")
    for path in list(tmp_path.iterdir()):
        whole = path.read_bytes()
        path.with_stem("short").write_bytes(whole[: len(whole) // 20 + 60])
        path.with_stem("zeros").write_bytes(whole[:90] + bytes(max(0, len(whole) - 90)))
    for name in ("short", "zeros"):
        with pytest.raises(pt.DataError, match=r"damaged or truncated|none of its layers|could not|no column"):
            pt.read(tmp_path / f"{name}.{suffix}").collect()


def test_a_database_without_the_mark_of_geopackage_is_refused(tmp_path: Path) -> None:
    asked(tmp_path / "a.gpkg", "create table t (x)")
    with pytest.raises(pt.DataError, match="an SQLite database but not a GeoPackage"):
        pt.read(tmp_path / "a.gpkg")


def test_words_go_along_as_the_description(tmp_path: Path) -> None:
    pt.write(trips("bare", about={"privtrace.guarantee": 'épsilon = 1, "pure"'}), tmp_path / "a.gpkg")
    ((words,),) = asked(tmp_path / "a.gpkg", "select description from gpkg_contents")
    assert words == 'privtrace.guarantee: épsilon = 1, "pure"'


def test_no_trajectories_are_a_layer_without_rows(tmp_path: Path) -> None:
    pt.write(trips("calendar")[:0], tmp_path / "a.gpkg")
    assert len(pt.read(tmp_path / "a.gpkg").collect()) == 0


@pytest.mark.parametrize("error", [pt.DataError("from the source"), KeyboardInterrupt()])
def test_a_failing_source_leaves_nothing_behind(error: BaseException, tmp_path: Path) -> None:
    def parts() -> Iterator[pt.Trajectories]:
        yield trips("bare")
        raise error

    with pytest.raises(type(error)):
        pt.write(parts(), tmp_path / "a.gpkg")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("suffix", "name"),
    [("gpkg", "GeoPackage"), ("fgb", "FlatGeobuf"), ("shp", "Shapefile"), ("kml", "KML")],
)
def test_without_the_extra_one_line_names_it(
    suffix: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pt.write(trips("bare"), tmp_path / f"a.{suffix}")
    monkeypatch.setitem(sys.modules, "pyogrio", None)
    monkeypatch.delitem(sys.modules, "pyogrio.raw")
    words = rf"{suffix}: {name} needs the geo extra: pip install 'privtrace\[geo\]'$"
    with pytest.raises(pt.MissingExtra, match="a." + words):
        pt.read(tmp_path / f"a.{suffix}")
    with pytest.raises(pt.MissingExtra, match="b." + words):
        pt.write(trips("bare"), tmp_path / f"b.{suffix}")
    assert not (tmp_path / f"b.{suffix}").exists()
