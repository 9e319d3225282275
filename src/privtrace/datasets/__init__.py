"""Make movement data: street networks, and objects that move on them, for demos, tests and benchmarks.

Nothing here is private: places and people are invented, and a seed brings the same ones back.

    network   Network: nodes, and edges of several road classes between them
    river     River: where no street may be
    roads     join_roads: main roads that meet where they cross
    plans     city: the plan of a whole city
    files     read_network: a network from two text files
    routes    fastest_routes: how to get from node to node
    people    draw_journeys: users with home, work and vehicle, and where they go when, on which days
    travel    moving_objects: many users on their way, their positions reported at fixed time steps
"""

from __future__ import annotations

from privtrace.datasets.files import read_network
from privtrace.datasets.network import Network, RoadClass
from privtrace.datasets.plans import city
from privtrace.datasets.travel import PlacedTrips, city_trips, moving_objects

__all__ = ["Network", "RoadClass", "city", "read_network", "moving_objects", "PlacedTrips", "city_trips"]
