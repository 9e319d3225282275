"""A page stands alone: it fetches nothing, runs nothing but its own script, and fits into a frame."""

from __future__ import annotations

import pytest
from tests.browser import looking

import privtrace as pt
from privtrace.report.document import page as document

pytestmark = pytest.mark.browser

HOSTILE = "</script></title><img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.mark.parametrize("name", ["release", "evaluation", "comparison"])
def test_a_page_is_its_file_and_nothing_else(visit, demo, name):
    page = visit(None)
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(demo[name].as_uri(), wait_until="networkidle")
    assert [url for url in requests if not url.startswith("data:")] == [demo[name].as_uri()]
    assert page.locator(".js .zoom button").first.is_visible()  # the script ran


def test_the_policy_stops_what_a_page_does_not_bring_along(browser, tmp_path):
    """The guard itself: a page that would load and run things is heard, and does neither."""
    path = tmp_path / "page.html"
    document("A page", ['<img src="http://127.0.0.1:9/x.png" onerror="document.title = 1">']).write(path)
    page, heard = browser.new_page(), []
    looking.listen(page, heard)
    page.goto(path.as_uri())
    assert page.title() == "A page"
    assert any("Content Security Policy" in text for text in heard)
    page.close()


def test_a_hostile_title_is_text_on_a_release_page(visit, demo, tmp_path):
    path = tmp_path / "release.html"
    demo.model.report(path, title=HOSTILE)
    _only_text(visit(path), HOSTILE)


def test_a_hostile_title_is_text_on_an_evaluation_page(visit, city, tmp_path):
    trips, region = city
    evaluation = pt.evaluate(trips[:60], trips[60:120], region=region, profile="mobility")
    report = evaluation.report(tmp_path / "evaluation.html", title=HOSTILE)
    _only_text(visit(report.path), f"NOT PRIVATE: {HOSTILE}")


def _only_text(page, title):
    assert page.title() == title
    assert page.locator("h1").inner_text() == title
    assert page.locator("img").count() == 0


def test_a_page_works_in_the_frame_of_a_notebook(visit, demo):
    page = visit(None)
    page.set_content(f"<!DOCTYPE html><p>A cell above</p>{demo.model.report()._repr_html_()}")
    frame = page.frames[1]
    svg = frame.locator("svg.map")
    svg.scroll_into_view_if_needed()
    assert looking.main_colors(svg.screenshot()) >= 5
    frame.get_by_label("Strongest flows", exact=True).uncheck()
    svg.hover()
    assert looking.readout(frame).startswith("State ")
    assert frame.locator(".cursor").is_visible()
