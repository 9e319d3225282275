"""Invent users: what they move in, where they live, work and meet, and which journeys they make when."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from privtrace.calendar import DAY_S, Period
from privtrace.compiling import compiled
from privtrace.datasets.network import KMH, Flags, Network, RoadClass, generator
from privtrace.searching import first_above
from privtrace.trajectories import Floats, Integers


class Vehicle(NamedTuple):
    """Describe a class of moving objects."""

    share: float  # of the users
    limits: tuple[float, float, float, float]  # meters a second, on each RoadClass from wide to narrow
    paces: tuple[float, float]  # the slowest and the fastest user's share of what is allowed
    reach: float  # how far it goes, relative to a car
    in_traffic: bool  # whether it slows others down and is slowed


VEHICLES = {
    "car": Vehicle(0.78, (130 * KMH, 130 * KMH, 130 * KMH, 130 * KMH), (0.75, 1.0), 1.0, True),
    "taxi": Vehicle(0.03, (120 * KMH, 120 * KMH, 120 * KMH, 120 * KMH), (0.9, 1.0), 1.0, True),
    "truck": Vehicle(0.04, (80 * KMH, 50 * KMH, 40 * KMH, 20 * KMH), (0.85, 1.0), 1.5, True),
    # Along a motorway one would have to push it, so it is ridden elsewhere.
    "bicycle": Vehicle(0.15, (4 * KMH, 18 * KMH, 18 * KMH, 18 * KMH), (0.7, 1.0), 0.5, False),
}
CAR, TAXI, TRUCK, BICYCLE = range(4)  # places in VEHICLES
HOME, WORK, ERRAND, LEISURE = range(4)  # what a journey may be for

#: Four weeks that begin on a Monday, and in which the clocks of no time zone change.
PERIOD = Period.of("2025-05-05/2025-06-02")
WEEKDAYS = (1.0, 1.0, 1.0, 1.0, 1.0, 0.75, 0.6)  # how many are out, from Monday to Sunday
N_WORKDAYS = 5  # of a week; then come two free days
LAST_S = 5_400.0  # before the end of the period nobody sets out any more, so that all arrive within it

DAYS = (0.74, 0.12, 0.06, 0.04, 0.04)  # how many users are seen on one day, on two in a row, ...
OUTINGS = (0.15, 0.55, 0.23, 0.07)  # how many days have one journey, two, ... but for taxis and trucks
COMMUTE = (0.75, 0.1)  # of workdays, and of free days, that lead to work first
EVENING = (0.25, 0.35)  # of the other workdays and free days that begin in the evening
EVENING_HOUR = 18.0  # from which on journeys are for leisure on workdays, too

N_CENTERS = 6  # around which attractive places gather
N_RESORTS = 5  # around which people spend their free time
PLACES = 0.09  # the share of nodes that journeys lead to but for homes; each costs a few searches
BACKGROUND = 0.1  # attraction of a node far from every center, before luck
SPREAD = (0.016, 0.03)  # of a center, in diagonals of the network
REACH = 0.25  # in diagonals: a place this far away draws a quarter of what it would next door
LONGEST_REACH_M = 12_000.0  # on the network of a whole country, too, people stay near home


class Journeys(NamedTuple):
    """Hold journeys of users, all of one user together and in order."""

    users: Integers  # (n,): whose; rising
    vehicles: Integers  # (n,): places in VEHICLES, the same for all journeys of a user
    paces: Floats  # (n,): the share of the allowed speed that the user moves at
    origins: Integers  # (n,): nodes
    destinations: Integers  # (n,): nodes, never the origin
    departures_s: Floats  # (n,): when users mean to leave, in local seconds since the first midnight of PERIOD


class _Outings(NamedTuple):
    """Hold what users mean to do, before it is known where: an entry a journey."""

    users: Integers
    aims: Integers  # HOME, WORK, ERRAND or LEISURE
    departures_s: Floats


class _Attraction(NamedTuple):
    """Hold the places that journeys lead to, for kernels."""

    nodes: Floats  # (n_nodes, 2): of the network
    places: Integers  # (n_places,): which of the nodes are
    weights: Floats  # (2, n_places): how attractive each is for work and errands, and for leisure


def draw_journeys(network: Network, n: int, rng: np.random.Generator) -> Journeys:
    """Draw n journeys of as many users as it takes; the last user's may end early.

    Most users go from home to work and back, some by way of another place, on one day or several of PERIOD; in
    the evening and on free days they leave later and for other places. Taxis go from place to place all day,
    trucks leave from work and return there. Which places attract belongs to the network: journeys of two seeds
    are like two months in one city.
    """
    vehicles = rng.choice(len(VEHICLES), n, p=[vehicle.share for vehicle in VEHICLES.values()])
    outings = _draw_outings(vehicles, n, rng)
    n_users = int(outings.users[-1]) + 1
    vehicles = vehicles[:n_users]
    attraction, leisure, places = _attractive_places(network)
    # People live everywhere, if more of them where there is more to do.
    living = np.sqrt(attraction)
    homes = rng.choice(network.n_nodes, n_users, p=living / living.sum())
    reach_m = min(REACH * _diagonal_m(network), LONGEST_REACH_M)
    reaches_m = reach_m * np.array([vehicle.reach for vehicle in VEHICLES.values()])[vehicles]
    attractive = _Attraction(network.nodes, places, np.stack([attraction[places], leisure[places]]))
    works = _choose_works(attractive, homes, reaches_m, rng.random(n_users))
    homes = np.where(vehicles == TRUCK, works, homes)
    origins, destinations = _choose_stops(attractive, homes, works, reaches_m, outings, rng.random(n))
    slowest, fastest = np.array([vehicle.paces for vehicle in VEHICLES.values()])[vehicles].T
    paces = rng.uniform(slowest, fastest)
    users = outings.users
    return Journeys(users, vehicles[users], paces[users], origins, destinations, outings.departures_s)


def _draw_outings(vehicles: Integers, n: int, rng: np.random.Generator) -> _Outings:
    """Draw the days of users and the journeys of each day, up to n."""
    n_days = rng.choice(len(DAYS), len(vehicles), p=DAYS) + 1
    user = np.repeat(np.arange(len(vehicles)), n_days)  # of each day of a user
    crowds = np.resize(WEEKDAYS, len(PERIOD.days))
    first = rng.choice(len(crowds), len(vehicles), p=crowds / crowds.sum())
    day = first[user] + _places(n_days)
    vehicle, free = vehicles[user], is_free(day)
    private = (vehicle == CAR) | (vehicle == BICYCLE)
    commuting = private & (rng.random(len(user)) < np.where(free, COMMUTE[1], COMMUTE[0]))
    n_outings = rng.choice(len(OUTINGS), len(user), p=OUTINGS) + 1
    n_outings = np.where(vehicle == TAXI, rng.integers(8, 25, len(user)), n_outings)
    n_outings = np.where(vehicle == TRUCK, rng.integers(4, 13, len(user)) // (1 + free), n_outings)
    shifts = rng.uniform(0, 18, len(vehicles))[user]  # a taxi's begins at the same hour on all its days
    hours = np.where(vehicle == TAXI, shifts, _first_hours(vehicle, commuting, free, rng))

    which = np.repeat(np.arange(len(user)), n_outings)  # the day of a user that each journey belongs to
    place = _places(n_outings)
    homeward = (place == n_outings[which] - 1) & (place > 0)
    to_work = (place == 0) & commuting[which]
    waits = _waits(vehicle[which], np.append(False, to_work[:-1]), free[which], rng)
    later = np.cumsum(np.where(place == 0, hours[which], waits))
    before = np.concatenate([[0.0], later])[np.cumsum(n_outings) - n_outings]  # all that others waited
    hour = later - before[which]  # after the midnight before the first journey of the day
    at_leisure = (vehicle[which] != TRUCK) & (free[which] | (hour >= EVENING_HOUR))
    aims = np.where(homeward, HOME, np.where(to_work, WORK, np.where(at_leisure, LEISURE, ERRAND)))
    departures_s = DAY_S * day[which] + 3_600 * hour
    # Days past the end of the period, and journeys that might not be over by then, are not seen.
    kept = np.flatnonzero(departures_s < DAY_S * len(PERIOD.days) - LAST_S)[:n]
    return _Outings(user[which][kept], aims[kept], departures_s[kept])


def is_free(days: Integers) -> Flags:
    """Tell which days of PERIOD, counted from its first, a Monday, are no workdays."""
    free: Flags = days % len(WEEKDAYS) >= N_WORKDAYS
    return free


def _places(lengths: Integers) -> Integers:
    """Count from 0 in each run: lengths [2, 3] -> [0, 1, 0, 1, 2]."""
    places: Integers = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return places


# Hours and waits are cut off so that the last journey of a day is over before the next day's first.


def _first_hours(vehicle: Integers, commuting: Flags, free: Flags, rng: np.random.Generator) -> Floats:
    """Draw when the first journey of each day starts, in hours; of taxis that is their shift."""
    n = len(vehicle)
    to_work = np.where(free, rng.normal(9.2, 1.3, n), rng.normal(7.8, 0.8, n)).clip(5.5, 11)
    by_day = np.where(free, rng.normal(13.0, 2.4, n), rng.normal(12.5, 2.8, n)).clip(5.5, 20)
    in_the_evening = rng.normal(19.3, 1.0, n).clip(17, 21)
    evening = rng.random(n) < np.where(free, EVENING[1], EVENING[0])
    hours = np.where(commuting, to_work, np.where(evening, in_the_evening, by_day))
    started: Floats = np.where(vehicle == TRUCK, rng.normal(6.8, 1, n).clip(3, 11), hours)
    return started


def _waits(vehicle: Integers, after_work: Flags, free: Flags, rng: np.random.Generator) -> Floats:
    """Draw the hours from one departure to the next."""
    n = len(vehicle)
    stays = np.where(free, rng.uniform(0.9, 2.8, n), rng.uniform(0.7, 2.5, n))
    hours = np.where(after_work, rng.normal(9.3, 0.9, n).clip(3, 12), stays)
    hours = np.where(vehicle == TAXI, rng.uniform(0.2, 0.8, n), hours)
    waits: Floats = np.where(vehicle == TRUCK, rng.uniform(0.4, 1.3, n), hours)
    return waits


def _diagonal_m(network: Network) -> float:
    west, south, east, north = network.box
    return float(np.hypot(east - west, north - south))


def _attractive_places(network: Network) -> tuple[Floats, Floats, Integers]:
    """Give the attraction of each node for work and for leisure, and the nodes that journeys lead to."""
    rng = generator(0)  # the same for all journeys on a network
    nodes = network.nodes
    downtown = np.argmin(np.hypot(*(nodes - nodes.mean(axis=0)).T))
    work = _attraction(network, downtown, 1 / np.arange(1, N_CENTERS + 1), rng)
    leisure = _attraction(network, downtown, np.ones(N_RESORTS), rng)
    n_places = max(2, round(PLACES * np.count_nonzero(work)))
    places = rng.choice(len(nodes), n_places, replace=False, p=(work + leisure) / 2)
    return work, leisure, places


def _attraction(network: Network, downtown: np.intp, ranks: Floats, rng: np.random.Generator) -> Floats:
    """Let nodes attract, summing to one, the more the nearer to downtown or to another center."""
    nodes, diagonal_m = network.nodes, _diagonal_m(network)
    centers = rng.choice(len(nodes), min(len(ranks), len(nodes)), replace=False)
    centers[0] = downtown
    attraction = np.full(len(nodes), BACKGROUND)
    for center, rank in zip(nodes[centers], ranks, strict=False):  # a small network has fewer centers
        squares = np.sum((nodes - center) ** 2, axis=1) / (diagonal_m * rng.uniform(*SPREAD)) ** 2
        attraction += rank * np.exp(-squares / 2)
    attraction *= 1 + rng.pareto(2.5, len(nodes))  # some places draw many more than their neighbors
    off_motorways = np.zeros(len(nodes), dtype=bool)
    off_motorways[network.starts[network.classes != RoadClass.MOTORWAY]] = True
    if off_motorways.sum() > 1:  # nobody lives or works beside one, where there is anything else
        attraction *= off_motorways
    normed: Floats = attraction / attraction.sum()
    return normed


@compiled
def _choose_works(attractive, homes, reaches_m, draws):  # type: ignore[no-untyped-def]
    """Choose where each user works."""
    works = np.empty(len(homes), np.int64)
    scratch = np.empty(len(attractive.places))
    for user in range(len(homes)):
        works[user] = _choose(attractive, 0, homes[user], reaches_m[user], draws[user], scratch)
    return works


@compiled
def _choose_stops(attractive, homes, works, reaches_m, outings, draws):  # type: ignore[no-untyped-def]
    """Follow users from stop to stop; who is already where the next journey should lead goes elsewhere."""
    users, aims = outings.users, outings.aims
    origins, destinations = np.empty(len(users), np.int64), np.empty(len(users), np.int64)
    scratch = np.empty(len(attractive.places))
    here = -1
    for journey in range(len(users)):
        user = users[journey]
        if journey == 0 or user != users[journey - 1]:
            here = homes[user]
        there = homes[user] if aims[journey] == HOME else works[user]
        if aims[journey] >= ERRAND or there == here:
            kind = 1 if aims[journey] == LEISURE else 0
            there = _choose(attractive, kind, here, reaches_m[user], draws[journey], scratch)
        origins[journey], destinations[journey] = here, there
        here = there
    return origins, destinations


@compiled
def _choose(attractive, kind, here, reach_m, draw, summed):  # type: ignore[no-untyped-def]
    """Choose a place by its attraction of a kind and distance, not `here`; `summed` is scratch memory."""
    nodes, places, weights = attractive.nodes, attractive.places, attractive.weights[kind]
    total = 0.0
    for choice in range(len(places)):
        place = places[choice]
        x, y = nodes[place, 0] - nodes[here, 0], nodes[place, 1] - nodes[here, 1]
        if place != here:
            total += weights[choice] / (1 + (x * x + y * y) / reach_m**2) ** 2
        summed[choice] = total
    # Never past the end, and never to a choice that added nothing to the sum.
    choice = first_above(summed, min(draw * total, np.nextafter(total, 0.0)))
    return places[choice]
