"""The table of the Porto taxi competition: a trip a line."""

import csv
import gzip
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.io import samples

from privtrace.datasets import porto
from privtrace.errors import DataError, OutputError, SettingsError
from privtrace.io import write
from privtrace.io.source import FileSource, Reader, Sizes
from privtrace.trajectories import Trajectories

HEADER = samples.PORTO.splitlines()[0]
GOOD = '"7","","","","8","100","","False","[[1,2]]"'


def save(parts, path) -> None:
    with path.open("wb") as file:
        porto.write(parts, file)


def reader(path, content, crs=None) -> Reader:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return samples.open_reader("porto", path, crs)


def time(seconds: int):
    return np.datetime64(seconds, "s").astype(object)


@pytest.mark.parametrize("block_bytes", [1, 200, 1 << 20])
def test_a_line_is_a_trip_with_a_point_every_15_seconds(tmp_path, block_bytes):
    rows, faults = samples.rows_of(reader(tmp_path / "a.csv", samples.PORTO), block_bytes)
    assert faults == []  # a trip without points is no fault
    assert rows == [
        {"traj_id": b"100", "user_id": b"20", "x": -8.618643, "y": 41.141412, "t": time(1372636858)},
        {"traj_id": b"100", "user_id": b"20", "x": -8.618499, "y": 41.141376, "t": time(1372636873)},
        {"traj_id": b"101", "user_id": b"21", "x": -8.639847, "y": 41.159826, "t": time(1372637303)},
    ]


def line(polyline="[[3,4]]", trip="9", taxi="8", start="100", missing="False") -> str:
    return f'"{trip}","","","","{taxi}","{start}","","{missing}","{polyline}"'


FIELDS = "not 9 fields, or quotes that do not match"
X, Y = (f"{axis} is missing or not a number" for axis in ("longitude", "latitude"))
NO_TIME, UNREAD = "time is missing", "time cannot be read"
NAN = math.nan
CASES = {
    "missing data": (line(missing="True"), [], ["MISSING_DATA is true"]),
    "missing data in capitals": (line(missing=" TRUE "), [], ["MISSING_DATA is true"]),
    "no list": (line("3,4"), [], ["POLYLINE is not a list"]),
    "half a list": (line("[[3,4],[5"), [], ["POLYLINE is not a list"]),
    "empty text": (line(""), [], ["POLYLINE is not a list"]),
    "no points": (line("[]"), [], []),
    "blank line": ("", [], []),
    "no pair": (line("[[3],[5,6]]"), [(NAN, NAN, 100), (5, 6, 115)], [X, Y]),
    "no number": (line("[[3,null],[5,6]]"), [(3, NAN, 100), (5, 6, 115)], [Y]),
    "spaces": (line("[[3, 4], [5, 6]]"), [(3, 4, 100), (5, 6, 115)], []),
    "too few fields": ('"9","[[3,4]]"', [], [FIELDS]),
    "too many fields": (line() + ',"more"', [], [FIELDS]),
    "a quote too many": (line() + '"', [], [FIELDS]),
    "a quote too few": (line()[:-1], [], [FIELDS]),
    "without quotes": ('9,,,,8,100,,False,"[[3,4]]"', [(3, 4, 100)], []),
    "no id": (line(trip=""), [], ["no trajectory id"]),
    "no time": (line(start="", polyline="[[3,4],[5,6]]"), [(3, 4, None), (5, 6, None)], [NO_TIME] * 2),
    "half a second": (line(start="1.5"), [(3, 4, None)], [UNREAD]),
    "time without end": (line(start="9" * 30), [(3, 4, None)], [UNREAD]),
    "beyond the poles": (line("[[3,400]]"), [(3, 400, 100)], ["latitude is beyond 90 degrees"]),
}  # fmt: skip


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
@pytest.mark.parametrize(("text", "points", "reasons"), CASES.values(), ids=CASES)
def test_a_bad_line_touches_no_other_line(tmp_path, text, points, reasons, block_bytes):
    made = reader(tmp_path / "a.csv", "\n".join([HEADER, GOOD, text, GOOD]))
    rows, faults = samples.rows_of(made, block_bytes)
    assert sorted(faults) == sorted(("a.csv", 3, reason) for reason in reasons)
    found = [(row["x"], row["y"], row["t"]) for row in rows]
    good = (1, 2, time(100))
    expected = [(x, y, t if t is None else time(t)) for x, y, t in points]
    np.testing.assert_equal(found, [good, *expected, good])


