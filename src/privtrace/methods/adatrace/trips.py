"""Clean noisy trips into a table to draw from, in integers. Post-processing."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privtrace.methods.common.normcut import normcut, shrunk
from privtrace.trajectories import Integers


def clean_trips(noisy: Integers, distances: npt.NDArray[np.int16]) -> Integers:
    """Empty trips between cells that no path joins, then clean all others together: (m, m), maybe all zero.

    Together, because most pairs of cells are empty: what noise puts there it takes away elsewhere, and NormCut
    keeps the total. `distances` are `graph_distances`.
    """
    joined = np.where(distances >= 0, noisy, 0)
    return normcut(shrunk(joined).reshape(1, -1)).reshape(noisy.shape)
