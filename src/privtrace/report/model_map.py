"""Draw a model on a map: its cells with fitted numbers, the strongest flows, and synthetic trips.

Noisy numbers stand beside the fitted ones. Where a model has times, controls show the same by part of the day,
and cells by mean speed; without a script, and until they are used, the map shows the whole day.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from privtrace.calendar import hours_of_week, seconds_of
from privtrace.export.tables import areas
from privtrace.methods.estimating import Estimates
from privtrace.methods.fitted import Cells, Fitted, Hours, Speeds
from privtrace.methods.plan import rounded
from privtrace.methods.usability import NOISE, Usability
from privtrace.methods.view import Layer
from privtrace.report import maps
from privtrace.report.colors import Around, Rising
from privtrace.report.document import (
    amount,
    between,
    folded,
    paragraph,
    percent,
    plain,
    section,
    speed,
    table,
)
from privtrace.report.hours import span
from privtrace.space.region import Region
from privtrace.timing.bins import HOURS_OF_PART, N_PARTS
from privtrace.trajectories import Floats, Integers, Trajectories

_DRAWN_TRIPS = 150
_ARCS = 40
_BUSIEST = 15

#: Of a cell: where less of it is in the region, it is colored as if so much were.
_LEAST_SHARE = 0.25

#: Cells of a layer that a page draws, at most.
_MOST_CELLS = 20_000

#: Sampled trips without which the speed of a cell has no color.
_LEAST_TRIPS = 20

#: What speeds in cells rest on.
SPEEDS = (
    "Speeds are measured for whole trips, by length and by part of the day, not by place. Cells differ "
    "only because different trips pass through them."
)


def model_map(shown: Fitted, usability: Usability, trips: Trajectories, region: Region) -> str:
    """Show what synthetic trips say of a model's cells, with the first of some over them."""
    sheet, view = maps.Sheet(region), shown.view
    numbers = [n for n, layer in enumerate(view.layers) if layer.grid.n_cells <= _MOST_CELLS] or [0]
    layers, cells = [view.layers[n] for n in numbers], [shown.cells[n] for n in numbers]
    densities = [per_area(layer, of.trips.table) for layer, of in zip(layers, cells, strict=True)]
    scales = [Rising.over(density) for density in densities]
    drawn, flows = trips[:_DRAWN_TRIPS], _Strongest.of(shown.trips, shown.zones.n_cells)
    grounds = "\n".join(
        f'<g class="cells" data-layer="{number}"{_hidden(number, layers)}>'
        f"{maps.cells(sheet, layer.grid, scale.shades(density))}</g>"
        for number, (layer, density, scale) in enumerate(zip(layers, densities, scales, strict=True))
    )
    day = None if shown.hours is None else _Day.of(shown.hours, layers, numbers)
    arcs = _arcs(sheet, shown, flows) if day is None else _arcs_by_part(sheet, shown, flows, day.hours)
    lines = maps.lines(sheet, drawn) if day is None else _lines_by_part(sheet, drawn, day.hours)
    drawing = f"{grounds}\n<g data-trips>{lines}</g>\n<g data-flows>{arcs}</g>"
    legends = "\n".join(
        f'<div data-legend="day {number}"{_hidden(number, layers)}>{_legend(layer, scale)}</div>'
        for number, (layer, scale) in enumerate(zip(layers, scales, strict=True))
    )
    words = (_bounds(region), "small"), (_READING, "small"), (_MOVING, "small hands")
    beside = [_tools(layers), *([] if day is None else [_tools_of_day()]), legends]
    beside += [] if day is None else [day.legends(layers), day.words()]
    beside += [paragraph(text, css) for text, css in words]
    n_flows, ends = len(flows.weights), view.layers[view.zones].name
    grids = [*map(maps.grid_data, layers, cells)] if day is None else day.grids(layers, cells)
    return section(
        "The model on a map",
        *_warnings(usability),
        paragraph(
            f"{_known(layers)} Colors show how many trips pass a cell, for its area: fitted numbers, counted "
            f"on synthetic trips.{_over_the_cells(n_flows, ends, len(drawn))}"
        ),
        maps.panel(
            sheet,
            [maps.Map("", _described(layers[-1], cells[-1], n_flows, len(drawn)), drawing)],
            grids,
            "Point at the map to read a cell's fitted numbers, and what was measured.",
            "\n".join(beside),
        ),
        folded(f"The busiest {layers[-1].name} as a table", _busiest(layers[-1], cells[-1])),
    )


