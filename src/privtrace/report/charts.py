"""Draw distributions and small scales as SVG, which prints sharply and follows the page's colors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from privtrace.report.document import percent, plain
from privtrace.space.region import Region
from privtrace.trajectories import Floats

_WIDTH, _HEIGHT = 360, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 40, 8, 10, 34


class Axis(NamedTuple):
    """Say what stands along the horizontal axis."""

    label: str  # "km"
    per_unit: float  # of the values in one unit of the label: 1000 meters in a kilometer


class Series(NamedTuple):
    """Hold what is drawn over the bins of a chart: steps, or a band between two."""

    css: str  # the class of the style sheet: "real" and "alone" are areas, "synthetic" a line, "band" a band
    shares: Floats  # (n,)
    low: Floats | None = None  # (n,): where the band begins


def measured(noisy: Floats, error: float, total: float) -> Series:
    """Draw noisy numbers as a band, as wide as their noise to both sides; as shares of a total, all at most."""
    low, high = (np.clip((noisy + side * error) / total, 0.0, 1.0) for side in (-1, 1))
    return Series("band", high, low)


def axis_of(region: Region) -> Axis:
    """Measure distances in kilometers, or in planar units."""
    return Axis("km", 1000) if region.in_meters else Axis("units", 1)


def bars(edges: Floats, shares: Floats, axis: Axis, alternative: str) -> str:
    """Draw one distribution as bars."""
    return _chart(edges, [Series("alone", shares)], axis, alternative)


def overlaid(edges: Floats, real: Floats, synthetic: Floats, axis: Axis, alternative: str) -> str:
    """Draw the real distribution as an area and the synthetic one as a line over it."""
    return _chart(edges, [Series("real", real), Series("synthetic", synthetic)], axis, alternative)


def spread(
    bounds: Floats, series: Sequence[Series], ticks: Sequence[tuple[float, str]], alternative: str
) -> str:
    """Draw series along bins that each have the same width, by the logarithm; a first bin from 0 is for zero.

    Ticks are values and their labels; those that would come too near to the one before are left out.
    """
    n_zero = int(bounds[0] == 0)
    width = (_WIDTH - _LEFT - _RIGHT) / (len(bounds) - 1)
    across = np.linspace(_LEFT, _WIDTH - _RIGHT, len(bounds))
    labels = [(_LEFT + width / 2, "0")] if n_zero else []
    sizes = np.log(bounds[n_zero:])
    for value, text in ticks:
        at = float(np.interp(math.log(value), sizes, across[n_zero:], left=-math.inf, right=math.inf))
        nearest = labels[-1][0] + 3.5 * (len(text) + len(labels[-1][1])) + 8 if labels else -math.inf
        if max(nearest, _LEFT + width * n_zero) <= at <= _WIDTH - 3.5 * len(text):
            labels.append((at, text))
    return _drawn(across, series, _labels(labels, ""), alternative)


DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def week(series: Sequence[Series], label: str, alternative: str) -> str:
    """Draw series along the 168 hours of a week, days apart."""
    day = (_WIDTH - _LEFT - _RIGHT) / 7
    across = np.linspace(_LEFT, _WIDTH - _RIGHT, 7 * 24 + 1)
    labels = [(_LEFT + day * (number + 0.5), name) for number, name in enumerate(DAYS)]
    midnights = [
        f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
        for x in (_LEFT + day * np.arange(1, 7)).tolist()
    ]
    axis = [*midnights, *_labels(labels, label)]
    return _drawn(across, series, axis, alternative)


def _chart(edges: Floats, series: Sequence[Series], axis: Axis, alternative: str) -> str:
    across = _LEFT + (edges / (edges[-1] or 1.0)) * (_WIDTH - _LEFT - _RIGHT)
    return _drawn(across, series, _horizontal(float(edges[-1]) / axis.per_unit, axis.label), alternative)


def _drawn(across: Floats, series: Sequence[Series], axis: Sequence[str], alternative: str) -> str:
    most = max((float(one.shares.max(initial=0)) for one in series), default=0.0) or 1.0

    def up(shares: Floats) -> Floats:
        heights: Floats = _HEIGHT - _BOTTOM - shares / most * (_HEIGHT - _TOP - _BOTTOM)
        return heights

    elements = []
    for one in series:
        steps = _steps(across, up(one.shares), closed=one.css in ("real", "alone"))
        if one.low is not None:  # and back along the lower side
            steps += "L" + _steps(across[::-1], up(one.low)[::-1], closed=False)[1:] + "Z"
        elements.append(f'<path class="{one.css}" d="{steps}"/>')
    return _svg([*_vertical(most), *elements, *axis], alternative)


def curve(real: Floats, synthetic: Floats, label: str, alternative: str) -> str:
    """Draw how two lists of shares add up, along ranks from 1 on by their logarithm."""
    n = max(len(real), 2)
    ranks = np.unique(np.geomspace(1, n, 200).astype(np.int64))
    ranks = ranks[ranks <= len(real)]
    across = _LEFT + np.log(ranks) / math.log(n) * (_WIDTH - _LEFT - _RIGHT)
    elements = []
    for css, shares in (("real", real), ("synthetic", synthetic)):
        up = _HEIGHT - _BOTTOM - np.cumsum(shares)[ranks - 1] * (_HEIGHT - _TOP - _BOTTOM)
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, up, strict=True))
        floor = _HEIGHT - _BOTTOM
        if css == "real" and len(ranks):
            points = f"{_LEFT},{floor} {points} {across[-1]:.1f},{floor}"
        elements.append(f'<{"polygon" if css == "real" else "polyline"} class="{css}" points="{points}"/>')
    powers = [10**power for power in range(math.floor(math.log10(n)) + 1)]
    ticks = [(_LEFT + math.log(rank) / math.log(n) * (_WIDTH - _LEFT - _RIGHT), f"{rank:,}") for rank in powers]
    return _svg([*_vertical(1.0), *elements, *_labels(ticks, label)], alternative)


def standing(place: float) -> str:
    """Draw a value between its limit, on the left, and its random baseline, on the right."""
    if math.isnan(place):
        return ""
    at = 8 + 84 * min(max(place, -0.05), 1.05)
    return (
        '<svg class="standing" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        '<line class="rest" x1="8" x2="92" y1="5" y2="5"/><line x1="8" x2="8" y1="1" y2="9"/>'
        '<line x1="92" x2="92" y1="1" y2="9"/>'
        f'<ellipse class="dot" cx="{at:.1f}" cy="5" rx="4.5" ry="4.5"/></svg>'
    )


def pair_of_bars(real: float, synthetic: float, most: float) -> str:
    """Draw a real and a synthetic share as two bars."""
    widths = [100 * share / most for share in (real, synthetic)]
    return (
        '<svg class="bars" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="real" width="{widths[0]:.1f}" height="6"/>'
        f'<rect class="synthetic" y="8" width="{widths[1]:.1f}" height="6"/></svg>'
    )


def _steps(across: Floats, up: Floats, *, closed: bool) -> str:
    floor = _HEIGHT - _BOTTOM
    steps = "".join(f"V{y:.1f}H{x:.1f}" for x, y in zip(across[1:], up, strict=True))
    start = f"M{across[0]:.1f} {floor if closed else up[0]:.1f}"
    return f"{start}{steps}V{floor}Z" if closed else f"{start}{steps}"


def _svg(content: Sequence[str], alternative: str) -> str:
    size = f"0 0 {_WIDTH} {_HEIGHT}"
    words = escape(alternative)
    return f'<svg class="chart" viewBox="{size}" role="img" aria-label="{words}">{"".join(content)}</svg>'


def _vertical(most: float) -> list[str]:
    """Draw lines of equal share, labeled."""
    drawn = []
    for tick in _round_steps(most, 3):
        y = _HEIGHT - _BOTTOM - tick / most * (_HEIGHT - _TOP - _BOTTOM)
        drawn.append(f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        drawn.append(f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{percent(tick)}</text>')
    return drawn


def _horizontal(most: float, label: str) -> list[str]:
    width = _WIDTH - _LEFT - _RIGHT
    ticks = [(_LEFT + tick / most * width, plain(tick, 4)) for tick in _round_steps(most, 5)] if most else []
    return _labels(ticks, label)


def _labels(ticks: Sequence[tuple[float, str]], label: str) -> list[str]:
    y = _HEIGHT - _BOTTOM
    drawn = [f'<text x="{x:.1f}" y="{y + 14}" text-anchor="middle">{text}</text>' for x, text in ticks]
    drawn.append(f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 4}" text-anchor="end">{escape(label)}</text>')
    return [f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}"/>', *drawn]


def _round_steps(most: float, about: int) -> list[float]:
    """List round numbers from 0 to most, about so many steps."""
    power = 10.0 ** math.floor(math.log10(most / about))
    step = min((digit * power for digit in (1, 2, 5, 10)), key=lambda size: abs(most / size - about))
    return [number * step for number in range(math.floor(most / step * (1 + 1e-9)) + 1)]
