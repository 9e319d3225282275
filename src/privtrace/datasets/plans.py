"""Plan a town: districts of crooked street grids, tied together by faster rings and radials."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import Delaunay, KDTree

from privtrace.datasets.network import Network, generator
from privtrace.trajectories import Floats, Integers

KMH = 1 / 3.6  # meters a second

RADIUS_M = 4_900.0  # of the town, on average
RINGS = ((450.0, 40 * KMH), (1_900.0, 60 * KMH), (3_700.0, 80 * KMH))  # radius in meters, speed
N_RADIALS = 7
UNBUILT_SECTIONS = 2  # of the outer ring, between neighboring radials
RADIAL_SPEED = 50 * KMH
STREET_SPEED = 30 * KMH

N_DISTRICTS = 14
N_PARKS = 5
MISSING_STREETS = 0.16  # the share of streets that were never built
LONGEST_STREET_M = 340.0  # longer ones would cross a park
ROOM = 0.62  # times a street's length: how far third nodes stay from its middle
ROAD_SPACING_M = 140.0  # between two nodes of a main road
CLEARANCE_M = 85.0  # of street corners from main roads and from each other


def town(seed: int = 1) -> Network:
    """Plan a town about 10 km across, with 1,500 to 3,000 nodes; every street is open both ways."""
    rng = generator(seed)
    outline = _Outline(rng.uniform(0, 2 * np.pi, 3))
    roads = _main_roads(rng, outline)
    nodes = np.concatenate([roads.nodes, _corners(rng, outline, roads.nodes)])
    streets = _streets(rng, nodes, roads)
    ends = np.concatenate([roads.edges, streets])  # (n_edges, 2)
    speeds = np.concatenate([roads.speeds, np.full(len(streets), STREET_SPEED)])
    return Network.two_way(_bent(rng, nodes), ends[:, 0], ends[:, 1], speeds)


@dataclass(frozen=True, eq=False)
class _Outline:
    """Bound the town by a curve that bulges here and there."""

    phases: Floats  # (3,)

    def radius_m(self, angles: Floats) -> Floats:
        """Give the distance from the middle to the town's edge, for each angle."""
        two, three, five = self.phases
        bulges = 0.07 * np.sin(2 * angles + two) + 0.06 * np.sin(3 * angles + three)
        radii: Floats = RADIUS_M * (1 + bulges + 0.04 * np.sin(5 * angles + five))
        return radii

    def holds(self, points: Floats) -> npt.NDArray[np.bool_]:
        """Tell which points lie in the town."""
        x, y = points.T
        inside: npt.NDArray[np.bool_] = np.hypot(x, y) < self.radius_m(np.arctan2(y, x))
        return inside


@dataclass(frozen=True, eq=False)
class _Roads:
    """Hold the main roads: nodes close together along each, and the edges that follow it."""

    nodes: Floats  # (n_nodes, 2)
    edges: Integers  # (n_edges, 2)
    speeds: Floats  # (n_edges,)


def _main_roads(rng: np.random.Generator, outline: _Outline) -> _Roads:
    """Lay rings, and radials that meet them at junctions and end at the edge of the town."""
    spread = np.arange(N_RADIALS) + rng.uniform(-0.3, 0.3, N_RADIALS)
    angles = 2 * np.pi * spread / N_RADIALS
    radii = np.array([radius for radius, _ in RINGS]) * rng.uniform(0.85, 1.08, (N_RADIALS, len(RINGS)))
    sections = []  # each a run of points, and the speed along it
    for radial, angle in enumerate(angles):
        stops = [*radii[radial], float(outline.radius_m(angle))]
        for inner, outer in pairwise(stops):
            sections.append((_section((angle, inner), (angle, outer)), RADIAL_SPEED))
    around = np.append(angles, angles[0] + 2 * np.pi)
    for (_, speed), ring in zip(RINGS, radii.T, strict=True):
        arcs = pairwise(zip(around, np.append(ring, ring[0]), strict=True))
        sections += [(_section(start, end), speed) for start, end in arcs]
    return _joined(sections[:-UNBUILT_SECTIONS])


def _section(start: tuple[float, float], end: tuple[float, float]) -> Floats:
    """Place points along a road between two junctions, given as angle and radius."""
    turn, climb = end[0] - start[0], end[1] - start[1]
    length = np.hypot(climb, turn * (start[1] + end[1]) / 2)
    n_steps = max(1, round(length / ROAD_SPACING_M))
    angles = np.linspace(start[0], end[0], n_steps + 1)
    return _planar(angles, np.linspace(start[1], end[1], n_steps + 1))


def _planar(angles: Floats, radii: Floats) -> Floats:
    """Give x and y of points known by angle and distance from the middle of the town."""
    return np.column_stack([radii * np.cos(angles), radii * np.sin(angles)])


def _joined(sections: list[tuple[Floats, float]]) -> _Roads:
    """Join sections at their common junctions."""
    points = np.concatenate([section for section, _ in sections])
    # A junction is computed once for each section that meets there, the same but for rounding.
    nodes, numbers = np.unique(np.round(points), axis=0, return_inverse=True)
    lengths = [len(section) for section, _ in sections]
    inside = np.ones(len(points) - 1, dtype=bool)
    inside[np.cumsum(lengths)[:-1] - 1] = False  # no edge from one section into the next
    edges = np.column_stack([numbers[:-1], numbers[1:]])[inside]
    speeds = np.concatenate([np.full(len(section) - 1, speed) for section, speed in sections])
    return _Roads(nodes, edges, speeds)


