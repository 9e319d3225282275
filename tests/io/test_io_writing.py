import gzip
import os
import stat
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest

from privtrace import io
from privtrace.errors import DataError, OutputError
from privtrace.storage.atomic import replacing
from privtrace.trajectories import Trajectories

FORMATS = [".parquet", ".pq", ".csv", ".tsv", ".csv.gz", ".tab.gz"]
POINTS = np.array([[1.5, 2], [3, 4], [5, 0.3333], [np.nan, 1e-4]])
OFFSETS = np.array([0, 2, 3, 4])


def make(**fields) -> Trajectories:
    return Trajectories(POINTS, OFFSETS, **fields)


VARIANTS = {
    "plain": make(),
    "planar": make(crs="planar"),
    "times": make(times=np.array([1.0, 2.5, 0, np.nan])),
    "integer times": make(times=np.array([1, 2, 0, 9])),
    "datetimes": make(times=np.array(["2020-01-01T00:00:01.5", "2020-01-02", "1969-12-31", "NaT"], "M8[ms]")),
    "days": make(times=np.array(["2020-01-01", "2020-01-02", "1969-12-31", "NaT"], "M8[D]")),
    "users": make(users=np.array([7, 7, np.iinfo(np.int64).min])),
    "small users": make(users=np.array([0, 255, 7], np.uint8)),
    "large users": make(users=np.array([0, 2**64 - 2, 7], np.uint64)),
    "text users": make(users=np.array(["a,b", 'say "c"', ""])),
    "ids": make(ids=np.array([7, -3, np.iinfo(np.int64).min])),
    "large ids": make(ids=np.array([0, 2**64 - 1, 7], np.uint64)),
    "text ids": make(ids=np.array(["a/1", "\t|;, 'b'", "01"], np.dtypes.StringDType())),
    "objects": make(users=np.array(["ann", "bob", None], object), times=np.arange(4.0)),
}


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("written", VARIANTS.values(), ids=VARIANTS)
def test_what_is_written_can_be_read(tmp_path, written, suffix):
    path = tmp_path / f"a{suffix}"
    io.write(written, path)
    again = io.read(path).collect()
    np.testing.assert_array_equal(again.points, written.points)
    np.testing.assert_array_equal(again.offsets, written.offsets)
    assert again.crs == written.crs
    assert (again.times is None) == (written.times is None)
    assert (again.users is None) == (written.users is None)
    if written.times is not None:
        times = written.times
        assert again.times.dtype.kind == ("M" if times.dtype.kind == "M" else "f")
        np.testing.assert_array_equal(again.times, times)
    names = range(len(written)) if written.ids is None else written.ids.tolist()
    assert [str(name) for name in again.ids.tolist()] == [str(name) for name in names]
    if written.users is not None:
        unknown = str(np.iinfo(np.int64).min)
        users = ["" if user is None else str(user) for user in written.users.tolist()]
        found = [str(user) for user in again.users.tolist()]
        assert [u.replace(unknown, "") for u in found] == [u.replace(unknown, "") for u in users]


def test_tables_look_as_documented(tmp_path):
    whole = make(times=np.arange(4.0), users=np.array([5, 6, 7]))
    io.write([whole[0:2], whole[2:3]], tmp_path / "a.csv")
    lines = (tmp_path / "a.csv").read_text().splitlines()
    assert lines[:3] == ["traj_id,lon,lat,t,user_id", "0,1.5,2,0,5", "0,3,4,1,5"]
    assert [line[0] for line in lines[1:]] == ["0", "0", "1", "2"]
    io.write(replace(whole, about={"private": "true"}), tmp_path / "a.parquet")
    schema = pq.read_schema(tmp_path / "a.parquet")
    assert schema.names == ["traj_id", "lon", "lat", "t", "user_id"]
    assert str(schema.field("traj_id").type) == "int64"
    assert str(schema.field("t").type) == "double"
    assert pq.read_metadata(tmp_path / "a.parquet").metadata[b"private"] == b"true"
    group = pq.read_metadata(tmp_path / "a.parquet").row_group(0)
    columns = [group.column(place) for place in range(5)]
    assert {column.compression for column in columns} == {"LZ4"}
    rising, split = "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"
    codes = [rising, split, split, split, rising]
    assert all(code in column.encodings for code, column in zip(codes, columns, strict=True))
    assert not any(column.has_dictionary_page for column in columns)


@pytest.mark.parametrize(
    ("crs", "written"),
    [("lonlat", "8.123457,-0.000012"), ("planar", "8.123,-0.00001235")],
)
def test_text_has_decimals_enough_and_binary_files_keep_every_bit(tmp_path, crs, written):
    points = np.array([[8.123456789, -1.23456e-5], [123456.78901, 10.987654]])
    io.write(Trajectories(points, np.array([0, 2]), crs=crs), tmp_path / "a.csv")
    _, small, large = (tmp_path / "a.csv").read_text().splitlines()
    assert small == f"0,{written}" and large == (
        "0,123456.79,10.99" if crs == "planar" else "0,123456.78901,10.987654"
    )
    io.write(Trajectories(points, np.array([0, 2]), crs=crs), tmp_path / "a.parquet")
    np.testing.assert_array_equal(pq.read_table(tmp_path / "a.parquet")[1].to_numpy(), points[:, 0])


