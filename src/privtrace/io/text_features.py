"""Read features from text, whatever its format: split the text, parse each piece by itself, collect columns.

There is no header: what a feature has is found by one rule for each feature by itself. An id, a user or a time
is the attribute that is declared for it, else the first that is there of the known names, in their order.
Beside a line, lists of times come before single ones. No types are declared, so ids are text. Only the file
itself may say something of all its features, in the words of --columns.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import chain
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.io import columns, rows
from privtrace.io.beginning import Beginning
from privtrace.io.clock import Clock, read_each
from privtrace.io.columns import CALENDAR_LISTS, KNOWN_NAMES, LAST_RESORT, TIME, TRAJECTORY, USER
from privtrace.io.features import MOVING_CLOCK, FeatureReader, Features, Times
from privtrace.io.geometries import EMPTY, Geometries
from privtrace.io.source import Sizes
from privtrace.io.streams import opened
from privtrace.trajectories import Crs, Floats, Integers

#: What arrow raises where values are not of the type that it is asked for.
NOT_READ = (pa.ArrowException, TypeError, ValueError, OverflowError)

#: Sets of attributes that a reader remembers; most files have one.
_MOST_REMEMBERED = 256


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
        self.layout = columns.Layout(trajectory, user, time, crs, clock)
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
        first = columns.AttributeNames(attributes, self.declared).first_of
        lists = (*CALENDAR_LISTS, columns.LIST)
        times = (*KNOWN_NAMES[TIME], *lists) if single else (*lists, *KNOWN_NAMES[TIME])
        ids = (*KNOWN_NAMES[TRAJECTORY], LAST_RESORT)
        return first(TRAJECTORY, *ids), first(USER, *KNOWN_NAMES[USER]), first(TIME, *times)


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
