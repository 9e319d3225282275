"""List the formats: how each is named, recognized, read and written; and choose the one to write."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from privtrace.errors import OutputError
from privtrace.io import feature_writers, geoparquet, ogr, parquet, tables
from privtrace.io.beginning import Beginning
from privtrace.io.columns import Declared
from privtrace.io.geoparquet import GeoParquetReader
from privtrace.io.gpx import GpxReader
from privtrace.io.json_features import SEQUENCES, JsonReader
from privtrace.io.output_tables import NAMES, line_tables, point_tables
from privtrace.io.printing import BAD_POINTS, NUMBERS_AS_TIMES, TIME_ZONE, TIMELESS_POINTS, losing
from privtrace.io.source import Reader
from privtrace.storage.atomic import STANDARD
from privtrace.trajectories import Trajectories

Read: TypeAlias = Callable[[Beginning, Declared], Reader]
Recognizes: TypeAlias = Callable[[Beginning], bool]


@dataclass(frozen=True)
class Suffixed:
    """Say how a format is called, and how files in it are."""

    name: str
    suffixes: tuple[str, ...]  # the first is the usual one
    is_text: bool  # text may be packed with gzip, and then its suffix has .gz after it

    @property
    def all_suffixes(self) -> tuple[str, ...]:
        """List the suffixes, packed or not."""
        return self.suffixes + tuple(f"{suffix}.gz" for suffix in self.suffixes if self.is_text)

    def is_packed(self, path: Path) -> bool:
        """Tell whether a file of this path is packed with gzip."""
        return self.is_text and path.suffix.lower() == ".gz"


Chosen = TypeVar("Chosen", bound=Suffixed)


def chosen(path: Path, name: str | None, formats: Mapping[str, Chosen]) -> Chosen:
    """Choose one of some formats, by its name if given, else by the suffix; CSV for standard output."""
    is_standard = str(path) == STANDARD
    if name is None and not is_standard:
        for format in formats.values():
            if path.name.lower().endswith(format.all_suffixes):
                return format
        listed = listed_suffixes(formats.values())
        raise OutputError(f"{path}: unknown format {path.suffix!r}; the suffix must be one of {listed}")
    name = "csv" if name is None else name
    if name not in formats:
        raise OutputError(f"{path}: unknown format {name!r}; it must be one of {', '.join(formats)}")
    format = formats[name]
    if is_standard and not format.is_text:
        raise OutputError(
            f"{format.name} cannot go to standard output; write csv or other text, or give a path"
        )
    return format


def listed_suffixes(formats: Iterable[Suffixed]) -> str:
    """List the suffixes that name a format, in words."""
    suffixes = [suffix for format in formats for suffix in format.suffixes]
    return f"{', '.join(suffixes)}, and .gz after those of text"


_BAD_POINTS = losing(BAD_POINTS)


@dataclass(frozen=True)
class Format(Suffixed):
    """Say how one format is recognized, read and written."""

    read: Read
    write: Callable[..., None]  # of parts, and a stream for text, else a path; of `names`, if it has columns
    recognizes: Recognizes = lambda beginning: False  # by what is no row of it
    by_name: tuple[str, ...] = ()  # suffixes that alone tell it: there the first bytes are a row's
    lost: Callable[[Trajectories], list[str]] = _BAD_POINTS  # what of a part it cannot hold, in words
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


def _imported(module: str, reader: str, suffixes: tuple[str, ...] = (), **more: Any) -> Format:
    """Say how the format of a public data set is read; its importer stands on this, and loads when called."""

    def later(what: str) -> Callable[..., Any]:
        return lambda *given: getattr(import_module(f"privtrace.datasets.{module}"), what)(*given)

    return Format(module, suffixes, read=later(reader), write=later("write"), lost=later("lost"), **more)


def _by_gdal(kind: ogr.Kind, recognizes: Recognizes, **more: Any) -> Format:
    more = {"read": partial(ogr.OgrReader, kind), "prepare": partial(ogr.gdal, kind=kind), **more}
    more |= {"write": partial(ogr.write, kind), "recognizes": recognizes, "beside": kind.beside}
    return Format(kind.suffix.removeprefix("."), (kind.suffix,), False, **more)


def _starts(*marks: bytes) -> Recognizes:
    return lambda beginning: beginning.raw.startswith(marks)


def _is_plain_parquet(beginning: Beginning) -> bool:
    return _starts(b"PAR1")(beginning) and not geoparquet.is_geoparquet(beginning)


def _is_geopackage(beginning: Beginning) -> bool:
    return _starts(b"SQLite format 3\0")(beginning) and beginning.raw[68:72] in (b"GPKG", b"GP10", b"GP11")


def _is_json(beginning: Beginning) -> bool:
    return first_sign(beginning.head()) == b"{"


def _is_xml(root: bytes) -> Recognizes:
    """Tell a format by its root, which may stand after declarations and comments."""
    tag = re.compile(rb"<(\w+:)?" + root + rb"[\s>]")
    return lambda beginning: first_sign(head := beginning.head()) == b"<" and tag.search(head) is not None


def _is_porto(beginning: Beginning) -> bool:
    names = (name for dialect in tables.DIALECTS for name in dialect.split(beginning.first_line))
    return any(name.upper() == "POLYLINE" for name in names)


def first_sign(text: bytes) -> bytes:
    """Take the first byte of a text that is no blank, and not of the mark that may start a file."""
    return text.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]


_lonlat = partial(Format, lonlat_only=True)
_table = partial(Format, has_columns=True, lost=lambda part: [])
_PRINTED = {"has_printed_numbers": True, "lonlat_only": True}
_DATED: dict[str, Any] = {"lost": losing(BAD_POINTS, NUMBERS_AS_TIMES)}
_MOVING: dict[str, Any] = {"lost": losing(BAD_POINTS, TIMELESS_POINTS, NUMBERS_AS_TIMES), "needs_times": True}
_TRACKS = {"folder_of": ".plt", "folder_root": "Data", "needs_times": True}
_LINES = (*SEQUENCES, *(f"{suffix}.gz" for suffix in SEQUENCES))

#: In the order in which they are asked whether they recognize a file.
_ALL = (
    _table("parquet", (".parquet", ".pq"), False, parquet.ParquetReader, parquet.write, _is_plain_parquet),
    Format(
        "geoparquet",
        (".geoparquet",),
        False,
        GeoParquetReader,
        partial(geoparquet.write, point_tables),
        _starts(b"PAR1"),
    ),
    Format("geoparquet-lines", (), False, GeoParquetReader, partial(geoparquet.write, line_tables)),
    _by_gdal(ogr.GEOPACKAGE, _is_geopackage),
    _by_gdal(ogr.SHAPEFILE, _starts(b"\0\0\x27\x0a")),
    _by_gdal(ogr.FLATGEOBUF, _starts(b"fgb\x03fgb")),
    _by_gdal(ogr.KML, _is_xml(b"kml"), read=ogr.KmlReader, **_DATED, **_PRINTED),
    _lonlat("geojson", (".geojson",), True, JsonReader, feature_writers.geojson, _is_json, _LINES),
    _lonlat("mfjson", (".mfjson",), True, JsonReader, feature_writers.mfjson, **_MOVING),
    _lonlat("gpx", (".gpx",), True, GpxReader, feature_writers.gpx, _is_xml(b"gpx"), **_DATED),
    _imported("dat", "DatReader", (".dat",), is_text=True, by_name=(".dat", ".dat.gz")),
    _imported("porto", "PortoReader", is_text=True, recognizes=_is_porto, lonlat_only=True),
    _imported("geolife", "GeolifeReader", (".plt",), is_text=False, by_name=(".plt",), **_TRACKS, **_PRINTED),
    # What is recognized as nothing else: a table says in its header what stands between fields.
    _table("csv", (".csv",), True, tables.TableReader, tables.write),
    _table("tsv", (".tsv", ".tab"), True, tables.TableReader, partial(tables.write, delimiter="\t")),
)
#: By name.
FORMATS = {format.name: format for format in _ALL}


def format_of_output(path: Path, name: str | None, names: str | None = None) -> Format:
    """Choose the format to write, by its name if given, else by the suffix, and how its columns are named."""
    format = chosen(path, name, FORMATS)
    format.prepare(path)
    if names is None:
        return format
    if names not in NAMES:
        raise OutputError(f"{path}: unknown names {names!r}; they must be those of {', '.join(NAMES)}")
    if not format.has_columns:
        able = ", ".join(other.name for other in FORMATS.values() if other.has_columns)
        raise OutputError(f"{path}: {format.name} has no columns to name as {names} does; write one of {able}")
    lost = losing(NUMBERS_AS_TIMES, TIME_ZONE)
    return replace(format, write=partial(format.write, names=names), lost=lost, lonlat_only=True)
