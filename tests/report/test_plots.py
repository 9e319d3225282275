"""Plots: the same marks as SVG and as PNG, beside their numbers; nothing overlaps, nothing is lost."""

from __future__ import annotations

import csv
import io
import math
import subprocess
import sys
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from tests.report.test_colors import LUMINANCE, linear

import privtrace as pt
from privtrace.report import plots
from privtrace.report.plots import Bar, Color, HeatMap, Level, Line, Plot, bars, beside, cells, heats, lines
from privtrace.report.plots.axes import axis_over, short
from privtrace.report.plots.cells import _APART, _RISING
from privtrace.report.plots.labels import LINE, spread
from privtrace.report.plots.marks import (
    INK,
    PAPER,
    RED,
    RULE,
    SERIES,
    SHAPES,
    SOFT,
    Area,
    Mark,
    Point,
    Raster,
    Stroke,
    Symbol,
    Text,
    outline,
    shortened,
    text_width,
    wrapped,
)
from privtrace.report.plots.png import SCALE, plain

NAN = math.nan
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '</text><script>alert("1")</script>&<b>'
EPSILONS = (0.1, 0.2, 0.5, 1, 2, 5)
LEVELS = (Level("limit", 0.008, dash=(1.5, 3)), Level("random baseline", 0.62))
MAP = np.linspace(0, 0.2, 12).reshape(3, 4)


def curve(name: str, start: float, power: float = 0.3) -> Line:
    """Make a curve that falls by a power of epsilon, with a band."""
    y = np.array([start * epsilon**-power for epsilon in EPSILONS])
    return Line(name, EPSILONS, y.tolist(), (0.8 * y).tolist(), (1.2 * y).tolist())


def curves(count: int, name: str = "method", factor: float = 1.4) -> list[Line]:
    return [curve(f"{name} {number}", 0.02 * factor**number, 0.1 * number) for number in range(count)]


GAPS = [
    Line("zero", EPSILONS, [0.1, 0.02, 0, 0, 0.001, 0.0005]),
    Line(
        "gaps",
        EPSILONS,
        [0.3, 0.2, NAN, 0.1, NAN, 0.05],
        [0.2, 0.1, NAN, -0.05, NAN, 0.02],
        [0.4, 0.3, NAN, 0.15, NAN, 0.1],
    ),
    Line("single", [1], [0.05], [0.02], [0.2]),
    Line("nothing", EPSILONS, [NAN] * 6),
]
LONG = "a method from outside with a long name"

SAMPLES: dict[str, Plot] = {
    "four": lines("four", "Error of origins", "epsilon", "error", curves(4), LEVELS),
    "eight": lines("eight", "Eight", "epsilon", "error", curves(8), LEVELS),
    "together": lines("together", "Close", "epsilon", "error", curves(8, factor=1.001), LEVELS),
    "long": lines("long", f"{LONG}, {LONG}", "epsilon", f"{LONG}, {LONG}", curves(8, LONG), LEVELS),
    "gaps": lines("gaps", "Gaps", "epsilon", "error", GAPS, [*LEVELS, Level("none", NAN)]),
    "linear": lines("linear", "Tau", "epsilon", "tau", [Line("a", [1, 2], [-0.1, 0.8])], [Level("limit", 0.9)]),
    "single": lines("single", "Single", "epsilon", "error", [Line("one", [1], [0.5])], LEVELS),
    "deep": lines("deep", "Deep", "x", "y", [Line("one", [1, 2], [0.1, 1], [1e-9, -1], [0.2, 99])]),
    "zeros": lines("zeros", "Zeros", "epsilon", "error", [Line("one", [1, 2], [0, 0])], [Level("limit", 0)]),
    "nothing": lines("nothing", "Nothing", "epsilon", "error", []),
    "wins": cells("wins", "Wins", ["a", "b"], ["a", "b"], [[NAN, 3], [0, NAN]], row_name="row", note=LONG * 3),
    "grid": cells(
        "grid", "Grid", ["1", "2"], [LONG, "b"], [[0.1, -2], [3, NAN]], scale="apart", column_name="x"
    ),
    "many": cells("many", "Many", [LONG] * 8, [LONG] * 8, np.arange(64).reshape(8, 8)),
    "empty": cells("empty", "Empty", [], [], []),
    "maps": heats(
        "maps", "Maps", [HeatMap("real", MAP, "NOT PRIVATE"), *[HeatMap(LONG, MAP / 2)] * 4], aspect=0.7
    ),
    "map": heats("map", "A map", [HeatMap("nothing", 0 * MAP)]),
    "bars": bars(
        "bars", "Time", "seconds", [Bar("a", 12.5, 12, 14), Bar(LONG, 0.5), Bar("c", NAN), Bar("d", 0)]
    ),
}
PLOTS = pytest.mark.parametrize("plot", SAMPLES.values(), ids=SAMPLES)


