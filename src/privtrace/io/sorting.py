"""Put trajectories in order of user and id, out of core: keys and one bucket are in memory at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.io.printing import arrow_ids, arrow_times, arrow_users
from privtrace.io.rows import floats_of, ids_of
from privtrace.io.spool import Spool
from privtrace.parsing.dates import UTC
from privtrace.trajectories import Array, Integers, Source, Trajectories

#: Points of a bucket, about.
_BUCKET_POINTS = 1 << 20


def by_user_and_id(source: Source, bucket_points: int = _BUCKET_POINTS) -> Iterator[Trajectories]:
    """Yield all trajectories sorted by user, then by id; unknown users come last.

    A first pass ranks the keys, a second deals trajectories into buckets of neighboring ranks, and each bucket
    is then sorted in memory.
    """
    # An id may be text in one source and a number in another, never both in one: columns have one type.
    keys = pa.Table.from_batches([_keys(part, at) for part, at in _numbered_parts(source)] or [_NOTHING])
    order = floats_of(pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names]))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))

    def by_rank(packed: pa.RecordBatch, n_buckets: int) -> Integers:
        return floats_of(packed["rank"]) * n_buckets // len(ranks)

    packed = (_packed(part, at, ranks[at : at + len(part)]) for part, at in _numbered_parts(source))
    spool = Spool(packed, source.n_points // bucket_points, by_rank)
    for bucket in range(spool.n_buckets):
        if batches := [*spool.batches(bucket)]:
            rows = pa.Table.from_batches(batches)
            yield _unpacked(rows.take(pc.sort_indices(rows["rank"])), source)


_NOTHING = pa.RecordBatch.from_pydict({"traj_id": pa.array([], pa.int64())})


def _numbered_parts(source: Source) -> Iterator[tuple[Trajectories, int]]:
    """Pass over the parts, each with the number of trajectories before it."""
    at = 0
    for part in source.parts():
        yield part, at
        at += len(part)


def _keys(part: Trajectories, at: int) -> pa.RecordBatch:
    """Give the columns to sort by, the most important first."""
    users = {} if part.users is None else {"user_id": arrow_users(part.users)}
    return pa.RecordBatch.from_pydict({**users, "traj_id": arrow_ids(part.ids_from(at))})


def _packed(part: Trajectories, at: int, ranks: Integers) -> pa.RecordBatch:
    """Lay trajectories out a row each, points in a list."""
    points = {"x": pa.array(part.points[:, 0]), "y": pa.array(part.points[:, 1])}
    if part.times is not None:
        points["t"] = arrow_times(part.times)
    if part.moments is not None:
        points["moment"] = pa.array(part.moments)
    values = pa.StructArray.from_arrays([*points.values()], names=[*points])
    lists = pa.LargeListArray.from_arrays(pa.array(part.offsets), values)
    return _keys(part, at).append_column("rank", pa.array(ranks)).append_column("points", lists)


def _unpacked(rows: pa.Table, source: Source) -> Trajectories:
    """Make trajectories of rows that hold one each."""
    columns = {name: rows[name].combine_chunks() for name in rows.column_names}
    values = columns["points"].flatten()
    points = {field.name: floats_of(values.field(field.name)) for field in values.type}
    # A source from elsewhere need not say its zone, nor whether times are by default.
    return Trajectories(
        np.column_stack([points["x"], points["y"]]),
        np.append(0, np.cumsum(floats_of(pc.list_value_length(columns["points"])))),
        points.get("t"),
        _labels(columns["user_id"]) if "user_id" in columns else None,
        _labels(columns["traj_id"]),
        source.crs,
        source.gap_minutes,
        getattr(source, "zone", UTC),
        moments=points.get("moment"),
        times_on_request=not getattr(source, "times_by_default", True),
    )


def _labels(column: pa.Array) -> Array:
    """Take users or ids out of arrow as they were."""
    if pa.types.is_string(column.type):
        return np.array(column.fill_null("").to_pylist(), dtype=np.dtypes.StringDType())
    return ids_of(column)
