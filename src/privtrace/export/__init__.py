"""Export what a model says as tables, maps and demand: as publishable as the model, at no further budget.

No trajectory of the data is read here. `export` is also a method of every model.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from privtrace import coordinates
from privtrace.errors import OutputError, SettingsError
from privtrace.export import geojson, geotiff, writing
from privtrace.export.columns import BY_HOURS, DEMAND, PRODUCTS, RENAMED, TIMED, ZONED, Asked, about_zones
from privtrace.io.extras import require
from privtrace.io.formats import Suffixed
from privtrace.io.formats import chosen as by_name_or_suffix
from privtrace.methods.counting import SLOTS
from privtrace.methods.declaring import MOST_SEED, spelled, whole
from privtrace.methods.model import ExportOptions, Model
from privtrace.methods.settings import MOST_TRAJECTORIES
from privtrace.storage.atomic import STANDARD, Target, check_target, replacing, streaming
from privtrace.zones import read_zones

__all__ = ["DEMAND", "FORMATS", "PRODUCTS", "TIMED", "about_zones", "check_export", "export"]

Write: TypeAlias = Callable[[Model, Asked, Any], None]
Check: TypeAlias = Callable[[Model, Asked], None]


def export(
    model: Model, what: str | None, path: str | os.PathLike[str], **options: Unpack[ExportOptions]
) -> None:
    """Write one of the tables or maps that a model gives, or demand for a simulator. It costs no privacy.

    Parameters
    ----------
    what
        "od", trips from place to place; "density", trips that pass, begin and end in each place; "transitions",
        moves from a cell to the next; "grid", the cells. Of a model with times also "departures" in the hours
        of the week, "speeds" by part of the day, and "sumo" and "matsim", synthetic trips for these simulators.
        None is "density" for .tif.
    path
        Its suffix is the format unless that is named: .csv, .parquet or .xlsx for tables; .geojson and .gpkg
        for all of them but departures; .tif for density and speeds; .omx for od; .xml for simulators. Text is
        packed if the path ends in .gz. The file appears complete or not at all. "-" is standard output.
    format
        "csv", "parquet", "xlsx", "omx", "geojson", "gpkg", "geotiff" or "xml".
    force
        Overwrite an existing file.
    by
        "hour" of the day, "part" of the day or "weekday", for "od" and "density": by local time of departure.
    zones
        Count in these public polygons instead of the cells of the model: a file, or "h3:8" or "geohash:6". For
        "od", "density" and "sumo".
    zone_id
        The attribute of the file that has the ids of zones; it may be left out if the file has only one.
    count, seed
        For simulators: how many trips, and the seed they are made from, as in `Model.sample`.
    output_crs
        For simulators: the coordinate system of the file, such as "EPSG:3763".
    """
    wanted = check_export(what, path, **options)
    if wanted.renamed is not None:
        warnings.warn(f"{what} was {wanted.renamed}", DeprecationWarning, stacklevel=3)
    wanted.write(model, wanted.asked(model))


@dataclass(frozen=True)
class ExportFormat(Suffixed):
    """Say how one format is written, and what it can hold."""

    write: Write
    products: tuple[str, ...] = tuple(PRODUCTS)
    needs: tuple[str, str] | None = None  # a package, and the extra that has it
    default: str | None = None  # the product, where none is named
    holds_zones: bool = True
    is_path: bool = False  # it is written to a path, not to a stream
    check: Check = lambda model, asked: None  # refuses before the work what it cannot hold
    words: Callable[[Model, Asked], str] = lambda model, asked: asked.words  # say what it holds


@dataclass(frozen=True, eq=False)
class Wanted:
    """Hold what to export and where, checked as far as that goes without a model."""

    asks: Asked  # without zones yet
    format: ExportFormat
    target: Target
    zones: str | os.PathLike[str] | None
    zone_id: str | None
    renamed: str | None  # what an old name was renamed to, in words

    def asked(self, model: Model) -> Asked:
        """Read zones, and refuse, before any work, what this model cannot give."""
        what, release = self.asks.what, model.release
        if release.times is None and (what in TIMED or self.asks.by is not None):
            asked_for = f"{spelled('by')} {self.asks.by}" if what not in TIMED else f"{spelled('what')} {what}"
            raise SettingsError(
                f"{asked_for}: the model has no times. Fit a model with --times (times=True) on data with a "
                f"time column, or export {', '.join(name for name in PRODUCTS if name not in TIMED)} without "
                "hours"
            )
        if self.asks.crs is not None and not coordinates.is_known(release.crs):
            raise SettingsError(
                f"{spelled('output_crs')} {self.asks.crs}: the model is planar, and nobody knows where on "
                "earth its points lie; leave it out"
            )
        zones = None if self.zones is None else read_zones(self.zones, release.region, self.zone_id)
        asked = replace(self.asks, zones=zones)
        with self._naming_target():
            self.format.check(model, asked)
        return asked

    def words(self, model: Model, asked: Asked) -> str:
        """Say what is written."""
        return self.format.words(model, asked)

    def write(self, model: Model, asked: Asked) -> None:
        """Write it; the file appears complete or not at all."""
        if self.format.is_path:
            with replacing(self.target) as temporary, self._naming_target():
                self.format.write(model, asked, temporary)
            return
        packed = self.format.is_packed(self.target.path)
        with streaming(self.target, packed=packed) as sink, self._naming_target():
            self.format.write(model, asked, sink)

    @contextmanager
    def _naming_target(self) -> Iterator[None]:
        """Say, of what a format cannot do, for which file it was."""
        try:
            yield
        except OutputError as error:
            raise OutputError(f"{self.target}: {error}") from None


def check_export(
    what: str | None,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    force: bool = False,
    by: str | None = None,
    zones: str | os.PathLike[str] | None = None,
    zone_id: str | None = None,
    count: int | None = None,
    seed: int | None = None,
    output_crs: str | None = None,
) -> Wanted:
    """Refuse, before any work, what `export` would refuse of any model; return what to write, how and where."""
    if what in DEMAND and format is None and os.fspath(path) == STANDARD:
        format = "xml"
    chosen = by_name_or_suffix(Path(path), format, FORMATS)
    what, renamed = chosen.default if what is None else what, None
    if what in RENAMED:
        what, by, renamed = _by_new_name(what, by)
    if what is None or what not in PRODUCTS | DEMAND:
        names = ", ".join(PRODUCTS | DEMAND)
        raise SettingsError(
            f"{spelled('what')} must be one of {names}{'' if what is None else f', not {what!r}'}"
        )
    if what not in chosen.products:
        others = [suffix for other in FORMATS.values() if what in other.products for suffix in other.suffixes]
        raise OutputError(
            f"{path}: {chosen.name} can hold {', '.join(chosen.products)}, but not {what}; for {what} "
            f"give a path that ends in {', '.join(others)}"
        )
    asks = _asks(what, by, count, seed, output_crs)
    _check_zones(what, chosen, zones, zone_id, path)
    if chosen.needs is not None:
        require(chosen.needs[0], f"{path}: {chosen.name}", chosen.needs[1])
    return Wanted(asks, chosen, check_target(path, force, is_text=chosen.is_text), zones, zone_id, renamed)


def _by_new_name(old: str, by: str | None) -> tuple[str, str, str]:
    """Translate an old name, and say so."""
    new, hours = RENAMED[old]
    if by not in (None, hours):
        raise SettingsError(f"{spelled('what')} {old} is by part of the day; pass {new} to have it by {by}")
    instead = f"renamed to {new} with --by {hours} (by={hours!r})"
    return new, hours, f"{instead}; the old name will be removed in version 0.3"


def _asks(what: str, by: str | None, count: int | None, seed: int | None, output_crs: str | None) -> Asked:
    """Check hours, and what is for simulators alone."""
    if by is not None and by not in SLOTS:
        raise SettingsError(f"{spelled('by')} must be one of {', '.join(SLOTS)}, not {by!r}")
    if by is not None and what not in BY_HOURS:
        raise SettingsError(f"{spelled('by')} is for {' and '.join(BY_HOURS)}, not for {what}; leave it out")
    for name, value in (("count", count), ("seed", seed), ("output_crs", output_crs)):
        if value is not None and what not in DEMAND:
            raise SettingsError(
                f"{spelled(name)} is for {' and '.join(DEMAND)}, which are synthetic trips, not for {what}; "
                "leave it out"
            )
    count = None if count is None else whole(count, "count", 0, MOST_TRAJECTORIES)
    seed = None if seed is None else whole(seed, "seed", 0, MOST_SEED)
    crs = None if output_crs is None else coordinates.settled(output_crs, spelled("output_crs"))
    if crs == "planar":
        raise SettingsError(
            f"{spelled('output_crs')} must name a place on earth, such as EPSG:3763, not planar"
        )
    return Asked(what, by, None, count, seed, crs)


def _check_zones(
    what: str,
    format: ExportFormat,
    zones: str | os.PathLike[str] | None,
    zone_id: str | None,
    path: str | os.PathLike[str],
) -> None:
    """Check whether there may be zones."""
    if zones is None:
        if zone_id is not None:
            raise SettingsError(
                f"{spelled('zone_id')} names an attribute of zones; pass the file with --zones (zones)"
            )
        return
    if what not in ZONED:
        *most, last = ZONED
        raise SettingsError(
            f"{spelled('zones')} is for {', '.join(most)} and {last}, not for {what}; leave it out"
        )
    if not format.holds_zones:
        raise OutputError(
            f"{path}: {format.name} shows cells of the model, not zones; write .gpkg or .geojson instead"
        )


#: What maps show: hours of the week have no place there. And what rasters show, and what it is there.
_MAPS = tuple(name for name in PRODUCTS if name != "departures")
_RASTERS = ("density", "speeds")

#: By name.
FORMATS = {
    "csv": ExportFormat("CSV", (".csv",), True, writing.write_csv),
    "parquet": ExportFormat("Parquet", (".parquet", ".pq"), False, writing.write_parquet),
    "xlsx": ExportFormat("Excel", (".xlsx",), False, writing.write_xlsx, check=writing.check_xlsx),
    "omx": ExportFormat(
        "Open Matrix",
        (".omx",),
        False,
        writing.write_omx,
        ("od",),
        needs=("h5py", "zones"),
        check=writing.check_omx,
    ),
    "geojson": ExportFormat("GeoJSON", (".geojson", ".json"), True, geojson.write, _MAPS),
    "gpkg": ExportFormat(
        "GeoPackage",
        (".gpkg",),
        False,
        writing.write_gpkg,
        _MAPS,
        needs=("pyogrio", "geo"),
        is_path=True,
    ),
    "geotiff": ExportFormat(
        "GeoTIFF",
        (".tif", ".tiff"),
        False,
        geotiff.write,
        _RASTERS,
        needs=("rasterio", "geo"),
        default="density",
        holds_zones=False,
        check=geotiff.check,
        words=geotiff.said,
    ),
    "xml": ExportFormat(
        "XML", (".xml",), True, writing.write_demand, tuple(DEMAND), check=writing.check_demand
    ),
}