def _over_the_cells(n_flows: int, ends: str, n_trips: int) -> str:
    """Say what arcs and lines are, where there are any."""
    arcs = f" Arcs are the {n_flows} strongest flows between different {ends}, counted in the same way."
    if n_flows == 1:
        arcs = f" The arc is the only flow between different {ends}, counted in the same way."
    lines = f" Thin lines are the first {n_trips} synthetic trips."
    return f"{arcs if n_flows else ''}{lines if n_trips else ''}"


def _warnings(usability: Usability) -> list[str]:
    """Warn of a map without trips, and of colors and arcs that show nothing but noise."""
    if usability.is_empty:
        return [paragraph("The model makes no trips, so the map shows none.", "alarm")]
    visits = usability.best("visits")
    flows = usability.best("flows") or visits  # where they were not measured, they follow from visits
    noise = [words for words, verdict in (("the colors", visits), ("the arcs", flows)) if verdict == NOISE]
    if not noise:
        return []
    text = f"On this map {' and '.join(noise)} are noise: the real trips may have gone elsewhere."
    return [paragraph(text, "alarm")]


class _Strongest(NamedTuple):
    """Hold the strongest fitted flows between different cells, the strongest first."""

    origins: Integers  # (n,)
    destinations: Integers  # (n,)
    weights: Floats  # (n,): in trajectories
    low: Floats  # (n,)
    high: Floats  # (n,)

    @classmethod
    def of(cls, trips: Estimates, n_cells: int, part: int = 0) -> _Strongest:
        """Choose them among all flows, or among those of a part of the day."""
        codes, weights = trips.numbers.codes, trips.numbers.values
        parts, pairs = np.divmod(codes, n_cells**2)
        origins, destinations = np.divmod(pairs, n_cells)
        there = np.flatnonzero((parts == part) & (origins != destinations) & (weights > 0))
        best = there[np.argsort(-weights[there], kind="stable")[:_ARCS]]
        return cls(origins[best], destinations[best], weights[best], trips.low[best], trips.high[best])


@dataclass(frozen=True, eq=False)
class _Day:
    """Hold what of the layers that are drawn is shown by part of the day."""

    hours: Hours
    passing: Sequence[Estimates]  # layer by layer
    densities: Sequence[Floats]  # (N_PARTS, n_cells) by layer: of trips, for each area
    speeds: Sequence[Speeds]  # layer by layer
    scales: Sequence[Rising]  # of the densities of a layer, the same for all parts
    speed_scale: Around  # the same for all layers and parts

    @classmethod
    def of(cls, hours: Hours, layers: Sequence[Layer], shown: Sequence[int]) -> _Day:
        passing, speeds = [hours.passing[n] for n in shown], [hours.speeds[n] for n in shown]
        densities = [
            per_area(layer, trips_by_part(layer, one)) for layer, one in zip(layers, passing, strict=True)
        ]
        scales = [Rising.over(density) for density in densities]
        return cls(hours, passing, densities, speeds, scales, speed_scale(hours, speeds))

    def grids(self, layers: Sequence[Layer], cells: Sequence[Cells]) -> list[dict[str, Any]]:
        """Say what is shown about the cells of each layer, and in which shades: a letter for each cell."""
        return [
            {
                **maps.grid_data(layer, of, speeds, passing),
                "shades": {
                    "trips": [_letters(scale.shades(trips)) for trips in density],
                    "speed": [_letters(self.speed_scale.shades(some)) for some in steady_speeds(speeds)],
                },
            }
            for layer, of, speeds, passing, scale, density in zip(
                layers, cells, self.speeds, self.passing, self.scales, self.densities, strict=True
            )
        ]

    def legends(self, layers: Sequence[Layer]) -> str:
        """Show the color scales of trips and of speeds; they are hidden until colors are theirs."""
        trips = [
            f'<div data-legend="trips {number}" hidden="">{_legend(layer, scale, _IN_PART)}</div>'
            for number, (layer, scale) in enumerate(zip(layers, self.scales, strict=True))
        ]
        speeds = speed_legend(self.speed_scale, layers[0].grid.region) + paragraph(SPEEDS, "small")
        return "\n".join([*trips, f'<div data-legend="speed" hidden="">{speeds}</div>'])

    def words(self) -> str:
        """Say what is shown of each part of the day."""
        return "\n".join(
            f'<p class="small" data-part="{part}" hidden="">Trips that depart from {span(part)}: '
            f"{percent(float(share))} of all trips. Cells, arcs and lines show only these.</p>"
            for part, share in enumerate(self.hours.shares)
        )


def trips_by_part(layer: Layer, passing: Estimates) -> Floats:
    """Lay trips that pass cells out by part of the day: (N_PARTS, n_cells)."""
    return passing.table.reshape(N_PARTS, layer.grid.n_cells)


