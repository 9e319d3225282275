"""The folders of Geolife: a file a trajectory."""

import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.io import samples

from privtrace import io
from privtrace.datasets import geolife
from privtrace.errors import DataError, OutputError, SettingsError
from privtrace.io import write
from privtrace.io.files import files_in
from privtrace.io.source import FileSource, Sizes
from privtrace.trajectories import Trajectories

GOOD = "40,116,0,-777,39745,2008-10-24,02:09:59"


def plt(folder, *lines, name="a.plt", header=samples.PLT_HEADER):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes((header + "\n".join(lines)).encode("latin-1"))
    return folder / name


def rows_of(path, block_bytes=1 << 20):
    return samples.rows_of(samples.open_reader("geolife", path), block_bytes)


def time(text: str):
    return np.datetime64(text, "s").astype(object)


@pytest.mark.parametrize("block_bytes", [1, 100, 1 << 20])
def test_a_file_is_a_trajectory_of_the_user_above_it(tmp_path, block_bytes):
    rows, faults = rows_of(samples.geolife(tmp_path), block_bytes)
    assert faults == []
    first, second = b"20081024020959", b"20080917101511"
    assert [(row["traj_id"], row["user_id"]) for row in rows] == [(first, b"000")] * 2 + [(second, b"010")]
    assert [(row["x"], row["y"]) for row in rows] == [
        (116.319876, 40.008304),
        (116.319962, 40.008413),
        (116.4, 39.9),
    ]
    assert [row["t"] for row in rows] == [
        time(t) for t in ("2008-10-24T02:09:59", "2008-10-24T02:10:04", "2008-09-17T10:15:11")
    ]


def test_which_files_are_read(tmp_path):
    for folder, name in [
        ("b/Trajectory", "2.plt"),
        ("b/Trajectory", "1.PLT"),
        ("a/Trajectory", "3.plt"),
        ("c", "4.plt"),
        ("b/Trajectory", ".hidden.plt"),
        (".hidden/Trajectory", "5.plt"),
        ("b", "labels.txt"),
    ]:
        plt(tmp_path / folder, GOOD, name=name)
    rows, faults = rows_of(tmp_path)
    found = [(row["user_id"], row["traj_id"]) for row in rows]
    assert found == [(b"a", b"3"), (b"b", b"1"), (b"b", b"2"), (None, b"4")] and faults == []
    one, _ = rows_of(tmp_path / "b" / "Trajectory" / "2.plt")
    assert [(row["user_id"], row["traj_id"]) for row in one] == [(b"b", b"2")]
    alone, _ = rows_of(tmp_path / "c")
    assert [row["user_id"] for row in alone] == [None]  # and not: no users, which one more file would change
    (tmp_path / "empty").mkdir()
    assert rows_of(tmp_path / "empty") == ([], [])


def test_what_cannot_be_opened_is_left_out_and_counted(tmp_path, monkeypatch):
    """Closed to us may be one person's folder or file; it is counted, and the others are read."""
    walk = os.walk

    def walked(folder, onerror):
        onerror(PermissionError(13, "Permission denied", str(tmp_path / "b")))
        return walk(folder, onerror=onerror)

    plt(tmp_path / "a" / "Trajectory", GOOD)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "d.plt").symlink_to("nowhere")
    monkeypatch.setattr("os.walk", walked)
    source = io.read(tmp_path)
    assert len(source.collect()) == 1
    assert sorted((fault.path.name, fault.reason[:36]) for fault in source.faults()) == [
        ("b", "the file is left out: no such file; "),
        ("d.plt", "the file is left out: no such file; "),
    ]


def test_a_folder_that_cannot_be_opened_at_all_is_refused(tmp_path, monkeypatch):
    def walked(folder, onerror):
        onerror(PermissionError(13, "Permission denied", str(folder)))
        return iter(())

    monkeypatch.setattr("os.walk", walked)
    with pytest.raises(DataError, match="cannot be opened"):
        files_in(tmp_path, (".plt",), (".",))


def test_whether_anybody_is_in_a_folder_changes_nothing(tmp_path):
    """A folder without users, or without a file, is no reason to refuse, with its structure or the option."""
    (tmp_path / "Data" / "eve" / "Trajectory").mkdir(parents=True)
    (tmp_path / "Data" / "eve" / "labels.txt").write_text("Start Time\tEnd Time\n")
    (tmp_path / "empty").mkdir()
    for source in (io.read(tmp_path), io.read(tmp_path / "empty", format="geolife")):
        found = source.collect()
        assert (len(found), source.has_users, source.dropped_rows) == (0, True, 0)
        assert found.users is not None and found.times is not None


