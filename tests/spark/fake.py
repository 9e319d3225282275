"""Stand in for a Spark DataFrame, in this process: what sources use of one, on an arrow table.

It does what Spark promises and no more: rows come in any order, partitions are told by a hash of keys, a task
gets batches of a few rows, and what it gives may be thrown away and made again.
"""

from __future__ import annotations

import functools
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

BATCH_ROWS = 37


class PythonException(Exception):  # as Spark calls it
    """Fail as a task of Spark does, with a text."""

    __module__ = "pyspark.fake"


@dataclass(frozen=True)
class FakeFrame:
    """Hold partitions, each an arrow table."""

    partitions: tuple[pa.Table, ...]
    n_shuffled: int = 5
    seed: int = 0
    attempts: int = 1  # of each task; the last one counts
    conf: tuple[tuple[str, str], ...] = (("spark.sql.shuffle.partitions", "5"),)

    @classmethod
    def of(cls, table: pa.Table, **how: Any) -> FakeFrame:
        """Deal the rows of a table over three partitions, in no order."""
        shuffled = table.take(np.random.default_rng(8).permutation(table.num_rows))
        bounds = np.linspace(0, table.num_rows, 4).astype(int)
        return cls(tuple(shuffled.slice(a, b - a) for a, b in pairwise(bounds)), **how)

    @property
    def columns(self) -> list[str]:
        return list(self.partitions[0].column_names)

    @property
    def sparkSession(self) -> Any:
        return SimpleNamespace(conf=SimpleNamespace(get=dict(self.conf).__getitem__))

    def _each(self, make: Callable[[pa.Table], pa.Table]) -> FakeFrame:
        return replace(self, partitions=tuple(map(make, self.partitions)))

    def selectExpr(self, *expressions: str) -> FakeFrame:
        if expressions[0].startswith("count_if("):
            whole, counts = pa.concat_tables(self.partitions), {}
            for expression in expressions:
                condition, _, name = expression.removeprefix("count_if(").partition(") as ")
                counts[name.strip("`")] = [pc.sum(_holds(whole, condition)).as_py() or 0]
            return replace(self, partitions=(pa.table(counts),))

        def selected(table: pa.Table) -> pa.Table:
            made = [_computed(table, expression) for expression in expressions]
            return pa.table([column for _, column in made], names=[name for name, _ in made])

        return self._each(selected)

    def where(self, condition: str) -> FakeFrame:
        return self._each(lambda table: table.filter(_holds(table, condition)))

    def limit(self, n: int) -> FakeFrame:
        return self._each(lambda table: table.slice(0, n))

    def repartition(self, *how: Any) -> FakeFrame:
        n, *keys = how if isinstance(how[0], int) else (self.n_shuffled, *how)
        whole = pa.concat_tables(self.partitions)
        order = np.random.default_rng(self.seed).permutation(whole.num_rows)
        spelled = zip(*(whole[key].to_pylist() for key in keys), strict=True)
        places = np.array([zlib.crc32(repr(key).encode()) % n for key in spelled], int)[order]
        shuffled = whole.take(order)
        return replace(self, partitions=tuple(shuffled.filter(pa.array(places == i)) for i in range(n)))

    def sortWithinPartitions(self, *keys: str) -> FakeFrame:
        def ordered(table: pa.Table) -> pa.Table:
            return table.take(pc.sort_indices(table, [(key, "ascending", "at_start") for key in keys]))

        return self._each(ordered)

    def persist(self) -> FakeFrame:
        return self

    def unpersist(self) -> None:
        pass

    def mapInArrow(self, work: Any, schema: Any) -> FakeFrame:
        def done(table: pa.Table) -> pa.Table:
            for _ in range(self.attempts):
                batches = table.combine_chunks().to_batches(max_chunksize=BATCH_ROWS)
                try:
                    made = [*work(iter(batches))]
                except Exception as error:
                    raise PythonException(f"Traceback: {type(error).__name__}: {error}") from error
            return pa.Table.from_batches(made) if made else pa.table({})

        return replace(
            self, partitions=tuple(table for table in map(done, self.partitions) if table.num_columns)
        )

    def groupBy(self, *keys: str) -> Any:
        grouped = pa.concat_tables(self.partitions).group_by([*keys])
        made = grouped.aggregate([("weight", "sum")]).rename_columns([*keys, "weight"])
        return SimpleNamespace(agg=lambda how: FakeFrame((made,)))

    def toArrow(self) -> pa.Table:
        return pa.concat_tables(self.partitions)

    def toLocalIterator(self) -> Iterator[Any]:
        for table in self.partitions:
            for row in table.to_pylist():
                yield SimpleNamespace(**row)


def _holds(table: pa.Table, condition: str) -> pa.ChunkedArray:
    """Tell of which rows a condition holds: one of several, which are each of several."""

    def one(text: str) -> pa.ChunkedArray:
        name, _, wanted = text.partition(" is ")
        return table[name].is_valid() if wanted == "not null" else table[name].is_null()

    each = [functools.reduce(pc.and_, map(one, part.split(" and "))) for part in condition.split(" or ")]
    return functools.reduce(pc.or_, each)


def _computed(table: pa.Table, expression: str) -> tuple[str, pa.ChunkedArray]:
    """Compute the few kinds of columns that sources ask for."""
    what, _, name = (
        expression.rpartition(" as ")
        if " as " in expression and expression[-1] != "`"
        else (expression, "", "")
    )
    quoted = re.search(r"`((?:[^`]|``)+)`", what)
    assert quoted is not None, expression
    given = quoted[1].replace("``", "`")
    column = table[given]
    if what.startswith("cast("):
        column = column.cast(pa.int64())
    elif "isnan" in what:
        numbers = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
        column = pa.chunked_array([pa.array(np.where(numbers == 0, 0.0, numbers), from_pandas=True)])
    elif "octet_length" in what:
        binary = column.cast(pa.binary())
        column = pc.if_else(pc.greater(pc.binary_length(binary), 0), binary, pa.scalar(None, pa.binary()))
    return name or given, column


FakeFrame.__module__, FakeFrame.__name__ = "pyspark.fake", "DataFrame"  # by which frames are told apart
