"""Lay out what a model says of cells, trips and moves as tables, a part at a time. Post-processing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from privtrace.release import Release
from privtrace.space.grid import Grid
from privtrace.space.region import Region
from privtrace.synthesizers.view import Layer, View
from privtrace.trajectories import Floats, Integers

#: What can be exported, and what each is.
PRODUCTS = {
    "od": "trips from cell to cell",
    "density": "noisy visits, starts and ends of the cells",
    "transitions": "moves from a cell to the next",
    "grid": "the cells",
}

#: Rows of flows that are held at once, as text too.
CHUNK_ROWS = 1 << 16

Columns: TypeAlias = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """Hold rows of a table, all of one layer, and the cells that they are about."""

    grid: Grid
    cells: Integers  # (n,)
    onto: Integers | None  # (n,): where the flows lead, for flows
    table: pa.Table


@dataclass(frozen=True, eq=False)
class Product:
    """Hold a table that a model gives, as rows that come one after the other."""

    schema: pa.Schema  # its metadata say what the release promises and what the columns mean
    rows: Iterator[Rows]


def product(release: Release, view: View, what: str) -> Product:
    """Lay out one of PRODUCTS."""
    meanings = _meanings(what, release.region, view.trips_from)
    types = {"layer": pa.string(), **dict.fromkeys(_WHOLE, pa.int64())}
    schema = pa.schema(
        [(name, types.get(name, pa.float64())) for name in meanings],
        {**words(release, what), "privtrace.columns": json.dumps(meanings)},
    )
    rows = _flows(view, what, schema) if what in _FLOWS else _cells(view, what, schema)
    return Product(schema, rows)


def words(release: Release, what: str) -> dict[str, str]:
    """Give the words that go along with a product."""
    return {
        **release.about,
        "privtrace.product": f"{what}: {PRODUCTS[what]}",
        "privtrace.coordinates": _COORDINATES[release.crs],
    }


def areas(grid: Grid) -> Floats:
    """Measure what of each cell is in the region, (n_cells,): in km², or squared units if planar."""
    west, south, east, north = grid.boxes.T
    sizes: Floats = (east - west) * (north - south)
    offsets = grid.pieces.offsets
    is_cut = offsets[1:] > offsets[:-1]
    sizes[is_cut] = grid.pieces.cumulative[offsets[1:][is_cut] - 1]
    per_km2 = 1e6 if grid.region.crs == "lonlat" else 1.0
    sizes *= np.prod(grid.region.scale_m) / per_km2
    return sizes


def per_area(layer: Layer) -> Floats:
    """Divide the visits of each cell by its area: (n_cells,)."""
    density: Floats = layer.visits.values / areas(layer.grid)
    return density


def _cells(view: View, what: str, schema: pa.Schema) -> Iterator[Rows]:
    """Lay out the cells layer by layer, with their boxes and what is to be said of them."""
    for layer in view.layers:
        grid = layer.grid
        numbers = np.arange(grid.n_cells)
        west, south, east, north = grid.boxes.T
        turn = grid.region.area.turn
        area, _ = _area_names(grid.region)
        columns = {
            "layer": layer.name,
            "cell": numbers,
            # A box across the antimeridian has its west greater than its east, as regions have it.
            "west": np.where(west >= 180, west - turn, west),
            "south": south,
            "east": np.where(east > 180, east - turn, east),
            "north": north,
            area: areas(grid),
            **(_numbers(layer) if what == "density" else _divisions(grid)),
        }
        yield Rows(grid, numbers, None, _table(columns, len(numbers), schema))


def _numbers(layer: Layer) -> Columns:
    """Give the noisy numbers of a layer's cells."""
    columns: Columns = {_area_names(layer.grid.region)[1]: per_area(layer)}
    for number in layer.numbers:
        columns |= {number.name: number.values, f"{number.name}_error": number.error}
    return columns


def _divisions(grid: Grid) -> Columns:
    """Give the coarse cell that each cell is in, and into how many per side that is divided."""
    coarse = np.searchsorted(grid.first_slot, grid.slots, side="right") - 1
    row, column = np.divmod(coarse, len(grid.divisions))
    return {"coarse_row": row, "coarse_column": column, "division": grid.divisions.ravel()[coarse]}


