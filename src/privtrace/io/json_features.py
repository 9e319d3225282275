"""Read features from JSON: GeoJSON (RFC 7946), and OGC Moving Features JSON (MF-JSON).

The features are found without holding all of the text, and each is parsed as its own bytes. An object at the
top is a feature, or a collection if it has a list called `features`; there may be several, one after the other.
A feature with a `temporalGeometry` is a moving point, any other is what its `geometry` is. What is wrong with
one feature is no other's fault, but text that is no JSON at all is damage to the file.

A collection that is the whole text may say something of all its features: old GeoJSON names a coordinate system
(`crs`), and a member `columns` has the words of --columns, {"traj_id": "ride", "t": ""}, as privtrace writes
it. Where a text holds several objects, no word of one is heeded for others. In a file named as a sequence
(.geojsonl, .geojsons, .ndjson, .jsonl) a line is an object, whatever it holds.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from privtrace.compiling import compiled
from privtrace.errors import DataError
from privtrace.io.beginning import Beginning
from privtrace.io.columns import Declared
from privtrace.io.features import MOVING_CLOCK, NOT_READ, Feature, TextReader
from privtrace.io.geometries import OTHER, lengths
from privtrace.io.source import Sizes
from privtrace.io.streams import TRAJECTORY_BYTES, blocks
from privtrace.rows import floats_of
from privtrace.trajectories import Floats, Integers

#: Names of files with a feature per line; each may be packed with gzip.
SEQUENCES = (".geojsonl", ".geojsons", ".ndjson", ".jsonl")

_POSITIONS = pa.list_(pa.list_(pa.float64()))
# Names of longitude and latitude in the member `crs` that GeoJSON had before 2016.
_LONLAT_NAME = re.compile(r"\b(CRS:?84|EPSG:+4326)\b", re.IGNORECASE)

#: A feature whose text is longer is left out, so that memory stays small.
LONGEST = TRAJECTORY_BYTES
#: Stands for a feature that was left out.
TOO_LONG = b""

#: Where a collection may say something of itself: in so many bytes, before its features.
HEAD_BYTES = 1 << 16

_KEY = np.frombuffer(b"features", np.uint8)
_QUOTE, _BACKSLASH, _OPEN, _CLOSE, _LIST, _LIST_END, _COMMA = (ord(sign) for sign in '"\\{}[],')

_BOM, _BEFORE = b"\xef\xbb\xbf", b"\x1e \t\r\f\v"

# What is found in a block: an object at the top or in a list of features starts, it stops, such a list starts.
_TOP, _START, _STOP, _FEATURES = range(4)


class JsonReader(TextReader):
    """Read points and lines from GeoJSON, and moving points from MF-JSON; memory follows a block of text."""

    point_clock = MOVING_CLOCK

    def __init__(self, beginning: Beginning, declared: Declared) -> None:
        path = beginning.path
        self._by_line = path.name.lower().removesuffix(".gz").endswith(SEQUENCES)
        # Where a line is a row, the first bytes are a row's, and the name tells whether they are packed.
        packed = path.suffix.lower() == ".gz" if self._by_line else beginning.is_packed
        header = {} if self._by_line else _header(beginning)
        named = header.get("crs")
        if named is not None and declared.crs is None and not _LONLAT_NAME.search(str(named)):
            raise DataError(
                f"{path}: names a coordinate system other than longitude and latitude; convert "
                f"it to EPSG:4326, or pass {declared.option('crs', 'planar', repr('planar'))} if it is planar"
            )
        crs = declared.crs or "lonlat"
        super().__init__(beginning, declared, crs, header=header.get("columns"), packed=packed)

    def split(self, file: BinaryIO, block_bytes: int) -> Iterator[Sequence[bytes]]:
        """Yield the texts of objects."""
        return (lines if self._by_line else objects)(file, block_bytes)

    def parsed(self, pieces: Sequence[bytes]) -> tuple[Sequence[Feature], Floats, Floats, Integers]:
        """Parse objects, and read positions; what follows the first two numbers of one is left out."""
        found = [one for text in pieces for one in self._features(text)]
        lists = _number_lists([one.points for one in found])
        positions = lists.flatten()
        n_numbers = lengths(positions)
        numbers = np.append(floats_of(positions.flatten()), [np.nan, np.nan])
        numbers[np.isinf(numbers)] = np.nan  # as in all text: 1e999 is no number
        starts = np.where(n_numbers >= 2, np.cumsum(n_numbers) - n_numbers, len(numbers) - 2)
        return found, numbers[starts], numbers[starts + 1], lengths(lists)

    def _features(self, text: bytes) -> list[Feature]:
        """Take the feature out of an object; one that is a line may be a collection."""
        if text == TOO_LONG:
            return [Feature({}, wrong="the feature is too long")]
        found = _loaded(text)
        features = found.get("features") if self._by_line and isinstance(found, dict) else None
        return [_feature(one) for one in (features if isinstance(features, list) else [found])]


def _header(beginning: Beginning) -> Mapping[str, Any]:
    """Read what a file says of itself: the members of the collection that it is, else nothing."""
    head = beginning.head(HEAD_BYTES).removeprefix(_BOM)
    # A collection, if the first object has features before it ends.
    start, kind = next((one for one in Scanner().scan(head) if one[1] in (_FEATURES, _STOP)), (0, _STOP))
    said = _mapping(_loaded(head[:start] + b"[]}")) if kind == _FEATURES else None
    if said is not None and not said.keys() & {"crs", "columns"}:
        return {}
    scanner, block_bytes = Scanner(), Sizes().block_bytes
    with beginning.text() as file:
        while scanner.n_top < 2 and (block := file.read(block_bytes)):
            scanner.scan(block)
    has_features = scanner.n_top > 0
    if scanner.n_top == 1 and not scanner.has_collection:
        with beginning.text() as file:
            (text,) = chain.from_iterable(objects(file, block_bytes))
        one = _mapping(_loaded(text))
        has_features = text == TOO_LONG or _is_bare(one) or one.get("type") == "Feature"
    if not has_features:
        raise DataError(
            f"{beginning.path}: is JSON without features; trajectories are features with a LineString or a "
            "Point (GeoJSON) or a MovingPoint (MF-JSON), or rows of a table"
        )
    return said if said is not None and scanner.n_top == 1 else {}


def _loaded(text: bytes) -> Any:
    """Load an object by itself, so that its brackets close no other; None where it is not JSON."""
    try:
        return json.loads(text.decode(errors="surrogatepass"))
    except (ValueError, RecursionError):
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _is_bare(feature: Mapping[str, Any]) -> bool:
    """Tell whether this is a moving geometry without a feature around it, as databases give it."""
    kind = feature.get("type")
    return isinstance(kind, str) and kind.startswith("Moving")


def _feature(given: Any) -> Feature:
    """Take what is moving, which goes before any other geometry, or a point or line."""
    if not isinstance(given, dict):
        return Feature({}, wrong="not a feature, or not JSON")
    attributes, own_id = _mapping(given.get("properties")), given.get("id")
    moving = given if _is_bare(given) else given.get("temporalGeometry")
    if isinstance(moving, dict):
        pieces = _pieces(moving)
        return Feature(attributes, _joined(pieces, "coordinates"), _joined(pieces, "datetimes"), own_id=own_id)
    geometry = _mapping(given.get("geometry"))
    kind, positions = geometry.get("type"), geometry.get("coordinates")
    if kind not in (None, "Point", "LineString", "MultiLineString"):
        return Feature(attributes, wrong=OTHER)
    if not isinstance(positions, list):
        positions = None
    elif kind == "MultiLineString":  # one line, end to end
        positions = list(chain.from_iterable(piece for piece in positions if isinstance(piece, list)))
    elif kind == "Point" and positions:
        positions = [positions]
    return Feature(attributes, positions, single=kind == "Point", own_id=own_id)


def _pieces(moving: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """List the pieces of a moving geometry, which may be one; those that are no moving points are left out."""
    within = moving.get("prisms", moving.get("sequences"))
    pieces = [_mapping(one) for one in within] if isinstance(within, list) else [moving]
    return [one for one in pieces if one.get("type", moving.get("type")) == "MovingPoint"]


def _joined(pieces: list[Mapping[str, Any]], name: str) -> list[Any]:
    lists = [one.get(name) for one in pieces]
    return [value for some in lists if isinstance(some, list) for value in some]


def _number_lists(values: Sequence[Any]) -> pa.Array:
    """Hand lists of lists of numbers to arrow; those that are anything else become null."""
    try:
        return pa.array(values, _POSITIONS)
    except NOT_READ:
        if len(values) == 1:
            return pa.nulls(1, _POSITIONS)
        half = len(values) // 2
        return pa.concat_arrays([_number_lists(some) for some in (values[:half], values[half:])])


class Scanner:
    """Find the objects in a text that comes in blocks."""

    def __init__(self) -> None:
        self.n_top = 0  # objects at the top so far
        self.has_collection = False
        self._state = np.zeros(7, np.int64)  # what is known between two blocks: see `_scan`

    @property
    def is_whole(self) -> bool:
        """Tell whether the text may end here."""
        depth, in_string, *_ = self._state
        return bool(depth == 0 and not in_string)

    def scan(self, block: bytes) -> list[tuple[int, int]]:
        """Take the next block, and say what is found where in it."""
        places, kinds = _scan(np.frombuffer(block, np.uint8), self._state)
        self.n_top += int(np.sum(kinds == _TOP))
        self.has_collection |= bool(np.any(kinds == _FEATURES))
        return list(zip(places.tolist(), kinds.tolist(), strict=True))


def objects(file: BinaryIO, block_bytes: int) -> Iterator[list[bytes]]:
    """Yield the features of a text, some at a time. A text that ends inside an object ends with an EOFError."""
    scanner = Scanner()
    begun: bytearray | None = None  # of the object that we are in
    while block := file.read(block_bytes):
        found, start = [], 0
        for place, kind in scanner.scan(block):
            if kind == _STOP:
                assert begun is not None
                text = bytes(begun) + block[start:place]
                found.append(text if len(text) <= LONGEST else TOO_LONG)
            begun, start = (bytearray(), place) if kind in (_TOP, _START) else (None, 0)
        if begun is not None and len(begun) <= LONGEST:
            begun += block[start:]
        yield found
    if not scanner.is_whole:
        raise EOFError


def lines(file: BinaryIO, block_bytes: int) -> Iterator[list[bytes]]:
    """Yield the lines of a text that holds an object a line, some at a time; blank ones are nothing."""
    for block in blocks(file, block_bytes, line_bytes=LONGEST):
        # Records may start with a sign of their own (RFC 8142), and the text with a mark.
        found = [line.removeprefix(_BOM).lstrip(_BEFORE).rstrip() for line in block.lines.split(b"\n")]
        yield [line for line in found if line] + [TOO_LONG] * block.last_too_long


@compiled
def _scan(text, state):  # type: ignore[no-untyped-def]
    """Find where objects start and stop: those at the top, and those in the features of a collection."""
    places, kinds = np.empty(len(text) + 1, np.int64), np.empty(len(text) + 1, np.int8)
    n = 0
    depth, in_string, escaped, matched, after_key, inside, opened = state
    for i in range(len(text)):
        sign = text[i]
        if in_string:
            if escaped:
                escaped = 0
            elif sign == _BACKSLASH:
                escaped, matched = 1, -1
            elif sign == _QUOTE:
                in_string, after_key = 0, int(matched == len(_KEY) and depth == 1)
            elif matched >= 0 and matched < len(_KEY) and sign == _KEY[matched]:
                matched += 1
            else:
                matched = -1
        elif sign == _QUOTE:
            in_string, matched = 1, 0
        elif sign in (_OPEN, _LIST):
            if sign == _OPEN and (depth == 0 or (depth == 2 and inside)):
                places[n], kinds[n] = i, _TOP if depth == 0 else _START
                n += 1
                opened = 1 if depth == 0 else 3  # one more than the depth at which it ends
            elif sign == _LIST and depth == 1 and after_key and opened < 2:
                places[n], kinds[n] = i, _FEATURES
                n += 1
                inside, opened = 1, 0
            depth += 1
        elif sign in (_CLOSE, _LIST_END):
            depth -= 1
            if opened and opened == depth + 1:  # by whatever bracket, so that one wrong object ends with itself
                places[n], kinds[n] = i + 1, _STOP
                n += 1
                opened = 0
            if depth <= 1:
                inside = 0
        elif sign == _COMMA and depth == 1:
            after_key = 0
    state[:] = np.array([depth, in_string, escaped, matched, after_key, inside, opened])
    return places[:n].copy(), kinds[:n].copy()
