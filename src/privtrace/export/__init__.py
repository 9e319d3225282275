"""Export what a model says as tables and maps: as publishable as the model, at no further budget.

No trajectory is read here. `export` is also a method of every model.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from privtrace.errors import OutputError, SettingsError
from privtrace.export import geojson, geotiff
from privtrace.export.columns import PRODUCTS, TIMED
from privtrace.export.tables import product
from privtrace.io.extras import require
from privtrace.io.formats import Suffixed
from privtrace.io.formats import chosen as by_name_or_suffix
from privtrace.methods.model import Model
from privtrace.methods.view import View
from privtrace.storage.atomic import Target, check_target, streaming

__all__ = ["FORMATS", "PRODUCTS", "RASTERS", "TIMED", "check_export", "export"]

Write: TypeAlias = Callable[[Model, View, str, Any], None]


def export(
    model: Model,
    what: str | None,
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    force: bool = False,
) -> None:
    """Write one of the tables or maps that a model gives. It costs no privacy.

    Parameters
    ----------
    what
        "od", trips from cell to cell; "density", noisy visits, starts and ends of the cells; "transitions",
        moves from a cell to the next; "grid", the cells. Of a model with times also "departures" in the hours
        of the week, and by part of the day "hourly-od", "hourly-density" and "speeds". None is "density" for
        .tif.
    path
        Its suffix is the format unless that is named: .csv, .parquet, .geojson except for departures, or .tif
        for density, hourly-density and speeds; text is packed if the path ends in .gz. The file appears
        complete or not at all. "-" is standard output, for text; "csv" is the default there.
    format
        "csv", "parquet", "geojson" or "geotiff".
    force
        Overwrite an existing file.
    """
    what, chosen, target = check_export(what, path, format=format, force=force)
    if what in TIMED and model.release.times is None:
        raise SettingsError(
            f"--what (what) {what}: the model has no times. Fit a model with --times (times=True) on data "
            "with a time column, or export one of "
            f"{', '.join(name for name in PRODUCTS if name not in TIMED)}"
        )
    view = model.view()
    with streaming(target, packed=chosen.is_packed(target.path)) as sink:
        chosen.write(model, view, what, sink)


def check_export(
    what: str | None, path: str | os.PathLike[str], *, format: str | None = None, force: bool = False
) -> tuple[str, ExportFormat, Target]:
    """Refuse, before any work, what `export` would refuse; return what to write, how and where."""
    chosen = by_name_or_suffix(Path(path), format, FORMATS)
    what = chosen.default if what is None else what
    if what not in PRODUCTS:
        raise SettingsError(
            f"--what (what) must be one of {', '.join(PRODUCTS)}{'' if what is None else f', not {what!r}'}"
        )
    if what not in chosen.products:
        others = [suffix for other in FORMATS.values() if what in other.products for suffix in other.suffixes]
        raise OutputError(
            f"{path}: {chosen.name} can hold {', '.join(chosen.products)}, but not {what}; for {what} "
            f"give a path that ends in {', '.join(others)}"
        )
    if chosen.package:
        require(chosen.package, f"{path}: {chosen.name}")
    return what, chosen, check_target(path, force, is_text=chosen.is_text)


@dataclass(frozen=True)
class ExportFormat(Suffixed):
    """Say how one format is written, and what it can hold."""

    write: Write
    products: tuple[str, ...] = tuple(PRODUCTS)
    package: str | None = None  # that it needs, of the geo extra
    default: str | None = None  # the product, where none is named


def _write_csv(model: Model, view: View, what: str, sink: Any) -> None:
    """Write a table; text has no place for words about it."""
    laid_out = product(model, view, what)
    # Arrow would put names into quotes; ours need none, nor do names of layers.
    sink.write((",".join(laid_out.schema.names) + "\n").encode())
    options = pa.csv.WriteOptions(include_header=False, quoting_style="none")
    with pa.csv.CSVWriter(sink, laid_out.schema, write_options=options) as writer:
        for rows in laid_out.rows:
            writer.write_table(rows.table)


def _write_parquet(model: Model, view: View, what: str, sink: Any) -> None:
    """Write a table, with the words about it in the footer."""
    laid_out = product(model, view, what)
    with pq.ParquetWriter(sink, laid_out.schema, compression="zstd") as writer:
        for rows in laid_out.rows:
            writer.write_table(rows.table)


#: What maps show: hours of the week have no place there. And what rasters show, and what it is there.
_MAPS = tuple(name for name in PRODUCTS if name != "departures")
RASTERS = {
    "density": "noisy visits per unit of area",
    "hourly-density": "trips through each cell per unit of area, by part of the day",
    "speeds": PRODUCTS["speeds"],
}

#: By name.
FORMATS = {
    "csv": ExportFormat("CSV", (".csv",), True, _write_csv),
    "parquet": ExportFormat("Parquet", (".parquet", ".pq"), False, _write_parquet),
    "geojson": ExportFormat("GeoJSON", (".geojson", ".json"), True, geojson.write, _MAPS),
    "geotiff": ExportFormat(
        "GeoTIFF",
        (".tif", ".tiff"),
        False,
        geotiff.write,
        tuple(RASTERS),
        package="rasterio",
        default="density",
    ),
}
