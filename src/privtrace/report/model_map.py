"""Draw a model on a map: its cells with their noisy visits, the strongest flows, and synthetic trips."""

from __future__ import annotations

from html import escape

import numpy as np

from privtrace.export.tables import areas
from privtrace.methods.plan import rounded
from privtrace.methods.view import Flows, Layer, View
from privtrace.report import maps
from privtrace.report.colors import Rising
from privtrace.report.document import folded, paragraph, plain, section, table
from privtrace.space.region import Region
from privtrace.trajectories import Floats, Trajectories

_DRAWN_TRIPS = 150
_ARCS = 40
_BUSIEST = 15

#: Of a cell: where less of it is in the region, it is colored as if so much were.
_LEAST_SHARE = 0.25

#: Cells of a layer that a page draws, at most.
_MOST_CELLS = 20_000


def model_map(view: View, trips: Trajectories, region: Region) -> str:
    """Show what a view shows, with the first of some synthetic trips over it."""
    sheet = maps.Sheet(region)
    layers = [layer for layer in view.layers if layer.grid.n_cells <= _MOST_CELLS] or [view.layers[0]]
    densities = [_density(layer) for layer in layers]
    scales = [Rising.over(density) for density in densities]
    drawn, flows = trips[:_DRAWN_TRIPS], view.trips.strongest(_ARCS)
    grounds = "\n".join(
        f'<g class="cells" data-layer="{number}"{_hidden(number, layers)}>'
        f"{maps.cells(sheet, layer.grid, scale.shades(density))}</g>"
        for number, (layer, density, scale) in enumerate(zip(layers, densities, scales, strict=True))
    )
    arcs = maps.arcs(sheet, view.layers[flows.layer].grid, flows, _words(view, flows))
    drawing = f"{grounds}\n<g data-trips>{maps.lines(sheet, drawn)}</g>\n<g data-flows>{arcs}</g>"
    legends = "\n".join(
        f'<div data-layer="{number}"{_hidden(number, layers)}>{_legend(layer, scale)}</div>'
        for number, (layer, scale) in enumerate(zip(layers, scales, strict=True))
    )
    words = (_bounds(region), "small"), (_READING, "small"), (_MOVING, "small hands")
    beside = [_tools(layers), legends, *(paragraph(text, css) for text, css in words)]
    return section(
        "The model on a map",
        paragraph(
            f"{_known(layers)} Colors show how many visits each cell had, with noise; arcs are the "
            f"{len(flows.weights)} strongest flows between different cells, and thin lines the first "
            f"{len(drawn)} synthetic trips. {view.trips_from}"
        ),
        maps.panel(
            sheet,
            [maps.Map("", _described(layers[-1], len(flows.weights), len(drawn)), drawing)],
            [maps.grid_data(layer) for layer in layers],
            "Point at the map to read a cell's noisy numbers and their noise.",
            "\n".join(beside),
        ),
        folded(f"The busiest of the {layers[-1].name} as a table", _busiest(layers[-1])),
    )


def _density(layer: Layer) -> Floats:
    """Divide visits by area, in km² or square units."""
    whole = layer.grid.sizes_m.prod(axis=1) / (1e6 if layer.grid.region.crs == "lonlat" else 1.0)
    # Slivers of cells at the region's edge would be the darkest by noise alone.
    density: Floats = layer.visits.values / np.maximum(areas(layer.grid), _LEAST_SHARE * whole)
    return density


def _words(view: View, flows: Flows) -> list[str]:
    """Tell each flow."""
    end = view.layers[flows.layer].name.removesuffix("s")
    return [
        f"A flow of about {rounded(weight)} trips, from {end} {origin} to {destination}"
        for origin, destination, weight in zip(flows.origins, flows.destinations, flows.weights, strict=True)
    ]


def _legend(layer: Layer, scale: Rising) -> str:
    unit = "km²" if layer.grid.region.crs == "lonlat" else "square unit"
    title, ticks = f"Noisy visits per {unit}, {layer.name}", scale.ticks(rounded)
    words = f"Color scale of {title.lower()}, from 0 to {ticks[-1][1]}, logarithmic."
    return maps.legend(title, "q", ticks, words)


def _known(layers: list[Layer]) -> str:
    """Say what the model knows the area as."""
    names = " and ".join(filter(None, [", ".join(layer.name for layer in layers[:-1]), layers[-1].name]))
    return " ".join([f"The model knows the area as {names}.", *(_CELLS[n] for n in _CELLS if n in names)])


#: What the cells of a layer are for, where its name does not say it.
_CELLS = {
    "states": "States are the cells that trips are described by: coarse cells, divided where many trips pass.",
    "fine cells": "Trips are described by cells; fine cells only say where in a cell they pass.",
}


def _bounds(region: Region) -> str:
    """Say where the map lies, so that it can be found on another."""
    west, south, east, north = (
        plain(value, 12).replace("-", "−") for value in (region.west, region.south, region.east, region.north)
    )
    x, y = ("longitude ", "latitude ") if region.crs == "lonlat" else ("x = ", "y = ")
    return f"The map lies between {x}{west} and {east}, {y}{south} and {north}; north is up."


_READING = (
    "± is the standard deviation of the noise: at least two numbers in three are off by less. Visits are "
    "spread: each trajectory weighs one at most, divided over the cells that it visits, so visits compare "
    "cells and do not count people. Negative numbers are noise around nothing."
)
_MOVING = (
    "Drag to pan. Zoom with the buttons, a double click, two fingers, or the wheel once the map is clicked. On "
    "the keyboard, arrows move the map, + and − zoom, and 0 shows all."
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


def _described(layer: Layer, n_flows: int, n_trips: int) -> str:
    visits = layer.visits.values
    busiest = int(np.argmax(visits))
    return (
        f"Map of {layer.grid.n_cells:,} {layer.name}, colored by noisy visits, with the {n_flows} strongest "
        f"flows as arcs and {n_trips} synthetic trips as lines. The busiest has {visits[busiest]:,.0f} visits "
        f"and lies at {_center(layer, busiest, 5)}. A table below lists the busiest."
    )


def _center(layer: Layer, cell: int, n_digits: int) -> str:
    """Write where a cell is; across the antimeridian, longitudes go on from -180 as in the data."""
    x, y = layer.grid.pieces.centers[cell]
    longitude = float(layer.grid.region.wrap(x))
    return ", ".join(plain(value, n_digits).replace(",", "") for value in (longitude, y))


def _busiest(layer: Layer) -> str:
    order = np.argsort(-layer.visits.values, kind="stable")[:_BUSIEST]
    head = [layer.name.removesuffix("s").capitalize(), "Center"]
    head += [f"{number.name.capitalize()} ± {rounded(number.error)}" for number in layer.numbers]
    rows = [
        [
            str(cell),
            _center(layer, cell, 6),
            *(f"{number.values[cell]:,.0f}" for number in layer.numbers),
        ]
        for cell in order.tolist()
    ]
    return table(head, rows, n_words=2)
