"""Tell the curator how much of a source lies in the region: exact, for the screen alone. NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Iterable

from privtrace.observer import Observer
from privtrace.space.area import Tally, added

_NO_ROWS = "the data has no rows; check that the file is complete"
_NONE_BEGINS = (
    "no trip begins in the period. Is it the right period, and are the times read correctly "
    "(--time-format, --time-unit, --timezone)?"
)


def tell_inside(tallies: Iterable[Tally], observer: Observer, in_period: bool = False) -> None:
    """Put the tallies of parts in words, loudly where nothing is usable or axes seem swapped.

    Where only trajectories of a period count, it is no fault of the file that there are none.
    """
    total = added(tallies)
    n_points, n_inside = total.n_points, total.n_inside
    if total.n_reaching == 0:
        observer.nothing_usable()
    seems_swapped = total.n_swapped > n_inside and 2 * n_inside < n_points
    if seems_swapped:
        observer.note(
            f"{n_inside:,} of {n_points:,} points lie in the region, and {total.n_swapped:,} would lie in "
            "it with x and y swapped. Are longitude and latitude swapped, in the data or in the region?",
            loud=True,
        )
    elif n_points == 0:
        observer.note(_NONE_BEGINS if in_period else _NO_ROWS, loud=True)
        return
    elif total.n_reaching == 0:
        observer.note(
            f"0 of {n_points:,} points are usable ({total.n_outside:,} are outside the region, "
            f"{total.n_bad:,} are not valid). Is it the right region, in the same coordinates as the "
            "data? Are longitude and latitude swapped?",
            loud=True,
        )
        return
    observer.note(
        f"{total.n_reaching:,} of {total.n_trajectories:,} trajectories and {n_inside:,} of {n_points:,} "
        f"points lie in the region ({total.n_outside:,} outside, {total.n_bad:,} unusable and dropped)"
    )