def test_dropped_rows_are_counted(tmp_path):
    lines = [HEADER, GOOD, line(missing="True"), "x", line(trip=""), line("[]")]
    source = FileSource(reader(tmp_path / "a.csv", "\n".join(lines)))
    assert source.collect().n_points == 1
    assert source.dropped_rows == 3


def test_bytes_that_are_no_text_stay_apart(tmp_path):
    content = (HEADER + "\n").encode() + b"\n".join(
        line(taxi="T").encode().replace(b"T", t) for t in (b"\xff", b"\xfe")
    )
    rows, faults = samples.rows_of(reader(tmp_path / "a.csv", content))
    assert [row["user_id"] for row in rows] == [b"\xff", b"\xfe"] and faults == []


def test_columns_go_by_name(tmp_path):
    made = reader(tmp_path / "a.csv", '\ufeffpolyline, Trip_Id ,note\r\n"[[1,2]]",7,"a ""b"", c"\r\n')
    rows, faults = samples.rows_of(made)
    assert rows == [{"traj_id": b"7", "x": 1, "y": 2}] and faults == []
    assert not made.has_users and not made.has_times and made.crs == "lonlat"


def test_headers_that_are_refused(tmp_path):
    for header, words in {
        "": "no column 'TRIP_ID'",
        "TRIP_ID,lon,lat": "no column 'POLYLINE'",
        "TRIP_ID,POLYLINE,polyline": "2 columns 'POLYLINE'",
        '"7","8.625","[[8.625,41.125]]"': "no column 'TRIP_ID'",
        '"': "no column 'TRIP_ID'",
    }.items():
        with pytest.raises(DataError, match=words) as caught:
            reader(tmp_path / "a.csv", header + "\n")
        assert "8.625" not in str(caught.value) and caught.value.__cause__ is None
    with pytest.raises(SettingsError, match="holds longitude and latitude in degrees; leave --crs planar"):
        reader(tmp_path / "a.csv", HEADER, "planar")
    with pytest.raises(SettingsError, match="'mercator'"):
        reader(tmp_path / "a.csv", HEADER, "mercator")


def test_gzip_is_unpacked(tmp_path):
    rows, _ = samples.rows_of(reader(tmp_path / "a.csv", gzip.compress(samples.PORTO.encode())), 50)
    assert len(rows) == 3


def test_a_long_trip_is_one_line(tmp_path):
    points = [[i / 1000, -i / 1000] for i in range(60_000)]
    made = reader(tmp_path / "a.csv", f"{HEADER}\n{line(json.dumps(points))}\n")
    assert FileSource(made, Sizes(block_bytes=1 << 16)).collect().points.tolist() == points


degrees = st.floats(-90, 90).filter(lambda value: abs(value) > 1e-9)
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffd"), min_size=1, max_size=4)
trips = st.lists(
    st.tuples(names, names, st.integers(0, 2**33), st.lists(st.tuples(degrees, degrees), max_size=4)),
    max_size=5,
)


