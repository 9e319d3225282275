"""Show what a model is and promises, from the model alone: the page is as publishable as the model file."""

from __future__ import annotations

import math
from datetime import timedelta
from html import escape

import numpy as np

from privtrace.calendar import Calendar
from privtrace.geometry import diameters_m, lengths_m
from privtrace.methods.fitted import fitted
from privtrace.methods.model import Model, in_words, settings_in_words
from privtrace.methods.plan import rounded
from privtrace.methods.registry import find
from privtrace.methods.sampling import sample_parts
from privtrace.methods.usability import BUSY, NOISE, READABLE, Usability
from privtrace.methods.view import MARGIN, error_of
from privtrace.privacy.epsilon import decimal
from privtrace.release import Release
from privtrace.report import charts
from privtrace.report.document import (
    Report,
    bullets,
    distance,
    extent,
    facts,
    folded,
    page,
    paragraph,
    plain,
    section,
    table,
)
from privtrace.report.model_hours import model_hours
from privtrace.report.model_map import model_map
from privtrace.report.promise import promise
from privtrace.report.usable import what_can_be_read
from privtrace.trajectories import Floats, Trajectories

#: The synthetic trips of the page are the first of this seed, as anyone can make them again.
SEED = 1
N_TRIPS = 20_000
_BARS = 36


def release_page(model: Model, *, title: str | None = None, note: str | None = None) -> Report:
    """Show a model as one page: what can be read, promise, map, distributions, uses and making.

    It reads the model alone. Title and note are the curator's, and public: what the data is, who publishes it,
    whom to ask.
    """
    release, shown, usability = model.release, fitted(model), model.usability()
    trips = _trips(model)
    title = title or f"Synthetic trips by {release.label}"
    heading = title if release.private else f"NOT PRIVATE: {title}"
    return page(
        heading,
        [
            _heading(model, title, note),
            what_can_be_read(usability),
            promise(release),
            model_map(shown, usability, trips, release.region),
            _distributions(trips, release),
            model_hours(model, shown, usability),
            _uses(model, usability),
            _making(model),
        ],
    )


def _trips(model: Model) -> Trajectories:
    count = min(model.n_trajectories, N_TRIPS)
    return Trajectories.concatenate((part for part, _ in sample_parts(model, count, SEED)), model.release.crs)


def _heading(model: Model, title: str, note: str | None) -> str:
    release = model.release
    unit = release.unit.neighbors
    guard = (
        f"protected by pure differential privacy with epsilon {decimal(release.epsilon)} per {unit}"
        if release.private
        else "fitted without protection"
    )
    what = (
        f"This page describes a statistical model of movement in an area of {extent(release.region)}, "
        f"{guard}. It also shows synthetic trips. They are drawn from the model at random, not copied "
        "from the data, though one may resemble a trip that somebody took. Everything here was computed "
        "from the model file alone."
    )
    alarm = "" if release.private else f'<p class="alarm">{escape(release.verdict)}. Do not publish it.</p>\n'
    red = "" if release.private else ' class="red"'
    mark = "" if release.private else "<em>NOT PRIVATE</em>: "
    strip = {
        "Privacy budget": f"ε = {decimal(release.epsilon)}" if release.private else "NOT PRIVATE",
        "Protected": f"each {unit}" if release.private else "nobody",
        "Trajectories": _count_words(model),
        "Area": extent(release.region),
        **({} if release.times is None else {"Time": _days(release.times)}),
        "Method": release.label,
    }
    light, dark = find(release.method).colors
    return f"""<header{red} style="--on-light: {light}; --on-dark: {dark}">
<p class="kicker">privtrace release</p>
<h1>{mark}{escape(title)}</h1>
{alarm}{paragraph(what, "lead")}
{paragraph(note) if note else ""}
{facts(strip)}
</header>"""


