"""What the release page shows of times: as the view has it, with its noise, and by part of the day."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.report.reading import BOX, Element, fitted, map_data, read, rows, walks

import privtrace as pt
from privtrace.methods.fitted import Fitted, Hours
from privtrace.methods.fitted import fitted as numbers_of
from privtrace.report import charts
from privtrace.report.colors import STEPS, Around

REGION = pt.Region.box(*BOX)
SECTION = "When, how fast, and point by point"
SPANS = ["0 to 4 h", "4 to 8 h", "8 to 12 h", "12 to 16 h", "16 to 20 h", "20 to 24 h"]


@cache
def timed_walks() -> pt.Trajectories:
    """Give walks that depart at 8 in Lisbon, a point every half minute."""
    data, rng = walks(300, steps=20), np.random.default_rng(2)
    within = np.arange(data.n_points) - np.repeat(data.offsets[:-1], np.diff(data.offsets))
    departures = 86_400 * rng.integers(0, 14, 300) + 8 * 3600 + rng.integers(0, 3600, 300)
    seconds = np.repeat(departures, np.diff(data.offsets)) + 30 * within
    times = np.datetime64("2024-01-01", "s") + seconds.astype("timedelta64[s]")
    return replace(data, times=times, zone="Europe/Lisbon")


SETTINGS: dict[str, Any] = {
    "BridgeTrace": lambda: pt.BridgeTrace(epsilon=100, region=REGION, K=3, rounds=1, times=True),
    "PrivTrace": lambda: pt.PrivTrace(
        epsilon=100, region=REGION, K=3, times=True, period="2024-01-01/2024-01-15"
    ),
    "AdaTrace": lambda: pt.AdaTrace(epsilon=100, region=REGION, N=4, times=True, every="30s"),
    "DPT": lambda: pt.DPT(epsilon=100, region=REGION, finest=8, times=True),
}
METHODS = pytest.mark.parametrize("method", SETTINGS)


@cache
def model(method: str) -> Any:
    return fitted(SETTINGS[method](), timed_walks())


@cache
def page(method: str) -> Element:
    return read(model(method).report().html)


@cache
def shown(method: str) -> Fitted:
    return numbers_of(model(method))


@cache
def hours_of(method: str) -> Hours:
    hours = shown(method).hours
    assert hours is not None
    return hours


@METHODS
def test_the_section_shows_all_sizes_and_the_week(method: str) -> None:
    captions = [one.text for one in page(method).section(SECTION).all("figcaption")]
    sizes = ["Departures over the week", "Duration", "Mean speed", "Interval", "Jump", "Points"]
    if method == "AdaTrace":  # whose tick is declared
        sizes.remove("Interval")
    assert [caption.partition(",")[0] for caption in captions[: len(sizes)]] == sizes
    assert captions[len(sizes) : len(sizes) + 6] == SPANS
    bands = page(method).section(SECTION).all("path", "band")
    assert len(bands) == len(sizes) - 1  # distances are not measured by themselves


@METHODS
def test_it_says_whose_hours_and_days_these_are(method: str) -> None:
    words = page(method).section(SECTION).all("p")[0].text
    assert "Europe/Lisbon" in words and "Only the weekday and hour of a trip are measured" in words
    facts = page(method).all("dl", "facts")[0].text
    if method == "PrivTrace":
        assert "from 2024-01-01 up to, but not including, 2024-01-15" in words
        assert "Time 1 Jan to 14 Jan 2024" in facts
    else:
        assert "typical week" in words and "Time a typical week" in facts
    assert ("Points are 30 s apart, as declared" in words) == (method == "AdaTrace")


@METHODS
def test_uses_follow(method: str) -> None:
    uses = page(method).section("What it is for, and what it is not for").text
    assert "departures by hour of the week" in uses and "Single days" in uses
    assert "synthetic trips have no times" not in page(method).text


def test_settings_of_times_are_listed() -> None:
    tables = page("PrivTrace").section("How it was made").all("table")
    listed = dict(rows(tables[-1])[1:])
    assert listed["times"] == "True" and listed["period"] == "2024-01-01/2024-01-15"
    assert listed["clock_share"] == model("PrivTrace").release.timing["clock_share"]


@METHODS
def test_the_week_has_a_band_of_its_noise(method: str) -> None:
    hours = hours_of(method)
    (figure,) = (
        one for one in page(method).section(SECTION).all("figure") if one.text.startswith("Departures")
    )
    (band,), (line,) = (figure.all("path", css) for css in ("band", "synthetic"))
    measured, margin = hours.measured.values, 1.645 * hours.measured.error
    total = measured.sum()
    low, high = (np.maximum(measured + side * margin, 0) for side in (-1, 1))
    most = max(high.max() / total, hours.chances.max())
    upper, lower = (heights(path) for path in band.attributes["d"].split("L"))  # type: ignore[union-attr]
    assert np.allclose(upper, high / total / most, atol=1e-3)
    assert np.allclose(lower[::-1], low / total / most, atol=1e-3)
    assert np.allclose(heights(line.attributes["d"]), hours.chances / most, atol=1e-3)  # type: ignore[arg-type]
    words = figure.all("svg")[0].attributes["aria-label"] or ""
    told = re.search(r"the noise of a measured hour is ± ([\d.]+) trips", words)
    assert told and float(told[1]) == pytest.approx(margin, rel=0.05)


@METHODS
def test_the_busiest_hour_comes_with_its_bounds(method: str) -> None:
    trips = hours_of(method).departures
    at = int(trips.table.argmax())
    day, hour = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[at // 24], at % 24
    number, low, high = (float(one[at]) for one in (trips.table, trips.low, trips.high))
    told = re.search(
        rf"In the busiest hour of the week, {day} at {hour}, ([\d.]+) \(([\d.]+) to ([\d.]+)\) trips depart",
        page(method).section(SECTION).text,
    )
    assert told and hour == 8
    assert [float(text) for text in told.groups()] == pytest.approx([number, low, high], abs=0.5)


def test_hours_of_noise_are_said_to_be_noise() -> None:
    settings = pt.AdaTrace(epsilon="0.01", region=REGION, N=4, times=True, public_count=300)
    noise = read(fitted(settings, timed_walks()).report().html)
    found = noise.section(SECTION)
    assert [one.text for one in found.all("p", "alarm")] == [
        "Hours are noise: the real trips may have departed at other times."
    ]
    assert "In the busiest hour" not in found.text
    uses = noise.section("What it is for, and what it is not for").text
    assert "Times of day: departures by hour are noise." in uses and "Times: departures" not in uses
    bands = [chart.text for chart in found.all("svg", "chart")]
    shares = [float(share.replace(",", "")) for text in bands for share in re.findall(r"([\d,.]+) %", text)]
    assert len(shares) > 5 and max(shares) <= 100  # of all trips, no more than all


def heights(path: str) -> Any:
    """Read the heights of steps, as shares of the chart's height."""
    up = np.array([float(y) for y in re.findall(r"V([\d.]+)H", path)])
    return (200 - 34 - up) / (200 - 34 - 10)


