"""Lay out what docs/results.md shows: the table of claims, and a table for each section."""

from __future__ import annotations

from collections import Counter

from experiments.paper.claims import CLAIMS, Claim
from experiments.paper.costs import COUNTS, GROWING, LENGTHS, N_TRIPS
from experiments.paper.judging import MEGABYTES, SECONDS, Finding, Verdict, seconds_of
from experiments.paper.results import PAPER, SHARES, SUBGROUPS, Results
from experiments.paper.sections import (
    ABLATIONS,
    BASES,
    FEW,
    LARGEST,
    METHODS,
    POPULATIONS,
    PUBLISHED,
    SIZES,
    STAND_INS,
    THETA1,
    THETA2,
    ablation_label,
    budget_label,
    grid_label,
    shares,
    theta_label,
)
from experiments.paper.tables import DATA, cell, table

#: From this factor on, a difference from a number in the paper is told.
TWICE = 2

PLURAL = {
    Verdict.holds: "hold",
    Verdict.in_part: "hold in part",
    Verdict.fails: "do not hold",
    Verdict.unchecked: "cannot be checked here",
}


def verdicts(results: Results) -> str:
    """Judge all claims."""
    found = [(claim, claim.judge(results)) for claim in CLAIMS]
    counts = Counter(finding.verdict for _, finding in found)
    told = ", ".join(f"{counts[verdict]} {words}" for verdict, words in PLURAL.items())
    rows = [
        (str(n), claim.place, claim.words, finding.evidence, finding.interval, verdict_of(claim, finding))
        for n, (claim, finding) in enumerate(found, 1)
    ]
    head = ("", "place", "claim", "evidence", "ratio (95 %)", "verdict")
    return f"**Of {len(found)} claims: {told}.**\n\n{table(head, rows)}"


def verdict_of(claim: Claim, finding: Finding) -> str:
    """Tell a verdict, and why where a claim does not hold."""
    fails = finding.verdict in (Verdict.fails, Verdict.in_part) and claim.why
    return f"**{finding.verdict}**" + (f": {claim.why}" if fails else "")


def data(results: Results) -> str:
    """Say what stands in for what, with the constants of PrivTrace as published."""
    rows = []
    for name, (of_paper, here) in STAND_INS.items():
        facts, constants = results.facts[name], PUBLISHED[name]
        size = results.sizes("end-to-end", name, "privtrace as published", "1", "coarse cells per side").mean()
        states = results.sizes("end-to-end", name, "privtrace as published", "1", "states").mean()
        rows.append(
            [
                of_paper,
                here,
                f"{facts['trips_in_region']:,} of {facts['trips']:,}",
                f"{facts['points_in_region']:,}",
                f"{constants['c']:,}",
                f"{constants['population'] / 1e6:g} million",
                f"{size:.0f}",
                f"{states:.0f}",
            ]
        )
    head = (
        "of the paper",
        "here",
        "trips in the region",
        "points",
        "c",
        "population",
        "K at epsilon 1",
        "states",
    )
    return table(head, rows)


def maps(results: Results) -> str:
    """Compare density maps in numbers."""
    rows = [
        [name, *(f"{found[method]['misplaced']:.1%}, {found[method]['correlation']:.3f}" for method in METHODS)]
        for name, found in results.facts["maps"].items()
    ]
    return table(("data", *METHODS), rows)


def ablations(results: Results) -> str:
    """Show the ablations."""
    rows = [
        [
            base,
            name,
            epsilon,
            words,
            *(cell(study.mean(ablation_label(words, base), epsilon, m)) for m in PAPER),
        ]
        for base in BASES
        for name in DATA
        for study in [results.study("ablations", name)]
        for epsilon in FEW
        for words in ABLATIONS
    ]
    return table(("sizes", "data", "epsilon", "model", *PAPER), rows)


def subgroups(results: Results) -> str:
    """Show short and long trips."""
    rows = [
        [name, epsilon, label, *(cell(study.mean(label, epsilon, metric)) for metric in (*SHARES, *SUBGROUPS))]
        for name in DATA
        for study in [results.study("end-to-end", name)]
        for epsilon in FEW
        for label in METHODS
    ]
    names = (metric.replace("_", " ") for metric in (*SHARES, *SUBGROUPS))
    return table(("data", "epsilon", "method", *names), rows)


