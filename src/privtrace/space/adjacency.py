"""Link the cells of a grid that share a side: the steps that a traced path can take, known without any data."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.compiling import inlined
from privtrace.space.grid import Grid
from privtrace.space.pieces import linked
from privtrace.trajectories import Array, Integers


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


def _beside(divisions: npt.NDArray[np.int32], first_slot: Integers) -> tuple[Array, Array]:
    """List the pairs of slots of which the second is to the east or to the north of the first.

    It is no kernel, since whoever reads a model asks for it, and a compiler takes longer to load than this.
    """
    size, slots = len(divisions), np.arange(first_slot[-1])
    coarse = np.repeat(np.arange(size * size), np.diff(first_slot))
    division = divisions.ravel().astype(np.int64)[coarse]
    within = slots - first_slot[coarse]
    fine, place = (within % division, within // division), (coarse % size, coarse // size)
    sources, targets = [], []
    for axis in range(2):
        inner = fine[axis] + 1 < division
        sources.append(slots[inner])
        targets.append(slots[inner] + (division[inner] if axis else 1))
        edge = np.flatnonzero(~inner & (place[axis] + 1 < size))
        beyond = coarse[edge] + (size if axis else 1)
        onto, along = divisions.ravel().astype(np.int64)[beyond], fine[1 - axis][edge]
        first, end = along * onto // division[edge], ((along + 1) * onto - 1) // division[edge] + 1
        which = np.repeat(np.arange(len(edge)), end - first)
        there = np.arange(len(which)) - np.repeat(np.cumsum(end - first) - end, end - first)
        sources.append(edge[which])
        targets.append(first_slot[beyond[which]] + (there if axis else there * onto[which]))
    return np.concatenate(sources), np.concatenate(targets)
