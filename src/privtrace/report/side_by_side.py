"""Draw real data beside synthetic: heat maps, curves, patterns. NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import product
from typing import Any

import numpy as np

from privtrace.evaluation.figures import HEAT, Clock, Curve, Figures
from privtrace.evaluation.paper import CELLS_PER_SIDE
from privtrace.report import charts, colors, maps
from privtrace.report.document import (
    Cell,
    distance,
    folded,
    numbers,
    paragraph,
    percent,
    plain,
    section,
    table,
    table_of,
)
from privtrace.report.hours import busiest, by_part, scale_of, span, week
from privtrace.space.region import Region
from privtrace.timing.bins import HOURS_OF_PART, N_PARTS
from privtrace.trajectories import Floats


def heat_maps(figures: Figures) -> str:
    """Draw both sets and their difference on linked maps."""
    sheet = maps.Sheet(figures.region)
    real, synthetic = figures.heat
    scale = colors.Rising.over(real, synthetic)
    difference = synthetic - real
    widest = max(float(np.abs(difference).max()), 1e-9)
    drawn = [
        maps.Map(
            f"<b>{name}</b>{label}",
            f"{name}: heat map of {HEAT} by {HEAT} cells. {where(shares)}",
            maps.heat(sheet, "q", scale.shades(shares)),
        )
        for name, label, shares in (
            ("Real", ' <span class="red-text">NOT PRIVATE</span>', real),
            ("Synthetic", "", synthetic),
        )
    ]
    drawn.append(
        maps.Map(
            '<b>Difference</b>, synthetic minus real <span class="red-text">NOT PRIVATE</span>',
            "Difference: the synthetic shares minus the real ones, from "
            f"{percent(float(difference.min()))} to {percent(float(difference.max()))}.",
            maps.heat(sheet, "d", colors.apart(difference, widest)),
        )
    )
    points = percent(widest).removesuffix(" %")
    signed = [(0.0, f"−{points}"), (0.5, "0"), (1.0, f"+{points}")]
    return section(
        "Real and synthetic side by side",
        paragraph(
            f"The share of trips through each of {HEAT} × {HEAT} cells, on the same color scale; lines "
            "run straight from point to point. The maps move together: point at one to read the same "
            "cell on all of them."
        ),
        maps.panel(sheet, drawn, [_heat_data(real, synthetic)], "Point at a map to read a cell's numbers."),
        '<div class="columns">',
        maps.legend(
            "Share of trips through a cell, real and synthetic",
            "q",
            scale.ticks(percent),
            f"Color scale from 0 % to {percent(scale.most)}, logarithmic.",
        ),
        maps.legend(
            "Difference, synthetic minus real, in percentage points",
            "d",
            signed,
            f"Color scale from orange, minus {points}, to purple, plus {points} percentage points.",
        ),
        "</div>",
    )


def where(shares: np.ndarray) -> str:
    """Say in words where most trips pass."""
    row, column = np.unravel_index(int(np.argmax(shares)), shares.shape)
    vertical = ("the north", "the middle", "the south")[min(3 * int(row) // HEAT, 2)]
    horizontal = ("west", "middle", "east")[min(3 * int(column) // HEAT, 2)]
    return (
        f"Trips pass through {percent(float(np.mean(shares > 0)))} of the cells; the busiest, with "
        f"{percent(float(shares.max()))} of the trips, is in {vertical}, {horizontal}."
    )


def _heat_data(real: np.ndarray, synthetic: np.ndarray) -> dict[str, Any]:
    difference = synthetic - real
    return heat_data(
        {
            "real": (real, " %"),
            "synthetic": (synthetic, " %"),
            "synthetic minus real": (difference, " percentage points"),
        }
    )


def heat_data(numbers: Mapping[str, tuple[Floats, str]]) -> dict[str, Any]:
    """Say what is shown about a cell of heat maps, by name: shares and units; rows count from the south."""

    def listed(shares: Floats) -> list[float]:
        return [float(f"{100 * share:.3g}") for share in shares[::-1].ravel().tolist()]

    return {
        "name": "",
        "size": HEAT,
        "divisions": None,
        "cells": None,
        "numbers": [
            {"name": name, "values": listed(shares), "error": None, "unit": unit}
            for name, (shares, unit) in numbers.items()
        ],
    }


_KEY = (
    '<ul class="key"><li><i class="real"></i>real</li><li><i class="synthetic"></i>synthetic</li>'
    "<li>the last step also holds all larger distances</li></ul>"
)


def curves(figures: Figures) -> str:
    """Draw distributions of both sets over each other."""
    region = figures.region
    headings = {
        "length": ("Length", "the sum of all steps"),
        "diameter": ("Diameter", "the greatest distance between two points"),
        "apart": ("Origin to destination", "straight-line distance"),
    }
    drawn = [_overlaid(*headings[name], curve, region) for name, curve in figures.curves.items()]
    real, synthetic = figures.pairs
    top = [float(shares[:20].sum()) for shares in figures.pairs]
    words = (
        f"Origins and destinations: the 20 busiest real pairs of zones hold {percent(top[0])} of the real "
        f"trips and {percent(top[1])} of the synthetic ones."
    )
    chart = charts.curve(real, synthetic, "pairs of zones, busiest first", words)
    drawn.append(
        "<figure><figcaption><b>Origins and destinations</b>, share of trips in the busiest pairs of 8 × "
        f"8 zones</figcaption>{chart}</figure>"
    )
    rows = [
        (headings[name][0], *(distance(median, region) for median in curve.medians_m))
        for name, curve in figures.curves.items()
    ]
    rows.append(("Share of the 20 busiest pairs of zones", percent(top[0]), percent(top[1])))
    return section(
        "How long, how far, from where to where",
        _KEY,
        f'<div class="columns">{"".join(drawn)}</div>',
        folded("The same in numbers", table(("Median", "Real", "Synthetic"), rows, n_words=1)),
    )


def hours(figures: Figures, without_times: str) -> str:
    """Draw when trips depart, how long they take, and how their points are spread, in both sets."""
    clock, region = figures.clock, figures.region
    drawn = []
    if clock is not None:
        most = [busiest(week) for week in clock.week]
        words = f"the busiest real hour is {most[0]}, the synthetic {most[1]}."
        drawn.append(week(_both(*clock.week), clock.zone, words))
    rows = []
    for name, spread in figures.spreads.items():
        scale = scale_of(name, region)
        medians = [scale.write(median) for median in spread.medians]
        rows.append((scale.heading, *medians))
        words = f"the real median is {medians[0]}, the synthetic {medians[1]}."
        drawn.append(scale.figure(spread.bounds, _both(spread.real, spread.synthetic), words))
    return section(
        "When, how fast, and point by point",
        *([] if clock is not None else [paragraph(without_times)]),
        _KEY_OF_SPREADS,
        f'<div class="columns">{"".join(drawn)}</div>',
        folded("The same in numbers", table(("Median", "Real", "Synthetic"), rows, n_words=1)),
        *([] if clock is None else _parts_of_the_day(clock, region)),
    )


def _both(real: np.ndarray, synthetic: np.ndarray) -> list[charts.Series]:
    return [charts.Series("real", real), charts.Series("synthetic", synthetic)]


_KEY_OF_SPREADS = (
    '<ul class="key"><li><i class="real"></i>real</li><li><i class="synthetic"></i>synthetic</li>'
    "<li>logarithmic scale; the first and last steps also hold everything beyond</li></ul>"
)


def _parts_of_the_day(clock: Clock, region: Region) -> list[str]:
    """Draw where trips go by the part of the day at which they depart, on small maps."""
    sheet = maps.Sheet(region)
    scale = colors.Rising.over(*clock.parts)
    drawn: list[list[tuple[str, str]]] = [[] for _ in range(N_PARTS)]
    for part, (name, visits, of_week) in product(
        range(N_PARTS), zip(("Real", "Synthetic"), clock.parts, clock.week, strict=True)
    ):
        share = percent(float(of_week.reshape(7, N_PARTS, HOURS_OF_PART)[:, part].sum()))
        words = f"{name}, {span(part)}: {share} of the trips depart then; visits to cells."
        small = sheet.small(maps.heat(sheet, "q", scale.shades(visits[part])), words)
        drawn[part].append((small, f"{name.lower()} {share}"))
    return [
        "<h3>By part of the day</h3>",
        paragraph(
            "Where trips go, by the part of the day in which they depart, on the same color scale, with "
            f"their share of all trips. Local time in {clock.zone}, all days together."
        ),
        by_part(drawn),
        maps.legend(
            "Visits to a cell in a part of the day, per trip of the whole day",
            "q",
            scale.ticks(lambda visits: plain(visits, 2)),
            f"Color scale from 0 to {plain(scale.most, 2)} visits per trip, logarithmic.",
        ),
    ]


def _overlaid(name: str, meaning: str, curve: Curve, region: Region) -> str:
    axis = charts.axis_of(region)
    medians = [distance(median, region) for median in curve.medians_m]
    words = (
        f"{name}: half of the real trips are below {medians[0]}, half of the synthetic ones below {medians[1]}."
    )
    chart = charts.overlaid(curve.edges_m, curve.real, curve.synthetic, axis, words)
    return f"<figure><figcaption><b>{name}</b>, {meaning}</figcaption>{chart}</figure>"


def patterns(figures: Figures) -> str:
    """List the most frequent real patterns, with how often both sets follow them."""
    if not figures.patterns:
        return section("Most frequent patterns", paragraph("No real trip leaves its cell."))
    sheet = maps.Sheet(figures.region)
    most = max(max(pattern.real, pattern.synthetic) for pattern in figures.patterns)
    head = [
        Cell("Cells, column and row from the southwest"),
        Cell("Where"),
        *numbers("Real", "Synthetic"),
        Cell(""),
    ]
    rows = [
        [
            Cell(escape(_cells_in_words(pattern.cells))),
            Cell(sheet.glyph(pattern.cells, CELLS_PER_SIDE)),
            *numbers(*(f"{1000 * share:,.1f}" for share in (pattern.real, pattern.synthetic))),
            Cell(charts.pair_of_bars(pattern.real, pattern.synthetic, most)),
        ]
        for pattern in figures.patterns
    ]
    return section(
        "Most frequent patterns",
        paragraph(
            f"The cell sequences on a {CELLS_PER_SIDE} × {CELLS_PER_SIDE} grid that real trips follow "
            "most often, and how often they occur per 1,000 trips. The last cell of a sequence is orange."
        ),
        table_of(head, rows),
    )


def _cells_in_words(cells: tuple[int, ...]) -> str:
    return " → ".join(f"{cell % CELLS_PER_SIDE + 1},{cell // CELLS_PER_SIDE + 1}" for cell in cells)
