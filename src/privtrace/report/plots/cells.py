"""Draw a matrix: a number in each cell, and its shade behind it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from privtrace.report.colors import STEPS, pairs
from privtrace.report.plots.axes import short
from privtrace.report.plots.marks import (
    INK,
    Area,
    Color,
    Mark,
    Text,
    box,
    shortened,
    text_width,
    wrapped,
)
from privtrace.report.plots.plot import Plot, Value
from privtrace.trajectories import Floats

# Shades so near to the ground that ink is legible on all of them, on light and on dark pages.
_RISING = [Color(*pair) for pair in pairs("q")[:11]]
_APART = [Color(*pair) for pair in pairs("d")[STEPS - 5 : STEPS + 6]]

_CELL_HEIGHT, _LEAST_WIDTH, _MOST_WIDTH = 28.0, 26.0, 84.0
_GAP = 1.0
#: Labels are cut where they are longer than this; those of rows where cells leave less, if no less than this.
_MOST_LABEL, _LEAST_LABEL = 170.0, 100.0


def cells(
    name: str,
    title: str,
    row_labels: Sequence[str],
    column_labels: Sequence[str],
    values: npt.ArrayLike,
    *,
    row_name: str = "",
    column_name: str = "",
    texts: Sequence[Sequence[str]] | None = None,
    scale: Literal["rising", "apart"] = "rising",
    ends: tuple[float, float] | None = None,
    note: str = "",
    width: float = 360.0,
    words: str | None = None,
    not_private: bool = True,
) -> Plot:
    """Draw values, (n_rows, n_columns), as shaded cells with their numbers; NaN is blank.

    `texts` are written instead of the numbers: "12", "0.02*". The scale is rising, from the least to the most
    value, or apart: from orange below the middle of its ends to purple above it. `row_name` and `column_name`
    say what the rows and the columns are, and `note` stands below. It becomes wider where the cells need it.
    """
    table = np.asarray(values, dtype=np.float64).reshape(len(row_labels), len(column_labels))
    written = _texts(table, texts)
    needed = max((text_width(text) for row in written for text in row), default=0.0) + 6
    needed = max(needed, _LEAST_WIDTH)
    most = min(max(width - needed * len(column_labels) - 10, _LEAST_LABEL), _MOST_LABEL)
    left = min(max(map(text_width, [*row_labels, row_name]), default=0.0), most) + 10
    cell = max(needed, min((width - left) / max(len(column_labels), 1), _MOST_WIDTH))
    width = max(width, left + cell * len(column_labels))
    upright = any(text_width(label) > cell for label in column_labels)
    high = min(max((text_width(label) for label in column_labels), default=0.0), _MOST_LABEL)
    top = (18.0 if column_name or row_name else 0.0) + (high + 8 if upright else 18.0)
    marks = [
        *_heads(column_labels, left, top, cell, upright=upright),
        *_names(row_name, column_name, left, top),
        *_rows(row_labels, written, _shades(table, scale, ends), left, top, cell),
    ]
    height = top + _CELL_HEIGHT * len(row_labels)
    for line in wrapped(note, width):
        height += 15
        marks.append(Text(0, height, line))
    head = (row_name or "row", *column_labels)
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (label, *line) for label, line in zip(row_labels, table.tolist(), strict=True)
    )
    told = words or _in_words(title, row_labels, column_labels, written)
    return Plot(name, title, told, width, height + 6, tuple(marks), head, rows, not_private)


def _texts(table: Floats, texts: Sequence[Sequence[str]] | None) -> list[list[str]]:
    if texts is None:
        return [["" if math.isnan(value) else short(value) for value in row] for row in table.tolist()]
    blank = np.isnan(table)
    return [["" if blank[i, j] else text for j, text in enumerate(row)] for i, row in enumerate(texts)]


def _shades(table: Floats, scale: str, ends: tuple[float, float] | None) -> list[list[Color | None]]:
    colors = _RISING if scale == "rising" else _APART
    there = table[np.isfinite(table)]
    if ends is None:
        most = float(np.abs(there).max(initial=0.0))
        rising = (float(there.min()), float(there.max())) if len(there) else (0.0, 1.0)
        ends = rising if scale == "rising" else (-most, most)
    low, high = ends
    share = (table - low) / ((high - low) or 1.0)
    numbers = np.where(np.isnan(table), -1, np.round(np.clip(share, 0, 1) * (len(colors) - 1))).astype(int)
    return [[None if number < 0 else colors[number] for number in row] for row in numbers.tolist()]


def _heads(labels: Sequence[str], left: float, top: float, cell: float, *, upright: bool) -> Iterator[Mark]:
    for number, label in enumerate(labels):
        x = left + cell * (number + 0.5)
        if upright:
            yield Text(x + 4, top - 6, shortened(label, _MOST_LABEL), upright=True)
        else:
            yield Text(x, top - 6, label, anchor="middle")


def _names(row_name: str, column_name: str, left: float, top: float) -> Iterator[Mark]:
    if column_name:
        yield Text(left, 11, column_name)
    if row_name:
        yield Text(0, top - 6, row_name)


def _rows(
    labels: Sequence[str],
    written: Sequence[Sequence[str]],
    shades: Sequence[Sequence[Color | None]],
    left: float,
    top: float,
    cell: float,
) -> Iterator[Mark]:
    for row, label in enumerate(labels):
        y = top + _CELL_HEIGHT * row
        middle = y + _CELL_HEIGHT / 2 + 4
        yield Text(0, middle, shortened(label, left - 8), INK)
        for column, (text, shade) in enumerate(zip(written[row], shades[row], strict=True)):
            x = left + cell * column
            if shade is not None:
                yield Area(box(x, y, cell - _GAP, _CELL_HEIGHT - _GAP), shade)
            if text:
                yield Text(x + (cell - _GAP) / 2, middle, text, INK, 12, "middle")


def _in_words(
    title: str, row_labels: Sequence[str], column_labels: Sequence[str], written: Sequence[Sequence[str]]
) -> str:
    rows = (
        f"{label}: "
        + ", ".join(f"{column} {text}" for column, text in zip(column_labels, texts, strict=True) if text)
        for label, texts in zip(row_labels, written, strict=True)
    )
    return f"{title}. {'; '.join(rows)}."
