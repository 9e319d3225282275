import numpy as np
import pytest
from scipy.spatial import KDTree

from privtrace.datasets import Network, RoadClass, city, city_trips, moving_objects, travel
from privtrace.datasets.network import generator
from privtrace.datasets.people import BICYCLE, CAR, draw_journeys
from privtrace.datasets.travel import IN_TRAFFIC, JITTER_M, LIMITS, N_SLICES, REST_S, WORST_JITTER
from privtrace.errors import SettingsError

#: A cut-off error in x and in y at once.
WORST_M = np.sqrt(2) * WORST_JITTER * JITTER_M


@pytest.fixture(scope="module")
def network():
    """Give the city in meters."""
    plan = city()
    arrays = (plan.nodes, plan.starts, plan.ends, plan.lengths_m, plan.speeds, plan.classes)
    return Network(*arrays)


@pytest.fixture(scope="module")
def made(network):
    return moving_objects(network, 4_000, seed=5)


@pytest.fixture(scope="module")
def moved(network):
    """Give journeys, their routes, delays, departures and elapsed times, before positions are reported."""
    journeys = draw_journeys(network, 10_000, generator(2))
    routes, delays = travel._through_traffic(network, journeys)
    return journeys, routes, delays, *travel._travel(network, journeys, routes, delays)


def street(length_m=300, speed=10.0):
    return Network.two_way(np.array([[0, 0], [length_m, 0]]), np.array([0]), np.array([1]), np.array([speed]))


def inside(trajectories):
    """Tell which steps from a point to the next stay in one trajectory."""
    steps = np.ones(trajectories.n_points - 1, dtype=bool)
    steps[trajectories.offsets[1:-1] - 1] = False
    return steps


def test_counts(made):
    assert len(made) == 4_000
    assert np.diff(made.offsets).min() >= 2
    assert made.crs == "planar"
    assert np.all(np.isfinite(made.points))
    assert made.users.dtype == np.int64


def test_seed_decides(network, made):
    again, other = moving_objects(network, 4_000, seed=5), moving_objects(network, 4_000, seed=6)
    for name in ("points", "offsets", "times", "users"):
        np.testing.assert_array_equal(getattr(made, name), getattr(again, name))
    assert made.points.shape != other.points.shape


def test_reports_come_at_fixed_steps_in_order_of_departure(network, made):
    assert made.times.dtype == "datetime64[ms]"
    assert np.all(np.diff(made.times)[inside(made)] == np.timedelta64(15_000, "ms"))
    assert np.all(np.diff(made.times[made.offsets[:-1]]) >= np.timedelta64(0, "ms"))
    often = moving_objects(network, 50, seed=5, step_s=2.5)
    assert np.all(np.diff(often.times)[inside(often)] == np.timedelta64(2_500, "ms"))


def test_no_user_is_in_two_places_at_once(made):
    leaving, arriving = made.times[made.offsets[:-1]], made.times[made.offsets[1:] - 1]
    order = np.lexsort([leaving, made.users])
    same = made.users[order][1:] == made.users[order][:-1]
    assert same.sum() > 1_000
    # The last report comes up to a step after the arrival.
    rests = (leaving[order][1:] - arriving[order][:-1])[same]
    assert rests.min() >= np.timedelta64(int(REST_S - 15) * 1_000 - 1, "ms")


def test_users_come_back_to_the_same_places(network, made):
    tree = KDTree(network.nodes)
    starts = tree.query(made.points[made.offsets[:-1]])[1]
    ends = tree.query(made.points[made.offsets[1:] - 1])[1]
    counts = np.bincount(made.users)
    assert np.mean(counts[counts > 0] <= 3) > 0.5
    assert counts.max() > 20
    order = np.argsort(made.users, kind="stable")
    following = np.diff(made.users[order]) == 0
    np.testing.assert_array_equal(ends[order][:-1][following], starts[order][1:][following])


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


def test_no_one_is_faster_than_road_and_vehicle_allow(network, moved):
    journeys, routes, _, _, elapsed_s = moved
    begun_s = np.append(0, elapsed_s[:-1])
    begun_s[routes.offsets[:-1]] = 0
    speeds = network.lengths_m[routes.edges] / (elapsed_s - begun_s)
    vehicles = np.repeat(journeys.vehicles, np.diff(routes.offsets))
    allowed = np.minimum(network.speeds[routes.edges], LIMITS[vehicles, network.classes[routes.edges]])
    assert np.all(speeds <= allowed * (1 + 1e-6))
    # Vehicles differ: median speed of each, and none rides a bicycle along a motorway for long.
    medians = [np.median(speeds[vehicles == vehicle]) for vehicle in range(len(LIMITS))]
    assert medians[BICYCLE] < 0.6 * medians[CAR]
    on_motorways = network.classes[routes.edges] == RoadClass.MOTORWAY
    assert np.mean(on_motorways[vehicles == BICYCLE]) < 0.01 < np.mean(on_motorways[vehicles == CAR])


