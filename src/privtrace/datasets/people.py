"""Invent users: what they move in, where they live and work, and which journeys they make when."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from privtrace.datasets.network import KMH, Flags, Network, RoadClass, generator
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
HOME, WORK, ELSEWHERE = range(3)  # where a journey may lead

DAYS = (0.74, 0.12, 0.06, 0.04, 0.04)  # how many users are seen on one day, on two, ...
OUTINGS = (0.15, 0.55, 0.23, 0.07)  # how many days have one journey, two, ... but for taxis and trucks
COMMUTE = 0.75  # of the days that lead to work first

N_CENTERS = 6  # around which attractive places gather
PLACES = 0.1  # the share of nodes that journeys lead to but for homes; each costs a few searches
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
    departures_s: Floats  # (n,): when users mean to leave, in seconds since the first midnight


class _Outings(NamedTuple):
    """Hold what users mean to do, before it is known where: an entry a journey."""

    users: Integers
    aims: Integers  # HOME, WORK or ELSEWHERE
    departures_s: Floats


class _Attraction(NamedTuple):
    """Hold the places that journeys lead to, for kernels."""

    nodes: Floats  # (n_nodes, 2): of the network
    places: Integers  # (n_places,): which of the nodes are
    weights: Floats  # (n_places,): how attractive each is


def draw_journeys(network: Network, n: int, rng: np.random.Generator) -> Journeys:
    """Draw n journeys of as many users as it takes; the last user's may end early.

    Most users go from home to work and back, some by way of another place, on one day or several. Taxis go
    from place to place all day, trucks leave from work and return there. Which places attract belongs to the
    network: journeys of two seeds are like two weeks in one city.
    """
    vehicles = rng.choice(len(VEHICLES), n, p=[vehicle.share for vehicle in VEHICLES.values()])
    outings = _draw_outings(vehicles, n, rng)
    n_users = int(outings.users[-1]) + 1
    vehicles = vehicles[:n_users]
    attraction, places = _attractive_places(network)
    # People live everywhere, if more of them where there is more to do.
    living = np.sqrt(attraction)
    homes = rng.choice(network.n_nodes, n_users, p=living / living.sum())
    reach_m = min(REACH * _diagonal_m(network), LONGEST_REACH_M)
    reaches_m = reach_m * np.array([vehicle.reach for vehicle in VEHICLES.values()])[vehicles]
    attractive = _Attraction(network.nodes, places, attraction[places])
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
    start = rng.integers(0, len(DAYS) + 1 - n_days)
    user = np.repeat(np.arange(len(vehicles)), n_days)  # of each day of a user
    day = start[user] + _places(n_days)
    vehicle = vehicles[user]
    commuting = ((vehicle == CAR) | (vehicle == BICYCLE)) & (rng.random(len(user)) < COMMUTE)
    n_outings = rng.choice(len(OUTINGS), len(user), p=OUTINGS) + 1
    n_outings = np.where(vehicle == TAXI, rng.integers(8, 25, len(user)), n_outings)
    n_outings = np.where(vehicle == TRUCK, rng.integers(4, 13, len(user)), n_outings)
    hours = _first_hours(vehicle, commuting, rng) + 24 * day

    which = np.repeat(np.arange(len(user)), n_outings)  # the day of a user that each journey belongs to
    place = _places(n_outings)
    homeward = (place == n_outings[which] - 1) & (place > 0)
    to_work = (place == 0) & commuting[which]
    aims = np.where(homeward, HOME, np.where(to_work, WORK, ELSEWHERE))
    waits = np.where(place == 0, hours[which], _waits(vehicle[which], np.append(False, to_work[:-1]), rng))
    later = np.cumsum(waits)
    before = np.concatenate([[0.0], later])[np.cumsum(n_outings) - n_outings]  # all that others waited
    return _Outings(user[which][:n], aims[:n], 3_600 * (later - before[which])[:n])


def _places(lengths: Integers) -> Integers:
    """Count from 0 in each run: lengths [2, 3] -> [0, 1, 0, 1, 2]."""
    places: Integers = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return places


def _first_hours(vehicle: Integers, commuting: Flags, rng: np.random.Generator) -> Floats:
    """Draw when the first journey of each day starts, in hours."""
    n = len(vehicle)
    leisure = rng.normal(13.5, 3.3, n).clip(5, 22)
    hours = np.where(commuting, rng.normal(7.9, 0.8, n).clip(4, 12), leisure)
    hours = np.where(vehicle == TAXI, rng.uniform(0, 18, n), hours)
    started: Floats = np.where(vehicle == TRUCK, rng.normal(6.8, 1, n).clip(3, 11), hours)
    return started


def _waits(vehicle: Integers, after_work: Flags, rng: np.random.Generator) -> Floats:
    """Draw the hours from one departure to the next."""
    n = len(vehicle)
    hours = np.where(after_work, rng.normal(9.2, 0.9, n).clip(3, 14), rng.uniform(0.7, 2.5, n))
    hours = np.where(vehicle == TAXI, rng.uniform(0.2, 0.8, n), hours)
    waits: Floats = np.where(vehicle == TRUCK, rng.uniform(0.4, 1.3, n), hours)
    return waits


def _diagonal_m(network: Network) -> float:
    west, south, east, north = network.box
    return float(np.hypot(east - west, north - south))


def _attractive_places(network: Network) -> tuple[Floats, Integers]:
    """Give the attraction of each node, summing to one, and the nodes that journeys lead to."""
    rng = generator(0)  # the same for all journeys on a network
    nodes, diagonal_m = network.nodes, _diagonal_m(network)
    centers = nodes[rng.choice(len(nodes), min(N_CENTERS, len(nodes)), replace=False)]
    centers[0] = nodes[np.argmin(np.hypot(*(nodes - nodes.mean(axis=0)).T))]  # downtown
    attraction = np.full(len(nodes), BACKGROUND)
    for rank, center in enumerate(centers, start=1):
        squares = np.sum((nodes - center) ** 2, axis=1) / (diagonal_m * rng.uniform(*SPREAD)) ** 2
        attraction += np.exp(-squares / 2) / rank
    attraction *= 1 + rng.pareto(2.5, len(nodes))  # some places draw many more than their neighbors
    off_motorways = np.zeros(len(nodes), dtype=bool)
    off_motorways[network.starts[network.classes != RoadClass.MOTORWAY]] = True
    if off_motorways.sum() > 1:  # nobody lives or works beside one, where there is anything else
        attraction *= off_motorways
    attraction /= attraction.sum()
    n_places = max(2, round(PLACES * np.count_nonzero(attraction)))
    places = rng.choice(len(nodes), n_places, replace=False, p=attraction)
    return attraction, places


@njit(cache=True, nogil=True)
def _choose_works(attractive, homes, reaches_m, draws):  # type: ignore[no-untyped-def]
    """Choose where each user works."""
    works = np.empty(len(homes), np.int64)
    scratch = np.empty(len(attractive.places))
    for user in range(len(homes)):
        works[user] = _choose(attractive, homes[user], reaches_m[user], draws[user], scratch)
    return works


@njit(cache=True, nogil=True)
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
        if aims[journey] == ELSEWHERE or there == here:
            there = _choose(attractive, here, reaches_m[user], draws[journey], scratch)
        origins[journey], destinations[journey] = here, there
        here = there
    return origins, destinations


@njit(cache=True, nogil=True)
def _choose(attractive, here, reach_m, draw, summed):  # type: ignore[no-untyped-def]
    """Choose a place by attraction and distance, another than `here`; `summed` is scratch memory."""
    nodes, places, weights = attractive.nodes, attractive.places, attractive.weights
    total = 0.0
    for choice in range(len(places)):
        place = places[choice]
        x, y = nodes[place, 0] - nodes[here, 0], nodes[place, 1] - nodes[here, 1]
        if place != here:
            total += weights[choice] / (1 + (x * x + y * y) / reach_m**2) ** 2
        summed[choice] = total
    # Never past the end, and never to a choice that added nothing to the sum.
    choice = np.searchsorted(summed, min(draw * total, np.nextafter(total, 0.0)), side="right")
    return places[choice]
