import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from privtrace.datasets import RoadClass, city
from privtrace.datasets.network import generator
from privtrace.datasets.plans import N_SUBURBS, RADIUS_M, SPEEDS
from privtrace.datasets.river import WATER_M, River
from privtrace.datasets.roads import crossings

SEEDS = range(8)


@pytest.fixture(scope="module", params=SEEDS)
def plan(request):
    """Give a city and its river, which is the first thing that a seed decides."""
    return city(request.param), River.draw(generator(request.param))


@pytest.fixture(scope="module")
def network(plan):
    return plan[0]


def lines(network, edges):
    return np.stack([network.nodes[network.starts[edges]], network.nodes[network.ends[edges]]], axis=1)


def test_size(network):
    assert 2_500 <= network.n_nodes <= 4_500
    west, south, east, north = network.box
    assert 10_000 < east - west < 17_000
    assert 10_000 < north - south < 17_000
    assert network.crs == "lonlat"


def test_the_river_is_crossed_by_a_few_bridges_of_main_roads_only(plan):
    network, river = plan
    gaps = river.gaps_m(network.nodes)
    assert np.abs(gaps).min() > WATER_M
    once = network.starts < network.ends
    bridges = once & (gaps[network.starts] * gaps[network.ends] < 0)
    assert 4 <= bridges.sum() <= 12
    assert np.all(network.classes[bridges] < RoadClass.STREET)
    assert np.all(network.lengths_m[bridges] > 2 * WATER_M)
    # Nor does anything else touch the water.
    wet = once & river.crosses(network.nodes[network.starts], network.nodes[network.ends])
    assert not np.any(wet & (network.classes == RoadClass.STREET))
    # Both banks are built on, and without bridges nothing would join them.
    assert min(np.mean(gaps > 0), np.mean(gaps < 0)) > 0.1
    dry = gaps[network.starts] * gaps[network.ends] > 0
    assert parts(network, dry)[gaps > 0].max() != parts(network, dry)[gaps < 0].max()


def test_suburbs_lie_apart_and_hang_on_their_roads(network):
    outside = np.hypot(*network.nodes.T) > 1.05 * RADIUS_M
    streets = (network.classes == RoadClass.STREET) & outside[network.starts] & outside[network.ends]
    sizes = np.bincount(parts(network, streets)[outside])
    assert np.sum(sizes > 12) >= N_SUBURBS - 2  # some may touch the city or hide behind a bulge of it
    farthest = np.hypot(*network.nodes.T).max()
    assert 6_400 < farthest < 9_500


def test_each_road_class_has_its_speed_and_its_share(network):
    for kind, speed in SPEEDS.items():
        np.testing.assert_allclose(network.speeds[network.classes == kind], speed)
    lengths = np.bincount(network.classes, network.lengths_m) / network.lengths_m.sum()
    assert lengths[RoadClass.STREET] > 0.75
    assert np.all(lengths[: RoadClass.STREET] > 0.02)
    assert list(SPEEDS.values()) == sorted(SPEEDS.values(), reverse=True)


def test_streets_meet_a_motorway_only_where_a_main_road_does(network):
    kinds = np.zeros((network.n_nodes, len(RoadClass)), dtype=bool)
    kinds[network.starts, network.classes] = True
    street, main = kinds[:, RoadClass.STREET], kinds[:, RoadClass.ARTERIAL] | kinds[:, RoadClass.AVENUE]
    assert not np.any(kinds[:, RoadClass.MOTORWAY] & street & ~main)
    assert np.sum(kinds[:, RoadClass.MOTORWAY] & main) >= 6  # junctions


def test_streets_look_like_streets(network):
    # Few dead ends, few crossings of many streets, no long ones across parks.
    degrees = np.bincount(network.starts, minlength=network.n_nodes)
    assert np.mean(degrees == 1) < 0.08
    assert 2.8 < degrees.mean() < 4
    assert degrees.max() <= 8
    streets = network.classes == RoadClass.STREET
    assert np.mean(network.lengths_m[streets] > 400) < 0.003


def test_no_edge_crosses_another(network):
    once = lines(network, network.starts < network.ends)
    first, second, share, other_share = crossings(once, once)
    # Edges of one node meet at their ends; rounding may put that just inside.
    inside = (np.minimum(share, 1 - share) > 1e-6) & (np.minimum(other_share, 1 - other_share) > 1e-6)
    assert not np.any(inside), (once[first[inside]], once[second[inside]])


def test_seed_decides():
    first, again, other = city(3), city(3), city(4)
    for name in ("nodes", "starts", "ends", "lengths_m", "speeds", "classes"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert first.nodes.shape != other.nodes.shape or np.any(first.nodes != other.nodes)


def parts(network, edges):
    """Give each node the number of its part, of those into which some edges join the nodes."""
    ends = (network.starts[edges], network.ends[edges])
    shape = (network.n_nodes, network.n_nodes)
    return connected_components(csr_array((np.ones(np.sum(edges)), ends), shape=shape), directed=False)[1]
