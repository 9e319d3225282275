"""Data with times, which profile `time` looks at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import privtrace as pt
from privtrace.testing import data as checked


@pytest.fixture(scope="session")
def wanderers() -> pt.Trajectories:
    """Give times to the 600 random walks in and around the box: most on Monday morning.

    A point is some seconds after the one before, and some are at the same time: those are untimed. They are in
    order of place, as they come out of a table.
    """
    given = replace(checked.wanderers(), users=None)
    rng, n_points = np.random.default_rng(11), np.diff(given.offsets)
    waits = rng.integers(1, 90, given.n_points) * (rng.random(given.n_points) > 0.02)
    departures = 1_400_457_600 + rng.normal(8 * 3600, 5000, len(given)).astype(np.int64)  # 2014-05-19, a Monday
    since = np.cumsum(waits)
    times = since + np.repeat(departures - since[given.offsets[:-1]], n_points)
    owners = np.repeat(np.arange(len(given)), n_points)
    order = np.lexsort((*given.points.T[::-1], times, owners))
    return replace(given, points=given.points[order], times=times[order].astype("datetime64[s]"))
