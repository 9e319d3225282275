"""A fit on Spark gives the model that the same rows in a file give, byte for byte."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.fake import FakeFrame

import privtrace as pt
from privtrace.backends import spark
from privtrace.backends.spark import SparkBackend
from privtrace.frames.spark import SparkSource
from privtrace.models import to_bytes
from privtrace.testing.data import REGIONS, timed_wanderers

FrameOf = Callable[[pa.Table], Any]
METHODS = {"bridgetrace": pt.BridgeTrace, "privtrace": pt.PrivTrace, "adatrace": pt.AdaTrace, "dpt": pt.DPT}
UNITS: dict[str, dict[str, Any]] = {"trajectory": {}, "user": {"unit": "user", "max_per_user": 2}}

pytestmark = pytest.mark.filterwarnings("ignore:.*walks reached")


@cache
def walks() -> pa.Table:
    """Give walks with users and times: some are missing, and half of the others are those of a neighbor."""
    table = timed_wanderers().to_arrow()
    shared = table["t"].combine_chunks().cast(pa.int64()).to_numpy(zero_copy_only=False) // 30_000 * 30_000
    times = pa.array(shared, pa.float64(), from_pandas=True).cast(pa.int64()).cast(pa.timestamp("ms", "UTC"))
    return table.set_column(table.schema.get_field_index("t"), "t", times)


def file_of(table: pa.Table, folder: Path) -> Path:
    pq.write_table(table, folder / "trips.parquet")
    return folder / "trips.parquet"


@pytest.mark.parametrize("times", [True, False], ids=["times", "no times"])
@pytest.mark.parametrize("where", REGIONS)
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("method", METHODS)
def test_the_model_is_the_same(
    method: str, unit: str, where: str, times: bool, frame_of: FrameOf, tmp_path: Path
) -> None:
    settings = METHODS[method](epsilon=8, region=REGIONS[where], times=times, **UNITS[unit])
    here = settings.fit(file_of(walks(), tmp_path), noise=pt.SeededNoise(4))
    there = settings.fit(frame_of(walks()), noise=pt.SeededNoise(4))
    assert to_bytes(there) == to_bytes(here)
    other = settings.fit(frame_of(walks().slice(0, 9000)), noise=pt.SeededNoise(4))
    assert to_bytes(other) != to_bytes(here)


@pytest.mark.parametrize("how", [{}, {"partitions": 1}, {"partitions": 7}, {"persist": True}], ids=str)
@pytest.mark.parametrize("driver_rows", [0, 1 << 24], ids=["added there", "added here"])
def test_how_it_is_divided_does_not_matter(
    how: dict[str, Any], driver_rows: int, frame_of: FrameOf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark, "_BATCH_ROWS", 5)
    settings = pt.PrivTrace(epsilon=8, region=REGIONS["box"], unit="user", max_per_user=2)
    here = settings.fit(file_of(walks(), tmp_path), noise=pt.SeededNoise(4))
    with SparkSource.of(frame_of(walks()), **how) as source:
        backend = SparkBackend(driver_rows=driver_rows)
        assert to_bytes(settings.fit(source, noise=pt.SeededNoise(4), backend=backend)) == to_bytes(here)


def test_spark_may_choose_the_number_of_partitions(tmp_path: Path) -> None:
    """There is no number of them then, as on Databricks."""
    settings = pt.PrivTrace(epsilon=8, region=REGIONS["box"])
    here = settings.fit(file_of(walks(), tmp_path), noise=pt.SeededNoise(4))
    frame = FakeFrame.of(walks(), conf=(("spark.sql.shuffle.partitions", "auto"),))
    assert to_bytes(settings.fit(frame, noise=pt.SeededNoise(4))) == to_bytes(here)


def test_ids_are_text_or_numbers_and_times_may_be_text(frame_of: FrameOf, tmp_path: Path) -> None:
    """Each value is read by the code that reads files: dates, and among them numbers and nothing."""
    table = walks()
    written = table["t"].cast(pa.timestamp("s", "UTC"), safe=False).cast(pa.string()).to_pylist()
    written[::50] = [str(place) for place in range(len(written[::50]))]
    written[1::70] = ["soon"] * len(written[1::70])
    columns = {
        "trip_id": table["traj_id"].cast(pa.float64()),
        "taxi_id": pa.array([None if user == 7 else f"taxi {user}" for user in table["user_id"].to_pylist()]),
        "x": table["x"],
        "y": table["y"],
        "time": pa.array(written),
    }
    settings = pt.BridgeTrace(epsilon=8, region=REGIONS["box"], times=True, unit="user", max_per_user=2)
    path = file_of(pa.table(columns), tmp_path)
    for reading in ({}, {"timezone": "Asia/Tokyo"}, {"gap_minutes": 0.4}):
        here = settings.fit(pt.read(path, **reading), noise=pt.SeededNoise(4))
        there = settings.fit(pt.read(frame_of(pa.table(columns)), **reading), noise=pt.SeededNoise(4))
        assert to_bytes(there) == to_bytes(here), reading


@pytest.mark.parametrize("method", ["bridgetrace", "dpt"])
def test_a_folder_here_is_one_table(method: str, frame_of: FrameOf, tmp_path: Path) -> None:
    """Points that share a time, and stand in several files, are in the same order; and trips are the same."""
    folder = tmp_path / "parts"
    folder.mkdir()
    for number, part in enumerate(FakeFrame.of(walks()).partitions):
        pq.write_table(part, folder / f"{number}.parquet")
    settings = METHODS[method](epsilon=8, region=REGIONS["box"], times=True)
    here = settings.fit(pt.read(folder, crs="planar"), noise=pt.SeededNoise(4))
    assert to_bytes(settings.fit(frame_of(walks()), noise=pt.SeededNoise(4))) == to_bytes(here)


def test_a_period_counts_there_as_here(frame_of: FrameOf, tmp_path: Path) -> None:
    settings = pt.PrivTrace(
        epsilon=8, region=REGIONS["box"], period="2013-07-08/2013-07-15", unit="user", max_per_user=1
    )
    here = settings.fit(file_of(walks(), tmp_path), noise=pt.SeededNoise(4))
    there = settings.fit(frame_of(walks()), noise=pt.SeededNoise(4))
    assert to_bytes(there) == to_bytes(here)


def test_synthetic_trajectories_are_the_same(frame_of: FrameOf, tmp_path: Path) -> None:
    settings = pt.BridgeTrace(epsilon=8, region=REGIONS["box"])
    here = settings.fit(file_of(walks(), tmp_path), noise=pt.SeededNoise(4))
    there = settings.fit(frame_of(walks()), noise=pt.SeededNoise(4))
    one, other = here.sample(500, seed=3), there.sample(500, seed=3)
    assert (one.points == other.points).all() and (one.times == other.times).all()
