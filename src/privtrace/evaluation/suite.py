"""Evaluate a synthetic set: a table with every metric's value, limit and random baseline."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from privtrace.backends.base import Backend
from privtrace.errors import SettingsError
from privtrace.evaluation.figures import Figures
from privtrace.evaluation.measured import MeasuredSet
from privtrace.evaluation.metric import Metric
from privtrace.evaluation.old_names import EVALUATED, deprecated, renamed, with_old_keys
from privtrace.evaluation.reference import Reference
from privtrace.observer import Observer
from privtrace.space.region import Region
from privtrace.trajectories import Data, opened

if TYPE_CHECKING:
    import pandas

    from privtrace.report.document import Report

#: What every evaluation says on its face.
NOT_PRIVATE = (
    "NOT PRIVATE: this compares with the exact real data. Keep it with the data. If you use it to choose "
    "settings for the same private data, the privacy statement no longer holds."
)

MOST_REPLICATES = 100_000

_LEGEND = (
    "limit: one random half of the real data against the other.",
    "baseline: a uniform random walk over the region.",
)

#: Of the baseline: smaller distances from the best count as this, since zero has no logarithm.
_LEAST_SHARE = 1e-3


@dataclass(frozen=True)
class Score:
    """Hold what a set got in one metric, between the two lines that make it readable."""

    metric: Metric
    value: float  # NaN where the metric is not defined
    limit: float  # one random half of the real data against the other
    baseline: float  # a uniform random walk over the region
    interval: tuple[float, float] | None = None  # 95 %, by bootstrap over trajectories

    ceiling = renamed("ceiling", "baseline")

    @property
    def standing(self) -> float:
        """Place the value between the limit, 0, and the baseline, 1: below 0 beats both, above 1 neither.

        By the logarithm of the distance from the metric's best, because errors differ by factors. NaN where
        the metric is not defined, or does not tell the real data from a random walk.
        """
        limit, value, baseline = (abs(x - self.metric.best) for x in (self.limit, self.value, self.baseline))
        limit, value = (max(x, _LEAST_SHARE * baseline) for x in (limit, value))
        return math.log(value / limit) / math.log(baseline / limit) if baseline > limit else math.nan

    def to_dict(self) -> dict[str, Any]:
        """List the numbers; what is not defined is None."""
        numbers: dict[str, Any] = {name: known(getattr(self, name)) for name in ("value", "limit", "baseline")}
        if self.interval is not None:
            numbers["interval"] = [known(end) for end in self.interval]
        return with_old_keys(numbers, EVALUATED) | {"best": self.metric.best, "words": self.metric.words}


@dataclass(frozen=True, repr=False)
class Evaluation(Mapping[str, Score]):
    """Hold the scores of a synthetic set by metric. NOT PRIVATE.

    It shows itself as a table, `evaluation["length"].value` is a number, and `to_dict` gives all of it.
    """

    scores: Mapping[str, Score]
    inputs: Mapping[str, Any]
    figures: Figures | None = None  # for `report`

    def __getitem__(self, name: str) -> Score:
        if name not in self.scores:
            raise KeyError(
                f"{name} is not a metric of the profile {self.inputs['profile']}: {', '.join(self.scores)}"
            )
        return self.scores[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def to_dict(self) -> dict[str, Any]:
        """List everything, ready for JSON."""
        return {
            "not_private": True,
            "notice": NOT_PRIVATE,
            "metrics": {name: score.to_dict() for name, score in self.scores.items()},
            "inputs": dict(self.inputs),
            "deprecated": deprecated(EVALUATED),
        }

    def report(
        self, path: str | os.PathLike[str] | None = None, *, title: str | None = None, force: bool = False
    ) -> Report:
        """Show the comparison as a page; write it, if a path is given. NOT PRIVATE, and its name says so.

        A file's name gets NOT-PRIVATE added where it lacks it: evaluation.html becomes
        evaluation-NOT-PRIVATE.html. In a notebook the page shows itself.
        """
        from privtrace.report.document import marked
        from privtrace.report.evaluation_page import evaluation_page

        report = evaluation_page(self, title=title)
        return report if path is None else report.write(marked(path), force=force)

    def to_pandas(self) -> pandas.DataFrame:
        """Give a frame with a row per metric; its attrs say NOT PRIVATE."""
        from privtrace.io.extras import require

        rows = [
            {
                "metric": name,
                "value": score.value,
                **({} if score.interval is None else dict(zip(("low", "high"), score.interval, strict=True))),
                "limit": score.limit,
                "baseline": score.baseline,
                "best": score.metric.best,
                "meaning": score.metric.words,
            }
            for name, score in self.scores.items()
        ]
        frame: pandas.DataFrame = require("pandas", "to_pandas", "geo").DataFrame(rows).set_index("metric")
        frame.attrs.update(not_private=True, notice=NOT_PRIVATE)
        return frame

    def _repr_html_(self) -> str:
        from privtrace.notebooks import card, line, table

        words = ["meaning", *(score.metric.words for score in self.scores.values())]
        head, *rows = ([row[0], text, *row[1:]] for row, text in zip(self._rows(), words, strict=True))
        given, legend = map(line, compared(self.inputs)), map(line, _LEGEND)
        return card("Evaluation", line(NOT_PRIVATE, red=True), *given, table(head, rows, n_words=2), *legend)

    def __repr__(self) -> str:
        return "\n".join(
            [
                NOT_PRIVATE,
                "",
                *compared(self.inputs),
                "",
                self._table(),
                "",
                *_LEGEND,
            ]
        )

    def _rows(self) -> list[list[str]]:
        """Write the table, its head first, but for what metrics mean."""
        with_intervals = any(score.interval is not None for score in self.scores.values())
        head = ["metric", "value", *(["95 % interval"] if with_intervals else []), "limit", "baseline", "best"]
        rows = [head]
        for name, score in self.scores.items():
            interval = [" to ".join(map(shown, score.interval or ()))] if with_intervals else []
            numbers = [shown(score.value), *interval, shown(score.limit), shown(score.baseline)]
            rows.append([name, *numbers, f"{score.metric.best:g}"])
        return rows

    def _table(self) -> str:
        words = ["", *(score.metric.words for score in self.scores.values())]
        lines = (f"{line}  {text}".rstrip() for line, text in zip(aligned(self._rows()), words, strict=True))
        return "\n".join(lines)


def evaluate(
    real: Data,
    synthetic: Data,
    *,
    region: Any,
    profile: str = "paper",
    seed: int = 1,
    bootstrap: int = 0,
    timezone: str | None = None,
    period: str | None = None,
    figures: bool = True,
    backend: Backend | None = None,
    observer: Observer | None = None,
) -> Evaluation:
    """Compare synthetic trajectories with real ones. NOT PRIVATE: it reads the real data exactly.

    Parameters
    ----------
    real, synthetic
        Trajectories, sources of them, paths or data frames, whoever made them. Both are clipped to the region
        in the same way: the longest run of points of each trajectory counts.
    region
        The area to compare in: a Region, or what `Region.of` takes.
    profile
        "paper" for PrivTrace's metrics and its subgroups, "adatrace", "mobility", "time", or "all". The module
        of each in `privtrace.evaluation` defines its metrics. Those that need calendar times are left out
        where one of the sets has none.
    seed
        From which random circles, halves and walks are drawn; the same seed gives the same table.
    bootstrap
        How often to resample the trajectories for 95 % intervals; 0 for none.
    timezone
        Whose hours profile "time" tells, of both sets: an IANA name; that of the real data by default.
    period
        Compare with the real trajectories that begin on these days, as 2013-07-01/2014-07-01, without the last:
        those that a fit of this period counts. All synthetic ones are compared.
    figures
        Whether to measure also what `Evaluation.report` draws; without, it is a little faster.
    """
    if not isinstance(bootstrap, int) or not 0 <= bootstrap <= MOST_REPLICATES or bootstrap == 1:
        raise SettingsError(f"bootstrap must be 0 or from 2 to {MOST_REPLICATES:,} replicates, not {bootstrap}")
    with opened(real) as known, opened(synthetic) as made:
        reference = Reference.of(
            known,
            Region.of(region),
            profile=profile,
            seed=seed,
            zone=timezone,
            period=period,
            figures=figures,
            backend=backend,
            observer=observer,
        )
        return evaluated(reference, reference.measure(made), bootstrap=bootstrap)


def evaluated(reference: Reference, synthetic: MeasuredSet, *, bootstrap: int = 0) -> Evaluation:
    """Compare a synthetic set with a reference, both measured already; with figures, if they are measured."""
    comparison, real = reference.comparison, reference.real
    with_times = real.has_times and synthetic.has_times
    metrics = [metric for metric in comparison.metrics if with_times or not metric.needs_times]
    inputs = {
        "real": real.to_dict(),
        "synthetic": synthetic.to_dict(),
        "region": str(comparison.frame.region),
        "crs": comparison.crs,
        "profile": comparison.profile,
        "seed": comparison.frame.seed,
        "bootstrap": bootstrap,
        "timezone": comparison.frame.zone,
        "period": reference.period,
        "left_out": [metric.name for metric in comparison.metrics if metric not in metrics],
    }
    with comparison.observer.stage("Comparing"):
        values, limit = reference.values(synthetic), reference.limit(with_times=with_times)
        figures = None
        if comparison.has_figures:
            figures = Figures.of(comparison.frame, real, synthetic, comparison.backend)
    intervals = reference.intervals(synthetic, values, bootstrap) if bootstrap else {}
    del synthetic  # the walk needs as much memory
    baseline = reference.baseline(with_times=with_times)
    scores = {
        name: Score(metric, values[name], limit[name], baseline[name], intervals.get(name))
        for name, metric in ((metric.name, metric) for metric in metrics)
    }
    return Evaluation(scores, inputs, figures)


def compared(inputs: Mapping[str, Any]) -> Iterator[str]:
    """Say in lines what was compared, and where."""
    for role in ("real", "synthetic"):
        if given := inputs.get(role):
            bad = f"; {given['bad_points']:,} points are not valid" if given["bad_points"] else ""
            untimed = (
                f"; {given['untimed_points']:,} points have no usable time" if given["untimed_points"] else ""
            )
            yield (
                f"{role:10} {given['in_region']:,} of {given['trajectories']:,} trajectories and "
                f"{given['points_in_region']:,} of {given['points']:,} points in the region{bad}{untimed}"
            )
    yield f"region     {inputs['region']}, {inputs['crs']}"
    if inputs["period"]:
        yield f"period     {inputs['period']}, last day excluded; only real trips that begin in it"
    if inputs["real"]["has_times"]:
        yield f"hours      local time in {inputs['timezone']}"
    for words in without_times(inputs):
        yield f"left out   {words}"


def without_times(inputs: Mapping[str, Any]) -> Iterator[str]:
    """Say, where metrics are left out, which of the sets has no usable times, and which metrics need them."""
    if not inputs["left_out"]:
        return
    lacking = [role for role in ("real", "synthetic") if not inputs.get(role, {"has_times": True})["has_times"]]
    whose = f"the {lacking[0]} data has" if lacking else "the synthetic data has"
    whose = "the real and the synthetic data have" if len(lacking) == 2 else whose
    yield f"{whose} no usable times, so these metrics are left out: {', '.join(inputs['left_out'])}"


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Lay rows out in columns, words in the first to the left and numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])])


def known(number: float) -> float | None:
    """Write NaN as None: JSON has no other word for it."""
    return None if math.isnan(number) else float(number)


def shown(number: float) -> str:
    """Write a number for a table."""
    text = "-" if math.isnan(number) else f"{number:.4f}"
    return "0.0000" if text == "-0.0000" else text
