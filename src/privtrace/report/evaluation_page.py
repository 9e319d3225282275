"""Show real data beside synthetic. NOT PRIVATE: the page is for the curator's eyes only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Any

from privtrace.errors import SettingsError
from privtrace.evaluation.comparison import PROFILES
from privtrace.evaluation.suite import NOT_PRIVATE, Evaluation, Score, shown, without_times
from privtrace.report import charts
from privtrace.report.document import (
    Cell,
    Report,
    extent,
    numbers,
    page,
    paragraph,
    percent,
    red_heading,
    section,
    table,
    table_of,
)
from privtrace.report.side_by_side import curves, heat_maps, hours, patterns
from privtrace.report.verdict import verdict


def evaluation_page(evaluation: Evaluation, *, title: str | None = None) -> Report:
    """Show a comparison as one page: verdict, maps, curves, patterns, subgroups, metrics. NOT PRIVATE."""
    figures = evaluation.figures
    if figures is None:
        raise SettingsError("this evaluation has no figures; evaluate with figures=True to write a page")
    title = title or "real and synthetic side by side"
    return page(
        f"NOT PRIVATE: {title}",
        [
            _heading(evaluation, title),
            verdict(evaluation),
            heat_maps(figures),
            curves(figures),
            hours(figures, _lacking(evaluation.inputs)),
            patterns(figures),
            _subgroups(evaluation),
            _metrics(evaluation),
            _inputs(evaluation.inputs, figures.region.units),
        ],
    )


def _lacking(inputs: Mapping[str, Any]) -> str:
    lacking = [role for role in ("real", "synthetic") if not inputs[role]["has_times"]]
    whose = "Neither set has" if len(lacking) == 2 else f"The {''.join(lacking)} data has no"
    return f"{whose} usable times, so this page does not show when trips depart or how long they take."


def _heading(evaluation: Evaluation, title: str) -> str:
    inputs = evaluation.inputs
    numbers = [f"{inputs[role]['in_region']:,}" for role in ("real", "synthetic")]
    what = (
        f"This page compares {numbers[0]} real trips with {numbers[1]} synthetic trips in an area of "
        f"{extent(evaluation.figures.region) if evaluation.figures else ''}. Everything called real is "
        "exact and has no noise."
    )
    return red_heading("privtrace evaluation, for the curator only", title, NOT_PRIVATE, what)


#: Metrics of the shorter and the longer half.
_HALVES = {"Where they go": "density", "Which ways they take": "pattern"}


def _subgroups(evaluation: Evaluation) -> str:
    if "density_short" not in evaluation.scores:
        return section(
            "Short and long trips",
            paragraph("Subgroups are only measured with the profile paper or all."),
        )
    rows = [
        (what, *(_with_limit(evaluation[f"{name}_{half}"]) for half in ("short", "long")))
        for what, name in _HALVES.items()
    ]
    short = evaluation["short_length_share"].value
    if math.isnan(short):
        return section("Short and long trips", paragraph("There are no synthetic trips to describe."))
    amount = "as many" if abs(short - 0.5) < 0.02 else ("more" if short > 0.5 else "fewer")
    losers = {_worse_half(evaluation, name) for name in _HALVES.values()}
    fare = (
        f"{losers.pop()} trips are reproduced less well"
        if len(losers) == 1
        else "Neither half is consistently worse"
    )
    return section(
        "Short and long trips",
        paragraph(
            f"{percent(short)} of the synthetic trips are at most as long as the real median: "
            f"{amount} short trips {'as' if amount == 'as many' else 'than'} in the real data. {fare}."
        ),
        table(
            ("Error (and limit)", "The shorter half", "The longer half"),
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
        *numbers("Value", *(["95 % interval"] if with_intervals else []), "Limit"),
        Cell("Limit to baseline"),
        *numbers("Random baseline", "Best"),
    ]
    return section(
        "All metrics",
        table_of(head, rows),
        *(paragraph(f"Left out: {words}.") for words in without_times(evaluation.inputs)),
        paragraph(
            "The dot shows where the value lies between the limit (left) and the random baseline "
            "(right), on a logarithmic scale: equal steps are equal factors. JSD is the Jensen-Shannon "
            "divergence: 0 means the same distribution, 0.693 nothing in common. docs/evaluation.md "
            "defines every metric.",
            "small",
        ),
    )


def _metric_row(name: str, score: Score, with_intervals: bool) -> list[Cell]:
    words = f'<code>{name}</code><br><span class="small">{escape(score.metric.words)}</span>'
    interval = [" to ".join(map(shown, score.interval or ()))] if with_intervals else []
    return [
        Cell(words),
        Cell(f"<b>{shown(score.value)}</b>", number=True),
        *numbers(*interval, shown(score.limit)),
        Cell(charts.standing(score.standing)),
        *numbers(shown(score.baseline), f"{score.metric.best:g}"),
    ]


def _count(number: int | None) -> str:
    return "no times" if number is None else f"{number:,}"


def _inputs(inputs: Mapping[str, Any], units: str) -> str:
    names = {
        "trajectories": "Trajectories",
        "in_region": "of these in the region",
        "points": "Points",
        "points_in_region": "of these in the region",
        "bad_points": "of these not usable",
    }
    if any(inputs[role]["has_times"] for role in ("real", "synthetic")):
        names["untimed_points"] = "in the region, without a usable time"
    rows = [
        (words, *(_count(inputs[role][name]) for role in ("real", "synthetic")))
        for name, words in names.items()
    ]
    days = f" Real trips count if they begin in the period {inputs['period']} (last day excluded)."
    return section(
        "What was compared",
        table(("", "Real", "Synthetic"), rows, n_words=1),
        paragraph(
            f"In the region {inputs['region']} (west, south, east, north in {units}); random seed "
            f"{inputs['seed']}.{days if inputs['period'] else ''}",
            "small",
        ),
    )
