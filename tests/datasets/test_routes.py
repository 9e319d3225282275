import heapq

import numpy as np
import pytest

from privtrace.datasets import Network, RoadClass
from privtrace.datasets.routes import Routes, fastest_routes


def small_network(seed, n_nodes=25):
    """Make a random network of curved one-way streets, closed by a round trip so that it is connected."""
    rng = np.random.default_rng(seed)
    nodes = rng.uniform(0, 1_000, (n_nodes, 2))
    tour = rng.permutation(n_nodes)
    pairs = np.concatenate([np.column_stack([tour, np.roll(tour, -1)]), rng.integers(0, n_nodes, (60, 2))])
    starts, ends = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0).T
    lengths = np.hypot(*(nodes[ends] - nodes[starts]).T) * rng.uniform(1, 1.5, len(starts))
    speeds = rng.uniform(5, 20, len(starts))
    return Network(nodes, starts, ends, lengths, speeds, np.full(len(starts), RoadClass.STREET))


def fastest_times(network, origin):
    """Give the seconds from one node to each other: Dijkstra, slow and obvious."""
    streets = {node: [] for node in range(network.n_nodes)}
    for start, end, length, speed in zip(
        network.starts, network.ends, network.lengths_m, network.speeds, strict=True
    ):
        streets[start].append((end, length / speed))
    reached = {}
    waiting = [(0.0, origin)]
    while waiting:
        seconds, node = heapq.heappop(waiting)
        if node not in reached:
            reached[node] = seconds
            for end, more in streets[node]:
                heapq.heappush(waiting, (seconds + more, end))
    return reached


def seconds(network):
    return network.lengths_m / network.speeds


def durations(network, routes):
    owners = np.repeat(np.arange(len(routes)), np.diff(routes.offsets))
    return np.bincount(owners, seconds(network)[routes.edges], minlength=len(routes))


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_plain_dijkstra(seed):
    network = small_network(seed)
    everywhere = np.arange(network.n_nodes)
    origins, destinations = np.repeat(everywhere, len(everywhere)), np.tile(everywhere, len(everywhere))
    routes = fastest_routes(network, seconds(network), origins, destinations)
    expected = [fastest_times(network, origin)[end] for origin in everywhere for end in everywhere]
    np.testing.assert_allclose(durations(network, routes), expected, atol=1e-9)


@pytest.mark.parametrize("shared", ["origin", "destination", "both", "neither"])
def test_routes_follow_edges_from_origin_to_destination(shared):
    network = small_network(5)
    rng = np.random.default_rng(5)
    origins, destinations = rng.permutation(25)[:12], rng.permutation(25)[:12]
    if shared in ("origin", "both"):
        origins = np.append(origins, np.full(12, 3))
        destinations = np.append(destinations, np.delete(np.arange(25), 3)[:12])
    if shared in ("destination", "both"):
        origins = np.append(origins, np.delete(np.arange(25), 7)[:12])
        destinations = np.append(destinations, np.full(12, 7))
    routes = fastest_routes(network, seconds(network), origins, destinations)
    for route, (origin, destination) in enumerate(zip(origins, destinations, strict=True)):
        edges = routes.edges[routes.offsets[route] : routes.offsets[route + 1]]
        visited = [origin, *network.ends[edges]]
        assert visited[-1] == destination
        np.testing.assert_array_equal(visited[:-1], network.starts[edges])
    expected = [fastest_times(network, a)[b] for a, b in zip(origins, destinations, strict=True)]
    np.testing.assert_allclose(durations(network, routes), expected, atol=1e-9)


def test_the_faster_way_may_be_the_longer_one():
    # From 0 to 1 straight takes 100 s; around by 2 it takes about 57 s.
    nodes = np.array([[0, 0], [1_000, 0], [500, 500]])
    network = Network.two_way(nodes, np.array([0, 0, 2]), np.array([1, 2, 1]), np.array([10, 25, 25]))
    routes = fastest_routes(network, seconds(network), np.array([0, 0]), np.array([1, 0]))
    assert routes.edges.tolist() == [1, 2]
    assert routes.offsets.tolist() == [0, 2, 2]
    assert len(routes) == 2
    slow = fastest_routes(network, seconds(network) * [1, 9, 1, 1, 1, 1], np.array([0]), np.array([1]))
    assert slow.edges.tolist() == [0]


def test_parts_are_gathered_in_their_places():
    first = Routes(np.array([5, 6, 7]), np.array([0, 2, 3]))
    second = Routes(np.array([8]), np.array([0, 0, 1]))
    whole = Routes.gathered([(np.array([3, 0]), first), (np.array([1, 2]), second)])
    assert whole.edges.tolist() == [7, 8, 5, 6]
    assert whole.offsets.tolist() == [0, 1, 1, 2, 4]
