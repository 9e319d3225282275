"""Spell users and ids as bytes, different ones differently, and number them: the one rule for who is who.

Two users who were taken for one would change for each other what counts, and two ids what one trajectory is. So
names are compared as bytes that spell them one to one, never as hashes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.errors import DataError

_Array: TypeAlias = npt.NDArray[Any]
_Words: TypeAlias = npt.NDArray[np.uint64]

# What a spelling starts with: numbers of any type are spelled alike, and none like a text.
_NEGATIVE, _WHOLE, _BROKEN, _TEXT, _OTHER = (bytes([tag]) for tag in range(5))


def spelled_ids(column: _Array) -> pa.Array:
    """Spell ids as bytes, different ones differently; null where unknown: '', NaN, NaT and None."""
    return _spelled(column, "ids")


def spelled_users(column: _Array) -> pa.Array:
    """Spell users as ids are; the lowest int64 and the highest uint64 are unknown too, as readers mark it."""
    names = _spelled(column, "users")
    return pc.if_else(pc.is_in(names, value_set=_edges()), pa.scalar(None, names.type), names)


def numbered(*columns: pa.Array) -> npt.NDArray[np.int64]:
    """Give rows numbers by the first appearance of what stands in all columns: a b a gives 0, 1, 0.

    This compares the values themselves, not hashes, so it is exact. Null is one more value.
    """
    first, *others = (column.dictionary_encode(null_encoding="encode") for column in columns)
    numbers: npt.NDArray[np.int64] = first.indices.to_numpy().astype(np.int64)
    for encoded in others:
        pairs = numbers * len(encoded.dictionary) + encoded.indices.to_numpy()
        numbers = pa.array(pairs).dictionary_encode().indices.to_numpy().astype(np.int64)
    return numbers


def _spelled(column: _Array, name: str) -> pa.Array:
    values = np.asarray(column)
    if values.ndim != 1 or values.dtype.kind in "cV":
        raise DataError(f"{name} must be a list of numbers or texts, not of {values.dtype}")
    if values.dtype.kind in "TUSO":
        return _spelled_objects(values.astype(object))  # arrow would end text of a fixed width at a zero byte
    return _spelled_numbers(values)


def _spelled_objects(values: _Array) -> pa.Array:
    """Spell Python objects: arrow takes columns of one kind, and each value is looked at where kinds mix."""
    try:
        column = pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        column = None
    if column is None or not _is_plain(column.type):
        return pa.array([_spelled_object(value) for value in values], pa.large_binary())
    if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
        numbers = _spelled_numbers(column.fill_null(0).to_numpy())
        return pc.if_else(column.is_valid(), numbers, pa.scalar(None, pa.large_binary()))
    text = column.cast(pa.large_binary())
    known = pc.greater(pc.binary_length(text), 0)  # null where the text is
    text = pc.binary_join_element_wise(pa.scalar(_TEXT, text.type), text, pa.scalar(b"", text.type))
    return pc.if_else(known, text, pa.scalar(None, pa.large_binary()))


def _is_plain(kind: pa.DataType) -> bool:
    """Tell whether arrow holds a column of this type without changing a value."""
    tests = (
        pa.types.is_null,
        pa.types.is_string,
        pa.types.is_binary,
        pa.types.is_integer,
        pa.types.is_floating,
    )
    return any(test(kind) for test in tests)


def _spelled_object(value: object) -> bytes | None:
    if isinstance(value, str | bytes):
        text = value if isinstance(value, bytes) else value.encode("utf-8", "surrogatepass")
        return _TEXT + text if text else None
    try:
        if value is None or value != value:
            return None
        number = np.asarray(value)
    except (TypeError, ValueError):  # pandas' NA, and what is no single value: nobody's name
        return None
    if number.ndim == 0 and number.dtype.kind in "biufmM":
        spelling: bytes | None = _spelled_numbers(number.reshape(1))[0].as_py()
        return spelling
    return _OTHER + str(value).encode("utf-8", "surrogatepass")


def _spelled_numbers(values: _Array) -> pa.Array:
    """Spell numbers in nine bytes, in their order where they are whole: the number 7 alike in every type."""
    tags, words, known = _number_words(values)
    spelling = np.empty((len(values), 9), np.uint8)
    spelling[:, 0] = tags
    spelling[:, 1:] = words.astype(">u8").view(np.uint8).reshape(-1, 8)
    offsets = np.arange(len(values) + 1, dtype=np.int64) * 9
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(spelling)]
    column = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(values), buffers)
    return pc.if_else(pa.array(known), column, pa.scalar(None, pa.large_binary()))


def _number_words(values: _Array) -> tuple[npt.NDArray[np.uint8], _Words, npt.NDArray[np.bool_]]:
    """Give each number's tag and 64 bits, and tell whether it is known."""
    if values.dtype.kind == "f":
        floats = values.astype(np.float64)
        whole = (np.floor(floats) == floats) & (np.abs(floats) < 2.0**63)
        tags, words, _ = _number_words(np.where(whole, floats, 0).astype(np.int64))
        tags = np.where(whole, tags, np.uint8(_BROKEN[0]))
        return tags, np.where(whole, words, floats.view(np.uint64)), ~np.isnan(floats)
    if values.dtype.kind in "bu":
        words = values.astype(np.uint64)
        return np.full(len(words), _WHOLE[0], np.uint8), words, np.ones(len(words), np.bool_)
    integers = values.astype(np.int64)
    tags = np.where(integers < 0, np.uint8(_NEGATIVE[0]), np.uint8(_WHOLE[0]))
    known = ~np.isnat(values) if values.dtype.kind in "mM" else np.ones(len(values), np.bool_)
    return tags, integers.view(np.uint64), known


@cache
def _edges() -> pa.Array:
    """Spell the numbers that stand for no user; at first use, since arrow loads pandas for its first array."""
    edges = (np.array([np.iinfo(np.int64).min]), np.array([np.iinfo(np.uint64).max]))
    return pa.concat_arrays([_spelled_numbers(edge) for edge in edges])
