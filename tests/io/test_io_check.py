"""What a curator is told about rows: file, line and reason, and what is odd; never a value."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from privtrace import io
from privtrace.io import open_source
from privtrace.io.check import remarks
from privtrace.io.source import Sizes

TINY = Sizes(part_points=3, batch_rows=2, bucket_rows=2, block_bytes=20)

LINES = {
    "1,8.5,47.3,0": [],
    "1,8.5,47.3,0,5": ["too many fields"],
    "1,8.5": ["too few fields"],
    "": [],
    "  ": [],
    '"1,8.5,47.3,0': ["quotes do not match"],
    "1,8\r.5,47.3,0": ["a carriage return inside the line"],
    ",8.5,47.3,0": ["no trajectory id"],
    "2,east,47.3,1": ["longitude is missing or not a number"],
    "2,nan,-inf,1": ["latitude is missing or not a number", "longitude is missing or not a number"],
    "2,8.5,400,1": ["latitude is beyond 90 degrees"],
    "2,-200,47,1": ["longitude is beyond 180 degrees"],
    "2,0,0,1": ["the point is (0, 0), which receivers report without a fix"],
    "2,8.5,47,noon": ["time cannot be read"],
    "2,8.5,47,31/12/2025 08:00": ["time cannot be read"],
    "\xff,8.5,47,": ["time is missing"],
    "2,8.5,47,  ": ["time is missing"],
    "9" * 70 + ",8.5,47,0": ["the line is too long"],
}
NO_ROW = {
    "too many fields",
    "too few fields",
    "quotes do not match",
    "a carriage return inside the line",
    "the line is too long",
}


@pytest.mark.parametrize("block_bytes", [1, 30, 1 << 20])
@pytest.mark.parametrize("repeat", [1, 3])
def test_every_fault_has_its_line(tmp_path, monkeypatch, block_bytes, repeat):
    monkeypatch.setattr("privtrace.io.streams.LINE_BYTES", 64)
    lines = list(LINES) * repeat
    if block_bytes > 64:  # then no line is too long
        lines = [line for line in lines if len(line) < 64]
    path = tmp_path / "a.csv"
    path.write_bytes("\n".join(["tid,lon,lat,t", *lines]).encode("latin-1"))
    source = open_source(path, None, Sizes(block_bytes=block_bytes))
    found = [(fault.path, fault.line, fault.reason) for fault in source.faults()]
    assert found == [(path, number, reason) for number, line in enumerate(lines, 2) for reason in LINES[line]]
    assert str(next(source.faults())) == f"{path}:3: too many fields"
    n_lost = dict.fromkeys(("too many fields", "too few fields", "no trajectory id"), repeat)
    assert n_lost.items() <= source.dropped.items()
    assert source.dropped_rows == sum(source.dropped.values())
    assert not {"time is missing", "time cannot be read"} & source.dropped.keys()  # their rows stay
    rows = [line for line in lines if line.strip() and not NO_ROW & set(LINES[line])]
    n_times = sum("time is missing" not in LINES[line] for line in rows)
    assert source.unread_times == (2 * repeat, n_times)


def test_rows_of_parquet_count_from_one(tmp_path):
    ids = pa.array([1, None, 1, 1, None, 2])
    lon = [8.5, 1, np.nan, np.inf, 1, 999]
    pq.write_table(pa.table({"tid": ids, "lon": lon, "lat": [47.0] * 6}), tmp_path / "a.parquet")
    source = open_source(tmp_path / "a.parquet", None, TINY)
    assert [(fault.line, fault.reason) for fault in source.faults()] == [
        (2, "no trajectory id"),
        (3, "longitude is missing or not a number"),
        (4, "longitude is missing or not a number"),
        (5, "no trajectory id"),
        (6, "longitude is beyond 180 degrees"),
    ]
    assert source.dropped == {"no trajectory id": 2}


ROWS = [  # user, trajectory, time, lon, lat
    ("ann", "1", 5.0, 8.5, 47.0),
    ("ann", "1", None, 8.5, 47.0),
    ("ann", "1", 4.0, 8.5, 47.0),  # out of order, though a time is missing between
    ("bob", "1", 1.0, 0.0, 0.0),  # one row
    ("ann", "2", 1.0, 8.5, 47.0),
    (None, "3", 1.0, 50.0, 120.0),  # swapped
    (None, "3", 2.0, 50.0, 120.0),
    (None, "3", 2.0, np.nan, 1.0),
    ("ann", "2", 2.0, 120.0, 120.0),  # scattered; impossible either way
    (None, None, 2.0, 1.0, 1.0),
]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_remarks(tmp_path, suffix):
    names = ["user_id", "traj_id", "t", "lon", "lat"]
    table = pa.table([pa.array(column) for column in zip(*ROWS, strict=True)], names)
    path = tmp_path / f"a{suffix}"
    if suffix == ".parquet":
        pq.write_table(table, path)
    else:
        pa.csv.write_csv(table, path)
    found = remarks(open_source(path, None, TINY))
    assert found == remarks(io.read(path))
    assert vars(found) == {
        "n_rows": 10,
        "n_trajectories": 4,
        "n_users": 2,
        "n_points": 4,
        "n_scattered": 1,
        "n_out_of_order": 1,
        "n_single": 1,
        "n_repeated": 3,
        "n_zero": 1,
        "n_swapped": 2,
    }


def test_remarks_on_little(tmp_path):
    (tmp_path / "a.csv").write_text("tid,x,y\n")
    found = remarks(io.read(tmp_path / "a.csv"))
    assert found.n_users is None
    assert not any(value for value in vars(found).values())
    (tmp_path / "a.csv").write_text("tid,x,y,t\n1,0,0,0\n1,5,120,9\n1,5,5,\n")
    found = remarks(io.read(tmp_path / "a.csv", gap_minutes=0.1, time_unit="s"))
    assert found.n_rows == 3
    assert (found.n_trajectories, found.n_single, found.n_zero, found.n_swapped) == (2, 2, 0, 0)


def test_scattered_trajectories_are_counted_exactly(tmp_path):
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 60, 200)
    runs = ids[np.append(True, ids[1:] != ids[:-1])]
    expected = np.count_nonzero(np.bincount(runs) > 1)
    pq.write_table(pa.table({"tid": ids, "x": rng.random(200), "y": rng.random(200)}), tmp_path / "a.parquet")
    assert remarks(open_source(tmp_path / "a.parquet", None, TINY)).n_scattered == expected
