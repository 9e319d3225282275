"""Link the cells of a grid that share a side: the steps that a traced path can take, known without any data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.compiling import compiled, inlined
from privtrace.space.grid import Grid
from privtrace.space.pieces import linked
from privtrace.trajectories import Integers


class Adjacency(NamedTuple):
    """Hold the links of cells, for kernels: link l leads from a cell to one that shares a side with it.

    Links are numbered by the cell that they lead from and then by the one that they lead to.
    """

    offsets: Integers  # (n_cells + 1,): cell c has links offsets[c] to offsets[c + 1] - 1
    sources: npt.NDArray[np.int32]  # (n_links,)
    targets: npt.NDArray[np.int32]  # (n_links,), rising within a cell
    back: npt.NDArray[np.int32]  # (n_links,): the link that leads the other way


def adjacency(grid: Grid) -> Adjacency:
    """Link the cells that share a side, or, over a polygon, whose pieces share a stretch of it."""
    source, target = _beside(grid.divisions, grid.first_slot)
    if grid.n_cells < grid.n_slots:
        source, target = grid.cells[source], grid.cells[target]
        there = (source >= 0) & (target >= 0)
        source, target = source[there], target[there]
    if grid.region.shape is not None:
        touch = linked(source, target, grid.boxes, grid.pieces)
        source, target = source[touch], target[touch]
    sources, targets = np.concatenate([source, target]), np.concatenate([target, source])
    order = np.lexsort((targets, sources))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    back = place[(order + len(source)) % max(len(order), 1)]
    offsets = np.searchsorted(sources[order], np.arange(grid.n_cells + 1))
    return Adjacency(
        offsets, sources[order].astype(np.int32), targets[order].astype(np.int32), back.astype(np.int32)
    )


@inlined
def link_between(source, target, links):  # type: ignore[no-untyped-def]
    """Find the link from one cell to another, or -1."""
    for link in range(links.offsets[source], links.offsets[source + 1]):
        if links.targets[link] == target:
            return link
    return -1


@compiled
def _beside(divisions, first_slot):  # type: ignore[no-untyped-def]
    """List the pairs of slots of which the second is to the east or to the north of the first."""
    size = divisions.shape[0]
    sources, targets = [np.int64(0) for _ in range(0)], [np.int64(0) for _ in range(0)]
    for coarse in range(size * size):
        row, column = coarse // size, coarse % size
        division = divisions[row, column]
        for within in range(division * division):
            slot, fine = first_slot[coarse] + within, (within % division, within // division)
            for axis in range(2):
                if fine[axis] + 1 < division:
                    sources.append(slot)
                    targets.append(slot + (division if axis else 1))
                elif (row if axis else column) + 1 < size:
                    beyond = coarse + (size if axis else 1)
                    onto, along = divisions.ravel()[beyond], fine[1 - axis]
                    for place in range(along * onto // division, ((along + 1) * onto - 1) // division + 1):
                        sources.append(slot)
                        targets.append(first_slot[beyond] + (place if axis else place * onto))
    return np.array(sources), np.array(targets)
