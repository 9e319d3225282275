import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privtrace.rows import join, keys_of, values_of
from privtrace.rows.grouping import Runs, _in_order, cut, gather, indexed, key_hashes, look, run_starts


def keys(ids, users=None, **columns) -> pa.RecordBatch:
    known = {} if users is None else {"user_id": text(users)}
    return pa.RecordBatch.from_pydict({"traj_id": pa.array(ids), **known, **columns})


def text(values) -> pa.Array:
    return pa.array([None if value is None else value.encode() for value in values], pa.large_binary())


def test_runs_start_where_a_key_changes():
    assert run_starts(keys([1, 1, 2, 1])).tolist() == [0, 2, 3]
    assert run_starts(keys([1, 1, 1, 1], ["a", None, None, "a"])).tolist() == [0, 1, 3]
    assert run_starts(keys([1])).tolist() == [0]
    assert run_starts(keys(pa.array([], pa.int64()))).tolist() == []


@pytest.mark.parametrize(
    ("batches", "contiguous"),
    [
        ([[1, 1, 2], [2, 3]], True),
        ([[3, 3, 1], [1, 1], [2]], True),
        ([[3, 3, 1], [1, 3]], False),
        ([[1, 2, 1]], False),
        ([[1], [2], [3], [1]], False),
        ([], True),
    ],
)
def test_contiguity_over_borders_of_batches(batches, contiguous):
    for convert in (lambda ids: ids, lambda ids: text(map(str, ids))):
        assert look(lambda: [keys(convert(ids)) for ids in batches], 0)[0] is contiguous  # noqa: B023


def test_users_may_repeat_ids():
    assert look(lambda: [keys([1, 2, 1, 2], ["a", "a", "b", "b"])], 0)[0]
    assert not look(lambda: [keys([1, 2, 1, 2], ["a", "a", "b", "a"])], 0)[0]


def test_gathering_is_exact_and_stable():
    rows = keys([2, 1, 2, 1, 2], ["a", "a", None, "a", "a"], n=pa.array(range(5)))
    for batches in ([rows], [rows[:2], rows[2:2], rows[2:]]):
        runs = gather(batches)
        assert runs.column("n").tolist() == [0, 4, 1, 3, 2] and runs.starts.tolist() == [0, 2, 4]
        assert runs.keys.to_pylist() == keys([2, 1, 2], ["a", "a", None]).to_pylist()


def test_hashes_depend_on_values_only():
    values = ["", "a", "b", "ab", "ba", "a" * 1000, "aa", "\0", "\0\0"]
    hashes = key_hashes(keys(text(values)))
    assert len(set(hashes.tolist())) == len(values)
    np.testing.assert_array_equal(key_hashes(keys(text(["x", *values])).slice(1)), hashes)
    assert len(set(key_hashes(keys(np.arange(1000), map(str, range(1000, 0, -1)))).tolist())) == 1000
    assert key_hashes(keys(text(["a"]), ["1"]).slice(0, 0)).tolist() == []


def test_buckets_are_even():
    for ids in (np.arange(4096), text(f"trip-{i:05d}" for i in range(4096))):
        sizes = np.bincount((key_hashes(keys(ids)) % np.uint64(16)).astype(int), minlength=16)
        assert sizes.min() > 180 and sizes.max() < 340


def numbered(*batches) -> list[pa.RecordBatch]:
    """Make batches of these ids, and count their rows from 0."""
    ends = np.cumsum([len(ids) for ids in batches])
    return [
        keys(pa.array(ids, pa.int64()), n=pa.array(range(end - len(ids), end), pa.int64()))
        for ids, end in zip(batches, ends.tolist(), strict=True)
    ]


def rows_of(runs: Runs) -> list[tuple[int, int]]:
    """Write each row out: its id and its number."""
    lengths = np.diff(runs.starts, append=runs.n_rows)
    return list(zip(np.repeat(runs.keys["traj_id"], lengths).tolist(), runs.column("n").tolist(), strict=True))


def test_cuts_keep_trajectories_whole():
    batches = [Runs.of(rows) for rows in numbered([1, 1], [2], [], [2, 2, 3], [3], [4])]
    found = [[name for name, _ in rows_of(runs)] for runs in cut(batches, 2)]
    assert found == [[1, 1], [2, 2, 2], [3, 3], [4]]
    assert [runs.n_rows for runs in cut(batches, 100)] == [8]
    assert [runs.n_rows for runs in cut(batches[2:3], 1)] == [0]


