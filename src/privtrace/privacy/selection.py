"""Choose which trajectories of each user count, where users are protected: at most k of each, at random.

Every trajectory gets 64 bits from a secret key, its user and its id. Of each user those k count which have the
smallest bits, by id on a tie, over the whole source and once per fit.

Why that is private: were the bits truly random, the choice among one user's trajectories would tell nothing
about, and not depend on, those of any other user. So a user more or less leaves the choice of all others as it
was, and changes a count vector by the at most k trajectories of that user alone. The bits are those of
SipHash-2-4 (Aumasson and Bernstein, 2012), a pseudorandom function of a 128-bit key. The key is fresh from the
operating system in every fit, is not the noise's, and is never stored.

Users and ids are compared as bytes that spell them one to one, never as hashes: two users who were taken for
one would have to share what counts, and would change it for each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from privtrace.backends.passes import Passes
from privtrace.errors import DataError
from privtrace.privacy.noise import Noise
from privtrace.privacy.unit import Unit
from privtrace.trajectories import Array, Integers, Trajectories

NO_USERS = (
    "the trajectories have no users, so users cannot be protected: name the column of users 'user_id' or pass "
    "--columns user_id=NAME (in Python give Trajectories users), or protect trajectories: --unit trajectory "
    "(unit='trajectory')"
)

#: Drop what cannot be chosen when so many candidates wait, so that memory follows the users, not the data.
_MERGE_CANDIDATES = 1 << 18

_Words = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Choice:
    """Hold which trajectories of a source count, by their places in it. Private."""

    places: Integers  # (n,), rising
    n_trajectories: int  # in the source
    n_users: int
    n_unknown: int  # trajectories without a user

    @classmethod
    def of(cls, parts: Iterable[Candidates], per_user: int) -> Choice:
        """Keep the smallest of each user, looking again whenever the number of candidates doubled."""
        kept: pa.Table | None = None
        waiting: list[pa.Table] = []
        n_waiting = n_trajectories = n_known = 0
        for part in parts:
            waiting.append(part.table)
            n_waiting += part.table.num_rows
            n_trajectories += part.n_trajectories
            n_known += part.table.num_rows
            if n_waiting > max(_MERGE_CANDIDATES, 0 if kept is None else kept.num_rows):
                kept, waiting, n_waiting = _smallest([kept, *waiting], per_user), [], 0
        kept = _smallest([kept, *waiting], per_user)
        places = np.sort(kept["place"].to_numpy())
        n_users = pc.count_distinct(kept["user"]).as_py()
        return cls(places, n_trajectories, n_users, n_trajectories - n_known)

    def within(self, part: Trajectories, first: int) -> Trajectories:
        """Take those that count out of a part whose trajectories have the places from `first` on."""
        low, high = np.searchsorted(self.places, [first, first + len(part)])
        return part if high - low == len(part) else part.take(self.places[low:high] - first)

    def words(self, per_user: int) -> str:
        """Tell the curator what was chosen."""
        n_known = self.n_trajectories - self.n_unknown
        return (
            f"{self.n_users:,} users made {n_known:,} trajectories; {n_known - len(self.places):,} are "
            f"left out because {per_user:,} of a user count at most, and {self.n_unknown:,} more have no user"
        )


def chosen(passes: Passes, unit: Unit, noise: Noise) -> Choice:
    """Choose, in a pass of its own, which trajectories count in all passes of a fit."""
    if not getattr(passes.source, "has_users", True):  # a file's header tells before any pass
        raise DataError(NO_USERS)
    key = noise.selection_key()
    parts = passes.map_numbered(
        lambda part, first: Candidates.of(part, first, key), "Choosing the trajectories that count"
    )
    choice = Choice.of(parts, unit.contributions)
    passes.observer.note(choice.words(unit.contributions), loud=choice.n_users == 0)
    return choice


@dataclass(frozen=True, eq=False)
class Candidates:
    """Hold what the choice needs to know of one part."""

    table: pa.Table  # user, bits, id and place of each trajectory whose user is known
    n_trajectories: int

    @classmethod
    def of(cls, part: Trajectories, first: int, key: bytes) -> Candidates:
        """Give the trajectories of a part their bits; their places are those from `first` on."""
        if part.users is None:
            raise DataError(NO_USERS)
        places = np.arange(first, first + len(part))
        users = spelled(part.users, "users")
        ids = spelled(places if part.ids is None else part.ids, "ids")
        known = users.is_valid()
        users, ids, places = (column.filter(known) for column in (users, ids, pa.array(places)))
        bits = pa.array(pseudorandom(key, users, ids.fill_null(b"")))
        return cls(pa.table({"user": users, "bits": bits, "id": ids, "place": places}), len(part))


def _smallest(tables: list[pa.Table | None], per_user: int) -> pa.Table:
    """Keep of each user the trajectories with the smallest bits."""
    candidates = pa.concat_tables([_EMPTY, *(table for table in tables if table is not None)]).combine_chunks()
    # Numbers for users are found by comparing the users themselves, so they are exact.
    users = candidates["user"].combine_chunks().dictionary_encode().indices
    by_number = candidates.set_column(0, "user", users)
    order = pc.sort_indices(by_number, [(name, "ascending") for name in _EMPTY.column_names])
    users = users.take(order).to_numpy()
    starts = np.flatnonzero(np.diff(users, prepend=-1))
    ranks = np.arange(len(users)) - np.repeat(starts, np.diff(starts, append=len(users)))
    return candidates.take(order.filter(pa.array(ranks < per_user)))


_EMPTY = pa.table(
    {
        "user": pa.array([], pa.large_binary()),
        "bits": pa.array([], pa.uint64()),
        "id": pa.array([], pa.large_binary()),
        "place": pa.array([], pa.int64()),
    }
)

# What a spelling starts with: numbers of any type are spelled alike, and none like a text.
_NEGATIVE, _WHOLE, _BROKEN, _TEXT, _OTHER = (bytes([tag]) for tag in range(5))


def spelled(column: Array, name: str = "users") -> pa.Array:
    """Spell users or ids as bytes, different ones differently; null where unknown, as readers mark it.

    Unknown are '', NaN, the lowest int64, the highest uint64 and None.
    """
    values = np.asarray(column)
    if values.ndim != 1 or values.dtype.kind in "cV":
        raise DataError(f"{name} must be a list of numbers or texts, not of {values.dtype}")
    if values.dtype.kind in "TUSO":
        return _spelled_objects(values.astype(object))  # arrow would end text of a fixed width at a zero byte
    return _spelled_numbers(values)


def _spelled_objects(values: Array) -> pa.Array:
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


def _spelled_numbers(values: Array) -> pa.Array:
    """Spell numbers in nine bytes, in their order where they are whole: the number 7 alike in every type."""
    tags, words, known = _number_words(values)
    spelling = np.empty((len(values), 9), np.uint8)
    spelling[:, 0] = tags
    spelling[:, 1:] = words.astype(">u8").view(np.uint8).reshape(-1, 8)
    offsets = np.arange(len(values) + 1, dtype=np.int64) * 9
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(spelling)]
    column = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(values), buffers)
    return pc.if_else(pa.array(known), column, pa.scalar(None, pa.large_binary()))


def _number_words(values: Array) -> tuple[npt.NDArray[np.uint8], _Words, npt.NDArray[np.bool_]]:
    """Give each number's tag and 64 bits, and tell whether it is known."""
    if values.dtype.kind == "f":
        floats = values.astype(np.float64)
        whole = (np.floor(floats) == floats) & (np.abs(floats) < 2.0**63)
        tags, words, _ = _number_words(np.where(whole, floats, 0).astype(np.int64))
        tags = np.where(whole, tags, np.uint8(_BROKEN[0]))
        return tags, np.where(whole, words, floats.view(np.uint64)), ~np.isnan(floats)
    if values.dtype.kind in "bu":
        words = values.astype(np.uint64)
        return np.full(len(words), _WHOLE[0], np.uint8), words, words != np.iinfo(np.uint64).max
    integers = values.astype(np.int64)  # times as well, whose NaT is the lowest
    tags = np.where(integers < 0, np.uint8(_NEGATIVE[0]), np.uint8(_WHOLE[0]))
    return tags, integers.view(np.uint64), integers != np.iinfo(np.int64).min


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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True, inline="always")
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


@njit(cache=True, nogil=True, inline="always")
def _rotated(word, by):  # type: ignore[no-untyped-def]
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))
