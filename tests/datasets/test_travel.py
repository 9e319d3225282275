import numpy as np
import pytest
from scipy.spatial import KDTree

from privtrace.calendar import Period, Zone, hours_of_week, seconds_of
from privtrace.datasets import Network, RoadClass, city, city_trips, moving_objects, travel
from privtrace.datasets.network import generator
from privtrace.datasets.people import BICYCLE, CAR, PERIOD, TAXI, draw_journeys, is_free
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
    """Give journeys, their routes, delays and progress, before positions are reported."""
    journeys = draw_journeys(network, 20_000, generator(2))
    routes, delays = travel._through_traffic(network, journeys)
    return journeys, routes, delays, travel._travel(network, journeys, routes, delays, generator(2))


def street(length_m=300, speed=10.0):
    return Network.two_way(np.array([[0, 0], [length_m, 0]]), np.array([0]), np.array([1]), np.array([speed]))


def seconds_on_edges(routes, progress):
    """Give how long each edge of each route took, and when it was begun, from the departure on."""
    begun_s = np.append(0, progress.elapsed_s[:-1])
    begun_s[routes.offsets[:-1]] = 0
    return progress.elapsed_s - begun_s, begun_s


def local_hours(trajectories):
    """Give the hour of the week of each departure, on the clocks of the trajectories' zone."""
    leaving = seconds_of(trajectories.times[trajectories.offsets[:-1]])
    return hours_of_week(Zone.named(trajectories.zone).to_local(leaving))


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


def test_seed_decides(network):
    one, again, other = (moving_objects(network, 500, seed=seed) for seed in (5, 5, 6))
    for name in ("points", "offsets", "times", "users"):
        np.testing.assert_array_equal(getattr(one, name), getattr(again, name))
    assert one.points.shape != other.points.shape


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
    distances = nearest_street_m(network, made.points[::29])
    # The network is searched by samples of its edges, a meter apart at most.
    assert distances.max() <= WORST_M + 0.5


def test_trips_start_and_end_at_nodes_apart_from_each_other(network, made):
    tree = KDTree(network.nodes)
    from_m, origins = tree.query(made.points[made.offsets[:-1]])
    to_m, destinations = tree.query(made.points[made.offsets[1:] - 1])
    assert max(from_m.max(), to_m.max()) <= WORST_M
    assert np.all(origins != destinations)


