"""Read and write GPX 1.1, longitude and latitude as receivers log them: a track is a trajectory.

    <trk><name>7</name>
    <extensions><privtrace:traj_id>7</privtrace:traj_id></extensions>
    <trkseg><trkpt lat="41.14" lon="-8.61"><time>2024-01-01T10:00:00Z</time></trkpt></trkseg></trk>

Segments of a track are one trajectory, end to end; --gap cuts where time passed. Routes and waypoints are not
read. Names of tracks are often the same, so ids and users stand apart from them; without ids, tracks are called
by their places from 0 on. There is no header: what the first track with points has is looked for in all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace.errors import DataError
from privtrace.io import printing, rows, text
from privtrace.io.columns import CALENDAR_LISTS, KNOWN_NAMES, TIME, TRAJECTORY, USER, Declared, attributes
from privtrace.io.features import FeatureLayout, FeatureReader, Features, Times
from privtrace.io.files import CURE, Stamp, declared_crs
from privtrace.io.rows import escaped, floats_of
from privtrace.io.shapes import EMPTY, Shapes
from privtrace.io.source import Sizes
from privtrace.io.streams import LINE_BYTES, opened
from privtrace.trajectories import Array, Trajectories

_TIMES = CALENDAR_LISTS[0]
_HEAD_BYTES = 1 << 16
_HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="privtrace"
 xmlns="http://www.topografix.com/GPX/1/1" xmlns:privtrace="urn:privtrace">
"""


class GpxReader(FeatureReader):
    """Read tracks from GPX; memory follows the longest track."""

    @property
    def defines_times(self) -> bool:
        """Say that GPX has ISO 8601."""
        return True

    def __init__(self, stamp: Stamp, declared: Declared) -> None:
        self.stamp = stamp
        path = stamp.path
        crs = declared_crs(path, declared.crs, "lonlat")
        firsts = (tracks.first() for tracks in self._tracks(_HEAD_BYTES))
        first = next((first for first in firsts if first is not None), None)
        self.stands_in = first is not None
        beside, times = first or ({}, [])
        names = [name for name in beside if name not in KNOWN_NAMES[TIME]]
        names += [_TIMES] if any(times) else []
        names += [name for name in declared.columns.values() if name and name not in names]
        trajectory, user, time = attributes(path, names, declared)
        self.layout = FeatureLayout(trajectory, user, time, crs)

    def _tracks(self, block_bytes: int) -> Iterator[_Tracks]:
        """Yield the tracks that end in each block of the text."""
        collector = _Collector(self.stamp.path)
        with opened(self.stamp.path, CURE) as file:
            while block := file.read(block_bytes):
                yield collector.parsed(block)
        yield collector.parsed(b"")

    def features(self, sizes: Sizes) -> Iterator[Features]:
        """Yield the tracks of some text at a time."""
        for tracks in chain([_Tracks()], self._tracks(sizes.block_bytes)):
            yield self._features(tracks)

    def _features(self, tracks: _Tracks) -> Features:
        counts = np.array(tracks.counts, np.int64)
        x, y = (floats_of(text.numbers(_bytes(values))) for values in (tracks.lon, tracks.lat))
        layout = self.layout
        return Features(
            Shapes(x, y, counts, np.zeros(len(counts), np.bool_), {EMPTY: counts == 0}),
            None if layout.trajectory is None else tracks.ids(layout.trajectory),
            None if layout.user is None else tracks.ids(layout.user),
            None if layout.time is None else Times(layout.clock.text(_bytes(tracks.times)), counts),
            np.array(tracks.lines, np.int64),
        )


@dataclass(frozen=True)
class _Tracks:
    """Hold tracks as they stand in the text."""

    lon: list[str | None] = field(default_factory=list)  # (n_points,), as are the next three
    lat: list[str | None] = field(default_factory=list)
    times: list[str | None] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)  # (n_tracks,): points of each
    attributes: list[dict[str, str]] = field(default_factory=list)  # (n_tracks,): what stands beside the points

    def split(self, n_points: int) -> tuple[_Tracks, _Tracks]:
        """Part the tracks, of so many points, from the points of one that has begun."""

        def of(some: slice) -> tuple[list[str | None], list[str | None], list[str | None], list[int]]:
            return self.lon[some], self.lat[some], self.times[some], self.lines[some]

        return _Tracks(*of(slice(n_points)), self.counts, self.attributes), _Tracks(*of(slice(n_points, None)))

    def first(self) -> tuple[dict[str, str], list[str | None]] | None:
        """Give what stands beside the points of the first track that has any, and their times."""
        for beside, count in zip(self.attributes, self.counts, strict=True):
            if count:  # those before it have none
                return beside, self.times[:count]
        return None

    def ids(self, name: str) -> pa.Array:
        """Take ids out of the attributes."""
        return rows.ids(_bytes([attributes.get(name) for attributes in self.attributes]))


