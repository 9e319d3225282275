"""In memory a trajectory is all entries of one user and id, as in files, wherever they stand."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import privtrace as pt
from privtrace import trajectories as containers
from privtrace.privacy.unsafe_noise import NoNoise

STRINGS: Any = np.dtypes.StringDType()

#: How users and ids may be held: the values 0 to 4, of which 0 is unknown where there is such a value.
KINDS: dict[str, Any] = {
    "int": lambda values: np.array(values, np.int64),
    "text": lambda values: np.array([f"name {v}" if v else "" for v in values], STRINGS),
    "fixed": lambda values: np.array([f"n{v}" if v else "" for v in values], "U2"),
    "float": lambda values: np.array([v + 0.5 if v else np.nan for v in values], float),
    "objects": lambda values: np.array(
        [None if v == 0 else v if v % 2 else f"name {v}" for v in values] + [None], object
    )[:-1],
}
HAS_UNKNOWN = [kind for kind in KINDS if kind != "int"]


def entries(
    users: Any, ids: Any, lengths: list[int], times: Any = None, gap_minutes: float | None = None
) -> pt.Trajectories:
    """Make entries of these lengths; the x of a point is its place."""
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=int)])
    points = np.stack([np.arange(offsets[-1]), np.zeros(offsets[-1])], axis=1)
    return pt.Trajectories(points, offsets, times, users, ids, "planar", gap_minutes)


def listed(found: pt.Trajectories) -> list[list[int]]:
    """List the points of each trajectory by their places."""
    return [found.points[a:b, 0].astype(int).tolist() for a, b in pairwise(found.offsets)]


def slow_joined(
    given: pt.Trajectories, users: list[int], ids: list[int], kinds: tuple[str, str]
) -> list[list[int]]:
    """Join with a dictionary; 0 is unknown, but for whole numbers."""
    found: dict[Any, list[int]] = {}
    n_entries: dict[Any, int] = {}
    for (user, id_), points in zip(zip(users, ids, strict=True), listed(given), strict=True):
        if id_ or kinds[1] not in HAS_UNKNOWN:
            found.setdefault((user, id_), []).extend(points)
            n_entries[user, id_] = n_entries.get((user, id_), 0) + 1
    if given.times is None:
        return [*found.values()]
    late = np.where(np.isnan(given.times), np.inf, given.times)
    return [
        sorted(points, key=lambda point: late[point]) if n_entries[key] > 1 else points
        for key, points in found.items()
    ]


NAMED = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 4), st.integers(0, 4)), max_size=30)


@settings(max_examples=200, deadline=None)
@given(
    named=NAMED,
    kinds=st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from(sorted(KINDS))),
    timed=st.booleans(),
    cuts=st.lists(st.integers(0, 30), max_size=4),
    n_points=st.sampled_from([1, 3, 1000]),
    seed=st.integers(0, 99),
)
def test_entries_of_one_user_and_id_are_one_trajectory(
    named: list[tuple[int, int, int]],
    kinds: tuple[str, str],
    timed: bool,
    cuts: list[int],
    n_points: int,
    seed: int,
) -> None:
    """Whether they came in one piece or were concatenated, and whatever the size of parts."""
    users, ids, lengths = ([row[column] for row in named] for column in (0, 1, 2))
    times = np.random.default_rng(seed).choice([1.0, 2.0, 3.0, np.nan], sum(lengths)) if timed else None
    given = entries(KINDS[kinds[0]](users), KINDS[kinds[1]](ids), lengths, times)
    wanted = slow_joined(given, users, ids, kinds)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(containers, "PART_POINTS", n_points)
        parts = [*given.parts()]
    assert [points for part in parts for points in listed(part)] == wanted
    bounds = [0, *sorted(min(cut, len(given)) for cut in cuts), len(given)]
    pieces = [given[a:b] for a, b in pairwise(bounds)]
    whole = pt.Trajectories.concatenate(pieces)
    assert listed(whole) == wanted
    assert whole.joined() is whole or listed(whole.joined()) == wanted  # once is enough
    if timed:
        np.testing.assert_array_equal(whole.times, given.times[whole.points[:, 0].astype(int)])  # type: ignore[index,arg-type]


def test_without_ids_each_entry_is_a_trajectory() -> None:
    given = entries(np.zeros(4, int), None, [1, 2, 0, 1])
    assert given.joined() is given and len(pt.Trajectories.concatenate([given, given])) == 8


def test_the_answer_is_kept_and_slices_and_cuts_are_as_they_are() -> None:
    given = entries(None, np.array([1, 2, 1]), [1, 1, 1])
    assert given.joined() is given.joined() is not given
    assert len(given[:3]) == 3 and sum(map(len, given.cut(1))) == 3 and len(given.take(np.array([0, 2]))) == 2
    assert listed(given.take(np.array([2, 0])).joined()) == [[2, 0]]
    once = entries(None, np.array([3, 2, 1]), [1, 1, 1])
    assert once.joined() is once


NEAR = [
    np.array([2**53, 2**53 + 1]),
    np.array([2**63, 2**63 + 1], np.uint64),
    np.array(["a", "a\x00b"], object),
]


@pytest.mark.parametrize("ids", NEAR, ids=["int", "uint", "text"])
def test_near_ids_are_not_one(ids: Any) -> None:
    assert len(entries(None, ids, [1, 1]).joined()) == 2
    others = [np.array([0.5]), np.array(["b"], STRINGS), np.array([1])]
    parts = [entries(None, ids, [1, 1]), *(entries(None, other, [1]) for other in others)]
    assert len(pt.Trajectories.concatenate(parts)) == 5  # numpy would make floats or texts of all
    assert len(pt.Trajectories.concatenate([*parts, parts[0]])) == 5


def test_users_keep_trips_apart_also_where_a_part_has_none() -> None:
    ann, bob = (entries(np.array([name], STRINGS), np.array([1]), [2]) for name in ("ann", "bob"))
    nobody = entries(None, np.array([1]), [1])
    whole = pt.Trajectories.concatenate([ann, nobody, bob, ann, nobody])
    assert np.diff(whole.offsets).tolist() == [4, 2, 2]
    assert whole.users is not None and whole.users.tolist() == ["ann", None, "bob"]


def test_where_a_part_has_no_ids_what_has_ids_is_joined_first() -> None:
    named, nameless = entries(None, np.array([7, 8]), [1, 2]), entries(None, None, [1, 1])
    whole = pt.Trajectories.concatenate([named, nameless, named, nameless])
    assert whole.ids is None and np.diff(whole.offsets).tolist() == [2, 4, 1, 1, 1, 1]
    unknown = entries(None, np.array(["", "a"], STRINGS), [1, 1])
    assert len(pt.Trajectories.concatenate([unknown, nameless])) == 3


def test_times_are_joined_and_unknown_where_a_part_has_none() -> None:
    days = np.array(["2024-01-02", "2024-01-01"], "M8[s]")
    timed, timeless = entries(None, np.array([1]), [2], days), entries(None, np.array([1]), [1])
    whole = pt.Trajectories.concatenate([timeless, timed])
    assert whole.times is not None and np.isnat(whole.times).tolist() == [False, False, True]
    assert listed(whole) == [[1, 0, 0]]
    numbers = entries(None, np.array([1]), [1], np.array([3.0]))
    assert np.isnan(pt.Trajectories.concatenate([timeless, numbers]).times).tolist() == [False, True]  # type: ignore[arg-type]
    with pytest.raises(pt.DataError, match="calendar times, some have numbers"):
        pt.Trajectories.concatenate([timed, numbers])


def test_parts_of_other_kinds_are_refused() -> None:
    one = entries(None, None, [1])
    with pytest.raises(pt.DataError, match="different gaps; read all parts with the same gap_minutes"):
        pt.Trajectories.concatenate([one, replace(one, gap_minutes=30.0)])
    with pytest.raises(pt.DataError, match="some planar; use one kind"):
        pt.Trajectories.concatenate([one, replace(one, crs="lonlat")])


# --- logs that were cut at gaps ---------------------------------------------------------------------------


def at(*minutes: float | None) -> Any:
    """Give times so many minutes after a moment."""
    start = np.datetime64("2024-01-01T00:00", "s")
    return np.array([np.datetime64("NaT") if m is None else start + int(60 * m) for m in minutes], "M8[s]")


def test_logs_of_two_days_are_cut_where_they_were_joined(tmp_path: Path) -> None:
    """Each day's first trip is called u/1: they are joined by name, and cut again at the night between."""
    for day in (1, 2):
        rows = [f"u,2024-01-0{day}T{time},1,{place}" for place, time in enumerate(("08:00", "08:10", "12:00"))]
        (tmp_path / f"{day}.csv").write_text("\n".join(["user_id,datetime,x,y", *rows]) + "\n")
    days = [pt.read(tmp_path / f"{day}.csv", gap_minutes=30).collect() for day in (1, 2)]
    assert [day.ids.tolist() for day in days] == [["u/1", "u/2"]] * 2  # type: ignore[union-attr]
    whole = pt.Trajectories.concatenate(days)
    assert np.diff(whole.offsets).tolist() == [2, 2, 1, 1] and whole.gap_minutes == 30


