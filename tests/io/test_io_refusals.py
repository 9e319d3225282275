"""What a reader refuses: public facts only, in words that help and never quote a row."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privtrace import io
from privtrace.errors import DataError, SettingsError

GOOD = {"traj_id": [1, 1], "lon": [1.0, 2.0], "lat": [3.0, 4.0]}
FORMATS = [".parquet", ".csv"]


def header(path, names):
    if path.suffix == ".csv":
        path.write_text(",".join(names) + "\n")
    else:
        pq.write_table(pa.table([pa.array([], pa.float64())] * len(names), names=list(names)), path)
    return path


def refusal(path, **options) -> str:
    with pytest.raises(DataError) as caught:
        io.read(path, **options)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    message = str(caught.value)
    assert message.startswith(str(path))
    return message


def test_paths_that_are_no_file(tmp_path):
    assert "no such file" in refusal(tmp_path / "none.csv")
    assert "is a folder" in refusal(tmp_path)
    foreign = tmp_path / "a.xlsx"
    foreign.write_bytes(b"x")
    assert "unknown format '.xlsx'; the suffix must be one of .parquet, .pq, .csv" in refusal(foreign)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("id lon lat", "no column 'traj_id'; found id, lon, lat; name"),
        ("traj_id lon", "no column 'lat'; found traj_id, lon; name"),
        ("traj_id y", "no column 'x'; found traj_id, y; name"),
        ("traj_id a b", "no columns for the coordinates; found traj_id, a, b; name them 'lon' and 'lat'"),
        ("traj_id lon lat x y", "pass --crs lonlat or --crs planar"),
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
        ("lon", ["secret", "secret"], "holds string; convert it to numbers"),
        ("lat", [True, False], "holds bool; convert it to numbers"),
        ("traj_id", [[1], [2]], "convert it to integers or text"),
        ("user_id", [True, False], "convert it to integers or text"),
        ("t", ["secret", "secret"], "holds string; convert it to numbers or timestamps"),
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
    assert "header" in refusal(path)


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
    }.items():
        path = tmp_path / f"{name}.parquet"
        path.write_bytes(content)
        assert "damaged or truncated" in refusal(path)
        path = tmp_path / f"{name}.csv"
        path.write_bytes(content)
        if name != "csv":
            refusal(path)


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
