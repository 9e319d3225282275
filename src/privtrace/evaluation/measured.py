"""Hold what is measured of a set of trajectories, and see whether it can be the set that was meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from privtrace.compiling import compiled
from privtrace.errors import DataError
from privtrace.evaluation.frame import Frame
from privtrace.evaluation.metric import Measure
from privtrace.evaluation.traits import Joining, Traits
from privtrace.observer import Observer
from privtrace.space.area import Tally, added
from privtrace.trajectories import Floats, Integers, Trajectories

#: Which of the two sets that are compared.
Role: TypeAlias = Literal["real", "synthetic"]

#: Data that fills less than this share of the region's width and height is perhaps not meant for it.
_SMALL = 0.05


class MeasuredPart(NamedTuple):
    """Hold what is measured of one part."""

    traits: dict[str, Traits]  # by profile
    n_points: Integers  # (n,): points of each trajectory in its run
    tally: Tally
    ends_m: Floats  # (2, 2): the least x and y, and the greatest, negated

    @classmethod
    def of(cls, part: Trajectories, frame: Frame, measures: Mapping[str, Measure]) -> MeasuredPart:
        """Measure what all profiles look at. A kernel: it is pure, and runs on one thread."""
        runs = frame.clip(part)
        traits = {name: measure(runs) for name, measure in measures.items()}
        return cls(traits, np.diff(runs.offsets), frame.region.tally(part), _ends_m(runs.points))


@compiled
def _ends_m(points):  # type: ignore[no-untyped-def]
    ends = np.full((2, 2), np.inf)
    for p in range(len(points)):
        for axis in range(2):
            ends[0, axis] = min(ends[0, axis], points[p, axis])
            ends[1, axis] = min(ends[1, axis], -points[p, axis])
    return ends


@dataclass(frozen=True, eq=False)
class MeasuredSet:
    """Hold what is measured of one set in one pass: traits, and no points. NOT PRIVATE."""

    traits: Mapping[str, Traits]  # by profile
    n_points: Integers  # (n,): points of each trajectory in its run
    tally: Tally
    extent_m: Floats  # (2,): the greatest x and y of all runs less the least
    path: str | None  # of its file, if it has one

    def __len__(self) -> int:
        return len(self.n_points)

    def weighing(self, weights: Integers) -> MeasuredSet:
        """Let trajectories count as often as these weights say."""
        return self._changed(weights=weights)

    def ordered(self, order: Integers) -> MeasuredSet:
        """Choose subsets in another random order."""
        return self._changed(order=order)

    def _changed(self, **arrays: Any) -> MeasuredSet:
        return replace(self, traits={name: replace(given, **arrays) for name, given in self.traits.items()})

    def halves(self) -> tuple[MeasuredSet, MeasuredSet]:
        """Divide into two random halves."""
        first, second = next(iter(self.traits.values())).halves()
        return self.weighing(first.weights), self.weighing(second.weights)

    def to_dict(self) -> dict[str, Any]:
        """Describe the set: its file and exact numbers, ready for JSON."""
        return {
            "path": self.path,
            "trajectories": self.tally.n_trajectories,
            "in_region": len(self),
            "points": self.tally.n_points,
            "points_in_region": self.tally.n_inside,
            "bad_points": self.tally.n_bad,
            "has_times": None if "time" not in self.traits else self.has_times,
            "untimed_points": self._timed.n_untimed.sum().item() if self.has_times else None,
        }

    @property
    def has_times(self) -> bool:
        """Tell whether a trajectory has a usable time, or there is none at all; False where nobody looked.

        The trajectories tell, and not the columns: a column of times may hold none.
        """
        if "time" not in self.traits:
            return False
        return not self._timed.size or bool(np.any(self._timed.weights[self._timed.hour >= 0]))

    @property
    def _timed(self) -> Any:
        return self.traits["time"]


class JoiningParts:
    """Join what was measured of parts while they come."""

    def __init__(self) -> None:
        self._traits = Joining()
        self._n_points: list[Integers] = []
        self._tallies: list[Tally] = []
        self._ends_m: list[Floats] = []

    def add(self, part: MeasuredPart) -> None:
        """Append what was measured of a part."""
        self._traits.add(part.traits)
        self._n_points.append(part.n_points)
        self._tallies.append(part.tally)
        self._ends_m.append(part.ends_m)

    def __len__(self) -> int:
        """Count the parts."""
        return len(self._tallies)

    def finish(self, frame: Frame, use: int, path: str | None) -> MeasuredSet:
        """Give what was measured of all parts, at least one."""
        n_points = np.concatenate(self._n_points)
        extent_m = -np.min(self._ends_m, axis=0).sum(axis=0)
        traits = self._traits.finish(frame.shuffled(len(n_points), use))
        return MeasuredSet(traits, n_points, added(self._tallies), extent_m, path)


def check(measured: MeasuredSet, role: Role, frame: Frame, observer: Observer) -> None:
    """Refuse a set that cannot be the one that was meant, and warn where it might not be."""
    name = f"the {role} data" if measured.path is None else f"the {role} data, {measured.path}"
    n_points, n_inside = measured.tally.n_points, measured.tally.n_inside
    if measured.tally.n_swapped > 100 * n_inside:  # a few points are inside by chance
        raise DataError(
            f"{name}: almost no points lie in the region, but most would with x and y swapped. Longitude "
            "and latitude seem to be swapped: swap the column names, or the bounds of the region (the "
            "order is W,S,E,N)"
        )
    if n_points and measured.tally.n_bad == n_points:
        raise DataError(
            f"{name}: it has no valid points: they are not numbers, or not longitudes from -180 to 180 "
            "and latitudes from -90 to 90. Are the columns right? Planar data needs columns x and y, or "
            "--crs planar (crs='planar')"
        )
    if n_points and not n_inside:
        raise DataError(
            f"{name}: none of its points lies in the region. Is it the right region, in the same "
            "coordinates as the data?"
        )
    if 2 * n_inside < n_points:
        observer.note(f"{name}: most of its points are outside the region and do not count", loud=True)
    elif n_points and np.all(
        measured.extent_m < _SMALL * np.array([frame.region.width_m, frame.region.height_m])
    ):
        observer.note(
            f"{name}: it fills only a small part of the region. Are the region's bounds in the order W,S,E,N?",
            loud=True,
        )
    if len(measured):
        return
    if role == "real":
        raise DataError(f"{name}: there are no trips to compare with")
    observer.note(f"{name}: it is empty; the scores are those of an empty data set", loud=True)
