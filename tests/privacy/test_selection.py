"""At most k trajectories of a user count: over the whole source, whatever its order and parts, uniformly."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import privtrace as pt
from privtrace.backends.passes import Passes
from privtrace.observer import Silent
from privtrace.privacy import selection
from privtrace.privacy.crossing import Crossing
from privtrace.privacy.ledger import Ledger
from privtrace.privacy.noise import SystemNoise
from privtrace.privacy.siphash import siphash
from privtrace.privacy.unit import Unit
from privtrace.privacy.unsafe_noise import NoNoise, SeededNoise
from privtrace.runs import Runs

KEY = bytes(range(16))


@dataclass
class FixedKey(NoNoise):
    key: bytes = KEY

    def selection_key(self) -> bytes:
        return self.key


@dataclass
class Cut:
    """Offer trajectories in parts of these sizes, and the rest."""

    whole: pt.Trajectories
    sizes: list[int]
    crs: str = "planar"
    n_points: int = 0
    gap_minutes: None = None

    def parts(self) -> Iterator[pt.Trajectories]:
        first = 0
        for size in [*self.sizes, len(self.whole)]:
            yield self.whole[first : first + size]
            first += size


class Notes(Silent):
    def __init__(self) -> None:
        self.notes: list[tuple[str, bool]] = []

    def note(self, text: str, *, loud: bool = False) -> None:
        self.notes.append((text, loud))


def trips(users: Any, ids: Any = None) -> pt.Trajectories:
    """Make a trajectory of one point for each user: its x is its place."""
    n = len(users)
    points = np.stack([np.arange(n), np.zeros(n)], axis=1)
    return pt.Trajectories(points, np.arange(n + 1), users=users, ids=ids, crs="planar")


def whole(part: pt.Trajectories) -> Runs:
    """Take trajectories for runs: there is no region here."""
    return Runs(part.points, part.offsets)


def crossing_of(source: Any, per_user: int, key: bytes = KEY, observer: Any = None) -> Crossing:
    passes, unit = Passes(source, pt.Threads(2), observer or Silent()), Unit("user", per_user)
    choice = selection.chosen(passes, unit, FixedKey(key))
    return Crossing(passes, Ledger(Fraction(1), unit, FixedKey(key)), {}, choice, whole)


def places(crossing: Crossing) -> list[int]:
    """Pass over a source of `trips`; list those that count."""
    looks = crossing._map("Looking", lambda part: part.points[:, 0].astype(int))
    return np.concatenate(list(looks)).tolist()  # type: ignore[no-any-return]


def chosen(source: Any, per_user: int, key: bytes = KEY) -> list[int]:
    return places(crossing_of(source, per_user, key))


# --- the function -----------------------------------------------------------------------------------------


def slow_siphash(key: bytes, message: bytes) -> int:
    """Follow the paper word by word, with Python's own integers."""
    mask = (1 << 64) - 1

    def left(word: int, by: int) -> int:
        return ((word << by) | (word >> (64 - by))) & mask

    k0, k1 = (int.from_bytes(half, "little") for half in (key[:8], key[8:]))
    v = [k ^ c for k, c in zip([k0, k1, k0, k1], _LETTERS, strict=True)]

    def rounds(n: int) -> None:
        for _ in range(n):
            for a, b, c, d, by, to in ((0, 1, 2, 3, 13, 16), (2, 1, 0, 3, 17, 21)):
                v[a], v[c] = (v[a] + v[b]) & mask, (v[c] + v[d]) & mask
                v[b], v[d] = left(v[b], by) ^ v[a], left(v[d], to) ^ v[c]
                v[a] = left(v[a], 32)

    padded = message + bytes(-(len(message) + 1) % 8) + bytes([len(message) % 256])
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


_LETTERS = [int.from_bytes(letters, "big") for letters in (b"somepseu", b"dorandom", b"lygenera", b"tedbytes")]


def fast_siphash(key: bytes, message: bytes) -> int:
    return int(siphash(np.frombuffer(key, "<u8").astype(np.uint64), np.frombuffer(message, np.uint8)))


def test_the_published_values_of_siphash() -> None:
    """From the paper's appendix, and the first of its authors' list."""
    assert fast_siphash(KEY, bytes(range(15))) == 0xA129CA6149BE45E5
    assert fast_siphash(KEY, b"") == 0x726FDB47DD0E0E31


@settings(deadline=None)
@given(key=st.binary(min_size=16, max_size=16), message=st.binary(max_size=300))
def test_siphash_agrees_with_a_slow_one(key: bytes, message: bytes) -> None:
    assert fast_siphash(key, message) == slow_siphash(key, message)