@settings(deadline=None)
@given(trips)
def test_what_is_written_can_be_read(tmp_path_factory, trips):
    path = tmp_path_factory.mktemp("porto") / "a.csv"
    part = Trajectories(
        np.array([point for *_, points in trips for point in points]).reshape(-1, 2),
        np.cumsum([0, *(len(points) for *_, points in trips)]),
        times=np.array([start + 15 * i for *_, start, points in trips for i in range(len(points))], "M8[s]"),
        users=np.array([user for user, *_ in trips], object),
        ids=np.array([trip for _, trip, *_ in trips], object),
    )
    assert porto.keeps_times(part) and porto.lost(part) == []
    save([part], path)
    rows, faults = samples.rows_of(samples.open_reader("porto", path), 100)
    expected = [
        {"traj_id": name(trip), "user_id": name(user), "x": x, "y": y, "t": time(start + 15 * i)}
        for user, trip, start, points in trips
        for i, (x, y) in enumerate(points)
    ]
    assert rows == expected
    assert faults == []


def name(text: str) -> bytes:
    """Write an id as the writer does: one that would break a line as its bytes."""
    return (f"\ufffd{text.encode().hex()}" if "\n" in text or "\r" in text else text).encode()


def test_the_file_has_the_shape_of_the_format(tmp_path):
    points = np.array([[-8.5, 41], [-8.25, 41.125], [np.nan, 0]])
    part = Trajectories(
        points, np.array([0, 2, 2, 3]), np.array([1.5, 16.5, np.nan]), np.array([7, 7, -(2**63)])
    )
    save([part], tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines() == [
        HEADER,
        '"0","","","","7","1","","False","[[-8.5,41],[-8.25,41.125]]"',
        '"2","","","","","","","False","[[null,0]]"',
    ]
    save([], tmp_path / "a.csv")
    assert len(FileSource(samples.open_reader("porto", tmp_path / "a.csv")).collect()) == 0


@pytest.mark.parametrize(
    ("times", "kept"),
    [
        (None, True),
        ([0, 15, 30, 7, 22], True),
        (np.array([0, 15, 30, 7, 22], "M8[ms]") + np.timedelta64(0, "s"), False),
        ((1000 * np.array([0, 15, 30, 7, 22])).astype("M8[ms]"), True),
        ([0, 15, 30, 45, 61], False),
        ([0.5, 15.5, 30.5, 7, 22], False),
        ([0, 15, np.nan, 7, 22], False),
    ],
)
def test_only_steps_of_15_seconds_are_kept(times, kept):
    part = Trajectories(np.zeros((5, 2)), np.array([0, 3, 3, 5]), None if times is None else np.array(times))
    assert porto.keeps_times(part) is kept
    assert (porto.lost(part) == []) is kept


def test_planar_points_are_refused(tmp_path):
    part = Trajectories(np.zeros((1, 2)), np.arange(2), crs="planar")
    with pytest.raises(OutputError, match="these points are planar"):
        write(part, tmp_path / "a.csv", format="porto")


@pytest.mark.data
def test_the_sample_is_read_whole(real_data, tmp_path):
    path = real_data / "raw" / "porto_kaggle_1k.csv"
    with path.open() as file:
        trips = [trip for trip in csv.DictReader(file) if trip["MISSING_DATA"] == "False"]
    polylines = [json.loads(trip["POLYLINE"]) for trip in trips]
    source = FileSource(samples.open_reader("porto", path))
    found = source.collect()
    assert found.points.tolist() == [point for points in polylines for point in points]
    assert found.users.tolist() == [t["TAXI_ID"] for t, points in zip(trips, polylines, strict=True) if points]
    starts = [int(t["TIMESTAMP"]) for t, points in zip(trips, polylines, strict=True) if points]
    assert found.times[found.offsets[:-1]].astype(np.int64).tolist() == starts
    assert list(source.faults()) == [] and porto.keeps_times(found)
    save([found], tmp_path / "a.csv")
    again = FileSource(samples.open_reader("porto", tmp_path / "a.csv")).collect()
    np.testing.assert_array_equal(again.points, found.points)
    np.testing.assert_array_equal(again.times, found.times)
    assert again.users.tolist() == found.users.tolist()
