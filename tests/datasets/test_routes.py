import heapq

import numpy as np
import pytest

from privtrace.datasets import Network, fastest_routes
from privtrace.datasets import routes as routes_module


def small_network(seed, n_nodes=25):
    """Make a random network of curved one-way streets, closed by a round trip so that it is connected."""
    rng = np.random.default_rng(seed)
    nodes = rng.uniform(0, 1_000, (n_nodes, 2))
    tour = rng.permutation(n_nodes)
    pairs = np.concatenate([np.column_stack([tour, np.roll(tour, -1)]), rng.integers(0, n_nodes, (60, 2))])
    starts, ends = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0).T
    lengths = np.hypot(*(nodes[ends] - nodes[starts]).T) * rng.uniform(1, 1.5, len(starts))
    return Network(nodes, starts, ends, lengths, rng.uniform(5, 20, len(starts)))


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


@pytest.mark.parametrize("batch_entries", [1, 75, 1 << 21])
@pytest.mark.parametrize("seed", range(3))
def test_agrees_with_plain_dijkstra(seed, batch_entries, monkeypatch):
    monkeypatch.setattr(routes_module, "BATCH_ENTRIES", batch_entries)
    network = small_network(seed)
    everywhere = np.arange(network.n_nodes)
    origins, destinations = np.repeat(everywhere, len(everywhere)), np.tile(everywhere, len(everywhere))
    routes = fastest_routes(network, origins, destinations)

    expected = [fastest_times(network, origin)[end] for origin in everywhere for end in everywhere]
    np.testing.assert_allclose(routes.durations_s, expected, atol=1e-9)
    np.testing.assert_array_equal(routes.nodes[routes.offsets[:-1]], origins)
    np.testing.assert_array_equal(routes.nodes[routes.offsets[1:] - 1], destinations)


def test_routes_follow_edges_and_their_times():
    network = small_network(5)
    rng = np.random.default_rng(5)
    routes = fastest_routes(network, rng.integers(0, 25, 200), rng.integers(0, 25, 200))
    inside = np.ones(len(routes.nodes) - 1, dtype=bool)
    inside[routes.offsets[1:-1] - 1] = False
    seconds = network.travel_times().toarray()[routes.nodes[:-1], routes.nodes[1:]][inside]
    assert np.all(seconds > 0)  # 0 means that there is no edge
    np.testing.assert_allclose(np.diff(routes.elapsed_s)[inside], seconds)
    assert np.all(routes.elapsed_s[routes.offsets[:-1]] == 0)


def test_the_faster_way_may_be_the_longer_one():
    # From 0 to 1 straight takes 100 s; around by 2 it takes about 57 s.
    nodes = np.array([[0, 0], [1_000, 0], [500, 500]])
    network = Network.two_way(nodes, np.array([0, 0, 2]), np.array([1, 2, 1]), np.array([10, 25, 25]))
    routes = fastest_routes(network, np.array([0, 0]), np.array([1, 0]))
    assert routes.nodes.tolist() == [0, 2, 1, 0]
    assert routes.offsets.tolist() == [0, 3, 4]
    assert len(routes) == 2
