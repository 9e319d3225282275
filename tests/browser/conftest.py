"""Open the demo's pages, and one that compares methods on its trips, in Debian's Chromium; skip without it."""

from __future__ import annotations

import os
import shutil
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.browser import looking

import privtrace as pt
from privtrace.cli.demo import demo as make_demo

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Demo:
    """Hold what the demo wrote, and a comparison on its trips."""

    model: pt.BridgeTraceModel
    release: Path
    evaluation: Path
    comparison: Path

    def __getitem__(self, name):
        return getattr(self, name)


@pytest.fixture(scope="session")
def browser():
    """Start the system's Chromium; nothing is downloaded."""
    for module in ("playwright.sync_api", "PIL"):
        pytest.importorskip(module, reason="the browser tests need privtrace[browser]; make test-browser")
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if found is None:
        pytest.skip("no Chromium here; make test-browser installs it where apt-get may")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def demo(browser, tmp_path_factory):
    """Run the demo once. It needs the browser, so that nothing is made for tests that skip."""
    folder = tmp_path_factory.mktemp("demo")
    with warnings.catch_warnings():
        warnings.simplefilter("always")  # the demo's noise is fresh: some walks may be cut short, as it tells
        make_demo(output=folder, quiet=True)
    comparison = folder / "comparison-NOT-PRIVATE.html"
    trips = pt.read(folder / "trips.parquet", timezone="Europe/Berlin").collect()[:1500]
    study = pt.compare(
        trips,
        region=pt.Region.parse(str(folder / "region.geojson")),
        methods=["bridgetrace", "privtrace", "adatrace"],
        files={"a <tool> & its file": folder / "synthetic.parquet"},
        epsilons=[0.2, 1, 2],
        runs=2,
    )
    study.report(comparison)
    evaluation = folder / "evaluation-NOT-PRIVATE.html"
    return Demo(pt.load(folder / "city.model"), folder / "release.html", evaluation, comparison)


@pytest.fixture
def visit(browser):
    """Open pages, with the network off; a page that says or fetches anything fails its test."""
    contexts, heard = [], []

    def opened(path: Path | None, *, width: int = 1280, height: int = 900, **options):
        context = browser.new_context(viewport={"width": width, "height": height}, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        looking.listen(page, heard)
        if path is not None:
            page.goto(path.as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert heard == []


@pytest.fixture(scope="session")
def screenshots():
    """Find the folder for pictures: $SCREENSHOTS, or screenshots."""
    folder = Path(os.environ.get("SCREENSHOTS", "screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder
