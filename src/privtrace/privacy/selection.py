"""Choose which trajectories of each user count, where users are protected: at most k of each, at random.

Every trajectory gets 64 bits from a secret key, its user and its id. Of each user those k count which have the
smallest bits, by id on a tie, over the whole source and once per fit. Where there are no ids, a trajectory's
number among its user's own, in the order of the source, stands for one. (Its place in the source would change
for all who come after a user that is taken out.)

Why that is private: which trajectories of a user count follows from the key and from this user's name, ids and
order, and from nothing else. So under any one key a user more or less leaves the choice of all others exactly
as it was, and changes a count vector by the at most k trajectories of that user alone: the noise is for these.
What holds under every key holds for one that is drawn without looking at the data. So far nothing is asked of
the function; that the choice is a fair one asks that it be pseudorandom. It is SipHash-2-4 (Aumasson and
Bernstein, 2012), of a 128-bit key, which is fresh from the operating system in every fit, is not the noise's,
and is never stored.

Users and ids are compared as bytes that spell them one to one, never as hashes: two users who were taken for
one would have to share what counts, and would change it for each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from privtrace.backends.passes import Passes
from privtrace.errors import DataError
from privtrace.privacy.noise import Noise
from privtrace.privacy.unit import Unit
from privtrace.spelling import numbered, spelled_ids, spelled_users
from privtrace.trajectories import Integers, Trajectories

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
        kept = _NOBODY
        waiting: list[pa.Table] = []
        n_waiting = n_trajectories = n_known = 0
        for part in parts:
            waiting.append(part.table)
            n_waiting += part.table.num_rows
            n_trajectories += part.n_trajectories
            n_known += part.table.num_rows
            if n_waiting > max(_MERGE_CANDIDATES, kept.num_rows):
                kept, waiting, n_waiting = _smallest([kept, *waiting], per_user, part.key), [], 0
        if waiting:
            kept = _smallest([kept, *waiting], per_user, part.key)
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

    table: pa.Table  # as _NOBODY, of each trajectory whose user is known; where there are no ids, without bits
    n_trajectories: int
    key: bytes = field(repr=False)

    @classmethod
    def of(cls, part: Trajectories, first: int, key: bytes) -> Candidates:
        """Give the trajectories of a part their bits; their places are those from `first` on."""
        if part.users is None:
            raise DataError(NO_USERS)
        users = spelled_users(part.users)
        known = users.is_valid()
        users, places = users.filter(known), pa.array(np.arange(first, first + len(part))).filter(known)
        ids, bits = (pa.nulls(len(users), _NOBODY.schema.field(name).type) for name in ("id", "bits"))
        if part.ids is not None:
            ids = spelled_ids(part.ids).filter(known)
            bits = pa.array(pseudorandom(key, users, ids.fill_null(b"")))
        columns = [users, bits, ids, places, pa.nulls(len(users), pa.int64()).fill_null(0)]
        return cls(pa.Table.from_arrays(columns, schema=_NOBODY.schema), len(part), key)


_NOBODY = pa.schema(
    {
        "user": pa.large_binary(),
        "bits": pa.uint64(),
        "id": pa.large_binary(),
        "place": pa.int64(),
        "numbered": pa.int64(),  # so many trajectories of the user have got a number so far
    }
).empty_table()

#: What goes before whom, from user to place.
_ORDER = [(name, "ascending") for name in _NOBODY.column_names[:4]]


def _smallest(tables: list[pa.Table], per_user: int, key: bytes) -> pa.Table:
    """Keep of each user the trajectories with the smallest bits. The tables are in the order of the source."""
    candidates = pa.concat_tables(tables).combine_chunks()
    users = numbered(candidates["user"].combine_chunks())  # found by comparing the users themselves, so exact
    candidates = _with_numbers(candidates, users, key)
    order = pc.sort_indices(candidates.set_column(0, "user", pa.array(users)), _ORDER)
    ranks = _ranks(users[order.to_numpy()])
    return candidates.take(order.filter(pa.array(ranks < per_user)))


def _with_numbers(candidates: pa.Table, users: Integers, key: bytes) -> pa.Table:
    """Give trajectories without bits a number among their user's own, and bits for that."""
    is_fresh = candidates["bits"].combine_chunks().is_null()
    fresh = np.flatnonzero(is_fresh.to_numpy(zero_copy_only=False))
    if len(fresh) == 0:
        return candidates
    before = np.zeros(users.max() + 1, np.int64)
    np.maximum.at(before, users, candidates["numbered"].to_numpy())
    numbers = before[users[fresh]] + _ranks(users[fresh])
    names = spelled_ids(numbers)
    bits = pa.array(pseudorandom(key, candidates["user"].combine_chunks().filter(is_fresh), names))
    after = before + np.bincount(users[fresh], minlength=len(before))
    return (
        candidates.set_column(1, "bits", pc.replace_with_mask(candidates["bits"], is_fresh, bits))
        .set_column(2, "id", pc.replace_with_mask(candidates["id"], is_fresh, names))
        .set_column(4, "numbered", pa.array(after[users]))
    )


def _ranks(groups: Integers) -> Integers:
    """Count within groups, in the order of rows: a b a a gives 0, 0, 1, 2."""
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    ranks = np.empty(len(groups), np.int64)
    ranks[order] = np.arange(len(groups)) - np.repeat(starts, np.diff(starts, append=len(groups)))
    return ranks


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
