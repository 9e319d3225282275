"""Bring features, each a geometry with attributes, into rows, for the formats of geographic systems.

A feature adds its points to the trajectory that its attributes name, so a file may have a feature a point or a
feature a trajectory. Where no attribute names trajectories, each line is one, called by its place from 0 on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.io import rows
from privtrace.io.clock import ISO_CLOCK, Clock, Read
from privtrace.io.columns import is_text
from privtrace.io.faults import Faults, Place
from privtrace.io.files import Stamp
from privtrace.io.folder import FolderReader
from privtrace.io.rows import floats_of
from privtrace.io.shapes import Shapes
from privtrace.io.source import ColumnReader, Sizes
from privtrace.trajectories import Crs, Integers

#: Features read at once; a line may have thousands of points.
FEATURES_AT_ONCE = 1 << 13


@dataclass(frozen=True)
class FeatureLayout:
    """Say which attribute of a feature plays which role."""

    trajectory: str | None  # None where each line is a trajectory of its own
    user: str | None
    time: str | None
    crs: Crs
    clock: Clock = ISO_CLOCK

    @property
    def names(self) -> list[str]:
        """List the attributes to read."""
        return list(dict.fromkeys(name for name in (self.trajectory, self.user, self.time) if name is not None))


@dataclass(frozen=True)
class Times:
    """Hold the times of features, one feature after the other."""

    read: Read  # (n_times,)
    counts: Integers  # (n_features,)

    def of(self, counts: Integers) -> Read:
        """Give each point its time; none can be read in a feature that has not as many times as points."""
        owners = np.repeat(np.arange(len(counts)), counts)
        steps = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        firsts = np.cumsum(self.counts) - self.counts
        misfit = (counts != self.counts)[owners]
        places = np.where(misfit, 0, firsts[owners] + steps)
        values = self.read.values.take(pa.array(places, mask=misfit))
        given = self.read.unread | self.read.values.is_valid().to_numpy(zero_copy_only=False)
        n_given = np.bincount(np.repeat(np.arange(len(counts)), self.counts), given, len(counts))
        unread = np.append(self.read.unread, False)[places]
        return Read(values, np.where(misfit, n_given[owners] > 0, unread))


@dataclass(frozen=True)
class Features:
    """Hold some features of a file."""

    shapes: Shapes
    trajectory: pa.Array | None  # (n_features,)
    user: pa.Array | None  # (n_features,)
    times: Times | None
    lines: Integers | None = None  # (n_points,): where each point stands, in a text with a line a point


class FeatureReader(ColumnReader):
    """Read features as rows; a format says how it gets at its features."""

    parse_once = True
    stamp: Stamp
    layout: FeatureLayout
    n_rows: int | None = None
    n_before: int = 0  # features in other files, where this is one of several
    n_features: int = 0  # known after a pass
    stands_in: bool | None = None  # without a header: whether a feature stands in for it

    def features(self, sizes: Sizes) -> Iterator[Features]:
        """Yield the features, some at a time; the first are none and show the types."""
        raise NotImplementedError

    def follow(self, other: Self) -> None:
        """Look for what another file has, but for the meaning of points."""
        self.layout = replace(other.layout, crs=self.layout.crs)

    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the points of some features at a time, and count them and the features that are wrong."""
        n_rows = n_features = 0
        for found in self.features(sizes):
            batch, owners = _rows(found, self.n_before + n_features)
            of_features = Place.following(self.stamp.path, n_features)
            for reason, flags in found.shapes.wrong.items():
                n_rows += int(flags.sum())
                if faults is not None:
                    faults.add(reason, np.flatnonzero(flags), of_features)
            at = of_features.line_of(owners) if found.lines is None else found.lines
            place = Place(self.stamp.path, at.__getitem__)
            n_rows += batch.num_rows
            n_features += len(found.shapes)
            batch = rows.usable(batch, self.crs, faults, place)
            yield rows.keys_of(batch) if keys_only else batch
        self.n_rows, self.n_features = n_rows, n_features


class FeatureFolderReader(FolderReader[FeatureReader]):
    """Read files of features one after the other; where they have no ids, places go on from file to file.

    Of files without a header, the first feature of the first that has one stands in for all: what single
    features have must not make a folder unreadable.
    """

    def _settle(self) -> None:
        first = next((reader for reader in self.readers if reader.stands_in), None)
        if first is not None:
            for reader in self.readers:
                reader.follow(first)

    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all files, or their keys only."""
        n_before = 0
        for reader in self.readers:
            reader.n_before = n_before
            yield from reader.batches(sizes, keys_only=keys_only, faults=faults)
            n_before += reader.n_features


def _rows(features: Features, n_before: int) -> tuple[pa.RecordBatch, Integers]:
    """Turn features into rows; also say which feature each belongs to."""
    shapes = features.shapes
    owners = np.repeat(np.arange(len(shapes)), shapes.counts)
    trajectory = features.trajectory
    if trajectory is None:
        trajectory = pa.array(n_before + np.arange(len(shapes)), mask=shapes.single)
    batch = rows.rows(
        trajectory=trajectory.take(pa.array(owners)),
        user=None if features.user is None else features.user.take(pa.array(owners)),
        x=pa.array(shapes.x),
        y=pa.array(shapes.y),
        time=None if features.times is None else features.times.of(shapes.counts),
    )
    return batch, owners


def has_times(kind: pa.DataType, geometries: set[str]) -> bool:
    """Tell whether a column can hold the times of points: where all are lines, one time a row cannot."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    listed = pa.types.is_list(kind) or pa.types.is_large_list(kind) or is_text(kind)
    return listed or not geometries or "Point" in geometries


def times_of(clock: Clock, column: pa.Array) -> Times:
    """Take the times of features out of a column: a time each, a list each, or either as text."""
    column = rows.decoded(column)
    kind = column.type
    if is_text(kind):
        return _times_in_text(column, clock)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return Times(rows.times(column.flatten(), clock), _lengths(column))
    return Times(rows.times(column, clock), np.ones(len(column), np.int64))


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
    return Times(clock.text(bare.cast(pa.large_binary())), _lengths(lists))


def _lengths(lists: pa.Array) -> Integers:
    return floats_of(pc.list_value_length(lists).fill_null(0)).astype(np.int64)