_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _days(calendar: Calendar) -> str:
    """Say which days trips are of."""
    if calendar.period is None:
        return "a typical week"
    first, last = calendar.period.first, calendar.period.end - timedelta(days=1)
    year = "" if first.year == last.year else f" {first.year}"
    return f"{first.day} {_MONTHS[first.month - 1]}{year} to {last.day} {_MONTHS[last.month - 1]} {last.year}"


def _count_words(model: Model) -> str:
    if model.release.public_count is not None:
        return f"{model.release.public_count:,}, declared"
    return f"{model.n_trajectories:,} ± {rounded(MARGIN * error_of(model.release, 'count'))}"


def _distributions(trips: Trajectories, release: Release) -> str:
    if not len(trips):
        return section(
            "The synthetic trips",
            paragraph("By its count there are no trips, so the model makes none."),
        )
    region = release.region
    points = (region.unwrap(trips.points) - region.bounds[:2]) * np.array(region.scale_m)
    lengths, diameters = (measure(points, trips.offsets) for measure in (lengths_m, diameters_m))
    n_points = np.diff(trips.offsets).astype(np.float64)
    axis = charts.axis_of(region)
    figures = [
        _histogram("Length", "the sum of all steps", lengths, axis),
        _histogram("Diameter", "the greatest distance between two points", diameters, axis),
        _histogram("Points", "per trip", n_points, charts.Axis("points", 1), whole=True),
    ]
    quantiles = (0.1, 0.25, 0.5, 0.75, 0.9)
    names = ("Length", "Diameter", "Points")
    rows = [
        [name, *(distance(value, region) if name != "Points" else plain(value, 3) for value in row)]
        for name, row in zip(
            names, (np.quantile(x, quantiles) for x in (lengths, diameters, n_points)), strict=True
        )
    ]
    head = ("Per trip", *(f"{100 * share:.0f} % are below" for share in quantiles))
    return section(
        "The synthetic trips",
        paragraph(
            f"From the first {len(trips):,} trips that the model makes with seed {SEED}. They describe "
            "the data only as well as the model does. The last bar also holds all larger values."
        ),
        f'<div class="columns">{"".join(figures)}</div>',
        folded("The same in numbers", table(head, rows, n_words=1)),
    )


def _histogram(name: str, meaning: str, values: Floats, axis: charts.Axis, *, whole: bool = False) -> str:
    """Draw a distribution up to where nearly all of it is, the rest in the last bar; whole numbers whole."""
    high = float(np.quantile(values, 0.995)) or float(values.max()) or 1.0
    width = math.ceil((high + 1) / _BARS) if whole else high / _BARS
    edges = np.arange(0, high + (1 + width if whole else width / 2), width)
    counts, _ = np.histogram(np.minimum(values, edges[-1] - width / 2), edges)
    median = float(np.median(values)) / axis.per_unit
    words = f"{name}: half of the trips are below {plain(median, 3)} {axis.label}."
    chart = charts.bars(edges, counts / len(values), axis, words)
    return f"<figure><figcaption><b>{name}</b>, {meaning}</figcaption>{chart}</figure>"


#: What a method keeps best and least, as docs/comparison.md measures it.
_STRENGTHS = {
    "bridgetrace": "BridgeTrace measures trips between zones and leads its walks to the right end; the "
    "length and extent of trips follow the measurements.",
    "privtrace": "PrivTrace keeps fine patterns on a small budget, but the length of trips only roughly.",
    "adatrace": ("AdaTrace keeps where trips begin and end and how long they are, but loses the way between."),
    "dpt": "DPT is best at where people go, but keeps the length and the ends of trips only roughly.",
}


_PLACES = {
    READABLE: "Where people move, and how busy one neighborhood is compared with another.",
    BUSY: "Which places are the busiest; the others are lost in the noise.",
}
_FLOWS = {
    READABLE: "Flows between neighborhoods, and origin-destination tables (made with privtrace export).",
    BUSY: "The largest flows between neighborhoods (origin-destination tables are made with privtrace export).",
}
_HOURS = {
    READABLE: "Times: departures by hour of the week, durations, and the parts of the day.",
    BUSY: "Times: the busiest hours of the week, and durations.",
}
_TRIPS = {
    False: "Software tests, teaching and simulations: as many synthetic trips as you want, at no further "
    "privacy cost.",
    True: "Software tests: as many synthetic trips as you want, at no further privacy cost.",
}

