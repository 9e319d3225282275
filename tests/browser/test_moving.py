"""Maps pan and zoom by mouse, fingers and keys, within limits, and together where there are several."""

from __future__ import annotations

import numpy as np
import pytest
from tests.browser import looking

pytestmark = pytest.mark.browser


@pytest.fixture(params=["release", "evaluation"])
def page(visit, demo, request):
    return visit(demo[request.param])


def press(page, value, times=1):
    for _ in range(times):
        page.locator(f".zoom button[value={value}]").first.click()


def test_buttons_zoom_within_limits(page):
    full = looking.view_box(page)
    press(page, "out")
    np.testing.assert_allclose(looking.view_box(page), full)
    press(page, "in")
    np.testing.assert_allclose(looking.view_box(page)[2:], full[2:] / 1.6)
    press(page, "in", times=12)
    np.testing.assert_allclose(looking.view_box(page)[2:], full[2:] / 40)
    press(page, "reset")
    np.testing.assert_allclose(looking.view_box(page), full)


def test_a_double_click_zooms_in_where_it_is(page):
    full = looking.view_box(page)
    place = full[2:] * (0.3, 0.4)
    at = looking.on_screen(page, place)
    page.mouse.dblclick(*at)
    np.testing.assert_allclose(looking.view_box(page)[2:], full[2:] / 2)
    np.testing.assert_allclose(looking.on_screen(page, place), at, atol=1)


def test_a_wheel_scrolls_the_page_until_the_map_is_clicked(page):
    full = looking.view_box(page)
    page.mouse.move(*looking.middle(page))
    top = scrolled(page)
    page.mouse.wheel(0, 60)
    page.wait_for_function("top => scrollY > top", arg=top)
    np.testing.assert_array_equal(looking.view_box(page), full)
    page.mouse.click(*looking.middle(page))
    top = scrolled(page)
    page.mouse.wheel(0, -100)
    page.wait_for_function("() => document.querySelector('svg.map.zoomed')")
    assert looking.view_box(page)[2] < full[2]
    assert scrolled(page) == top


def scrolled(page):
    # A wheel scrolls smoothly: wait until the page has come to rest.
    still = """() => new Promise(done => {
      let before = scrollY, same = 0;
      const look = () => {
        same = scrollY === before ? same + 1 : 0;
        before = scrollY;
        same > 5 ? done(scrollY) : requestAnimationFrame(look);
      };
      look();
    })"""
    return page.evaluate(still)


def test_dragging_pans_a_map_that_is_zoomed(page):
    press(page, "in", times=3)
    before, at = looking.view_box(page), looking.middle(page)
    units = before[2] / page.locator("svg.map").first.bounding_box()["width"]
    drag(page, at, (at[0] - 40, at[1] + 30))
    np.testing.assert_allclose(looking.view_box(page)[:2], before[:2] + np.array([40, -30]) * units, rtol=0.01)


def test_a_drag_that_ends_elsewhere_lets_go(page):
    at = looking.middle(page)
    drag(page, at, (3, at[1]))
    press(page, "in", times=2)
    before = looking.view_box(page)
    page.mouse.move(*at)
    page.mouse.move(at[0] + 30, at[1])
    np.testing.assert_array_equal(looking.view_box(page), before)


def test_a_map_cannot_be_lost(page):
    full = looking.view_box(page)
    press(page, "in", times=2)
    for _ in range(8):
        at = looking.middle(page)
        drag(page, at, (at[0] + 150, at[1] + 150))
    x, y, width, height = looking.view_box(page)
    assert 0 <= x + width / 2 <= full[2]
    assert 0 <= y + height / 2 <= full[3]


def drag(page, start, end):
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=4)
    page.mouse.up()


def test_keys_move_zoom_and_show_all(page):
    full = looking.view_box(page)
    svg = page.locator("svg.map").first
    svg.focus()
    for key, factor in (("+", 1 / 1.6), ("=", 1 / 1.6**2), ("-", 1 / 1.6)):
        page.keyboard.press(key)
        np.testing.assert_allclose(looking.view_box(page)[2], full[2] * factor)
    for key, direction in {
        "ArrowLeft": (-1, 0),
        "ArrowRight": (1, 0),
        "ArrowUp": (0, -1),
        "ArrowDown": (0, 1),
    }.items():
        before = looking.view_box(page)
        page.keyboard.press(key)
        np.testing.assert_array_equal(np.sign(np.round(looking.view_box(page)[:2] - before[:2], 6)), direction)
    page.keyboard.press("0")
    np.testing.assert_allclose(looking.view_box(page), full)


