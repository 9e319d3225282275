"""Lay out what a model says of cells, trips and moves as tables, a chunk at a time. Post-processing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from privtrace.export.columns import AREA, AXES, FLOWS, PER_AREA, SPEED, TRIPS_PER_AREA, schema
from privtrace.methods.model import Model
from privtrace.methods.view import Flows, Hours, Layer, Passing, View
from privtrace.space.grid import Grid
from privtrace.timing.bins import HOURS, HOURS_OF_PART, N_PARTS
from privtrace.trajectories import Crs, Floats, Integers

#: Rows of flows that are held at once, as text too.
CHUNK_ROWS = 1 << 16

#: After the point; numbers are whole 2**-20 of a trajectory, so that further ones say nothing.
_DIGITS = 6

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

Columns: TypeAlias = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """Hold rows of a table, all of one layer, and the cells that they are about, if they are about cells."""

    grid: Grid
    cells: Integers  # (n,); none of hours
    onto: Integers | None  # (n,): where the flows lead, for flows
    table: pa.Table


@dataclass(frozen=True, eq=False)
class Product:
    """Hold a table that a model gives, as rows that come one after the other."""

    schema: pa.Schema  # its metadata say what the release promises and what the columns mean
    rows: Iterator[Rows]


def product(model: Model, view: View, what: str) -> Product:
    """Lay out one of the PRODUCTS."""
    columns = schema(model, what, view.trips_from)
    if what == "departures":
        return Product(columns, _departures(view, columns))
    return Product(columns, _flows(view, what, columns) if what in FLOWS else _cells(view, what, columns))


def areas(grid: Grid) -> Floats:
    """Measure what of each cell is in the region, (n_cells,): in km², or squared units if planar."""
    west, south, east, north = grid.boxes.T
    sizes: Floats = (east - west) * (north - south)
    offsets = grid.pieces.offsets
    is_cut = offsets[1:] > offsets[:-1]
    sizes[is_cut] = grid.pieces.cumulative[offsets[1:][is_cut] - 1]
    per_km2 = 1e6 if grid.region.in_meters else 1.0
    sizes *= np.prod(grid.region.scale_m) / per_km2
    return sizes


def per_area(layer: Layer) -> Floats:
    """Divide the visits of each cell by its area: (n_cells,)."""
    density: Floats = layer.visits.values / areas(layer.grid)
    return density


def trips_per_area(layer: Layer, passing: Passing) -> Floats:
    """Divide the trips that pass each cell by its area: (N_PARTS, n_cells)."""
    density: Floats = passing.trips / areas(layer.grid)
    return density


def hours_of(view: View) -> Hours:
    """Give what a view shows of times, for what only models with times have."""
    assert view.hours is not None  # otherwise it was refused
    return view.hours


def _departures(view: View, into: pa.Schema) -> Iterator[Rows]:
    """Lay out the hours of the week."""
    departures, hours = hours_of(view).departures, np.arange(HOURS)
    columns = {
        "hour_of_week": hours,
        "weekday": np.array(_DAYS)[hours // 24],
        "hour": hours % 24,
        "trips": np.round(departures.values, _DIGITS),
        "error": departures.error,
        "share": hours_of(view).chances,
    }
    yield Rows(view.layers[0].grid, np.zeros(0, np.int64), None, _table(columns, HOURS, into))


def _cells(view: View, what: str, into: pa.Schema) -> Iterator[Rows]:
    """Lay out the cells layer by layer, with their boxes and what is to be said of them."""
    for number, layer in enumerate(view.layers):
        grid = layer.grid
        numbers = np.arange(grid.n_cells)
        west, south, east, north = grid.boxes.T
        turn = grid.region.area.turn
        columns = {
            "layer": layer.name,
            "cell": numbers,
            # A box across the antimeridian has its west greater than its east, as regions have it.
            "west": np.where(west >= 180, west - turn, west),
            "south": south,
            "east": grid.region.wrap(east),
            "north": north,
            AREA[_crs(grid)]: areas(grid),
        }
        for told in _told(view, what, number):
            yield Rows(grid, numbers, None, _table({**columns, **told}, len(numbers), into))


def _told(view: View, what: str, number: int) -> Iterator[Columns]:
    """Give what is said of the cells of a layer: once, or for each part of the day."""
    layer = view.layers[number]
    if what == "density":
        yield _numbers(layer)
    elif what == "grid":
        yield _divisions(layer.grid)
    else:
        passing, crs = hours_of(view).passing[number], _crs(layer.grid)
        per_area, speeds = trips_per_area(layer, passing), passing.speeds
        for part in range(N_PARTS):
            yield {
                **_part(part),
                "trips": np.round(passing.trips[part], _DIGITS),
                TRIPS_PER_AREA[crs]: per_area[part],
                SPEED[crs]: np.round(speeds[part], _DIGITS),
                "sampled_trips": passing.n_sampled[part],
            }


def _part(part: int) -> Columns:
    """Say from when to when a part of the day is."""
    return {"hour_from": part * HOURS_OF_PART, "hour_to": (part + 1) * HOURS_OF_PART}


def _numbers(layer: Layer) -> Columns:
    """Give the noisy numbers of a layer's cells."""
    columns: Columns = {PER_AREA[_crs(layer.grid)]: per_area(layer)}
    for number in layer.numbers:
        columns |= {number.name: np.round(number.values, _DIGITS), f"{number.name}_error": number.error}
    return columns


