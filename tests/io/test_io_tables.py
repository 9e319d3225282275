"""Text that is not what it should be: no value in a row may stop a reader or touch another row."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privtrace import io
from privtrace.io import open_source, streams
from privtrace.io.source import Sizes
from privtrace.parsing import text
from privtrace.parsing.clock import Clock
from privtrace.parsing.dates import by_pattern, iso


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


DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "blanks": "  "}


@pytest.mark.parametrize("block_bytes", [1, 16, 1 << 20])
@pytest.mark.parametrize("delimiter", DELIMITERS.values(), ids=DELIMITERS)
def test_a_bad_line_touches_no_other_line(tmp_path, delimiter, block_bytes):
    for what, (line, points) in BAD_LINES.items():
        if delimiter in ("\t", "  ") and ("\t" in line or ",," in line or line.startswith(",")):
            continue  # blanks are the delimiter, and say something else
        lines = ["traj_id,lon,lat", "0,10,20", line, "2,30,40", '"3",50,60']
        header, *lines = [line.replace(",", delimiter) for line in lines]
        path = table(tmp_path / f"{what}.csv", lines, header)
        source = open_source(path, None, Sizes(block_bytes=block_bytes))
        found = source.collect().points
        np.testing.assert_array_equal(found, [[10, 20], *points, [30, 40], [50, 60]], what)
        assert (source.dropped_rows, source.n_points) == (1 - len(points), 3 + len(points)), what


def test_a_long_run_of_blanks_takes_no_longer_than_other_lines(tmp_path):
    lines = ["0 10 20", f"1{' ' * 400_000}30 40  ", f"  2{' ' * 400_000}x"]
    source = open_source(table(tmp_path / "a.txt", lines, "traj_id lon lat"), None, Sizes())
    np.testing.assert_array_equal(source.collect().points, [[10, 20], [30, 40]])


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
        "1970-01-01T00:00:00,5": 0.5,
        "2020-01-31 23:59:59.123456": 1580515199.123456,
        "2020-04-30T00:00:00": 1588204800,
        "2020-04-31T00:00:00": None,
        "2020-02-29T00:00:00": 1582934400,
        "2021-02-29T00:00:00": None,
        "0000-01-01T00:00:00": -62167219200,
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
    order = Clock(order_only=True)
    assert order.text(column).values.to_pylist() == list(cases.values())
    alone = [order.text(column.slice(i, 1)).values.to_pylist()[0] for i in range(len(column))]
    assert alone == list(cases.values())  # no value depends on another
    dates = [value if case.count("-") > 1 else None for case, value in cases.items()]
    micro = [None if value is None else round(value * 1e6) for value in dates]
    assert iso(column).cast(pa.int64()).to_pylist() == micro  # a number is no date


def test_numbers_come_back_as_they_were_written_and_none_overflows():
    values = np.random.default_rng(0).integers(0, 2**64, 20_000, np.uint64).view(np.float64)
    values = values[(np.abs(values) < 1e308) & (np.abs(values) > 2.3e-308)]
    column = pa.array([repr(value).encode() for value in values.tolist()], pa.binary())
    np.testing.assert_array_equal(text.numbers(column).to_numpy(), values)
    wild = [b"1e308", b"9e308", b"99e307", b"1e999", b"1e-309", b"0.1e-308", b"1e", b"e5", b".", b"1e+007"]
    assert text.numbers(pa.array(wild, pa.binary())).to_pylist() == [None] * 9 + [1e7]


@settings(max_examples=40)
@given(st.lists(st.from_regex(rb"\A[0-9:TZ+. -]{0,30}\Z"), max_size=8))
def test_no_time_depends_on_another(values):
    column = pa.array(values, pa.binary())

    def ticks(times: pa.Array) -> list[float | None]:
        # As numbers: Python has no dates after the year 9999.
        return (times.cast(pa.int64()) if pa.types.is_timestamp(times.type) else times).to_pylist()

    lisbon = "Europe/Lisbon"
    for read in (
        lambda column: Clock(order_only=True).text(column).values,
        lambda column: Clock(order_only=True, zone=lisbon).text(column).values,
        iso,
        lambda column: iso(column, lisbon),
        lambda column: by_pattern(column, "%H:%M %y-%m-%d", lisbon),
    ):
        alone = [ticks(read(column.slice(i, 1)))[0] for i in range(len(column))]
        assert ticks(read(column)) == alone


@pytest.mark.parametrize("delimiter", DELIMITERS.values(), ids=DELIMITERS)
def test_numbers_may_have_a_decimal_comma_where_it_delimits_nothing(tmp_path, delimiter):
    rows = [["1", "8,61", "47.3", "1,5"], ["1", "-,5", "1,2e1", "1.5"], ["1", "1,2,3", "1.2,3", "7"]]
    lines = [delimiter.join(f'"{field}"' for field in row) for row in rows]
    path = table(tmp_path / "a.csv", lines, delimiter.join(["traj_id", "lon", "lat", "t"]))
    found = io.read(path).collect()
    points = [[-0.5, 12], [8.61, 47.3], [np.nan, np.nan]]  # two at one time are in order of place
    if delimiter == ",":  # the first row has no time, and is last
        points = [[np.nan, np.nan], [np.nan, np.nan], [np.nan, 47.3]]
    np.testing.assert_array_equal(found.points, points)
    np.testing.assert_array_equal(found.times, [1.5, 7, np.nan] if delimiter == "," else [1.5, 1.5, 7])


def test_names_of_columns_may_be_in_latin_1(tmp_path):
    path = table(tmp_path / "a.csv", ["1;2;3"], "Fahrt;L\xe4nge;Breite")
    columns = {"traj_id": "Fahrt", "lon": "L\xe4nge", "lat": "Breite"}
    assert io.read(path, columns=columns).collect().points.tolist() == [[2, 3]]


def test_blank_lines_are_nothing_beside_any_other_line(tmp_path):
    for lines, n_dropped in {
        ("1,2,3", " \t ", ""): 0,
        ("1,2,3", "\xc2\xa0"): 1,
        ("\xff,2,3", "\xc2\xa0"): 1,
    }.items():
        source = io.read(table(tmp_path / "a.csv", lines))
        assert (len(source.collect()), source.dropped_rows) == (1, n_dropped)
        source.close()


def test_the_header_alone_chooses_the_delimiter(tmp_path):
    for header, lines, points in [
        ("traj_id;lon;lat", ["1;2;3", "1,2,3", "a,b,c;4;5"], [[2, 3], [4, 5]]),
        ("traj_id\tlon\tlat\ta,b;c|d", ["1\t2\t3\t4", "1,2,3,4"], [[2, 3]]),
        ("traj_id|lon|lat", ["a b|2|3", "1 2 3"], [[2, 3]]),
        ('"traj_id" "lon" "lat"', ['"a b" 2   3', "  c\t4 5  ", "1,2,3"], [[2, 3], [4, 5]]),
        ("my trip,lon,lat", [], []),
    ]:
        path = table(tmp_path / "a.txt", lines, header)
        columns = {"traj_id": "my trip"} if "my trip" in header else None
        found = io.read(path, columns=columns).collect().points
        np.testing.assert_array_equal(found, np.reshape(points, (-1, 2)))


@pytest.mark.parametrize("delimiter", DELIMITERS.values(), ids=DELIMITERS)
@pytest.mark.parametrize("seed", range(2))
def test_lines_of_noise_are_read_as_if_alone(tmp_path, seed, delimiter):
    """One trajectory's rows may not change how another's are read, whatever bytes they hold."""
    rng = np.random.default_rng(seed)
    letters = np.array(list('"",;|\t\r\0\xff ab12.-') + [delimiter] * 8)
    lines = ["".join(rng.choice(letters, rng.integers(1, 12))) for _ in range(40)]

    def rows(lines):
        path = table(tmp_path / "a.csv", lines, delimiter.join(["lon", "lat", "traj_id"]))
        with open_source(path, None, Sizes(block_bytes=512)) as source:
            found = source.collect()
            names = np.repeat(found.ids, np.diff(found.offsets)).tolist()
            points = zip(names, found.points.tolist(), strict=True)
            faults = [(fault.line, fault.reason) for fault in source.faults()]
            return sorted(map(str, points)), source.dropped, faults

    alone = [rows([line]) for line in lines]
    assert any(points for points, _, _ in alone) and any(dropped for _, dropped, _ in alone)
    points, dropped, faults = rows(lines)
    assert points == sorted(point for points, _, _ in alone for point in points)
    assert dropped == sum((dropped for _, dropped, _ in alone), Counter())
    assert faults == sorted(
        (number + line - 2, reason) for number, (_, _, found) in enumerate(alone, 2) for line, reason in found
    )


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
