"""Bring features, each a geometry with attributes, into rows, for the formats of geographic systems.

A feature adds its points to the trajectory that its attributes name, so a file may have a feature per point or
per trajectory. A line that nothing names is a trajectory by itself, called by its place from 0 on; a
point that nothing names belongs to none.

Formats with a schema say once which attribute is what. Texts have none: what a feature has is found by one
rule for each feature by itself. An id, a user or a time is the attribute that is declared for it, else the
first that is there of the known names, in their order. Beside a line, lists of times come before single ones.
Ids and places are text there, places with a sign before them, so that no id is a place. Only the file itself
may say something of all its features, in the words of --columns.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.io import columns, rows
from privtrace.io.beginning import Beginning
from privtrace.io.columns import CALENDAR_LISTS, KNOWN_NAMES, LAST_RESORT, TIME, TRAJECTORY, USER
from privtrace.io.faults import Faults, Place
from privtrace.io.geometries import EMPTY, Geometries
from privtrace.io.rows import floats_of
from privtrace.io.source import Reader, Sizes
from privtrace.io.streams import opened
from privtrace.parsing.clock import Clock, Read, read_each
from privtrace.trajectories import Crs, Flags, Floats, Integers

#: Features read at once; a line may have thousands of points.
FEATURES_AT_ONCE = 1 << 13
#: That of MF-JSON: ISO 8601, or milliseconds since 1970.
MOVING_CLOCK = Clock(unit="ms")
#: What arrow raises where values are not of the type that it is asked for.
NOT_READ = (pa.ArrowException, TypeError, ValueError, OverflowError)

#: Sets of attributes that a reader remembers; most files have one.
_MOST_REMEMBERED = 256


@dataclass(frozen=True)
class Times:
    """Hold the times of features, one feature after the other."""

    read: Read  # (n_times,)
    counts: Integers  # (n_features,)
    whole: Flags | None = None  # (n_features,): where the time is that of the feature, and no list, if any is

    def of(self, counts: Integers) -> Read:
        """Give each point its time; none can be read of a list that has not as many times as points.

        One time of a line says nothing of its points: they have none.
        """
        if np.array_equal(counts, self.counts):
            return self.read
        owners = np.repeat(np.arange(len(counts)), counts)
        steps = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        misfit = (counts != self.counts)[owners]
        firsts = np.cumsum(self.counts) - self.counts
        places = pa.array(firsts[owners] + steps, mask=misfit)
        given = self.read.unread | self.read.values.is_valid().to_numpy(zero_copy_only=False)
        wrong = np.bincount(np.repeat(np.arange(len(counts)), self.counts), given, len(counts)) > 0
        wrong &= True if self.whole is None else ~self.whole
        unread = floats_of(pa.array(self.read.unread).take(places).fill_null(False))
        order = None if self.read.order is None else self.read.order.take(places)
        return Read(self.read.values.take(places), np.where(misfit, wrong[owners], unread), order)


@dataclass(frozen=True)
class Features:
    """Hold some features of a file."""

    geometries: Geometries
    trajectory: pa.Array | None  # (n_features,)
    user: pa.Array | None  # (n_features,)
    times: Times | None
    lines: Integers | None = None  # (n_points,): where each point stands, in a text with a line per point


class FeatureReader(Reader):
    """Read features as rows; a format says how it gets at its features."""

    n_before: int = 0  # features in other files, where this is one of several
    n_features: int = 0  # of the latest pass, so far
    has_places: bool  # whether lines that have no id go by their places
    as_text: bool = False  # whether places are text, apart from all ids
    may_lack_times: bool = False  # whether nothing promises that points have a time

    def features(self, sizes: Sizes) -> Iterator[Features]:
        """Yield the features, some at a time; the first are none and show the types."""
        raise NotImplementedError

    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the points of some features at a time, and count them and the features that are wrong."""
        n_rows = self.n_features = 0
        for found in self.features(sizes):
            geometries = found.geometries
            owners = np.repeat(np.arange(len(geometries)), geometries.counts)
            batch = rows.rows(
                trajectory=self._ids(found).take(pa.array(owners)),
                user=None if found.user is None else found.user.take(pa.array(owners)),
                x=pa.array(geometries.x),
                y=pa.array(geometries.y),
                time=None if found.times is None else found.times.of(geometries.counts),
            )
            of_features = Place.following(self.snapshot.path, self.n_features)
            for reason, flags in geometries.wrong.items():
                n_rows += int(flags.sum())
                if faults is not None:
                    faults.add(reason, np.flatnonzero(flags), of_features)
            at = of_features.line_of(owners) if found.lines is None else found.lines
            n_rows += batch.num_rows
            self.n_features += len(geometries)
            place = Place(self.snapshot.path, at.__getitem__)
            batch = rows.usable(batch, self.crs, faults, place, may_lack_times=self.may_lack_times)
            yield rows.keys_of(batch) if keys_only else batch
        self.n_rows = n_rows

    def _ids(self, features: Features) -> pa.Array:
        """Give each feature its id, and lines without one their place."""
        given, single = features.trajectory, features.geometries.single
        if not self.has_places:
            assert given is not None
            return apart(rows.text_of(given)) if self.as_text else given
        places = pa.array(self.n_before + self.n_features + np.arange(len(single)), mask=single)
        if not self.as_text:
            return places
        written = _marked(rows.text_of(places))
        return written if given is None else pc.coalesce(apart(given), written)