def table(plot: Plot) -> list[dict[str, str]]:
    return [*csv.DictReader(io.StringIO(plot.csv()))]


def pixels(plot: Plot) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(plot.png())).convert("RGB")).astype(int)


def seen(plot: Plot, x: float, y: float) -> str:
    """Give the color of a pixel of the picture, whose frame adds a margin and a title of one line."""
    red, green, blue = pixels(plot)[round((y + 12 + 17 + 4) * SCALE), round((x + 12) * SCALE)]
    return f"#{red:02x}{green:02x}{blue:02x}"


def marks_of(plot: Plot, kind: type) -> list[Any]:
    return [mark for mark in plot.marks if isinstance(mark, kind)]


# --- every plot ------------------------------------------------------------------------------------------


@PLOTS
def test_svg_is_xml_and_says_what_it_shows(plot: Plot) -> None:
    root = ElementTree.fromstring(plot.svg_file())
    assert root.tag == f"{SVG}svg" and root.findtext(f"{SVG}title") == plot.title
    assert (root.findtext(f"{SVG}desc") or "").endswith(plot.words)
    inline = ElementTree.fromstring(plot.svg())
    assert inline.attrib["aria-label"] == plot.words and plot.title in plot.words
    assert "nan" not in plot.svg().lower().replace("font-variant", "") and "inf" not in plot.svg()


@PLOTS
def test_svg_has_a_color_on_light_and_on_dark_for_every_mark(plot: Plot) -> None:
    root = ElementTree.fromstring(plot.svg_file())
    light, dark = (root.findtext(f"{SVG}style") or "").split("@media screen and (prefers-color-scheme: dark)")
    used = {css for element in root.iter() for css in element.attrib.get("class", "").split()} - {"plot"}
    assert used and all(
        f".{css} {{" in light and f".{css} {{" in dark for css in used - {"on-light", "on-dark"}
    )


@PLOTS
def test_every_file_says_not_private(plot: Plot) -> None:
    root = ElementTree.fromstring(plot.svg_file())
    assert "NOT PRIVATE" in (root.findtext(f"{SVG}desc") or "") and plot.svg_file().startswith(
        "<!-- NOT PRIVATE"
    )
    texts = [element.text for element in root.iter(f"{SVG}text")]
    assert "NOT PRIVATE" in " ".join(filter(None, texts[-2:]))
    image: Any = Image.open(io.BytesIO(plot.png()))
    assert "NOT PRIVATE" in image.text["Warning"] and image.text["Title"] == plot.title
    red = (pixels(plot)[-60:] == [*bytes.fromhex(RED.light[1:])]).all(axis=2)
    assert red.sum() > 20
    assert all(row["not_private"] == "true" for row in table(plot))


@PLOTS
def test_png_has_the_size_of_the_picture_and_is_always_the_same(plot: Plot) -> None:
    root = ElementTree.fromstring(plot.svg_file())
    width, height = (float(root.attrib[name]) for name in ("width", "height"))
    assert pixels(plot).shape == (round(height * SCALE), round(width * SCALE), 3)
    assert plot.png() == plot.png() and plot.svg_file() == plot.svg_file()


@PLOTS
def test_nothing_is_cut_off(plot: Plot) -> None:
    for mark in plot.marks:
        left, top, right, bottom = extent(mark)
        assert left >= -1 and top >= -1 and right <= plot.width + 1 and bottom <= plot.height + 1, mark


@PLOTS
def test_no_text_is_over_another(plot: Plot) -> None:
    for one, other in combinations(marks_of(plot, Text), 2):
        a, b = extent(one), extent(other)
        apart = a[2] <= b[0] + 1 or b[2] <= a[0] + 1 or a[3] <= b[1] + 2 or b[3] <= a[1] + 2
        assert apart, (one, other)


