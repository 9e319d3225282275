"""Read features from JSON: GeoJSON (RFC 7946), and OGC Moving Features JSON (MF-JSON).

There is no header: what a feature has is found by one rule for each feature by itself. A feature with a
`temporalGeometry` is a moving point, any other is what its `geometry` is. No types are declared, so ids are
text. What is wrong with one feature is no other's fault, but text that is no JSON at all is damage to the file.

A collection that is the whole text may say something of all its features: old GeoJSON names a coordinate system
(`crs`), and a member `columns` has the words of --columns, {"traj_id": "ride", "t": ""}, as privtrace writes
it. Where a text holds several objects, they are features, or collections, one after the other, and no word of
one is heeded for others. In a file named as a sequence (.geojsonl, .geojsons, .ndjson, .jsonl) a line is an
object, whatever it holds.
"""

from __future__ import annotations

import gc
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.errors import DataError
from privtrace.io import rows
from privtrace.io.beginning import Beginning
from privtrace.io.clock import Clock, read_each
from privtrace.io.columns import CALENDAR_LISTS, LAST_RESORT, TRAJECTORY, Declared
from privtrace.io.features import Features, Names, Rule, RuledReader, Times, with_header
from privtrace.io.geometries import EMPTY, OTHER, Geometries
from privtrace.io.json_objects import HEAD_BYTES, TOO_LONG, lines, members, n_objects, objects
from privtrace.io.rows import floats_of
from privtrace.io.source import Sizes
from privtrace.io.streams import opened

#: Names of files with a feature per line; each may be packed with gzip.
SEQUENCES = (".geojsonl", ".geojsons", ".ndjson", ".jsonl")

_DATETIMES = CALENDAR_LISTS[1]  # as MF-JSON calls them
_MOVING_CLOCK = Clock(unit="ms")  # its standard's: ISO 8601, or milliseconds since 1970
_LIST = pa.list_(pa.list_(pa.float64()))
_NOT_READ = (pa.ArrowException, TypeError, ValueError, OverflowError)
# Names of longitude and latitude in the member `crs` that GeoJSON had before 2016.
_LONLAT_NAME = re.compile(r"\b(CRS:?84|EPSG:+4326)\b", re.IGNORECASE)


class JsonReader(RuledReader):
    """Read points and lines from GeoJSON, and moving points from MF-JSON; memory follows a block of text."""

    def __init__(self, beginning: Beginning, declared: Declared) -> None:
        self.snapshot = beginning.snapshot
        path = beginning.path
        self._by_line = path.name.lower().removesuffix(".gz").endswith(SEQUENCES)
        # Where a line is a row, the first bytes are a row's, and the name tells whether they are packed.
        self._packed = path.suffix.lower() == ".gz" if self._by_line else beginning.is_packed
        header = {} if self._by_line else _header(beginning)
        self._refuse_system(header.get("crs"), declared)
        declared = with_header(declared, header.get("columns"))
        self.follow(Rule(path, declared), declared.crs or "lonlat")

    def _refuse_system(self, named: Any, declared: Declared) -> None:
        """Refuse a collection that names another coordinate system than longitude and latitude."""
        if named is not None and declared.crs is None and not _LONLAT_NAME.search(str(named)):
            raise DataError(
                f"{self.snapshot.path}: names a coordinate system other than longitude and latitude; convert "
                f"it to EPSG:4326, or pass {declared.option('crs', 'planar', repr('planar'))} if it is planar"
            )

    def _objects(self, block_bytes: int) -> Iterator[list[bytes]]:
        with opened(self.snapshot.path, packed=self._packed) as file:
            yield from (lines if self._by_line else objects)(file, block_bytes)

    def features(self, sizes: Sizes) -> Iterator[Features]:
        """Yield the features of some text at a time."""
        for found in chain([[]], self._objects(sizes.block_bytes)):
            with _uncollected():
                features = self._features(found)
            yield features

    def _features(self, texts: list[bytes]) -> Features:
        parsed = _parsed(texts)
        too_long = [text == TOO_LONG for text in texts]
        if self._by_line:
            parsed, too_long = _flat(parsed, too_long)
        wrong = {
            "the feature is too long": np.array(too_long, np.bool_),
            "not a feature, or not JSON": np.array([not isinstance(one, dict) for one in parsed], np.bool_),
        }
        wrong["not a feature, or not JSON"] &= ~wrong["the feature is too long"]
        features = [one if isinstance(one, dict) else {} for one in parsed]
        names = [self.rule.names(tuple(_properties(one))) for one in features]
        moving = [_moving(one) for one in features]
        geometries = _geometries_of(features, moving)
        known = ~np.any(list(wrong.values()), axis=0)
        wrong |= {reason: flags & known for reason, flags in geometries.wrong.items()}
        return Features(
            Geometries(geometries.x, geometries.y, geometries.counts, geometries.single, wrong),
            *self._keys(features, names),
            self._times(features, moving, names, geometries) if self.layout.time else None,
        )

    def _keys(
        self, features: Sequence[Mapping[str, Any]], names: Sequence[Names]
    ) -> tuple[pa.Array | None, pa.Array | None]:
        """Take what the features name as their trajectories and users."""
        users = None
        if self.layout.user:
            users = _ids([_property(one, some.user) for one, some in zip(features, names, strict=True)])
        if self.has_places and not self.as_text:
            return None, users
        own = self.rule.declared.columns.get(TRAJECTORY, LAST_RESORT) == LAST_RESORT
        ids = [
            one.get("id") if some.trajectory is None and own else _property(one, some.trajectory)
            for one, some in zip(features, names, strict=True)
        ]
        return self.rule.named(_ids(ids), users), users

    def _times(
        self,
        features: Sequence[Mapping[str, Any]],
        moving: Sequence[Mapping[str, Any] | None],
        names: Sequence[Names],
        geometries: Geometries,
    ) -> Times:
        """Take the times of moving points from their geometry, those of others from the properties."""
        where = [
            some.time_of_point if single else some.times_of_line
            for some, single in zip(names, geometries.single.tolist(), strict=True)
        ]
        found = [
            _property(one, name) if geometry is None else _joined(_pieces(geometry), "datetimes")
            for one, geometry, name in zip(features, moving, where, strict=True)
        ]
        clocks = [
            self._clock(name) if geometry is None else _MOVING_CLOCK
            for geometry, name in zip(moving, where, strict=True)
        ]
        whole = [not isinstance(one, list) for one in found]
        return _times([_listed(one) for one in found], clocks, self.layout.clock, whole)

    def _clock(self, name: str | None) -> Clock:
        """Say how times of this name are read; the one of moving points promises what those have."""
        clock = self.rule.clock(name)
        # What stands beside a geometry is no part of MF-JSON: its times may be local.
        like_moving = name == _DATETIMES and not clock.is_declared
        return replace(_MOVING_CLOCK, zone=clock.zone) if like_moving else clock


