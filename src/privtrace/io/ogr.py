"""Read and write GeoPackage, Shapefile, FlatGeobuf and KML; GDAL, which pyogrio brings, does the work.

The first three declare in a header which columns there are and of which types, so that no feature changes how
another is read. KML has no such header: there GDAL finds columns in the features. So every feature is read by
one fixed rule, and all that it says as text; see `KmlReader`.

What is written has a row per trajectory, or per point in a Shapefile, which can hold neither lists nor points
beside lines. The other formats have no lists either, so the times of a line are text there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO
from warnings import catch_warnings

import numpy as np
import pyarrow as pa

from privtrace.coordinates import code_of
from privtrace.errors import DataError, OutputError
from privtrace.io import printing
from privtrace.io.beginning import Beginning
from privtrace.io.columns import CALENDAR_LISTS, LIST, TIME, Declared
from privtrace.io.extras import require
from privtrace.io.features import FEATURES_AT_ONCE, Feature, Features, LayerReader, TextReader, meaning
from privtrace.io.files import CURE, FileVersion, Snapshot, declared_crs
from privtrace.io.geometries import OTHER, from_wkb, refuse_other_kinds
from privtrace.io.output_tables import GEOMETRY, line_tables, point_tables
from privtrace.io.source import Sizes
from privtrace.parsing import dates
from privtrace.parsing.clock import ISO_CLOCK
from privtrace.trajectories import Crs, Floats, Integers, Trajectories

#: What the layer is called that is written, and that is read where there are several.
LAYER = "trajectories"


@dataclass(frozen=True)
class Kind:
    """Say how GDAL calls a format, and how a layer of it is written."""

    name: str
    driver: str
    suffix: str  # GDAL warns of other names
    geometry: str = "Unknown"  # points where trajectories have one, else lines
    options: Mapping[str, str] = field(default_factory=dict)
    words: str | None = None  # the option that takes the words about the whole
    beside: tuple[str, ...] = ()  # suffixes of files that belong to it


GEOPACKAGE = Kind("GeoPackage", "GPKG", ".gpkg", words="DESCRIPTION")
# Without an index, which would put features into another order.
FLATGEOBUF = Kind("FlatGeobuf", "FlatGeobuf", ".fgb", options={"SPATIAL_INDEX": "NO"}, words="DESCRIPTION")
_IN_UTF8, _BESIDE = {"ENCODING": "UTF-8"}, (".shx", ".dbf", ".prj", ".cpg")
SHAPEFILE = Kind("Shapefile", "ESRI Shapefile", ".shp", "Point", _IN_UTF8, beside=_BESIDE)
KML = Kind("KML", "KML", ".kml")

KINDS = (GEOPACKAGE, SHAPEFILE, FLATGEOBUF, KML)

Batches = Iterator[pa.RecordBatch]


def gdal(path: Path, kind: Kind) -> ModuleType:
    """Load what reads and writes a format."""
    require("pyogrio.raw", f"{path}: {kind.name}")
    pyogrio = require("pyogrio", f"{path}: {kind.name}")
    # Its own way to read FlatGeobuf lays a feature without a geometry over the one before it.
    pyogrio.set_gdal_config_options({"OGR_FLATGEOBUF_STREAM_BASE_IMPL": "YES"})
    return pyogrio


class _Layers:
    """Open the layers of a file as streams of batches."""

    def __init__(self, path: Path, kind: Kind) -> None:
        self.path, self._kind = path, kind
        self._place = path.resolve()  # a name that is not absolute might be taken for an address
        self._pyogrio = gdal(path, kind)

    def names(self) -> list[str]:
        """List the layers that have geometries."""
        layers = self._read(self._pyogrio.list_layers, self._place)
        return [name for name, shapes in layers if shapes is not None]

    def about(self, layer: str | int) -> Mapping[str, Any]:
        """Tell what a layer says about itself."""
        about: Mapping[str, Any] = self._read(self._pyogrio.read_info, self._place, layer=layer)
        return about

    def batches(
        self,
        layer: str | int,
        names: Sequence[str],
        n_rows: int = FEATURES_AT_ONCE,
        *,
        text_times: bool = False,
    ) -> Batches:
        """Yield some columns of a layer, and last its geometries, whose name may be that of another column.

        The first batch is empty and shows the types.
        """
        options = {"columns": names, "batch_size": n_rows, "datetime_as_string": text_times}
        stream = self._pyogrio.raw.open_arrow(self._place, layer=layer, use_pyarrow=True, **options)
        with ExitStack() as stack:
            _, batches = self._read(stack.enter_context, stream)
            yield pa.RecordBatch.from_pylist([], batches.schema)
            while (batch := self._read(next, batches, None)) is not None:
                yield batch

    def _read(self, read: Callable[..., Any], *given: Any, **named: Any) -> Any:
        """Turn GDAL's errors into ours and keep its warnings back: its own words may quote a row."""
        try:
            with catch_warnings(action="ignore"):
                return read(*given, **named)
        except (RuntimeError, ValueError, OSError):  # those of pyogrio and arrow are of these kinds
            raise DataError(
                f"{self.path}: cannot be read as {self._kind.name} (damaged or truncated); {CURE}"
            ) from None


