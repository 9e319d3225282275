"""Find fastest routes on a network, many at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from privtrace.compiling import compiled
from privtrace.datasets.network import Network
from privtrace.trajectories import Floats, Integers


@dataclass(frozen=True, eq=False)
class Routes:
    """Hold many routes, each a run of edges that follow each other."""

    edges: Integers  # (n_steps,)
    offsets: Integers  # (n_routes + 1,): route r is edges[offsets[r]:offsets[r + 1]]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def take(self, which: Integers) -> Routes:
        """Pick routes by their places, in any order."""
        lengths = np.diff(self.offsets)[which]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        steps = np.arange(offsets[-1]) + np.repeat(self.offsets[which] - offsets[:-1], lengths)
        return Routes(self.edges[steps], offsets)

    @classmethod
    def gathered(cls, groups: list[tuple[Integers, Routes]]) -> Routes:
        """Join groups, of each of which the places of its routes among all are known."""
        places = np.concatenate([places for places, _ in groups])
        lengths = np.concatenate([np.diff(routes.offsets) for _, routes in groups])
        edges = np.concatenate([routes.edges for _, routes in groups])
        return cls(edges, np.concatenate([[0], np.cumsum(lengths)])).take(np.argsort(places))


class _Graph(NamedTuple):
    """Hold a network to be searched from tails to heads, for kernels."""

    firsts: Integers  # (n_nodes + 1,): edges order[firsts[n]:firsts[n + 1]] leave node n
    order: Integers  # (n_edges,)
    tails: Integers  # (n_edges,): the node that an edge leaves
    heads: Integers  # (n_edges,): the node that it enters
    seconds: Floats  # (n_edges,)

    @classmethod
    def of(cls, tails: Integers, heads: Integers, seconds: Floats, n_nodes: int) -> _Graph:
        """Sort the edges by the node that they leave."""
        order = np.argsort(tails, kind="stable")
        return cls(np.searchsorted(tails[order], np.arange(n_nodes + 1)), order, tails, heads, seconds)


class _Scratch(NamedTuple):
    """Hold what a search writes, for all searches of a graph to share."""

    reached_s: Floats  # (n_nodes,): how soon
    via: Integers  # (n_nodes,): the edge by which a node was reached
    wanted: Integers  # (n_nodes,): the root that a node is a target of
    keys: Floats  # the heap of nodes that wait: how soon each can be reached
    waiting: Integers  # and which it is


def fastest_routes(network: Network, seconds: Floats, origins: Integers, destinations: Integers) -> Routes:
    """Find a fastest route from each origin to its destination, both given as nodes.

    `seconds` says how long each edge takes. One search serves all routes that it was started for: each route
    is searched for from whichever of its ends it shares with more of the others.
    """
    leaving = np.bincount(origins, minlength=network.n_nodes)
    arriving = np.bincount(destinations, minlength=network.n_nodes)
    backward = arriving[destinations] >= leaving[origins]
    groups = []
    for turned, tails, heads, roots, targets in (
        (False, network.starts, network.ends, origins, destinations),
        (True, network.ends, network.starts, destinations, origins),
    ):
        mine = np.flatnonzero(backward == turned)
        mine = mine[np.argsort(roots[mine], kind="stable")]
        graph = _Graph.of(tails, heads, seconds, network.n_nodes)
        edges, offsets = _search(graph, roots[mine], targets[mine], not turned)
        groups.append((mine, Routes(edges, offsets)))
    return Routes.gathered(groups)


@compiled
def _search(graph: _Graph, roots: Integers, targets: Integers, turn: bool) -> tuple[Integers, Integers]:
    """Search from each of the sorted roots until its targets are reached; write down the route to each.

    A route is found from its target back to the root; `turn` says to write it the other way around.
    """
    tails, n_nodes, n_keys = graph.tails, len(graph.firsts) - 1, len(graph.heads) + 1
    via, wanted = np.empty(n_nodes, np.int64), np.full(n_nodes, -1, np.int64)
    scratch = _Scratch(np.empty(n_nodes), via, wanted, np.empty(n_keys), np.empty(n_keys, np.int64))
    steps = np.empty(1024, np.int64)
    offsets = np.zeros(len(roots) + 1, np.int64)
    first = 0
    while first < len(roots):
        root, last, n_wanted = roots[first], first, 0
        while last < len(roots) and roots[last] == root:
            if wanted[targets[last]] != root:
                wanted[targets[last]] = root
                n_wanted += 1
            last += 1
        _spread(root, n_wanted, graph, scratch)
        for route in range(first, last):
            n_steps, node = 0, targets[route]
            while node != root:
                node = tails[via[node]]
                n_steps += 1
            start = offsets[route]
            end = offsets[route + 1] = start + n_steps
            if end > len(steps):
                longer = np.empty(2 * end, np.int64)
                longer[:start] = steps[:start]
                steps = longer
            node = targets[route]
            for step in range(n_steps):
                steps[end - 1 - step if turn else start + step] = via[node]
                node = tails[via[node]]
        first = last
    return steps[: offsets[-1]].copy(), offsets


@compiled
def _spread(root, n_wanted, graph, scratch):  # type: ignore[no-untyped-def]
    """Search from a root (Dijkstra) until all wanted nodes are reached."""
    firsts, order, heads, seconds = graph.firsts, graph.order, graph.heads, graph.seconds
    reached_s, via, wanted = scratch.reached_s, scratch.via, scratch.wanted
    keys, waiting = scratch.keys, scratch.waiting
    reached_s[:] = np.inf
    reached_s[root] = 0.0
    keys[0], waiting[0], n_waiting = 0.0, root, 1
    while n_waiting and n_wanted:
        key, node = keys[0], waiting[0]
        n_waiting -= 1
        _sink(keys, waiting, n_waiting)
        if key > reached_s[node]:
            continue  # reached sooner by another route
        if wanted[node] == root:
            n_wanted -= 1
        for place in range(firsts[node], firsts[node + 1]):
            edge = order[place]
            then_s = key + seconds[edge]
            if then_s < reached_s[heads[edge]]:
                reached_s[heads[edge]] = then_s
                via[heads[edge]] = edge
                _rise(keys, waiting, n_waiting, then_s, heads[edge])
                n_waiting += 1


@compiled
def _rise(keys, waiting, place, key, node):  # type: ignore[no-untyped-def]
    """Put a node into the heap: from the given last place up."""
    while place > 0 and keys[(place - 1) // 2] > key:
        keys[place], waiting[place] = keys[(place - 1) // 2], waiting[(place - 1) // 2]
        place = (place - 1) // 2
    keys[place], waiting[place] = key, node


@compiled
def _sink(keys, waiting, n_waiting):  # type: ignore[no-untyped-def]
    """Take the first node out of the heap: the last one moves to the top and sinks."""
    key, node, place = keys[n_waiting], waiting[n_waiting], 0
    while 2 * place + 1 < n_waiting:
        child = 2 * place + 1
        if child + 1 < n_waiting and keys[child + 1] < keys[child]:
            child += 1
        if keys[child] >= key:
            break
        keys[place], waiting[place] = keys[child], waiting[child]
        place = child
    keys[place], waiting[place] = key, node
