"""Tell the curator how much of a source lies in the region: exact, for the screen alone. NOT PRIVATE."""

from __future__ import annotations

from collections.abc import Sequence

from privtrace.observer import Observer
from privtrace.space.area import Tally

_NO_ROWS = "the data has no rows; check that the file is complete"
_NONE_BEGINS = (
    "no trip begins in the period. Is it the right period, and are the times read correctly "
    "(--time-format, --time-unit, --timezone)?"
)
_SWAPPED = (
    "Longitude and latitude (x and y) seem to be swapped, in the data or in the region: far more points "
    "would be valid and inside the other way around. Swap the column names with --columns "
    "lon=NAME,lat=NAME (columns), or the bounds of the region, whose order is W,S,E,N"
)
_METERS = (
    "Most coordinates are far beyond 180 degrees, as meters of a projected system are, but the region is in "
    "degrees. Name the system of the data with --crs EPSG:CODE (crs='EPSG:CODE')"
)
_DEGREES = (
    "Most coordinates look like degrees, but those of the region do not. If they are longitude and latitude, "
    "read them so with --crs lonlat (crs='lonlat'), and give the region in degrees"
)
_INVALID = (
    "Most points are not valid: they are missing, not numbers, or impossible as longitude and latitude. Are "
    "these the right columns, in the right coordinate system? `privtrace check` lists what is wrong"
)
_ELSEWHERE = (
    "Almost all valid points lie outside, so the region seems to be elsewhere. Is it the right region, in "
    "the coordinates of the data and in the order W,S,E,N?"
)
_PARTLY = (
    "Most points do not count. Is it the right region, and is it large enough? Choose it from a map, not from "
    "the data"
)
_WASTED = (
    "The points lie close together, as if the data covered {:.1%} of the region: most of it is empty and gets "
    "noise alone. Is the region much larger than the area that the release is about? Choose it from a map, "
    "not from the data"
)

#: Points that have to lie inside after swapping for each one that does now: on the diagonal both are as many.
_CLEARLY_MORE = 10
#: Of so many valid points, fewer than one inside means that the region is elsewhere.
_ALMOST_NONE = 100
#: Of so many trajectories, points that cover less than this share of the region leave most of it empty.
_SOME, _LITTLE = 100, 0.02


def tell_inside(numbers: Sequence[int], observer: Observer, in_period: bool = False) -> None:
    """Put a tally of all parts in words, and name the likely cause, loudly, where most of the data is lost.

    Where only trajectories of a period count, it is no fault of the file that there are none.
    """
    total = Tally(*numbers)
    if total.n_reaching == 0:
        observer.nothing_usable()
    if total.n_points == 0:
        observer.note(_NONE_BEGINS if in_period else _NO_ROWS, loud=True)
        return
    cause = likely_cause(total)
    words = (
        f"{total.n_reaching:,} of {total.n_trajectories:,} trajectories and {total.n_inside:,} of "
        f"{total.n_points:,} points lie in the region ({total.n_outside:,} outside, {total.n_bad:,} unusable "
        "and dropped)"
    )
    observer.note(words if cause is None else f"{words}. {cause}", loud=cause is not None)


def likely_cause(total: Tally) -> str | None:
    """Say why more than half of the points are lost, or the region is, as far as counts can tell; else None."""
    n_points, n_inside = total.n_points, total.n_inside
    if 2 * n_inside >= n_points:
        is_wasted = total.n_reaching >= _SOME and total.covered < _LITTLE
        return _WASTED.format(total.covered) if is_wasted else None
    # The region may be a part of where the data is: swapping need not explain all, but far more than chance.
    is_clear = total.n_swapped > _CLEARLY_MORE * n_inside and _CLEARLY_MORE * total.n_swapped > n_points
    causes = {
        _SWAPPED: is_clear or 2 * total.n_turned > n_points,
        _METERS: 2 * total.n_meters > n_points,
        _DEGREES: 2 * total.n_degrees > n_points,
        _INVALID: 2 * total.n_bad > n_points,
        _ELSEWHERE: _ALMOST_NONE * n_inside < n_inside + total.n_outside,
        _PARTLY: True,
    }
    return next(cause for cause, holds in causes.items() if holds)
