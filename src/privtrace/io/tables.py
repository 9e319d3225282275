"""Read and write tables as text: CSV with a header.

A row is one line. Quotes may hold commas but no line break, and a line whose quotes do not match is dropped:
otherwise one stray quote could swallow any number of rows that belong to others.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from privtrace.errors import DataError
from privtrace.io import rows, text
from privtrace.io.columns import resolve
from privtrace.io.faults import Faults, Place
from privtrace.io.files import Stamp, reading
from privtrace.io.source import Sizes
from privtrace.io.streams import LINE_BYTES, blocks, opened
from privtrace.trajectories import Crs

_CURE = "check that it is a CSV file that you may read"

_FIELD = r'(?:"(?:[^"]|"")*"|[^",\r][^,\r]*|)'
_QUOTES_MATCH = rf'^(?:[^"]*|{_FIELD}(?:,{_FIELD})*[\r\n]*)$'


class TableReader:
    """Read a point table from CSV, its ids as text."""

    parse_once = True

    def __init__(self, stamp: Stamp, crs: Crs | None) -> None:
        self.stamp = stamp
        path = stamp.path
        with opened(path, _CURE) as file:
            header = file.readline(LINE_BYTES)
        self._names = _header(path, header)
        self._data_start = len(header)
        self.layout = resolve(path, self._names, crs)
        self.n_rows: int | None = None

    @property
    def crs(self) -> Crs:
        """Say whether points are longitude and latitude or planar."""
        return self.layout.crs

    @property
    def has_users(self) -> bool:
        """Say whether there is a column of users."""
        return self.layout.user is not None

    @property
    def has_times(self) -> bool:
        """Say whether there is a column of times."""
        return self.layout.time is not None

    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, or their keys only, and count the lines on the way."""
        n_rows = 0
        for lines, n_wrong in self._lines(sizes.block_bytes):
            batch, n_lines = self._parsed(lines)
            batch = rows.usable(batch, self.crs, faults, Place.following(self.stamp.path, n_rows))
            n_rows += n_lines + n_wrong
            yield rows.keys_of(batch) if keys_only else batch
        self.n_rows = n_rows

    def _lines(self, block_bytes: int) -> Iterator[tuple[bytes, int]]:
        """Yield whole lines fit for parsing, and how many were not; the first are none."""
        yield b"", 0
        path = self.stamp.path
        with opened(path, _CURE) as file:
            file.seek(self._data_start)
            for block in blocks(file, block_bytes, first_line=2):
                lines, n_broken = _sound(block.lines)
                yield lines, block.last_too_long + n_broken

    def _parsed(self, lines: bytes) -> tuple[pa.RecordBatch, int]:
        """Turn lines into rows; also count the lines, those with a wrong number of fields included."""
        layout = self.layout
        # Arrow wants UTF-8 even of rows that it skips. Any bytes can pass as Latin-1, there and back.
        is_text = _is_utf8(lines)
        columns, n_lines = self._columns(lines if is_text else lines.decode("latin-1").encode())

        def ids(name: str) -> pa.Array:
            column = columns[name] if is_text else _from_latin_1(columns[name])
            return rows.ids(column)

        batch = rows.rows(
            trajectory=ids(layout.trajectory),
            user=ids(layout.user) if layout.user else None,
            x=text.numbers(columns[layout.x]),
            y=text.numbers(columns[layout.y]),
            time=text.times(columns[layout.time]) if layout.time else None,
        )
        return batch, n_lines

    def _columns(self, lines: bytes) -> tuple[dict[str, pa.Array], int]:
        """Split lines at commas into columns of bytes."""
        n_wrong = 0

        def skip(_: object) -> str:
            nonlocal n_wrong
            n_wrong += 1
            return "skip"

        # A blank line is nothing, but keeps the parser from refusing no lines at all, and from taking the
        # first bytes of a block for the mark that starts a file.
        lines = b"\n" + lines
        # Columns go by number: names that are not used may be empty or there twice.
        numbers = {name: str(self._names.index(name)) for name in self.layout.names}
        wanted = list(numbers.values())
        with reading(self.stamp.path, _CURE):
            table = pa.csv.read_csv(
                pa.BufferReader(lines),
                pa.csv.ReadOptions(
                    column_names=[str(i) for i in range(len(self._names))],
                    block_size=len(lines) + 1,  # one block: no row can lie across two
                ),
                pa.csv.ParseOptions(invalid_row_handler=skip),
                pa.csv.ConvertOptions(include_columns=wanted, column_types=dict.fromkeys(wanted, pa.binary())),
            )
        columns = {name: table[number].combine_chunks() for name, number in numbers.items()}
        return columns, table.num_rows + n_wrong


def _header(path: Path, line: bytes) -> list[str]:
    """Split the first line into names."""
    if not line.strip():
        raise DataError(f"{path}: no header; the first line must name the columns, as in traj_id,lon,lat")
    try:
        (names,) = csv.reader([line.decode("utf-8-sig", errors="replace").rstrip("\r\n")])
    except (csv.Error, ValueError):
        raise DataError(f"{path}: the first line is not a CSV header; {_CURE}") from None
    return [name.strip() for name in names]


def _sound(block: bytes) -> tuple[bytes, int]:
    """Leave out lines whose quotes do not match; count them."""
    if b'"' not in block:
        return block, 0
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
    offsets = np.unique(np.concatenate([[0], ends, [len(block)]]))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(block)]
    lines = pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)
    sound = pc.match_substring_regex(lines, _QUOTES_MATCH)
    n_broken = len(lines) - sound.true_count
    return (b"".join(lines.filter(sound).to_pylist()) if n_broken else block), n_broken


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _from_latin_1(column: pa.Array) -> pa.Array:
    """Give values back the bytes that they had in the file."""
    return pa.array([value.decode().encode("latin-1") for value in column.to_pylist()], pa.binary())


def write(tables: Iterable[pa.Table], schema: pa.Schema, path: Path) -> None:
    """Write tables one after the other; CSV has no place for words about them."""
    with pa.OSFile(str(path), "wb") as file:
        file.write((",".join(schema.names) + "\n").encode())  # arrow would put the names into quotes
        with pa.csv.CSVWriter(file, schema, write_options=pa.csv.WriteOptions(include_header=False)) as writer:
            for table in tables:
                writer.write_table(table)
