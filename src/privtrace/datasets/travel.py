"""Move objects through a network: their routes, the traffic they make, and the positions they report."""

from __future__ import annotations

from math import inf
from typing import NamedTuple

import numpy as np

from privtrace.calendar import DAY_S, Period, Zone
from privtrace.compiling import compiled
from privtrace.datasets.network import Flags, Network, RoadClass, generator
from privtrace.datasets.people import N_WORKDAYS, PERIOD, VEHICLES, WEEKDAYS, Journeys, draw_journeys
from privtrace.datasets.plans import city
from privtrace.datasets.routes import Routes, fastest_routes
from privtrace.errors import SettingsError
from privtrace.trajectories import Array, Floats, Integers, Trajectories

LIMITS = np.array([vehicle.limits for vehicle in VEHICLES.values()])  # (n_vehicles, n_classes)
IN_TRAFFIC = np.array([vehicle.in_traffic for vehicle in VEHICLES.values()])

REST_S = 180.0  # between two trips of a user, at least
JITTER_M = 4.0  # standard deviation of a reported position, in x and in y
WORST_JITTER = 3.0  # times JITTER_M: larger errors are cut off

#: Traffic is counted by the half hours of a workday and then of a free day, all such days taken together.
SLICE_S = 1_800.0
WORKDAY, FREE_DAY = np.arange(96).reshape(2, 48)
WEEK = np.concatenate([np.tile(WORKDAY, N_WORKDAYS), np.tile(FREE_DAY, len(WEEKDAYS) - N_WORKDAYS)])
SLICE_DAYS = np.bincount(WEEK)  # how many days of a week have each slice
N_SLICES = len(SLICE_DAYS)
CAPACITIES = {RoadClass.MOTORWAY: 3.0, RoadClass.ARTERIAL: 1.7, RoadClass.AVENUE: 1.3, RoadClass.STREET: 1.0}
DEMAND = 0.04  # the share of what a network can carry in a week that its traffic asks for
WORST_LOAD = 1.8  # times the capacity: queues then grow elsewhere
ALONE = 0.2  # of the capacity of a street, at most, is taken by one object, so that few do not block themselves
BUSY = 1.5  # times the average of all half hours; then people look for a way around
QUEUE = 0.5  # of what traffic costs on an edge is spent standing at its end, the rest moving slowly
RED = 0.2  # how often a traffic light is
LONGEST_RED_S = 50.0


class _Progress(NamedTuple):
    """Hold how journeys get on along their routes, for kernels."""

    left_s: Floats  # (n_journeys,): when each starts, in local seconds since the first midnight of PERIOD
    elapsed_s: Floats  # (n_steps,): how long after that each edge of its route is done
    stands_s: Floats  # (n_steps,): how much of the time on the edge is spent standing at its end


class PlacedTrips(NamedTuple):
    """Hold trips in longitude and latitude, and what is public of the city they were made in."""

    trajectories: Trajectories
    region: tuple[float, float, float, float]  # west, south, east, north, in degrees
    limits: Floats  # (n, 2): the city limits, a closed ring of longitudes and latitudes
    zone: str  # the time zone of the city: an IANA name
    period: Period  # the local days on which all trips begin and end


def city_trips(n: int = 20_000, seed: int = 1) -> PlacedTrips:
    """Make n trips in the city of `city()`, with the region that the city covers, its time zone and the period.

    All but the trips come from the plan of the city, which is public, and nothing from the trips.
    """
    network = city()
    trips = moving_objects(network, n, seed)
    return PlacedTrips(trips, network.region, network.limits, network.zone, PERIOD)


