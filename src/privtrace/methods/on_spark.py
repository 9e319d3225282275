"""Make synthetic trajectories on a Spark cluster, each from its own number and the seed."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from privtrace.backends.local import Threads
from privtrace.errors import SettingsError
from privtrace.frames.spark import check_partitions
from privtrace.frames.telling import Guarded
from privtrace.io.columns import TIME, TRAJECTORY, pair_of
from privtrace.io.output_tables import long_tables
from privtrace.methods.declaring import MOST_SEED, whole
from privtrace.methods.settings import MOST_TRAJECTORIES

if TYPE_CHECKING:
    import pyspark

    from privtrace.methods.model import Model

#: Blocks of trajectories that a task makes, at most, and tasks, where blocks are enough for so many.
_BLOCKS, _TASKS = 64, 64

#: Points of a batch that goes to Spark.
_BATCH_POINTS = 1 << 16

#: What columns are on a cluster.
_TIMESTAMP = pa.timestamp("us", "UTC")


def sampled(
    model: Model, spark: pyspark.sql.SparkSession, count: int | None, seed: int | None, partitions: int | None
) -> pyspark.sql.DataFrame:
    """Say as a DataFrame what to make; Spark makes it when it is written or shown."""
    if not hasattr(spark, "range"):
        raise SettingsError(f"sample_spark takes your SparkSession, not a {type(spark).__name__}")
    from pyspark.sql.types import DoubleType, LongType, StructField, StructType, TimestampType

    count = whole(model.n_trajectories if count is None else count, "count", 0, MOST_TRAJECTORIES)
    seed = secrets.randbits(64) if seed is None else whole(seed, "seed", 0, MOST_SEED)
    check_partitions(partitions)
    blocks = _Blocks(_file_of(model), count, model.block_trajectories, seed)
    # In the column's metadata, which Spark keeps in Parquet: the promise goes along.
    columns = [StructField(TRAJECTORY, LongType(), metadata=model.about)]
    columns += [StructField(name, DoubleType()) for name in pair_of(model.release.crs)]
    if model.timing is not None and model.timing.calendar is not None:
        columns.append(StructField(TIME, TimestampType()))
    n_tasks = min(blocks.n_blocks, max(_TASKS, -(-blocks.n_blocks // _BLOCKS)))
    numbers = spark.range(0, blocks.n_blocks, 1, partitions or max(n_tasks, 1))
    return numbers.mapInArrow(Guarded(blocks), StructType(columns))


def _file_of(model: Model) -> bytes:
    from privtrace.models import to_bytes

    return to_bytes(model)


@lru_cache(maxsize=1)
def _prepared(content: bytes) -> Model:
    """Open a model once per process, which makes many of its blocks."""
    from privtrace.models import from_bytes

    model = from_bytes(content)
    model.prepare(Threads(1))
    return model


@dataclass(frozen=True)
class _Blocks:
    """Make the trajectories of numbered blocks. It goes to the workers: public, all of it."""

    content: bytes  # of the model's file
    count: int
    size: int  # of a block
    seed: int

    @property
    def n_blocks(self) -> int:
        """Count the blocks."""
        return -(-self.count // self.size)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the points of each block."""
        model = _prepared(self.content)
        for batch in batches:
            for block in batch.column(0).to_pylist():
                yield from self._made(model, block * self.size)

    def _made(self, model: Any, first: int) -> Iterator[pa.RecordBatch]:
        last = min(first + self.size, self.count)
        made, _ = model.sample_block(range(first, last), self.seed)
        schema, tables = long_tables([replace(made, ids=np.arange(first, last), about={})])
        kinds = [_TIMESTAMP if pa.types.is_timestamp(kind) else kind for kind in schema.types]
        for table in tables:
            yield from table.cast(pa.schema([*zip(schema.names, kinds, strict=True)])).to_batches(_BATCH_POINTS)
