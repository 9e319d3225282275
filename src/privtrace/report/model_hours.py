"""Draw what a model says of points and times: as measured, with noise, and as synthetic trips have it."""

from __future__ import annotations

import numpy as np

from privtrace.calendar import seconds_in
from privtrace.evaluation.octaves import shown_bins
from privtrace.methods.fitted import Fitted, Hours, Speeds, Spread
from privtrace.methods.model import Model
from privtrace.methods.plan import rounded
from privtrace.methods.usability import NOISE, Usability
from privtrace.methods.view import Layer
from privtrace.release import Release
from privtrace.report import charts, maps
from privtrace.report.colors import Rising
from privtrace.report.document import (
    between,
    duration,
    folded,
    paragraph,
    percent,
    plain,
    section,
    speed,
    table,
)
from privtrace.report.hours import Scale, busiest, by_part, scale_of, span, week
from privtrace.report.model_map import (
    SPEEDS,
    per_area,
    speed_legend,
    speed_scale,
    steady_speeds,
    trips_by_part,
)
from privtrace.space.region import Region
from privtrace.trajectories import Floats, Integers

#: A bin for zero is shown if it holds more than so much of the synthetic trips.
_TAIL = 0.002

#: Cells of the layer that small maps show, at most; of a coarser one if need be.
_SMALL_CELLS = 600


def model_hours(model: Model, shown: Fitted, usability: Usability) -> str:
    """Show departures, durations, speeds and points, and where trips go by part of the day; or nothing."""
    if not shown.spreads or not model.n_trajectories:
        return ""
    release, hours = model.release, shown.hours
    figures = [] if hours is None else [_week(hours)]
    rows = []
    for spread in shown.spreads:
        scale = _scale(spread.name, release.region, is_usual=spread.noisy is not None)
        figures.append(_figure(spread, scale, model.n_trajectories if hours is None else _total(hours)))
        rows.append((f"{scale.heading}, {scale.meaning}", scale.write(spread.median)))
    return section(
        "Point by point" if hours is None else "When, how fast, and point by point",
        paragraph(_introduced(release)),
        *([] if hours is None else [_busiest_hour(hours, usability)]),
        _KEY,
        f'<div class="columns">{"".join(figures)}</div>',
        folded("The same in numbers", table(("Synthetic trips", "Half are below"), rows, n_words=1)),
        *([] if hours is None else _parts_of_the_day(model, shown, hours)),
    )


def _introduced(release: Release) -> str:
    """Say what was measured, and which hours and days these are."""
    every = release.timing.get("every")
    tick = f" Points are {duration(seconds_in(str(every)))} apart, as declared." if every else ""
    if release.times is None:
        return "The number of points per trip and the spread of the distances between them were measured."
    return (
        f"{release.when} Only the weekday and hour of a trip are measured; its date is drawn at random.{tick}"
    )


def _busiest_hour(hours: Hours, usability: Usability) -> str:
    """Say how many trips depart in the busiest hour, if that can be read."""
    if usability.best("hours") == NOISE:
        return paragraph("Hours are noise: the real trips may have departed at other times.", "alarm")
    trips = hours.departures.table
    at, names = int(np.argmax(trips)), busiest(trips)
    bounds = (float(one[at]) for one in (trips, hours.departures.low, hours.departures.high))
    return paragraph(f"In the busiest hour of the week, {names}, {between(*bounds)} trips depart.")


_KEY = (
    '<ul class="key"><li><i class="band"></i>measured, ± its noise</li>'
    '<li><i class="synthetic"></i>synthetic trips</li>'
    "<li>logarithmic scale; rare values are left out</li></ul>"
)


def _scale(name: str, region: Region, *, is_usual: bool) -> Scale:
    scale = scale_of(name, region)
    if name == "interval" and is_usual:
        return scale._replace(meaning="the usual time between points")
    return scale


def _total(hours: Hours) -> float:
    """Count trips with times, as the noisy hours do; never so few that noise would be all."""
    measured = hours.measured
    return max(float(measured.values.sum()), measured.error)


def _week(hours: Hours) -> str:
    measured = hours.measured
    series = [
        charts.measured(measured.values, measured.margin, _total(hours)),
        charts.Series("synthetic", hours.chances),
    ]
    words = (
        f"the busiest hour of synthetic trips is {busiest(hours.chances)}; the noise of a measured hour is "
        f"± {rounded(measured.margin)} trips."
    )
    return week(series, hours.calendar.zone.name, words)


def _figure(spread: Spread, scale: Scale, total: float) -> str:
    bins = _shown(spread)
    series = [charts.Series("synthetic", spread.shares[bins])]
    if spread.noisy is not None:
        series.insert(0, charts.measured(spread.noisy.values[bins], spread.noisy.margin, total))
    words = f"half of the synthetic trips are below {scale.write(spread.median)}."
    return scale.figure(spread.bounds[np.append(bins, bins[-1] + 1)], series, words)


def _shown(spread: Spread) -> Integers:
    """Choose the bins that hold nearly all, next to each other; before them that of zero, if it holds some."""
    n_zero = int(spread.bounds[0] == 0)
    bins = shown_bins(spread.shares, after=n_zero)
    has_zero = bool(n_zero and spread.shares[0] > _TAIL)
    return np.array([*([0] if has_zero else []), *range(bins.start, bins.stop)])


def _parts_of_the_day(model: Model, shown: Fitted, hours: Hours) -> list[str]:
    """Draw where trips go, and how fast, by the part of the day at which they depart, on small maps."""
    region = model.release.region
    layer, trips, moving = _small_layer(shown, hours)
    density = per_area(layer, trips)
    sheet, scale = maps.Sheet(region), Rising.over(density)
    speeds, steady = speed_scale(hours, [moving]), steady_speeds(moving)[1:]
    drawn = []
    for part, (share, mean) in enumerate(zip(hours.shares.tolist(), hours.mean_speeds.tolist(), strict=True)):
        shades = (scale.shades(density[part]), "q"), (speeds.shades(steady[part]), "d")
        cells = [f'<g class="heat">{maps.cells(sheet, layer.grid, *how)}</g>' for how in shades]
        told = f"{percent(share)} of trips", speed(mean, region)
        words = (
            f"{span(part)}: where trips go that depart then ({told[0]}).",
            f"{span(part)}: how fast they go in each cell; the mean is {told[1]}.",
        )
        small = (sheet.small(*one) for one in zip(cells, words, strict=True))
        drawn.append([*zip(small, told, strict=True)])
    unit = "km²" if region.in_meters else "square unit"
    return [
        "<h3>By part of the day</h3>",
        paragraph(
            "Where trips go (top) and how fast (bottom), by the part of the day in which they depart. "
            f"All days together, counted on {shown.sampling.count:,} synthetic trips. "
            f"{SPEEDS}"
        ),
        by_part(drawn),
        '<div class="columns">',
        maps.legend(
            f"Trips through a cell in a part of the day, per {unit}",
            "q",
            scale.ticks(rounded),
            f"Color scale from 0 to {plain(scale.most, 2)} trips, logarithmic.",
        ),
        speed_legend(speeds, region),
        "</div>",
    ]


def _small_layer(shown: Fitted, hours: Hours) -> tuple[Layer, Floats, Speeds]:
    """Choose the finest layer that small maps can show: trips that pass its cells by part, and their speeds."""
    layers = shown.view.layers
    number = max((n for n, layer in enumerate(layers) if layer.grid.n_cells <= _SMALL_CELLS), default=0)
    layer = layers[number]
    return layer, trips_by_part(layer, hours.passing[number]), hours.speeds[number]
