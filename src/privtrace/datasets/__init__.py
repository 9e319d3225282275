"""Make movement data: street networks, and trips on them, for demos, tests and benchmarks.

Nothing here is private: places and people are invented, and a seed brings the same ones back.

    network   Network: nodes and the edges between them
    plans     town: the plan of a whole town
    routes    fastest_routes: how to get from node to node
    travel    trips: many objects on their way, their positions reported at fixed time steps
"""

from __future__ import annotations

from privtrace.datasets.network import Network
from privtrace.datasets.plans import town
from privtrace.datasets.routes import Routes, fastest_routes
from privtrace.datasets.travel import PlacedTrips, town_trips, trips

__all__ = ["Network", "town", "Routes", "fastest_routes", "trips", "PlacedTrips", "town_trips"]
