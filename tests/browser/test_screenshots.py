"""Keep pictures of the pages, to look at and for README and docs: in $SCREENSHOTS, or in screenshots."""

from __future__ import annotations

import numpy as np
import pytest
from tests.browser import looking

pytestmark = pytest.mark.browser

#: What a README's picture may weigh.
MOST_BYTES = 350_000
MARGIN_PX = 24

#: A window that nothing has to be scrolled in: what is pointed at stays so in the picture.
TALL_PX = 8000


@pytest.mark.parametrize("name", ["release", "evaluation", "comparison"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_whole_pages(visit, demo, screenshots, name, width, scheme):
    page = visit(demo[name], width=width, color_scheme=scheme)
    path = screenshots / f"{name}-{width}-{scheme}.png"
    image = looking.pixels(page.screenshot(path=path, full_page=True))
    assert image.shape[1] == width
    assert len(np.unique(image[::9, ::9].reshape(-1, 3), axis=0)) > 30


@pytest.mark.parametrize(
    ("name", "heading", "picture"),
    [
        ("release", "The model on a map", "release"),
        ("release", "When, how fast, and point by point", "hours"),
        ("evaluation", "Real and synthetic side by side", "evaluation"),
        ("comparison", "Error against epsilon", "comparison"),
    ],
)
def test_crops_for_readme_and_docs(visit, demo, screenshots, name, heading, picture):
    from PIL import Image

    page = visit(demo[name], height=TALL_PX)
    section = page.locator("section", has=page.locator("h2", has_text=heading))
    if section.locator("svg.map").count():
        point_at_something(page)
    path = screenshots / f"{picture}.png"
    page.screenshot(path=path, clip=around(section.bounding_box()))
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(path, optimize=True)
    assert 10_000 < path.stat().st_size < MOST_BYTES


def point_at_something(page):
    """Let the page show what it knows about a cell in the middle of the town."""
    _, _, width, height = looking.view_box(page)
    page.mouse.move(*looking.on_screen(page, (0.62 * width, 0.45 * height)))
    assert not looking.readout(page).startswith("Point at ")


def around(box):
    sizes = {side: box[side] + 2 * MARGIN_PX for side in ("width", "height")}
    return {"x": box["x"] - MARGIN_PX, "y": box["y"] - MARGIN_PX, **sizes}
