"""What a reader refuses: public facts only, in words that help and never quote a row."""

import bz2
import gzip
import lzma
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privtrace import io
from privtrace.errors import DataError, SettingsError

GOOD = {"traj_id": [1, 1], "lon": [1.0, 2.0], "lat": [3.0, 4.0]}
FORMATS = [".parquet", ".csv", ".tsv"]


def header(path, names):
    if path.suffix != ".parquet":
        path.write_text({".csv": ",", ".tsv": "\t"}[path.suffix].join(names) + "\n")
    else:
        pq.write_table(pa.table([pa.array([], pa.float64())] * len(names), names=list(names)), path)
    return path


def refusal(path, **options) -> str:
    with pytest.raises(DataError) as caught:
        io.read(path, **options)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    message = str(caught.value)
    assert message.startswith(str(path))
    return message.removeprefix(str(path))


def test_paths_that_are_no_file(tmp_path):
    assert "no such file" in refusal(tmp_path / "none.csv")
    assert "cannot be opened" in refusal(tmp_path / "a\0b.csv")
    assert "cannot be opened" in refusal(tmp_path / ("a" * 5000))
    os.mkfifo(tmp_path / "pipe.csv")
    assert "not a regular file" in refusal(tmp_path / "pipe.csv")


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("name lon lat", "no column 'traj_id'; found name, lon, lat; name the trajectories' column 'traj_id'"),
        ("uid lon lat t", "found uid, lon, lat, t; name the trajectories' column 'traj_id' or pass --columns"),
        ("uid lon lat t", "or pass --gap 30 (gap_minutes=30) to cut the log of each user where it pauses"),
        ("traj_id lon", "no column 'lat'; found traj_id, lon; name"),
        ("traj_id y", "no column 'x'; found traj_id, y; name"),
        ("tid trip_id lon lat", "columns 'tid' and 'trip_id' could each be 'traj_id'; choose with --columns"),
        ("tid lon lng lat", "columns 'lon' and 'lng' could each be 'lon'; choose with --columns lon=NAME"),
        ("tid lon lat Time TIMESTAMP", "columns 'Time' and 'TIMESTAMP' could each be 't'; choose"),
        ("one two three", "no column 'traj_id'; none of its 3 columns has a known name"),
        ("traj_id a b", "no columns for the coordinates; found traj_id, a, b; name the coordinates 'lon'"),
        ("traj_id lon lat x y", "pass --crs lonlat (crs='lonlat') or --crs planar (crs='planar')"),
        ("traj_id lon lat t t", "2 columns 't'; keep one"),
    ],
)
def test_headers(tmp_path, suffix, names, words):
    assert words in refusal(header(tmp_path / f"a{suffix}", names.split()))


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    ("names", "declared", "crs"),
    [
        ("traj_id x y", None, "planar"),
        ("traj_id x y", "lonlat", "lonlat"),
        ("traj_id lat lon", None, "lonlat"),
        ("traj_id lon lat", "planar", "planar"),
        ("traj_id lon lat x y", "planar", "planar"),
        ("traj_id lon lat x y other other", "lonlat", "lonlat"),
    ],
)
def test_names_and_declarations_decide_the_crs(tmp_path, suffix, names, declared, crs):
    source = io.read(header(tmp_path / f"a{suffix}", names.split()), crs=declared)
    assert source.crs == crs
    assert len(source.collect()) == 0


def test_a_declared_crs_picks_the_pair(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("traj_id,lon,lat,x,y\n1,1,2,3,4\n")
    assert io.read(path, crs="lonlat").collect().points.tolist() == [[1, 2]]
    assert io.read(path, crs="planar").collect().points.tolist() == [[3, 4]]
    with pytest.raises(SettingsError, match="'mercator'"):
        io.read(path, crs="mercator")


@pytest.mark.parametrize(
    ("name", "column", "cure"),
    [
        ("lon", ["secret", "secret"], "holds text; convert it to numbers"),
        ("lat", [True, False], "holds bool; convert it to numbers"),
        ("traj_id", [[1], [2]], "convert it to integers or text"),
        ("user_id", [True, False], "convert it to integers or text"),
        ("t", [True, False], "holds bool; convert it to timestamps, numbers or text"),
    ],
)
def test_types_of_parquet(tmp_path, name, column, cure):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(GOOD | {name: column}), path)
    message = refusal(path)
    assert cure in message and f"column {name!r}" in message and "secret" not in message