def test_on_the_keyboard_the_readout_follows_the_middle(page):
    page.locator("svg.map").first.focus()
    page.keyboard.press("+")
    told = {looking.readout(page)}
    for _ in range(4):
        page.keyboard.press("ArrowDown")
        told.add(looking.readout(page))
        x, y, width, height = looking.view_box(page)
        left, top, wide, high = (
            float(page.locator(".cursor").first.get_attribute(name)) for name in ("x", "y", "width", "height")
        )
        assert left <= x + width / 2 <= left + wide
        assert top <= y + height / 2 <= top + high
    assert len(told) > 1
    page.locator("svg.map").first.blur()
    assert looking.readout(page).startswith("Point at ")


def test_arrows_and_ruler_are_true_at_any_zoom(visit, demo):
    page = visit(demo.release)
    for _ in range(2):
        _, _, width, _ = looking.view_box(page)
        wide = page.locator("svg.map").bounding_box()["width"]
        arrow = float(page.locator("marker").get_attribute("markerWidth")) * wide / width
        np.testing.assert_allclose(arrow, 10, rtol=0.01)
        number, unit = page.locator(".ruler").inner_text().split()
        meters = float(number.replace(",", "")) * {"km": 1000, "m": 1}[unit]
        long = page.locator(".ruler").bounding_box()["width"]
        scale = demo.model.release.region.width_m * width / 1000 / wide
        np.testing.assert_allclose(long * scale, meters, rtol=0.01)
        press(page, "in", times=5)


@pytest.fixture(params=["release", "evaluation"])
def telephone(visit, demo, request):
    return visit(demo[request.param], width=390, height=800, has_touch=True, is_mobile=True)


class Fingers:
    """Touch the screen as fingers do, through the browser's own handling of gestures."""

    def __init__(self, page):
        self.session = page.context.new_cdp_session(page)

    def slide(self, *ways, steps=8):
        """Move fingers together, each from a place to another."""
        for step in range(steps + 1):
            at = [np.add(start, np.subtract(end, start) * step / steps) for start, end in ways]
            self._send("touchMove" if step else "touchStart", at)
        self._send("touchEnd", [])

    def _send(self, kind, at):
        points = [{"x": float(x), "y": float(y), "id": finger} for finger, (x, y) in enumerate(at)]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_two_fingers_zoom_and_one_pans_what_is_zoomed(telephone):
    full, fingers = looking.view_box(telephone), Fingers(telephone)
    x, y = looking.middle(telephone)
    fingers.slide(((x - 30, y), (x - 90, y)), ((x + 30, y), (x + 90, y)))
    zoomed = looking.view_box(telephone)
    np.testing.assert_allclose(zoomed[2], full[2] / 3, rtol=0.1)
    fingers.slide(((x, y), (x - 60, y + 40)))
    panned = looking.view_box(telephone)
    units = zoomed[2] / telephone.locator("svg.map").first.bounding_box()["width"]
    np.testing.assert_allclose(panned[:2] - zoomed[:2], [60 * units, -40 * units], rtol=0.15)
    fingers.slide(((x - 90, y), (x - 10, y)), ((x + 90, y), (x + 10, y)))
    np.testing.assert_allclose(looking.view_box(telephone), full)


def test_one_finger_scrolls_past_a_map_that_is_not_zoomed(telephone):
    full, top = looking.view_box(telephone), scrolled(telephone)
    x, y = looking.middle(telephone)
    top = scrolled(telephone)
    Fingers(telephone).slide(((x, y), (x, y - 120)))
    telephone.wait_for_function("top => scrollY > top + 50", arg=top)
    np.testing.assert_array_equal(looking.view_box(telephone), full)


def test_a_touch_tells_of_its_cell(telephone):
    telephone.touchscreen.tap(*looking.middle(telephone))
    assert not looking.readout(telephone).startswith("Point at ")
