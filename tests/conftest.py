"""Small data for all tests, made in code; the real data sets where they are at hand."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from experiments import data
from hypothesis import HealthCheck, settings

import privtrace as pt
from privtrace.datasets import city_trips
from privtrace.testing import data as checked

BOX, trajectories = checked.BOX, checked.trajectories


def in_time(walks: pt.Trajectories | None = None, zone: str = "Europe/Lisbon") -> pt.Trajectories:
    """Give walks, or else the wanderers, times in the spring of 2024: 15 s apart, and some pauses."""
    walks = checked.wanderers() if walks is None else walks
    rng = np.random.default_rng(8)
    departures = rng.integers(0, 120 * 86_400, len(walks)) + 1_704_067_200
    gaps = np.where(rng.random(walks.n_points) < 0.1, rng.integers(16, 200, walks.n_points), 15)
    seconds = np.cumsum(gaps)
    sizes = np.diff(walks.offsets)
    firsts = walks.offsets[:-1][sizes > 0]
    seconds += np.repeat(departures[sizes > 0] - seconds[firsts], sizes[sizes > 0])
    return replace(walks, times=seconds.astype("datetime64[s]"), zone=zone)


# A job in the background ignores interrupts, and so would the commands that tests start and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A first call may compile, and a machine may be busy: no test fails for taking long.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(scope="session")
def region() -> pt.Region:
    return pt.Region.box(*BOX)


@pytest.fixture(scope="session")
def wanderers() -> pt.Trajectories:
    """Give 600 random walks in and around the box, of 1 to 60 points; nobody's."""
    return replace(checked.wanderers(), users=None)


@pytest.fixture(scope="session")
def city() -> tuple[pt.Trajectories, pt.Region]:
    """Give 3,000 trips in the invented city, and its region."""
    made = city_trips(3000, seed=3)
    return made.trajectories, pt.Region.box(*made.region)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Find the real data sets, or skip."""
    if not all(data.path(name).exists() for name in data.REGIONS):
        pytest.skip("the real data sets are not here; set PRIVTRACE_DATA to their folder")
    return data.folder()
