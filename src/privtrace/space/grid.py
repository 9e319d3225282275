"""Partition the region: K x K coarse cells, each cut into its own number of fine cells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from privtrace.caching import cached_property
from privtrace.errors import SettingsError
from privtrace.paths import Paths
from privtrace.runs import Runs
from privtrace.space.lattice import Lattice, encode
from privtrace.space.pieces import Pieces, chosen, cut, linked, whole
from privtrace.space.region import Region
from privtrace.trajectories import Array, Floats, Integers

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Pairs of cells compared at once, to bound memory.
_PAIRS = 1 << 22

#: Slots of a grid over a polygon: most may be empty, and still each is looked at.
MAX_SLOTS = 1 << 22

#: A division at most: out of any grid's reach, and its square is far from overflow.
MAX_DIVISION = 10_000


@dataclass(frozen=True, eq=False)
class Grid:
    """Cut a region into cells, numbered coarse cell by coarse cell, each from south to north, west to east.

    A coarse cell with division d has d x d slots, so a uniform grid has all divisions 1. A slot holds a cell
    if some of it is in the region: over a box all slots do; over a polygon the others hold none, a cell is
    slot ∩ polygon (its piece), and numbers go on without gaps.
    """

    region: Region
    divisions: npt.NDArray[np.int32]  # (K, K), row from the south, column from the west; at least 1

    def __post_init__(self) -> None:
        divisions = self.divisions
        if divisions.ndim != 2 or not 0 < divisions.shape[0] == divisions.shape[1] or divisions.min() < 1:
            raise SettingsError("a grid has K x K coarse cells, each divided into at least one cell")
        if self.region.shape is not None and self.n_slots > MAX_SLOTS:
            raise SettingsError(f"a grid over a polygon can have at most {MAX_SLOTS:,} cells and gaps")

    @classmethod
    def uniform(cls, region: Region, n_per_side: int) -> Grid:
        """Cut into n_per_side x n_per_side equal cells."""
        return cls(region, np.ones((n_per_side, n_per_side), np.int32))

    @cached_property
    def first_slot(self) -> Integers:
        """Number the first slot of each coarse cell, and the end: (K * K + 1,)."""
        return np.concatenate([[0], np.cumsum(self.divisions.ravel().astype(np.int64) ** 2)])

    @property
    def n_slots(self) -> int:
        """Count the slots, with and without a cell."""
        return int(self.first_slot[-1])

    @property
    def n_cells(self) -> int:
        """Count the cells."""
        return self.n_slots if self.region.shape is None else len(self.slots)

    @cached_property
    def lattice(self) -> Lattice:
        """Prepare the grid for kernels."""
        size, cells = len(self.divisions), np.empty(0, np.int32)
        if self.n_cells < self.n_slots:
            cells = self.cells
        per_m = size / self.region.width_m, size / self.region.height_m
        return Lattice(*per_m, len(cells) > 0, self.divisions, self.first_slot, cells)

    def encode(self, runs: Runs) -> Paths:
        """Turn each run into its path: consecutive points in one cell are one visit.

        Points without a cell, on the very border of a polygon, are passed over. An empty run has an empty path.
        """
        return Paths(*encode(runs.points, runs.offsets, self.lattice))

    def spread(self, values: Array) -> Array:
        """Lay values of the cells of a uniform grid out in rows and columns, with 0 where there is no cell."""
        assert self.n_slots == self.divisions.size
        laid_out = np.zeros(self.n_slots, values.dtype)
        laid_out[self.slots] = values
        return laid_out.reshape(self.divisions.shape)

    @cached_property
    def _cut(self) -> tuple[Integers, Pieces]:
        """Cut slots by the polygon: list the slots that hold a cell, (n_cells,), and the cells' pieces."""
        boxes = self._boxes(self._slot_places)
        if self.region.shape is None:
            return np.arange(self.n_slots), whole(boxes)
        shares, pieces = cut(boxes, self.region.area)
        return np.flatnonzero(shares), chosen(pieces, shares > 0)

    @property
    def slots(self) -> Integers:
        """List the slots that hold a cell: (n_cells,)."""
        return self._cut[0]

    @cached_property
    def cells(self) -> npt.NDArray[np.int32]:
        """Give the cell in each slot, or -1: (n_slots,)."""
        cells = np.full(self.n_slots, -1, np.int32)
        cells[self.slots] = np.arange(self.n_cells)
        return cells

    @property
    def pieces(self) -> Pieces:
        """Give what of each cell is in the region."""
        return self._cut[1]

    @property
    def _slot_places(self) -> Integers:
        """Place each slot on its coarse cell's lattice: column, row, division, (n_slots, 3).

        A slot spans [column, column + 1] / division in units of coarse cells, and so for rows: integers, by
        which touching is decided without rounding.
        """
        size = self.divisions.shape[0]
        division = np.repeat(self.divisions.ravel().astype(np.int64), np.diff(self.first_slot))
        coarse = np.repeat(np.arange(size * size), np.diff(self.first_slot))
        within = np.arange(self.n_slots) - self.first_slot[coarse]
        column = coarse % size * division + within % division
        row = coarse // size * division + within // division
        return np.stack([column, row, division], axis=1)

    @cached_property
    def places(self) -> Integers:
        """Place each cell as its slot is placed: (n_cells, 3)."""
        return self._slot_places[self.slots]

    @cached_property
    def boxes(self) -> Floats:
        """Give each cell's west, south, east and north, in the region's coordinates: (n_cells, 4)."""
        return self._boxes(self.places)

    def _boxes(self, places: Integers) -> Floats:
        region, size = self.region, self.divisions.shape[0]
        west, south, east, north = region.bounds
        column, row, division = places.T
        width, height = (east - west) / size, (north - south) / size
        boxes: Floats = np.stack(
            [
                west + width * (column / division),
                south + height * (row / division),
                west + width * ((column + 1) / division),
                south + height * ((row + 1) / division),
            ],
            axis=1,
        )
        # Rounding must not push a cell, and so a point, over the region's edge.
        np.clip(boxes, np.tile(region.bounds[:2], 2), np.tile(region.bounds[2:], 2), out=boxes)
        return boxes

    @property
    def sizes_m(self) -> Floats:
        """Give the width and height of each cell's box in meters (or planar units): (n_cells, 2)."""
        sizes: Floats = (self.boxes[:, 2:] - self.boxes[:, :2]) * np.array(self.region.scale_m)
        return sizes

    @cached_property
    def centers_m(self) -> Floats:
        """Give the center of each cell's piece in meters from the box's southwest corner: (n_cells, 2)."""
        centers: Floats = (self.pieces.centers - self.region.bounds[:2]) * np.array(self.region.scale_m)
        return centers

    def touching(self) -> csr_array:
        """Link cells that touch, by the distance of their centers in meters.

        Cells touch whose closed boxes share a point. Over a polygon their pieces must share it: a stretch of
        the border between the boxes (of a millionth of the shorter side at least), or, where boxes share but
        a corner, that corner. So a gap between pieces parts them, however narrow it is. A cell is one state
        even where the polygon leaves several fragments of it.
        """
        return self._links

    @cached_property
    def _links(self) -> csr_array:
        from scipy.sparse import csr_array

        places = self.places
        rows_at_once = max(1, _PAIRS // self.n_cells)
        pairs = [
            _touching(places[first : first + rows_at_once], places) + np.array([[first], [0]])
            for first in range(0, self.n_cells, rows_at_once)
        ]
        i, j = np.concatenate(pairs, axis=1)
        i, j = i[i != j], j[i != j]
        if self.region.shape is not None:
            touch = linked(i, j, self.boxes, self.pieces)
            i, j = i[touch], j[touch]
        distances = np.hypot(*(self.centers_m[i] - self.centers_m[j]).T)
        return csr_array((distances, (i, j)), shape=(self.n_cells, self.n_cells))

    def components(self) -> Integers:
        """Find the connected component of each cell, by links of touching cells: (n_cells,)."""
        if self.region.shape is None:  # a box is one
            return np.zeros(self.n_cells, np.int64)
        from scipy.sparse.csgraph import connected_components

        return connected_components(self.touching(), directed=False)[1].astype(np.int64)  # type: ignore[no-any-return]


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