FIELDS = "not 7 fields"
NO_TIME, UNREAD = "time is missing", "time cannot be read"
CASES = {
    "too few fields": ("40,116,0,-777,39745,2008-10-24", 0, [FIELDS]),
    "too many fields": (GOOD + ",1", 0, [FIELDS]),
    "a quote": ('"' + GOOD, 0, [FIELDS]),
    "blank": ("\r", 0, []),
    "no number": (GOOD.replace("40", "north"), 1, ["latitude is missing or not a number"]),
    "beyond the poles": (GOOD.replace("40", "400"), 1, ["latitude is beyond 90 degrees"]),
    "no day": (GOOD.replace("10-24", "02-30"), 1, [UNREAD]),
    "no hour": (GOOD.replace("02:09", "24:00"), 1, [UNREAD]),
    "no time": (GOOD.replace("02:09:59", ""), 1, [NO_TIME]),
    "another form": (GOOD.replace("2008-10-24", "24.10.2008"), 1, [UNREAD]),
    "no text": (GOOD.replace("-777", "\xff"), 1, []),
}


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
@pytest.mark.parametrize(("line", "n_rows", "reasons"), CASES.values(), ids=CASES)
def test_a_bad_line_touches_no_other_line(tmp_path, line, n_rows, reasons, block_bytes):
    plt(tmp_path / "u" / "Trajectory", GOOD, name="a.plt")
    plt(tmp_path / "u" / "Trajectory", GOOD, line, GOOD, name="b.plt")
    plt(tmp_path / "u" / "Trajectory", GOOD, name="c.plt")
    rows, faults = rows_of(tmp_path, block_bytes)
    assert sorted(faults) == sorted(("b.plt", 8, reason) for reason in reasons)
    assert [row["traj_id"] for row in rows] == [b"a", *[b"b"] * (n_rows + 2), b"c"]
    good = [row for row in rows if row["t"] == time("2008-10-24T02:09:59") and row["y"] == 40]
    assert len(good) >= 4
    source = FileSource(samples.open_reader("geolife", tmp_path), Sizes(block_bytes=block_bytes))
    source.collect()
    assert source.dropped_rows == len(reasons) - n_rows * len(reasons)


def test_a_file_of_another_kind_is_one_bad_trajectory(tmp_path):
    plt(tmp_path, GOOD, name="a.plt")
    plt(tmp_path, GOOD, name="b.plt", header="lat,lon\n" * 6)
    plt(tmp_path, "1,2", "3,4", name="c.plt", header="")
    plt(tmp_path, name="d.plt", header="")
    plt(tmp_path, "1", name="e.plt", header="\x1f\x8b\x08")
    rows, faults = rows_of(tmp_path)
    assert [row["traj_id"] for row in rows] == [b"a", b"b"]
    reason = "the header is not from a Geolife PLT file"
    assert faults == [(name, 1, reason) for name in ("b.plt", "c.plt", "e.plt")]


def test_a_line_that_is_too_long_is_left_out(tmp_path):
    plt(tmp_path, GOOD, "4" * (1 << 21), GOOD)
    rows, faults = rows_of(tmp_path, 1 << 16)
    assert len(rows) == 2 and faults == [("a.plt", 8, "the line is too long")]


def test_points_are_longitude_and_latitude(tmp_path):
    path = plt(tmp_path, GOOD)
    declared, undeclared = (samples.open_reader("geolife", path, crs) for crs in ("lonlat", None))
    assert declared.crs == undeclared.crs == "lonlat"
    with pytest.raises(SettingsError, match=r"leave --crs planar \(crs\) out"):
        samples.open_reader("geolife", path, "planar")


def test_the_files_have_the_shape_of_the_format(tmp_path):
    times = np.array(["2008-10-24T02:09:59.75", "NaT", "1969-12-31T12:00:00"], "M8[ms]")
    points = np.array([[116.319876, 40.008304], [1, 2], [-1e-6, np.nan]])
    part = Trajectories(points, np.array([0, 2, 2, 3]), times, np.array(["010", "020", ""]))
    geolife.write([part], tmp_path)
    files = files_in(tmp_path, (".plt",), (".",))
    assert [str(file.relative_to(tmp_path)) for file in files] == [
        "Data/010/Trajectory/0.plt",
        "Data/unknown/Trajectory/2.plt",
    ]
    header = samples.PLT_HEADER.replace("\n", "\r\n")
    assert files[0].read_bytes().decode() == (
        header + "40.008304,116.319876,0,-777,39745.0902662037,2008-10-24,02:09:59\r\n2,1,0,-777,,,\r\n"
    )
    assert files[1].read_bytes().decode() == header + "nan,-0.000001,0,-777,25568.5,1969-12-31,12:00:00\r\n"
    assert geolife.lost(part) == ["fractions of seconds"]
    assert geolife.lost(part[1:3]) == []


