import numpy as np
import pytest
from scipy.spatial import KDTree

from privtrace.datasets import Network, town, town_trips, trips
from privtrace.datasets.travel import JITTER_M, WORST_JITTER
from privtrace.errors import SettingsError

#: A cut-off error in x and in y at once.
WORST_M = np.sqrt(2) * WORST_JITTER * JITTER_M


@pytest.fixture(scope="module")
def network():
    return town()


@pytest.fixture(scope="module")
def made(network):
    return trips(network, 3_000, seed=5)


def inside(trajectories):
    """Tell which steps from a point to the next stay in one trajectory."""
    steps = np.ones(trajectories.n_points - 1, dtype=bool)
    steps[trajectories.offsets[1:-1] - 1] = False
    return steps


def test_counts(made):
    assert len(made) == 3_000
    assert np.diff(made.offsets).min() >= 2
    assert made.crs == "planar"
    assert np.all(np.isfinite(made.points))


def test_seed_decides(network, made):
    again, other = trips(network, 3_000, seed=5), trips(network, 3_000, seed=6)
    np.testing.assert_array_equal(made.points, again.points)
    np.testing.assert_array_equal(made.offsets, again.offsets)
    np.testing.assert_array_equal(made.times, again.times)
    assert made.points.shape != other.points.shape


def test_speeds_are_allowed_ones(network, made):
    steps = np.hypot(*np.diff(made.points, axis=0).T)[inside(made)]
    assert steps.max() <= network.speeds.max() * 15 + 2 * WORST_M
    assert 60 < np.median(steps) < 250  # most objects are under way most of the time


def test_reports_come_at_fixed_steps_in_order_of_departure(network, made):
    assert made.times.dtype == "datetime64[ms]"
    assert np.all(np.diff(made.times)[inside(made)] == np.timedelta64(15_000, "ms"))
    assert np.all(np.diff(made.times[made.offsets[:-1]]) >= np.timedelta64(0, "ms"))
    often = trips(network, 50, seed=5, step_s=2.5)
    assert np.all(np.diff(often.times)[inside(often)] == np.timedelta64(2_500, "ms"))


def test_points_lie_on_streets(network, made):
    distances = nearest_street_m(network, made.points[::7])
    # The network is searched by samples of its edges, a meter apart at most.
    assert distances.max() <= WORST_M + 0.5


def test_trips_start_and_end_at_nodes_apart_from_each_other(network, made):
    tree = KDTree(network.nodes)
    from_m, origins = tree.query(made.points[made.offsets[:-1]])
    to_m, destinations = tree.query(made.points[made.offsets[1:] - 1])
    assert max(from_m.max(), to_m.max()) <= WORST_M
    assert np.all(origins != destinations)


def test_some_trips_are_short_and_some_long(made):
    ends = made.points[made.offsets[1:] - 1] - made.points[made.offsets[:-1]]
    tenth, half, most = np.percentile(np.hypot(*ends.T), [10, 50, 95])
    assert tenth < 1_000 < half < 3_500 < most


def test_places_are_popular_to_very_different_degrees(network, made):
    destinations = KDTree(network.nodes).query(made.points[made.offsets[1:] - 1])[1]
    counts = np.sort(np.bincount(destinations))[::-1]
    assert counts[:40].sum() > 0.25 * len(made)
    assert np.count_nonzero(counts) > 250


def test_popular_places_are_the_same_for_all_seeds(network, made):
    other = trips(network, 3_000, seed=6)
    tree = KDTree(network.nodes)
    here, there = (
        np.bincount(tree.query(few.points[few.offsets[1:] - 1])[1], minlength=network.n_nodes)
        for few in (made, other)
    )
    assert np.corrcoef(here, there)[0, 1] > 0.9


def test_the_smallest_network_and_a_long_step_give_two_points():
    street = Network.two_way(np.array([[0, 0], [300, 0]]), np.array([0]), np.array([1]), np.array([10.0]))
    few = trips(street, 10, seed=1, step_s=3_600)
    assert few.offsets.tolist() == list(range(0, 21, 2))
    np.testing.assert_allclose(np.abs(np.diff(few.points[:, 0])[::2]), 300, atol=2 * WORST_M)


def test_positions_are_worked_out_along_the_street():
    # 300 m at 10 m/s and a pace of 70 % to 100 %: after 15 s between 105 m and 150 m of the way.
    street = Network.two_way(np.array([[0, 0], [300, 0]]), np.array([0]), np.array([1]), np.array([10.0]))
    few = trips(street, 200, seed=1)
    gone = np.abs(few.points[few.offsets[:-1] + 1, 0] - few.points[few.offsets[:-1], 0])
    assert gone.min() >= 105 - 2 * WORST_M
    assert gone.max() <= 150 + 2 * WORST_M
    assert gone.std() > 5
    assert set(np.diff(few.offsets)) <= {3, 4}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n": 0}, "n must"),
        ({"seed": -1}, "seed must"),
        ({"step_s": 0}, "step_s must"),
        ({"step_s": np.nan}, "step_s must"),
        ({"step_s": np.inf}, "step_s must"),
    ],
)
def test_bad_arguments_are_refused(network, changes, message):
    with pytest.raises(SettingsError, match=message):
        trips(network, **({"n": 5, "seed": 1} | changes))


def test_town_trips_are_placed_in_a_public_region():
    trajectories, region = town_trips(2_000, seed=3)
    west, south, east, north = region
    assert trajectories.crs == "lonlat"
    assert len(trajectories) == 2_000
    outside = np.any((trajectories.points < [west, south]) | (trajectories.points > [east, north]), axis=1)
    assert outside.mean() < 0.002
    assert west < 8.2 < east
    assert south < 53.1 < north
    assert town_trips(10, seed=4).region == region


def test_placing_keeps_distances():
    placed, planar = town_trips(50, seed=3).trajectories, trips(town(), 50, seed=3)
    degrees = placed.points[-1] - placed.points[0]
    meters = degrees * [111_195 * np.cos(np.radians(53.1)), 111_195]
    np.testing.assert_allclose(meters, planar.points[-1] - planar.points[0], rtol=1e-4)


def nearest_street_m(network, points):
    """Give the distance of each point to the network, by many samples of every edge."""
    start, end = network.nodes[network.starts], network.nodes[network.ends]
    n_samples = np.ceil(network.lengths_m).astype(int) + 1
    edge = np.repeat(np.arange(network.n_edges), n_samples)
    number = np.arange(len(edge)) - np.repeat(np.cumsum(n_samples) - n_samples, n_samples)
    share = (number / np.repeat(n_samples - 1, n_samples))[:, None]
    return KDTree(start[edge] + share * (end - start)[edge]).query(points)[0]
