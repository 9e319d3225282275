"""Draw maps as SVG: cells in their shades, flows as arcs, trips as lines. The page's script moves them.

Without a script the maps still show all that they show at first.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

from privtrace.caching import cached_property
from privtrace.export.tables import areas
from privtrace.methods.estimating import Estimates
from privtrace.methods.fitted import Cells, Speeds
from privtrace.methods.plan import rounded
from privtrace.methods.view import Layer
from privtrace.report.colors import SHADES, STEPS
from privtrace.report.document import short
from privtrace.space.grid import Grid
from privtrace.space.region import Region
from privtrace.trajectories import Floats, Integers, Trajectories

#: Units of a map's width; the height follows, in meters.
_WIDTH = 1000.0

#: How far an arc bends aside, as a share of its length: enough to tell there from back.
_BEND = 0.22


@dataclass(frozen=True)
class Sheet:
    """Lay a region out on a map, north up."""

    region: Region

    @cached_property
    def height(self) -> float:
        """Give the height in units of the map."""
        return _WIDTH * self.region.height_m / self.region.width_m

    def place(self, points: Floats) -> Floats:
        """Place points of the region on the map: (n, 2), x to the right and y down."""
        west, south, east, north = self.region.bounds
        x, y = self.region.unwrap(points).T
        return np.stack(
            [(x - west) * (_WIDTH / (east - west)), (north - y) * (self.height / (north - south))], 1
        )

    @cached_property
    def outline(self) -> str:
        """Draw the edge of the region as a path."""
        if self.region.shape is None:
            return f"M0 0H{_WIDTH:g}V{self.height:.1f}H0Z"
        rings = (self.place(np.array(ring)) for ring in self.region.shape.rings)
        return "".join(_line(ring) + "Z" for ring in rings)

    def glyph(self, cells: Sequence[int], n_per_side: int) -> str:
        """Draw a run of cells of a square grid on a small map; its outline is that of the page's first map."""
        width, height, top = _WIDTH / n_per_side, self.height / n_per_side, n_per_side - 1
        classes = [*[""] * (len(cells) - 1), ' class="last"']
        squares = "".join(
            f'<rect{css} x="{cell % n_per_side * width:g}" '
            f'y="{(top - cell // n_per_side) * height:.1f}" width="{width:g}" height="{height:.1f}"/>'
            for cell, css in zip(cells, classes, strict=True)
        )
        size = f"0 0 {_WIDTH:g} {self.height:.1f}"
        return f'<svg class="glyph" viewBox="{size}" aria-hidden="true"><use href="#outline-0"/>{squares}</svg>'

    def small(self, drawing: str, alternative: str) -> str:
        """Set a drawing on a small map; its outline is that of the page's first map."""
        return (
            f'<svg class="small-map" viewBox="0 0 {_WIDTH:g} {self.height:.1f}" role="img" '
            f'aria-label="{escape(alternative)}"><g clip-path="url(#region-0)">{drawing}</g>'
            '<use href="#outline-0"/></svg>'
        )


@dataclass(frozen=True)
class Map:
    """Hold one map: a heading, what it shows in words, and its drawing."""

    heading: str  # HTML
    alternative: str
    drawing: str  # SVG


def panel(
    sheet: Sheet, maps: Sequence[Map], grids: Sequence[dict[str, Any]], hint: str, beside: str = ""
) -> str:
    """Set maps side by side that move together; `grids` say what is shown about the cells at a place.

    The last of the grids comes first. What is shown stands below the maps, or in a column beside one.
    """
    in_meters = sheet.region.in_meters
    data = {
        "metersPerUnit": sheet.region.width_m / _WIDTH,
        "unit": "m" if in_meters else "units",
        "bounds": sheet.region.bounds.tolist(),
        "grids": list(grids),
    }
    figures = "\n".join(_figure(sheet, number, drawn) for number, drawn in enumerate(maps))
    # No text of a script may look like its end.
    content = json.dumps(data, separators=(",", ":")).replace("</", "<\\/")
    css = ' class="stage"' if beside else ""
    return f"""<div data-maps{css} style="--ratio:{_WIDTH / sheet.height:.4f}">
<div class="maps">
{figures}
</div>
<div>
<output class="readout">{escape(hint)}</output>
{beside}
</div>
<script type="application/json">{content}</script>
</div>"""


