"""Lay out what a model says of cells, zones, trips and moves as tables, a chunk at a time. Post-processing.

What has to be counted for several tables is counted once, on the same synthetic trips.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import shapely

from privtrace.caching import cached_property
from privtrace.export.columns import AREA, AXES, DAYS, FLOWS, PER_AREA, SPEED, Asked, schema, slot_name
from privtrace.export.geometries import cells_drawn, lines_drawn, zones_drawn
from privtrace.methods.counting import (
    CellPlaces,
    Counter,
    Departures,
    Ends,
    Pairs,
    Passing,
    Places,
    Visits,
    ZonePlaces,
)
from privtrace.methods.estimating import Estimates, estimated
from privtrace.methods.fitted import fitted
from privtrace.methods.model import Model
from privtrace.methods.view import MARGIN, Layer, Noisy, View, error_of
from privtrace.space.grid import Grid
from privtrace.space.region import Region
from privtrace.timing.bins import HOURS, HOURS_OF_PART
from privtrace.trajectories import Array, Crs, Floats, Integers
from privtrace.zones import Zones

#: Rows of flows that are held at once, as text too.
CHUNK_ROWS = 1 << 16

#: After the point, so that sums of many rows are right; and significant digits of areas.
_DIGITS, _SIGNIFICANT = 6, 6

#: Digits of the coordinates of centers, after the point.
_OF_CENTERS = 9

#: Bounds are rounded to so many steps of one, away from the number.
_STEPS = 100

Columns: TypeAlias = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Rows:
    """Hold rows of a table that are about the same layer of cells or about zones, and how to draw them."""

    table: pa.Table
    layer: str = ""  # "zones" where they are about a user's own; of hours there is none
    slot: str = ""  # in words, where all rows are of one
    grid: Grid | None = None  # of cells
    shapes: Callable[[Integers], Array] | None = None  # the geometries of some of the rows


@dataclass(frozen=True, eq=False)
class Matrix:
    """Hold trips between places, slot by slot."""

    names: Sequence[str]
    by: str | None
    n_slots: int
    trips: Estimates  # (n_slots, n, n)

    def of_slot(self, slot: int) -> dict[str, Floats]:
        """Lay out the trips of a slot, and their bounds: (n, n) each."""
        n = len(self.names)
        codes = np.arange(n * n) + slot * n * n
        return {name: one.reshape(n, n) for name, one in _with_bounds("trips", self.trips, codes).items()}


@dataclass(frozen=True, eq=False)
class Product:
    """Hold a table that a model gives, as rows that come one after the other."""

    schema: pa.Schema  # its metadata say what the release promises and what the columns mean
    rows: Iterator[Rows]
    matrix: Matrix | None = None  # of trips


class _Plan(NamedTuple):
    """Say what a table counts, and how it is laid out from that."""

    counters: Sequence[Counter]
    lay_out: Callable[[Sequence[Estimates]], Product]


def product(model: Model, asked: Asked) -> Product:
    """Lay out a table."""
    (laid_out,) = products(model, asked)
    return laid_out


def products(model: Model, *asked: Asked) -> list[Product]:
    """Lay out several tables, all counted on the same trips."""
    view = model.view()
    plans = [_PLANS[one.what](model, view, one) for one in asked]
    counters = [counter for plan in plans for counter in plan.counters]
    are_zoned = any(one.zones is not None for one in asked)
    moved = view.layers[-1].grid if are_zoned else None  # a model knows nothing below its finest cells
    found = iter(estimated(model, counters, moved=moved) if counters else ())
    return [plan.lay_out([*islice(found, len(plan.counters))]) for plan in plans]


def n_rows(model: Model, asked: Asked) -> int | None:
    """Count the rows of a table before the work, if they are known then."""
    if asked.what == "od":
        return None  # of flows only those that occur have rows
    view, n_slots = model.view(), asked.slots.n
    if asked.what == "departures":
        return HOURS
    if asked.what == "transitions":
        return sum(len(flows.weights) for flows in view.moves)
    if asked.what == "speeds":
        n_slots = 24 // HOURS_OF_PART
    return n_slots * sum(len(place.areas) for place in _places(view, asked))


def trip_places(model: Model, asked: Asked) -> int:
    """Count the places between which trips are counted."""
    view = model.view()
    return view.layers[view.zones].grid.n_cells if asked.zones is None else len(asked.zones)


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


def without_centers(table: pa.Table) -> pa.Table:
    """Leave out the coordinates of centers, where a geometry has them."""
    centers = [name for name in table.column_names if name.endswith(("_lon", "_lat", "_x", "_y"))]
    return table.drop_columns(centers)


# --- places ---


@dataclass(frozen=True, eq=False)
class _Known:
    """Hold places that rows are about: cells of a layer, or zones."""

    name: str  # of the layer; "zones"
    places: Places
    ids: pa.Array  # as tables have them
    areas: Floats
    columns: Columns  # what tables say of each of them
    drawn: Callable[[Integers], Array]
    region: Region
    layer: Layer | None  # of cells

    @cached_property
    def centers(self) -> Floats:
        """Give a point in each place, with longitudes that go on beyond 180."""
        if self.layer is not None:
            return self.layer.grid.pieces.centers
        assert isinstance(self.places, ZonePlaces)
        zones = self.places.zones
        inside = np.where(shapely.is_empty(zones.clipped), zones.polygons, zones.clipped)
        points: Floats = shapely.get_coordinates(shapely.point_on_surface(inside))
        return points

    def rows(self, columns: Columns, into: pa.Schema, slot: str = "") -> Rows:
        """Make a row for each place."""
        grid = None if self.layer is None else self.layer.grid
        table = _table({**self.columns, **columns}, len(self.areas), into)
        return Rows(table, self.name, slot, grid, self.drawn)


def _places(view: View, asked: Asked) -> list[_Known]:
    """List the places that a table of places is about, layer by layer."""
    if asked.zones is not None:
        return [_zones(asked.zones)]
    return [_cells(layer) for layer in view.layers]


def _cells(layer: Layer) -> _Known:
    """Know the cells of a layer, with their boxes."""
    grid = layer.grid
    west, south, east, north = grid.boxes.T
    turn, sizes = grid.region.area.turn, areas(grid)
    columns = {
        "layer": layer.name,
        "cell": np.arange(grid.n_cells),
        # A box across the antimeridian has its west greater than its east, as regions have it.
        "west": np.where(west >= 180, west - turn, west) if turn else west,
        "south": south,
        "east": grid.region.wrap(east),
        "north": north,
        AREA[_crs(grid.region)]: _readable(sizes),
    }
    ids, drawn = pa.array(np.arange(grid.n_cells)), partial(cells_drawn, grid)
    return _Known(layer.name, CellPlaces(grid), ids, sizes, columns, drawn, grid.region, layer)


def _zones(zones: Zones) -> _Known:
    """Know a user's own zones."""
    ids, sizes = pa.array(zones.names, pa.string()), zones.areas
    columns = {"zone": ids, AREA[_crs(zones.region)]: _readable(sizes)}
    return _Known(
        "zones", ZonePlaces(zones), ids, sizes, columns, partial(zones_drawn, zones), zones.region, None
    )


