"""Settings of PrivTrace that lead to other stages, sizes or units."""

from __future__ import annotations

from functools import partial

from tests import polygons

import privtrace as pt


def over_a_polygon(**setup: object) -> pt.PrivTrace:
    return pt.PrivTrace(**setup | {"region": polygons.region("mixed 1")})


CONTRACT = {
    "order 1": partial(pt.PrivTrace, order=1),
    "order 2": partial(pt.PrivTrace, order=2),
    "no fallback": partial(pt.PrivTrace, order=2, fallback=False),
    "first layer": partial(pt.PrivTrace, second_layer=False),
    "no trips": partial(pt.PrivTrace, trip_estimation=False),
    "paper": partial(pt.PrivTrace.paper, c=100, population=1_000_000),
    "users": partial(pt.PrivTrace, unit="user", max_per_user=2),
    "polygon": over_a_polygon,
    "public count": partial(pt.PrivTrace, public_count=500),
    "times": partial(pt.PrivTrace, times=True),
}
SENSITIVITY = {
    "adaptive": partial(pt.PrivTrace, theta1=5.0),
    "order 2": partial(pt.PrivTrace, order=2),
}
VARIANTS = {
    "order 1": partial(pt.PrivTrace, order=1),
    "one layer": partial(pt.PrivTrace, second_layer=False),
    "no trips": partial(pt.PrivTrace, trip_estimation=False),
    "the paper's": partial(pt.PrivTrace.paper, c=50, population=1e6),
}
HEAVY = {"order 2": [(5.0, 5.0)]}
POINT: dict[str, dict[str, float | None]] = {"order 2": {}}
