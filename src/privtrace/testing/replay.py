"""Check that nothing but noisy outputs makes a model: given the same ones, neighbors give the same file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from privtrace.testing.check import Check, Make
from privtrace.testing.data import REGIONS, wanderers, zigzag
from privtrace.testing.sensitivity import differences
from privtrace.trajectories import Trajectories

UNITS: dict[str, dict[str, Any]] = {"trajectories": {}, "users": {"unit": "user", "max_per_user": 4}}
COUNTS = {"count measured": None, "count declared": 300}
GAPS = {"whole": None, "cut": 30.0}


def replay(make: Make) -> list[Check]:
    """List the checks, one for each unit, with and without a count that is public, and a gap."""
    return [
        Check(
            "replay", f"{unit}, {count}, {gap}", partial(_replays, make, UNITS[unit], COUNTS[count], GAPS[gap])
        )
        for unit, count, gap in product(UNITS, COUNTS, GAPS)
    ]


def _replays(make: Make, unit: dict[str, Any], count: int | None, gap: float | None) -> None:
    """Compare with a neighbor that has many points; and with one without whom none is left."""
    base = replace(wanderers()[:300], users=np.arange(300) % 30, ids=np.arange(300), gap_minutes=gap)
    more = replace(zigzag(), users=np.array([99]), ids=np.array([999]), gap_minutes=gap)
    settings = make(epsilon=8, region=REGIONS["box"], public_count=count, **unit)
    assert max(differences(settings, base, Trajectories.concatenate([base, more])).values()) > 0
    differences(settings, base[:1], base[:0])