def extent(mark: Mark) -> tuple[float, float, float, float]:
    """Find the box around a mark: left, top, right, bottom."""
    if isinstance(mark, Text):
        width = text_width(mark.text, mark.size, bold=mark.bold)
        back = {"start": 0.0, "middle": width / 2, "end": width}[mark.anchor]
        if mark.upright:
            return mark.x - 0.75 * mark.size, mark.y + back - width, mark.x + 0.2 * mark.size, mark.y + back
        return mark.x - back, mark.y - 0.75 * mark.size, mark.x - back + width, mark.y + 0.2 * mark.size
    if isinstance(mark, Raster):
        return mark.x, mark.y, mark.x + mark.width, mark.y + mark.height
    corners = outline(mark) if isinstance(mark, Symbol) else mark.points
    x, y = zip(*corners, strict=True)
    return min(x), min(y), max(x), max(y)


def test_public_data_carries_no_warning() -> None:
    plot = lines("a", "A", "x", "y", [Line("l", [1, 2], [1, 2])], not_private=False)
    image: Any = Image.open(io.BytesIO(plot.png()))
    assert "PRIVATE" not in plot.svg_file() + plot.csv() + "".join(image.text.values())
    assert plot.csv().splitlines()[0] == "line,x,y,low,high"


# --- lines -----------------------------------------------------------------------------------------------


def test_the_table_of_a_plot_holds_its_numbers() -> None:
    rows = table(SAMPLES["gaps"])
    assert len(rows) == 6 + 6 + 1 + 6 + 2
    assert rows[7] == {
        "line": "gaps",
        "epsilon": "0.2",
        "error": "0.2",
        "low": "0.1",
        "high": "0.3",
        "not_private": "true",
    }
    assert rows[8]["error"] == "" and rows[2]["error"] == "0" and rows[0]["low"] == ""
    assert [(row["line"], row["epsilon"], row["error"]) for row in rows[-2:]] == [
        ("limit", "", "0.008"),
        ("random baseline", "", "0.62"),
    ]
    exact = table(lines("a", "A", "x", "y", [Line("l", [1], [1 / 3])]))
    assert exact[0]["y"] == "0.333333333333333"


def test_lines_symbols_bands_and_levels_have_their_ink_in_their_places() -> None:
    given = [Line("up", [1, 10], [1, 100]), Line("flat", [1, 10], [10, 10], [5, 5], [20, 20])]
    plot = lines("a", "A", "epsilon", "error", given, [Level("limit", 2, dash=None)])
    rising, flat = marks_of(plot, Symbol)[:2], marks_of(plot, Symbol)[2:]
    (x0, y0), (x1, y1) = ((mark.x, mark.y) for mark in rising)
    for mark in (*rising, *flat):
        assert seen(plot, mark.x, mark.y) == mark.color.light
    assert seen(plot, x0 + (x1 - x0) / 4, y0 + (y1 - y0) / 4) == SERIES[0].light
    assert (
        seen(plot, x0 + (x1 - x0) / 4, flat[0].y) == SERIES[1].light
    )  # straight, 10 in the middle of 1 to 100
    assert flat[0].y == pytest.approx((y0 + y1) / 2)
    decade = (y0 - y1) / 2
    inside, outside = (flat[0].y - decade * math.log10(times) for times in (1.7, 2.4))
    assert seen(plot, x0 + 20, outside) == PAPER.light
    assert seen(plot, x0 + 20, inside) not in (PAPER.light, SERIES[1].light)  # shines through
    assert seen(plot, (x0 + x1) / 2, y0 - decade * math.log10(2)) == SOFT.light


@pytest.mark.parametrize("name", ["four", "eight", "together", "long", "gaps", "single"])
def test_limit_and_baseline_are_drawn_and_named(name: str) -> None:
    plot = SAMPLES[name]
    dashes = {mark.dash for mark in marks_of(plot, Stroke) if mark.width == 1.25 and len(mark.points) == 2}
    assert {level.dash for level in LEVELS} <= dashes
    named = [mark.text for mark in marks_of(plot, Text)]
    assert named.count("limit") == named.count("random baseline") == 1
    assert "limit: 0.008" in plot.words and "random baseline: 0.62" in plot.words


