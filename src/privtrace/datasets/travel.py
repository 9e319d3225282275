"""Move objects through a network: their routes, the traffic they make, and the positions they report."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np
from numba import njit

from privtrace.datasets.network import Network, RoadClass, generator
from privtrace.datasets.people import VEHICLES, Journeys, draw_journeys
from privtrace.datasets.plans import city
from privtrace.datasets.routes import Routes, fastest_routes
from privtrace.errors import SettingsError
from privtrace.trajectories import Array, Floats, Integers, Trajectories

LIMITS = np.array([vehicle.limits for vehicle in VEHICLES.values()])  # (n_vehicles, n_classes)
IN_TRAFFIC = np.array([vehicle.in_traffic for vehicle in VEHICLES.values()])

DAY = np.datetime64("2025-03-03T00:00", "ms")  # a Monday
REST_S = 180.0  # between two trips of a user, at least
JITTER_M = 4.0  # standard deviation of a reported position, in x and in y
WORST_JITTER = 3.0  # times JITTER_M: larger errors are cut off

#: Traffic is counted by the half hours of a day, all days taken together.
SLICE_S = 1_800.0
N_SLICES = 48
CAPACITIES = {RoadClass.MOTORWAY: 8.0, RoadClass.ARTERIAL: 3.0, RoadClass.AVENUE: 2.0, RoadClass.STREET: 1.0}
DEMAND = 0.04  # the share of what a network can carry in a day that its traffic asks for
WORST_LOAD = 1.8  # times the capacity: queues then grow elsewhere
ALONE = 0.1  # of the capacity of a street, at most, is taken by one object, so that few do not block themselves


class PlacedTrips(NamedTuple):
    """Hold trips in longitude and latitude, and the public region of the city they were made in."""

    trajectories: Trajectories
    region: tuple[float, float, float, float]  # west, south, east, north, in degrees
    limits: Floats  # (n, 2): the city limits, a closed ring of longitudes and latitudes


def city_trips(n: int = 20_000, seed: int = 1) -> PlacedTrips:
    """Make n trips in the city of `city()`, with the region that the city covers.

    The region comes from the plan of the city, which is public, and not from the trips.
    """
    network = city()
    return PlacedTrips(moving_objects(network, n, seed), network.region, network.limits)


def moving_objects(network: Network, n: int, seed: int, *, step_s: float = 15.0) -> Trajectories:
    """Make n trips of users by car, taxi, truck and bicycle, in order of departure, after Brinkhoff's idea.

    Users live, work and go out (see `draw_journeys`). Each moves at the speed that road and vehicle allow,
    slowed by the traffic that the trips themselves make: n trips stand for all traffic of the network, be they
    few or many. In busy hours routes lead around the worst. Positions are reported every `step_s` seconds, the
    last one at the destination, so a trip has two points or more; they are in the network's own coordinates.
    """
    if n < 1:
        raise SettingsError(f"n must be 1 or more, not {n}")
    if not 0 < step_s < inf:
        raise SettingsError(f"step_s must be positive and finite, not {step_s}")
    rng = generator(seed)
    journeys = draw_journeys(network, n, rng)
    routes, delays = _through_traffic(network, journeys)
    departures_s, elapsed_s = _travel(network, journeys, routes, delays)
    order = np.argsort(departures_s, kind="stable")
    points, offsets = _report(network, routes, elapsed_s, order, float(step_s))
    points += JITTER_M * rng.standard_normal(points.shape).clip(-WORST_JITTER, WORST_JITTER)
    times = _times(departures_s[order], offsets, step_s)
    return Trajectories(network.own_coordinates(points), offsets, times, journeys.users[order], crs=network.crs)


def _through_traffic(network: Network, journeys: Journeys) -> tuple[Routes, Floats]:
    """Find all routes, and how many times longer than alone each edge takes: (n_edges, N_SLICES).

    All choose a route as if alone; those who leave in the busier half hours then choose again, by what edges
    take at that time.
    """
    slices = (journeys.departures_s / SLICE_S).astype(np.int64) % N_SLICES
    crowds = np.bincount(slices, minlength=N_SLICES)
    busy = crowds > crowds.mean()
    again = busy[slices] & IN_TRAFFIC[journeys.vehicles]
    calm, rushed = np.flatnonzero(~again), np.flatnonzero(again)

    alone = Routes.gathered(_choose_routes(network, journeys, np.arange(len(again)), np.ones(network.n_edges)))
    delays = _delays(network, journeys, alone)[:, busy].mean(axis=1)
    routes = Routes.gathered([(calm, alone.take(calm)), *_choose_routes(network, journeys, rushed, delays)])
    return routes, _delays(network, journeys, routes)


def _choose_routes(
    network: Network, journeys: Journeys, which: Integers, delays: Floats
) -> list[tuple[Integers, Routes]]:
    """Find the fastest routes of some journeys, by vehicle, if edges take `delays` times longer than alone."""
    groups = []
    for vehicle, seconds in enumerate(_seconds(network)):
        mine = which[journeys.vehicles[which] == vehicle]
        origins, destinations = journeys.origins[mine], journeys.destinations[mine]
        groups.append((mine, fastest_routes(network, seconds * delays, origins, destinations)))
    return groups


def _seconds(network: Network) -> Floats:
    """Give how long each vehicle takes for each edge, alone and at full pace: (n_vehicles, n_edges)."""
    seconds: Floats = network.lengths_m / np.minimum(network.speeds, LIMITS[:, network.classes])
    return seconds


def _delays(network: Network, journeys: Journeys, routes: Routes) -> Floats:
    """Give how many times longer than alone each edge takes in this traffic: (n_edges, N_SLICES)."""
    counts = np.zeros((network.n_edges, N_SLICES))
    seconds, lengths_m = _seconds(network), network.lengths_m
    traveled_m = _count(counts, lengths_m, seconds, IN_TRAFFIC, journeys, routes.edges, routes.offsets)
    capacities = np.array([CAPACITIES[kind] for kind in RoadClass])[network.classes]
    carried_m = N_SLICES * (capacities @ network.lengths_m)
    loads = counts / capacities[:, None] * min(DEMAND * carried_m / max(traveled_m, 1.0), ALONE)
    delays: Floats = 1 + loads.clip(max=WORST_LOAD) ** 2
    return delays


@njit(cache=True, nogil=True)
def _count(counts, lengths_m, seconds, in_traffic, journeys, edges, offsets):  # type: ignore[no-untyped-def]
    """Count the objects on each edge in each time slice, as if all moved freely; return the meters traveled."""
    vehicles, paces, departures_s = journeys.vehicles, journeys.paces, journeys.departures_s
    traveled_m = 0.0
    for journey in range(len(vehicles)):
        if not in_traffic[vehicles[journey]]:
            continue
        clock = departures_s[journey]
        for step in range(offsets[journey], offsets[journey + 1]):
            edge = edges[step]
            counts[edge, int(clock / SLICE_S) % N_SLICES] += 1
            clock += seconds[vehicles[journey], edge] / paces[journey]
            traveled_m += lengths_m[edge]
    return traveled_m


def _travel(network: Network, journeys: Journeys, routes: Routes, delays: Floats) -> tuple[Floats, Floats]:
    """Give when each journey starts, and how many seconds later each edge of its route is done."""
    left_s, elapsed_s = _move(_seconds(network), delays, IN_TRAFFIC, journeys, routes.edges, routes.offsets)
    return left_s, elapsed_s


@njit(cache=True, nogil=True)
def _move(seconds, delays, in_traffic, journeys, edges, offsets):  # type: ignore[no-untyped-def]
    """Move users along their routes; who arrives late leaves late again."""
    users, vehicles, paces = journeys.users, journeys.vehicles, journeys.paces
    departures_s = journeys.departures_s
    left_s, elapsed_s = np.empty(len(users)), np.empty(len(edges))
    clock = 0.0
    for journey in range(len(users)):
        left = departures_s[journey]
        if journey > 0 and users[journey] == users[journey - 1]:
            left = max(left, clock + REST_S)
        left_s[journey] = clock = left
        vehicle = vehicles[journey]
        for step in range(offsets[journey], offsets[journey + 1]):
            edge = edges[step]
            delay = delays[edge, int(clock / SLICE_S) % N_SLICES] if in_traffic[vehicle] else 1.0
            clock += delay * seconds[vehicle, edge] / paces[journey]
            elapsed_s[step] = clock - left
    return left_s, elapsed_s


def _report(
    network: Network, routes: Routes, elapsed_s: Floats, order: Integers, step_s: float
) -> tuple[Floats, Integers]:
    """Give the positions of journeys in the given order at fixed steps, and where each journey's begin."""
    durations_s = elapsed_s[routes.offsets[1:] - 1][order]
    n_steps = np.maximum(1, np.ceil(durations_s / step_s)).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(n_steps + 1)])
    nodes, starts, ends = network.nodes, network.starts[routes.edges], network.ends[routes.edges]
    return _positions(nodes, starts, ends, routes.offsets, elapsed_s, order, offsets, step_s), offsets