class OgrReader(LayerReader):
    """Read features from the one layer of a file that has points or lines."""

    def __init__(self, kind: Kind, beginning: Beginning, declared: Declared) -> None:
        path = beginning.path
        self.snapshot = _with_files_beside(path, kind)
        self._layers = _Layers(path, kind)
        self._layer = _chosen(path, self._layers.names())
        about = self._layers.about(self._layer)
        shapes = _plain_kind(about["geometry_type"])
        refuse_other_kinds(path, {shapes} - {"Unknown"})
        schema = next(self._layers.batches(self._layer, list(about["fields"]), 1)).schema
        others = pa.schema(list(schema)[:-1])
        crs = meaning(path, _described(path, about["crs"], kind), declared)
        self.understand(path, others, declared, crs, points_only=shapes == "Point")
        # Of a type that means time, values may name a zone or not: each is read by itself. A database has UTC.
        self._text_times = kind is not GEOPACKAGE and pa.types.is_timestamp(self.time_type)

    def features(self, sizes: Sizes) -> Iterator[Features]:
        """Yield the features of some rows at a time."""
        n_rows, time = min(sizes.batch_rows, FEATURES_AT_ONCE), self.layout.time
        for batch in self._layers.batches(self._layer, self.layout.names, n_rows, text_times=self._text_times):
            *values, shapes = batch.columns
            columns = dict(zip(batch.schema.names, values, strict=False))
            if time and self._text_times:
                columns[time] = dates.iso(columns[time].cast(pa.large_binary()), self.layout.clock.zone)
            kind = columns[time].type if time else pa.null()
            if pa.types.is_timestamp(kind) and kind.tz is None:  # GDAL need not say that it is UTC
                columns[time] = columns[time].view(pa.timestamp(kind.unit, "UTC"))
            yield self.of_columns(from_wkb(shapes), columns)


class KmlReader(TextReader):
    """Read features from all folders of a KML file, each by the rule of features that have no header.

    A feature goes by its own name where no attribute names its trajectory. Lists of times are text.
    """

    point_clock = ISO_CLOCK

    def __init__(self, beginning: Beginning, declared: Declared) -> None:
        crs = declared_crs(beginning.path, declared, "lonlat")
        super().__init__(beginning, declared, crs)
        self._lists = (declared.columns.get(TIME), *CALENDAR_LISTS, LIST)
        self._layers = _Layers(beginning.path, KML)

    def split(self, file: BinaryIO, block_bytes: int) -> Batches:
        """Yield some features at a time, folder by folder; GDAL opens the file by itself."""
        for layer in range(len(self._layers.names())):
            names = [name for name in self._layers.about(layer)["fields"] if name != "id"]  # that of XML
            yield from self._layers.batches(layer, names, text_times=True)

    def parsed(self, pieces: pa.RecordBatch) -> tuple[Sequence[Feature], Floats, Floats, Integers]:
        """Take features out of a batch."""
        shapes = from_wkb(pieces.columns[-1])
        other = shapes.wrong.get(OTHER, np.zeros(len(shapes.counts), np.bool_)).tolist()
        found, attributes = [], pieces.select(range(pieces.num_columns - 1)).to_pylist()
        for row, single, is_other in zip(attributes, shapes.single.tolist(), other, strict=True):
            said = {name.replace("Name", "name"): value for name, value in row.items() if value is not None}
            said |= {name: _listed(said[name]) for name in self._lists if name in said}
            wrong = OTHER if is_other else None
            found.append(Feature(said, single=single, own_id=said.get("name"), wrong=wrong))
        return found, shapes.x, shapes.y, shapes.counts


def _listed(value: Any) -> Any:
    """Read a list that is written as JSON; all else stays as it is."""
    try:
        read = json.loads(value)
    except (ValueError, TypeError, RecursionError):
        return value
    return read if isinstance(read, list) else value


def shapes_of(path: Path) -> tuple[pa.ChunkedArray, Crs]:
    """Read all geometries of a file, which is public, and what their coordinates mean."""
    kind, layers = _public(path, "a region is")
    found: list[pa.Array] = []
    for layer in range(len(layers.names())):
        found += [batch.columns[-1].cast(pa.large_binary()) for batch in layers.batches(layer, [])]
    return pa.chunked_array(found, pa.large_binary()), meaning(path, _system_of(path, kind, layers), Declared())


