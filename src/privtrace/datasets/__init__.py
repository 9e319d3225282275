"""Public data sets, and movement data that is made: for demos, tests and benchmarks.

What is made is not private: places and people are invented, and a seed brings the same ones back.

    network   Network: nodes, and edges of several road classes between them
    river     River: where no street may be
    roads     join_roads: main roads that meet where they cross
    plans     city: the plan of a whole city
    files     read_network: a network from two text files
    routes    fastest_routes: how to get from node to node
    people    draw_journeys: users with home, work and vehicle, and where they go when, on which days
    travel    moving_objects: many users on their way, their positions reported at fixed time steps

Public data sets have formats of their own, which `privtrace.io.formats` lists:

    importing   Importer: what their readers share
    porto       the table of the Porto taxi competition
    geolife     the folders of Geolife
    dat         the text of AdaTrace and PrivTrace
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from privtrace.datasets.files import read_network
    from privtrace.datasets.network import Network, RoadClass
    from privtrace.datasets.plans import city
    from privtrace.datasets.travel import PlacedTrips, city_trips, moving_objects

# Modules load at first use: who reads a file of taxis needs no streets.
_HOMES = {
    "Network": "network",
    "RoadClass": "network",
    "city": "plans",
    "read_network": "files",
    "moving_objects": "travel",
    "PlacedTrips": "travel",
    "city_trips": "travel",
}

__all__ = ["Network", "RoadClass", "city", "read_network", "moving_objects", "PlacedTrips", "city_trips"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
