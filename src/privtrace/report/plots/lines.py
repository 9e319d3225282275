"""Draw curves with bands, and horizontal levels to read them by."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from privtrace.report.plots.axes import Axis, axis_over, short
from privtrace.report.plots.labels import LINE, Named, key, spread
from privtrace.report.plots.marks import (
    RULE,
    SERIES,
    SHAPES,
    SOFT,
    Area,
    Color,
    Mark,
    Stroke,
    Symbol,
    Text,
    text_width,
    wrapped,
)
from privtrace.report.plots.plot import Plot, Value

_TOP, _BOTTOM, _HEIGHT = 26.0, 38.0, 250.0
#: Labels stand beside the curves if they leave so much of the width to them, and else in a key below.
_LEAST_SHARE = 0.58
_TO_LABEL = 16.0
_BAND = 0.16
#: How levels are told apart.
DOTTED, DASHED = (1.5, 3.0), (6.0, 4.0)


@dataclass(frozen=True, eq=False)
class Line:
    """Hold a curve: y over x, NaN where it has a gap, and between which numbers each y is expected."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    color: Color | None = None  # by default one of SERIES

    def __post_init__(self) -> None:
        lengths = {len(some) for some in (self.x, self.y, self.low, self.high) if some is not None}
        if len(lengths) != 1 or (self.low is None) != (self.high is None):
            raise ValueError(f"{self.name}: x, y, low and high have equally many numbers")


class Level(NamedTuple):
    """Hold a number that does not depend on x."""

    name: str
    value: float  # NaN is not drawn
    color: Color = SOFT
    dash: tuple[float, float] | None = DASHED


class _Point(NamedTuple):
    x: float
    y: float
    low: float  # NaN without a band
    high: float


class _Curve(NamedTuple):
    name: str
    color: Color
    shape: str
    points: tuple[_Point, ...]

    @property
    def there(self) -> list[_Point]:
        """List the points that are drawn."""
        return [point for point in self.points if math.isfinite(point.x) and math.isfinite(point.y)]

    def runs(self) -> Iterator[list[_Point]]:
        """Cut the curve at its gaps."""
        run: list[_Point] = []
        for point in self.points:
            if math.isfinite(point.x) and math.isfinite(point.y):
                run.append(point)
            elif run:
                yield run
                run = []
        if run:
            yield run


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
    curves = [_curve(line, number) for number, line in enumerate(lines)]
    levels = [level for level in levels if math.isfinite(level.value)]
    names = [_named(curve) for curve in curves] + [Named(s.name, s.color, None, s.dash, 1.25) for s in levels]
    widest = max((text_width(named.name) for named in names), default=0.0)
    beside = widest + _TO_LABEL < (1 - _LEAST_SHARE) * width and len(names) * LINE < height - _TOP - _BOTTOM
    up = _upward(curves, levels, y_log, height)
    left = max((text_width(text) for _, text in up.ticks()), default=0.0) + 12
    right = width - (widest + _TO_LABEL + 4 if beside else 12)
    across = _acrossward(curves, x_log, left, right)
    label = y_label + _scale_in_words(up)
    heading = wrapped(label, width)
    marks: list[Mark] = [Text(0, 11 + 14 * i, line) for i, line in enumerate(heading)]
    extra = 14.0 * (len(heading) - 1)
    up = replace(up, stop=up.stop + extra)
    marks += _grid(across, up, x_ticks, curves, x_label, height)
    marks += [mark for level in levels for mark in _level(level, across, up)]
    marks += [mark for curve in curves for mark in _bands(curve, across, up)]
    marks += [mark for curve in curves for mark in _drawn(curve, across, up, x_label)]
    if beside:
        marks += _labels(curves, levels, across, up)
    else:
        keyed, more = key(names, 0, height + 4, width)
        marks, height = marks + keyed, height + 4 + more
    told = words or _in_words(title, curves, levels, x_label)
    head = ("line", x_label, y_label, "low", "high")
    return Plot(name, title, told, width, height, tuple(marks), head, _rows(curves, levels), not_private)


def _curve(line: Line, number: int) -> _Curve:
    none = [math.nan] * len(line.x)
    low, high = (none if some is None else some for some in (line.low, line.high))
    points = tuple(_Point(*map(float, four)) for four in zip(line.x, line.y, low, high, strict=True))
    return _Curve(
        line.name,
        line.color or SERIES[number % len(SERIES)],
        SHAPES[number % len(SHAPES)],
        tuple(sorted(points)),
    )


def _named(curve: _Curve) -> Named:
    return Named(curve.name, curve.color, curve.shape)


