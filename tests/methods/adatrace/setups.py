"""Settings of AdaTrace that lead to other stages, sizes or units."""

from __future__ import annotations

from functools import partial

from tests import polygons

import privtrace as pt


def over_a_polygon(**setup: object) -> pt.AdaTrace:
    return pt.AdaTrace(**setup | {"region": polygons.region("mixed 1"), "N": 4})


CONTRACT = {
    "adatrace, 5 x 5": partial(pt.AdaTrace, N=5, density_per_cell=10, max_extra=3),
    "adatrace, one layer": partial(pt.AdaTrace, second_layer=False),
    "adatrace, users": partial(pt.AdaTrace, unit="user", max_per_user=2),
    "adatrace, polygon": over_a_polygon,
    "adatrace, public count": partial(pt.AdaTrace, public_count=500),
    "adatrace, times": partial(pt.AdaTrace, times=True),
}
SENSITIVITY = {"adatrace": partial(pt.AdaTrace, N=5, density_per_cell=20.0, max_extra=9)}
VARIANTS = {"adatrace, one layer": partial(pt.AdaTrace, second_layer=False)}
HEAVY = {"adatrace": [(1.0, 1.0), (9.0, 9.0)]}
POINT: dict[str, dict[str, float | None]] = {"adatrace": {"transitions": 0}}