def moving_objects(network: Network, n: int, seed: int, *, step_s: float = 15.0) -> Trajectories:
    """Make n trips of users by car, taxi, truck and bicycle, in order of departure, after Brinkhoff's idea.

    Users live, work and go out (see `draw_journeys`) in the four weeks of `PERIOD`, by the clocks of the
    network's time zone. Each moves at the speed that road and vehicle allow, stands at red lights, and is
    slowed by the traffic that the trips themselves make: n trips stand for all traffic of the network, be they
    few or many. In busy hours routes lead around the worst. Positions are reported every `step_s` seconds, the
    last one at the destination, so a trip has two points or more; they are in the network's own coordinates.
    Who stands reports the same position again.
    """
    if n < 1:
        raise SettingsError(f"n must be 1 or more, not {n}")
    if not 0 < step_s < inf:
        raise SettingsError(f"step_s must be positive and finite, not {step_s}")
    rng = generator(seed)
    journeys = draw_journeys(network, n, rng)
    routes, delays = _through_traffic(network, journeys)
    progress = _travel(network, journeys, routes, delays, rng)
    order = np.argsort(progress.left_s, kind="stable")
    points, offsets = _report(network, routes, progress, order, float(step_s))
    jitter = JITTER_M * rng.standard_normal(points.shape).clip(-WORST_JITTER, WORST_JITTER)
    _hold(jitter, points, offsets)
    points += jitter
    times = _times(progress.left_s[order], offsets, step_s, network.zone)
    users = journeys.users[order]
    return Trajectories(
        network.own_coordinates(points), offsets, times, users, crs=network.crs, zone=network.zone
    )


def _through_traffic(network: Network, journeys: Journeys) -> tuple[Routes, Floats]:
    """Find all routes, and how many times longer than alone each edge takes: (n_edges, N_SLICES).

    All choose a route as if alone; those who leave in busy half hours then choose again, by what edges
    take at that time.
    """
    slices = WEEK[(journeys.departures_s / SLICE_S).astype(np.int64) % len(WEEK)]
    crowds = np.bincount(slices, minlength=N_SLICES) / SLICE_DAYS
    busy = crowds > BUSY * crowds.mean()
    again = busy[slices] & IN_TRAFFIC[journeys.vehicles]
    calm, rushed = np.flatnonzero(~again), np.flatnonzero(again)

    alone = Routes.gathered(_choose_routes(network, journeys, np.arange(len(again)), np.ones(network.n_edges)))
    delays = _delays(network, journeys, alone)[:, busy].mean(axis=1)
    routes = Routes.gathered([(calm, alone.take(calm)), *_choose_routes(network, journeys, rushed, delays)])
    return routes, _delays(network, journeys, routes)


@compiled
def _slice(clock):  # type: ignore[no-untyped-def]
    """Find the slice that a time lies in."""
    return WEEK[np.uint32(clock / SLICE_S) % np.uint32(len(WEEK))]  # without a sign, which is much faster


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
    carried_m = len(WEEK) * (capacities @ network.lengths_m)
    shares = DEMAND * carried_m / max(traveled_m, 1.0) / SLICE_DAYS  # of a street's capacity, for one object
    loads = counts / capacities[:, None] * shares.clip(max=ALONE)
    delays: Floats = 1 + loads.clip(max=WORST_LOAD) ** 2
    return delays


@compiled
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
            counts[edge, _slice(clock)] += 1
            clock += seconds[vehicles[journey], edge] / paces[journey]
            traveled_m += lengths_m[edge]
    return traveled_m


def _travel(
    network: Network, journeys: Journeys, routes: Routes, delays: Floats, rng: np.random.Generator
) -> _Progress:
    """Let all travel: as fast as traffic lets them, and stopped by traffic lights."""
    n_steps = len(routes.edges)
    progress = _Progress(journeys.departures_s.copy(), np.empty(n_steps), np.zeros(n_steps))
    lights = np.flatnonzero(_traffic_lights(network)[network.ends][routes.edges])
    progress.stands_s[lights] = LONGEST_RED_S * (1 - rng.random(len(lights)) / RED).clip(min=0)
    progress.stands_s[routes.offsets[1:] - 1] = 0.0  # who has arrived does not wait
    _move(progress, _seconds(network), delays, IN_TRAFFIC, journeys, routes.edges, routes.offsets)
    return progress


def _traffic_lights(network: Network) -> Flags:
    """Tell at which nodes a main road that is no motorway is crossed by another road: (n_nodes,)."""
    main = (network.classes == RoadClass.ARTERIAL) | (network.classes == RoadClass.AVENUE)
    n_main, n_roads = (
        np.bincount(starts, minlength=network.n_nodes) for starts in (network.starts[main], network.starts)
    )
    lights: Flags = (n_main >= 2) & (n_roads >= 4)
    return lights