def _corners(rng: np.random.Generator, outline: _Outline, taken: Floats) -> Floats:
    """Place street corners: each district a grid of its own direction, denser toward the middle."""
    angles, radii = rng.uniform(0, 2 * np.pi, N_DISTRICTS), RADIUS_M * np.sqrt(rng.random(N_DISTRICTS))
    middles = _planar(angles, radii)
    grids = [
        _grid(rng, spacing=150 + 90 * radius / RADIUS_M, direction=rng.uniform(0, np.pi / 2))
        for radius in radii
    ]
    district = np.repeat(np.arange(N_DISTRICTS), [len(grid) for grid in grids])
    corners = np.concatenate(grids)
    nearest = KDTree(middles).query(corners)[1]
    corners = corners[(nearest == district) & outline.holds(corners) & ~_in_parks(rng, corners)]
    corners = corners[KDTree(taken).query(corners)[0] > CLEARANCE_M]
    # Where two districts meet, their grids do not fit: of two corners too close to each other, one goes.
    close = KDTree(corners).query_pairs(CLEARANCE_M, output_type="ndarray")
    return np.delete(corners, np.unique(close[:, 1]), axis=0)


def _grid(rng: np.random.Generator, spacing: float, direction: float) -> Floats:
    """Cover the town with the corners of one irregular grid."""
    reach = np.arange(-1.6 * RADIUS_M, 1.6 * RADIUS_M, spacing)
    grid = np.stack(np.meshgrid(reach, reach), axis=-1).reshape(-1, 2)
    grid += rng.uniform(-0.12, 0.12, grid.shape) * spacing
    cosine, sine = np.cos(direction), np.sin(direction)
    turned: Floats = grid @ np.array([[cosine, sine], [-sine, cosine]])
    return turned


def _in_parks(rng: np.random.Generator, points: Floats) -> npt.NDArray[np.bool_]:
    """Tell which points lie in a park: a round place without streets."""
    angles, radii = rng.uniform(0, 2 * np.pi, N_PARKS), RADIUS_M * rng.uniform(0.2, 0.9, N_PARKS)
    middles = _planar(angles, radii)
    sizes = rng.uniform(250, 550, N_PARKS)
    gaps = np.hypot(*(points[:, None] - middles).transpose(2, 0, 1))  # (n_points, n_parks)
    inside: npt.NDArray[np.bool_] = np.any(gaps < sizes, axis=1)
    return inside


def _streets(rng: np.random.Generator, nodes: Floats, roads: _Roads) -> Integers:
    """Join neighboring nodes by streets, leaving some out but never cutting the town apart."""
    n_nodes = len(nodes)
    pairs = _neighbors(nodes)
    on_roads = np.isin(pairs @ [n_nodes, 1], np.sort(roads.edges, axis=1) @ [n_nodes, 1])
    pairs = pairs[~on_roads]  # (n_pairs, 2)
    lengths = np.hypot(*(nodes[pairs[:, 1]] - nodes[pairs[:, 0]]).T)
    wanted = (lengths < LONGEST_STREET_M) & _unobstructed(nodes, pairs, lengths)
    built = wanted & (rng.random(len(pairs)) >= MISSING_STREETS)
    # A spanning tree that starts with the main roads: what it needs is built in any case.
    ends = np.concatenate([roads.edges, pairs])
    costs = np.concatenate([np.full(len(roads.edges), 1e-6), lengths])
    tree = minimum_spanning_tree(csr_array((costs, ends.T), shape=(n_nodes, n_nodes))).tocoo()
    needed = np.isin(pairs @ [n_nodes, 1], np.column_stack(tree.coords).astype(np.int64) @ [n_nodes, 1])
    streets: Integers = pairs[built | needed]
    return streets


def _neighbors(nodes: Floats) -> Integers:
    """Pair nodes by the sides of a triangulation, which never cross each other."""
    triangles = Delaunay(nodes).simplices.astype(np.int64)
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    return np.unique(np.sort(sides, axis=1), axis=0)


def _unobstructed(nodes: Floats, pairs: Integers, lengths: Floats) -> npt.NDArray[np.bool_]:
    """Tell which pairs have no third node near their middle: sides of blocks have none, diagonals do."""
    middles = nodes[pairs].mean(axis=1)
    third = KDTree(nodes).query(middles, k=3)[0][:, 2]  # the pair itself is two
    clear: npt.NDArray[np.bool_] = third > ROOM * lengths
    return clear


def _bent(rng: np.random.Generator, nodes: Floats) -> Floats:
    """Bend the whole plan gently, so that no ring is round and no street quite straight."""
    phases = rng.uniform(0, 2 * np.pi, (2, 2))
    waves_m = rng.uniform([[4_000], [2_000]], [[7_000], [3_000]], (2, 2))  # long and short, of x and of y
    long, short = np.sin(2 * np.pi * nodes[:, ::-1] / waves_m[:, None] + phases[:, None])  # each (n_nodes, 2)
    bent: Floats = nodes + 190 * long + 40 * short
    return bent