def test_no_one_is_faster_than_road_and_vehicle_allow(network, moved):
    journeys, routes, _, progress = moved
    taken_s, _ = seconds_on_edges(routes, progress)
    speeds = network.lengths_m[routes.edges] / (taken_s - progress.stands_s)
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
    journeys, routes, delays, progress = moved
    durations_s = progress.elapsed_s[routes.offsets[1:] - 1]
    alone = travel._travel(network, journeys, routes, np.ones_like(delays), generator(2))
    slowdown = durations_s / alone.elapsed_s[routes.offsets[1:] - 1]
    hour, free = progress.left_s / 3_600 % 24, is_free((progress.left_s // 86_400).astype(int))
    driving = IN_TRAFFIC[journeys.vehicles]
    rushing = driving & (hour > 7) & (hour < 8.5)
    rush, night = rushing & ~free, driving & ((hour < 4) | (hour > 22.5))
    assert slowdown[rush].mean() > 1.2
    assert slowdown[rushing & free].mean() - 1 < 0.4 * (slowdown[rush].mean() - 1)
    assert slowdown[night].mean() < 1.1
    np.testing.assert_allclose(slowdown[~driving], 1)
    assert slowdown.min() > 1 - 1e-9


def test_wide_roads_are_faster_and_every_road_is_slower_in_the_rush_hour(network, moved):
    journeys, routes, _, progress = moved
    taken_s, begun_s = seconds_on_edges(routes, progress)
    journey = np.repeat(np.arange(len(routes)), np.diff(routes.offsets))
    clock_h = (progress.left_s[journey] + begun_s) / 3_600
    hour, workday = clock_h % 24, ~is_free((clock_h // 24).astype(int))
    in_cars = np.isin(journeys.vehicles[journey], [CAR, TAXI])
    at_full_pace_s = taken_s * journeys.paces[journey]  # at night most cars are taxis, which hurry

    def speed(chosen):
        return network.lengths_m[routes.edges[chosen]].sum() / at_full_pace_s[chosen].sum()

    speeds = []
    for kind in RoadClass:
        driven = in_cars & (network.classes[routes.edges] == kind)
        rush, night = (driven & workday & (hour > start) & (hour < end) for start, end in ((7, 9), (0, 5)))
        assert speed(rush) < 0.93 * speed(night), kind
        speeds.append(speed(driven))
    assert np.all(np.diff(speeds) < 0)
    assert speeds[RoadClass.MOTORWAY] > 2 * speeds[RoadClass.STREET]


def test_some_stand_at_lights_and_in_queues_and_report_the_same_position_again(network, made, moved):
    steps = np.hypot(*np.diff(made.points, axis=0).T)[inside(made)]
    assert 0.02 < np.mean(steps == 0) < 0.1
    assert np.all(steps >= 0)
    journeys, routes, delays, progress = moved
    taken_s, _ = seconds_on_edges(routes, progress)
    assert np.all((progress.stands_s >= 0) & (progress.stands_s < taken_s))
    alone = travel._travel(network, journeys, routes, np.ones_like(delays), generator(2))
    lights = travel._traffic_lights(network)[network.ends[routes.edges]]
    assert np.all(alone.stands_s[~lights] == 0)
    assert np.mean(alone.stands_s[lights] > 0) == pytest.approx(travel.RED, abs=0.02)
    assert alone.stands_s.max() <= travel.LONGEST_RED_S
    # Bicycles pass by queues, and nobody waits at the destination.
    assert np.all(alone.stands_s[routes.offsets[1:] - 1] == 0)
    bicycles = np.repeat(journeys.vehicles == BICYCLE, np.diff(routes.offsets))
    np.testing.assert_array_equal(progress.stands_s[bicycles], alone.stands_s[bicycles])
    assert progress.stands_s[~bicycles].sum() > 1.3 * alone.stands_s[~bicycles].sum()


def test_the_same_route_takes_longer_in_the_rush_hour():
    made = moving_objects(street(3_000), 3_000, seed=1, step_s=5)
    assert made.zone == "UTC"
    minutes = np.diff(made.offsets) * 5 / 60
    hour = local_hours(made) % 24
    workday = local_hours(made) < 5 * 24
    rush, night = workday & (hour == 7), workday & ((hour < 5) | (hour > 21))
    assert night.sum() > 30
    assert np.median(minutes[rush]) > 1.1 * np.median(minutes[night])


def test_in_busy_hours_some_take_another_way(network, moved):
    journeys, routes, delays, _ = moved
    n_edges = network.n_edges
    alone = travel._choose_routes(network, journeys, np.arange(len(routes)), np.ones(n_edges))
    lengths = np.diff(travel.Routes.gathered(alone).offsets)
    changed = np.diff(routes.offsets) != lengths
    assert 0.01 < changed.mean() < 0.5
    assert not np.any(changed & (journeys.vehicles == BICYCLE))
    assert delays.shape == (n_edges, N_SLICES)


def test_the_traffic_of_few_and_of_many_trips_is_alike(network):
    slowest = []
    for n in (4_000, 16_000):
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
    trajectories, region, _, _, _ = city_trips(500, seed=3)
    west, south, east, north = region
    assert trajectories.crs == "lonlat"
    assert len(trajectories) == 500
    assert np.all((trajectories.points > [west, south]) & (trajectories.points < [east, north]))
    assert west < 8.2 < east
    assert south < 53.1 < north
    assert city_trips(10, seed=4).region == region == city().region


@pytest.mark.parametrize("seed", [1, 8])
def test_city_trips_begin_and_end_in_a_public_period_on_local_clocks(seed):
    made = city_trips(3_000, seed=seed)
    trips, zone = made.trajectories, Zone.named(made.zone)
    assert made.period == PERIOD == Period.of("2025-05-05/2025-06-02")
    assert trips.zone == made.zone == city().zone == "Europe/Berlin"
    days = zone.to_local(seconds_of(trips.times)) // 86_400
    assert days.min() == made.period.days[0] and days.max() == made.period.days[-1]


def test_times_are_utc_and_hours_are_those_of_the_local_clock(made):
    placed, planar = city_trips(4_000, seed=5).trajectories, made
    # In May Berlin is two hours ahead; those who live by UTC do the same at the same hour on their clocks.
    np.testing.assert_array_equal(placed.times, planar.times - np.timedelta64(2, "h"))
    np.testing.assert_array_equal(local_hours(placed), local_hours(planar))
    week = np.bincount(local_hours(placed), minlength=168).reshape(7, 24)
    workday, weekend = week[:5].sum(axis=0), week[5:].sum(axis=0)
    assert np.argmax(workday) in (7, 8) and np.argmax(workday[12:]) + 12 in (16, 17, 18)
    assert workday[8] > 2 * workday[11] > 2 * workday[2]
    assert weekend[8] < 0.6 * weekend[14]


def test_no_zone_changes_its_clocks_in_the_period():
    """Departures are put into UTC by the zone's first moment of the period."""
    first_s, end_s = 86_400 * PERIOD.days[0], 86_400 * (PERIOD.days[-1] + 1)
    for name in ("UTC", "Europe/Berlin", "Europe/Lisbon", "America/Santiago", "Africa/Cairo", "Asia/Gaza"):
        breaks = Zone.named(name).breaks
        assert not np.any((breaks > first_s - 86_400) & (breaks < end_s + 86_400)), name


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
