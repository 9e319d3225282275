"""Share what importers of public data sets have in common: their formats fix what stands where."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import pyarrow as pa

from privtrace import rows
from privtrace.errors import DataError
from privtrace.io import printing
from privtrace.io.beginning import Beginning
from privtrace.io.columns import Declared
from privtrace.io.files import declared_crs
from privtrace.io.source import Reader, Sizes
from privtrace.rows.faults import Faults
from privtrace.trajectories import Array, Crs


class Importer(Reader):
    """Read text in which points are listed; a subclass turns its lines into rows."""

    defines_times = True
    is_table = False
    has_users = True
    has_times = has_clock = True  # the format defines them
    possible: ClassVar[tuple[Crs, ...]] = ("lonlat",)  # what points may mean; the first unless declared

    def __init__(self, beginning: Beginning, declared: Declared) -> None:
        if declared.columns:
            raise DataError(
                f"{beginning.path}: its format has no columns to name; leave out {declared.option('columns')}"
            )
        self.snapshot = beginning.snapshot
        self.crs = declared_crs(beginning.path, declared, *self.possible)

    @abstractmethod
    def _found(self, block_bytes: int, faults: Faults | None) -> Iterator[tuple[pa.RecordBatch, int]]:
        """Yield the points of some lines at a time, and count them and the lines that are wrong.

        The first batch is that of no lines.
        """

    def batches(
        self, sizes: Sizes, *, keys_only: bool = False, faults: Faults | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows, or their keys only, and count the points and the lines that are wrong."""
        n_rows = 0
        for batch, n_found in self._found(sizes.block_bytes, faults):
            n_rows += n_found
            yield rows.keys_of(batch) if keys_only else batch
        self.n_rows = n_rows


def are_whole(times: Array) -> bool:
    """Tell whether `printing.whole_seconds` loses nothing but times that are unknown or of other ages."""
    seconds = printing.whole_seconds(times)
    known = seconds.is_valid().to_numpy(zero_copy_only=False)
    whole = seconds.drop_null().to_numpy()
    return bool(np.all(times[known] == (whole.astype("datetime64[s]") if times.dtype.kind == "M" else whole)))
