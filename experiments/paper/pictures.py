"""Draw the figures of the results page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

import privtrace as pt
from experiments.paper.costs import COUNTS, GROWING, LENGTHS, N_TRIPS
from experiments.paper.results import PAPER, SHARES, Results
from experiments.paper.sections import (
    ABLATIONS,
    FEW,
    METHODS,
    POPULATIONS,
    SIZES,
    TENTHS,
    THETA1,
    THETA2,
    ablation_label,
    budget_label,
    grid_label,
    theta_label,
)
from privtrace.report.plots import DOTTED, HeatMap, Level, Line, Plot, cells, heats, lines
from privtrace.study.study import REAL, epsilon_number

DATA = ("brinkhoff", "porto", "geolife")


def pictures(results: Results) -> Iterator[Plot]:
    """Draw all figures that need no real data."""
    for data in DATA:
        study = results.study("end-to-end", data)
        for metric in (*PAPER, *SHARES):
            yield curves(
                f"end-to-end-{data}-{metric.replace('_', '-')}", study, metric, {m: m for m in METHODS}, data
            )
        ablations = {words: ablation_label(words, "ours") for words in ABLATIONS}
        for metric in PAPER:
            yield curves(
                f"ablations-{data}-{metric}", results.study("ablations", data), metric, ablations, data
            )
    thetas = results.study("thetas", "porto")
    for metric in PAPER:
        first = {f"theta1 x {factor}": theta_label(1, factor, "ours") for factor in THETA1}
        second = {f"theta2 = {value}": theta_label(2, value, "ours") for value in THETA2}
        yield curves(f"theta1-{metric}", thetas, metric, first, "porto")
        yield curves(f"theta2-{metric}", thetas, metric, second, "porto")
    for epsilon in FEW:
        for metric in PAPER:
            yield grids(results, metric, epsilon)
            yield divisions(results, metric, epsilon)
    yield from grown(results)


def curves(name: str, study: pt.Study, metric: str, labels: Mapping[str, str], data: str) -> Plot:
    """Draw a metric over epsilon, with bands of one standard deviation, the limit and the baseline."""
    drawn = []
    for words, label in labels.items():
        means = [study.mean(label, epsilon, metric) for epsilon in study.epsilons]
        drawn.append(
            Line(
                words,
                [epsilon_number(epsilon) for epsilon in study.epsilons],
                [mean.value for mean in means],
                [mean.value - mean.sd for mean in means],
                [mean.value + mean.sd for mean in means],
            )
        )
    marks = [
        Level("limit", study.limit[metric], dash=DOTTED),
        Level("random baseline", study.baseline[metric]),
    ]
    words, shown = study.metric(metric).words, metric.replace("_", " ")
    return lines(
        name,
        f"{data}: {words}",
        "epsilon",
        f"{shown}, {data}",
        drawn,
        marks,
        x_log=False,
        y_log=False if metric in SHARES else None,  # around one half
    )


def grids(results: Results, metric: str, epsilon: str) -> Plot:
    """Draw the error of each grid."""
    study = results.study("granularity", "porto")
    columns = [*POPULATIONS, None]
    values = [
        [study.mean(grid_label(size, times), epsilon, metric).value for times in columns] for size in SIZES
    ]
    return cells(
        f"grid-{metric}-{epsilon.replace('.', '-')}",
        f"Porto, epsilon {epsilon}: {metric} by K and the second layer",
        [f"K = {size}" for size in SIZES],
        ["none", *(f"x {times}" for times in POPULATIONS[1:]), "our rule"],
        values,
        row_name="first layer",
        column_name="second layer: population",
    )


def divisions(results: Results, metric: str, epsilon: str) -> Plot:
    """Draw the error of each division of epsilon; second order gets the rest."""
    study = results.study("budgets", "porto")
    values = [
        [
            study.mean(budget_label(grid, first), epsilon, metric).value if grid + first < 10 else np.nan
            for grid in TENTHS
        ]
        for first in TENTHS
    ]
    return cells(
        f"budget-{metric}-{epsilon.replace('.', '-')}",
        f"Porto, epsilon {epsilon}: {metric} by the shares of the grid and of first order",
        [f"0.{first}" for first in TENTHS],
        [f"0.{grid}" for grid in TENTHS],
        values,
        row_name="first order",
        column_name="grid",
    )


def grown(results: Results) -> Iterator[Plot]:
    """Draw how seconds and memory grow."""
    axes: dict[str, tuple[str, Sequence[float], str]] = {
        "trips": ("trips", N_TRIPS, "number of trips"),
        "states": ("count", COUNTS, "count by which sizes are chosen"),
        "length": ("length", LENGTHS, "part of each trip"),
    }
    for name, (axis, values, words) in axes.items():
        for what, unit in (("fit_s", "seconds of a fit"), ("memory_mb", "memory of a fit, MB")):
            drawn = [
                Line(
                    method,
                    [*values],
                    [max(getattr(results.cost(axis, value, method), what), 1e-3) for value in values],
                )
                for method in GROWING
            ]
            yield lines(f"growth-{name}-{what.split('_')[0]}", f"{unit} by {words}", words, unit, drawn)


def density_maps(study: pt.Study, data: str, *, not_private: bool) -> Plot:
    """Draw the maps of the real data and of all methods on one scale."""
    found = [HeatMap("real", study.heats[REAL], "NOT PRIVATE" if not_private else "")]
    found += [HeatMap(label, study.heats[label]) for label in study.labels]
    return heats(
        f"density-{data}",
        f"Density of {data}, real and by each method at epsilon {study.map_epsilon}, on one scale",
        found,
        not_private=not_private,
    )
