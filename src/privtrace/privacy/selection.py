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
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.backends.passes import Passes
from privtrace.errors import DataError
from privtrace.privacy import wording
from privtrace.privacy.noise import Noise
from privtrace.privacy.siphash import pseudorandom
from privtrace.privacy.unit import Unit
from privtrace.spelling import numbered, spelled_ids, spelled_users
from privtrace.trajectories import Integers, Trajectories, has_users

#: Drop what cannot be chosen when so many candidates wait, so that memory follows the users, not the data.
_MERGE_CANDIDATES = 1 << 18


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
        kept = _SCHEMA.empty_table()
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


def chosen(passes: Passes, unit: Unit, noise: Noise) -> Choice:
    """Choose, in a pass of its own, which trajectories count in all passes of a fit."""
    check_users(passes)
    key = noise.selection_key()
    parts = passes.map_numbered(
        lambda part, first: Candidates.of(part, first, key), "Choosing the trips that count"
    )
    choice = Choice.of(parts, unit.contributions)
    n_known = choice.n_trajectories - choice.n_unknown
    words = wording.chosen(choice.n_users, n_known, len(choice.places), unit.contributions)
    passes.observer.note(f"{words}; {choice.n_unknown:,} more trips have no user", loud=choice.n_users == 0)
    return choice


def check_users(passes: Passes) -> None:
    """Refuse a source without users."""
    if has_users(passes.source) is False:  # a file's header tells before any pass
        raise DataError(wording.NO_USERS)


@dataclass(frozen=True, eq=False)
class Candidates:
    """Hold what the choice needs to know of one part."""

    table: pa.Table  # as _SCHEMA, of each trajectory whose user is known; where there are no ids, without bits
    n_trajectories: int
    key: bytes = field(repr=False)

    @classmethod
    def of(cls, part: Trajectories, first: int, key: bytes) -> Candidates:
        """Give the trajectories of a part their bits; their places are those from `first` on."""
        if part.users is None:
            raise DataError(wording.NO_USERS)
        users = spelled_users(part.users)
        known = users.is_valid()
        users, places = users.filter(known), pa.array(np.arange(first, first + len(part))).filter(known)
        ids, bits = (pa.nulls(len(users), _SCHEMA.field(name).type) for name in ("id", "bits"))
        if part.ids is not None:
            ids = spelled_ids(part.ids).filter(known)
            bits = pa.array(pseudorandom(key, users, ids.fill_null(b"")))
        columns = [users, bits, ids, places, pa.nulls(len(users), pa.int64()).fill_null(0)]
        return cls(pa.Table.from_arrays(columns, schema=_SCHEMA), len(part), key)


_SCHEMA = pa.schema(
    {
        "user": pa.large_binary(),
        "bits": pa.uint64(),
        "id": pa.large_binary(),
        "place": pa.int64(),
        "numbered": pa.int64(),  # so many trajectories of the user have got a number so far
    }
)

#: What goes before whom, from user to place.
_ORDER = [(name, "ascending") for name in _SCHEMA.names[:4]]


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