# --- tables ---


def _departures(model: Model, view: View, asked: Asked) -> _Plan:
    """Lay out the hours of the week."""

    def lay_out(found: Sequence[Estimates]) -> Product:
        timing, hours, into = model.timing, np.arange(HOURS), schema(model, asked)
        assert timing is not None and timing.timetable is not None  # otherwise it was refused
        noisy = Noisy.of("trips", timing.timetable.departures, error_of(model.release, "departures"))
        columns = {
            "hour_of_week": hours,
            "weekday": np.array(DAYS)[hours // 24],
            "hour": hours % 24,
            **_with_bounds("trips", found[0], hours),
            "share": timing.chances,
            **_measured("trips", noisy),
        }
        return Product(into, iter([Rows(_table(columns, HOURS, into))]))

    return _Plan([Departures()], lay_out)


def _density(model: Model, view: View, asked: Asked) -> _Plan:
    """Lay out who passes, begins and ends in places."""
    places, slots = _places(view, asked), asked.slots
    counters: list[Counter] = []
    for one in places:
        counters += [Passing(one.places, slots), *(Ends(one.places, first, slots) for first in (True, False))]
        if one.layer is not None and asked.by is None:
            counters.append(Visits(one.layer))

    def rows(found: Sequence[Estimates], into: pa.Schema) -> Iterator[Rows]:
        names, n_each = ("trips", "starts", "ends", "visits"), len(counters) // len(places)
        for number, one in enumerate(places):
            n, own = len(one.areas), found[number * n_each : (number + 1) * n_each]
            noisy = {} if one.layer is None or asked.by else {noisy.name: noisy for noisy in one.layer.numbers}
            for slot in range(slots.n):
                codes = np.arange(n) + slot * n
                columns = _slot_columns(asked.by, np.full(n, slot))
                for name, estimates in zip(names, own, strict=False):
                    columns |= _with_bounds(name, estimates, codes)
                columns[PER_AREA[_crs(one.region)]] = _readable(_ratio(columns["trips"], one.areas))
                for name, values in noisy.items():
                    columns |= _measured(name, values)
                yield one.rows(columns, into, slot_name(asked.by, slot))

    def lay_out(found: Sequence[Estimates]) -> Product:
        into = schema(model, asked)
        return Product(into, rows(found, into))

    return _Plan(counters, lay_out)


def _trips(model: Model, view: View, asked: Asked) -> _Plan:
    """Lay out trips from place to place."""
    place = _cells(view.layers[view.zones]) if asked.zones is None else _zones(asked.zones)
    n, noisy = len(place.areas), None if asked.by or asked.zones else _noisy_trips(view)

    def rows(found: Estimates, into: pa.Schema) -> Iterator[Rows]:
        codes = found.numbers.codes[found.numbers.values > 0]
        for first in range(0, max(len(codes), 1), CHUNK_ROWS):  # without trips too, a layer of maps
            chunk = codes[first : first + CHUNK_ROWS]
            slots, pairs = np.divmod(chunk, n * n)
            columns = {**_slot_columns(asked.by, slots), **_with_bounds("trips", found, chunk)}
            if noisy is not None:
                columns |= _measured("trips", noisy, pairs)
            yield _flow_rows(asked.what, place, *np.divmod(pairs, n), columns, into)

    def lay_out(found: Sequence[Estimates]) -> Product:
        (trips,), into = found, schema(model, asked)
        names = [str(name) for name in place.ids.to_pylist()]
        return Product(into, rows(trips, into), Matrix(names, asked.by, asked.slots.n, trips))

    return _Plan([Pairs(place.places, asked.slots)], lay_out)


def _moves(model: Model, view: View, asked: Asked) -> _Plan:
    """Lay out moves from cell to cell."""

    def rows(into: pa.Schema) -> Iterator[Rows]:
        for flows in view.moves:
            place = _cells(view.layers[flows.layer])
            for first in range(0, max(len(flows.weights), 1), CHUNK_ROWS):
                chunk = slice(first, first + CHUNK_ROWS)
                weights = np.round(flows.weights[chunk], _DIGITS)
                columns = {FLOWS[asked.what][2]: weights, "margin": round(MARGIN * flows.error, _DIGITS)}
                yield _flow_rows(
                    asked.what, place, flows.origins[chunk], flows.destinations[chunk], columns, into
                )

    def lay_out(found: Sequence[Estimates]) -> Product:
        into = schema(model, asked)
        return Product(into, rows(into))

    return _Plan([], lay_out)


def _flow_rows(
    what: str, place: _Known, origins: Integers, destinations: Integers, columns: Columns, into: pa.Schema
) -> Rows:
    """Lay out flows between places, with the centers of the places where the table has them."""
    centers = place.centers
    columns = {"layer": place.name, **columns}
    for name, ends in zip(FLOWS[what], (origins, destinations), strict=False):
        columns[name] = place.ids.take(pa.array(ends))
        x, y = np.round(centers[ends], _OF_CENTERS).T
        x_name, y_name = AXES[_crs(place.region)]
        columns |= {f"{name}_{x_name}": place.region.wrap(x), f"{name}_{y_name}": y}

    def drawn(which: Integers) -> Array:
        return lines_drawn(centers[origins[which]], centers[destinations[which]], place.region)

    return Rows(_table(columns, len(origins), into), place.name, shapes=drawn)


def _grid(model: Model, view: View, asked: Asked) -> _Plan:
    """Lay out the cells."""

    def lay_out(found: Sequence[Estimates]) -> Product:
        into = schema(model, asked)
        return Product(into, (_cells(one).rows(_divisions(one.grid), into) for one in view.layers))

    return _Plan([], lay_out)


def _divisions(grid: Grid) -> Columns:
    """Give the coarse cell that each cell is in, and into how many per side that is divided."""
    coarse = np.searchsorted(grid.first_slot, grid.slots, side="right") - 1
    row, column = np.divmod(coarse, len(grid.divisions))
    return {"coarse_row": row, "coarse_column": column, "division": grid.divisions.ravel()[coarse]}


def _speeds(model: Model, view: View, asked: Asked) -> _Plan:
    """Lay out how fast trips go through the cells, by part of the day."""

    def rows(into: pa.Schema) -> Iterator[Rows]:
        hours = fitted(model).hours
        assert hours is not None  # otherwise it was refused
        for layer, speeds in zip(view.layers, hours.speeds, strict=True):
            place = _cells(layer)
            for part, by_cell in enumerate(speeds.by_part):
                columns = {
                    **_slot_columns("part", np.full(len(by_cell), part)),
                    SPEED[_crs(layer.grid.region)]: np.round(by_cell, _DIGITS),
                    "sampled_trips": speeds.n_sampled[part],
                }
                yield place.rows(columns, into, slot_name("part", part))

    def lay_out(found: Sequence[Estimates]) -> Product:
        into = schema(model, asked)
        return Product(into, rows(into))

    return _Plan([], lay_out)


_PLANS: dict[str, Callable[[Model, View, Asked], _Plan]] = {
    "od": _trips,
    "density": _density,
    "transitions": _moves,
    "grid": _grid,
    "departures": _departures,
    "speeds": _speeds,
}


# --- columns ---


def _with_bounds(name: str, found: Estimates, codes: Integers) -> Columns:
    """Give numbers with their bounds; a number that is not listed is 0, and may be more."""
    listed, prefix = found.numbers.codes, "" if name == "trips" else f"{name}_"
    known, places = np.zeros(len(codes), np.bool_), np.zeros(len(codes), np.int64)
    if len(listed):
        places = np.minimum(np.searchsorted(listed, codes), len(listed) - 1)
        known = listed[places] == codes

    def column(values: Floats, otherwise: float) -> Floats:
        spread = np.full(len(codes), otherwise)
        spread[known] = values[places[known]]
        return spread

    low, high = column(found.low, 0.0), column(found.high, found.high_of_none)
    return {
        name: np.round(column(found.numbers.values, 0.0), _DIGITS),
        f"{prefix}low": np.floor(low * _STEPS) / _STEPS,
        f"{prefix}high": np.ceil(high * _STEPS) / _STEPS,
    }


def _measured(name: str, noisy: Noisy, which: Integers | slice = slice(None)) -> Columns:
    """Give numbers as they were measured."""
    values = np.round(noisy.values[which], _DIGITS)
    return {f"noisy_{name}": values, f"noisy_{name}_margin": round(noisy.margin, _DIGITS)}


def _noisy_trips(view: View) -> Noisy | None:
    """Give trips between cells as they were measured, if they were measured cell by cell."""
    trips = view.trips
    are_there = trips is not None and trips.layer == view.zones and trips.are_of_cells
    return trips.noisy if trips is not None and are_there else None


def _slot_columns(by: str | None, slots: Integers) -> Columns:
    """Say by which hours rows are."""
    if by == "hour":
        return {"hour": slots}
    if by == "part":
        return {"hour_from": slots * HOURS_OF_PART, "hour_to": (slots + 1) * HOURS_OF_PART}
    return {} if by is None else {"weekday": np.array(DAYS)[slots]}


def _readable(values: Floats) -> Floats:
    """Round to the digits that areas have: those of a projection are off by more."""
    sizes = np.where((values != 0) & np.isfinite(values), np.abs(values), 1.0)
    factors = 10.0 ** (_SIGNIFICANT - 1 - np.floor(np.log10(sizes)))
    readable: Floats = np.round(values * factors) / factors
    return readable


def _ratio(some: Floats, others: Floats) -> Floats:
    ratios: Floats = np.where(others > 0, some / np.where(others > 0, others, 1.0), np.nan)
    return ratios


def _table(columns: Columns, length: int, into: pa.Schema) -> pa.Table:
    """Lay columns out as the schema says; what is no array stands in every row, and what is missing is null."""
    arrays = []
    for field in into:
        column = columns.get(field.name)
        if isinstance(column, np.ndarray):
            arrays.append(pa.array(column, field.type, from_pandas=True))  # what is NaN is missing
        elif isinstance(column, pa.Array):
            arrays.append(column.cast(field.type))
        else:
            arrays.append(pa.repeat(pa.scalar(column, field.type), length))
    return pa.table(arrays, schema=into)


def _crs(region: Region) -> Crs:
    assert region.crs is not None  # settled when the region met the data
    return region.crs
