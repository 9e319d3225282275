"""Draw bits for users and ids by a key: SipHash-2-4 (Aumasson and Bernstein, 2012), a pseudorandom function."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from privtrace.compiling import compiled, inlined
from privtrace.trajectories import Integers

_Words = npt.NDArray[np.uint64]


def pseudorandom(key: bytes, users: pa.Array, ids: pa.Array) -> _Words:
    """Draw 64 bits for each user and id: SipHash-2-4 of the user's length, the user and the id."""
    words = np.frombuffer(key, "<u8").astype(np.uint64)
    bits: _Words = _hashed(words, *_ragged(users), *_ragged(ids))
    return bits


def _ragged(column: pa.Array) -> tuple[npt.NDArray[np.uint8], Integers]:
    """Take bytes out of arrow, without nulls: all of them, and where each value starts."""
    _, offsets, data = column.buffers()
    starts = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    return np.frombuffer(data or b"", np.uint8), starts


@compiled
def _hashed(key, users, user_starts, ids, id_starts):  # type: ignore[no-untyped-def]
    n = len(user_starts) - 1
    bits = np.empty(n, np.uint64)
    longest = 0
    for i in range(n):
        longest = max(longest, user_starts[i + 1] - user_starts[i] + id_starts[i + 1] - id_starts[i])
    message = np.empty(8 + longest, np.uint8)
    for i in range(n):
        user, id_ = users[user_starts[i] : user_starts[i + 1]], ids[id_starts[i] : id_starts[i + 1]]
        for byte in range(8):  # the user's length, so that no other user and id make the same message
            message[byte] = (len(user) >> (8 * byte)) & 0xFF
        message[8 : 8 + len(user)] = user
        message[8 + len(user) : 8 + len(user) + len(id_)] = id_
        bits[i] = siphash(key, message[: 8 + len(user) + len(id_)])
    return bits


@compiled
def siphash(key, message):  # type: ignore[no-untyped-def]
    """Compute SipHash-2-4 of bytes under a key of two little-endian words."""
    v0 = key[0] ^ np.uint64(0x736F6D6570736575)
    v1 = key[1] ^ np.uint64(0x646F72616E646F6D)
    v2 = key[0] ^ np.uint64(0x6C7967656E657261)
    v3 = key[1] ^ np.uint64(0x7465646279746573)
    n_words = len(message) // 8
    for w in range(n_words + 1):
        word = np.uint64(0)
        for byte in range(min(8, len(message) - 8 * w)):
            word |= np.uint64(message[8 * w + byte]) << np.uint64(8 * byte)
        if w == n_words:  # the last, incomplete word ends with the length
            word |= np.uint64(len(message) & 0xFF) << np.uint64(56)
        v3 ^= word
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
    v2 ^= np.uint64(0xFF)
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@inlined
def _round(v0, v1, v2, v3):  # type: ignore[no-untyped-def]
    v0 += v1
    v2 += v3
    v1 = _rotated(v1, 13) ^ v0
    v3 = _rotated(v3, 16) ^ v2
    v0 = _rotated(v0, 32)
    v2 += v1
    v0 += v3
    v1 = _rotated(v1, 17) ^ v2
    v3 = _rotated(v3, 21) ^ v0
    v2 = _rotated(v2, 32)
    return v0, v1, v2, v3


@inlined
def _rotated(word, by):  # type: ignore[no-untyped-def]
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))
