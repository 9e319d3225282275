"""Draw marks as SVG that follows light and dark screens: colors are classes, and a style sheet comes along."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from html import escape

import numpy as np

from privtrace.report.plots.marks import (
    HALO,
    PAPER,
    RADIUS,
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
from privtrace.trajectories import Integers

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def drawn(marks: Iterable[Mark]) -> str:
    """Draw marks as elements of SVG, one after the other."""
    return "\n".join(_element(mark) for mark in marks)


def style(marks: Iterable[Mark], css: str) -> str:
    """Write the style sheet of marks in an SVG of a class, with just the colors that they have."""
    marks = [*marks]
    colors = sorted({color for mark in marks for color in _colors(mark)}, key=lambda color: color.light)
    has_raster = any(isinstance(mark, Raster) for mark in marks)
    light, dark = (
        "".join([*(_SWITCH[ground].format(css=css) if has_raster else ""), *_rules(colors, css, ground)])
        for ground in ("light", "dark")
    )
    return (
        f".{css} text {{ font-family: {FONT}; font-variant-numeric: tabular-nums; }}\n{light}"
        f"@media screen and (prefers-color-scheme: dark) {{\n{dark}}}\n"
    )


#: A raster has an image for each ground.
_SWITCH = {
    "light": """.{css} image {{ image-rendering: optimizeSpeed; image-rendering: pixelated; }}
.{css} .on-dark {{ display: none; }}
""",
    "dark": ".{css} .on-light {{ display: none; }} .{css} .on-dark {{ display: inline; }}\n",
}


def _rules(colors: Iterable[Color], css: str, ground: str) -> Iterator[str]:
    for color in colors:
        shown = color.light if ground == "light" else color.dark
        yield f".{css} .{_fill(color)} {{ fill: {shown}; }} .{css} .{_stroke(color)} {{ stroke: {shown}; }}\n"


def _colors(mark: Mark) -> Sequence[Color]:
    if isinstance(mark, Raster):
        return ()
    return (mark.color, PAPER) if isinstance(mark, Symbol) else (mark.color,)


def _fill(color: Color) -> str:
    return f"f{color.light[1:]}-{color.dark[1:]}"


def _stroke(color: Color) -> str:
    return f"s{color.light[1:]}-{color.dark[1:]}"


def _element(mark: Mark) -> str:
    if isinstance(mark, Stroke):
        return _line(mark)
    if isinstance(mark, Area):
        opacity = "" if mark.opacity == 1 else f' fill-opacity="{mark.opacity:g}"'
        return _told(f'<path class="{_fill(mark.color)}"{opacity} d="M{_path(mark.points)}Z"', mark.words)
    if isinstance(mark, Symbol):
        halo = f'class="{_fill(mark.color)} {_stroke(PAPER)}" stroke-width="{2 * HALO}" paint-order="stroke"'
        if mark.shape == "circle":  # far shorter than its polygon
            circle = f'<circle {halo} cx="{_short(mark.x)}" cy="{_short(mark.y)}" r="{RADIUS:g}"'
            return _told(circle, mark.words, "circle")
        return _told(f'<path {halo} d="M{_path(outline(mark))}Z"', mark.words)
    if isinstance(mark, Text):
        return _text(mark)
    return "".join(_image(mark, ground) for ground in ("light", "dark"))


def _line(mark: Stroke) -> str:
    dash = "" if mark.dash is None else ' stroke-dasharray="{:g} {:g}"'.format(*mark.dash)
    return (
        f'<path class="{_stroke(mark.color)}" fill="none" stroke-width="{mark.width:g}" '
        f'stroke-linejoin="round"{dash} d="M{_path(mark.points)}"/>'
    )


def _path(points: Iterable[Point]) -> str:
    return "L".join(f"{_short(x)} {_short(y)}" for x, y in points)


def _short(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _told(element: str, words: str, name: str = "path") -> str:
    return f"{element}><title>{escape(words)}</title></{name}>" if words else f"{element}/>"


def _text(mark: Text) -> str:
    anchor = "" if mark.anchor == "start" else f' text-anchor="{mark.anchor}"'
    bold = ' font-weight="600"' if mark.bold else ""
    x, y = _short(mark.x), _short(mark.y)
    turned = f' transform="rotate(-90 {x} {y})"' if mark.upright else ""
    return (
        f'<text class="{_fill(mark.color)}" x="{x}" y="{y}" font-size="{mark.size:g}"{anchor}{bold}{turned}>'
        f"{escape(mark.text)}</text>"
    )


def _image(mark: Raster, ground: str) -> str:
    colors = [color.light if ground == "light" else color.dark for color in mark.colors]
    data = b64encode(indexed_png(mark.shades, colors)).decode()
    size = (
        f'x="{_short(mark.x)}" y="{_short(mark.y)}" width="{_short(mark.width)}" height="{_short(mark.height)}"'
    )
    return f'<image class="on-{ground}" {size} preserveAspectRatio="none" href="data:image/png;base64,{data}"/>'


def indexed_png(shades: Integers, colors: Sequence[str]) -> bytes:
    """Encode a table of shades as PNG with a palette: a byte per cell, where SVG would need a rectangle."""
    height, width = shades.shape
    lines = np.zeros((height, 1 + width), np.uint8)  # each line begins with its filter: 0, none
    lines[:, 1:] = shades
    header = struct.pack(">2I5B", width, height, 8, 3, 0, 0, 0)  # color type 3: of a palette
    palette = b"".join(bytes.fromhex(color[1:]) for color in colors)
    chunks = (
        (b"IHDR", header),
        (b"PLTE", palette),
        (b"IDAT", zlib.compress(lines.tobytes(), 9)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