def _figure(sheet: Sheet, number: int, drawn: Map) -> str:
    outline = f'<path id="outline-{number}" class="outline" d="{sheet.outline}"/>'
    clip = f'<clipPath id="region-{number}"><path d="{sheet.outline}" clip-rule="evenodd"/></clipPath>'
    arrow = (  # one for all maps
        '<marker id="arrow" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="9" markerHeight="9" '
        'markerUnits="userSpaceOnUse" orient="auto"><path d="M0 .5L7 4L0 7.5Z" fill="context-stroke"/></marker>'
        if number == 0
        else ""
    )
    size = f"0 0 {_WIDTH:g} {sheet.height:.1f}"
    buttons = "".join(
        f'<button type="button" value="{value}" aria-label="{words}" title="{words}">{sign}</button>'
        for value, words, sign in (("in", "Zoom in", "+"), ("out", "Zoom out", "−"), ("reset", "Show all", "⤢"))
    )
    return f"""<figure>
<figcaption>{drawn.heading}</figcaption>
<div class="frame">
<svg class="map" viewBox="{size}" tabindex="0" role="img" aria-label="{escape(drawn.alternative)}">
<defs>{clip}{arrow}</defs>
<g clip-path="url(#region-{number})">
{drawn.drawing}
</g>
{outline}
<svg class="cursor" aria-hidden="true" hidden=""><rect {_WHOLE}/><rect {_WHOLE}/></svg>
</svg>
<div class="zoom">{buttons}</div>
<div class="ruler" aria-hidden="true"></div>
</div>
</figure>"""


_WHOLE = 'width="100%" height="100%"'


def cells(sheet: Sheet, grid: Grid, shades: Integers, letter: str = "q") -> str:
    """Draw the cells of a grid in their shades; those below 0 are left out."""
    boxes = grid.boxes
    corners = sheet.place(boxes[:, [0, 3]])
    sizes = sheet.place(boxes[:, [2, 1]]) - corners
    elements = [
        f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h-{width:.1f}z"
        for (x, y), (width, height) in zip(corners.tolist(), sizes.tolist(), strict=True)
    ]
    return "".join(_shaded(letter, shades, elements))


def heat(sheet: Sheet, letter: str, shades: Integers) -> str:
    """Draw a table of shades, (n, n), north up, as equal cells of the map; equal neighbors in one stroke."""
    height, width = shades.shape
    down, across = sheet.height / height, _WIDTH / width
    runs, shades_of_runs = [], []
    for row in range(height):
        column = 0
        for shade, same in groupby(shades[row].tolist()):
            length = len(list(same))
            runs.append(
                f"M{column * across:g} {row * down:.2f}h{length * across:g}v{down:.2f}h-{length * across:g}z"
            )
            shades_of_runs.append(shade)
            column += length
    return '<g class="heat">' + "".join(_shaded(letter, np.array(shades_of_runs), runs)) + "</g>"


def _shaded(letter: str, shades: Integers, elements: Sequence[str]) -> Iterable[str]:
    """Put elements of one shade into one path."""
    for shade in np.unique(shades[shades >= 0]):
        chosen = "".join(elements[number] for number in np.flatnonzero(shades == shade).tolist())
        yield f'<path class="{letter}{shade}" d="{chosen}"/>'


def arcs(
    sheet: Sheet, grid: Grid, origins: Integers, destinations: Integers, weights: Floats, words: Sequence[str]
) -> str:
    """Draw flows as arcs from center to center, the stronger the wider, each with its words."""
    centers = sheet.place(grid.pieces.centers)
    starts, ends = centers[origins], centers[destinations]
    aside = (ends - starts)[:, ::-1] * np.array([1, -1]) * _BEND
    bends = (starts + ends) / 2 + aside
    widths = 0.8 + 5 * weights / weights.max(initial=1e-9)
    drawn = (
        f'<path class="flow" stroke-width="{width:.1f}" d="M{a:.1f} {b:.1f}Q{c:.1f} {d:.1f} {e:.1f} {f:.1f}">'
        f"<title>{escape(text)}</title></path>"
        for width, (a, b), (c, d), (e, f), text in zip(widths, starts, bends, ends, words, strict=True)
    )
    return "".join(drawn)


