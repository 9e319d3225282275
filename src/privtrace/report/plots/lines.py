"""Draw curves with bands, and horizontal levels to read them by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from privtrace.report.plots.axes import Axis, axis_over
from privtrace.report.plots.curves import (
    DOTTED,
    Curve,
    Level,
    Line,
    bands,
    curve_of,
    in_words,
    rows_of,
    symbols,
)
from privtrace.report.plots.labels import LINE, Named, key, spread
from privtrace.report.plots.marks import RULE, SOFT, Mark, Stroke, Text, text_width, wrapped
from privtrace.report.plots.plot import Plot

_TOP, _BOTTOM, _HEIGHT = 26.0, 38.0, 250.0
#: From one line of the heading to the next, and from the picture to its labels.
_NEXT, _TO_LABEL = 14.0, 16.0
#: Labels stand beside the curves if they take no more of the width, and else in a key below.
_MOST_SHARE = 0.42


def lines(
    name: str,
    title: str,
    x_label: str,
    y_label: str,
    lines: Sequence[Line],
    levels: Sequence[Level] = (),
    *,
    x_log: bool | None = True,
    y_log: bool | None = None,
    x_ticks: Sequence[float] | None = None,
    width: float = 360.0,
    height: float = _HEIGHT,
    words: str | None = None,
    not_private: bool = True,
) -> Plot:
    """Draw curves with bands over a common axis, each with a symbol and a label of its own.

    `y_log` None takes a logarithmic axis if the numbers differ by more than a factor of eight and none is
    negative. A logarithmic axis has a place for zero apart from the others; bands are cut at its end. Ticks are
    at `x_ticks`, by default where the curves have points if these are few.
    """
    curves = [curve_of(line, number) for number, line in enumerate(lines)]
    levels = [level for level in levels if math.isfinite(level.value)]
    names = [_named(curve) for curve in curves] + [Named(s.name, s.color, None, s.dash, 1.25) for s in levels]
    widest = max((text_width(named.name) for named in names), default=0.0) + _TO_LABEL
    beside = widest < _MOST_SHARE * width and len(names) * LINE < height - _TOP - _BOTTOM
    up = _upward(curves, levels, y_log, height)
    heading = wrapped(y_label + _scale_in_words(up), width)
    up = replace(up, stop=_TOP + _NEXT * (len(heading) - 1))
    left = max((text_width(text) for _, text in up.ticks()), default=0.0) + 12
    across = _acrossward(curves, x_log, left, width - (widest + 4 if beside else 12))
    marks: list[Mark] = [
        *(Text(0, 11 + _NEXT * number, line) for number, line in enumerate(heading)),
        *_grid(across, up, _ticks(across, x_ticks, curves), x_label, height),
        *(mark for level in levels for mark in _level(level, across, up)),
        *(mark for curve in curves for mark in bands(curve, across, up)),
        *(mark for curve in curves for mark in symbols(curve, across, up, x_label)),
    ]
    if beside:
        marks += _labels(curves, levels, across, up)
    else:
        keyed, more = key(names, 0, height + 4, width)
        marks, height = marks + keyed, height + 4 + more
    told = words or in_words(title, curves, levels, x_label)
    head = ("line", x_label, y_label, "low", "high")
    return Plot(name, title, told, width, height, tuple(marks), head, rows_of(curves, levels), not_private)


def _named(curve: Curve) -> Named:
    return Named(curve.name, curve.color, curve.shape)


def _upward(curves: Sequence[Curve], levels: Sequence[Level], is_log: bool | None, height: float) -> Axis:
    numbers = [point.y for curve in curves for point in curve.there] + [level.value for level in levels]
    start, stop = height - _BOTTOM, _TOP
    axis = axis_over(numbers, start, stop, is_log=is_log)
    ends = [end for curve in curves for point in curve.there for end in (point.low, point.high)]
    if axis.is_log:  # so far down that a band shows, but not to where it has no logarithm
        least = min((number for number in numbers if number > 0), default=axis.low)
        ends = [end for end in ends if end > least / 3]
    return axis_over(numbers + ends, start, stop, is_log=axis.is_log)


def _acrossward(curves: Sequence[Curve], is_log: bool | None, left: float, right: float) -> Axis:
    places = sorted({point.x for curve in curves for point in curve.there})
    axis = axis_over(places, left + 8, right - 8, is_log=is_log)
    if len(places) < 2:
        return axis
    # The first and the last point stand near the ends: nothing is to be read beyond them.
    return replace(axis, low=places[0], high=places[-1]) if places[0] > 0 or not axis.is_log else axis


def _scale_in_words(up: Axis) -> str:
    if not up.is_log:
        return ""
    return ", logarithmic above 0" if up.zero is not None else ", logarithmic"


def _grid(
    across: Axis, up: Axis, ticks: Sequence[tuple[float, str]], x_label: str, height: float
) -> Iterator[Mark]:
    left, right = across.start - 8, across.stop + 8
    floor = up.start if up.zero is None else up.zero
    for y, text in up.ticks():
        yield Stroke(((left, y), (right, y)), RULE)
        yield Text(left - 6, y + 4, text, anchor="end")
    if up.zero is not None:  # the scale ends above zero
        yield Stroke(((left, up.start + 12), (right, up.start + 12)), RULE, 1, DOTTED)
    yield Stroke(((left, floor), (right, floor)), SOFT)
    for x, text in ticks:
        yield Stroke(((x, floor), (x, floor + 4)), SOFT)
        yield Text(x, floor + 16, text, anchor="middle")
    yield Text((left + right) / 2, height - 5, x_label, anchor="middle")


def _ticks(across: Axis, x_ticks: Sequence[float] | None, curves: Sequence[Curve]) -> list[tuple[float, str]]:
    if x_ticks is not None:
        return across.ticks_at(x_ticks)
    places = {point.x for curve in curves for point in curve.there}
    return across.ticks_at(places) if len(places) <= 8 else across.ticks()


def _level(level: Level, across: Axis, up: Axis) -> Iterator[Mark]:
    y = up.within(level.value)
    yield Stroke(((across.start - 8, y), (across.stop + 8, y)), level.color, 1.25, level.dash)


def _labels(curves: Sequence[Curve], levels: Sequence[Level], across: Axis, up: Axis) -> Iterator[Mark]:
    """Write names at the right, each led to from the end of its curve or level."""
    right = across.stop + 8
    ends = [
        (curve.name, curve.color, (across.at(curve.there[-1].x) + 5, up.at(curve.there[-1].y)))
        for curve in curves
        if curve.there
    ]
    ends += [(level.name, level.color, (right, up.within(level.value))) for level in levels]
    low = min(up.start if up.zero is None else up.zero, up.stop)
    moved = spread([y for *_, (_, y) in ends], LINE, low, max(up.start, up.zero or 0.0))
    for (name, color, end), y in zip(ends, moved, strict=True):
        if end[0] < right or abs(y - end[1]) > 2:
            yield Stroke((end, (right + _TO_LABEL - 4, y)), color, 0.75)
        yield Text(right + _TO_LABEL, y + 4, name, color)
