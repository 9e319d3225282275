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
    times: Array | None = None  # (n_points,): datetime64, where the source has calendar times

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        # The default would print private points into logs.
        return f"Runs({len(self):,} of {len(self.points):,} points)"
