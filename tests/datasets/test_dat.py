"""The text of AdaTrace and PrivTrace: two lines a trajectory."""

import gzip
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.io import samples

from privtrace import io
from privtrace.datasets import dat
from privtrace.errors import DataError, SettingsError
from privtrace.io import streams
from privtrace.io.source import FileSource, Reader, Sizes
from privtrace.trajectories import Trajectories


def save(parts, path) -> None:
    with path.open("wb") as file:
        dat.write(parts, file)


def reader(path, content, crs=None) -> Reader:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return samples.open_reader("dat", path, crs)


def read(path, content, block_bytes=1 << 20):
    """Give rows as (id, x, y) and faults as (line, reason)."""
    rows, faults = samples.rows_of(reader(path, content), block_bytes)
    return [(row["traj_id"], row["x"], row["y"]) for row in rows], [fault[1:] for fault in faults]


@pytest.mark.parametrize("block_bytes", [1, 30, 1 << 20])
def test_points_belong_to_the_name_right_above_them(tmp_path, block_bytes):
    rows, faults = read(tmp_path / "a.dat", samples.DAT, block_bytes)
    assert faults == []
    assert rows == [
        (b"0", 11026, 4693),
        (b"0", 11096, 4669.2),
        (b"0", 11183, -4620.9),
        (b"1", 6024, 17849),
        (b"1", 6183.1, 17902.1),
    ]


WRONG = "neither '#id:' nor '>0:x,y;x,y;'"
X, Y = (f"{axis} is missing or not a number" for axis in "xy")
NAN = math.nan
CASES = {
    "neither": ("x\n", [], [(3, WRONG)]),
    "name without colon": ("#b\n>0:3,4;\n", [], [(3, WRONG), (4, "no trajectory id")]),
    "points without colon": (">0 3,4;\n", [], [(3, WRONG)]),
    "points after a wrong line": ("x\n>0:3,4;5,6;\n", [], [(3, WRONG), *[(4, "no trajectory id")] * 2]),
    "name without a name": ("#:\n>0:3,4;\n", [], [(4, "no trajectory id")]),
    "no points": ("#b:\n>0:\n", [], []),
    "no line of points": ("#b:\n", [], []),
    "a list without a name": (">0:3,4;5,6\n", [], [(3, "no trajectory id")] * 2),
    "a second list": ("#b:\n>0:3,4;\n>1:5,6\n", [(b"b", 3, 4)], [(5, "no trajectory id")]),
    "not a pair": ("#b:\n>0:3;4,5;\n", [(b"b", NAN, NAN), (b"b", 4, 5)], [(4, X), (4, Y)]),
    "not a number": ("#b:\n>0:3,y;4,5;\n", [(b"b", 3, NAN), (b"b", 4, 5)], [(4, Y)]),
    "infinite": ("#b:\n>0:inf,4;\n", [(b"b", NAN, 4)], [(4, X)]),
    "blank lines": ("#b:\n\n\r\n>0:3,4;\n", [(b"b", 3, 4)], []),
    "not text": (b"#b:\n>0:3,\xff;\n#\xff:\n>0:5,6\n", [(b"b", 3, NAN), (b"\xff", 5, 6)], [(4, Y)]),
    "a colon in a name": ("#b:c:\n>0:3,4;\n", [(b"b:c", 3, 4)], []),
}


@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
@pytest.mark.parametrize(("lines", "rows", "faults"), CASES.values(), ids=CASES)
def test_what_is_wrong_touches_no_other_trajectory(tmp_path, lines, rows, faults, block_bytes):
    lines = lines if isinstance(lines, bytes) else lines.encode()
    content = b"#a:\n>0:1,2;\n" + lines + b"#z:\n>0:8,9;"
    found, noted = read(tmp_path / "a.dat", content, block_bytes)
    np.testing.assert_equal(found, [(b"a", 1, 2), *rows, (b"z", 8, 9)])
    assert sorted(noted) == sorted(faults)


def test_lines_that_are_too_long_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(streams, "LINE_BYTES", 16)
    monkeypatch.setattr(dat, "TRAJECTORY_BYTES", 64)
    content = "#a:\n>0:" + "1,2;" * 14 + "\n#b:\n>0:" + "3,4;" * 20 + "\n>0:5,6;\n#c:\n>0:7,8;\n"
    found, faults = read(tmp_path / "a.dat", content, 20)
    assert found == [(b"a", 1, 2)] * 14 + [(b"c", 7, 8)]
    assert faults == [(4, "the line is too long"), (5, "no trajectory id")]


def test_a_trajectory_of_a_hundred_thousand_points_is_one_line(tmp_path):
    n = 100_000
    content = "#a:\n>0:" + "".join(f"{i}.25,{-i};" for i in range(n)) + "\n"
    source = FileSource(reader(tmp_path / "a.dat", content), Sizes(block_bytes=1 << 16))
    assert source.collect().points.tolist() == [[i + 0.25, -i] for i in range(n)]


def test_dropped_rows_are_counted(tmp_path):
    source = FileSource(reader(tmp_path / "a.dat", "#a:\n>0:1,2;x;\nx\n>0:3,4;5,6;\n"))
    assert source.collect().n_points == 2
    assert source.dropped_rows == 3


def test_one_id_is_one_trajectory_wherever_it_stands(tmp_path):
    source = FileSource(reader(tmp_path / "a.dat", "#a:\n>0:1,2;\n#b:\n>0:3,4;\n#a:\n>0:5,6;\n"))
    trajectories = source.collect()
    assert trajectories.points.tolist() == [[1, 2], [5, 6], [3, 4]]
    assert trajectories.offsets.tolist() == [0, 2, 3]
    assert trajectories.users is None and trajectories.times is None


