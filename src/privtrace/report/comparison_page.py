"""Show a comparison of methods: verdict, errors, wins, maps, costs. NOT PRIVATE, for the curator only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

import privtrace
from privtrace.evaluation.figures import HEAT
from privtrace.evaluation.metric import Metric
from privtrace.evaluation.suite import NOT_PRIVATE, shown
from privtrace.report import colors, maps
from privtrace.report.comparison_plots import (
    by_profile,
    cost_plots,
    error_plot,
    maps_plot,
    region_of,
    wins_plot,
)
from privtrace.report.comparison_verdict import leader, verdict
from privtrace.report.document import (
    Cell,
    Report,
    bullets,
    extent,
    facts,
    folded,
    numbers,
    page,
    paragraph,
    percent,
    red_heading,
    section,
    table,
    table_of,
)
from privtrace.report.plots import Plot
from privtrace.report.plots.heats import raster
from privtrace.report.plots.svg import drawn
from privtrace.report.side_by_side import heat_data, where
from privtrace.report.verdict import listed
from privtrace.study.study import REAL, Study, written

#: A title that names more is hard to read.
_MOST_NAMED = 3


def comparison_page(study: Study, *, title: str | None = None) -> Report:
    """Show a comparison of methods as one page. NOT PRIVATE."""
    who = listed(study.labels) if len(study.labels) <= _MOST_NAMED else f"{len(study.labels)} methods"
    title = title or f"{who} on the same real trips"
    return page(
        f"NOT PRIVATE: {title}",
        [
            _heading(study, title),
            verdict(study),
            _errors(study),
            *([_wins(study)] if len(study.labels) > 1 else []),
            _maps(study),
            _costs(study),
            _numbers(study),
            _compared(study),
        ],
    )


def plots_of(study: Study) -> list[Plot]:
    """Draw all figures of the page, ready for files."""
    metrics = [metric for group in by_profile(study).values() for metric in group]
    plots = [error_plot(study, metric) for metric in metrics]
    if len(study.labels) > 1:
        plots += [wins_plot(study), *(wins_plot(study, metric) for metric in metrics)]
    plots += [maps_plot(study)] if study.heats else []
    return plots + (cost_plots(study) if study.costs else [])


def _heading(study: Study, title: str) -> str:
    inputs = study.inputs
    lead = (
        f"This page compares what {_counted(len(study.labels), 'method')} make of the same {inputs['trips']:,} "
        f"real trips, in an area of {extent(region_of(study))}. Errors are distances from the exact real data."
    )
    strip = {
        "Real trips": f"{inputs['trips']:,}",
        "Methods": str(len(study.labels)),
        "Epsilon": ", ".join(study.epsilons),
        "Runs of each": str(inputs["runs"]),
        "Metrics": str(len(study.metrics)),
    }
    heading = red_heading("privtrace comparison, for the curator only", title, NOT_PRIVATE, lead)
    return heading.replace("</header>", f"{facts(strip)}\n</header>")


def _counted(count: int, name: str) -> str:
    return f"one {name}" if count == 1 else f"{count} {name}s"


def _errors(study: Study) -> str:
    grouped = by_profile(study)
    shown_groups = [
        (f"<h3>Profile {escape(name)}</h3>\n" if len(grouped) > 1 else "")
        + _columns((_named(metric), error_plot(study, metric)) for metric in metrics)
        for name, metrics in grouped.items()
    ]
    return section(
        "Error against epsilon",
        paragraph(_LINES + _FILES * any(not entry.has_epsilon for entry in study.entries)),
        *shown_groups,
    )


_LINES = (
    "The mean error of the runs, and bands of one standard deviation to both sides; lower is better. The "
    "dotted line is the limit, which one random half of the real data gets against the other; the dashed one "
    "is the random baseline, a uniform random walk."
)
_FILES = " Lines without symbols are finished files that have no epsilon."


def _named(metric: Metric) -> str:
    return f"<b>{escape(metric.name)}</b>, {escape(metric.words)}"


def _columns(figures: Iterable[tuple[str, Plot]]) -> str:
    """Set plots side by side, each under its caption, which is HTML."""
    drawn_figures = "\n".join(
        f"<figure><figcaption>{caption}</figcaption>{plot.svg()}</figure>" for caption, plot in figures
    )
    return f'<div class="columns">\n{drawn_figures}\n</div>'


def _wins(study: Study) -> str:
    each = _columns((_named(metric), wins_plot(study, metric)) for metric in study.metrics)
    return section(
        "Who beats whom",
        paragraph(
            "In how many settings the method of a row has less error than that of a column, by more than "
            "chance. A setting is a metric at an epsilon."
        ),
        _columns([("<b>All metrics together</b>", wins_plot(study))]),
        folded("Each metric by itself", each),
    )


def _maps(study: Study) -> str:
    heading = "Where trips pass, side by side"
    if REAL not in study.heats:
        return section(heading, paragraph("No maps were drawn."))
    sheet = maps.Sheet(region_of(study))
    shares = {label: study.heats[label] for label in (REAL, *study.labels) if label in study.heats}
    scale = colors.Rising.over(*shares.values())
    alarm = {REAL: ' <span class="red-text">NOT PRIVATE</span>'}
    figures = [
        maps.Map(
            f"<b>{'Real' if label == REAL else escape(label)}</b>{alarm.get(label, '')}",
            f"{label}: heat map of {HEAT} by {HEAT} cells. {where(share)}",
            drawn([raster(share, scale, (0.0, 0.0), (1000.0, sheet.height))]),
        )
        for label, share in shares.items()
    ]
    return section(
        heading,
        paragraph(
            f"The share of trips through each of {HEAT} × {HEAT} cells, on the same color scale: the real "
            f"trips, and what each method made of them at epsilon {study.map_epsilon} in its first run. The "
            "maps move together: point at one to read the same cell on all of them."
        ),
        maps.panel(
            sheet,
            figures,
            [heat_data({label: (share, " %") for label, share in shares.items()})],
            "Point at a map to read a cell's numbers.",
        ),
        maps.legend(
            "Share of trips through a cell",
            "q",
            scale.ticks(percent),
            f"Color scale from 0 % to {percent(scale.most)}, logarithmic.",
        ),
    )


def _costs(study: Study) -> str:
    if not study.costs:
        return section("Time and memory", paragraph("Time and memory were not measured."))
    titles = ("Time of a fit", "Time of a sample", "Memory")
    plots = zip(titles, cost_plots(study), strict=True)
    return section(
        "Time and memory",
        paragraph(
            f"Of a fit at epsilon {study.map_epsilon} and a sample, measured alone, with compiled code: of a "
            "few repetitions the least time and the most memory. Seconds hold for one machine; compare them "
            "with each other."
        ),
        _columns((f"<b>{title}</b>", plot) for title, plot in plots),
    )


def _numbers(study: Study) -> str:
    head = [Cell("Metric and method"), *numbers(*(f"epsilon {epsilon}" for epsilon in study.epsilons))]
    rows: list[list[Cell]] = []
    for metrics in by_profile(study).values():
        for metric in metrics:
            rows += [[Cell(_metric_in_words(study, metric))], *_rows(study, metric)]
    return section(
        "All numbers",
        folded(
            "Mean ± standard deviation of the runs, for each metric, method and epsilon",
            table_of(head, rows)
            + paragraph(
                "The least error is bold, and has a * where it is less than that of every other by more than "
                "chance. docs/evaluation.md defines every metric.",
                "small",
            ),
        ),
    )


def _metric_in_words(study: Study, metric: Metric) -> str:
    marks = f"limit {shown(study.limit[metric.name])}, random baseline {shown(study.baseline[metric.name])}"
    best = "" if metric.best == 0 else f", best {metric.best:g}"
    return f"<code>{escape(metric.name)}</code> {escape(metric.words)}; {marks}{best}"


def _rows(study: Study, metric: Metric) -> Iterator[list[Cell]]:
    leaders = {epsilon: leader(study, epsilon, metric) for epsilon in study.epsilons}
    for label in study.labels:
        cells = []
        for epsilon in study.epsilons:
            first, text = leaders[epsilon], written(study.mean(label, epsilon, metric.name))
            leads = first is not None and label in first.labels
            star = "*" if leads and first is not None and first.is_sure else ""
            cells.append(f"<b>{text}</b>{star}" if leads else text)
        yield [Cell(escape(label)), *numbers(*cells)]


def _compared(study: Study) -> str:
    rows = [(entry.label, entry.what) for entry in study.entries]
    return section("What was compared", table(("Name", "What it is"), rows, n_words=2), bullets(_how(study)))


def _how(study: Study) -> Iterator[str]:
    """Say how it was compared."""
    inputs, units = study.inputs, region_of(study).units
    days = f" Trips count if they begin in the period {inputs['period']} (last day excluded)."
    left_out = ", ".join(inputs["left_out"])
    yield (
        f"Data: {inputs['trips']:,} real trips in the region {inputs['region']} (west, south, east, north in "
        f"{units}).{days if inputs['period'] else ''} All methods got the same trips."
    )
    yield (
        f"Runs: {inputs['runs']} of each method at each epsilon, with different seeds of noise and sample that "
        f"follow from the seed {inputs['seed']}. Seeded noise protects nobody: no model of this comparison may "
        "be released."
    )
    yield (
        f"Measured: the profile {inputs['profile']}, in the same way for all"
        + (f"; left out, since they are not defined here: {left_out}." if left_out else ".")
    )
    yield (
        "Tests: for each metric, Welch's t-test of the errors of each pair at each epsilon, all corrected "
        "together after Holm."
    )
    yield f"Version: privtrace {privtrace.__version__}."
