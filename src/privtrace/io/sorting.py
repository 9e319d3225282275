"""Put trajectories in order of user and id, out of core: keys and one bucket are in memory at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.io.printing import arrow_ids, arrow_times, arrow_users
from privtrace.rows import floats_of
from privtrace.rows.spool import Spool
from privtrace.trajectories import Integers, Source, Trajectories

#: Points of a bucket, about.
_BUCKET_POINTS = 1 << 20


def by_user_and_id(source: Source, bucket_points: int = _BUCKET_POINTS) -> Iterator[Trajectories]:
    """Yield all trajectories sorted by user, then by id; unknown users come last.

    A first pass ranks the keys, a second deals trajectories into buckets of neighboring ranks, and each bucket
    is then sorted in memory.
    """
    named = Trajectories.end_to_end([_without_points(*one) for one in _numbered_parts(source)], source.crs)
    users = {} if named.users is None else {"user_id": arrow_users(named.users)}
    keys = pa.table({**users, "traj_id": arrow_ids(named.ids_from(0))})  # the most important first
    order = floats_of(pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names]))
    named, ranks = named.take(order), np.argsort(order)

    def by_rank(packed: pa.RecordBatch, n_buckets: int) -> Integers:
        return floats_of(packed["rank"]) * n_buckets // len(ranks)

    packed = (_packed(part, ranks[at : at + len(part)]) for part, at in _numbered_parts(source))
    spool = Spool(packed, source.n_points // bucket_points, by_rank)
    first = 0
    for bucket in range(spool.n_buckets):
        if batches := [*spool.batches(bucket)]:
            rows = pa.Table.from_batches(batches)
            yield _unpacked(rows.take(pc.sort_indices(rows["rank"])), named[first : first + len(rows)])
            first += len(rows)


def _numbered_parts(source: Source) -> Iterator[tuple[Trajectories, int]]:
    """Pass over the parts, each with the number of trajectories before it."""
    at = 0
    for part in source.parts():
        yield part, at
        at += len(part)


def _without_points(part: Trajectories, at: int) -> Trajectories:
    """Keep users and ids alone."""
    nothing, offsets = np.empty((0, 2)), np.zeros(len(part) + 1, np.int64)
    return replace(part, points=nothing, offsets=offsets, times=None, ids=part.ids_from(at))


def _packed(part: Trajectories, ranks: Integers) -> pa.RecordBatch:
    """Lay trajectories out a row each, points in a list."""
    points = {"x": pa.array(part.points[:, 0]), "y": pa.array(part.points[:, 1])}
    if part.times is not None:
        points["t"] = arrow_times(part.times)
    if part.moments is not None:
        points["moment"] = pa.array(part.moments)
    values = pa.StructArray.from_arrays([*points.values()], names=[*points])
    lists = pa.LargeListArray.from_arrays(pa.array(part.offsets), values)
    return pa.RecordBatch.from_pydict({"rank": pa.array(ranks), "points": lists})


def _unpacked(rows: pa.Table, named: Trajectories) -> Trajectories:
    """Give trajectories their points back, of rows that hold one each."""
    lists = rows["points"].combine_chunks()
    values = lists.flatten()
    found = {field.name: floats_of(values.field(field.name)) for field in values.type}
    points = np.column_stack([found["x"], found["y"]])
    offsets = np.append(0, np.cumsum(floats_of(pc.list_value_length(lists))))
    return replace(named, points=points, offsets=offsets, times=found.get("t"), moments=found.get("moment"))
