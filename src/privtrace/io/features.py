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
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace import coordinates, rows
from privtrace.errors import DataError
from privtrace.io import columns
from privtrace.io.beginning import Beginning
from privtrace.io.columns import CALENDAR_LISTS, KNOWN_NAMES, LAST_RESORT, TIME, TRAJECTORY, USER, Declared
from privtrace.io.geometries import EMPTY, Geometries, lengths
from privtrace.io.source import Reader, Sizes
from privtrace.io.streams import opened
from privtrace.parsing.clock import Clock, Read, read_each
from privtrace.rows import floats_of
from privtrace.rows.faults import Faults, Place
from privtrace.trajectories import Crs, Flags, Floats, Integers

#: Features read at once; a line may have thousands of points.
FEATURES_AT_ONCE = 1 << 13
#: That of MF-JSON: ISO 8601, or milliseconds since 1970.
MOVING_CLOCK = Clock(unit="ms")
#: What arrow raises where values are not of the type that it is asked for.
NOT_READ = (pa.ArrowException, TypeError, ValueError, OverflowError)

#: Sets of attributes that a reader remembers; most files have one.
_MOST_REMEMBERED = 256
#: Starts the id of a line that has none; its place follows: ~7.
_MARK = "~"


class Features(NamedTuple):
    """Hold some features of a file."""

    geometries: Geometries
    trajectory: pa.Array | None  # (n_features,)
    user: pa.Array | None  # (n_features,)
    time: Read | None  # (n_points,)
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
            x, y, counts, _, wrong = found.geometries
            owners = np.repeat(np.arange(len(counts)), counts)
            ids, users = (
                None if some is None else some.take(pa.array(owners)) for some in (self._ids(found), found.user)
            )
            batch = rows.rows(ids, users, pa.array(x), pa.array(y), found.time)
            of_features = Place.following(self.snapshot.path, self.n_features)
            for reason, flags in wrong.items():
                n_rows += int(flags.sum())
                if faults is not None:
                    faults.add(reason, np.flatnonzero(flags), of_features)
            at = of_features.line_of(owners) if found.lines is None else found.lines
            n_rows += batch.num_rows
            self.n_features += len(counts)
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


class LayerReader(FeatureReader):
    """Read features with a schema, which says once what is what; a format says how it gets at its columns."""

    def understand(
        self, path: Path, schema: pa.Schema, declared: Declared, crs: Crs, *, points_only: bool
    ) -> None:
        """Find out what the columns mean, from their names and types."""
        layout = columns.attributes(path, schema.names, declared, crs, points_only=points_only)
        self.lay_out(layout, columns.check_types(path, layout, schema, declared))
        self.has_places = layout.trajectory is None

    def of_columns(self, geometries: Geometries, beside: Mapping[str, pa.Array] | pa.RecordBatch) -> Features:
        """Put geometries and the columns beside them together."""
        trajectory, user, time = self.layout.trajectory, self.layout.user, self.layout.time
        return Features(
            geometries,
            rows.ids(beside[trajectory]) if trajectory else None,
            rows.ids(beside[user]) if user else None,
            _times_of(beside[time], self.layout.clock, geometries.counts) if time else None,
        )


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
    """Read features from text; a format says how to split it and what to make of the pieces."""

    is_table = False
    point_clock: Clock  # of times that stand with the points

    def __init__(
        self, beginning: Beginning, declared: Declared, crs: Crs, *, header: Any = None, packed: bool = False
    ) -> None:
        self.snapshot, self._packed = beginning.snapshot, packed
        columns.refuse_coordinates(beginning.path, declared)
        columns.refuse_order(beginning.path, declared)
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

    def split(self, file: BinaryIO, block_bytes: int) -> Iterator[Any]:
        """Yield the pieces of a text, each with a feature or some, as many at a time as end in a block."""
        raise NotImplementedError

    def parsed(self, pieces: Any) -> tuple[Sequence[Feature], Floats, Floats, Integers]:
        """Parse pieces, each by itself: the features, x and y of their points, and how many each has."""
        raise NotImplementedError

    def features(self, sizes: Sizes) -> Iterator[Features]:
        """Yield the features of some text at a time."""
        yield self._collected([], np.empty(0), np.empty(0), np.empty(0, np.int64))
        with opened(self.snapshot.path, packed=self._packed) as file:
            for pieces in self.split(file, sizes.block_bytes):
                with _uncollected():
                    features = self._collected(*self.parsed(pieces))
                yield features

    def _collected(self, found: Sequence[Feature], x: Floats, y: Floats, counts: Integers) -> Features:
        """Put features into columns."""
        reasons = [one.wrong or (None if n else EMPTY) for one, n in zip(found, counts.tolist(), strict=True)]
        wrong = {reason: np.array([one == reason for one in reasons]) for reason in {*reasons} if reason}
        single = np.array([one.single for one in found], np.bool_)
        lines = list(chain.from_iterable(one.lines for one in found))
        ids, users, times, clocks = list(zip(*map(self._roles, found), strict=True)) or [()] * 4
        trajectory = _ids(ids) if self.as_text or not self.has_places else None
        user = _ids(users) if self.has_users else None
        if user is not None and self.declared.gap_minutes is not None and self.has_places:
            trajectory = pc.coalesce(trajectory, user)  # where logs are cut, the log of a user goes by the user
        time = self._times(times, clocks, counts) if self.has_times else None
        geometries = Geometries(x, y, counts, single, wrong)
        return Features(geometries, trajectory, user, time, np.array(lines) if lines else None)

    def _roles(self, one: Feature) -> tuple[Any, Any, Any, Clock]:
        """Find id, user and times of a feature, and how its times are read."""
        trajectory, user, time = self._names(tuple(one.attributes), one.single)
        value: Callable[..., Any] = one.attributes.get
        own_id = one.own_id if self.declared.columns.get(TRAJECTORY, LAST_RESORT) == LAST_RESORT else None
        if one.times is not None:
            return value(trajectory, own_id), value(user), one.times, self.point_clock
        return value(trajectory, own_id), value(user), value(time), self._clock(time)

    def _times(self, values: Sequence[Any], clocks: Sequence[Clock], n_points: Integers) -> Read:
        """Read times, text or numbers, one or a list for each feature, by its own clock."""
        is_list = np.array([isinstance(value, list) for value in values], np.bool_)
        lists = [value if isinstance(value, list) else [value] for value in values]
        n_times = np.array([len(some) for some in lists], np.int64)
        flat = list(chain.from_iterable(lists))
        try:
            texts = pa.array(flat, pa.large_string()).cast(pa.large_binary())
        except NOT_READ:
            texts = pa.array([None if one is None else _text(one, b"?") for one in flat], pa.large_binary())
        numbers = {clock: number for number, clock in enumerate(dict.fromkeys(clocks))}
        which = np.repeat(np.array([numbers[clock] for clock in clocks], np.int64), n_times)
        return _fitted(read_each(texts, list(numbers), which, self.layout.clock), n_times, n_points, is_list)

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


