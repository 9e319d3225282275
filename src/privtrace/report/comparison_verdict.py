"""Put a comparison of methods into plain words: who has the least error where, and how sure that is."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

from privtrace.evaluation.metric import Metric
from privtrace.evaluation.suite import Score, shown
from privtrace.report.comparison_plots import error_of, marks_of
from privtrace.report.document import paragraph, section
from privtrace.report.verdict import ASPECTS, MARKS, judged_in_words, listed
from privtrace.study.significance import LEVEL
from privtrace.study.study import Study


class Leader(NamedTuple):
    """Hold who has the least error in one setting."""

    labels: tuple[str, ...]  # several only where they have the same
    is_sure: bool  # against every other by more than chance
    others: tuple[tuple[str, float], ...]  # the others and their errors, the best first
    error: float


def leader(study: Study, epsilon: str, metric: Metric) -> Leader | None:
    """Find who has the least error in a metric at an epsilon; nobody where nothing was measured."""
    found = {label: error_of(study, label, epsilon, metric)[0] for label in study.labels}
    errors = {label: error for label, error in found.items() if not math.isnan(error)}
    if not errors:
        return None
    least = min(errors.values())
    labels = tuple(label for label, error in errors.items() if error == least)
    others = sorted(
        ((label, error) for label, error in errors.items() if error > least), key=lambda one: one[1]
    )
    met = [duel for duel in study.duels(metric.name) if duel.epsilon == epsilon]
    tested = [duel for duel in met if labels[0] in (duel.first, duel.second)]
    is_sure = len(labels) == 1 and bool(tested) and all(duel.is_significant for duel in tested)
    return Leader(labels, is_sure, tuple(others), least)


def verdict(study: Study) -> str:
    """Say who leads overall, and who in each aspect, at each epsilon."""
    items = "\n".join(
        f"<li><b>{escape(aspect)}</b><span>{escape(text)}</span></li>" for aspect, text in _aspects(study)
    )
    return section(
        "Verdict",
        paragraph(_overall(study), "lead"),
        f'<ul class="verdicts">{items}</ul>' if items else "",
        paragraph(
            f'"By more than chance" means that Welch\'s t-tests of the {study.inputs["runs"]} runs, corrected '
            f"after Holm within each metric, reject chance at a level of {100 * LEVEL:g} %. The tests are "
            f"about noise and samples on this data, and do not say how methods do on other data. {MARKS}",
            "small",
        ),
    )


def leaders(study: Study) -> Iterator[Leader]:
    """Find who leads in each setting: a metric at an epsilon."""
    for metric in study.metrics:
        for epsilon in study.epsilons:
            found = leader(study, epsilon, metric)
            if found is not None:
                yield found


def _overall(study: Study) -> str:
    if len(study.labels) < 2:
        return "Only one method was compared: the plots show where its errors lie between limit and baseline."
    found = [*leaders(study)]
    ahead = Counter(label for one in found for label in one.labels)
    surely = Counter(label for one in found if one.is_sure for label in one.labels)
    (first, n_first), *others = ahead.most_common()
    sure = f", in {surely[first]} of them by more than chance against every other" if surely[first] else ""
    rest = "; ".join(f"{label} in {count}" for label, count in others)
    none = [label for label in study.labels if label not in ahead]
    never = f" {listed(none)} {'has' if len(none) == 1 else 'have'} it in none." if none else ""
    return (
        f"{first} has the least error in {n_first} of {len(found)} settings{sure}{f'; {rest}' if rest else ''}."
        f"{never} A setting is a metric at an epsilon."
    )


def _aspects(study: Study) -> Iterator[tuple[str, str]]:
    """Speak of each aspect by the first of its metrics that was measured."""
    names = {metric.name for metric in study.metrics}
    for aspect, telling in ASPECTS.items():
        name = next((name for name in telling if name in names), None)
        if name is not None:
            yield aspect, _sentence(study, study.metric(name))


def _sentence(study: Study, metric: Metric) -> str:
    found = {epsilon: leader(study, epsilon, metric) for epsilon in study.epsilons}
    there = {epsilon: one for epsilon, one in found.items() if one is not None}
    by_labels: dict[tuple[str, ...], list[str]] = {}
    for epsilon, one in there.items():
        by_labels.setdefault(one.labels, []).append(epsilon)
    led = "; ".join(
        f"{listed(labels)} {_at(epsilons, there)}{_how_sure(epsilons, there) if len(study.labels) > 1 else ''}"
        for labels, epsilons in by_labels.items()
    )
    return f"{led}.{_typical(study, metric, there)}"


def _at(epsilons: Sequence[str], there: Iterable[str]) -> str:
    everywhere = len(epsilons) == len([*there]) > 1
    return "at every epsilon" if everywhere else f"at epsilon {listed(epsilons)}"


def _how_sure(epsilons: Sequence[str], there: dict[str, Leader]) -> str:
    sure = [epsilon for epsilon in epsilons if there[epsilon].is_sure]
    if len(sure) == len(epsilons):
        return ", by more than chance against every other"
    return f" (by more than chance at {listed(sure)})" if sure else " (not by more than chance)"


def _typical(study: Study, metric: Metric, there: dict[str, Leader]) -> str:
    """Give the numbers at the epsilon of maps and costs, with what they mean."""
    one = there.get(study.map_epsilon)
    if one is None:
        return ""
    limit, baseline = (metric.best + mark for mark in marks_of(study, metric))
    judged = judged_in_words(Score(metric, metric.best + one.error, limit, baseline))
    after = f"; next is {one.others[0][0]} with {shown(one.others[0][1])}" if one.others else ""
    least = f"{judged}, with an error of {shown(one.error)}{after}"
    return f" At epsilon {study.map_epsilon}: {least} ({metric.words})."
