"""Lay a city's main roads: polylines that may cross each other become one set of nodes and edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import KDTree

from privtrace.datasets.network import Flags, RoadClass, simple_edges
from privtrace.trajectories import Floats, Integers

SPACING_M = 120.0  # between two nodes of a road
SNAP_M = 45.0  # nodes nearer to each other than this are one junction


class Road(NamedTuple):
    """Hold the course of one road."""

    points: Floats  # (n_points, 2)
    kind: RoadClass


class Crossings(NamedTuple):
    """Hold where lines of two sets cross: which, and at which share of each; (n_crossings,) each."""

    some: Integers
    others: Integers
    share: Floats
    other_share: Floats


@dataclass(frozen=True, eq=False)
class Roads:
    """Hold roads that are joined wherever they cross."""

    nodes: Floats  # (n_nodes, 2)
    edges: Integers  # (n_edges, 2)
    classes: Integers  # (n_edges,): values of RoadClass

    def keep(self, wanted: Flags) -> Roads:
        """Keep some of the edges, and the nodes that they join."""
        used, ends = np.unique(self.edges[wanted], return_inverse=True)
        return Roads(self.nodes[used], ends.reshape(-1, 2), self.classes[wanted])


def join_roads(roads: list[Road]) -> Roads:
    """Cut roads where they cross and join them there; of two that run together, the wider stays.

    Example: two straight roads that cross make five nodes and four edges.
    """
    lines = np.concatenate([np.stack([road.points[:-1], road.points[1:]], axis=1) for road in roads])
    kinds = np.repeat([road.kind for road in roads], [len(road.points) - 1 for road in roads])
    met = crossings(lines, lines)
    line = np.concatenate([np.arange(len(lines)), np.arange(len(lines)), met.some, met.others])
    shares = np.concatenate([np.zeros(len(lines)), np.ones(len(lines)), met.share, met.other_share])
    order = np.lexsort([shares, line])
    line, shares = line[order], shares[order]
    points = lines[line, 0] + shares[:, None] * (lines[line, 1] - lines[line, 0])
    junction, nodes = _snapped(points)
    along = np.flatnonzero(line[:-1] == line[1:])  # from one cut of a line to the next
    classes = kinds[line[along]]
    edges, widest = simple_edges(np.column_stack([junction[along], junction[along + 1]]), classes)
    return Roads(nodes, edges, classes[widest])


def crossings(some: Floats, others: Floats) -> Crossings:
    """Find where lines of one set, (n, 2, 2), cross lines of another."""
    from_some, from_others = some[:, 0], others[:, 0]
    along, across = some[:, 1] - from_some, others[:, 1] - from_others
    reach = (np.hypot(*along.T).max() + np.hypot(*across.T).max()) / 2
    near = KDTree(some.mean(axis=1)).sparse_distance_matrix(
        KDTree(others.mean(axis=1)), reach, output_type="coo_matrix"
    )
    first, second = near.row.astype(np.int64), near.col.astype(np.int64)
    gap = from_others[second] - from_some[first]
    along, across = along[first], across[second]
    turn = _cross_product(along, across)
    parallel = turn == 0
    turn[parallel] = 1.0
    share, other_share = _cross_product(gap, across) / turn, _cross_product(gap, along) / turn
    inside = ~parallel & (share > 0) & (share < 1) & (other_share > 0) & (other_share < 1)
    return Crossings(first[inside], second[inside], share[inside], other_share[inside])


def _cross_product(a: Floats, b: Floats) -> Floats:
    product: Floats = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    return product


def _snapped(points: Floats) -> tuple[Integers, Floats]:
    """Make one junction of points that lie together: the junction of each point, and all junctions."""
    pairs = KDTree(points).query_pairs(SNAP_M, output_type="ndarray")
    near = csr_array((np.ones(len(pairs)), pairs.T), shape=(len(points),) * 2)
    n_junctions, junction = connected_components(near, directed=False)
    sums = np.stack([np.bincount(junction, points[:, axis], n_junctions) for axis in range(2)], axis=-1)
    return junction.astype(np.int64), sums / np.bincount(junction)[:, None]
