"""Say what trajectories contribute to the count and to the density of a grid. Private until measured."""

from __future__ import annotations

import numpy as np

from privtrace.paths import Paths
from privtrace.privacy.contributions import Contributions, evenly, once
from privtrace.space.region import Region
from privtrace.trajectories import Trajectories


def presence(part: Trajectories, region: Region) -> Contributions:
    """Emit one for each trajectory with a point in the region, to a table of one entry."""
    present = region.reached_by(part)
    return once(np.zeros(np.count_nonzero(present), np.int64), present)


def visits(paths: Paths) -> Contributions:
    """Emit the cells of each path, floor(2**20 / visits) each."""
    return evenly(paths.cells, paths.offsets)
