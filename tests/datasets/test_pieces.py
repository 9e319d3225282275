"""What importers find in text, against what is expected."""

import math

import numpy as np
import pytest

from privtrace.datasets.pieces import digits, lines_of, pairs
from privtrace.parsing.text import ByteSlices


def pieces(*values: bytes) -> ByteSlices:
    """Point at values that stand in one text with something in between."""
    ends = np.cumsum([len(value) + 1 for value in values])
    content = np.frombuffer(b"".join(value + b"7" for value in values), np.uint8)
    return ByteSlices(content, ends - 1 - [len(value) for value in values], ends - 1)


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a", [b"a"]),
        (b"a\r\n\r\nb\n", [b"a", b"", b"b"]),
        (b"a\rb\n\r", [b"a\rb", b""]),
    ],
)
def test_lines_end_in_any_way(block, expected):
    assert lines_of(block).texts().to_pylist() == expected


NAN = (math.nan, math.nan)


@pytest.mark.parametrize(
    ("listed", "bracketed", "expected"),
    [
        ("", False, []),
        ("1,2", False, [(1, 2)]),
        ("1,2;3,4;", False, [(1, 2), (3, 4)]),
        ("1, 2 ; 3,4; ", False, [(1, 2), (3, 4)]),
        ("1,2;;3,4;", False, [(1, 2), NAN, (3, 4)]),
        (";", False, [NAN]),
        ("1;2,3;", False, [NAN, (2, 3)]),
        ("1,2,3;", False, [(1, math.nan)]),
        ("a,2;", False, [(math.nan, 2)]),
        ("", True, []),
        (" ", True, []),
        ("[1,2]", True, [(1, 2)]),
        ("[1, 2], [3, 4]", True, [(1, 2), (3, 4)]),
        ("[1,2][3,4]", True, [(1, 2), NAN]),
        ("[1,2],[3,4", True, [(1, 2), NAN]),
        ("[1,2],", True, [(1, 2), NAN]),
        (",[1,2]", True, [NAN]),
        ("1,2", True, [NAN]),
        ("[]", True, [NAN]),
        ("[[1,2]]", True, [(math.nan, 2), NAN]),
        ("[null,2]", True, [(math.nan, 2)]),
    ],
)
def test_pairs(listed, bracketed, expected):
    lists = pieces(b"", listed.encode(), b"")
    x, y, counts = pairs(lists, bracketed=bracketed)
    assert counts.tolist() == [0, len(expected), 0]
    np.testing.assert_array_equal(
        np.column_stack([x.numbers(), y.numbers()]), np.array(expected, float).reshape(-1, 2)
    )


def test_digits_have_to_have_the_form():
    numbers, right = digits(pieces(b"02:09:59", b"2:09:59", b"02:09:5x", b"02-09-59", b""), "00:00:00")
    assert right.tolist() == [True, False, False, False, False]
    assert numbers[:, 0].tolist() == [2, 9, 59]
