"""Read and write GeoPackage, a database of layers; GDAL, which pyogrio brings, does the work.

It is written with one layer, a row per trajectory, and read with a row per point or a row per trajectory; see
`privtrace.io.features` for what a row is then. A database has no lists, so the times of a line are text there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from warnings import catch_warnings

import pyarrow as pa

from privtrace.errors import DataError, OutputError
from privtrace.io import printing, rows
from privtrace.io.beginning import Beginning
from privtrace.io.columns import Declared, attributes, check_attributes, tells_time
from privtrace.io.crs import meaning
from privtrace.io.extras import require
from privtrace.io.features import FEATURES_AT_ONCE, FeatureLayout, FeatureReader, Features, times_of
from privtrace.io.files import CURE
from privtrace.io.geometries import from_wkb, refuse_other_kinds
from privtrace.io.lines import GEOMETRY, line_tables
from privtrace.io.source import Sizes
from privtrace.trajectories import Trajectories

#: What the layer is called that is written, and that is read where there are several.
LAYER = "trajectories"


class GeoPackageReader(FeatureReader):
    """Read features from the one layer of a GeoPackage that has points or lines."""

    def __init__(self, beginning: Beginning, declared: Declared) -> None:
        self.snapshot = beginning.snapshot
        path = beginning.path
        self._pyogrio = gdal(path)
        with _reading(path):
            self._layer = _layer(path, self._pyogrio.list_layers(path.resolve()))
            about = self._pyogrio.read_info(path.resolve(), layer=self._layer)
        kind = _plain_kind(about["geometry_type"])
        refuse_other_kinds(path, {kind} - {"Unknown"})
        trajectory, user, time = attributes(path, list(about["fields"]), declared, points_only=kind == "Point")
        crs = meaning(path, _described(path, about["crs"]), declared)
        clock = declared.clock(time)
        self.layout = FeatureLayout(trajectory, user, time, crs, clock)
        self.has_places = trajectory is None
        with self._opened(1) as (schema, _):
            check_attributes(path, schema, trajectory, user, time, clock, declared)
            self._has_clock = time is not None and tells_time(schema.field(time).type, clock)

    @property
    def has_clock(self) -> bool:
        """Say whether the column of times has a type that can be a clock."""
        return self._has_clock

    def features(self, sizes: Sizes) -> Iterator[Features]:
        """Yield the features of some rows at a time."""
        with self._opened(min(sizes.batch_rows, FEATURES_AT_ONCE)) as (schema, batches):
            yield self._features(pa.RecordBatch.from_pylist([], schema))
            while (batch := self._next(batches)) is not None:
                yield self._features(batch)

    def _next(self, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        with _reading(self.snapshot.path):
            return next(batches, None)

    @contextmanager
    def _opened(self, n_rows: int) -> Iterator[tuple[pa.Schema, Iterator[pa.RecordBatch]]]:
        """Open the layer as a stream of batches."""
        path = self.snapshot.path.resolve()  # a name that is not absolute might be taken for an address
        with ExitStack() as stack:
            with _reading(self.snapshot.path):
                stream = self._pyogrio.raw.open_arrow(
                    path, layer=self._layer, columns=self.layout.names, batch_size=n_rows, use_pyarrow=True
                )
                about, batches = stack.enter_context(stream)
            self._geometry = about["geometry_name"] or "wkb_geometry"
            yield batches.schema, batches

    def _features(self, batch: pa.RecordBatch) -> Features:
        layout = self.layout
        return Features(
            geometries=from_wkb(batch[self._geometry]),
            trajectory=rows.ids(batch[layout.trajectory]) if layout.trajectory else None,
            user=rows.ids(batch[layout.user]) if layout.user else None,
            times=times_of(layout.clock, _in_utc(batch[layout.time])) if layout.time else None,
        )


def _in_utc(times: pa.Array) -> pa.Array:
    """Say of timestamps that they are UTC, as the standard has it: GDAL need not say it of their type."""
    kind = times.type
    return (
        times.view(pa.timestamp(kind.unit, "UTC")) if pa.types.is_timestamp(kind) and kind.tz is None else times
    )


def gdal(path: Path) -> ModuleType:
    """Load what reads and writes GeoPackage."""
    module = require("pyogrio", f"{path}: GeoPackage")
    require("pyogrio.raw", f"{path}: GeoPackage")
    return module


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn GDAL's errors into ours and keep its warnings back: its own words may quote a row."""
    try:
        with catch_warnings(action="ignore"):
            yield
    except (RuntimeError, ValueError, OSError):  # those of pyogrio and arrow are of these kinds
        raise DataError(f"{path}: cannot be read as GeoPackage (damaged or truncated); {CURE}") from None


def _layer(path: Path, layers: Iterable[tuple[str, str | None]]) -> str:
    """Choose the layer: the only one with geometries, or the one that is called as ours."""
    spatial = [name for name, kind in layers if kind is not None]
    if len(spatial) == 1 or LAYER in spatial:
        return spatial[0] if len(spatial) == 1 else LAYER
    if not spatial:
        raise DataError(f"{path}: none of its layers has geometries; write one of points or lines")
    listed = ", ".join(repr(name) for name in spatial)
    raise DataError(f"{path}: has several layers, {listed}; keep one, or call the one to read {LAYER!r}")


def _plain_kind(kind: str) -> str:
    """Leave out of a type whether it has heights or measures: "LineString Z" gives "LineString"."""
    return kind.removeprefix("2.5D ").removeprefix("Measured ").removeprefix("3D ").split(" ")[0]


def _described(path: Path, crs: str | None) -> Any:
    """Describe a coordinate system as PROJJSON."""
    if crs is None:
        return None
    pyproj = require("pyproj", f"{path}: GeoPackage")
    try:
        return pyproj.CRS(crs).to_json_dict()
    except pyproj.exceptions.CRSError:
        return {}


def write(parts: Iterable[Trajectories], path: Path) -> None:
    """Write one layer, a row per trajectory; the first part's words about the whole are its description."""
    pyogrio = gdal(path)
    first, parts = printing.peeked(parts)
    schema, tables = line_tables(parts, plain=True)
    failures: list[BaseException] = []

    def batches() -> Iterator[pa.RecordBatch]:
        # GDAL would say in its own words that a part could not be made.
        try:
            for table in tables:
                yield from table.to_batches()
        except BaseException as failure:
            failures.append(failure)
            raise

    named = path.with_name(f"{path.name}.gpkg")  # GDAL warns of other names
    try:
        with catch_warnings(action="ignore"):  # that planar points have no coordinate system
            pyogrio.raw.write_arrow(
                pa.RecordBatchReader.from_batches(schema.remove_metadata(), batches()),
                named,
                layer=LAYER,
                driver="GPKG",
                geometry_name=GEOMETRY,
                geometry_type="Unknown",  # points where trajectories have one, else lines
                crs="EPSG:4326" if first.crs == "lonlat" else None,
                layer_options={"DESCRIPTION": printing.words(first.about)},
            )
        named.replace(path)
    except (RuntimeError, ValueError, OSError):
        if failures:
            raise failures[0] from None
        raise OutputError(
            f"{path.parent}: GeoPackage cannot be written here; check space and permissions"
        ) from None
    finally:
        for leftover in path.parent.glob(f"{named.name}*"):  # also journals of the database
            leftover.unlink()
