"""Color numbers: a scale from none to most and one from less to more, each for light and for dark pages.

Cells carry a class for their shade, and the style sheet says what color that is, so that a page changes from
light to dark, or to print, without being drawn again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from privtrace.trajectories import Floats, Integers

#: Shades of each scale. The second has a middle, which means no difference.
SHADES = 24
STEPS = 10

# Lightness falls all the way on light pages and rises on dark ones, which any eye sees and any printer prints.
_RISING = {
    "light": [(238, 241, 244), (200, 220, 233), (124, 178, 209), (56, 127, 174), (25, 74, 125), (9, 26, 64)],
    "dark": [(25, 30, 41), (28, 54, 90), (33, 97, 141), (72, 150, 172), (161, 206, 184), (250, 248, 215)],
}
# Orange and purple, which no kind of color blindness takes for each other.
_APART = {
    "light": [(159, 70, 0), (232, 150, 66), (243, 243, 241), (160, 142, 205), (74, 32, 122)],
    "dark": [(255, 176, 92), (150, 84, 24), (27, 30, 38), (92, 72, 150), (196, 178, 255)],
}


@dataclass(frozen=True)
class Rising:
    """Scale numbers from none to most, by their logarithm from a hundredth of the most on."""

    most: float

    @classmethod
    def over(cls, *numbers: Floats) -> Rising:
        """Scale up to the largest of some numbers."""
        return cls(max(float(some.max(initial=0)) for some in numbers) or 1.0)

    def places(self, values: Floats) -> Floats:
        """Place numbers on the scale, from 0 to 1; negative ones are as none."""
        places: Floats = np.log1p(np.maximum(values, 0) / self.most * 100) / np.log1p(100)
        return places

    def shades(self, values: Floats) -> Integers:
        """Choose a shade for each number."""
        return np.minimum(self.places(values) * SHADES, SHADES - 1).astype(np.int64)

    def ticks(self, write: Callable[[float], str]) -> list[tuple[float, str]]:
        """Place a few numbers on the scale, with their labels."""
        shown = np.array([0.0, self.most / 30, self.most / 8, self.most])
        return [
            (at, write(number)) for at, number in zip(self.places(shown).tolist(), shown.tolist(), strict=True)
        ]


def apart(values: Floats, most: float) -> Integers:
    """Choose shades for differences from -most to most: 0 to 2 * STEPS, by their square root."""
    shares: Floats = np.sign(values) * np.sqrt(np.abs(values) / most)
    return np.round(np.clip(shares, -1, 1) * STEPS).astype(np.int64) + STEPS


@dataclass(frozen=True)
class Around:
    """Scale numbers around a middle, by their ratio to it: from less to more by the same factor."""

    middle: float
    octaves: float  # of the factor

    @classmethod
    def over(cls, middle: float, *numbers: Floats) -> Around:
        """Scale so far that nearly all of some numbers have a shade of their own; NaN is none."""
        there = [some[some > 0] for some in numbers]
        ratios = np.abs(np.log2(np.concatenate(there) / middle))
        return cls(middle, max(float(np.quantile(ratios, _NEARLY_ALL)), _LEAST) if len(ratios) else _LEAST)

    def shades(self, values: Floats) -> Integers:
        """Choose a shade for each number: 0 to 2 * STEPS, and -1 for NaN."""
        there = ~np.isnan(values)
        ratios = np.log2(np.where(there, np.maximum(values, 1e-300), self.middle) / self.middle)
        shades = np.round(np.clip(ratios / self.octaves, -1, 1) * STEPS).astype(np.int64) + STEPS
        return np.where(there, shades, -1)

    def ticks(self, write: Callable[[float], str]) -> list[tuple[float, str]]:
        """Label the ends, the middle, and half way to them."""
        return [
            (at, write(self.middle * 2.0 ** (self.octaves * (2 * at - 1)))) for at in (0, 0.25, 0.5, 0.75, 1)
        ]


#: How much of some numbers a scale around a middle reaches, and how many octaves it does at least.
_NEARLY_ALL, _LEAST = 0.97, 0.2


def style() -> str:
    """Write the colors of all shades as a style sheet."""
    light, dark = ("\n".join(_rules(page)) for page in ("light", "dark"))
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}"


def _rules(page: str) -> Iterable[str]:
    for letter in _SCALES:
        for number, pair in enumerate(pairs(letter)):
            yield f".{letter}{number} {{ fill: {pair[page == 'dark']}; }}"


#: By the letter of the classes: the anchors of a scale, and how many shades it has.
_SCALES = {"q": (_RISING, SHADES), "d": (_APART, 2 * STEPS + 1)}


def pairs(letter: str) -> list[tuple[str, str]]:
    """Give the colors of all shades of a scale, on light and on dark pages."""
    anchors, count = _SCALES[letter]
    return [*zip(colors(anchors["light"], count), colors(anchors["dark"], count), strict=True)]


def colors(anchors: list[tuple[int, int, int]], count: int) -> list[str]:
    """Find colors evenly spaced between anchors: #rrggbb."""
    at = np.linspace(0, len(anchors) - 1, count)
    channels = [np.interp(at, np.arange(len(anchors)), channel) for channel in zip(*anchors, strict=True)]
    return ["#{:02x}{:02x}{:02x}".format(*map(round, color)) for color in zip(*channels, strict=True)]
