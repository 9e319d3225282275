"""Find lines, lists of pairs and digits in a text, for importers: nothing is copied until read.

What is found in a line depends on that line alone.
"""

from __future__ import annotations

import numpy as np

from privtrace.compiling import compiled
from privtrace.parsing.text import Bytes, ByteSlices
from privtrace.trajectories import Flags, Integers

_COMMA, _SPACE, _OPEN, _ZERO, _NINE = (ord(sign) for sign in ", [09")


def lines_of(block: bytes) -> ByteSlices:
    """Find the lines of a text, blank ones too, without what ends them."""
    content = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(content == ord("\n"))
    starts = np.concatenate([[0], ends + 1])
    found = ByteSlices(content, starts, np.append(ends, len(content)))
    if starts[-1] == len(content):  # after the last end of a line there is no line
        found = found[:-1]
    return ByteSlices(content, found.starts, found.stops - (last_bytes(found) == ord("\r")))


def first_bytes(pieces: ByteSlices) -> Bytes:
    """Take the first byte of every piece, 0 where a piece is empty."""
    return _bytes_at(pieces, pieces.starts)


def last_bytes(pieces: ByteSlices) -> Bytes:
    """Take the last byte of every piece, 0 where a piece is empty."""
    return _bytes_at(pieces, pieces.stops - 1)


def _bytes_at(pieces: ByteSlices, places: Integers) -> Bytes:
    padded = pieces.text if len(pieces.text) else np.zeros(1, np.uint8)
    found: Bytes = np.where(pieces.lengths > 0, padded[np.clip(places, 0, len(padded) - 1)], np.uint8(0))
    return found


def pairs(lists: ByteSlices, *, bracketed: bool) -> tuple[ByteSlices, ByteSlices, Integers]:
    """Find the pairs of lists: where x and y are, and how many pairs each list has.

    A list is 1,2;3,4; or, bracketed, [1,2],[3,4]. What should be a pair and is none has an empty x and y.
    """
    separator = ord("]") if bracketed else ord(";")
    counts = np.empty(len(lists), np.int64)
    _count_pairs(lists.text, lists.starts, lists.stops, separator, counts)
    bounds = np.zeros((4, counts.sum()), np.int64)
    _find_pairs(lists.text, lists.starts, lists.stops, separator, bracketed, bounds)
    x, y = (ByteSlices(lists.text, bounds[i], bounds[i + 1]) for i in (0, 2))
    return x, y, counts


def digits(pieces: ByteSlices, form: str) -> tuple[Integers, Flags]:
    """Read the whole numbers in pieces of one form; also tell which pieces have it.

    The piece 02:09:59 in the form 00:00:00 gives a column 2, 9, 59.
    """
    signs = np.frombuffer(form.encode(), np.uint8)
    numbers = np.zeros((1 + np.sum(signs != _ZERO), len(pieces)), np.int64)
    right = np.zeros(len(pieces), np.bool_)
    _read_form(pieces.text, pieces.starts, pieces.stops, signs, numbers, right)
    return numbers, right


@compiled
def _read_form(text, starts, stops, signs, numbers, right):  # type: ignore[no-untyped-def]
    for i in range(len(starts)):
        if stops[i] - starts[i] != len(signs):
            continue
        right[i] = True
        group = 0
        for j in range(len(signs)):
            sign = text[starts[i] + j]
            if signs[j] != _ZERO:
                right[i] &= sign == signs[j]
                group += 1
            elif _ZERO <= sign <= _NINE:
                numbers[group, i] = 10 * numbers[group, i] + (sign - _ZERO)
            else:
                right[i] = False


@compiled
def _count_pairs(text, starts, stops, separator, counts):  # type: ignore[no-untyped-def]
    for i in range(len(starts)):
        counts[i] = 0
        at = starts[i]
        while _trimmed(text, at, stops[i]) < stops[i]:
            at = _find(text, at, stops[i], separator) + 1
            counts[i] += 1


@compiled
def _find_pairs(text, starts, stops, separator, bracketed, bounds):  # type: ignore[no-untyped-def]
    n_found = 0
    for i in range(len(starts)):
        at = starts[i]
        while _trimmed(text, at, stops[i]) < stops[i]:
            end = _find(text, at, stops[i], separator)
            x = _inner(text, at, end, at > starts[i]) if bracketed else at
            comma = _find(text, x, end, _COMMA)
            if comma < end and (end < stops[i] or not bracketed):
                bounds[:, n_found] = x, comma, comma + 1, end
            n_found += 1
            at = end + 1


@compiled
def _inner(text, at, end, goes_on):  # type: ignore[no-untyped-def]
    """Find the x of a pair after its bracket, which follows a comma unless it is the first; or the end."""
    at = _trimmed(text, at, end)
    if goes_on:
        if at == end or text[at] != _COMMA:
            return end
        at = _trimmed(text, at + 1, end)
    if at == end or text[at] != _OPEN:
        return end
    return at + 1


@compiled
def _find(text, at, stop, sign):  # type: ignore[no-untyped-def]
    while at < stop and text[at] != sign:
        at += 1
    return at


@compiled
def _trimmed(text, at, stop):  # type: ignore[no-untyped-def]
    while at < stop and text[at] == _SPACE:
        at += 1
    return at
