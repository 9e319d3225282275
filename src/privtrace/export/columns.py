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
}

#: The columns of flows: where they begin and end, and their weight.
FLOWS = {"od": ("origin", "destination", "trips"), "transitions": ("from", "to", "weight")}

#: The columns of coordinates, of area, and of visits per area, by coordinate system; and the unit of area.
AXES: dict[Crs, tuple[str, str]] = {"lonlat": ("lon", "lat"), "planar": ("x", "y")}
AREA: dict[Crs, str] = {"lonlat": "area_km2", "planar": "area"}
PER_AREA: dict[Crs, str] = {"lonlat": "visits_per_km2", "planar": "visits_per_area"}
AREA_UNIT: dict[Crs, str] = {"lonlat": "km²", "planar": "squared unit of the coordinates"}

_COORDINATES: dict[Crs, str] = {
    "lonlat": "longitude and latitude in degrees (WGS 84)",
    "planar": "planar, in the units of the data",
}

_SIDES = ("west", "south", "east", "north")
_WHOLE = ("cell", "origin", "destination", "from", "to", "coarse_row", "coarse_column", "division")


def schema(model: Model, what: str, trips_from: str) -> pa.Schema:
    """List the columns of a product, with what they mean and what the release promises as metadata."""
    crs = model.release.crs
    meanings = _cells(what, crs) if what not in FLOWS else _flows(what, crs, trips_from)
    types = {"layer": pa.string(), **dict.fromkeys(_WHOLE, pa.int64())}
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
        "transitions": "moves, cleaned of noise as well as can be: in trajectories, each of which weighs one "
        "at most, divided over its moves",
    }
    centers = {
        f"{end}_{axis}": f"the {axis} of the center of that cell: {end}"
        for end in (origin, destination)
        for axis in AXES[crs]
    }
    return {
        **_LAYER,
        origin: "the cell where the flow begins",
        destination: "the cell where it ends",
        weight: meanings[what],
        "error": "the standard deviation of the noise of one number before cleaning; null where they were not "
        "measured one by one",
        **centers,
    }
