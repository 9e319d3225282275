"""Send objects through a network: where from, where to, when, and the positions they report."""

from __future__ import annotations

from math import ceil, cos, floor, inf, radians
from typing import NamedTuple

import numpy as np
from numba import njit

from privtrace.datasets.network import Network, generator
from privtrace.datasets.plans import town
from privtrace.datasets.routes import Nodes, fastest_routes
from privtrace.errors import SettingsError
from privtrace.trajectories import Array, Floats, Integers, Trajectories

N_CENTERS = 6  # around which popular places gather
N_PLACES = 400  # that trips lead to, at most; each costs one search of the network
BACKGROUND = 0.1  # popularity of a node far from every center, before luck
DECAY_M = 2_000.0  # a destination this far away draws half as many as one next door
SLOWEST_PACE = 0.7  # of the speed allowed
JITTER_M = 4.0  # standard deviation of a reported position, in x and in y
WORST_JITTER = 3.0  # times JITTER_M: larger errors are cut off
DAY = np.datetime64("2025-03-03T00:00", "ms")
#: Rush hours and the rest of the day: share of trips, middle and spread in hours.
HOURS = ((0.3, 8.0, 0.9), (0.35, 17.2, 1.4), (0.35, 13.0, 3.2))

MIDDLE = (8.2, 53.1)  # longitude and latitude at which the town is placed
MARGIN_M = 50.0  # around the town, before the region is rounded outward
METERS_PER_DEGREE = 6_371_008.8 * radians(1)  # of latitude, on a sphere of the Earth's mean radius


class PlacedTrips(NamedTuple):
    """Hold trips in longitude and latitude, and the public region of the town they were made in."""

    trajectories: Trajectories
    region: tuple[float, float, float, float]  # west, south, east, north, in degrees


def trips(network: Network, n: int, seed: int, *, step_s: float = 15.0) -> Trajectories:
    """Make n trips between popular places by fastest routes, in order of departure.

    Positions are reported every `step_s` seconds, the last one at the destination, so a trip has two points
    or more. Which places are popular belongs to the network: trips of two seeds on one network are like two
    days in one town.
    """
    if n < 1:
        raise SettingsError(f"n must be 1 or more, not {n}")
    if not 0 < step_s < inf:
        raise SettingsError(f"step_s must be positive and finite, not {step_s}")
    rng = generator(seed)
    origins, destinations = _draw_journeys(network, n, rng)
    routes = fastest_routes(network, origins, destinations)
    # Paces differ, so two objects on one route do not report at the same places.
    strides_s = step_s * rng.uniform(SLOWEST_PACE, 1.0, n)  # the part of the route done in one step
    lengths = np.maximum(1, np.ceil(routes.durations_s / strides_s)).astype(np.int64) + 1
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    points = _positions(network.nodes, routes.nodes, routes.elapsed_s, routes.offsets, strides_s, offsets)
    points += JITTER_M * rng.standard_normal(points.shape).clip(-WORST_JITTER, WORST_JITTER)
    return Trajectories(points, offsets, _times(_draw_departures(n, rng), offsets, step_s), crs="planar")


def town_trips(n: int = 20_000, seed: int = 1) -> PlacedTrips:
    """Make n trips in the town of `town()`, placed on the globe, with the region that the town covers.

    The region comes from the plan of the town, which is public, and not from the trips.
    """
    network = town()
    planar = trips(network, n, seed)
    placed = Trajectories(_lonlat(planar.points), planar.offsets, planar.times)
    return PlacedTrips(placed, _region(network))


