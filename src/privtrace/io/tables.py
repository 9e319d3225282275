"""Read and write tables as text, with a header: CSV, TSV and their kin.

What stands between fields is found from the header alone: whatever makes names of it that are known or
declared. Where that is not a comma, numbers may have a decimal comma.

A row is one line. Quotes may hold delimiters but no line break, and a line whose quotes do not match is
dropped: otherwise one stray quote could swallow any number of rows that belong to others.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.csv

from privtrace import rows
from privtrace.errors import DataError
from privtrace.io import printing
from privtrace.io.beginning import Beginning
from privtrace.io.columns import CALENDAR, Declared, Layout, candidates, resolve
from privtrace.io.output_tables import long_tables
from privtrace.io.source import Reader, Sizes
from privtrace.io.streams import LINE_BYTES, TOO_LONG, Block, blocks, opened, side_by_side
from privtrace.parsing import slices
from privtrace.rows.faults import Faults, Place
from privtrace.trajectories import Trajectories

_QUOTED_OR_BLANKS = re.compile(rb'((?<![^ \t\r\n])"(?:[^"\r\n]|"")*")|[ \t]+')
# Tried at the first blank of a run only: from each blank of a long run it would take hours.
_OUTER_BLANKS = re.compile(rb"(?<![ \t])(?:^[ \t]++|[ \t]++(?=\r?$))", re.MULTILINE)

#: Why a line is no row.
_REASONS = {
    slices.BROKEN: "a carriage return inside the line",
    slices.UNMATCHED: "quotes do not match",
    slices.TOO_MANY: "too many fields",
    slices.TOO_FEW: "too few fields",
}


@dataclass(frozen=True)
class Dialect:
    """Say what stands between fields."""

    delimiter: str
    of_blanks: bool = False  # runs of blanks come to stand for one delimiter

    def tidied(self, lines: bytes) -> bytes:
        """Write lines with the one delimiter."""
        if not self.of_blanks:
            return lines
        lines = _OUTER_BLANKS.sub(b"", lines)
        if b'"' not in lines:
            return re.sub(rb"[ \t]+", b"\t", lines)
        return _QUOTED_OR_BLANKS.sub(lambda match: match[1] or b"\t", lines)

    def split(self, line: bytes) -> list[str]:
        """Take a header apart, without the mark that may start a file."""
        tidy = self.tidied(line.removeprefix(b"\xef\xbb\xbf")).rstrip(b"\r\n")
        try:
            decoded = tidy.decode()
        except UnicodeDecodeError:
            decoded = tidy.decode("latin-1")
        try:
            (names,) = csv.reader([decoded], delimiter=self.delimiter)
        except (csv.Error, ValueError):
            return []
        return [name.strip() for name in names]


#: In the order in which they are tried; blanks may stand inside names, so they come last.
DIALECTS = (Dialect(","), Dialect(";"), Dialect("\t"), Dialect("|"), Dialect("\t", of_blanks=True))


def understood(path: Path, line: bytes, declared: Declared) -> tuple[Dialect, list[str], Layout]:
    """Choose the dialect in which a header makes sense; where none does, refuse as the nearest one would."""
    refusals = []
    for dialect in DIALECTS:
        names = dialect.split(line)
        try:
            return dialect, names, resolve(path, names, declared)
        except DataError as refusal:
            n_known = sum(map(bool, candidates(names, declared).values()))
            refusals.append(((n_known, not dialect.of_blanks, len(names)), refusal))
    raise max(refusals, key=lambda rated: rated[0])[1]


class TableReader(Reader):
    """Read a point table from text, its ids as text."""

    def __init__(self, beginning: Beginning, declared: Declared) -> None:
        self.snapshot = beginning.snapshot
        header = beginning.first_line
        _check_header(beginning.path, header)
        self._dialect, self._names, layout = understood(beginning.path, header, declared)
        self.lay_out(layout)
        self._packed = beginning.is_packed
        self._data_start = len(header)

    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, or their keys only, and count the lines on the way; blank ones are nothing."""
        n_rows = 0
        nothing = Block(2, b"", 0, False)
        others = side_by_side(self._parsed, self._blocks(sizes.block_bytes))
        for block, found, batch in chain([self._parsed(nothing)], others):
            n_rows += block.n_lines - len(found.lines_that(slices.NOTHING))
            usable = rows.usable(batch, self.crs, faults, self._noted(block, found, faults))
            yield rows.keys_of(usable) if keys_only else usable
        self.n_rows = n_rows

    def _blocks(self, block_bytes: int) -> Iterator[Block]:
        """Yield the lines after the header."""
        with opened(self.snapshot.path, packed=self._packed) as file:
            file.seek(self._data_start)
            yield from blocks(file, block_bytes, first_line=2)

    def _parsed(self, block: Block) -> tuple[Block, slices.Records, pa.RecordBatch]:
        """Turn lines into rows; also say what became of each line."""
        layout, dialect = self.layout, self._dialect
        # Columns go by number: names that are not used may be empty or there twice.
        numbers = [self._names.index(name) for name in layout.names]
        found = slices.records(dialect.tidied(block.lines), ord(dialect.delimiter), len(self._names), numbers)
        comma = dialect.delimiter != ","
        pieces = dict(zip(layout.names, found.columns, strict=True))
        texts: dict[str | None, pa.Array] = {
            name: found.texts(place)
            for place, name in enumerate(layout.names)
            if name not in (layout.x, layout.y, layout.order)
        }
        batch = rows.rows(
            trajectory=rows.ids(texts[layout.trajectory]),
            user=rows.ids(texts[layout.user]) if layout.user else None,
            x=pa.array(pieces[layout.x].numbers(decimal_comma=comma)),
            y=pa.array(pieces[layout.y].numbers(decimal_comma=comma)),
            time=layout.clock.text(texts[layout.time], decimal_comma=comma) if layout.time else None,
            order=pa.array(pieces[layout.order].numbers(decimal_comma=comma)) if layout.order else None,
        )
        return block, found, batch

    def _noted(self, block: Block, found: slices.Records, faults: Faults | None) -> Place:
        """Note the lines that are no rows, and say where those stand that are."""
        path, first = self.snapshot.path, block.first_line
        if faults is not None:
            place = Place.following(path, first - 1)
            for fate, reason in _REASONS.items():
                faults.add(reason, found.lines_that(fate), place)
            faults.add(TOO_LONG, block.left_out, place)
        return Place(path, lambda rows: first + found.lines_that(slices.RIGHT)[rows])


