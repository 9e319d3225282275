"""Hold a picture with its numbers, and write it as SVG, PNG and CSV."""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from io import StringIO
from pathlib import Path
from typing import TypeAlias

from privtrace.evaluation.suite import NOT_PRIVATE
from privtrace.report.plots.marks import INK, PAPER, RED, Area, Mark, Text, box, moved, wrapped
from privtrace.report.plots.png import png
from privtrace.report.plots.svg import drawn, style
from privtrace.storage.atomic import replacing

Value: TypeAlias = str | float

#: What files say on their face, where there is little space; their metadata says it in full.
_ON_ITS_FACE = "NOT PRIVATE: made from exact real data. Keep it with the data."
#: Around the picture in a file, and between its lines of text.
_MARGIN, _LINE = 12.0, 17.0


@dataclass(frozen=True, eq=False)
class Plot:
    """Hold one picture: how it is drawn, what it shows in words, and its numbers.

    In a notebook it shows itself.
    """

    name: str  # of its files
    title: str
    words: str  # what a reader sees, in sentences
    width: float
    height: float
    marks: tuple[Mark, ...] = field(repr=False)
    head: tuple[str, ...] = field(repr=False)
    rows: tuple[tuple[Value, ...], ...] = field(repr=False)
    not_private: bool = True  # False only where no real data was read

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[A-Za-z0-9_-]+", self.name):
            raise ValueError(f"a plot is named by letters, digits, - and _, not {self.name!r}")
        if any(len(row) != len(self.head) for row in self.rows):
            raise ValueError(f"{self.name}: a row has as many numbers as the head has names")

    def svg(self) -> str:
        """Draw it for a page, which shows its title and says NOT PRIVATE itself."""
        return f"""<svg class="plot" viewBox="0 0 {self.width:g} {self.height:g}" role="img" \
style="max-width: {1.25 * self.width:.0f}px" aria-label="{escape(self.words)}">
<style>{style(self.marks, "plot")}</style>
{drawn(self.marks)}
</svg>"""

    def svg_file(self) -> str:
        """Draw it as a file of its own, which follows light and dark screens."""
        marks, width, height = self._framed()
        notice = f"<!-- {NOT_PRIVATE} -->\n" if self.not_private else ""
        told = f"{NOT_PRIVATE} {self.words}" if self.not_private else self.words
        return f"""{notice}<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" \
viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}">
<title>{escape(_printable(self.title))}</title>
<desc>{escape(_printable(told))}</desc>
<style>
{style(marks, "plot")}</style>
{_printable(drawn(marks))}
</svg>
"""

    def png(self) -> bytes:
        """Draw it as PNG on light ground; the same picture gives the same bytes."""
        texts = {"Title": self.title, "Description": self.words}
        texts |= {"Warning": NOT_PRIVATE} if self.not_private else {}
        return png(*self._framed(), {key: _printable(text) for key, text in texts.items()})

    def csv(self) -> str:
        """Write its numbers as a table; NaN is empty. The last column of every row says whether it is private.

        So a spreadsheet shows it, a data frame keeps it, and no reader has to skip a line.
        """
        file = StringIO()
        writer = csv.writer(file, lineterminator="\n")
        mark = ("not_private",) if self.not_private else ()
        writer.writerow(self.head + mark)
        writer.writerows((*map(_field, row), *("true" for _ in mark)) for row in self.rows)
        return file.getvalue()

    def _repr_svg_(self) -> str:
        return self.svg_file()

    def _framed(self) -> tuple[tuple[Mark, ...], float, float]:
        """Put the title above the picture and the warning below it, on the ground of the page."""
        title = wrapped(self.title, self.width, 13, bold=True)
        notice = wrapped(_ON_ITS_FACE, self.width, 10) if self.not_private else []
        top = _MARGIN + _LINE * len(title) + 4
        below = top + self.height + 4
        width, height = self.width + 2 * _MARGIN, below + 14 * len(notice) + _MARGIN
        marks = (
            Area(box(0, 0, width, height), PAPER),
            *(Text(_MARGIN, _MARGIN + _LINE * i + 12, t, INK, 13, bold=True) for i, t in enumerate(title)),
            *moved(self.marks, _MARGIN, top),
            *(Text(_MARGIN, below + 14 * i + 10, line, RED, 10) for i, line in enumerate(notice)),
        )
        return marks, width, height


def _field(value: Value) -> str:
    """Write a number in full; NaN is empty. Text cannot be taken for a formula by a spreadsheet."""
    if isinstance(value, str):
        value = _printable(value)
        return f"'{value}" if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
    return "" if math.isnan(value) else f"{value:.15g}"


def _printable(text: str) -> str:
    """Leave out what XML cannot hold: control characters, and bytes of a command line that are no text."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)


def write_plots(plots: Sequence[Plot], folder: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write NAME.svg, NAME.png and NAME.csv of each plot into a folder, which appears whole or not at all."""
    names = [plot.name for plot in plots]
    if len({*map(str.lower, names)}) < len(names):
        raise ValueError(f"plots in a folder have different names: {', '.join(names)}")
    with replacing(folder, force, folder_of=(".svg", ".png", ".csv")) as temporary:
        for plot in plots:
            for suffix, content in (("svg", plot.svg_file()), ("csv", plot.csv())):
                (temporary / f"{plot.name}.{suffix}").write_bytes(content.encode())
            (temporary / f"{plot.name}.png").write_bytes(plot.png())
    return Path(folder)


def beside(name: str, title: str, plots: Sequence[Plot], *, gap: float = 24.0) -> Plot:
    """Put plots beside each other in one picture, each under its own title; their numbers stay with them."""
    marks: list[Mark] = []
    left = 0.0
    for plot in plots:
        marks += [Text(left, 13, plot.title, INK, 12, bold=True), *moved(plot.marks, left, 20)]
        left += plot.width + gap
    return Plot(
        name,
        title,
        " ".join(plot.words for plot in plots),
        left - gap,
        20 + max(plot.height for plot in plots),
        tuple(marks),
        (),
        (),
        any(plot.not_private for plot in plots),
    )