@pytest.mark.parametrize("suffix", FORMATS)
def test_an_empty_file_has_no_header(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    path.touch()
    assert "is empty and has no header" in refusal(path)
    path.write_bytes(gzip.compress(b""))
    assert "is empty and has no header" in refusal(path)
    path.write_bytes(b"\n1,2,3\n")
    assert "no header" in refusal(path) or suffix == ".parquet"


@pytest.mark.parametrize(
    "line", ["17,-8.625,41.125", "ann;-8.625;41.125", "17\t-8.625\t41.125", "1,2020-01-02 03:04:05,home"]
)
def test_a_row_in_place_of_a_header_is_not_quoted(tmp_path, line):
    path = tmp_path / "a.csv"
    path.write_text(f"{line}\n{line}\n")
    message = refusal(path)
    assert "add a header row" in message
    assert not any(value in message for value in ("8.625", "41.125", "ann", "2020", "home"))


def test_foreign_and_damaged_files(tmp_path):
    whole = tmp_path / "whole.parquet"
    pq.write_table(pa.table(GOOD), whole)
    for name, content in {
        "truncated": whole.read_bytes()[:-20],
        "foreign": b"\x89PNG\r\n\x1a\n" + bytes(100),
        "csv": b"traj_id,lon,lat\n1,2,3\n",
        "tail": whole.read_bytes()[-50:],
        "short": b"PAR",
    }.items():
        path = tmp_path / f"{name}.parquet"
        path.write_bytes(content)
        words = {"truncated": "damaged or truncated", "foreign": "is a PNG picture"}
        assert words.get(name, "is named like Parquet but does not start like it") in refusal(path)
        path = tmp_path / f"{name}.csv"
        path.write_bytes(content)
        if name != "csv":
            refusal(path)


FOREIGN = {
    "a ZIP archive or a spreadsheet": b"PK\x03\x04\x14\0",
    "a PDF document": b"%PDF-1.7\n",
    "a PNG picture": b"\x89PNG\r\n\x1a\n",
    "an SQLite database": b"SQLite format 3\0",
    "an HDF5 file": b"\x89HDF\r\n\x1a\n",
    "an Arrow (Feather) file": b"ARROW1\0\0",
    "JSON": b'{"type": "FeatureCollection"}',
    "JSON;": b"\xef\xbb\xbf [\n[8.5, 47.3]]",
    "XML other than GPX and KML": b'<?xml version="1.0"?>\n<osm>',
    "text in UTF-16": "traj_id,lon,lat\n".encode("utf-16"),
    "packed with zstd": b"\x28\xb5\x2f\xfd\0",
    "packed with bzip2": bz2.compress(b"traj_id,lon,lat\n"),
    "packed with xz": lzma.compress(b"traj_id,lon,lat\n"),
    "packed twice": gzip.compress(gzip.compress(b"traj_id,lon,lat\n")),
    "Parquet packed with gzip": gzip.compress(b"PAR1"),
    "a privtrace model": b"PRIVTRAC\0\0",
    "a tar archive": b"a.csv".ljust(257, b"\0") + b"ustar\0",
    "a binary file of an unknown format": b"\x01\x02\0\n",
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ""])
def test_what_is_something_else_is_named(tmp_path, suffix, packed):
    for what, content in FOREIGN.items():
        path = tmp_path / f"a{suffix}"
        path.write_bytes(gzip.compress(content) if packed and not content.startswith(b"\x1f\x8b") else content)
        message = refusal(path)
        assert f"is {what}" in message or suffix == ".parquet"
        assert "; " in message, what  # a cure


def test_marks_of_something_else_count_in_the_first_line_only(tmp_path):
    path = tmp_path / "a.csv"
    start = b"traj_id,x,y\n"
    row = b"1".ljust(257 - len(start) - 0, b"1") + b"ustar,1,2\n"
    path.write_bytes(start + row + b"\x1f\x8b,1,2\n\0,1,2\n{,3,4\n<,5,6\nPAR1,7,8\nPK\x03\x04,9,1\n")
    assert len(io.read(path).collect()) == 7


def test_lines_that_end_in_returns_alone(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"traj_id,lon,lat\r1917,8.5,47.3\r1917,8.5,47.4\r")
    message = refusal(path)
    assert "carriage returns alone" in message and "8.5" not in message and "1917" not in message


