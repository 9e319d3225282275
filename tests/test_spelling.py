"""Names are spelled one to one, whatever the type that holds them, and the same names get the same number."""

from __future__ import annotations

import uuid
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privtrace.spelling import numbered, spelled_ids, spelled_users

ONES: list[Any] = [
    np.array([1], dtype) for dtype in ("i1", "u2", ">i4", "i8", "u8", "f4", "f8", "?", object)
] + [np.array([1.0], object), np.array([1, "a"], object)[:1]]


def test_a_number_is_spelled_alike_in_every_type() -> None:
    assert {spelled_users(column)[0].as_py() for column in ONES} == {b"\x01" + (1).to_bytes(8, "big")}


def test_a_text_is_spelled_alike_in_every_type() -> None:
    strings: Any = np.dtypes.StringDType()
    columns = [np.array(["é1"], dtype) for dtype in (strings, "U2", "U9", object)]
    columns += [np.array(["é1".encode()]), np.array(["é1", 1], object)[:1]]
    assert {spelled_users(column)[0].as_py() for column in columns} == {b"\x03" + "é1".encode()}


VALUES: list[Any] = [
    0, 1, -1, 255, 256, 2**63 - 1, 2**63, 2**64 - 2, -(2**63) + 1, 2**70, 2**70 + 1, 0.5, -0.5, 2**53 + 1,
    1e300, float("inf"), -float("inf"), "1", "1.0", "a", "A", "é", "a\x00", "a\x00b", "\x01", "\ud800", b"\xff",
    " ", uuid.UUID(int=1), uuid.UUID(int=2), (1, 2), np.datetime64("2020-01-01"),
]  # fmt: skip


def test_different_users_are_spelled_differently() -> None:
    column = np.empty(len(VALUES), object)
    column[:] = VALUES
    names = spelled_users(column).to_pylist()
    assert None not in names and len(set(names)) == len(VALUES)
    for value, name in zip(VALUES, names, strict=True):  # alone as among others
        single = np.empty(1, object)
        single[0] = value
        assert spelled_users(single).to_pylist() == [name]


@pytest.mark.parametrize(
    "column",
    [
        np.array([np.iinfo(np.int64).min]),
        np.array([np.iinfo(np.uint64).max]),
        np.array([np.nan]),
        np.array([""]),
        np.array([""], dtype=np.dtypes.StringDType()),
        np.array([None], object),
        np.array([None, 1], object),
        np.array(["", 1], object),
        np.array([float("nan"), "a"], object),
        np.array(["NaT"], "M8[s]"),
    ],
)
def test_unknown_users_are_nobody(column: Any) -> None:
    assert spelled_users(column)[0].as_py() is None


def test_the_edge_of_a_small_type_is_a_user() -> None:
    assert (
        spelled_users(np.array([-128], np.int8))[0].is_valid
        and spelled_users(np.array([255], np.uint8))[0].is_valid
    )


@pytest.mark.parametrize("edge", [np.iinfo(np.int64).min, np.iinfo(np.uint64).max])
def test_every_whole_number_is_an_id(edge: int) -> None:
    """Unlike users, ids have no number that stands for an unknown one: readers leave such rows out."""
    for column in (np.array([edge]), np.array([edge, "a"], object)[:1]):
        assert spelled_ids(column)[0].is_valid and not spelled_users(column)[0].is_valid


@pytest.mark.parametrize("values", [[None], [""], [float("nan")], ["", "a"], [None, 1], [np.datetime64("NaT")]])
def test_unknown_ids_belong_to_nothing(values: list[Any]) -> None:
    column = np.empty(len(values), object)
    column[:] = values
    assert not spelled_ids(column)[0].is_valid


@given(rows=st.lists(st.tuples(st.sampled_from([None, b"a", b"b", b"ab"]), st.sampled_from([None, b"", b"b"]))))
def test_rows_are_numbered_by_first_appearance(rows: list[tuple[bytes | None, bytes | None]]) -> None:
    columns = [pa.array([row[c] for row in rows], pa.large_binary()) for c in (0, 1)]
    seen: dict[Any, int] = {}
    assert numbered(*columns).tolist() == [seen.setdefault(row, len(seen)) for row in rows]
