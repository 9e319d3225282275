import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from privtrace.datasets import RoadClass
from privtrace.datasets.roads import SNAP_M, Road, crossings, join_roads


def road(*points, kind=RoadClass.ARTERIAL):
    return Road(np.array(points, float), kind)


def test_roads_that_cross_are_joined_there():
    joined = join_roads([road((-500, 0), (500, 0)), road((0, -400), (0, 600))])
    assert len(joined.nodes) == 5
    assert len(joined.edges) == 4
    degrees = np.bincount(joined.edges.ravel())
    np.testing.assert_allclose(joined.nodes[degrees == 4], [[0, 0]], atol=1e-9)


def test_a_road_that_ends_near_another_node_ends_in_it():
    joined = join_roads([road((-500, 0), (0, 0), (500, 0)), road((0, SNAP_M / 2), (0, 600))])
    assert len(joined.nodes) == 4
    assert np.bincount(joined.edges.ravel()).max() == 3


def test_of_two_roads_that_run_together_the_wider_stays():
    narrow, wide = (road((0, 0), (300, 0), kind=kind) for kind in (RoadClass.AVENUE, RoadClass.MOTORWAY))
    joined = join_roads([narrow, wide])
    assert joined.edges.tolist() == [[0, 1]]
    assert joined.classes.tolist() == [RoadClass.MOTORWAY]


def test_keeping_some_edges_keeps_their_nodes():
    joined = join_roads([road((0, 0), (300, 0), (600, 0), (900, 0))])
    kept = joined.keep(np.array([True, False, True]))
    assert kept.nodes[:, 0].tolist() == [0, 300, 600, 900]
    assert kept.edges.tolist() == [[0, 1], [2, 3]]
    assert joined.keep(np.array([False, True, False])).nodes[:, 0].tolist() == [300, 600]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_crossings_are_those_of_a_double_loop(seed):
    rng = np.random.default_rng(seed)
    some, others = rng.uniform(0, 10, (8, 2, 2)), rng.uniform(0, 10, (11, 2, 2))
    first, second, share, other_share = crossings(some, others)
    assert set(zip(first.tolist(), second.tolist(), strict=True)) == {
        (i, j) for i in range(8) for j in range(11) if parted(some[i], others[j]) and parted(others[j], some[i])
    }
    here = some[first, 0] + share[:, None] * (some[first, 1] - some[first, 0])
    there = others[second, 0] + other_share[:, None] * (others[second, 1] - others[second, 0])
    np.testing.assert_allclose(here, there, atol=1e-6)


def parted(line, other):
    """Tell whether a line has the ends of another on either side."""
    (a, b), (p, q) = line, other
    sides = [(b - a)[0] * (end - a)[1] - (b - a)[1] * (end - a)[0] for end in (p, q)]
    return sides[0] * sides[1] < 0
