"""Measure a set of trajectories in one pass, and see whether it can be meant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from privtrace.backends.passes import Passes
from privtrace.errors import DataError
from privtrace.evaluation.frame import Frame
from privtrace.evaluation.metric import Measure
from privtrace.evaluation.traits import Traits
from privtrace.observer import Observer
from privtrace.trajectories import Floats, Integers, Source, Trajectories

#: Data that fills less than this share of the region's width and height is perhaps not meant for it.
_SMALL = 0.05


@dataclass(frozen=True, eq=False)
class Portrait:
    """Hold what is measured of one set in one pass."""

    traits: Mapping[str, Traits]  # by profile
    n_points: Integers  # (n,): points of each trajectory in its run
    tally: Integers  # (6,): as `Region.tally` counts
    extent_m: Floats  # (2,): the greatest x and y of all runs less the least

    def __len__(self) -> int:
        return len(self.n_points)

    def weighing(self, weights: Integers) -> Portrait:
        """Let trajectories count as often as these weights say."""
        return self._changed(weights=weights)

    def ordered(self, order: Integers) -> Portrait:
        """Choose subsets in another random order."""
        return self._changed(order=order)

    def _changed(self, **arrays: Any) -> Portrait:
        return replace(self, traits={name: replace(given, **arrays) for name, given in self.traits.items()})

    def halves(self) -> tuple[Portrait, Portrait]:
        """Divide into two random halves."""
        first, second = next(iter(self.traits.values())).halves()
        return self.weighing(first.weights), self.weighing(second.weights)


def portrait_of(passes: Passes, frame: Frame, measures: Mapping[str, Measure], use: int, text: str) -> Portrait:
    """Measure all that the profiles look at, in one pass over a source."""

    def kernel(part: Trajectories) -> _Part:
        runs = frame.clip(part)
        traits = {name: measure(runs) for name, measure in measures.items()}
        ends = [runs.points.min(axis=0, initial=np.inf), -runs.points.max(axis=0, initial=-np.inf)]
        return _Part(traits, np.diff(runs.offsets), frame.region.tally(part), np.array(ends))

    parts = [*passes.map(kernel, text)] or [kernel(Trajectories.concatenate([], passes.source.crs))]
    n_points = np.concatenate([part.n_points for part in parts])
    tally = np.sum([part.tally for part in parts], axis=0)
    extent_m = -np.min([part.ends_m for part in parts], axis=0).sum(axis=0)
    order = frame.shuffled(len(n_points), use)
    traits = {}
    for name in measures:
        of_parts: list[Any] = [part.traits.pop(name) for part in parts]
        traits[name] = type(of_parts[0]).joined(of_parts, order)
    return Portrait(traits, n_points, tally, extent_m)


class _Part(NamedTuple):
    """Hold what is measured of one part."""

    traits: dict[str, Traits]
    n_points: Integers
    tally: Integers
    ends_m: Floats  # (2, 2): the least x and y, and the greatest, negated


def check(portrait: Portrait, frame: Frame, name: str, observer: Observer) -> None:
    """Refuse a set that cannot be the one that was meant, and warn where it might not be."""
    _, _, inside, outside, bad, swapped = (int(number) for number in portrait.tally)
    n_points = inside + outside + bad
    if swapped > 100 * inside:  # a few points are inside by chance
        raise DataError(
            f"{name}: hardly a point lies in the region, but they would if x and y changed places; longitude "
            "and latitude seem to be swapped. Exchange the names of its columns, or the sides of the region, "
            "which are W,S,E,N"
        )
    if n_points and bad == n_points:
        raise DataError(
            f"{name}: none of its points is one; they are not numbers, or not longitudes from -180 to "
            "180 and latitudes from -90 to 90. Are the columns right? Planar data needs columns x and y, or "
            "--crs planar (crs='planar')"
        )
    if n_points and not inside:
        raise DataError(
            f"{name}: none of its points lies in the region; is it the right region, and is it in the data's "
            "coordinates?"
        )
    if 2 * inside < n_points:
        observer.note(f"{name}: most of its points are outside the region, and do not count", loud=True)
    elif n_points and np.all(
        portrait.extent_m < _SMALL * np.array([frame.region.width_m, frame.region.height_m])
    ):
        observer.note(f"{name}: it fills a small part of the region; are its sides W,S,E,N?", loud=True)


def named(source: Source, role: str) -> str:
    """Name a set in a message."""
    path = getattr(source, "path", None)
    return f"the {role} data" if path is None else f"the {role} data, {path}"
