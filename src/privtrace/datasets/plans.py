"""Plan a city: a river with bridges, rings and radials, districts of crooked street grids, suburbs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import Delaunay, KDTree

from privtrace.datasets.network import KMH, Flags, Network, RoadClass, generator, largest_component
from privtrace.datasets.river import WATER_M, River
from privtrace.datasets.roads import SPACING_M, Road, Roads, crossings, join_roads
from privtrace.trajectories import Floats, Integers

MIDDLE = (8.2, 53.1)  # longitude and latitude at which the city lies
ZONE = "Europe/Berlin"  # which is the time there
SPEEDS = {
    RoadClass.MOTORWAY: 90 * KMH,
    RoadClass.ARTERIAL: 60 * KMH,
    RoadClass.AVENUE: 45 * KMH,
    RoadClass.STREET: 30 * KMH,
}

RADIUS_M = 4_900.0  # of the city without its suburbs, on average
RINGS = ((650.0, RoadClass.AVENUE), (2_100.0, RoadClass.ARTERIAL), (3_900.0, RoadClass.MOTORWAY))
N_RADIALS = 8
N_SUBURBS = 5  # each at the end of a radial
SUBURBS_M = (6_200.0, 7_200.0)  # from the middle of the city
SUBURB_RADII_M = (500.0, 850.0)
QUAY_M = WATER_M + 50  # from the middle of the river to the avenue on its bank
LONGEST_BRIDGE_M = 700.0  # a road that meets the river at a flatter angle ends there

N_DISTRICTS = 16
N_PARKS = 6
MISSING_STREETS = 0.14  # the share of streets that were never built
LONGEST_STREET_M = 340.0  # longer ones would cross a park
THIRD_NODE = 0.62  # times a street's length: how far third nodes stay from its middle
CLEARANCE_M = 70.0  # of street corners from main roads and from each other


def city(seed: int = 1) -> Network:
    """Plan a city about 15 km across with its suburbs, of 2,500 to 4,500 nodes, and place it on the globe.

    Nothing crosses the river but bridges of main roads, and streets meet a motorway only where a main road
    does. All edges are open both ways.
    """
    rng = generator(seed)
    river, layout = River.draw(rng), _Layout.draw(rng)
    roads = _main_roads(rng, river, layout)
    nodes = np.concatenate([roads.nodes, _corners(rng, river, layout, roads.nodes)])
    streets = _streets(rng, river, nodes, roads)
    ends = np.concatenate([roads.edges, streets])  # (n_edges, 2)
    classes = np.concatenate([roads.classes, np.full(len(streets), RoadClass.STREET)])
    kept, whole, ends = largest_component(len(nodes), ends)
    classes = classes[whole]
    speeds = np.array([SPEEDS[kind] for kind in RoadClass])[classes]
    return Network.two_way(
        nodes[kept], ends[:, 0], ends[:, 1], speeds, classes=classes, middle=MIDDLE, zone=ZONE
    )


@dataclass(frozen=True, eq=False)
class _Layout:
    """Say where city and suburbs are, and how the plan is bent so that nothing in it is quite straight."""

    bulges: Floats  # (3,): phases of the waves of the city's edge
    radials: Floats  # (N_RADIALS,): their angles; the first N_SUBURBS lead to the suburbs
    suburbs: Floats  # (N_SUBURBS, 3): x, y and radius
    phases: Floats  # (2, 2): of a long and a short bend of x and of y
    waves_m: Floats  # (2, 2): their lengths

    @classmethod
    def draw(cls, rng: np.random.Generator) -> _Layout:
        spread = rng.permutation(N_RADIALS) + rng.uniform(-0.3, 0.3, N_RADIALS)
        radials = 2 * np.pi * spread / N_RADIALS
        middles = _planar(radials[:N_SUBURBS], rng.uniform(*SUBURBS_M, N_SUBURBS))
        return cls(
            bulges=rng.uniform(0, 2 * np.pi, 3),
            radials=radials,
            suburbs=np.column_stack([middles, rng.uniform(*SUBURB_RADII_M, N_SUBURBS)]),
            phases=rng.uniform(0, 2 * np.pi, (2, 2)),
            waves_m=rng.uniform([[4_000], [2_000]], [[7_000], [3_000]], (2, 2)),
        )

    def edge_m(self, angles: Floats) -> Floats:
        """Give the distance from the middle to the edge of the city, for each angle."""
        two, three, five = self.bulges
        waves = 0.07 * np.sin(2 * angles + two) + 0.06 * np.sin(3 * angles + three)
        radii: Floats = RADIUS_M * (1 + waves + 0.04 * np.sin(5 * angles + five))
        return radii

    def in_city(self, points: Floats) -> Flags:
        """Tell which points lie in the city without its suburbs."""
        x, y = points.T
        inside: Flags = np.hypot(x, y) < self.edge_m(np.arctan2(y, x))
        return inside

    def bent(self, points: Floats) -> Floats:
        """Bend the plan gently."""
        waves = 2 * np.pi * points[:, ::-1] / self.waves_m[:, None] + self.phases[:, None]
        long, short = np.sin(waves)  # each (n_points, 2)
        moved: Floats = points + 190 * long + 40 * short
        return moved


def _main_roads(rng: np.random.Generator, river: River, layout: _Layout) -> Roads:
    """Lay rings, radials that lead on into the suburbs, and quays; where roads meet the river, bridges."""
    along_m = np.arange(-2 * RADIUS_M, 2 * RADIUS_M, SPACING_M)
    quays = [river.place(along_m, np.full_like(along_m, gap)) for gap in (-QUAY_M, QUAY_M)]
    bridge = river.place(np.full(2, rng.uniform(-700, 700)), np.array([-1.1, 1.1]) * QUAY_M)
    courses = [(layout.bent(points), kind) for points, kind in _rings_and_radials(rng, layout)]
    # Without its points between the quays, a road leaps over the river.
    crossing = [Road(points[np.abs(river.gaps_m(points)) > QUAY_M], kind) for points, kind in courses]
    roads = join_roads([*crossing, *(Road(points, RoadClass.AVENUE) for points in (*quays, bridge))])
    roads = _bridged_once(river, roads)
    starts, ends = roads.nodes[roads.edges].transpose(1, 0, 2)
    dry = ~river.crosses(starts, ends)
    on_banks = np.all(np.abs(river.gaps_m(roads.nodes))[roads.edges] > WATER_M, axis=1)
    bridges = on_banks & (np.hypot(*(ends - starts).T) < LONGEST_BRIDGE_M)
    # Out of town the banks are green: the quays were there only to give bridges their heads.
    rural = (roads.classes == RoadClass.AVENUE) & ~layout.in_city((starts + ends) / 2)
    return roads.keep((dry | bridges) & ~rural)


def _bridged_once(river: River, roads: Roads) -> Roads:
    """Give roads that cross each other above the water one bridge for both, between the nearest heads."""
    gaps = river.gaps_m(roads.nodes)
    edges, classes = [roads.edges], [roads.classes]
    for junction in np.flatnonzero(np.abs(gaps) < WATER_M):
        meeting = np.any(roads.edges == junction, axis=1)
        heads = np.setdiff1d(roads.edges[meeting], junction)
        left, right = heads[gaps[heads] > WATER_M], heads[gaps[heads] < -WATER_M]
        pairs = np.stack(np.meshgrid(left, right), axis=-1).reshape(-1, 2)
        spans = np.hypot(*(roads.nodes[pairs[:, 0]] - roads.nodes[pairs[:, 1]]).T)
        edges.append(pairs[np.argsort(spans)[:1]])
        classes.append(roads.classes[meeting].min(keepdims=True)[: len(pairs)])
    return Roads(roads.nodes, np.concatenate(edges), np.concatenate(classes))


def _rings_and_radials(rng: np.random.Generator, layout: _Layout) -> list[Road]:
    """Lay radials from the inner ring to a suburb or the edge of the city, and rings that meet them."""
    radii = np.array([radius for radius, _ in RINGS]) * rng.uniform(0.9, 1.08, (N_RADIALS, len(RINGS)))
    outer = layout.edge_m(layout.radials)
    outer[: len(layout.suburbs)] = np.hypot(*layout.suburbs[:, :2].T) + 0.8 * layout.suburbs[:, 2]
    stops = np.column_stack([radii, outer])
    roads = [
        Road(_course(np.full(len(RINGS) + 1, angle), stop), RoadClass.ARTERIAL)
        for angle, stop in zip(layout.radials, stops, strict=True)
    ]
    order = np.argsort(layout.radials)
    order = np.append(order, order[0])
    around = layout.radials[order] + np.append(np.zeros(N_RADIALS), 2 * np.pi)
    return roads + [Road(_course(around, radii[order, ring]), kind) for ring, (_, kind) in enumerate(RINGS)]


def _course(angles: Floats, radii: Floats) -> Floats:
    """Place points along a road that leads from junction to junction, given by angle and radius."""
    lengths = np.hypot(np.diff(radii), np.diff(angles) * (radii[:-1] + radii[1:]) / 2)
    n_steps = np.maximum(1, np.round(lengths / SPACING_M))
    stops = np.concatenate([[0], np.cumsum(n_steps)])
    steps = np.arange(stops[-1] + 1)
    return _planar(np.interp(steps, stops, angles), np.interp(steps, stops, radii))


def _planar(angles: Floats, radii: Floats) -> Floats:
    """Give x and y of points known by angle and distance from the middle of the city."""
    return np.column_stack([radii * np.cos(angles), radii * np.sin(angles)])


def _corners(rng: np.random.Generator, river: River, layout: _Layout, taken: Floats) -> Floats:
    """Place street corners: each district a grid of its own direction, denser toward the middle."""
    corners = np.concatenate([_city_corners(rng, layout), *_suburb_corners(rng, layout)])
    corners = layout.bent(corners)
    corners = corners[np.abs(river.gaps_m(corners)) > QUAY_M + CLEARANCE_M / 2]
    corners = corners[KDTree(taken).query(corners)[0] > CLEARANCE_M]
    # Where two districts meet, their grids do not fit: of two corners too close to each other, one goes.
    close = KDTree(corners).query_pairs(CLEARANCE_M, output_type="ndarray")
    return np.delete(corners, np.unique(close[:, 1]), axis=0)


def _city_corners(rng: np.random.Generator, layout: _Layout) -> Floats:
    """Cover the city by districts, and leave parks free."""
    radii = RADIUS_M * np.sqrt(np.append(0, rng.random(N_DISTRICTS - 1)))  # the first is the center
    middles = _planar(rng.uniform(0, 2 * np.pi, N_DISTRICTS), radii)
    spacings = 105 + 95 * radii / RADIUS_M
    grids = [_grid(rng, 1.6 * RADIUS_M, spacing) for spacing in spacings]
    district = np.repeat(np.arange(N_DISTRICTS), [len(grid) for grid in grids])
    corners = np.concatenate(grids)
    nearest = KDTree(middles).query(corners)[1]
    kept: Floats = corners[(nearest == district) & layout.in_city(corners) & ~_in_parks(rng, corners)]
    return kept


def _suburb_corners(rng: np.random.Generator, layout: _Layout) -> list[Floats]:
    """Give each suburb a round grid of its own."""
    grids = [(_grid(rng, radius, rng.uniform(130, 170)), x, y, radius) for x, y, radius in layout.suburbs]
    return [[x, y] + grid[np.hypot(*grid.T) < radius] for grid, x, y, radius in grids]


def _grid(rng: np.random.Generator, reach_m: float, spacing_m: float) -> Floats:
    """Make the corners of one irregular grid in a direction of its own."""
    steps = np.arange(-reach_m, reach_m, spacing_m)
    grid = np.stack(np.meshgrid(steps, steps), axis=-1).reshape(-1, 2)
    grid += rng.uniform(-0.12, 0.12, grid.shape) * spacing_m
    direction = rng.uniform(0, np.pi / 2)
    cosine, sine = np.cos(direction), np.sin(direction)
    turned: Floats = grid @ np.array([[cosine, sine], [-sine, cosine]])
    return turned


def _in_parks(rng: np.random.Generator, points: Floats) -> Flags:
    """Tell which points lie in a park: a round place without streets."""
    middles = _planar(rng.uniform(0, 2 * np.pi, N_PARKS), RADIUS_M * rng.uniform(0.25, 0.9, N_PARKS))
    sizes = rng.uniform(250, 520, N_PARKS)
    gaps = np.hypot(*(points[:, None] - middles).transpose(2, 0, 1))  # (n_points, n_parks)
    inside: Flags = np.any(gaps < sizes, axis=1)
    return inside


def _streets(rng: np.random.Generator, river: River, nodes: Floats, roads: Roads) -> Integers:
    """Join neighboring nodes by streets, leaving some out but never cutting the city apart."""
    n_nodes = len(nodes)
    pairs = _neighbors(nodes)
    # What only a longer street could join to the city, like a bank of the river out of town, stays unbuilt.
    pairs = pairs[_lengths_m(nodes, pairs) < 2 * LONGEST_STREET_M]
    pairs = pairs[_open_to_streets(river, nodes, roads, pairs)]
    lengths = _lengths_m(nodes, pairs)
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
    """Pair nodes by the edges of a triangulation, which never cross each other."""
    triangles = Delaunay(nodes).simplices.astype(np.int64)
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    return np.unique(np.sort(edges, axis=1), axis=0)


def _lengths_m(nodes: Floats, pairs: Integers) -> Floats:
    lengths: Floats = np.hypot(*(nodes[pairs[:, 1]] - nodes[pairs[:, 0]]).T)
    return lengths


def _open_to_streets(river: River, nodes: Floats, roads: Roads, pairs: Integers) -> Flags:
    """Tell which pairs a street may join: not along or across a main road, nor the river, nor at a motorway."""
    on_roads = np.isin(pairs @ [len(nodes), 1], np.sort(roads.edges, axis=1) @ [len(nodes), 1])
    narrowest = np.full(len(nodes), RoadClass.STREET)
    narrowest[roads.edges] = RoadClass.MOTORWAY
    np.maximum.at(narrowest, roads.edges, roads.classes[:, None])
    barred = np.any(narrowest[pairs] == RoadClass.MOTORWAY, axis=1)
    wet = river.crosses(nodes[pairs[:, 0]], nodes[pairs[:, 1]])
    across = np.zeros(len(pairs), dtype=bool)
    across[crossings(nodes[pairs], roads.nodes[roads.edges]).some] = True
    free: Flags = ~(on_roads | barred | wet | across)
    return free


def _unobstructed(nodes: Floats, pairs: Integers, lengths: Floats) -> Flags:
    """Tell which pairs have no third node near their middle: sides of blocks have none, diagonals do."""
    middles = nodes[pairs].mean(axis=1)
    third = KDTree(nodes).query(middles, k=3)[0][:, 2]  # the pair itself is two
    clear: Flags = third > THIRD_NODE * lengths
    return clear
