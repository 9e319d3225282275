import numpy as np
import pytest

from privtrace.datasets import Network, RoadClass, city
from privtrace.datasets.network import generator
from privtrace.datasets.people import (
    BICYCLE,
    CAR,
    LAST_S,
    PERIOD,
    TAXI,
    TRUCK,
    VEHICLES,
    draw_journeys,
    is_free,
)


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


def by_hour(journeys, chosen):
    """Count the departures of each hour of the day among the chosen journeys."""
    return np.bincount(hours(journeys)[chosen].astype(int), minlength=24)


def on_free_days(journeys):
    return is_free((journeys.departures_s // 86_400).astype(int))


def inward_m(network, journeys):
    """Give how much nearer to the middle of the city journeys end than they begin."""
    away_m = np.hypot(*(network.nodes - network.nodes.mean(axis=0)).T)
    return away_m[journeys.origins] - away_m[journeys.destinations]


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


@pytest.mark.parametrize("seed", range(4))
def test_departures_fall_in_four_whole_weeks_and_rise(network, seed):
    assert PERIOD.first.weekday() == 0 and len(PERIOD.days) == 28
    journeys = draw_journeys(network, 20_000, generator(seed))
    assert 0 <= journeys.departures_s.min() and journeys.departures_s.max() < 28 * 86_400 - LAST_S
    per_day = np.bincount((journeys.departures_s // 86_400).astype(int), minlength=28)
    assert per_day.min() > 0.01 * len(journeys.users)
    assert np.all(np.diff(journeys.departures_s)[of_one_user(journeys)] > 0)


def test_fewer_are_out_on_free_days(journeys):
    free = on_free_days(journeys)
    assert 0.5 < (free.sum() / 8) / ((~free).sum() / 20) < 0.9
    trucks = journeys.vehicles == TRUCK
    assert (trucks & free).sum() / 8 < 0.6 * (trucks & ~free).sum() / 20


def test_workdays_have_two_peaks_and_free_days_none_in_the_morning(journeys):
    free = on_free_days(journeys)
    workday, weekend = by_hour(journeys, ~free), by_hour(journeys, free)
    morning, midday, evening = workday[7:9].mean(), workday[10:14].mean(), workday[16:19].mean()
    assert min(morning, evening) > 2 * midday > 4 * workday[:5].mean()
    assert 6 < np.argmax(workday[:12]) < 9 and 15 < 12 + np.argmax(workday[12:]) < 19
    # They leave later on free days, and most in the afternoon.
    assert weekend[7:9].mean() < 0.6 * weekend[12:18].mean()
    assert np.all(weekend[6:9] < weekend[11]) and np.argmax(weekend) > 11


def test_morning_flows_lead_inward_and_evening_flows_outward(network, journeys):
    inward, hour, free = inward_m(network, journeys), hours(journeys), on_free_days(journeys)
    morning, evening = ~free & (hour > 6) & (hour < 9), ~free & (hour > 16) & (hour < 19)
    assert np.mean(inward[morning] > 0) > 0.65 and inward[morning].mean() > 700
    assert np.mean(inward[evening] > 0) < 0.45 and inward[evening].mean() < -400
    same_hours = free & (hour > 6) & (hour < 9)
    assert abs(inward[same_hours].mean()) < 0.6 * inward[morning].mean()


def test_leisure_leads_elsewhere_than_work(network, journeys):
    """Free days of two seeds are like each other, and unlike workdays."""
    other = draw_journeys(network, 10_000, generator(6))

    def shares(few, free):
        hour = hours(few)
        chosen = few.destinations[(on_free_days(few) == free) & (hour > 6) & (hour < 15)]
        return np.bincount(chosen, minlength=network.n_nodes) / len(chosen)

    def distance(some, others):
        return np.abs(some - others).sum() / 2

    at_work, at_leisure = shares(journeys, free=False), shares(journeys, free=True)
    assert distance(at_work, at_leisure) > 1.5 * distance(at_work, shares(other, free=False))
    assert distance(at_work, at_leisure) > 1.2 * distance(at_leisure, shares(other, free=True))
