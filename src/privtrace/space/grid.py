"""Partition the region: K x K coarse cells, each cut into its own number of fine cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.sparse import csr_array

from privtrace.paths import Paths
from privtrace.space.region import Region, is_bad, longest_run
from privtrace.trajectories import Floats, Integers, Trajectories

#: Pairs of cells compared at once, to bound memory.
_PAIRS = 1 << 22


@dataclass(frozen=True, eq=False)
class Grid:
    """Cut a region into cells, numbered coarse cell by coarse cell, each from south to north, west to east.

    A coarse cell with division d holds d x d fine cells, so a uniform grid has all divisions 1.
    """

    region: Region
    divisions: npt.NDArray[np.int32]  # (K, K), row from the south, column from the west; at least 1

    @classmethod
    def uniform(cls, region: Region, n_per_side: int) -> Grid:
        """Cut into n_per_side x n_per_side equal cells."""
        return cls(region, np.ones((n_per_side, n_per_side), np.int32))

    @cached_property
    def first_cell(self) -> Integers:
        """Number the first fine cell of each coarse cell, and the end: (K * K + 1,)."""
        return np.concatenate([[0], np.cumsum(self.divisions.ravel().astype(np.int64) ** 2)])

    @property
    def n_cells(self) -> int:
        """Count the cells."""
        return int(self.first_cell[-1])

    def encode(self, part: Trajectories) -> Paths:
        """Turn each trajectory into the path of cells of its longest run in the region.

        A run is a stretch of consecutive points inside; the longest has most points, the first on a tie. Bad
        points count as absent. Consecutive points in one cell are one visit. A trajectory with no point inside
        has an empty path.
        """
        cells, offsets = _encode(
            part.points,
            part.offsets,
            self.region.sides,
            self.region.limits,
            self.divisions,
            self.first_cell,
        )
        return Paths(cells, offsets)

    @cached_property
    def _places(self) -> Integers:
        """Place each cell on its coarse cell's lattice: column, row, division, (n_cells, 3).

        A cell spans [column, column + 1] / division in units of coarse cells, and so for rows: integers, by
        which touching is decided without rounding.
        """
        size = self.divisions.shape[0]
        division = np.repeat(self.divisions.ravel().astype(np.int64), np.diff(self.first_cell))
        coarse = np.repeat(np.arange(size * size), np.diff(self.first_cell))
        within = np.arange(self.n_cells) - self.first_cell[coarse]
        column = coarse % size * division + within % division
        row = coarse // size * division + within // division
        return np.stack([column, row, division], axis=1)

    @cached_property
    def boxes(self) -> Floats:
        """Give each cell's west, south, east and north, in the region's coordinates: (n_cells, 4)."""
        region, size = self.region, self.divisions.shape[0]
        column, row, division = self._places.T
        width = (region.east - region.west) / size
        height = (region.north - region.south) / size
        boxes: Floats = np.stack(
            [
                region.west + width * (column / division),
                region.south + height * (row / division),
                region.west + width * ((column + 1) / division),
                region.south + height * ((row + 1) / division),
            ],
            axis=1,
        )
        # Rounding must not push a cell, and so a point, over the region's edge.
        np.clip(boxes, np.tile(region.sides[:2], 2), np.tile(region.sides[2:], 2), out=boxes)
        return boxes

    @cached_property
    def centers_m(self) -> Floats:
        """Give each cell's center in meters from the region's southwest corner: (n_cells, 2)."""
        middle = (self.boxes[:, :2] + self.boxes[:, 2:]) / 2
        centers: Floats = (middle - self.region.sides[:2]) * np.array(self.region.scale_m)
        return centers

    def touching(self) -> csr_array:
        """Link cells whose closed boxes share a point, by the distance of their centers in meters."""
        places = self._places
        rows_at_once = max(1, _PAIRS // self.n_cells)
        pairs = [
            _touching(places[first : first + rows_at_once], places) + np.array([[first], [0]])
            for first in range(0, self.n_cells, rows_at_once)
        ]
        i, j = np.concatenate(pairs, axis=1)
        i, j = i[i != j], j[i != j]
        distances = np.hypot(*(self.centers_m[i] - self.centers_m[j]).T)
        return csr_array((distances, (i, j)), shape=(self.n_cells, self.n_cells))


def _touching(some: Integers, others: Integers) -> Integers:
    """Find the pairs of places whose closed boxes share a point: (2, n_pairs)."""
    near = np.ones((len(some), len(others)), np.bool_)
    for axis in range(2):
        # Each starts before the other ends: a / d <= (b + 1) / e, multiplied out.
        low, division = some[:, axis, None], some[:, 2, None]
        other_low, other_division = others[:, axis], others[:, 2]
        near &= low * other_division <= (other_low + 1) * division
        near &= other_low * division <= (low + 1) * other_division
    return np.stack(np.nonzero(near))


@njit(cache=True, nogil=True)
def _encode(points, offsets, sides, limits, divisions, first_cell):  # type: ignore[no-untyped-def]
    cells = np.empty(len(points), np.int32)
    path_offsets = np.zeros(len(offsets), np.int64)
    size = divisions.shape[0]
    columns_per_unit = size / (sides[2] - sides[0])
    rows_per_unit = size / (sides[3] - sides[1])
    n_cells = 0
    for trajectory in range(len(offsets) - 1):
        start, stop = longest_run(points, offsets[trajectory], offsets[trajectory + 1], sides, limits)
        last = -1
        for p in range(start, stop):
            x, y = points[p, 0], points[p, 1]
            if is_bad(x, y, limits):
                continue
            across, up = (x - sides[0]) * columns_per_unit, (y - sides[1]) * rows_per_unit
            column, row = min(int(across), size - 1), min(int(up), size - 1)
            division = divisions[row, column]
            fine_column = min(int((across - column) * division), division - 1)
            fine_row = min(int((up - row) * division), division - 1)
            cell = first_cell[row * size + column] + fine_row * division + fine_column
            if cell != last:
                cells[n_cells] = cell
                n_cells += 1
                last = cell
        path_offsets[trajectory + 1] = n_cells
    return cells[:n_cells].copy(), path_offsets
