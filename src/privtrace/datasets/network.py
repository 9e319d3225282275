"""Hold a street network: nodes in a plane, directed edges between them, and where the plane lies."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from math import ceil, cos, floor, radians
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from privtrace.calendar import Zone
from privtrace.errors import SettingsError
from privtrace.trajectories import Array, Crs, Floats, Integers

Flags: TypeAlias = npt.NDArray[np.bool_]

KMH = 1 / 3.6  # meters a second

#: A length in a table may be rounded; a millimeter short of the straight line is forgiven.
ROUNDING_M = 1e-3
N_LIMITS = 48  # corners of the city limits
MARGIN_M = 50.0  # around the nodes, before the region is rounded outward
METERS_PER_DEGREE = 6_371_008.8 * radians(1)  # of latitude, on a sphere of the Earth's mean radius


class RoadClass(IntEnum):
    """Rank roads from the widest to the narrowest."""

    MOTORWAY = 0
    ARTERIAL = 1
    AVENUE = 2
    STREET = 3


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
    classes: Integers  # (n_edges,): values of RoadClass
    middle: tuple[float, float] | None = None  # longitude and latitude of x, y = 0, 0; None: not on the globe
    zone: str = "UTC"  # the time zone that its users live by: an IANA name

    def __post_init__(self) -> None:
        for name in ("nodes", "lengths_m", "speeds"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        for name in ("starts", "ends", "classes"):
            object.__setattr__(self, name, _indices(name, getattr(self, name)))
        self._check_nodes()
        self._check_edges()
        self._check_connected()
        Zone.named(self.zone)  # which refuses what is none

    def _check_nodes(self) -> None:
        if self.nodes.ndim != 2 or self.nodes.shape[1] != 2 or len(self.nodes) < 2:
            raise SettingsError(
                f"nodes must have shape (n_nodes, 2) with two or more rows, not {self.nodes.shape}"
            )
        if not np.all(np.isfinite(self.nodes)):
            raise SettingsError("nodes must be finite; drop nodes with missing or infinite coordinates")
        if self.middle is not None and not (abs(self.middle[0]) <= 180 and abs(self.middle[1]) < 90):
            raise SettingsError(
                f"middle must be a longitude and a latitude away from the poles, not {self.middle}"
            )

    def _check_edges(self) -> None:
        arrays = (self.starts, self.ends, self.lengths_m, self.speeds, self.classes)
        if {array.shape for array in arrays} != {(self.n_edges,)}:
            raise SettingsError("starts, ends, lengths_m, speeds and classes must each have one entry per edge")
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
        if not np.all(np.isin(self.classes, list(RoadClass))):
            raise SettingsError(f"classes must be values of RoadClass, 0 to {max(RoadClass)}")
        straight = np.hypot(*(self.nodes[self.ends] - self.nodes[self.starts]).T)
        if np.any(self.lengths_m < straight - ROUNDING_M):
            raise SettingsError("an edge must not be shorter than the straight line between its ends")

    def _check_connected(self) -> None:
        n_components, _ = connected_components(self.travel_times(), connection="strong")
        if n_components > 1:
            raise SettingsError(
                f"every node must be reachable from every other, but the network has {n_components} "
                "components; keep the largest"
            )

    def __repr__(self) -> str:
        return f"Network({self.n_nodes:,} nodes, {self.n_edges:,} edges, {self.crs})"

    @classmethod
    def two_way(
        cls,
        nodes: Array,
        starts: Array,
        ends: Array,
        speeds: Array,
        *,
        classes: Array | None = None,
        lengths_m: Array | None = None,
        middle: tuple[float, float] | None = None,
        zone: str = "UTC",
    ) -> Network:
        """Make a network of edges open both ways, where nothing else is said straight streets."""
        nodes, starts, ends = (
            np.asarray(nodes, np.float64),
            _indices("starts", starts),
            _indices("ends", ends),
        )
        if starts.shape != ends.shape:
            raise SettingsError("starts and ends must each have one entry per street")
        if lengths_m is None:
            # Clipped, so that an edge to a node that is not there meets the constructor's check and message.
            spans = nodes.take(ends, axis=0, mode="clip") - nodes.take(starts, axis=0, mode="clip")
            lengths_m = np.linalg.norm(spans, axis=-1)
        if classes is None:
            classes = np.full(len(starts), RoadClass.STREET)
        return cls(
            nodes,
            np.concatenate([starts, ends]),
            np.concatenate([ends, starts]),
            np.tile(lengths_m, 2),
            np.tile(np.asarray(speeds, np.float64), 2),
            np.tile(classes, 2),
            middle,
            zone,
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
    def crs(self) -> Crs:
        """Say whether the network's own coordinates are longitude and latitude or planar."""
        return "planar" if self.middle is None else "lonlat"

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Give the least and greatest x and y of the nodes, in meters: west, south, east, north."""
        west, south = self.nodes.min(axis=0).tolist()
        east, north = self.nodes.max(axis=0).tolist()
        return west, south, east, north

    @property
    def region(self) -> tuple[float, float, float, float]:
        """Give the box in the network's own coordinates, with a margin, rounded outward.

        The plan of a network is public, and so is this; nothing of the trips on it goes in.
        """
        west, south, east, north = self.box
        corners = np.array([[west - MARGIN_M, south - MARGIN_M], [east + MARGIN_M, north + MARGIN_M]])
        per_unit = 1 if self.middle is None else 1_000  # whole meters, or thousandths of a degree
        (west, south), (east, north) = (per_unit * self.own_coordinates(corners)).tolist()
        return floor(west) / per_unit, floor(south) / per_unit, ceil(east) / per_unit, ceil(north) / per_unit

    @property
    def limits(self) -> Floats:
        """Draw city limits around the network, in its own coordinates: a closed ring, (N_LIMITS + 1, 2).

        Seen from the middle, a corner of the ring lies in each direction a margin beyond the farthest street
        there and in the two directions beside. Like `region`, it follows from the plan alone.
        """
        shares = np.linspace(0, 1, 9)[:, np.newaxis, np.newaxis]
        streets = (1 - shares) * self.nodes[self.starts] + shares * self.nodes[self.ends]
        middle = self.nodes.mean(axis=0)
        x, y = (streets.reshape(-1, 2) - middle).T
        turn = (np.arctan2(y, x) / (2 * np.pi)) % 1  # 0 is east, a quarter north
        reach = np.zeros(N_LIMITS)
        np.maximum.at(reach, np.floor(turn * N_LIMITS).astype(int) % N_LIMITS, np.hypot(x, y))
        reach = np.max([np.roll(reach, shift) for shift in (-1, 0, 1)], axis=0) + 5 * MARGIN_M
        angles = 2 * np.pi * (np.arange(N_LIMITS + 1) + 0.5) / N_LIMITS
        ring = np.column_stack([np.cos(angles), np.sin(angles)]) * np.append(reach, reach[0])[:, np.newaxis]
        return np.round(self.own_coordinates(middle + ring), 4)

    def own_coordinates(self, points: Floats) -> Floats:
        """Turn meters of the plane into longitude and latitude, where the network lies on the globe."""
        if self.middle is None:
            return points
        placed: Floats = np.array(self.middle) + points / meters_per_degree(self.middle[1])
        return placed

    def travel_times(self) -> csr_array:
        """Tabulate the seconds from node to node along single edges, as a sparse matrix."""
        seconds = self.lengths_m / self.speeds
        return csr_array((seconds, (self.starts, self.ends)), shape=(self.n_nodes, self.n_nodes))


def meters_per_degree(latitude: float) -> Floats:
    """Give the meters of a degree of longitude and of latitude; exact enough for a city (equirectangular)."""
    return METERS_PER_DEGREE * np.array([cos(radians(latitude)), 1.0])


def simple_edges(ends: Integers, ranks: Array) -> tuple[Integers, Integers]:
    """Drop loops, and of edges between the same two nodes all but the first by rank.

    `ends` are (n_edges, 2); given back are those that stay, the lower node first, and their places.
    """
    ends = np.sort(ends, axis=1)
    order = np.lexsort([ranks, ends[:, 1], ends[:, 0]])
    fresh = np.any(np.diff(ends[order], axis=0, prepend=-1) != 0, axis=1)
    kept = order[fresh & (ends[order, 0] != ends[order, 1])]
    return ends[kept], kept


def largest_component(n_nodes: int, ends: Integers) -> tuple[Flags, Flags, Integers]:
    """Find the largest connected component, edges (n_edges, 2) being open both ways.

    Given are which nodes and which edges lie in it, and the ends of these edges with those nodes numbered anew.
    """
    joined = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes))
    _, component = connected_components(joined, directed=False)
    nodes = component == np.argmax(np.bincount(component))
    edges = nodes[ends[:, 0]]
    return nodes, edges, (np.cumsum(nodes) - 1)[ends[edges]]


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
