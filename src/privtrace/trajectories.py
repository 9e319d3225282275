"""Hold trajectories: ragged points in a few flat arrays, and sources that yield them part by part.

Everything in this file is private data.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Any,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeGuard,
    TypeVar,
    Unpack,
    overload,
)

import numpy as np
import numpy.typing as npt

from privtrace import about as words
from privtrace import coordinates
from privtrace.compiling import compiled, inlined
from privtrace.errors import DataError

if TYPE_CHECKING:
    import duckdb
    import geopandas
    import movingpandas
    import pandas
    import polars
    import pyarrow as pa
    import pyspark
    import trackintel

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Array: TypeAlias = npt.NDArray[Any]
Crs: TypeAlias = coordinates.Crs

#: Points of one part, at least: enough to keep a core busy, little enough to hold many at once.
PART_POINTS = 1 << 18


class Reading(TypedDict, total=False):
    """Say how to read a frame, as `privtrace.read` says it of a file."""

    columns: Mapping[str, str] | None
    crs: Crs | None
    gap_minutes: float | None
    time_format: str | None
    time_unit: str | None
    timezone: str | None


class Source(Protocol):
    """Anything that can be iterated again and again as parts of moderate size.

    Its duty: each trajectory, that is all points of one (user, id), is one entry of one part, with its points
    in order of travel. The unit of privacy hangs on it, and no pass checks it: a trajectory that came in two
    parts would count twice. Entries without ids are trajectories of their own. Every iteration yields the same
    trajectories in the same order; how they are cut into parts does not matter to any result.

    A source may have more, and need not:

    - `has_users`, `has_clock`: whether its trajectories have users, or may have calendar times, where it can
      tell before a pass;
    - `zone`: in which time zone calendar times are shown, an IANA name; else that is UTC;
    - `times_by_default`: whether times are synthesized unless told otherwise; else they are not;
    - `timed(consequence, instead)`: gives the source with its times read as calendar times, which is itself
      where they are that already. If it cannot have any, it refuses, and says what cannot be done so, and what
      to do instead. What it gives is used in its place, and then closed, if it is another and has `close`;
    - `tell(observer)`: tells the curator what a look at its rows tells; called before and after every pass;
    - `tell_untimed(observer)`: tells the curator if hardly any time can be read, where times are synthesized;
    - `engine`: what holds its rows on other machines, such as "spark"; its parts are `RemoteParts` then;
    - `path`: where it is, for messages.
    """

    @property
    def crs(self) -> Crs:
        """Say whether points are longitude and latitude or planar."""
        ...

    @property
    def n_points(self) -> int:
        """Tell how many rows a pass goes over, for progress only."""
        ...

    @property
    def gap_minutes(self) -> float | None:
        """Say by which public rule logs were cut into trajectories: at gaps longer than this, or not at all."""
        ...

    def parts(self) -> Iterable[Trajectories]:
        """Start a pass over all trajectories."""
        ...


class RemoteParts(Protocol):
    """Parts on other machines: what is to be done with them goes there, and a backend of theirs sends it.

    Whoever iterates over them has them brought here, one by one. What is done there must be pure, and hold
    nothing secret but what is meant to go there.
    """

    def __iter__(self) -> Iterator[Trajectories]: ...

    def each(self, make: Callable[[Trajectories], Iterable[Trajectories]]) -> RemoteParts:
        """Make parts of each part, there."""
        ...

    def tallied(
        self, count: Callable[[Trajectories], list[int]], n_numbers: int, hear: Callable[[list[int]], None]
    ) -> RemoteParts:
        """Count something of each part, there. After each pass, `hear` gets the sums, here; for the curator."""
        ...

    def of_users(self, choose: Callable[[Trajectories], Trajectories]) -> RemoteParts:
        """Leave of the trajectories of each user, wherever they were, those that are chosen of them, there.

        What is chosen of all must be the same if some were chosen among first.
        """
        ...


def is_remote(parts: Iterable[Trajectories]) -> TypeGuard[RemoteParts]:
    """Tell whether parts are on other machines."""
    return hasattr(parts, "of_users")


def each(
    parts: Iterable[Trajectories], make: Callable[[Trajectories], Iterable[Trajectories]]
) -> Iterable[Trajectories]:
    """Make parts of each part, where it is."""
    return parts.each(make) if is_remote(parts) else chain.from_iterable(map(make, parts))


#: What can be fitted and compared: a source, the path of a file or folder, or a data frame.
Data: TypeAlias = (
    "Source | str | os.PathLike[str] | pandas.DataFrame | polars.DataFrame | polars.LazyFrame | pa.Table | "
    "pyspark.sql.DataFrame | duckdb.DuckDBPyRelation"
)

#: Which function gives a source over what is not loaded here, by the package and the name of its type.
_SOURCES = {
    ("pyspark", "DataFrame"): "from_spark",
    ("polars", "LazyFrame"): "from_lazy",
    ("duckdb", "DuckDBPyRelation"): "from_relation",
}

#: Which function takes the frames of which package. Those of GeoPandas are pandas' too, and come before.
_DOORS = {
    "trackintel": "from_trackintel",
    "movingpandas": "from_movingpandas",
    "geopandas": "from_geopandas",
    "pandas": "from_pandas",
    "polars": "from_polars",
    "pyarrow": "from_arrow",
}


def is_source(given: object) -> bool:
    """Tell whether something can be passed over."""
    return callable(getattr(given, "parts", None))  # the parts of a pathlib.Path are no method


def is_data(given: object) -> bool:
    """Tell whether `opened` takes something: a source, a path or a frame."""
    named = isinstance(given, str | os.PathLike)
    return is_source(given) or named or source_for(given) is not None or _door(given) is not None


def check_source(source: object) -> None:
    """Refuse what is no source, before any pass."""
    if not is_source(source):
        raise DataError(
            "trajectories are needed: privtrace.read(path), a path, a data frame or Trajectories, "
            f"not {type(source).__name__}"
        )


@contextmanager
def opened(given: Data) -> Iterator[Source]:
    """Give a source as it is, open the file of a path, and take a data frame by the function that is for it."""
    if source_for(given) or (isinstance(given, str | os.PathLike) and not is_source(given)):
        from privtrace.io import read

        with read(given) as source:
            yield source
        return
    door = None if is_source(given) else _door(given)
    if door is None:
        check_source(given)
        yield given  # type: ignore[misc]
        return
    try:
        taken = getattr(Trajectories, door)(given)
    except DataError as error:
        raise DataError(f"{error}. To pass options, use Trajectories.{door}") from None
    yield taken


def source_for(given: object) -> str | None:
    """Name the function that gives a source over a frame whose rows are not in memory; none is imported."""
    kinds = ((kind.__module__.strip("_").partition(".")[0], kind.__name__) for kind in type(given).__mro__)
    return next((_SOURCES[kind] for kind in kinds if kind in _SOURCES), None)


def _door(given: object) -> str | None:
    """Name the function that takes a data frame, by the package that its type is from: none is imported."""
    packages = {kind.__module__.partition(".")[0] for kind in type(given).__mro__}
    streams = "from_arrow" if hasattr(given, "__arrow_c_stream__") else None
    return next((door for package, door in _DOORS.items() if package in packages), streams)


def has_users(source: Source) -> bool | None:
    """Say whether the trajectories of a source have users; None where it cannot tell before a pass."""
    told = getattr(source, "has_users", None)
    return None if told is None else bool(told)


_Source = TypeVar("_Source", bound=Source)

#: What cannot be done without calendar times, and what to do instead, where they are to be synthesized.
NO_TIMES = ("none can be synthesized", "synthesize without times")


@contextmanager
def on_the_calendar(
    source: _Source, consequence: str = NO_TIMES[0], instead: str = NO_TIMES[1]
) -> Iterator[_Source]:
    """Let a source read its times as calendar times, if it can, and close what was opened for it."""
    timed = source.timed(consequence, instead) if hasattr(source, "timed") else source
    try:
        yield timed
    finally:
        if timed is not source and hasattr(timed, "close"):
            timed.close()


#: How trajectories are numbered; how many there are is private.
_NUMBERS = "numbers go from 0 to len(trajectories) - 1, or from -1 backwards"


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """Hold one of many trajectories; its arrays are views."""

    points: Floats  # (n_points, 2): longitude, latitude in degrees, or planar x, y
    times: Array | None  # (n_points,), where there are times
    user: Any  # who made it; None where nobody says
    id: Any  # what it is called in its source, or its place where nothing has a name
    crs: Crs

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        # The default would print private points, and names, into logs.
        return f"Trajectory({len(self):,} points, {self.crs})"


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Hold many trajectories, each an ordered run of points.

    Example: two trajectories, of two points and of one, are `points` of shape (3, 2) and
    `offsets = [0, 2, 3]`.

    Entries with the same user and id are one trajectory, as rows are in a file: whatever passes over `parts`,
    so every fit and comparison, sees them `joined`. Entries whose id is unknown (None, '' or NaN) belong to no
    trajectory and are left out there, as such rows are; an unknown user is one more user. Where `ids` is None,
    each entry is a trajectory of its own, and its place is its id.
    """

    points: Floats  # (n_points, 2): longitude, latitude in degrees, or planar x, y
    offsets: Integers  # (n_trajectories + 1,): trajectory t is points[offsets[t]:offsets[t + 1]]
    times: Array | None = None  # (n_points,): datetime64, or numbers, which set the order and are no clock
    users: Array | None = None  # (n_trajectories,): who made each
    ids: Array | None = None  # (n_trajectories,): what each is called in its source; by its place if None
    crs: Crs = "lonlat"
    gap_minutes: float | None = None  # logs were cut into these at gaps longer than this, a public rule
    zone: str = "UTC"  # in which calendar times, themselves UTC, are shown: an IANA name
    # Words that go along into files: who made this, how, and what is promised. What is taken out of these
    # trajectories keeps them; whoever puts other points in by `replace` has to take them away.
    about: Mapping[str, str] = field(default_factory=dict)
    # (n_points,): of times that are numbers, which of them are seconds since 1970 of text that was a date; None
    # where all are numbers, and where a type says what they are.
    moments: Flags | None = field(default=None, kw_only=True)
    # Times are synthesized on request alone: no schema of a single table promised them.
    times_on_request: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        points = np.ascontiguousarray(self.points, dtype=np.float64)
        offsets = np.ascontiguousarray(self.offsets, dtype=np.int64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise DataError(f"points must have shape (n_points, 2), not {points.shape}")
        if offsets.ndim != 1 or len(offsets) == 0:
            raise DataError("offsets must start with 0 and have one entry more than there are trajectories")
        # Compared, not subtracted: differences of wild numbers would wrap around.
        if offsets[0] != 0 or offsets[-1] != len(points) or np.any(offsets[1:] < offsets[:-1]):
            raise DataError("offsets must never decrease, from 0 to the number of points")
        if self.times is not None and len(self.times) != len(points):
            raise DataError("times must have one entry per point")
        if self.times is None or np.asarray(self.times).dtype.kind == "M":
            object.__setattr__(self, "moments", None)  # those of other times, before a `replace`
        if self.moments is not None and len(self.moments) != len(points):
            raise DataError("moments must have one entry per point")
        if self.users is not None and len(self.users) != len(offsets) - 1:
            raise DataError("users must have one entry per trajectory")
        if self.ids is not None and len(self.ids) != len(offsets) - 1:
            raise DataError("ids must have one entry per trajectory")
        object.__setattr__(self, "crs", coordinates.settled(self.crs))
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "offsets", offsets)
        for name in ("times", "users", "ids", "moments"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, np.asarray(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        # The default would print private points into logs.
        return f"Trajectories({len(self):,} of {self.n_points:,} points, {self.crs})"

    def _repr_html_(self) -> str:
        from privtrace.notebooks import card, facts, line

        times = "numbers, which order the points" if self.times is not None else "none"
        known = {
            "trajectories": f"{len(self):,}",
            "points": f"{self.n_points:,}",
            "coordinates": "longitude and latitude" if self.crs == "lonlat" else self.crs,
            "times": f"calendar times, shown in {self.zone}" if self.on_calendar else times,
            "users": "none" if self.users is None else "yes",
            "ids": "by place" if self.ids is None else "yes",
        }
        promise = self.about.get(words.GUARANTEE)
        said = (
            "Points are not shown, since they may be private." if promise is None else f"Synthetic: {promise}"
        )
        return card("Trajectories", line(said, red="NOT PRIVATE" in said), facts(known))

    @property
    def n_points(self) -> int:
        """Count the points of all trajectories."""
        return len(self.points)

    @property
    def has_users(self) -> bool:
        """Say whether trajectories have a user."""
        return self.users is not None

    @property
    def has_clock(self) -> bool:
        """Say whether there are calendar times: by their type, or in text, from which `timed` takes them."""
        return self.on_calendar or self.moments is not None

    @property
    def on_calendar(self) -> bool:
        """Say whether times are calendar times by their type."""
        return self.times is not None and self.times.dtype.kind == "M"

    @property
    def times_by_default(self) -> bool:
        """Say whether times are synthesized unless told otherwise: as for a single table, which this is."""
        return self.has_clock and not self.times_on_request

    def timed(self, consequence: str = NO_TIMES[0], instead: str = NO_TIMES[1]) -> Trajectories:
        """Give calendar times; where there are none, refuse, and say what cannot be done so, and what to do.

        Numbers set the order of points and are no clock: beside dates in text, they come last, in their order.
        """
        if self.on_calendar:
            return self
        if self.moments is not None:
            assert self.times is not None
            microseconds = np.rint(1e6 * np.where(self.moments, self.times, 0)).astype("datetime64[us]")
            times = np.where(self.moments, microseconds, np.datetime64("NaT", "us"))
            return replace(self, times=times)._in_time(np.ones(len(self), np.bool_))
        if self.times is None:
            raise DataError(f"these trajectories have no times, so {consequence}; give times, or {instead}")
        raise DataError(
            "the times of these trajectories are numbers without a unit, which only order the points, so "
            f"{consequence}; give datetime64, or read them with time_unit= or time_format=, or {instead}"
        )

    @overload
    def __getitem__(self, key: int | np.integer[Any]) -> Trajectory: ...

    @overload
    def __getitem__(self, key: slice | Sequence[int] | Sequence[bool] | Array) -> Trajectories: ...

    def __getitem__(self, key: Any) -> Trajectory | Trajectories:
        """Take one trajectory by its place, or several by a slice, a mask or their places, as of an array.

        One of them, and a slice in steps of 1, are views.
        """
        if hasattr(key, "__index__") and not isinstance(key, bool | np.ndarray):
            return self._one(operator.index(key))
        if isinstance(key, slice):
            start, stop, step = key.indices(len(self))
            if step == 1:
                stop = max(start, stop)
                first, last = self.offsets[[start, stop]]
                offsets = self.offsets[start : stop + 1] - first
                return self._selected(slice(first, last), offsets, slice(start, stop))
        try:
            chosen = np.arange(len(self))[key]
        except IndexError:
            chosen = None
        if not isinstance(chosen, np.ndarray) or chosen.ndim != 1:
            raise IndexError(
                "trajectories are taken by a number, a slice, a list of numbers, or a mask with True or False "
                f"for each of them; {_NUMBERS}"
            )
        return self.take(chosen)

    def _one(self, place: int) -> Trajectory:
        if not -len(self) <= place < len(self):
            raise IndexError(f"there is no trajectory {place}: {_NUMBERS}")
        place %= len(self)
        points = slice(self.offsets[place], self.offsets[place + 1])
        return Trajectory(
            self.points[points],
            None if self.times is None else self.times[points],
            None if self.users is None else self.users[place],
            place if self.ids is None else self.ids[place],
            self.crs,
        )

    def __iter__(self) -> Iterator[Trajectory]:
        return map(self._one, range(len(self)))

    def ids_from(self, first: int) -> Array:
        """Give what each is called; where they have no ids, by their places, counted from `first`."""
        return np.arange(first, first + len(self)) if self.ids is None else self.ids

    def take(self, trajectories: Integers) -> Trajectories:
        """Copy the trajectories of these numbers: take([2, 0]) gives the third, then the first."""
        lengths = np.diff(self.offsets)[trajectories]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        points = np.arange(offsets[-1]) + np.repeat(self.offsets[trajectories] - offsets[:-1], lengths)
        return self._selected(points, offsets, trajectories)

    def _selected(
        self, points: slice | Integers, offsets: Integers, trajectories: slice | Integers
    ) -> Trajectories:
        return replace(
            self,
            points=self.points[points],
            offsets=offsets,
            times=None if self.times is None else self.times[points],
            moments=None if self.moments is None else self.moments[points],
            users=None if self.users is None else self.users[trajectories],
            ids=None if self.ids is None else self.ids[trajectories],
        )

    def parts(self) -> Iterator[Trajectories]:
        """Start a pass: data in memory is a source too. Entries with the same user and id come `joined`."""
        return self.joined().cut()

    def cut(self, n_points: int | None = None) -> Iterator[Trajectories]:
        """Cut into slices of moderate size, or of about n_points, entries as they are."""
        for start, stop in part_bounds(self.offsets, n_points):
            yield self[start:stop]

    def joined(self) -> Trajectories:
        """Join entries with the same user and id, where the first of them stands; leave out unknown ids.

        Their points are in order of time, those without a time last, and else in the order of the entries.
        Where logs were cut at gaps, so are these, without points that have no time: the same trips come out,
        however they were divided into entries; numbers are no clock, and are not cut. The answer is kept; it is
        the object itself where nothing changes.
        """
        if self.ids is None:
            return self
        if "_joined" not in self.__dict__:
            whole = self._joined_by(None if _differ(self.ids) else self._numbers())
            # None for itself: an object that holds itself is freed late.
            self.__dict__["_joined"] = None if whole is self else whole
        kept: Trajectories | None = self.__dict__["_joined"]
        return self if kept is None else kept

    def _numbers(self, own: Flags | None = None) -> Integers:
        """Give entries with the same user and id the same number, and -1 to those with unknown ids.

        But `own` ones are trajectories of their own.
        """
        import pyarrow as pa

        from privtrace.spelling import numbered, spelled_ids, spelled_users

        assert self.ids is not None
        names = spelled_ids(self.ids)
        numbers = numbered(names)
        if names.null_count == 0 and numbers.max(initial=-1) == len(self) - 1:  # whatever the users
            return numbers
        users = [] if self.users is None else [spelled_users(self.users)]
        places = [] if own is None else [pa.array(np.where(own, np.arange(len(self)), -1))]
        numbers = numbered(pa.array(numbers), *users, *places)
        unknown = names.is_null().to_numpy(zero_copy_only=False)
        return np.where(unknown if own is None else unknown & ~own, -1, numbers)

    def _joined_by(self, numbers: Integers | None) -> Trajectories:
        """Join entries of the same number, in the order of numbers; those below 0 are left out."""
        whole, several = self, np.zeros(len(self), np.bool_)
        if numbers is not None and not np.array_equal(numbers, np.arange(len(self))):
            order = np.argsort(numbers, kind="stable")[np.count_nonzero(numbers < 0) :]
            firsts = np.flatnonzero(np.diff(numbers[order], prepend=-1))  # entries of trajectories
            whole = self.take(order)
            whole = whole._selected(slice(None), whole.offsets[np.append(firsts, len(order))], firsts)
            several = np.diff(firsts, append=len(order)) > 1
        if self.times is None:
            return whole
        if self.gap_minutes is None or self.times.dtype.kind != "M":  # numbers are no clock
            return whole._in_time(several)
        # A trip is the unit then, and may not change another of its log: all are put in order alike.
        return whole._in_time(np.ones(len(whole), np.bool_))._cut_at_gaps(self.gap_minutes)

    def _in_time(self, which: Flags) -> Trajectories:
        """Sort the points of some trajectories by time, missing times last, as they stand on a tie."""
        if self.times is None or not which.any():
            return self
        owners = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        inside = which[owners[1:]] & (owners[1:] == owners[:-1])
        if np.all(self.times[1:] >= self.times[:-1], where=inside):
            return self
        moved = np.flatnonzero(which[owners])
        order = np.arange(self.n_points)
        order[moved] = moved[np.lexsort((self.times[moved], owners[moved]))]  # stable, NaN and NaT last
        return self._selected(order, self.offsets, slice(None))

    def _cut_at_gaps(self, minutes: float) -> Trajectories:
        """Cut trajectories in order of time at longer gaps; a point without a time belongs to none."""
        assert self.times is not None
        points = np.flatnonzero(~np.isnan(self.times))
        owners = np.repeat(np.arange(len(self)), np.diff(self.offsets))[points]
        is_start = np.append(True, np.diff(owners) > 0)[: len(owners)]
        is_start[1:] |= gaps_over(self.times[points], minutes)
        starts = np.flatnonzero(is_start)
        if len(points) == self.n_points and np.array_equal(starts, self.offsets[:-1]):
            return self
        return self._selected(points, np.append(starts, len(points)), owners[starts])

    @classmethod
    def concatenate(cls, parts: Iterable[Trajectories], crs: Crs = "lonlat") -> Trajectories:
        """Join parts end to end, and entries with the same user and id to one; an empty list gives none.

        Parts have one coordinate system, and logs cut at the same gaps. Where a part has no users or times,
        those of its trajectories are unknown. Where a part has no ids, the whole has none either, and what
        shared user and id is joined before. `about` keeps what all parts say, and a promise only where all are
        from the same model; else it says NOT PRIVATE.
        """
        parts = list(parts)
        whole = cls.end_to_end(parts, crs)
        nameless = np.repeat([part.ids is None for part in parts], [len(part) for part in parts])
        if nameless.all() or not nameless.any():
            return whole.joined()
        return replace(whole._joined_by(whole._numbers(nameless)), ids=None)

    @classmethod
    def end_to_end(cls, parts: Sequence[Trajectories], crs: Crs = "lonlat") -> Trajectories:
        """Lay parts end to end, entries as they are: those of a source hold each trajectory once."""
        if not parts:
            return cls(np.empty((0, 2)), np.zeros(1, np.int64), crs=crs)
        if any(part.crs != parts[0].crs for part in parts):
            raise DataError(
                "the parts cannot be joined: some are longitude and latitude, some planar; use one kind"
            )
        if any(part.gap_minutes != parts[0].gap_minutes for part in parts):
            raise DataError(
                "the parts cannot be joined: their logs were cut at different gaps; read all parts with "
                "the same gap_minutes"
            )
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        return replace(
            parts[0],
            zone=parts[0].zone if len({part.zone for part in parts}) == 1 else "UTC",
            points=np.concatenate([part.points for part in parts]),
            offsets=np.concatenate([[0], np.cumsum(lengths)]),
            times=_times([part.times for part in parts], [part.n_points for part in parts]),
            users=_names([part.users for part in parts], [len(part) for part in parts]),
            ids=_names([part.ids for part in parts], [len(part) for part in parts]),
            about=words.joined([part.about for part in parts]),
            moments=_moments([part.moments for part in parts], [part.n_points for part in parts]),
            times_on_request=any(part.times_on_request for part in parts),
        )

    def to_crs(self, crs: Crs) -> Trajectories:
        """Transform points to another coordinate system: "lonlat", or a code such as "EPSG:3763".

        Where they are now must be known: planar points without a code have no place on earth.
        """
        target = coordinates.settled(crs)
        return replace(self, points=coordinates.transformed(self.points, self.crs, target), crs=target)

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write in the format of the suffix; see `privtrace.write`."""
        from privtrace.io import write

        write(self, path, force=force)

    @classmethod
    def from_arrow(cls, table: Any, **reading: Unpack[Reading]) -> Trajectories:
        """Take a table of points: a pyarrow.Table, or what has arrow's C interface; see `from_pandas`."""
        from privtrace import frames

        return frames.from_arrow(table, frames.Declared.of(**reading))

    @classmethod
    def from_pandas(cls, frame: pandas.DataFrame, **reading: Unpack[Reading]) -> Trajectories:
        """Take a frame with a row per point, its columns found by their names as `privtrace.read` finds them.

        Options are those of `privtrace.read`: columns, crs, gap_minutes, time_format, time_unit and timezone.
        The same frame in a Parquet file gives the same trajectories. Times without a time zone are local times
        of `timezone`, UTC if that is left out, and all are held in UTC; numbers are no times of day unless
        `time_unit` says what they count since 1970.
        Levels of the index that have a name are columns too. Columns of text or objects are read as those of a
        CSV file, value by value.
        """
        from privtrace import frames

        return frames.from_pandas(frame, frames.Declared.of(**reading))

    @classmethod
    def from_polars(
        cls, frame: polars.DataFrame | polars.LazyFrame, **reading: Unpack[Reading]
    ) -> Trajectories:
        """Take a frame with a row per point; see `from_pandas`."""
        from privtrace import frames

        return frames.from_polars(frame, frames.Declared.of(**reading))

    @classmethod
    def from_geopandas(
        cls, frame: geopandas.GeoDataFrame, *, lines: bool = False, **reading: Unpack[Reading]
    ) -> Trajectories:
        """Take a frame with a row per point or a row per line; the points of a row are those of its geometry.

        WGS 84 is longitude and latitude; projected or no CRS is planar. With `lines`, rows are trajectories
        where no column has their ids. A column of times may hold a list per row. Else as `from_pandas`.
        """
        from privtrace import frames

        return frames.from_geopandas(frame, frames.Declared.of(**reading), lines=lines)

    @classmethod
    def from_movingpandas(
        cls,
        collection: movingpandas.TrajectoryCollection | movingpandas.Trajectory,
        **reading: Unpack[Reading],
    ) -> Trajectories:
        """Take a collection or one trajectory, moving objects as users; times as in `from_pandas`.

        A collection has no types and no CRS of its own: ids and users come as text, and `crs="planar"` says
        that its trajectories are planar.
        """
        from privtrace import frames

        return frames.from_movingpandas(collection, frames.Declared.of(**reading))

    @classmethod
    def from_trackintel(cls, frame: geopandas.GeoDataFrame, **reading: Unpack[Reading]) -> Trajectories:
        """Take positionfixes, or triplegs without times, each a trajectory; times as in `from_pandas`.

        Positionfixes belong to the trajectory of their traj_id, trip_id or else tripleg_id; without any,
        `gap_minutes` cuts the log of each user.
        """
        from privtrace import frames

        return frames.from_trackintel(frame, frames.Declared.of(**reading))

    def to_arrow(self, *, names: str | None = None) -> pa.Table:
        """Give a table with a row per point, as a Parquet file has it; `about` is in the schema's metadata.

        Calendar times have the time zone `zone` in their type, UTC too. `names="scikit-mobility"`
        gives uid, tid, datetime, lat, lng; that library knows local times without a zone, so these are what
        clocks show in `zone`, and times that are numbers are then seconds since 1970.
        """
        from privtrace import frames

        return frames.to_arrow(self, names)

    def to_pandas(self, *, names: str | None = None) -> pandas.DataFrame:
        """Give a frame with a row per point, `about` as its attrs; see `to_arrow`."""
        from privtrace import frames

        return frames.to_pandas(self, names)

    def to_polars(self, *, names: str | None = None) -> polars.DataFrame:
        """Give a frame with a row per point; see `to_arrow`."""
        from privtrace import frames

        return frames.to_polars(self, names)

    def to_geopandas(self, *, lines: bool = False) -> geopandas.GeoDataFrame:
        """Give a row per point, or with `lines` a row per trajectory, in EPSG:4326 or, if planar, without CRS.

        A trajectory of one point is a Point among lines, and the times of a line are a list, in a column
        `coordTimes`, or `times` if they are numbers. Points that are not finite have no geometry, and are left
        out of lines.
        """
        from privtrace import frames

        return frames.to_geopandas(self, lines=lines)

    def to_movingpandas(self) -> movingpandas.TrajectoryCollection:
        """Give a collection, users as moving objects; numbers as times are seconds since 1970, UTC.

        MovingPandas needs two moments a trajectory and keeps one point a moment: trajectories of one moment,
        points of a moment that was there already, and points that are not finite or have no time are left out.
        It also drops time zones, and would lay the hour that comes twice over itself, so its times are UTC.
        """
        from privtrace import frames

        return frames.to_movingpandas(self)

    def to_trackintel(self) -> trackintel.Positionfixes:
        """Give positionfixes with a traj_id, times in `zone`; without users, each trajectory is its own user.

        Numbers as times are seconds since 1970. Points that are not finite or have no time are left out.
        """
        from privtrace import frames

        return frames.to_trackintel(self)


def part_bounds(offsets: Integers, n_points: int | None = None) -> Iterator[tuple[int, int]]:
    """Cut trajectories into runs of moderate size: yields the first of each, and the one after the last."""
    marks = np.arange(0, offsets[-1], n_points or PART_POINTS)
    cuts = np.unique(np.searchsorted(offsets, marks, side="right") - 1)
    bounds = [*cuts.tolist(), len(offsets) - 1] if len(cuts) else [0, len(offsets) - 1]
    bounds[0] = 0
    return pairwise(bounds)


def limits(crs: Crs | None) -> tuple[float, float, float]:
    """Bound what can be a point, for `is_bad`: the largest |x|, the largest |y|, and 1 where (0, 0) is none.

    Receivers without a fix report longitude and latitude 0. In planar coordinates (0, 0) is a place.
    """
    largest = float(np.finfo(float).max)
    return (180.0, 90.0, 1.0) if crs == "lonlat" else (largest, largest, 0.0)


@inlined
def is_bad(x, y, limits):  # type: ignore[no-untyped-def]
    """Tell whether a point is not a number, infinite or impossible; such a point is as if it were absent."""
    return not (abs(x) <= limits[0] and abs(y) <= limits[1]) or (x == 0.0 and y == 0.0 and limits[2] == 1.0)


@compiled
def bad_points(points, limits):  # type: ignore[no-untyped-def]
    """Tell which points are bad."""
    bad = np.empty(len(points), np.bool_)
    for p in range(len(points)):
        bad[p] = is_bad(points[p, 0], points[p, 1], limits)
    return bad


def gaps_over(times: Array, minutes: float) -> Flags:
    """Tell where the time from one point to the next is longer, of calendar times that are all there."""
    assert times.dtype.kind == "M"  # numbers are no clock
    tick = np.array(1, times.dtype.str.replace("M", "m"))
    ticks = 60 * minutes * float(np.timedelta64(1, "s") / tick)
    # Times rise within a trajectory: a difference is never negative, and fits into 64 bits without a sign.
    longer: Flags = np.diff(times.view(np.int64)).view(np.uint64) > np.uint64(min(ticks, 2.0**63))
    return longer


def _differ(ids: Array) -> bool:
    """Tell whether ids are whole numbers of which no two are the same, the quick way."""
    if ids.dtype.kind not in "iu":
        return False
    ordered = np.sort(ids)
    return bool(np.all(ordered[1:] > ordered[:-1]))


def _times(columns: list[Array | None], lengths: list[int]) -> Array | None:
    """Join times end to end, unknown ones where there are none."""
    known = [column for column in columns if column is not None]
    if not known:
        return None
    if len({column.dtype.kind == "M" for column in known}) > 1:
        raise DataError(
            "the parts cannot be joined: some have calendar times, some have numbers as times; use one kind"
        )
    unknown = np.datetime64("NaT") if known[0].dtype.kind == "M" else np.nan
    return np.concatenate(
        [np.full(n, unknown) if times is None else times for times, n in zip(columns, lengths, strict=True)]
    )


def _moments(columns: list[Flags | None], lengths: list[int]) -> Flags | None:
    """Join what says which times were dates in text, where any part has it."""
    if all(column is None for column in columns):
        return None
    return np.concatenate(
        [np.zeros(n, np.bool_) if flags is None else flags for flags, n in zip(columns, lengths, strict=True)]
    )


def _names(columns: list[Array | None], lengths: list[int]) -> Array | None:
    """Join users or ids end to end, None where there are none, without making two names one."""
    known = [column for column in columns if column is not None]
    if not known:
        return None
    if len(known) < len(columns) or len({column.dtype.kind for column in known}) > 1:
        # As objects: numpy would make floats of whole numbers, and texts of numbers.
        filled = (
            np.full(n, None) if names is None else names for names, n in zip(columns, lengths, strict=True)
        )
        known = [names.astype(object) for names in filled]
    return np.concatenate(known)
