"""Both formats, read in tiny batches, against a slow and obvious oracle."""

import math
import os
import pickle
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from privtrace import io, rows
from privtrace.errors import DataError
from privtrace.io import open_source
from privtrace.io.source import FileSource, Sizes
from privtrace.trajectories import Trajectories

TINY = Sizes(part_points=7, batch_rows=5, bucket_rows=11, block_bytes=60)
FORMATS = [".parquet", ".csv"]


def save(table: pa.Table, path: Path) -> Path:
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=13)
    else:
        pa.csv.write_csv(table, path)
    return path


def open_tiny(path: Path, sizes: Sizes = TINY) -> FileSource:
    return open_source(path, None, sizes)


def oracle(table: pa.Table) -> dict[tuple, list]:
    """Group rows by a dictionary of lists: {(user, trajectory): [(x, y, t), ...]} in order of appearance."""
    groups: dict[tuple, list] = {}
    for row in table.to_pylist():
        if row["traj_id"] in (None, ""):
            continue
        key = (str(row.get("user_id") or ""), str(row["traj_id"]))
        groups.setdefault(key, []).append((row["lon"], row["lat"], row.get("t")))
    if "t" in table.column_names:
        for points in groups.values():
            points.sort(key=lambda point: math.inf if point[2] is None else point[2])
    return groups


def as_lists(trajectories: Trajectories) -> list[list[tuple[float, float]]]:
    bounds = zip(trajectories.offsets[:-1], trajectories.offsets[1:], strict=True)
    return [[tuple(point) for point in trajectories.points[a:b].tolist()] for a, b in bounds]


def expected(table: pa.Table) -> list[list[tuple[float, float]]]:
    return [[(lon, lat) for lon, lat, _ in points] for points in oracle(table).values()]


def random_table(seed: int, ids: pa.DataType, scattered: bool, users: bool) -> pa.Table:
    rng = np.random.default_rng(seed)
    n = 120
    numbers = rng.integers(0, 17, n)
    numbers = numbers if scattered else np.sort(numbers)
    names = pa.array(numbers * 1000 + 5)
    columns = {
        "traj_id": names.cast(pa.string()).cast(ids) if pa.types.is_string(ids) else names.cast(ids),
        "lon": pa.array(np.arange(n) / 8),  # every point is different, so order is visible
        "lat": pa.array(rng.uniform(-90, 90, n)),
        "t": pa.array(rng.permutation(n).astype(float), mask=rng.random(n) < 0.1),
    }
    if users:
        columns["user_id"] = pa.array([None if u == 0 else f"u{u}" for u in rng.integers(0, 4, n)])
    return pa.table(columns)


IDS = [pa.int32(), pa.int64(), pa.uint64(), pa.float64(), pa.string()]

