"""Pieces of bytes against slow and obvious oracles."""

import re

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from privtrace.parsing import slices, text


def pieces(*values: bytes) -> text.ByteSlices:
    """Point at values that stand in one text with something in between."""
    ends = np.cumsum([len(value) + 1 for value in values])
    content = np.frombuffer(b"".join(value + b"7" for value in values), np.uint8)
    return text.ByteSlices(content, ends - 1 - [len(value) for value in values], ends - 1)


numbers = st.floats(-1e98, 1e98).filter(lambda value: value == 0 or abs(value) > 1e-90)


@settings(deadline=None)
@given(st.lists(numbers, min_size=1))
def test_numbers_are_read_exactly(values):
    for written in ([repr(value) for value in values], [f"{value % 1000:.6f}" for value in values]):
        found = pieces(*(value.encode() for value in written)).numbers()
        assert found.tolist() == [float(value) for value in written]


@settings(deadline=None)
@given(st.lists(st.text("0123456789.,-+eE \tx", max_size=24), min_size=1))
def test_numbers_are_what_tables_take_for_numbers(values):
    encoded = [value.encode() for value in values]
    for comma in (False, True):
        column = pa.array(encoded, pa.binary())
        expected = text.any_numbers(column, decimal_comma=comma)
        assert text.numbers(column, decimal_comma=comma).equals(expected)
        found = pieces(*encoded).numbers(decimal_comma=comma)
        np.testing.assert_array_equal(found, expected.to_numpy(zero_copy_only=False))


digits = st.text("0123456789", min_size=1, max_size=20)


@settings(deadline=None, max_examples=500)
@given(st.lists(st.tuples(digits, digits), min_size=1))
def test_long_numbers_are_read_to_the_nearest_float(values):
    halfway = [
        f"{2**53 + 1}",
        f"{2**53 + 1}.0",
        "4503599627370496.5",
        "4503599627370497.5",
        "0.000000000000000001",
    ]
    written = [*(f"{whole}.{decimals}" for whole, decimals in values), *halfway]
    found = pieces(*(value.encode() for value in written)).numbers()
    assert found.tolist() == [float(value) for value in written]


def test_numbers_of_seventeen_digits_need_no_second_look(monkeypatch):
    monkeypatch.delattr(text, "any_numbers")
    values = np.random.default_rng(0).uniform(-180, 180, 20_000)
    data = pieces(*(repr(value).encode() for value in values.tolist()))
    assert data.numbers().tolist() == values.tolist()


def test_zero_keeps_its_sign():
    assert np.signbit(pieces(b"-0", b"-0.0", b"0").numbers()).tolist() == [True, True, False]


def slow_record(line: bytes, delimiter: bytes) -> list[bytes] | int:
    """Take a line of three fields apart by regular expressions, or say what becomes of it."""
    content = line.removesuffix(b"\n").removesuffix(b"\r")
    if b"\r" in content:
        return slices.BROKEN
    field = rb'(?:"((?:[^"]|"")*)"|((?!")[^%b]*))' % delimiter
    if not re.fullmatch(rb"%b(?:%b%b)*" % (field, delimiter, field), content):
        return slices.UNMATCHED
    found = re.findall(rb"%b%b" % (delimiter, field), delimiter + content)
    if len(found) == 3:
        return [quoted.replace(b'""', b'"') or plain for quoted, plain in found]
    if not content.strip(b" \t"):
        return slices.NOTHING
    return slices.TOO_MANY if len(found) > 3 else slices.TOO_FEW


@settings(deadline=None, max_examples=500)
@given(st.lists(st.text('ab,,,"" \t\t\r', max_size=9)), st.sampled_from(",\t"), st.sampled_from(["\n", "\r\n"]))
def test_records_are_those_of_regular_expressions(lines, delimiter, end):
    block = end.join([*lines, ""]).encode()
    for content in (block, block.removesuffix(b"\n")):
        found = slices.records(content, ord(delimiter), 3, [2, 0])
        expected = [slow_record(line, delimiter.encode()) for line in re.findall(rb"[^\n]*\n|[^\n]+", content)]
        rows = [one for one in expected if isinstance(one, list)]
        assert found.fates.tolist() == [slices.RIGHT if isinstance(one, list) else one for one in expected]
        assert found.texts(0).to_pylist() == [row[2] for row in rows]
        assert found.texts(1).to_pylist() == [row[0] for row in rows]
