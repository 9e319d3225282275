"""List the formats: how each is recognized, read and written."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from privtrace.errors import OutputError
from privtrace.io import feature_writers, geoparquet, gpx, ogr, parquet, printing, tables
from privtrace.io.beginning import Beginning
from privtrace.io.columns import Declared
from privtrace.io.json_features import SEQUENCES, JsonReader
from privtrace.io.naming import NAMES
from privtrace.io.source import Reader
from privtrace.io.suffixes import Suffixed, chosen
from privtrace.trajectories import Trajectories

#: The path that is standard input or output.
STANDARD = "-"

Read: TypeAlias = Callable[[Beginning, Declared], Reader]


@dataclass(frozen=True)
class Format(Suffixed):
    """Say how one format is recognized, read and written."""

    read: Read
    write: Callable[
        ..., None
    ]  # of parts, and a stream for text, else a path; and of `names`, if it has columns
    recognizes: Callable[[Beginning], bool] = lambda beginning: False  # by what is no row of it
    by_name: tuple[str, ...] = ()  # suffixes that alone tell it: there the first bytes are a row's
    lost: Callable[[Trajectories], list[str]] = lambda part: []  # what of a part it cannot hold, in words
    folder_of: str | None = None  # written as a folder of files with this suffix, and read as one, all together
    folder_root: str = ""  # what is in such a folder even where it holds no file
    beside: tuple[str, ...] = ()  # suffixes of other files that belong to one of this format
    has_printed_numbers: bool = False  # as text has, although it is not written to a stream
    has_columns: bool = False  # which may be named as another program wants
    prepare: Callable[[Path], object] = lambda path: None  # refuses, before the work, for want of a package
    lonlat_only: bool = False
    needs_times: bool = False

    @property
    def in_decimals(self) -> bool:
        """Say whether coordinates are written with a fixed number of decimals."""
        return self.is_text or self.has_printed_numbers

    @property
    def read_suffixes(self) -> tuple[str, ...]:
        """List the suffixes of files that are read in this format, packed or not."""
        return self.all_suffixes + self.by_name


def _imported(module: str, reader: str, name: str, suffixes: tuple[str, ...], **more: Any) -> Format:
    """Say how the format of a public data set is read; its importer stands on this, and loads when called."""

    def later(what: str) -> Callable[..., Any]:
        return lambda *given: getattr(import_module(f"privtrace.datasets.{module}"), what)(*given)

    return Format(name, suffixes, read=later(reader), write=later("write"), lost=later("lost"), **more)


def _by_gdal(name: str, kind: ogr.Kind, recognizes: Callable[[Beginning], bool]) -> Format:
    read, write = partial(ogr.OgrReader, kind), partial(ogr.write, kind)
    made = Format(name, (kind.suffix,), False, read, write, recognizes, lost=printing.bad_points_lost)
    return replace(made, prepare=partial(ogr.gdal, kind=kind), beside=kind.beside)


def _is_parquet(beginning: Beginning) -> bool:
    return beginning.raw.startswith(b"PAR1")


def _is_geopackage(beginning: Beginning) -> bool:
    marks = (b"GPKG", b"GP10", b"GP11")
    return beginning.raw.startswith(b"SQLite format 3\0") and beginning.raw[68:72] in marks


def _is_xml(root: bytes, beginning: Beginning) -> bool:
    """Tell a format by its root, which may stand after declarations and comments."""
    head = beginning.head()
    return first_sign(head) == b"<" and re.search(rb"<(\w+:)?" + root + rb"[\s>]", head) is not None


def _is_porto(beginning: Beginning) -> bool:
    names = (name for dialect in tables.DIALECTS for name in dialect.split(beginning.first_line))
    return any(name.upper() == "POLYLINE" for name in names)


def first_sign(text: bytes) -> bytes:
    """Take the first byte of a text that is no blank, and not of the mark that may start a file."""
    return text.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]


_parquet = Format("parquet", (".parquet", ".pq"), False, parquet.ParquetReader, parquet.write, has_columns=True)
_geoparquet = Format(
    "geoparquet", (".geoparquet",), False, geoparquet.GeoParquetReader, geoparquet.write_points
)
_kml = _by_gdal("kml", ogr.KML, partial(_is_xml, b"kml"))
_geojson = Format("geojson", (".geojson",), True, JsonReader, feature_writers.geojson, lonlat_only=True)
_gpx = Format("gpx", (".gpx",), True, gpx.GpxReader, feature_writers.gpx, partial(_is_xml, b"gpx"))
# What is recognized as nothing else: a table says in its header what stands between fields.
_csv = Format("csv", (".csv",), True, tables.TableReader, tables.write, has_columns=True)

#: By name, in the order in which they are asked whether they recognize a file.
FORMATS = {
    format.name: format
    for format in (
        replace(_parquet, recognizes=lambda start: _is_parquet(start) and not geoparquet.is_geoparquet(start)),
        # Points and lines are read alike.
        replace(_geoparquet, recognizes=_is_parquet, lost=printing.bad_points_lost),
        replace(
            _geoparquet,
            name="geoparquet-lines",
            suffixes=(),
            write=geoparquet.write_lines,
            lost=printing.bad_points_lost,
        ),
        _by_gdal("gpkg", ogr.GEOPACKAGE, _is_geopackage),
        _by_gdal("shp", ogr.SHAPEFILE, lambda start: start.raw.startswith(b"\0\0\x27\x0a")),
        _by_gdal("fgb", ogr.FLATGEOBUF, lambda start: start.raw.startswith(b"fgb\x03fgb")),
        replace(
            _kml,
            read=ogr.KmlReader,
            has_printed_numbers=True,
            lonlat_only=True,
            lost=lambda part: [*printing.bad_points_lost(part), *printing.numbers_lost(part)],
        ),
        replace(
            _geojson,
            recognizes=lambda start: first_sign(start.head()) == b"{",
            by_name=tuple(f"{suffix}{end}" for suffix in SEQUENCES for end in ("", ".gz")),
            lost=printing.bad_points_lost,
        ),
        # Moving features are features too, and read as GeoJSON.
        replace(
            _geojson,
            name="mfjson",
            suffixes=(".mfjson",),
            write=feature_writers.mfjson,
            needs_times=True,
            lost=feature_writers.lost_in_mfjson,
        ),
        replace(_gpx, lonlat_only=True, lost=feature_writers.lost_in_gpx),
        _imported("dat", "DatReader", "dat", (".dat",), is_text=True, by_name=(".dat", ".dat.gz")),
        _imported("porto", "PortoReader", "porto", (), is_text=True, recognizes=_is_porto, lonlat_only=True),
        _imported(
            "geolife",
            "GeolifeReader",
            "geolife",
            (".plt",),
            is_text=False,
            has_printed_numbers=True,
            by_name=(".plt",),
            lonlat_only=True,
            needs_times=True,
            folder_of=".plt",
            folder_root="Data",
        ),
        _csv,
        replace(_csv, name="tsv", suffixes=(".tsv", ".tab"), write=partial(tables.write, delimiter="\t")),
    )
}


def format_of_output(path: Path, name: str | None, names: str | None = None) -> Format:
    """Choose the format to write, by its name if given, else by the suffix, and how its columns are named."""
    is_standard = str(path) == STANDARD
    format = chosen(path, "csv" if is_standard and name is None else name, FORMATS)
    if is_standard and not format.is_text:
        raise OutputError(
            f"{format.name} cannot go to standard output; write csv or other text, or give a path"
        )
    format.prepare(path)
    if names is None:
        return format
    if names not in NAMES:
        raise OutputError(f"{path}: unknown names {names!r}; they must be those of {', '.join(NAMES)}")
    if not format.has_columns:
        able = ", ".join(other.name for other in FORMATS.values() if other.has_columns)
        raise OutputError(f"{path}: {format.name} has no columns to name as {names} does; write one of {able}")
    return replace(format, write=partial(format.write, names=names), lost=_lost_by_names)


def _lost_by_names(part: Trajectories) -> list[str]:
    """Say in words what of a part is lost in a table named as another program wants it."""
    return [*printing.numbers_lost(part), *printing.zone_lost(part)]
