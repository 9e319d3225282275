import numpy as np
import pytest

from privtrace.datasets import Network
from privtrace.datasets.network import generator
from privtrace.errors import SettingsError

TRIANGLE = {
    "nodes": [[0, 0], [300, 0], [0, 400]],
    "starts": [0, 1, 2],
    "ends": [1, 2, 0],
    "lengths_m": [300, 500, 400],
    "speeds": [10, 10, 20],
}


def triangle(**changes):
    return Network(**{name: np.array(values) for name, values in (TRIANGLE | changes).items()})


def test_one_way_streets_are_a_network():
    network = triangle()
    assert (network.n_nodes, network.n_edges) == (3, 3)
    assert repr(network) == "Network(3 nodes, 3 edges)"
    assert network.box == (0, 0, 300, 400)
    np.testing.assert_array_equal(network.travel_times().toarray(), [[0, 30, 0], [0, 0, 50], [20, 0, 0]])


def test_two_way_makes_two_edges_of_a_street():
    network = Network.two_way(np.array([[0, 0], [30, 40]]), np.array([0]), np.array([1]), np.array([10.0]))
    assert network.starts.tolist() == [0, 1]
    assert network.ends.tolist() == [1, 0]
    np.testing.assert_allclose(network.lengths_m, [50, 50])


def test_edges_may_be_longer_than_the_straight_line():
    assert triangle(lengths_m=[300, 700, 400]).lengths_m.max() == 700


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": [[0, 0, 0], [1, 0, 0], [0, 1, 0]]}, "shape"),
        ({"nodes": [[0, 0]]}, "two or more"),
        ({"nodes": [[0, 0], [300, 0], [0, np.nan]]}, "finite"),
        ({"speeds": [10, 10]}, "one entry an edge"),
        ({"starts": [0, 1, 3]}, "nodes 0 to 2"),
        ({"ends": [1, 2, -1]}, "nodes 0 to 2"),
        ({"starts": [0.0, 1.0, 2.5]}, "whole numbers"),
        ({"ends": [1, 2, 2]}, "to itself"),
        ({"speeds": [10, 0, 20]}, "speeds must be positive"),
        ({"lengths_m": [300, np.inf, 400]}, "lengths_m must be positive"),
        ({"lengths_m": [299, 500, 400]}, "straight line"),
        ({"starts": [0, 0, 2], "ends": [1, 1, 0]}, "same direction"),
        ({"starts": [0, 1, 0], "ends": [1, 0, 2], "lengths_m": [300, 300, 400]}, "reachable"),
        ({"starts": [], "ends": [], "lengths_m": [], "speeds": []}, "reachable"),
    ],
)
def test_a_bad_network_is_refused(changes, message):
    with pytest.raises(SettingsError, match=message):
        triangle(**changes)


def test_two_way_checks_like_the_network():
    corners = np.array([[0, 0], [300, 0]])
    with pytest.raises(SettingsError, match="nodes 0 to 1"):
        Network.two_way(corners, np.array([0]), np.array([2]), np.array([10]))
    with pytest.raises(SettingsError, match="to itself"):
        Network.two_way(corners, np.array([0]), np.array([0]), np.array([10]))
    with pytest.raises(SettingsError, match="one entry a street"):
        Network.two_way(corners, np.array([0]), np.array([1, 0]), np.array([10]))


def test_a_negative_seed_is_refused():
    with pytest.raises(SettingsError, match="seed"):
        generator(-1)
