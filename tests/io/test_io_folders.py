"""A folder of tables is one table."""

import gzip
import os

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from tests.io import samples

from privtrace import io
from privtrace.errors import DataError, SettingsError
from privtrace.io import open_source
from privtrace.io.check import remarks
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
    return pa.table({"traj_id": ids, "t": np.arange(float(n)), "lon": rng.random(n), "lat": rng.random(n)})


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
    assert repr(source) == f"FileSource({str(folder)!r}, lonlat)"


@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_files_are_read_in_order_of_their_paths(tmp_path, suffix):
    for name, x in {"b": 2.0, "a": 1.0, "c/a": 3.0, "c/b": 4.0}.items():
        save(pa.table({"traj_id": ["t"], "lon": [x], "lat": [0.0]}), tmp_path / f"{name}{suffix}")
    points = io.read(tmp_path).collect().points[:, 0].tolist()
    assert points == [1, 2, 3, 4]


def test_text_counts_where_its_header_says_so(tmp_path):
    for name, x in {"a": 1, "b": 2}.items():
        (tmp_path / f"{name}.txt").write_text(f"tid lon lat\n1 {x} 0\n")
    assert io.read(tmp_path).collect().points[:, 0].tolist() == [1, 2]


def test_faults_name_the_file(tmp_path):
    (tmp_path / "a.csv").write_text("tid,lon,lat\n1,2,3\n,2,3\n")
    (tmp_path / "b.csv").write_text(
        "tid;lon;lat\n1;2,5;3\n\n1;z;3;4\n"
    )  # each header says how its rows are read
    source = io.read(tmp_path)
    faults = [(fault.path.name, fault.line, fault.reason) for fault in source.faults()]
    assert faults == [("a.csv", 3, "no trajectory id"), ("b.csv", 4, "too many fields")]
    assert source.dropped == {"no trajectory id": 1, "too many fields": 1}
    assert source.collect().points.tolist() == [[2, 3], [2.5, 3]]


def rows(source):
    """Give the rows of all trajectories as (user, trajectory, x, time)."""
    found = source.collect()
    owners = np.repeat(np.arange(len(found)), np.diff(found.offsets))
    users, ids = (np.asarray(column)[owners].tolist() for column in (found.users, found.ids))
    return sorted(zip(users, ids, found.points[:, 0].tolist(), found.times.astype(str).tolist(), strict=True))


OTHERS = {
    "other names": ({"Trip": ["8"], "lng": [2.0], "lat": [2.0]}, ("", "8", 2.0, "NaT")),
    "a user": ({"tid": ["8"], "uid": ["u"], "lon": [2.0], "lat": [2.0]}, ("u", "8", 2.0, "NaT")),
    "numbers": ({"tid": [8], "lon": [2.0], "lat": [2.0]}, ("", "8", 2.0, "NaT")),
    "floats": ({"tid": [8.0], "uid": [0.5], "lon": [2.0], "lat": [2.0]}, ("0.5", "8", 2.0, "NaT")),
    "large floats": ({"tid": [2.0**53], "lon": [2.0], "lat": [2.0]}, ("", "9007199254740992", 2.0, "NaT")),
    "seconds": (
        {"tid": ["8"], "lon": [2.0], "lat": [2.0], "t": [1.5]},
        ("", "8", 2.0, "1970-01-01T00:00:01.500000"),
    ),
    "another unit": (
        {"tid": ["8"], "lon": [2.0], "lat": [2.0], "t": pa.array([-1001], pa.timestamp("ns", "Europe/Rome"))},
        ("", "8", 2.0, "1969-12-31T23:59:59.999998"),
    ),
    "days": (
        {"tid": ["8"], "lon": [2.0], "lat": [2.0], "t": pa.array([1], pa.date32())},
        ("", "8", 2.0, "1970-01-02T00:00:00.000000"),
    ),
    "times beyond all": (
        {"tid": ["8"], "lon": [2.0], "lat": [2.0], "t": pa.array([-(2**62)], pa.timestamp("ms"))},
        ("", "8", 2.0, "NaT"),
    ),
}


