"""List the formats: how each is recognized, read and written."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Callable, Iterable
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
Write: TypeAlias = Callable[
    ..., None
]  # of parts and a path, or of tables in text a stream; and of `names`, where there are columns


@dataclass(frozen=True)
class Format(Suffixed):
    """Say how one format is recognized, read and written."""

    read: Read
    write: Write
    recognizes: Callable[[bytes], bool] = lambda line: False  # from the first line
    also: tuple[str, ...] = ()  # suffixes that are read alike, and not written
    lost: Callable[[Trajectories], list[str]] = lambda part: []  # what of a part it cannot hold, in words
    folder_of: str | None = None  # written as a folder of files with this suffix, and read as one, all together
    folder_root: str = ""  # what is in such a folder even where it holds no file
    beside: tuple[str, ...] = ()  # suffixes of other files that belong to one of this format
    in_decimals: bool = False  # coordinates are written as text, with a fixed number of decimals
    has_columns: bool = False  # which may be named as another program wants: `write` takes `names`
    prepare: Callable[[Path], object] = lambda path: None  # refuses, before the work, for want of a package
    lonlat_only: bool = False
    needs_times: bool = False

    @property
    def read_suffixes(self) -> tuple[str, ...]:
        """List the suffixes of files that are read in this format, packed or not."""
        return self.all_suffixes + tuple(f"{suffix}{end}" for suffix in self.also for end in ("", ".gz"))


def _later(module: str, name: str) -> Callable[..., Any]:
    """Name what an importer of a public data set has; importers stand on this, and load when called."""
    return lambda *given: getattr(import_module(f"privtrace.datasets.{module}"), name)(*given)


def _is_porto(line: bytes) -> bool:
    return any(name.upper() == "POLYLINE" for dialect in tables.DIALECTS for name in dialect.split(line))


def first_sign(text: bytes) -> bytes:
    """Take the first byte of a text that is no blank, and not of the mark that may start a file."""
    return text.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]


_SQLITE = b"SQLite format 3\0"
_KML_ROOT = re.compile(rb"<(\w+:)?kml[\s>]")
_GPX_ROOT = re.compile(rb"<(\w+:)?gpx[\s>]")

_PARQUET = Format(
    "parquet",
    (".parquet", ".pq"),
    is_text=False,
    recognizes=lambda line: line.startswith(b"PAR1"),
    read=parquet.ParquetReader,
    write=parquet.write,
    has_columns=True,
)
_CSV = Format(
    "csv",
    (".csv",),
    is_text=True,
    in_decimals=True,
    recognizes=lambda line: True,
    read=tables.TableReader,
    write=tables.write,
    has_columns=True,
)
# Not recognized by a first line: a table says in its header what stands between fields, and is read as CSV.
_TSV = Format(
    "tsv",
    (".tsv", ".tab"),
    is_text=True,
    in_decimals=True,
    read=_CSV.read,
    write=partial(tables.write, delimiter="\t"),
    has_columns=True,
)
# Known by its name: the first line is a trajectory's.
_DAT = Format(
    "dat",
    (".dat",),
    is_text=True,
    in_decimals=True,
    read=_later("dat", "DatReader"),
    write=_later("dat", "write"),
    lost=_later("dat", "lost"),
)
_PORTO = Format(
    "porto",
    (),
    is_text=True,
    in_decimals=True,
    recognizes=_is_porto,
    read=_later("porto", "PortoReader"),
    write=_later("porto", "write"),
    lonlat_only=True,
    lost=_later("porto", "lost"),
)
# Known by the footer of a Parquet file; points and lines are read alike.
_GEOPARQUET = Format(
    "geoparquet",
    (".geoparquet",),
    is_text=False,
    read=geoparquet.GeoParquetReader,
    write=geoparquet.write_points,
    lost=printing.bad_points_lost,
)
_GEOPARQUET_LINES = replace(_GEOPARQUET, name="geoparquet-lines", suffixes=(), write=geoparquet.write_lines)
_GPKG = Format(
    "gpkg",
    (".gpkg",),
    is_text=False,
    recognizes=lambda line: line.startswith(_SQLITE) and line[68:72] in (b"GPKG", b"GP10", b"GP11"),
    read=partial(ogr.OgrReader, ogr.GEOPACKAGE),
    write=partial(ogr.write, ogr.GEOPACKAGE),
    prepare=partial(ogr.gdal, kind=ogr.GEOPACKAGE),
    lost=printing.bad_points_lost,
)
_FGB = replace(
    _GPKG,
    name="fgb",
    suffixes=(".fgb",),
    recognizes=lambda line: line.startswith(b"fgb\x03fgb"),
    read=partial(ogr.OgrReader, ogr.FLATGEOBUF),
    write=partial(ogr.write, ogr.FLATGEOBUF),
    prepare=partial(ogr.gdal, kind=ogr.FLATGEOBUF),
)
_SHP = replace(
    _GPKG,
    name="shp",
    suffixes=(".shp",),
    recognizes=lambda line: line.startswith(b"\0\0\x27\x0a"),
    read=partial(ogr.OgrReader, ogr.SHAPEFILE),
    write=partial(ogr.write, ogr.SHAPEFILE),
    prepare=partial(ogr.gdal, kind=ogr.SHAPEFILE),
    beside=ogr.SHAPEFILE.beside,
)
_KML = replace(
    _GPKG,
    name="kml",
    suffixes=(".kml",),
    in_decimals=True,
    recognizes=lambda head: first_sign(head) == b"<" and _KML_ROOT.search(head) is not None,
    read=ogr.KmlReader,
    write=partial(ogr.write, ogr.KML),
    prepare=partial(ogr.gdal, kind=ogr.KML),
    lonlat_only=True,
    lost=lambda part: [*printing.bad_points_lost(part), *printing.numbers_lost(part)],
)
_GEOJSON = Format(
    "geojson",
    (".geojson",),
    is_text=True,
    in_decimals=True,
    also=SEQUENCES,
    recognizes=lambda line: first_sign(line) == b"{",
    read=JsonReader,
    write=feature_writers.geojson,
    lonlat_only=True,
    lost=printing.bad_points_lost,
)
# Not recognized by a first line: moving features are features too, and read as GeoJSON.
_MFJSON = replace(
    _GEOJSON,
    name="mfjson",
    suffixes=(".mfjson",),
    also=(),
    recognizes=lambda line: False,
    write=feature_writers.mfjson,
    needs_times=True,
    lost=feature_writers.lost_in_mfjson,
)
_GPX = Format(
    "gpx",
    (".gpx",),
    is_text=True,
    in_decimals=True,
    recognizes=lambda head: first_sign(head) == b"<" and _GPX_ROOT.search(head) is not None,
    read=gpx.GpxReader,
    write=feature_writers.gpx,
    lonlat_only=True,
    lost=feature_writers.lost_in_gpx,
)
# Known by its name.
_GEOLIFE = Format(
    "geolife",
    (".plt",),
    is_text=False,
    in_decimals=True,
    read=_later("geolife", "GeolifeReader"),
    write=_later("geolife", "write"),
    lonlat_only=True,
    needs_times=True,
    lost=_later("geolife", "lost"),
    folder_of=".plt",
    folder_root="Data",
)

#: By name, in the order in which they are asked whether they recognize a file.
FORMATS = {
    format.name: format
    for format in (
        _PARQUET,
        _GEOPARQUET,
        _GEOPARQUET_LINES,
        _GPKG,
        _SHP,
        _FGB,
        _KML,
        _GEOJSON,
        _MFJSON,
        _GPX,
        _DAT,
        _PORTO,
        _GEOLIFE,
        _CSV,
        _TSV,
    )
}


def format_of_output(path: Path, name: str | None, names: str | None = None) -> Format:
    """Choose the format to write, by its name if given, else by the suffix, and how its columns are named."""
    is_standard = str(path) == STANDARD
    format = chosen(path, "csv" if is_standard and name is None else name, FORMATS)
    if is_standard and not (format.has_columns and format.is_text):
        raise OutputError(f"{format.name} cannot go to standard output; write csv or tsv, or give a path")
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


def write(parts: Iterable[Trajectories], path: Path, format: Format, *, packed: bool) -> None:
    """Write a file in a format, packed with gzip or not."""
    if not packed:
        return format.write(parts, path)
    plain = path.with_name(f"{path.name}-plain")
    try:
        format.write(parts, plain)
        # Without name and date, so that the same trajectories make the same file.
        with (
            plain.open("rb") as file,
            path.open("wb") as sink,
            gzip.GzipFile("", "wb", 6, sink, mtime=0) as packer,
        ):
            shutil.copyfileobj(file, packer, 1 << 20)
    finally:
        plain.unlink(missing_ok=True)
