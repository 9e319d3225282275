import numpy as np
import pytest

from privtrace.datasets import Network, RoadClass, city
from privtrace.datasets.network import generator
from privtrace.datasets.people import BICYCLE, CAR, TAXI, TRUCK, VEHICLES, draw_journeys


@pytest.fixture(scope="module")
def network():
    return city()


@pytest.fixture(scope="module")
def journeys(network):
    return draw_journeys(network, 10_000, generator(5))


def of_one_user(journeys):
    """Tell which journeys are followed by another of the same user."""
    return journeys.users[:-1] == journeys.users[1:]


def hours(journeys):
    return journeys.departures_s / 3_600 % 24


@pytest.mark.parametrize("n", [1, 2, 17, 500])
def test_as_many_journeys_as_asked_for(network, n):
    journeys = draw_journeys(network, n, generator(n))
    for name in ("users", "vehicles", "paces", "origins", "destinations", "departures_s"):
        assert len(getattr(journeys, name)) == n
    assert np.all(np.diff(journeys.users, prepend=0) >= 0)
    assert len(np.unique(journeys.users)) == journeys.users[-1] + 1


def test_each_journey_starts_where_the_last_one_ended(journeys):
    following = of_one_user(journeys)
    np.testing.assert_array_equal(journeys.destinations[:-1][following], journeys.origins[1:][following])
    assert np.all(journeys.origins != journeys.destinations)
    assert np.all(np.diff(journeys.departures_s)[following] > 0)
    assert journeys.departures_s.min() >= 0


def test_users_keep_their_vehicle_and_their_pace(journeys):
    following = of_one_user(journeys)
    assert np.all(np.diff(journeys.vehicles)[following] == 0)
    assert np.all(np.diff(journeys.paces)[following] == 0)
    for number, vehicle in enumerate(VEHICLES.values()):
        paces = journeys.paces[journeys.vehicles == number]
        assert vehicle.paces[0] <= paces.min() < paces.max() <= vehicle.paces[1]


def test_many_users_make_few_journeys_and_few_make_dozens(journeys):
    counts = np.bincount(journeys.users)
    assert np.mean(counts <= 3) > 0.5
    assert 0.003 < np.mean(counts >= 24) < 0.1
    by_vehicle = [counts[np.unique(journeys.users[journeys.vehicles == v])].mean() for v in range(4)]
    assert min(by_vehicle[TAXI], by_vehicle[TRUCK]) > 2 * max(by_vehicle[CAR], by_vehicle[BICYCLE])


def test_most_go_to_work_in_the_morning_and_come_home(journeys):
    """Home is where the first journey starts; work is where the same user goes on other mornings, too."""
    first = np.flatnonzero(np.diff(journeys.users, prepend=-1))
    homes = journeys.origins[first][journeys.users]
    private = np.isin(journeys.vehicles, [CAR, BICYCLE])
    leaving = private & (journeys.origins == homes) & (hours(journeys) < 10)
    coming = private & (journeys.destinations == homes) & (hours(journeys) > 14)
    assert leaving.sum() > 0.2 * private.sum()
    assert coming.sum() > 0.2 * private.sum()
    several = [
        journeys.destinations[leaving & (journeys.users == user)]
        for user in np.unique(journeys.users[leaving])[:800]
    ]
    same = [len(np.unique(works)) == 1 for works in several if len(works) > 1]
    assert len(same) > 30
    assert np.mean(same) > 0.6


def test_trucks_return_to_their_depot(journeys):
    users = np.unique(journeys.users[journeys.vehicles == TRUCK])
    mine = [np.flatnonzero(journeys.users == user) for user in users[:-1]]  # the last may have been cut short
    # Who is there before the day is over goes elsewhere once more.
    assert np.mean([journeys.origins[few[0]] == journeys.destinations[few[-1]] for few in mine]) > 0.9


def test_nobody_lives_or_works_beside_a_motorway(network, journeys):
    narrowest = np.zeros(network.n_nodes, int)
    np.maximum.at(narrowest, network.starts, network.classes)
    assert np.all(narrowest[journeys.origins] > RoadClass.MOTORWAY)
    assert np.all(narrowest[journeys.destinations] > RoadClass.MOTORWAY)
    lonely = Network.two_way(np.array([[0, 0], [300, 0]]), [0], [1], [10.0], classes=np.array([0]))
    assert len(draw_journeys(lonely, 5, generator(1)).users) == 5


def test_near_places_draw_more_and_bicycles_stay_nearer(network, journeys):
    spans = np.hypot(*(network.nodes[journeys.destinations] - network.nodes[journeys.origins]).T)
    tenth, half, most = np.percentile(spans, [10, 50, 95])
    assert tenth < 1_500 < half < 4_000 < most
    assert np.median(spans[journeys.vehicles == BICYCLE]) < 0.8 * np.median(spans[journeys.vehicles == CAR])


def test_places_attract_to_very_different_degrees_but_the_same_with_every_seed(network, journeys):
    other = draw_journeys(network, 10_000, generator(6))
    here, there = (np.bincount(few.destinations, minlength=network.n_nodes) for few in (journeys, other))
    assert np.sort(here)[::-1][:40].sum() > 0.15 * len(journeys.users)
    assert np.corrcoef(here, there)[0, 1] > 0.8
    assert np.any(journeys.origins != other.origins)


def test_two_nodes_are_enough():
    street = Network.two_way(np.array([[0, 0], [300, 0]]), np.array([0]), np.array([1]), np.array([10.0]))
    journeys = draw_journeys(street, 300, generator(1))
    assert np.all(journeys.origins + journeys.destinations == 1)