class Feature(NamedTuple):
    """Hold one feature as it was parsed."""

    attributes: Mapping[str, Any]
    points: Any = None  # as the format has them
    times: list[Any] | None = None  # of the points; None where an attribute has them, if anything
    single: bool = False  # whether it is a point by its type
    own_id: Any = None  # beside the attributes
    lines: Sequence[int] = ()  # of the points, in a text with a line per point
    wrong: str | None = None  # why it is none


class TextReader(FeatureReader):
    """Read features from text; a format says how to split it, to parse a piece and to read coordinates."""

    is_table = False
    point_clock: Clock  # of times that stand with the points

    def __init__(
        self, beginning: Beginning, declared: columns.Declared, crs: Crs, *, header: Any, packed: bool
    ) -> None:
        self.snapshot, self._packed = beginning.snapshot, packed
        columns.refuse_coordinates(beginning.path, declared)
        self.declared = declared = _with_header(declared, header)
        self._names = lru_cache(_MOST_REMEMBERED)(self._names_among)
        self._clock: Callable[[str | None], Clock] = lru_cache(_MOST_REMEMBERED)(self._clock_of)
        # Features may have what is not switched off.
        trajectory, user, time = (declared.columns.get(role, role) or None for role in (TRAJECTORY, USER, TIME))
        self.may_lack_times = not declared.columns.get(TIME)
        clock = self.point_clock if self.defines_times else self._clock(declared.columns.get(TIME) or None)
        self.lay_out(columns.Layout(trajectory, user, time, crs, clock))
        # Where it is declared what names trajectories, that which it does not name is none.
        self.has_places = not declared.columns.get(TRAJECTORY)
        self.as_text = self.has_places and (trajectory is not None or declared.gap_minutes is not None)

    def split(self, file: BinaryIO, block_bytes: int) -> Iterator[Sequence[Any]]:
        """Yield the pieces of a text, each with a feature or some, as many at a time as end in a block."""
        raise NotImplementedError

    def parsed(self, piece: Any) -> Iterable[Feature]:
        """Parse a piece by itself, unless it was parsed already to see where it ends."""
        return (piece,)

    def coordinates(self, points: Sequence[Any]) -> tuple[Floats, Floats, Integers]:
        """Read the points of features: x, y, and the number of points of each feature."""
        raise NotImplementedError

    def features(self, sizes: Sizes) -> Iterator[Features]:
        """Yield the features of some text at a time."""
        yield self._collected([])
        with opened(self.snapshot.path, packed=self._packed) as file:
            for pieces in self.split(file, sizes.block_bytes):
                with _uncollected():
                    features = self._collected([one for piece in pieces for one in self.parsed(piece)])
                yield features

    def _collected(self, found: Sequence[Feature]) -> Features:
        """Put features into columns."""
        x, y, counts = self.coordinates([one.points for one in found])
        reasons = [one.wrong or (None if n else EMPTY) for one, n in zip(found, counts.tolist(), strict=True)]
        wrong = {reason: np.array([one == reason for one in reasons]) for reason in {*reasons} if reason}
        single = np.array([one.single for one in found], np.bool_)
        lines = list(chain.from_iterable(one.lines for one in found))
        ids, users, times, clocks = list(zip(*map(self._roles, found), strict=True)) or [()] * 4
        trajectory = _ids(ids) if self.as_text or not self.has_places else None
        user = _ids(users) if self.layout.user else None
        if user is not None and self.declared.gap_minutes is not None and self.has_places:
            trajectory = pc.coalesce(trajectory, user)  # where logs are cut, the log of a user goes by the user
        return Features(
            Geometries(x, y, counts, single, wrong),
            trajectory,
            user,
            self._times(times, clocks) if self.layout.time else None,
            np.array(lines) if lines else None,
        )

    def _roles(self, one: Feature) -> tuple[Any, Any, Any, Clock]:
        """Find id, user and times of a feature, and how its times are read."""
        trajectory, user, time = self._names(tuple(one.attributes), one.single)
        value: Callable[..., Any] = one.attributes.get
        own_id = one.own_id if self.declared.columns.get(TRAJECTORY, LAST_RESORT) == LAST_RESORT else None
        if one.times is not None:
            return value(trajectory, own_id), value(user), one.times, self.point_clock
        return value(trajectory, own_id), value(user), value(time), self._clock(time)

    def _times(self, values: Sequence[Any], clocks: Sequence[Clock]) -> Times:
        """Read times, text or numbers, one or a list for each feature, by its own clock."""
        whole = np.array([not isinstance(value, list) for value in values], np.bool_)
        lists = [value if isinstance(value, list) else [value] for value in values]
        counts = np.array([len(some) for some in lists], np.int64)
        try:
            texts = pa.array(list(chain.from_iterable(lists)), pa.large_string()).cast(pa.large_binary())
        except NOT_READ:
            flat = chain.from_iterable(lists)
            texts = pa.array([None if one is None else _text(one, b"?") for one in flat], pa.large_binary())
        numbers = {clock: number for number, clock in enumerate(dict.fromkeys(clocks))}
        which = np.repeat(np.array([numbers[clock] for clock in clocks], np.int64), counts)
        return Times(read_each(texts, list(numbers), which, self.layout.clock), counts, whole)

    def _clock_of(self, name: str | None) -> Clock:
        """Say how times of this name are read; where features may have any name, all are on the calendar."""
        named = self.declared.columns.get(TIME)
        clock = self.declared.clock(named or name, on_calendar=not named)
        # This name promises what moving points have; but beside a geometry, times may be local.
        like_moving = name == CALENDAR_LISTS[1] and not clock.is_declared
        return replace(MOVING_CLOCK, zone=clock.zone) if like_moving else clock

    def _names_among(self, attributes: tuple[str, ...], single: bool) -> tuple[str | None, ...]:
        """Say which attributes of a feature are its id, its user and its time or times."""
        lists = (*CALENDAR_LISTS, columns.LIST)
        times = (*KNOWN_NAMES[TIME], *lists) if single else (*lists, *KNOWN_NAMES[TIME])
        found = columns.candidates(attributes, self.declared, times)
        # The first of them: so a feature with two is read as well, whatever others have.
        return tuple(next(iter(found[role]), None) for role in (TRAJECTORY, USER, TIME))


