"""Read and write GPX 1.1, longitude and latitude as receivers log them: a track is a trajectory.

    <trk><name>7</name>
    <extensions><privtrace:traj_id>7</privtrace:traj_id></extensions>
    <trkseg><trkpt lat="41.14" lon="-8.61"><time>2024-01-01T10:00:00Z</time></trkpt></trkseg></trk>

Segments of a track are one trajectory, end to end; --gap cuts where time passed. Routes and waypoints are not
read. Names of tracks are often the same, so ids and users stand apart from them; a track without an id is
called by its place from 0 on. There is no header: what a track has is found by one rule for each by itself.
Only the file's own metadata may say something of all tracks, in the words of --columns:

    <metadata><extensions>
    <privtrace:columns>traj_id=traj_id,user_id=,t=time</privtrace:columns></extensions></metadata>
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

from privtrace.errors import DataError, SettingsError
from privtrace.io import printing, rows, text
from privtrace.io.beginning import Beginning
from privtrace.io.clock import ISO_CLOCK
from privtrace.io.columns import TIME, TRAJECTORY, USER, Declared, parse_columns
from privtrace.io.features import Features, Rule, RuledReader, Times, with_header
from privtrace.io.files import CURE, declared_crs
from privtrace.io.geometries import EMPTY, Geometries
from privtrace.io.rows import escaped, floats_of
from privtrace.io.source import Sizes
from privtrace.io.streams import LINE_BYTES, opened
from privtrace.trajectories import Array, Trajectories

_COLUMNS = "columns"
_HEAD_BYTES = 1 << 16
_HEAD = """\
<?xml version="1.0" encoding="UTF-8"?>
<gpx version="1.1" creator="privtrace"
 xmlns="http://www.topografix.com/GPX/1/1" xmlns:privtrace="urn:privtrace">
"""


class GpxReader(RuledReader):
    """Read tracks from GPX; memory follows the longest track."""

    @property
    def defines_times(self) -> bool:
        """Say that GPX has ISO 8601."""
        return True

    def __init__(self, beginning: Beginning, declared: Declared) -> None:
        self.snapshot = beginning.snapshot
        crs = declared_crs(beginning.path, declared, "lonlat")
        declared = with_header(declared, _header(beginning))
        self._packed = beginning.is_packed
        self.follow(Rule(beginning.path, declared), crs)

    def _tracks(self, block_bytes: int) -> Iterator[_Tracks]:
        """Yield the tracks that end in each block of the text."""
        collector = _Collector(self.snapshot.path)
        with opened(self.snapshot.path, packed=self._packed) as file:
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
        names = [self.rule.names(tuple(beside)) for beside in tracks.attributes]
        users = tracks.ids([some.user for some in names]) if self.layout.user else None
        ids = None
        if self.as_text or not self.has_places:
            ids = self.rule.named(tracks.ids([some.trajectory for some in names]), users)
        return Features(
            Geometries(x, y, counts, np.zeros(len(counts), np.bool_), {EMPTY: counts == 0}),
            ids,
            users,
            Times(ISO_CLOCK.text(_bytes(tracks.times)), counts) if self.layout.time else None,
            np.array(tracks.lines, np.int64),
        )


def _header(beginning: Beginning) -> dict[str, str]:
    """Read what a file says of all its tracks, before the first of them."""
    head = _Head(beginning.path)
    with beginning.text() as file:
        while not head.is_over and (block := file.read(_HEAD_BYTES)):
            head.parse(block)
    try:
        return parse_columns(head.columns)
    except SettingsError:  # not ours, or nothing
        return {}


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
        """Separate the tracks, of so many points, from the points of one that has begun."""

        def of(some: slice) -> tuple[list[str | None], list[str | None], list[str | None], list[int]]:
            return self.lon[some], self.lat[some], self.times[some], self.lines[some]

        return _Tracks(*of(slice(n_points)), self.counts, self.attributes), _Tracks(*of(slice(n_points, None)))

    def ids(self, names: list[str | None]) -> pa.Array:
        """Take ids out of the attributes, of each track from the one that is named for it."""
        values = [
            None if name is None else beside.get(name)
            for beside, name in zip(self.attributes, names, strict=True)
        ]
        return rows.ids(_bytes(values))


class _Parser:
    """Parse a text that may be cut anywhere, in words of ours where it is no XML."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._add
        self._parser.StartDoctypeDeclHandler = self._refuse

    def parse(self, block: bytes) -> None:
        """Parse on, an empty block at the end."""
        try:
            self._parser.Parse(block, not block)
        except expat.ExpatError as error:
            raise DataError(f"{self._path}:{error.lineno}: is not XML from here on; {CURE}") from None
        except (LookupError, ValueError):  # a text may say itself how it is encoded
            raise DataError(f"{self._path}: is in an encoding that is not known; save it as UTF-8") from None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        raise NotImplementedError

    def _end(self, name: str) -> None:
        raise NotImplementedError

    def _add(self, text: str) -> None:
        raise NotImplementedError

    def _refuse(self, *_: Any) -> None:
        # It could declare entities that grow without end, and GPX has none.
        raise DataError(f"{self._path}: has a DOCTYPE, which GPX has not; remove it")


class _Head(_Parser):
    """Look for what the metadata of a file say of its tracks; they stand before all else."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.columns = ""
        self.is_over = False
        self._within: list[str] = []

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._within.append(name.rpartition(" ")[2])
        self.is_over |= len(self._within) == 2 and self._within[1] != "metadata"

    def _end(self, name: str) -> None:
        self._within.pop()

    def _add(self, text: str) -> None:
        if self._within[1:] == ["metadata", "extensions", _COLUMNS] and not self.is_over:
            self.columns = (self.columns + text)[:_HEAD_BYTES]


class _Collector(_Parser):
    """Collect tracks while a text is parsed: a few calls a point, so all stays text until a block is done."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._tracks = _Tracks()
        self._text: list[str] = []
        self._n_signs = 0
        self._attributes: dict[str, str] | None = None  # of the track that we are in
        self._depth = 0  # 1 inside a point, 2 inside what it holds
        self._n_before = 0  # points before the track that we are in

    def parsed(self, block: bytes) -> _Tracks:
        """Parse on, an empty block at the end, and hand over the tracks that are complete."""
        self.parse(block)
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


def _bytes(values: list[str | None]) -> pa.Array:
    return pa.array(values, pa.large_string()).cast(pa.large_binary())


def lost(part: Trajectories) -> list[str]:
    """Say in words what of a part this format cannot hold."""
    return [*printing.bad_points_lost(part), *printing.numbers_lost(part)]


def write(parts: Iterable[Trajectories], path: Path) -> None:
    """Write a track per trajectory, with metadata: what tracks have, and the words about the whole."""
    first, parts = printing.peeked(parts)
    about = f"<desc>{escape(printing.words(first.about))}</desc>" if first.about else ""
    roles = {
        TRAJECTORY: TRAJECTORY,
        USER: "" if first.users is None else USER,
        TIME: "" if first.times is None else "time",
    }
    columns = ",".join(f"{role}={name}" for role, name in roles.items())
    said = f"<privtrace:{_COLUMNS}>{columns}</privtrace:{_COLUMNS}>"
    with path.open("wb") as file:
        file.write(f"{_HEAD}<metadata>{about}<extensions>{said}</extensions></metadata>\n".encode())
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
