"""Show real data beside synthetic. NOT PRIVATE: the page is for the curator's eyes only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from privtrace.errors import SettingsError
from privtrace.evaluation.figures import HEAT, Curve, Figures
from privtrace.evaluation.paper import CELLS_PER_SIDE
from privtrace.evaluation.suite import NOT_PRIVATE, Evaluation, Score, shown
from privtrace.evaluation.yardstick import PROFILES
from privtrace.report import charts, colors, maps
from privtrace.report.document import (
    Cell,
    Report,
    distance,
    extent,
    folded,
    page,
    paragraph,
    percent,
    section,
    table,
    table_of,
)
from privtrace.space.region import Region
from privtrace.synthesizers.plan import rounded

#: What stands in the name of every file that shows real data.
MARK = "NOT-PRIVATE"


def evaluation_page(evaluation: Evaluation, *, title: str | None = None) -> Report:
    """Show a comparison as one page: verdict, maps, curves, patterns, subgroups, metrics. NOT PRIVATE."""
    figures = evaluation.figures
    if figures is None:
        raise SettingsError("this evaluation was made without figures; evaluate with figures=True to report it")
    title = title or "real beside synthetic"
    return page(
        f"NOT PRIVATE: {title}",
        [
            _heading(evaluation, title),
            _verdict(evaluation),
            _maps(figures),
            _curves(figures),
            _patterns(figures),
            _subgroups(evaluation),
            _metrics(evaluation),
            _inputs(evaluation.inputs, figures.region.units),
        ],
    )


def marked(path: Path) -> Path:
    """Put the mark into a file's name, unless it is there: evaluation.html -> evaluation-NOT-PRIVATE.html."""
    has_mark = MARK in path.name.upper().replace("_", "-").replace(" ", "-")
    return path if has_mark else path.with_name(f"{path.stem}-{MARK}{path.suffix}")


def _heading(evaluation: Evaluation, title: str) -> str:
    inputs = evaluation.inputs
    numbers = [f"{inputs[side]['in_region']:,}" for side in ("real", "synthetic")]
    what = (
        f"This page compares {numbers[0]} real trajectories with {numbers[1]} synthetic ones in an area of "
        f"{extent(evaluation.figures.region) if evaluation.figures else ''}. Everything called real is exact, "
        "without noise."
    )
    return f"""<header class="red">
<p class="kicker">privtrace: an evaluation, for the curator only</p>
<h1><em>NOT PRIVATE</em>: {escape(title)}</h1>
<p class="alarm">{escape(NOT_PRIVATE)}</p>
{paragraph(what, "lead")}
</header>"""


#: What the verdict speaks of, and the metrics that can tell, the best first.
_ASPECTS = {
    "Where people go": ("density", "visits", "query"),
    "From where to where": ("od", "trip"),
    "How long trips are": ("length", "length_20"),
    "How far they reach": ("diameter", "diameter_20", "gyration"),
    "Which ways they take": ("pattern", "frequent_f1", "turning"),
}

#: Up to which place between limit and ceiling which words hold.
_WORDS = (
    (0.1, "as close as a second sample of the real data"),
    (0.45, "close"),
    (0.75, "rough"),
    (1.0, "far off"),
    (math.inf, "no better than a random walk"),
)


def _judged(score: Score) -> str:
    return next((words for most, words in _WORDS if score.standing < most), "not to be told")


def _verdict(evaluation: Evaluation) -> str:
    told = {
        aspect: score
        for aspect, names in _ASPECTS.items()
        if (score := _telling(evaluation, names)) is not None
    }
    by_words: dict[str, list[str]] = {}
    for aspect, score in told.items():
        by_words.setdefault(_judged(score), []).append(aspect[0].lower() + aspect[1:])
    sentences = [f"{_listed(aspects)}: {words}." for words, aspects in _ordered(by_words)]
    lines = "\n".join(
        f"<li><b>{escape(aspect)}</b><span>{escape(_sentence(score))}</span></li>"
        for aspect, score in told.items()
    )
    copied = bool(told) and all(
        _times(score) < _COPIED and score.limit != score.metric.best for score in told.values()
    )
    return section(
        "Verdict",
        *([paragraph(_COPY, "alarm")] if copied else []),
        paragraph(" ".join(sentences) or "These metrics give no verdict.", "lead"),
        f'<ul class="verdicts">{lines}</ul>',
        paragraph(
            "Close and far are measured between two marks: the limit, what one random half of the real data "
            "gets against the other, and the ceiling, what a uniform random walk gets. The table of metrics "
            "draws where each number stands between them.",
            "small",
        ),
    )