def meaning(path: Path, described: Any, declared: Declared) -> Crs:
    """Choose what points mean: what is declared, else the system that a file names, as PROJJSON, if any."""
    found = declared.crs or coordinates.meaning(described)
    if found is None:
        raise DataError(
            f"{path}: its coordinate system is neither planar nor close to WGS 84; convert it to EPSG:4326, "
            f"or declare it with {declared.either_crs}"
        )
    return found


def apart(ids: pa.Array) -> pa.Array:
    """Give ids that look like a place one sign more, so that none is one: ~7 gives ~~7."""
    like = pc.match_substring_regex(ids, rf"^{_MARK}+\d+$").fill_null(False)
    return pc.if_else(like, _marked(ids), ids) if pc.any(like).as_py() else ids


def _marked(ids: pa.Array) -> pa.Array:
    mark, nothing = (pa.scalar(value, pa.large_binary()) for value in (_MARK.encode(), b""))
    return pc.binary_join_element_wise(mark, ids, nothing)


def _fitted(read: Read, n_times: Integers, n_points: Integers, is_list: Flags | bool) -> Read:
    """Give each point its time; none can be read of a list that has not as many times as points.

    One time of a line says nothing of its points: they have none.
    """
    if np.array_equal(n_points, n_times):
        return read
    owners = np.repeat(np.arange(len(n_points)), n_points)
    steps = np.arange(len(owners)) - np.repeat(np.cumsum(n_points) - n_points, n_points)
    misfit = (n_points != n_times)[owners]
    places = pa.array((np.cumsum(n_times) - n_times)[owners] + steps, mask=misfit)
    given = read.unread | read.values.is_valid().to_numpy(zero_copy_only=False)
    wrong = (np.bincount(np.repeat(np.arange(len(n_times)), n_times), given, len(n_times)) > 0) & is_list
    unread = floats_of(pa.array(read.unread).take(places).fill_null(False))
    number = None if read.number is None else read.number.take(places)
    return Read(read.values.take(places), np.where(misfit, wrong[owners], unread), number)


def _times_of(column: pa.Array, clock: Clock, n_points: Integers) -> Read:
    """Read a column of times: a time each, a list each, or either as text."""
    values = rows.decoded(column)
    n_times, is_list = np.ones(len(column), np.int64), np.zeros(len(column), np.bool_)
    if rows.is_text(values.type):
        values, n_times, is_list = _listed(values)
    elif pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        values, n_times, is_list = values.flatten(), lengths(values), ~is_list
    return _fitted(rows.times(values, clock), n_times, n_points, is_list)


def _listed(column: pa.Array) -> tuple[pa.Array, Integers, Flags]:
    """Find a time, or a list in brackets as JSON has it: ["2024-01-01T10:00:00Z","2024-01-01T10:00:15Z"]."""
    column = column.cast(pa.large_binary()).fill_null(b"")
    # Bytes that are no text are no time either, and must stop nothing.
    ascii = pc.match_substring_regex(column, r"^[ -~\s]*$")
    plain = pc.if_else(ascii, column, b"?").cast(pa.large_string())
    lists = pc.split_pattern(pc.ascii_trim(plain, characters="[] \t\r\n"), ",")
    bare = pc.replace_substring_regex(lists.flatten(), r'^\s*"|"\s*$', "")
    null = pc.equal(pc.ascii_trim_whitespace(bare), "null")
    values = pc.if_else(null, pa.scalar(None, bare.type), bare)
    return values, lengths(lists), floats_of(pc.match_substring_regex(plain, r"^\s*\["))


def _with_header(declared: Declared, said: Any) -> Declared:
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