class _Collector:
    """Collect tracks while a text is parsed: a few calls a point, so all stays text until a block is done."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._add
        self._parser.StartDoctypeDeclHandler = self._refuse
        self._tracks = _Tracks()
        self._text: list[str] = []
        self._n_signs = 0
        self._attributes: dict[str, str] | None = None  # of the track that we are in
        self._depth = 0  # 1 inside a point, 2 inside what it holds
        self._n_before = 0  # points before the track that we are in

    def parsed(self, block: bytes) -> _Tracks:
        """Parse on, an empty block at the end, and hand over the tracks that are complete."""
        try:
            self._parser.Parse(block, not block)
        except expat.ExpatError as error:
            raise DataError(f"{self._path}:{error.lineno}: is not XML from here on; {CURE}") from None
        except (LookupError, ValueError):  # a text may say itself how it is encoded
            raise DataError(f"{self._path}: is in an encoding that is not known; save it as UTF-8") from None
        complete, self._tracks = self._tracks.split(self._n_before)
        self._n_before = 0
        return complete

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._forget()
        if self._depth:
            self._depth += 1
        elif self._attributes is None:
            if name.endswith(" trk") or name == "trk":
                self._attributes = {}
        elif name.endswith(" trkpt") or name == "trkpt":
            tracks, self._depth = self._tracks, 1
            tracks.lon.append(attributes.get("lon"))
            tracks.lat.append(attributes.get("lat"))
            tracks.times.append(None)
            tracks.lines.append(self._parser.CurrentLineNumber)

    def _end(self, name: str) -> None:
        if self._depth:
            if self._depth == 2 and (name.endswith(" time") or name == "time"):
                self._tracks.times[-1] = "".join(self._text)
            self._depth -= 1
        elif self._attributes is not None:
            if name.endswith(" trk") or name == "trk":
                self._tracks.counts.append(len(self._tracks.lon) - self._n_before)
                self._tracks.attributes.append(self._attributes)
                self._n_before, self._attributes = len(self._tracks.lon), None
            elif not (name.endswith(" trkseg") or name == "trkseg"):
                self._attributes.setdefault(name.rpartition(" ")[2], "".join(self._text))
        self._forget()

    def _add(self, text: str) -> None:
        self._n_signs += len(text)
        if self._n_signs > LINE_BYTES:  # no name or time is so long, and memory stays small
            self._text.clear()
        else:
            self._text.append(text)

    def _forget(self) -> None:
        self._text.clear()
        self._n_signs = 0

    def _refuse(self, *_: Any) -> None:
        # It could declare entities that grow without end, and GPX has none.
        raise DataError(f"{self._path}: has a DOCTYPE, which GPX has not; remove it")


def _bytes(values: list[str | None]) -> pa.Array:
    return pa.array(values, pa.large_string()).cast(pa.large_binary())


def lost(part: Trajectories) -> list[str]:
    """Say in words what of a part this format has no place for."""
    return [*printing.bad_points_lost(part), *printing.numbers_lost(part)]


def write(parts: Iterable[Trajectories], path: Path) -> None:
    """Write a track a trajectory, with the first part's words about the whole as the file's description."""
    first, parts = printing.peeked(parts)
    about = f"<metadata><desc>{escape(printing.words(first.about))}</desc></metadata>\n" if first.about else ""
    with path.open("wb") as file:
        file.write((_HEAD + about).encode())
        for part in printing.drawable(parts):
            printing.lonlat_only(part, "GPX")
            file.write(printing.content(_printed(part)))
        file.write(b"</gpx>\n")


def _printed(part: Trajectories) -> pa.Array:
    assert part.ids is not None
    x, y = (printing.shortest(part.points[:, axis], "") for axis in (0, 1))
    times: pa.Array | str = ""
    if part.times is not None:
        times = printing.chained("<time>", printing.iso(printing.calendar(part.times)), "</time>").fill_null("")
    points = printing.chained('<trkpt lat="', y, '" lon="', x, '">', times, "</trkpt>\n")
    ids = _labels(part.ids)
    users = [] if part.users is None else [f"<privtrace:{USER}>", _labels(part.users), f"</privtrace:{USER}>"]
    return printing.chained(
        "<trk><name>",
        ids,
        f"</name>\n<extensions><privtrace:{TRAJECTORY}>",
        ids,
        f"</privtrace:{TRAJECTORY}>",
        *users,
        "</extensions>\n<trkseg>\n",
        printing.joined(points, part.offsets, ""),
        "</trkseg></trk>\n",
    )


def _labels(values: Array) -> pa.Array:
    """Print ids or users as XML; those with signs that XML has not are written otherwise."""
    texts = printing.labels(values).fill_null("")
    odd = pc.match_substring_regex(texts, "[\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f\\x{fffe}\\x{ffff}]")
    if pc.any(odd).as_py():
        written = [escaped(value.encode()) for value in texts.filter(odd).to_pylist()]
        texts = pc.replace_with_mask(texts, odd, pa.array(written, texts.type))
    for sign, code in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        texts = pc.replace_substring(texts, sign, code)
    return texts