@pytest.mark.parametrize("suffix", FORMATS)
def test_the_file_does_not_depend_on_the_parts(tmp_path, suffix, monkeypatch):
    monkeypatch.setattr("privtrace.io.output_tables._TABLE_ROWS", 64)
    rng = np.random.default_rng(0)
    offsets = np.concatenate([[0], np.cumsum(rng.integers(0, 40, 30))])
    whole = Trajectories(rng.random((offsets[-1], 2)), offsets)
    io.write(whole, tmp_path / f"whole{suffix}")
    for step in (1, 7):
        path = tmp_path / f"parts{step}{suffix}"
        io.write((whole[i : i + step] for i in range(0, 30, step)), path)
        assert path.read_bytes() == (tmp_path / f"whole{suffix}").read_bytes()


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("empty", [[], Trajectories.concatenate([]), Trajectories.concatenate([], "planar")])
def test_nothing_is_a_table_without_rows(tmp_path, empty, suffix):
    io.write(empty, tmp_path / f"a{suffix}")
    assert len(io.read(tmp_path / f"a{suffix}").collect()) == 0


def test_calendar_time_has_its_own_name_in_text(tmp_path):
    io.write(
        make(times=np.array(["2020-01-01T00:00:01.5", "2020-01-02", "1969-12-31", "NaT"], "M8[us]")),
        tmp_path / "a.tsv",
    )
    lines = (tmp_path / "a.tsv").read_text().splitlines()
    assert lines[:2] == ["traj_id\tlon\tlat\tdatetime", '0\t1.5\t2\t"2020-01-01T00:00:01.5Z"']


def test_ids_with_line_breaks_stay_apart(tmp_path):
    names = np.array(["a\nb", "a\rb", "ab"], np.dtypes.StringDType())
    io.write(make(ids=names, users=names), tmp_path / "a.parquet")
    io.write(io.read(tmp_path / "a.parquet"), tmp_path / "a.csv")
    source = io.read(tmp_path / "a.csv")
    again = source.collect()
    np.testing.assert_array_equal(again.points, POINTS)
    assert len(set(again.ids.tolist())) == len(set(again.users.tolist())) == 3
    assert source.dropped_rows == 0


def test_a_named_format_wins_over_the_suffix(tmp_path):
    io.write(make(), tmp_path / "a.csv", format="parquet")
    assert (tmp_path / "a.csv").read_bytes().startswith(b"PAR1")
    io.write(make(), tmp_path / "a", format="tsv")
    assert (tmp_path / "a").read_text().startswith("traj_id\t")
    for name in ("a.csv", "a"):  # content decides what they are
        np.testing.assert_array_equal(io.read(tmp_path / name).collect().points, POINTS)
    with pytest.raises(OutputError, match="unknown format 'xyz'; it must be one of parquet, geoparquet"):
        io.write(make(), tmp_path / "b", format="xyz")


def test_packed_text_is_the_same_file_every_time(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        io.write(make(), tmp_path / name)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()).startswith(b"traj_id,lon,lat\n0,1.5,2\n")


def test_a_source_can_be_copied(tmp_path):
    io.write(make(), tmp_path / "a.csv")
    io.write(io.read(tmp_path / "a.csv"), tmp_path / "b.parquet")
    io.write(io.read(tmp_path / "a.csv"), tmp_path / "a.csv", force=True)
    for name in ("a.csv", "b.parquet"):
        np.testing.assert_array_equal(io.read(tmp_path / name).collect().points, POINTS)


@pytest.mark.parametrize(
    "other",
    [
        make(crs="planar"),
        make(times=np.arange(4)),
        make(users=np.arange(3)),
        make(ids=np.array(["a", "b", "c"])),
    ],
)
def test_parts_have_to_fit_together(tmp_path, other):
    with pytest.raises(DataError, match="parts do not fit together"):
        io.write([make(), other], tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []


def test_places_that_cannot_be_written(tmp_path):
    (tmp_path / "folder.csv").mkdir()

    def never():
        raise AssertionError("work started before the place was checked")
        yield

    for name, words in {
        "none/a.csv": "no such folder",
        "folder.csv": "is a folder",
        "a.txt": "unknown format '.txt'",
        "a.parquet.gz": "unknown format '.gz'",
    }.items():
        with pytest.raises(OutputError, match=words):
            io.write(never(), tmp_path / name)
    (tmp_path / "a.csv").write_text("mine")
    with pytest.raises(OutputError, match=r"a\.csv: exists; pass --force \(force=True\) to overwrite it"):
        io.write(never(), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "mine"
    io.write(make(), tmp_path / "a.csv", force=True)
    assert (tmp_path / "a.csv").read_text().startswith("traj_id")


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
@pytest.mark.parametrize("force", [False, True])
def test_an_interrupt_leaves_nothing_behind(tmp_path, suffix, error, force):
    path = tmp_path / f"a{suffix}"
    if force:
        path.write_text("mine")

    def interrupted():
        yield make()
        assert list(tmp_path.glob(".privtrace-*"))
        raise error

    with pytest.raises(error):
        io.write(interrupted(), path, force=force)
    assert [file.name for file in tmp_path.iterdir()] == ([path.name] if force else [])
    assert not force or path.read_text() == "mine"


@pytest.mark.parametrize("links", [True, False])
def test_a_name_taken_meanwhile_is_not_overwritten(tmp_path, monkeypatch, links):
    if not links:

        def refuse(*_):
            raise PermissionError

        monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(OutputError, match="exists"), replacing(tmp_path / "a") as temporary:
        temporary.write_text("mine")
        (tmp_path / "a").write_text("theirs")
    assert [file.name for file in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_text() == "theirs"
    with replacing(tmp_path / "b") as temporary:
        temporary.write_text("mine")
    assert (tmp_path / "b").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


def test_permissions_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "a") as temporary:
            temporary.write_text("")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with replacing(tmp_path / "link", force=True) as temporary:
        temporary.write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_failures_of_the_disk_are_explained(tmp_path):
    with (
        pytest.raises(OutputError, match=r"cannot be written \(No space left on device\)"),
        replacing(tmp_path / "a"),
    ):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []
