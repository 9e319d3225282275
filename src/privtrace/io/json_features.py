"""Read features from JSON: GeoJSON (RFC 7946), and OGC Moving Features JSON (MF-JSON).

There is no header: which properties there are is what the first feature says that is whole. No types are
declared, so ids are text. What is wrong with one feature is no other's fault, but text that is no JSON at all
is damage to the file.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.errors import DataError
from privtrace.io import rows
from privtrace.io.clock import Clock
from privtrace.io.columns import CALENDAR_LISTS, Declared, attributes
from privtrace.io.features import FeatureLayout, FeatureReader, Features, Times
from privtrace.io.files import CURE, Stamp
from privtrace.io.json_objects import HEAD_BYTES, TOO_LONG, collection, objects
from privtrace.io.rows import floats_of
from privtrace.io.shapes import EMPTY, OTHER, Shapes
from privtrace.io.source import Sizes
from privtrace.io.streams import opened
from privtrace.trajectories import Crs

_DATETIMES = CALENDAR_LISTS[1]  # as MF-JSON calls them
_MOVING_CLOCK = Clock(unit="ms")  # its standard's: ISO 8601, or milliseconds since 1970
_LIST = pa.list_(pa.list_(pa.float64()))
_NOT_READ = (pa.ArrowException, TypeError, ValueError, OverflowError)
# Names of longitude and latitude in the member `crs` that GeoJSON had before 2016.
_LONLAT_NAME = re.compile(r"\b(CRS:?84|EPSG:+4326)\b", re.IGNORECASE)


class JsonReader(FeatureReader):
    """Read points and lines from GeoJSON, and moving points from MF-JSON; memory follows a block of text."""

    def __init__(self, stamp: Stamp, declared: Declared) -> None:
        self.stamp = stamp
        path = stamp.path
        with opened(path, CURE) as file:
            head = file.read(HEAD_BYTES)
        start = collection(head)
        self._in_collection = start is not None
        first = self._first()
        if start is None and first is None:
            raise DataError(
                f"{path}: is JSON without features; trajectories are features with a LineString or a Point "
                "(GeoJSON) or a MovingPoint (MF-JSON), or rows of a table"
            )
        self.stands_in = first is not None and _is_whole(first)
        first = first or {}
        self._moving = _moving(first) is not None
        names = [*_properties(first), *(["id"] if "id" in first and "id" not in _properties(first) else [])]
        names += [name for name in declared.columns.values() if name and name not in names]
        trajectory, user, time = attributes(path, names, declared)
        crs = declared.crs or _crs(path, head[:start] + b"]}" if start else b"")
        clock = declared.clock(time)
        if self._moving or (time == _DATETIMES and not clock.is_declared):
            clock = _MOVING_CLOCK
        self.layout = FeatureLayout(trajectory, user, _DATETIMES if self._moving else time, crs, clock)

    def follow(self, other: Self) -> None:
        """Look for what another file has, moving points or others."""
        super().follow(other)
        self._moving = other._moving

    def _first(self) -> Mapping[str, Any] | None:
        """Find what stands for a header: the first feature that has all its parts, else the first of all."""
        first = None
        for one in chain.from_iterable(map(_parsed, self._objects(HEAD_BYTES))):
            if not isinstance(one, dict):
                continue
            if not self._in_collection and one.get("type") not in ("Feature", "MovingPoint"):
                continue
            if _is_whole(one):
                return one
            first = one if first is None else first
        return first

    def _objects(self, block_bytes: int) -> Iterator[list[bytes]]:
        with opened(self.stamp.path, CURE) as file:
            yield from objects(file, block_bytes, in_collection=self._in_collection)

    def features(self, sizes: Sizes) -> Iterator[Features]:
        """Yield the features of some text at a time."""
        for found in chain([[]], self._objects(sizes.block_bytes)):
            with _uncollected():
                features = self._features(found)
            yield features

    def _features(self, texts: list[bytes]) -> Features:
        parsed = _parsed(texts)
        wrong = {
            "the feature is too long": np.array([text == TOO_LONG for text in texts], np.bool_),
            "not a feature, or not JSON": np.array([not isinstance(one, dict) for one in parsed], np.bool_),
        }
        wrong["not a feature, or not JSON"] &= ~wrong["the feature is too long"]
        features = [one if isinstance(one, dict) else {} for one in parsed]
        shapes, times = self._moving_points(features) if self._moving else self._still(features)
        known = ~np.any(list(wrong.values()), axis=0)
        wrong |= {reason: flags & known for reason, flags in shapes.wrong.items()}
        layout = self.layout
        return Features(
            Shapes(shapes.x, shapes.y, shapes.counts, shapes.single, wrong),
            None if layout.trajectory is None else _ids(features, layout.trajectory),
            None if layout.user is None else _ids(features, layout.user),
            times,
        )

    def _still(self, features: Sequence[Mapping[str, Any]]) -> tuple[Shapes, Times | None]:
        """Take points and lines, and their times from the properties."""
        geometries = [_mapping(one.get("geometry")) for one in features]
        kinds = [one.get("type") for one in geometries]
        shapes = _shapes([_positions(one) for one in geometries], kinds)
        time = self.layout.time
        if time is None:
            return shapes, None
        return shapes, _times([_listed(_properties(one).get(time)) for one in features], self.layout.clock)

    def _moving_points(self, features: Sequence[Mapping[str, Any]]) -> tuple[Shapes, Times]:
        """Take moving points and their times, of several pieces end to end."""
        pieces = [_pieces(_moving(one)) for one in features]
        positions = [_joined(some, "coordinates") for some in pieces]
        shapes = _shapes(positions, ["LineString" if _moving(one) else None for one in features])
        return shapes, _times([_joined(some, "datetimes") for some in pieces], self.layout.clock)


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


def _parsed(texts: list[bytes]) -> list[Any]:
    """Parse objects at once, or where one is not JSON, one by one, with None for those that are not."""
    try:
        found = json.loads(b"[%s]" % b",".join(texts))
        if len(found) == len(texts):
            return list(found)
    except (ValueError, RecursionError):
        pass
    return [None] if len(texts) == 1 else [_parsed([one])[0] for one in texts]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _properties(feature: Mapping[str, Any]) -> Mapping[str, Any]:
    return _mapping(feature.get("properties"))


def _moving(feature: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Find the moving geometry: of a feature, or bare, as databases give it."""
    kind = feature.get("type")
    is_bare = isinstance(kind, str) and kind.startswith("Moving")
    found = feature if is_bare else feature.get("temporalGeometry")
    return found if isinstance(found, dict) else None


def _is_whole(feature: Mapping[str, Any]) -> bool:
    """Tell whether a feature has properties and a geometry, or is a moving one that is bare."""
    moving = _moving(feature)
    has_geometry = bool(_pieces(moving)) or isinstance(feature.get("geometry"), dict)
    return has_geometry and (moving is feature or isinstance(feature.get("properties"), dict))


def _pieces(moving: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """List the pieces of a moving geometry, which may be one; those that are no moving points are left out."""
    if moving is None:
        return []
    within = moving.get("prisms", moving.get("sequences"))
    pieces = [_mapping(one) for one in within] if isinstance(within, list) else [moving]
    return [one for one in pieces if one.get("type", moving.get("type")) == "MovingPoint"]


def _joined(pieces: list[Mapping[str, Any]], name: str) -> list[Any]:
    lists = [one.get(name) for one in pieces]
    return [value for some in lists if isinstance(some, list) for value in some]


def _positions(geometry: Mapping[str, Any]) -> list[Any] | None:
    """List the positions of a point or line; a line in pieces is one, end to end."""
    kind, coordinates = geometry.get("type"), geometry.get("coordinates")
    if not isinstance(coordinates, list):
        return None
    if kind == "MultiLineString":
        return list(chain.from_iterable(piece for piece in coordinates if isinstance(piece, list)))
    return [coordinates] if kind == "Point" and coordinates else coordinates


def _shapes(positions: Sequence[list[Any] | None], kinds: list[Any]) -> Shapes:
    """Turn positions into points; what follows the first two numbers of one is left out."""
    other = np.array([kind not in (None, "Point", "LineString", "MultiLineString") for kind in kinds], np.bool_)
    given = [None if flag else some for flag, some in zip(other.tolist(), positions, strict=True)]
    lists = _number_lists(given)
    counts = _lengths(lists)
    flat = lists.flatten()
    lengths = _lengths(flat)
    numbers = np.append(floats_of(flat.flatten()), np.nan)
    numbers[np.isinf(numbers)] = np.nan  # as in all text: 1e999 is no number
    starts = np.where(lengths >= 2, np.cumsum(lengths) - lengths, len(numbers) - 2)
    x, y = (np.where(lengths >= 2, numbers[starts + axis], np.nan) for axis in (0, 1))
    single = np.array([kind == "Point" for kind in kinds], np.bool_)
    return Shapes(x, y, counts, single, {EMPTY: (counts == 0) & ~other, OTHER: other})


def _number_lists(values: list[Any]) -> pa.Array:
    """Hand lists of lists of numbers to arrow; those that are anything else become null."""
    try:
        return pa.array(values, _LIST)
    except _NOT_READ:
        return pa.concat_arrays([_one_list(value) for value in values])


def _one_list(value: Any) -> pa.Array:
    try:
        return pa.array([value], _LIST)
    except _NOT_READ:
        return pa.nulls(1, _LIST)


def _lengths(lists: pa.Array) -> Any:
    return floats_of(pc.list_value_length(lists).fill_null(0)).astype(np.int64)


def _times(lists: list[list[Any]], clock: Clock) -> Times:
    """Read times, text or numbers."""
    counts = np.array([len(some) for some in lists], np.int64)
    values = [value for some in lists for value in some]
    try:
        texts = pa.array(values, pa.large_string())
    except _NOT_READ:
        texts = pa.array([_time_text(value) for value in values], pa.large_string())
    return Times(clock.text(texts.cast(pa.large_binary())), counts)


def _time_text(value: Any) -> str | None:
    """Write a number as text, and what can be no time as a sign that is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value) if abs(value) < 2.0**62 else "?"
    return value if value is None or (isinstance(value, str) and value.isascii()) else "?"


def _ids(features: Sequence[Mapping[str, Any]], name: str) -> pa.Array:
    """Take a property as text, or the feature's own id where that is what was found."""
    values = [_properties(one).get(name, one.get("id") if name == "id" else None) for one in features]
    return rows.ids(pa.array([_id_text(value) for value in values], pa.large_binary()))


def _id_text(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode(errors="surrogatepass")
    return repr(value).encode() if isinstance(value, int | float) and not isinstance(value, bool) else None


def _crs(path: Path, head: bytes) -> Crs:
    """Read what stands before the features: longitude and latitude, unless old GeoJSON says otherwise."""
    try:
        named = json.loads(head.removeprefix(b"\xef\xbb\xbf")).get("crs")
    except (ValueError, RecursionError, AttributeError):
        named = None
    if named is not None and not _LONLAT_NAME.search(str(named)):
        raise DataError(
            f"{path}: names a coordinate system other than longitude and latitude; convert it to EPSG:4326, or "
            "pass --crs planar (crs='planar') if it is planar"
        )
    return "lonlat"
