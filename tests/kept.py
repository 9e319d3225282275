"""Work out digests of what fits release and walks make, for seeds; `python -m tests.kept` prints them as JSON.

They show that a change to how the code is written changed no result. Where a result changes on purpose, print
them anew, and say in CHANGELOG.md what changed and why.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import cho_factor

import privtrace as pt
from privtrace.datasets import city_trips
from privtrace.models import to_bytes
from privtrace.space.clip import clip

#: Points a public spacing apart, and no times.
EVENLY = {"sampling": False, "times": False}

#: Settings that reach all stages of all methods, over the city's box; those called "polygon" over its limits.
SETUPS: dict[str, tuple[str, dict[str, Any]]] = {
    "BridgeTrace": ("BridgeTrace", EVENLY),
    **{name: (name, {}) for name in ("PrivTrace", "AdaTrace", "DPT")},
    "BridgeTrace, polygon": ("BridgeTrace", EVENLY),
    **{f"{name}, polygon": (name, {}) for name in ("PrivTrace", "AdaTrace", "DPT")},
    "BridgeTrace, users": ("BridgeTrace", {"unit": "user", "max_per_user": 3, "rounds": 1, "spacing": 90.0}),
    "BridgeTrace, K": ("BridgeTrace", {"K": 4, "rounds": 0, "public_count": 3000, **EVENLY}),
    "PrivTrace, order 2": ("PrivTrace", {"order": 2, "max_states": 60, "trip_estimation": False}),
    "PrivTrace, theta": ("PrivTrace", {"theta1": 20.0}),
    "PrivTrace, one layer": ("PrivTrace", {"order": 1, "second_layer": False}),
    "AdaTrace, one layer": ("AdaTrace", {"N": 6, "second_layer": False}),
    "AdaTrace, users": ("AdaTrace", {"unit": "user", "max_per_user": 3}),
    "DPT, four": ("DPT", {"finest": 16, "keep": 1e-9, "expand": 0.2, "height": 4}),
    "DPT, coarsest": ("DPT", {"mapping": "coarsest", "hysteresis": False, "heading_strength": 0.0}),
    "BridgeTrace, points": ("BridgeTrace", {"times": False, "rounds": 1}),
    "BridgeTrace, times": ("BridgeTrace", {}),
    "BridgeTrace, times, polygon": ("BridgeTrace", {"times": True, "rounds": 1}),
    "BridgeTrace, times, users": ("BridgeTrace", {"unit": "user", "max_per_user": 3, "rounds": 0}),
    "BridgeTrace, times, count": ("BridgeTrace", {"K": 4, "rounds": 0, "public_count": 3000}),
    "BridgeTrace, every": ("BridgeTrace", {"every": "15s", "rounds": 0}),
    "BridgeTrace, period": ("BridgeTrace", {"period": "2025-05-10/2025-05-24", "rounds": 0}),
    **{f"{name}, times": (name, {"times": True}) for name in ("PrivTrace", "AdaTrace", "DPT")},
}


def digest(*arrays: Any) -> str:
    """Shorten arrays to sixteen digits."""
    made = hashlib.sha256()
    for array in map(np.ascontiguousarray, arrays):
        made.update(str((array.dtype.str, array.shape)).encode())
        made.update(array.tobytes())
    return made.hexdigest()[:16]


@cache
def data() -> Any:
    """Make the trips of all setups."""
    return city_trips(3000, seed=1)


def machine() -> str:
    """Say how this machine rounds: exp, log and linear algebra differ in the last bit from one to another."""
    values = np.linspace(0.1, 9.0, 999)
    matrix = np.exp(-np.abs(values[:40, np.newaxis] - values[:40])) + np.eye(40)
    trips = data().trajectories
    return digest(np.exp(values), np.log(values), np.sin(values), cho_factor(matrix)[0], trips.points)


def results(name: str) -> dict[str, Any]:
    """Fit, sample and retrace under one of the setups."""
    method, settings = SETUPS[name]
    made = data()
    trips = made.trajectories
    if trips.users is None:
        trips = replace(trips, users=np.arange(len(trips)) % 900)
    limits = pt.Region.polygon([made.limits.tolist()])
    region = limits if name.endswith("polygon") else pt.Region.box(*made.region)
    model = getattr(pt, method)(epsilon=2, region=region, **settings).fit(trips, noise=pt.SeededNoise(3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pt.CappedWalks)
        sample = model.sample(400, seed=5)
    timing = {} if model.timing is None else model.timing.arrays()
    return {
        "arrays": {array: digest(values) for array, values in (model.arrays() | timing).items()},
        "sample": digest(sample.points, sample.offsets),
        **({} if sample.times is None else {"times": digest(sample.times.astype(np.int64))}),
        "file": hashlib.sha256(to_bytes(_undated(model))).hexdigest()[:16],
        "retraced": digest(model.retrace(clip(made.trajectories[:50], model.release.region), 0, 3).points),
    }


def _undated(model: Any) -> Any:
    """Take out the version of the zones' data, which is that of the machine."""
    calendar = model.release.calendar
    if calendar is None:
        return model
    return replace(model, release=replace(model.release, calendar=replace(calendar, tzdata="any")))


if __name__ == "__main__":
    print(json.dumps({"machine": machine(), **{name: results(name) for name in SETUPS}}, indent=1))
