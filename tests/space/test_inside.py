"""What the curator hears of the likely cause, where most of the data is lost."""

from __future__ import annotations

import numpy as np
import pytest
from tests.conftest import trajectories

import privtrace as pt
from privtrace.observer import Silent
from privtrace.space.area import Tally
from privtrace.space.inside import likely_cause, tell_inside

#: Counts of 1,000 points, and a word of what they mean.
CAUSES = [
    (Tally(n_inside=500, n_outside=500, n_swapped=1000, n_meters=500), None),
    (Tally(n_inside=499, n_outside=501), "large enough"),
    (Tally(n_inside=10, n_outside=990, n_swapped=110), "seem to be swapped"),
    (Tally(n_inside=0, n_outside=1000, n_swapped=100), "elsewhere"),
    (Tally(n_inside=10, n_outside=990, n_swapped=100), "large enough"),  # ten times as many may be chance
    (Tally(n_inside=400, n_outside=600, n_swapped=400), "large enough"),  # as on the diagonal
    (Tally(n_outside=499, n_bad=501, n_turned=501), "seem to be swapped"),
    (Tally(n_outside=501, n_bad=499, n_turned=499), "elsewhere"),
    (Tally(n_outside=499, n_bad=501, n_meters=501), "meters of a projected system"),
    (Tally(n_outside=1000, n_degrees=501), "look like degrees"),
    (Tally(n_outside=1000, n_degrees=499), "elsewhere"),
    (Tally(n_inside=400, n_outside=1, n_bad=599), "not valid"),
    (Tally(n_inside=9, n_outside=991), "elsewhere"),
    (Tally(n_inside=10, n_outside=990), "large enough"),
    (Tally(n_reaching=100, n_inside=1000), "as if the data covered 0.0% of the region"),
    (Tally(n_reaching=99, n_inside=1000), None),
]


@pytest.mark.parametrize(("total", "word"), CAUSES)
def test_counts_name_the_likely_cause(total: Tally, word: str | None) -> None:
    cause = likely_cause(total)
    assert cause is None if word is None else cause is not None and word in cause


class Noting(Silent):
    def __init__(self) -> None:
        self.notes: list[tuple[str, bool]] = []

    def note(self, text: str, *, loud: bool = False) -> None:
        self.notes.append((text, loud))


def test_data_that_lies_alike_both_ways_is_not_called_swapped() -> None:
    """Points all around the diagonal are in a box beside it as often as their mirror images are."""
    points = np.random.default_rng(2).uniform(0, 30, (3000, 2))
    given = trajectories(*points.reshape(-1, 10, 2))
    noting = Noting()
    tell_inside(pt.Region.box(20, 0, 30, 10, crs="planar").tally(given), noting)
    ((text, loud),) = noting.notes
    assert loud and "swapped" not in text and "large enough" in text
