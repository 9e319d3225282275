"""Look at well-known binary (WKB) before a library reads it: one that nests or bends would stop the process.

The library follows collections within collections until its stack ends, and refuses curves by an error of its
own. Both would let one row stop a reader.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from privtrace.compiling import compiled

#: Types of geometry, as WKB numbers them. All from 1 to 17 are known; 0 stands for what cannot be read.
UNREADABLE, POINT, LINE, LINES = 0, 1, 2, 5
_LAST = 17


def kinds_of(column: pa.Array) -> npt.NDArray[np.int64]:
    """Give the type of each geometry; of lines in several pieces also the pieces are looked at."""
    column = column.cast(pa.large_binary()).fill_null(b"")
    if len(column) == 0:
        return np.zeros(0, np.int64)
    _, offsets, content = column.buffers()
    bounds = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    flat = np.zeros(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)
    kinds: npt.NDArray[np.int64] = _kinds(flat, bounds)
    return kinds


@compiled
def _kinds(content, bounds):  # type: ignore[no-untyped-def]
    kinds = np.zeros(len(bounds) - 1, np.int64)
    for row in range(len(kinds)):
        stop = bounds[row + 1]
        kinds[row], _, at, order = _head(content, bounds[row], stop)
        if kinds[row] == LINES and not _has_lines_only(content, at, stop, order):
            kinds[row] = UNREADABLE
    return kinds


@compiled
def _has_lines_only(content, at, stop, order):  # type: ignore[no-untyped-def]
    """Walk from piece to piece; each takes some bytes, so this ends."""
    n_pieces = _number(content, at, stop, order)
    at += 4
    for _ in range(n_pieces):
        kind, point_bytes, at, order = _head(content, at, stop)
        n_points = _number(content, at, stop, order)
        if kind != LINE or n_points < 0:
            return False
        at += 4 + n_points * point_bytes
    return 0 <= n_pieces and at <= stop


@compiled
def _head(content, at, stop):  # type: ignore[no-untyped-def]
    """Read a geometry's type, the bytes of a point of it, where its content begins, and the order of bytes."""
    order = content[at] if at < stop else 2
    code = _number(content, at + 1, stop, order)
    kind = (code & 0xFFFF) % 1000
    if code < 0 or order > 1 or kind > _LAST:
        return UNREADABLE, 0, stop, order
    dialect = (code & 0xFFFF) // 1000  # 1 with heights, 2 with measures, 3 with both
    has_height = code & 0x80000000 != 0 or dialect == 1 or dialect == 3
    has_measure = code & 0x40000000 != 0 or dialect == 2 or dialect == 3
    system_bytes = 4 if code & 0x20000000 else 0
    return kind, 8 * (2 + int(has_height) + int(has_measure)), at + 5 + system_bytes, order


@compiled
def _number(content, at, stop, order):  # type: ignore[no-untyped-def]
    """Read four bytes as a number, the last byte first where the order says so; -1 beyond the end."""
    if at + 4 > stop:
        return -1
    number = 0
    for i in range(4):
        number = number << 8 | int(content[at + 3 - i if order == 1 else at + i])
    return number
