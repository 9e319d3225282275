"""Draw marks as PNG with Pillow, on light ground: twice as fine as it will be, then reduced; text by its font.

Pillow brings a font of its own along, so that pictures are the same on every machine. It has few letters beyond
ASCII: others lose their accents, and what it does not have at all becomes a question mark. SVG shows all text.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from io import BytesIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from privtrace.report.plots.marks import (
    HALO,
    PAPER,
    Area,
    Color,
    Mark,
    Point,
    Raster,
    Stroke,
    Symbol,
    Text,
    outline,
)

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

#: Pixels of the picture in a pixel of the screen: 288 to the inch. And of what is drawn, before it is reduced.
SCALE = 3
_FINER = 2
_DOTS_PER_INCH = 96 * SCALE

#: What the font lacks, and what is written instead.
_INSTEAD = str.maketrans(
    {"ε": "epsilon", "δ": "delta", "ψ": "psi", "×": "x", "−": "-", "–": "-", "—": "-", "→": "->", "≤": "<="}
)
_BEYOND_ASCII = "©«°±´·»‘’“”…‹›™"


def png(marks: Iterable[Mark], width: float, height: float, texts: Mapping[str, str]) -> bytes:
    """Draw marks on a ground of this size, and write texts into the file."""
    from PIL import Image, ImageDraw, PngImagePlugin  # when a picture is drawn: it takes a while to load

    size = round(width * SCALE), round(height * SCALE)
    fine = Image.new("RGB", (size[0] * _FINER, size[1] * _FINER), PAPER.light)
    drawing = ImageDraw.Draw(fine, "RGBA")
    marks = [*marks]
    for mark in marks:
        _draw(fine, drawing, mark)
    image = fine.reduce(_FINER)
    for mark in marks:  # on top, by the font's own smoothing
        if isinstance(mark, Text):
            _write(image, mark)
    told = PngImagePlugin.PngInfo()
    for key, text in texts.items():
        told.add_text(key, text)
    file = BytesIO()
    image.save(file, "PNG", pnginfo=told, dpi=(_DOTS_PER_INCH, _DOTS_PER_INCH))
    return file.getvalue()


def _draw(image: Image, drawing: ImageDraw, mark: Mark) -> None:
    if isinstance(mark, Stroke):
        for piece in _dashes(mark):
            drawing.line(_fine(piece), mark.color.light, round(mark.width * SCALE * _FINER), "curve")
    elif isinstance(mark, Area):
        drawing.polygon(_fine(mark.points), _with(mark.color, mark.opacity))
    elif isinstance(mark, Symbol):
        drawing.polygon(_fine(outline(mark, HALO)), PAPER.light)
        drawing.polygon(_fine(outline(mark)), mark.color.light)
    elif isinstance(mark, Raster):
        _paint(image, mark)


def _fine(points: Iterable[Point]) -> list[Point]:
    return [(x * SCALE * _FINER, y * SCALE * _FINER) for x, y in points]


def _with(color: Color, opacity: float) -> tuple[int, ...]:
    return (*bytes.fromhex(color.light[1:]), round(255 * opacity))


def _dashes(mark: Stroke) -> Iterator[list[Point]]:
    """Cut a line into what is drawn of it; dashes begin again at each corner."""
    if mark.dash is None:
        yield [*mark.points]
        return
    on, off = mark.dash
    for (ax, ay), (bx, by) in pairwise(mark.points):
        length = float(np.hypot(bx - ax, by - ay))
        for start in np.arange(0.0, length, on + off).tolist():
            shares = start / length, min(start + on, length) / length
            yield [(ax + (bx - ax) * share, ay + (by - ay) * share) for share in shares]


def _paint(image: Image, mark: Raster) -> None:
    from PIL import Image as images

    palette = np.array([[*bytes.fromhex(color.light[1:])] for color in mark.colors], np.uint8)
    left, top, right, bottom = (
        round(at * SCALE * _FINER) for at in (mark.x, mark.y, mark.x + mark.width, mark.y + mark.height)
    )
    cells = images.fromarray(palette[mark.shades])
    image.paste(cells.resize((right - left, bottom - top), images.Resampling.NEAREST), (left, top))


def _write(image: Image, mark: Text) -> None:
    from PIL import Image as images
    from PIL import ImageDraw

    text, font = plain(mark.text), _font(mark.size)
    given: dict[str, Any] = {"font": font, "anchor": {"start": "ls", "middle": "ms", "end": "rs"}[mark.anchor]}
    place = mark.x * SCALE, mark.y * SCALE
    if not mark.upright:
        for aside in range(2 if mark.bold else 1):  # the font has one weight
            ImageDraw.Draw(image).text((place[0] + aside, place[1]), text, mark.color.light, **given)
        return
    # Written on a sheet of its own around its middle, which is turned.
    reach = 2 * int(font.getlength(text) + font.size)
    sheet = images.new("L", (reach, reach))
    ImageDraw.Draw(sheet).text((reach / 2, reach / 2), text, 255, **given)
    corner = round(place[0] - reach / 2), round(place[1] - reach / 2)
    image.paste(mark.color.light, corner, sheet.rotate(90))


@cache
def _font(size: float) -> FreeTypeFont:
    from PIL import ImageFont

    font = ImageFont.load_default(size * SCALE)
    assert isinstance(font, ImageFont.FreeTypeFont)
    return font


def plain(text: str) -> str:
    """Write text in letters that the font has."""
    parts = unicodedata.normalize("NFKD", text.translate(_INSTEAD))
    kept = (letter for letter in parts if not unicodedata.combining(letter))
    return "".join(letter if " " <= letter <= "~" or letter in _BEYOND_ASCII else "?" for letter in kept)
