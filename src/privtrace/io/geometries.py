"""Turn geometries into runs of points and back: well-known binary (WKB) and the native encodings of GeoArrow.

A point is one point, a line its vertices, a line in several pieces the vertices of all, end to end. Heights and
measures are left out.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.errors import DataError
from privtrace.rows import floats_of
from privtrace.trajectories import Flags, Floats, Integers

EMPTY = "the geometry is missing, empty or cannot be read"
OTHER = "the geometry is not a point or a line"

#: Types of geometry as WKB numbers them. All up to the last are known; 0 stands for what cannot be read.
_KINDS = {"Point": 1, "LineString": 2, "MultiLineString": 5}
_LAST = 17

#: Bytes of a geometry that is too short to nest so deeply that the library's stack would end.
_SHALLOW = 1 << 12

#: A point as WKB.
_POINT = np.dtype([("order", "u1"), ("kind", "<u4"), ("x", "<f8"), ("y", "<f8")])


class Geometries(NamedTuple):
    """Hold the points of geometries, one geometry after the other."""

    x: Floats  # (n_points,)
    y: Floats  # (n_points,)
    counts: Integers  # (n_geometries,): points of each; 0 where something is wrong
    single: Flags  # (n_geometries,): which are a point by their type
    wrong: dict[str, Flags]  # from a reason to the geometries that are none


def from_wkb(column: pa.Array) -> Geometries:
    """Read a column of WKB, in any of its dialects; what cannot be read is empty."""
    column = column.cast(pa.large_binary())
    plain = _plain_points(column)
    if plain is not None:
        return plain
    import shapely

    kinds = _kinds(column)
    readable = np.isin(kinds, list(_KINDS.values()))
    texts = column.to_numpy(zero_copy_only=False)
    for row in np.flatnonzero(kinds == _KINDS["MultiLineString"]):
        if len(texts[row]) > _SHALLOW and not _has_lines_only(texts[row]):
            readable[row] = False
            kinds[row] = 0
    other = (kinds > 0) & ~readable
    geometries = np.full(len(kinds), None, object)
    with np.errstate(invalid="ignore"):  # of coordinates that are not numbers
        geometries[readable] = shapely.from_wkb(texts[readable], on_invalid="ignore")
    empty = ~other & (shapely.is_missing(geometries) | shapely.is_empty(geometries))
    good = np.flatnonzero(readable & ~empty)
    points, owners = shapely.get_coordinates(geometries[good], return_index=True)
    counts = np.zeros(len(geometries), np.int64)
    counts[good] = np.bincount(owners, minlength=len(good))
    wrong = {EMPTY: empty, OTHER: other}
    return Geometries(points[:, 0], points[:, 1], counts, kinds == _KINDS["Point"], wrong)


def _plain_points(column: pa.Array) -> Geometries | None:
    """Read points without heights, which take 21 bytes each, as they lie in memory; None if some are not so."""
    n_bytes = pc.min_max(pc.binary_length(column)).as_py()
    if column.null_count or set(n_bytes.values()) != {_POINT.itemsize}:
        return None
    points = _fixed(column, _POINT)
    if np.any(points["order"] != 1) or np.any(points["kind"] != _KINDS["Point"]):
        return None
    empty = np.isnan(points["x"]) & np.isnan(points["y"])
    good = points[~empty]
    x, y = (np.ascontiguousarray(good[axis]) for axis in ("x", "y"))
    return Geometries(x, y, np.where(empty, 0, 1), np.ones(len(points), np.bool_), {EMPTY: empty})


def _kinds(column: pa.Array) -> npt.NDArray[np.int64]:
    """Give the type of each geometry from its first bytes: only points and lines go on to the library.

    It would refuse the whole column for a curve, and follow collections within collections until its stack
    ends. Either would let one row stop a reader.
    """
    kinds = np.zeros(len(column), np.int64)
    heads = pc.binary_slice(column, 0, 5).fill_null(b"")
    whole = pc.equal(pc.binary_length(heads), 5).to_numpy(zero_copy_only=False)
    head = _fixed(heads.filter(pa.array(whole)), np.dtype(("u1", 5)))
    order, code = head[:, 0], head[:, 1:].copy()
    code[order == 0] = code[order == 0][:, ::-1]  # the last byte first
    kind = (code.view("<u4")[:, 0] & 0xFFFF) % 1000
    kinds[whole] = np.where((order <= 1) & (kind <= _LAST), kind, 0)
    return kinds


def _fixed(column: pa.Array, kind: np.dtype[np.generic]) -> npt.NDArray[Any]:
    """Take bytes that are all of one length as what they stand for."""
    column = column.cast(pa.binary(kind.itemsize))
    return np.frombuffer(column.buffers()[1] or b"", kind)[column.offset : column.offset + len(column)]


def _has_lines_only(wkb: bytes) -> bool:
    """Walk over the pieces of a line in several; each takes some bytes, so this ends."""
    try:
        _, _, n_pieces, at = _head(wkb, 0)
        for _ in range(n_pieces):
            kind, point_bytes, n_points, at = _head(wkb, at)
            at += n_points * point_bytes
            if kind != _KINDS["LineString"]:
                return False
    except (struct.error, IndexError, KeyError):
        return False
    return True


def _head(wkb: bytes, at: int) -> tuple[int, int, int, int]:
    """Read a geometry's type, the bytes of a point of it, how much it has, and where its content begins."""
    order = {0: ">", 1: "<"}[wkb[at]]
    (code,) = struct.unpack_from(f"{order}I", wkb, at + 1)
    at += 9 if code & 0x20000000 else 5  # a coordinate system may stand between
    (count,) = struct.unpack_from(f"{order}I", wkb, at)
    dialect, kind = divmod(code & 0xFFFF, 1000)
    has_height, has_measure = code & 0x80000000 or dialect in (1, 3), code & 0x40000000 or dialect in (2, 3)
    return kind, 8 * (2 + bool(has_height) + bool(has_measure)), count, at + 4


