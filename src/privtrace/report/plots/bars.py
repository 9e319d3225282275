"""Draw horizontal bars from zero, each with its number."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from privtrace.report.plots.axes import short
from privtrace.report.plots.marks import (
    INK,
    SERIES,
    SOFT,
    Area,
    Color,
    Mark,
    Stroke,
    Text,
    box,
    shortened,
    text_width,
)
from privtrace.report.plots.plot import Plot

_TOP, _ROW, _THICK = 20.0, 24.0, 15.0
#: Of the width, for names.
_MOST_NAME = 0.4


class Bar(NamedTuple):
    """Hold a bar."""

    name: str
    value: float  # NaN where it is not known
    low: float = math.nan  # between which numbers the value was found; NaN if it was found once
    high: float = math.nan
    color: Color | None = None


def bars(
    name: str,
    title: str,
    label: str,
    bars: Sequence[Bar],
    *,
    write: Callable[[float], str] = short,
    width: float = 360.0,
    words: str | None = None,
    not_private: bool = True,
) -> Plot:
    """Draw bars below each other; `label` says what they measure and its unit, `write` writes their numbers."""
    left = min(max((text_width(bar.name) for bar in bars), default=0.0), _MOST_NAME * width) + 10
    texts = [_text(bar, write) for bar in bars]
    length = width - left - max(map(text_width, texts), default=0.0) - 10
    most = max((end for bar in bars for end in (bar.value, bar.high) if math.isfinite(end)), default=0.0) or 1.0
    marks: list[Mark] = [Text(0, 11, label)]
    for number, (bar, text) in enumerate(zip(bars, texts, strict=True)):
        color = bar.color or SERIES[0]
        marks += _bar(bar, text, color, left, _TOP + _ROW * number, length / most)
    height = _TOP + _ROW * len(bars)
    marks.append(Stroke(((left, _TOP), (left, height - 2)), SOFT))
    told = words or f"{title}. {'; '.join(f'{b.name}: {text}' for b, text in zip(bars, texts, strict=True))}."
    rows = tuple((bar.name, bar.value, bar.low, bar.high) for bar in bars)
    return Plot(
        name, title, told, width, height + 4, tuple(marks), ("name", label, "low", "high"), rows, not_private
    )


def _bar(bar: Bar, text: str, color: Color, left: float, top: float, unit: float) -> Iterator[Mark]:
    baseline, middle = top + _ROW / 2 + 4, top + _ROW / 2
    yield Text(left - 8, baseline, shortened(bar.name, left - 10), INK, 12, "end")
    end = left
    if math.isfinite(bar.value):
        yield Area(box(left, middle - _THICK / 2, bar.value * unit, _THICK), color, 0.8)
        end += bar.value * unit
    if math.isfinite(bar.low) and math.isfinite(bar.high) and bar.low < bar.high:
        yield from _whisker(left + bar.low * unit, left + bar.high * unit, middle)
        end = max(end, left + bar.high * unit)
    yield Text(end + 7, baseline, text, INK)


def _whisker(low: float, high: float, y: float) -> Iterator[Mark]:
    yield Stroke(((low, y), (high, y)), INK, 1.25)
    for x in (low, high):
        yield Stroke(((x, y - 4), (x, y + 4)), INK, 1.25)


def _text(bar: Bar, write: Callable[[float], str]) -> str:
    return write(bar.value) if math.isfinite(bar.value) else "not known"
