"""Draw curves over a size as SVG, both axes by the logarithm; it follows a light or a dark screen."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

HEIGHT, TOP, BOTTOM = 420, 46, 44
#: Where the two charts begin, how wide they are, and how much is left beside them for labels.
CHARTS = ((62, 330), (700, 200))
WIDTH = 1030
COLORS = ("#3b82c4", "#d9544f", "#2f9e5f", "#c07a1a", "#9a5bd0", "#1f9aa8", "#c4508f", "#7d8894")
STYLE = """
text { font: 12px system-ui, sans-serif; fill: #333 }
.title { font-weight: 600 } .small { font-size: 11px; fill: #666 }
.grid { stroke: #ddd } .frame { stroke: #999; fill: none }
.main { stroke: #111; fill: #111 } text.main { stroke: none; font-weight: 600 }
.back { fill: #fff }
@media (prefers-color-scheme: dark) {
text { fill: #ddd } .small { fill: #aaa } .grid { stroke: #3a3f47 } .frame { stroke: #777 }
.main { stroke: #eee; fill: #eee } .back { fill: #16191d }
}
"""


class Curve(NamedTuple):
    """Hold a curve, and what is written at its end."""

    label: str
    sizes: Sequence[float]
    values: Sequence[float]
    main: bool = False


class Scale(NamedTuple):
    """Lead from numbers to places, by the logarithm."""

    low: float
    high: float
    start: float
    stop: float

    def at(self, number: float) -> float:
        """Find the place of a number."""
        share = math.log(number / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.stop - self.start)


def growth_svg(seconds: Sequence[Curve], memory: Sequence[Curve]) -> str:
    """Draw seconds by stage to the left, and memory to the right."""
    charts = [
        "\n".join(_chart(given, title, left, width))
        for given, title, (left, width) in zip(
            (seconds, memory), ("seconds by stage", "peak memory, MB"), CHARTS, strict=True
        )
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" role="img"><title>Time and memory of a fit by the number of trips</title>'
        f'<style>{STYLE}</style>\n<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>\n'
        + "\n".join(charts)
        + "\n</svg>\n"
    )


def _chart(curves: Sequence[Curve], title: str, left: float, width: float) -> Iterator[str]:
    sizes = [size for curve in curves for size in curve.sizes]
    values = [value for curve in curves for value in curve.values]
    across = Scale(min(sizes) / 1.3, max(sizes) * 1.3, left, left + width)
    up = Scale(min(values) / 1.3, max(max(values) * 1.3, min(values) * 4), HEIGHT - BOTTOM, TOP)
    middle = left + width / 2
    yield f'<text class="title" x="{left}" y="{TOP - 16}">{title}</text>'
    yield f'<text class="small" x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle">trips</text>'
    for size in sorted(set(sizes)):
        x = across.at(size)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>'
        yield f'<text class="small" x="{x:.1f}" y="{HEIGHT - 26}" text-anchor="middle">{short(size)}</text>'
    for tick in ticks(up.low, up.high):
        y = up.at(tick)
        yield f'<line class="grid" x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="small" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{short(tick)}</text>'
    yield f'<path class="frame" d="M{left} {TOP}V{HEIGHT - BOTTOM}H{left + width}"/>'
    places = apart([up.at(curve.values[-1]) for curve in curves], 15.0, HEIGHT - BOTTOM)
    colors = iter(COLORS * (len(curves) // len(COLORS) + 1))
    for curve, place in zip(curves, places, strict=True):
        own = 'class="main"' if curve.main else f'style="stroke:{(color := next(colors))};fill:{color}"'
        points = [(across.at(s), up.at(v)) for s, v in zip(curve.sizes, curve.values, strict=True)]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
        yield f'<path {own} fill-opacity="0" stroke-width="{2.5 if curve.main else 1.6}" d="M{path}"/>'
        yield from (f'<circle {own} cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>' for x, y in points)
        x, y = points[-1]
        beside = left + width + 14
        leader = f"M{x + 4:.1f} {y:.1f}L{beside - 3} {place:.1f}"
        yield f'<path {own} fill-opacity="0" stroke-opacity="0.5" d="{leader}"/>'
        words = 'class="main"' if curve.main else f'style="fill:{color}"'
        yield f'<text {words} x="{beside}" y="{place + 4:.1f}">{escape(curve.label)}</text>'


def apart(places: Sequence[float], least: float, most: float) -> list[float]:
    """Move places of labels away from each other, none beyond an end."""
    order = sorted(range(len(places)), key=lambda i: -places[i])  # from below
    moved, limit = list(places), most
    for i in order:
        moved[i] = min(places[i], limit)
        limit = moved[i] - least
    return moved


def ticks(low: float, high: float) -> Iterator[float]:
    """List round numbers: 1, 2 and 5 times powers of ten, or the powers alone where there are many."""
    digits = (1,) if high / low > 1000 else (1, 2, 5)
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        yield from (digit * 10.0**power for digit in digits if low <= digit * 10.0**power <= high)


def short(number: float) -> str:
    """Write a number shortly: 300k, 3M."""
    for unit, word in ((1e6, "M"), (1e4, "k")):
        if number >= unit:
            return f"{number / (unit if word == 'M' else 1e3):g}{word}"
    return f"{number:g}"
