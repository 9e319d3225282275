"""Say what can be exported, in which columns, and what the numbers in them mean."""

from __future__ import annotations

import json

import pyarrow as pa

from privtrace.methods.model import Model
from privtrace.trajectories import Crs

#: What can be exported, and what each is.
PRODUCTS = {
    "od": "trips from cell to cell",
    "density": "noisy visits, starts and ends of the cells",
    "transitions": "moves from a cell to the next",
    "grid": "the cells",
    "departures": "noisy departures in the hours of the week",
    "hourly-od": "trips from cell to cell by part of the day",
    "hourly-density": "trips that pass the cells by part of the day",
    "speeds": "mean speeds in the cells by part of the day",
}

#: Those that only a model with times has.
TIMED = ("departures", "hourly-od", "hourly-density", "speeds")

#: The columns of flows: where they begin and end, and their weight.
_TRIPS = ("origin", "destination", "trips")
FLOWS = {"od": _TRIPS, "transitions": ("from", "to", "weight"), "hourly-od": _TRIPS}

#: The columns of coordinates, of area, and of visits per area, by coordinate system; and the unit of area.
AXES: dict[Crs, tuple[str, str]] = {"lonlat": ("lon", "lat"), "planar": ("x", "y")}
AREA: dict[Crs, str] = {"lonlat": "area_km2", "planar": "area"}
PER_AREA: dict[Crs, str] = {"lonlat": "visits_per_km2", "planar": "visits_per_area"}
TRIPS_PER_AREA: dict[Crs, str] = {"lonlat": "trips_per_km2", "planar": "trips_per_area"}
SPEED: dict[Crs, str] = {"lonlat": "meters_per_second", "planar": "units_per_second"}
AREA_UNIT: dict[Crs, str] = {"lonlat": "km²", "planar": "squared unit of the coordinates"}

_COORDINATES: dict[Crs, str] = {
    "lonlat": "longitude and latitude in degrees (WGS 84)",
    "planar": "planar, in the units of the data",
}

_SIDES = ("west", "south", "east", "north")
_HOURS = ("hour_of_week", "hour", "hour_from", "hour_to")
_WHOLE = ("cell", "origin", "destination", "from", "to", "coarse_row", "coarse_column", "division", *_HOURS)


def schema(model: Model, what: str, trips_from: str) -> pa.Schema:
    """List the columns of a product, with what they mean and what the release promises as metadata."""
    crs = model.release.crs
    if what == "departures":
        meanings = _departures(model.release.zone)
    else:
        meanings = _flows(what, crs, trips_from) if what in FLOWS else _cells(what, crs)
    types = {
        "layer": pa.string(),
        "weekday": pa.string(),
        **dict.fromkeys((*_WHOLE, "sampled_trips"), pa.int64()),
    }
    return pa.schema(
        [(name, types.get(name, pa.float64())) for name in meanings],
        {**words(model, what), "privtrace.columns": json.dumps(meanings)},
    )


def words(model: Model, what: str) -> dict[str, str]:
    """Give the words that go along with a product."""
    return {
        **model.about,
        "privtrace.product": f"{what}: {PRODUCTS[what]}",
        "privtrace.coordinates": _COORDINATES[model.release.crs],
    }


_LAYER = {"layer": "the layer of cells, from coarse to fine; each numbers its own"}
_MEASURED = "in trajectories, noisy as measured, so some may be negative; null where the layer has none"
_ONCE = "weighing one, but with methods bridgetrace and privtrace as little as one visit"
_ERROR = "the standard deviation of the noise of each number of"


_PART = {
    "hour_from": "the local hour at which the part of the day begins; trips belong by their departure",
    "hour_to": "the hour at which it ends",
}
_BY_SAMPLE = "counted on up to 100,000 trips that are sampled from the model"


def _departures(zone: str) -> dict[str, str]:
    """Tell the columns of the hours of the week."""
    return {
        "hour_of_week": f"the hour of the week, from 0 on Monday at midnight to 167, local time of {zone}",
        "weekday": "its day",
        "hour": "its hour of the day, from 0 to 23",
        "trips": "trajectories that depart in it, noisy as measured, so some may be negative",
        "error": f"{_ERROR} trips",
        "share": "the share of synthetic trips that depart in it: cleaned of noise, and adding up to 1",
    }


def _cells(what: str, crs: Crs) -> dict[str, str]:
    """Tell the columns of a table of cells."""
    cells = {
        **_LAYER,
        "cell": "the number of the cell in its layer, as in the model",
        **{side: f"the {side} side of the cell's box" for side in _SIDES},
        AREA[crs]: f"what of the cell is in the region; the unit is a {AREA_UNIT[crs]}",
    }
    if what == "grid":
        return {
            **cells,
            "coarse_row": "the row of the coarse cell that the cell is in, from the south",
            "coarse_column": "its column, from the west",
            "division": "cells per side that this coarse cell is divided into",
        }
    if what == "hourly-density":
        trips = f"trips of the part of the day whose line passes the cell, each once; {_BY_SAMPLE}"
        return {**cells, **_PART, "trips": trips, TRIPS_PER_AREA[crs]: f"trips for each {AREA_UNIT[crs]}"}
    if what == "speeds":
        speed = "the way from points in the cell to the next points over the time that it took; null where none"
        rests = "how many of these trips it rests on"
        return {**cells, **_PART, SPEED[crs]: f"{speed}; {_BY_SAMPLE}", "sampled_trips": rests}
    return {
        **cells,
        "visits": f"each trajectory, of weight one at most, divided evenly over its visits; {_MEASURED}",
        "visits_error": f"{_ERROR} visits",
        PER_AREA[crs]: f"visits for each {AREA_UNIT[crs]}",
        "starts": f"first cells of trajectories, each {_ONCE}; {_MEASURED}",
        "starts_error": f"{_ERROR} starts",
        "ends": f"last cells of trajectories, each {_ONCE}; {_MEASURED}",
        "ends_error": f"{_ERROR} ends",
    }


def _flows(what: str, crs: Crs, trips_from: str) -> dict[str, str]:
    """Tell the columns of a table of flows."""
    origin, destination, weight = FLOWS[what]
    meanings = {
        "od": f"trajectories from their first to their last cell, never negative. {trips_from}",
        "hourly-od": f"trajectories from their first to their last cell; {_BY_SAMPLE}",
        "transitions": "moves, cleaned of noise as well as can be: in trajectories, each of which weighs one "
        "at most, divided over its moves",
    }
    centers = {
        f"{end}_{axis}": f"the {axis} of the center of that cell: {end}"
        for end in (origin, destination)
        for axis in AXES[crs]
    }
    error = {
        "error": "the standard deviation of the noise of one number before cleaning; null where they were not "
        "measured one by one"
    }
    return {
        **_LAYER,
        origin: "the cell where the flow begins",
        destination: "the cell where it ends",
        **(_PART if what == "hourly-od" else {}),
        weight: meanings[what],
        **({} if what == "hourly-od" else error),
        **centers,
    }
