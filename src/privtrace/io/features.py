"""Bring features, each a geometry with attributes, into rows, for the formats of geographic systems.

A feature adds its points to the trajectory that its attributes name, so a file may have a feature per point or
per trajectory. A line that nothing names is a trajectory by itself, called by its place from 0 on; a
point that nothing names belongs to none.

Formats with a schema say once which attribute is what. Texts have none, so a feature of theirs may have an id
or not: ids and places are text there, places with a sign before them, so that no id is a place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.io import rows
from privtrace.io.clock import Clock, Read
from privtrace.io.columns import Layout, is_text
from privtrace.io.faults import Faults, Place
from privtrace.io.files import Snapshot
from privtrace.io.geometries import Geometries
from privtrace.io.rows import floats_of
from privtrace.io.source import ColumnReader, Sizes
from privtrace.trajectories import Flags, Integers

#: Features read at once; a line may have thousands of points.
FEATURES_AT_ONCE = 1 << 13
#: That of MF-JSON: ISO 8601, or milliseconds since 1970.
MOVING_CLOCK = Clock(unit="ms")


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


class FeatureReader(ColumnReader):
    """Read features as rows; a format says how it gets at its features."""

    parse_once = True
    snapshot: Snapshot
    layout: Layout
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
    if is_text(kind):
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