def test_names_stand_at_the_ends_of_curves_or_below_where_they_are_long() -> None:
    texts = {mark.text: mark for mark in marks_of(SAMPLES["four"], Text)}
    ends = {mark.color: mark.y for mark in marks_of(SAMPLES["four"], Symbol)}  # the last one stays
    for number in range(4):
        label = texts[f"method {number}"]
        assert label.color == SERIES[number] and abs(label.y - 4 - ends[label.color]) < 2 * LINE
    below = [mark for mark in marks_of(SAMPLES["long"], Text) if LONG in mark.text and mark.y > 250]
    assert len(below) == 8 and len(marks_of(SAMPLES["long"], Symbol)) == 8 * len(EPSILONS) + 8


def test_curves_differ_by_symbol_and_not_by_color_alone() -> None:
    symbols = {mark.color: mark.shape for mark in marks_of(SAMPLES["eight"], Symbol)}
    assert [*symbols] == [*SERIES] and [*symbols.values()] == [*SHAPES]
    outlines = [outline(Symbol(0, 0, shape, INK)) for shape in SHAPES]
    areas = [abs(sum(x * b - a * y for (x, y), (a, b) in pairwise((*o, o[0])))) / 2 for o in outlines]
    assert max(areas) < 2.2 * min(areas)


def test_a_curve_breaks_at_gaps_and_a_single_point_has_a_whisker() -> None:
    plot = SAMPLES["gaps"]
    drawn = [mark for mark in marks_of(plot, Stroke) if mark.color == SERIES[1] and mark.width == 1.75]
    assert [len(mark.points) for mark in drawn] == [2]  # 0.1 to 0.2
    whiskers = [mark for mark in marks_of(plot, Stroke) if mark.width == 1.5]
    assert len(whiskers) == 3 and len(marks_of(plot, Area)) == 1
    (zero,) = (mark.y for mark in marks_of(plot, Text) if mark.text == "0")
    lowest = max(y for mark in whiskers for _, y in mark.points)
    assert lowest == pytest.approx(zero - 4)  # a band that begins below zero ends there


def test_zero_has_a_place_of_its_own_on_a_logarithmic_axis() -> None:
    plot = SAMPLES["gaps"]
    heights = [mark.y for mark in marks_of(plot, Symbol) if mark.color == SERIES[0]]
    assert heights[2] == heights[3] > max(heights[:2] + heights[4:]) + 10
    assert "error, logarithmic above 0" in [mark.text for mark in marks_of(plot, Text)]
    assert "error, logarithmic" in [mark.text for mark in marks_of(SAMPLES["four"], Text)]
    assert "tau" in [mark.text for mark in marks_of(SAMPLES["linear"], Text)]


def test_pointing_at_a_symbol_tells_its_numbers() -> None:
    root = ElementTree.fromstring(SAMPLES["four"].svg())
    told = [element.text for element in root.iter("title")]
    assert len(told) == 4 * len(EPSILONS) and told[3] == "method 0, epsilon 1: 0.02 (0.016 to 0.024)"


@pytest.mark.parametrize("wrong", [{"x": [1]}, {"low": [1, 2]}, {"low": [1], "high": [2]}])
def test_lines_of_different_lengths_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="equally many"):
        Line(**{"name": "a", "x": [1, 2], "y": [1, 2]} | wrong)


# --- axes and labels -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ([0.01, 0.5], ["0.01", "0.02", "0.05", "0.1", "0.2", "0.5"]),
        ([0.001, 10], ["0.001", "0.01", "0.1", "1", "10"]),
        ([1e-6, 1e6], ["1e−6", "0.0001", "0.01", "1", "100", "10k", "1M"]),
        ([0, 0.01, 1], ["0", "0.01", "0.03", "0.1", "0.3", "1"]),
        ([0.2, 0.9], ["0", "0.2", "0.4", "0.6", "0.8"]),
        ([100, 101], ["100", "100.2", "100.4", "100.6", "100.8", "101"]),
        ([-1, 1], ["−1", "−0.5", "0", "0.5", "1"]),
        ([-5, -4.9], ["−5", "−4.98", "−4.96", "−4.94", "−4.92", "−4.9"]),
        ([0], ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        ([NAN, 3], ["0", "0.5", "1", "1.5", "2", "2.5", "3"]),
        ([], ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
    ],
)
def test_ticks_are_round_and_apart(numbers: list[float], texts: list[str]) -> None:
    ticks = axis_over(numbers, 220, 20).ticks()
    assert [text for _, text in ticks] == texts
    assert all(one - other >= 25 for (one, _), (other, _) in pairwise(ticks))