@compiled
def _move(progress, seconds, delays, in_traffic, journeys, edges, offsets):  # type: ignore[no-untyped-def]
    """Move users along their routes, adding queues to where they stand; who arrives late leaves late again."""
    users, vehicles, paces = journeys.users, journeys.vehicles, journeys.paces
    left_s, elapsed_s, stands_s = progress.left_s, progress.elapsed_s, progress.stands_s
    clock = 0.0
    for journey in range(len(users)):
        left = left_s[journey]
        if journey > 0 and users[journey] == users[journey - 1]:
            left = max(left, clock + REST_S)
        left_s[journey] = clock = left
        vehicle = vehicles[journey]
        for step in range(offsets[journey], offsets[journey + 1]):
            edge = edges[step]
            alone_s = seconds[vehicle, edge] / paces[journey]
            lost_s = (delays[edge, _slice(clock)] - 1) * alone_s if in_traffic[vehicle] else 0.0
            stands_s[step] += QUEUE * lost_s
            clock += alone_s + (1 - QUEUE) * lost_s + stands_s[step]
            elapsed_s[step] = clock - left


def _report(
    network: Network, routes: Routes, progress: _Progress, order: Integers, step_s: float
) -> tuple[Floats, Integers]:
    """Give the positions of journeys in the given order at fixed steps, and where each journey's begin."""
    durations_s = progress.elapsed_s[routes.offsets[1:] - 1][order]
    n_steps = np.maximum(1, np.ceil(durations_s / step_s)).astype(np.int64)
    offsets = np.concatenate([[0], np.cumsum(n_steps + 1)])
    nodes, starts, ends = network.nodes, network.starts[routes.edges], network.ends[routes.edges]
    return _positions(progress, nodes, starts, ends, routes.offsets, order, offsets, step_s), offsets


@compiled
def _positions(progress, nodes, starts, ends, route_offsets, order, offsets, step_s):  # type: ignore[no-untyped-def]
    """Find where objects are after each of their steps; past the end of its route, an object stays there."""
    elapsed_s, stands_s = progress.elapsed_s, progress.stands_s
    points = np.empty((offsets[-1], 2))
    for trip in range(len(order)):
        edge, last = route_offsets[order[trip]], route_offsets[order[trip] + 1] - 1
        begun = 0.0
        for point in range(offsets[trip], offsets[trip + 1]):
            clock = (point - offsets[trip]) * step_s
            while edge < last and elapsed_s[edge] <= clock:
                begun = elapsed_s[edge]
                edge += 1
            share = min(1.0, (clock - begun) / (elapsed_s[edge] - stands_s[edge] - begun))
            start, end = nodes[starts[edge]], nodes[ends[edge]]
            points[point] = start + share * (end - start)
    return points


@compiled
def _hold(jitter, points, offsets):  # type: ignore[no-untyped-def]
    """Let receivers keep their error, and so report the same position, while they do not move."""
    for trip in range(len(offsets) - 1):
        for point in range(offsets[trip] + 1, offsets[trip + 1]):
            if points[point, 0] == points[point - 1, 0] and points[point, 1] == points[point - 1, 1]:
                jitter[point] = jitter[point - 1]


def _times(departures_s: Floats, offsets: Integers, step_s: float, zone: str) -> Array:
    """Stamp each point, in UTC: its trip's departure and then one step after another."""
    lengths = np.diff(offsets)
    steps = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    # The clocks of no zone change in the period: what is right for its first moment is right for all.
    begin_s = int(Zone.named(zone).to_utc(np.array([DAY_S * PERIOD.days[0]]))[0])
    # Rounded apart, so that all steps are alike to the millisecond.
    departures_ms, steps_ms = np.round(1_000 * (begin_s + departures_s)), np.round(1_000 * step_s * steps)
    return (np.repeat(departures_ms, lengths) + steps_ms).astype(np.int64).view("datetime64[ms]")
