"""Show what a model is and promises, from the model alone: the page is as publishable as the model file."""

from __future__ import annotations

import math
from datetime import timedelta
from html import escape

import numpy as np

from privtrace.calendar import Calendar
from privtrace.geometry import diameters_m, lengths_m
from privtrace.methods.model import Model, in_words, settings_in_words
from privtrace.methods.plan import rounded
from privtrace.methods.registry import find
from privtrace.methods.sampling import sample_parts
from privtrace.methods.view import View, error_of
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
from privtrace.trajectories import Floats, Trajectories

#: The synthetic trips of the page are the first of this seed, as anyone can make them again.
SEED = 1
N_TRIPS = 20_000
_BARS = 36


def release_page(model: Model, *, title: str | None = None, note: str | None = None) -> Report:
    """Show a model as one page: promise, map, distributions, uses and making. It reads the model alone.

    Title and note are the curator's, and public: what the data is, who publishes it, whom to ask.
    """
    release, view = model.release, model.view()
    trips = _trips(model)
    title = title or f"Synthetic trips by {release.label}"
    heading = title if release.private else f"NOT PRIVATE: {title}"
    return page(
        heading,
        [
            _heading(model, title, note),
            promise(release),
            model_map(view, trips, release.region),
            _distributions(trips, release),
            model_hours(model, view),
            _uses(model, view),
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
        f"This page describes a statistical model of the movement in an area of {extent(release.region)}, "
        f"{guard}, and shows synthetic trips that are drawn from it at random, not copied from the data, "
        "though one may be like a trip that somebody took. Everything here was computed from the model file "
        "alone."
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
<p class="kicker">privtrace: a release</p>
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
    return f"{model.n_trajectories:,} ± {rounded(error_of(model.release, 'count'))}"


def _distributions(trips: Trajectories, release: Release) -> str:
    if not len(trips):
        return section(
            "The synthetic trips", paragraph("The model takes the data to be empty, and makes none.")
        )
    region = release.region
    points = (region.unwrap(trips.points) - region.bounds[:2]) * np.array(region.scale_m)
    lengths, diameters = (measure(points, trips.offsets) for measure in (lengths_m, diameters_m))
    n_points = np.diff(trips.offsets).astype(np.float64)
    axis = charts.axis_of(region)
    figures = [
        _histogram("Length", "the sum of all steps", lengths, axis),
        _histogram("Diameter", "the greatest distance between two points", diameters, axis),
        _histogram("Points", "how many a trip has", n_points, charts.Axis("points", 1), whole=True),
    ]
    quantiles = (0.1, 0.25, 0.5, 0.75, 0.9)
    names = ("Length", "Diameter", "Points")
    rows = [
        [name, *(distance(value, region) if name != "Points" else plain(value, 3) for value in row)]
        for name, row in zip(
            names, (np.quantile(x, quantiles) for x in (lengths, diameters, n_points)), strict=True
        )
    ]
    head = ("Of a trip", *(f"{share:.0%} are below" for share in quantiles))
    return section(
        "The synthetic trips",
        paragraph(
            f"Of the first {len(trips):,} trips that the model makes with seed {SEED}. They describe the "
            "model, and the data only as far as the model does. The last bar holds all that lies beyond."
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
    "bridgetrace": "BridgeTrace measures trips between zones, and its walks end where they should; how long "
    "trips are and how far they come follows what was measured.",
    "privtrace": "PrivTrace keeps fine patterns on a small budget; how long trips are, it keeps only roughly.",
    "adatrace": "AdaTrace keeps where trips begin and end, and how long they are; the way between, it loses.",
    "dpt": "DPT keeps where people go best; how long trips are and where they end, it keeps only roughly.",
}


_HOURS = "When trips depart, by hours of the week; how long they take; and flows by part of the day."
_NO_TIMES = "Nothing about times of day, days or speeds: times are not synthesized."
_NO_DAYS = (
    "Nothing about single days, seasons or holidays, since dates are drawn; nothing about speeds on a street, "
    "since these are not measured by place."
)


def _uses(model: Model, view: View) -> str:
    release = model.release
    finest = view.layers[-1]
    sides = finest.grid.sizes_m
    small, large = (distance(float(side), release.region) for side in (sides.min(), sides.max()))
    error = rounded(finest.visits.error)
    size = f"{small} wide" if small == large else f"{small} to {large} wide"
    good = [
        "Where people move, and how much more in one quarter than in another.",
        "Flows between quarters, and tables of origins and destinations: privtrace export makes them.",
        "Testing software, teaching, simulations: as many synthetic trips as wanted, at no further cost.",
        *([] if view.hours is None else [_HOURS]),
        *([_STRENGTHS[release.method]] if release.method in _STRENGTHS else []),
    ]
    bad = [
        "Nothing about single people: a synthetic trip stands for nobody, even where it is like a real one.",
        f"Nothing smaller than a cell: cells are {size}, where in them points lie is drawn at random, and "
        "lines between points do not follow streets.",
        f"Nothing below the noise: a cell's visits are off by about ± {error}, so small numbers mean little, "
        "and rare trips are lost or made up.",
        "Long trips fare worse than short ones, because each trajectory has a total weight of one, however "
        "long it is.",
        _NO_TIMES if view.hours is None else _NO_DAYS,
        "Totals hold for the area alone: what lies outside it was cut off.",
    ]
    return section(
        "What it can be used for, and what not",
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
            f"{release.made_by}, read the trajectories, "
            f"kept of each its longest stretch inside the area, measured the numbers listed above with noise, "
            f"and built the model from these: {in_words(model.summary())}. Walks on it are the synthetic "
            "trips. Anyone can make more from the model file:"
        ),
        "<p><code>privtrace generate MODEL --count 100000 --seed 7 --output synthetic.parquet</code></p>",
        f"<p>SHA-256 of the model file that this page shows: <code>{model.checksum}</code></p>",
        folded("Sizes", table(("Part of the model", "Number"), sizes, n_words=1)),
        folded("Settings, all public", table(("Setting", "Value"), settings, n_words=1)),
    )