def test_given_ticks_that_meet_are_left_out() -> None:
    axis = axis_over([1, 1000], 0, 100, is_log=True)
    assert [text for _, text in axis.ticks_at([1, 1.1, 1.2, 30, 31, 1000])] == ["1", "30", "1000"]


@pytest.mark.parametrize("is_log", [False, True])
def test_axes_place_numbers(is_log: bool) -> None:
    axis = axis_over([1, 100], 300, 100, is_log=is_log)
    middle = 10 if is_log else 50.5
    assert axis.at(middle) == pytest.approx((axis.at(1) + axis.at(100)) / 2)
    assert axis.within(1e9) == 100 and axis.within(-5) == (300 if not is_log else axis.at(-5))


def test_numbers_are_short() -> None:
    written = [short(number) for number in (0, 0.00001, 0.012344, 1234.2, 12000, 3e6, -2.5, 1e300, -0.00001)]
    assert written == ["0", "1e−5", "0.01234", "1234", "12k", "3M", "−2.5", "1e300", "−1e−5"]


@pytest.mark.parametrize(
    ("places", "moved"),
    [
        ([50, 52, 300, 301], [43.5, 58.5, 285, 300]),
        ([10, 10, 10], [0, 15, 30]),
        ([80, 20], [80, 20]),
        ([5, 299, 300, 0], [15, 285, 300, 0]),
        ([], []),
    ],
)
def test_labels_move_apart_as_little_as_can_be(places: list[float], moved: list[float]) -> None:
    assert spread(places, 15, 0, 300) == pytest.approx(moved)


def test_text_is_broken_and_cut_to_fit() -> None:
    assert wrapped("one two three", 1) == ["one", "two", "three"] and wrapped("", 10) == []
    assert " ".join(wrapped(LONG, 100)) == LONG
    assert all(text_width(line) <= 100 for line in wrapped(LONG, 100))
    assert shortened("short", 100) == "short" and text_width(shortened(LONG, 100)) <= 100


# --- cells, maps, bars -----------------------------------------------------------------------------------


def test_cells_hold_their_numbers_and_shades() -> None:
    plot = cells("a", "A", ["r", "s"], ["c", "d"], [[0, 10], [NAN, 5]], texts=[["0", "10*"], ["no", "5"]])
    assert table(plot) == [
        {"row": "r", "c": "0", "d": "10", "not_private": "true"},
        {"row": "s", "c": "", "d": "5", "not_private": "true"},
    ]
    texts = [mark.text for mark in marks_of(plot, Text)]
    assert "10*" in texts and "no" not in texts
    corners = [mark.points[0] for mark in marks_of(plot, Area)]
    shades = [seen(plot, x + 4, y + 4) for x, y in corners]
    assert shades == [_RISING[0].light, _RISING[-1].light, _RISING[5].light]


def test_cells_apart_have_a_middle() -> None:
    plot = cells("a", "A", ["r"], ["1", "2", "3", "4"], [[-2, 0, 1, 2]], scale="apart")
    assert [_APART.index(mark.color) for mark in marks_of(plot, Area)] == [0, 5, 8, 10]
    given = cells("a", "A", ["r"], ["1", "2"], [[-2, 9]], ends=(0, 4))
    assert [_RISING.index(mark.color) for mark in marks_of(given, Area)] == [0, 10]


