"""GeoParquet: geopandas reads what is written, and the other way round; bad geometries stop nothing."""

from __future__ import annotations

import json
from pathlib import Path

import geopandas as gpd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from tests.io.trips import assert_same, trips

import privtrace as pt

LINES = [shapely.LineString([(1, 2), (3, 4)]), shapely.MultiLineString([[(5, 6), (7, 8)], [(9, 9), (9, 8)]])]
NAMES = {"geoparquet": "a.geoparquet", "geoparquet-lines": "lines.parquet"}


def saved(frame: gpd.GeoDataFrame, folder: Path, **options) -> Path:
    frame.to_parquet(folder / "a.parquet", **options)
    return folder / "a.parquet"


def relabeled(path: Path, **changes) -> Path:
    """Change what the footer says of the geometries."""
    table = pq.read_table(path)
    described = json.loads(table.schema.metadata[b"geo"])
    described["columns"]["geometry"] |= changes
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(described)}), path)
    return path


@pytest.mark.parametrize("format", NAMES)
@pytest.mark.parametrize("crs", ["lonlat", "planar"])
@pytest.mark.parametrize("kind", ["calendar", "numbers", "bare"])
def test_nothing_is_lost_there_and_back(format: str, crs: str, kind: str, tmp_path: Path) -> None:
    given = trips(kind, crs)
    path = tmp_path / NAMES[format]
    pt.write(given, path, format=format)
    assert_same(pt.read(path).collect(), given)


@pytest.mark.parametrize("format", NAMES)
def test_geopandas_reads_what_is_written(format: str, tmp_path: Path) -> None:
    given = trips("calendar")
    path = tmp_path / NAMES[format]
    pt.write(given, path, format=format)
    frame = gpd.read_parquet(path)
    assert frame.crs.equals("OGC:CRS84")
    points = shapely.get_coordinates(frame.geometry)
    np.testing.assert_array_equal(points, given.points)
    assert frame.traj_id.drop_duplicates().tolist() == given.ids.tolist()
    if format == "geoparquet":
        assert frame.t.dt.tz_convert(None).tolist() == given.times.tolist()
    else:
        assert frame.geom_type.tolist() == ["LineString", "Point", "LineString"]
        assert [time for times in frame.coordTimes for time in times] == given.times.tolist()


def test_geopandas_finds_no_crs_on_planar_points(tmp_path: Path) -> None:
    pt.write(trips("bare", "planar"), tmp_path / "a.geoparquet")
    assert gpd.read_parquet(tmp_path / "a.geoparquet").crs is None