def speed_scale(hours: Hours, speeds: Sequence[Speeds]) -> Around:
    """Scale speeds around the mean of all."""
    coarsest = hours.speeds[0]
    meters, seconds = float(coarsest.meters.sum()), float(coarsest.seconds.sum())
    middle = meters / seconds if meters > 0 else 1.0
    return Around.over(middle, *(steady_speeds(one) for one in speeds))


def steady_speeds(speeds: Speeds) -> Floats:
    """Give the speeds that rest on enough trips, the others NaN: of the day, then by part, (1 + N_PARTS, n)."""
    n_trips = np.concatenate([speeds.n_sampled.sum(axis=0, keepdims=True), speeds.n_sampled])
    found = np.concatenate([speeds.of_day[np.newaxis], speeds.by_part])
    return np.where(n_trips >= _LEAST_TRIPS, found, np.nan)


def speed_legend(scale: Around, region: Region) -> str:
    """Show the color scale of speeds."""
    ticks = scale.ticks(lambda size: speed(size, region).split()[0])
    unit = speed(1.0, region).split()[1]
    words = f"Color scale of mean speeds, orange for {ticks[0][1]} {unit}, purple for {ticks[-1][1]} {unit}."
    return maps.legend(f"Mean speed, {unit}; cells with few trips have no color", "d", ticks, words)


def _letters(shades: Integers) -> str:
    """Write shades as text, a letter for each, and a dot for none."""
    return "".join("." if shade < 0 else chr(97 + shade) for shade in shades.tolist())


def per_area(layer: Layer, numbers: Floats) -> Floats:
    """Divide numbers of cells by their areas, in km² or square units."""
    whole = layer.grid.sizes_m.prod(axis=1) / (1e6 if layer.grid.region.in_meters else 1.0)
    # Slivers of cells at the region's edge would be the darkest by noise alone.
    density: Floats = numbers / np.maximum(areas(layer.grid), _LEAST_SHARE * whole)
    return density


def _arcs(sheet: maps.Sheet, shown: Fitted, flows: _Strongest, when: str = "") -> str:
    """Draw flows, each with its words."""
    end = shown.view.layers[shown.view.zones].name.removesuffix("s")
    words = [
        f"{between(weight, low, high)} trips{when}, from {end} {origin} to {destination}"
        for origin, destination, weight, low, high in zip(*flows, strict=True)
    ]
    return maps.arcs(sheet, shown.zones, flows.origins, flows.destinations, flows.weights, words)


def _arcs_by_part(sheet: maps.Sheet, shown: Fitted, of_day: _Strongest, hours: Hours) -> str:
    """Draw the strongest flows of the day, and hidden those of each part."""
    parts = (
        f'<g data-part="{part}" hidden="">{_arcs(sheet, shown, strongest, f" departing from {span(part)}")}</g>'
        for part in range(N_PARTS)
        for strongest in [_Strongest.of(hours.trips, shown.zones.n_cells, part)]
    )
    return "\n".join([f'<g data-part="day">{_arcs(sheet, shown, of_day)}</g>', *parts])


def _lines_by_part(sheet: maps.Sheet, trips: Trajectories, hours: Hours) -> str:
    """Draw trips, those of each part of the day together."""
    assert trips.times is not None
    departures = hours.calendar.zone.to_local(seconds_of(trips.times[trips.offsets[:-1]]))
    parts = hours_of_week(departures) % 24 // HOURS_OF_PART
    return "\n".join(
        f'<g data-departs="{part}">{maps.lines(sheet, trips.take(np.flatnonzero(parts == part)))}</g>'
        for part in range(N_PARTS)
    )


_IN_PART = " in a part of the day"


def _legend(layer: Layer, scale: Rising, when: str = "") -> str:
    unit = "km²" if layer.grid.region.in_meters else "square unit"
    title, ticks = f"Trips per {unit}{when}, {layer.name}", scale.ticks(rounded)
    words = f"Color scale of {title.lower()}, from 0 to {ticks[-1][1]}, logarithmic."
    return maps.legend(title, "q", ticks, words)


def _known(layers: list[Layer]) -> str:
    """Say what the model knows the area as."""
    names = " and ".join(filter(None, [", ".join(layer.name for layer in layers[:-1]), layers[-1].name]))
    return " ".join([f"The model divides the area into {names}.", *(_CELLS[n] for n in _CELLS if n in names)])


#: What the cells of a layer are for, where its name does not say it.
_CELLS = {
    "states": ("States are the cells that describe trips: coarse cells, divided where there are many trips."),
    "fine cells": "Cells describe trips; fine cells only say where in a cell trips pass.",
}


