"""Read numbers that are written as text, as slices of its bytes: nothing is copied until read.

What cannot be read is missing. How one value is read never depends on another: a type guessed from many
rows would let one row change the meaning of all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.compiling import compiled
from privtrace.trajectories import Flags, Floats, Integers

Bytes = npt.NDArray[np.uint8]

# Digits are limited so that no value can overflow; nothing that can be measured needs more.
_NUMBER = (
    r"^\s*[+-]?(?:(?:\d{1,30}(?:POINT\d{0,30})?|POINT\d{1,30})(?:[eE][+-]?0?\d{1,2})?"
    r"|[1-9](?:POINT\d{0,30})?[eE](?:[+]?(?:[12]\d\d|30[0-7])|-(?:[12]\d\d|30[0-8])))\s*$"
)

#: Whole numbers up to this, and these powers of ten, are exact as floats; so is their quotient, but for one
#: rounding, which makes it the float nearest to the decimal.
_EXACT = 2**53
_POWERS = np.array([float(10**power) for power in range(23)])
#: Digits of a number that 64 bits hold, whatever they are.
_MOST_DIGITS = 18
#: Splits a float into two of half its digits.
_SPLITTER = float(2**27 + 1)

_SPACE, _MINUS, _POINT, _ZERO = (ord(sign) for sign in " -.0")
#: Which bytes a number may have.
_OF_NUMBERS = np.isin(np.arange(256), np.frombuffer(b"0123456789+-.,eE \t\n\r\f", np.uint8))


@dataclass(frozen=True)
class ByteSlices:
    """Point at pieces of a text as ranges of its bytes: piece i is text[starts[i]:stops[i]]."""

    text: Bytes
    starts: Integers
    stops: Integers

    @classmethod
    def of(cls, column: pa.Array) -> ByteSlices:
        """Point at the texts of a column; null is as empty."""
        column = column.cast(pa.large_binary())
        column = column.fill_null(b"") if column.null_count else column
        _, offset_buffer, data = column.buffers()
        offsets = np.frombuffer(offset_buffer or bytes(8), np.int64)[column.offset :][: len(column) + 1]
        return cls(np.frombuffer(data or b"", np.uint8), offsets[:-1], offsets[1:])

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, key: slice | Integers | Flags) -> ByteSlices:
        """Choose some of the pieces."""
        return ByteSlices(self.text, self.starts[key], self.stops[key])

    @property
    def lengths(self) -> Integers:
        """Count the bytes of each piece."""
        return self.stops - self.starts

    def texts(self) -> pa.Array:
        """Copy the pieces out, as large_binary."""
        offsets = np.concatenate([[0], np.cumsum(self.lengths)])
        data = np.empty(offsets[-1], np.uint8)
        _copy(self.text, self.starts, offsets, data)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        return pa.Array.from_buffers(pa.large_binary(), len(self), buffers)

    def numbers(self, *, decimal_comma: bool = False) -> Floats:
        """Read numbers, with a decimal comma too if declared; anything else, "nan" and "inf" too, is NaN."""
        values, doubted = np.full(len(self), np.nan), np.zeros(len(self), np.bool_)
        separator = ord(",") if decimal_comma else _POINT
        _read_short(self.text, self.starts, self.stops, separator, values, doubted)
        if doubted.any():
            slowly = any_numbers(self[doubted].texts(), decimal_comma=decimal_comma)
            values[doubted] = slowly.to_numpy(zero_copy_only=False)
        return values


def numbers(column: pa.Array, *, decimal_comma: bool = False) -> pa.Array:
    """Read the numbers of a column; what is none is null."""
    return pa.array(ByteSlices.of(column).numbers(decimal_comma=decimal_comma), from_pandas=True)


def any_numbers(column: pa.Array, *, decimal_comma: bool) -> pa.Array:
    """Read numbers in any form."""
    pattern = _NUMBER.replace("POINT", "[.,]" if decimal_comma else "[.]")
    plain = pc.if_else(pc.match_substring_regex(column, pattern), column, pa.scalar(None, column.type))
    # What matched is ASCII, so it is valid text.
    trimmed = pc.ascii_trim_whitespace(plain.cast(pa.string()))
    return pc.replace_substring(trimmed, ",", ".").cast(pa.float64())


def blank(column: pa.Array) -> Flags:
    """Tell where nothing stands: null, NaN, or blanks alone."""
    if pa.types.is_large_binary(column.type) or pa.types.is_binary(column.type):
        nothing = pc.match_substring_regex(column, r"^\s*$").fill_null(True)
    else:
        nothing = column.is_null(nan_is_null=pa.types.is_floating(column.type))
    flags: Flags = nothing.to_numpy(zero_copy_only=False)
    return flags


@compiled
def _copy(text, starts, offsets, data):  # type: ignore[no-untyped-def]
    for i in range(len(starts)):
        for j in range(offsets[i + 1] - offsets[i]):
            data[offsets[i] + j] = text[starts[i] + j]


@compiled
def _read_short(data, starts, stops, separator, values, doubted):  # type: ignore[no-untyped-def]
    """Read numbers of few digits without an exponent; doubt what may be another number, and leave the rest."""
    for i in range(len(starts)):
        at, stop = starts[i], stops[i]
        while at < stop and data[at] == _SPACE:
            at += 1
        negative = at < stop and data[at] == _MINUS
        at += negative
        first, point = at, -1
        digits, n_digits = np.int64(0), 0  # without leading zeros
        while at < stop:
            digit = np.int64(data[at]) - _ZERO
            if 0 <= digit <= 9:
                digits = 10 * digits + digit
                n_digits += int(n_digits > 0 or digit > 0)
            elif point < 0 and (data[at] == _POINT or data[at] == separator):
                point = at
            else:
                break
            at += 1
        has_digits = at - first > (point >= 0)
        n_decimals = at - point - 1 if point >= 0 else 0
        if at == stop and has_digits and n_digits <= _MOST_DIGITS and n_decimals < len(_POWERS):
            power = _POWERS[n_decimals]
            value = digits / power if digits <= _EXACT else _quotient(digits, power)
            if value >= 0:
                values[i] = -value if negative else value
                continue
        possible = at < stop or has_digits
        while possible and at < stop:
            possible = _OF_NUMBERS[data[at]]
            at += 1
        doubted[i] = possible


@compiled
def _quotient(digits, power):  # type: ignore[no-untyped-def]
    """Divide a whole number by a power of ten, to the nearest float; -1 where that is too close to call.

    The number is the sum of two floats. The first is divided, and what that leaves, which is known exactly, is
    divided again: a correction of about the last bit.
    """
    high = float(digits)
    low = float(digits - np.int64(high))
    quotient = high / power
    # The product of two floats is the sum of two floats.
    product = quotient * power
    a = _SPLITTER * quotient
    a = a - (a - quotient)
    b = quotient - a
    c = _SPLITTER * power
    c = c - (c - power)
    d = power - c
    rest = ((a * c - product) + a * d + b * c) + b * d
    correction = ((high - product) - rest + low) / power
    doubt = quotient * 2.0**-98 + abs(correction) * 2.0**-48  # more than these few steps can round away
    value = quotient + (correction - doubt)
    return value if value == quotient + (correction + doubt) else -1.0