# --- the choice -------------------------------------------------------------------------------------------


def slow_choice(users: list[Any], ids: list[Any], per_user: int, key: bytes) -> list[int]:
    """Choose with dictionaries; users and ids are whole numbers from 0 on, or texts."""

    def name(value: Any) -> bytes:
        return b"\x03" + value.encode() if isinstance(value, str) else b"\x01" + value.to_bytes(8, "big")

    ranked = defaultdict(list)
    for place, (user, id_) in enumerate(zip(users, ids, strict=True)):
        if user != "":
            message = len(name(user)).to_bytes(8, "little") + name(user) + name(id_)
            ranked[user].append((slow_siphash(key, message), name(id_), place))
    return sorted(place for trips in ranked.values() for _, _, place in sorted(trips)[:per_user])


TYPES: dict[str, Callable[[list[int]], Any]] = {
    "int64": lambda values: np.array(values, np.int64),
    "uint64": lambda values: np.array(values, np.uint64) + np.uint64(2**63),
    "float64": lambda values: np.array(values, np.float64) + 0.5,
    "int8": lambda values: np.array(values, np.int8),
    "text": lambda values: np.array([f"user {value}" for value in values], dtype=np.dtypes.StringDType()),
    "fixed text": lambda values: np.array([f"{value:x}" for value in values], dtype="U3"),
    "objects": lambda values: np.array([value if value % 2 else f"é{value}" for value in values], object),
}
USERS = st.lists(st.integers(0, 6), max_size=60)


@settings(deadline=None)
@given(users=USERS, per_user=st.integers(1, 4), key=st.binary(min_size=16, max_size=16))
def test_the_choice_is_that_of_a_slow_one(users: list[int], per_user: int, key: bytes) -> None:
    ids = list(range(len(users), 0, -1))
    texts = ["" if user == 0 else f"u{user}" for user in users]
    assert chosen(trips(np.array(users, int), np.array(ids)), per_user, key) == slow_choice(
        users, ids, per_user, key
    )
    source = trips(np.array(texts, dtype=object), None)
    numbers = [users[:place].count(user) for place, user in enumerate(users)]
    assert chosen(source, per_user, key) == slow_choice(texts, numbers, per_user, key)


@settings(max_examples=150, deadline=None)
@given(
    users=USERS,
    kinds=st.tuples(st.sampled_from(sorted(TYPES)), st.sampled_from([None, *sorted(TYPES)])),
    per_user=st.integers(1, 4),
    sizes=st.lists(st.integers(0, 20), max_size=6),
    random=st.randoms(use_true_random=False),
    merge=st.sampled_from([0, 5, 1 << 18]),
)
def test_neither_parts_nor_order_nor_other_users_matter(
    users: list[int], kinds: tuple[str, str | None], per_user: int, sizes: list[int], random: Any, merge: int
) -> None:
    """Nor whether there are ids, but then a user's own trips have to keep their order."""
    ids = None if kinds[1] is None else TYPES[kinds[1]](list(range(len(users))))
    source = trips(TYPES[kinds[0]](users), ids)
    before = chosen(source, per_user)
    counts = Counter(np.array(users, int)[before].tolist())
    assert counts == {user: min(per_user, n) for user, n in Counter(users).items()}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selection, "_MERGE_CANDIDATES", merge)
        assert chosen(Cut(source, sizes), per_user) == before
    order = np.array(random.sample(range(len(users)), len(users)), int)
    if ids is None:
        own = {user: iter(np.flatnonzero(np.array(users) == user)) for user in users}
        order = np.array([next(own[users[place]]) for place in order], int)
    assert sorted(chosen(source.take(order), per_user)) == before
    if users:
        gone = random.choice(users)
        others = np.flatnonzero(np.array(users) != gone)
        assert chosen(source.take(others), per_user) == [place for place in before if users[place] != gone]


