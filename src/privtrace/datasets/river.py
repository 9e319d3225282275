"""Draw a river: a winding line, points beside it, and which points lie in the water."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from privtrace.datasets.network import Flags
from privtrace.trajectories import Floats

WATER_M = 150.0  # from the middle of the river to either side
SWINGS_M = (230.0, 85.0)  # of a long and a short wave
CALM_M = 5_000.0  # this far from the city, waves are twice as high


@dataclass(frozen=True, eq=False)
class River:
    """Follow a river across the map, along an axis that passes the middle of the city at some distance."""

    direction: float  # of the axis, in radians
    offset_m: float  # of the axis from the middle of the city
    phases: Floats  # (2,): of the long and the short wave
    waves_m: Floats  # (2,): their lengths

    @classmethod
    def draw(cls, rng: np.random.Generator) -> River:
        """Draw a river that flows near the center but not through it."""
        return cls(
            direction=rng.uniform(0, 2 * np.pi),
            offset_m=rng.uniform(1_200, 1_400),
            phases=rng.uniform(0, 2 * np.pi, 2),
            waves_m=rng.uniform([5_500, 2_300], [7_500, 3_000]),
        )

    def place(self, along_m: Floats, gaps_m: Floats) -> Floats:
        """Place points by how far along the axis they are and how far beside the river."""
        slope = self._slope(along_m)
        beside = np.column_stack([-slope, np.ones_like(slope)]) * (gaps_m / np.hypot(1, slope))[:, None]
        placed: Floats = (np.column_stack([along_m, self._course(along_m)]) + beside) @ self._axes()
        return placed

    def gaps_m(self, points: Floats) -> Floats:
        """Give how far points are from the middle of the river, below zero on the right bank."""
        along, across = self._axes() @ points.T
        gaps: Floats = (across - self._course(along)) / np.hypot(1, self._slope(along))
        return gaps

    def crosses(self, starts: Floats, ends: Floats) -> Flags:
        """Tell which straight lines touch the water: one end on each bank, or some part in between in it."""
        shares = np.linspace(0, 1, 9)[:, None, None]
        gaps = np.stack([self.gaps_m(points) for points in starts + shares * (ends - starts)])
        touching: Flags = (np.abs(gaps).min(axis=0) < WATER_M) | (gaps[0] * gaps[-1] < 0)
        return touching

    def _axes(self) -> Floats:
        """Give the unit vectors along and across the axis, a row each."""
        cosine, sine = np.cos(self.direction), np.sin(self.direction)
        return np.array([[cosine, sine], [-sine, cosine]])

    def _course(self, along_m: Floats) -> Floats:
        """Give how far across the river is."""
        waves = np.sin(2 * np.pi * along_m[:, None] / self.waves_m + self.phases) @ SWINGS_M
        course: Floats = self.offset_m + (1 + (along_m / CALM_M) ** 2) * waves
        return course

    def _slope(self, along_m: Floats) -> Floats:
        slope: Floats = (self._course(along_m + 1) - self._course(along_m - 1)) / 2
        return slope
