"""Show results in a notebook: a small piece of HTML that carries its style, for light and dark pages alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

# All colors are the page's own, but for a gray and a red that read well on light and on dark.
_GRAY, _RED = "rgba(128, 128, 128, 0.5)", "#e5383b"
_CELL = f"padding: 0.15em 1em 0.15em 0; border: 0; border-bottom: 1px solid {_GRAY}; vertical-align: top"


def card(title: str, *content: str) -> str:
    """Put content under a title. The title is text, the content HTML."""
    heading = f'<div style="font-weight: bold">{escape(title)}</div>'
    style = f"border-left: 3px solid {_GRAY}; padding: 0.1em 0 0.1em 0.9em; color: inherit; max-width: 70em"
    return "\n".join([f'<div style="{style}">', heading, *content, "</div>"])


def line(text: str, *, red: bool = False) -> str:
    """Set text as a line, in red where nobody may overlook it."""
    return (
        f'<div style="color: {_RED}; font-weight: bold">{escape(text)}</div>'
        if red
        else f"<div>{escape(text)}</div>"
    )


def facts(items: Mapping[str, str]) -> str:
    """Lay out what is known, by name."""
    return table((), items.items(), n_words=2)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, n_words: int) -> str:
    """Lay out a table of text whose first n_words columns are words, and the others numbers."""
    lines = [*([_row(head, "th", n_words)] if head else []), *(_row(row, "td", n_words) for row in rows)]
    style = "border-collapse: collapse; margin: 0.4em 0; background: none; color: inherit"
    return "\n".join([f'<table style="{style}">', *lines, "</table>"])


def folded(summary: str, content: str) -> str:
    """Fold HTML away under a line of text."""
    return f"<details><summary>{escape(summary)}</summary>\n{content}\n</details>"


def _row(cells: Sequence[str], tag: str, n_words: int) -> str:
    sides = ("left" if column < n_words else "right" for column in range(len(cells)))
    made = (
        f'<{tag} style="text-align: {side}; {_CELL}">{escape(cell)}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    )
    return f'<tr style="background: none">{"".join(made)}</tr>'