@settings(deadline=None)
@given(st.lists(st.lists(st.booleans(), max_size=6), min_size=1, max_size=8), st.integers(1, 9))
def test_cuts_of_any_batches_hold_the_same_rows(changes, at_least):
    ids = np.cumsum([change for batch in changes for change in batch])
    batches = numbered(*np.split(ids, np.cumsum([len(batch) for batch in changes])[:-1]))
    found = list(cut([Runs.of(rows) for rows in batches], at_least))
    assert [row for runs in found for row in rows_of(runs)] == list(
        zip(ids.tolist(), range(len(ids)), strict=True)
    )
    assert all(runs.n_rows >= at_least for runs in found[:-1])
    names = [name for runs in found for name in runs.keys["traj_id"].to_pylist()]
    assert names == np.unique(ids).tolist()


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(0, 5), max_size=6), min_size=1, max_size=8), st.data())
def test_an_index_stands_for_keys(ids, data):
    batches = numbered(*ids)
    whole = join(batches)
    contiguous, index = look(lambda: map(keys_of, batches), 1 << 20)
    runs = Runs.of(whole)
    assert contiguous == (len(set(runs.keys["traj_id"].to_pylist())) == len(runs.starts))
    if not contiguous or not whole.num_rows:
        assert index is None
        return
    borders = sorted(data.draw(st.lists(st.integers(0, whole.num_rows), max_size=6)))
    pieces = [
        whole.slice(start, stop - start)
        for start, stop in zip([0, *borders], [*borders, whole.num_rows], strict=True)
    ]
    for found, piece in zip(indexed(index, map(values_of, pieces)), pieces, strict=True):
        assert rows_of(found) == rows_of(Runs.of(piece))
        assert found.keys == Runs.of(piece).keys


def test_an_index_is_small_or_not_at_all():
    batches = numbered([1, 1, 2], [2, 3], [3, 4])
    assert look(lambda: batches, 0) == look(lambda: batches, 40) == (True, None)
    assert look(lambda: batches, 1 << 10)[1]["start"].to_pylist() == [0, 2, 4, 6]


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.sampled_from([None, "a", "b", ""])), max_size=200))
def test_gathering_is_sorting_by_first_appearance(pairs):
    ids, users = [first for first, _ in pairs], [second for _, second in pairs]
    numbers = pa.array(ids, pa.int64()), text(str(one) for one in ids)
    firsts = {pair: place for place, pair in reversed(list(enumerate(pairs)))}
    expected = sorted(range(len(pairs)), key=lambda row: firsts[pairs[row]])
    for column in numbers:
        found = gather([keys(column, users, n=pa.array(range(len(pairs))))])
        assert found.column("n").tolist() == expected
        assert found.starts.tolist() == [at for at, row in enumerate(expected) if firsts[pairs[row]] == row]


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), max_size=60), st.integers(1, 9))
def test_gathered_runs_are_cut_between_trajectories(ids, at_least):
    (rows,) = numbered(ids)
    whole = gather([rows])
    found = list(whole.pieces(at_least))
    assert [row for runs in found for row in rows_of(runs)] == rows_of(whole)
    assert [name for runs in found for name in runs.keys["traj_id"].to_pylist()] == list(dict.fromkeys(ids))
    beside_the_first = [runs.n_rows - int(runs.starts[1]) for runs in found if len(runs.starts) > 1]
    assert all(n_rows <= at_least for n_rows in beside_the_first)


def test_many_keys_are_gathered_exactly():
    ids = np.random.default_rng(0).integers(0, 20_000, 50_000)
    order = gather([keys(ids, n=pa.array(np.arange(len(ids))))]).column("n")
    found, firsts = ids[order], np.unique(ids, return_index=True)[1]
    assert np.count_nonzero(np.diff(found)) == len(firsts) - 1
    np.testing.assert_array_equal(order[np.flatnonzero(np.diff(found, prepend=-1))], np.sort(firsts))
    assert np.all(np.diff(order)[np.diff(found) == 0] > 0)


