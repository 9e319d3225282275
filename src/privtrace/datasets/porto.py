"""Read and write the table of the Porto taxi competition: CSV, a trip per line, its points as a JSON list.

    "TRIP_ID",...,"TAXI_ID","TIMESTAMP",...,"MISSING_DATA","POLYLINE"
    "13726",...,"20000589","1372636858",...,"False","[[-8.618643,41.141412],[-8.618499,41.141376]]"

A taxi is a user. TIMESTAMP is the time of the first point, in seconds since 1970; there is a point every 15
seconds, so other times have no place. A row is one line: quotes may hold commas but no line break.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace import rows
from privtrace.datasets.importing import Importer, are_whole
from privtrace.datasets.pieces import first_bytes, last_bytes, pairs
from privtrace.errors import DataError
from privtrace.io import printing
from privtrace.io.beginning import Beginning
from privtrace.io.columns import Declared
from privtrace.io.streams import TOO_LONG, TRAJECTORY_BYTES, Block, blocks, opened
from privtrace.parsing import slices, text
from privtrace.parsing.clock import Read
from privtrace.parsing.text import ByteSlices
from privtrace.rows.faults import Faults, Place
from privtrace.trajectories import Flags, Integers, Trajectories

#: Seconds from a point to the next, by the rules of the competition.
STEP = 15

_COLUMNS = (
    "TRIP_ID",
    "CALL_TYPE",
    "ORIGIN_CALL",
    "ORIGIN_STAND",
    "TAXI_ID",
    "TIMESTAMP",
    "DAY_TYPE",
    "MISSING_DATA",
    "POLYLINE",
)
_READ = ("TRIP_ID", "TAXI_ID", "TIMESTAMP", "MISSING_DATA", "POLYLINE")


class PortoReader(Importer):
    """Read trips of the competition, columns by their names in any order and case; others are not looked at."""

    is_table = True

    def __init__(self, beginning: Beginning, declared: Declared) -> None:
        super().__init__(beginning, declared)
        self._data_start = len(beginning.first_line)
        self._names = _header(beginning.path, beginning.first_line)
        self._packed = beginning.is_packed
        self.has_users = "TAXI_ID" in self._names
        self.has_times = self.has_clock = "TIMESTAMP" in self._names

    def _found(self, block_bytes: int, faults: Faults | None) -> Iterator[tuple[pa.RecordBatch, int]]:
        for block in chain([Block(2, b"", 0, False)], self._blocks(block_bytes)):
            yield self._parsed(block, faults)

    def _blocks(self, block_bytes: int) -> Iterator[Block]:
        with opened(self.snapshot.path, packed=self._packed) as file:
            file.seek(self._data_start)
            yield from blocks(file, block_bytes, first_line=2, line_bytes=TRAJECTORY_BYTES)

    def _parsed(self, block: Block, faults: Faults | None) -> tuple[pa.RecordBatch, int]:
        """Turn lines into rows; also count points and wrong lines."""
        n_fields = len(self._names)
        found = slices.records(block.lines, ord(","), n_fields, range(n_fields))
        columns = dict(zip(self._names, found.columns, strict=True))
        lines, polylines = found.lines_that(slices.RIGHT), columns["POLYLINE"]
        incomplete = _flagged(columns.get("MISSING_DATA"), len(lines))
        listed = (first_bytes(polylines) == ord("[")) & (last_bytes(polylines) == ord("]"))
        wrong = {
            f"not {n_fields} fields, or quotes that do not match": np.flatnonzero(found.fates > slices.NOTHING),
            "MISSING_DATA is true": lines[incomplete],
            "POLYLINE is not a list": lines[~incomplete & ~listed],
            TOO_LONG: block.left_out,
        }
        if faults is not None:
            place = Place.following(self.snapshot.path, block.first_line - 1)
            for reason, which in wrong.items():
                faults.add(reason, which, place)
        trips = ~incomplete & listed
        batch, counts = self._rows({name: column[trips] for name, column in columns.items()})
        at = np.repeat(lines[trips], counts)  # the line of each point
        place = Place(self.snapshot.path, lambda row: block.first_line + at[row])
        n_wrong = sum(len(which) for which in wrong.values())
        return rows.usable(batch, self.crs, faults, place), len(at) + n_wrong

    def _rows(self, columns: dict[str, ByteSlices]) -> tuple[pa.RecordBatch, Integers]:
        """Turn trips into rows; also count the rows of each."""
        lists = columns["POLYLINE"]
        x, y, counts = pairs(ByteSlices(lists.text, lists.starts + 1, lists.stops - 1), bracketed=True)
        trip_of = pa.array(np.repeat(np.arange(len(counts)), counts))
        batch = rows.rows(
            trajectory=_ids(columns["TRIP_ID"]).take(trip_of),
            user=_ids(columns["TAXI_ID"]).take(trip_of) if self.has_users else None,
            x=pa.array(x.numbers()),
            y=pa.array(y.numbers()),
            time=_times(columns["TIMESTAMP"], counts) if self.has_times else None,
        )
        return batch, counts


def _header(path: Path, line: bytes) -> list[str]:
    """Split the first line into names, of which two must be there and those that are read only once."""
    try:
        (names,) = csv.reader([line.decode("utf-8-sig", errors="replace").rstrip("\r\n")])
    except (csv.Error, ValueError):
        names = []
    names = [name.strip().upper() for name in names]
    for name in _READ:
        if names.count(name) > 1:
            raise DataError(f"{path}: there are {names.count(name)} columns {name!r}; keep one of them")
    for name in ("TRIP_ID", "POLYLINE"):
        if name not in names:
            raise DataError(
                f"{path}: no column {name!r}; the first line of the competition's table names its columns: "
                + ", ".join(_COLUMNS)
            )
    return names


def _flagged(column: ByteSlices | None, n_lines: int) -> Flags:
    """Tell which trips the competition calls incomplete."""
    if column is None:
        return np.zeros(n_lines, np.bool_)
    flags: Flags = pc.match_substring_regex(column.texts(), r"(?i)^\s*true\s*$").to_numpy(False)
    return flags


def _ids(column: ByteSlices) -> pa.Array:
    """Read ids; a quote inside quotes is written twice."""
    return rows.ids(pc.replace_substring(column.texts(), b'""', b'"'))


def _times(column: ByteSlices, counts: Integers) -> Read:
    """Time points every 15 seconds from the start of their trip."""
    starts = column.numbers()
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    whole_starts = np.where(starts == np.floor(starts), starts, np.nan)
    whole = printing.whole_seconds(np.repeat(whole_starts, counts) + STEP * steps)
    given = np.repeat(~text.blank(column.texts()), counts)
    return Read(whole.cast(pa.timestamp("s")), given & whole.is_null().to_numpy(zero_copy_only=False))


def lost(part: Trajectories) -> list[str]:
    """Say in words what of a part this format cannot hold."""
    return [] if keeps_times(part) else [f"times that are not whole seconds, {STEP} seconds apart"]


def keeps_times(part: Trajectories) -> bool:
    """Tell whether the times of a part are those that a reader makes of the first time of each trajectory."""
    if part.times is None:
        return True
    seconds = printing.whole_seconds(part.times)
    if seconds.null_count or not are_whole(part.times):
        return False
    trips = np.repeat(np.arange(len(part)), np.diff(part.offsets))
    same_trip = trips[1:] == trips[:-1]
    return bool(np.all(np.diff(seconds.to_numpy())[same_trip] == STEP))


def write(parts: Iterable[Trajectories], file: BinaryIO) -> None:
    """Write a trip per line, all fields in quotes; what only the competition knew of its trips stays empty."""
    file.write((",".join(f'"{name}"' for name in _COLUMNS) + "\n").encode())
    for part in printing.named(parts):
        file.write(printing.content(_lines(part)))


def _lines(part: Trajectories) -> pa.Array:
    assert part.ids is not None
    empty = pa.array([""] * len(part), pa.large_string())
    starts = printing.whole_seconds(part.times[part.offsets[:-1]]) if part.times is not None else empty
    x, y = (printing.shortest(part.points[:, axis], "null") for axis in (0, 1))
    fields = {
        "TRIP_ID": printing.labels(part.ids),
        "TAXI_ID": printing.labels(part.users) if part.users is not None else empty,
        "TIMESTAMP": starts.cast(pa.large_string()),
        "MISSING_DATA": pa.array(["False"] * len(part), pa.large_string()),
        "POLYLINE": printing.chained(
            "[", printing.joined(printing.chained("[", x, ",", y, "]"), part.offsets, ","), "]"
        ),
    }
    quoted = [pc.replace_substring(fields.get(name, empty).fill_null(""), '"', '""') for name in _COLUMNS]
    pieces = [piece for column in quoted for piece in ('","', column)]
    return printing.chained('"', *pieces[1:], '"\n')