#: Each pair of type, order, users and format occurs: the two files of a type have nothing else in common.
KINDS = [
    (ids, scattered, (number // 2 + scattered) % 2 == 1, FORMATS[(number + scattered) % 2])
    for number, ids in enumerate(IDS)
    for scattered in (False, True)
]


@pytest.mark.parametrize(("ids", "scattered", "users", "suffix"), KINDS, ids=str)
def test_rows_of_a_key_are_one_trajectory_wherever_they_stand(tmp_path, ids, scattered, users, suffix):
    table = random_table(0, ids, scattered, users)
    path = save(table, tmp_path / f"a{suffix}")
    source = open_tiny(path)
    assert sorted(as_lists(source.collect())) == sorted(expected(table))
    assert sorted(as_lists(io.read(path).collect())) == sorted(expected(table))
    if not scattered and not users:
        assert as_lists(source.collect()) == expected(table)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("scattered", [False, True])
def test_every_pass_yields_the_same_parts(tmp_path, scattered, suffix):
    source = open_tiny(save(random_table(1, pa.int64(), scattered, True), tmp_path / f"a{suffix}"))
    first, second = (list(source.parts()) for _ in range(2))
    assert len(first) > 3
    # A bucket of scattered rows, and what it is cut into, may hold fewer.
    assert np.mean([part.n_points for part in first]) >= TINY.part_points / 2
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.points, other.points)
        np.testing.assert_array_equal(one.offsets, other.offsets)
        assert one.users.tolist() == other.users.tolist()


def test_two_passes_at_once_do_not_disturb_each_other(tmp_path):
    source = open_tiny(save(random_table(1, pa.int64(), True, True), tmp_path / "a.csv"))
    for one, other in zip(source.parts(), source.parts(), strict=True):
        np.testing.assert_array_equal(one.points, other.points)


@pytest.mark.parametrize("suffix", FORMATS)
def test_one_giant_trajectory_is_one_part(tmp_path, suffix):
    n = 100
    table = pa.table({"traj_id": [1, 2] + [3] * n, "x": np.arange(n + 2.0), "y": np.zeros(n + 2)})
    parts = list(open_tiny(save(table, tmp_path / f"a{suffix}")).parts())
    assert [len(trajectories) for trajectories in parts] == [3]
    assert parts[0].offsets.tolist() == [0, 1, 2, n + 2]
    assert parts[0].crs == "planar"


@pytest.mark.parametrize("suffix", FORMATS)
def test_users_share_trajectory_ids(tmp_path, suffix):
    table = pa.table(
        {
            "traj_id": [1, 1, 1, 1, 1],
            "user_id": ["ann", "bob", "ann", "bob", None],
            "lon": [0.0, 1, 2, 3, 4],
            "lat": [0.0] * 5,
        }
    )
    trajectories = open_tiny(save(table, tmp_path / f"a{suffix}")).collect()
    found = dict(zip(trajectories.users.tolist(), as_lists(trajectories), strict=True))
    assert found == {"ann": [(0, 0), (2, 0)], "bob": [(1, 0), (3, 0)], "": [(4, 0)]}


@pytest.mark.parametrize("kind", [pa.int32(), pa.uint64(), pa.float32()], ids=str)
def test_unknown_users_do_not_change_the_type_of_users(tmp_path, kind):
    table = pa.table(
        {
            "traj_id": pa.array([1, 2, 3]).dictionary_encode(),
            "user_id": pa.array([7, None, 7], kind),
            "lon": [0.0, 1, 2],
            "lat": [0.0, 0, 0],
        }
    )
    users = open_tiny(save(table, tmp_path / "a.parquet")).collect().users
    assert users[0] == users[2] == 7
    assert users[1] != users[1] or users[1] in (np.iinfo(np.int64).min, np.iinfo(np.uint64).max)


def test_large_integers_are_different_ids(tmp_path):
    ids = [2**63, 2**63 + 1, 2**64 - 2]
    table = pa.table({"traj_id": pa.array(ids, pa.uint64()), "user_id": pa.array(ids, pa.uint64())})
    table = table.append_column("x", pa.array([1, 2, 3])).append_column("y", pa.array([1, 2, 3], pa.int8()))
    trajectories = open_tiny(save(table, tmp_path / "a.parquet")).collect()
    assert len(trajectories) == 3
    assert trajectories.users.tolist() == ids


@pytest.mark.parametrize("column", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(1)], ids=str)
def test_text_of_any_type_is_an_id(tmp_path, column):
    ids = pa.array([b"a", b"b", b"a"], pa.binary()).cast(column)
    for name, ids_or_dictionary in [("plain", ids), ("dictionary", None)]:
        if ids_or_dictionary is None:
            if pa.types.is_string_view(column):
                continue
            ids_or_dictionary = ids.dictionary_encode()
        table = pa.table({"traj_id": ids_or_dictionary, "lon": [0.0, 1, 2], "lat": [0.0, 0, 0]})
        trajectories = open_tiny(save(table, tmp_path / f"{name}.parquet")).collect()
        assert as_lists(trajectories) == [[(0, 0), (2, 0)], [(1, 0)]]


def test_bytes_that_are_no_text_stay_apart(tmp_path):
    """Users that looked alike after decoding would be counted as one, and the promise to each be broken."""
    users = [b"\xff", b"\xfe", "\ufffd".encode(), "\ufffdff".encode(), b"a", b"a\0"]
    lines = b"".join(b"1,%b,0,0\n" % user for user in users)
    path = tmp_path / "a.csv"
    path.write_bytes(b"traj_id,user_id,lon,lat\n" + lines)
    found = open_tiny(path).collect().users.tolist()
    assert len(set(found)) == len(users)
    assert "a" in found and "a\0" in found
    "".join(found).encode()