@settings(max_examples=200, deadline=None)
@example(trips=[(0, []), (1, [0, 3, 6])], random=Random(1))
@given(
    trips=st.lists(
        st.tuples(st.integers(0, 1), st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=5)),
        min_size=1,
        max_size=8,
    ),
    random=st.randoms(use_true_random=False),
)
def test_a_trip_changes_no_other_trip_of_its_log(trips: Any, random: Any) -> None:
    """Entries are cut at gaps over 2 minutes; each trip that comes out may go, and all others stay."""
    ids = np.array([id_ for id_, _ in trips])
    times = at(*(minute for _, minutes in trips for minute in minutes))
    given = entries(None, ids, [len(minutes) for _, minutes in trips], times, gap_minutes=2)
    found = given.joined()
    assert found.times is not None and not np.isnat(found.times).any()
    for trip in range(len(found)):
        inside = found.times[found.offsets[trip] : found.offsets[trip + 1]]
        assert (
            len(inside)
            and np.all(np.diff(inside) >= np.timedelta64(0))
            and np.diff(inside).max(initial=0) <= 120
        )
    shuffled = given.take(np.array(random.sample(range(len(given)), len(given)), int))
    assert sorted(map(sorted, listed(shuffled.joined()))) == sorted(map(sorted, listed(found)))
    for gone in listed(found):  # the points of one trip, out of all entries that hold some
        stays = ~np.isin(given.points[:, 0], gone)
        kept = np.concatenate([[0], np.cumsum(stays)])[given.offsets]
        fewer = replace(given, points=given.points[stays], times=times[stays], offsets=kept)
        assert sorted(listed(fewer.joined())) == sorted(trip for trip in listed(found) if trip != gone)


