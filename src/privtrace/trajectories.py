"""Hold trajectories: ragged points in a few flat arrays, and sources that yield them part by part.

Everything in this file is private data.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, Unpack

import numpy as np
import numpy.typing as npt
from numba import njit

from privtrace.errors import DataError, SettingsError

if TYPE_CHECKING:
    import geopandas
    import movingpandas
    import pandas
    import polars
    import pyarrow
    import trackintel

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Array: TypeAlias = npt.NDArray[Any]
Crs: TypeAlias = Literal["lonlat", "planar"]

#: Points of one part, at least: enough to keep a core busy, little enough to hold many at once.
PART_POINTS = 1 << 18


class Reading(TypedDict, total=False):
    """Say how to read a frame, as `privtrace.read` says it of a file."""

    columns: Mapping[str, str] | None
    crs: Crs | None
    gap_minutes: float | None


class Source(Protocol):
    """Anything that can be iterated again and again as parts of moderate size.

    A trajectory lies whole in one part, with its points in order of travel. Every iteration yields the same
    trajectories in the same order; how they are cut into parts does not matter to any result.
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

    def parts(self) -> Iterator[Trajectories]:
        """Start a pass over all trajectories."""
        ...


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Hold many trajectories, each an ordered run of points.

    Example: two trajectories, of two points and of one, are `points` of shape (3, 2) and
    `offsets = [0, 2, 3]`.
    """

    points: Floats  # (n_points, 2): longitude, latitude in degrees, or planar x, y
    offsets: Integers  # (n_trajectories + 1,): trajectory t is points[offsets[t]:offsets[t + 1]]
    times: Array | None = None  # (n_points,): numbers or datetime64
    users: Array | None = None  # (n_trajectories,): who made each
    ids: Array | None = None  # (n_trajectories,): what each is called in its source; by its place if None
    crs: Crs = "lonlat"
    gap_minutes: float | None = None  # logs were cut into these at gaps longer than this, a public rule
    about: Mapping[str, str] = field(default_factory=dict)  # words that go along into files: who made this, how

    def __post_init__(self) -> None:
        points = np.ascontiguousarray(self.points, dtype=np.float64)
        offsets = np.ascontiguousarray(self.offsets, dtype=np.int64)
        if points.ndim != 2 or points.shape[1] != 2:
            raise DataError(f"points must have shape (n_points, 2), not {points.shape}")
        if offsets.ndim != 1 or len(offsets) == 0:
            raise DataError("offsets must have one entry more than there are trajectories, the first 0")
        # Compared, not subtracted: differences of wild numbers would wrap around.
        if offsets[0] != 0 or offsets[-1] != len(points) or np.any(offsets[1:] < offsets[:-1]):
            raise DataError("offsets must rise from 0 to the number of points without falling back")
        if self.times is not None and len(self.times) != len(points):
            raise DataError("times must have one entry a point")
        if self.users is not None and len(self.users) != len(offsets) - 1:
            raise DataError("users must have one entry a trajectory")
        if self.ids is not None and len(self.ids) != len(offsets) - 1:
            raise DataError("ids must have one entry a trajectory")
        if self.crs not in ("lonlat", "planar"):
            raise SettingsError(f"crs must be 'lonlat' or 'planar', not {self.crs!r}")
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "offsets", offsets)
        for name in ("times", "users", "ids"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, np.asarray(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        # The default would print private points into logs.
        return f"Trajectories({len(self):,} of {self.n_points:,} points, {self.crs})"

    @property
    def n_points(self) -> int:
        """Count the points of all trajectories."""
        return len(self.points)

    def __getitem__(self, key: slice) -> Trajectories:
        """Take a run of trajectories; the arrays are views."""
        start, stop, step = key.indices(len(self))
        if step != 1:
            raise IndexError("trajectories are sliced in steps of 1")
        stop = max(start, stop)
        first, last = self.offsets[start], self.offsets[stop]
        return self._selected(slice(first, last), self.offsets[start : stop + 1] - first, slice(start, stop))

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
            users=None if self.users is None else self.users[trajectories],
            ids=None if self.ids is None else self.ids[trajectories],
        )

    def parts(self, n_points: int | None = None) -> Iterator[Trajectories]:
        """Cut into slices of moderate size, or of about n_points: data in memory is a source too."""
        for start, stop in part_bounds(self.offsets, n_points):
            yield self[start:stop]

    @classmethod
    def concatenate(cls, parts: Iterable[Trajectories], crs: Crs = "lonlat") -> Trajectories:
        """Join parts end to end; an empty list gives no trajectories."""
        parts = list(parts)
        if not parts:
            return cls(np.empty((0, 2)), np.zeros(1, np.int64), crs=crs)
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        return replace(
            parts[0],
            points=np.concatenate([part.points for part in parts]),
            offsets=np.concatenate([[0], np.cumsum(lengths)]),
            times=_joined([part.times for part in parts]),
            users=_joined([part.users for part in parts]),
            ids=_joined([part.ids for part in parts]),
        )

    def write(self, path: str | Path, *, force: bool = False) -> None:
        """Write in the format of the suffix; see `privtrace.write`."""
        from privtrace.io import write

        write(self, path, force=force)

    @classmethod
    def from_arrow(cls, table: Any, **reading: Unpack[Reading]) -> Trajectories:
        """Take a table of points: a pyarrow.Table, or what has arrow's C interface; see `from_pandas`."""
        from privtrace.io import frames

        return frames.from_arrow(table, frames.Declared.of(**reading))

    @classmethod
    def from_pandas(cls, frame: pandas.DataFrame, **reading: Unpack[Reading]) -> Trajectories:
        """Take a frame with a row a point, its columns found by their names as `privtrace.read` finds them.

        Options are those of `privtrace.read`: columns, crs and gap_minutes. The same frame in a Parquet file
        gives the same trajectories. Times without a time zone are taken as UTC, others are converted to it.
        Levels of the index that have a name are columns too. Columns of text or objects are read as those of a
        CSV file, value by value.
        """
        from privtrace.io import frames

        return frames.from_pandas(frame, frames.Declared.of(**reading))

    @classmethod
    def from_polars(
        cls, frame: polars.DataFrame | polars.LazyFrame, **reading: Unpack[Reading]
    ) -> Trajectories:
        """Take a frame with a row a point; see `from_pandas`."""
        from privtrace.io import frames

        return frames.from_polars(frame, frames.Declared.of(**reading))

    @classmethod
    def from_geopandas(
        cls, frame: geopandas.GeoDataFrame, *, lines: bool = False, **reading: Unpack[Reading]
    ) -> Trajectories:
        """Take a frame with a row a point or a row a line; the points of a row are those of its geometry.

        WGS 84 is longitude and latitude; projected or no CRS is planar. With `lines`, rows are trajectories
        where no column has their ids. A column of times may hold a list a row. Else as `from_pandas`.
        """
        from privtrace.io import frames

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
        from privtrace.io import frames

        return frames.from_movingpandas(collection, frames.Declared.of(**reading))

    @classmethod
    def from_trackintel(cls, frame: geopandas.GeoDataFrame, **reading: Unpack[Reading]) -> Trajectories:
        """Take positionfixes, or triplegs without times, each a trajectory; times as in `from_pandas`.

        Positionfixes belong to the trajectory of their traj_id, trip_id or else tripleg_id; without any,
        `gap_minutes` cuts the log of each user.
        """
        from privtrace.io import frames

        return frames.from_trackintel(frame, frames.Declared.of(**reading))

    def to_arrow(self, *, names: str | None = None) -> pyarrow.Table:
        """Give a table with a row a point, as a Parquet file has it; `about` is in the schema's metadata.

        `names="scikit-mobility"` gives uid, tid, datetime, lat, lng; times that are numbers are then seconds
        since 1970.
        """
        from privtrace.io import frames

        return frames.to_arrow(self, names)

    def to_pandas(self, *, names: str | None = None) -> pandas.DataFrame:
        """Give a frame with a row a point, `about` as its attrs; see `to_arrow`."""
        from privtrace.io import frames

        return frames.to_pandas(self, names)

    def to_polars(self, *, names: str | None = None) -> polars.DataFrame:
        """Give a frame with a row a point; see `to_arrow`."""
        from privtrace.io import frames

        return frames.to_polars(self, names)

    def to_geopandas(self, *, lines: bool = False) -> geopandas.GeoDataFrame:
        """Give a row a point, or with `lines` a row a trajectory, in EPSG:4326 or, if planar, without CRS.

        A trajectory of one point is a Point among lines, and the times of a line are a list, in a column
        `coordTimes`, or `times` if they are numbers. Points that are not finite have no geometry, and are left
        out of lines.
        """
        from privtrace.io import frames

        return frames.to_geopandas(self, lines=lines)

    def to_movingpandas(self) -> movingpandas.TrajectoryCollection:
        """Give a collection, users as moving objects; numbers as times are seconds since 1970, UTC.

        MovingPandas needs two moments a trajectory and keeps one point a moment: trajectories of one moment,
        points of a moment that was there already, and points that are not finite or have no time are left out.
        """
        from privtrace.io import frames

        return frames.to_movingpandas(self)

    def to_trackintel(self) -> trackintel.Positionfixes:
        """Give positionfixes with a traj_id, in UTC; without users, each trajectory is its own user.

        Numbers as times are seconds since 1970. Points that are not finite or have no time are left out.
        """
        from privtrace.io import frames

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


@njit(cache=True, nogil=True, inline="always")
def is_bad(x, y, limits):  # type: ignore[no-untyped-def]
    """Tell whether a point is not a number, infinite or impossible; such a point is as if it were absent."""
    return not (abs(x) <= limits[0] and abs(y) <= limits[1]) or (x == 0.0 and y == 0.0 and limits[2] == 1.0)


@njit(cache=True, nogil=True)
def bad_points(points, limits):  # type: ignore[no-untyped-def]
    """Tell which points are bad."""
    bad = np.empty(len(points), np.bool_)
    for p in range(len(points)):
        bad[p] = is_bad(points[p, 0], points[p, 1], limits)
    return bad


def _joined(arrays: list[Array | None]) -> Array | None:
    """Join arrays of which all or none are known."""
    known = [array for array in arrays if array is not None]
    return np.concatenate(known) if len(known) == len(arrays) else None