@pytest.mark.parametrize(
    "line", [b"traj_id,x,y", b"", b"a:", b"#7", b">0:1,2;", b"\0", b"PAR1", b"\x1f\x8b\x08"]
)
def test_the_name_tells_the_format_and_no_line_does(tmp_path, line):
    (tmp_path / "a.dat").write_bytes(line + b"\n#a:\n>0:1,2;\n")
    assert io.read(tmp_path / "a.dat").collect().ids.tolist() == ["a"]
    (tmp_path / "a.txt").write_bytes(b"#a:\n>0:1,2;\n")
    with pytest.raises(DataError, match=r"name it \.dat, or pass --format dat"):
        io.read(tmp_path / "a.txt")
    assert len(io.read(tmp_path / "a.txt", format="dat").collect()) == 1


@pytest.mark.parametrize("id", [b"a\0b", b"\xff\xfe", b"x" * 256 + b"ustar"])
def test_the_first_id_is_an_id_like_any_other(tmp_path, id):
    path = tmp_path / "a.dat"
    for first, second in ((id, b"1"), (b"1", id)):
        path.write_bytes(b"#%s:\n>0:1,2;\n#%s:\n>0:3,4;\n" % (first, second))
        assert len(io.read(path).collect()) == 2


def test_what_may_stand_around_the_text(tmp_path):
    for content in (b"\xef\xbb\xbf#a:\n>0:1,2;\n", b"#a:\r\n>0:1,2;\r\n"):
        assert read(tmp_path / "a.dat", content) == ([(b"a", 1, 2)], [])
        assert read(tmp_path / "a.dat.gz", gzip.compress(content)) == ([(b"a", 1, 2)], [])
    assert read(tmp_path / "a.dat", b"") == read(tmp_path / "a.dat.gz", gzip.compress(b"")) == ([], [])


def test_points_are_planar_unless_declared(tmp_path):
    assert reader(tmp_path / "a.dat", "").crs == "planar"
    assert reader(tmp_path / "a.dat", "", "lonlat").crs == "lonlat"
    with pytest.raises(SettingsError, match="'mercator'"):
        reader(tmp_path / "a.dat", "", "mercator")


coordinates = st.floats(-1e9, 1e9, allow_subnormal=False).filter(lambda value: abs(value) > 1e-9 or value == 0)
lists = st.lists(st.lists(st.tuples(coordinates, coordinates), max_size=5), max_size=5)


@settings(deadline=None)
@given(lists)
def test_what_is_written_can_be_read(tmp_path_factory, lists):
    path = tmp_path_factory.mktemp("dat") / "a.dat"
    points = np.array([point for points in lists for point in points]).reshape(-1, 2)
    written = Trajectories(points, np.cumsum([0, *map(len, lists)]), crs="planar")
    save([written], path)
    rows, faults = samples.rows_of(samples.open_reader("dat", path), 7)
    assert faults == []
    expected = [(b"%d" % i, x, y) for i, points in enumerate(lists) for x, y in points]
    assert [(row["traj_id"], row["x"], row["y"]) for row in rows] == expected


def test_the_file_has_the_shape_of_the_format(tmp_path):
    points = np.array([[1.5, 2], [3, 1 / 3], [np.nan, np.inf]])
    whole = Trajectories(points, np.array([0, 2, 2, 3]), ids=np.array(["a", "b", "c"]))
    save([whole[0:1], whole[1:3]], tmp_path / "a.dat")
    assert (tmp_path / "a.dat").read_text() == "#a:\n>0:1.5,2;3,0.3333333333333333;\n#c:\n>0:nan,nan;\n"
    save([], tmp_path / "a.dat")
    assert (tmp_path / "a.dat").read_bytes() == b""


def test_users_keep_equal_ids_apart(tmp_path):
    users = np.array(["a", "a/b", "", "a%2Fb"])
    part = Trajectories(np.zeros((4, 2)), np.arange(5), users=users, ids=np.array(["b/c", "c", "c", "c"]))
    save([part], tmp_path / "a.dat")
    names = (tmp_path / "a.dat").read_text().splitlines()[::2]
    assert names == ["#a/b/c:", "#a%2Fb/c:", "#/c:", "#a%252Fb/c:"]
    assert dat.lost(part) == [
        "longitude and latitude by name (read it with --crs lonlat)",
        "users (they start the ids)",
    ]
    assert dat.lost(replace(part, users=None, crs="planar")) == []


def test_ids_never_break_a_line(tmp_path):
    ids = np.array(["a\n#b:", "a\r", "ü"])
    save([Trajectories(np.zeros((3, 2)), np.arange(4), ids=ids)], tmp_path / "a.dat")
    rows, faults = samples.rows_of(samples.open_reader("dat", tmp_path / "a.dat"))
    assert faults == []
    assert len({row["traj_id"] for row in rows}) == 3


@pytest.mark.data
def test_the_sample_is_read_whole(real_data):
    path = real_data / "raw" / "brinkhoff_101.dat"
    lines = path.read_text().splitlines()
    lists = [line.removeprefix(">0:").rstrip(";").split(";") for line in lines[1::2]]
    expected = [[float(value) for value in pair.split(",")] for pairs in lists for pair in pairs]
    source = FileSource(samples.open_reader("dat", path))
    found = source.collect()
    assert found.points.tolist() == expected
    assert found.offsets.tolist() == np.cumsum([0, *map(len, lists)]).tolist()
    assert list(source.faults()) == [] and source.dropped_rows == 0