@pytest.mark.parametrize(("other", "row"), OTHERS.values(), ids=OTHERS)
def test_files_may_have_other_columns_and_types(tmp_path, other, row):
    whole = {"tid": ["7"], "lon": [1.0], "lat": [2.0], "t": pa.array([10**6], pa.timestamp("us"))}
    save(pa.table(whole), tmp_path / "a.parquet")
    before = rows(io.read(tmp_path))
    assert before == [("", "7", 1.0, "1970-01-01T00:00:01.000000")]
    for name in ("0", "b"):
        save(pa.table(other), tmp_path / f"{name}.parquet")
        assert rows(io.read(tmp_path)) == sorted([*before, row])
        (tmp_path / f"{name}.parquet").unlink()


def test_the_number_7_and_the_text_7_are_one_trajectory(tmp_path):
    for name, id in {"a": 7, "b": "7", "c": 7.0}.items():
        save(pa.table({"tid": [id], "lon": [1.0], "lat": [2.0]}), tmp_path / f"{name}.parquet")
    (tmp_path / "d.csv").write_text("trip;lon;lat\n7;1,0;2\n")
    found = io.read(tmp_path).collect()
    assert found.ids.tolist() == ["7"] and found.n_points == 4


def test_named_columns_may_be_lacking(tmp_path):
    (tmp_path / "a.csv").write_text("ride,who,when,lon,lat\nr,ann,1970-01-01,1,2\n")
    (tmp_path / "b.csv").write_text("ride,lon,lat,user_id\ns,2,2,eve\n")
    (tmp_path / "c.csv").write_text("who,lon,lat\nbob,3,2\n")
    columns = {"traj_id": "ride", "user_id": "who", "t": "when"}
    source = io.read(tmp_path, columns=columns)
    assert [row[:3] for row in rows(source)] == [("", "s", 2.0), ("ann", "r", 1.0)]
    assert [fault.path.name for fault in source.faults()] == ["c.csv"]
    with pytest.raises(DataError, match="no column 'when' for t"):
        io.read(tmp_path / "b.csv", columns={"t": "when"})
    bare = io.read(tmp_path, columns={**columns, "user_id": "", "t": ""}).collect()
    assert bare.users is None and bare.times is None


def test_points_mean_what_is_declared_else_degrees(tmp_path):
    (tmp_path / "a.csv").write_text("tid,lon,lat\na,1,2\n")
    (tmp_path / "b.csv").write_text("tid,x,y\nb,1,2\n")
    (tmp_path / "c.dat").write_text("#c:\n>0:1,2;\n")
    source = io.read(tmp_path)
    assert (source.crs, source.collect().ids.tolist()) == ("lonlat", ["a"])
    assert {fault.path.name for fault in source.faults() if "pass --crs planar" in fault.reason} == {
        "b.csv",
        "c.dat",
    }
    planar = io.read(tmp_path, crs="planar")
    assert (planar.crs, sorted(planar.collect().ids.tolist())) == ("planar", ["a", "b", "c"])


def test_gaps_need_calendar_times(tmp_path):
    (tmp_path / "a.csv").write_text("tid,lon,lat,datetime\na,1,2,2024-01-01T00:00\na,1,2,2024-01-01T09:00\n")
    save(
        pa.table({"tid": ["b", "b"], "lon": [1.0, 2.0], "lat": [1.0, 2.0], "t": [0, 10**9]}),
        tmp_path / "b.parquet",
    )
    found = io.read(tmp_path, gap_minutes=30).collect()
    assert found.ids.tolist()[:2] == ["a/1", "a/2"] and "b/2" not in found.ids.tolist()