@METHODS
def test_controls_offer_the_parts_of_the_day_and_colors(method: str) -> None:
    found = page(method).section("The model on a map")
    radios = [one.attributes for one in found.all("input") if one.attributes["type"] == "radio"]
    parts = [one for one in radios if one["name"] == "part"]
    assert [one["value"] for one in parts] == ["day", *"012345"]
    assert ["checked" in one for one in parts] == [True, *[False] * 6]
    assert [one["value"] for one in radios if one["name"] == "colors"] == ["trips", "speed"]
    groups = [one for one in found.all("g") if "data-part" in one.attributes]
    assert ["hidden" in one.attributes for one in groups] == [False, *[True] * 6]
    legends = {
        one.attributes["data-legend"]: one for one in found.all("div") if "data-legend" in one.attributes
    }
    visible = [name for name, one in legends.items() if "hidden" not in one.attributes]
    n_layers = len(model(method).view().layers)
    assert visible == [f"day {n_layers - 1}"]
    assert {"speed", *(f"trips {n}" for n in range(n_layers))} < {*legends}


@METHODS
def test_flows_of_each_part_are_the_strongest_fitted_ones(method: str) -> None:
    trips, n = hours_of(method).trips, shown(method).zones.n_cells
    table = trips.table.reshape(6, n, n)
    found = page(method).section("The model on a map")
    groups = {one.attributes["data-part"]: one for one in found.all("g") if "data-part" in one.attributes}
    for part in range(6):
        arcs = groups[str(part)].all("path", "flow")
        ends = [tuple(map(int, re.findall(r"(\d+) to (\d+)$", arc.text)[0])) for arc in arcs]
        elsewhere = np.where(np.eye(n, dtype=bool), 0, table[part])
        strongest = -np.sort(-elsewhere[elsewhere > 0])[:40]
        assert len(set(ends)) == len(ends)
        np.testing.assert_array_equal([elsewhere[end] for end in ends], strongest)
        assert all(f"trips departing from {SPANS[part]}, from" in arc.text for arc in arcs)


@METHODS
def test_trips_are_drawn_in_the_part_at_which_they_depart(method: str) -> None:
    """All depart at 8 local time, or nearly all: noise leaves a few elsewhere."""
    found = page(method).section("The model on a map")
    lines = {
        one.attributes["data-departs"]: len(one.all("path", "trip"))
        for one in found.all("g")
        if "data-departs" in one.attributes
    }
    assert [*lines] == [*"012345"]
    assert lines["2"] > 0.85 * sum(lines.values()) > 20


