import numpy as np
import pytest

from privtrace.datasets import Network, RoadClass, city, moving_objects
from privtrace.datasets.network import generator, largest_component, meters_per_degree, simple_edges
from privtrace.errors import SettingsError
from privtrace.space.region import Region

TRIANGLE = {
    "nodes": [[0, 0], [300, 0], [0, 400]],
    "starts": [0, 1, 2],
    "ends": [1, 2, 0],
    "lengths_m": [300, 500, 400],
    "speeds": [10, 10, 20],
    "classes": [1, 3, 3],
}


def triangle(middle=None, **changes):
    return Network(**{name: np.array(values) for name, values in (TRIANGLE | changes).items()}, middle=middle)


def test_one_way_streets_are_a_network():
    network = triangle()
    assert (network.n_nodes, network.n_edges) == (3, 3)
    assert repr(network) == "Network(3 nodes, 3 edges, planar)"
    assert network.box == (0, 0, 300, 400)
    np.testing.assert_array_equal(network.travel_times().toarray(), [[0, 30, 0], [0, 0, 50], [20, 0, 0]])


def test_two_way_makes_two_edges_of_a_street():
    network = Network.two_way(np.array([[0, 0], [30, 40]]), np.array([0]), np.array([1]), np.array([10.0]))
    assert network.starts.tolist() == [0, 1]
    assert network.ends.tolist() == [1, 0]
    np.testing.assert_allclose(network.lengths_m, [50, 50])
    assert network.classes.tolist() == [RoadClass.STREET, RoadClass.STREET]


def test_edges_may_be_longer_than_the_straight_line():
    assert triangle(lengths_m=[300, 700, 400]).lengths_m.max() == 700


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes": [[0, 0, 0], [1, 0, 0], [0, 1, 0]]}, "shape"),
        ({"nodes": [[0, 0]]}, "two or more"),
        ({"nodes": [[0, 0], [300, 0], [0, np.nan]]}, "finite"),
        ({"speeds": [10, 10]}, "one entry per edge"),
        ({"starts": [0, 1, 3]}, "nodes 0 to 2"),
        ({"ends": [1, 2, -1]}, "nodes 0 to 2"),
        ({"starts": [0.0, 1.0, 2.5]}, "whole numbers"),
        ({"ends": [1, 2, 2]}, "to itself"),
        ({"speeds": [10, 0, 20]}, "speeds must be positive"),
        ({"lengths_m": [300, np.inf, 400]}, "lengths_m must be positive"),
        ({"lengths_m": [299, 500, 400]}, "straight line"),
        ({"classes": [0, 1, 4]}, "RoadClass"),
        ({"classes": [0, 1]}, "one entry per edge"),
        ({"middle": (8.2, 90.0)}, "latitude"),
        ({"middle": (np.nan, 50.0)}, "latitude"),
        ({"starts": [0, 0, 2], "ends": [1, 1, 0]}, "same direction"),
        ({"starts": [0, 1, 0], "ends": [1, 0, 2], "lengths_m": [300, 300, 400]}, "reachable"),
        ({"starts": [], "ends": [], "lengths_m": [], "speeds": [], "classes": []}, "reachable"),
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
    with pytest.raises(SettingsError, match="one entry per street"):
        Network.two_way(corners, np.array([0]), np.array([1, 0]), np.array([10]))


def test_a_plane_on_the_globe_gives_longitude_and_latitude():
    network = triangle(middle=(8.0, 60.0))
    assert network.crs == "lonlat"
    # A degree of latitude is 111.195 km, one of longitude half of that at 60 degrees north.
    placed = network.own_coordinates(np.array([[0.0, 0.0], [55_597.5, 111_195.0]]))
    np.testing.assert_allclose(placed, [[8, 60], [9, 61]], rtol=1e-6)
    np.testing.assert_allclose(meters_per_degree(0.0), [111_195, 111_195], rtol=1e-5)
    points = np.array([[1.0, 2.0]])
    assert triangle().own_coordinates(points) is points


def test_the_region_holds_all_nodes_with_a_margin():
    assert triangle().region == (-50, -50, 350, 450)
    west, south, east, north = triangle(middle=(8.0, 60.0)).region
    assert (west, south) == (7.999, 59.999)
    assert (east, north) == (8.007, 60.005)


def test_loops_and_all_but_the_first_of_parallel_edges_are_dropped():
    ends, kept = simple_edges(np.array([[1, 0], [2, 2], [0, 1], [1, 2]]), np.array([5, 1, 3, 4]))
    assert ends.tolist() == [[0, 1], [1, 2]]
    assert kept.tolist() == [2, 3]


def test_the_largest_component_is_numbered_anew():
    nodes, edges, ends = largest_component(6, np.array([[0, 1], [2, 4], [5, 4]]))
    assert nodes.tolist() == [False, False, True, False, True, True]
    assert edges.tolist() == [False, True, True]
    assert ends.tolist() == [[0, 1], [2, 1]]


def test_a_negative_seed_is_refused():
    with pytest.raises(SettingsError, match="seed"):
        generator(-1)


@pytest.mark.parametrize("seed", [1, 2])
def test_city_limits_hold_all_trips_and_follow_from_the_plan(seed):
    network = city(seed)
    ring = network.limits
    assert ring.shape == (49, 2) and np.array_equal(ring[0], ring[-1])
    region = Region.polygon({"type": "Polygon", "coordinates": [ring.tolist()]}, crs="lonlat")
    trips = moving_objects(network, 500, seed=seed)
    assert region.tally(trips).n_inside == trips.n_points
    west, south, east, north = network.region
    box_area = (east - west) * (north - south)
    x, y = ring.T
    assert abs(np.sum(x[:-1] * y[1:] - x[1:] * y[:-1])) / 2 < 0.8 * box_area
