"""Place one point in each cell of a path, uniform in what of the cell is in the region."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from privtrace.compiling import compiled, inlined
from privtrace.paths import Paths
from privtrace.random import PLACING, philox, uniform
from privtrace.searching import first_above
from privtrace.space.area import is_inside
from privtrace.space.pieces import Pieces
from privtrace.space.region import Region
from privtrace.trajectories import Floats, Trajectories

#: Draws for one point, each thrown away where rounding put it outside; then the cell's center is taken.
_MAX_DRAWS = 100


class Cells(Protocol):
    """Say where cells are: a grid does, or several together."""

    @property
    def region(self) -> Region:
        """Give the public area."""
        ...

    @property
    def boxes(self) -> Floats:
        """Give each cell's west, south, east and north: (n_cells, 4)."""
        ...

    @property
    def pieces(self) -> Pieces:
        """Give what of each cell is in the region."""
        ...


def decode(paths: Paths, places: Cells, first_trajectory: int, seed: int) -> Trajectories:
    """Turn paths into trajectories; a point depends on the seed, its trajectory's number and its step alone."""
    points = _place(
        paths.cells,
        paths.offsets,
        places.boxes,
        places.pieces,
        places.region.area,
        first_trajectory,
        np.uint64(seed),
    )
    assert places.region.crs is not None
    return Trajectories(points, paths.offsets, crs=places.region.crs)


@compiled
def _place(cells, offsets, boxes, pieces, area, first_trajectory, seed):  # type: ignore[no-untyped-def]
    points = np.empty((len(cells), 2))
    is_box, turn = area.is_box, area.turn
    for path in range(len(offsets) - 1):
        trajectory = np.uint64(first_trajectory + path)
        for p in range(offsets[path], offsets[path + 1]):
            cell, step = cells[p], np.uint64(p - offsets[path])
            words = philox(seed, trajectory, step, np.uint64(PLACING))
            shares = uniform(words[0]), uniform(words[1])
            if is_box:
                x, y = in_box(boxes[cell], shares)
            else:
                x, y = in_piece(cell, shares, boxes, pieces)
                for draw in range(1, _MAX_DRAWS):
                    if is_inside(x, y, area):
                        break
                    # Rounding put it outside. Odd purposes are this one's: walking has an even one.
                    words = philox(seed, trajectory, step, np.uint64(PLACING + 2 * draw))
                    x, y = in_piece(cell, (uniform(words[0]), uniform(words[1])), boxes, pieces)
                else:
                    x, y = pieces.centers[cell, 0], pieces.centers[cell, 1]
            points[p, 0] = x - turn if x > 180.0 else x
            points[p, 1] = y
    return points


@inlined
def in_box(box, shares):  # type: ignore[no-untyped-def]
    """Turn two shares into a point of a box."""
    x, y = box[0] + shares[0] * (box[2] - box[0]), box[1] + shares[1] * (box[3] - box[1])
    return min(x, box[2]), min(y, box[3])


@compiled
def in_piece(cell, shares, boxes, pieces):  # type: ignore[no-untyped-def]
    """Turn two shares into a point of a cell: in its box, or in a trapezoid of its piece chosen by area."""
    first, last = pieces.offsets[cell], pieces.offsets[cell + 1]
    if first == last:
        return in_box(boxes[cell], shares)
    target = shares[1] * pieces.cumulative[last - 1]
    t = min(first + first_above(pieces.cumulative[first:last], target), last - 1)
    before = pieces.cumulative[t - 1] if t > first else 0.0
    share = (target - before) / (pieces.cumulative[t] - before)  # uniform again, within the trapezoid
    south, north, west0, west1, east0, east1 = pieces.trapezoids[t]
    width0, width1 = east0 - west0, east1 - west1
    # The height below which this share of the area lies, written so that nothing cancels.
    root = np.sqrt(width0 * width0 + share * (width1 * width1 - width0 * width0))
    up = share * (width0 + width1) / (width0 + root) if share > 0 else 0.0
    west, east = west0 + up * (west1 - west0), east0 + up * (east1 - east0)
    return west + shares[0] * (east - west), south + up * (north - south)
