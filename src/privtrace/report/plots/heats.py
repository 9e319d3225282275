"""Draw maps side by side on one color scale: shares in the cells of a raster, north up."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from privtrace.report.colors import SHADES, Rising, pairs
from privtrace.report.document import percent
from privtrace.report.plots.marks import (
    INK,
    RED,
    RULE,
    Color,
    Mark,
    Point,
    Raster,
    Stroke,
    Text,
    box,
    shortened,
    text_width,
)
from privtrace.report.plots.plot import Plot, Value
from privtrace.trajectories import Floats

COLORS = tuple(Color(*pair) for pair in pairs("q"))
_GAP, _HEADING = 16.0, 20.0
_STRIP, _MOST_STRIP = 10.0, 360.0


class HeatMap(NamedTuple):
    """Hold a map: its name, and a table of shares, north up."""

    name: str
    shares: Floats  # (rows, columns)
    note: str = ""  # stands beside the name, in red: NOT PRIVATE


def heats(
    name: str,
    title: str,
    maps: Sequence[HeatMap],
    *,
    aspect: float = 1.0,
    per_row: int = 3,
    legend: str = "Share of trips through a cell",
    write: Callable[[float], str] = percent,
    width: float = 720.0,
    words: str | None = None,
    not_private: bool = True,
) -> Plot:
    """Draw maps in rows on one logarithmic color scale, with its legend below.

    The aspect is how many times as high as wide a map is; its cells need not be squares. All maps have tables
    of the same shape.
    """
    per_row = max(min(per_row, len(maps)), 1)
    size = (width - _GAP * (per_row - 1)) / per_row
    each = _HEADING + size * aspect + _GAP
    scale = Rising.over(*(one.shares for one in maps))
    marks: list[Mark] = []
    for number, one in enumerate(maps):
        left, top = number % per_row * (size + _GAP), number // per_row * each
        marks += _map(one, scale, left, top, (size, size * aspect))
    top = -(-len(maps) // per_row) * each
    marks += _legend(legend, scale, write, top, min(width, _MOST_STRIP))
    told = words or _in_words(title, maps)
    head = ("row from north", "column from west", *(one.name for one in maps))
    return Plot(name, title, told, width, top + 48, tuple(marks), head, _rows(maps), not_private)


def raster(shares: Floats, scale: Rising, place: Point, size: Point) -> Raster:
    """Draw a table of shares as a raster."""
    return Raster(*place, *size, scale.shades(shares), COLORS)


def _map(one: HeatMap, scale: Rising, left: float, top: float, size: Point) -> Iterator[Mark]:
    after = text_width(one.note, 11, bold=True) + 8 if one.note else 0.0
    title = shortened(one.name, size[0] - after, 13, bold=True)
    yield Text(left, top + 12, title, INK, 13, bold=True)
    if one.note:
        yield Text(left + size[0], top + 12, one.note, RED, 11, "end", bold=True)
    corner = left, top + _HEADING
    yield raster(one.shares, scale, corner, size)
    yield Stroke((*box(*corner, *size), corner), RULE)


def _legend(
    legend: str, scale: Rising, write: Callable[[float], str], top: float, width: float
) -> Iterator[Mark]:
    yield Text(0, top + 11, legend)
    yield Raster(0, top + 18, width, _STRIP, np.arange(SHADES)[None, :], COLORS)
    ticks = scale.ticks(write)
    for number, (at, text) in enumerate(ticks):
        anchor = "start" if number == 0 else ("end" if number == len(ticks) - 1 else "middle")
        yield Text(at * width, top + 18 + _STRIP + 13, text, anchor=anchor)  # type: ignore[arg-type]


def _rows(maps: Sequence[HeatMap]) -> tuple[tuple[Value, ...], ...]:
    if not maps:
        return ()
    height, width = maps[0].shares.shape
    down, across = (axis.ravel() + 1 for axis in np.indices((height, width)))
    columns = [down.tolist(), across.tolist(), *(one.shares.ravel().tolist() for one in maps)]
    return tuple(zip(*columns, strict=True))


def _in_words(title: str, maps: Sequence[HeatMap]) -> str:
    told = (
        f"{one.name}: trips in {percent(float(np.mean(one.shares > 0)))} of the cells, at most "
        f"{percent(float(one.shares.max(initial=0)))} of them in one"
        for one in maps
    )
    return f"{title}. {'; '.join(told)}."
