"""Set labels beside what they name, none over another, or a key below the picture."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from privtrace.report.plots.marks import INK, Color, Mark, Stroke, Symbol, Text, text_width

#: The height of a line of labels or of a key.
LINE = 15.0
_SWATCH, _BETWEEN = 26.0, 16.0


class Named(NamedTuple):
    """Say how something is drawn, for a key."""

    name: str
    color: Color
    shape: str | None = None  # of a curve, its symbols
    dash: tuple[float, float] | None = None
    width: float = 1.75

    def swatch(self, x: float, y: float) -> Iterator[Mark]:
        """Draw a short piece of it."""
        yield Stroke(((x, y), (x + 20, y)), self.color, self.width, self.dash)
        if self.shape is not None:
            yield Symbol(x + 10, y, self.shape, self.color)


def spread(places: Sequence[float], least: float, low: float, high: float) -> list[float]:
    """Move places apart, each as little as can be, and into the range: spread([1, 1], 2, 0, 9) -> [0, 2].

    If they do not all fit into the range, they reach beyond its end.
    """
    order = sorted(range(len(places)), key=lambda i: places[i])
    runs: list[list[int]] = []  # of places that touch each other

    def start(run: list[int]) -> float:
        wanted = sum(places[i] - rank * least for rank, i in enumerate(run)) / len(run)
        return max(min(wanted, high - (len(run) - 1) * least), low)

    for i in order:
        runs.append([i])
        while len(runs) > 1 and start(runs[-2]) + len(runs[-2]) * least > start(runs[-1]):
            runs[-2:] = [runs[-2] + runs[-1]]
    moved = {i: start(run) + rank * least for run in runs for rank, i in enumerate(run)}
    return [moved[i] for i in range(len(places))]


def key(names: Sequence[Named], left: float, top: float, width: float) -> tuple[list[Mark], float]:
    """Draw a key in lines of this width at most; give its height too."""
    marks: list[Mark] = []
    x, y = left, top + LINE / 2
    for named in names:
        needed = _SWATCH + text_width(named.name)
        if x > left and x + needed > left + width:
            x, y = left, y + LINE + 2
        marks += [*named.swatch(x, y), Text(x + _SWATCH, y + 4, named.name, INK)]
        x += needed + _BETWEEN
    return marks, (y + LINE / 2 - top if names else 0.0)