def _header(beginning: Beginning) -> Mapping[str, Any]:
    """Read what a file says of itself: the members of the collection that it is, else nothing."""
    said = members(beginning.head(HEAD_BYTES))
    if said is not None and not said.keys() & {"crs", "columns"}:
        return {}
    with beginning.text() as file:
        n_found, has_collection = n_objects(file, Sizes().block_bytes, 2)
    if n_found == 0 or (n_found == 1 and not has_collection and not _is_feature(beginning)):
        raise DataError(
            f"{beginning.path}: is JSON without features; trajectories are features with a LineString or a "
            "Point (GeoJSON) or a MovingPoint (MF-JSON), or rows of a table"
        )
    return said if said is not None and n_found == 1 else {}


def _is_feature(beginning: Beginning) -> bool:
    """Tell whether the one object of a text, if it is no longer than a feature may be, is one."""
    with beginning.text() as file:
        found = list(chain.from_iterable(objects(file, Sizes().block_bytes)))
    (one,) = _parsed(found)
    return found == [TOO_LONG] or (isinstance(one, dict) and (_is_bare(one) or one.get("type") == "Feature"))


def _flat(parsed: list[Any], too_long: list[bool]) -> tuple[list[Any], list[bool]]:
    """Put the features of collections, which may stand in a line each, in their place."""
    lists = [
        one["features"] if isinstance(one, dict) and isinstance(one.get("features"), list) else [one]
        for one in parsed
    ]
    flags = [flag for some, flag in zip(lists, too_long, strict=True) for _ in some]
    return list(chain.from_iterable(lists)), flags


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


def _property(feature: Mapping[str, Any], name: str | None) -> Any:
    return None if name is None else _properties(feature).get(name)


def _is_bare(feature: Mapping[str, Any]) -> bool:
    """Tell whether this is a moving geometry without a feature around it, as databases give it."""
    kind = feature.get("type")
    return isinstance(kind, str) and kind.startswith("Moving")


def _moving(feature: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Find the moving geometry, which goes before any other: of a feature, or bare."""
    found = feature if _is_bare(feature) else feature.get("temporalGeometry")
    return found if isinstance(found, dict) else None


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


def _geometries_of(
    features: Sequence[Mapping[str, Any]], moving: Sequence[Mapping[str, Any] | None]
) -> Geometries:
    """Take the points of all features: of a moving point, of several pieces end to end, or of a still one."""
    still = [_mapping(one.get("geometry")) for one in features]
    positions = [
        _positions(geometry) if points is None else _joined(_pieces(points), "coordinates")
        for geometry, points in zip(still, moving, strict=True)
    ]
    kinds = [
        geometry.get("type") if points is None else "LineString"
        for geometry, points in zip(still, moving, strict=True)
    ]
    return _geometries(positions, kinds)


def _geometries(positions: Sequence[list[Any] | None], kinds: list[Any]) -> Geometries:
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
    return Geometries(x, y, counts, single, {EMPTY: (counts == 0) & ~other, OTHER: other})


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


def _times(lists: Sequence[list[Any]], clocks: Sequence[Clock], form: Clock, whole: list[bool]) -> Times:
    """Read times, text or numbers, those of each feature by its own clock."""
    counts = np.array([len(some) for some in lists], np.int64)
    try:
        texts = pa.array(list(chain.from_iterable(lists)), pa.large_string())
    except _NOT_READ:
        values = [_time_text(value) for value in chain.from_iterable(lists)]
        texts = pa.array(values, pa.large_string())
    kinds = {clock: number for number, clock in enumerate(dict.fromkeys(clocks))}
    which = np.repeat(np.array([kinds[clock] for clock in clocks], np.int64), counts)
    read = read_each(texts.cast(pa.large_binary()), list(kinds), which, form)
    return Times(read, counts, np.array(whole, np.bool_))


def _time_text(value: Any) -> str | None:
    """Write a number as text, and what can be no time as a sign that is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value) if abs(value) < 2.0**62 else "?"
    return value if value is None or (isinstance(value, str) and value.isascii()) else "?"


def _ids(values: list[Any]) -> pa.Array:
    """Take ids as text: there are no types, and numbers are written as in the file."""
    return rows.ids(pa.array([_id_text(value) for value in values], pa.large_binary()))


def _id_text(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode(errors="surrogatepass")
    return repr(value).encode() if isinstance(value, int | float) and not isinstance(value, bool) else None