def test_unknown_users_come_back_unknown_and_others_as_they_are(tmp_path):
    times = np.arange(3).astype("M8[s]")
    users = np.array(["", "unknown", "000"])
    geolife.write([Trajectories(np.ones((3, 2)), np.arange(4), times, users)], tmp_path)
    rows, _ = rows_of(tmp_path)
    assert {row["traj_id"]: row["user_id"] for row in rows} == {b"0": None, b"1": b"unknown", b"2": b"000"}


def test_nothing_is_a_folder_without_files(tmp_path):
    geolife.write([], tmp_path / "a")
    assert len(FileSource(samples.open_reader("geolife", tmp_path / "a")).collect()) == 0


def test_numbers_are_seconds_since_1970(tmp_path):
    part = Trajectories(np.ones((4, 2)), np.array([0, 4]), np.array([86400.5, np.nan, 1e300, -1e300]))
    geolife.write([part], tmp_path)
    rows, _ = rows_of(tmp_path)
    assert [row["t"] for row in rows] == [time("1970-01-02T00:00:00"), None, None, None]


@pytest.mark.parametrize(
    ("part", "words"),
    [
        (Trajectories(np.ones((1, 2)), np.arange(2)), "geolife needs times"),
        (Trajectories(np.ones((1, 2)), np.arange(2), np.arange(1), crs="planar"), "points are planar"),
    ],
)
def test_what_the_format_cannot_hold_is_refused_before_writing(tmp_path, part, words):
    with pytest.raises(OutputError, match=words):
        write(part, tmp_path / "a", format="geolife")
    assert not (tmp_path / "a").exists()


def test_names_stay_inside_the_folder_and_apart(tmp_path):
    names = [
        "..",
        ".",
        "/etc/passwd",
        "a/b",
        "a%2Fb",
        "a b",
        "A",
        "a",
        "a",
        "x" * 300,
        "x" * 299 + "y",
        "ü",
        "C:\\a",
        "a\0",
    ]
    users = np.array([name for name in names for _ in names], object)
    ids = np.array(names * len(names), object)
    part = Trajectories(np.ones((len(ids), 2)), np.arange(len(ids) + 1), np.zeros(len(ids)), users, ids)
    (tmp_path / "out").mkdir()
    geolife.write([part], tmp_path / "out")
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]
    files = files_in(tmp_path / "out", (".plt",), (".",))
    assert len(files) == len(ids)
    assert all(
        len(part) < 200 and part.isascii() for file in files for part in file.relative_to(tmp_path).parts
    )
    rows, _ = rows_of(tmp_path / "out")
    assert len({(row["user_id"], row["traj_id"]) for row in rows}) == len(ids)
    assert {b"..", b".", b"/etc/passwd", b"a%2Fb", "ü".encode()} <= {row["user_id"] for row in rows}


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5).filter(
    lambda text: "\n" not in text and "\r" not in text
)
degrees = st.floats(-90, 90).filter(lambda value: abs(value) > 1e-9)
seconds = st.integers(-(2**33), 2**35)
logs = st.dictionaries(
    st.tuples(names, names),
    st.lists(st.tuples(seconds, degrees, degrees), max_size=4),
    max_size=4,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(logs)
def test_what_is_written_can_be_read(tmp_path_factory, logs):
    path = tmp_path_factory.mktemp("geolife") / "a"
    flat = [point for points in logs.values() for point in points]
    part = Trajectories(
        np.array([point[1:] for point in flat]).reshape(-1, 2),
        np.cumsum([0, *map(len, logs.values())]),
        np.array([point[0] for point in flat], "M8[s]"),
        np.array([user for user, _ in logs], object),
        np.array([trip for _, trip in logs], object),
    )
    geolife.write([part], path)
    rows, faults = rows_of(path, 100)
    assert faults == []
    found: dict = {}
    for row in rows:
        point = (row["t"], row["x"], row["y"])
        found.setdefault((row["user_id"].decode(), row["traj_id"].decode()), []).append(point)
    assert found == {
        key: [(np.datetime64(t, "s").astype(object), x, y) for t, x, y in points]
        for key, points in logs.items()
        if points
    }


@pytest.mark.data
def test_the_sample_is_read_whole(real_data, tmp_path):
    folder = real_data / "raw" / "geolife"
    files = sorted(folder.rglob("*.plt"))
    lines = [line.split(",") for file in files for line in file.read_text().splitlines()[6:]]
    source = FileSource(samples.open_reader("geolife", folder))
    found = source.collect()
    assert len(found) == len(files) == 36
    assert found.points.tolist() == [[float(line[1]), float(line[0])] for line in lines]
    assert found.times.tolist() == [np.datetime64(f"{line[5]}T{line[6]}").astype(object) for line in lines]
    assert found.users.tolist() == [file.parent.parent.name for file in files]
    assert list(source.faults()) == [] and source.dropped_rows == 0
