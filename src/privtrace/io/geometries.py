"""Turn geometries into runs of points and back: well-known binary (WKB) and the native encodings of GeoArrow.

A point is one point, a line its vertices, a line in several pieces the vertices of all, end to end. Heights and
measures are left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.compiling import compiled
from privtrace.errors import DataError
from privtrace.io import wkb
from privtrace.io.rows import floats_of
from privtrace.trajectories import Floats, Integers

Flags = npt.NDArray[np.bool_]

EMPTY = "the geometry is missing, empty or cannot be read"
OTHER = "the geometry is not a point or a line"

_KINDS = {"Point": wkb.POINT, "LineString": wkb.LINE, "MultiLineString": wkb.LINES}


@dataclass(frozen=True)
class Geometries:
    """Hold the points of geometries, one geometry after the other."""

    x: Floats  # (n_points,)
    y: Floats  # (n_points,)
    counts: Integers  # (n_geometries,): points of each; 0 where something is wrong
    single: Flags  # (n_geometries,): which are a point by their type
    wrong: dict[str, Flags]  # from a reason to the geometries that are none

    def __len__(self) -> int:
        return len(self.counts)


def from_wkb(column: pa.Array) -> Geometries:
    """Read a column of WKB, in any of its dialects; what cannot be read is empty."""
    import shapely

    kinds = wkb.kinds_of(column)
    readable = np.isin(kinds, list(_KINDS.values()))
    other = (kinds != wkb.UNREADABLE) & ~readable
    texts = column.to_numpy(zero_copy_only=False)[readable]
    geometries = np.full(len(kinds), None, object)
    geometries[readable] = shapely.from_wkb(texts, on_invalid="ignore")
    empty = ~other & (shapely.is_missing(geometries) | shapely.is_empty(geometries))
    good = np.flatnonzero(readable & ~empty)
    points, owners = shapely.get_coordinates(geometries[good], return_index=True)
    counts = np.zeros(len(geometries), np.int64)
    counts[good] = np.bincount(owners, minlength=len(good))
    wrong = {EMPTY: empty, OTHER: other}
    return Geometries(points[:, 0], points[:, 1], counts, kinds == _KINDS["Point"], wrong)


def from_native(column: pa.Array) -> Geometries:
    """Read a column of points, of lines as lists of points, or of lists of lines."""
    counts = np.ones(len(column), np.int64)
    known = column.is_valid().to_numpy(zero_copy_only=False)
    single = np.full(len(column), pa.types.is_struct(column.type))
    if single.all():
        column, counts = column.filter(column.is_valid()), known.astype(np.int64)
    while not pa.types.is_struct(column.type):
        lengths = floats_of(pc.list_value_length(column).fill_null(0)).astype(np.int64)
        bounds = np.concatenate([[0], np.cumsum(counts)])
        counts = np.diff(np.concatenate([[0], np.cumsum(lengths)])[bounds])
        column = column.flatten()
    x, y = (floats_of(column.field(name).cast(pa.float64())) for name in ("x", "y"))
    return Geometries(x, y, counts, single, {EMPTY: counts == 0})


def refuse_other_kinds(path: Path, kinds: set[str]) -> None:
    """Refuse a file that declares geometries of other types only; none declared means any."""
    if kinds and not kinds & _KINDS.keys():
        raise DataError(
            f"{path}: its geometries are declared as {', '.join(sorted(kinds))}; trajectories are points or "
            "lines (Point, LineString or MultiLineString)"
        )


def kinds_in(column: pa.Array) -> set[str]:
    """List the types of geometry that `to_wkb` wrote."""
    n_points = pc.sum(pc.equal(pc.binary_length(column), 21)).as_py() or 0  # no line is that short
    return ({"Point"} if n_points else set()) | ({"LineString"} if n_points < len(column) else set())


def to_wkb(points: Floats, offsets: Integers) -> pa.Array:
    """Write runs of points as WKB: a run of one is a point, any other a line."""
    counts = np.diff(offsets)
    is_point = counts == 1
    heads = np.where(is_point, 5, 9)  # byte order, type, and of lines the number of points
    ends = np.cumsum(heads + 16 * counts)
    starts = ends - heads - 16 * counts
    content = np.zeros(ends[-1] if len(ends) else 0, np.uint8)
    content[starts] = 1  # little-endian
    content[starts + 1] = np.where(is_point, 1, 2)
    lines = np.flatnonzero(~is_point)
    content[starts[lines, None] + np.arange(5, 9)] = _bytes_of(counts[lines].astype("<u4"), 4)
    _copy(_bytes_of(points.astype("<f8"), 16), offsets, content, starts + heads)
    bounds = np.concatenate([[0], ends]).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(counts), [None, pa.py_buffer(bounds), pa.py_buffer(content)])


@compiled
def _copy(points, offsets, content, places):  # type: ignore[no-untyped-def]
    """Copy the bytes of each run of points to its place."""
    for run in range(len(places)):
        for p in range(offsets[run], offsets[run + 1]):
            start = places[run] + 16 * (p - offsets[run])
            content[start : start + 16] = points[p]


def _bytes_of(values: npt.NDArray[np.generic], n_bytes: int) -> npt.NDArray[np.uint8]:
    """Give the bytes of each row."""
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1, n_bytes)