@pytest.mark.parametrize("encoding", ["WKB", "geoarrow"])
def test_lines_of_geopandas_are_trajectories(encoding: str, tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame({"tid": ["a", "b"], "uid": [7, 8]}, geometry=[LINES[0]] * 2, crs=4326)
    found = pt.read(saved(frame, tmp_path, geometry_encoding=encoding)).collect()
    assert found.crs == "lonlat" and found.ids.tolist() == ["a", "b"] and found.users.tolist() == [7, 8]
    assert found.points.tolist() == [[1, 2], [3, 4]] * 2


@pytest.mark.parametrize("encoding", ["WKB", "geoarrow"])
def test_points_of_geopandas_are_joined_by_id(encoding: str, tmp_path: Path) -> None:
    times = np.array(["2024-01-01T10:00:05", "2024-01-01", "2024-01-01T10:00"], "datetime64[ms]")
    points = gpd.points_from_xy([1, 2, 3], [4, 5, 6], [7, 8, 9])
    frame = gpd.GeoDataFrame({"trip_id": [1, 2, 1], "time": times}, geometry=points, crs=4326)
    found = pt.read(saved(frame, tmp_path, geometry_encoding=encoding)).collect()
    assert found.offsets.tolist() == [0, 2, 3]
    assert found.points.tolist() == [[3, 6], [1, 4], [2, 5]]  # in order of time, without heights


@pytest.mark.parametrize("encoding", ["WKB", "geoarrow"])
def test_pieces_of_a_line_are_one_trajectory(encoding: str, tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame({"traj_id": [1]}, geometry=LINES[1:], crs=4326)
    found = pt.read(saved(frame, tmp_path, geometry_encoding=encoding)).collect()
    assert len(found) == 1 and found.points.tolist() == [[5, 6], [7, 8], [9, 9], [9, 8]]


def test_lines_without_ids_go_by_their_places(tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame({"length": [1.0, 2.0]}, geometry=LINES, crs=4326)
    assert pt.read(saved(frame, tmp_path)).collect().ids.tolist() == [0, 1]


def test_places_go_on_from_file_to_file_of_a_folder(tmp_path: Path) -> None:
    for name in ("a", "b"):
        gpd.GeoDataFrame(geometry=LINES, crs=4326).to_parquet(tmp_path / f"{name}.parquet")
    source = pt.read(tmp_path)
    assert source.collect().ids.tolist() == source.collect().ids.tolist() == ["~0", "~1", "~2", "~3"]


def test_points_without_ids_are_refused_by_their_type_and_else_dropped(tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame({"uid": [1]}, geometry=gpd.points_from_xy([1], [2]), crs=4326)
    source = pt.read(saved(frame, tmp_path))  # which types of geometry there are is a fact about rows
    assert len(source.collect()) == 0 and source.dropped == {"no trajectory id": 1}
    frame.to_parquet(tmp_path / "a.parquet", geometry_encoding="geoarrow")
    with pytest.raises(pt.DataError, match="no column 'traj_id'; found uid; name the trajectories' column"):
        pt.read(tmp_path / "a.parquet")


def test_a_single_time_a_line_says_nothing_of_its_points(tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame({"time": np.array([0], "datetime64[s]")}, geometry=LINES[:1], crs=4326)
    assert np.isnat(pt.read(saved(frame, tmp_path)).collect().times).all()


@pytest.mark.parametrize(
    ("given", "meaning"),
    [(4326, "lonlat"), (4979, "lonlat"), (4258, "lonlat"), (3857, "EPSG:3857"), (None, "planar")],
)
def test_the_coordinate_system_says_what_points_are(given: int | None, meaning: str, tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame(geometry=LINES, crs=given)
    assert pt.read(saved(frame, tmp_path)).crs == meaning


def test_degrees_far_from_wgs_84_are_refused_unless_declared(tmp_path: Path) -> None:
    path = saved(gpd.GeoDataFrame(geometry=LINES, crs=4301), tmp_path)  # Tokyo, 400 m away
    with pytest.raises(pt.DataError, match="convert it to EPSG:4326, or declare it with --crs"):
        pt.read(path)
    assert pt.read(path, crs="lonlat").crs == "lonlat"


@pytest.mark.parametrize(
    "crs", ["EPSG:4326", 5, [], {"type": "GeographicCRS"}, {"type": 3, "components": [{}]}]
)
def test_a_strange_description_of_the_system_is_refused(crs: object, tmp_path: Path) -> None:
    path = relabeled(saved(gpd.GeoDataFrame(geometry=LINES, crs=4326), tmp_path), crs=crs)
    with pytest.raises(pt.DataError, match="coordinate system"):
        pt.read(path)


def test_bad_geometries_are_faults_with_their_rows(tmp_path: Path) -> None:
    shapes = [LINES[0], None, shapely.Point(), shapely.Point(1, 2).buffer(1), shapely.LineString()]
    frame = gpd.GeoDataFrame({"traj_id": range(5)}, geometry=shapes, crs=4326)
    source = pt.read(saved(frame, tmp_path))
    empty, other = "the geometry is missing, empty or cannot be read", "the geometry is not a point or a line"
    assert [(fault.line, fault.reason) for fault in source.faults()] == [
        (2, empty),
        (3, empty),
        (4, other),
        (5, empty),
    ]
    assert source.collect().ids.tolist() == [0] and source.dropped == {empty: 3, other: 1}


def test_bytes_that_are_no_geometry_are_a_fault(tmp_path: Path) -> None:
    path = saved(gpd.GeoDataFrame({"traj_id": [1, 2, 3]}, geometry=[LINES[0]] * 3, crs=4326), tmp_path)
    table = pq.read_table(path)
    whole = table["geometry"][0].as_py()
    hostile = whole[:5] + b"\xff\xff\xff\x7f" + whole[9:]  # two billion points, it says
    column = pa.array([whole, whole[:-3], hostile])
    pq.write_table(table.set_column(1, "geometry", column), path)
    assert pt.read(path).collect().ids.tolist() == [1]


def test_times_as_text_in_a_dictionary_are_read_each_by_itself(tmp_path: Path) -> None:
    texts = pd.Categorical(
        ['["2024-01-01T10:00:00Z","2024-01-01T10:00:15Z"]', "secret", "[5,6]"]
    )  # without a unit, numbers are no calendar time
    frame = gpd.GeoDataFrame({"traj_id": [1, 2, 3], "coordTimes": texts}, geometry=[LINES[0]] * 3, crs=4326)
    found = pt.read(saved(frame, tmp_path)).collect()
    assert found.times is not None and np.isnat(found.times).tolist() == [False] * 2 + [True] * 4


COLLECTION, PIECES = b"\1\7\0\0\0\1\0\0\0", b"\1\5\0\0\0\1\0\0\0"
HOSTILE = {
    "collections within collections": COLLECTION * 100_000 + shapely.Point(1, 2).wkb,
    "pieces within pieces": PIECES * 100_000 + LINES[0].wkb,
    "a nest in the second piece": b"\1\5\0\0\0\2\0\0\0" + LINES[0].wkb + PIECES * 100_000 + LINES[0].wkb,
    "an arc": b"\1\10\0\0\0\3\0\0\0" + np.arange(6.0).tobytes(),
    "a curve of lines": b"\1\11\0\0\0\1\0\0\0" + LINES[0].wkb,
    "a piece that goes on after the end": PIECES + LINES[0].wkb[:-1],
    "bytes in an order that is none": b"\2" + LINES[0].wkb[1:],
    "half a head": b"\1\2",
}


@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()], ids=str)
def test_no_geometry_stops_the_process(hostile: bytes, kind: pa.DataType, tmp_path: Path) -> None:
    path = saved(gpd.GeoDataFrame({"traj_id": [1, 2, 3]}, geometry=[LINES[1]] * 3, crs=4326), tmp_path)
    table = pq.read_table(path)
    column = pa.array([LINES[1].wkb, hostile, LINES[1].wkb], kind)
    pq.write_table(table.set_column(1, "geometry", column), path)
    assert pt.read(path).collect().ids.tolist() == [1, 3]


@pytest.mark.parametrize("flavor", ["iso", "extended"])
@pytest.mark.parametrize("byte_order", [0, 1])
@pytest.mark.parametrize(
    "text", ["{} (1 2, 3 4)", "{} Z (1 2 9, 3 4 9)", "{} M (1 2 9, 3 4 9)", "{} ZM (1 2 9 8, 3 4 9 8)"]
)
def test_all_dialects_of_lines_are_read(text: str, byte_order: int, flavor: str, tmp_path: Path) -> None:
    line = shapely.from_wkt(text.format("LINESTRING"))
    shapes = shapely.set_srid(np.array([line, shapely.multilinestrings([line, line])]), 4326)
    geometries = shapely.to_wkb(shapes, byte_order=byte_order, flavor=flavor, include_srid=flavor == "extended")
    path = saved(gpd.GeoDataFrame({"traj_id": [1, 2]}, geometry=LINES, crs=4326), tmp_path)
    table = pq.read_table(path)
    pq.write_table(table.set_column(1, "geometry", pa.array(geometries, pa.binary())), path)
    found = pt.read(path).collect()
    assert found.offsets.tolist() == [0, 2, 6] and found.points.tolist() == [[1, 2], [3, 4]] * 3


def test_polygons_are_dropped(tmp_path: Path) -> None:
    frame = gpd.GeoDataFrame({"traj_id": [1]}, geometry=[shapely.box(0, 0, 1, 1)], crs=4326)
    source = pt.read(saved(frame, tmp_path))
    assert len(source.collect()) == 0 and source.dropped == {"the geometry is not a point or a line": 1}


@pytest.mark.parametrize(
    "geo",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"primary_column":"other","columns":{"other":{}}}',
        "7",
        '{"primary_column":[],"columns":{}}',
    ],
)
def test_a_footer_that_describes_nothing_is_refused(geo: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"geometry": [b""]}).replace_schema_metadata({"geo": geo}), tmp_path / "a.parquet")
    with pytest.raises(pt.DataError, match="as GeoParquet requires"):
        pt.read(tmp_path / "a.parquet")


