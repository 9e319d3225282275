"""Bring features, each a geometry with attributes, into rows, for the formats of geographic systems.

A feature adds its points to the trajectory that its attributes name, so a file may have a feature per point or
per trajectory. A line that nothing names is a trajectory by itself, called by its place from 0 on; a
point that nothing names belongs to none.

Formats with a header or schema say once which attribute is what. In those without, `Rule` is applied to each
feature by itself, and no feature changes how another is read. There are ids as well as places there:
both are text, places with a sign before them, so that no id is a place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.io import rows
from privtrace.io.clock import Clock, Read
from privtrace.io.columns import (
    CALENDAR_LISTS,
    KNOWN_NAMES,
    LAST_RESORT,
    LIST,
    TIME,
    TRAJECTORY,
    USER,
    AttributeNames,
    Declared,
    Layout,
    is_text,
    refuse_coordinates,
)
from privtrace.io.faults import Faults, Place
from privtrace.io.files import Snapshot
from privtrace.io.geometries import Geometries
from privtrace.io.rows import floats_of
from privtrace.io.source import ColumnReader, Sizes
from privtrace.trajectories import Crs, Flags, Integers

#: Features read at once; a line may have thousands of points.
FEATURES_AT_ONCE = 1 << 13

_LISTS = (*CALENDAR_LISTS, LIST)
#: Sets of attributes that a rule remembers; most files have one.
_MOST_REMEMBERED = 256


FeatureLayout = Layout


@dataclass(frozen=True)
class Names:
    """Say what plays which role in one feature; None where nothing does."""

    trajectory: str | None
    user: str | None
    time_of_point: str | None
    times_of_line: str | None


class Rule:
    """Say where features without a header have what they have: one fixed rule, for each feature by itself.

    An id, a user or a time is the attribute that is declared for it, else the first that is there of the known
    names, in their order. Beside a line, lists of times come before single ones.
    """

    def __init__(self, path: Path, declared: Declared) -> None:
        refuse_coordinates(path, declared)
        self.declared = declared
        self.names: Callable[[tuple[str, ...]], Names] = lru_cache(_MOST_REMEMBERED)(self._names)
        self.clock: Callable[[str | None], Clock] = lru_cache(_MOST_REMEMBERED)(self._clock)

    def _names(self, attributes: tuple[str, ...]) -> Names:
        first = AttributeNames(attributes, self.declared).first_of
        return Names(
            first(TRAJECTORY, *KNOWN_NAMES[TRAJECTORY], LAST_RESORT),
            first(USER, *KNOWN_NAMES[USER]),
            first(TIME, *KNOWN_NAMES[TIME], *_LISTS),
            first(TIME, *_LISTS, *KNOWN_NAMES[TIME]),
        )

    def _clock(self, name: str | None) -> Clock:
        """Say how times of this name are read; where features may have any name, all are on the calendar."""
        declared = self.declared.columns.get(TIME)
        return self.declared.clock(declared or name, on_calendar=not declared)

    @property
    def names_all(self) -> bool:
        """Say whether it is declared what names trajectories: then what it does not name is none."""
        return bool(self.declared.columns.get(TRAJECTORY))

    def named(self, ids: pa.Array, users: pa.Array | None) -> pa.Array:
        """Give features the ids that they have; where logs are cut, the log of a user goes by the user."""
        is_log = users is not None and self.declared.gap_minutes is not None and not self.names_all
        return pc.coalesce(ids, users) if is_log else ids


def with_header(declared: Declared, said: Any) -> Declared:
    """Take what a file says of all its features, in the words of --columns, where nothing else is declared."""
    if not isinstance(said, Mapping) or not said.keys() <= {TRAJECTORY, USER, TIME}:
        return declared
    names = [name for name in said.values() if name]
    if not all(isinstance(name, str) for name in said.values()) or len(set(names)) < len(names):
        return declared
    taken = set(filter(None, declared.columns.values()))
    header = {role: name for role, name in said.items() if name not in taken}
    return replace(declared, columns={**header, **declared.columns})


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
        firsts = np.cumsum(self.counts) - self.counts
        misfit = (counts != self.counts)[owners]
        places = np.where(misfit, 0, firsts[owners] + steps)
        values = self.read.values.take(pa.array(places, mask=misfit))
        given = self.read.unread | self.read.values.is_valid().to_numpy(zero_copy_only=False)
        n_given = np.bincount(np.repeat(np.arange(len(counts)), self.counts), given, len(counts))
        wrong = (n_given > 0) if self.whole is None else (n_given > 0) & ~self.whole
        unread = np.append(self.read.unread, False)[places]
        order = None if self.read.order is None else self.read.order.take(pa.array(places, mask=misfit))
        return Read(values, np.where(misfit, wrong[owners], unread), order)


@dataclass(frozen=True)
class Features:
    """Hold some features of a file."""

    geometries: Geometries
    trajectory: pa.Array | None  # (n_features,)
    user: pa.Array | None  # (n_features,)
    times: Times | None
    lines: Integers | None = None  # (n_points,): where each point stands, in a text with a line per point


class FeatureReader(ColumnReader):
    """Read features as rows; a format says how it gets at its features."""

    parse_once = True
    snapshot: Snapshot
    layout: FeatureLayout
    n_rows: int | None = None
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
            batch, owners = self._rows(found)
            of_features = Place.following(self.snapshot.path, self.n_features)
            for reason, flags in found.geometries.wrong.items():
                n_rows += int(flags.sum())
                if faults is not None:
                    faults.add(reason, np.flatnonzero(flags), of_features)
            at = of_features.line_of(owners) if found.lines is None else found.lines
            place = Place(self.snapshot.path, at.__getitem__)
            n_rows += batch.num_rows
            self.n_features += len(found.geometries)
            batch = rows.usable(batch, self.crs, faults, place, may_lack_times=self.may_lack_times)
            yield rows.keys_of(batch) if keys_only else batch
        self.n_rows = n_rows

    def _rows(self, features: Features) -> tuple[pa.RecordBatch, Integers]:
        """Turn features into rows; also say which feature each belongs to."""
        geometries = features.geometries
        owners = np.repeat(np.arange(len(geometries)), geometries.counts)
        batch = rows.rows(
            trajectory=self._ids(features).take(pa.array(owners)),
            user=None if features.user is None else features.user.take(pa.array(owners)),
            x=pa.array(geometries.x),
            y=pa.array(geometries.y),
            time=None if features.times is None else features.times.of(geometries.counts),
        )
        return batch, owners

    def _ids(self, features: Features) -> pa.Array:
        """Give each feature its id, and lines without one their place."""
        given, single = features.trajectory, features.geometries.single
        if not self.has_places:
            assert given is not None
            return apart(rows.text_of(given)) if self.as_text else given
        places = pa.array(self.n_before + self.n_features + np.arange(len(single)), mask=single)
        if not self.as_text:
            return places
        return as_places(places) if given is None else pc.coalesce(apart(given), as_places(places))


class RuledReader(FeatureReader):
    """Read features that have no header; what they may have is what is not switched off."""

    is_table = False
    rule: Rule

    def follow(self, rule: Rule, crs: Crs) -> None:
        """Read by a rule."""
        declared = rule.declared
        named = {TRAJECTORY: TRAJECTORY, USER: USER, TIME: TIME, **declared.columns}
        self.rule = rule
        self.layout = FeatureLayout(
            named[TRAJECTORY] or None,
            named[USER] or None,
            named[TIME] or None,
            crs,
            rule.clock(declared.columns.get(TIME) or None),
        )
        self.has_places = not rule.names_all
        has_ids = self.layout.trajectory is not None or declared.gap_minutes is not None
        self.as_text = self.has_places and has_ids
        self.may_lack_times = not declared.columns.get(TIME)


#: Starts the id of a line that has none; its place follows.
_MARK = b"~"
_LIKE_PLACE = rf"^{_MARK.decode()}+\d+$"


def as_places(numbers: pa.Array) -> pa.Array:
    """Write places as text: 7 gives ~7."""
    mark, nothing = (pa.scalar(value, pa.large_binary()) for value in (_MARK, b""))
    return pc.binary_join_element_wise(mark, rows.text_of(numbers), nothing)


def apart(ids: pa.Array) -> pa.Array:
    """Give ids that look like a place one sign more, so that none is one: ~7 gives ~~7."""
    like = pc.match_substring_regex(ids, _LIKE_PLACE).fill_null(False)
    if not pc.any(like).as_py():
        return ids
    mark, nothing = (pa.scalar(value, pa.large_binary()) for value in (_MARK, b""))
    return pc.if_else(like, pc.binary_join_element_wise(mark, ids, nothing), ids)


def times_of(clock: Clock, column: pa.Array) -> Times:
    """Take the times of features out of a column: a time each, a list each, or either as text."""
    column = rows.decoded(column)
    kind = column.type
    if is_text(kind):
        return _times_in_text(column, clock)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return Times(rows.times(column.flatten(), clock), _lengths(column))
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
    return Times(clock.text(bare.cast(pa.large_binary())), _lengths(lists), whole)


def _lengths(lists: pa.Array) -> Integers:
    return floats_of(pc.list_value_length(lists).fill_null(0)).astype(np.int64)
