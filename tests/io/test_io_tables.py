"""Text that is not what it should be: no value in a row may stop a reader or touch another row."""

import numpy as np
import pyarrow as pa
import pytest

from privtrace import io
from privtrace.io import open_source, streams, text
from privtrace.io.source import Sizes


def table(path, lines, header="traj_id,lon,lat"):
    path.write_bytes("\n".join([header, *lines]).encode("latin-1"))
    return path


BAD_LINES = {
    "text": ("1,here,there", [[np.nan, np.nan]]),
    "empty": ("1,,", [[np.nan, np.nan]]),
    "not a number": ("1,nan,inf", [[np.nan, np.nan]]),
    "too large": ("1,1e999,-" + "9" * 400, [[np.nan, np.nan]]),
    "not utf-8": ("1,\xff,5", [[np.nan, 5]]),
    "spaces": ("1, 2.5 ,\t-3e0", [[2.5, -3]]),
    "quoted": ('"1","2.5","3"', [[2.5, 3]]),
    "too many fields": ("1,2,3,4", []),
    "too few fields": ("1,2", []),
    "no id": (",2,3", []),
    "quote that opens": ('"1,2,3', []),
    "quote that opens late": ('1,2","3', []),
    "two quotes, one open": ('a"b,"2,3', []),
    "quote after a return": ('1,2\r"3,4', []),
    "text after a quote": ('"1"1,2,3', []),
    "a null byte": ("1,\0,3", [[np.nan, 3]]),
}


@pytest.mark.parametrize("block_bytes", [1, 16, 1 << 20])
@pytest.mark.parametrize(("line", "points"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_bad_line_touches_no_other_line(tmp_path, line, points, block_bytes):
    path = table(tmp_path / "a.csv", ["0,10,20", line, "2,30,40", '"3",50,60'])
    source = open_source(path, None, Sizes(block_bytes=block_bytes))
    found = source.collect().points
    np.testing.assert_array_equal(found, [[10, 20], *points, [30, 40], [50, 60]])
    assert source.dropped_rows == 1 - len(points)
    assert source.n_points == 3 + len(points)


def test_lines_end_in_any_way_and_blank_ones_are_nothing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"\xef\xbb\xbftraj_id, lon ,lat\r\n1,2,3\r\n\r\n\n2,4,5")
    source = io.read(path)
    assert source.collect().points.tolist() == [[2, 3], [4, 5]]
    assert source.dropped_rows == 0


def test_a_line_without_end_is_dropped(tmp_path):
    path = table(tmp_path / "a.csv", ["0,1,2", "1," + "7" * (3 << 20) + ",2", "2,3,4"])
    source = open_source(path, None, Sizes(block_bytes=1 << 16))
    assert source.collect().points.tolist() == [[1, 2], [3, 4]]
    assert source.dropped_rows == 1


def test_quotes_may_hold_commas_and_quotes(tmp_path):
    path = table(tmp_path / "a.csv", ['"a,b",1,2,"x ""y"" z"', '"a,b",3,4,5" pipe'], "traj_id,lon,lat,note")
    source = io.read(path)
    assert source.collect().offsets.tolist() == [0, 2]
    assert source.dropped_rows == 0


def test_where_a_line_stands_does_not_change_its_id(tmp_path):
    path = tmp_path / "a.csv"
    mark = b"\xef\xbb\xbf"  # skipped at the start of a file, and only there
    path.write_bytes(b"traj_id,x,y\n" + mark + b"1,1,0\n1,2,0\n" + mark + b"1,3,0\n\xff,4,0\n1,5,0\n")
    for block_bytes in (1, 20, 1 << 20):
        trajectories = open_source(path, None, Sizes(block_bytes=block_bytes)).collect()
        assert trajectories.points[:, 0].tolist() == [1, 3, 2, 5, 4]


def test_ids_are_text_whatever_they_look_like(tmp_path):
    lines = [f"{user},1,0,0" for user in ["1", "01", "1.0", "one"]]
    path = table(tmp_path / "a.csv", lines, "user_id,traj_id,x,y")
    assert io.read(path).collect().users.tolist() == ["1", "01", "1.0", "one"]


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary()], ids=str)
def test_times_are_numbers_or_iso(kind):
    cases = {
        "12.5": 12.5,
        " -3 ": -3,
        "1970-01-01": 0,
        "1970-01-02T00:00:01": 86401,
        "1970-01-01 00:01": 60,
        "1970-01-01T00:00:00.25Z": 0.25,
        "1970-01-01T02:00:00+02:00": 0,
        "1970-01-01T02:00:00+0130": 1800,
        "1969-12-31T23:00:00-01": 0,
        "2000-02-29": 951782400,
        "2001-02-29": None,
        "1970-13-01": None,
        "1970-00-01": None,
        "1970-01-01T24:00:00": None,
        "yesterday": None,
        "": None,
        "\xff": None,
    }
    column = pa.array([case.encode("latin-1") for case in cases], kind)
    assert text.times(column).to_pylist() == list(cases.values())
    alone = [text.times(column.slice(i, 1)).to_pylist()[0] for i in range(len(column))]
    assert alone == list(cases.values())  # no value depends on another


@pytest.mark.parametrize("seed", range(3))
def test_lines_of_noise_are_read_as_if_alone(tmp_path, seed):
    """One trajectory's rows may not change how another's are read, whatever bytes they hold."""
    rng = np.random.default_rng(seed)
    letters = np.array(list('"",,,,\r\0\xff ab12.-'))
    lines = ["".join(rng.choice(letters, rng.integers(1, 12))) for _ in range(60)]

    def rows(lines):
        path = table(tmp_path / "a.csv", lines)
        with open_source(path, None, Sizes(block_bytes=512)) as source:
            points = source.collect().points
            return sorted(map(str, points.tolist())), source.dropped_rows

    alone = [rows([line]) for line in lines]
    assert any(points for points, _ in alone) and any(dropped for _, dropped in alone)
    together = sorted(point for points, _ in alone for point in points), sum(dropped for _, dropped in alone)
    assert rows(lines) == together


@pytest.mark.parametrize("padding", range(-4, 1))
def test_a_line_that_is_too_long_is_dropped_wherever_it_stands(padding, tmp_path, monkeypatch):
    """Were it cut in two, what is before it in the file would decide whether its end becomes a row."""
    monkeypatch.setattr(streams, "LINE_BYTES", 64)
    start = "traj_id,x,y\n"
    first = "a,1," + "1" * (64 - 5 + padding) + "\n"
    long = "b,2," + "2" * 64 + "\nvictim,5,5\n"
    (tmp_path / "a.csv").write_text(start + first + long)
    source = open_source(tmp_path / "a.csv", None, Sizes(block_bytes=64))
    assert len(source.collect()) == 2
    assert source.dropped_rows == 1
