"""Lay out what a traced path can do next: one table for starts, first- and second-order moves, and ends."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from privtrace.compiling import borrowing, compiled
from privtrace.space.adjacency import Adjacency, link_between
from privtrace.trajectories import Integers


class Steps(NamedTuple):
    """Hold the layout of the table, for kernels.

    A row for each link that was just taken, and one for each cell that a path has just started in. A row has
    an entry for each link that leads on from where it stands, in their order, and a last one for the end. So a
    path of n cells takes n steps, of which the last is its end; and sums of the table are the starts, the ends,
    the visits and the moves of first order.
    """

    links: Adjacency
    offsets: Integers  # (n_rows + 1,): row r is entries offsets[r]:offsets[r + 1]
    cells: npt.NDArray[np.int32]  # (n_rows,): where each row stands

    @property
    def n_links(self) -> int:
        """Count the links, and so the rows that are not starts."""
        return len(self.links.sources)

    @property
    def n_entries(self) -> int:
        """Count the entries of the table."""
        return int(self.offsets[-1])


class Entries(NamedTuple):
    """Say where each entry of the table stands, (n_entries,) each."""

    rows: Integers
    cells: npt.NDArray[np.int32]  # where the step is made
    is_end: npt.NDArray[np.bool_]
    links: Integers  # the link taken, and 0 where the path ends
    onto: npt.NDArray[np.int32]  # the cell that the step leads to: the cell itself where the path ends


def steps(links: Adjacency) -> Steps:
    """Lay the table out."""
    n_cells = len(links.offsets) - 1
    cells = np.concatenate([links.targets, np.arange(n_cells, dtype=np.int32)])
    sizes = np.diff(links.offsets)[cells] + 1
    return Steps(links, np.concatenate([[0], np.cumsum(sizes)]), cells)


def entries(steps: Steps) -> Entries:
    """List the entries of the table."""
    links, sizes = steps.links, np.diff(steps.offsets)
    rows = np.repeat(np.arange(len(sizes)), sizes)
    cells = steps.cells[rows]
    place = np.arange(steps.n_entries) - steps.offsets[rows]
    is_end = place == sizes[rows] - 1
    taken = np.where(is_end, 0, links.offsets[cells] + place)
    onto = np.where(is_end, cells, links.targets[taken] if steps.n_links else cells)
    return Entries(rows, cells, is_end, taken, onto)


@borrowing
def step_entries(entries, cells, first, last, steps):  # type: ignore[no-untyped-def]
    """Write into entries[first:last] the entry of each step of the path cells[first:last], the last its end.

    A move between cells that no link joins has none, -1, and the path goes on as if it started anew.
    """
    links = steps.links
    n_links = len(links.sources)
    row = n_links + np.int64(cells[first])
    for p in range(first + 1, last):
        now, onto = np.int64(cells[p - 1]), np.int64(cells[p])
        link = link_between(now, onto, links)
        entries[p - 1] = steps.offsets[row] + link - links.offsets[now] if link >= 0 else -1
        row = link if link >= 0 else n_links + onto
    entries[last - 1] = steps.offsets[row + 1] - 1


@compiled
def weight_of(cells, first, last, weights, latest, mark):  # type: ignore[no-untyped-def]
    """Add up the weights of the different cells of the path cells[first:last], marking each in `latest`."""
    total = 0
    for p in range(first, last):
        if latest[cells[p]] != mark:
            latest[cells[p]] = mark
            total += weights[cells[p]]
    return total
