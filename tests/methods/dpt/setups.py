"""Settings of DPT that lead to other stages, sizes or units."""

from __future__ import annotations

from functools import partial

from tests import polygons

import privtrace as pt


def over_a_polygon(**setup: object) -> pt.DPT:
    return pt.DPT(**setup | {"region": polygons.region("mixed 1"), "finest": 8, "keep": 1e-9})


CONTRACT = {
    "dpt, four systems": partial(pt.DPT, finest=16, keep=1e-9, expand=0.1),
    "dpt, coarsest": partial(pt.DPT, finest=8, keep=1e-9, mapping="coarsest", height=4),
    "dpt, order 1": partial(pt.DPT, max_systems=1, height=2, heading_strength=0),
    "dpt, users": partial(pt.DPT, unit="user", max_per_user=2, finest=8, keep=1e-9, hysteresis=True),
    "dpt, polygon": over_a_polygon,
    "dpt, public count": partial(pt.DPT, public_count=500),
    "dpt, times": partial(pt.DPT, times=True),
}
SENSITIVITY = {
    "dpt": partial(pt.DPT, finest=8, keep=1e-9, expand=0.5),
    "dpt, coarsest": partial(pt.DPT, finest=8, keep=1e-9, expand=0.1, mapping="coarsest", height=4),
}
VARIANTS = {"dpt, no heading": partial(pt.DPT, finest=8, hysteresis=False, heading_strength=0)}
# Nearly one: the longer, the nearer, because of a string's events one is left out of every table.
HEAVY = {"dpt": [(3.1, 3.1), (4.3, 3.1)] * 2000}
POINT: dict[str, dict[str, float | None]] = {
    "dpt": {"systems": 0.5, "level 1": 0.5, "level 2": None, "level 3": 0}
}
