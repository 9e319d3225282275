"""Settings of BridgeTrace that lead to other stages, sizes or units."""

from __future__ import annotations

from functools import partial

from tests import polygons

import privtrace as pt


def over_a_polygon(**setup: object) -> pt.BridgeTrace:
    return pt.BridgeTrace(**setup | {"region": polygons.region("mixed 1"), "rounds": 1, "K": 4})


CONTRACT = {
    "bridgetrace": partial(pt.BridgeTrace, rounds=1),
    "bridgetrace, K and spacing": partial(pt.BridgeTrace, rounds=0, K=3, spacing=2),
    "bridgetrace, few states": partial(pt.BridgeTrace, rounds=0, max_states=16, max_zones=2),
    "bridgetrace, users": partial(pt.BridgeTrace, rounds=0, unit="user", max_per_user=2),
    "bridgetrace, polygon": over_a_polygon,
    "bridgetrace, public count": partial(pt.BridgeTrace, rounds=0, K=2, public_count=500),
}
SENSITIVITY = {"bridgetrace": partial(pt.BridgeTrace, rounds=0, cell_factor=2.0, zone_factor=0.5)}
VARIANTS = {"bridgetrace, calibrated": partial(pt.BridgeTrace, rounds=2, spacing=0.5)}
HEAVY = {"bridgetrace": [(5.1, 5.1), (5.2, 5.1)]}
POINT: dict[str, dict[str, float | None]] = {"bridgetrace": {"gaps": 0}}
