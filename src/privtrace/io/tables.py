"""Read and write tables as text, with a header: CSV, TSV and their kin.

What stands between fields is found from the header alone: whatever makes names of it that are known or
declared. Where that is not a comma, numbers may have a decimal comma.

A row is one line. Quotes may hold delimiters but no line break, and a line whose quotes do not match is
dropped: otherwise one stray quote could swallow any number of rows that belong to others.
"""

from __future__ import annotations

import csv
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from privtrace.errors import DataError
from privtrace.io import printing, rows, text
from privtrace.io.beginning import Beginning
from privtrace.io.columns import CALENDAR, Declared, Layout, n_known, resolve
from privtrace.io.faults import Faults, Place
from privtrace.io.files import CURE, reading
from privtrace.io.naming import named_tables
from privtrace.io.source import ColumnReader, Sizes
from privtrace.io.streams import LINE_BYTES, Block, blocks, opened
from privtrace.trajectories import Integers, Trajectories

_QUOTED_OR_BLANKS = re.compile(rb'((?<![^ \t\r\n])"(?:[^"\r\n]|"")*")|[ \t]+')
# Tried at the first blank of a run only: from each blank of a long run it would take hours.
_OUTER_BLANKS = re.compile(rb"(?<![ \t])(?:^[ \t]++|[ \t]++(?=\r?$))", re.MULTILINE)
_STRAY_RETURN = r"\r[^\n]"


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
        decoded = tidy.decode("utf-8" if _is_utf8(tidy) else "latin-1")
        try:
            (names,) = csv.reader([decoded], delimiter=self.delimiter)
        except (csv.Error, ValueError):
            return []
        return [name.strip() for name in names]

    @property
    def matched_quotes(self) -> str:
        """Give the pattern of a line without quotes, or with quotes around whole fields only."""
        between = re.escape(self.delimiter)
        plain = rf'(?:"(?:[^"]|"")*"|[^"\r{between}][^\r{between}]*|)'
        return rf'^(?:[^"]*|{plain}(?:{between}{plain})*[\r\n]*)$'


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
            refusals.append(((n_known(names, declared), not dialect.of_blanks, len(names)), refusal))
    raise max(refusals, key=lambda rated: rated[0])[1]


@dataclass(frozen=True)
class _Parsed:
    """Hold the rows of a block, and what became of its lines."""

    batch: pa.RecordBatch
    wrong: dict[str, Integers]  # from a reason to the lines of the block that are no rows
    line_of: Callable[[Integers], Integers]  # from rows of the batch to lines of the block

    @property
    def n_lines(self) -> int:
        """Count the lines, good or bad; blank ones are nothing."""
        n_rows: int = self.batch.num_rows
        return n_rows + sum(len(lines) for lines in self.wrong.values())


