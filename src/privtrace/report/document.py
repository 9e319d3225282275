"""Make a page: one HTML file with its style and script inside, that loads nothing and needs a browser alone."""

from __future__ import annotations

import math
import os
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from privtrace.errors import OutputError
from privtrace.report import colors
from privtrace.space.region import Region
from privtrace.storage.atomic import Target, check_target, replacing


@dataclass(frozen=True)
class Report:
    """Hold a page; in a notebook it shows itself."""

    title: str
    html: str = field(repr=False)
    path: Path | None = None  # where it was written, if it was

    def _repr_html_(self) -> str:
        """Show the page in a frame of its own, where its style cannot meet the notebook's."""
        frame = "width: 100%; height: 50rem; border: 0"
        return f'<iframe title="{escape(self.title)}" style="{frame}" srcdoc="{escape(self.html)}"></iframe>'

    def write(self, path: str | os.PathLike[str], *, force: bool = False) -> Report:
        """Write the page as one file; it appears whole or not at all."""
        with replacing(check_page(path, force)) as temporary:
            temporary.write_bytes(self.html.encode())
        return Report(self.title, self.html, Path(path))


def check_page(path: str | os.PathLike[str], force: bool) -> Target:
    """Refuse where no page can be written, as one may before long work; return where it will be."""
    if Path(path).suffix.lower() not in (".html", ".htm"):
        raise OutputError(
            f"{path}: a page is HTML; give a path that ends in .html (your browser can print it to PDF)"
        )
    return check_target(path, force)


#: What stands in the name of every file that shows real data.
MARK = "NOT-PRIVATE"


def marked(path: str | os.PathLike[str]) -> str | os.PathLike[str]:
    """Put the mark into a file's name, unless it is there: evaluation.html -> evaluation-NOT-PRIVATE.html."""
    plain = Path(path)
    has_mark = MARK in plain.name.upper().replace("_", "-").replace(" ", "-")
    return path if has_mark else plain.with_name(f"{plain.stem}-{MARK}{plain.suffix}")


def page(title: str, sections: Iterable[str]) -> Report:
    """Put sections together on a page. Titles are text; sections are HTML."""
    style, script = _asset("page.css") + colors.style(), _asset("page.js")
    digest = b64encode(sha256(script.encode()).digest()).decode()
    html = _PAGE.format(
        title=escape(title), style=style, script=script, digest=digest, body="\n".join(sections)
    )
    return Report(_writable(title), _writable(html))


def _writable(text: str) -> str:
    """Put a question mark for what no file can hold, such as bytes of a command line that are no text."""
    return text.encode(errors="replace").decode()


@cache
def _asset(name: str) -> str:
    return files("privtrace.report").joinpath("assets", name).read_text(encoding="utf-8")


# The policy lets a browser load nothing at all and run the one script of the page.
_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy"
  content="default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}
</style>
</head>
<body>
<main>
{body}
</main>
<script>{script}</script>
</body>
</html>
"""


def red_heading(kicker: str, title: str, alarm: str, lead: str) -> str:
    """Head a page that shows real data, in red: its kind, its title, what not to do with it, a summary."""
    return f"""<header class="red">
<p class="kicker">{escape(kicker)}</p>
<h1><em>NOT PRIVATE</em>: {escape(title)}</h1>
<p class="alarm">{escape(alarm)}</p>
{paragraph(lead, "lead")}
</header>"""


def section(heading: str, *content: str) -> str:
    """Begin a section with its heading, which is text."""
    return "\n".join(["<section>", f"<h2>{escape(heading)}</h2>", *content, "</section>"])


def paragraph(text: str, css: str = "") -> str:
    """Set text as a paragraph, of a class of the style sheet."""
    return f'<p class="{css}">{escape(text)}</p>' if css else f"<p>{escape(text)}</p>"


def bullets(items: Iterable[str]) -> str:
    """Set texts as a list."""
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    foot: Sequence[str] = (),
    *,
    n_words: int,
    are_long: bool = False,
) -> str:
    """Lay out a table of text whose first n_words columns are words, and the others numbers."""
    names = [Cell(name, number=column >= n_words) for column, name in enumerate(head)]
    lines = [[Cell(escape(text), cell.number) for text, cell in zip(row, names, strict=True)] for row in rows]
    ending = [Cell(escape(text), cell.number) for text, cell in zip(foot, names, strict=True)] if foot else []
    return table_of(names, lines, ending, are_long=are_long)


class Cell(NamedTuple):
    """Hold what stands in one place of a table."""

    html: str
    number: bool = False  # set to the right


def numbers(*texts: str) -> list[Cell]:
    """Make cells of numbers."""
    return [Cell(text, number=True) for text in texts]


def table_of(
    head: Sequence[Cell],
    rows: Iterable[Sequence[Cell]],
    foot: Sequence[Cell] = (),
    *,
    are_long: bool = False,
) -> str:
    """Lay out a table, whose heads are text. The first cell of a row names it; one cell alone heads a group.

    On a telephone rows of more than three cells are stacked, and each cell says what it is: two numbers stand
    side by side, if they are not long.
    """
    names = "".join(f'<th scope="col"{_css(cell)}>{escape(cell.html)}</th>' for cell in head)
    body = "\n".join(_row(row, head) for row in rows)
    ending = f"\n<tfoot>{_row(foot, head)}</tfoot>" if foot else ""
    stacked = f' class="stack{" long" if are_long else ""}"' if len(head) > 3 else ""
    return f"""<table{stacked}>
