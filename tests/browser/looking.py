"""See a page as its reader does: what it says, where things are on the screen, and in which colors."""

from __future__ import annotations

import io

import numpy as np


def listen(page, heard):
    """Write down whatever a page says, asks or fetches, but for its own file."""
    page.on("console", lambda message: heard.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: heard.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (heard.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: _fetched(page, request, heard))


def _fetched(page, request, heard):
    own = request.is_navigation_request() and request.url.startswith(("file:", "about:"))
    if not own and not request.url.startswith("data:"):
        heard.append(f"request: {request.url}")


def view_boxes(page):
    """Give what each map shows: (n_maps, 4), x, y, width and height in units of the map."""
    texts = page.eval_on_selector_all("svg.map", "maps => maps.map(map => map.getAttribute('viewBox'))")
    return np.array([[float(number) for number in text.split()] for text in texts])


def view_box(page):
    """Give what the maps show, all the same."""
    boxes = view_boxes(page)
    assert (boxes == boxes[0]).all()
    return boxes[0]


def on_screen(page, place, number=0):
    """Find where a place of a map, in its units, is on the screen, scrolling there if need be."""
    svg = page.locator("svg.map").nth(number)
    svg.scroll_into_view_if_needed()
    script = "(map, [x, y]) => { const at = new DOMPoint(x, y).matrixTransform(map.getScreenCTM()); %s }"
    return svg.evaluate(script % "return [at.x, at.y]", [float(place[0]), float(place[1])])


def middle(page, number=0):
    """Find the middle of a map on the screen."""
    x, y, width, height = view_boxes(page)[number]
    return on_screen(page, (x + width / 2, y + height / 2), number)


def readout(page):
    """Read what is shown about the place that is pointed at."""
    return page.locator(".readout").inner_text().replace("\u00a0", " ")


def pixels(png):
    """Decode a picture: (height, width, 3)."""
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def main_colors(png, share=0.002):
    """Count the colors that fill at least a share of a picture each."""
    image = pixels(png).reshape(-1, 3).astype(np.int64)
    _, counts = np.unique(image @ np.array([1 << 16, 1 << 8, 1]), return_counts=True)
    return int(np.sum(counts >= share * len(image)))


# Everything that shows text, with its size and its contrast. Colors of backgrounds shine through from below.
TEXTS = """() => {
  const channels = (color) => {
    const [r, g, b, a] = color.match(/[\\d.]+/g).map(Number);
    return color.startsWith("color(") ? [r * 255, g * 255, b * 255, a ?? 1] : [r, g, b, a ?? 1];
  };
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    if (!element) return [255, 255, 255];
    const [r, g, b, a] = channels(getComputedStyle(element).backgroundColor);
    if (a === 1) return [r, g, b];
    return ground(element.parentElement).map((below, i) => below * (1 - a) + [r, g, b][i] * a);
  };
  const told = [];
  for (const element of document.querySelectorAll("body *")) {
    const parts = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data);
    const text = parts.join("").trim();
    const style = getComputedStyle(element);
    if (!text || !element.checkVisibility() || element.closest("script, style, title")) continue;
    const inSvg = element instanceof SVGElement;
    const scale = inSvg ? Math.hypot(element.getScreenCTM().a, element.getScreenCTM().b) : 1;
    const color = inSvg ? style.fill : style.color;
    const lights = [light(channels(color)), light(ground(element))].sort((a, b) => b - a);
    told.push({
      text: text.slice(0, 40), size: parseFloat(style.fontSize) * scale,
      contrast: (lights[0] + 0.05) / (lights[1] + 0.05),
    });
  }
  return told;
}"""
