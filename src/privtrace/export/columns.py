"""Say what can be exported, in which columns, and what the numbers in them mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import pyarrow as pa

from privtrace.methods.counting import ALL, SLOTS, Slots
from privtrace.methods.model import Model
from privtrace.trajectories import Crs
from privtrace.zones import Zones

_Name = TypeVar("_Name")

#: What can be exported as a table or map, and what each is.
PRODUCTS = {
    "od": "trips from place to place",
    "density": "trips that pass, begin and end in each place",
    "transitions": "moves from cell to cell",
    "grid": "the cells",
    "departures": "departures per hour of the week",
    "speeds": "mean speed in each cell by part of the day",
}

#: What can be exported as synthetic trips.
DEMAND = {"sumo": "synthetic trips for SUMO", "matsim": "synthetic plans for MATSim"}

#: Those that only a model with times has.
TIMED = ("departures", "speeds", *DEMAND)

#: Those that can be of a user's own zones, and by hours.
ZONED, BY_HOURS = ("od", "density", "sumo"), ("od", "density")

#: Products that have another name now: what they are called, and by which hours they are.
RENAMED = {"hourly-od": ("od", "part"), "hourly-density": ("density", "part")}

#: The columns of flows: where they begin and end, and their weight.
FLOWS = {"od": ("origin", "destination", "trips"), "transitions": ("from", "to", "weight")}


#: Columns of which two decimals say too little: coordinates and shares.
EXACT = frozenset(
    ["west", "south", "east", "north", "share"]
    + [f"{end}_{axis}" for ends in FLOWS.values() for end in ends[:2] for axis in ("lon", "lat", "x", "y")]
)


@dataclass(frozen=True, eq=False)
class Asked:
    """Say what to export: which product, of which places, by which hours, and from which trips."""

    what: str
    by: str | None = None  # one of SLOTS; None is all hours together
    zones: Zones | None = None  # None is the cells of the model
    count: int | None = None  # of synthetic trips; None is the model's own
    seed: int | None = None  # of synthetic trips; None is a fresh one
    crs: Crs | None = None  # of synthetic trips; None is the model's

    @property
    def slots(self) -> Slots:
        """Divide trips by when they depart."""
        return ALL if self.by is None else SLOTS[self.by]

    @property
    def words(self) -> str:
        """Say what it is."""
        said = (PRODUCTS | DEMAND)[self.what]
        if self.zones is not None:
            said = said.replace("place", "zone")
        return f"{said}{'' if self.by is None else f', by {_BY[self.by]}'}"


_BY = {"hour": "hour of the day", "part": "part of the day", "weekday": "weekday"}

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def slot_name(by: str | None, slot: int) -> str:
    """Name a slot in words: "8 to 12 h", "Monday"; all hours together have no name."""
    if by is None:
        return ""
    if by == "weekday":
        return DAYS[slot]
    hours = 24 // SLOTS[by].n
    return f"{slot * hours} to {(slot + 1) * hours} h"


class _ByCrs(dict[Crs, _Name]):
    """Hold names for degrees and for planar units; a projected system has those of one of them."""

    def __init__(self, lonlat: _Name, planar: _Name, projected: _Name) -> None:
        super().__init__(lonlat=lonlat, planar=planar)
        self._projected = projected

    def __missing__(self, crs: Crs) -> _Name:
        return self._projected


#: The columns of coordinates, of area, and of trips per area, by coordinate system; and the unit of area.
AXES = _ByCrs(("lon", "lat"), ("x", "y"), ("x", "y"))
AREA = _ByCrs("area_km2", "area", "area_km2")
PER_AREA = _ByCrs("trips_per_km2", "trips_per_area", "trips_per_km2")
SPEED = _ByCrs("meters_per_second", "units_per_second", "meters_per_second")
AREA_UNIT = _ByCrs("km²", "squared coordinate unit", "km²")

_COORDINATES: dict[Crs, str] = {
    "lonlat": "longitude and latitude in degrees (WGS 84)",
    "planar": "planar, in the units of the data",
}

_SIDES = ("west", "south", "east", "north")
_HOURS = ("hour_of_week", "hour", "hour_from", "hour_to")
_WHOLE = ("cell", "from", "to", "coarse_row", "coarse_column", "division", "sampled_trips", *_HOURS)


def schema(model: Model, asked: Asked) -> pa.Schema:
    """List the columns of a product, with what they mean and what the release promises as metadata."""
    crs, what = model.release.crs, asked.what
    if what == "departures":
        meanings = _departures(model.release.zone)
    elif what in FLOWS:
        meanings = _flows(asked, crs)
    else:
        meanings = _places(asked, crs)
    whole = (*_WHOLE, *(() if asked.zones is not None else ("origin", "destination")))
    text = ("layer", "weekday", "zone", "origin", "destination")
    types = {**dict.fromkeys(text, pa.string()), **dict.fromkeys(whole, pa.int64())}
    return pa.schema(
        [(name, types.get(name, pa.float64())) for name in meanings],
        {**words(model, asked), "privtrace.columns": json.dumps(meanings)},
    )


def words(model: Model, asked: Asked) -> dict[str, str]:
    """Give the words that go along with a product."""
    crs, zones = asked.crs or model.release.crs, asked.zones
    return {
        **model.about,
        "privtrace.product": f"{asked.what}: {asked.words}",
        **({} if zones is None else {"privtrace.zones": about_zones(zones)}),
        "privtrace.coordinates": _COORDINATES.get(crs, f"projected, as {crs} has it"),
    }


def about_zones(zones: Zones) -> str:
    """Say how zones lie, and so how far sums of their numbers can be relied on."""
    overlap = "they overlap, so a trip may count in several" if zones.overlaps else "they do not overlap"
    covered = zones.covered
    share = "all" if covered > _ALL else f"{100 * covered:.3g} %"
    rest = "" if covered > _ALL else "; nothing is counted outside of them"
    return f"{len(zones):,} {zones.title}, which cover {share} of the region; {overlap}{rest}"


#: A larger share of the region is all of it, but for rounding.
_ALL = 1 - 1e-6

_LAYER = {"layer": "the layer of cells, from coarse to fine; each layer has its own numbering"}
_MEASURED = "as measured, with noise, so some are negative; empty if they were not measured in this layer"
_MARGIN = "nine in ten are off by less, by the noise alone"
_ONCE = "with a weight of 1, except for bridgetrace and privtrace, where it weighs only as much as one visit"
_BY_SAMPLE = "counted on up to 100,000 trips sampled from the model"

_SLOT_COLUMNS: Mapping[str | None, Mapping[str, str]] = {
    None: {},
    "hour": {"hour": "the local hour of the day in which trips depart, from 0 to 23"},
    "part": {
        "hour_from": "the local hour at which the part of the day begins in which trips depart",
        "hour_to": "the local hour at which it ends",
    },
    "weekday": {"weekday": "the local day of the week on which trips depart"},
}


def _estimate(name: str, meaning: str, prefix: str = "") -> dict[str, str]:
    """Tell the columns of a number with its bounds."""
    low, high = f"{prefix}low", f"{prefix}high"
    return {
        name: f"{meaning}, {_BY_SAMPLE} and scaled to their number",
        low: f"nine in ten true numbers are expected between this one and {high}",
        high: f"the other bound: {low} and {high} allow for noise, the draw of trips and what the model misses",
    }


def _noisy(name: str, meaning: str) -> dict[str, str]:
    """Tell the columns of a number as it was measured."""
    return {
        f"noisy_{name}": f"{meaning}; {_MEASURED}",
        f"noisy_{name}_margin": f"the margin of noisy_{name}: {_MARGIN}",
    }


def _departures(zone: str) -> dict[str, str]:
    """Tell the columns of the hours of the week."""
    return {
        "hour_of_week": f"the hour of the week, from 0 on Monday at midnight to 167, local time of {zone}",
        "weekday": "its day",
        "hour": "its hour of the day, from 0 to 23",
        **_estimate("trips", "trips that depart in this hour"),
        "share": "share of trips that depart then, estimated from noisy_trips alone; all shares add up to 1",
        **_noisy("trips", "trips that depart in this hour"),
    }


def _places(asked: Asked, crs: Crs) -> dict[str, str]:
    """Tell the columns of a table of cells or zones."""
    what, size = asked.what, {AREA[crs]: f"its area inside the region; the unit is {AREA_UNIT[crs]}"}
    if asked.zones is not None:
        places = {"zone": "the id of the zone", **size}
    else:
        places = {
            **_LAYER,
            "cell": "the number of the cell in its layer, as in the model",
            **{side: f"the {side} side of the cell's box" for side in _SIDES},
            **size,
        }
    if what == "grid":
        return {
            **places,
            "coarse_row": "the row of its coarse cell, counted from the south",
            "coarse_column": "the column of its coarse cell, counted from the west",
            "division": "how many cells per side the coarse cell is divided into",
        }
    if what == "speeds":
        speed = (
            "distance from points in the cell to the next point, divided by the time taken; empty if "
            "there are none"
        )
        rests = "the number of trips behind it"
        return {
            **places,
            **_SLOT_COLUMNS["part"],
            SPEED[crs]: f"{speed}; {_BY_SAMPLE}",
            "sampled_trips": rests,
        }
    return {**places, **_SLOT_COLUMNS[asked.by], **_density(asked, crs)}


def _density(asked: Asked, crs: Crs) -> dict[str, str]:
    """Tell the numbers of cells or zones."""
    fitted = {
        **_estimate("trips", "trips whose line passes, each counted once"),
        PER_AREA[crs]: f"trips divided by the area, per {AREA_UNIT[crs]}",
        **_estimate("starts", "trips that begin here", "starts_"),
        **_estimate("ends", "trips that end here", "ends_"),
    }
    if asked.zones is not None or asked.by is not None:
        return fitted
    spread = "every trip contributes a total weight of at most 1, spread over the cells that it visits"
    return {
        **fitted,
        **_estimate("visits", f"visits: {spread}", "visits_"),
        **_noisy("visits", f"visits: {spread}"),
        **_noisy("starts", f"first cells of trips, each {_ONCE}"),
        **_noisy("ends", f"last cells of trips, each {_ONCE}"),
    }


def _flows(asked: Asked, crs: Crs) -> dict[str, str]:
    """Tell the columns of a table of flows."""
    origin, destination, weight = FLOWS[asked.what]
    if asked.what == "transitions":
        numbers = {
            weight: "moves, with the noise reduced; every trip contributes a total weight of at most "
            "1, spread over its moves",
            "margin": f"the margin of one number before the noise was reduced: {_MARGIN}",
        }
    else:
        numbers = _estimate(weight, "trips from this origin to this destination")
        numbers[weight] += "; pairs without any have no row"
    if asked.zones is not None:
        places = {origin: "the zone where trips begin", destination: "the zone where they end"}
        return {**_SLOT_COLUMNS[asked.by], **places, **numbers}
    if asked.what == "od" and asked.by is None:
        numbers |= _noisy("trips", "trips from this origin to this destination")
    centers = {
        f"{end}_{axis}": f"the {axis} of the center of that cell: {end}"
        for end in (origin, destination)
        for axis in AXES[crs]
    }
    return {
        **_LAYER,
        **_SLOT_COLUMNS[asked.by],
        origin: "the cell where the flow begins",
        destination: "the cell where it ends",
        **numbers,
        **centers,
    }