@pytest.mark.parametrize("suffix", [*FORMATS, ".dat", ".porto"])
def test_long_ids_are_shortened_and_stay_apart(tmp_path, suffix):
    most = rows.LONGEST_ID
    names = ["a" * most, "a" * (most + 1), "b" + "a" * 5000, "a" * 5000, "a" * 4999 + "b"]
    path = tmp_path / f"a{suffix.replace('porto', 'csv')}"
    if suffix == ".dat":
        path.write_text("".join(f"#{name}:\n>0:1,2;3,4;\n" for name in names))
    elif suffix == ".porto":
        path.write_text("TRIP_ID,POLYLINE\n" + "".join(f'{name},"[[1,2],[3,4]]"\n' for name in names))
    else:
        save(pa.table({"traj_id": names * 2, "x": [1.0] * 10, "y": [2.0] * 10}), path)
    read = io.read(path).collect()
    assert len(read) == len(set(read.ids.tolist())) == 5
    found = [runs.keys["traj_id"] for runs in io.read(path).made(lambda runs: runs)]
    assert max(len(id.as_py()) for ids in found for id in ids) == most + 1


@pytest.mark.parametrize("encode", [False, True])
def test_text_of_parquet_may_be_no_text(tmp_path, encode):
    raw = pa.array([b"\xff", b"a", b"\xfe", b"\xff"], pa.binary())
    ids = pa.Array.from_buffers(pa.string(), 4, raw.buffers())  # arrow checks nothing here
    ids = ids.dictionary_encode() if encode else ids
    table = pa.table({"traj_id": ids, "user_id": ids, "x": np.arange(4.0), "y": np.zeros(4)})
    trajectories = open_tiny(save(table, tmp_path / "a.parquet")).collect()
    assert trajectories.offsets.tolist() == [0, 2, 3, 4]
    assert len(set(trajectories.users.tolist())) == 3


@pytest.mark.parametrize("suffix", FORMATS)
def test_points_are_in_order_of_time_and_missing_times_last(tmp_path, suffix):
    table = pa.table(
        {
            "traj_id": [1, 1, 1, 1, 2, 2],
            "lon": [0.0, 1, 2, 3, 4, 5],
            "lat": [0.0] * 6,
            "t": [5.0, None, 3.0, 3.0, 2.0, 1.0],
        }
    )
    trajectories = open_tiny(save(table, tmp_path / f"a{suffix}")).collect()
    assert trajectories.points[:, 0].tolist() == [2, 3, 0, 1, 5, 4]
    np.testing.assert_array_equal(trajectories.times, [3, 3, 5, np.nan, 1, 2])


@pytest.mark.parametrize(
    "kind", [pa.timestamp("s"), pa.timestamp("ms", "Europe/Lisbon"), pa.date32(), pa.date64()], ids=str
)
def test_timestamps_become_datetimes(tmp_path, kind):
    days = pa.array(np.array(["2020-01-03", "NaT", "2020-01-01"], "M8[D]"))
    times = days.cast(pa.timestamp("ms")).cast(kind)
    table = pa.table({"traj_id": [1, 1, 1], "lon": [0.0, 1, 2], "lat": [0.0] * 3, "t": times})
    trajectories = open_tiny(save(table, tmp_path / "a.parquet")).collect()
    assert trajectories.points[:, 0].tolist() == [2, 0, 1]
    assert trajectories.times[0] == np.datetime64("2020-01-01")
    assert np.isnat(trajectories.times[2])


def test_numbers_of_any_type_are_coordinates(tmp_path):
    table = pa.table(
        {
            "traj_id": [1, 1],
            "lon": pa.array([2**63 + 1, None], pa.uint64()),  # not exact as a float, and not refused
            "lat": pa.array([None, None], pa.null()),
            "t": pa.array(["1.5", None]).cast(pa.decimal128(5, 2)),
        }
    )
    trajectories = open_tiny(save(table, tmp_path / "a.parquet")).collect()
    np.testing.assert_array_equal(trajectories.points, [[2.0**63, np.nan], [np.nan, np.nan]])
    np.testing.assert_array_equal(trajectories.times, [1.5, np.nan])