_NOISE_OF = {
    "visits": "Where people move: the visits of cells are noise.",
    "flows": "Flows between neighborhoods, and origin-destination tables: they are noise.",
    "hours": "Times of day: departures by hour are noise.",
}
_LOW_FLOWS = "Small flows between neighborhoods: most of them are lost in the noise."
_NO_FLOWS = "Flows between neighborhoods: they were not measured."
_NO_TIMES = "Times of day, dates or speeds: synthetic trips have no times."
_NO_DAYS = (
    "Single days, seasons or holidays, because dates are drawn at random; speeds on a street, because "
    "speed is not measured by place."
)


def _uses(model: Model, usability: Usability) -> str:
    """Say what the model is good for, by what can be read from it."""
    release = model.release
    finest = model.view().layers[-1]
    sides = finest.grid.sizes_m
    small, large = (distance(float(side), release.region) for side in (sides.min(), sides.max()))
    margin = rounded(finest.visits.margin)
    size = f"{small} wide" if small == large else f"{small} to {large} wide"
    kinds = {"visits": _PLACES, "flows": _FLOWS, **({} if release.times is None else {"hours": _HOURS})}
    best = {kind: usability.best(kind) or "" for kind in kinds}
    has_strength = release.method in _STRENGTHS and {best["visits"], best["flows"]} <= {READABLE, BUSY}
    good = [
        *(words[best[kind]] for kind, words in kinds.items() if best[kind] in words),
        _TRIPS[usability.is_noise],
        *([_STRENGTHS[release.method]] if has_strength else []),
    ]
    bad = [
        *(_NOISE_OF[kind] for kind in kinds if best[kind] == NOISE),
        *([_LOW_FLOWS] if best["flows"] == BUSY else []),
        *([] if best["flows"] else [_NO_FLOWS]),
        "Conclusions about individuals: a synthetic trip represents nobody, even if it resembles a real one.",
        f"Details smaller than a cell: cells are {size}, points are placed at random inside them, and "
        "lines between points do not follow streets.",
        f"Numbers below the noise: the noise of the measured visits of a cell is ± {margin}, so small numbers "
        "mean little, and rare trips may be lost or invented.",
        "Precise statements about long trips: they are reproduced less well than short ones, because "
        "every trip contributes a total weight of 1, no matter how long it is.",
        _NO_TIMES if release.times is None else _NO_DAYS,
        "Movement outside the area: it was cut off, so totals hold for the area only.",
    ]
    return section(
        "What it is for, and what it is not for",
        '<div class="columns">',
        f"<div><h3>Good for</h3>{bullets(good)}</div>",
        f"<div><h3>Not for</h3>{bullets(bad)}</div>",
        "</div>",
    )


def _making(model: Model) -> str:
    release = model.release
    sizes = ((name.capitalize(), f"{size:,}") for name, size in model.summary().items())
    settings = sorted(settings_in_words(release).items())
    return section(
        "How it was made",
        paragraph(
            f"{release.made_by}, read the trips, kept the longest stretch of each inside the area, "
            "measured the numbers listed above with noise, and built the model from them: "
            f"{in_words(model.summary())}. Synthetic trips are walks on this model. Anyone can make more "
            "from the model file:"
        ),
        "<p><code>privtrace generate MODEL --count 100000 --seed 7 --output synthetic.parquet</code></p>",
        f"<p>SHA-256 of the model file: <code>{model.checksum}</code></p>",
        folded("Sizes", table(("Part of the model", "Number"), sizes, n_words=1)),
        folded("Settings, all public", table(("Setting", "Value"), settings, n_words=1)),
    )