class TableReader(ColumnReader):
    """Read a point table from text, its ids as text."""

    parse_once = True
    layout: Layout

    def __init__(self, beginning: Beginning, declared: Declared) -> None:
        self.snapshot = beginning.snapshot
        header = beginning.first_line
        _check_header(beginning.path, header)
        self._dialect, self._names, self.layout = understood(beginning.path, header, declared)
        self._packed = beginning.is_packed
        self._data_start = len(header)
        self.n_rows: int | None = None

    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, or their keys only, and count the lines on the way."""
        n_rows = 0
        for block in self._blocks(sizes.block_bytes):
            parsed = self._parsed(block)
            n_rows += parsed.n_lines
            batch = self._usable(parsed, faults, block.first_line)
            yield rows.keys_of(batch) if keys_only else batch
        self.n_rows = n_rows

    def _blocks(self, block_bytes: int) -> Iterator[Block]:
        """Yield the lines after the header; the first are none."""
        yield Block(2, b"", 0, False)
        with opened(self.snapshot.path, packed=self._packed) as file:
            file.seek(self._data_start)
            yield from blocks(file, block_bytes, first_line=2)

    def _usable(self, parsed: _Parsed, faults: Faults | None, first_line: int) -> pa.RecordBatch:
        """Note faults and leave out rows that belong to no trajectory."""
        of_lines = Place.following(self.snapshot.path, first_line - 1)
        for reason, lines in parsed.wrong.items():
            if faults is not None:
                faults.add(reason, lines, of_lines)
        of_rows = Place(self.snapshot.path, lambda rows: of_lines.line_of(parsed.line_of(rows)))
        return rows.usable(parsed.batch, self.crs, faults, of_rows)

    def _parsed(self, block: Block) -> _Parsed:
        """Turn lines into rows."""
        lines, wrong = _sound(self._dialect.tidied(block.lines), self._dialect)
        if block.last_too_long:
            wrong["the line is too long"] = np.array([block.n_lines - 1])
        filled = cache(lambda: _filled(lines))
        batch, misfits = self._rows(lines)
        for reason, numbers in _by_reason(misfits).items():
            wrong[reason] = filled()[numbers]
        skipped = [row.number - 1 for row in misfits]
        return _Parsed(batch, wrong, lambda numbers: np.delete(filled(), skipped)[numbers])

    def _rows(self, lines: bytes) -> tuple[pa.RecordBatch, list[pa.csv.InvalidRow]]:
        """Read the fields of sound lines; also list the lines that have too many or too few."""
        layout = self.layout
        # Arrow wants UTF-8 even of rows that it skips. Any bytes can pass as Latin-1, there and back.
        is_text = _is_utf8(lines)
        columns, misfits = self._columns(lines if is_text else lines.decode("latin-1").encode())
        decimal_comma = self._dialect.delimiter != ","

        def ids(name: str) -> pa.Array:
            column = columns[name] if is_text else _from_latin_1(columns[name])
            return rows.ids(column)

        batch = rows.rows(
            trajectory=ids(layout.trajectory),
            user=ids(layout.user) if layout.user else None,
            x=text.numbers(columns[layout.x], decimal_comma=decimal_comma),
            y=text.numbers(columns[layout.y], decimal_comma=decimal_comma),
            time=layout.clock.text(columns[layout.time], decimal_comma=decimal_comma) if layout.time else None,
        )
        return batch, misfits

    def _columns(self, lines: bytes) -> tuple[dict[str, pa.Array], list[pa.csv.InvalidRow]]:
        """Split lines into columns of bytes."""
        misfits: list[pa.csv.InvalidRow] = []

        def skip(row: pa.csv.InvalidRow) -> str:
            misfits.append(row)
            return "skip"

        # A blank line is nothing, but keeps the parser from refusing no lines at all, and from taking the
        # first bytes of a block for the mark that starts a file.
        lines = b"\n" + lines
        # Columns go by number: names that are not used may be empty or there twice.
        numbers = {name: str(self._names.index(name)) for name in self.layout.names}
        wanted = list(numbers.values())
        with reading(self.snapshot.path, CURE):
            table = pa.csv.read_csv(
                pa.BufferReader(lines),
                pa.csv.ReadOptions(
                    column_names=[str(i) for i in range(len(self._names))],
                    block_size=len(lines) + 1,  # one block: no row can lie across two
                    use_threads=False,  # else misfits would not know their number
                ),
                pa.csv.ParseOptions(delimiter=self._dialect.delimiter, invalid_row_handler=skip),
                pa.csv.ConvertOptions(include_columns=wanted, column_types=dict.fromkeys(wanted, pa.binary())),
            )
        return {name: table[number].combine_chunks() for name, number in numbers.items()}, misfits


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


def _sound(lines: bytes, dialect: Dialect) -> tuple[bytes, dict[str, Integers]]:
    """Blank lines out that are not one row each; list them by reason, counted from 0."""
    if b'"' not in lines and lines.count(b"\r") == lines.count(b"\r\n"):
        return lines, {}
    offsets = np.append(_starts(lines), len(lines))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(lines)]
    column = pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
    broken = pc.match_substring_regex(column, _STRAY_RETURN)
    unmatched = pc.and_not(pc.invert(pc.match_substring_regex(column, dialect.matched_quotes)), broken)
    reasons = {"a carriage return inside the line": broken, "quotes do not match": unmatched}
    wrong = {reason: np.flatnonzero(mask) for reason, mask in reasons.items() if mask.true_count}
    if wrong:
        blanked = pc.if_else(pc.or_(broken, unmatched), pa.scalar(b"\n", pa.large_binary()), column)
        lines = b"".join(blanked.to_pylist())
    return lines, wrong


def _starts(lines: bytes) -> Integers:
    """Find where each line starts."""
    ends = np.flatnonzero(np.frombuffer(lines, np.uint8) == ord("\n")) + 1
    starts = np.concatenate([[0], ends])
    return starts[starts < len(lines)]


def _filled(lines: bytes) -> Integers:
    """List the lines that are not blank, counted from 0."""
    first = np.frombuffer(lines, np.uint8)[_starts(lines)]
    return np.flatnonzero((first != ord("\n")) & (first != ord("\r")))


def _by_reason(misfits: Iterable[pa.csv.InvalidRow]) -> dict[str, list[int]]:
    """Sort lines, counted from 0 without blank ones, by what is wrong; blanks alone are nothing."""
    numbers = defaultdict(list)
    for row in misfits:
        if row.text.strip(" \t"):
            many = row.actual_columns > row.expected_columns
            numbers["too many fields" if many else "too few fields"].append(row.number - 1)
    return numbers


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _from_latin_1(column: pa.Array) -> pa.Array:
    """Give values back the bytes that they had in the file."""
    return pa.array([value.decode().encode("latin-1") for value in column.to_pylist()], pa.binary())


def write(parts: Iterable[Trajectories], path: Path, *, delimiter: str = ",", names: str | None = None) -> None:
    """Write a long table; text cannot hold words about it. Calendar time has a name that says so.

    Calendar times are moments: 2013-07-01T07:00:00Z, or with their offset in a zone, 2013-07-01T08:00:00+01:00.
    """
    schema, tables = named_tables(parts, names)
    empty = _as_text(schema.empty_table())
    with pa.OSFile(os.fsencode(path), "wb") as file:
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