def from_native(column: pa.Array) -> Geometries:
    """Read a column of points, of lines as lists of points, or of lists of lines."""
    counts = np.ones(len(column), np.int64)
    known = column.is_valid().to_numpy(zero_copy_only=False)
    single = np.full(len(column), pa.types.is_struct(column.type))
    if single.all():
        column, counts = column.filter(column.is_valid()), known.astype(np.int64)
    while not pa.types.is_struct(column.type):
        bounds = np.append(0, np.cumsum(counts))
        counts = np.diff(np.append(0, np.cumsum(lengths(column)))[bounds])
        column = column.flatten()
    x, y = (floats_of(column.field(name).cast(pa.float64())) for name in ("x", "y"))
    return Geometries(x, y, counts, single, {EMPTY: counts == 0})


def lengths(lists: pa.Array) -> Integers:
    """Count the values of each list; null has none."""
    return floats_of(pc.list_value_length(lists).fill_null(0)).astype(np.int64)


def refuse_other_kinds(path: Path, kinds: set[str]) -> None:
    """Refuse a file that declares geometries of other types only; none declared means any."""
    if kinds and not kinds & _KINDS.keys():
        raise DataError(
            f"{path}: its geometries are declared as {', '.join(sorted(kinds))}; trajectories are points or "
            "lines (Point, LineString or MultiLineString)"
        )


def kinds_in(column: pa.ChunkedArray) -> set[str]:
    """List the types of geometry that `to_wkb` wrote."""
    n_points = pc.sum(pc.equal(pc.binary_length(column), 21)).as_py() or 0  # no line is that short
    return ({"Point"} if n_points else set()) | ({"LineString"} if n_points < len(column) else set())


def to_wkb(points: Floats, offsets: Integers) -> pa.Array:
    """Write runs of points as WKB: a run of one is a point, any other a line."""
    counts = np.diff(offsets)
    single = counts == 1
    if single.all():
        return _points_to_wkb(points)
    import shapely

    made = np.empty(len(counts), object)
    made[single] = _points_to_wkb(points[offsets[:-1][single]]).to_numpy(zero_copy_only=False)
    vertices = points[np.repeat(~single, counts)]
    lines = np.repeat(np.arange(len(counts) - single.sum()), counts[~single])
    made[~single] = shapely.to_wkb(shapely.linestrings(vertices, indices=lines))
    return pa.array(made, pa.binary())


def _points_to_wkb(points: Floats) -> pa.Array:
    made = np.empty(len(points), _POINT)
    made["order"], made["kind"] = 1, 1  # little-endian; a point
    made["x"], made["y"] = points.T
    fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(21), len(made), [None, pa.py_buffer(made)])
    return fixed.cast(pa.binary())
