"""Say what connected paths contribute to tables of lengths and of moves to neighbors. Private until measured.

A connected path moves from neighbor to neighbor, so it has at least the cells of a shortest path between its
ends. Those it has beyond that are its extra cells. A trip within a cell has two at least, the cell and the cell
again: a path that never leaves it has no extra cell, and one that leaves it and comes straight back has one.

The table of moves to neighbors, for connected paths, has a row of eight entries for each cell, one for each of
`DIRECTIONS`. Those that would lead out of the region stay empty, and get noise like all others.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled
from privtrace.methods.common.counts import ends
from privtrace.paths import Paths
from privtrace.privacy.contributions import Contributions, once
from privtrace.privacy.unit import WEIGHT
from privtrace.space.shortest_paths import ShortestPaths


def lengths(paths: Paths, distances: npt.NDArray[np.int16], max_extra: int) -> Contributions:
    """Emit the extra cells of each path, by the distance of its ends: (most distance + 1, max_extra + 1).

    `distances` are `graph_distances`. The last column holds max_extra or more. Paths are connected.
    """
    starts, goals, present = ends(paths)
    distance = distances[starts, goals].astype(np.int64)
    extra = np.maximum(np.diff(paths.offsets)[present] - np.maximum(distance + 1, 2), 0)
    return once(distance * (max_extra + 1) + np.minimum(extra, max_extra), present)


def to_neighbors(paths: Paths, shortest: ShortestPaths) -> Contributions:
    """Emit moves to neighbors, floor(2**20 / moves) each, to the table (n_cells, 8).

    Paths must be connected. Those of one cell have no move.
    """
    return Contributions(*_to_neighbors(paths.cells, paths.offsets, shortest.neighbors, WEIGHT))


@compiled
def _to_neighbors(cells, offsets, neighbors, weight):  # type: ignore[no-untyped-def]
    codes, weights = np.empty(len(cells), np.int64), np.empty(len(cells), np.int32)
    emitted = np.zeros(len(offsets), np.int64)
    n_directions, n_emitted = neighbors.shape[1], 0
    for path in range(len(offsets) - 1):
        n_moves = offsets[path + 1] - offsets[path] - 1
        for p in range(offsets[path], offsets[path + 1] - 1):
            now = np.int64(cells[p])
            for direction in range(n_directions):
                if neighbors[now, direction] == cells[p + 1]:
                    codes[n_emitted] = now * n_directions + direction
                    weights[n_emitted] = weight // n_moves
                    n_emitted += 1
        emitted[path + 1] = n_emitted
    return codes[:n_emitted], weights[:n_emitted], emitted
