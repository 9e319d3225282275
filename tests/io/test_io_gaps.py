"""Logs are cut at gaps, against an oracle that goes from point to point."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privtrace import io
from privtrace.errors import DataError, SettingsError
from privtrace.io import open_source
from privtrace.io.source import Sizes
from privtrace.rows import with_times
from privtrace.rows.grouping import Runs, assemble

TINY = Sizes(part_points=7, batch_rows=5, bucket_rows=11, block_bytes=60)


def oracle(rows: list[tuple[int, int | None]], seconds: float) -> dict[str, list[int]]:
    """Give the numbers of the rows of each piece."""
    groups: dict[int, list[int]] = {}
    for number, (name, time) in enumerate(rows):
        if time is not None:
            groups.setdefault(name, []).append(number)
    pieces: dict[str, list[int]] = {}
    for name, numbers in groups.items():
        numbers.sort(key=lambda number: rows[number][1])
        piece, last = 1, None
        for number in numbers:
            time = rows[number][1]
            piece += last is not None and time - last > seconds
            last = time
            pieces.setdefault(f"{name}/{piece}", []).append(number)
    return pieces


TIMES = st.one_of(st.none(), st.integers(0, 12).map(lambda quarter: 900 * quarter))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(-2, 2), TIMES), max_size=30), st.sampled_from(["s", "us", "ns"]))
def test_pieces_are_those_of_the_oracle(rows, kind):
    rows.sort(key=lambda row: row[0])
    times = pa.array([time for _, time in rows], pa.int64()).cast(pa.timestamp("s")).cast(pa.timestamp(kind))
    batch = pa.RecordBatch.from_pydict(
        {
            "traj_id": pa.array([name for name, _ in rows], pa.int64()),
            "user_id": pa.array([10 * name for name, _ in rows], pa.int64()),
            "x": pa.array(np.arange(float(len(rows)))),
            "y": pa.array(np.zeros(len(rows))),
            "t": times,
        }
    )
    found = assemble(Runs.of(with_times(batch)), "planar", 30)
    bounds = zip(found.offsets[:-1], found.offsets[1:], strict=True)
    pieces = [found.points[a:b, 0].astype(int).tolist() for a, b in bounds]
    assert dict(zip(found.ids.tolist(), pieces, strict=True)) == oracle(rows, 1800)
    assert found.users.tolist() == [10 * int(name.split("/")[0]) for name in found.ids.tolist()]
    assert found.gap_minutes == 30


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_log_of_a_user_is_cut_into_trajectories(tmp_path, suffix):
    table = pa.table(
        {
            "uid": ["ann", "bob", "ann", "bob", "ann", None],
            "time": [0.0, 0, 1800, 7200, 3601, 5],
            "lon": [0.5, 1, 2, 3, 4, 5],
            "lat": [1.0] * 6,
        }
    )
    path = tmp_path / f"a{suffix}"
    if suffix == ".parquet":
        pq.write_table(table, path)
    else:
        pa.csv.write_csv(table, path)
    source = open_source(path, None, TINY, gap_minutes=30, time_unit="s")
    assert source.dropped == {"no trajectory id": 1}
    assert "gap_minutes=30" in repr(source)
    found = source.collect()
    pieces = {name: found.points[found.offsets[i], 0] for i, name in enumerate(found.ids.tolist())}
    assert pieces == {"ann/1": 0.5, "ann/2": 4, "bob/1": 1, "bob/2": 3}
    assert sorted(found.users.tolist()) == ["ann", "ann", "bob", "bob"]
    for part in source.parts():
        assert part.gap_minutes == 30
    whole = open_source(path, None, TINY, columns={"traj_id": "uid"}).collect()
    assert (len(whole), whole.gap_minutes) == (2, None)
    with pytest.raises(DataError, match=r"pass --gap 30 \(gap_minutes=30\)"):
        io.read(path)


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.float64(), pa.string(), pa.binary()], ids=str)
def test_pieces_of_different_trajectories_are_called_differently(tmp_path, kind):
    names = ["1", "1/1", "1/1/1"] if pa.types.is_string(kind) or pa.types.is_binary(kind) else [1, 2, 3]
    names = [name.encode() for name in names] if pa.types.is_binary(kind) else names
    columns = {"tid": pa.array(np.repeat(names, 2).tolist(), kind), "t": [0, 9999] * 3}
    pq.write_table(pa.table(columns | {"x": [1.0] * 6, "y": [1.0] * 6}), tmp_path / "a.parquet")
    found = io.read(tmp_path / "a.parquet", gap_minutes=1, time_unit="s").collect()
    assert len(set(found.ids.tolist())) == len(found) == 6


def test_wild_times_are_cut_without_a_warning(tmp_path):
    wild = [-1.7e308, 1.7e308, np.inf, 5, np.nan, -np.inf]
    pq.write_table(
        pa.table({"tid": [1] * 6, "t": wild, "x": [0.0] * 6, "y": [0.0] * 6}), tmp_path / "a.parquet"
    )
    found = io.read(tmp_path / "a.parquet", gap_minutes=30, time_unit="s").collect()
    assert found.times.tolist() == [np.datetime64(5, "s")]
    far = pa.array([-(2**63) + 1, 2**63 - 1, 0, None], pa.timestamp("ns"))
    pq.write_table(pa.table({"tid": [1] * 4, "t": far, "x": [0.0] * 4, "y": [0.0] * 4}), tmp_path / "a.parquet")
    for gap_minutes, lengths in {1e-9: [1, 1, 1], 1e300: [3]}.items():
        found = io.read(tmp_path / "a.parquet", gap_minutes=gap_minutes).collect()
        assert np.diff(found.offsets).tolist() == lengths


@pytest.mark.parametrize("gap", [0, -1, np.nan, np.inf, "30", True])
def test_gaps_that_make_no_sense(tmp_path, gap):
    (tmp_path / "a.csv").write_text("tid,x,y,t\n")
    with pytest.raises(SettingsError, match=r"--gap \(gap_minutes\) must be a positive number of minutes"):
        io.read(tmp_path / "a.csv", gap_minutes=gap)


def test_cutting_needs_times(tmp_path):
    (tmp_path / "a.csv").write_text("tid,x,y\n")
    with pytest.raises(DataError, match="there are no times, so nothing can be cut at gaps"):
        io.read(tmp_path / "a.csv", gap_minutes=30)