def costs(results: Results) -> str:
    """Show time and memory beside the paper's."""
    rows = []
    for place, name in enumerate((*DATA, "city")):
        for method in METHODS:
            cost = results.cost("data", name, method)
            rows.append(
                [
                    name,
                    method,
                    f"{cost.fit_s:.3f}",
                    f"{cost.sample_s:.3f}",
                    told(SECONDS.get(method, ()), place, seconds_of(results, name, method), "s"),
                    f"{cost.memory_mb:.0f}",
                    told(MEGABYTES.get(method, ()), place, cost.memory_mb, "MB"),
                ]
            )
    return table(("data", "method", "fit, s", "sample, s", "the paper", "memory, MB", "the paper"), rows)


def told(numbers: tuple[float, ...], place: int, own: float, unit: str) -> str:
    """Tell a number of the paper, and by which factor it is larger or smaller; the city stands beside none."""
    if place >= len(numbers):
        return ""
    factor = numbers[place] / max(own, 1e-3)
    words = ""
    if factor >= TWICE:
        words = f", {factor:,.0f} times"
    elif factor <= 1 / TWICE:
        words = f", 1/{1 / factor:,.0f}"
    return f"{numbers[place]:,g} {unit}{words}"


def growth(results: Results) -> str:
    """Show how fits grow."""
    rows = [
        [axis, f"{value:,}", *(_grown(results, axis, value, method) for method in GROWING)]
        for axis, values in {"trips": N_TRIPS, "count": COUNTS, "length": LENGTHS}.items()
        for value in values
    ]
    return table(("varied", "", *GROWING), rows)


def _grown(results: Results, axis: str, value: float, method: str) -> str:
    cost, sizes = results.cost(axis, value, method), results.cost_sizes(axis, value, method)
    size = next((f"; {sizes[name]:,.0f} {name}" for name in ("states", "cells") if name in sizes), "")
    return f"{cost.fit_s:.3f} s, {cost.memory_mb:.0f} MB{size if axis == 'count' else ''}"


def grids(results: Results) -> str:
    """Show all grids."""
    labels = ["rule", *(grid_label(size, times) for size in SIZES for times in (*POPULATIONS, None))]
    rows = []
    for epsilon in FEW:
        rows += [_grid(results, "granularity", label, epsilon) for label in labels]
        rows.append(_grid(results, "largest", grid_label(LARGEST, 0), epsilon))
    return table(("epsilon", "grid", "psi", "states", *PAPER), rows)


def _grid(results: Results, section: str, label: str, epsilon: str) -> list[str]:
    study = results.study(section, "porto")
    divided, states = (
        results.sizes(section, "porto", label, epsilon, name).mean()
        for name in ("divided coarse cells", "states")
    )
    means = (cell(study.mean(label, epsilon, metric)) for metric in PAPER)
    return [epsilon, label, f"{divided:.0f}", f"{states:.0f}", *means]


def thresholds(results: Results) -> str:
    """Show all thresholds of model selection."""
    study = results.study("thetas", "porto")
    tried = [*((1, factor) for factor in THETA1), *((2, value) for value in THETA2)]
    rows = [
        [base, epsilon, label.split(",")[0], *(cell(study.mean(label, epsilon, metric)) for metric in PAPER)]
        for base in BASES
        for epsilon in FEW
        for label in (theta_label(*one, base) for one in tried)
    ]
    return table(("sizes", "epsilon", "threshold", *PAPER), rows)


def divisions(results: Results) -> str:
    """Show all divisions of epsilon."""
    study = results.study("budgets", "porto")
    rows = [
        [epsilon, label, *(cell(study.mean(label, epsilon, metric)) for metric in PAPER)]
        for epsilon in FEW
        for label in (budget_label(*pair) for pair in shares())
    ]
    return table(("epsilon", "shares", *PAPER), rows)