def lines(sheet: Sheet, trips: Trajectories) -> str:
    """Draw trajectories as lines from point to point."""
    at = np.split(sheet.place(trips.points), trips.offsets[1:-1])
    return "".join(f'<path class="trip" d="{_line(points)}"/>' for points in at if len(points) > 1)


def _line(points: Floats) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points.tolist())


def grid_data(
    layer: Layer, cells: Cells, speeds: Speeds | None = None, passing: Estimates | None = None
) -> dict[str, Any]:
    """Say what is shown about the cells of a layer: fitted numbers with their bounds, and noisy visits beside.

    Where there are times also their speeds, and by part of the day, who passes them.
    """
    grid = layer.grid
    in_meters = grid.region.in_meters
    fitted = [
        _with_bounds(name, *laid_out(one))
        for name, one in (("trips", cells.trips), ("starts", cells.starts), ("ends", cells.ends))
    ]
    area = _plainly("area", areas(grid), " km²" if in_meters else " square units")
    visits = {
        "name": f"measured, with noise: {layer.visits.name}",
        "values": np.round(layer.visits.values, 1).tolist(),
        "error": float(rounded(layer.visits.margin).replace(",", "")),
        "unit": "",
    }
    data = {
        "name": layer.name.removesuffix("s").capitalize(),
        "size": len(grid.divisions),
        "divisions": None if np.all(grid.divisions == 1) else grid.divisions.ravel().tolist(),
        "cells": None if grid.region.shape is None else grid.cells.tolist(),
        "numbers": [*fitted, area, visits],
    }
    if speeds is None or passing is None:
        return data
    data["numbers"] = [*fitted, _plainly("mean speed", *_speeds(speeds.of_day, in_meters)), area, visits]
    size = -1, grid.n_cells
    bounds = (one.reshape(size) for one in laid_out(passing))
    data["parts"] = [
        [
            _with_bounds("trips", trips, low, high),
            _plainly("mean speed", *_speeds(moving, in_meters)),
        ]
        for trips, low, high, moving in zip(*bounds, speeds.by_part, strict=True)
    ]
    return data


def laid_out(estimates: Estimates) -> tuple[Floats, Floats, Floats]:
    """Give all fitted numbers, also those that are not listed, and their bounds: (size,) each."""
    numbers = estimates.numbers
    low, high = np.zeros(numbers.size), np.full(numbers.size, estimates.high_of_none)
    low[numbers.codes], high[numbers.codes] = estimates.low, estimates.high
    return estimates.table, low, high


def _with_bounds(name: str, values: Floats, low: Floats, high: Floats) -> dict[str, Any]:
    """Say a fitted number of each cell, and between which bounds the true one is expected."""
    told = {"values": values, "low": low, "high": high}
    listed = {key: [short(number) for number in numbers.tolist()] for key, numbers in told.items()}
    return {"name": name, **listed, "error": None, "unit": ""}


def _speeds(speeds: Floats, in_meters: bool) -> tuple[Floats, str]:
    """Give speeds in the unit that readers know, and its name."""
    return (3.6 * speeds, " km/h") if in_meters else (speeds, " units/s")


def _plainly(name: str, values: Floats, unit: str) -> dict[str, Any]:
    """Say a number of each cell to three digits; NaN is none."""
    short = [None if np.isnan(value) else float(f"{value:.3g}") for value in values.tolist()]
    return {"name": name, "values": short, "error": None, "unit": unit}


def legend(title: str, letter: str, ticks: Sequence[tuple[float, str]], alternative: str) -> str:
    """Show a color scale; ticks are places from 0 to 1 and their labels."""
    count = SHADES if letter == "q" else 2 * STEPS + 1
    strip = "".join(f'<rect class="{letter}{n}" x="{n}" width="1.02" height="1"/>' for n in range(count))
    labels = "".join(f'<span style="left:{at:.1%}">{escape(text)}</span>' for at, text in ticks)
    return f"""<figure class="legend">
<figcaption class="small">{escape(title)}</figcaption>
<svg viewBox="0 0 {count} 1" preserveAspectRatio="none" role="img" aria-label="{escape(alternative)}">
{strip}</svg>
<div class="ticks" aria-hidden="true">{labels}</div>
</figure>"""
