"""Judge what may be read from a model: its noisy numbers against their noise, level by level.

It takes noisy numbers and what is known of their noise. It samples and fits nothing, so that it costs nothing
at the end of a fit. Post-processing. How far fitted numbers are off is in `fitted`: that is more than noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from privtrace.methods.view import MARGIN, Layer, Noisy, View, error_of
from privtrace.privacy.epsilon import decimal
from privtrace.privacy.unit import WEIGHT
from privtrace.space.grid import Grid
from privtrace.trajectories import Floats, Integers

if TYPE_CHECKING:
    from privtrace.methods.model import Model

READABLE, BUSY, NOISE = "readable", "only the busy ones", "noise"

#: A number stands out if it is more than so many standard deviations of its noise above zero. So much of
#: Laplace noise does by chance, exp(-3 * sqrt(2)) / 2, and of sums of it less.
_STANDS_OUT, _BY_CHANCE = 3.0, 0.5 * math.exp(-3.0 * math.sqrt(2.0))

#: How many more than expected may stand out by chance, in standard deviations of that number; and how likely
#: noise may be to reach the highest of all.
_MORE_BY_CHANCE, _HIGHEST_BY_CHANCE = 3.0, 0.002

#: A level can be read if the noise of a typical number is at most so much of it.
_MOST_NOISE = 0.3


@dataclass(frozen=True)
class Level:
    """Judge numbers of one kind, such as the visits of coarse cells."""

    kind: str  # "visits", "flows" or "hours"
    name: str  # "Visits of coarse cells"
    verdict: str  # READABLE, BUSY or NOISE
    n_numbers: int
    n_out: int  # those that stand out from their noise
    n_by_chance: float  # as many would if there were nothing but noise
    share: float  # of all trips or visits, in numbers that stand out
    margin: (
        float | None
    )  # of a typical number, by the noise, as a share of it; None if that is lost in the noise
    rests_on: str | None = None  # what was judged instead, where the numbers themselves were not measured

    @property
    def sentence(self) -> str:
        """Put the verdict in words, with its numbers."""
        return f"{self.name}: {self.words}"

    @property
    def words(self) -> str:
        """Say the verdict and why."""
        if self.rests_on is not None:
            return f"{self.verdict}; {self._not_measured}"
        return f"{self.verdict}; {self._counted}{self._typical}."

    @property
    def _not_measured(self) -> str:
        told = f"they were not measured, but follow from {self.rests_on}, of which {self._counted}"
        return f"{told}." if self.verdict == NOISE else f"{told}. Take the largest as rough figures."

    @property
    def _counted(self) -> str:
        s, its = ("s", "its") if self.n_out == 1 else ("", "their")
        out = f"{self.n_out:,} of {self.n_numbers:,} stand{s} out"
        if self.verdict == NOISE:
            return f"{out}, no more than chance gives"
        by_chance = f" (about {self.n_by_chance:,.0f} would by chance)" if self.n_by_chance >= 0.5 else ""
        share = "nearly all" if self.share >= 0.995 else f"{100 * self.share:.0f} %"
        held = f"{share} of the {'visits' if self.kind == 'visits' else 'trips'}"
        return f"{out} from {its} noise{by_chance} and hold{s} {held}"

    @property
    def _typical(self) -> str:
        if self.verdict == NOISE:
            return ""
        if self.margin is None:
            return "; a typical one is lost in the noise"
        return f"; the noise of a typical one is ±{max(100 * self.margin, 0.1):.2g} %"

    def facts(self) -> dict[str, Any]:
        """Say it for a program."""
        return {
            "level": self.name,
            "verdict": self.verdict,
            "numbers": self.n_numbers,
            "stand_out": self.n_out,
            "expected_by_chance": round(self.n_by_chance, 2),
            "share": round(self.share, 3),
            "relative_margin": None if self.margin is None else float(f"{self.margin:.2g}"),
            "judged_by": self.rests_on or "the numbers themselves",
        }


@dataclass(frozen=True, repr=False)
class Usability:
    """Say what may be read from a model, and what not; `print` it to read it."""

    levels: tuple[Level, ...]  # none of a model without trips
    is_empty: bool  # by its noisy or declared count, the data has no trips
    epsilon: Fraction  # of the fit
    private: bool = True  # the fit was charged; seeded noise spends nothing

    @property
    def is_noise(self) -> bool:
        """Tell whether nothing can be read."""
        return self.is_empty or all(level.verdict == NOISE for level in self.levels)

    @property
    def verdict(self) -> str:
        """Sum it up in one or two sentences."""
        if self.is_empty:
            return "By its count there are no trips, so the model makes none, and nothing can be read from it."
        if self.is_noise:
            return "This model is all noise: nothing stands out in it by more than chance gives."
        by_verdict = (
            (
                start,
                [level.name[:1].lower() + level.name[1:] for level in self.levels if level.verdict == verdict],
            )
            for verdict, start in ((READABLE, "Readable"), (BUSY, "Only the busy ones"), (NOISE, "Noise"))
        )
        return " ".join(f"{start}: {', '.join(names)}." for start, names in by_verdict if names)

    @property
    def advice(self) -> tuple[str, ...]:
        """Say what would help a model of which nothing can be read; nothing of others."""
        if not self.is_noise:
            return ()
        help = (
            "What would help: a larger epsilon, more trips, coarser cells, or a smaller region. The command "
            "privtrace plan says what to expect before anything is spent."
        )
        spent = (
            "Another fit of the same data adds to what is spent: with the same epsilon, "
            f"{decimal(2 * self.epsilon)} in all."
        )
        return (help, spent) if self.private else (help,)

    @property
    def warning(self) -> str:
        """Put the verdict on a model of which nothing can be read, and what would help, into one text."""
        return " ".join([self.verdict, *self.advice])

    def best(self, kind: str) -> str | None:
        """Give the best verdict on numbers of a kind; None if the model has none of them."""
        if self.is_empty:
            return NOISE
        verdicts = {level.verdict for level in self.levels if level.kind == kind}
        return next((one for one in (READABLE, BUSY, NOISE) if one in verdicts), None)

    def facts(self) -> dict[str, Any]:
        """Say it for a program."""
        return {
            "verdict": self.verdict,
            "all_noise": self.is_noise,
            "levels": [level.facts() for level in self.levels],
            "advice": [*self.advice],
        }

    def lines(self) -> list[str]:
        """List what there is to say, line by line."""
        return [self.verdict, *(f"  {level.sentence}" for level in self.levels), *self.advice]

    def __repr__(self) -> str:
        return f"Usability({self.verdict})"

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def _repr_html_(self) -> str:
        from privtrace.notebooks import card, line, table

        rows = [(level.name, level.words) for level in self.levels]
        return card(self.verdict, table((), rows, n_words=2), *(line(text) for text in self.advice))


def usability(model: Model) -> Usability:
    """Judge a model from its noisy numbers alone."""
    view, count, release = model.view(), model.count / WEIGHT, model.release
    if not model.n_trajectories:  # what stands out beside such a count says nothing
        return Usability((), True, release.epsilon, release.private)
    levels = [*_visits(view.layers, count), *_flows(view, count), *_hours(model, count)]
    return Usability(tuple(levels), False, release.epsilon, release.private)


def _visits(layers: tuple[Layer, ...], count: float) -> Iterator[Level]:
    """Judge visits of the cells of each layer, by what was measured better: they, or finer cells."""
    for number, layer in enumerate(layers):
        found = [_of(layer.visits), *_sums(layer.grid, layers[number + 1 :])]
        values, errors = min(found, key=lambda one: _relative(*one))
        yield _judged("visits", f"Visits of {layer.name}", values, errors, count)


def _sums(grid: Grid, finer: tuple[Layer, ...]) -> Iterator[tuple[Floats, Floats]]:
    """Add visits of finer cells up in the cells of a grid: numbers and their errors."""
    for layer in finer:
        inside = _holding(grid, layer.grid)
        if inside is not None:
            sums = np.bincount(inside, layer.visits.values, grid.n_cells).astype(np.float64)
            n_added = np.bincount(inside, minlength=grid.n_cells)
            yield sums, layer.visits.error * np.sqrt(np.maximum(n_added, 1))


def _holding(grid: Grid, finer: Grid) -> Integers | None:
    """Find the cell of a grid that holds each cell of a finer one: (n,); None if some lie in several."""
    size = len(grid.divisions)
    column, row, division = finer.places.T
    across, up = ((place + 0.5) / division / len(finer.divisions) * size for place in (column, row))
    coarse_column, coarse_row = across.astype(np.int64), up.astype(np.int64)
    here = grid.divisions[coarse_row, coarse_column].astype(np.int64)
    within = ((up - coarse_row) * here).astype(np.int64) * here + ((across - coarse_column) * here).astype(
        np.int64
    )
    cells = grid.cells[grid.first_slot[coarse_row * size + coarse_column] + within].astype(np.int64)
    if cells.min(initial=0) < 0:
        return None
    outside = (finer.boxes - grid.boxes[cells]) * np.array([-1.0, -1.0, 1.0, 1.0])
    tolerance = 1e-6 * float(np.ptp(grid.boxes, axis=0).max())
    return cells if outside.max(initial=0.0) <= tolerance else None


def _of(noisy: Noisy) -> tuple[Floats, Floats]:
    return noisy.values, np.full(len(noisy.values), noisy.error)


def _relative(values: Floats, errors: Floats) -> float:
    """Compare the noise of numbers with what there is."""
    return float(np.sqrt((errors**2).mean())) / max(float(values.sum()), 1e-9)


def _flows(view: View, count: float) -> Iterator[Level]:
    """Judge trips between different zones; where they were not measured, the starts that they follow from."""
    trips = view.trips
    if trips is not None:
        layer = view.layers[trips.layer].name
        name = f"Flows between {layer if trips.are_of_cells else 'zones of the model'}"
        n = trips.n_groups
        apart = ~np.eye(n, dtype=np.bool_).ravel()
        values = trips.noisy.values[apart]
        if len(values):
            within = float(trips.noisy.values[~apart].sum())
            errors = np.full(len(values), trips.noisy.error)
            yield _judged("flows", name, values, errors, max(count - within, 0.0))
        return
    layer_of_zones = view.layers[view.zones]
    starts = next((one for one in layer_of_zones.numbers if one.name == "starts"), None)
    if starts is not None and layer_of_zones.grid.n_cells > 1:
        name = f"Flows between {layer_of_zones.name}"
        yield _judged("flows", name, *_of(starts), count, f"starts in {layer_of_zones.name} and moves")


def _hours(model: Model, count: float) -> Iterator[Level]:
    """Judge departures by hour of the week, where there are times."""
    timing = model.timing
    if timing is not None and timing.timetable is not None:
        error = error_of(model.release, "departures")
        noisy = Noisy.of("departures", timing.timetable.departures, error)
        yield _judged("hours", "Departures by hour of the week", *_of(noisy), count)


def _judged(
    kind: str, name: str, values: Floats, errors: Floats, count: float, rests_on: str | None = None
) -> Level:
    """Judge numbers by how many stand out, what these hold, and how much noise a typical one has."""
    by_chance = len(values) * _BY_CHANCE
    out = np.flatnonzero(values > _STANDS_OUT * errors)
    out = out[np.argsort(-values[out], kind="stable")]
    # Noise that stands out exceeds its limit by one scale on average; what it adds is taken off again.
    by_noise = float(np.sum(errors)) * _BY_CHANCE * (_STANDS_OUT + math.sqrt(0.5))
    held = np.maximum(np.cumsum(values[out]) - by_noise * np.arange(1, len(out) + 1) / max(len(out), 1), 0.0)
    # As much as there may be: where noise hides the sum, all trips.
    most = float(values.sum()) + MARGIN * math.sqrt(float((errors**2).sum()))
    total = max(min(most, count), float(held[-1]) if len(held) else 0.0, 1e-9)
    share = float(held[-1]) / total if len(held) else 0.0
    half = int(np.searchsorted(held, total / 2))
    margin = MARGIN * float(errors[out[half]] / values[out[half]]) if half < len(out) else None
    if share == 0.0 or _are_by_chance(values[out] / errors[out], len(values)):
        verdict, margin = NOISE, None
    elif margin is not None and margin <= _MOST_NOISE and rests_on is None:
        verdict = READABLE
    else:
        verdict = BUSY
    return Level(kind, name, verdict, len(values), len(out), by_chance, share, margin, rests_on)


def _are_by_chance(heights: Floats, n_numbers: int) -> bool:
    """Tell whether noise alone may give such numbers that stand out, in standard deviations, highest first.

    It hardly gives so many, or one so high. One alone has to be so high: one more than expected is not many.
    """
    expected = n_numbers * _BY_CHANCE
    of_highest = n_numbers * 0.5 * math.exp(-math.sqrt(2.0) * float(heights[0]))
    are_few = len(heights) <= max(expected + _MORE_BY_CHANCE * math.sqrt(expected), 1.0)
    return are_few and of_highest > _HIGHEST_BY_CHANCE
