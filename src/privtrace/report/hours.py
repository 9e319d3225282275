"""Lay out what pages show of points and times: how sizes are written, the week, and the parts of the day."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from privtrace.report import charts
from privtrace.report.document import distance, duration, plain, speed
from privtrace.space.region import Region
from privtrace.timing.bins import HOURS_OF_PART
from privtrace.trajectories import Floats

#: Round times, in seconds, and round numbers that charts are labeled by.
_TIMES: dict[float, str] = {0.1: "0.1 s", 1: "1 s", 5: "5 s", 15: "15 s"}
_TIMES |= {60: "1 min", 300: "5 min", 900: "15 min", 3600: "1 h", 14_400: "4 h"}
_TIMES |= {43_200: "12 h", 86_400: "1 day", 345_600: "4 days"}
_ROUND = [digit * 10.0**power for power in range(-6, 10) for digit in (1, 2, 5)]


class Scale(NamedTuple):
    """Say how one size of trips is called, written and labeled."""

    heading: str
    meaning: str
    write: Callable[[float], str]
    ticks: list[tuple[float, str]]

    def figure(self, bounds: Floats, series: Sequence[charts.Series], words: str) -> str:
        """Draw how trips spread over bins of the size."""
        chart = charts.spread(bounds, series, self.ticks, f"{self.heading}: {words}")
        return f"<figure><figcaption><b>{self.heading}</b>, {self.meaning}</figcaption>{chart}</figure>"


def scale_of(name: str, region: Region) -> Scale:
    """Give the scale of a size by its name: duration, speed, interval, jump or points."""
    times: list[tuple[float, str]] = [*_TIMES.items()]
    if name in ("duration", "interval"):
        heading, meaning = {
            "duration": ("Duration", "from the first point to the last"),
            "interval": ("Interval", "the time from point to point"),
        }[name]
        return Scale(heading, meaning, duration, times)
    if name == "points":
        whole = [(number, plain(number, 3)) for number in _ROUND if number >= 1]
        return Scale("Points", "per trip", _amount, whole)
    if name == "speed":
        per_unit, unit = (1 / 3.6, "km/h") if region.in_meters else (1.0, "units/s")
        speeds = [(number * per_unit, f"{plain(number, 3)}") for number in _ROUND]
        return Scale(
            "Mean speed", f"length divided by duration, {unit}", lambda size: speed(size, region), speeds
        )
    jumps = [(number, distance(number, region).removesuffix(" units")) for number in _ROUND]
    unit = "" if region.in_meters else ", units"
    meaning = f"the distance from point to point{unit}"
    return Scale("Jump", meaning, lambda size: distance(size, region), jumps)


def _amount(number: float) -> str:
    return "none" if math.isnan(number) else plain(number, 4)


def week(series: Sequence[charts.Series], zone: str, words: str) -> str:
    """Draw departures over the hours of the week."""
    chart = charts.week(series, f"local time in {zone}", f"Departures over the week: {words}")
    return f"<figure><figcaption><b>Departures</b> over the week</figcaption>{chart}</figure>"


def busiest(shares: Floats) -> str:
    """Name the hour of the week with most departures."""
    hour = int(np.argmax(shares))
    return f"{charts.DAYS[hour // 24]} at {hour % 24}" if shares.any() else "none"


def span(part: int) -> str:
    """Say from when to when a part of the day is."""
    return f"{part * HOURS_OF_PART} to {(part + 1) * HOURS_OF_PART} h"


def by_part(maps: Sequence[Sequence[tuple[str, str]]]) -> str:
    """Lay out small maps side by side by part of the day; a part has several, each with words below it."""
    figures = []
    for part, drawn in enumerate(maps):
        content = "".join(f'{small}<p class="small">{words}</p>' for small, words in drawn)
        figures.append(f"<figure><figcaption><b>{span(part)}</b></figcaption>{content}</figure>")
    return f'<div class="parts">{"".join(figures)}</div>'
