"""Find fastest routes on a network, many at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.sparse.csgraph import dijkstra

from privtrace.datasets.network import Network
from privtrace.trajectories import Floats, Integers

#: Entries of one batch of Dijkstra tables, at most: some tens of megabytes.
BATCH_ENTRIES = 1 << 21

Nodes: TypeAlias = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Routes:
    """Hold many routes, each a run of nodes that edges join, and when each node is reached."""

    nodes: Nodes  # (n_stops,)
    elapsed_s: Floats  # (n_stops,): seconds since the start of the route
    offsets: Integers  # (n_routes + 1,): route r is nodes[offsets[r]:offsets[r + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def durations_s(self) -> Floats:
        """Give the seconds that each route takes."""
        durations: Floats = self.elapsed_s[self.offsets[1:] - 1]
        return durations


def fastest_routes(network: Network, origins: Integers, destinations: Integers) -> Routes:
    """Find a fastest route from each origin to its destination, both given as nodes.

    One search serves all routes to a node, so few distinct destinations make it quick.
    """
    order = np.argsort(destinations, kind="stable")
    batches = np.split(order, _batch_starts(destinations[order], network.n_nodes))
    # Searches run backward from destinations; a predecessor is then the node to go to next.
    backward = network.travel_times().T.tocsr()
    runs = []
    for batch in batches:
        places, rows = np.unique(destinations[batch], return_inverse=True)
        remaining_s, next_nodes = dijkstra(backward, indices=places, return_predecessors=True)
        runs.append(_follow(next_nodes, remaining_s, rows, origins[batch]))
    nodes, elapsed_s, lengths = (np.concatenate(arrays) for arrays in zip(*runs, strict=True))
    return _restored(order, nodes, elapsed_s, lengths)


def _batch_starts(destinations: Integers, n_nodes: int) -> Integers:
    """Cut sorted destinations into runs whose tables of all nodes are of moderate size."""
    n_places = max(1, BATCH_ENTRIES // n_nodes)
    first = np.flatnonzero(np.diff(destinations, prepend=-1))  # where each distinct destination starts
    return first[n_places::n_places]


@njit(cache=True, nogil=True)
def _follow(
    next_nodes: Nodes, remaining_s: Floats, rows: Integers, origins: Integers
) -> tuple[Nodes, Floats, Integers]:
    """Follow `next_nodes` from each origin to the destination of its row."""
    lengths = np.ones(len(origins), np.int64)
    for route in range(len(origins)):
        node = next_nodes[rows[route], origins[route]]
        while node >= 0:  # a destination has no next node
            lengths[route] += 1
            node = next_nodes[rows[route], node]
    nodes = np.empty(lengths.sum(), np.int32)
    elapsed_s = np.empty(len(nodes), np.float64)
    stop = 0
    for route in range(len(origins)):
        row, node = rows[route], origins[route]
        duration = remaining_s[row, node]
        for _ in range(lengths[route]):
            nodes[stop] = node
            elapsed_s[stop] = duration - remaining_s[row, node]
            node = next_nodes[row, node]
            stop += 1
    return nodes, elapsed_s, lengths


def _restored(order: Integers, nodes: Nodes, elapsed_s: Floats, lengths: Integers) -> Routes:
    """Bring routes back from the order in which they were found."""
    found = np.cumsum(lengths) - lengths  # where each begins now
    back = np.argsort(order)
    offsets = np.concatenate([[0], np.cumsum(lengths[back])])
    stops = np.arange(len(nodes)) + np.repeat(found[back] - offsets[:-1], lengths[back])
    return Routes(nodes[stops], elapsed_s[stops], offsets)