def _flows(view: View, what: str, schema: pa.Schema) -> Iterator[Rows]:
    """Lay out flows chunk by chunk, with the centers of the cells that they go between."""
    origin, destination, weight, _ = _FLOWS[what]
    for flows in (view.trips,) if what == "od" else view.moves:
        layer = view.layers[flows.layer]
        for first in range(0, len(flows.weights), CHUNK_ROWS):
            chunk = slice(first, first + CHUNK_ROWS)
            origins, destinations = flows.origins[chunk], flows.destinations[chunk]
            columns = {
                "layer": layer.name,
                **_ends(layer.grid, origin, origins),
                **_ends(layer.grid, destination, destinations),
                weight: flows.weights[chunk],
                "error": flows.error,
            }
            yield Rows(layer.grid, origins, destinations, _table(columns, len(origins), schema))


def _ends(grid: Grid, name: str, cells: Integers) -> Columns:
    """Give the cells where flows begin or end, and their centers."""
    x, y = grid.pieces.centers[cells].T
    x_name, y_name = _axes(grid.region)
    longitudes = np.where(x > 180, x - grid.region.area.turn, x)
    return {name: cells, f"{name}_{x_name}": longitudes, f"{name}_{y_name}": y}


def _table(columns: Columns, length: int, schema: pa.Schema) -> pa.Table:
    """Lay columns out as the schema says; what is no array stands in every row, and what is missing is null."""
    arrays = []
    for field in schema:
        column = columns.get(field.name)
        is_array = isinstance(column, np.ndarray)
        arrays.append(
            pa.array(column, field.type) if is_array else pa.repeat(pa.scalar(column, field.type), length)
        )
    return pa.table(arrays, schema=schema)


_WHOLE = ("cell", "origin", "destination", "from", "to", "coarse_row", "coarse_column", "division")

_COORDINATES = {
    "lonlat": "longitude and latitude in degrees (WGS 84)",
    "planar": "planar, in the units of the data",
}


def _axes(region: Region) -> tuple[str, str]:
    return ("lon", "lat") if region.crs == "lonlat" else ("x", "y")


def _area_names(region: Region) -> tuple[str, str]:
    """Name the columns of area and of visits per area, with their unit."""
    return ("area_km2", "visits_per_km2") if region.crs == "lonlat" else ("area", "visits_per_area")


def _meanings(what: str, region: Region, trips_from: str) -> dict[str, str]:
    """List the columns of a product in their order, each with what it means."""
    unit = "km²" if region.crs == "lonlat" else "squared units of the coordinates"
    area, density = _area_names(region)
    layer = {"layer": "the layer of cells, from coarse to fine; each has numbers of its own"}
    cells = {
        **layer,
        "cell": "the number of the cell in its layer, as in the model",
        **{side: f"the {side} side of the cell's box" for side in ("west", "south", "east", "north")},
        area: f"what of the cell is in the region, in {unit}",
    }
    if what == "grid":
        return {
            **cells,
            "coarse_row": "the row of the coarse cell that the cell is in, from the south",
            "coarse_column": "its column, from the west",
            "division": "cells per side that this coarse cell is divided into",
        }
    if what == "density":
        return {**cells, **_numbers_meanings(density, unit)}
    origin, destination, weight, meaning = _FLOWS[what]
    return {
        **layer,
        origin: "the cell where the flow begins",
        destination: "the cell where it ends",
        weight: meaning.format(trips_from=trips_from),
        "error": "the standard deviation of the noise of one number, before cleaning; null where no number was "
        "measured by itself",
        **{
            f"{end}_{axis}": f"the center of the cell {end}, {axis}"
            for end in (origin, destination)
            for axis in _axes(region)
        },
    }


_FLOWS = {
    "od": (
        "origin",
        "destination",
        "trips",
        "trajectories from first to last cell, not negative. {trips_from}",
    ),
    "transitions": (
        "from",
        "to",
        "weight",
        "moves, cleaned, in trajectories: each trajectory weighs one at most, divided over all its moves",
    ),
}


def _numbers_meanings(density: str, unit: str) -> dict[str, str]:
    spread = "noisy, as measured: in trajectories, may be negative; null where the layer has none"
    error = "the standard deviation of the noise of each"
    return {
        "visits": f"each trajectory divided evenly over the cells that it visits; {spread}",
        "visits_error": f"{error} number of visits",
        density: f"visits for each of the {unit} of the cell",
        "starts": f"first cells of trajectories; {spread}",
        "starts_error": f"{error} number of starts",
        "ends": f"last cells of trajectories; {spread}",
        "ends_error": f"{error} number of ends",
    }
