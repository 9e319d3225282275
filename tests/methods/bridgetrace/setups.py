"""Settings of BridgeTrace that lead to other stages, sizes or units."""

from __future__ import annotations

from functools import partial

from tests import polygons

import privtrace as pt


def over_a_polygon(**setup: object) -> pt.BridgeTrace:
    return pt.BridgeTrace(**{"rounds": 1} | setup | {"region": polygons.region("mixed 1"), "K": 4})


#: Points a public spacing apart, and no times.
evenly = partial(pt.BridgeTrace, sampling=False, times=False)
in_time = partial(pt.BridgeTrace, times=True, rounds=0)

CONTRACT = {
    "bridgetrace": partial(evenly, rounds=1),
    "bridgetrace, K and spacing": partial(pt.BridgeTrace, rounds=0, K=3, spacing=2),
    "bridgetrace, few states": partial(evenly, rounds=0, max_states=16, max_zones=2),
    "bridgetrace, users": partial(evenly, rounds=0, unit="user", max_per_user=2),
    "bridgetrace, polygon": partial(over_a_polygon, sampling=False, times=False),
    "bridgetrace, public count": partial(evenly, rounds=0, K=2, public_count=500),
    "bridgetrace, points": partial(pt.BridgeTrace, rounds=0),
    "bridgetrace, times": in_time,
    "bridgetrace, times, polygon": partial(over_a_polygon, times=True, rounds=0),
    "bridgetrace, times, users": partial(in_time, unit="user", max_per_user=2, public_count=500),
    "bridgetrace, every": partial(in_time, every="15s", period="2013-07-08/2013-07-15"),
}
SENSITIVITY = {"bridgetrace": partial(pt.BridgeTrace, rounds=0, cell_factor=2.0, zone_factor=0.5)}
VARIANTS = {"bridgetrace, calibrated": partial(pt.BridgeTrace, rounds=2, spacing=0.5)}
HEAVY = {"bridgetrace": [(5.1, 5.1), (5.2, 5.1)]}
POINT: dict[str, dict[str, float | None]] = {"bridgetrace": {"gaps": 0, "jumps": 0}}
