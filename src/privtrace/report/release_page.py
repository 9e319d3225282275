"""Show what a model is and promises, from the model alone: the page is as publishable as the model file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from hashlib import sha256
from html import escape

import numpy as np

from privtrace.evaluation.shapes import diameters_m, lengths_m
from privtrace.export.tables import areas
from privtrace.models import to_bytes
from privtrace.privacy.ledger import decimal
from privtrace.privacy.unit import WEIGHT
from privtrace.release import METHODS, Release
from privtrace.report import charts, colors, maps
from privtrace.report.document import (
    Report,
    answers,
    bullets,
    distance,
    extent,
    facts,
    folded,
    page,
    paragraph,
    plain,
    section,
    table,
)
from privtrace.synthesizers.base import Model, in_words, sample_parts
from privtrace.synthesizers.plan import LARGE_EPSILON, rounded
from privtrace.synthesizers.view import Layer, View
from privtrace.trajectories import Floats, Trajectories

#: The synthetic trips of the page are the first of this seed, as anyone can make them again.
SEED = 1
N_TRIPS = 20_000
_DRAWN_TRIPS = 150
_ARCS = 40
_BUSIEST = 15
_BARS = 36

#: Of a cell: where less of it is in the region, it is colored as if so much were.
_LEAST_SHARE = 0.25

#: Cells of a layer that a page draws, at most.
_MOST_CELLS = 20_000


def release_page(model: Model, *, title: str | None = None) -> Report:
    """Show a model as one page: promise, map, distributions, uses and making. It reads the model alone."""
    release, view = model.release, model.view()
    trips = _trips(model)
    title = title or f"Synthetic trips by {METHODS[release.method]}"
    heading = title if release.private else f"NOT PRIVATE: {title}"
    return page(
        heading,
        [
            _heading(model, title),
            _promise(release),
            _map(view, trips, model),
            _distributions(trips, release),
            _uses(model, view),
            _making(model),
        ],
    )


#: What each method keeps best and least, as docs/comparison.md measures it.
_STRENGTHS = {
    "privtrace": "PrivTrace keeps fine patterns on a small budget; how long trips are, it keeps only roughly.",
    "adatrace": "AdaTrace keeps where trips begin and end, and how long they are; the way between, it loses.",
    "dpt": "DPT keeps where people go best; how long trips are and where they end, it keeps only roughly.",
}


def _trips(model: Model) -> Trajectories:
    count = min(model.n_trajectories, N_TRIPS)
    return Trajectories.concatenate((part for part, _ in sample_parts(model, count, SEED)), model.release.crs)


def _heading(model: Model, title: str) -> str:
    release = model.release
    unit = release.unit.neighbors
    guard = (
        f"protected by pure differential privacy with epsilon {decimal(release.epsilon)} per {unit}"
        if release.private
        else "fitted without protection"
    )
    what = (
        f"This page describes a statistical model of the movement in {_area(release)}, {guard}, and shows "
        "synthetic trips made from it. Nobody ever took one of these trips: everything here was computed from "
        "the model file alone, and nothing from the data."
    )
    alarm = "" if release.private else f'<p class="alarm">{escape(release.verdict)}. Do not publish it.</p>\n'
    red = "" if release.private else ' class="red"'
    mark = "" if release.private else "<em>NOT PRIVATE</em>: "
    strip = {
        "Privacy budget": f"ε = {decimal(release.epsilon)}" if release.private else "NOT PRIVATE",
        "Protected": f"each {unit}" if release.private else "nobody",
        "Trajectories": _count_words(model),
        "Area": extent(release.region),
        "Method": METHODS[release.method],
    }
    return f"""<header{red}>