@pytest.mark.parametrize("encoding", ["WKT", "polygon", "linestring", None])
def test_an_encoding_that_does_not_fit_is_refused(encoding: str | None, tmp_path: Path) -> None:
    path = relabeled(saved(gpd.GeoDataFrame(geometry=LINES, crs=4326), tmp_path), encoding=encoding)
    with pytest.raises(pt.DataError, match="write it with WKB"):
        pt.read(path)


def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    pt.write(trips("bare"), tmp_path / "a.geoparquet")
    whole = (tmp_path / "a.geoparquet").read_bytes()
    (tmp_path / "b.geoparquet").write_bytes(whole[:-20])
    with pytest.raises(pt.DataError, match="damaged or truncated"):
        pt.read(tmp_path / "b.geoparquet")


@pytest.mark.parametrize("format", NAMES)
def test_words_go_along_and_the_file_does_not_depend_on_the_parts(format: str, tmp_path: Path) -> None:
    given = trips("calendar", about={"privtrace.guarantee": "yes"})
    pt.write(given, tmp_path / "whole.parquet", format=format)
    pt.write([given[:1], given[1:]], tmp_path / "parts.parquet", format=format)
    assert (tmp_path / "whole.parquet").read_bytes() == (tmp_path / "parts.parquet").read_bytes()
    assert pq.read_schema(tmp_path / "whole.parquet").metadata[b"privtrace.guarantee"] == b"yes"


@pytest.mark.parametrize("format", NAMES)
def test_no_trajectories_are_a_file_without_rows(format: str, tmp_path: Path) -> None:
    pt.write(trips("calendar")[:0], tmp_path / "a.parquet", format=format)
    assert len(gpd.read_parquet(tmp_path / "a.parquet")) == 0
    assert len(pt.read(tmp_path / "a.parquet").collect()) == 0


def test_parts_of_two_kinds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(pt.DataError, match="parts do not fit together"):
        pt.write([trips("bare"), trips("bare", "planar")], tmp_path / "a.parquet", format="geoparquet-lines")
