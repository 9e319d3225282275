"""Read the beginning of a file, before its rows: what tells its format also has its header."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from privtrace.caching import cached_property
from privtrace.io.files import CURE, Snapshot, reading
from privtrace.io.streams import LINE_BYTES, unpacked

#: What to do about a Parquet file that is damaged or cut short.
PARQUET_CURE = "write the Parquet file again, or convert the table to CSV"

_GZIP = b"\x1f\x8b"
#: Where a format shows itself; XML does after declarations and comments.
_HEAD_BYTES = 1 << 12


class Beginning(ExitStack):
    """Hold what was read of a file before its rows, for all who ask: it is opened once, by the first who does.

    It is a context: readers ask while they are made, and the file is closed after that.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__()
        self.snapshot, self.path = snapshot, snapshot.path

    @classmethod
    def of(cls, path: Path) -> Beginning:
        """Begin with one file as it is now."""
        return cls(Snapshot.of(path))

    @cached_property
    def raw(self) -> bytes:
        """Give the first bytes as they are on the disk."""
        with reading(self.path, CURE):
            return self._file.read(_HEAD_BYTES)

    @cached_property
    def is_packed(self) -> bool:
        """Tell whether the file is packed with gzip; not to be asked where the first bytes are a row's."""
        return self.raw.startswith(_GZIP)

    @cached_property
    def first_line(self) -> bytes:
        """Give the header of a text, or as much of it as a header may have."""
        with self.text() as text:
            return text.readline(LINE_BYTES)

    def head(self, n_bytes: int = _HEAD_BYTES) -> bytes:
        """Give the first bytes of the text, unpacked."""
        with self.text() as text:
            return text.read(n_bytes)

    @contextmanager
    def text(self) -> Iterator[BinaryIO]:
        """Hand out the text from its start, unpacked."""
        with reading(self.path, CURE):
            packed = self.is_packed
            self._file.seek(0)
            yield unpacked(self._file, packed=packed)

    @cached_property
    def footer(self) -> tuple[pa.Schema, int, Mapping[bytes, bytes]]:
        """Give what the footer of a Parquet file says: the schema, the number of rows, and words of writers."""
        source = pa.PythonFile(self._file)
        with reading(self.path, PARQUET_CURE), pq.ParquetFile(source, pre_buffer=False) as file:
            return file.schema_arrow, file.metadata.num_rows, file.metadata.metadata or {}

    @cached_property
    def _file(self) -> BinaryIO:
        return self.enter_context(self.path.open("rb"))
