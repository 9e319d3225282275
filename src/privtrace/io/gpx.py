"""Read GPX, longitude and latitude as receivers log them: a track is a trajectory.

    <trk><name>7</name>
    <extensions><privtrace:traj_id>7</privtrace:traj_id></extensions>
    <trkseg><trkpt lat="41.14" lon="-8.61"><time>2024-01-01T10:00:00Z</time></trkpt></trkseg></trk>

Segments of a track are one trajectory, end to end; --gap cuts where time passed. Routes and waypoints are not
read. Names of tracks are often the same, so ids and users stand apart from them; a track without an id is
called by its place from 0 on. Only the file's own metadata, before all else, may say something of all tracks:

    <metadata><extensions>
    <privtrace:columns>traj_id=traj_id,user_id=,t=time</privtrace:columns></extensions></metadata>
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from privtrace.errors import DataError, SettingsError
from privtrace.io.beginning import Beginning
from privtrace.io.columns import Declared, parse_columns
from privtrace.io.features import Feature, TextReader
from privtrace.io.files import CURE, declared_crs
from privtrace.io.streams import LINE_BYTES
from privtrace.parsing.clock import ISO_CLOCK
from privtrace.parsing.text import ByteSlices
from privtrace.trajectories import Floats, Integers

_HEAD_BYTES = 1 << 16


class GpxReader(TextReader):
    """Read tracks from GPX; memory follows the longest track."""

    defines_times = True
    point_clock = ISO_CLOCK

    def __init__(self, beginning: Beginning, declared: Declared) -> None:
        crs = declared_crs(beginning.path, declared, "lonlat")
        super().__init__(beginning, declared, crs, header=_header(beginning), packed=beginning.is_packed)

    def split(self, file: BinaryIO, block_bytes: int) -> Iterator[Sequence[Feature]]:
        """Yield the tracks, which expat parses while it looks where they end."""
        parser = _Parser(self.snapshot.path)
        while block := file.read(block_bytes):
            yield parser.parsed(block)
        yield parser.parsed(b"")

    def parsed(self, pieces: Sequence[Feature]) -> tuple[Sequence[Feature], Floats, Floats, Integers]:
        """Read longitude and latitude, which take turns."""
        flat = pa.array(list(chain.from_iterable(one.points for one in pieces)), pa.large_string())
        numbers = ByteSlices.of(flat).numbers()
        return pieces, numbers[::2], numbers[1::2], np.array([len(one.lines) for one in pieces], np.int64)


def _header(beginning: Beginning) -> dict[str, str]:
    """Read what a file says of all its tracks, before the first of them."""
    parser = _Parser(beginning.path)
    with beginning.text() as file:
        while not parser.is_over and (block := file.read(_HEAD_BYTES)):
            parser.parsed(block)
    try:
        return parse_columns(parser.columns)
    except SettingsError:  # not ours, or nothing
        return {}


class _Parser:
    """Parse a text that may be cut anywhere: a few calls a point, so all stays text until a block is done."""

    def __init__(self, path: Path) -> None:
        self.columns = ""  # what the metadata say
        self.is_over = False  # whether these, which stand before all else, are read
        self._within: list[str] = []  # as long as they are not
        self._path = path
        self._found: list[Feature] = []
        self._depth = 0  # 1 inside a track, 2 inside a point of it, 3 inside what this holds
        self._begin_track()
        self._text: list[str] = []  # since the last tag
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text.append
        self._parser.StartDoctypeDeclHandler = self._refuse

    def parsed(self, block: bytes) -> list[Feature]:
        """Parse on, an empty block at the end, and hand over the tracks that are complete."""
        try:
            self._parser.Parse(block, not block)
        except expat.ExpatError as error:
            raise DataError(f"{self._path}:{error.lineno}: is not valid XML from here on; {CURE}") from None
        except (LookupError, ValueError):  # a text may say itself how it is encoded
            raise DataError(f"{self._path}: is in an encoding that is not known; save it as UTF-8") from None
        # No name or time is longer, and memory stays small.
        self._text[:] = ["".join(self._text)[: LINE_BYTES + 1]]
        found, self._found = self._found, []
        return found

    def _begin_track(self) -> None:
        self._said: dict[str, str] = {}
        self._points: list[str | None] = []  # longitudes and latitudes by turns
        self._times: list[str | None] = []
        self._lines: list[int] = []

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._text.clear()
        if self._depth > 1:
            self._depth += 1
            return
        name = name.rpartition(" ")[2]
        if self._depth:
            if name == "trkpt":
                self._depth = 2
                self._points += attributes.get("lon"), attributes.get("lat")
                self._times.append(None)
                self._lines.append(self._parser.CurrentLineNumber)
        elif name == "trk":
            self._depth = 1
            self.is_over = True
        elif not self.is_over:
            self._within.append(name)
            self.is_over = len(self._within) == 2 and name != "metadata"

    def _end(self, name: str) -> None:
        text = "".join(self._text)
        self._text.clear()
        if self._depth > 1:
            if self._depth == 3 and name.rpartition(" ")[2] == "time":
                self._times[-1] = text
            self._depth -= 1
            return
        name, text = name.rpartition(" ")[2], text if len(text) <= LINE_BYTES else ""
        if not self._depth:
            if not self.is_over and self._within.pop() == "columns" and self._within[2:] == ["extensions"]:
                self.columns = text
        elif name == "trk":
            self._found.append(Feature(self._said, self._points, self._times, lines=self._lines))
            self._begin_track()
            self._depth = 0
        elif name != "trkseg":
            self._said.setdefault(name, text)

    def _refuse(self, *_: Any) -> None:
        # It could declare entities that grow without end, and GPX has none.
        raise DataError(f"{self._path}: has a DOCTYPE, which GPX does not allow; remove it")
