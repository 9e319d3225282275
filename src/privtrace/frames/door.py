"""Read arrow tables in memory, as a Parquet file is read, or as GeoParquet where there are geometries."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import ModuleType

import pyarrow as pa

from privtrace.errors import DataError
from privtrace.io.arrow import MemoryReader
from privtrace.io.columns import Declared, resolve
from privtrace.io.extras import require
from privtrace.io.features import FEATURES_AT_ONCE, Features, LayerReader
from privtrace.io.files import Snapshot
from privtrace.io.geometries import from_native
from privtrace.io.source import FileSource, Reader, Sizes
from privtrace.observer import Silent
from privtrace.trajectories import Crs, Trajectories

#: The column of geometries, each a list of points: no column that has a role is called so.
SHAPES = ""


def read(
    place: str, table: pa.Table, declared: Declared, crs: Crs | None = None, *, lines: bool = False
) -> Trajectories:
    """Read a row per point, or with a `crs` the geometries in it; messages have `place` for a path."""

    def opened(by: Declared) -> Reader:
        if crs is not None:
            return _ShapeReader(place, table, crs, by, lines=lines)
        return MemoryReader(place, resolve(Path(place), table.schema.names, by), table, by)

    with FileSource(opened(declared), declared=declared, open_again=opened) as source:
        source.tell(Silent())
        return source.collect()


class _ShapeReader(LayerReader):
    parse_once = False

    def __init__(self, place: str, table: pa.Table, crs: Crs, declared: Declared, *, lines: bool) -> None:
        self.snapshot = Snapshot.in_memory(place)
        beside = table.schema.remove(table.schema.get_field_index(SHAPES))
        self.understand(Path(place), beside, declared, crs, points_only=not lines)
        nothing = pa.RecordBatch.from_pylist([], table.schema)
        batches = chain([nothing], table.to_batches(max_chunksize=FEATURES_AT_ONCE))
        self._features = [self.of_columns(from_native(batch[SHAPES]), batch) for batch in batches]

    def features(self, sizes: Sizes) -> Iterator[Features]:
        """Yield the features, which are made once."""
        return iter(self._features)


def load(module: str, what: str, extra: str | None = "geo") -> ModuleType:
    """Import a package that an extra installs, or one that belongs to none."""
    with warnings.catch_warnings():
        # MovingPandas misses a package for smoothing, on every import, and says so.
        warnings.filterwarnings("ignore", "Missing optional dependencies", UserWarning)
        return require(module, what, extra)


def check(what: str, given: object, package: ModuleType, *kinds: str) -> None:
    """Refuse what is something else than a function takes."""
    if not isinstance(given, tuple(getattr(package, kind) for kind in kinds)):
        names = " or ".join(f"{package.__name__}.{kind}" for kind in kinds)
        raise DataError(f"{what} takes a {names}, not a {type(given).__name__}")