<thead><tr>{names}</tr></thead>
<tbody>
{body}
</tbody>{ending}
</table>"""


def _row(row: Sequence[Cell], head: Sequence[Cell]) -> str:
    first, *others = row
    if not others:
        return f'<tr class="group"><th scope="colgroup" colspan="{len(head)}">{first.html}</th></tr>'
    cells = "".join(
        f'<td{_css(cell)} data-name="{escape(name.html)}">{cell.html}</td>'
        for cell, name in zip(others, head[1:], strict=True)
    )
    return f'<tr><th scope="row"{_css(first)}>{first.html}</th>{cells}</tr>'


def _css(cell: Cell) -> str:
    return ' class="n"' if cell.number else ""


def answers(items: Iterable[tuple[str, str]]) -> str:
    """Lay out questions and answers; an answer that says NOT PRIVATE is red."""
    tones = ("", ' class="red-text"')
    lines = (
        f"<div><dt>{escape(question)}</dt><dd{tones['NOT PRIVATE' in answer]}>{escape(answer)}</dd></div>"
        for question, answer in items
    )
    return '<dl class="answers">\n' + "\n".join(lines) + "\n</dl>"


def facts(items: Mapping[str, str]) -> str:
    """Lay out a few key figures in a strip."""
    lines = (f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in items.items())
    return '<dl class="facts">' + "".join(lines) + "</dl>"


def folded(summary: str, content: str) -> str:
    """Fold content away under a line of text."""
    return f"<details><summary>{escape(summary)}</summary>\n{content}\n</details>"


def percent(share: float) -> str:
    """Write a share for a reader: 0.001 -> 0.1 %; of nothing there is none."""
    if math.isnan(share):
        return "none"
    return f"{100 * share:.2g} %" if abs(share) < 0.995 else f"{100 * share:.0f} %"


def distance(distance_m: float, region: Region) -> str:
    """Write a distance for a reader; nobody said that a planar unit is a meter. Nothing has none."""
    if math.isnan(distance_m):
        return "none"
    if not region.in_meters:
        return f"{plain(distance_m, 4)} units"
    return f"{plain(distance_m / 1000, 3)} km" if distance_m >= 1000 else f"{plain(distance_m, 3)} m"


def duration(seconds: float) -> str:
    """Write a time for a reader, in seconds, minutes, hours or days. Nothing has none."""
    if math.isnan(seconds):
        return "none"
    names = ((86_400, "days"), (3600, "h"), (60, "min"), (1, "s"))
    size, name = next(((size, name) for size, name in names if seconds >= 2 * size), names[-1])
    return f"{plain(seconds / size, 3)} {name}"


def speed(meters_per_second: float, region: Region) -> str:
    """Write a speed for a reader, in kilometers per hour or planar units per second. Nothing has none."""
    if math.isnan(meters_per_second):
        return "none"
    if not region.in_meters:
        return f"{plain(meters_per_second, 3)} units/s"
    return f"{plain(3.6 * meters_per_second, 3)} km/h"


def plain(value: float, digits: int) -> str:
    """Write a number with so many digits that matter, never as a power of ten: 24000 -> 24,000."""
    return f"{float(f'{value:.{digits}g}'):,.15g}"


def amount(number: float) -> str:
    """Write a fitted number of trips: three digits that matter, and no more than one after the point."""
    return plain(short(number), 3)


def short(number: float) -> float:
    """Round a fitted number of trips as pages write it; whole numbers are whole, as they are shorter."""
    rounded = round(number, 1) if abs(number) < 10 else float(f"{number:.3g}")
    return int(rounded) if rounded.is_integer() else rounded


def between(number: float, low: float, high: float) -> str:
    """Write a fitted number of trips with its bounds."""
    return f"{amount(number)} ({amount(low)} to {amount(high)})"


def extent(region: Region) -> str:
    """Say how wide and high a region is."""
    return f"{distance(region.width_m, region)} by {distance(region.height_m, region)}"
