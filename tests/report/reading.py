"""Read pages as a browser does, and make small data to draw them from."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import Any

import numpy as np
from tests.conftest import trajectories

import privtrace as pt

VOID = {"meta", "link", "img", "input", "br"}  # elements that have no end
BOX = (0.0, 0.0, 10.0, 10.0)


@dataclass
class Element:
    """Hold an element with its attributes, and all that is in it."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Give what a reader sees in it, spaces as one."""
        return " ".join("".join(self._texts()).split())

    def _texts(self) -> list[str]:
        if self.tag in ("script", "style"):
            return []
        return [
            child if isinstance(child, str) else f" {child.text} " if child.tag in _BLOCKS else child.text
            for child in self.children
        ]

    @property
    def source(self) -> str:
        """Give the text of a script or a style."""
        (text,) = self.children
        assert isinstance(text, str)
        return text

    def all(self, tag: str, css: str | None = None) -> list[Element]:
        """Find the elements of a kind in it, in their order; `css` is a class."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                fits = tag in ("*", child.tag) and (css is None or css in child.classes)
                found += [child] if fits else []
                found += child.all(tag, css)
        return found

    @property
    def classes(self) -> list[str]:
        return (self.attributes.get("class") or "").split()

    def section(self, heading: str) -> Element:
        """Find a section by its heading."""
        (found,) = (section for section in self.all("section") if section.all("h2")[0].text == heading)
        return found


#: Elements that set what is in them apart from what is around them.
_BLOCKS = {"p", "td", "th", "tr", "dt", "dd", "div", "li", "h1", "h2", "h3", "summary", "figcaption", "br"}


class _Parser(HTMLParser):
    """Build the tree, and check that elements close in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert len(attributes) == len(dict(attributes)), f"{tag}: an attribute stands twice"
        element = Element(tag, dict(attributes))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, dict(attributes)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read(html: str) -> Element:
    """Read a page that must be well formed."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    (root,) = parser.open
    return root


def map_data(page: Element) -> dict[str, Any]:
    """Read what the script is told about the maps."""
    (script,) = (script for script in page.all("script") if script.attributes)
    data: dict[str, Any] = json.loads(script.source, parse_constant=_refuse)
    return data


def _refuse(word: str) -> None:
    raise AssertionError(f"{word} is no JSON")


def rows(table: Element) -> list[list[str]]:
    """List the rows of a table, cell by cell."""
    return [[cell.text for cell in row.children if isinstance(cell, Element)] for row in table.all("tr")]


def walks(
    count: int, box: tuple[float, ...] = BOX, *, seed: int = 1, crs: str = "planar", steps: int = 8
) -> pt.Trajectories:
    """Make random walks of 1 to `steps` points that begin in a box."""
    rng = np.random.default_rng(seed)
    west, south, east, north = box
    lists = []
    for _ in range(count):
        moves = np.cumsum(rng.normal(0, (east - west) / 12, (rng.integers(1, steps + 1), 2)), axis=0)
        lists.append([tuple(point) for point in rng.uniform((west, south), (east, north)) + moves])
    return trajectories(*lists, crs=crs)  # type: ignore[arg-type]


def fitted(settings: Any, data: pt.Trajectories) -> Any:
    """Fit with noise that repeats, and claim that it does not, so that the page is that of a private model."""
    model = settings.fit(data, noise=pt.SeededNoise(7))
    return replace(model, release=replace(model.release, private=True))
