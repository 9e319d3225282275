"""Hold what a picture consists of: lines, areas, symbols, text and rasters, with their colors.

Places are in pixels of the screen, x to the right and y down. Text stands on its baseline.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from privtrace.trajectories import Integers

Point: TypeAlias = tuple[float, float]


@dataclass(frozen=True)
class Color:
    """Hold a color on light ground, and what it is on dark ground: #rrggbb each."""

    light: str
    dark: str

    def __post_init__(self) -> None:
        for color in (self.light, self.dark):
            if not re.fullmatch("#[0-9a-f]{6}", color):  # it is written into a style sheet
                raise ValueError(f"a color is #rrggbb with small letters, not {color!r}")


#: Those of the pages: assets/page.css.
INK = Color("#1c2230", "#e6e8ed")
SOFT = Color("#565d6d", "#a0a7b4")
RULE = Color("#dcdfe4", "#2d323e")
PAPER = Color("#fcfcfa", "#11141b")
RED = Color("#b3261e", "#ff8a80")

#: For up to eight series; text in each of them is legible on its ground.
SERIES = (
    Color("#0b62b5", "#69b4ff"),
    Color("#b54708", "#ff9b4a"),
    Color("#00745c", "#4fd0a5"),
    Color("#8d3bab", "#d79bf0"),
    Color("#7a6000", "#d9bd4a"),
    Color("#c01f6b", "#ff86b8"),
    Color("#007089", "#5fd3e8"),
    Color("#5b6472", "#a8b0bd"),
)


class Stroke(NamedTuple):
    """Draw a line from point to point."""

    points: tuple[Point, ...]
    color: Color
    width: float = 1.0
    dash: tuple[float, float] | None = None  # how long it is drawn, and how long not


class Area(NamedTuple):
    """Fill what a line encloses."""

    points: tuple[Point, ...]
    color: Color
    opacity: float = 1.0
    words: str = ""  # what is told where one points at it


class Symbol(NamedTuple):
    """Set a symbol on a place."""

    x: float
    y: float
    shape: str  # of SHAPES
    color: Color
    words: str = ""  # what is told where one points at it


class Text(NamedTuple):
    """Write a line of text."""

    x: float
    y: float
    text: str
    color: Color = SOFT
    size: float = 12
    anchor: Literal["start", "middle", "end"] = "start"
    bold: bool = False
    upright: bool = False  # from below to above


class Raster(NamedTuple):
    """Fill a rectangle with equal cells, from the northwest, each in its shade."""

    x: float
    y: float
    width: float
    height: float
    shades: Integers  # (rows, columns): numbers of colors
    colors: tuple[Color, ...]


Mark: TypeAlias = Stroke | Area | Symbol | Text | Raster


def box(x: float, y: float, width: float, height: float) -> tuple[Point, ...]:
    """Give the corners of a rectangle."""
    return (x, y), (x + width, y), (x + width, y + height), (x, y + height)


def moved(marks: Iterable[Mark], across: float, down: float) -> tuple[Mark, ...]:
    """Move marks to another place."""
    return tuple(_moved(mark, across, down) for mark in marks)


def _moved(mark: Mark, across: float, down: float) -> Mark:
    if isinstance(mark, Stroke | Area):
        return mark._replace(points=tuple((x + across, y + down) for x, y in mark.points))
    return mark._replace(x=mark.x + across, y=mark.y + down)


#: How symbols are told apart without color. All look equally large.
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "flipped", "plus", "star")
RADIUS = 4.0
#: Of a symbol, in the color of the ground, against what is under it.
HALO = 1.2


def outline(symbol: Symbol, halo: float = 0.0) -> tuple[Point, ...]:
    """Give the corners of a symbol, with a halo around it; a circle is a polygon too."""
    return tuple((symbol.x + x, symbol.y + y) for x, y in _corners(symbol.shape, halo))


def _corners(shape: str, halo: float) -> Iterable[Point]:
    r = RADIUS + halo
    if shape in ("cross", "plus"):
        return _plus(r + 0.6, 1.3 + halo, turned=shape == "cross")
    if shape == "star":
        radii = (r * 1.35, r * 0.6 + halo / 2)
        return [_around(radii[turn % 2], turn / 10) for turn in range(10)]
    if shape == "square":
        return [_around(r * 1.22, (turn + 0.5) / 4) for turn in range(4)]
    if shape == "diamond":
        return [_around(r * 1.3, turn / 4) for turn in range(4)]
    if shape in ("triangle", "flipped"):
        r += halo  # its corners are sharp
        return [_around(r * 1.3, turn / 3 + (0.5 if shape == "flipped" else 0)) for turn in range(3)]
    return [_around(r, turn / 32) for turn in range(32)]


def _around(radius: float, turn: float) -> Point:
    """Go around a circle from its top; a whole turn is 1."""
    return radius * math.sin(2 * math.pi * turn), -radius * math.cos(2 * math.pi * turn)


def _plus(r: float, half: float, *, turned: bool) -> list[Point]:
    quarter = [(half, half), (r, half), (r, -half)]  # to the right, then each next quarter a turn further
    corners = []
    for _ in range(4):
        corners += quarter
        quarter = [(y, -x) for x, y in quarter]
    c = math.sqrt(0.5) if turned else 1.0
    return [(c * x - c * y, c * x + c * y) for x, y in corners] if turned else corners


# Advances of a sans serif in thousandths of its size, for those letters that are far from the usual ones.
_WIDTHS = {
    **dict.fromkeys("ijl.,:;|'!", 290),
    **dict.fromkeys("ft()[]/ -r", 390),
    **dict.fromkeys("mwMW@%", 950),
    **dict.fromkeys("ABCDEFGHKNOPQRSTUVXYZ", 720),
}


def text_width(text: str, size: float = 12, *, bold: bool = False) -> float:
    """Estimate how wide text is in whatever font a reader has, rather too wide than too narrow."""
    wide = sum(_WIDTHS.get(letter, 620 if ord(letter) < 0x2E80 else 1000) for letter in text)
    return wide / 1000 * size * (1.06 if bold else 1.0)


def wrapped(text: str, width: float, size: float = 12, *, bold: bool = False) -> list[str]:
    """Break text between words into lines that are no wider than this, unless a word is."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(longer, size, bold=bold) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines


def shortened(text: str, width: float, size: float = 12, *, bold: bool = False) -> str:
    """Leave out the end of text that is wider than this."""
    if text_width(text, size, bold=bold) <= width:
        return text
    while text and text_width(text + "…", size, bold=bold) > width:
        text = text[:-1]
    return text.rstrip() + "…"