def features_of(path: Path) -> tuple[pa.ChunkedArray, pa.Table, Crs | None]:
    """Read geometries and attributes of a file, which is public, and what coordinates mean if it says so."""
    kind, layers = _public(path, "zones are")
    shapes: list[pa.Array] = []
    attributes = []
    for layer in range(len(layers.names())):
        names = [name for name in layers.about(layer)["fields"] if kind is not KML or name != "id"]
        for batch in layers.batches(layer, names, text_times=True):
            shapes.append(batch.columns[-1].cast(pa.large_binary()))
            columns = dict(zip(batch.schema.names[:-1], batch.columns[:-1], strict=True))
            attributes.append(pa.table(columns))
    described = _system_of(path, kind, layers)
    crs = "lonlat" if kind is KML else None if described is None else meaning(path, described, Declared())
    table = pa.concat_tables(attributes, promote_options="permissive") if attributes else pa.table({})
    return pa.chunked_array(shapes, pa.large_binary()), table, crs


def _public(path: Path, what: str) -> tuple[Kind, _Layers]:
    """Open a public file, which has one layer; folders of KML count as one."""
    kind = next(kind for kind in KINDS if kind.suffix == path.suffix.lower())
    layers = _Layers(path, kind)
    names = layers.names()
    if kind is not KML and len(names) != 1:
        listed = ", ".join(repr(name) for name in names)
        raise DataError(f"{path}: {what} one layer, and this file has {len(names)} ({listed}); keep one")
    return kind, layers


def _system_of(path: Path, kind: Kind, layers: _Layers) -> Any:
    """Describe the coordinate system of the first layer, if there is one, as PROJJSON."""
    return _described(path, layers.about(0)["crs"], kind) if layers.names() else None


def _with_files_beside(path: Path, kind: Kind) -> Snapshot:
    """Remember a file, and those that belong to it, as they are now."""
    beside = [path.with_suffix(end) for suffix in kind.beside for end in {suffix, suffix.upper()}]
    return Snapshot(path, tuple(FileVersion.at(one) for one in (path, *beside) if one == path or one.is_file()))


def _chosen(path: Path, layers: Sequence[str]) -> str:
    """Choose the layer: the only one with geometries, or the one that is called as ours."""
    if len(layers) == 1 or LAYER in layers:
        return layers[0] if len(layers) == 1 else LAYER
    if not layers:
        raise DataError(f"{path}: none of its layers has geometries; write one of points or lines")
    listed = ", ".join(repr(name) for name in layers)
    raise DataError(f"{path}: has several layers, {listed}; keep one, or call the one to read {LAYER!r}")


def _plain_kind(kind: str) -> str:
    """Leave out of a type whether it has heights or measures: "LineString Z" gives "LineString"."""
    return kind.removeprefix("2.5D ").removeprefix("Measured ").removeprefix("3D ").split(" ")[0]


def _described(path: Path, crs: str | None, kind: Kind) -> Any:
    """Describe a coordinate system as PROJJSON."""
    if crs is None:
        return None
    pyproj = require("pyproj", f"{path}: {kind.name}")
    try:
        system = pyproj.CRS(crs)
        code = None if system.to_authority() else system.to_authority(min_confidence=70)
        return (pyproj.CRS(":".join(code)) if code else system).to_json_dict()
    except pyproj.exceptions.CRSError:
        return {}


def write(kind: Kind, parts: Iterable[Trajectories], path: Path) -> None:
    """Write one layer; the first part's words about the whole are its description, where there can be one."""
    pyogrio = gdal(path, kind)
    first, parts = printing.peeked(parts)
    schema, tables = point_tables(parts, plain=True) if kind is SHAPEFILE else line_tables(parts, plain=True)
    if kind is KML:
        # What names a feature there has a place of its own
        schema = schema.set(0, schema.field(0).with_name("Name"))
    options = {"layer": LAYER, "driver": kind.driver, "crs": code_of(first.crs), **kind.options}
    options |= {"geometry_name": GEOMETRY, "geometry_type": kind.geometry}
    options |= {kind.words: printing.words(first.about)} if kind.words else {}
    failures: list[BaseException] = []

    def batches() -> Batches:
        # GDAL would say in its own words that a part could not be made.
        try:
            for table in tables:
                yield from table.rename_columns(schema.names).to_batches()
        except BaseException as failure:
            failures.append(failure)
            raise

    named = path.with_suffix(kind.suffix)
    path.unlink(missing_ok=True)
    try:
        with catch_warnings(action="ignore"):  # that planar points have no coordinate system
            stream = pa.RecordBatchReader.from_batches(schema.remove_metadata(), batches())
            pyogrio.raw.write_arrow(stream, named, **options)
        named.replace(path)
    except (RuntimeError, ValueError, OSError):
        if failures:
            raise failures[0] from None
        raise OutputError(
            f"{path.parent}: {kind.name} cannot be written here; check space and permissions"
        ) from None
