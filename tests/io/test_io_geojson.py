"""GeoJSON: geopandas reads what is written, and the other way round; strange JSON stops nothing but itself."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pytest
import shapely
from tests.io.trips import assert_same, trips

import privtrace as pt
from privtrace.io import json_features, open_source
from privtrace.io.source import Sizes


def feature(geometry: Any, **properties: Any) -> dict[str, Any]:
    return {"type": "Feature", "properties": properties, "geometry": geometry}


def line(*coordinates: Any) -> dict[str, Any]:
    return {"type": "LineString", "coordinates": list(coordinates)}


def point(*coordinates: Any) -> dict[str, Any]:
    return {"type": "Point", "coordinates": list(coordinates)}


def saved(folder: Path, *features: Any, **members: Any) -> Path:
    path = folder / "a.json"
    path.write_text(json.dumps({"type": "FeatureCollection", **members, "features": features}))
    return path


@pytest.mark.parametrize("kind", ["calendar", "numbers", "bare"])
@pytest.mark.parametrize("name", ["a.geojson", "a.geojson.gz"])
def test_nothing_is_lost_there_and_back(kind: str, name: str, tmp_path: Path) -> None:
    given = trips(kind)
    pt.write(given, tmp_path / name)
    assert_same(pt.read(tmp_path / name).collect(), given, ids_as_text=True)


def test_the_text_is_right(tmp_path: Path) -> None:
    pt.write(trips("numbers", about={"made": "by hand"}), tmp_path / "a.geojson")
    written = json.loads((tmp_path / "a.geojson").read_text())
    assert written["about"] == {"made": "by hand"} and len(written["features"]) == 3
    assert written["features"][1] == feature(point(-8.61, 41.14), traj_id=7, user_id=None, times=[1000000004.5])


def test_lines_with_times_are_those_that_kepler_animates(tmp_path: Path) -> None:
    """A position is [longitude, latitude, 0, seconds] where all points of a line have a time."""
    given = trips("calendar")
    assert given.times is not None
    pt.write(given, tmp_path / "a.geojson")
    written = json.loads((tmp_path / "a.geojson").read_text())["features"]
    lines = [one["geometry"]["coordinates"] for one in written if one["geometry"]["type"] == "LineString"]
    starts = [start for start, n in zip(given.offsets, np.diff(given.offsets), strict=False) if n > 1]
    seconds = given.times.astype("datetime64[s]").astype(int)
    assert len(lines) == len(starts) == 2
    for positions, start in zip(lines, starts, strict=True):
        stop = start + len(positions)
        wanted = np.column_stack([given.points[start:stop], np.zeros(stop - start), seconds[start:stop]])
        assert positions == wanted.tolist()
    assert [len(one["geometry"]["coordinates"]) for one in written if one["geometry"]["type"] == "Point"] == [2]


def test_a_line_with_a_point_without_a_time_has_places_alone(tmp_path: Path) -> None:
    times = np.array(["2024-01-01T10", "NaT", "2024-01-01T10", "2024-01-01T11"], "datetime64[s]")
    given = pt.Trajectories(np.arange(8.0).reshape(4, 2), np.array([0, 2, 4]), times, ids=np.array(["a", "b"]))
    pt.write(given, tmp_path / "a.geojson")
    written = json.loads((tmp_path / "a.geojson").read_text())["features"]
    assert [one["geometry"]["coordinates"][0] for one in written] == [[0, 1], [4, 5, 0, 1704103200]]
    found = pt.read(tmp_path / "a.geojson").collect()
    np.testing.assert_array_equal(found.times, times.astype("datetime64[us]"))
    np.testing.assert_array_equal(found.points, given.points)


@pytest.mark.filterwarnings("ignore:OGRGeoJSONReadRawPoint")  # GDAL takes three numbers of a position
def test_geopandas_reads_what_is_written(tmp_path: Path) -> None:
    given = trips("calendar")
    pt.write(given, tmp_path / "a.geojson")
    frame = gpd.read_file(tmp_path / "a.geojson")
    assert frame.crs == "EPSG:4326" and frame.traj_id.tolist() == given.ids.tolist()
    np.testing.assert_array_equal(shapely.get_coordinates(frame.geometry), given.points)


@pytest.mark.parametrize("by_gdal", [False, True])
def test_what_geopandas_writes_is_read(by_gdal: bool, tmp_path: Path) -> None:
    shapes = [
        shapely.LineString([(1, 2, 9), (3, 4, 9)]),
        shapely.MultiLineString([[(5, 6), (7, 8)], [(9, 9), (9, 8)]]),
    ]
    frame = gpd.GeoDataFrame({"tid": ["a", "b"], "uid": [7, 8]}, geometry=shapes, crs=4326)
    path = tmp_path / "a.geojson"
    frame.to_file(path) if by_gdal else path.write_text(frame.to_json(indent=1))
    found = pt.read(path).collect()
    assert found.ids.tolist() == ["a", "b"] and found.users.tolist() == ["7", "8"]
    assert found.points.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 9], [9, 8]]


def test_points_are_joined_by_id_in_order_of_time(tmp_path: Path) -> None:
    rows = [(1, "2024-01-01T10:00:05Z"), (2, None), (1, "2024-01-01T12:00:00+02:00")]
    path = saved(tmp_path, *[feature(point(n, n), id=i, datetime=t) for n, (i, t) in enumerate(rows, 1)])
    found = pt.read(path).collect()
    assert found.points[:, 0].tolist() == [3, 1, 2] and found.times.dtype == "datetime64[us]"


@pytest.mark.parametrize("name", ["coordTimes", "times", "datetimes", "time"])
def test_times_of_lines_go_by_several_names(name: str, tmp_path: Path) -> None:
    path = saved(
        tmp_path, feature(line([1, 1], [2, 2]), **{name: ["2024-01-01T00:00:01Z", "2024-01-01T00:00:00Z"]})
    )
    assert pt.read(path).collect().points[:, 0].tolist() == [2, 1]


def test_numbers_of_the_moving_features_name_are_milliseconds(tmp_path: Path) -> None:
    path = saved(tmp_path, feature(line([1, 1], [2, 2]), datetimes=[1500, 1704067200000]))
    assert pt.read(path).collect().times.astype(int).tolist() == [1_500_000, 1_704_067_200_000_000]


def test_as_many_times_as_points_or_none(tmp_path: Path) -> None:
    path = saved(tmp_path, feature(line([1, 1], [2, 2]), times=[5]), feature(line([1, 1]), times=[6]))
    found = pt.read(path, columns={"t": "times"}).collect()
    np.testing.assert_array_equal(found.times, [np.nan, np.nan, 6])


def test_one_type_holds_the_times_of_all_features(tmp_path: Path) -> None:
    """Names and values may differ from feature to feature, but not the type; only options can change it."""
    at = {"datetime": "1970-01-01T00:00:09Z", "t": 7, "timestamp": "1970-01-01 00:00:08", "when": 5}
    path = saved(tmp_path, *[feature(point(1, 1), traj_id="a", **{name: t}) for name, t in at.items()])
    assert pt.read(path).collect().times.astype("datetime64[s]").astype(str).tolist() == [
        "1970-01-01T00:00:07",
        "1970-01-01T00:00:08",
        "1970-01-01T00:00:09",
        "NaT",
    ]
    np.testing.assert_array_equal(
        pt.read(path, columns={"t": "t"}).collect().times, [7, np.nan, np.nan, np.nan]
    )
    assert pt.read(path, columns={"t": ""}).collect().times is None


def test_beside_a_line_lists_of_times_come_first(tmp_path: Path) -> None:
    both = {"time": "2020-01-01", "coordTimes": ["2024-01-01T00:00:01Z", "2024-01-01T00:00:00Z"]}
    path = saved(tmp_path, feature(line([1, 1], [2, 2]), **both))
    assert pt.read(path).collect().points[:, 0].tolist() == [2, 1]


def test_ids_of_features_serve_where_properties_have_none(tmp_path: Path) -> None:
    path = saved(tmp_path, {**feature(line([1, 1])), "id": 5}, {**feature(line([2, 2])), "id": "x"})
    assert pt.read(path).collect().ids.tolist() == ["5", "x"]


def test_lines_without_ids_go_by_their_places_and_points_are_faults(tmp_path: Path) -> None:
    source = pt.read(saved(tmp_path, feature(line([1, 1])), feature(point(1, 1)), feature(line([2, 2]))))
    assert source.collect().ids.tolist() == ["~0", "~2"]
    assert source.dropped == {"no trajectory id": 1}


def test_no_id_is_a_place(tmp_path: Path) -> None:
    names = ("0", "~0", "~~0", "~a", "~")
    path = saved(tmp_path, feature(line([1, 1])), *[feature(line([2, 2]), traj_id=name) for name in names])
    assert pt.read(path).collect().ids.tolist() == ["~0", "0", "~~0", "~~~0", "~a", "~"]
    assert pt.read(path, columns={"traj_id": "traj_id"}).collect().ids.tolist() == list(names)
    assert pt.read(path, columns={"traj_id": ""}).collect().ids.tolist() == list(range(6))


def test_of_several_names_the_first_known_counts_in_each_feature(tmp_path: Path) -> None:
    some = [{"trip_id": "b", "traj_id": "a"}, {"trip": "c", "TID": "d"}, {"id": "e", "Trip": "f"}, {"id": "g"}]
    path = saved(tmp_path, *[{**feature(line([1, 1]), **names), "id": "h"} for names in some])
    assert pt.read(path).collect().ids.tolist() == ["a", "d", "f", "g"]
    assert pt.read(path, columns={"traj_id": "trip_id"}).collect().ids.tolist() == ["b"]


def test_where_logs_are_cut_a_user_names_what_has_no_id(tmp_path: Path) -> None:
    some = [{"uid": "u", "traj_id": "a"}, {"uid": "v"}, {}, {"uid": "v"}]
    path = saved(tmp_path, *[feature(line([1, 1]), coordTimes=["2024-01-01"], **names) for names in some])
    found = pt.read(path, gap_minutes=30).collect()
    assert sorted(zip(found.ids.tolist(), found.users.tolist(), strict=True)) == [
        ("a/1", "u"),
        ("v/1", "v"),
        ("~2/1", ""),
    ]


def test_a_collection_may_say_what_its_features_have(tmp_path: Path) -> None:
    some = feature(line([1, 1]), ride="a", uid="u", times=[5])
    found = pt.read(saved(tmp_path, some, columns={"traj_id": "ride", "user_id": "", "t": "times"})).collect()
    assert (found.ids.tolist(), found.users, found.times.tolist()) == (["a"], None, [5])
    path = saved(tmp_path, some, columns={"traj_id": "ride"})
    assert pt.read(path, columns={"traj_id": "uid"}).collect().ids.tolist() == ["u"]
    for said in (5, ["traj_id"], {"traj_id": 5}, {"color": "x"}, {"traj_id": "ride", "user_id": "ride"}):
        assert pt.read(saved(tmp_path, some, columns=said)).collect().ids.tolist() == ["~0"]


def test_columns_can_be_declared(tmp_path: Path) -> None:
    path = saved(tmp_path, feature(line([1, 1])), feature(line([2, 2]), ride="b"))
    assert pt.read(path).collect().ids.tolist() == ["~0", "~1"]
    assert pt.read(path, columns={"traj_id": "ride"}).collect().ids.tolist() == ["b"]
    with pytest.raises(pt.DataError, match="coordinates are those of its geometries"):
        pt.read(path, columns={"lon": "ride"})


WRONG = {
    "a number": 5,
    "no geometry": feature(None),
    "no type": feature({"coordinates": [[1, 2]]}) | {"geometry": {}},
    "geometry that is text": feature("LINESTRING (1 2)"),
    "a polygon": feature({"type": "Polygon", "coordinates": [[[0, 0], [1, 1], [1, 0], [0, 0]]]}),
    "an empty line": feature(line()),
    "an empty point": feature(point()),
    "coordinates that are text": feature({"type": "LineString", "coordinates": "secret"}),
    "positions that are text": feature(line("secret", "secret")),
    "numbers that are text": feature(line(["secret", "secret"])),
    "numbers for positions": feature(line(1, 2)),
    "too deep": feature(line([[1, 2]])),
    "too large": feature(line([10**400, 1])),
    "an object": feature(line({"x": 1})),
    "a collection": feature({"type": "GeometryCollection", "geometries": [point(1, 2)]}),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_strange_feature_stops_nothing_but_itself(wrong: Any, tmp_path: Path) -> None:
    good = [feature(line([1, 2], [3, 4]), traj_id="a"), feature(line([5, 6]), traj_id="b")]
    source = pt.read(saved(tmp_path, good[0], wrong, good[1]))
    found = source.collect()
    found = found.take(np.flatnonzero(found.ids != "~1"))  # as it is called where it has points after all
    assert found.ids.tolist() == ["a", "b"] and found.points.tolist() == [[1, 2], [3, 4], [5, 6]]
    faults = list(source.faults())
    assert not any("secret" in str(fault) for fault in faults)
    assert [fault.line for fault in faults] == [2] or wrong == 5  # what is no object is no feature


@pytest.mark.parametrize(
    "broken", [b'{"a" 1}', b"{[}]", b'{"a":\xff}', b'{"type":"Feature","id":' + b"9" * 5000 + b"}"]
)
def test_broken_text_of_a_feature_stops_nothing_but_itself(broken: bytes, tmp_path: Path) -> None:
    good = json.dumps(feature(line([1, 2]), traj_id="a")).encode()
    path = tmp_path / "a.geojson"
    path.write_bytes(b'{"features":[%s,%s,%s]}' % (good, broken, good.replace(b'"a"', b'"b"')))
    assert pt.read(path).collect().ids.tolist() == ["a", "b"]


@pytest.mark.parametrize("number", ["1e999", "-Infinity", "NaN"])
def test_numbers_without_end_are_missing_as_in_any_text(number: str, tmp_path: Path) -> None:
    path = saved(tmp_path, feature(line([1, 2], [3, 4]), traj_id="a"))
    path.write_text(path.read_text().replace("3", number))
    np.testing.assert_array_equal(pt.read(path).collect().points, [[1, 2], [np.nan, 4]])


BEFORE = {
    "broken": '{"type":"Feature" 1}',
    "without properties": json.dumps(feature(line([1, 2])) | {"properties": None}),
    "without geometry": json.dumps(feature(None)),
    "of another kind": json.dumps({"type": "Topology"}),
    "deep": '{"type":' + "[" * 900 + "]" * 900 + "}",
    "a moving nothing": json.dumps({"type": "MovingX", "prisms": [1]}),
}


@pytest.mark.parametrize("collected", [True, False])
@pytest.mark.parametrize("moving", [True, False])
@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
def test_what_is_no_whole_feature_changes_no_other(
    before: str, moving: bool, collected: bool, tmp_path: Path
) -> None:
    good = feature(line([1, 2]), traj_id="a", user_id="b")
    if moving:
        good |= {"temporalGeometry": {"type": "MovingPoint", "datetimes": [5], "coordinates": [[1, 2]]}}
    path = tmp_path / "a.geojson"
    path.write_text(('{"features":[%s,%s]}' if collected else "%s\n%s\n") % (before, json.dumps(good)))
    found = pt.read(path).collect()[-1:]
    assert found.ids.tolist() == ["a"] and found.users.tolist() == ["b"]
    assert np.isnat(found.times).tolist() == [not moving]


def test_a_property_called_features_makes_no_collection(tmp_path: Path) -> None:
    some = [
        feature(line([1, 2]), traj_id="a", features=[{"type": "Feature"}]),
        feature(line([3, 4]), traj_id="b"),
    ]
    (tmp_path / "a.geojson").write_text("\n".join(map(json.dumps, some)))
    assert pt.read(tmp_path / "a.geojson").collect().ids.tolist() == ["a", "b"]
    collected = saved(tmp_path, *some, about={"features": [1, 2]})
    assert pt.read(collected).collect().ids.tolist() == ["a", "b"]


def test_what_a_feature_has_makes_no_folder_unreadable(tmp_path: Path) -> None:
    moving = {"temporalGeometry": {"type": "MovingPoint", "datetimes": [5], "coordinates": [[1, 2]]}}
    for name, some in {
        "0": feature(None),
        "1": feature(line([1, 2]), traj_id="a", user_id="u"),
        "2": feature(line([1, 2]), traj_id="b", times=[5]),
        "3": feature(line([1, 2])),
        "4": feature(line([1, 2]), traj_id="c") | moving,
    }.items():
        saved(tmp_path, some).rename(tmp_path / f"{name}.geojson")
    found = pt.read(tmp_path).collect()
    assert found.ids.tolist() == ["a", "b", "~3", "c"] and found.users.tolist() == ["u", "", "", ""]
    assert np.isnat(found.times).tolist() == [True, False, True, False]


def test_positions_that_are_short_or_empty_are_points_that_count_nothing(tmp_path: Path) -> None:
    found = pt.read(saved(tmp_path, feature(line([1, 2, 3], [], [4], None, [5, None], [6, 7])))).collect()
    np.testing.assert_array_equal(found.points[[0, 5]], [[1, 2], [6, 7]])
    assert np.isnan(found.points[1:5]).any(axis=1).all()


@pytest.mark.parametrize("value", [True, None, [], {}, 1.5, "\ud800", "", "x" * 5000])
def test_ids_of_any_kind_stop_nothing(value: Any, tmp_path: Path) -> None:
    source = pt.read(saved(tmp_path, feature(line([1, 2]), traj_id="a"), feature(line([1, 2]), traj_id=value)))
    assert len(source.collect()) + source.dropped.total() == 2


@pytest.mark.parametrize(
    "content", ['{"type":"Topology","objects":{}}', '{"features":5}', "{}", '{"a":[{"type":"Feature"}]}']
)
def test_other_json_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(pt.DataError, match="is JSON without features; trajectories are features"):
        pt.read(tmp_path / "a.json")


def test_a_deep_nest_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        '{"features":[{"type":"Feature","a":' + "[" * 100_000 + "]" * 100_000 + "}]}"
    )
    assert len(pt.read(tmp_path / "a.json").collect()) == 0


@pytest.mark.parametrize("n_bytes", [30, 100, -3])
def test_truncated_text_is_refused(n_bytes: int, tmp_path: Path) -> None:
    pt.write(trips("calendar"), tmp_path / "a.geojson")
    (tmp_path / "b.geojson").write_bytes((tmp_path / "a.geojson").read_bytes()[:n_bytes])
    with pytest.raises(pt.DataError, match=r"damaged or truncated|without features"):
        pt.read(tmp_path / "b.geojson").collect()


def test_an_old_member_crs_is_heeded(tmp_path: Path) -> None:
    def named(name: str) -> dict[str, Any]:
        return {"type": "name", "properties": {"name": name}}

    some = feature(line([1, 2]))
    assert pt.read(saved(tmp_path, some, crs=named("urn:ogc:def:crs:OGC:1.3:CRS84"))).crs == "lonlat"
    path = saved(tmp_path, some, crs=named("urn:ogc:def:crs:EPSG::3763"))
    with pytest.raises(pt.DataError, match="pass --crs planar"):
        pt.read(path)
    assert pt.read(path, crs="planar").crs == "planar"


@pytest.mark.parametrize("block_bytes", [1, 13, 1 << 20])
def test_no_result_depends_on_the_blocks(block_bytes: int, tmp_path: Path) -> None:
    given = trips("calendar", about={"features": '[{"features":[{'})
    pt.write(given, tmp_path / "a.geojson")
    assert_same(open_source(tmp_path / "a.geojson", None, Sizes(block_bytes=block_bytes)).collect(), given)


def test_a_feature_that_is_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(json_features, "LONGEST", 200)
    long = feature(line(*[[n, n] for n in range(1, 90)]), traj_id="a")
    path = saved(tmp_path, long, feature(line([1, 2]), traj_id="b"))
    source = open_source(path, None, Sizes(block_bytes=64))
    assert source.collect().ids.tolist() == ["b"]


def test_lists_of_other_names_hold_no_features() -> None:
    text = json.dumps(
        {"a": [{"b": 1}], "c": {"features": [{"d": 1}]}, "features": [{"e": 1}], "features ": [{"f": 1}]}
    )
    found = [one for some in json_features.objects(io.BytesIO(text.encode()), 7) for one in some]
    assert [json.loads(one) for one in found] == [{"e": 1}]


@pytest.mark.parametrize("block_bytes", [1, 7, 1 << 20])
def test_objects_at_the_top_are_features_or_collections_each_by_itself(block_bytes: int) -> None:
    text = b'{"a":1}{"features":[{"b":1},{"c":[{}]}],"d":{}} 5 [{"e":1}] {"features":[]}{"features":7}'
    found = [one for some in json_features.objects(io.BytesIO(text), block_bytes) for one in some]
    assert found == [b'{"a":1}', b'{"b":1}', b'{"c":[{}]}', b'{"features":7}']
    scanner = json_features.Scanner()
    scanner.scan(text)
    assert (scanner.n_top, scanner.has_collection, scanner.is_whole) == (4, True, True)


def test_features_may_come_late(tmp_path: Path) -> None:
    path = saved(
        tmp_path, feature(line([1, 2]), traj_id="a"), columns={"traj_id": "color"}, about="x" * (1 << 17)
    )
    assert pt.read(path).collect().ids.tolist() == ["a"]  # what is said so far in front is not looked at


@pytest.mark.parametrize("name", ["a.geojsonl", "a.ndjson", "a.geojsonl.gz"])
def test_in_a_sequence_a_line_is_a_feature_whatever_it_holds(name: str, tmp_path: Path) -> None:
    good = [json.dumps(feature(line([1, 2]), traj_id=id)).encode() for id in "ab"]
    collection = b'{"type":"FeatureCollection","features":[%s]}' % good[0].replace(b'"a"', b'"c"')
    text = b"\n".join(
        [b"\x1f\x8b", b'{"', b"\x1e" + good[0], b"]]", b"", b" ", collection, good[1] + b"\r", b"{"]
    )
    (tmp_path / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    source = pt.read(tmp_path / name)
    assert source.collect().ids.tolist() == ["a", "c", "b"] and source.dropped_rows == 4
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith(".gz") else b"")
    assert len(pt.read(tmp_path / name).collect()) == 0


def test_lines_that_are_json_only_together_are_none(tmp_path: Path) -> None:
    """Each line is parsed by itself: brackets that it leaves open do not swallow the next."""
    good = json.dumps(feature(line([1, 2]), traj_id="a"))
    (tmp_path / "a.geojsonl").write_text("\n".join(['{"a":[1', good, "2]},{},{}"]))
    source = pt.read(tmp_path / "a.geojsonl")
    assert source.collect().ids.tolist() == ["a"] and source.dropped == {"not a feature, or not JSON": 2}


def test_planar_points_have_no_place(tmp_path: Path) -> None:
    with pytest.raises(pt.OutputError, match="geojson holds longitude and latitude"):
        pt.write(trips("bare", "planar"), tmp_path / "a.geojson")
    assert list(tmp_path.iterdir()) == []


def test_points_that_are_not_numbers_are_left_out(tmp_path: Path) -> None:
    points = [[1, 2], [np.nan, 2], [3, np.inf], [np.nan, np.nan]]
    pt.write(pt.Trajectories(points, [0, 3, 4], np.arange(4.0)), tmp_path / "a.geojson")
    assert json.loads((tmp_path / "a.geojson").read_text())["features"] == [
        feature(point(1, 2), traj_id=0, times=[0])
    ]


def test_no_trajectories_are_no_features(tmp_path: Path) -> None:
    pt.write(trips("bare")[:0], tmp_path / "a.geojson")
    assert len(gpd.read_file(tmp_path / "a.geojson")) == len(pt.read(tmp_path / "a.geojson").collect()) == 0


def test_a_region_beside_tables_is_not_taken_for_data(tmp_path: Path) -> None:
    pt.write(trips("bare"), tmp_path / "a.parquet")
    saved(tmp_path, feature({"type": "Polygon", "coordinates": []})).rename(tmp_path / "region.geojson")
    assert len(pt.read(tmp_path).collect()) == 3
