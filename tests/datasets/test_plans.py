import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

from privtrace.datasets import town
from privtrace.datasets.plans import RADIAL_SPEED, STREET_SPEED

SEEDS = range(12)


@pytest.fixture(scope="module", params=SEEDS)
def network(request):
    return town(request.param)


def test_size(network):
    assert 1_500 <= network.n_nodes <= 3_000
    west, south, east, north = network.box
    assert 8_500 < east - west < 12_000
    assert 8_500 < north - south < 12_000


def test_connected(network):
    assert connected_components(network.travel_times(), connection="strong")[0] == 1


def test_streets_look_like_streets(network):
    # Few dead ends, few crossings of many streets, no long ones across parks.
    degrees = np.bincount(network.starts, minlength=network.n_nodes)
    assert np.mean(degrees == 1) < 0.08
    assert 2.8 < degrees.mean() < 4
    assert degrees.max() <= 7
    assert np.mean(network.lengths_m > 400) < 0.003


def test_main_roads_are_few_and_fast(network):
    main = network.speeds > STREET_SPEED
    assert 0.05 < network.lengths_m[main].sum() / network.lengths_m.sum() < 0.2
    assert network.speeds.max() > 1.5 * RADIAL_SPEED


def test_no_street_crosses_another(network):
    once = network.starts < network.ends
    assert crossings(network.nodes, network.starts[once], network.ends[once]) == 0


def test_crossings_are_seen():
    square = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    assert crossings(square, np.array([0, 2]), np.array([1, 3])) == 1
    assert crossings(square, np.array([0, 1]), np.array([2, 3])) == 0


def test_seed_decides():
    first, again, other = town(3), town(3), town(4)
    for name in ("nodes", "starts", "ends", "lengths_m", "speeds"):
        np.testing.assert_array_equal(getattr(first, name), getattr(again, name))
    assert first.nodes.shape != other.nodes.shape or np.any(first.nodes != other.nodes)


def crossings(nodes, starts, ends):
    """Count pairs of edges without a common node that cross: each has its ends on both sides of the other."""
    a, b = nodes[starts], nodes[ends]  # (n_edges, 2)
    middles = (a + b) / 2
    order = np.argsort(middles[:, 0])
    a, b, middles, starts, ends = a[order], b[order], middles[order], starts[order], ends[order]
    reach = np.hypot(*(b - a).T).max()
    last = np.searchsorted(middles[:, 0], middles[:, 0] + reach, side="right")
    n_after = last - np.arange(len(a)) - 1
    one = np.repeat(np.arange(len(a)), n_after)
    two = np.arange(len(one)) - np.repeat(np.cumsum(n_after) - n_after, n_after) + one + 1
    near = np.abs(middles[one, 1] - middles[two, 1]) <= reach
    one, two = one[near], two[near]
    apart = ~np.any([p[one] == q[two] for p in (starts, ends) for q in (starts, ends)], axis=0)
    one, two = one[apart], two[apart]
    return np.sum(_parted(a[one], b[one], a[two], b[two]) & _parted(a[two], b[two], a[one], b[one]))


def _parted(a, b, p, q):
    return _side(a, b, p) * _side(a, b, q) < 0


def _side(a, b, p):
    return np.sign((b - a)[:, 0] * (p - a)[:, 1] - (b - a)[:, 1] * (p - a)[:, 0])
