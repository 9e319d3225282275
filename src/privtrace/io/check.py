"""Sum a source up for its curator: what is in it, and what is odd about it. Exact numbers, NOT PRIVATE."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from privtrace.io.source import FileSource
from privtrace.rows.grouping import Distinct, Runs, n_scattered
from privtrace.trajectories import Trajectories, bad_points, limits


@dataclass(frozen=True)
class Remarks:
    """Count what is in a source and what is odd about it. For the curator: NOT PRIVATE.

    Nothing here is a fault: rows like these are read. For faults see `FileSource.faults`.
    """

    n_rows: int  # good or bad
    n_trajectories: int  # after cutting at gaps, if asked for
    n_users: int | None  # that are known; None where rows have no user
    n_points: int  # that can be used; the others are as if absent
    n_scattered: int  # trajectories whose rows do not stand together
    n_out_of_order: int  # trajectories whose rows are not in order of time
    n_single: int  # trajectories of one row
    n_repeated: int  # points that are where the one before them in their trajectory was
    n_zero: int  # points at longitude 0, latitude 0
    n_swapped: int  # points that are possible only if longitude and latitude are swapped


def remarks(source: FileSource) -> Remarks:
    """Pass over a source and count; memory grows by a few bytes a trajectory, not with the points."""
    found: Counter[str] = Counter()
    users = Distinct()
    for runs in source.made(lambda runs: runs):
        part = source.assembled(runs)
        found["n_rows"] += runs.n_rows
        found["n_out_of_order"] += _n_out_of_order(runs)
        found.update(_counts(part))
        if source.has_users:
            users.add(runs.keys.filter(runs.keys["user_id"].is_valid()).select(["user_id"]))
    return Remarks(
        n_rows=found.pop("n_rows") + source.dropped_rows,
        n_users=users.counts()[0] if source.has_users else None,
        n_scattered=n_scattered(source.keys()),
        **found,
    )


def _n_out_of_order(runs: Runs) -> int:
    """Count trajectories in whose rows a time comes before the one that stands before it."""
    times = runs.column("t")
    if times is None:
        return 0
    owners = np.repeat(np.arange(len(runs.starts)), np.diff(runs.starts, append=runs.n_rows))
    owners, times = owners[~np.isnan(times)], times[~np.isnan(times)]
    falls = (times[1:] < times[:-1]) & (owners[1:] == owners[:-1])
    return len(np.unique(owners[1:][falls]))


def _counts(part: Trajectories) -> dict[str, int]:
    """Count the trajectories and points of one part, and what is odd about them."""
    x, y = part.points.T
    lengths = np.diff(part.offsets)
    owners = np.repeat(np.arange(len(part)), lengths)
    in_degrees = part.crs == "lonlat"
    flags = {
        "n_points": ~bad_points(part.points, limits(part.crs)),
        "n_single": lengths == 1,
        "n_repeated": (part.points[1:] == part.points[:-1]).all(axis=1) & (owners[1:] == owners[:-1]),
        "n_zero": in_degrees & (x == 0) & (y == 0),
        "n_swapped": in_degrees & (np.abs(y) > 90) & (np.abs(y) <= 180) & (np.abs(x) <= 90),
    }
    counts = {name: int(np.count_nonzero(some)) for name, some in flags.items()}
    return {"n_trajectories": len(part), **counts}
