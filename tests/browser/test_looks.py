"""Pages read well in light, in dark, on paper and on a telephone, and by keyboard alone."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.browser import looking

import privtrace as pt

pytestmark = pytest.mark.browser

NAMES = pytest.mark.parametrize("name", ["release", "evaluation", "comparison"])
SCHEMES = pytest.mark.parametrize("scheme", ["light", "dark"])
WIDTHS = pytest.mark.parametrize("width", [320, 390, 768, 1280])
CONTROLS = ".zoom, .tools, .readout, .hands, summary"


def unfold(page):
    page.eval_on_selector_all("details", "all => all.forEach(details => details.open = true)")


@NAMES
@SCHEMES
def test_text_stands_out_from_its_ground(visit, demo, name, scheme):
    page = visit(demo[name], color_scheme=scheme)
    unfold(page)
    texts = page.evaluate(looking.TEXTS)
    assert len(texts) > 100
    assert [told for told in texts if told["contrast"] < 4.5] == []


@NAMES
def test_dark_pages_are_dark_and_their_maps_too(visit, demo, name):
    page = visit(demo[name], color_scheme="light")
    svg = page.locator("svg.map").first
    light = looking.pixels(svg.screenshot()).mean(), ground(page)
    page.emulate_media(color_scheme="dark")
    dark = looking.pixels(svg.screenshot()).mean(), ground(page)
    assert min(light) > 180
    assert max(dark) < 80
    assert looking.main_colors(svg.screenshot()) >= 5


def ground(page):
    color = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return np.mean([float(channel) for channel in re.findall(r"[\d.]+", color)[:3]])


@NAMES
def test_print_is_light_and_without_controls_whatever_the_screen_is(visit, demo, name):
    page = visit(demo[name], color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert looking.pixels(page.locator("svg.map").first.screenshot()).mean() > 180
    assert looking.pixels(page.locator("h1").screenshot()).mean() > 180
    assert page.locator(CONTROLS).locator("visible=true").count() == 0
    assert [told for told in page.evaluate(looking.TEXTS) if told["contrast"] < 4.5] == []


@NAMES
def test_a_page_prints_on_a_few_sheets(visit, demo, name):
    page = visit(demo[name], color_scheme="dark")
    paper = page.pdf(format="A4")
    sheets = len(re.findall(rb"/Type\s*/Page\b", paper))
    assert 3 <= sheets <= 8
    assert len(paper) > 20_000


@NAMES
@WIDTHS
def test_nothing_overflows_and_no_text_is_tiny(visit, demo, name, width):
    page = visit(demo[name], width=width)
    unfold(page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(PAST_THE_EDGE) == []
    assert [told for told in page.evaluate(looking.TEXTS) if told["size"] < 11] == []


# Boxes of what shows text or is drawn, past the sides of the window; maps clip what is theirs.
PAST_THE_EDGE = """() => [...document.querySelectorAll("p, h1, h2, h3, li, td, th, dd, dt, svg, label, button")]
  .filter((element) => !element.closest("svg svg") && element.checkVisibility())
  .filter((element) => {
    const { left, right } = element.getBoundingClientRect();
    return left < -1 || right > innerWidth + 1;
  })
  .map((element) => element.outerHTML.slice(0, 80))"""


@NAMES
def test_tab_reaches_everything_in_order_and_shows_where_it_is(visit, demo, name):
    page = visit(demo[name])
    reached = []
    while page.keyboard.press("Tab") or (stop := page.evaluate(FOCUSED)):
        assert stop["ring"] >= 2, stop
        reached.append(stop["number"])
        assert len(reached) < 100
    assert reached == page.evaluate(REACHABLE)
    assert len(reached) > 8


# A group of radio buttons is one stop: the button that is checked.
REACHABLE = """() => [...document.querySelectorAll("a[href], button, input, summary, [tabindex]")]
  .map((element, number) => { element.dataset.number = number; return element; })
  .filter((element) => element.checkVisibility() && (element.type !== "radio" || element.checked))
  .map((element) => Number(element.dataset.number))"""
FOCUSED = """() => {
  const all = [...document.querySelectorAll("a[href], button, input, summary, [tabindex]")];
  const style = getComputedStyle(document.activeElement);
  const number = all.indexOf(document.activeElement);
  const ring = style.outlineStyle === "none" ? 0 : parseFloat(style.outlineWidth);
  return number < 0 ? null : { number, ring, what: document.activeElement.outerHTML.slice(0, 80) };
}"""


@NAMES
def test_whatever_can_be_reached_has_a_name(visit, demo, name):
    page = visit(demo[name])
    nodes = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    stops = [
        node["name"]["value"]
        for node in nodes
        if any(each["name"] == "focusable" and each["value"]["value"] for each in node.get("properties", []))
        and node["role"]["value"] != "RootWebArea"
    ]
    assert len(stops) > 8
    assert all(len(words) > 3 for words in stops)


@NAMES
def test_pictures_tell_in_words_what_they_show(visit, demo, name):
    silent = "svg:not([aria-hidden]):not(svg svg):not([aria-label])"
    page = visit(demo[name])
    assert page.locator("svg[aria-label]").count() >= 4
    assert page.locator(silent).count() == 0


def test_a_flat_map_has_room_for_its_buttons(visit, demo, wanderers, tmp_path):
    region = pt.Region.box(0, 0, 10, 2, crs="planar")
    report = pt.PrivTrace(epsilon=2, region=region).fit(wanderers).report(tmp_path / "flat.html")
    page = visit(report.path, width=390)
    svg, buttons = (page.locator(name).bounding_box() for name in ("svg.map", ".zoom"))
    assert buttons["y"] + buttons["height"] < svg["y"] + svg["height"]
    assert buttons["x"] > svg["x"]