def test_maps_have_one_scale_and_are_north_up() -> None:
    north = np.zeros((2, 2))
    north[0, 1] = 0.1
    plot = heats("a", "A", [HeatMap("real", north, "NOT PRIVATE"), HeatMap("made", north / 2)], width=400)
    real, made, legend = marks_of(plot, Raster)
    assert seen(plot, real.x + 0.75 * real.width, real.y + 0.25 * real.height) == real.colors[-1].light
    assert seen(plot, real.x + 0.25 * real.width, real.y + 0.25 * real.height) == real.colors[0].light
    assert made.shades.max() < real.shades.max() and legend.shades.shape == (1, len(real.colors))
    assert table(plot)[1] == {
        "row from north": "1",
        "column from west": "2",
        "real": "0.1",
        "made": "0.05",
        "not_private": "true",
    }
    warnings = [mark for mark in marks_of(plot, Text) if mark.text == "NOT PRIVATE"]
    assert [mark.color for mark in warnings] == [RED]


def test_maps_wrap_into_rows_and_stay_small_in_svg() -> None:
    rng = np.random.default_rng(1)
    noise = [HeatMap(str(number), rng.random((80, 80)) ** 4) for number in range(4)]
    plot = heats("a", "A", noise, aspect=0.5)
    places = [(mark.x, mark.y) for mark in marks_of(plot, Raster)[:4]]
    assert len({y for _, y in places}) == 2 and places[3][0] == places[0][0]
    assert len(plot.svg()) < 100_000
    images = [*ElementTree.fromstring(plot.svg()).iter("image")]
    assert [image.attrib["class"] for image in images[:2]] == ["on-light", "on-dark"]


def test_the_images_in_svg_are_those_of_the_scale() -> None:
    from base64 import b64decode

    plot = heats("a", "A", [HeatMap("real", MAP)])
    (raster, _), images = marks_of(plot, Raster), [*ElementTree.fromstring(plot.svg()).iter("image")][:2]
    for image, ground in zip(images, ("light", "dark"), strict=True):
        decoded = Image.open(io.BytesIO(b64decode(image.attrib["href"].split(",")[1]))).convert("RGB")
        expected = [
            [[*bytes.fromhex(getattr(raster.colors[s], ground)[1:])] for s in row] for row in raster.shades
        ]
        assert np.asarray(decoded).tolist() == expected


def test_bars_are_as_long_as_their_numbers() -> None:
    plot = bars("a", "A", "seconds", [Bar("one", 10, 8, 12), Bar("two", 5, color=SERIES[2]), Bar("none", NAN)])
    assert table(plot)[0] == {"name": "one", "seconds": "10", "low": "8", "high": "12", "not_private": "true"}
    assert table(plot)[2]["seconds"] == ""
    one, two = marks_of(plot, Area)
    left, right = extent(one)[0], extent(one)[2]
    assert extent(two)[2] - left == pytest.approx((right - left) / 2) and two.color == SERIES[2]
    assert seen(plot, left + 2, extent(one)[1] + 3) != PAPER.light == seen(plot, right + 2, extent(two)[1] + 3)
    whisker = marks_of(plot, Stroke)[0].points
    assert whisker[1][0] - left == pytest.approx(1.2 * (right - left))
    assert "not known" in [mark.text for mark in marks_of(plot, Text)]


def test_plots_stand_beside_each_other() -> None:
    both = beside("both", "Both", [SAMPLES["four"], SAMPLES["bars"]])
    assert both.width == 360 + 24 + 360 and both.height == 20 + SAMPLES["four"].height
    assert len(both.marks) == len(SAMPLES["four"].marks) + len(SAMPLES["bars"].marks) + 2
    assert ElementTree.fromstring(both.svg_file()) is not None


# --- colors, text, files ---------------------------------------------------------------------------------


def contrast(one: str, other: str) -> float:
    dark, light = sorted(float(linear(color) @ LUMINANCE) for color in (one, other))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_text_is_legible_on_its_ground(ground: str) -> None:
    for color in (*SERIES, INK, SOFT, RED):
        assert contrast(getattr(color, ground), getattr(PAPER, ground)) >= 4.5, color
    for shade in (*_RISING, *_APART):
        assert contrast(getattr(INK, ground), getattr(shade, ground)) >= 4.5, shade
    assert contrast(getattr(RULE, ground), getattr(PAPER, ground)) < 2


@pytest.mark.parametrize("color", ["red", "#FFF", "#fff", "#00000g", "#000000}", ""])
def test_only_colors_are_colors(color: str) -> None:
    with pytest.raises(ValueError, match="#rrggbb"):
        Color("#000000", color)


