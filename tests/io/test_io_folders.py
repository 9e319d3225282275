"""A folder of tables is one table."""

import gzip
import os

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from privtrace import io
from privtrace.errors import DataError
from privtrace.io import open_source
from privtrace.io.source import Sizes

TINY = Sizes(part_points=7, batch_rows=5, bucket_rows=11, block_bytes=60)


def save(table: pa.Table, path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        pa.csv.write_csv(table, path)
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(path.read_bytes()))


def point_table(n: int = 60) -> pa.Table:
    rng = np.random.default_rng(3)
    ids = [f"trip {number}" for number in rng.integers(0, 9, n)]
    return pa.table({"traj_id": ids, "t": np.arange(float(n)), "x": rng.random(n), "y": rng.random(n)})


def trips(source):
    found = source.collect()
    bounds = zip(found.ids.tolist(), found.offsets[:-1], found.offsets[1:], strict=True)
    return {name: found.points[a:b].tolist() for name, a, b in bounds}


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.gz"])
def test_a_trajectory_may_lie_over_files(tmp_path, suffix):
    table = point_table()
    save(table, tmp_path / f"whole{suffix}")
    folder = tmp_path / "parts"
    for number, name in enumerate(["b", "a", "deep/er/c", "z"]):
        save(table.slice(15 * number, 15), folder / f"{name}{suffix}")
    for name in ("readme.txt", "_SUCCESS", ".part.crc", "_old/part.csv", ".git/a.parquet", "notes.md"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("something else")
    source = open_source(folder, None, TINY)
    assert trips(source) == trips(io.read(tmp_path / f"whole{suffix}"))
    assert source.n_points == 60 and source.dropped_rows == 0
    assert repr(source) == f"FileSource({str(folder)!r}, planar)"


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_files_are_read_in_order_of_their_paths(tmp_path, suffix):
    for name, x in {"b": 2.0, "a": 1.0, "c/a": 3.0, "c/b": 4.0}.items():
        save(pa.table({"traj_id": ["t"], "x": [x], "y": [0.0]}), tmp_path / f"{name}{suffix}")
    points = io.read(tmp_path).collect().points[:, 0].tolist()
    assert points == [1, 2, 3, 4]


def test_text_counts_where_nothing_else_is(tmp_path):
    for name, x in {"a": 1, "b": 2}.items():
        (tmp_path / f"{name}.txt").write_text(f"tid x y\n1 {x} 0\n")
    assert io.read(tmp_path).collect().points[:, 0].tolist() == [1, 2]


def test_faults_name_the_file(tmp_path):
    (tmp_path / "a.csv").write_text("tid,x,y\n1,2,3\n,2,3\n")
    (tmp_path / "b.csv").write_text("tid;x;y\n1;2,5;3\n\n1;z;3;4\n")  # each header says how its rows are read
    source = io.read(tmp_path)
    faults = [(fault.path.name, fault.line, fault.reason) for fault in source.faults()]
    assert faults == [("a.csv", 3, "no trajectory id"), ("b.csv", 4, "too many fields")]
    assert source.dropped == {"no trajectory id": 1, "too many fields": 1}
    assert source.collect().points.tolist() == [[2, 3], [2.5, 3]]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"tid": [1], "lng": [1.0], "lat": [2.0]}, "b.parquet: x is 'lng', not 'lon', as in "),
        ({"trip": [1], "lon": [1.0], "lat": [2.0]}, "b.parquet: trajectory is 'trip', not 'tid', as in "),
        ({"tid": [1], "x": [1.0], "y": [2.0]}, "b.parquet: x is 'x', not 'lon', as in "),
        ({"tid": [1], "lon": [1.0], "lat": [2.0], "t": [1.0]}, "b.parquet: time is 't', not absent, as in "),
        ({"tid": ["1"], "lon": [1.0], "lat": [2.0]}, "b.parquet: traj_id holds text, not int64, as in "),
    ],
)
def test_all_files_have_the_same_columns(tmp_path, other, words):
    save(pa.table({"tid": [1], "lon": [1.0], "lat": [2.0]}), tmp_path / "a.parquet")
    save(
        pa.table({"note": ["x"], "lat": [2], "lon": [1.0], "tid": pa.array([1], pa.int8())}),
        tmp_path / "aa.parquet",
    )
    assert len(io.read(tmp_path).collect()) == 1  # order, other columns and width of numbers do not matter
    save(pa.table(other), tmp_path / "b.parquet")
    with pytest.raises(DataError, match=f"{words}.*a.parquet; give all files") as caught:
        io.read(tmp_path)
    assert caught.value.__context__ is None


def test_types_of_times_have_to_agree(tmp_path):
    for name, unit in {"a": "ms", "b": "us"}.items():
        times = pa.array([1], pa.timestamp(unit))
        save(pa.table({"tid": [1], "x": [1.0], "y": [2.0], "t": times}), tmp_path / f"{name}.parquet")
    with pytest.raises(DataError, match=r"t holds timestamp\[us\], not timestamp\[ms\]"):
        io.read(tmp_path)
    (tmp_path / "a.parquet").unlink()
    (tmp_path / "b.parquet").unlink()
    (tmp_path / "a.csv").write_text("tid,x,y,time\n")
    (tmp_path / "b.csv").write_text("tid,x,y,datetime\n")
    with pytest.raises(DataError, match="time is 'datetime', not 'time', as in"):
        io.read(tmp_path)


def test_folders_without_one_kind_of_data(tmp_path):
    with pytest.raises(DataError, match=r"no data in this folder; looked for \.parquet"):
        io.read(tmp_path)
    (tmp_path / "notes.md").write_text("tid,x,y\n")
    (tmp_path / ".hidden.csv").write_text("tid,x,y\n")
    with pytest.raises(DataError, match="no data in this folder"):
        io.read(tmp_path)
    (tmp_path / "b.csv").write_text("tid,x,y\n")
    assert len(io.read(tmp_path).collect()) == 0
    save(pa.table({"tid": [1], "x": [1.0], "y": [2.0]}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"several formats: parquet \(.*a\.parquet\), csv \(.*b\.csv\); give"):
        io.read(tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"PK\x03\x04")
    with pytest.raises(DataError, match=r"a\.parquet: is a ZIP archive"):
        io.read(tmp_path)


def test_a_file_that_changes_meanwhile_is_named(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("tid,x,y\n1,2,3\n")
    source = io.read(tmp_path)
    os.utime(tmp_path / "b.csv", ns=(1, 1))
    with pytest.raises(DataError, match=r"b\.csv: changed while it was read"):
        source.collect()