@pytest.mark.parametrize("merge", [0, 5, 100])
def test_without_ids_numbers_go_on_from_part_to_part(merge: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often candidates are merged; and a user who is taken out changes nobody else's choice."""
    users = np.random.default_rng(6).integers(0, 9, 300)
    before = chosen(trips(users), 3)
    monkeypatch.setattr(selection, "_MERGE_CANDIDATES", merge)
    assert chosen(Cut(trips(users), [7] * 40), 3) == before
    for gone in range(9):
        others = np.flatnonzero(users != gone)
        left = others[chosen(Cut(trips(users[others]), [11] * 20), 3)]
        assert left.tolist() == [place for place in before if users[place] != gone]


def test_every_pass_sees_the_same() -> None:
    source = trips(np.arange(1000) % 30, np.arange(1000))
    crossing = crossing_of(Cut(source, [3, 500]), 4)
    alone = replace(crossing, passes=replace(crossing.passes, backend=pt.Threads(1)))
    assert places(crossing) == places(crossing) == places(alone)
    assert len(places(crossing)) == 120


def test_all_subsets_are_equally_likely() -> None:
    """3,000 users choose 2 of 6 trips of the same ids: each of 15 pairs 200 times, whatever the user before."""
    source = trips(np.repeat(np.arange(3000), 6), np.tile(np.arange(6), 3000))
    pairs = [tuple(pair) for pair in (np.array(chosen(source, 2)).reshape(3000, 2) % 6).tolist()]
    counts = Counter(pairs)
    assert counts.keys() == set(combinations(range(6), 2))
    assert sum((n - 200) ** 2 / 200 for n in counts.values()) < 36.1  # chi squared, 14 degrees, 1 in 1,000
    assert 140 < sum(one == next_ for one, next_ in pairwise(pairs)) < 260


def test_ties_go_by_id_and_then_by_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection, "pseudorandom", lambda key, users, ids: np.zeros(len(users), np.uint64))
    source = trips(np.zeros(5, int), np.array([300, 7, 301, 256, 7]))
    assert chosen(Cut(source, [5]), 3) == [1, 3, 4]  # which no source of ours hands over: one id in two places
    assert chosen(trips(np.zeros(3, int)), 2) == [0, 1]


def test_ids_may_repeat_between_users_and_be_missing() -> None:
    ids = np.tile(np.array(["a", "", "c"]), 4)
    source = trips(np.repeat(np.arange(4), 3), ids)
    assert chosen(source, 2) == [0, 2, 3, 5, 6, 8, 9, 11]  # those without an id belong to no trajectory
    counts = Counter(place // 3 for place in chosen(Cut(source, [2]), 2))  # a source that yields them has them
    assert counts == {0: 2, 1: 2, 2: 2, 3: 2}


def test_the_key_is_fresh_secret_and_not_the_noises(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = SystemNoise()
    assert len({noise.selection_key() for _ in range(9)} | {SystemNoise().selection_key()}) == 10
    assert len(noise.selection_key()) == 16
    assert SeededNoise(1).selection_key() == SeededNoise(1).selection_key() != SeededNoise(2).selection_key()
    asked: list[int] = []
    monkeypatch.setattr(
        "privtrace.privacy.noise.os.urandom", lambda n: asked.append(n) or bytes([len(asked)] * n)
    )
    assert SystemNoise().selection_key() == bytes([2] * 16) and asked == [32, 16]


# --- what is told, and what is refused --------------------------------------------------------------------


def test_the_curator_is_told() -> None:
    notes = Notes()
    crossing_of(trips(np.array(["a"] * 5 + ["b"] + [""] * 3)), 2, observer=notes)
    [(text, loud)] = notes.notes
    assert text.startswith("2 users made 6 trips; 3 of them are left out because at most 2 per user count; 3")
    assert not loud
    crossing_of(trips(np.array([""] * 3)), 2, observer=notes)
    assert notes.notes[1][1]  # loud: nothing counts


def test_sources_without_users_are_refused(region: pt.Region, tmp_path: Path) -> None:
    setup = pt.PrivTrace(epsilon=1, region=region, unit="user", max_per_user=2)
    with pytest.raises(pt.DataError, match="--unit trajectory"):
        setup.fit(pt.Trajectories(np.ones((2, 2)), np.array([0, 2]), crs="planar"))
    (tmp_path / "a.csv").write_text("traj_id,x,y\n1,2,3\n")
    with pt.read(tmp_path / "a.csv") as source, pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "parts", lambda: pytest.fail("a pass was made"))
        with pytest.raises(pt.DataError, match="user_id"):
            setup.fit(source)


@pytest.mark.parametrize("column", [np.zeros(2, complex), np.zeros((2, 2)), np.zeros(2, "i4,i4")])
def test_what_names_nobody_is_refused_by_its_type(column: Any) -> None:
    with pytest.raises(pt.DataError, match="users must be a list of numbers or texts"):
        crossing_of(trips(column), 1)


def test_a_source_that_changes_is_refused() -> None:
    source = Cut(trips(np.arange(10)), [4])
    crossing = crossing_of(source, 1)
    source.whole = trips(np.arange(9))
    with pytest.raises(pt.DataError, match="two passes over the source differ"):
        places(crossing)
