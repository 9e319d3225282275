"""Draw what a comparison of methods found: errors, wins, maps, time and memory. NOT PRIVATE."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from privtrace.evaluation.comparison import PROFILES
from privtrace.evaluation.metric import Metric
from privtrace.report.document import plain
from privtrace.report.plots import (
    DASHED,
    DOTTED,
    Bar,
    Color,
    HeatMap,
    Level,
    Line,
    Plot,
    bars,
    cells,
    heats,
    lines,
)
from privtrace.report.verdict import ASPECTS
from privtrace.space.region import Region
from privtrace.study.study import REAL, Entry, Study, epsilon_number

#: Metrics that the verdict looks at; they come first.
_MAIN = {name for names in ASPECTS.values() for name in names}


def by_profile(study: Study) -> dict[str, list[Metric]]:
    """Group the metrics of a comparison by their profile, the main ones first."""
    grouped = {
        profile.name: [study.metric(one.name) for one in profile.metrics if one in study.metrics]
        for profile in PROFILES.values()
    }
    return {
        name: sorted(metrics, key=lambda metric: metric.name not in _MAIN)
        for name, metrics in grouped.items()
        if metrics
    }


def error_of(study: Study, label: str, epsilon: str, metric: Metric) -> tuple[float, float]:
    """Average the errors of the runs; with their standard deviation, of a single run NaN."""
    errors = study.errors(label, epsilon, metric.name)
    if not len(errors):
        return math.nan, math.nan
    return float(errors.mean()), float(errors.std(ddof=1)) if len(errors) > 1 else math.nan


def marks_of(study: Study, metric: Metric) -> tuple[float, float]:
    """Give the errors of the limit and of the random baseline."""
    return abs(study.limit[metric.name] - metric.best), abs(study.baseline[metric.name] - metric.best)


def error_plot(study: Study, metric: Metric) -> Plot:
    """Draw the error in one metric against epsilon, with the limit, the baseline and bands of the runs."""
    limit, baseline = marks_of(study, metric)
    levels = [Level("limit", limit, dash=DOTTED), Level("random baseline", baseline, dash=DASHED)]
    fixed = [entry for entry in study.entries if not entry.has_epsilon]
    levels += [Level(one.label, _fixed_error(study, one, metric), _color(one), None) for one in fixed]
    return lines(
        f"error-{metric.name}",
        f"{metric.name}: {metric.words}",
        "epsilon",
        "error" if metric.best == 0 else f"distance from {plain(metric.best, 3)}",
        [_line(study, entry, metric) for entry in study.entries if entry.has_epsilon],
        levels,
        x_ticks=[epsilon_number(epsilon) for epsilon in study.epsilons],
    )


def _line(study: Study, entry: Entry, metric: Metric) -> Line:
    found = np.array([error_of(study, entry.label, epsilon, metric) for epsilon in study.epsilons])
    means, sd = found.T
    epsilons = [epsilon_number(epsilon) for epsilon in study.epsilons]
    return Line(
        entry.label, epsilons, means.tolist(), (means - sd).tolist(), (means + sd).tolist(), _color(entry)
    )


def _fixed_error(study: Study, entry: Entry, metric: Metric) -> float:
    return error_of(study, entry.label, study.epsilons[0], metric)[0]


def _color(entry: Entry) -> Color:
    return Color(*entry.colors)


def wins_plot(study: Study, metric: Metric | None = None) -> Plot:
    """Draw in how many settings each beats each other by more than chance; in one metric, or in all."""
    labels = study.labels
    name = None if metric is None else metric.name
    found = [[None if one == other else study.wins(one, other, name) for other in labels] for one in labels]
    wins = [[math.nan if not won or not won.settings else won.significant for won in row] for row in found]
    n_settings = max((won.settings for row in found for won in row if won), default=0)
    at = "one epsilon" if len(study.epsilons) == 1 else f"{len(study.epsilons)} epsilons"
    what = "one metric" if metric is not None else f"{len(study.metrics)} metrics"
    return cells(
        "wins" if metric is None else f"wins-{metric.name}",
        "Wins by more than chance, row against column" + ("" if metric is None else f": {metric.name}"),
        labels,
        labels,
        wins,
        row_name="wins of",
        column_name=f"against, in {n_settings} settings",
        ends=(0.0, float(max(n_settings, 1))),
        note=f"Settings: {what} at {at}.",
    )


def region_of(study: Study) -> Region:
    """Give the box of the region, for the shape of its maps."""
    bounds = study.inputs["region"].split(" ")[0].split(",")
    return Region.box(*map(float, bounds), crs=study.inputs["crs"])


def maps_plot(study: Study) -> Plot:
    """Draw where real and synthetic trips pass, side by side."""
    region = region_of(study)
    shown = [REAL, *(label for label in study.labels if label in study.heats)]
    return heats(
        "maps",
        f"Where trips pass: real, and synthetic at epsilon {study.map_epsilon}",
        [HeatMap(label, study.heats[label], "NOT PRIVATE" if label == REAL else "") for label in shown],
        aspect=region.height_m / region.width_m,
    )


def cost_plots(study: Study) -> list[Plot]:
    """Draw the seconds of a fit and of a sample, and the memory that both take."""
    named = [(entry, study.costs[entry.label]) for entry in study.entries if entry.label in study.costs]
    where = f"at epsilon {study.map_epsilon}"
    return [
        _bars("fit-seconds", f"Time of a fit {where}", "seconds", [(e, cost.fit_s) for e, cost in named]),
        _bars(
            "sample-seconds", f"Time of a sample {where}", "seconds", [(e, cost.sample_s) for e, cost in named]
        ),
        _bars(
            "memory",
            f"Memory of a fit and a sample {where}",
            "megabytes beyond the program and the data",
            [(e, cost.memory_mb) for e, cost in named],
        ),
    ]


def _bars(name: str, title: str, label: str, values: Sequence[tuple[Entry, float]]) -> Plot:
    return bars(
        name,
        title,
        label,
        [Bar(entry.label, value, color=_color(entry)) for entry, value in values],
        write=_amount,
    )


def _amount(value: float) -> str:
    if 0 < value < 0.001:
        return "under 0.001"
    return plain(value, 2 if value < 10 else 3)
