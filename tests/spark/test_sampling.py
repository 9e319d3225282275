"""Synthetic trajectories that a cluster makes are those of one machine, and say what is promised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark.fake import FakeFrame
from tests.spark.test_equality import METHODS, file_of, walks

import privtrace as pt
from privtrace.methods import on_spark
from privtrace.testing.data import REGIONS

pytestmark = pytest.mark.filterwarnings("ignore:.*walks reached")


def models(folder: Path, method: str, **settings: Any) -> Any:
    path = file_of(walks(), folder)
    return METHODS[method](epsilon=8, region=REGIONS["polygon"], **settings).fit(path, noise=pt.SeededNoise(2))


def same(made: pa.Table, expected: pt.Trajectories) -> None:
    """Hold rows, in any order of trajectories, against what one machine makes."""
    wanted, ids = expected.to_arrow(), made["traj_id"].to_numpy()
    assert made.column_names == wanted.column_names
    blocks = made.take(np.argsort(ids, kind="stable"))  # rows of a block stay in their order
    for name in wanted.column_names:
        column = wanted[name]
        if pa.types.is_timestamp(column.type):
            column = column.cast(pa.timestamp("us", "UTC"))
        np.testing.assert_array_equal(blocks[name].to_numpy(), column.to_numpy())


@pytest.mark.spark
@pytest.mark.parametrize("times", [True, False], ids=["times", "no times"])
@pytest.mark.parametrize("method", METHODS)
def test_a_seed_gives_the_same_trajectories(
    method: str, times: bool, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = models(tmp_path, method, times=times)
    for count, partitions in ((9000, None), (9000, 5), (1, None), (None, 2)):
        frame = model.sample_spark(spark, count, seed=7, partitions=partitions)
        same(frame.toArrow(), model.sample(count, seed=7))


@pytest.mark.spark
def test_none_are_an_empty_frame_and_a_lost_seed_is_kept(spark: Any, tmp_path: Path) -> None:
    """Without a seed one is drawn when the frame is made: looking twice shows the same trips."""
    model = models(tmp_path, "privtrace")
    empty = model.sample_spark(spark, 0)
    assert empty.columns == ["traj_id", "x", "y"] and empty.count() == 0
    one, other = (model.sample_spark(spark, 50) for _ in range(2))
    assert one.toArrow() == one.toArrow() != other.toArrow()


@pytest.mark.spark
def test_files_of_them_say_what_is_promised(spark: Any, tmp_path: Path) -> None:
    model = models(tmp_path, "adatrace")
    model.sample_spark(spark, 100, seed=1).write.parquet(str(tmp_path / "made"))
    (path, *_) = (tmp_path / "made").glob("*.parquet")
    kept = json.loads(pq.read_schema(path).metadata[b"org.apache.spark.sql.parquet.row.metadata"])
    assert kept["fields"][0]["metadata"] == model.about
    assert "NOT PRIVATE" in model.about["privtrace.guarantee"]  # its noise is seeded


def test_blocks_are_those_of_one_machine(tmp_path: Path) -> None:
    """What a worker does, here: of any blocks, in any order, by a model that it opens once."""
    model = models(tmp_path, "bridgetrace", times=True)
    size = model.block_trajectories
    count = 2 * size + 10
    blocks = on_spark._Blocks(on_spark._file_of(model), count, size, 7)
    assert blocks.n_blocks == 3
    orders = ([[2], [0, 1]], [[1], [], [2, 0]])
    for numbers in orders:
        batches = [pa.RecordBatch.from_pydict({"id": pa.array(some, pa.int64())}) for some in numbers]
        same(pa.Table.from_batches([*blocks(batches)]), model.sample(count, seed=7))


def test_it_takes_a_session(tmp_path: Path) -> None:
    model = models(tmp_path, "privtrace")
    for given in ("local[2]", FakeFrame):
        with pytest.raises(pt.SettingsError, match="takes your SparkSession"):
            model.sample_spark(given, 10)


@pytest.mark.spark
@pytest.mark.parametrize("partitions", [0, -1, "4", 1.5])
def test_partitions_are_a_whole_number(partitions: Any, spark: Any, tmp_path: Path) -> None:
    with pytest.raises(pt.SettingsError, match="partitions must be a whole number of at least 1"):
        models(tmp_path, "privtrace").sample_spark(spark, 10, partitions=partitions)
