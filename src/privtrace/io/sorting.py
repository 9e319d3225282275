"""Put trajectories in order of user and id, out of core: keys and one bucket are in memory at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.io.dates import UTC
from privtrace.io.long_table import arrow_ids, arrow_times, arrow_users
from privtrace.io.rows import floats_of, ids_of
from privtrace.io.spool import Spool, kept
from privtrace.trajectories import Array, Crs, Integers, Source, Trajectories

#: Points of a bucket, about.
_BUCKET_POINTS = 1 << 20


def by_user_and_id(source: Source, bucket_points: int = _BUCKET_POINTS) -> Iterator[Trajectories]:
    """Yield all trajectories sorted by user, then by id; unknown users come last.

    A first pass ranks the keys, a second deals trajectories into buckets of neighboring ranks, and each bucket
    is then sorted in memory.
    """
    ranks = _ranks(source)
    # A source from elsewhere need not say these.
    zone, by_default = getattr(source, "zone", UTC), getattr(source, "times_by_default", True)

    def by_rank(packed: pa.RecordBatch, n_buckets: int) -> Integers:
        return floats_of(packed["rank"]) * n_buckets // len(ranks)

    spool = Spool()
    try:
        for path in spool.deal(_packed_parts(source, ranks), source.n_points // bucket_points, by_rank):
            packed = pa.Table.from_batches(kept(path)).combine_chunks()
            in_order = packed.take(pc.sort_indices(packed["rank"]))
            made = _unpacked(in_order.combine_chunks(), source.crs, source.gap_minutes, zone)
            yield replace(made, times_on_request=not by_default)
    finally:
        spool.close()


def _ranks(source: Source) -> Integers:
    """Find the place of each trajectory in the order: the keys (1, b), (1, a), (0, c) give 2, 1, 0."""
    n_before = 0
    keys = []
    for part in source.parts():
        keys.append(pa.table(_key_columns(part, n_before)))
        n_before += len(part)
    names = keys[0].column_names if keys else []
    ranks = np.empty(n_before, np.int64)
    if n_before:
        # An id may be text in one source and a number in another, never both in one: columns have one type.
        order = pc.sort_indices(pa.concat_tables(keys), [(name, "ascending") for name in names])
        ranks[order.to_numpy()] = np.arange(n_before)
    return ranks


def _key_columns(part: Trajectories, n_before: int) -> dict[str, pa.Array]:
    """Give the columns to sort by, the most important first."""
    users = {} if part.users is None else {"user_id": arrow_users(part.users)}
    return {**users, "traj_id": arrow_ids(part.ids_from(n_before))}


def _packed_parts(source: Source, ranks: Integers) -> Iterator[pa.RecordBatch]:
    """Pass over the source, a row per trajectory, with its rank."""
    n_before = 0
    for part in source.parts():
        yield _packed(part, ranks[n_before : n_before + len(part)], n_before)
        n_before += len(part)


def _packed(part: Trajectories, ranks: Integers, n_before: int) -> pa.RecordBatch:
    """Lay trajectories out a row each, points in lists."""
    offsets = pa.array(part.offsets)
    columns = {
        "rank": pa.array(ranks),
        **_key_columns(part, n_before),
        "x": pa.LargeListArray.from_arrays(offsets, pa.array(part.points[:, 0])),
        "y": pa.LargeListArray.from_arrays(offsets, pa.array(part.points[:, 1])),
    }
    if part.times is not None:
        columns["t"] = pa.LargeListArray.from_arrays(offsets, arrow_times(part.times))
    if part.moments is not None:
        columns["moment"] = pa.LargeListArray.from_arrays(offsets, pa.array(part.moments))
    return pa.RecordBatch.from_pydict(columns)


def _unpacked(packed: pa.Table, crs: Crs, gap_minutes: float | None, zone: str) -> Trajectories:
    """Make trajectories of rows that hold one each."""
    columns = {name: packed[name].combine_chunks() for name in packed.column_names}
    lengths = pc.list_value_length(columns["x"]).to_numpy()
    x, y = (floats_of(columns[name].flatten()) for name in ("x", "y"))
    return Trajectories(
        np.column_stack([x, y]),
        np.concatenate([[0], np.cumsum(lengths)]),
        floats_of(columns["t"].flatten()) if "t" in columns else None,
        _labels(columns["user_id"]) if "user_id" in columns else None,
        _labels(columns["traj_id"]),
        crs,
        gap_minutes,
        zone,
        moments=floats_of(columns["moment"].flatten()) if "moment" in columns else None,
    )


def _labels(column: pa.Array) -> Array:
    """Take users or ids out of arrow as they were."""
    if pa.types.is_string(column.type):
        return np.array(column.fill_null("").to_pylist(), dtype=np.dtypes.StringDType())
    return ids_of(column)
