"""Count on a Spark cluster: kernels run where the rows are, and sums of whole numbers come back.

A pass is one job, and its tasks are pure: they write nothing, and Spark takes the result of one attempt of
each. So a task that was lost, tried again or run twice changes no sum. Sums of partitions are added on the
driver, or on the cluster first where they are too many. Noise is drawn afterwards, once, by the ledger, on the
driver: neither noise nor its key goes anywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pyarrow as pa

from privtrace.backends.base import Count, Part, Result
from privtrace.backends.local import Threads
from privtrace.backends.sums import Adding, Sums
from privtrace.frames.spark import Assembly, Meeting, SparkParts
from privtrace.frames.telling import Guarded, asking

#: The table that holds what a pass noted; those of the task count from 0.
_SEEN = -1

_SCHEMA = pa.schema({"table": pa.int32(), "code": pa.int64(), "weight": pa.int64()})
_COLUMNS = "table int, code long, weight long"

#: How many partitions there may be where Spark does not say: it chooses itself, as on Databricks.
_MANY = 1000

#: Rows of sums in a batch.
_BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class SparkBackend:
    """Count parts of a Spark DataFrame on its cluster, and do all else here, on threads.

    A source over a DataFrame brings it along. Sums of up to `driver_rows` come to the driver as partitions made
    them; more are added on the cluster first.
    """

    driver_rows: int = 1 << 24
    here: Threads = field(default_factory=Threads)

    def map(self, task: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        """Yield task(part) for each part; of parts on a cluster, what counting them gives in all."""
        if isinstance(parts, SparkParts) and hasattr(task, "sizes"):
            return iter([cast(Result, self._counted(cast(Count, task), parts))])
        return self.here.map(task, parts)

    def _counted(self, task: Count, parts: SparkParts) -> list[Sums]:
        """Run a pass; give the sums of all tables."""
        with asking(parts.assembly.place):
            parts.source.count_keyless(parts.by_user)
            gathered = parts.gathered
            sums = gathered.mapInArrow(Guarded(_Partition(task, parts.assembly)), _COLUMNS)
            if sum(task.sizes) * self._n_partitions(gathered, parts) > self.driver_rows:
                sums = sums.groupBy("table", "code").agg({"weight": "sum"})
            found = sums.toArrow()
        by_table = _added(found, {_SEEN: parts.n_numbers, **dict(enumerate(task.sizes))})
        parts.met(by_table.pop(_SEEN).numbers(parts.n_numbers))
        return [*by_table.values()]

    def _n_partitions(self, gathered: Any, parts: SparkParts) -> int:
        said = gathered.sparkSession.conf.get("spark.sql.shuffle.partitions")
        return parts.source.partitions or (int(said) if said.isdecimal() else _MANY)


def _added(found: pa.Table, sizes: dict[int, int]) -> dict[int, Sums]:
    """Add up rows of sums, table by table."""
    tables = {table: Adding(size) for table, size in sizes.items()}
    for batch in found.to_batches():
        numbers, codes, weights = (column.to_numpy() for column in batch.columns)
        for table in np.unique(numbers).tolist():
            mine = numbers == table
            tables[table].add(Sums(codes[mine], weights[mine]))
    return {table: sums.total() for table, sums in tables.items()}


@dataclass(frozen=True)
class _Partition:
    """Count a partition: a pure function of its rows. It goes to the workers."""

    task: Count
    assembly: Assembly

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the sums of all parts of a partition, table by table."""
        meeting, sums = Meeting(), [Adding(size) for size in self.task.sizes]
        for part in self.assembly.parts_of(batches, meeting):
            for table, more in zip(sums, self.task(part), strict=True):
                table.add(more)
        yield from _batches(_SEEN, Sums.of(meeting.numbers))
        for number, table in enumerate(sums):
            yield from _batches(number, table.total())


def _batches(table: int, sums: Sums) -> Iterator[pa.RecordBatch]:
    """Write sums as rows."""
    for start in range(0, len(sums.codes), _BATCH_ROWS):
        codes, weights = (column[start : start + _BATCH_ROWS] for column in sums)
        tables = np.full(len(codes), table, np.int32)
        yield pa.RecordBatch.from_arrays([*map(pa.array, (tables, codes, weights))], schema=_SCHEMA)
