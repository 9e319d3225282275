"""Hold curves and levels, and draw the curves: gaps, bands, symbols."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from privtrace.report.plots.axes import Axis, short
from privtrace.report.plots.marks import SERIES, SHAPES, SOFT, Area, Color, Mark, Stroke, Symbol
from privtrace.report.plots.plot import Value

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


class Point(NamedTuple):
    """Hold a point of a curve."""

    x: float
    y: float
    low: float  # NaN without a band
    high: float


class Curve(NamedTuple):
    """Hold a curve as it is drawn, from left to right."""

    name: str
    color: Color
    shape: str
    points: tuple[Point, ...]

    @property
    def there(self) -> list[Point]:
        """List the points that are drawn."""
        return [point for point in self.points if _is_there(point)]


def _is_there(point: Point) -> bool:
    return math.isfinite(point.x) and math.isfinite(point.y)


def _has_band(point: Point) -> bool:
    return _is_there(point) and math.isfinite(point.low) and math.isfinite(point.high)


def _runs(curve: Curve, of: Callable[[Point], bool]) -> list[list[Point]]:
    """Cut a curve into runs of points that are alike, and drop all others."""
    return [[*run] for kept, run in groupby(curve.points, of) if kept]


def curve_of(line: Line, number: int) -> Curve:
    """Give a line its symbol, and its color unless it has one."""
    none = [math.nan] * len(line.x)
    low, high = (none if some is None else some for some in (line.low, line.high))
    points = tuple(Point(*map(float, four)) for four in zip(line.x, line.y, low, high, strict=True))
    again = number // len(SERIES)  # of the same color, with another symbol
    color, shape = line.color or SERIES[number % len(SERIES)], SHAPES[(number + again) % len(SHAPES)]
    return Curve(line.name, color, shape, tuple(sorted(points, key=lambda point: point.x)))


def bands(curve: Curve, across: Axis, up: Axis) -> Iterator[Mark]:
    """Draw the band of a curve; around a single point it is a line."""
    for run in _runs(curve, _has_band):
        upper = [(across.at(point.x), up.within(point.high)) for point in run]
        lower = [(across.at(point.x), up.within(point.low)) for point in run[::-1]]
        if len(run) == 1:
            yield Stroke((*lower, *upper), curve.color, 1.5)
        else:
            yield Area((*upper, *lower), curve.color, _BAND)


def symbols(curve: Curve, across: Axis, up: Axis, x_label: str) -> Iterator[Mark]:
    """Draw a curve and its points, which tell their numbers."""
    for run in _runs(curve, _is_there):
        places = tuple((across.at(point.x), up.at(point.y)) for point in run)
        if len(places) > 1:
            yield Stroke(places, curve.color, 1.75)
        for (x, y), point in zip(places, run, strict=True):
            words = f"{curve.name}, {x_label} {short(point.x)}: {_told(point)}"
            yield Symbol(x, y, curve.shape, curve.color, words)


def _told(point: Point) -> str:
    if not _has_band(point):
        return short(point.y)
    return f"{short(point.y)} ({short(point.low)} to {short(point.high)})"


def rows_of(curves: Sequence[Curve], levels: Sequence[Level]) -> tuple[tuple[Value, ...], ...]:
    """List all points and levels, for a table."""
    points = [(curve.name, *point) for curve in curves for point in curve.points]
    return (*points, *((level.name, math.nan, level.value, math.nan, math.nan) for level in levels))


def in_words(title: str, curves: Sequence[Curve], levels: Sequence[Level], x_label: str) -> str:
    """Say where each curve begins and ends, and all levels."""
    told = [f"{curve.name}: {_ends(curve.there, x_label)}" for curve in curves]
    told += [f"{level.name}: {short(level.value)}" for level in levels]
    return f"{title}. {'; '.join(told)}."


def _ends(points: Sequence[Point], x_label: str) -> str:
    if not points:
        return "no numbers"
    first, last = points[0], points[-1]
    after = f", {short(last.y)} at {short(last.x)}" if len(points) > 1 else ""
    return f"{short(first.y)} at {x_label} {short(first.x)}{after}"