def in_order(starts, rows_at=None, last=("x", "y"), **columns) -> np.ndarray | None:
    """Order points of runs with these columns, whose rows may stand otherwise in the table."""
    starts = np.asarray(starts)
    rows = pa.table({name: pa.array(values, from_pandas=True) for name, values in columns.items()})
    if rows_at is not None:
        rows = rows.take(np.argsort(rows_at))
        rows = pa.concat_tables([rows[: len(rows) // 3], rows[len(rows) // 3 :]])  # as those of several batches
    runs = Runs(keys(np.arange(len(starts))), starts, rows, rows_at)
    return _in_order(runs, runs.column("t"), last)


def slowly(starts, n_rows, columns) -> list[int]:
    """Order points as tuples of all that counts, missing values last."""
    owners = np.repeat(np.arange(len(starts)), np.diff(starts, append=n_rows)).tolist()

    def key(row: int) -> list:
        values = [column[row] for column in columns]
        return [owners[row], *((bool(np.isnan(one)), 0 if np.isnan(one) else one) for one in values)]

    return sorted(range(n_rows), key=key)


def check_order(starts, named, last, rows_at) -> None:
    """Hold both forms of times against the slow way; where nothing moves, nobody is to work."""
    counting = [name for name in ("t", "number", "order") if name in named] + list(last)
    times = named.get("t")
    moments = None
    if times is not None:
        whole = np.nan_to_num(times, posinf=9, neginf=-9).astype(int)
        moments = np.where(np.isnan(times), np.iinfo(np.int64).min, whole).astype("datetime64[ms]")
    for some in [times] if times is None else [times, moments]:
        columns = {**named, **({} if some is None else {"t": some})}
        expected = slowly(starts, len(rows_at), [columns[name] for name in counting])
        for at in (None, rows_at):
            found = in_order(starts, at, last, **columns)
            assert (found is None) == (expected == sorted(expected))
            assert found is None or found.tolist() == expected


missing_or = st.sampled_from([np.nan, -np.inf, -1.5, -0.0, 0.0, 2.0, np.inf])
five = st.tuples(*[missing_or] * 5)


@settings(deadline=None)
@given(
    st.lists(five, min_size=1, max_size=60),
    st.sets(st.sampled_from(["t", "number", "order"])),
    st.booleans(),
    st.data(),
)
def test_points_are_in_order_of_time_then_order_then_place(rows, there, by_place, data):
    names = ["t", "number", "order", "x", "y"]
    columns = dict(zip(names, np.array(rows).T, strict=True))
    named = {name: values for name, values in columns.items() if name in (*there, "x", "y")}
    starts = np.unique([0, *data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=4))])
    rows_at = np.array(data.draw(st.permutations(range(len(rows)))))
    check_order(starts, named, ("x", "y") if by_place else (), rows_at)


def test_long_runs_with_many_ties_are_in_order():
    rng = np.random.default_rng(3)
    values = rng.choice([np.nan, -1.5, -0.0, 0.0, 2.0], (5, 3000))
    named = dict(zip(["t", "number", "order", "x", "y"], values, strict=True))
    check_order(np.array([0, 5, 300, 301, 2000]), named, ("x", "y"), rng.permutation(3000))


def test_a_tie_is_broken_by_order_then_by_place():
    ties = {"t": [1.0, 1, 1, 1, 1], "order": [np.nan, 3, 2, 2, 2]}
    places = {"x": [0.0, 0, 5, -0.0, 0.0], "y": [0.0, 0, 0, 2, 1]}
    assert in_order([0], **ties, **places).tolist() == [4, 3, 2, 1, 0]
    assert in_order([0], last=(), **ties, **places).tolist() == [2, 3, 4, 1, 0]
    assert in_order([0, 3], **ties, **places).tolist() == [2, 1, 0, 4, 3]  # and no run looks at another
    assert in_order([0], t=[1.0, 1, 2], x=[0.0, 0, -9], y=[1.0, 2, 0]) is None


def test_a_time_at_the_edge_comes_before_none():
    edge = np.array(["NaT", np.iinfo(np.int64).max], "datetime64[us]")
    np.testing.assert_array_equal(in_order([0], t=edge, last=()), [1, 0])
