import numpy as np
import pyarrow as pa
import pytest

from privtrace.io.grouping import cut, gather, is_contiguous, key_hashes, run_starts


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
        assert is_contiguous(lambda: [keys(convert(ids)) for ids in batches]) is contiguous  # noqa: B023


def test_users_may_repeat_ids():
    assert is_contiguous(lambda: [keys([1, 2, 1, 2], ["a", "a", "b", "b"])])
    assert not is_contiguous(lambda: [keys([1, 2, 1, 2], ["a", "a", "b", "a"])])


def test_gathering_is_exact_and_stable():
    rows = keys([2, 1, 2, 1, 2], ["a", "a", None, "a", "a"], n=pa.array(range(5)))
    assert gather(rows)["n"].to_pylist() == [0, 4, 1, 3, 2]


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


def test_cuts_keep_trajectories_whole():
    batches = [keys([1, 1]), keys([2]), keys(pa.array([], pa.int64())), keys([2, 2, 3]), keys([3]), keys([4])]
    assert [part["traj_id"].to_pylist() for part in cut(batches, 2)] == [[1, 1], [2, 2, 2], [3, 3], [4]]
    assert [part.num_rows for part in cut(batches, 100)] == [8]
    assert [part.num_rows for part in cut(batches[2:3], 1)] == [0]