@METHODS
def test_the_script_is_told_trips_speeds_and_shades(method: str) -> None:
    layers, hours = shown(method).view.layers, hours_of(method)
    grids = map_data(page(method))["grids"]
    assert len(grids) == len(layers)
    for grid, layer, passing, speeds in zip(grids, layers, hours.passing, hours.speeds, strict=True):
        assert [len(grid["shades"]["trips"]), len(grid["shades"]["speed"])] == [6, 7]
        for letters in (*grid["shades"]["trips"], *grid["shades"]["speed"]):
            assert len(letters) == layer.grid.n_cells and re.fullmatch("[a-x.]*", letters)
        low, trips, high = (
            one.reshape(6, layer.grid.n_cells) for one in (passing.low, passing.table, passing.high)
        )
        for part, (told, moving) in enumerate(grid["parts"]):
            assert told["name"] == "trips" and moving["unit"] == " units/s"
            for name, numbers in (("low", low), ("values", trips), ("high", high)):
                assert np.allclose(told[name], numbers[part], rtol=5e-3, atol=0.0501)
            known = [np.nan if speed is None else speed for speed in moving["values"]]
            assert np.allclose(known, speeds.by_part[part], rtol=5e-3, equal_nan=True)
        (day,) = (one for one in grid["numbers"] if one["name"] == "mean speed")
        known = [np.nan if speed is None else speed for speed in day["values"]]
        assert np.allclose(known, speeds.of_day, rtol=5e-3, equal_nan=True)
        busiest = int(trips[2].argmax())
        assert grid["shades"]["trips"][2][busiest] > min(grid["shades"]["trips"][2])
        few = speeds.n_sampled.sum(axis=0) < 20
        assert [letter == "." for letter in grid["shades"]["speed"][0]] == few.tolist()


@METHODS
def test_small_maps_show_each_part(method: str) -> None:
    found, hours = page(method).section(SECTION), hours_of(method)
    (parts,) = found.all("div", "parts")
    assert len(parts.all("svg", "small-map")) == 12
    words = [one.text for one in parts.all("p")]
    for part, (share, speed) in enumerate(zip(words[::2], words[1::2], strict=True)):
        if share != "none of trips":
            assert float(share.split()[0]) == pytest.approx(100 * hours.shares[part], rel=0.05)
        assert speed.endswith("units/s") or speed == "none"
    assert "not by place" in found.text


def test_points_alone_have_a_section_of_their_own() -> None:
    data = walks(300)
    told = read(fitted(pt.BridgeTrace(epsilon=10, region=REGION, rounds=1), data).report().html)
    section = told.section("Point by point")
    assert [one.text.partition(",")[0] for one in section.all("figcaption")] == ["Jump", "Points"]
    assert not section.all("div", "parts")
    radios = {one.attributes.get("name") for one in told.all("input")}
    assert "part" not in radios and "Time" not in told.all("dl", "facts")[0].text
    uses = told.section("What it is for, and what it is not for").text
    assert "synthetic trips have no times" in uses
    plain = fitted(pt.BridgeTrace(epsilon=10, region=REGION, rounds=1, sampling=False, times=False), data)
    assert [one.text for one in read(plain.report().html).all("h2")] == [
        "What can be read from it",
        "The privacy promise",
        "The model on a map",
        "The synthetic trips",
        "What it is for, and what it is not for",
        "How it was made",
    ]


def test_a_model_of_nothing_has_no_hours_to_show() -> None:
    nothing = pt.Trajectories(
        np.zeros((0, 2)), np.zeros(1, np.int64), np.zeros(0, "datetime64[s]"), crs="planar"
    )
    settings = pt.AdaTrace(epsilon=1, region=REGION, N=2, times=True)
    html = settings.fit(nothing, noise=pt.NoNoise()).report().html
    assert "By its count there are no trips" in html and SECTION not in html


def test_a_band_lies_around_noisy_numbers_neither_below_zero_nor_above_all() -> None:
    band = charts.measured(np.array([10.0, 1.0, -5.0, 99.0]), 2.0, 100.0)
    assert band.css == "band" and band.low is not None
    assert np.allclose(band.shares, [0.12, 0.03, 0, 1]) and np.allclose(band.low, [0.08, 0, 0, 0.97])


def test_speeds_are_colored_by_their_ratio_to_the_mean() -> None:
    scale = Around(20.0, 1.0)  # from half to twice
    shades = scale.shades(np.array([10.0, 20.0, 40.0, 5.0, 400.0, 20 * 2**0.5, np.nan, 0.0]))
    assert shades.tolist() == [0, STEPS, 2 * STEPS, 0, 2 * STEPS, STEPS + STEPS // 2, -1, 0]
    assert [text for _, text in scale.ticks(lambda size: f"{size:.0f}")] == ["10", "14", "20", "28", "40"]
    assert Around.over(20.0, np.array([np.nan, 20.0, 20.1])).octaves == 0.2
    assert Around.over(20.0, np.array([np.nan])).octaves == 0.2
    assert Around.over(8.0, np.array([4.0, 8.0, 16.0] * 9)).octaves == 1
