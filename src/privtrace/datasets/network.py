"""Hold a street network: nodes in a plane and directed edges between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from privtrace.errors import SettingsError
from privtrace.trajectories import Array, Floats, Integers

#: A length in a table may be rounded; a millimeter short of the straight line is forgiven.
ROUNDING_M = 1e-3


@dataclass(frozen=True, eq=False)
class Network:
    """Hold a street network in which every node can be reached from every other.

    Edges are directed, so a street open both ways is two edges; see `two_way`. Objects are drawn on the
    straight line between the ends of an edge, and `lengths_m` says how far they travel for it.

    Example: `Network.two_way([[0, 0], [300, 0]], [0], [1], [10])` is one street, 30 seconds long.
    """

    nodes: Floats  # (n_nodes, 2): planar x, y in meters
    starts: Integers  # (n_edges,): the node that an edge leaves
    ends: Integers  # (n_edges,): the node that it enters
    lengths_m: Floats  # (n_edges,)
    speeds: Floats  # (n_edges,): meters a second

    def __post_init__(self) -> None:
        for name in ("nodes", "lengths_m", "speeds"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        for name in ("starts", "ends"):
            object.__setattr__(self, name, _indices(name, getattr(self, name)))
        self._check_nodes()
        self._check_edges()
        self._check_connected()

    def _check_nodes(self) -> None:
        if self.nodes.ndim != 2 or self.nodes.shape[1] != 2 or len(self.nodes) < 2:
            raise SettingsError(f"nodes must have shape (n_nodes, 2), two or more, not {self.nodes.shape}")
        if not np.all(np.isfinite(self.nodes)):
            raise SettingsError("nodes must be finite; drop those with missing or infinite coordinates")

    def _check_edges(self) -> None:
        shapes = {array.shape for array in (self.starts, self.ends, self.lengths_m, self.speeds)}
        if shapes != {(self.n_edges,)}:
            raise SettingsError("starts, ends, lengths_m and speeds must each have one entry an edge")
        joined = np.concatenate([self.starts, self.ends])
        if np.any(joined < 0) or np.any(joined >= self.n_nodes):
            raise SettingsError(f"edges must join nodes 0 to {self.n_nodes - 1}")
        if np.any(self.starts == self.ends):
            raise SettingsError("an edge must not join a node to itself; drop such edges")
        # Sparse matrices add up what is given twice: two parallel edges would become one slow one.
        if len(np.unique(self.starts * self.n_nodes + self.ends)) < self.n_edges:
            raise SettingsError("no two edges may join the same nodes in the same direction; keep the faster")
        for name, values in (("lengths_m", self.lengths_m), ("speeds", self.speeds)):
            if not np.all(np.isfinite(values) & (values > 0)):
                raise SettingsError(f"{name} must be positive and finite")
        straight = np.hypot(*(self.nodes[self.ends] - self.nodes[self.starts]).T)
        if np.any(self.lengths_m < straight - ROUNDING_M):
            raise SettingsError("an edge must not be shorter than the straight line between its ends")

    def _check_connected(self) -> None:
        n_components, _ = connected_components(self.travel_times(), connection="strong")
        if n_components > 1:
            raise SettingsError(
                f"every node must be reachable from every other, but the network falls into {n_components} "
                "components; keep the largest"
            )

    def __repr__(self) -> str:
        return f"Network({self.n_nodes:,} nodes, {self.n_edges:,} edges)"

    @classmethod
    def two_way(cls, nodes: Array, starts: Array, ends: Array, speeds: Array) -> Network:
        """Make a network of straight streets that are open both ways."""
        nodes, starts, ends = (
            np.asarray(nodes, np.float64),
            _indices("starts", starts),
            _indices("ends", ends),
        )
        if starts.shape != ends.shape:
            raise SettingsError("starts and ends must each have one entry a street")
        # Clipped, so that an edge to a node that is not there meets the constructor's check and message.
        spans = nodes.take(ends, axis=0, mode="clip") - nodes.take(starts, axis=0, mode="clip")
        lengths_m = np.linalg.norm(spans, axis=-1)
        return cls(
            nodes,
            np.concatenate([starts, ends]),
            np.concatenate([ends, starts]),
            np.tile(lengths_m, 2),
            np.tile(np.asarray(speeds, np.float64), 2),
        )

    @property
    def n_nodes(self) -> int:
        """Count the nodes."""
        return len(self.nodes)

    @property
    def n_edges(self) -> int:
        """Count the edges, each direction by itself."""
        return len(self.starts)

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Give the least and greatest x and y of the nodes, in meters: west, south, east, north."""
        west, south = self.nodes.min(axis=0).tolist()
        east, north = self.nodes.max(axis=0).tolist()
        return west, south, east, north

    def travel_times(self) -> csr_array:
        """Tabulate the seconds from node to node along single edges, as a sparse matrix."""
        seconds = self.lengths_m / self.speeds
        return csr_array((seconds, (self.starts, self.ends)), shape=(self.n_nodes, self.n_nodes))


def generator(seed: int) -> np.random.Generator:
    """Make the random generator of a seed; the bit generator is named so that it never changes."""
    if seed < 0:
        raise SettingsError(f"seed must be 0 or more, not {seed}")
    return np.random.Generator(np.random.PCG64(seed))


def _indices(name: str, values: Array) -> Integers:
    """Take whole numbers as they are, and refuse others rather than cut them off."""
    array = np.asarray(values)
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise SettingsError(f"{name} must be whole numbers, not {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.int64)