def test_hostile_names_are_text() -> None:
    plot = lines("a", HOSTILE, HOSTILE, HOSTILE, [Line(HOSTILE, [1, 2], [1, 2])], [Level(HOSTILE, 1)])
    for text in (plot.svg(), plot.svg_file()):
        root = ElementTree.fromstring(text)
        assert not [element for element in root.iter() if "script" in element.tag]
        assert HOSTILE in [element.text for element in root.iter() if element.tag.endswith("text")]
    assert plot.png()
    assert table(plot)[0]["line"] == HOSTILE


def test_what_no_file_can_hold_is_left_out() -> None:
    plot = lines("a", "A\x00\x1b\ud800", "x", "y", [Line("\udcff\x07", [1], [1])])
    assert ElementTree.fromstring(plot.svg_file()).findtext(f"{SVG}title") == "A"
    assert plot.png() and plot.csv().encode()


def test_png_writes_text_in_the_letters_it_has() -> None:
    assert plain("ε ± 1 × 2 − naïve → 東京 …") == "epsilon ± 1 x 2 - naive -> ?? ..."


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@a", "\ta"])
def test_no_name_is_a_formula_in_a_spreadsheet(name: str) -> None:
    assert table(bars("a", "A", "s", [Bar(name, -1.5)]))[0] == {
        "name": f"'{name}",
        "s": "-1.5",
        "low": "",
        "high": "",
        "not_private": "true",
    }


@pytest.mark.parametrize("name", ["", "../a", "a b", "a.b", "é"])
def test_names_of_plots_are_names_of_files(name: str) -> None:
    with pytest.raises(ValueError, match="letters, digits"):
        replace(SAMPLES["bars"], name=name)


def test_rows_have_the_columns_of_the_head() -> None:
    with pytest.raises(ValueError, match="as many"):
        replace(SAMPLES["bars"], rows=((1.0,),))


def test_a_folder_of_plots_appears_whole(tmp_path: Path) -> None:
    some = [SAMPLES["bars"], SAMPLES["wins"]]
    plots.write_plots(some, tmp_path / "out")
    names = {file.name for file in (tmp_path / "out").iterdir()} - {".privtrace-output"}
    assert names == {f"{plot.name}{suffix}" for plot in some for suffix in (".svg", ".png", ".csv")}
    assert (tmp_path / "out" / "bars.png").read_bytes() == some[0].png()
    assert (tmp_path / "out" / "bars.svg").read_text() == some[0].svg_file()
    assert (tmp_path / "out" / "bars.csv").read_text() == some[0].csv()
    with pytest.raises(pt.OutputError, match="exists"):
        plots.write_plots(some[:1], tmp_path / "out")
    plots.write_plots(some[:1], tmp_path / "out", force=True)
    assert not (tmp_path / "out" / "wins.svg").exists()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with pytest.raises(pt.OutputError, match="did not write"):
        plots.write_plots(some[:1], tmp_path / "out", force=True)


def test_a_folder_of_plots_that_fails_does_not_appear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="different names"):
        plots.write_plots([SAMPLES["bars"], replace(SAMPLES["wins"], name="BARS")], tmp_path / "out")

    def fails(plot: Plot) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(Plot, "png", fails)
    with pytest.raises(KeyboardInterrupt):
        plots.write_plots([SAMPLES["bars"]], tmp_path / "out")
    assert [*tmp_path.iterdir()] == []


def test_pillow_is_loaded_when_a_png_is_drawn() -> None:
    code = (
        "import sys, privtrace.report.plots as plots\n"
        "plot = plots.bars('a', 'A', 's', [plots.Bar('b', 1)])\n"
        "plot.svg(), plot.csv()\n"
        "print('PIL' in sys.modules, plot.png() and 'PIL' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_places_of_corners_turn_as_they_should() -> None:
    """A triangle points up, its twin down; all stand around their place."""
    tops: dict[str, Point] = {
        shape: min(outline(Symbol(5, 5, shape, INK)), key=lambda p: p[1]) for shape in SHAPES
    }
    assert tops["triangle"] == pytest.approx((5, -0.2), abs=0.5) and tops["flipped"][1] > 1.5
    for shape in SHAPES:
        x, y = np.mean(outline(Symbol(5, 5, shape, INK)), axis=0)
        assert (x, y) == pytest.approx((5, 5), abs=1e-9)
