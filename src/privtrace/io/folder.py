"""Read a folder of tables as if they were one: a trajectory may lie over several files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

import pyarrow as pa

from privtrace.errors import DataError
from privtrace.io.columns import Declared, Roles, in_words
from privtrace.io.faults import Faults
from privtrace.io.files import Stamp
from privtrace.io.source import ColumnReader, Reader, Sizes


class _TableReader(Reader, Protocol):
    """Read a file that has columns."""

    @property
    def layout(self) -> Roles:
        """Say which column plays which role."""
        ...


AnyReader = TypeVar("AnyReader", bound=_TableReader)


class FolderReader(ColumnReader, Generic[AnyReader]):
    """Read files of one format and layout, one after the other."""

    def __init__(
        self, read_file: Callable[[Stamp, Declared], AnyReader], stamp: Stamp, declared: Declared
    ) -> None:
        self.stamp = stamp
        self.readers = [read_file(Stamp(look.path, (look,)), declared) for look in stamp.files]
        self._settle()
        self.layout = self.readers[0].layout
        for reader in self.readers[1:]:
            _check_alike(self.readers[0], reader)

    def _settle(self) -> None:
        """Agree on a layout where the format of the files leaves that open."""

    @property
    def defines_times(self) -> bool:
        """Say whether the format of the files says how times are written."""
        return self.readers[0].defines_times

    @property
    def parse_once(self) -> bool:
        """Say whether a pass is dear enough to keep its result."""
        return self.readers[0].parse_once

    @property
    def n_rows(self) -> int | None:
        """Count the rows of all files, once all are known."""
        known = [reader.n_rows for reader in self.readers if reader.n_rows is not None]
        return sum(known) if len(known) == len(self.readers) else None

    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of all files, or their keys only."""
        for reader in self.readers:
            yield from reader.batches(sizes, keys_only=keys_only, faults=faults)


def _check_alike(one: _TableReader, other: _TableReader) -> None:
    """Refuse two files whose rows would not fit into one table."""
    for role, name in vars(one.layout).items():
        names = [name, vars(other.layout)[role]]
        if names[0] != names[1]:
            raise _unlike(other, one, f"{role} is {_named(names[1])}, not {_named(names[0])},")
    schemas = [next(reader.batches(Sizes())).schema for reader in (one, other)]
    for expected, found in zip(*schemas, strict=True):
        if expected != found:
            raise _unlike(
                other, one, f"{found.name} holds {in_words(found.type)}, not {in_words(expected.type)},"
            )


def _named(column: str | None) -> str:
    return "absent" if column is None else repr(column)


def _unlike(reader: Reader, first: Reader, difference: str) -> DataError:
    return DataError(
        f"{reader.stamp.path}: {difference} as in {first.stamp.path}; give all files in a folder one header"
    )