def test_steps_are_no_longer_than_speeds_allow(network, made):
    steps = np.hypot(*np.diff(made.points, axis=0).T)[inside(made)]
    assert steps.max() <= network.speeds.max() * 15 + 2 * WORST_M
    assert 40 < np.median(steps) < 250  # most objects are under way most of the time


def test_the_rush_hour_slows_and_the_night_does_not(network, moved):
    journeys, routes, delays, left_s, elapsed_s = moved
    durations_s = elapsed_s[routes.offsets[1:] - 1]
    _, alone_s = travel._travel(network, journeys, routes, np.ones_like(delays))
    slowdown = durations_s / alone_s[routes.offsets[1:] - 1]
    hour = left_s / 3_600 % 24
    driving = IN_TRAFFIC[journeys.vehicles]
    rush, night = driving & (hour > 7) & (hour < 8.5), driving & ((hour < 4) | (hour > 22.5))
    assert slowdown[rush].mean() > 1.2
    assert slowdown[night].mean() < 1.1
    np.testing.assert_allclose(slowdown[~driving], 1)
    assert slowdown.min() > 1 - 1e-9


def test_the_same_route_takes_longer_in_the_rush_hour():
    made = moving_objects(street(3_000), 3_000, seed=1, step_s=5)
    minutes = np.diff(made.offsets) * 5 / 60
    hour = (made.times[made.offsets[:-1]] - travel.DAY) / np.timedelta64(1, "h") % 24
    rush, night = (hour > 7.5) & (hour < 8.5), (hour < 5) | (hour > 22)
    assert night.sum() > 30
    assert np.median(minutes[rush]) > 1.1 * np.median(minutes[night])


def test_in_busy_hours_some_take_another_way(network, moved):
    journeys, routes, delays, _, _ = moved
    n_edges = network.n_edges
    alone = travel._choose_routes(network, journeys, np.arange(len(routes)), np.ones(n_edges))
    lengths = np.diff(travel.Routes.gathered(alone).offsets)
    changed = np.diff(routes.offsets) != lengths
    assert 0.01 < changed.mean() < 0.5
    assert not np.any(changed & (journeys.vehicles == BICYCLE))
    assert delays.shape == (n_edges, N_SLICES)


def test_the_traffic_of_few_and_of_many_trips_is_alike(network):
    slowest = []
    for n in (8_000, 24_000):
        journeys = draw_journeys(network, n, generator(3))
        slowest.append(travel._through_traffic(network, journeys)[1].mean())
    assert slowest[0] == pytest.approx(slowest[1], rel=0.1)
    lonely = travel._through_traffic(network, draw_journeys(network, 1, generator(3)))[1]
    assert lonely.max() < 1.05


def test_the_smallest_network_and_a_long_step_give_two_points():
    few = moving_objects(street(), 10, seed=1, step_s=3_600)
    assert few.offsets.tolist() == list(range(0, 21, 2))
    np.testing.assert_allclose(np.abs(np.diff(few.points[:, 0])[::2]), 300, atol=2 * WORST_M)


def test_positions_are_worked_out_along_the_street():
    # 300 m at 10 m/s at most, or by bicycle at 5 m/s: after 5 s between a few and 50 m of the way.
    few = moving_objects(street(), 200, seed=1, step_s=5)
    gone = np.abs(few.points[few.offsets[:-1] + 1, 0] - few.points[few.offsets[:-1], 0])
    assert gone.max() <= 50 + 2 * WORST_M
    assert gone.std() > 5
    lengths = np.diff(few.offsets)
    assert lengths.min() >= 1 + 300 / 50
    last = few.points[few.offsets[1:] - 1, 0]
    assert np.minimum(np.abs(last), np.abs(last - 300)).max() <= WORST_M


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
        moving_objects(network, **({"n": 5, "seed": 1} | changes))


def test_city_trips_are_placed_in_a_public_region():
    trajectories, region, _ = city_trips(2_000, seed=3)
    west, south, east, north = region
    assert trajectories.crs == "lonlat"
    assert len(trajectories) == 2_000
    assert np.all((trajectories.points > [west, south]) & (trajectories.points < [east, north]))
    assert west < 8.2 < east
    assert south < 53.1 < north
    assert city_trips(10, seed=4).region == region == city().region


def test_placing_keeps_distances(network):
    placed, planar = city_trips(50, seed=3).trajectories, moving_objects(network, 50, seed=3)
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
