"""Tell the curator how much of a source lies in the region: exact, for the screen alone. NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from privtrace.observer import Observer
from privtrace.trajectories import Integers


def tell_inside(tallies: Iterable[Integers], observer: Observer) -> None:
    """Put what `Region.tally` counts of parts in words, loudly where nothing is usable or axes seem swapped."""
    tally = sum(tallies, start=np.zeros(6, np.int64))
    n_trajectories, n_inside, inside, outside, bad, swapped = (int(number) for number in tally)
    n_points = inside + outside + bad
    if n_inside == 0:
        observer.nothing_usable()
    seems_swapped = swapped > inside and 2 * inside < n_points
    if seems_swapped:
        observer.note(
            f"{inside:,} of {n_points:,} points lie in the region, and {swapped:,} would if x and y changed "
            "places; are longitude and latitude swapped, in the data or in the region?",
            loud=True,
        )
    elif n_points == 0:
        observer.note("there are no rows in the data; check that the file was written to its end", loud=True)
        return
    elif n_inside == 0:
        observer.note(
            f"0 of {n_points:,} points are usable ({outside:,} are outside the region, {bad:,} are no points "
            "at all); is it the right region, in the data's coordinates, or are longitude and latitude "
            "swapped?",
            loud=True,
        )
        return
    observer.note(
        f"{n_inside:,} of {n_trajectories:,} trajectories and {inside:,} of {n_points:,} points lie in the "
        f"region; {outside:,} points are outside, and {bad:,} are not usable and were dropped"
    )