#: Fresh data of the same size has half of the limit's error or more; a copy has next to none.
_COPIED = 0.25
_COPY = (
    "Closer to the real data than fresh data of the same size would be: the synthetic file seems to be a copy "
    "of the real one."
)


def _times(score: Score) -> float:
    """Give the error as a multiple of the limit's."""
    best = score.metric.best
    return abs(score.value - best) / max(abs(score.limit - best), 1e-12)


def _telling(evaluation: Evaluation, names: tuple[str, ...]) -> Score | None:
    """Find the first of some metrics that was measured and tells the real data from a random walk."""
    scores = (evaluation[name] for name in names if name in evaluation.scores)
    return next((score for score in scores if not math.isnan(score.standing)), None)


def _ordered(by_words: Mapping[str, list[str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield what is told, best first."""
    for _, words in _WORDS:
        if words in by_words:
            yield words, by_words[words]


def _listed(aspects: list[str]) -> str:
    text = " and ".join(filter(None, [", ".join(aspects[:-1]), aspects[-1]]))
    return text[0].upper() + text[1:]


def _sentence(score: Score) -> str:
    metric, judged = score.metric, _judged(score)
    times = _times(score)
    factor = f", with {rounded(times)} times the error of a second sample" if 1.5 <= times < 1e4 else ""
    return f"{judged[0].upper()}{judged[1:]}{factor} ({metric.words}: {shown(score.value)})."


def _maps(figures: Figures) -> str:
    sheet = maps.Sheet(figures.region)
    real, synthetic = figures.heat
    most = max(float(real.max()), float(synthetic.max()), 1e-9)
    floor = most / 100
    difference = synthetic - real
    widest = max(float(np.abs(difference).max()), 1e-9)
    drawn = [
        maps.Map(
            f"<b>{name}</b>{label}",
            f"{name}: heat map of {HEAT} by {HEAT} cells. {_where(shares)}",
            maps.heat(sheet, "q", colors.rising(shares, most, floor)),
        )
        for name, label, shares in (
            ("Real", ' <span class="red-text">NOT PRIVATE</span>', real),
            ("Synthetic", "", synthetic),
        )
    ]
    drawn.append(
        maps.Map(
            '<b>Difference</b>, synthetic less real <span class="red-text">NOT PRIVATE</span>',
            f"Difference: the synthetic shares less the real ones, from {percent(float(difference.min()))} to "
            f"{percent(float(difference.max()))}.",
            maps.heat(sheet, "d", colors.apart(difference, widest)),
        )
    )
    shown_shares = np.array([0.0, most / 30, most / 8, most])
    places = np.log1p(shown_shares / floor) / np.log1p(most / floor)
    ticks = [(float(at), percent(float(share))) for at, share in zip(places, shown_shares, strict=True)]
    points = percent(widest).removesuffix(" %")
    signed = [(0.0, f"−{points}"), (0.5, "0"), (1.0, f"+{points}")]
    return section(
        "Real beside synthetic",
        paragraph(
            f"The share of trajectories that pass each of {HEAT} × {HEAT} cells, on one color scale; lines are "
            "drawn straight from point to point. The maps move together: point at one to read the same cell on "
            "all."
        ),
        maps.panel(sheet, drawn, [_heat_data(real, synthetic)], "Point at a map to read a cell's numbers."),
        '<div class="columns">',
        maps.legend(
            "Share of trajectories that pass a cell, real and synthetic",
            "q",
            ticks,
            f"Color scale from 0 % to {percent(most)}, logarithmic.",
        ),
        maps.legend(
            "Difference, synthetic less real, in percentage points",
            "d",
            signed,
            f"Color scale from orange, minus {points}, to purple, plus {points} percentage points.",
        ),
        "</div>",
    )


def _where(shares: np.ndarray) -> str:
    row, column = np.unravel_index(int(np.argmax(shares)), shares.shape)
    vertical = ("the north", "the middle", "the south")[min(3 * int(row) // HEAT, 2)]
    horizontal = ("west", "middle", "east")[min(3 * int(column) // HEAT, 2)]
    return (
        f"Trajectories pass {percent(float(np.mean(shares > 0)))} of the cells; the busiest, passed by "
        f"{percent(float(shares.max()))} of them, is in {vertical}, {horizontal}."
    )


def _heat_data(real: np.ndarray, synthetic: np.ndarray) -> dict[str, Any]:
    """Say what is told of a cell of the heat maps; rows count from the south there."""

    def listed(shares: np.ndarray) -> list[float]:
        return [float(f"{100 * share:.3g}") for share in shares[::-1].ravel().tolist()]

    numbers = {
        "real": (real, " %"),
        "synthetic": (synthetic, " %"),
        "synthetic less real": (synthetic - real, " percentage points"),
    }
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
    "<li>the last step of a distance holds all that lies beyond</li></ul>"
)


def _curves(figures: Figures) -> str:
    region = figures.region
    headings = {
        "length": ("Length", "the sum of all steps"),
        "diameter": ("Diameter", "the greatest distance between two points"),
        "apart": ("Origin to destination", "as the crow flies"),
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
        "<figure><figcaption><b>Origins and destinations</b>, how many trips the busiest pairs of 8 × 8 zones "
        f"hold together</figcaption>{chart}</figure>"
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


def _overlaid(name: str, meaning: str, curve: Curve, region: Region) -> str:
    axis = charts.Axis("km", 1000) if region.crs == "lonlat" else charts.Axis("units", 1)
    medians = [distance(median, region) for median in curve.medians_m]
    words = (
        f"{name}: half of the real ones are below {medians[0]}, half of the synthetic ones below {medians[1]}."
    )
    chart = charts.overlaid(curve.edges_m, curve.real, curve.synthetic, axis, words)
    return f"<figure><figcaption><b>{name}</b>, {meaning}</figcaption>{chart}</figure>"


def _patterns(figures: Figures) -> str:
    if not figures.patterns:
        return section("Most frequent patterns", paragraph("No real trajectory leaves its cell."))
    sheet = maps.Sheet(figures.region)
    most = max(max(pattern.real, pattern.synthetic) for pattern in figures.patterns)
    head = [
        Cell("Cells, column and row from the southwest"),
        Cell("Where"),
        *_numbers("Real", "Synthetic"),
        Cell(""),
    ]
    rows = [
        [
            Cell(escape(_cells_in_words(pattern.cells))),
            Cell(sheet.glyph(pattern.cells, CELLS_PER_SIDE)),
            *_numbers(*(f"{1000 * share:,.1f}" for share in (pattern.real, pattern.synthetic))),
            Cell(charts.pair_of_bars(pattern.real, pattern.synthetic, most)),
        ]
        for pattern in figures.patterns
    ]
    return section(
        "Most frequent patterns",
        paragraph(
            f"Runs of cells of a {CELLS_PER_SIDE} × {CELLS_PER_SIDE} grid that real trajectories follow most "
            "often, and how often 1,000 trajectories do. The last cell of a run is orange."
        ),
        table_of(head, rows),
    )


def _cells_in_words(cells: tuple[int, ...]) -> str:
    return " → ".join(f"{cell % CELLS_PER_SIDE + 1},{cell // CELLS_PER_SIDE + 1}" for cell in cells)


def _numbers(*texts: str) -> list[Cell]:
    return [Cell(text, number=True) for text in texts]


#: Metrics of the shorter and the longer half.
_HALVES = {"Where they go": "density", "Which ways they take": "pattern"}


def _subgroups(evaluation: Evaluation) -> str:
    if "density_short" not in evaluation.scores:
        return section(
            "Short and long trips",
            paragraph("Subgroups are measured with profile paper, or with all profiles."),
        )
    rows = [
        (what, *(_with_limit(evaluation[f"{name}_{half}"]) for half in ("short", "long")))
        for what, name in _HALVES.items()
    ]
    short = evaluation["short_length_share"].value
    if math.isnan(short):
        return section("Short and long trips", paragraph("There are no synthetic trips to tell of."))
    amount = "as many" if abs(short - 0.5) < 0.02 else ("more" if short > 0.5 else "fewer")
    losers = {_worse_half(evaluation, name) for name in _HALVES.values()}
    fare = f"{losers.pop()} trips fare worse" if len(losers) == 1 else "Neither half fares worse throughout"
    return section(
        "Short and long trips",
        paragraph(
            f"Of the synthetic trips, {percent(short)} are no longer than the real median: {amount} short ones "
            f"{'as' if amount == 'as many' else 'than'} the real data has. {fare}."
        ),
        table(
            ("Error, and what halves of the real data get", "The shorter half", "The longer half"),
            rows,
            n_words=1,
        ),
    )


def _worse_half(evaluation: Evaluation, name: str) -> str:
    longer, shorter = (evaluation[f"{name}_{half}"].value for half in ("long", "short"))
    return "Long" if longer > shorter else "Short"


def _with_limit(score: Score) -> str:
    return f"{shown(score.value)} ({shown(score.limit)})"


def _metrics(evaluation: Evaluation) -> str:
    with_intervals = any(score.interval is not None for score in evaluation.values())
    rows = []
    for profile in PROFILES.values():
        names = [metric.name for metric in profile.metrics if metric.name in evaluation.scores]
        rows += [[Cell(f"Profile {profile.name}")]] if names else []
        rows += [_metric_row(name, evaluation[name], with_intervals) for name in names]
    head = [
        Cell("Metric"),
        *_numbers("Value", *(["95 % interval"] if with_intervals else []), "Limit"),
        Cell("Limit to ceiling"),
        *_numbers("Ceiling", "Best"),
    ]
    return section(
        "All metrics",
        table_of(head, rows),
        paragraph(
            "The dot stands between the limit, left, and the ceiling, right, by the logarithm of its distance "
            "from the best value: each step of the same width is the same factor. JSD is the Jensen-Shannon "
            "divergence: 0 is the same, 0.693 nothing in common. docs/evaluation.md defines every metric.",
            "small",
        ),
    )


def _metric_row(name: str, score: Score, with_intervals: bool) -> list[Cell]:
    words = f'<code>{name}</code><br><span class="small">{escape(score.metric.words)}</span>'
    interval = [" to ".join(map(shown, score.interval or ()))] if with_intervals else []
    return [
        Cell(words),
        Cell(f"<b>{shown(score.value)}</b>", number=True),
        *_numbers(*interval, shown(score.limit)),
        Cell(charts.standing(score.standing)),
        *_numbers(shown(score.ceiling), f"{score.metric.best:g}"),
    ]


def _inputs(inputs: Mapping[str, Any], units: str) -> str:
    names = {
        "trajectories": "Trajectories",
        "in_region": "of these in the region",
        "points": "Points",
        "points_in_region": "of these in the region",
        "bad_points": "of these not usable",
    }
    rows = [
        (words, *(f"{inputs[side][name]:,}" for side in ("real", "synthetic"))) for name, words in names.items()
    ]
    return section(
        "What was compared",
        table(("", "Real", "Synthetic"), rows, n_words=1),
        paragraph(
            f"In the region {inputs['region']} (west, south, east, north in {units}); random draws from seed "
            f"{inputs['seed']}.",
            "small",
        ),
    )