def _divisions(grid: Grid) -> Columns:
    """Give the coarse cell that each cell is in, and into how many per side that is divided."""
    coarse = np.searchsorted(grid.first_slot, grid.slots, side="right") - 1
    row, column = np.divmod(coarse, len(grid.divisions))
    return {"coarse_row": row, "coarse_column": column, "division": grid.divisions.ravel()[coarse]}


def _flows(view: View, what: str, into: pa.Schema) -> Iterator[Rows]:
    """Lay out flows chunk by chunk, with the centers of the cells that they go between."""
    origin, destination, weight = FLOWS[what]
    for flows, part in _all_flows(view, what):
        layer = view.layers[flows.layer]
        for first in range(0, len(flows.weights), CHUNK_ROWS):
            chunk = slice(first, first + CHUNK_ROWS)
            origins, destinations = flows.origins[chunk], flows.destinations[chunk]
            columns = {
                "layer": layer.name,
                **_ends(layer.grid, origin, origins),
                **_ends(layer.grid, destination, destinations),
                weight: np.round(flows.weights[chunk], _DIGITS),
                "error": flows.error,
                **part,
            }
            yield Rows(layer.grid, origins, destinations, _table(columns, len(origins), into))


def _all_flows(view: View, what: str) -> Iterator[tuple[Flows, Columns]]:
    """List flows, each with the part of the day that they are of, if they are of one."""
    if what == "hourly-od":
        yield from ((flows, _part(part)) for part, flows in enumerate(hours_of(view).trips))
    else:
        yield from ((flows, {}) for flows in ((view.trips,) if what == "od" else view.moves))


def _ends(grid: Grid, name: str, cells: Integers) -> Columns:
    """Give the cells where flows begin or end, and their centers."""
    x, y = grid.pieces.centers[cells].T
    x_name, y_name = AXES[_crs(grid)]
    return {name: cells, f"{name}_{x_name}": grid.region.wrap(x), f"{name}_{y_name}": y}


def _table(columns: Columns, length: int, into: pa.Schema) -> pa.Table:
    """Lay columns out as the schema says; what is no array stands in every row, and what is missing is null."""
    arrays = []
    for field in into:
        column = columns.get(field.name)
        if isinstance(column, np.ndarray):
            arrays.append(pa.array(column, field.type, from_pandas=True))  # what is NaN is missing
        else:
            arrays.append(pa.repeat(pa.scalar(column, field.type), length))
    return pa.table(arrays, schema=into)


def _crs(grid: Grid) -> Crs:
    assert grid.region.crs is not None  # settled when the region met the data
    return grid.region.crs