def _draw_journeys(network: Network, n: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Draw origins by popularity, and destinations by popularity and distance."""
    popularity, places = _popular_places(network)
    # Sorted, so that all journeys from one node share a table of destinations; afterward mixed again.
    origins = np.sort(rng.choice(network.n_nodes, n, p=popularity))
    destinations = _choose(network.nodes, origins, places, popularity[places], rng.random(n))
    mixed = rng.permutation(n)
    return origins[mixed], destinations[mixed]


def _popular_places(network: Network) -> tuple[Floats, Integers]:
    """Give the popularity of each node, summing to one, and the nodes that trips lead to."""
    rng = generator(0)  # the same for all trips on a network
    nodes = network.nodes
    centers = nodes[rng.choice(len(nodes), min(N_CENTERS, len(nodes)), replace=False)]
    centers[0] = nodes[np.argmin(np.hypot(*(nodes - nodes.mean(axis=0)).T))]  # downtown
    popularity = np.full(len(nodes), BACKGROUND)
    for rank, center in enumerate(centers, start=1):
        spread_m = rng.uniform(300, 600)
        squares = np.sum((nodes - center) ** 2, axis=1)
        popularity += np.exp(-squares / (2 * spread_m**2)) / rank
    popularity *= 1 + rng.pareto(2.5, len(nodes))  # some places are much more popular than their neighbors
    popularity /= popularity.sum()
    places = rng.choice(len(nodes), min(N_PLACES, len(nodes)), replace=False, p=popularity)
    return popularity, places


@njit(cache=True, nogil=True)
def _choose(nodes: Floats, origins: Integers, places: Integers, weights: Floats, draws: Floats) -> Integers:
    """Choose a destination for each of the sorted origins: a popular one, a near one, another node."""
    chosen = np.empty(len(origins), np.int64)
    summed = np.zeros(len(places))
    for journey in range(len(origins)):
        origin = origins[journey]
        if journey == 0 or origin != origins[journey - 1]:
            total = 0.0
            for choice in range(len(places)):
                place = places[choice]
                x, y = nodes[place, 0] - nodes[origin, 0], nodes[place, 1] - nodes[origin, 1]
                if place != origin:
                    total += weights[choice] / (1 + (x * x + y * y) / DECAY_M**2)
                summed[choice] = total
        choice = np.searchsorted(summed, draws[journey] * summed[-1], side="right")
        chosen[journey] = places[min(choice, len(places) - 1)]
    return chosen


def _draw_departures(n: int, rng: np.random.Generator) -> Floats:
    """Draw when trips start, in seconds since midnight, early ones first."""
    shares, middles, spreads = np.array(HOURS).T
    kind = rng.choice(len(HOURS), n, p=shares)
    hours = rng.normal(middles[kind], spreads[kind]) % 24
    return np.sort(3_600 * hours)


@njit(cache=True, nogil=True)
def _positions(
    xy: Floats,
    nodes: Nodes,
    elapsed_s: Floats,
    route_offsets: Integers,
    strides_s: Floats,
    offsets: Integers,
) -> Floats:
    """Find where each object is after each of its steps; past the end of its route, it stays there."""
    points = np.empty((offsets[-1], 2))
    for trip in range(len(strides_s)):
        stop, last = route_offsets[trip], route_offsets[trip + 1] - 1
        for point in range(offsets[trip], offsets[trip + 1]):
            clock = (point - offsets[trip]) * strides_s[trip]
            while stop < last and elapsed_s[stop + 1] <= clock:
                stop += 1
            points[point] = xy[nodes[stop]]
            if stop < last:
                share = (clock - elapsed_s[stop]) / (elapsed_s[stop + 1] - elapsed_s[stop])
                points[point] += share * (xy[nodes[stop + 1]] - xy[nodes[stop]])
    return points


def _times(departures_s: Floats, offsets: Integers, step_s: float) -> Array:
    """Stamp each point: its trip's departure and then one step after another."""
    lengths = np.diff(offsets)
    steps = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    seconds = np.repeat(departures_s, lengths) + step_s * steps
    return DAY + np.round(1_000 * seconds).astype("timedelta64[ms]")


def _lonlat(points: Floats) -> Floats:
    """Place planar meters on the globe, around MIDDLE; exact enough for a town (equirectangular)."""
    longitude, latitude = MIDDLE
    return np.column_stack(
        [
            longitude + points[:, 0] / (METERS_PER_DEGREE * cos(radians(latitude))),
            latitude + points[:, 1] / METERS_PER_DEGREE,
        ]
    )


def _region(network: Network) -> tuple[float, float, float, float]:
    """Give the box of the network with a margin, rounded outward to thousandths of a degree."""
    west, south, east, north = network.box
    corners = np.array([[west - MARGIN_M, south - MARGIN_M], [east + MARGIN_M, north + MARGIN_M]])
    (west, south), (east, north) = (1_000 * _lonlat(corners)).tolist()
    return floor(west) / 1_000, floor(south) / 1_000, ceil(east) / 1_000, ceil(north) / 1_000
