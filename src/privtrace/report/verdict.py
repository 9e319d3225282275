"""Put a comparison into plain words: what is close, what is rough, what is lost. NOT PRIVATE."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from privtrace.evaluation.suite import Evaluation, Score, shown
from privtrace.methods.plan import rounded
from privtrace.report.document import paragraph, section

#: What the verdict speaks of, and the metrics that can tell, the best first.
ASPECTS = {
    "Where people go": ("density", "visits", "query"),
    "From where to where": ("od", "trip"),
    "How long trips are": ("length", "length_20"),
    "How far they reach": ("diameter", "diameter_20", "gyration"),
    "Which ways they take": ("pattern", "frequent_f1", "turning"),
    "When people travel": ("departure", "departure_day"),
    "How long they take": ("duration", "speed"),
}

#: Up to which place between limit and baseline which words hold.
_WORDS = (
    (0.1, "as close as a second sample of the real data"),
    (0.45, "close"),
    (0.75, "rough"),
    (1.0, "far off"),
    (math.inf, "no better than a random walk"),
)

#: What the words are measured by.
MARKS = (
    "Two marks define close and far: the limit, which one random half of the real data gets against the other, "
    "and the random baseline, which a uniform random walk gets."
)


def judged_in_words(score: Score) -> str:
    """Say how close a value comes to the real data."""
    return next((words for most, words in _WORDS if score.standing < most), "not known")


def verdict(evaluation: Evaluation) -> str:
    """Judge a few aspects by where their metrics stand, best first."""
    judged = {
        aspect: score for aspect, names in ASPECTS.items() if (score := _telling(evaluation, names)) is not None
    }
    by_words: dict[str, list[str]] = {}
    for aspect, score in judged.items():
        by_words.setdefault(judged_in_words(score), []).append(aspect[0].lower() + aspect[1:])
    sentences = [f"{_begun(aspects)}: {words}." for words, aspects in _ordered(by_words)]
    lines = "\n".join(
        f"<li><b>{escape(aspect)}</b><span>{escape(_sentence(score))}</span></li>"
        for aspect, score in judged.items()
    )
    copied = bool(judged) and all(
        _times(score) < _COPIED and score.limit != score.metric.best for score in judged.values()
    )
    return section(
        "Verdict",
        *([paragraph(_COPY, "alarm")] if copied else []),
        paragraph(" ".join(sentences) or "These metrics give no verdict.", "lead"),
        f'<ul class="verdicts">{lines}</ul>',
        paragraph(f"{MARKS} The table of metrics shows where each value lies between them.", "small"),
    )


#: Fresh data of the same size has half of the limit's error or more; a copy has next to none.
_COPIED = 0.25
_COPY = (
    "Closer to the real data than new data of the same size would be: the synthetic file seems to be a "
    "copy of the real one."
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
    """Yield words and the aspects that they hold for, best first."""
    for _, words in _WORDS:
        if words in by_words:
            yield words, by_words[words]


def _begun(aspects: list[str]) -> str:
    text = listed(aspects)
    return text[0].upper() + text[1:]


def listed(words: Sequence[str]) -> str:
    """List words as in a sentence: a, b and c."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _sentence(score: Score) -> str:
    metric, judged = score.metric, judged_in_words(score)
    times = _times(score)
    told = judged != _WORDS[0][1] and 1.5 <= times < 1e4
    factor = f", with {rounded(times)} times the error of a second sample" if told else ""
    return f"{judged[0].upper()}{judged[1:]}{factor} ({metric.words}: {shown(score.value)})."
