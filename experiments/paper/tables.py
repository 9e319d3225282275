"""Lay out results as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations

import privtrace as pt
from experiments.paper.evidence import Ratio, ratio, settings_of
from experiments.paper.results import PAPER, Results
from experiments.paper.sections import FEW, METHODS
from privtrace.evaluation.suite import shown
from privtrace.study.study import Mean

DATA = ("brinkhoff", "porto", "geolife")
OURS = tuple(method for method in METHODS if " " not in method)

#: Metrics of newer work, as other programs report them.
PEERS = ("trip", "query", "coverage", "frequent_f1", "visits_ndcg", "transition")
MORE_IS_BETTER = ("coverage", "frequent_f1", "visits_ndcg")
SPELLED = {"bridgetrace": "BridgeTrace", "privtrace": "PrivTrace", "adatrace": "AdaTrace", "dpt": "DPT"}


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out rows under a head."""
    escaped = ([text.replace("|", "\\|") for text in cells] for cells in rows)
    lines = [head, ["---"] * len(head), *escaped]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def cell(mean: Mean, digits: int = 3) -> str:
    """Write a mean with its standard deviation."""
    return f"{mean.value:.{digits}f} ± {mean.sd:.{digits}f}" if mean.runs else ""


def by_method(
    study: pt.Study, data: str, metrics: Sequence[str], epsilons: Sequence[str], labels: Sequence[str]
) -> Iterator[list[str]]:
    """List the marks and the means of a study, a row for each method and epsilon."""
    for words, marks in (("limit", study.limit), ("baseline", study.baseline)):
        yield [data, "", words, *(shown(marks[metric]) for metric in metrics)]
    for epsilon in epsilons:
        for label in labels:
            yield [data, epsilon, label, *(cell(study.mean(label, epsilon, metric)) for metric in metrics)]


def errors(results: Results) -> str:
    """Show the paper's four errors of all methods at three epsilons."""
    rows = [
        row
        for data in (*DATA, "city")
        for row in by_method(results.study("end-to-end", data), data, PAPER, FEW, METHODS)
    ]
    return table(("data", "epsilon", "method", *PAPER), rows)


def versus(results: Results, one: str, other: str, metrics: Sequence[str] = PAPER) -> Ratio:
    """Compare two methods over all data sets and epsilons."""
    return ratio(settings_of(results, "end-to-end", one, other, data=DATA, metrics=metrics))


def totals(results: Results) -> str:
    """Count who has less error than whom, over all settings."""
    rows = []
    for one, other in permutations(METHODS, 2):
        found = versus(results, one, other)
        by_metric = [f"{versus(results, one, other, (metric,)).value:.2f}" for metric in PAPER]
        rows.append([one, other, f"{found.better} ({found.surely_better})", str(found.halved), *by_metric])
    n = versus(results, METHODS[0], METHODS[1]).n
    return table(("method", "against", f"less error, of {n} (surely)", "half or less", *PAPER), rows)


def peers(results: Results) -> str:
    """Show metrics of newer work at epsilon 1."""
    rows = [
        row
        for data in DATA
        for row in by_method(results.study("end-to-end", data), data, PEERS, ("1",), METHODS)
    ]
    return table(("data", "epsilon", "method", *PEERS), rows)


def learning(results: Results) -> str:
    """Show what is lost by learning from synthetic trips: next cells, and travel times."""
    rows = []
    for data in DATA:
        study = results.study("end-to-end", data)
        timed = results.study("times", data) if data in ("porto", "geolife") else None
        for words, label in (("limit", None), ("baseline", None), *((method, method) for method in OURS)):
            for epsilon in FEW if label else ("",):
                cells = []
                for of, metric in ((study, "next_cell"), (timed, "travel_time")):
                    if of is None:
                        cells.append("")
                    elif label is None:
                        cells.append(shown((of.limit if words == "limit" else of.baseline)[metric]))
                    else:
                        cells.append(cell(of.mean(label, epsilon, metric)))
                rows.append([data, epsilon, words, *cells])
    return table(("data", "epsilon", "method", "next_cell", "travel_time"), rows)


def readme(results: Results) -> str:
    """Show the paper's four errors on Porto at epsilon 1, and say how ours compares over all settings."""
    study = results.study("end-to-end", "porto")
    rows = []
    for method in OURS:
        values = [f"{study.mean(method, '1', metric).value:.3f}" for metric in PAPER]
        own = method == "bridgetrace"
        rows.append([f"**{text}**" if own else text for text in (SPELLED[method], *values)])
    for words, marks in (
        ("limit: one half of the real data against the other", study.limit),
        ("random baseline: a uniform random walk", study.baseline),
    ):
        rows.append([f"*{words}*", *(f"*{marks[metric]:.3g}*" for metric in PAPER)])
    return table(("", *PAPER), rows) + "\n\n" + _sentence(results)


def _sentence(results: Results) -> str:
    settings = best = halved = 0
    for data in DATA:
        study = results.study("end-to-end", data)
        for epsilon in study.epsilons:
            for metric in PAPER:
                own = study.errors("bridgetrace", epsilon, metric).mean()
                others = min(study.errors(label, epsilon, metric).mean() for label in METHODS[1:])
                settings, best, halved = settings + 1, best + (own < others), halved + (2 * own <= others)
    return (
        f"BridgeTrace has the smallest error in {best} of {settings} settings (three data sets, ten epsilons, "
        f"four errors), and at most half of that of the best of the others in {halved}."
    )


def span(results: Results, metric: str, labels: Sequence[str], epsilon: str = "1") -> str:
    """Tell between which numbers a metric lies on the three data sets; of several methods, of the best."""
    values = []
    for data in DATA:
        study = results.study("end-to-end", data)
        values.append(min(study.mean(label, epsilon, metric).value for label in labels))
    return f"{min(values):.3f} to {max(values):.3f}"


def choose(results: Results) -> str:
    """Say which method is good for what, with figures."""
    others = {own: [label for label in OURS if label not in (own, "bridgetrace")] for own in OURS}

    def both(own: str, metric: str, words: str) -> str:
        best = span(results, metric, others[own])
        return f"{words} {span(results, metric, [own])} (the best of the others {best})"

    rows = [
        (
            "the least error, one release for many questions",
            "`bridgetrace`",
            ", ".join(both("bridgetrace", metric, metric) for metric in PAPER),
        ),
        (
            "the least time for very many fits",
            "`privtrace`, `adatrace`",
            f"a fit of Porto's trips takes {results.cost('data', 'porto', 'privtrace').fit_s:.2f} and "
            f"{results.cost('data', 'porto', 'adatrace').fit_s:.2f} s; `bridgetrace` "
            f"{results.cost('data', 'porto', 'bridgetrace').fit_s:.2f} s",
        ),
        (
            "how long trips are, how far they go, from where to where",
            "`adatrace`",
            ", ".join(both("adatrace", metric, metric) for metric in ("length", "diameter", "trip")),
        ),
        (
            "how people get there: busy places, corridors, sequences",
            "`dpt`",
            ", ".join(both("dpt", metric, metric) for metric in ("density", "next_cell", "straightness")),
        ),
        (
            "fine patterns",
            "`privtrace`",
            "pattern at epsilon 0.4: "
            + ", ".join(f"{own} {span(results, 'pattern', [own], '0.4')}" for own in OURS[1:]),
        ),
        (
            "points far apart, for example check-ins",
            "`privtrace`",
            "its moves go from any cell to any other; all others fill the way between with cells that nobody "
            "reported",
        ),
    ]
    return table(("what matters to you", "use", "because, at epsilon 1 on three public data sets"), rows)