<p class="kicker">privtrace: a release</p>
<h1>{mark}{escape(title)}</h1>
{alarm}{paragraph(what, "lead")}
{facts(strip)}
</header>"""


def _area(release: Release) -> str:
    return f"an area of {extent(release.region)}"


def _count_words(model: Model) -> str:
    if model.release.public_count is not None:
        return f"{model.release.public_count:,}, declared"
    return f"{model.n_trajectories:,} ± {rounded(_errors(model.release)['count'])}"


def _errors(release: Release) -> dict[str, float]:
    """Give the standard deviation of the noise of each stage, in trajectories."""
    return {charge.stage: math.sqrt(2) * charge.scale_in_trajectories for charge in release.charges}


def _promise(release: Release) -> str:
    rows = [
        (
            charge.stage,
            charge.statistic,
            decimal(Fraction(charge.sensitivity, WEIGHT)),
            decimal(charge.epsilon),
            plain(charge.scale_in_trajectories, 4),
            f"± {rounded(math.sqrt(2) * charge.scale_in_trajectories)}",
        )
        for charge in release.charges
    ]
    head = ("Stage", "What was measured", "Sensitivity", "ε", "Noise scale", "A number is off by about")
    foot = ("Spent", "", "", f"{decimal(release.spent)} of {decimal(release.epsilon)}", "", "")
    return section(
        "What is promised",
        *(paragraph(text) for text in (_plain_words(release) if release.private else [_NO_PROMISE])),
        answers(item for item in release.statement() if item[0] != "Mechanisms"),
        "<h3>Mechanisms</h3>",
        paragraph(
            "Every number that left the data, with the noise that was added to it. Sensitivity is how much one "
            "protected unit can change a list of numbers, in trajectories; the noise is discrete Laplace, and "
            "its scale is sensitivity over ε. Everything else on this page follows from these numbers.",
            "small",
        ),
        table(head, rows, foot, n_words=2),
    )


def _plain_words(release: Release) -> Iterator[str]:
    """Say what epsilon means, with its numbers."""
    epsilon, unit = float(release.epsilon), release.unit
    whom = "person" if unit.kind == "user" else unit.neighbors
    everything = ", with all their trajectories" if unit.kind == "user" else ""
    large = epsilon > LARGE_EPSILON
    factor = f"e to the power of {epsilon:,g}" if large else _rounded_up(math.exp(epsilon), math.expm1(epsilon))
    yield (
        f"In plain words: whichever {whom} is left out of the data{everything}, the chance of any model, and "
        f"so of any page or trip made from it, changes by a factor of {factor} at most. Someone who knows all "
        f"the rest of the data, and finds it as likely as not that a given {whom} is in it too, "
        f"{_surest(epsilon)} after seeing everything here."
    )
    if release.public_count is not None:
        yield (
            "The number of trajectories was declared as public, and is not protected. If it is the exact one, "
            f"read all this for replacing a {whom} by another, at twice the epsilon."
        )
    yield (
        "That bound does not wear off with time, and it does not depend on what attackers do or combine. It is "
        "about what one contribution adds; what is true of the city as a whole, the release is meant to tell."
    )


def _surest(epsilon: float) -> str:
    """Say how sure someone can become who was undecided: exp(epsilon) / (1 + exp(epsilon)) at most."""
    if epsilon > LARGE_EPSILON:
        return f"can become practically certain of it: an epsilon above {LARGE_EPSILON} promises little,"
    doubt = 100 / (1 + math.exp(epsilon))
    return f"can be {_rounded_up(100 - doubt, doubt)} % sure of it at most"


def _rounded_up(value: float, scale: float) -> str:
    """Write a bound so that it still holds, with as many digits as what matters of it has, `scale`."""
    digits = 2 - math.floor(math.log10(scale))
    return f"{math.ceil(value * 10.0**digits) / 10.0**digits:,.12g}"


_NO_PROMISE = "No promise is made: this model was fitted for a test or a benchmark, and its noise is known."


def _map(view: View, trips: Trajectories, model: Model) -> str:
    release = model.release
    sheet = maps.Sheet(release.region)
    layers = [layer for layer in view.layers if layer.grid.n_cells <= _MOST_CELLS] or [view.layers[0]]
    drawn = trips[:_DRAWN_TRIPS]
    strongest = view.trips.strongest(_ARCS)
    ends = view.layers[view.trips.layer]
    one_end = ends.name.removesuffix("s")
    flows = maps.arcs(
        sheet,
        ends.grid,
        strongest,
        [
            f"A flow of about {rounded(weight)} trips, from {one_end} {origin} to {destination}"
            for origin, destination, weight in zip(
                strongest.origins, strongest.destinations, strongest.weights, strict=True
            )
        ],
    )
    shaded = [_shades(layer) for layer in layers]
    grounds = "\n".join(
        f'<g class="cells" data-layer="{number}"{_hidden(number, layers)}>'
        f"{maps.cells(sheet, layer.grid, shades)}</g>"
        for number, (layer, (shades, _, _)) in enumerate(zip(layers, shaded, strict=True))
    )
    drawing = f"{grounds}\n<g data-trips>{maps.lines(sheet, drawn)}</g>\n<g data-flows>{flows}</g>"
    alternative = _described(layers[-1], len(strongest.weights), len(drawn))
    names = " and ".join(filter(None, [", ".join(layer.name for layer in layers[:-1]), layers[-1].name]))
    known = " ".join([f"The model knows the area as {names}.", *(_CELLS[n] for n in _CELLS if n in names)])
    legends = "\n".join(
        f'<div data-layer="{number}"{_hidden(number, layers)}>{_legend(layer, *scale)}</div>'
        for number, (layer, (_, *scale)) in enumerate(zip(layers, shaded, strict=True))
    )
    return section(
        "The model on a map",
        paragraph(
            f"{known} Colors show how many visits each cell had, with noise; arcs are the "
            f"{len(strongest.weights)} strongest flows between different cells, and thin lines the first "
            f"{len(drawn)} synthetic trips. {view.trips_from}"
        ),
        maps.panel(
            sheet,
            [maps.Map("", alternative, drawing)],
            [maps.grid_data(layer) for layer in layers],
            "Point at the map to read a cell's noisy numbers and their noise.",
            "\n".join(
                [
                    _tools(layers),
                    legends,
                    paragraph(_bounds(release), "small"),
                    paragraph(_READING, "small"),
                    paragraph(_MOVING, "small hands"),
                ]
            ),
        ),
        folded(f"The busiest of the {layers[-1].name} as a table", _busiest(layers[-1])),
    )


#: What the cells of a layer are for, where its name does not say it.
_CELLS = {
    "states": "States are the cells that trips are told in: coarse cells, divided where many trips pass.",
    "fine cells": "Trips are told in cells; fine cells only say where in a cell they pass.",
}


def _bounds(release: Release) -> str:
    """Say where the map lies, so that it can be found on another."""
    region = release.region
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


def _shades(layer: Layer) -> tuple[np.ndarray, float, float]:
    """Choose shades by visits per area; also the most, and where the logarithm begins."""
    boxes = layer.grid.boxes
    whole = np.prod((boxes[:, 2:] - boxes[:, :2]) * np.array(layer.grid.region.scale_m), axis=1)
    # Slivers of cells at the region's edge would be the darkest by noise alone.
    density = layer.visits.values / np.maximum(areas(layer.grid), _LEAST_SHARE * whole / _area_unit(layer))
    most = float(density.max(initial=0)) or 1.0
    floor = most / 100
    return colors.rising(density, most, floor), most, floor


def _area_unit(layer: Layer) -> float:
    """Give the square meters (or planar units) in a unit of area."""
    return 1e6 if layer.grid.region.crs == "lonlat" else 1.0


def _legend(layer: Layer, most: float, floor: float) -> str:
    shown = np.array([0.0, most / 30, most / 8, most])
    places = np.log1p(shown / floor) / np.log1p(most / floor)
    ticks = [(float(at), rounded(value)) for at, value in zip(places, shown, strict=True)]
    unit = "km²" if layer.grid.region.crs == "lonlat" else "square unit"
    title = f"Noisy visits per {unit}, {layer.name}"
    return maps.legend(
        title, "q", ticks, f"Color scale of {title.lower()}, from 0 to {ticks[-1][1]}, logarithmic."
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
    x -= layer.grid.region.area.turn if x > 180 else 0
    return ", ".join(plain(value, n_digits).replace(",", "") for value in (x, y))


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


def _distributions(trips: Trajectories, release: Release) -> str:
    if not len(trips):
        return section(
            "The synthetic trips", paragraph("The model takes the data to be empty, and makes none.")
        )
    region = release.region
    points = (region.unwrap(trips.points) - region.sides[:2]) * np.array(region.scale_m)
    lengths, diameters = (measure(points, trips.offsets) for measure in (lengths_m, diameters_m))
    n_points = np.diff(trips.offsets).astype(np.float64)
    axis = charts.Axis("km", 1000) if region.crs == "lonlat" else charts.Axis("units", 1)
    figures = [
        _histogram("Length", "the sum of all steps", lengths, axis),
        _histogram("Diameter", "the greatest distance between two points", diameters, axis),
        _histogram("Points", "about one for each cell visited", n_points, charts.Axis("points", 1), whole=True),
    ]
    quantiles = (0.1, 0.25, 0.5, 0.75, 0.9)
    names = ("Length", "Diameter", "Points")
    rows = [
        [name, *(distance(value, region) if name != "Points" else plain(value, 3) for value in row)]
        for name, row in zip(
            names, (np.quantile(x, quantiles) for x in (lengths, diameters, n_points)), strict=True
        )
    ]
    head = ("Of a trip", *(f"{share:.0%} are below" for share in quantiles))
    return section(
        "The synthetic trips",
        paragraph(
            f"Of the first {len(trips):,} trips that the model makes with seed {SEED}. They describe the "
            "model, and the data only as far as the model does. The last bar holds all that lies beyond."
        ),
        f'<div class="columns">{"".join(figures)}</div>',
        folded("The same in numbers", table(head, rows, n_words=1)),
    )


def _histogram(name: str, meaning: str, values: Floats, axis: charts.Axis, *, whole: bool = False) -> str:
    """Draw a distribution up to where nearly all of it is, the rest in the last bar; whole numbers whole."""
    high = float(np.quantile(values, 0.995)) or float(values.max()) or 1.0
    width = math.ceil((high + 1) / _BARS) if whole else high / _BARS
    edges = np.arange(0, high + (1 + width if whole else width / 2), width)
    counts, _ = np.histogram(np.minimum(values, edges[-1] - width / 2), edges)
    median = float(np.median(values)) / axis.per_unit
    words = f"{name}: half of the trips are below {plain(median, 3)} {axis.label}."
    chart = charts.bars(edges, counts / len(values), axis, words)
    return f"<figure><figcaption><b>{name}</b>, {meaning}</figcaption>{chart}</figure>"


def _uses(model: Model, view: View) -> str:
    release = model.release
    finest = view.layers[-1]
    sides = (finest.grid.boxes[:, 2:] - finest.grid.boxes[:, :2]) * np.array(release.region.scale_m)
    small, large = (distance(float(side), release.region) for side in (sides.min(), sides.max()))
    error = rounded(finest.visits.error)
    size = f"{small} wide" if small == large else f"{small} to {large} wide"
    good = [
        "Where people move, and how much more in one quarter than in another.",
        "Flows between quarters, and tables of origins and destinations: privtrace export makes them.",
        "Testing software, teaching, simulations: as many synthetic trips as wanted, at no further cost.",
        _STRENGTHS[release.method],
    ]
    bad = [
        "Nothing about single people: no trip here belongs to anyone, and none can be looked up.",
        f"Nothing smaller than a cell: cells are {size}, points are placed at random in them, and lines "
        "between points do not follow streets.",
        f"Nothing below the noise: a cell's visits are off by about ± {error}, so small numbers mean little, "
        "and rare trips are lost or made up.",
        "Long trips fare worse than short ones, because each trajectory weighs one in all however long it is.",
        "Nothing about times of day, days or speeds: times are not synthesized.",
        "Totals hold for the area alone: what lies outside it was cut off.",
    ]
    return section(
        "What it can be used for, and what not",
        '<div class="columns">',
        f"<div><h3>Good for</h3>{bullets(good)}</div>",
        f"<div><h3>Not for</h3>{bullets(bad)}</div>",
        "</div>",
    )


def _making(model: Model) -> str:
    release = model.release
    sizes = ((name.capitalize(), f"{size:,}") for name, size in model.summary().items())
    settings = (
        (name, "by rule" if value is None else str(value)) for name, value in sorted(release.settings.items())
    )
    digest = sha256(to_bytes(model)).hexdigest()
    return section(
        "How it was made",
        paragraph(
            f"{METHODS[release.method]}, as in version {release.software} of privtrace, read the trajectories, "
            f"kept of each its longest stretch inside the area, measured the numbers listed above with noise, "
            f"and built the model from these: {in_words(model.summary())}. Walks on it are the synthetic "
            "trips. Anyone can make more from the model file:"
        ),
        "<p><code>privtrace generate MODEL --count 100000 --seed 7 --output synthetic.parquet</code></p>",
        f"<p>SHA-256 of the model file that this page shows: <code>{digest}</code></p>",
        folded("Sizes", table(("Part of the model", "Number"), sizes, n_words=1)),
        folded("Settings, all public", table(("Setting", "Value"), settings, n_words=1)),
    )