def _upward(curves: Sequence[_Curve], levels: Sequence[Level], is_log: bool | None, height: float) -> Axis:
    numbers = [point.y for curve in curves for point in curve.there] + [level.value for level in levels]
    start, stop = height - _BOTTOM, _TOP
    axis = axis_over(numbers, start, stop, is_log=is_log)
    ends = [end for curve in curves for point in curve.there for end in (point.low, point.high)]
    if axis.is_log:  # so far down that a band shows, but not to where it has no logarithm
        least = min((number for number in numbers if number > 0), default=axis.low)
        ends = [end for end in ends if end > least / 3]
    return axis_over(numbers + ends, start, stop, is_log=axis.is_log)


def _acrossward(curves: Sequence[_Curve], is_log: bool | None, left: float, right: float) -> Axis:
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
    across: Axis,
    up: Axis,
    x_ticks: Sequence[float] | None,
    curves: Sequence[_Curve],
    x_label: str,
    height: float,
) -> Iterator[Mark]:
    left, right = across.start - 8, across.stop + 8
    floor = up.start if up.zero is None else up.zero
    for y, text in up.ticks():
        yield Stroke(((left, y), (right, y)), RULE)
        yield Text(left - 6, y + 4, text, anchor="end")
    if up.zero is not None:  # the scale ends above zero
        yield Stroke(((left, up.start + 12), (right, up.start + 12)), RULE, 1, DOTTED)
    places = {point.x for curve in curves for point in curve.there}
    chosen = x_ticks if x_ticks is not None else (places if len(places) <= 8 else None)
    yield Stroke(((left, floor), (right, floor)), SOFT)
    for x, text in across.ticks() if chosen is None else across.ticks_at(chosen):
        yield Stroke(((x, floor), (x, floor + 4)), SOFT)
        yield Text(x, floor + 16, text, anchor="middle")
    yield Text((left + right) / 2, height - 5, x_label, anchor="middle")


def _level(level: Level, across: Axis, up: Axis) -> Iterator[Mark]:
    y = up.within(level.value)
    yield Stroke(((across.start - 8, y), (across.stop + 8, y)), level.color, 1.25, level.dash)


def _bands(curve: _Curve, across: Axis, up: Axis) -> Iterator[Mark]:
    for run in curve.runs():
        known = [point for point in run if math.isfinite(point.low) and math.isfinite(point.high)]
        if len(run) == 1:
            for point in known:  # a band of no width is a line
                x = across.at(point.x)
                yield Stroke(((x, up.within(point.low)), (x, up.within(point.high))), curve.color, 1.5)
        elif len(known) > 1:
            upper = [(across.at(point.x), up.within(point.high)) for point in known]
            lower = [(across.at(point.x), up.within(point.low)) for point in known[::-1]]
            yield Area((*upper, *lower), curve.color, _BAND)


def _drawn(curve: _Curve, across: Axis, up: Axis, x_label: str) -> Iterator[Mark]:
    for run in curve.runs():
        places = tuple((across.at(point.x), up.at(point.y)) for point in run)
        if len(places) > 1:
            yield Stroke(places, curve.color, 1.75)
        for (x, y), point in zip(places, run, strict=True):
            yield Symbol(
                x, y, curve.shape, curve.color, f"{curve.name}, {x_label} {short(point.x)}: {_told(point)}"
            )


def _told(point: _Point) -> str:
    if not (math.isfinite(point.low) and math.isfinite(point.high)):
        return short(point.y)
    return f"{short(point.y)} ({short(point.low)} to {short(point.high)})"


def _labels(curves: Sequence[_Curve], levels: Sequence[Level], across: Axis, up: Axis) -> Iterator[Mark]:
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


def _rows(curves: Sequence[_Curve], levels: Sequence[Level]) -> tuple[tuple[Value, ...], ...]:
    points = [(curve.name, *point) for curve in curves for point in curve.points]
    return (*points, *((level.name, math.nan, level.value, math.nan, math.nan) for level in levels))


def _in_words(title: str, curves: Sequence[_Curve], levels: Sequence[Level], x_label: str) -> str:
    told = [
        f"{curve.name}: "
        + (
            f"{short(curve.there[0].y)} at {x_label} {short(curve.there[0].x)}"
            + (f", {short(curve.there[-1].y)} at {short(curve.there[-1].x)}" if len(curve.there) > 1 else "")
            if curve.there
            else "no numbers"
        )
        for curve in curves
    ]
    told += [f"{level.name}: {short(level.value)}" for level in levels]
    return f"{title}. {'; '.join(told)}."
