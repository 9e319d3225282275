"""Read and write the folders of Geolife: a PLT file a trajectory, in Data/<user>/Trajectory/<id>.plt.

Six lines of header, then a line per point: latitude, longitude, 0, altitude in feet (-777 if unknown), days
since 1899-12-30, date and time (UTC):

    40.008304,116.319876,0,492,39745.0902662037,2008-10-24,02:09:59

Times are whole seconds, and there must be times. Coordinates have as many decimals as they need: most files
have 6, but there are some with more.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from itertools import count, pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace import rows
from privtrace.datasets.importing import Importer, are_whole
from privtrace.datasets.pieces import digits
from privtrace.io import printing
from privtrace.io.beginning import Beginning
from privtrace.io.columns import Declared
from privtrace.io.streams import TOO_LONG, Block, blocks
from privtrace.parsing import slices
from privtrace.parsing.clock import Read
from privtrace.parsing.dates import calendar_seconds
from privtrace.parsing.text import ByteSlices
from privtrace.rows.faults import FILE, Faults, Place
from privtrace.trajectories import Array, Integers, Trajectories

_HEADER = (
    b"Geolife trajectory\r\nWGS 84\r\nAltitude is in Feet\r\nReserved 3\r\n"
    b"0,2,255,My Track,0,0,2,8421376\r\n0\r\n"
)
_FIRST_LINE = _HEADER.split(b"\r")[0]
_N_HEADER_LINES = 6
_N_FIELDS = 7
_SUFFIX = ".plt"
_FOLDER = "Trajectory"
_DATA = "Data"  # the folder that holds those of users
_UNKNOWN = "unknown"  # the folder of trajectories whose user is not known

#: Days from 1899-12-30 to 1970-01-01.
_DAYS_TO_1970 = 25_569


class _Piece(NamedTuple):
    file: int  # its number among the files
    block: Block


class GeolifeReader(Importer):
    """Read PLT files; the folder above `Trajectory` is the user, the name of the file the trajectory.

    A file that is no PLT file, or cannot be opened, does not stop the reader: it is one trajectory of many. So
    is one that lies in no user's folder: whether any does changes nothing.
    """

    def __init__(self, beginning: Beginning, declared: Declared) -> None:
        super().__init__(beginning, declared)
        paths = [version.path.absolute() for version in self.snapshot.files]
        users = [_user(path) for path in paths]
        self._users = rows.ids(pa.array([_label(user) for user in users], pa.large_binary()))
        self._ids = rows.ids(pa.array([_label(path.stem) for path in paths], pa.large_binary()))

    def _found(self, block_bytes: int, faults: Faults | None) -> Iterator[tuple[pa.RecordBatch, int]]:
        for pieces in self._pieces(block_bytes, faults):
            yield self._parsed(pieces, faults)

    def _pieces(self, block_bytes: int, faults: Faults | None) -> Iterator[list[_Piece]]:
        """Yield blocks of lines until they have so many bytes together; the first are none."""
        yield []
        held: list[_Piece] = []
        n_bytes = 0
        for file in range(len(self.snapshot.files)):
            for block in self._blocks(file, block_bytes, faults):
                held.append(_Piece(file, block))
                n_bytes += len(block.lines)
                if n_bytes >= block_bytes:
                    yield held
                    held, n_bytes = [], 0
        yield held

    def _blocks(self, file: int, block_bytes: int, faults: Faults | None) -> Iterator[Block]:
        """Yield blocks of one file, as far as it can be read."""
        path = self.snapshot.files[file].path
        try:
            # Not unpacked: a file that looks like a damaged archive may not stop the reader.
            with path.open("rb") as stream:
                yield from blocks(stream, block_bytes)
        except OSError:
            if faults is not None:
                faults.add(f"{FILE}: it cannot be read", np.zeros(1, np.int64), Place.following(path, 0))

    def _parsed(self, pieces: list[_Piece], faults: Faults | None) -> tuple[pa.RecordBatch, int]:
        """Turn lines into rows; also count points and wrong lines."""
        content = b"".join(_ended(piece.block.lines) for piece in pieces)
        found = slices.records(content, ord(","), _N_FIELDS, range(_N_FIELDS))
        n_lines = [piece.block.n_lines - piece.block.last_too_long for piece in pieces]
        owners = np.repeat(np.arange(len(pieces)), n_lines)
        starts = np.cumsum([0, *n_lines])
        first = np.array([piece.block.first_line for piece in pieces], np.int64)
        numbers = first[owners] + np.arange(len(found.fates)) - starts[owners]  # of lines in their files

        files = np.array([piece.file for piece in pieces], np.int64)[owners]
        points = found.lines_that(slices.RIGHT)
        is_point = numbers[points] > _N_HEADER_LINES
        points = points[is_point]
        wrong = np.flatnonzero((numbers > _N_HEADER_LINES) & (found.fates > slices.NOTHING))
        batch = self._rows([field[is_point] for field in found.columns], files[points])
        if faults is not None:
            self._note(pieces, faults)
            faults.add(f"not {_N_FIELDS} fields", wrong, self._place(files, numbers))
        batch = rows.usable(batch, self.crs, faults, self._place(files[points], numbers[points]))
        n_wrong = len(wrong) + sum(piece.block.last_too_long for piece in pieces)
        return batch, len(points) + n_wrong

    def _place(self, files: Integers, lines: Integers) -> Place:
        """Say in which line of which file rows stand."""
        return Place(
            self.snapshot.path,
            lambda some: lines[some],
            lambda some: (self.snapshot.files[file].path for file in files[some].tolist()),
        )

    def _rows(self, fields: list[ByteSlices], files: Integers) -> pa.RecordBatch:
        latitude, longitude, _, _, _, date, time = fields
        file_of = pa.array(files)
        return rows.rows(
            trajectory=self._ids.take(file_of),
            user=self._users.take(file_of),
            x=pa.array(longitude.numbers()),
            y=pa.array(latitude.numbers()),
            time=_times(date, time),
        )

    def _note(self, pieces: list[_Piece], faults: Faults) -> None:
        """Note what is wrong with files as a whole, and lines that were left out."""
        for file, block in pieces:
            if block.first_line == 1 and not block.lines.startswith(_FIRST_LINE):
                place = Place.following(self.snapshot.files[file].path, 0)
                faults.add("the header is not from a Geolife PLT file", np.zeros(1, np.int64), place)
            if block.last_too_long:
                place = Place.following(self.snapshot.files[file].path, block.first_line - 1)
                faults.add(TOO_LONG, block.left_out, place)


def _user(path: Path) -> str:
    """Name the user of a file by the folder above `Trajectory`; '' where there is none."""
    user = path.parent.parent.name if path.parent.name == _FOLDER else _UNKNOWN
    return "" if user == _UNKNOWN else user


def _ended(lines: bytes) -> bytes:
    """Give the last line its end, so that another file can follow."""
    return lines + b"\n" if lines and not lines.endswith(b"\n") else lines


def _times(date: ByteSlices, time: ByteSlices) -> Read:
    """Read 2008-10-24 and 02:09:59 as timestamps, anything else as null."""
    (year, month, day), right_date = digits(date, "0000-00-00")
    (hour, minute, second), right_time = digits(time, "00:00:00")
    seconds, right = calendar_seconds(year, month, day, hour, minute, second)
    right &= right_date & right_time
    given = (date.lengths > 0) & (time.lengths > 0)
    return Read(pa.array(seconds, mask=~right).cast(pa.timestamp("s")), given & ~right)


def lost(part: Trajectories) -> list[str]:
    """Say in words what of a part this format cannot hold."""
    if part.times is None or are_whole(part.times):
        return []
    return ["fractions of seconds"]


def write(parts: Iterable[Trajectories], path: Path) -> None:
    """Write a file per trajectory into a folder, which may be there if it is empty.

    Numbers as times are taken for seconds since 1970. Unknown users share the folder `unknown`.
    """
    n_named: Counter[tuple[str, str]] = Counter()
    for part in printing.named(parts):
        for user, name, lines in _files(part):
            n_named[user, name] += 1
            folder = path / _DATA / user / _FOLDER
            folder.mkdir(parents=True, exist_ok=True)
            with _new_file(folder, name, n_named[user, name]) as file:
                file.write(_HEADER)
                file.write(lines)
    (path / _DATA).mkdir(parents=True, exist_ok=True)


def _files(part: Trajectories) -> Iterator[tuple[str, str, memoryview]]:
    """Yield the folder, the name and the lines of every file of a part."""
    assert part.ids is not None
    users = [_UNKNOWN] * len(part) if part.users is None else _names(part.users, _UNKNOWN)
    texts = printing.joined(_lines(part), part.offsets, "")
    lines = printing.content(texts)
    ends = np.cumsum(pc.binary_length(texts).to_numpy()).tolist()
    for user, name, (start, end) in zip(users, _names(part.ids, _name(b"")), pairwise([0, *ends]), strict=True):
        yield user, name, lines[start:end]


def _new_file(folder: Path, name: str, n_named: int) -> BinaryIO:
    """Create a file, with a number where others have this name, or one that is the same to the disk."""
    for number in count(n_named):
        with contextlib.suppress(FileExistsError):
            return (folder / f"{name}{f'%~{number}' if number > 1 else ''}{_SUFFIX}").open("xb")
    raise AssertionError("numbers do not end")


def _lines(part: Trajectories) -> pa.Array:
    assert part.times is not None
    longitude, latitude = (printing.shortest(part.points[:, axis], "nan") for axis in (0, 1))
    seconds = printing.whole_seconds(part.times)
    days = np.round(rows.floats_of(seconds) / 86_400 + _DAYS_TO_1970, 10)
    clock = pc.replace_substring(seconds.cast(pa.timestamp("s")).cast(pa.large_string()), " ", ",")
    return printing.chained(
        latitude, ",", longitude, ",0,-777,", printing.shortest(days, ""), ",", clock.fill_null(","), "\r\n"
    )


def _names(labels: Array, unknown: str) -> list[str]:
    return [unknown if text is None else _name(text.encode()) for text in printing.labels(labels).to_pylist()]


def _name(label: bytes) -> str:
    """Turn an id or user into the name of a file that is safe everywhere: letters, digits and _.-~%.

    Different ones have different names: signs are written as % and two digits. Where that is too long, or
    empty, a digest stands for the rest, after a mark that no written sign looks like.
    """
    name = quote_from_bytes(label, safe="")
    if name.startswith(".") or name == _UNKNOWN:  # hidden, or a folder above; or what stands for no name
        name = f"%{ord(name[0]):02X}{name[1:]}"
    return name if 0 < len(name) <= 150 else f"{name[:100]}%~{sha256(label).hexdigest()[:32]}"


def _label(name: str) -> bytes:
    """Read a name back as `_name` wrote it; other names stand for themselves."""
    raw = os.fsencode(name)
    label = unquote_to_bytes(raw)
    return label if raw == _name(label).encode() else raw