@pytest.mark.parametrize("suffix", FORMATS)
def test_rows_without_trajectory_are_dropped_and_counted(tmp_path, suffix):
    table = pa.table({"traj_id": ["a", None, "a", "b", None], "lon": [0.0, 9, 1, 2, 9], "lat": [0.0] * 5})
    source = open_tiny(save(table, tmp_path / f"a{suffix}"))
    assert as_lists(source.collect()) == [[(0, 0), (1, 0)], [(2, 0)]]
    assert source.dropped_rows == 2


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_table_without_rows_is_one_empty_part(tmp_path, suffix):
    schema = pa.schema({"traj_id": pa.string(), "lon": pa.float64(), "lat": pa.float64(), "t": pa.float64()})
    source = open_tiny(save(schema.empty_table(), tmp_path / f"a{suffix}"))
    (part,) = source.parts()
    assert (len(part), source.n_points, source.dropped_rows) == (0, 0, 0)
    assert part.times is not None and part.users is None
    assert len(source.collect()) == 0


def nameless_files(place) -> int:
    """Count the files without a name that this process holds open in a folder."""
    links = [Path(f"/proc/self/fd/{number}") for number in os.listdir("/proc/self/fd")]
    names = [os.readlink(link) for link in links if link.is_symlink()]
    return sum(name.startswith(str(place)) and name.endswith("(deleted)") for name in names)


linux = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks at the files that Linux lists")


@linux
def test_rows_on_disk_have_no_name_and_go_away(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = open_tiny(save(random_table(0, pa.int64(), True, False), tmp_path / "a.parquet"))
    assert source.n_points == 120
    assert not nameless_files(tmp_path)  # metadata is enough so far
    before = source.collect()
    assert nameless_files(tmp_path) == 1 and len(list(tmp_path.iterdir())) == 1
    source.close()
    assert not nameless_files(tmp_path)
    np.testing.assert_array_equal(source.collect().points, before.points)  # starts from the file again
    del source
    assert not nameless_files(tmp_path)


@linux
def test_contiguous_parquet_needs_no_disk(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    ids = pa.array([9, 9, 4, 4, 7, 7, 1])  # neither rising nor scattered
    table = pa.table({"traj_id": ids, "lon": np.arange(7.0), "lat": np.zeros(7)})
    with open_tiny(save(table, tmp_path / "a.parquet"), Sizes(2, 1, 11, 60)) as source:
        assert as_lists(source.collect()) == expected(table)
        assert not nameless_files(tmp_path)


@linux
def test_scattered_csv_is_not_kept_twice(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with open_tiny(save(random_table(0, pa.int64(), True, False), tmp_path / "a.csv")) as source:
        assert sum(part.n_points for part in source.parts()) == 120
        assert nameless_files(tmp_path) == 1


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("scattered", [False, True])
def test_a_file_that_changes_between_passes_is_refused(tmp_path, scattered, suffix):
    path = save(random_table(0, pa.int64(), scattered, False), tmp_path / f"a{suffix}")
    source = open_tiny(path)
    source.collect()
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="changed while it was read"):
        source.collect()
    path.unlink()
    with pytest.raises(DataError, match="changed while it was read"):
        source.collect()


def test_a_file_that_changes_during_a_pass_is_refused(tmp_path):
    path = save(random_table(0, pa.int64(), False, False), tmp_path / "a.parquet")
    parts = open_tiny(path).parts()
    next(parts)
    os.utime(path, ns=(1, 1))
    with pytest.raises(DataError, match="changed while it was read"):
        list(parts)


def test_a_full_disk_is_explained(tmp_path, monkeypatch):
    path = save(random_table(0, pa.int64(), True, False), tmp_path / "a.parquet")

    def full(*arguments, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", full)
    with pytest.raises(DataError, match=r"No space left on device.*TMPDIR"):
        open_tiny(path).collect()


@pytest.mark.parametrize("is_folder", [False, True])
def test_a_source_goes_to_another_process_and_notices_a_change(tmp_path, is_folder):
    path = tmp_path / "folder" / "a.csv"
    path.parent.mkdir()
    path.write_text("ride;lon;lat\na;1;2\nb;3;4\na;5;6\n")
    opened = path.parent if is_folder else path
    packed = pickle.dumps(io.read(opened, columns={"traj_id": "ride"}))
    source = pickle.loads(packed)
    found = source.collect()
    assert found.ids.tolist() == ["a", "b"] and found.points.tolist() == [[1, 2], [5, 6], [3, 4]]
    if is_folder:
        (path.parent / "b.csv").write_text("ride,lon,lat\n")
    else:
        path.write_text("ride;lon;lat\n")
    with pytest.raises(DataError, match="changed since it was opened; open it again"):
        pickle.loads(packed)