@pytest.mark.parametrize("n_bytes", [5, 15, 40, -3])
def test_truncated_gzip(tmp_path, n_bytes):
    path = tmp_path / "a.csv.gz"
    lines = b"".join(b"%d,%d,%d\n" % (i, i * i % 97, i * i % 89) for i in range(200))
    path.write_bytes(gzip.compress(b"traj_id,lon,lat\n" + lines)[:n_bytes])
    with pytest.raises(DataError, match=r"damaged or truncated|is empty"):
        io.read(path).collect()


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    ("names", "columns", "layout"),
    [
        ("a b c", {"traj_id": "a", "lon": "c", "lat": "b"}, ("a", None, None, "c", "b", "lonlat")),
        ("a b c", {"traj_id": "a", "x": "c", "y": "b"}, ("a", None, None, "c", "b", "planar")),
        ("Trip-ID LONGITUDE Latitude", {}, ("Trip-ID", None, None, "LONGITUDE", "Latitude", "lonlat")),
        ("id tid lng lat", {}, ("tid", None, None, "lng", "lat", "lonlat")),
        ("id uid lng lat time", {}, ("id", "uid", "time", "lng", "lat", "lonlat")),
        ("id uid lng lat time", {"user_id": "", "t": ""}, ("id", None, None, "lng", "lat", "lonlat")),
        ("id uid lng lat", {"traj_id": "uid"}, ("uid", None, None, "lng", "lat", "lonlat")),
        ("tid lon lat x y", {"x": "x"}, ("tid", None, None, "x", "y", "planar")),
        ("tid lon lat x y", {"lon": "", "lat": ""}, ("tid", None, None, "x", "y", "planar")),
        ("tid a lat x y", {"lon": "a"}, ("tid", None, None, "a", "lat", "lonlat")),
        ("tid lon lng lat", {"lon": "lng"}, ("tid", None, None, "lng", "lat", "lonlat")),
        ("tid t datetime x y", {"t": "datetime"}, ("tid", None, "datetime", "x", "y", "planar")),
    ],
)
def test_columns_are_found_and_declared(tmp_path, suffix, names, columns, layout):
    source = io.read(header(tmp_path / f"a{suffix}", names.split()), columns=columns)
    found = source._reader.layout
    assert (found.trajectory, found.user, found.time, found.x, found.y, found.crs) == layout
    assert len(source.collect()) == 0


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"lon": "east"}, "no column 'east' for lon; found tid, lon, lat, note, note; check --columns"),
        ({"user_id": "note"}, "there are 2 columns 'note'; keep one"),
        ({"lat": ""}, "no column 'lat'"),
        ({"traj_id": ""}, "no column 'traj_id'"),
    ],
)
def test_declared_columns_that_do_not_fit(tmp_path, suffix, columns, words):
    path = header(tmp_path / f"a{suffix}", ["tid", "lon", "lat", "note", "note"])
    assert words in refusal(path, columns=columns)


def test_declared_columns_that_make_no_sense(tmp_path):
    path = header(tmp_path / "a.csv", ["tid", "lon", "lat"])
    with pytest.raises(SettingsError, match="no role is called 'longitude'; roles are traj_id"):
        io.read(path, columns={"longitude": "lon"})
    with pytest.raises(SettingsError, match="'lon' is named for two roles"):
        io.read(path, columns={"lon": "lon", "x": "lon"})


def test_columns_of_a_command_line():
    assert io.parse_columns("lon=X, lat = Y y,user_id=") == {"lon": "X", "lat": "Y y", "user_id": ""}
    assert io.parse_columns("t=a=b") == {"t": "a=b"}
    for text, words in {
        "": "is not ROLE=NAME",
        "lon": "'lon' is not ROLE=NAME; write them as lon=X,lat=Y",
        "lon=X,": "is not ROLE=NAME",
        "=X": "is not ROLE=NAME",
        "lon=X,lon=Y": "'lon' is given twice",
        "east=X": "no role is called 'east'",
        "lon=X,lat=X": "named for two roles",
    }.items():
        with pytest.raises(SettingsError, match=words):
            io.parse_columns(text)


def test_a_row_that_holds_no_known_name_is_not_quoted_whatever_is_declared(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("home;ann;work\n")
    for columns in ({}, {"lon": "x1"}, {"user_id": ""}):
        message = refusal(path, columns=columns)
        assert "3 columns" in message and "ann" not in message and "home" not in message


def test_damage_inside_shows_during_a_pass(tmp_path):
    path = tmp_path / "a.parquet"
    rng = np.random.default_rng(0)
    columns = {"traj_id": np.arange(5000), "lon": rng.random(5000), "lat": rng.random(5000)}
    pq.write_table(pa.table(columns), path, compression="zstd", use_dictionary=False)
    content = bytearray(path.read_bytes())
    content[20:20000] = bytes(19980)
    path.write_bytes(content)
    source = io.read(path)  # header and footer are sound
    with pytest.raises(DataError, match=r"damaged or truncated.*write the Parquet file again") as caught:
        source.collect()
    assert caught.value.__suppress_context__