def _bounds(region: Region) -> str:
    """Say where the map lies, so that it can be found on another."""
    west, south, east, north = (
        plain(value, 12).replace("-", "−") for value in (region.west, region.south, region.east, region.north)
    )
    x, y = ("longitude ", "latitude ") if region.crs == "lonlat" else ("x = ", "y = ")
    return f"The map covers {x}{west} to {east} and {y}{south} to {north}; north is up."


_READING = (
    "A trip counts once in each cell that it passes. In measured visits every trip has a total weight of at "
    "most 1, spread over the cells that it visits, so they are smaller; below zero they are noise. What ± and "
    "numbers in brackets mean is said at the top."
)
_MOVING = (
    "Drag to pan. Zoom with the buttons, a double click, two fingers, or the mouse wheel after clicking "
    "on the map. On the keyboard, the arrow keys move the map, + and − zoom, and 0 shows everything."
)


def _hidden(number: int, layers: list[Layer]) -> str:
    """Hide all layers but the finest at first."""
    return "" if number == len(layers) - 1 else ' hidden=""'


def _tools(layers: list[Layer]) -> str:
    radios = "".join(
        f'<label><input type="radio" name="layer" value="{number}" data-shows="[data-layer=\'{number}\']"'
        f"{' checked' if number == len(layers) - 1 else ''}>{escape(layer.name.capitalize())}</label>"
        for number, layer in enumerate(layers)
    )
    boxes = "".join(
        f'<label><input type="checkbox" data-shows="[data-{value}]" checked>{text}</label>'
        for value, text in (("flows", "Strongest flows"), ("trips", "Synthetic trips"))
    )
    choice = (
        f'<div class="tools" role="radiogroup" aria-label="Cells">{radios}</div>' if len(layers) > 1 else ""
    )
    return f'{choice}<div class="tools" role="group" aria-label="Drawn over the cells">{boxes}</div>'


def _tools_of_day() -> str:
    """Offer the parts of the day, and what colors show."""
    parts = {"day": "All day"} | {str(part): span(part).replace(" to ", "–") for part in range(N_PARTS)}
    radios = "".join(
        f'<label><input type="radio" name="part" value="{value}" data-shows="[data-part=\'{value}\']"'
        f"{' checked' if value == 'day' else ''}>{text}</label>"
        for value, text in parts.items()
    )
    colors = "".join(
        f'<label><input type="radio" name="colors" value="{value}" data-shows=""'
        f"{' checked' if value == 'trips' else ''}>{text}</label>"
        for value, text in (("trips", "Trips"), ("speed", "Mean speed"))
    )
    return "".join(
        f'<div class="tools" role="radiogroup" aria-labelledby="{name}"><span id="{name}">{text}</span>'
        f"{inputs}</div>"
        for name, text, inputs in (("parts", "Departing", radios), ("colors", "Colors", colors))
    )


def _described(layer: Layer, cells: Cells, n_flows: int, n_trips: int) -> str:
    trips = cells.trips.table
    busiest = int(np.argmax(trips))
    return (
        f"Map of {layer.grid.n_cells:,} {layer.name}, colored by the trips that pass them, with the {n_flows} "
        f"strongest flows as arcs and {n_trips} synthetic trips as lines. Through the busiest pass "
        f"{amount(float(trips[busiest]))} trips; it lies at {_center(layer, busiest, 5)}. A table below lists "
        "the busiest."
    )


def _center(layer: Layer, cell: int, n_digits: int) -> str:
    """Write where a cell is; across the antimeridian, longitudes go on from -180 as in the data."""
    x, y = layer.grid.pieces.centers[cell]
    longitude = float(layer.grid.region.wrap(x))
    return ", ".join(plain(value, n_digits).replace(",", "") for value in (longitude, y))


def _busiest(layer: Layer, cells: Cells) -> str:
    fitted = [maps.laid_out(one) for one in (cells.trips, cells.starts, cells.ends)]
    order = np.argsort(-fitted[0][0], kind="stable")[:_BUSIEST]
    head = [layer.name.removesuffix("s").capitalize(), "Center", "Trips", "Starts", "Ends"]
    head.append(f"Measured visits ± {rounded(layer.visits.margin)}")
    rows = [
        [
            str(cell),
            _center(layer, cell, 6),
            *(between(number[cell], low[cell], high[cell]) for number, low, high in fitted),
            f"{layer.visits.values[cell]:,.0f}",
        ]
        for cell in order.tolist()
    ]
    return table(head, rows, n_words=2, are_long=True)
