"""Hold runs: trajectories after clipping, in meters instead of coordinates.

Runs of real trajectories are still private data.
"""

from __future__ import annotations

from dataclasses import dataclass

from privtrace.trajectories import Array, Floats, Integers


@dataclass(frozen=True, eq=False)
class Runs:
    """Hold the longest run of each trajectory in the region.

    A run may be empty: its trajectory had no point in the region.
    """

    points: Floats  # (n_points, 2): meters to the east and north of the box's southwest corner
    offsets: Integers  # (n_runs + 1,): run r is points[offsets[r]:offsets[r + 1]]
    all_times: Array | None = None  # datetime64, where the source has calendar times, also of what is left out
    places: Integers | None = None  # (n_points,): where the points stand among these; as they are if None

    @property
    def times(self) -> Array | None:
        """Take out the times of the points, (n_points,): most passes need none."""
        return self.all_times if self.all_times is None or self.places is None else self.all_times[self.places]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        # The default would print private points into logs.
        return f"Runs({len(self):,} of {len(self.points):,} points)"