#: Starts the id of a line that has none; its place follows: ~7.
_MARK = "~"


def _marked(ids: pa.Array) -> pa.Array:
    mark, nothing = (pa.scalar(value, pa.large_binary()) for value in (_MARK.encode(), b""))
    return pc.binary_join_element_wise(mark, ids, nothing)


def apart(ids: pa.Array) -> pa.Array:
    """Give ids that look like a place one sign more, so that none is one: ~7 gives ~~7."""
    like = pc.match_substring_regex(ids, rf"^{_MARK}+\d+$").fill_null(False)
    return pc.if_else(like, _marked(ids), ids) if pc.any(like).as_py() else ids


def times_of(clock: Clock, column: pa.Array) -> Times:
    """Take the times of features out of a column: a time each, a list each, or either as text."""
    column = rows.decoded(column)
    kind = column.type
    if columns.is_text(kind):
        return _times_in_text(column, clock)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return Times(rows.times(column.flatten(), clock), lengths(column))
    return Times(rows.times(column, clock), np.ones(len(column), np.int64), np.ones(len(column), np.bool_))


def _times_in_text(column: pa.Array, clock: Clock) -> Times:
    """Read a time, or a list in brackets as JSON has it: ["2024-01-01T10:00:00Z","2024-01-01T10:00:15Z"]."""
    column = column.cast(pa.large_binary()).fill_null(b"")
    # Bytes that are no text are no time either, and must stop nothing.
    ascii = pc.match_substring_regex(column, r"^[ -~\s]*$")
    plain = pc.if_else(ascii, column, b"?").cast(pa.large_string())
    lists = pc.split_pattern(pc.ascii_trim(plain, characters="[] \t\r\n"), ",")
    bare = pc.replace_substring_regex(lists.flatten(), r'^\s*"|"\s*$', "")
    null = pc.equal(pc.ascii_trim_whitespace(bare), "null")
    bare = pc.if_else(null, pa.scalar(None, bare.type), bare)
    whole = pc.invert(pc.match_substring_regex(plain, r"^\s*\[")).to_numpy(zero_copy_only=False)
    return Times(clock.text(bare.cast(pa.large_binary())), lengths(lists), whole)


def lengths(lists: pa.Array) -> Integers:
    """Count the values of each list; null has none."""
    return floats_of(pc.list_value_length(lists).fill_null(0)).astype(np.int64)


def _with_header(declared: columns.Declared, said: Any) -> columns.Declared:
    """Take what a file says of all its features, in the words of --columns, where nothing else is declared."""
    if not isinstance(said, Mapping) or not said.keys() <= {TRAJECTORY, USER, TIME}:
        return declared
    names = [name for name in said.values() if name]
    if not all(isinstance(name, str) for name in said.values()) or len(set(names)) < len(names):
        return declared
    taken = set(filter(None, declared.columns.values()))
    header = {role: name for role, name in said.items() if name not in taken}
    return replace(declared, columns={**header, **declared.columns})


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the collector from looking through millions of lists again and again, none of which is garbage."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _ids(values: Iterable[Any]) -> pa.Array:
    return rows.ids(pa.array([_text(value) for value in values], pa.large_binary()))


def _text(value: Any, otherwise: bytes | None = None) -> bytes | None:
    """Give text as it is, and numbers as they are written in the file."""
    if isinstance(value, str):
        return value.encode(errors="surrogatepass")
    return repr(value).encode() if isinstance(value, int | float) and not isinstance(value, bool) else otherwise
