"""Say what can be exported, in which columns, and what the numbers in them mean."""

from __future__ import annotations

import json
from typing import TypeVar

import pyarrow as pa

from privtrace.methods.model import Model
from privtrace.trajectories import Crs

_Name = TypeVar("_Name")

#: What can be exported, and what each is.
PRODUCTS = {
    "od": "trips from cell to cell",
    "density": "noisy visits, starts and ends per cell",
    "transitions": "moves from cell to cell",
    "grid": "the cells",
    "departures": "noisy departures per hour of the week",
    "hourly-od": "trips between cells by part of the day",
    "hourly-density": "trips through each cell by part of the day",
    "speeds": "mean speed in each cell by part of the day",
}

#: Those that only a model with times has.
TIMED = ("departures", "hourly-od", "hourly-density", "speeds")

#: The columns of flows: where they begin and end, and their weight.
_TRIPS = ("origin", "destination", "trips")
FLOWS = {"od": _TRIPS, "transitions": ("from", "to", "weight"), "hourly-od": _TRIPS}


class _ByCrs(dict[Crs, _Name]):
    """Hold names for degrees and for planar units; a projected system has those of one of them."""

    def __init__(self, lonlat: _Name, planar: _Name, projected: _Name) -> None:
        super().__init__(lonlat=lonlat, planar=planar)
        self._projected = projected

    def __missing__(self, crs: Crs) -> _Name:
        return self._projected


#: The columns of coordinates, of area, and of visits per area, by coordinate system; and the unit of area.
AXES = _ByCrs(("lon", "lat"), ("x", "y"), ("x", "y"))
AREA = _ByCrs("area_km2", "area", "area_km2")
PER_AREA = _ByCrs("visits_per_km2", "visits_per_area", "visits_per_km2")
TRIPS_PER_AREA = _ByCrs("trips_per_km2", "trips_per_area", "trips_per_km2")
SPEED = _ByCrs("meters_per_second", "units_per_second", "meters_per_second")
AREA_UNIT = _ByCrs("km²", "squared coordinate unit", "km²")

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
        "privtrace.coordinates": _COORDINATES.get(
            model.release.crs, f"projected, as {model.release.crs} has it"
        ),
    }


_LAYER = {"layer": "the layer of cells, from coarse to fine; each layer has its own numbering"}
_MEASURED = "in trips, with noise, so some are negative; null if the layer has none"
_ONCE = "with a weight of 1, except for bridgetrace and privtrace, where it weighs only as much as one visit"
_ERROR = "the standard deviation of the noise in each value of"


_PART = {
    "hour_from": (
        "the local hour at which the part of the day begins; a trip belongs to the part in which it departs"
    ),
    "hour_to": "the local hour at which it ends",
}
_BY_SAMPLE = "counted on up to 100,000 trips sampled from the model"


def _departures(zone: str) -> dict[str, str]:
    """Tell the columns of the hours of the week."""
    return {
        "hour_of_week": f"the hour of the week, from 0 on Monday at midnight to 167, local time of {zone}",
        "weekday": "its day",
        "hour": "its hour of the day, from 0 to 23",
        "trips": "trips that depart in this hour, with noise, so some values are negative",
        "error": f"{_ERROR} trips",
        "share": (
            "the share of synthetic trips that depart in this hour, with the noise reduced; the "
            "shares add up to 1"
        ),
    }


def _cells(what: str, crs: Crs) -> dict[str, str]:
    """Tell the columns of a table of cells."""
    cells = {
        **_LAYER,
        "cell": "the number of the cell in its layer, as in the model",
        **{side: f"the {side} side of the cell's box" for side in _SIDES},
        AREA[crs]: f"the area of the cell inside the region; the unit is {AREA_UNIT[crs]}",
    }
    if what == "grid":
        return {
            **cells,
            "coarse_row": "the row of its coarse cell, counted from the south",
            "coarse_column": "the column of its coarse cell, counted from the west",
            "division": "how many cells per side the coarse cell is divided into",
        }
    if what == "hourly-density":
        trips = (
            f"trips in this part of the day whose line passes through the cell, each counted once; {_BY_SAMPLE}"
        )
        return {**cells, **_PART, "trips": trips, TRIPS_PER_AREA[crs]: f"trips per {AREA_UNIT[crs]}"}
    if what == "speeds":
        speed = (
            "distance from points in the cell to the next point, divided by the time taken; null if "
            "there are none"
        )
        rests = "the number of trips behind it"
        return {**cells, **_PART, SPEED[crs]: f"{speed}; {_BY_SAMPLE}", "sampled_trips": rests}
    return {
        **cells,
        "visits": (
            f"every trip contributes a total weight of at most 1, spread evenly over its visits; {_MEASURED}"
        ),
        "visits_error": f"{_ERROR} visits",
        PER_AREA[crs]: f"visits per {AREA_UNIT[crs]}",
        "starts": f"first cells of trips, each {_ONCE}; {_MEASURED}",
        "starts_error": f"{_ERROR} starts",
        "ends": f"last cells of trips, each {_ONCE}; {_MEASURED}",
        "ends_error": f"{_ERROR} ends",
    }


def _flows(what: str, crs: Crs, trips_from: str) -> dict[str, str]:
    """Tell the columns of a table of flows."""
    origin, destination, weight = FLOWS[what]
    meanings = {
        "od": f"trips from this first cell to this last cell, never negative. {trips_from}",
        "hourly-od": f"trips from this first cell to this last cell; {_BY_SAMPLE}",
        "transitions": "moves, with the noise reduced; every trip contributes a total weight of at most "
        "1, spread over its moves",
    }
    centers = {
        f"{end}_{axis}": f"the {axis} of the center of that cell: {end}"
        for end in (origin, destination)
        for axis in AXES[crs]
    }
    error = {
        "error": "the standard deviation of the noise in one value before cleaning; null if the values "
        "were not measured one by one"
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
