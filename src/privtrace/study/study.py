"""Hold what a comparison of methods found: errors by method, epsilon and run. NOT PRIVATE."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from privtrace.caching import cached_property
from privtrace.evaluation.metric import Metric
from privtrace.evaluation.suite import NOT_PRIVATE, aligned, known, shown
from privtrace.privacy.epsilon import Epsilon, decimal, exact
from privtrace.study.significance import Duel, Wins, duels, wins
from privtrace.trajectories import Floats

if TYPE_CHECKING:
    import pandas

    from privtrace.report.document import Report

#: What stands for the real data among the maps.
REAL = "real"

#: What those are that are not fitted.
FINISHED = "finished files"


class Entry(NamedTuple):
    """Say who takes part, as pages show it."""

    label: str
    colors: tuple[str, str]  # on light and on dark ground: "#rrggbb"
    what: str  # "PrivTrace with order=1", "finished files", the name of a class
    has_epsilon: bool = True  # finished files may have none: they count as they are at each epsilon


class Cost(NamedTuple):
    """Hold what a fit and its sample take, measured alone: the best of a few repetitions."""

    fit_s: float
    sample_s: float
    memory_mb: float  # the most that was held beyond the program and the data; NaN where that is not known


class Mean(NamedTuple):
    """Hold the mean of the runs in which a metric is defined, and their standard deviation."""

    value: float
    sd: float  # NaN of a single run
    runs: int


@dataclass(frozen=True, eq=False, repr=False)
class Study:
    """Hold the errors of several methods on one data set. NOT PRIVATE.

    It shows itself as a table. `values` gives the runs, `mean` their mean, `wins` who is better than whom, and
    `to_pandas`, `to_dict` and `report` all of it.
    """

    entries: tuple[Entry, ...]
    metrics: tuple[Metric, ...]  # those that could be measured
    epsilons: tuple[str, ...]  # rising
    scores: Mapping[tuple[str, str], Mapping[str, Floats]]  # by label and epsilon, then metric: (n_runs,)
    limit: Mapping[str, float]  # by metric: one random half of the real data against the other
    baseline: Mapping[str, float]  # by metric: a uniform random walk over the region
    costs: Mapping[str, Cost]  # by label; finished files have none
    heats: Mapping[str, Floats]  # by label, and REAL: (80, 80), north up, shares of trips through cells
    map_epsilon: str  # of the heats
    inputs: Mapping[str, Any]  # what was compared, and how

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Study:
        """Read a file of results again: all that it holds, and no data."""
        from privtrace.study.reading import read_study

        return read_study(path)

    @property
    def labels(self) -> tuple[str, ...]:
        """Name who takes part, in the order given."""
        return tuple(entry.label for entry in self.entries)

    def metric(self, name: str) -> Metric:
        """Find a metric by its name."""
        for metric in self.metrics:
            if metric.name == name:
                return metric
        raise KeyError(f"{name} was not measured: {', '.join(metric.name for metric in self.metrics)}")

    def values(self, label: str, epsilon: Epsilon, metric: str) -> Floats:
        """Give the values of all runs in which a metric is defined; none where nothing was measured."""
        values = self.scores.get((label, decimal(exact(epsilon))), {}).get(metric, np.empty(0))
        return values[~np.isnan(values)]

    def errors(self, label: str, epsilon: Epsilon, metric: str) -> Floats:
        """Give the distances of the values from the metric's best."""
        distances: Floats = np.abs(self.values(label, epsilon, metric) - self.metric(metric).best)
        return distances

    def mean(self, label: str, epsilon: Epsilon, metric: str) -> Mean:
        """Average the runs."""
        return mean_of(self.values(label, epsilon, metric))

    def duels(self, metric: str) -> list[Duel]:
        """Compare all pairs at all epsilons in one metric: Welch's tests, corrected after Holm together."""
        return self._duels[metric]

    @cached_property
    def _duels(self) -> dict[str, list[Duel]]:
        return {
            metric.name: duels(
                self.labels,
                self.epsilons,
                {
                    (label, epsilon): self.errors(label, epsilon, metric.name)
                    for label in self.labels
                    for epsilon in self.epsilons
                },
            )
            for metric in self.metrics
        }

    def wins(self, one: str, other: str, metric: str | None = None) -> Wins:
        """Count in how many settings one has less error than another: in one metric, or in all together."""
        names = [metric] if metric is not None else [each.name for each in self.metrics]
        return sum((wins(self.duels(name), one, other) for name in names), Wins(0, 0, 0))

    def to_dict(self) -> dict[str, Any]:
        """List everything, ready for JSON."""
        return {
            "not_private": True,
            "notice": NOT_PRIVATE,
            "scores": [_plain(row) for row in self.rows()],
            "wins": [
                {
                    "metric": metric.name,
                    "winner": one,
                    "loser": other,
                    **asdict(self.wins(one, other, metric.name)),
                }
                for metric in self.metrics
                for one in self.labels
                for other in self.labels
                if one != other
            ],
            "costs": {
                label: {name: known(number) for name, number in cost._asdict().items()}
                for label, cost in self.costs.items()
            },
            "inputs": dict(self.inputs),
        }

    def rows(self) -> Iterator[dict[str, Any]]:
        """List the means, a row for each method, epsilon and metric."""
        for metric in self.metrics:
            for epsilon in self.epsilons:
                for label in self.labels:
                    mean = self.mean(label, epsilon, metric.name)
                    if mean.runs:
                        yield {
                            "method": label,
                            "epsilon": epsilon_number(epsilon),
                            "metric": metric.name,
                            "value": mean.value,
                            "sd": mean.sd,
                            "runs": mean.runs,
                            "limit": self.limit[metric.name],
                            "baseline": self.baseline[metric.name],
                            "best": metric.best,
                        }

    def to_pandas(self) -> pandas.DataFrame:
        """Give a frame with a row for each method, epsilon and metric; its attrs say NOT PRIVATE."""
        from privtrace.io.extras import require

        frame: pandas.DataFrame = require("pandas", "to_pandas", "geo").DataFrame(self.rows())
        frame.attrs.update(not_private=True, notice=NOT_PRIVATE)
        return frame

    def report(
        self, path: str | os.PathLike[str] | None = None, *, title: str | None = None, force: bool = False
    ) -> Report:
        """Show the comparison as a page; write it, if a path is given. NOT PRIVATE, and its name says so."""
        from privtrace.report.comparison_page import comparison_page
        from privtrace.report.document import marked

        report = comparison_page(self, title=title)
        return report if path is None else report.write(marked(path), force=force)

    def figures(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Write each figure of the page as PNG, SVG and CSV into a folder, whose name says NOT PRIVATE."""
        from privtrace.report.comparison_page import plots_of
        from privtrace.report.document import marked
        from privtrace.report.plots import write_plots

        write_plots(plots_of(self), marked(folder), force=force)

    def _repr_html_(self) -> str:
        from privtrace.notebooks import card, line, table

        head, *rows = self._rows()
        return card("Comparison", line(NOT_PRIVATE, red=True), table(head, rows, n_words=2), *map(line, LEGEND))

    def __repr__(self) -> str:
        return "\n".join([NOT_PRIVATE, "", *aligned(self._rows()), "", *LEGEND])

    def _rows(self) -> list[list[str]]:
        """Write the table, its head first: a row for each metric and method, a column for each epsilon."""
        rows = [["metric", "method", *(f"epsilon {epsilon}" for epsilon in self.epsilons), "limit", "baseline"]]
        for metric in self.metrics:
            marks = [shown(marks[metric.name]) for marks in (self.limit, self.baseline)]
            rows += [
                [
                    metric.name,
                    label,
                    *(self._cell(label, epsilon, metric.name) for epsilon in self.epsilons),
                    *marks,
                ]
                for label in self.labels
            ]
        return rows

    def _cell(self, label: str, epsilon: str, metric: str) -> str:
        return written(self.mean(label, epsilon, metric))


LEGEND = (
    "value ± standard deviation of the runs.",
    "limit: one random half of the real data against the other.",
    "baseline: a uniform random walk over the region.",
)


def mean_of(values: Floats) -> Mean:
    """Average runs."""
    if not len(values):
        return Mean(math.nan, math.nan, 0)
    sd = float(values.std(ddof=1)) if len(values) > 1 else math.nan
    return Mean(float(values.mean()), sd, len(values))


def written(mean: Mean) -> str:
    """Write a mean with its standard deviation; without one, of a single run."""
    return shown(mean.value) if math.isnan(mean.sd) else f"{shown(mean.value)} ± {shown(mean.sd)}"


def typical(epsilons: Sequence[str]) -> str:
    """Choose the epsilon of maps and costs: the one nearest to 1."""
    return min(epsilons, key=lambda epsilon: (abs(exact(epsilon) - 1), exact(epsilon)))


def epsilon_number(epsilon: str) -> float:
    """Turn the text of an epsilon into a number, for axes and tables."""
    return float(exact(epsilon))


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: known(value) if isinstance(value, float) else value for name, value in row.items()}