def test_numbers_are_no_clock() -> None:
    times = np.array([0.0, 1e6, 5e5])
    assert listed(entries(None, np.array([1, 1]), [2, 1], times, gap_minutes=2).joined()) == [[0, 2, 1]]


# --- what a fit makes of it -------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [pt.BridgeTrace, pt.PrivTrace, pt.AdaTrace, pt.DPT])
def test_a_fit_counts_each_user_and_id_once(
    method: Any, wanderers: pt.Trajectories, region: pt.Region, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries of one point each, scattered, make the model file of the whole trajectories."""
    monkeypatch.setattr(containers, "PART_POINTS", 500)
    whole = replace(wanderers[:200], ids=np.arange(200))
    owners = np.repeat(np.arange(200), np.diff(whole.offsets))
    ids = np.random.default_rng(2).permutation(owners)  # of which trajectory the next point comes
    points = np.argsort(np.argsort(ids, kind="stable"))
    scattered = pt.Trajectories(whole.points[points], np.arange(len(ids) + 1), ids=ids, crs="planar")
    models = [method(epsilon=1, region=region).fit(source, noise=NoNoise()) for source in (whole, scattered)]
    assert len(scattered) > 1000 and models[0].n_trajectories == models[1].n_trajectories
    assert models[0].checksum == models[1].checksum