@njit(cache=True, nogil=True)
def _positions(nodes, starts, ends, route_offsets, elapsed_s, order, offsets, step_s):  # type: ignore[no-untyped-def]
    """Find where objects are after each of their steps; past the end of its route, an object stays there."""
    points = np.empty((offsets[-1], 2))
    for trip in range(len(order)):
        edge, last = route_offsets[order[trip]], route_offsets[order[trip] + 1] - 1
        begun = 0.0
        for point in range(offsets[trip], offsets[trip + 1]):
            clock = (point - offsets[trip]) * step_s
            while edge < last and elapsed_s[edge] <= clock:
                begun = elapsed_s[edge]
                edge += 1
            share = min(1.0, (clock - begun) / (elapsed_s[edge] - begun))
            start, end = nodes[starts[edge]], nodes[ends[edge]]
            points[point] = start + share * (end - start)
    return points


def _times(departures_s: Floats, offsets: Integers, step_s: float) -> Array:
    """Stamp each point: its trip's departure and then one step after another."""
    lengths = np.diff(offsets)
    steps = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    # Rounded apart, so that all steps are alike to the millisecond.
    departures_ms, steps_ms = np.round(1_000 * departures_s), np.round(1_000 * step_s * steps)
    return DAY + (np.repeat(departures_ms, lengths) + steps_ms).astype("timedelta64[ms]")