def _check_header(path: Path, line: bytes) -> None:
    """Refuse a first line that cannot be a header, without a word of what it says."""
    if not line.strip():
        raise DataError(f"{path}: no header; the first line must name the columns, as in traj_id,lon,lat")
    if b"\r" in line.rstrip(b"\r\n"):
        raise DataError(
            f"{path}: lines end in carriage returns alone; save it with line feeds, for instance with "
            "tr '\\r' '\\n'"
        )
    if len(line) >= LINE_BYTES:
        raise DataError(f"{path}: the first line is too long for a header; check that it is a table in text")


def write(
    parts: Iterable[Trajectories], stream: BinaryIO, *, delimiter: str = ",", names: str | None = None
) -> None:
    """Write a long table; text cannot hold words about it.

    Calendar time has a name that says so. Such times are moments: 2013-07-01T07:00:00Z, or with their offset in
    a zone, 2013-07-01T08:00:00+01:00.
    """
    schema, tables = long_tables(parts, names)
    empty = _as_text(schema.empty_table())
    with pa.PythonFile(stream, "w") as file:
        # Arrow would put the names into quotes.
        file.write((delimiter.join(empty.schema.names) + "\n").encode())
        options = pa.csv.WriteOptions(include_header=False, delimiter=delimiter)
        with pa.csv.CSVWriter(file, empty.schema, write_options=options) as writer:
            for table in tables:
                writer.write_table(_as_text(table))


def _as_text(table: pa.Table) -> pa.Table:
    """Say by its name that time is calendar time, and keep ids with a line break in them on one line."""
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            zone, column = field.type.tz, table[field.name]
            # Not by arrow, which needs the system's zones for it. Those without a zone are another program's.
            times = column if zone is None else printing.iso(column.to_numpy(), zone).cast(pa.string())
            table = table.set_column(number, CALENDAR, times)
        elif pa.types.is_string(field.type):
            table = table.set_column(number, field.name, rows.on_one_line(table[field.name].combine_chunks()))
    return table
