"""Rows on disk are read back as they were, bucket by bucket, and no run leaves any of them there."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from privtrace.errors import DataError
from privtrace.rows.spool import Spool

open_files = pytest.mark.skipif(
    not Path("/proc/self/fd").exists(), reason="looks at the files that Linux lists"
)

# Keeps rows, says so, and waits to be killed.
OWNER = """
import pyarrow as pa, time
from privtrace.rows.spool import Spool
spool = Spool([pa.RecordBatch.from_pydict({"traj_id": [1]})])
print(len([*spool.batches()]), flush=True)
time.sleep(600)
"""


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def batches() -> list[pa.RecordBatch]:
    """Give 1,000 rows in four batches, one of them empty."""
    ids = np.random.default_rng(0).integers(0, 50, 1000)
    whole = pa.RecordBatch.from_pydict({"traj_id": ids, "row": np.arange(1000)})
    return [whole[:10], whole[10:10], whole[10:600], whole[600:]]


def test_a_bucket_has_all_rows_of_its_keys_in_order():
    spool = Spool(batches(), 7)
    read = [pa.Table.from_batches(spool.batches(bucket)) for bucket in range(7)]
    assert [table.to_pylist() for table in read] == [
        pa.Table.from_batches(spool.batches(bucket)).to_pylist() for bucket in range(7)
    ]
    owners = [set(table["traj_id"].to_pylist()) for table in read]
    assert sum(map(len, owners)) == len(set.union(*owners)) == 50 and min(map(len, owners)) > 0
    assert all(np.all(np.diff(table["row"].to_numpy()) > 0) for table in read)
    found = pa.concat_tables(read).sort_by("row")
    assert found == pa.Table.from_batches(batches())


def test_one_bucket_gives_batches_back_as_they_came():
    assert [*Spool(batches()).batches()] == batches()
    assert [*Spool([]).batches()] == []
    keys = [*Spool(batches()).batches(keys_only=True)]
    assert keys == [batch.select(["traj_id"]) for batch in batches()]


def test_a_pass_that_began_goes_on_after_its_spool():
    spool = Spool(batches())
    rows = spool.batches()
    first = next(rows)
    del spool
    assert [first, *rows] == batches()


def test_buckets_are_chosen_by_whoever_knows_better():
    spool = Spool(batches(), 2, lambda batch, n_buckets: batch["row"].to_numpy() % n_buckets)
    assert pa.Table.from_batches(spool.batches(1))["row"].to_pylist() == [*range(1, 1000, 2)]


@open_files
def test_nothing_is_left_by_a_run_that_is_killed(place):
    command, environment = [sys.executable, "-c", OWNER], {**os.environ, "TMPDIR": str(place)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as owner:
        try:
            assert owner.stdout.readline() == "1\n"
            descriptors = [os.readlink(one) for one in Path(f"/proc/{owner.pid}/fd").iterdir()]
            assert any(name.startswith(str(place)) for name in descriptors)  # it is there
        finally:
            owner.kill()
            owner.wait()
    assert not list(place.iterdir())


def test_a_full_disk_is_told_of(monkeypatch, place):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.TemporaryFile", Full)
    with pytest.raises(DataError, match=r"No space left on device.*TMPDIR"):
        Spool(batches())
