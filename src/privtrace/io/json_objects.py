"""Find the features in a text of JSON without holding all of it: each is handed out as its own bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np
from numba import njit

from privtrace.io.streams import TRAJECTORY_BYTES

#: A feature whose text is longer is left out, so that memory stays small.
LONGEST = TRAJECTORY_BYTES
#: Stands for a feature that was left out.
TOO_LONG = b""

#: Where the features of a collection begin; looked for in so many bytes.
_COLLECTION = re.compile(rb'"features"\s*:\s*\[')
HEAD_BYTES = 1 << 16

_KEY = np.frombuffer(b"features", np.uint8)
_QUOTE, _BACKSLASH, _OPEN, _CLOSE, _LIST, _LIST_END, _COMMA = (ord(sign) for sign in '"\\{}[],')

# What is known between two blocks.
_DEPTH, _IN_STRING, _ESCAPED, _MATCHED, _AFTER_KEY, _INSIDE, _OPENED = range(7)


def collection(head: bytes) -> int | None:
    """Find the place after which the features of a collection stand; properties may have that name too."""
    for found in _COLLECTION.finditer(head):
        state = np.zeros(7, np.int64)
        _scan(np.frombuffer(head[: found.start()], np.uint8), state, 0)
        if state[_DEPTH] == 1 and not state[_IN_STRING]:
            return found.end()
    return None


def objects(file: BinaryIO, block_bytes: int, *, in_collection: bool) -> Iterator[list[bytes]]:
    """Yield the objects in the list `features` of a collection, or those at the top, some at a time.

    A text that ends inside an object ends with an EOFError.
    """
    state = np.zeros(7, np.int64)
    state[_INSIDE] = not in_collection
    level = 2 if in_collection else 0
    begun: list[bytes] | None = None
    while block := file.read(block_bytes):
        starts, stops = _scan(np.frombuffer(block, np.uint8), state, level)
        found = []
        if begun is not None and len(stops):
            found.append(_whole([*begun, block[: stops[0]]]))
        elif begun is not None and sum(map(len, begun)) <= LONGEST:
            begun.append(block)
        n_ended = int(begun is not None and len(stops) > 0)
        ended = stops[n_ended:]
        found += [block[i:j] for i, j in zip(starts.tolist(), ended.tolist(), strict=False)]
        if n_ended or begun is None:
            begun = [block[starts[-1] :]] if len(starts) > len(ended) else None
        yield found
    if state[_DEPTH] != 0 or state[_IN_STRING]:
        raise EOFError


def _whole(pieces: list[bytes]) -> bytes:
    return b"".join(pieces) if sum(map(len, pieces)) <= LONGEST else TOO_LONG


@njit(cache=True, nogil=True)
def _scan(text, state, level):  # type: ignore[no-untyped-def]
    """Find where objects at a level of nesting start, and where they stop."""
    starts, stops = np.empty(len(text) // 2 + 1, np.int64), np.empty(len(text) // 2 + 1, np.int64)
    n_starts = n_stops = 0
    depth, in_string, escaped, matched, after_key, inside, opened = state
    for i in range(len(text)):
        sign = text[i]
        if in_string:
            if escaped:
                escaped = 0
            elif sign == _BACKSLASH:
                escaped, matched = 1, -1
            elif sign == _QUOTE:
                in_string, after_key = 0, int(matched == len(_KEY) and depth == 1)
            elif matched >= 0 and matched < len(_KEY) and sign == _KEY[matched]:
                matched += 1
            else:
                matched = -1
        elif sign == _QUOTE:
            in_string, matched = 1, 0
        elif sign in (_OPEN, _LIST):
            if depth == level and inside and sign == _OPEN:
                starts[n_starts] = i
                n_starts += 1
                opened = 1
            if depth == 1 and level == 2:
                inside = int(after_key and sign == _LIST)
            depth += 1
        elif sign in (_CLOSE, _LIST_END):
            depth -= 1
            if depth == level and opened:  # by whatever bracket, so that one wrong object ends with itself
                stops[n_stops] = i + 1
                n_stops += 1
                opened = 0
            if depth == 1 and level == 2:
                inside = 0
        elif sign == _COMMA and depth == 1:
            after_key = 0
    state[:] = np.array([depth, in_string, escaped, matched, after_key, inside, opened])
    return starts[:n_starts].copy(), stops[:n_stops].copy()