def test_what_cannot_be_read_is_left_out(tmp_path):
    (tmp_path / "a.csv").write_text("tid,lon,lat\na,1,2\n")
    for name, content in {
        "b.csv": b"",
        "c.parquet": b"PK\x03\x04",
        "d.csv": b"1,2,3\n",
        "e.csv.gz": gzip.compress(b"tid,lon,lat\n" + b"e,1,2\n" * 10**3)[:-9],
        "f.geojson": b'{"features":[{"geometry":{"type":"LineString","coordinates":[[1,2]]}},{',
        "g.gpx": b"<gpx><trk>",
    }.items():
        (tmp_path / name).write_bytes(content)
    pt_line = '{"type":"Feature","geometry":{"type":"LineString","coordinates":[[5,6]]}}'
    (tmp_path / "h.geojson").write_text(pt_line)
    for sizes in (TINY, Sizes()):
        source = open_source(tmp_path, None, sizes)
        found = source.collect()
        assert found.ids.tolist()[0] == "a" and found.points[-1].tolist() == [5, 6]
        assert len(set(found.ids.tolist())) == len(found)  # also of lines after those of a damaged file
        faults = {fault.path.name: fault.reason for fault in source.faults()}
        assert sorted(faults) == ["b.csv", "c.parquet", "d.csv", "e.csv.gz", "f.geojson", "g.gpx"]
        assert all(reason.startswith("the file is left out") for reason in faults.values())
        assert source.dropped_rows == 6
        assert remarks(source).n_rows == found.n_points + 6


def test_a_damaged_file_ends_at_the_same_place_in_every_pass(tmp_path):
    rng = np.random.default_rng(0)
    columns = {"traj_id": np.arange(5000), "lon": rng.random(5000), "lat": rng.random(5000)}
    pq.write_table(
        pa.table(columns), tmp_path / "a.parquet", compression="zstd", use_dictionary=False, row_group_size=1000
    )
    content = bytearray((tmp_path / "a.parquet").read_bytes())
    content[len(content) // 2 : len(content) // 2 + 3000] = bytes(3000)
    (tmp_path / "a.parquet").write_bytes(content)
    save(pa.table({"traj_id": [9999], "lon": [1.0], "lat": [2.0]}), tmp_path / "b.parquet")
    source = io.read(tmp_path)
    keys = sum(batch.num_rows for batch in io.FileSource.keys(source))
    assert keys == source.collect().n_points < 5000 and source.dropped_rows == 1
    assert source.collect().ids.tolist()[-1] == "9999"


def test_files_of_several_formats_are_read_each_by_itself(tmp_path):
    (tmp_path / "b.csv").write_text("tid,lon,lat\nb,1,2\n")
    save(pa.table({"tid": [1], "lon": [1.0], "lat": [2.0]}), tmp_path / "a.parquet")
    (tmp_path / "c.plt").write_text(samples.PLT_HEADER + "40,116,0,-777,39745,2008-10-24,02:09:59\n")
    (tmp_path / "p.csv").write_text('TRIP_ID,POLYLINE\np,"[[1,2]]"\n')
    (tmp_path / "notes.txt").write_text("These are our data.\n")
    (tmp_path / "t.txt").write_text("tid lon lat\nt 1 2\n")
    assert sorted(io.read(tmp_path).collect().ids.tolist()) == ["1", "b", "c", "p", "t"]
    assert io.read(tmp_path, format="geolife").collect().ids.tolist() == ["c"]
    assert io.read(tmp_path, format="parquet").collect().ids.tolist() == ["1"]
    declared = io.read(tmp_path, format="csv")
    assert declared.collect().ids.tolist() == ["b", "t"] and declared.dropped_rows == 2


def test_folders_without_data(tmp_path):
    with pytest.raises(DataError, match=r"no data in this folder; looked for \.parquet"):
        io.read(tmp_path)
    (tmp_path / "notes.md").write_text("tid,lon,lat\n")
    (tmp_path / ".hidden.csv").write_text("tid,lon,lat\n")
    with pytest.raises(DataError, match="no data in this folder"):
        io.read(tmp_path)
    assert len(io.read(tmp_path, format="csv").collect()) == 0
    (tmp_path / "b.csv").write_text("tid,lon,lat\n")
    assert len(io.read(tmp_path).collect()) == 0
    with pytest.raises(SettingsError, match="--format \\(format\\) must be one of parquet, "):
        io.read(tmp_path, format="xlsx")


def test_a_file_that_changes_meanwhile_is_named(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("tid,x,y\n1,2,3\n")
    source = io.read(tmp_path)
    os.utime(tmp_path / "b.csv", ns=(1, 1))
    with pytest.raises(DataError, match=r"b\.csv: changed while it was read"):
        source.collect()
