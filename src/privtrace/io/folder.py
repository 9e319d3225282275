"""Read a folder as one source: a trajectory may lie over several files, of several formats.

Every file is read by itself, and none decides how another is read, or whether: a file may be one person's. What
files yield is brought into one form, whatever the others are:

    traj_id, user_id    text; numbers are written out, whole ones without a point: 7 and 7.0 give "7"
    t                   calendar time to the microsecond; numbers of no declared unit have the place of seconds
                        since 1970, to set the order of points, and where logs are cut they are no time
    row                 which row of all files this is, where points have an order of their own: in features,
                        and in tables without times; so these stay as they stand

Points that tie in all else are ordered by x, then y, as in a single table.

A file that lacks users or times has rows without. One that cannot be read, or lacks what a row needs, is
dropped and counted like a row. Points mean what is declared, else longitude and latitude.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from privtrace import rows
from privtrace.errors import DataError, PrivTraceError
from privtrace.io.beginning import Beginning
from privtrace.io.columns import TIME, USER, Declared
from privtrace.io.features import FeatureReader, apart
from privtrace.io.files import FileVersion, Snapshot
from privtrace.io.source import Reader, Sizes
from privtrace.parsing.dates import TIMESTAMP
from privtrace.rows.faults import FILE, Faults, Place

#: Opens some files of one kind together, or a file alone.
Open: TypeAlias = Callable[[Beginning, Declared], Reader]
#: Files that one reader reads, and what opens them.
Group: TypeAlias = tuple[Sequence[Path], Open]

_NO_IDS = pa.array([], pa.large_binary())


class FolderReader(Reader):
    """Read files one after the other."""

    is_table = False
    by_place = True  # but no two rows tie that have an order of their own
    defines_times = False  # those of files whose format does so stay as they are

    def __init__(self, path: Path, groups: Sequence[Group], declared: Declared) -> None:
        self.crs = declared.crs or "lonlat"
        self.has_users = declared.columns.get(USER) != ""
        self.has_times = self.has_clock = declared.columns.get(TIME) != ""
        self._keeps_numbers = declared.wants_times and declared.gap_minutes is None
        self._left_out: list[tuple[Path, str]] = []  # with the reason
        self._readers: list[Reader] = []
        lenient = replace(declared, lenient=True)
        versions = chain.from_iterable(self._opened(*group, lenient) for group in groups)
        self.snapshot = Snapshot(path, tuple(versions))
        self.parse_once = any(reader.parse_once for reader in self._readers)
        self._has_order = any(reader.order is not None for reader in self._readers)
        self._has_rows = not all(reader.by_place for reader in self._readers)

    def _opened(self, paths: Sequence[Path], read: Open, declared: Declared) -> list[FileVersion]:
        """Open some files together, or leave them out; those that are none are left out by themselves."""
        versions: list[FileVersion] = []
        for path in paths:
            try:
                versions.append(FileVersion.at(path))
            except DataError as refusal:
                self._left_out.append((path, str(refusal)))
        try:
            if versions:
                with Beginning(Snapshot(versions[0].path, tuple(versions))) as beginning:
                    self._add(read(beginning, declared), declared)
        except PrivTraceError as refusal:
            self._left_out += [(version.path, str(refusal)) for version in versions]
        return versions

    def _add(self, reader: Reader, declared: Declared) -> None:
        """Take a reader whose points mean what those of the others do."""
        if reader.crs != self.crs:
            cure = f"pass {declared.option('crs', reader.crs, repr(reader.crs))} if all are"
            raise DataError(f"its points are {reader.crs}; {cure}")
        if isinstance(reader, FeatureReader):
            reader.as_text = True
        self._readers.append(reader)

    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all files, or their keys only."""
        self.n_rows = None
        n_rows, n_yielded = len(self._left_out), 0
        empty = self._alike({"x": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}, _NO_IDS)
        yield rows.keys_of(empty) if keys_only else empty
        for path, refusal in self._left_out:
            _note(faults, FILE, path, refusal)
        n_before = 0
        for reader in self._readers:
            if isinstance(reader, FeatureReader):
                reader.n_before = n_before
            # All columns also for the keys, so that every pass ends at the same place of a damaged file.
            try:
                for batch in reader.batches(sizes, faults=faults):
                    ids = batch.column("traj_id")  # features know them from places
                    ids = ids if isinstance(reader, FeatureReader) else apart(_texts(ids))
                    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                    if not reader.by_place:
                        columns["row"] = pa.array(np.arange(n_yielded, n_yielded + len(ids), dtype=float))
                    n_yielded += len(ids)
                    alike = self._alike(columns, ids)
                    yield rows.keys_of(alike) if keys_only else alike
                n_rows += reader.n_rows or 0
            except DataError as damage:
                n_rows += 1
                _note(faults, f"{FILE} from somewhere on", reader.snapshot.path, str(damage))
            if isinstance(reader, FeatureReader):
                n_before += reader.n_features
        self.n_rows = n_rows

    def _alike(self, columns: dict[str, pa.Array], ids: pa.Array) -> pa.RecordBatch:
        """Bring a batch into the one form."""
        made = {"traj_id": ids}
        if self.has_users:
            users = columns.get("user_id")
            made["user_id"] = pa.nulls(len(ids), pa.large_binary()) if users is None else _texts(users)
        made |= {"x": columns["x"], "y": columns["y"]}
        if self.has_times:
            times = columns.get("t")
            made["t"] = pa.nulls(len(ids), TIMESTAMP) if times is None else times.cast(TIMESTAMP)
            if self._keeps_numbers:
                made["number"] = columns.get("number", pa.nulls(len(ids), pa.float64()))
        for name, is_there in {"order": self._has_order, "row": self._has_rows}.items():
            if is_there:
                made[name] = columns.get(name, pa.nulls(len(ids), pa.float64()))
        return pa.RecordBatch.from_pydict(made)


def _texts(ids: pa.Array) -> pa.Array:
    """Write ids out: the number 7 alike in every type."""
    if not pa.types.is_floating(ids.type):
        return rows.text_of(ids)
    numbers = rows.floats_of(ids)
    whole = (np.floor(numbers) == numbers) & (np.abs(numbers) < 2.0**63)
    integers = pa.array(np.where(whole, numbers, 0).astype(np.int64), mask=~whole)
    return pc.coalesce(rows.text_of(integers), rows.text_of(ids))


def _note(faults: Faults | None, what: str, path: Path, refusal: str) -> None:
    """Note what a refusal says of a file, without the path, which a fault has already."""
    if faults is not None:
        reason = f"{what}: {refusal.removeprefix(f'{path}: ')}"
        faults.add(reason, np.zeros(1, np.int64), Place.following(path, 0))
