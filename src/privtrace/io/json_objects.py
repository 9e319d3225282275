"""Find the features in a text of JSON without holding all of it: each is handed out as its own bytes.

An object at the top of a text is a feature, or a collection if it has a list called `features`; there may be
several, one after the other, and what one is changes nothing about the others.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from privtrace.compiling import compiled
from privtrace.io.streams import TRAJECTORY_BYTES, blocks

#: A feature whose text is longer is left out, so that memory stays small.
LONGEST = TRAJECTORY_BYTES
#: Stands for a feature that was left out.
TOO_LONG = b""

#: Where a collection may say something of itself: in so many bytes, before its features.
HEAD_BYTES = 1 << 16

_KEY = np.frombuffer(b"features", np.uint8)
_QUOTE, _BACKSLASH, _OPEN, _CLOSE, _LIST, _LIST_END, _COMMA = (ord(sign) for sign in '"\\{}[],')

# What is known between two blocks.
_DEPTH, _IN_STRING, _ESCAPED, _MATCHED, _AFTER_KEY, _INSIDE, _OPENED = range(7)
# What is found in a block: an object at the top or in a list of features starts, it stops, such a list starts.
_TOP, _START, _STOP, _FEATURES = range(4)


class Splitter:
    """Split a text that comes in blocks into its features, each handed out where it ends."""

    def __init__(self) -> None:
        self.n_top = 0  # objects at the top so far
        self.has_collection = False
        self._state = np.zeros(7, np.int64)
        self._begun: list[bytes] | None = None  # of the object that we are in

    @property
    def is_whole(self) -> bool:
        """Tell whether the text may end here."""
        return bool(self._state[_DEPTH] == 0 and not self._state[_IN_STRING])

    def scan(self, block: bytes) -> list[tuple[int, int]]:
        """Take the next block, and say what is found where in it."""
        places, kinds = _scan(np.frombuffer(block, np.uint8), self._state)
        self.n_top += int(np.sum(kinds == _TOP))
        self.has_collection |= bool(np.any(kinds == _FEATURES))
        return list(zip(places.tolist(), kinds.tolist(), strict=True))

    def split(self, block: bytes) -> list[bytes]:
        """Take the next block, and give the features that end in it."""
        found, start = [], 0
        for place, kind in self.scan(block):
            if kind == _STOP:
                assert self._begun is not None
                pieces = [*self._begun, block[start:place]]
                found.append(b"".join(pieces) if sum(map(len, pieces)) <= LONGEST else TOO_LONG)
            self._begun, start = ([], place) if kind in (_TOP, _START) else (None, 0)
        if self._begun is not None and sum(map(len, self._begun)) <= LONGEST:
            self._begun.append(block[start:])
        return found


def objects(file: BinaryIO, block_bytes: int) -> Iterator[list[bytes]]:
    """Yield the features of a text, some at a time. A text that ends inside an object ends with an EOFError."""
    splitter = Splitter()
    while block := file.read(block_bytes):
        yield splitter.split(block)
    if not splitter.is_whole:
        raise EOFError


def lines(file: BinaryIO, block_bytes: int) -> Iterator[list[bytes]]:
    """Yield the lines of a text that holds an object a line, some at a time; blank ones are nothing."""
    for block in blocks(file, block_bytes, line_bytes=LONGEST):
        # Records may start with a sign of their own (RFC 8142), and the text with a mark.
        found = [line.removeprefix(_BOM).lstrip(_BEFORE).rstrip() for line in block.lines.split(b"\n")]
        yield [line for line in found if line] + [TOO_LONG] * block.last_too_long


_BOM, _BEFORE = b"\xef\xbb\xbf", b"\x1e \t\r\f\v"


def members(head: bytes) -> dict[str, Any] | None:
    """Read what a collection says of itself before its features; None where the first object is none."""
    text = head.removeprefix(_BOM)
    places, kinds = _scan(np.frombuffer(text, np.uint8), np.zeros(7, np.int64))
    found = np.flatnonzero(kinds == _FEATURES)
    if len(found) == 0 or np.any(kinds[: found[0]] == _STOP):
        return None
    try:
        read = json.loads(text[: places[found[0]]] + b"[]}")
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


@compiled
def _scan(text, state):  # type: ignore[no-untyped-def]
    """Find where objects start and stop: those at the top, and those in the features of a collection."""
    places, kinds = np.empty(len(text) + 1, np.int64), np.empty(len(text) + 1, np.int8)
    n = 0
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
            if sign == _OPEN and (depth == 0 or (depth == 2 and inside)):
                places[n], kinds[n] = i, _TOP if depth == 0 else _START
                n += 1
                opened = 1 if depth == 0 else 3  # one more than the depth at which it ends
            elif sign == _LIST and depth == 1 and after_key and opened < 2:
                places[n], kinds[n] = i, _FEATURES
                n += 1
                inside, opened = 1, 0
            depth += 1
        elif sign in (_CLOSE, _LIST_END):
            depth -= 1
            if opened and opened == depth + 1:  # by whatever bracket, so that one wrong object ends with itself
                places[n], kinds[n] = i + 1, _STOP
                n += 1
                opened = 0
            if depth <= 1:
                inside = 0
        elif sign == _COMMA and depth == 1:
            after_key = 0
    state[:] = np.array([depth, in_string, escaped, matched, after_key, inside, opened])
    return places[:n].copy(), kinds[:n].copy()
