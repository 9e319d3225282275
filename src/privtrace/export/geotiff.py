"""Write density or speeds of a model's layers as a raster, one band per layer and slot of time, north up.

Across the antimeridian longitudes go on beyond 180, as a raster cannot be cut there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from privtrace.coordinates import code_of
from privtrace.errors import OutputError
from privtrace.export.columns import AREA_UNIT, PER_AREA, SPEED, Asked, words
from privtrace.export.tables import product
from privtrace.io.extras import require
from privtrace.methods.model import Model
from privtrace.space.grid import Grid
from privtrace.space.region import Region
from privtrace.trajectories import Integers

#: Pixels of a side at most.
MOST_PIXELS = 2048


def check(model: Model, asked: Asked) -> None:
    """Refuse cells that a raster cannot show, before the work."""
    pixels_per_side([layer.grid for layer in model.view().layers])


def write(model: Model, asked: Asked, sink: Any) -> None:
    """Write a band for each layer and slot, with no data outside the region, and words about it as tags."""
    rasterio = require("rasterio", "GeoTIFF")
    release, laid_out = model.release, product(model, asked)
    column = (SPEED if asked.what == "speeds" else PER_AREA)[release.crs]
    bands = [*laid_out.rows]
    size = pixels_per_side([layer.grid for layer in model.view().layers])
    west, south, east, north = release.region.bounds.tolist()
    profile = {
        "driver": "GTiff",
        "width": size,
        "height": size,
        "count": len(bands),
        "dtype": "float32",
        "nodata": math.nan,
        "crs": code_of(release.crs),
        "transform": rasterio.Affine((east - west) / size, 0, west, 0, (south - north) / size, north),
        "compress": "deflate",
    }
    # In memory: the library would take some paths for addresses, and leave files beside.
    with rasterio.MemoryFile() as file:
        with file.open(**profile) as raster:
            raster.update_tags(**words(model, asked), **{"privtrace.bands": said(model, asked)})
            cells, shown = np.zeros(0, np.int64), None  # of the pixels, and the grid that they are of
            for number, band in enumerate(bands, start=1):
                assert band.grid is not None  # otherwise the format cannot hold it
                if band.grid is not shown:
                    cells, shown = cells_of_pixels(band.grid, size), band.grid
                values = band.table[column].to_numpy()
                shades = np.where(cells < 0, math.nan, values[cells])
                raster.write(shades[::-1].astype(np.float32), number)  # rows come from the north
                raster.set_band_description(number, f"{band.layer}, {band.slot}" if band.slot else band.layer)
        sink.write(file.read())


def said(model: Model, asked: Asked) -> str:
    """Say what the bands hold."""
    crs = model.release.crs
    if asked.what == "speeds":
        return f"{SPEED[crs].replace('_', ' ')}, one band per layer and part of the day"
    bands = "one band per layer" if asked.by is None else f"one band per layer and {asked.by}"
    return f"trips per {AREA_UNIT[crs]}, {bands}"


def pixels_per_side(grids: list[Grid]) -> int:
    """Choose pixels that no cell's side cuts, if they are not too many; else as many as may be.

    A pixel belongs to the cell that its center is in. Over a polygon pixels are small, to show its edges.
    """
    least = max(len(grid.divisions) * int(grid.divisions.max()) for grid in grids)
    if least > MOST_PIXELS:
        raise OutputError(
            f"GeoTIFF: the finest cells need {least:,} pixels per side, more than the limit of "
            f"{MOST_PIXELS:,}; write .geojson or .parquet instead"
        )
    exact = math.lcm(
        *(len(grid.divisions) * division for grid in grids for division in np.unique(grid.divisions).tolist())
    )
    if exact > MOST_PIXELS:
        return MOST_PIXELS
    return exact if grids[0].region.shape is None else MOST_PIXELS // exact * exact


def cells_of_pixels(grid: Grid, size: int) -> Integers:
    """Find the cell of each pixel, or -1 outside the region: (size, size), rows from the south."""
    places = 2 * np.arange(size) + 1  # of the centers, where the side is 2 * size
    per_side = len(grid.divisions)
    coarse = places * per_side // (2 * size)
    rows, columns = coarse[:, np.newaxis], coarse
    division = grid.divisions[rows, columns].astype(np.int64)  # (size, size)
    fine_rows = places[:, np.newaxis] * per_side * division // (2 * size) - rows * division
    fine_columns = places * per_side * division // (2 * size) - columns * division
    slots = grid.first_slot[rows * per_side + columns] + fine_rows * division + fine_columns
    cells: Integers = grid.cells[slots].astype(np.int64)
    if grid.region.shape is not None:
        cells[~_inside(grid.region, size)] = -1
        _show_small(cells, grid)
    return cells


def _inside(region: Region, size: int) -> npt.NDArray[np.bool_]:
    """Tell which pixels have their centers in the region."""
    west, south, east, north = region.bounds.tolist()
    shares = (np.arange(size) + 0.5) / size
    x, y = np.meshgrid(west + (east - west) * shares, south + (north - south) * shares)
    # As planar ones: 0, 0 is a place here, and beyond 180 it goes on.
    flat = Region(west, south, east, north, "planar", region.shape)
    return flat.contains(np.stack([x.ravel(), y.ravel()], axis=1)).reshape(size, size)


def _show_small(cells: Integers, grid: Grid) -> None:
    """Give a pixel, that around its center, to each cell that has none."""
    size, bounds = len(cells), grid.region.bounds
    hidden = np.setdiff1d(np.arange(grid.n_cells), cells)
    shares = (grid.pieces.centers[hidden] - bounds[:2]) / (bounds[2:] - bounds[:2])
    columns, rows = np.minimum((shares * size).astype(np.int64), size - 1).T
    cells[rows, columns] = hidden
